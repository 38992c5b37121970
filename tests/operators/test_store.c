/* Dataset files: rows in any order, kills at any instant, deep indexes, every compression; read back with
   the HDF5 library. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/scratch.h"
#include "lathe/rng.h"
#include "operators/file/dataset_file.h"
#include "operators/file/hdf5.h"
#include "operators/file/journal.h"
#include "operators/file/lzf.h"
#include "operators/file/store.h"
#include "operators/file/store_index.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MAX_ROWS = 5000 };

/* In builds without zlib LZF takes the place of gzip. */
static lt_store_plan plan_of(int64_t rows, int64_t chunk_rows, bool outputs, lt_compression compression)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    lt_store_plan p = { .rows = rows, .total = rows, .shard_count = 1, .chunk_rows = chunk_rows, .parameters = 3, .realizations = 2, .steps = 4,
                        .grid = 6, .temporal_columns = 5, .summary_columns = 2, .initial_columns = 3, .outputs = outputs,
                        .compression = lt_store_check_compression(compression) ? LT_COMPRESS_LZF : compression, .level = 4 };
    LT_CHECK_OK(lt_store_plan_finish(&p));
    p.part[LT_PART_TEMPORAL].names = p.part[LT_PART_AGGREGATED].names = p.part[LT_PART_INITIAL].names = names;
    p.part[LT_PART_TEMPORAL].n_names = 5;
    p.part[LT_PART_AGGREGATED].n_names = 6;
    p.part[LT_PART_INITIAL].n_names = 3;
    return p;
}

static lt_status make_skeleton(const char *path, const lt_store_plan *p)
{
    static float unit[MAX_ROWS * 3];
    static const char *text[MAX_ROWS];
    static int32_t grid[MAX_ROWS];
    static int64_t row[MAX_ROWS];
    for (int64_t i = 0; i < p->rows; i++) {
        for (int k = 0; k < 3; k++) unit[3 * i + k] = (float)((int)(i + k) % 7) / 7;
        text[i] = i % 2 ? "odd" : "even";
        grid[i] = 6;
        row[i] = i;
    }
    lt_store_labels l = { unit, text, text, text, grid, row, NULL };
    static const char *const dims[] = { "num_layers", "noise_scale", "grid_size" };
    lt_store_texts t = { .config = "{}", .engine_config = "{}", .sampling_metrics = "{}", .precision = "float32", .date = "2026-01-01T00:00:00",
                         .registry = "{}", .extraction_config = "{}", .dimension_names = dims, .seed = 42 };
    lt_store_claim *claim;
    lt_status s = lt_store_claim_take(path, &claim);
    if (s) return s;
    s = lt_store_skeleton(claim, p, &l, &t);
    lt_store_claim_release(claim);
    return s;
}

static lt_status open_store(const char *path, const lt_store_plan *p, const char *identity, bool resume, lt_store **out)
{
    lt_store_claim *claim;
    lt_status s = lt_store_claim_take(path, &claim);
    return s ? s : lt_store_open(claim, p, identity, strlen(identity), resume, out);
}

/* What element k of a part of a row holds: any function of the three. */
static float value_of(int part, int64_t row, int64_t k) { return (float)(((row * 131 + part * 17 + k) * 2654435761u) % 4096) / 16; }

/* Rows with an odd number have a grid of 4 instead of 6. */
static void fill_states(int64_t row, int64_t t, int grid, float *x)
{
    for (int64_t k = 0; k < 2 * 3 * grid * grid; k++) x[k] = value_of(LT_PART_OUTPUT, row, t * 1000 + k);
}

static lt_status put_row(lt_store *s, const lt_store_plan *p, int64_t row)
{
    lt_store_row *r;
    lt_status st = lt_store_row_take(s, row, &r);
    if (st) return st;
    float states[2 * 3 * 36];
    int grid = row % 2 ? 4 : 6;
    for (int64_t t = 0; t < p->n_steps && !st; t++) {
        fill_states(row, t, grid, states);
        st = lt_store_row_step(s, r, states, grid);
    }
    if (st) {
        lt_store_row_drop(s, r);
        return st;
    }
    for (int i = 0; i < LT_PART_OUTPUT; i++)
        for (size_t k = 0; r->part[i] && k < p->part[i].row_bytes / 4; k++) r->part[i][k] = value_of(i, row, (int64_t)k);
    r->code = row % 5 == 3 ? LT_RUN_NON_FINITE : LT_RUN_DONE;
    r->step = (int32_t)row;
    r->seconds = 0.5f;
    return lt_store_row_put(s, r);
}

/* Multiplying by a number that shares no factor with n visits all rows. */
static int64_t shuffled(int64_t i, int64_t n) { return i * 7919 % n; }

