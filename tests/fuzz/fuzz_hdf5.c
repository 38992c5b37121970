/* Fuzz target: dataset files whose structure is anything: arrays of any type, rank, extent and layout in the place of any of ours, links
   that lead elsewhere, attributes of any kind, bytes changed afterwards. Every reader answers with numbers or a sentence.
   SPDX-License-Identifier: BSD-3-Clause

   Each record of eight bytes is one change, made through the HDF5 library. The scan runs in this process, so that its coverage counts;
   then the file is opened, walked, validated and read as users do, through the jailed process. */
#include "fuzz.h"

#define H5_USE_110_API 1
#include "base/alloc.h"
#include "base/files/file.h"
#include "base/scratch.h"
#include "lathe/dataset.h"
#include "operators/craft.h"
#include "operators/file/dataset_scan.h"

#include <fcntl.h>
#include <string.h>

enum { RECORD = 8, MOST_BYTES = 1 << 20 };

static const char config_text[] =
    "metadata: {name: fuzz}\n"
    "parameter_space:\n"
    "  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, kernel_size: {type: choice, choices: [3]}}\n"
    "  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
    "  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}\n"
    "sampling: {total_samples: 3, batch_size: 2}\n"
    "simulation: {device: cpu, precision: float32, num_realizations: 1, num_timesteps: 2}\n"
    "dataset: {output_path: x.h5, storage: {chunk_size: 2, store_trajectories: true}}\n";

static char good[400], bad[400], other[400];

/* The HDF5 library forgets some of its own memory when it fails on damaged texts. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

static void make_good(void)
{
    lt_dataset_config *c = NULL;
    lt_generate_options opt = lt_generate_defaults();
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1);
    snprintf(good, sizeof good, "%s", scratch("good.h5"));
    snprintf(bad, sizeof bad, "%s", scratch("bad.h5"));
    snprintf(other, sizeof other, "%s", scratch("other.h5"));
    LT_FUZZ_REQUIRE(lt_dataset_config_parse(config_text, sizeof config_text - 1, "fuzz.yaml", &(lt_dataset_overrides){ .size = sizeof(lt_dataset_overrides), .output = good }, &c) == LT_OK);
    LT_FUZZ_REQUIRE(lt_generate(c, &opt, NULL) == LT_OK);
    lt_dataset_config_destroy(c);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static int count_of(const char *const *list)
{
    int n = 0;
    while (list[n]) n++;
    return n;
}

/* An array of any type, rank, extents and layout, where one of ours was or where nothing was. */
static void put_array(const uint8_t *d)
{
    static const hsize_t extents[] = { 0, 1, 2, 3, 4, 8, 17, 64, 1000, (hsize_t)1 << 31, (hsize_t)1 << 62, 5, 3, 3, 1, 2 };
    const hid_t types[] = { H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_I8LE, H5T_STD_U8LE, H5T_STD_I64BE, H5T_STD_U32LE, H5T_C_S1, H5T_STD_B8LE, H5T_STD_REF_OBJ, H5T_IEEE_F32BE };
    const char *where = d[1] % 20 < count_of(craft_arrays) ? craft_arrays[d[1] % 20] : "/status/more";
    hsize_t dim[8], chunk[8];
    int rank = d[2] % 8;
    hid_t file = H5Fopen(bad, H5F_ACC_RDWR, H5P_DEFAULT), create = H5Pcreate(H5P_DATASET_CREATE);
    for (int i = 0; i < rank; i++) dim[i] = extents[(d[3 + i % 4] >> (i < 4 ? 0 : 4)) % 16], chunk[i] = dim[i] && dim[i] < 64 ? dim[i] : 2;
    hid_t space = rank ? H5Screate_simple(rank, dim, NULL) : H5Screate(d[3] & 1 ? H5S_SCALAR : H5S_NULL);
    if (d[7] % 4 == 1 && rank) H5Pset_chunk(create, rank, chunk);
    if (d[7] % 4 == 2) H5Pset_layout(create, H5D_COMPACT);
    if (d[7] & 0x10 && rank) H5Pset_chunk(create, rank, chunk), H5Pset_deflate(create, d[7] % 10);
    if (d[7] & 0x20 && rank) H5Pset_chunk(create, rank, chunk), H5Pset_shuffle(create);
    if (file >= 0) H5Ldelete(file, where, H5P_DEFAULT);
    hid_t array = file >= 0 && space >= 0 ? H5Dcreate2(file, where, types[d[0] / 16 % 10], space, H5P_DEFAULT, create, H5P_DEFAULT) : -1;
    if (array >= 0) H5Dclose(array);
    if (space >= 0) H5Sclose(space);
    H5Pclose(create);
    if (file >= 0) H5Fclose(file);
}

