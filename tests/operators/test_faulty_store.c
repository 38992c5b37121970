/* Dataset files while the HDF5 library or the system refuses one call: for every call of writing and of reading a file in turn. The answer is a
   sentence or a whole file; nothing of ours stays allocated, no file and no object of the library stays open, and the next run succeeds.
   SPDX-License-Identifier: BSD-3-Clause

   Both sides of the reader run in this process (fuzz/jail_here.c), so that its calls can be refused too. */
#define LT_TEST_KEPT_FILES 1 /* the one that dataset_put writes */
#include "lt_test.h"

#define H5_USE_110_API 1
#include "fuzz/good_dataset.h"
#include "operators/craft.h"
#include "operators/file/hdf5.h"
#include "operators/file/store.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>

/* ---- Calls, in front of the libraries' (--wrap, see CMakeLists.txt) ----------------------------------- */
static atomic_int calls, fail_at;

static bool refused(void)
{
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fail_at)) return false;
    errno = EIO;
    return true;
}

#define WRAP(type, name, parameters, arguments) \
    type __real_##name parameters;              \
    type __wrap_##name parameters;              \
    type __wrap_##name parameters { return refused() ? (type)-1 : __real_##name arguments; }

WRAP(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n))
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at))
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, fstat, (int fd, struct stat *out), (fd, out))
WRAP(int, flock, (int fd, int how), (fd, how))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(hid_t, H5Screate, (H5S_class_t c), (c))
WRAP(hid_t, H5Screate_simple, (int rank, const hsize_t *dim, const hsize_t *most), (rank, dim, most))
WRAP(herr_t, H5Sselect_hyperslab, (hid_t s, H5S_seloper_t op, const hsize_t *a, const hsize_t *b, const hsize_t *c, const hsize_t *d), (s, op, a, b, c, d))
WRAP(hid_t, H5Pcreate, (hid_t c), (c))
WRAP(herr_t, H5Pset_chunk, (hid_t p, int rank, const hsize_t *dim), (p, rank, dim))
WRAP(herr_t, H5Pset_filter, (hid_t p, H5Z_filter_t f, unsigned flags, size_t n, const unsigned *v), (p, f, flags, n, v))
WRAP(herr_t, H5Pset_deflate, (hid_t p, unsigned level), (p, level))
WRAP(herr_t, H5Pset_fapl_sec2, (hid_t p), (p))
WRAP(herr_t, H5Pset_libver_bounds, (hid_t p, H5F_libver_t low, H5F_libver_t high), (p, low, high))
WRAP(herr_t, H5PLset_loading_state, (unsigned mask), (mask))
WRAP(hid_t, H5Tcopy, (hid_t t), (t))
WRAP(herr_t, H5Tset_size, (hid_t t, size_t n), (t, n))
WRAP(herr_t, H5Tset_cset, (hid_t t, H5T_cset_t set), (t, set))
WRAP(hid_t, H5Tenum_create, (hid_t t), (t))
WRAP(herr_t, H5Tenum_insert, (hid_t t, const char *name, const void *v), (t, name, v))
WRAP(hid_t, H5Acreate2, (hid_t at, const char *name, hid_t t, hid_t s, hid_t p, hid_t q), (at, name, t, s, p, q))
WRAP(herr_t, H5Awrite, (hid_t a, hid_t t, const void *v), (a, t, v))
WRAP(hid_t, H5Aopen, (hid_t at, const char *name, hid_t p), (at, name, p))
WRAP(htri_t, H5Aexists, (hid_t at, const char *name), (at, name))
WRAP(hssize_t, H5Sget_simple_extent_npoints, (hid_t s), (s))
WRAP(herr_t, H5Aread, (hid_t a, hid_t t, void *v), (a, t, v))
WRAP(hid_t, H5Aget_type, (hid_t a), (a))
WRAP(hid_t, H5Aget_space, (hid_t a), (a))
WRAP(hid_t, H5Dcreate2, (hid_t at, const char *name, hid_t t, hid_t s, hid_t p, hid_t q, hid_t r), (at, name, t, s, p, q, r))
WRAP(herr_t, H5Dwrite, (hid_t d, hid_t t, hid_t from, hid_t to, hid_t p, const void *v), (d, t, from, to, p, v))
WRAP(herr_t, H5Dread, (hid_t d, hid_t t, hid_t to, hid_t from, hid_t p, void *v), (d, t, to, from, p, v))
WRAP(hid_t, H5Dopen2, (hid_t at, const char *name, hid_t p), (at, name, p))
WRAP(hid_t, H5Dget_type, (hid_t d), (d))
WRAP(hid_t, H5Dget_space, (hid_t d), (d))
WRAP(hid_t, H5Dget_create_plist, (hid_t d), (d))
WRAP(hid_t, H5Gcreate2, (hid_t at, const char *name, hid_t p, hid_t q, hid_t r), (at, name, p, q, r))
WRAP(hid_t, H5Gopen2, (hid_t at, const char *name, hid_t p), (at, name, p))
WRAP(hid_t, H5Fcreate, (const char *path, unsigned flags, hid_t p, hid_t q), (path, flags, p, q))
WRAP(hid_t, H5Fopen, (const char *path, unsigned flags, hid_t p), (path, flags, p))
WRAP(hid_t, H5Oopen, (hid_t at, const char *name, hid_t p), (at, name, p))
WRAP(herr_t, H5Lcreate_soft, (const char *to, hid_t at, const char *name, hid_t p, hid_t q), (to, at, name, p, q))
WRAP(herr_t, H5Lget_val, (hid_t at, const char *name, void *v, size_t n, hid_t p), (at, name, v, n, p))
WRAP(herr_t, H5Fget_vfd_handle, (hid_t f, hid_t p, void **v), (f, p, v))