static lt_status write_all(const char *path, const lt_store_plan *p, bool resume, int64_t limit)
{
    lt_store *s;
    lt_status st = open_store(path, p, "id", resume, &s);
    if (st) return st;
    int64_t put = 0;
    for (int64_t i = 0; i < p->rows && !st && put < limit; i++) {
        int64_t row = shuffled(i, p->rows);
        if (lt_store_row_done(s, row)) continue;
        st = put_row(s, p, row);
        put++;
    }
    lt_status closed = lt_store_close(s, NULL);
    return st ? st : closed;
}

/* Closes the array. */
static float *read_open_array(hid_t array, size_t n)
{
    float *x = malloc(n * sizeof *x);
    LT_CHECK(array >= 0 && H5Dread(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    if (array >= 0) H5Dclose(array);
    return x;
}

static float *read_array(hid_t file, const char *path, size_t n) { return read_open_array(H5Dopen2(file, path, H5P_DEFAULT), n); }

static int64_t wrong_outputs(const float *x, int64_t row, const lt_store_plan *p)
{
    float states[2 * 3 * 36], padded[2 * 3 * 36];
    int64_t wrong = 0;
    for (int64_t t = 0; t < p->steps; t++) {
        int grid = row % 2 ? 4 : 6;
        fill_states(row, t, grid, states);
        lt_store_pad(states, 6, grid, 6, padded);
        for (int m = 0; m < 2; m++) wrong += memcmp(x + (m * p->steps + t) * 108, padded + m * 108, 108 * sizeof(float)) != 0;
    }
    return wrong;
}

/* Every row that is done holds what was put; returns how many are. */
static int64_t check_file(const char *path, const lt_store_plan *p)
{
    lt_hdf5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    LT_CHECK(file >= 0);
    if (file < 0) {
        lt_hdf5_unlock();
        return -1;
    }
    uint8_t *code = malloc((size_t)p->rows);
    hid_t d = H5Dopen2(file, "/status/code", H5P_DEFAULT);
    LT_CHECK(H5Dread(d, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, code) >= 0);
    H5Dclose(d);
    int64_t done = 0, wrong = 0;
    for (int64_t r = 0; r < p->rows; r++) done += code[r] != 0;
    for (int i = 0; i < LT_PART_COUNT; i++) {
        if (!p->part[i].rank) continue;
        int64_t n = (int64_t)(p->part[i].row_bytes / 4);
        float *x = read_array(file, p->part[i].path, (size_t)(n * p->rows));
        for (int64_t r = 0; r < p->rows; r++) {
            if (!code[r]) continue;
            if (i == LT_PART_OUTPUT) wrong += wrong_outputs(x + r * n, r, p);
            else
                for (int64_t k = 0; k < n; k++) wrong += x[r * n + k] != value_of(i, r, k);
        }
        free(x);
    }
    LT_CHECK_EQ_INT(wrong, 0);
    free(code);
    LT_CHECK(H5Fclose(file) >= 0);
    lt_hdf5_unlock();
    return done;
}

LT_TEST(rows_in_any_order_are_read_back)
{
    for (int compression = 0; compression < 3; compression++)
        for (int outputs = 0; outputs < 2; outputs++)
            for (int64_t chunk = 1; chunk <= 20; chunk += 3) {
                const char *path = scratch("any.h5");
                lt_store_plan p = plan_of(10, chunk, outputs, (lt_compression)compression);
                LT_CHECK_OK(make_skeleton(path, &p));
                LT_CHECK_EQ_INT(check_file(path, &p), 0);
                LT_CHECK_OK(write_all(path, &p, false, INT64_MAX));
                LT_CHECK_EQ_INT(check_file(path, &p), 10);
                LT_CHECK(!lt_journal_exists(path));
            }
}

LT_TEST(index_of_several_levels)
{
    const char *path = scratch("deep.h5");
    lt_store_plan p = plan_of(MAX_ROWS, 1, false, LT_COMPRESS_NONE);
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK_OK(write_all(path, &p, false, 4999));
    LT_CHECK_EQ_INT(check_file(path, &p), 4999);
    LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
    LT_CHECK_EQ_INT(check_file(path, &p), MAX_ROWS);
}

LT_TEST(a_stopped_run_shows_its_rows_and_goes_on)
{
    const char *path = scratch("stopped.h5");
    lt_store_plan p = plan_of(11, 4, true, LT_COMPRESS_GZIP);
    LT_CHECK_OK(make_skeleton(path, &p));
    for (int64_t done = 0; done < 11;) {
        LT_CHECK_OK(write_all(path, &p, true, 3));
        done = done + 3 < 11 ? done + 3 : 11;
        LT_CHECK_EQ_INT(check_file(path, &p), done);
        LT_CHECK(lt_journal_exists(path) == (done < 11));
    }
}

static void must_be_equal(const char *a, const char *b)
{
    char *x, *y;
    size_t n, m;
    LT_CHECK_OK(lt_file_read(a, 1 << 26, &x, &n));
    LT_CHECK_OK(lt_file_read(b, 1 << 26, &y, &m));
    LT_CHECK_EQ_INT(n, m);
    LT_CHECK(n == m && memcmp(x, y, n) == 0);
    lt_free(x);
    lt_free(y);
}

static void kill_after(pid_t child, useconds_t us)
{
    int status;
    usleep(us);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

/* A child writes rows and is killed after a random time; the file opens every time, and is in the end that of a run nobody disturbed:
   with a commit at the end alone, and with some on the way. */
LT_TEST(kills_at_any_instant)
{
    const char *path = scratch("killed.h5"), *whole = scratch("whole.h5");
    lt_store_plan p = plan_of(400, 3, true, LT_COMPRESS_GZIP);
    lt_rng rng = lt_rng_seed(7);
    for (int round = 0; round < 2; round++) {
        p.commit_bytes = round ? 60000 : 0;
        LT_CHECK_OK(make_skeleton(whole, &p));
        LT_CHECK_OK(write_all(whole, &p, false, INT64_MAX));
        LT_CHECK_OK(make_skeleton(path, &p));
        for (int i = 0; i < 12; i++) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) _exit(write_all(path, &p, true, i % 3 ? INT64_MAX : 20) ? 1 : 0); /* some of them stop before they are killed */
            kill_after(child, (useconds_t)(1000 + lt_rng_below(&rng, 12000)));
            LT_CHECK(check_file(path, &p) >= 0);
        }
        LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
        LT_CHECK_EQ_INT(check_file(path, &p), 400);
        must_be_equal(path, whole);
    }
}

/* Stopped anywhere, and a stop shows what there is: the file ends up the same all the same. */
LT_TEST(stopped_runs_end_in_equal_files)
{
    const char *path = scratch("stops.h5"), *whole = scratch("whole.h5");
    for (int compression = 0; compression < 3; compression++)
        for (int64_t step = 4; step < 12; step += 3) {
            lt_store_plan p = plan_of(23, 4, compression == 1, (lt_compression)compression);
            p.commit_bytes = (uint64_t)(step % 2 ? 1 : 3000);
            LT_CHECK_OK(make_skeleton(whole, &p));
            LT_CHECK_OK(write_all(whole, &p, false, INT64_MAX));
            struct stat before, now;
            LT_CHECK_OK(make_skeleton(path, &p));
            LT_CHECK(stat(path, &before) == 0);
            for (int64_t done = 0; done < 23; done += step) {
                LT_CHECK_OK(write_all(path, &p, true, step));
                LT_CHECK_EQ_INT(check_file(path, &p), done + step < 23 ? done + step : 23);
            }
            LT_CHECK(stat(path, &now) == 0 && now.st_ino == before.st_ino); /* without a copy */
            must_be_equal(path, whole);
        }
}

/* What somebody still reads is not written over: the run goes on behind it, and the finished file replaces the old one in order. */
LT_TEST(readers_keep_what_they_read)
{
    const char *path = scratch("read.h5"), *whole = scratch("whole.h5");
    lt_store_plan p = plan_of(20, 4, true, LT_COMPRESS_NONE);
    p.commit_bytes = 1;
    LT_CHECK_OK(make_skeleton(whole, &p));
    LT_CHECK_OK(write_all(whole, &p, false, INT64_MAX));
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK_OK(write_all(path, &p, false, 9));
    lt_hdf5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), array = H5Dopen2(file, "/outputs/fields", H5P_DEFAULT);
    lt_hdf5_unlock();
    LT_CHECK(file >= 0);
    int fd = open(path, O_RDONLY); /* in this process the library gives one file for two names of it */
    LT_CHECK(fd >= 0 && flock(fd, LOCK_SH) == 0);
    size_t n = (size_t)(p.part[LT_PART_OUTPUT].row_bytes / 4) * 20;
    LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
    lt_hdf5_lock();
    float *x = read_open_array(array, n);
    H5Fclose(file);
    lt_hdf5_unlock();
    for (int64_t i = 0; i < 9; i++) LT_CHECK_EQ_INT(wrong_outputs(x + shuffled(i, 20) * (int64_t)(n / 20), shuffled(i, 20), &p), 0);
    free(x);
    close(fd);
    LT_CHECK_EQ_INT(check_file(path, &p), 20);
    LT_CHECK(!lt_journal_exists(path));
    must_be_equal(path, whole);
}

