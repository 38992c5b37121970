/* Prints what an HDF5 file holds, one line per group, array and attribute, with a digest of the elements: two files with equal
   lines hold equal numbers and texts, whatever their bytes are. h5_digest FILE.h5
   It uses HDF5 alone, so that it does not change with the library it watches. SPDX-License-Identifier: BSD-3-Clause */
#include <hdf5.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 1024, SHOWN = 4 };

static void check(int ok, const char *what, const char *path)
{
    if (ok) return;
    fprintf(stderr, "h5_digest: %s: %s\n", path, what);
    exit(1);
}

static void *allocate(size_t bytes, const char *path)
{
    void *block = calloc(bytes ? bytes : 1, 1);
    check(block != NULL, "out of memory", path);
    return block;
}

/* FNV-1a: each step is one to one, so arrays of equal length that differ in one byte never agree. */
static uint64_t digest(uint64_t h, const void *data, size_t n)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < n; i++) h = (h ^ byte[i]) * UINT64_C(0x100000001b3);
    return h;
}

static const uint64_t start_value = UINT64_C(0xcbf29ce484222325);

/* ---- types and shapes --------------------------------------------------------------------- */

static void print_type(hid_t type)
{
    static const char *const names[] = { [H5T_INTEGER] = "int", [H5T_FLOAT] = "float", [H5T_STRING] = "text", [H5T_BITFIELD] = "bits",
                                         [H5T_COMPOUND] = "compound", [H5T_ENUM] = "enum", [H5T_VLEN] = "vlen", [H5T_ARRAY] = "array" };
    H5T_class_t c = H5Tget_class(type);
    const char *name = c >= 0 && (size_t)c < sizeof names / sizeof *names && names[c] ? names[c] : "other";
    if (c == H5T_STRING && H5Tis_variable_str(type) > 0) printf(" text");
    else printf(" %s%s%zu", c == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", name, 8 * H5Tget_size(type));
}

static void print_dims(const char *label, const hsize_t *dims, int rank)
{
    printf(" %s[", label);
    for (int i = 0; i < rank; i++) printf("%s%" PRIuHSIZE, i ? ", " : "", dims[i]);
    printf("]");
}

static size_t print_space(hid_t space)
{
    hsize_t dims[H5S_MAX_RANK];
    print_dims("", dims, H5Sget_simple_extent_dims(space, dims, NULL));
    hssize_t n = H5Sget_simple_extent_npoints(space);
    return n < 0 ? 0 : (size_t)n;
}

/* ---- elements ----------------------------------------------------------------------------- */

static size_t text_length(const char *text, size_t limit)
{
    size_t n = 0;
    while (n < limit && text[n]) n++;
    return n;
}

static void print_text(const char *text, size_t length)
{
    printf(" \"");
    for (size_t i = 0; i < length; i++) text[i] == '\n' ? printf("\\n") : putchar(text[i]);
    printf("\"");
}

static void print_texts(hid_t type, const void *data, size_t n, size_t shown)
{
    size_t size = H5Tget_size(type);
    int variable = H5Tis_variable_str(type) > 0;
    uint64_t h = start_value;
    for (size_t i = 0; i < n; i++) {
        const char *text = variable ? ((char *const *)data)[i] : (const char *)data + i * size;
        size_t length = text ? text_length(text, variable ? SIZE_MAX : size) : 0;
        h = digest(digest(h, text, length), "", 1);
        if (i < shown) print_text(text ? text : "", length);
    }
    if (n > shown) printf(" ... %016" PRIx64, h);
}

static void print_numbers(hid_t type, const void *data, size_t n, const char *path)
{
    size_t size = H5Tget_size(type), shown = n < SHOWN ? n : SHOWN;
    printf(" %016" PRIx64, digest(start_value, data, n * size));
    hid_t number = H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
    if (H5Tget_class(number) == H5T_INTEGER || H5Tget_class(number) == H5T_FLOAT) {
        double *first = allocate(SHOWN * (size > sizeof *first ? size : sizeof *first), path);
        memcpy(first, data, shown * size);
        check(H5Tconvert(number, H5T_NATIVE_DOUBLE, shown, first, NULL, H5P_DEFAULT) >= 0, "numbers cannot be converted", path);
        for (size_t i = 0; i < shown; i++) printf(" %.17g", first[i]);
        if (n > shown) printf(" ...");
        free(first);
    }
    H5Tclose(number);
}

static void print_elements(hid_t type, hid_t space, void *data, size_t n, size_t shown, const char *path)
{
    if (H5Tget_class(type) == H5T_STRING) print_texts(type, data, n, shown);
    else print_numbers(type, data, n, path);
    if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
}

/* ---- attributes and arrays ---------------------------------------------------------------- */

static herr_t print_attribute(hid_t object, const char *name, const H5A_info_t *info, void *path)
{
    (void)info;
    hid_t a = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(a), space = H5Aget_space(a);
    check(a >= 0 && type >= 0 && space >= 0, "an attribute cannot be opened", path);
    printf("%s@%s", (const char *)path, name);
    print_type(type);
    size_t n = print_space(space);
    void *data = allocate(n * H5Tget_size(type), path);
    check(!n || H5Aread(a, type, data) >= 0, "an attribute cannot be read", path);
    print_elements(type, space, data, n, n, path);
    printf("\n");
    free(data);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(a);
    return 0;
}

/* Prints how the array is stored and returns whether its filters can be undone here. */
static int print_storage(hid_t properties)
{
    int readable = 1;
    if (H5Pget_layout(properties) != H5D_CHUNKED) return 1;
    hsize_t dims[H5S_MAX_RANK];
    print_dims("chunk ", dims, H5Pget_chunk(properties, H5S_MAX_RANK, dims));
    int n = H5Pget_nfilters(properties);
    for (int i = 0; i < n; i++) {
        unsigned flags, values[8] = { 0 }, config;
        size_t n_values = 8;
        H5Z_filter_t filter = H5Pget_filter2(properties, (unsigned)i, &flags, &n_values, values, 0, NULL, &config);
        printf(" filter %d", (int)filter);
        for (size_t k = 0; k < n_values && k < 8; k++) printf("%c%u", k ? ',' : ':', values[k]);
        if (H5Zfilter_avail(filter) <= 0) readable = 0;
    }
    return readable;
}

/* Chunks as they are stored, for filters that HDF5 does not know. */
static void print_chunks(hid_t array, hid_t space, const char *path)
{
    hsize_t n = 0;
    uint64_t h = start_value;
    check(H5Dget_num_chunks(array, space, &n) >= 0, "chunks cannot be counted", path);
    for (hsize_t i = 0; i < n; i++) {
        hsize_t at[H5S_MAX_RANK], bytes = 0;
        unsigned mask = 0;
        uint32_t filters = 0;
        check(H5Dget_chunk_info(array, space, i, at, &mask, NULL, &bytes) >= 0, "a chunk cannot be found", path);
        void *data = allocate(bytes, path);
        check(H5Dread_chunk(array, H5P_DEFAULT, at, &filters, data) >= 0, "a chunk cannot be read", path);
        h = digest(h, data, bytes);
        free(data);
    }
    printf(" stored %016" PRIx64, h);
}

static void print_array(hid_t array, const char *path)
{
    hid_t type = H5Dget_type(array), space = H5Dget_space(array), properties = H5Dget_create_plist(array);
    printf("%s", path);
    print_type(type);
    size_t n = print_space(space);
    if (!print_storage(properties)) {
        print_chunks(array, space, path);
    } else {
        void *data = allocate(n * H5Tget_size(type), path);
        check(H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "an array cannot be read", path);
        print_elements(type, space, data, n, SHOWN, path);
        free(data);
    }
    printf("\n");
    H5Pclose(properties);
    H5Sclose(space);
    H5Tclose(type);
}

static void print_object(hid_t object, const char *path)
{
    H5I_type_t kind = H5Iget_type(object);
    if (kind == H5I_DATASET) print_array(object, path);
    else printf("%s\n", path);
    check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, print_attribute, (void *)path) >= 0, "attributes cannot be listed", path);
    H5G_info_t group;
    if (kind != H5I_GROUP || H5Gget_info(object, &group) < 0) return;
    for (hsize_t i = 0; i < group.nlinks; i++) {
        char name[MAX_PATH], below[2 * MAX_PATH + 2];
        check(H5Lget_name_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) >= 0, "a name cannot be read", path);
        check(strlen(path) < MAX_PATH, "the path is too long", path);
        snprintf(below, sizeof below, "%s/%s", strcmp(path, "/") ? path : "", name);
        hid_t child = H5Oopen(object, name, H5P_DEFAULT);
        check(child >= 0, "cannot be opened", below);
        print_object(child, below);
        H5Oclose(child);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: h5_digest FILE.h5\n");
        return 2;
    }
    hid_t file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT), root = file < 0 ? -1 : H5Oopen(file, "/", H5P_DEFAULT);
    check(root >= 0, "cannot be opened", argv[1]);
    print_object(root, "/");
    H5Oclose(root);
    H5Fclose(file);
    return 0;
}