/* ---- Writing --------------------------------------------------------------------------------------------- */
enum { ROWS = 5 };

static lt_store_plan plan(void)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    lt_store_plan p = { .rows = ROWS, .total = ROWS, .shard_count = 1, .chunk_rows = 2, .parameters = 3, .realizations = 2, .steps = 2, .grid = 4,
                        .temporal_columns = 2, .summary_columns = 2, .learned_columns = 2, .initial_columns = 3, .manual_columns = 1, .cnn_columns = 2, .architecture_columns = 2,
                        .first_operator_column = 1, .operator_columns = 1, .outputs = true, .row_devices = true, .compression = LT_COMPRESS_LZF };
    LT_CHECK_OK(lt_store_plan_finish(&p));
    p.part[LT_PART_TEMPORAL].names = p.part[LT_PART_AGGREGATED].names = p.part[LT_PART_INITIAL].names = names;
    p.part[LT_PART_TEMPORAL].n_names = 2;
    p.part[LT_PART_AGGREGATED].n_names = 6;
    p.part[LT_PART_INITIAL].n_names = 3;
    p.part[LT_PART_PER_TRAJECTORY].names = names;
    p.part[LT_PART_PER_TRAJECTORY].n_names = 2;
    return p;
}

static lt_status put_row(lt_store *s, const lt_store_plan *p, int64_t row)
{
    static const float states[2 * 3 * 16];
    lt_store_row *r;
    LT_TRY(lt_store_row_take(s, row, &r));
    for (int64_t t = 0; t < p->n_steps; t++) {
        lt_status st = lt_store_row_step(s, r, states, 4);
        if (!st) continue;
        lt_store_row_drop(s, r);
        return st;
    }
    r->code = LT_RUN_DONE;
    memcpy(r->device, row % 2 ? "cuda" : "cpu\0", LT_DEVICE_KIND);
    return lt_store_row_put(s, r);
}

