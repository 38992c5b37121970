/* Reading arrays, labels and the table of contents of a dataset file.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_file.h"

#include "base/alloc.h"
#include "base/callback.h"

#include <inttypes.h>
#include <string.h>

#define MAX_ROWS (INT64_C(1) << 28)
#define MAX_ROW_ELEMENTS (INT64_C(1) << 34)

/* ---- Arrays ------------------------------------------------------------------------------------- */

/* The path without its first sign: HDF5 takes "a/b" and "/a/b" alike, link checks go part by part. */
hid_t lt_dataset_open_array(const lt_dataset *d, const char *path)
{
    char part[256];
    for (const char *at = path; at && *at;) {
        const char *slash = strchr(at + 1, '/');
        size_t n = slash ? (size_t)(slash - path) : strlen(path);
        if (n >= sizeof part) return -1;
        memcpy(part, path, n);
        part[n] = '\0';
        if (H5Lexists(d->file, part, H5P_DEFAULT) <= 0) return -1;
        at = slash;
    }
    hid_t object = H5Oopen(d->file, path, H5P_DEFAULT);
    if (object >= 0 && H5Iget_type(object) == H5I_DATASET) return object;
    if (object >= 0) H5Oclose(object);
    return -1;
}

lt_shape lt_dataset_array_shape(hid_t array)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(array);
    int rank = space < 0 ? 0 : H5Sget_simple_extent_ndims(space);
    lt_shape s = lt_shape0();
    if (rank > 0 && rank <= LT_MAX_RANK && H5Sget_simple_extent_dims(space, dims, NULL) == rank) {
        s.rank = rank;
        for (int k = 0; k < rank; k++) s.dim[k] = (int64_t)dims[k];
    }
    if (space >= 0) H5Sclose(space);
    /* Sizes are multiplied and added all over; what a damaged file claims must not overflow there. */
    bool fits = s.rank == 0 || (s.dim[0] >= 0 && s.dim[0] <= MAX_ROWS);
    int64_t per_row = 1;
    for (int k = 1; k < s.rank && fits; k++) {
        fits = s.dim[k] > 0 && s.dim[k] <= MAX_ROW_ELEMENTS / per_row;
        per_row *= fits ? s.dim[k] : 1;
    }
    return fits ? s : lt_shape0();
}

static bool is_number(hid_t array)
{
    hid_t type = H5Dget_type(array);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    if (type >= 0) H5Tclose(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

static int read_selection(hid_t array, const lt_shape *shape, int64_t first, int64_t n, hid_t type, void *out)
{
    hsize_t start[LT_MAX_RANK] = { (hsize_t)first }, count[LT_MAX_RANK] = { (hsize_t)n };
    for (int k = 1; k < shape->rank; k++) count[k] = (hsize_t)shape->dim[k];
    hid_t from = H5Dget_space(array), to = H5Screate_simple(shape->rank, count, NULL);
    int r = from < 0 || to < 0 || H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) < 0
                ? -1 : H5Dread(array, type, to, from, H5P_DEFAULT, out);
    hid_t why = r < 0 ? H5Eget_current_stack() : -1; /* every call clears what the last one said */
    if (from >= 0) H5Sclose(from);
    if (to >= 0) H5Sclose(to);
    if (why >= 0) H5Eset_current_stack(why);
    return r;
}

lt_status lt_dataset_read_rows(const lt_dataset *d, const char *path, int64_t first, int64_t n, hid_t type, void *out)
{
    hid_t array = lt_dataset_open_array(d, path);
    if (array < 0) return LT_FAIL(LT_ERR_FORMAT, "%s: no array %s", d->path, path);
    lt_shape shape = lt_dataset_array_shape(array);
    lt_status s = LT_OK;
    if (shape.rank < 1 || !is_number(array)) s = LT_FAIL(LT_ERR_FORMAT, "%s: %s does not hold numbers", d->path, path);
    else if (first < 0 || n < 0 || n > shape.dim[0] || first > shape.dim[0] - n)
        s = LT_FAIL(LT_ERR_ARGUMENT, "%s: rows %" PRId64 "..%" PRId64 " of %s, which has %" PRId64, d->path, first, first + n - 1, path, shape.dim[0]);
    else if (n && read_selection(array, &shape, first, n, type, out) < 0) s = lt_hdf5_fail(LT_ERR_FORMAT, d->path, path);
    H5Dclose(array);
    return s;
}

lt_shape lt_dataset_shape(lt_dataset *d, const char *path)
{
    lt_hdf5_lock();
    hid_t array = lt_dataset_open_array(d, path);
    lt_shape s = array < 0 ? lt_shape0() : lt_dataset_array_shape(array);
    if (array >= 0) H5Dclose(array);
    lt_hdf5_unlock();
    return s;
}

static lt_status read_locked(lt_dataset *d, const char *path, int64_t first, int64_t n, hid_t (*type)(void), void *out)
{
    lt_hdf5_lock();
    lt_status s = lt_dataset_read_rows(d, path, first, n, type(), out);
    lt_hdf5_unlock();
    return s;
}

/* The types are values that exist only once the library is open. */
static hid_t float_type(void) { return H5T_NATIVE_FLOAT; }
static hid_t int_type(void) { return H5T_NATIVE_INT64; }

lt_status lt_dataset_read(lt_dataset *d, const char *path, int64_t first, int64_t n, float *out)
{
    return read_locked(d, path, first, n, float_type, out);
}

lt_status lt_dataset_read_ints(lt_dataset *d, const char *path, int64_t first, int64_t n, int64_t *out)
{
    return read_locked(d, path, first, n, int_type, out);
}

lt_status lt_dataset_read_step(lt_dataset *d, int64_t first, int64_t n, int64_t t, float *out)
{
    static const char path[] = "/outputs/fields";
    lt_hdf5_lock();
    hid_t array = lt_dataset_open_array(d, path);
    lt_shape shape = array < 0 ? lt_shape0() : lt_dataset_array_shape(array);
    bool many = shape.rank == 6; /* [N, M, T, 3, G, G], or without T */
    lt_status s = LT_OK;
    if (!many && shape.rank != 5) s = LT_FAIL(LT_ERR_FORMAT, "%s: no stored states in %s", d->path, path);
    else if (first < 0 || n < 1 || first > shape.dim[0] - n || t < 0 || t >= (many ? shape.dim[2] : 1))
        s = LT_FAIL(LT_ERR_ARGUMENT, "%s: no rows %" PRId64 "..%" PRId64 " with step %" PRId64, d->path, first, first + n - 1, t);
    else {
        hsize_t start[6] = { (hsize_t)first }, count[6] = { (hsize_t)n };
        for (int k = 1; k < shape.rank; k++) count[k] = (hsize_t)shape.dim[k];
        if (many) start[2] = (hsize_t)t, count[2] = 1;
        hid_t from = H5Dget_space(array), to = H5Screate_simple(shape.rank, count, NULL);
        if (from < 0 || to < 0 || H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) < 0
            || H5Dread(array, H5T_NATIVE_FLOAT, to, from, H5P_DEFAULT, out) < 0)
            s = lt_hdf5_fail(LT_ERR_FORMAT, d->path, path);
        if (from >= 0) H5Sclose(from);
        if (to >= 0) H5Sclose(to);
    }
    if (array >= 0) H5Dclose(array);
    lt_hdf5_unlock();
    return s;
}

