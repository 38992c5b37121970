/* Errors, attributes and the LZF filter over the HDF5 library. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/hdf5.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "operators/file/lzf.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* An attribute larger than this is not one of ours. */
enum { MAX_TEXTS = 100000, MAX_TEXT_BYTES = 1 << 26 };

/* ---- LZF as a filter ------------------------------------------------------------------------ */

/* The library frees and reallocates the buffer with the C library's functions, so they are used here. */
static size_t lzf_filter(unsigned flags, size_t n_values, const unsigned *values, size_t n_bytes, size_t *buffer_bytes, void **buffer)
{
    size_t capacity = n_values > 2 && values[2] ? values[2] : *buffer_bytes;
    if (capacity > UINT32_MAX) return 0;
    void *out = malloc(capacity); /* released by the HDF5 library */
    if (!out) return 0;
    size_t n = flags & H5Z_FLAG_REVERSE ? lt_lzf_unpack(*buffer, n_bytes, out, capacity) : lt_lzf_pack(*buffer, n_bytes, out, capacity);
    if (n == 0) {
        free(out); /* from malloc above */
        return 0;
    }
    free(*buffer); /* the HDF5 library's own */
    *buffer = out;
    *buffer_bytes = capacity;
    return n;
}

static const H5Z_class2_t lzf_class = { H5Z_CLASS_T_VERS, LT_FILTER_LZF, 1, 1, "lzf", NULL, NULL, lzf_filter };

/* ---- The library as a whole -------------------------------------------------------------------- */

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;

static bool start(void)
{
    H5dont_atexit();
    return H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0 && H5Zregister(&lzf_class) >= 0;
}

/* The library ends the process that starts it without enough memory. A child tries it first; one that hangs has met a lock that another
   thread of the program held, which says nothing about memory (decision 182). */
static bool may_start(void)
{
    enum { SECONDS = 5 };
    int status = 0;
    pid_t parent = getpid(), child = fork();
    if (child < 0) return true;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 1; i < 32; i++) signal(i, SIG_DFL);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        alarm(SECONDS);
        _exit(getppid() != parent || !start());
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return true; /* another part of the program waited for it */
    return status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* Without memory the library's lists of free blocks break, and the heap with them. */
lt_status lt_hdf5_lock(void)
{
    static bool ready;
    LT_TRY(lt_need_room((size_t)16 << 20, "the HDF5 library"));
    pthread_mutex_lock(&library);
    if (ready || (ready = may_start() && start())) return LT_OK;
    pthread_mutex_unlock(&library);
    return LT_FAIL(LT_ERR_MEMORY, "the HDF5 library did not start, most likely for want of memory");
}

void lt_hdf5_unlock(void) { pthread_mutex_unlock(&library); }

typedef struct failure { char text[160]; bool lacks_memory; int error; } failure;

/* Keeps the innermost reason, one line; for failed writes the text of the system. Notes whether memory was refused at any level. */
static herr_t keep_first(unsigned n, const H5E_error2_t *error, void *ctx)
{
    static const char words[] = "error message = '", number[] = "errno = ";
    failure *f = ctx;
    f->lacks_memory |= error->maj_num == H5E_RESOURCE && (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC);
    const bool of_the_file = error->desc && strstr(error->desc, "past end of allocation"); /* where it points */
    f->lacks_memory |= error->desc && !of_the_file && (strstr(error->desc, "allocat") || strstr(error->desc, "H5MM_")); /* "image null after H5MM_realloc()" */
    if (n || !error->desc) return 0;
    const char *from = strstr(error->desc, words), *system = strstr(error->desc, number);
    if (system) f->error = atoi(system + sizeof number - 1);
    const char *end = from ? "'\n" : "\n";
    from = from ? from + sizeof words - 1 : error->desc;
    snprintf(f->text, sizeof f->text, "%.*s", (int)strcspn(from, end), from);
    return 0;
}