static lt_status skeleton(const lt_store_claim *claim, const lt_store_plan *p)
{
    static const float unit[ROWS * 3];
    static const char *const text[ROWS] = { "x", "y", "x", "y", "z" }, *const dims[] = { "num_layers", "noise_scale", "grid_size" };
    static const int32_t grid[ROWS] = { 4, 4, 4, 4, 4 };
    static const int64_t row[ROWS] = { 0, 1, 2, 3, 4 };
    lt_store_labels l = { unit, text, text, text, grid, row, NULL };
    lt_store_texts t = { .config = "{}", .engine_config = "{}", .sampling_metrics = "{}", .precision = "float32", .date = "2026-01-01T00:00:00", .device = "cpu",
                         .registry = "{}", .extraction_config = "{}", .dimension_names = dims, .seed = 42 };
    return lt_store_skeleton(claim, p, &l, &t);
}

static lt_status write_file(const char *path, const lt_store_plan *p)
{
    lt_store_claim *claim;
    lt_store *s;
    LT_TRY(lt_store_claim_take(path, &claim));
    lt_status st = skeleton(claim, p);
    if (st) {
        lt_store_claim_release(claim);
        return st;
    }
    LT_TRY(lt_store_open(claim, p, "id", 2, false, &s));
    for (int64_t row = ROWS; row-- > 0 && !st;) st = put_row(s, p, row);
    lt_status closed = lt_store_close(s, NULL);
    return st ? st : closed;
}

/* Rows that are still missing, `most` of them. */
static lt_status write_some(lt_store_claim *claim, const lt_store_plan *p, bool resume, int most)
{
    lt_store *s;
    lt_status st = LT_OK;
    LT_TRY(lt_store_open(claim, p, "id", 2, resume, &s));
    for (int64_t row = 0; row < ROWS && !st && most; row++) {
        if (lt_store_row_done(s, row)) continue;
        st = put_row(s, p, row);
        most--;
    }
    lt_status closed = lt_store_close(s, NULL);
    return st ? st : closed;
}

/* A run that stops after three rows, and one that goes on. */
static lt_status write_in_two(const char *path, const lt_store_plan *p)
{
    lt_store_claim *claim;
    LT_TRY(lt_store_claim_take(path, &claim));
    lt_status st = lt_store_claim_clear(claim);
    if (!st) st = skeleton(claim, p);
    if (st) {
        lt_store_claim_release(claim);
        return st;
    }
    LT_TRY(write_some(claim, p, false, 3));
    LT_TRY(lt_store_claim_take(path, &claim));
    st = lt_store_claim_check(claim, "id", 2);
    if (!st && !lt_store_claim_has_run(claim, "id", 2)) st = LT_FAIL(LT_ERR_IO, "%s: no run to go on with", path);
    if (st) {
        lt_store_claim_release(claim);
        return st;
    }
    return write_some(claim, p, true, ROWS);
}

/* ---- What is refused: calls, or memory ------------------------------------------------------------------ */
typedef enum kind { CALLS, MEMORY } kind;

static int64_t made_before;

static void arm(kind k, int at)
{
    atomic_store(&calls, 0);
    made_before = lt_alloc_count();
    if (k == CALLS) atomic_store(&fail_at, at);
    else lt_alloc_fail_at(at);
}

/* Whether there were that many. */
static bool disarm(kind k, int at)
{
    bool reached = k == CALLS ? atomic_load(&calls) >= at : lt_alloc_count() - made_before >= at;
    atomic_store(&fail_at, 0);
    lt_alloc_fail_at(0);
    return reached;
}

static void check_nothing_stays(int64_t live, int open_before, const char *what, int at)
{
    if (lt_alloc_live() != live) LT_TEST_FAIL("%s, call %d: %lld blocks stay", what, at, (long long)(lt_alloc_live() - live));
    int more = lt_test_open_files() - open_before;
    if (more) LT_TEST_FAIL("%s, call %d: %d files stay open", what, at, more);
    ssize_t objects = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    if (objects) LT_TEST_FAIL("%s, call %d: %d objects stay open", what, at, (int)objects);
}

