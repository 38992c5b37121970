/* Listing an HDF5 file; runs in the jailed process. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/dataset_scan.h"

#include "base/alloc.h"

#include <string.h>

static lt_status refuse(const lt_file_scan *s, const char *path, const char *what)
{
    return LT_FAIL(LT_ERR_FORMAT, "%s: %.200s is %s, which is not followed: a dataset is one file", s->path, path, what);
}

/* ---- Types ---------------------------------------------------------------------------------------------- */

/* Half precision as IEEE 754 has it, which the library knows no name for. */
static bool is_half(hid_t type)
{
    size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    return H5Tget_size(type) == 2 && H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 && sign == 15 && exponent == 10
           && exponent_bits == 5 && mantissa == 0 && mantissa_bits == 10 && H5Tget_ebias(type) == 15;
}

/* Only numbers of a standard layout: others make the library convert bit by bit, in code that few files have ever met. */
static lt_element element_of(hid_t type)
{
    const struct { hid_t type[2]; lt_element element; } standard[] = {
        { { H5T_STD_I8LE, H5T_STD_I8BE }, LT_ELEMENT_I8 }, { { H5T_STD_I16LE, H5T_STD_I16BE }, LT_ELEMENT_I16 },
        { { H5T_STD_I32LE, H5T_STD_I32BE }, LT_ELEMENT_I32 }, { { H5T_STD_I64LE, H5T_STD_I64BE }, LT_ELEMENT_I64 },
        { { H5T_STD_U8LE, H5T_STD_U8BE }, LT_ELEMENT_U8 }, { { H5T_STD_U16LE, H5T_STD_U16BE }, LT_ELEMENT_U16 },
        { { H5T_STD_U32LE, H5T_STD_U32BE }, LT_ELEMENT_U32 }, { { H5T_STD_U64LE, H5T_STD_U64BE }, LT_ELEMENT_U64 },
        { { H5T_IEEE_F32LE, H5T_IEEE_F32BE }, LT_ELEMENT_F32 }, { { H5T_IEEE_F64LE, H5T_IEEE_F64BE }, LT_ELEMENT_F64 },
    };
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_STRING) return LT_ELEMENT_TEXT;
    if (class == H5T_ENUM) return LT_ELEMENT_ENUM;
    if (class != H5T_INTEGER && class != H5T_FLOAT) return LT_ELEMENT_OTHER;
    for (size_t i = 0; i < LT_LEN(standard); i++)
        for (int order = 0; order < 2; order++)
            if (H5Tequal(type, standard[i].type[order]) > 0) return standard[i].element;
    return class == H5T_FLOAT && is_half(type) ? LT_ELEMENT_F16 : LT_ELEMENT_OTHER;
}

static lt_status describe_type(lt_file_scan *s, hid_t array, lt_file_item *item)
{
    hid_t type = H5Dget_type(array);
    if (type < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path);
    bool committed = H5Tcommitted(type) > 0;
    item->element = element_of(type);
    item->element_bytes = (int32_t)LT_MIN(H5Tget_size(type), (size_t)INT32_MAX);
    H5Tclose(type);
    return committed ? refuse(s, item->path, "of a committed type") : LT_OK;
}

/* ---- Storage -------------------------------------------------------------------------------------------------- */

static lt_status describe_filter(lt_file_scan *s, hid_t create, unsigned i, lt_file_item *item)
{
    unsigned flags, values[8] = { 0 }, info;
    size_t n = LT_LEN(values), at = strlen(item->compression), size = sizeof item->compression, chunk_bytes = (size_t)item->element_bytes;
    const char *comma = at ? ", " : "";
    H5Z_filter_t f = H5Pget_filter2(create, i, &flags, &n, values, 0, NULL, &info);
    for (int k = 0; k < item->chunk_rank; k++) chunk_bytes *= (size_t)item->chunk[k];
    switch (f) {
    case H5Z_FILTER_DEFLATE: snprintf(item->compression + at, size - at, "%sgzip %u", comma, n ? values[0] : 0); return LT_OK;
    case H5Z_FILTER_SHUFFLE: snprintf(item->compression + at, size - at, "%sshuffle", comma); return LT_OK;
    case H5Z_FILTER_FLETCHER32: snprintf(item->compression + at, size - at, "%sother filter", comma); return LT_OK;
    case LT_FILTER_LZF:
        snprintf(item->compression + at, size - at, "%slzf", comma);
        item->lzf_wrong = n > 2 && values[2] && values[2] != chunk_bytes;
        return LT_OK;
    default: return LT_FAIL(LT_ERR_FORMAT, "%s: %s has filter %d: expected gzip, lzf, shuffle or fletcher32", s->path, item->path, (int)f);
    }
}

/* Runs before any other query of the array, because even its extents can lead to other files. */
static lt_status describe_storage(lt_file_scan *s, hid_t create, lt_file_item *item)
{
    hsize_t chunk[H5S_MAX_RANK];
    H5D_layout_t layout = H5Pget_layout(create);
    if (layout == H5D_VIRTUAL) return refuse(s, item->path, "a virtual array");
    if (H5Pget_external_count(create) > 0) return refuse(s, item->path, "in external storage");
    int rank = layout == H5D_CHUNKED ? H5Pget_chunk(create, H5S_MAX_RANK, chunk) : 0;
    if (rank > 0 && rank <= LT_MAX_RANK) {
        item->chunk_rank = rank;
        for (int k = 0; k < rank; k++) item->chunk[k] = (int64_t)chunk[k];
    }
    return LT_OK;
}