lt_status lt_hdf5_fail(lt_status status, const char *path, const char *what)
{
    failure f = { "", false, 0 };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &f);
    H5Eclear2(H5E_DEFAULT);
    if (!f.text[0] && status == LT_ERR_FORMAT) /* of a bad file it always has a reason */
        return LT_FAIL(LT_ERR_MEMORY, "%s: %s, and the HDF5 library has no memory to say why", path, what);
    return LT_FAIL(f.lacks_memory ? LT_ERR_MEMORY : f.error ? lt_file_status(f.error) : status, "%s: %s%s%s", path, what, f.text[0] ? ": " : "", f.text);
}

/* ---- Writing attributes ---------------------------------------------------------------------------- */

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* n < 0: a scalar. */
static int put_attribute(hid_t at, const char *name, hid_t type, int n, const void *data)
{
    hsize_t extent = n < 0 ? 1 : (hsize_t)n;
    hid_t space = n < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, NULL);
    hid_t a = space < 0 || type < 0 ? -1 : H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int r = a < 0 ? -1 : n == 0 ? 0 : H5Awrite(a, type, data);
    if (a >= 0 && H5Aclose(a) < 0) r = -1;
    if (space >= 0) H5Sclose(space);
    return r;
}

int lt_hdf5_put_texts(hid_t at, const char *name, int n, const char *const *texts)
{
    hid_t type = text_type();
    int r = put_attribute(at, name, type, n, texts);
    if (type >= 0) H5Tclose(type);
    return r;
}

int lt_hdf5_put_bytes(hid_t at, const char *name, int n, const char *const *texts)
{
    size_t length = 1;
    for (int i = 0; i < n; i++) length = LT_MAX(length, strlen(texts[i]));
    char *data = lt_calloc((size_t)n, length);
    hid_t type = H5Tcopy(H5T_C_S1);
    if (data)
        for (int i = 0; i < n; i++) memcpy(data + (size_t)i * length, texts[i], strlen(texts[i]));
    int r = data && type >= 0 && H5Tset_size(type, length) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0
                ? put_attribute(at, name, type, n, data) : -1;
    if (type >= 0) H5Tclose(type);
    lt_free(data);
    return r;
}

int lt_hdf5_put_text(hid_t at, const char *name, const char *text) { return lt_hdf5_put_texts(at, name, -1, &text); }
int lt_hdf5_put_int(hid_t at, const char *name, int64_t value) { return put_attribute(at, name, H5T_STD_I64LE, -1, &value); }

int lt_hdf5_put_bool(hid_t at, const char *name, bool value)
{
    int8_t v = value, no = 0, yes = 1;
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    int r = type < 0 || H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0
                ? -1 : put_attribute(at, name, type, -1, &v);
    if (type >= 0) H5Tclose(type);
    return r;
}

/* ---- Reading attributes ------------------------------------------------------------------------------ */

/* Whether it has this attribute. What the library cannot say is no "no": it may lack memory. */
static lt_status find_attribute(hid_t at, const char *path, const char *name, bool *found)
{
    htri_t exists = H5Aexists(at, name);
    *found = exists > 0;
    return exists < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, path, name) : LT_OK;
}

/* Opens the attribute when it is text within these limits of elements and bytes; else *a is -1. */
static lt_status open_texts(hid_t at, const char *path, const char *name, hid_t *a, hid_t *type, hsize_t *n)
{
    bool found;
    *a = *type = -1;
    LT_TRY(find_attribute(at, path, name, &found));
    if (!found) return LT_OK;
    hid_t space = -1;
    if ((*a = H5Aopen(at, name, H5P_DEFAULT)) < 0 || (*type = H5Aget_type(*a)) < 0 || (space = H5Aget_space(*a)) < 0) {
        lt_status s = lt_hdf5_fail(LT_ERR_FORMAT, path, name);
        if (*type >= 0) H5Tclose(*type);
        if (*a >= 0) H5Aclose(*a);
        return s;
    }
    hssize_t count = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    *n = (hsize_t)count;
    if (H5Tget_class(*type) == H5T_STRING && count >= 1 && count <= MAX_TEXTS && H5Tget_size(*type) <= MAX_TEXT_BYTES / (size_t)count) return LT_OK;
    H5Tclose(*type);
    H5Aclose(*a);
    *a = -1;
    return LT_OK;
}