static void refuse_each(lt_status (*act)(const char *path, const lt_store_plan *p), const char *name, kind k)
{
    lt_store_plan p = plan();
    char path[400];
    int failed = 0;
    snprintf(path, sizeof path, "%s", scratch(name));
    LT_CHECK_OK(act(path, &p));
    for (int at = 1; at < 5000; at++) {
        int64_t live = lt_alloc_live();
        int open_before = lt_test_open_files();
        arm(k, at);
        lt_status s = act(path, &p);
        bool reached = disarm(k, at);
        failed += s != LT_OK;
        if (s && (s == LT_ERR_INTERNAL || !lt_error_text()[0])) LT_TEST_FAIL("%s, %d: %s", name, at, lt_error_text());
        check_nothing_stays(live, open_before, name, at);
        if (s && at % 16 == 0) LT_CHECK_OK(act(path, &p));
        if (reached) continue;
        LT_CHECK_OK(s);
        printf("%s: %d, of which %d end a run\n", name, at - 1, failed);
        LT_CHECK(failed > 10);
        return;
    }
    LT_TEST_FAIL("%s: more than were tried", name);
}

LT_TEST(writing_with_each_call_refused)
{
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1);
    refuse_each(write_file, "written.h5", CALLS);
    refuse_each(write_in_two, "continued.h5", CALLS);
}

LT_TEST(writing_with_each_allocation_refused)
{
    refuse_each(write_file, "written-memory.h5", MEMORY);
    refuse_each(write_in_two, "continued-memory.h5", MEMORY);
}

static void refuse_reading(kind k)
{
    const char *path = dataset_put(good_bytes, n_good_bytes);
    int failed = 0;
    for (int at = 1; at < 20000; at++) {
        int64_t live = lt_alloc_live();
        int open_before = lt_test_open_files();
        lt_error_set("");
        arm(k, at);
        dataset_read_as_users(path, craft_arrays, craft_attributes, at < 400 ? READ_TABLE : 3); /* some of the arrays: the others take the same way */
        bool reached = disarm(k, at);
        failed += lt_error_text()[0] != 0;
        check_nothing_stays(live, open_before, "reading", at);
        if (reached) continue;
        LT_CHECK(failed > 20);
        return;
    }
    LT_TEST_FAIL("more than were tried");
}

/* What the jailed process meets (test_crafted.c reads these files through it), here in this one, where blocks and objects are counted. */
static void read_crafted(const char *where, int change, int some)
{
    const char *path = dataset_put(good_bytes, n_good_bytes);
    int64_t live = lt_alloc_live();
    int open_before = lt_test_open_files();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    LT_CHECK(file >= 0);
    (void)craft_open(file, where, change);
    craft_close(file);
    dataset_read_as_users(path, craft_arrays, craft_attributes, some);
    check_nothing_stays(live, open_before, where, change);
}

LT_TEST(reading_every_crafted_file)
{
    if (!good_bytes) good_dataset_make();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (int i = 0; craft_arrays[i]; i++)
        for (int change = 0; change < CRAFT_CHANGES; change++) {
            read_crafted(craft_arrays[i], change, READ_TABLE);
            read_crafted(craft_arrays[i], change, 216 - i % 8); /* this array */
        }
    for (int i = 0; craft_attributes[i]; i++)
        for (int change = CRAFT_CHANGES; change < CRAFT_ALL; change++) read_crafted(craft_attributes[i], change, READ_TABLE);
}

LT_TEST(reading_with_each_call_or_allocation_refused)
{
    if (!good_bytes) good_dataset_make();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    refuse_reading(CALLS);
    refuse_reading(MEMORY);
}