/* One row that all others overtake: the journal does not grow without end, and the file ends up the same. */
LT_TEST(slabs_do_not_wait_for_ever)
{
    const char *path = scratch("late.h5"), *whole = scratch("whole.h5");
    lt_store_plan p = plan_of(40, 4, true, LT_COMPRESS_GZIP);
    char journal[400];
    struct stat st;
    snprintf(journal, sizeof journal, "%s.journal", path);
    LT_CHECK_OK(make_skeleton(whole, &p));
    LT_CHECK_OK(write_all(whole, &p, false, INT64_MAX));
    p.waiting_slabs = 2;
    p.commit_bytes = 1;
    LT_CHECK_OK(make_skeleton(path, &p));
    lt_store *s;
    LT_CHECK_OK(open_store(path, &p, "id", false, &s));
    for (int64_t r = 1; r < 40; r++) LT_CHECK_OK(put_row(s, &p, r));
    LT_CHECK_OK(lt_store_close(s, NULL));
    LT_CHECK_EQ_INT(check_file(path, &p), 39);
    LT_CHECK(stat(journal, &st) == 0 && st.st_size < 4096 + 24 * (off_t)(p.rest_bytes + (size_t)p.n_steps * p.step_bytes + 128));
    p.commit_bytes = 0;
    LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
    LT_CHECK_EQ_INT(check_file(path, &p), 40);
    must_be_equal(path, whole);
}

