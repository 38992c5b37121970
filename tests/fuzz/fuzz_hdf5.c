/* Fuzz target: dataset files whose structure is anything: arrays of any type, rank, extent, layout and values in the place of any of ours, links
   that lead elsewhere, attributes of any kind. Every reader answers with numbers or a sentence. SPDX-License-Identifier: BSD-3-Clause

   Each record of eight bytes is one change, made through the HDF5 library in a file that is an image in memory. Both sides of the reader run in this
   process (jail_here.c, decision 231), and where the jailed side opens the file it gets this image once more (--wrap): nothing is forked, written or
   parsed twice, and all of ours is instrumented. What the HDF5 library itself does with bytes that no library wrote is fuzz_hdf5_bytes's question: it
   crashes there, and the jail is for that. */
#include "good_dataset.h"

#define H5_USE_110_API 1
#include "operators/craft.h"

#include <hdf5.h>

enum { RECORD = 8, MOST_CHANGES = 6 };

/* The HDF5 library forgets some of its own memory when it fails. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

static hid_t image = -1;    /* the file that the reader gets */
static FILE *stands_in;     /* a file with a signature under its name, so that there is something to open */

hid_t __wrap_H5Fopen(const char *name, unsigned flags, hid_t access);
hid_t __real_H5Fopen(const char *name, unsigned flags, hid_t access);
herr_t __wrap_H5Fget_vfd_handle(hid_t file, hid_t access, void **handle);
herr_t __real_H5Fget_vfd_handle(hid_t file, hid_t access, void **handle);

hid_t __wrap_H5Fopen(const char *name, unsigned flags, hid_t access) { return image >= 0 ? H5Freopen(image) : __real_H5Fopen(name, flags, access); }

herr_t __wrap_H5Fget_vfd_handle(hid_t file, hid_t access, void **handle)
{
    if (image < 0) return __real_H5Fget_vfd_handle(file, access, handle);
    *handle = &stands_in;
    return 0;
}

static int count_of(const char *const *list)
{
    int n = 0;
    while (list[n]) n++;
    return n;
}

static const char *array_of(int which)
{
    int n = count_of(craft_arrays);
    return which % (n + 1) < n ? craft_arrays[which % (n + 1)] : "/status/more";
}

/* An array of any type, rank, extents and layout, where one of ours was or where nothing was. */
static void put_array(hid_t file, const uint8_t *d)
{
    static const hsize_t extents[] = { 0, 1, 2, 3, 4, 8, 17, 64, 1000, (hsize_t)1 << 31, (hsize_t)1 << 62, 5, 3, 3, 1, 2 };
    const hid_t types[] = { H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I8LE, H5T_STD_U8LE, H5T_STD_I64BE, H5T_STD_U32LE, H5T_C_S1, H5T_STD_B8LE, H5T_STD_REF_OBJ, H5T_IEEE_F32BE };
    const char *where = array_of(d[1]);
    hsize_t dim[8], chunk[8];
    int rank = d[2] % 8;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    for (int i = 0; i < rank; i++) dim[i] = extents[(d[3 + i % 4] >> (i < 4 ? 0 : 4)) % 16], chunk[i] = dim[i] && dim[i] < 64 ? dim[i] : 2;
    hid_t space = rank ? H5Screate_simple(rank, dim, NULL) : H5Screate(d[3] & 1 ? H5S_SCALAR : H5S_NULL);
    if (d[7] % 4 == 1 && rank) H5Pset_chunk(create, rank, chunk);
    if (d[7] % 4 == 2) H5Pset_layout(create, H5D_COMPACT);
    if (d[7] & 0x10 && rank) H5Pset_chunk(create, rank, chunk), H5Pset_deflate(create, d[7] % 10);
    if (d[7] & 0x20 && rank) H5Pset_chunk(create, rank, chunk), H5Pset_shuffle(create);
    H5Ldelete(file, where, H5P_DEFAULT);
    hid_t array = space >= 0 ? H5Dcreate2(file, where, types[d[0] / 16 % 10], space, H5P_DEFAULT, create, H5P_DEFAULT) : -1;
    if (array >= 0) H5Dclose(array);
    if (space >= 0) H5Sclose(space);
    H5Pclose(create);
}

/* Writing a value makes whole chunks, and a crafted one may be of gigabytes: that is not the reader's doing. */
static bool is_small(hid_t array)
{
    enum { MOST_BYTES = 1 << 20 };
    hid_t create = array < 0 ? -1 : H5Dget_create_plist(array);
    hsize_t chunk[H5S_MAX_RANK], bytes = 8;
    int rank = create < 0 ? -1 : H5Pget_layout(create) == H5D_CHUNKED ? H5Pget_chunk(create, H5S_MAX_RANK, chunk) : 0;
    for (int i = 0; i < rank && bytes <= MOST_BYTES; i++) bytes = chunk[i] > MOST_BYTES ? (hsize_t)MOST_BYTES + 1 : bytes * chunk[i];
    if (create >= 0) H5Pclose(create);
    return rank >= 0 && bytes <= MOST_BYTES;
}

