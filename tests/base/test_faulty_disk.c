/* Disks that fail, interrupt and do half of what they are asked: for every writer and reader of files, each of its system calls in turn. A failure
   is a sentence, the old file stays whole, nothing is left beside it, open or allocated; an interruption or a part changes nothing at all.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/folder.h"
#include "base/scratch.h"
#include "base/status.h"
#include "lathe/csv.h"
#include "lathe/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>

/* ---- The calls, in front of the C library's (--wrap) ------------------------------------------------- */
static int calls, fail_at, error_number;
static bool in_parts;

/* True for the call that was chosen; errno is set. */
static bool fails(void)
{
    if (++calls != fail_at) return false;
    errno = error_number;
    return true;
}
/* Calls that a signal never interrupts are passed over in that mode. */
static bool breaks(void) { return error_number != EINTR && fails(); }
/* A file system that cannot rename without replacing. */
static bool renames_replace;
static bool lacks_call(void) { return renames_replace && (errno = EINVAL); }
/* Signals that were held back while the last lock was taken. */
static sigset_t blocked_at_lock;
static void notes_signals(void) { sigprocmask(SIG_SETMASK, NULL, &blocked_at_lock); }
static size_t part(size_t n) { return in_parts && n > 1 ? 1 + n / 3 : n; }

#define WRAP(type, name, parameters, arguments, when) \
    type __real_##name parameters;                    \
    type __wrap_##name parameters;                    \
    type __wrap_##name parameters { return when ? (type)(intptr_t)-1 : __real_##name arguments; }

WRAP(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, part(n)), fails())
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, part(n), at), fails())
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, part(n), at), fails())
WRAP(int, flock, (int fd, int how), (fd, how), (notes_signals(), fails()))
WRAP(int, fsync, (int fd), (fd), breaks())
WRAP(int, fstat, (int fd, struct stat *out), (fd, out), breaks())
WRAP(int, rename, (const char *from, const char *to), (from, to), breaks())
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), breaks())
WRAP(int, msync, (void *at, size_t n, int how), (at, n, how), breaks())
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), breaks())
WRAP(int, syncfs, (int fd), (fd), breaks())
WRAP(int, renameat2, (int from_folder, const char *from, int to_folder, const char *to, unsigned how), (from_folder, from, to_folder, to, how), lacks_call() || breaks())
WRAP(void *, mmap, (void *at, size_t n, int rights, int how, int fd, off_t from), (at, n, rights, how, fd, from), breaks())

int __real_posix_fallocate(int fd, off_t at, off_t n);
int __wrap_posix_fallocate(int fd, off_t at, off_t n);
int __wrap_posix_fallocate(int fd, off_t at, off_t n) { return fails() ? error_number : __real_posix_fallocate(fd, at, n); }

/* ---- What is done with files --------------------------------------------------------------------------- */
static const double numbers[6] = { 1, 2.5, -3, 1e300, 0, 6 };
static const uint16_t halves[4] = { 0x3f80, 0x4000, 0xbf80, 0 }; /* bfloat16, which files widen */
static const char *const words[4] = { "name", "two words", "a \"quoted\" one", "\xc3\xa9t\xc3\xa9" };

static lt_array array(lt_dtype dtype, int64_t rows, int64_t columns, const void *data)
{
    return (lt_array){ dtype, lt_shape_of(2, (int64_t[]){ rows, columns }), (void *)data };
}

static lt_status write_whole(const char *path) { return lt_file_write(path, "whole", 5); }

static lt_status write_npy(const char *path)
{
    lt_array a = array(LT_F64, 2, 3, numbers);
    return lt_npy_write(path, a.dtype, &a.shape, a.data);
}

static lt_status write_widened(const char *path)
{
    lt_array a = array(LT_BF16, 2, 2, halves);
    return lt_npy_write(path, a.dtype, &a.shape, a.data);
}