static int64_t count_done(const lt_store *s, int64_t rows)
{
    int64_t n = 0;
    for (int64_t row = 0; row < rows; row++) n += lt_store_row_done(s, row);
    return n;
}

/* Without its journal a stopped file keeps its whole slabs, and is put in order at the end. */
LT_TEST(a_lost_journal_costs_its_rows_alone)
{
    const char *path = scratch("lost.h5"), *whole = scratch("whole.h5");
    lt_store_plan p = plan_of(20, 4, true, LT_COMPRESS_GZIP);
    char journal[400];
    snprintf(journal, sizeof journal, "%s.journal", path);
    LT_CHECK_OK(make_skeleton(whole, &p));
    LT_CHECK_OK(write_all(whole, &p, false, INT64_MAX));
    for (int64_t rows = 1; rows < 20; rows += 3) {
        lt_store *s;
        LT_CHECK_OK(make_skeleton(path, &p));
        LT_CHECK_OK(write_all(path, &p, false, rows));
        int64_t slab[5] = { 0 }, kept = 0;
        for (int64_t i = 0; i < rows; i++) kept += ++slab[shuffled(i, 20) / 4] == 4;
        LT_CHECK(unlink(journal) == 0);
        LT_CHECK_OK(open_store(path, &p, "id", true, &s));
        LT_CHECK_EQ_INT(count_done(s, 20), 4 * kept);
        LT_CHECK_OK(lt_store_close(s, NULL));
        LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
        LT_CHECK_EQ_INT(check_file(path, &p), 20);
        must_be_equal(path, whole);
    }
}

/* Every prefix of the bytes a run writes is a state a kill can leave behind: cut the journal anywhere. */
LT_TEST(a_torn_journal_loses_one_row_at_most)
{
    const char *path = scratch("torn.h5");
    lt_store_plan p = plan_of(10, 10, false, LT_COMPRESS_GZIP);
    char journal[400];
    snprintf(journal, sizeof journal, "%s.journal", path);
    for (int cut = 0; cut < 40; cut++) {
        LT_CHECK_OK(make_skeleton(path, &p));
        LT_CHECK_OK(write_all(path, &p, false, 5));
        LT_CHECK_OK(make_skeleton(path, &p)); /* as if nothing had been committed */
        char *data;
        size_t n;
        LT_CHECK_OK(lt_file_read(journal, 1 << 20, &data, &n));
        size_t slot = (n - 4096) / 5, keep = 4096 + slot * 5 * (size_t)cut / 40;
        LT_CHECK(truncate(journal, (off_t)keep) == 0);
        lt_store *s;
        LT_CHECK_OK(open_store(path, &p, "id", true, &s));
        LT_CHECK(count_done(s, 10) + 1 >= (int64_t)((keep - 4096) / slot));
        LT_CHECK_OK(lt_store_close(s, NULL));
        check_file(path, &p);
        lt_free(data);
    }
}