/* Where no attribute of the readers' list has them: truths as h5py writes them, and enumerations that are none. */
LT_TEST(numbers_of_attributes)
{
    int64_t n = 7;
    bool found;
    int16_t one = 1;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), wide = H5Tenum_create(H5T_STD_I16LE), scalar = H5Screate(H5S_SCALAR);
    H5Pset_fapl_core(access, 1 << 16, false);
    hid_t file = H5Fcreate("attributes.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    LT_CHECK(file >= 0 && lt_hdf5_put_bool(file, "yes", true) >= 0 && lt_hdf5_put_int(file, "number", -5) >= 0 && lt_hdf5_put_text(file, "text", "1") >= 0);
    H5Tenum_insert(wide, "ONE", &one);
    H5Aclose(H5Acreate2(file, "wide", wide, scalar, H5P_DEFAULT, H5P_DEFAULT));
    LT_CHECK(!lt_hdf5_get_int(file, "f", "yes", &found, &n) && found && n == 1);
    LT_CHECK(!lt_hdf5_get_int(file, "f", "number", &found, &n) && found && n == -5);
    LT_CHECK(!lt_hdf5_get_int(file, "f", "none", &found, &n) && !found);
    LT_CHECK_FAILS(lt_hdf5_get_int(file, "f", "text", &found, &n), LT_ERR_TYPE, "text is not an integer");
    LT_CHECK_FAILS(lt_hdf5_get_int(file, "f", "wide", &found, &n), LT_ERR_TYPE, "wide is not an integer");
    H5Sclose(scalar), H5Tclose(wide), H5Pclose(access), H5Fclose(file);
}

/* The number of its first row; -1 where it cannot be read. */
static int64_t first_row(lt_dataset *d)
{
    int64_t row = -1;
    return lt_dataset_read_ints(d, "/status/row", 0, 1, &row, 1) ? -1 : row;
}

/* Until then nobody has to wait for it: it holds no lock. Afterwards the file is what it was, or it is not read. */
LT_TEST(a_reader_that_rests_wakes_over_the_same_file)
{
    enum { NOTHING, TOUCHED, LOCKED, LOCKS_IGNORED, WAYS };
    if (!good_bytes) good_dataset_make();
    LT_CHECK(!lt_dataset_rest(NULL) && !lt_dataset_wake(NULL));
    const char *path = dataset_put(good_bytes, n_good_bytes);
    lt_dataset *d;
    LT_CHECK_OK(lt_dataset_open(path, &d));
    LT_CHECK(!lt_dataset_rest(d) && lt_dataset_wake(d)); /* just written: another change might not show */
    lt_dataset_close(d);
    sleep(3);
    for (int way = NOTHING; way < WAYS; way++) {
        int writer = open(path, O_RDWR | O_CLOEXEC);
        LT_CHECK_OK(lt_dataset_open(path, &d));
        LT_CHECK(flock(writer, LOCK_EX | LOCK_NB) < 0);
        if (!lt_dataset_rest(d) || !lt_dataset_rest(d)) LT_TEST_FAIL("way %d: no rest", way);
        LT_CHECK(!flock(writer, LOCK_EX | LOCK_NB));
        if (way != LOCKED && way != LOCKS_IGNORED) flock(writer, LOCK_UN);
        if (way == TOUCHED) futimens(writer, NULL);
        if (way == LOCKS_IGNORED) setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
        bool woke = lt_dataset_wake(d);
        unsetenv("HDF5_USE_FILE_LOCKING");
        if (woke != (way == NOTHING || way == LOCKS_IGNORED)) LT_TEST_FAIL("way %d: %s", way, woke ? "woke" : "did not wake");
        LT_CHECK_EQ_INT(first_row(d), woke ? 0 : -1);
        LT_CHECK(woke == lt_dataset_wake(d));
        lt_dataset_close(d);
        close(writer);
        if (way == TOUCHED) sleep(3);
    }
}

LT_TEST_MAIN()