static lt_status write_npz(const char *path)
{
    lt_array arrays[] = { array(LT_F64, 3, 2, numbers), array(LT_BF16, 1, 4, halves) };
    return lt_npz_write(path, 2, (const char *const[]){ "x", "h" }, arrays);
}

static lt_status write_csv(const char *path) { return lt_csv_write(path, 2, 2, words); }
static lt_status write_texts(const char *path) { return lt_npy_write_texts(path, 4, words); }

static lt_status write_mapped(const char *path)
{
    lt_npy_map *m;
    lt_shape shape = lt_shape_of(1, (int64_t[]){ 6 });
    LT_TRY(lt_npy_map_create(path, LT_F64, &shape, &m));
    memcpy(lt_npy_map_data(m), numbers, sizeof numbers);
    return lt_npy_map_commit(m);
}

static lt_status read_npy(const char *path)
{
    lt_array a;
    lt_status s = lt_npy_read(path, &a);
    if (!s) LT_CHECK(a.dtype == LT_F64 && !memcmp(a.data, numbers, sizeof numbers));
    else LT_CHECK(!a.data);
    lt_array_free(&a);
    return s;
}

static lt_status read_npy_info(const char *path)
{
    lt_dtype dtype;
    lt_shape shape;
    bool text;
    LT_TRY(lt_npy_info(path, &dtype, &shape));
    return lt_npy_holds_text(path, &text);
}

static lt_status read_npz(const char *path)
{
    lt_array a;
    lt_npz_names names;
    LT_TRY(lt_npz_list(path, &names));
    LT_CHECK_EQ_INT(names.n, 2);
    lt_npz_names_free(&names);
    lt_status s = lt_npz_read(path, "x", &a);
    if (!s) LT_CHECK(!memcmp(a.data, numbers, sizeof numbers));
    lt_array_free(&a);
    return s;
}

static lt_status write_numbers(const char *path) { return lt_csv_write(path, 2, 2, (const char *const[]){ "a", "b", "1", "2" }); }

static lt_status read_csv(const char *path)
{
    lt_csv c;
    lt_status s = lt_csv_read(path, NULL, &c);
    lt_csv_free(&c);
    return s;
}

static lt_status read_texts(const char *path)
{
    lt_npy_texts t;
    lt_status s = lt_npy_read_texts(path, &t);
    if (!s) LT_CHECK(t.n == 4 && !strcmp(t.text[3], words[3]));
    lt_npy_texts_free(&t);
    return s;
}

static lt_status write_at(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    lt_status s = lt_file_write_at(fd, path, 3, "0123456789", 10);
    char back[10];
    if (!s) s = lt_file_read_at(fd, path, 3, back, sizeof back);
    if (!s) LT_CHECK(!memcmp(back, "0123456789", 10));
    close(fd);
    return s;
}

static lt_status take_lock(const char *path)
{
    lt_file_lock lock;
    bool taken;
    LT_TRY(lt_file_lock_take(path, true, &lock, &taken));
    LT_CHECK(taken || error_number == EWOULDBLOCK);
    if (taken) lt_file_lock_release(&lock);
    return LT_OK;
}

static lt_status make_folders(const char *path)
{
    char below[500];
    snprintf(below, sizeof below, "%s.d/e/f", path);
    return lt_file_make_folders(below, 0700);
}

/* A folder with two files, one of them in a folder of its own. */
static lt_status write_folder(const char *path)
{
    lt_atomic_folder f;
    nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS); /* of the call before */
    LT_TRY(lt_atomic_folder_open(path, &f));
    lt_status s = lt_atomic_folder_write(&f, "a/b", "text", 4);
    if (!s) s = lt_atomic_folder_write(&f, "c", "", 0);
    if (!s) return lt_atomic_folder_commit(&f);
    lt_atomic_folder_cancel(&f);
    return s;
}

/* What a killed writer of the same folder left. */
static lt_status leave_folder(const char *path)
{
    char left[500];
    snprintf(left, sizeof left, "%s.lathe-0.tmp", path);
    mkdir(left, 0777);
    strcat(left, "/a");
    mkdir(left, 0777);
    strcat(left, "/b");
    return lt_file_write(left, "old", 3);
}