LT_TEST(journals_of_other_runs_are_refused)
{
    const char *path = scratch("other.h5");
    lt_store_plan p = plan_of(6, 4, false, LT_COMPRESS_GZIP);
    lt_store *s, *second;
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK_OK(write_all(path, &p, false, 2));
    LT_CHECK_FAILS(open_store(path, &p, "other", true, &s), LT_ERR_ARGUMENT, "another configuration");
    lt_store_plan q = plan_of(7, 4, false, LT_COMPRESS_GZIP);
    LT_CHECK_FAILS(open_store(path, &q, "id", true, &s), LT_ERR_FORMAT, "extents");
    LT_CHECK_OK(open_store(path, &p, "id", true, &s));
    LT_CHECK_FAILS(open_store(path, &p, "id", true, &second), LT_ERR_ARGUMENT, "another process");
    LT_CHECK_OK(lt_store_close(s, NULL));
}

/* Not "another configuration": nothing is known of what it was. */
/* What stands where the journal would be, or in place of its folder. */
LT_TEST(journals_in_impossible_places)
{
    char path[400], journal[450], long_name[800];
    lt_store_claim *claim;
    LT_CHECK_FAILS(lt_store_claim_take(scratch("no/folder/x.h5"), &claim), LT_ERR_IO, "cannot open");
    LT_CHECK_OK(lt_file_write(scratch("plain"), "file", 4));
    LT_CHECK_FAILS(lt_store_claim_take(scratch("plain/x.h5"), &claim), LT_ERR_ARGUMENT, "cannot open");
    size_t n = (size_t)snprintf(long_name, sizeof long_name, "%s/", scratch(""));
    memset(long_name + n, 'n', 300);
    long_name[n + 300] = '\0';
    LT_CHECK_FAILS(lt_store_claim_take(long_name, &claim), LT_ERR_ARGUMENT, "too long");
    snprintf(path, sizeof path, "%s", scratch("place.h5"));
    snprintf(journal, sizeof journal, "%s.journal", path);
    LT_CHECK(!mkfifo(journal, 0600));
    LT_CHECK_FAILS(lt_store_claim_take(path, &claim), LT_ERR_ARGUMENT, "not a regular file");
    LT_CHECK(!unlink(journal) && !mkdir(journal, 0700));
    LT_CHECK_FAILS(lt_store_claim_take(path, &claim), LT_ERR_IO, "directory");
    LT_CHECK(!rmdir(journal) && !symlink("elsewhere", journal));
    LT_CHECK_FAILS(lt_store_claim_take(path, &claim), LT_ERR_IO, "cannot open");
    LT_CHECK(!unlink(journal));
}

LT_TEST(damaged_journals_are_called_so)
{
    const char *path = scratch("zeroed.h5");
    lt_store_plan p = plan_of(6, 4, false, LT_COMPRESS_GZIP);
    lt_store *s;
    char journal[400], *data;
    size_t n;
    snprintf(journal, sizeof journal, "%s.journal", path);
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK_OK(write_all(path, &p, false, 5));
    LT_CHECK_OK(lt_file_read(journal, 1 << 20, &data, &n));
    for (int kind = 0; kind < 4; kind++) {
        char *bad = malloc(n);
        memcpy(bad, data, n);
        if (kind == 0) memset(bad, 0, n);
        else if (kind == 1) memset(bad, 'x', n);
        else bad[kind == 2 ? 3 : 40] ^= 1;
        LT_CHECK_OK(lt_file_write(journal, bad, kind == 1 ? 30 : n));
        LT_CHECK_FAILS(open_store(path, &p, "id", true, &s), LT_ERR_ARGUMENT, "damaged");
        LT_CHECK(strstr(lt_error_text(), "remove this file and resume") != NULL);
        char *now;
        size_t m;
        LT_CHECK_OK(lt_file_read(journal, 1 << 20, &now, &m)); /* left for whoever wants to look at it */
        LT_CHECK(m == (kind == 1 ? 30 : n) && memcmp(now, bad, m) == 0);
        lt_free(now);
        free(bad);
    }
    LT_CHECK(unlink(journal) == 0);
    LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
    LT_CHECK_EQ_INT(check_file(path, &p), 6);
    lt_free(data);
}

static void must_be_unchanged(const char *path, const char *data, size_t n)
{
    char *now;
    size_t m;
    LT_CHECK_OK(lt_file_read(path, 1 << 24, &now, &m));
    LT_CHECK(m == n && memcmp(now, data, n) == 0);
    lt_free(now);
}

