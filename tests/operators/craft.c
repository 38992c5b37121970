/* Writes crafted dataset files by the HDF5 library. SPDX-License-Identifier: BSD-3-Clause */
#include "craft.h"

#define H5_USE_110_API 1
#include <hdf5.h>

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const craft_arrays[] = {
    "/parameters/params", "/inputs/fields", "/outputs/fields", "/features/temporal/features", "/features/summary/per_trajectory/features",
    "/features/summary/aggregated/features", "/features/initial/aggregated/features", "/features/architecture/aggregated/features", "/metadata/ic_types",
    "/metadata/evolution_policies", "/metadata/noise_regimes", "/metadata/grid_sizes", "/status/code", "/status/step", "/status/seconds", "/status/row", NULL
};
const char *const craft_attributes[] = {
    "/metadata@config", "/metadata@creation_date", "/metadata@sampling_metrics", "/metadata@num_realizations", "/metadata@grid_size",
    "/metadata@num_parameter_sets", "/@engine_version", "/@engine_config", "/@precision", "/@device", "/@seed", "/@shard_index", "/@shard_count",
    "/parameters@dimension_names", "/features/temporal/features@column_names", "/features/summary/aggregated/features@column_names", NULL
};

const char *craft_name(int change)
{
    static const char *const names[CRAFT_ALL] = {
        "missing", "group", "scalar", "rank-more", "rank-less", "rows-more", "rows-none", "wider", "narrower", "integers", "floats", "text", "fixed-text",
        "compound", "opaque", "odd-float", "references", "huge-chunk", "lzf-wrong", "soft-link", "external-link", "user-link", "external-storage", "virtual",
        "committed", "filter", "attribute-missing", "attribute-int", "attribute-huge-int", "attribute-float", "attribute-list", "attribute-fixed",
        "attribute-compound", "attribute-empty", "attribute-garbage",
    };
    return names[change];
}

enum { RANK_MOST = 8, USER_LINK = 100 };

typedef struct array { hid_t type; int rank; hsize_t dim[RANK_MOST], chunk[RANK_MOST]; bool chunked; } array;

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    return type;
}

static hid_t compound_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 4096);
    H5Tinsert(type, "a", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(type, "b", 2000, H5T_NATIVE_INT64);
    return type;
}

/* 29 bits, the sign in the middle: legal, and nobody's. */
static hid_t odd_float(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 20, 21, 7, 3, 17);
    H5Tset_precision(type, 29);
    return type;
}

/* False for what is no array, or has no extents or too many. */
static bool look(hid_t file, const char *path, array *out)
{
    hid_t d = H5Dopen2(file, path, H5P_DEFAULT);
    if (d < 0) return false;
    hid_t space = H5Dget_space(d), create = H5Dget_create_plist(d);
    out->rank = H5Sget_simple_extent_ndims(space);
    bool fits = out->rank >= 1 && out->rank < RANK_MOST; /* one more may be added */
    if (fits) {
        out->type = H5Dget_type(d);
        H5Sget_simple_extent_dims(space, out->dim, NULL);
        out->chunked = H5Pget_layout(create) == H5D_CHUNKED && H5Pget_chunk(create, RANK_MOST, out->chunk) > 0;
    }
    H5Pclose(create);
    H5Sclose(space);
    H5Dclose(d);
    return fits;
}

/* All values of a new array, ones; nothing where there would be too many. */
static void fill(hid_t d, const array *a)
{
    size_t n = 1;
    hid_t native = H5Tget_native_type(a->type, H5T_DIR_ASCEND);
    for (int k = 0; k < a->rank; k++) n *= (size_t)a->dim[k];
    H5T_class_t class = H5Tget_class(a->type);
    if ((class == H5T_INTEGER || class == H5T_FLOAT) && n > 0 && n < 1u << 24 && H5Tget_size(a->type) <= 8) {
        double *one = malloc(n * sizeof *one);
        for (size_t i = 0; i < n; i++) one[i] = 1;
        H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, one);
        free(one);
    } else if (class == H5T_STRING && H5Tis_variable_str(a->type) > 0 && n > 0 && n < 1u << 20) {
        const char **words = malloc(n * sizeof *words);
        for (size_t i = 0; i < n; i++) words[i] = "word";
        H5Dwrite(d, a->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, words);
        free(words);
    }
    H5Tclose(native);
}