/* ---- Each call of each ------------------------------------------------------------------------------------- */
typedef struct act { const char *name; lt_status (*run)(const char *path), (*before)(const char *path); bool beside; } act;

static const act acts[] = { /* beside: leaves no file, or one of another kind */
    { "whole", write_whole, NULL, false }, { "npy", write_npy, NULL, false }, { "widened", write_widened, NULL, false }, { "npz", write_npz, NULL, false },
    { "csv", write_csv, NULL, false }, { "texts", write_texts, NULL, false }, { "mapped", write_mapped, NULL, false },
    { "replace", write_npy, write_whole, false }, { "read_npy", read_npy, write_npy, true }, { "info", read_npy_info, write_npy, true },
    { "read_npz", read_npz, write_npz, true }, { "read_texts", read_texts, write_texts, true }, { "read_csv", read_csv, write_numbers, true }, { "at", write_at, write_whole, true }, { "lock", take_lock, NULL, true },
    { "folders", make_folders, NULL, true }, { "folder", write_folder, NULL, false }, { "left folder", write_folder, leave_folder, true },
};

static lt_status run_with(const act *a, const char *path, int at, int error, bool parts)
{
    calls = 0, fail_at = at, error_number = error, in_parts = parts;
    lt_status s = a->run(path);
    fail_at = error_number = 0, in_parts = false;
    return s;
}

/* The folder holds the file and nothing else, or not even that. */
static void check_folder(const act *a, const char *folder, bool may_be_empty)
{
    int n = scratch_count(folder);
    if (!a->beside && (n > 1 || (n == 0 && !may_be_empty))) LT_TEST_FAIL("%s: %d files are left", a->name, n);
}

static void fail_each_call(const act *a, int error)
{
    int n_failed = 0;
    for (int at = 1; at < 200; at++) {
        char folder[400], path[450];
        snprintf(folder, sizeof folder, "%s", scratch(a->name));
        snprintf(path, sizeof path, "%s/f", folder);
        mkdir(folder, 0700);
        unlink(path);
        if (a->before) LT_CHECK_OK(a->before(path));
        int64_t live = lt_alloc_live();
        int open_before = lt_test_open_files();
        lt_status s = run_with(a, path, at, error, false);
        bool reached = calls >= at;
        n_failed += s != LT_OK;
        if (s && (s == LT_ERR_INTERNAL || !lt_error_text()[0])) LT_TEST_FAIL("%s, call %d: %s", a->name, at, lt_error_text());
        if (error == EINTR && s) LT_TEST_FAIL("%s: interrupted at call %d: %s", a->name, at, lt_error_text());
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
        LT_CHECK_EQ_INT(lt_test_open_files(), open_before);
        if (a->run == write_folder) LT_CHECK_OK(write_folder(path)); /* and takes away what may be left: nobody holds it */
        check_folder(a, folder, s != LT_OK && !a->before);
        if (reached) continue;
        LT_CHECK_OK(s);
        if (error != EINTR && error != EWOULDBLOCK && !n_failed) LT_TEST_FAIL("%s never failed", a->name);
        return;
    }
    LT_TEST_FAIL("%s: more calls than were tried", a->name);
}

LT_TEST(every_call_that_fails_is_a_sentence)
{
    for (size_t i = 0; i < LT_LEN(acts); i++) fail_each_call(&acts[i], EIO);
    for (size_t i = 0; i < LT_LEN(acts); i++) fail_each_call(&acts[i], ENOSPC);
    for (size_t i = 0; i < LT_LEN(acts); i++) /* of a lock: somebody has it, who then removes the folder */
        if (acts[i].run != write_folder) fail_each_call(&acts[i], EWOULDBLOCK);
}

LT_TEST(interruptions_change_nothing)
{
    for (size_t i = 0; i < LT_LEN(acts); i++) fail_each_call(&acts[i], EINTR);
}