static lt_status describe_filters(lt_file_scan *s, hid_t create, lt_file_item *item)
{
    int n = H5Pget_nfilters(create);
    for (int i = 0; i < n; i++) LT_TRY(describe_filter(s, create, (unsigned)i, item));
    return LT_OK;
}

static lt_status describe_extents(lt_file_scan *s, hid_t array, lt_file_item *item)
{
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = H5Dget_space(array);
    if (space < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path);
    int rank = H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
    if (rank > 0 && rank <= LT_MAX_RANK && H5Sget_simple_extent_dims(space, dims, NULL) == rank) {
        item->rank = rank;
        for (int k = 0; k < rank; k++) item->dim[k] = (int64_t)dims[k];
    } else item->element = LT_ELEMENT_OTHER; /* a scalar, or more extents than we hold */
    if (item->chunk_rank != item->rank) item->chunk_rank = 0;
    H5Sclose(space);
    return LT_OK;
}

static lt_status describe_array(lt_file_scan *s, hid_t array, lt_file_item *item)
{
    hid_t create = H5Dget_create_plist(array);
    if (create < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, item->path);
    lt_status st = describe_storage(s, create, item);
    if (!st) st = describe_type(s, array, item);
    if (!st) st = describe_extents(s, array, item);
    if (!st) st = describe_filters(s, create, item);
    H5Pclose(create);
    LT_TRY(st);
    item->stored_bytes = H5Dget_storage_size(array);
    haddr_t at = item->chunk_rank ? HADDR_UNDEF : H5Dget_offset(array);
    item->data = at == HADDR_UNDEF ? LT_FILE_NOWHERE : at;
    H5Eclear2(H5E_DEFAULT);
    return LT_OK;
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

static lt_status add_item(lt_file_scan *s, const char *path, bool group, uint64_t header, lt_file_item **out)
{
    if (s->n >= LT_FILE_MAX_ITEMS) return LT_FAIL(LT_ERR_FORMAT, "%s: has more than %d objects", s->path, LT_FILE_MAX_ITEMS);
    if (s->n == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 64;
        lt_file_item *more = lt_realloc(s->item, (size_t)capacity * sizeof *more);
        if (!more) return LT_ERR_MEMORY;
        s->item = more;
        s->capacity = capacity;
    }
    *out = &s->item[s->n++];
    memset(*out, 0, sizeof **out);
    (*out)->group = group;
    (*out)->header = header;
    (*out)->data = LT_FILE_NOWHERE;
    snprintf((*out)->path, sizeof (*out)->path, "%s", path);
    return LT_OK;
}

static lt_status add_object(lt_file_scan *s, const char *path)
{
    H5O_info_t info;
    lt_file_item *item = NULL;
    if (H5Oget_info_by_name(s->file, path, &info, H5P_DEFAULT) < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, path);
    if (info.type == H5O_TYPE_NAMED_DATATYPE) return refuse(s, path, "a committed type");
    LT_TRY(add_item(s, path, info.type == H5O_TYPE_GROUP, info.addr, &item));
    if (info.type != H5O_TYPE_DATASET) return LT_OK;
    hid_t array = H5Dopen2(s->file, path, H5P_DEFAULT);
    if (array < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, path);
    lt_status st = describe_array(s, array, item);
    H5Dclose(array);
    return st;
}

/* Our own files name the parameters twice: this link is known without being followed. */
static lt_status take_soft_link(const lt_file_scan *s, const char *path, const H5L_info_t *link)
{
    char target[32] = "";
    const bool may_be = !strcmp(path, "/parameters/vectors") && link->u.val_size <= sizeof target;
    if (may_be && H5Lget_val(s->file, path, target, sizeof target, H5P_DEFAULT) < 0) return lt_hdf5_fail(LT_ERR_FORMAT, s->path, path);
    return may_be && !strcmp(target, "/parameters/params") ? LT_OK : refuse(s, path, "a soft link");
}

static lt_status add_link(lt_file_scan *s, const char *name, const H5L_info_t *link)
{
    char path[LT_FILE_PATH_BYTES];
    if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) return LT_FAIL(LT_ERR_FORMAT, "%s: has a path of more than %d bytes", s->path, LT_FILE_PATH_BYTES - 1);
    switch ((int)link->type) {
    case H5L_TYPE_HARD: return add_object(s, path);
    case H5L_TYPE_SOFT: return take_soft_link(s, path, link);
    case H5L_TYPE_EXTERNAL: return refuse(s, path, "an external link");
    default: return refuse(s, path, "a user-defined link");
    }
}

static herr_t visit(hid_t root, const char *name, const H5L_info_t *link, void *ctx)
{
    (void)root;
    lt_file_scan *s = ctx;
    s->status = add_link(s, name, link);
    return s->status ? -1 : 0;
}

lt_status lt_file_scan_all(lt_file_scan *s)
{
    LT_TRY(add_object(s, "/"));
    /* Goes down hard links only, into each group once. */
    if (H5Lvisit(s->file, H5_INDEX_NAME, H5_ITER_INC, visit, s) < 0 && !s->status) s->status = lt_hdf5_fail(LT_ERR_FORMAT, s->path, "cannot list its contents");
    H5Eclear2(H5E_DEFAULT);
    return s->status;
}