/* Whoever comes second changes neither the file nor the journal, and leaves nothing beside them. */
LT_TEST(one_process_writes_at_a_time)
{
    const char *path = scratch("two.h5");
    lt_store_plan p = plan_of(6, 4, false, LT_COMPRESS_GZIP);
    lt_store *s;
    lt_store_claim *claim;
    char *data, *rows, journal[400];
    size_t n, m;
    snprintf(journal, sizeof journal, "%s.journal", path);
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK(access(journal, F_OK) != 0); /* a claim that came to nothing leaves none */
    LT_CHECK_OK(write_all(path, &p, false, 5));
    LT_CHECK_OK(open_store(path, &p, "id", true, &s));
    LT_CHECK_OK(lt_file_read(path, 1 << 24, &data, &n));
    LT_CHECK_OK(lt_file_read(journal, 1 << 24, &rows, &m));
    LT_CHECK_FAILS(make_skeleton(path, &p), LT_ERR_ARGUMENT, "another process is writing this dataset");
    LT_CHECK_FAILS(lt_store_claim_take(path, &claim), LT_ERR_ARGUMENT, "another process is writing this dataset");
    must_be_unchanged(path, data, n);
    must_be_unchanged(journal, rows, m);
    LT_CHECK_OK(put_row(s, &p, shuffled(5, 6)));
    LT_CHECK_OK(lt_store_close(s, NULL));
    LT_CHECK_EQ_INT(check_file(path, &p), 6);
    LT_CHECK(access(journal, F_OK) != 0);
    LT_CHECK_OK(lt_store_claim_take(path, &claim));
    lt_store_claim_release(claim);
    lt_free(data);
    lt_free(rows);
}

/* Writes, forks a child that lives on for `us` with a copy of every descriptor, and is killed: as when a run is killed just after it began a
   process that parses. */
static void be_killed_after_fork(const char *path, useconds_t us)
{
    lt_store_claim *claim;
    if (lt_store_claim_take(path, &claim)) _exit(1);
    if (fork()) raise(SIGKILL);
    usleep(us);
    _exit(0);
}

LT_TEST(the_lock_ends_with_its_process)
{
    const char *path = scratch("forked.h5");
    lt_store_plan p = plan_of(6, 4, false, LT_COMPRESS_GZIP);
    int status;
    LT_CHECK_OK(make_skeleton(path, &p));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) be_killed_after_fork(path, 500000);
    LT_CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
    LT_CHECK_EQ_INT(check_file(path, &p), 6);
}

/* Processes that take turns as fast as they can: each finds the journal that the one before it is about to remove. */
LT_TEST(a_removed_lock_is_no_lock)
{
    enum { CHILDREN = 4, TURNS = 300 };
    const char *path = scratch("turns.h5");
    pid_t child[CHILDREN];
    int status;
    fflush(stdout);
    for (int i = 0; i < CHILDREN; i++) {
        if ((child[i] = fork())) continue;
        int wrong = 0;
        char alone[400];
        snprintf(alone, sizeof alone, "%s.alone", path);
        for (int turn = 0; turn < TURNS; turn++) {
            lt_store_claim *claim;
            while (lt_store_claim_take(path, &claim)) usleep(50);
            int fd = open(alone, O_CREAT | O_EXCL | O_WRONLY, 0600); /* fails when another is inside */
            wrong += fd < 0;
            if (fd >= 0) wrong += unlink(alone) != 0;
            close(fd);
            lt_store_claim_release(claim);
        }
        _exit(wrong != 0);
    }
    for (int i = 0; i < CHILDREN; i++) LT_CHECK(waitpid(child[i], &status, 0) == child[i] && status == 0);
}

LT_TEST(links_lead_to_one_dataset)
{
    const char *path = scratch("real.h5"), *link = scratch("link.h5"), *dangling = scratch("dangling.h5"), *pipe = scratch("pipe.h5");
    lt_store_plan p = plan_of(6, 4, false, LT_COMPRESS_GZIP);
    lt_store *s;
    lt_store_claim *claim;
    struct stat st;
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK(symlink(path, link) == 0 && symlink(scratch("nothing.h5"), dangling) == 0 && mkfifo(pipe, 0600) == 0);
    LT_CHECK_OK(open_store(path, &p, "id", true, &s));
    LT_CHECK_FAILS(lt_store_claim_take(link, &claim), LT_ERR_ARGUMENT, "another process");
    LT_CHECK_OK(lt_store_close(s, NULL));
    LT_CHECK_OK(make_skeleton(link, &p)); /* the file is made anew, the link stays one */
    LT_CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    LT_CHECK_OK(write_all(link, &p, false, INT64_MAX));
    LT_CHECK_EQ_INT(check_file(path, &p), 6);
    LT_CHECK_FAILS(lt_store_claim_take(dangling, &claim), LT_ERR_ARGUMENT, "leads to no file");
    LT_CHECK_FAILS(lt_store_claim_take(pipe, &claim), LT_ERR_ARGUMENT, "not a regular file");
    LT_CHECK_FAILS(lt_store_claim_take("/tmp", &claim), LT_ERR_ARGUMENT, "not a regular file");
}