/* The same bytes, however few the system takes at a time. */
LT_TEST(parts_make_the_whole)
{
    for (size_t i = 0; i < LT_LEN(acts); i++) {
        const act *a = &acts[i];
        char *want = NULL, *got = NULL;
        size_t n_want = 0, n_got = 0;
        char path[450], other[450];
        mkdir(scratch("parts"), 0700);
        snprintf(path, sizeof path, "%s-%s", scratch("parts/one"), a->name);
        snprintf(other, sizeof other, "%s-%s", scratch("parts/other"), a->name);
        if (a->before) LT_CHECK(!a->before(path) && !a->before(other));
        LT_CHECK_OK(run_with(a, path, 0, 0, false));
        LT_CHECK_OK(run_with(a, other, 0, 0, true));
        if (a->run == make_folders || a->run == write_folder) continue;
        LT_CHECK_OK(lt_file_read(path, 1 << 20, &want, &n_want));
        LT_CHECK_OK(lt_file_read(other, 1 << 20, &got, &n_got));
        if (n_got != n_want || memcmp(got, want, n_want)) LT_TEST_FAIL("%s: other bytes", a->name);
        lt_free(want), lt_free(got);
    }
}

LT_TEST(a_new_folder_where_renames_replace)
{
    char path[450];
    struct stat st;
    lt_atomic_folder f;
    snprintf(path, sizeof path, "%s", scratch("replaced"));
    renames_replace = true;
    LT_CHECK_OK(write_folder(path));
    LT_CHECK(!stat(path, &st) && S_ISDIR(st.st_mode));
    nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
    LT_CHECK_OK(lt_atomic_folder_open(path, &f));
    LT_CHECK(!mkdir(path, 0777)); /* another process was first: an empty one would be replaced by a rename */
    LT_CHECK_FAILS(lt_atomic_folder_commit(&f), LT_ERR_IO, "cannot rename into place: File exists");
    LT_CHECK_EQ_INT(scratch_count(path), 0);
    renames_replace = false;
}

/* One that came between the making of a temporary file and its being listed would leave it. */
LT_TEST(signals_wait_while_a_temporary_file_is_made)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGPIPE };
    sigset_t after;
    LT_CHECK_OK(write_whole(scratch("held")));
    for (size_t i = 0; i < LT_LEN(ends); i++) LT_CHECK(sigismember(&blocked_at_lock, ends[i]) == 1);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < LT_LEN(ends); i++) LT_CHECK(sigismember(&after, ends[i]) == 0);
}

/* An entry that cannot be kept or read is one that is not there. */
LT_TEST(a_cache_on_a_bad_disk)
{
    setenv("LATHE_CACHE", scratch("cache"), 1);
    for (int at = 0; at < 60; at++) {
        char *data;
        size_t n;
        calls = 0, fail_at = at, error_number = EIO;
        lt_status put = lt_cache_put("key", "entry", 5), get = lt_cache_get("key", 1 << 20, &data, &n);
        fail_at = error_number = 0;
        LT_CHECK(put != LT_ERR_INTERNAL && get != LT_ERR_INTERNAL);
        if (!get && data) LT_CHECK(n == 5 && !memcmp(data, "entry", 5));
        if (!get) lt_free(data);
        if (!at) LT_CHECK(!put && !get && data);
    }
    unsetenv("LATHE_CACHE");
}