/* ---- Texts ------------------------------------------------------------------------------------------ */

/* Copies texts into one block: pointers, then characters. */
static lt_status copy_texts(char *const *raw, int64_t n, char ***out)
{
    size_t bytes = (size_t)n * sizeof *raw;
    for (int64_t i = 0; i < n; i++) bytes += (raw[i] ? strlen(raw[i]) : 0) + 1;
    if (!(*out = lt_malloc(bytes))) return LT_ERR_MEMORY;
    char *at = (char *)(*out + n);
    for (int64_t i = 0; i < n; i++) {
        size_t length = raw[i] ? strlen(raw[i]) : 0;
        (*out)[i] = memcpy(at, raw[i] ? raw[i] : "", length + 1);
        at += length + 1;
    }
    return LT_OK;
}

/* A label array: variable-length texts, [rows]. */
static lt_status read_label_array(lt_dataset *d, hid_t array, hid_t type, const char *path, int64_t *n, char ***out)
{
    lt_shape shape = lt_dataset_array_shape(array);
    if (type < 0 || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) <= 0 || shape.rank != 1 || shape.dim[0] != d->info.rows) return LT_OK;
    char **raw = lt_calloc((size_t)shape.dim[0], sizeof *raw);
    hid_t space = H5Dget_space(array);
    if (!raw || space < 0) {
        lt_free(raw);
        return LT_ERR_MEMORY;
    }
    lt_status s = H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) < 0 ? lt_hdf5_fail(LT_ERR_FORMAT, d->path, path)
                                                                              : copy_texts(raw, shape.dim[0], out);
    if (!s) *n = shape.dim[0];
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    H5Sclose(space);
    lt_free(raw);
    return s;
}

static lt_status read_labels(lt_dataset *d, const char *path, int64_t *n, char ***out)
{
    hid_t array = lt_dataset_open_array(d, path);
    if (array < 0) return LT_OK;
    hid_t type = H5Dget_type(array);
    lt_status s = read_label_array(d, array, type, path, n, out);
    if (type >= 0) H5Tclose(type);
    H5Dclose(array);
    return s;
}

static lt_status read_attribute(lt_dataset *d, const char *path, const char *at_sign, int64_t *n, char ***out)
{
    char object[256];
    int count = 0;
    snprintf(object, sizeof object, "%.*s", (int)(at_sign - path), path);
    hid_t at = H5Oopen(d->file, object, H5P_DEFAULT);
    if (at < 0) return LT_OK;
    lt_status s = lt_hdf5_get_texts(at, d->path, at_sign + 1, &count, out);
    H5Oclose(at);
    *n = count;
    return s;
}