/* Values of an array of numbers: one of a few that matter, in one place or everywhere. */
static void put_values(hid_t file, const uint8_t *d)
{
    static const double values[] = { 0, 1, -1, 2, 3, 255, 1e30, -1e300, 1e-320, 0.5, 7, 1e9, 9.3e18, -128, 100, 1e15 };
    enum { MOST = 4096 };
    static double all[MOST];
    hid_t array = H5Dopen2(file, array_of(d[1]), H5P_DEFAULT), space = array < 0 ? -1 : H5Dget_space(array), type = array < 0 ? -1 : H5Dget_type(array);
    hssize_t n = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    if (n > 0 && n <= MOST && is_small(array) && (class == H5T_INTEGER || class == H5T_FLOAT) && H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0) {
        double v = d[4] & 0x80 ? 0.0 / (double)(d[4] & 1) : values[d[4] % 16];
        for (hssize_t i = 0; i < n; i++)
            if (d[5] & 1 || i == (d[2] | d[3] << 8) % n) all[i] = v;
        H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    }
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (array >= 0) H5Dclose(array);
}

/* A text of the input's own bytes as an attribute. */
static void put_text(hid_t file, const uint8_t *d, size_t n)
{
    char object[200], text[64];
    const char *where = craft_attributes[d[1] % count_of(craft_attributes)], *name = strchr(where, '@') + 1;
    snprintf(object, sizeof object, "%.*s", (int)(name - 1 - where), where);
    snprintf(text, sizeof text, "%.*s", (int)(n - 2), (const char *)d + 2);
    hid_t at = H5Oopen(file, object, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    const char *list[] = { text };
    H5Tset_size(type, H5T_VARIABLE);
    if (at >= 0 && H5Aexists(at, name) > 0) H5Adelete(at, name);
    hid_t a = at < 0 ? -1 : H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (a >= 0) H5Awrite(a, type, list), H5Aclose(a);
    H5Tclose(type);
    H5Sclose(space);
    if (at >= 0) H5Oclose(at);
}

static void change(hid_t file, const uint8_t *d)
{
    switch (d[0] % 6) {
    case 0: (void)craft_open(file, craft_arrays[d[1] % count_of(craft_arrays)], d[2] % CRAFT_CHANGES); break;
    case 1: (void)craft_open(file, craft_attributes[d[1] % count_of(craft_attributes)], CRAFT_CHANGES + d[2] % (CRAFT_ALL - CRAFT_CHANGES)); break;
    case 2: put_array(file, d); break;
    case 3: case 4: put_values(file, d); break;
    default: put_text(file, d, RECORD); break;
    }
}

static const char *path;

static hid_t open_image(void)
{
    enum { STEP = 1 << 16 };
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    bool set = H5Pset_fapl_core(access, STEP, false) >= 0 && H5Pset_file_image(access, good_bytes, n_good_bytes) >= 0;
    hid_t file = set ? __real_H5Fopen("image.h5", H5F_ACC_RDWR, access) : -1;
    H5Pclose(access);
    LT_FUZZ_REQUIRE(file >= 0);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (!good_bytes) {
        good_dataset_make();
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        H5set_free_list_limits(-1, -1, -1, -1, -1, -1); /* keeps the half megabyte that each open file takes */
        path = dataset_put(good_bytes, n_good_bytes);
        stands_in = fopen(path, "rb");
        LT_FUZZ_REQUIRE(stands_in);
    }
    image = open_image();
    for (size_t at = 0; at + RECORD <= n_bytes && at < MOST_CHANGES * RECORD; at += RECORD) change(image, data + at);
    dataset_read_as_users(path, craft_arrays, craft_attributes, n_bytes ? data[n_bytes - 1] : READ_ALL);
    craft_close(image);
    image = -1;
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 30 || capacity < 2 * RECORD) return 0;
    const uint8_t seed[2 * RECORD] = { (uint8_t)(index % 6 + 6 * (index % 5)), (uint8_t)index, (uint8_t)(2 * index), 3, 2, 4, 1, (uint8_t)(17 * index), 2, (uint8_t)(index * 5), 2, 3, 0x52, 1, 2, 1 };
    memcpy(out, seed, sizeof seed);
    return index % 3 ? sizeof seed : RECORD;
}