LT_TEST(what_writers_refuse_has_a_name)
{
    char **none = NULL;
    const char *const lines[] = { "a", "b\nc" }, *const missing[] = { "a", NULL }, *const empty[] = { "", " x", "x ", "1;2" };
    lt_array a = array(LT_F64, 2, 3, numbers);
    char long_name[1200];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    LT_CHECK_FAILS(lt_csv_write(NULL, 1, 1, lines), LT_ERR_ARGUMENT, "csv");
    LT_CHECK_FAILS(lt_csv_write("x", -1, 1, lines), LT_ERR_ARGUMENT, "csv");
    LT_CHECK_FAILS(lt_csv_write("x", 1, 0, lines), LT_ERR_ARGUMENT, "csv");
    LT_CHECK_FAILS(lt_csv_write("x", 1, 1, (const char *const *)none), LT_ERR_ARGUMENT, "csv");
    LT_CHECK_FAILS(lt_csv_write("x", 1, 2, lines), LT_ERR_ARGUMENT, "cell 1 of row 0 is of several lines");
    LT_CHECK_FAILS(lt_csv_write("x", 1, 2, missing), LT_ERR_ARGUMENT, "cell 1 of row 0 is");
    LT_CHECK_OK(lt_csv_write(scratch("quoted.csv"), 1, 4, empty));
    LT_CHECK_FAILS(lt_npz_write(NULL, 0, NULL, NULL), LT_ERR_ARGUMENT, "path of arrays");
    LT_CHECK_FAILS(lt_npz_write("x", 1, NULL, &a), LT_ERR_ARGUMENT, "names of arrays");
    LT_CHECK_FAILS(lt_npz_write("x", 1, (const char *const[]){ "a" }, NULL), LT_ERR_ARGUMENT, "data of arrays");
    LT_CHECK_FAILS(lt_npz_write("x", 1, (const char *const[]){ NULL }, &a), LT_ERR_ARGUMENT, "name of array 0");
    LT_CHECK_FAILS(lt_npz_write("x", 1, (const char *const[]){ "" }, &a), LT_ERR_ARGUMENT, "name of array 0");
    LT_CHECK_FAILS(lt_npz_write("x", 1, (const char *const[]){ long_name }, &a), LT_ERR_ARGUMENT, "1 to 1000 bytes");
    LT_CHECK_FAILS(lt_npy_write_texts(NULL, 1, lines), LT_ERR_ARGUMENT, "texts to write");
    LT_CHECK_FAILS(lt_npy_write_texts("x", -1, lines), LT_ERR_ARGUMENT, "texts to write");
    LT_CHECK_FAILS(lt_npy_write_texts("x", 1, NULL), LT_ERR_ARGUMENT, "texts to write");
    LT_CHECK_FAILS(lt_npy_write_texts("x", 2, missing), LT_ERR_ARGUMENT, "text 1 is NULL");
    LT_CHECK_FAILS(lt_npy_write_texts("x", 1, (const char *const[]){ "\xff" }), LT_ERR_ARGUMENT, "not UTF-8");
    LT_CHECK_FAILS(lt_npy_write_texts("x", 1, (const char *const[]){ "\xe2\x28\xa1" }), LT_ERR_ARGUMENT, "not UTF-8");
    LT_CHECK_FAILS(lt_npy_write_texts("x", 1, (const char *const[]){ "\xf0\x82\x82\xac" }), LT_ERR_ARGUMENT, "not UTF-8");
    LT_CHECK_FAILS(lt_npy_write_texts("x", 1, (const char *const[]){ "\xed\xa0\x80" }), LT_ERR_ARGUMENT, "not UTF-8");
    LT_CHECK_OK(lt_npy_write_texts(scratch("wide.npy"), 1, (const char *const[]){ "\xf0\x9f\x98\x80 \xe2\x82\xac" }));
    LT_CHECK_FAILS(lt_npy_read(NULL, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_npz_read("x", "y", NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_npz_read("x", NULL, &a), LT_ERR_ARGUMENT, "name of the array is NULL");
    LT_CHECK_FAILS(lt_npz_list("x", NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_npy_map_create("x", LT_F64, &a.shape, NULL), LT_ERR_ARGUMENT, "out is NULL");
    LT_CHECK_FAILS(lt_file_write(NULL, "", 0), LT_ERR_ARGUMENT, "path of a file to write is NULL");
    lt_npy_texts_free(NULL);
    LT_CHECK_EQ_INT(access("x", F_OK), -1);
}

LT_TEST_MAIN()