/* A file size limit stands in for a full disk. */
LT_TEST(a_full_disk_leaves_a_readable_file)
{
    const char *path = scratch("full.h5");
    lt_store_plan p = plan_of(200, 4, true, LT_COMPRESS_NONE);
    LT_CHECK_OK(make_skeleton(path, &p));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 300000, 300000 });
        lt_status st = write_all(path, &p, false, INT64_MAX);
        _exit(st == LT_ERR_IO && strstr(lt_error_text(), "File too large") ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    LT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    LT_CHECK(check_file(path, &p) >= 0);
    LT_CHECK_OK(write_all(path, &p, true, INT64_MAX));
    LT_CHECK_EQ_INT(check_file(path, &p), 200);
}

LT_TEST(damaged_files_are_refused)
{
    const char *path = scratch("damaged.h5");
    lt_store_plan p = plan_of(10, 4, false, LT_COMPRESS_GZIP);
    lt_store *s;
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK_OK(write_all(path, &p, false, INT64_MAX));
    LT_CHECK(truncate(path, 3000) == 0);
    LT_CHECK_FAILS(open_store(path, &p, "id", true, &s), LT_ERR_FORMAT, "truncated");
    LT_CHECK_OK(lt_file_write(path, "plain text, and more than ninety-six bytes of it, so that a whole superblock could be read from here", 100));
    LT_CHECK_FAILS(open_store(path, &p, "id", true, &s), LT_ERR_FORMAT, "not an HDF5 file");
}

/* The index of a chunked array, read as a run that goes on reads it. */
static lt_status load_index(int fd, uint64_t header, uint64_t file_bytes, lt_chunk_index *x, uint64_t *root)
{
    LT_TRY(lt_chunk_index_locate(fd, "f", header, x, root));
    return lt_chunk_index_load(fd, "f", *root, file_bytes, x);
}

/* Whatever stands in header and index is a sentence, or an index whose chunks lie in the file. (The HDF5 library has read both before, in a
   process of its own; this is what protects the one that writes.) */
LT_TEST(damaged_chunk_indexes_are_refused)
{
    enum { HEADER, LAYOUT, NODE, ENTRY = 24, KEY = 8 + 8 * (3 + 1), CHILD = ENTRY + KEY };
    static const struct { int of, at, bytes; uint64_t value; const char *says; } faults[] = {
        { NODE, 0, 1, 'X', "no chunk index at byte" }, { NODE, 4, 1, 0, "no chunk index at byte" }, { NODE, 5, 1, 200, "no chunk index at byte" },
        { NODE, 6, 2, 65, "no chunk index at byte" }, { NODE, 5, 1, 1, "chunk index" /* what follows are chunks, not nodes */ },
        { NODE, ENTRY, 4, UINT32_MAX, "beyond the end of the file" }, { NODE, CHILD, 8, UINT64_C(1) << 62, "beyond the end of the file" },
        { NODE, CHILD, 8, LT_HDF5_NOWHERE, "beyond the end of the file" }, { NODE, ENTRY + 8, 8, 1, "outside its dataset" },
        { NODE, ENTRY + 8, 8, UINT64_C(1) << 62, "outside its dataset" }, { NODE, ENTRY + 24, 8, 5, "outside its dataset" },
        { LAYOUT, 0, 1, 4, "layout version 4" }, { LAYOUT, 1, 1, 1, "class 1" }, { LAYOUT, 2, 1, 2, "1 axes; expected" }, { LAYOUT, 11, 4, 77, "chunk extent 77" },
        { LAYOUT, 3, 8, UINT64_C(1) << 40, "beyond the end of the file" }, { LAYOUT, 3, 8, 1, "no chunk index at byte 1" }, { LAYOUT, 3, 8, LT_HDF5_NOWHERE, NULL },
        { LAYOUT, -8, 2, 0x1234, "without a layout message" }, { LAYOUT, -6, 2, 60000, NULL },
        { HEADER, 0, 1, 2, "object header version 2" }, { HEADER, 2, 2, 0, "without a layout message" }, { HEADER, 8, 4, 0, "without a layout message" },
        { HEADER, 18, 2, 65535, "overruns its block" }, { HEADER, 16, 2, 16, NULL /* a block that goes on somewhere */ },
    };
    const char *path = scratch("indexes.h5");
    lt_store_plan p = plan_of(40, 4, false, LT_COMPRESS_GZIP);
    lt_dataset *d;
    LT_CHECK_OK(make_skeleton(path, &p));
    LT_CHECK_OK(write_all(path, &p, false, INT64_MAX));
    LT_CHECK_OK(lt_dataset_open(path, &d));
    const lt_file_item *item = lt_dataset_find(d, "/features/temporal/features");
    lt_chunk_index x = { .element_bytes = 4 };
    lt_chunk_index_shape(&x, item->rank, item->dim, item->chunk);
    x.span = calloc((size_t)x.n_chunks, sizeof *x.span);
    const uint64_t header = item->header, end = (uint64_t)lt_dataset_get_info(d).file_bytes;
    uint64_t root;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    LT_CHECK_EQ_INT(item->rank, 3);
    LT_CHECK_OK(load_index(fd, header, end, &x, &root));
    for (int64_t i = 0; i < x.n_chunks; i++) LT_CHECK(x.span[i].address < end && x.span[i].bytes > 0);
    for (size_t i = 0; i < LT_LEN(faults); i++) {
        off_t at = (off_t)(faults[i].of == NODE ? root : faults[i].of == LAYOUT ? x.pointer - 3 : header) + faults[i].at;
        uint64_t kept = 0, found;
        lt_chunk_index y = x;
        y.span = calloc((size_t)x.n_chunks, sizeof *y.span);
        LT_CHECK(pread(fd, &kept, (size_t)faults[i].bytes, at) == faults[i].bytes && pwrite(fd, &faults[i].value, (size_t)faults[i].bytes, at) == faults[i].bytes);
        lt_status st = load_index(fd, header, end, &y, &found);
        if (st ? st != LT_ERR_FORMAT && st != LT_ERR_IO : faults[i].says != NULL) LT_TEST_FAIL("fault %d: %s", (int)i, lt_error_text());
        if (st && faults[i].says && !strstr(lt_error_text(), faults[i].says)) LT_TEST_FAIL("fault %d: %s", (int)i, lt_error_text());
        for (int64_t k = 0; !st && k < y.n_chunks; k++) LT_CHECK(y.span[k].address == LT_HDF5_NOWHERE || y.span[k].address + y.span[k].bytes <= end);
        LT_CHECK(pwrite(fd, &kept, (size_t)faults[i].bytes, at) == faults[i].bytes);
        free(y.span);
    }
    LT_CHECK_OK(load_index(fd, header, end, &x, &root));
    close(fd);
    lt_dataset_close(d);
    free(x.span);
}