/* Copies n texts of at most `limit` bytes each into one block: pointers, then characters. */
static lt_status copy_texts(char *const *from, size_t limit, int n, char ***out)
{
    size_t bytes = (size_t)n * sizeof(char *);
    for (int i = 0; i < n; i++) bytes += (from[i] ? strnlen(from[i], limit) : 0) + 1;
    char **list = lt_malloc(bytes);
    if (!list) return LT_ERR_MEMORY;
    char *at = (char *)(list + n);
    for (int i = 0; i < n; i++) {
        size_t length = from[i] ? strnlen(from[i], limit) : 0;
        list[i] = at;
        if (length) memcpy(at, from[i], length);
        at[length] = '\0';
        at += length + 1;
    }
    *out = list;
    return LT_OK;
}

static lt_status read_variable(hid_t a, hid_t type, const char *path, const char *name, int n, char ***out)
{
    hid_t space = H5Aget_space(a); /* the library releases its texts by it */
    if (space < 0) return lt_hdf5_fail(LT_ERR_FORMAT, path, name);
    char **texts = lt_calloc((size_t)n, sizeof *texts);
    lt_status s = !texts ? LT_ERR_MEMORY : H5Aread(a, type, texts) < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, path, name) : copy_texts(texts, MAX_TEXT_BYTES, n, out);
    if (texts) H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    H5Sclose(space);
    lt_free(texts);
    return s;
}

static lt_status read_fixed(hid_t a, hid_t type, const char *path, const char *name, int n, char ***out)
{
    size_t size = H5Tget_size(type);
    char **texts = lt_malloc((size_t)n * (sizeof *texts + size));
    if (!texts) return LT_ERR_MEMORY;
    char *data = (char *)(texts + n);
    for (int i = 0; i < n; i++) texts[i] = data + (size_t)i * size;
    lt_status s = H5Aread(a, type, data) < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, path, name) : copy_texts(texts, size, n, out);
    lt_free(texts);
    return s;
}

lt_status lt_hdf5_get_texts(hid_t at, const char *path, const char *name, int *n, char ***out)
{
    hid_t a, type;
    hsize_t count = 0;
    *n = 0;
    *out = NULL;
    LT_TRY(open_texts(at, path, name, &a, &type, &count));
    if (a < 0) return LT_OK;
    lt_status s = H5Tis_variable_str(type) > 0 ? read_variable(a, type, path, name, (int)count, out)
                                               : read_fixed(a, type, path, name, (int)count, out);
    if (!s) *n = (int)count;
    H5Tclose(type);
    H5Aclose(a);
    return s;
}

lt_status lt_hdf5_get_text(hid_t at, const char *path, const char *name, char **out)
{
    int n;
    char **list;
    *out = NULL;
    LT_TRY(lt_hdf5_get_texts(at, path, name, &n, &list));
    if (n == 1 && !(*out = lt_strdup(list[0]))) {
        lt_free(list);
        return LT_ERR_MEMORY;
    }
    lt_free(list);
    return LT_OK;
}

/* An enumeration of one byte is how HDF5 has truth values. */
static bool read_int(hid_t a, hid_t type, int64_t *out)
{
    if (H5Tget_class(type) == H5T_INTEGER) return H5Aread(a, H5T_NATIVE_INT64, out) >= 0;
    hid_t base = H5Tget_super(type);
    int8_t v = 0;
    bool ok = base >= 0 && H5Tget_size(base) == 1 && H5Aread(a, type, &v) >= 0;
    *out = v;
    if (base >= 0) H5Tclose(base);
    return ok;
}

lt_status lt_hdf5_get_int(hid_t at, const char *path, const char *name, bool *found, int64_t *out)
{
    LT_TRY(find_attribute(at, path, name, found));
    if (!*found) return LT_OK;
    hid_t a = H5Aopen(at, name, H5P_DEFAULT), type = a < 0 ? -1 : H5Aget_type(a), space = type < 0 ? -1 : H5Aget_space(a);
    lt_status s = space < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, path, name) : LT_OK;
    bool fits = !s && (H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_ENUM) && H5Sget_simple_extent_npoints(space) == 1;
    if (!s && !(fits && read_int(a, type, out))) s = LT_FAIL(LT_ERR_TYPE, "%s: attribute %s is not an integer", path, name);
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (a >= 0) H5Aclose(a);
    return s;
}