static lt_status keep_texts(lt_dataset *d, const char *path, lt_dataset_texts_kept **out)
{
    const char *at_sign = strchr(path, '@');
    for (*out = d->kept; *out; *out = (*out)->next)
        if (!strcmp((*out)->path, path)) return LT_OK;
    lt_dataset_texts_kept *k = lt_calloc(1, sizeof *k);
    if (!k || !(k->path = lt_strdup(path))) {
        lt_free(k);
        return LT_ERR_MEMORY;
    }
    lt_status s = at_sign ? read_attribute(d, path, at_sign, &k->n, &k->list) : read_labels(d, path, &k->n, &k->list);
    H5Eclear2(H5E_DEFAULT);
    k->next = d->kept;
    *out = d->kept = k;
    return s;
}

lt_status lt_dataset_read_labels(lt_dataset *d, const char *path, int64_t *n, const char *const **out)
{
    lt_dataset_texts_kept *k = NULL;
    lt_status s = keep_texts(d, path, &k);
    *n = s ? 0 : k->n;
    *out = s ? NULL : (const char *const *)k->list;
    return s;
}

lt_status lt_dataset_texts(lt_dataset *d, const char *path, int64_t *n, const char *const **out)
{
    lt_hdf5_lock();
    lt_status s = lt_dataset_read_labels(d, path, n, out);
    lt_hdf5_unlock();
    return s;
}

/* ---- Contents ---------------------------------------------------------------------------------------- */

typedef struct walk {
    lt_dataset *d;
    lt_status (*item)(void *ctx, const lt_dataset_item *item);
    void       *ctx;
    lt_status   status;
} walk;

static const char *type_name(hid_t type)
{
    static const char *const floats[] = { "float16", "float32", "float64" }, *const ints[] = { "int8", "int16", "int32", "int64" },
                      *const unsigned_ints[] = { "uint8", "uint16", "uint32", "uint64" };
    size_t bytes = H5Tget_size(type);
    int power = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:   return power >= 1 ? floats[power - 1] : "float";
    case H5T_INTEGER: return power < 0 ? "integer" : H5Tget_sign(type) == H5T_SGN_NONE ? unsigned_ints[power] : ints[power];
    case H5T_STRING:  return "text";
    case H5T_ENUM:    return "enum";
    default:          return "other";
    }
}

static void describe_storage(hid_t array, lt_dataset_item *item, char *text, size_t size)
{
    hid_t create = H5Dget_create_plist(array);
    hsize_t chunk[H5S_MAX_RANK];
    if (create < 0) return;
    if (H5Pget_layout(create) == H5D_CHUNKED && item->shape.rank && H5Pget_chunk(create, H5S_MAX_RANK, chunk) == item->shape.rank) {
        item->chunk.rank = item->shape.rank;
        for (int k = 0; k < item->chunk.rank; k++) item->chunk.dim[k] = (int64_t)chunk[k];
    }
    for (int i = 0; i < H5Pget_nfilters(create); i++) {
        unsigned flags, values[8], info;
        size_t n = LT_LEN(values);
        H5Z_filter_t f = H5Pget_filter2(create, (unsigned)i, &flags, &n, values, 0, NULL, &info);
        size_t at = strlen(text);
        if (f == H5Z_FILTER_DEFLATE) snprintf(text + at, size - at, "%sgzip %u", at ? ", " : "", n ? values[0] : 0);
        else snprintf(text + at, size - at, "%s%s", at ? ", " : "", f == LT_FILTER_LZF ? "lzf" : f == H5Z_FILTER_SHUFFLE ? "shuffle" : "other filter");
    }
    H5Pclose(create);
}

static herr_t visit(hid_t root, const char *name, const H5O_info_t *info, void *ctx)
{
    walk *w = ctx;
    char path[512], compression[96] = "";
    snprintf(path, sizeof path, "/%s", strcmp(name, ".") ? name : "");
    lt_dataset_item item = { .path = path, .group = info->type == H5O_TYPE_GROUP, .dtype = "", .compression = compression };
    if (info->type == H5O_TYPE_DATASET) {
        hid_t array = H5Dopen2(root, name, H5P_DEFAULT), type = array < 0 ? -1 : H5Dget_type(array);
        if (array >= 0 && type >= 0) {
            item.shape = lt_dataset_array_shape(array);
            item.dtype = type_name(type);
            item.stored_bytes = H5Dget_storage_size(array);
            describe_storage(array, &item, compression, sizeof compression);
        }
        if (type >= 0) H5Tclose(type);
        if (array >= 0) H5Dclose(array);
    }
    w->status = lt_callback_status("dataset walk: the function", w->item(w->ctx, &item));
    return w->status ? 1 : 0;
}

lt_status lt_dataset_walk(lt_dataset *d, lt_status (*item)(void *ctx, const lt_dataset_item *item), void *ctx)
{
    walk w = { d, item, ctx, LT_OK };
    lt_hdf5_lock();
    if (H5Ovisit(d->file, H5_INDEX_NAME, H5_ITER_INC, visit, &w) < 0 && !w.status) w.status = lt_hdf5_fail(LT_ERR_FORMAT, d->path, "cannot list its contents");
    lt_hdf5_unlock();
    return w.status;
}