/* Equal runs, equal bytes: no times anywhere in the file. */
LT_TEST(equal_runs_give_equal_files)
{
    const char *a = scratch("a.h5"), *b = scratch("b.h5");
    lt_store_plan p = plan_of(10, 4, true, LT_COMPRESS_GZIP);
    char *x, *y;
    size_t n, m;
    LT_CHECK_OK(make_skeleton(a, &p));
    LT_CHECK_OK(write_all(a, &p, false, INT64_MAX));
    sleep(1);
    LT_CHECK_OK(make_skeleton(b, &p));
    LT_CHECK_OK(write_all(b, &p, false, INT64_MAX));
    LT_CHECK_OK(lt_file_read(a, 1 << 24, &x, &n));
    LT_CHECK_OK(lt_file_read(b, 1 << 24, &y, &m));
    LT_CHECK(n == m && memcmp(x, y, n) == 0);
    lt_free(x);
    lt_free(y);
}

LT_TEST(lzf_packs_and_unpacks)
{
    lt_rng rng = lt_rng_seed(3);
    static uint8_t in[20000], packed[20000], out[20000];
    for (int kind = 0; kind < 200; kind++) {
        size_t n = 1 + lt_rng_below(&rng, sizeof in);
        uint64_t letters = 1 + lt_rng_below(&rng, kind % 2 ? 4 : 256);
        for (size_t i = 0; i < n; i++) in[i] = (uint8_t)lt_rng_below(&rng, letters);
        for (size_t i = 0; i + 600 < n && kind % 3 == 0; i += 600) memcpy(in + i + 300, in + i, 290);
        size_t m = lt_lzf_pack(in, n, packed, n);
        if (m == 0) continue; /* does not shrink */
        LT_CHECK_EQ_INT(lt_lzf_unpack(packed, m, out, n), n);
        LT_CHECK(memcmp(in, out, n) == 0);
        LT_CHECK(lt_lzf_unpack(packed, m, out, n - 1) == 0);
        packed[lt_rng_below(&rng, m)] ^= (uint8_t)(1 + lt_rng_below(&rng, 255));
        LT_CHECK(lt_lzf_unpack(packed, m, out, n) <= n); /* any answer, within bounds */
    }
}

LT_TEST_MAIN()