static bool put(hid_t file, const char *path, const array *a, hid_t create, bool filled)
{
    hid_t space = a->rank ? H5Screate_simple(a->rank, a->dim, NULL) : H5Screate(H5S_SCALAR);
    hid_t d = H5Dcreate2(file, path, a->type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (d >= 0 && filled) fill(d, a);
    if (d >= 0) H5Dclose(d);
    H5Sclose(space);
    return d >= 0;
}

/* ---- Arrays of other shapes and types -------------------------------------------------------------------- */

/* The array has a type of its own, closed by craft_open. */
static void set_type(array *a, hid_t type)
{
    H5Tclose(a->type);
    a->type = type;
}

static void reshape(array *a, int change)
{
    switch (change) {
    case CRAFT_SCALAR:    a->rank = 0; break;
    case CRAFT_RANK_MORE: a->dim[a->rank++] = 2000; break;
    case CRAFT_RANK_LESS: a->rank = a->rank > 1 ? a->rank - 1 : 1; a->dim[0] += a->rank == 1; break;
    case CRAFT_ROWS_MORE: a->dim[0] += 3; break;
    case CRAFT_ROWS_NONE: a->dim[0] = 0; break;
    case CRAFT_WIDER:     a->dim[a->rank - 1] *= 100; break;
    case CRAFT_NARROWER:  a->dim[a->rank - 1] = 1; break;
    case CRAFT_INTEGERS: set_type(a, H5Tcopy(H5T_STD_I64BE)); break;
    case CRAFT_FLOATS: set_type(a, H5Tcopy(H5T_IEEE_F64BE)); break;
    case CRAFT_TEXT: set_type(a, text_type(H5T_VARIABLE)); break;
    case CRAFT_FIXED_TEXT: set_type(a, text_type(1 << 16)); break;
    case CRAFT_COMPOUND: set_type(a, compound_type()); break;
    case CRAFT_OPAQUE: set_type(a, H5Tcreate(H5T_OPAQUE, 64)); break;
    case CRAFT_ODD_FLOAT: set_type(a, odd_float()); break;
    case CRAFT_REFERENCES: set_type(a, H5Tcopy(H5T_STD_REF_OBJ)); break;
    default: break;
    }
}

static bool craft_shape(hid_t file, const char *path, array *a, int change)
{
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    reshape(a, change);
    if (change == CRAFT_HUGE_CHUNK || change == CRAFT_LZF_WRONG) {
        hsize_t chunk[RANK_MOST];
        unsigned values[3] = { 4, 0x0105, 3 };
        for (int k = 0; k < a->rank; k++) chunk[k] = a->dim[k];
        if (change == CRAFT_HUGE_CHUNK) chunk[0] = ((hsize_t)1 << 32) / 8; /* just below what the format holds */
        for (int k = 1; k < a->rank && change == CRAFT_HUGE_CHUNK; k++) chunk[0] /= a->dim[k];
        for (hsize_t bytes = H5Tget_size(a->type); bytes > 8 && change == CRAFT_HUGE_CHUNK; bytes /= 2) chunk[0] /= 2;
        hsize_t most[RANK_MOST];
        for (int k = 0; k < a->rank; k++) most[k] = H5S_UNLIMITED;
        H5Pset_chunk(create, a->rank, chunk);
        if (change == CRAFT_LZF_WRONG) H5Pset_filter(create, 32000, H5Z_FLAG_OPTIONAL, 3, values);
        hid_t space = H5Screate_simple(a->rank, a->dim, most), d = H5Dcreate2(file, path, a->type, space, H5P_DEFAULT, create, H5P_DEFAULT);
        if (d >= 0) H5Dclose(d);
        H5Sclose(space);
        H5Pclose(create);
        return d >= 0;
    }
    bool done = put(file, path, a, create, true);
    H5Pclose(create);
    return done;
}

/* ---- Ways out of the file ------------------------------------------------------------------------------------ */

static bool craft_link(hid_t file, const char *path, int change)
{
    if (change == CRAFT_SOFT_LINK) return H5Lcreate_soft("/status", file, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    if (change == CRAFT_EXTERNAL_LINK) return H5Lcreate_external("/etc/hostname", "/x", file, path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    static const H5L_class_t class = { .version = H5L_LINK_CLASS_T_VERS, .id = (H5L_type_t)USER_LINK };
    return H5Lregister(&class) >= 0 && H5Lcreate_ud(file, path, (H5L_type_t)USER_LINK, "x", 1, H5P_DEFAULT, H5P_DEFAULT) >= 0;
}

static bool craft_way_out(hid_t file, const char *path, array *a, int change)
{
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(a->rank, a->dim, NULL);
    bool done = false;
    if (change == CRAFT_EXTERNAL_STORAGE) {
        size_t bytes = H5Tget_size(a->type);
        for (int k = 0; k < a->rank; k++) bytes *= (size_t)a->dim[k];
        done = H5Pset_external(create, "/etc/passwd", 0, bytes) >= 0 && put(file, path, a, create, false);
    } else if (change == CRAFT_VIRTUAL)
        done = H5Pset_virtual(create, space, "/etc/passwd", "/x", space) >= 0 && put(file, path, a, create, false);
    else if (change == CRAFT_FILTER) {
        done = H5Pset_chunk(create, a->rank, a->dim) >= 0 && H5Pset_filter(create, 305, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0 && put(file, path, a, create, false);
    } else if (change == CRAFT_COMMITTED) {
        set_type(a, H5Tcopy(a->type));
        done = H5Tcommit2(file, "/type", a->type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0 && put(file, path, a, create, true);
        H5Ldelete(file, "/type", H5P_DEFAULT); /* only the array leads to it */
    }
    H5Sclose(space);
    H5Pclose(create);
    return done;
}

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static bool craft_attribute(hid_t file, const char *where, int change)
{
    char object[200];
    static const char *const words[] = { "one", "two", "three" }, *const garbage[] = { "\x1b[31m{\"a\": [[[[\n\t\xff\x9b\xe2\x80\xae" };
    const char *name = strchr(where, '@') + 1;
    int64_t integers[] = { 3, INT64_MIN };
    double real = 1e300;
    snprintf(object, sizeof object, "%.*s", (int)(name - 1 - where), where);
    hsize_t extent = 3;
    hid_t at = H5Oopen(file, object, H5P_DEFAULT), type = -1, space = change == CRAFT_ATTRIBUTE_EMPTY ? H5Screate(H5S_NULL)
                                                              : change == CRAFT_ATTRIBUTE_LIST ? H5Screate_simple(1, &extent, NULL) : H5Screate(H5S_SCALAR);
    const void *data = NULL;
    char *large = NULL;
    if (H5Aexists(at, name) > 0) H5Adelete(at, name);
    if (change == CRAFT_ATTRIBUTE_MISSING) {
        H5Sclose(space);
        H5Oclose(at);
        return true;
    }
    switch (change) {
    case CRAFT_ATTRIBUTE_INT: type = H5Tcopy(H5T_STD_I64LE); data = &integers[0]; break;
    case CRAFT_ATTRIBUTE_HUGE_INT: type = H5Tcopy(H5T_STD_I64LE); data = &integers[1]; break;
    case CRAFT_ATTRIBUTE_FLOAT: type = H5Tcopy(H5T_IEEE_F64LE); data = &real; break;
    case CRAFT_ATTRIBUTE_LIST: type = text_type(H5T_VARIABLE); data = words; break;
    case CRAFT_ATTRIBUTE_GARBAGE: type = text_type(H5T_VARIABLE); data = garbage; break;
    case CRAFT_ATTRIBUTE_FIXED: type = text_type(60000); data = large = malloc(60000); memset(large, 'x', 60000); break;
    case CRAFT_ATTRIBUTE_COMPOUND: type = compound_type(); data = large = calloc(1, 4096); break;
    default: type = H5Tcopy(H5T_STD_I64LE); break;
    }
    hid_t a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = a >= 0 && (!data || H5Awrite(a, type, data) >= 0);
    if (a >= 0) H5Aclose(a);
    H5Tclose(type);
    H5Sclose(space);
    H5Oclose(at);
    free(large);
    return done;
}

/* ---- Files --------------------------------------------------------------------------------------------------------- */

static bool copy_file(const char *from, const char *to)
{
    char *data;
    size_t n;
    if (lt_file_read(from, 1 << 26, &data, &n)) return false;
    bool done = !lt_file_write(to, data, n);
    lt_free(data);
    return done;
}

static bool craft_array(hid_t file, const char *where, array *a, int change)
{
    if (change == CRAFT_MISSING) return true;
    if (change == CRAFT_GROUP) return H5Gclose(H5Gcreate2(file, where, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0;
    if (change < CRAFT_ARRAY_CHANGES) return craft_shape(file, where, a, change);
    return change <= CRAFT_USER_LINK ? craft_link(file, where, change) : craft_way_out(file, where, a, change);
}

bool craft_open(int64_t file, const char *where, int change)
{
    array a;
    if (change >= CRAFT_CHANGES) return craft_attribute(file, where, change);
    if (!look(file, where, &a)) return false;
    bool done = H5Ldelete(file, where, H5P_DEFAULT) >= 0 && craft_array(file, where, &a, change);
    H5Tclose(a.type);
    return done;
}

void craft_close(int64_t file)
{
    hid_t open[64];
    ssize_t n = H5Fget_obj_ids(file, H5F_OBJ_DATASET | H5F_OBJ_GROUP | H5F_OBJ_DATATYPE | H5F_OBJ_ATTR, 64, open);
    for (ssize_t i = 0; i < n; i++) H5Idec_ref(open[i]);
    H5Fclose(file);
}

bool craft_file(const char *good, const char *bad, const char *where, int change)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = copy_file(good, bad) ? H5Fopen(bad, H5F_ACC_RDWR, H5P_DEFAULT) : -1;
    bool done = file >= 0 && craft_open(file, where, change);
    if (file >= 0) craft_close(file);
    return done;
}

bool craft_rows(const char *good, const char *bad, long long rows)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = copy_file(good, bad) ? H5Fopen(bad, H5F_ACC_RDWR, H5P_DEFAULT) : -1;
    bool done = file >= 0;
    H5Ldelete(file, "/features/summary/aggregated/metadata/extraction_time", H5P_DEFAULT);
    for (int i = 0; craft_arrays[i] && done; i++) {
        array a;
        hid_t create = H5Pcreate(H5P_DATASET_CREATE);
        if (!look(file, craft_arrays[i], &a)) continue;
        hsize_t chunk[RANK_MOST];
        memcpy(chunk, a.dim, sizeof chunk);
        a.dim[0] = (hsize_t)rows;
        H5Ldelete(file, craft_arrays[i], H5P_DEFAULT);
        H5Pset_chunk(create, a.rank, chunk);
        done = put(file, craft_arrays[i], &a, create, false);
        H5Tclose(a.type);
        H5Pclose(create);
    }
    done = done && H5Adelete_by_name(file, "/metadata", "num_parameter_sets", H5P_DEFAULT) >= 0;
    if (file >= 0) craft_close(file);
    return done;
}

bool craft_value(const char *good, const char *bad, const char *where, double value)
{
    enum { MOST = 4096 };
    double all[MOST];
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = copy_file(good, bad) ? H5Fopen(bad, H5F_ACC_RDWR, H5P_DEFAULT) : -1, values = file < 0 ? -1 : H5Dopen2(file, where, H5P_DEFAULT);
    for (int i = 0; i < MOST; i++) all[i] = value;
    bool done = values >= 0 && H5Dget_storage_size(values) <= MOST && H5Dwrite(values, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0;
    if (file >= 0) craft_close(file);
    return done;
}