static void change_bytes(const uint8_t *d)
{
    int fd = open(bad, O_RDWR);
    off_t end = lseek(fd, 0, SEEK_END), at = (d[1] | d[2] << 8 | d[3] << 16) % (end ? end : 1);
    if (fd >= 0 && end > 0) (void)!pwrite(fd, d + 4, (size_t)(d[7] % 4 + 1), d[0] & 0x40 ? at % 4096 : at);
    if (d[0] & 0x80) (void)!ftruncate(fd, at);
    close(fd);
}

static void change(const uint8_t *d)
{
    const int n_arrays = count_of(craft_arrays), n_attributes = count_of(craft_attributes);
    bool attribute = d[0] % 4 == 1;
    const char *where = attribute ? craft_attributes[d[1] % n_attributes] : craft_arrays[d[1] % n_arrays];
    int what = attribute ? CRAFT_CHANGES + d[2] % (CRAFT_ALL - CRAFT_CHANGES) : d[2] % CRAFT_CHANGES;
    switch (d[0] % 4) {
    case 0: case 1:
        if (craft_file(bad, other, where, what)) rename(other, bad);
        break;
    case 2: put_array(d); break;
    default: change_bytes(d); break;
    }
}

/* ---- Reading ---- */
static lt_status count_item(void *ctx, const lt_dataset_item *item)
{
    *(int64_t *)ctx += item->path[0] == '/';
    return LT_OK;
}

static void ignore_finding(void *ctx, lt_finding_level level, const char *text)
{
    (void)ctx, (void)level;
    LT_FUZZ_REQUIRE(text[0]);
}

static void scan_here(void)
{
    lt_file_scan s = { .path = bad, .file = H5Fopen(bad, H5F_ACC_RDONLY, H5P_DEFAULT) };
    if (s.file < 0) return;
    lt_status st = lt_file_scan_all(&s);
    LT_FUZZ_REQUIRE(st || s.n > 0);
    lt_free(s.item);
    H5Fclose(s.file);
}

static void read_as_users(void)
{
    lt_dataset *d;
    if (lt_dataset_open(bad, &d)) {
        LT_FUZZ_REQUIRE(!d && lt_error_text()[0]);
        return;
    }
    int64_t items = 0, n;
    const char *const *texts;
    static float values[1 << 16];
    (void)lt_dataset_walk(d, count_item, &items);
    for (int i = 0; craft_arrays[i]; i++) {
        (void)lt_dataset_texts(d, craft_arrays[i], &n, &texts);
        (void)lt_dataset_read(d, craft_arrays[i], 0, 1, values, 1 << 16);
    }
    (void)lt_dataset_validate(d, &(lt_validate_options){ sizeof(lt_validate_options), false, true, 0, NULL }, ignore_finding, NULL);
    lt_dataset_close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char *copy;
    size_t n;
    if (!good[0]) make_good();
    LT_FUZZ_REQUIRE(lt_file_read(good, MOST_BYTES, &copy, &n) == LT_OK);
    int fd = open(bad, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    LT_FUZZ_REQUIRE(fd >= 0 && write(fd, copy, n) == (ssize_t)n);
    close(fd);
    lt_free(copy);
    for (size_t at = 0; at + RECORD <= n_bytes && at < 6 * RECORD; at += RECORD) change(data + at);
    scan_here();
    int64_t live = lt_alloc_live();
    read_as_users();
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 24 || capacity < 2 * RECORD) return 0;
    const uint8_t seed[2 * RECORD] = { (uint8_t)(index % 4 + 16 * (index % 5)), (uint8_t)index, (uint8_t)(2 * index), 3, 2, 4, 1, (uint8_t)(17 * index), 2, (uint8_t)(index * 5), 2, 3, 0x52, 1, 2, 1 };
    memcpy(out, seed, sizeof seed);
    return index % 3 ? sizeof seed : RECORD;
}
