/* K that grows in a file: the bytes of lt_gram_fill whatever the tiles, ends and resumes; tables that are damaged or foreign are refused.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "lathe/gram.h"
#include "lathe/npy.h"
#include "lathe/rng.h"
#include "lt_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 150, M = 70, Q = 4 };

static int64_t n_layers = 3;
static double x[N * Q], w[3 * Q];
static const lt_rows X = { x, LT_F64, N, Q, 0 }, Y = { x + 30 * Q, LT_F64, M, Q, 0 };
static char folder[64], path[96], whole[96], table[112], part[112], part_table[112];

static void begin(void)
{
    lt_rng r = lt_rng_seed(3);
    for (int i = 0; i < N * Q; i++) x[i] = lt_rng_normal(&r);
    for (int i = 0; i < 3 * Q; i++) w[i] = lt_rng_normal(&r);
    if (folder[0]) return;
    snprintf(folder, sizeof folder, "/tmp/lathe-gram-file-XXXXXX");
    LT_CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/K.npy", folder);
    snprintf(whole, sizeof whole, "%s/whole.npy", folder);
    snprintf(table, sizeof table, "%s.tiles", path);
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(part_table, sizeof part_table, "%s.part.tiles", path);
}

static void clear(void)
{
    const char *const all[] = { path, table, part, part_table };
    for (size_t i = 0; i < LT_LEN(all); i++) (void)unlink(all[i]);
}

static void end(void)
{
    clear();
    (void)unlink(whole);
    (void)rmdir(folder);
}

static lt_gram *make(const lt_gram_options *opt)
{
    lt_gram *g = NULL;
    LT_CHECK_OK(lt_gram_create(NULL, opt, &(lt_weights){ w, n_layers, Q }, &g));
    return g;
}

static lt_gram_options usual(void)
{
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true;
    opt.learn_tiles = false;
    return opt;
}

static lt_status fill_file(const lt_gram_options *opt, const lt_rows *y, int64_t side, bool resume, lt_gram_file_info *info)
{
    char digest[LT_GRAM_DIGEST_BYTES];
    lt_gram *g = make(opt);
    lt_gram_file_options o = lt_gram_file_defaults();
    LT_CHECK_OK(lt_gram_digest(opt, &(lt_weights){ w, n_layers, Q }, &X, y, digest));
    o.digest = digest;
    o.side = side;
    o.resume = resume;
    lt_status s = lt_gram_fill_file(g, &X, y, path, &o, info);
    lt_gram_destroy(g);
    return s;
}

/* The same matrix at once, as a file. */
static void fill_whole(const lt_gram_options *opt, const lt_rows *y)
{
    static double K[N * N];
    lt_gram *g = make(opt);
    lt_shape shape = opt->packed ? lt_shape1(N * (N + 1) / 2) : lt_shape2(N, y ? M : N);
    LT_CHECK_OK(lt_gram_fill(g, &X, y, K));
    LT_CHECK_OK(lt_npy_write(whole, opt->return_dtype == LT_GRAM_FLOAT32 ? LT_F32 : LT_F64, &shape, K));
    lt_gram_destroy(g);
}

static bool is_there(const char *name) { return !access(name, F_OK); }

static bool equal(void)
{
    char *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    LT_CHECK_OK(lt_file_read(path, (size_t)1 << 24, &a, &n));
    LT_CHECK_OK(lt_file_read(whole, (size_t)1 << 24, &b, &m));
    bool same = a && b && n == m && !memcmp(a, b, n);
    lt_free(a);
    lt_free(b);
    return same;
}

LT_TEST(every_byte_is_that_of_one_fill)
{
    static const int64_t sides[] = { 0, 16, 37, 64, 1000 };
    begin();
    for (int k = 0; k < 36; k++) {
        lt_gram_options opt = usual();
        n_layers = k < 24 ? 3 : 2; /* two re-embedded ones: `auto` has two methods to choose from */
        const lt_rows *y = k % 3 == 2 ? &Y : NULL;
        lt_gram_file_info i = { .size = sizeof i };
        opt.packed = k % 3 == 1;
        opt.normalize = k / 3 % 2;
        opt.jitter = k / 3 % 2 ? 1e-3 : 0;
        opt.return_dtype = k / 6 % 2 ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64;
        opt.re_embed_between_layers = k >= 12; /* off: closed form */
        fill_whole(&opt, y);
        LT_CHECK_OK(fill_file(&opt, y, sides[k % 5], false, &i));
        LT_CHECK(i.complete && i.made == i.tiles && i.kept == 0 && i.n == N && i.m == (y ? M : N));
        LT_CHECK(equal());
        LT_CHECK(is_there(table) && !is_there(part) && !is_there(part_table));
    }
    n_layers = 3;
    end();
    folder[0] = 0;
}

/* For few rows of nine qubits transfer matrices are the faster method, for many it is states: tiles have that of the whole. */
LT_TEST(auto_chooses_for_the_whole_matrix)
{
    enum { WIRES = 9 };
    static double wide[N * WIRES], weights[2 * WIRES], K[N * N];
    const lt_rows rows = { wide, LT_F64, N, WIRES, 0 };
    const lt_weights own = { weights, 2, WIRES };
    lt_gram_options opt = usual();
    lt_gram_file_options o = lt_gram_file_defaults();
    char digest[LT_GRAM_DIGEST_BYTES];
    lt_gram *g = NULL;
    lt_rng r = lt_rng_seed(4);
    begin();
    for (int i = 0; i < N * WIRES; i++) wide[i] = lt_rng_normal(&r);
    for (int i = 0; i < 2 * WIRES; i++) weights[i] = lt_rng_normal(&r);
    LT_CHECK_OK(lt_gram_digest(&opt, &own, &rows, NULL, digest));
    o.digest = digest;
    o.side = 16;
    LT_CHECK_OK(lt_gram_create(NULL, &opt, &own, &g));
    LT_CHECK_OK(lt_gram_fill_file(g, &rows, NULL, path, &o, NULL));
    LT_CHECK_OK(lt_gram_fill(g, &rows, NULL, K)); /* the handle chooses for itself again */
    LT_CHECK_OK(lt_npy_write(whole, LT_F64, &(lt_shape){ 2, { N, N } }, K));
    LT_CHECK(equal());
    lt_gram_destroy(g);
    end();
    folder[0] = 0;
}

/* ---- Ends and resumes ------------------------------------------------------------------------------------------------------------------- */

static int64_t stop_at; /* tiles; up to three more are under way */
static bool stop(void *ctx, const lt_gram_progress *p)
{
    (void)ctx;
    return p->tiles_done < stop_at;
}

LT_TEST(a_run_that_was_ended_goes_on)
{
    begin();
    lt_gram_options opt = usual();
    lt_gram_file_info i = { .size = sizeof i };
    fill_whole(&opt, NULL);
    opt.progress = stop;
    int64_t kept = 0, ends = 0;
    for (int round = 0; round < 60; round++) {
        stop_at = 4 + 6 * round;
        lt_status s = fill_file(&opt, NULL, 16, true, &i);
        if (!s) break;
        ends++;
        LT_CHECK(s == LT_ERR_CANCELLED && i.kept >= kept && !is_there(path) && is_there(part) && is_there(part_table));
        LT_CHECK(fill_file(&opt, NULL, 16, false, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "holds an unfinished matrix")); /* never thrown away unasked */
        kept = i.kept;
    }
    LT_CHECK(i.complete && i.kept > 0 && ends > 3 && equal());
    LT_CHECK_OK(fill_file(&opt, NULL, 16, true, &i)); /* nothing is left to do */
    LT_CHECK(i.complete && i.kept == i.tiles && i.made == 0 && equal() && !is_there(part_table));
    clear();
    volatile int drain = 1;
    char digest[LT_GRAM_DIGEST_BYTES];
    opt.progress = NULL;
    lt_gram *g = make(&opt);
    LT_CHECK_OK(lt_gram_digest(&opt, &(lt_weights){ w, n_layers, Q }, &X, NULL, digest));
    lt_gram_file_options o = lt_gram_file_defaults();
    o.digest = digest;
    o.drain = &drain;
    LT_CHECK_OK(lt_gram_fill_file(g, &X, NULL, path, &o, &i));
    LT_CHECK(!i.complete && i.made == 0 && !is_there(path) && is_there(part_table));
    drain = 0;
    o.resume = true;
    LT_CHECK_OK(lt_gram_fill_file(g, &X, NULL, path, &o, &i));
    LT_CHECK(i.complete && equal());
    lt_gram_destroy(g);
    end();
    folder[0] = 0;
}

/* A run that stands after about half of its tiles. */
static void leave_half(const lt_gram_options *usual_options)
{
    lt_gram_options opt = *usual_options;
    lt_gram_file_info i = { .size = sizeof i };
    clear();
    opt.progress = stop;
    stop_at = 6;
    LT_CHECK(fill_file(&opt, NULL, 32, false, &i) == LT_ERR_CANCELLED && is_there(part_table) && !is_there(path));
}

static void write_at(const char *name, off_t at, const void *data, size_t n)
{
    int fd = open(name, O_RDWR);
    LT_CHECK(fd >= 0 && pwrite(fd, data, n, at) == (ssize_t)n);
    close(fd);
}

LT_TEST(tiles_the_disk_has_lost_are_made_again)
{
    begin();
    lt_gram_options opt = usual();
    lt_gram_file_info i = { .size = sizeof i };
    fill_whole(&opt, NULL);
    for (int k = 0; k < 2; k++) {
        leave_half(&opt);
        static const char zeros[4096];
        write_at(part, k ? 128 + 8 * 40 * N + 8 : 128 + 8, zeros, k ? 8 : 512); /* the first tile; a mirror image: row 40, column 1 */
        LT_CHECK_OK(fill_file(&opt, NULL, 32, true, &i));
        LT_CHECK(i.kept > 0 && i.made > 0 && i.complete && equal());
    }
    end();
    folder[0] = 0;
}

LT_TEST(the_last_two_steps_may_be_cut_apart)
{
    begin();
    lt_gram_options opt = usual();
    lt_gram_file_info i = { .size = sizeof i };
    fill_whole(&opt, NULL);
    clear();
    LT_CHECK_OK(fill_file(&opt, NULL, 32, false, &i));
    LT_CHECK(!rename(table, part_table)); /* as if it had been killed between them */
    LT_CHECK(fill_file(&opt, NULL, 32, false, &i) == LT_ERR_ARGUMENT);
    LT_CHECK_OK(fill_file(&opt, NULL, 32, true, &i));
    LT_CHECK(i.complete && i.kept == i.tiles && is_there(table) && !is_there(part_table) && equal());
    leave_half(&opt); /* a part that is gone: what the table says is nowhere */
    LT_CHECK(!unlink(part));
    LT_CHECK(fill_file(&opt, NULL, 32, true, &i) == LT_ERR_FORMAT && strstr(lt_error_text(), "not there"));
    LT_CHECK(!unlink(part_table));
    LT_CHECK_OK(lt_file_write(part, "mine", 4)); /* a file of somebody else's is not overwritten */
    LT_CHECK(fill_file(&opt, NULL, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "without a table"));
    end();
    folder[0] = 0;
}

/* ---- Tables ---------------------------------------------------------------------------------------------------------------------------------- */

LT_TEST(damaged_tables_are_refused)
{
    begin();
    lt_gram_options opt = usual();
    lt_gram_file_info i = { .size = sizeof i };
    char *good = NULL;
    size_t n = 0;
    fill_whole(&opt, NULL);
    leave_half(&opt);
    LT_CHECK_OK(lt_file_read(part_table, 1 << 20, &good, &n));
    LT_CHECK(n == 256 + 16 * 15);
    for (size_t at = 0; at < n; at++) { /* each byte, but the rest of the head, which stands for nothing */
        if (at >= 208 && at < 256) continue;
        char other = (char)(good[at] ^ 0x40);
        write_at(part_table, (off_t)at, &other, 1);
        lt_status s = fill_file(&opt, NULL, 32, true, &i);
        LT_CHECK(s == LT_ERR_FORMAT);
        if (s != LT_ERR_FORMAT) printf("byte %zu of %zu: status %d\n", at, n, s);
        write_at(part_table, (off_t)at, good + at, 1);
    }
    for (size_t length = 1; length < n; length += 37) { /* cut short, or too long */
        LT_CHECK(!truncate(part_table, (off_t)length));
        LT_CHECK(fill_file(&opt, NULL, 32, true, &i) == LT_ERR_FORMAT);
        LT_CHECK_OK(lt_file_write(part_table, good, n));
    }
    LT_CHECK(!truncate(part_table, (off_t)n + 16));
    LT_CHECK(fill_file(&opt, NULL, 32, true, &i) == LT_ERR_FORMAT && strstr(lt_error_text(), "bytes, its 15 tiles take"));
    LT_CHECK_OK(lt_file_write(part_table, good, n));
    LT_CHECK_OK(fill_file(&opt, NULL, 32, true, &i)); /* after all this it is as it was */
    LT_CHECK(i.kept > 0 && equal());
    lt_free(good);
    end();
    folder[0] = 0;
}

/* As qkernel/file/table.c has it: magic, digest, kind, then n, m, side, tiles, flags, all sealed by a hash that anybody can compute. */
static void craft_table(const char *good, size_t bytes, int64_t n, int64_t m, int64_t side, int64_t tiles, size_t entries)
{
    enum { SEAL = 200 };
    char head[256];
    int64_t sizes[4] = { n, m, side, tiles };
    LT_CHECK(bytes >= sizeof head);
    memcpy(head, good, sizeof head);
    memcpy(head + SEAL - 5 * 8, sizes, sizeof sizes);
    uint64_t seal = lt_hash64(head, SEAL, 1) | 1;
    memcpy(head + SEAL, &seal, sizeof seal);
    LT_CHECK_OK(lt_file_write(table, head, sizeof head));
    LT_CHECK(!truncate(table, (off_t)(sizeof head + 16 * entries)));
}

/* Their seals fit: sizes whose products overflow, or of tiles that no matrix of that size has. */
LT_TEST(crafted_tables_are_refused)
{
    static const struct { int64_t n, m, side, tiles; size_t entries; } bad[] = {
        { N, N, INT64_C(1) << 31, 1, 1 }, { N, N, INT64_C(1) << 40, 1, 1 }, { N, N, N + 1, 1, 1 },
        { INT64_C(1) << 30, INT64_C(1) << 30, 1, INT64_C(1) << 60, 0 }, { INT64_C(1) << 40, INT64_C(1) << 40, 1, 0, 0 },
        { N, N, 32, -15, 0 }, { -N, N, 32, 15, 15 }, { 0, N, 32, 15, 15 }, { N, N, 0, 15, 15 },
    };
    begin();
    lt_gram_options opt = usual();
    lt_gram_file_info i = { .size = sizeof i };
    lt_gram_file *f;
    char *good = NULL;
    size_t n = 0;
    LT_CHECK_OK(fill_file(&opt, &X, 32, false, &i)); /* of all columns: no half */
    LT_CHECK_OK(lt_file_read(table, 1 << 20, &good, &n));
    craft_table(good, n, N, N, 32, 25, 25);
    LT_CHECK_OK(lt_gram_file_open(path, &f)); /* none of them is there */
    LT_CHECK(lt_gram_file_check(f) == LT_ERR_MISMATCH);
    lt_gram_file_close(f);
    for (size_t k = 0; k < LT_LEN(bad); k++) {
        craft_table(good, n, bad[k].n, bad[k].m, bad[k].side, bad[k].tiles, bad[k].entries);
        lt_status s = lt_gram_file_open(path, &f);
        LT_CHECK(s == LT_ERR_FORMAT && strstr(lt_error_text(), "table of tiles"));
        if (s == LT_OK) lt_gram_file_close(f);
    }
    LT_CHECK(!unlink(table) && !mkfifo(table, 0600)); /* nobody writes to it */
    LT_CHECK(lt_gram_file_open(path, &f) == LT_ERR_IO && strstr(lt_error_text(), "not a regular file"));
    lt_free(good);
    end();
    folder[0] = 0;
}

LT_TEST(foreign_tables_are_refused)
{
    begin();
    lt_gram_options opt = usual(), other = usual();
    lt_gram_file_info i = { .size = sizeof i };
    leave_half(&opt);
    other.angle_scale = 0.5;
    LT_CHECK(fill_file(&other, NULL, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "of another matrix"));
    other = usual();
    other.packed = true;
    LT_CHECK(fill_file(&other, NULL, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "of another form"));
    LT_CHECK(fill_file(&opt, &Y, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "150 x 70"));
    x[5] += 1e-9;
    LT_CHECK(fill_file(&opt, NULL, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "of another matrix"));
    x[5] = 0;
    clear();
    other = usual(); /* two methods, whose last bits differ */
    other.re_embed_between_layers = false;
    other.method = LT_GRAM_STATES;
    leave_half(&other);
    other.method = LT_GRAM_AUTO;
    LT_CHECK(fill_file(&other, NULL, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "was begun with states"));
    int fd = open(part_table, O_RDWR); /* somebody who writes it */
    LT_CHECK(fd >= 0 && !flock(fd, LOCK_EX));
    LT_CHECK(fill_file(&other, NULL, 32, true, &i) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "another process is writing"));
    LT_CHECK(is_there(part) && is_there(part_table));
    close(fd);
    end();
    folder[0] = 0;
}

/* ---- Reading --------------------------------------------------------------------------------------------------------------------------------- */

LT_TEST(rows_are_read_without_the_rest)
{
    static double K[N * N], rows[N * N];
    begin();
    for (int packed = 0; packed < 2; packed++) {
        lt_gram_options opt = usual();
        lt_gram_file_info i = { .size = sizeof i };
        lt_gram_file *f = NULL;
        lt_gram *g = make(&opt);
        LT_CHECK_OK(lt_gram_fill(g, &X, NULL, K));
        lt_gram_destroy(g);
        opt.packed = packed;
        clear();
        LT_CHECK_OK(fill_file(&opt, NULL, 32, false, &i));
        LT_CHECK_OK(lt_gram_file_open(path, &f));
        lt_gram_file_shape s = lt_gram_file_get_shape(f);
        LT_CHECK(s.n == N && s.m == N && s.packed == packed && s.dtype == LT_F64 && s.tiles == 15);
        for (int64_t first = 0; first < N; first += 23)
            for (int64_t count = 1; first + count <= N; count += 31) {
                LT_CHECK_OK(lt_gram_file_rows(f, first, count, rows));
                LT_CHECK(!memcmp(rows, K + first * N, (size_t)(count * N) * sizeof *K));
            }
        LT_CHECK(lt_gram_file_rows(f, N, 1, rows) == LT_ERR_ARGUMENT && lt_gram_file_rows(f, -1, 1, rows) == LT_ERR_ARGUMENT);
        LT_CHECK(lt_gram_file_rows(f, 1, N, rows) == LT_ERR_ARGUMENT);
        LT_CHECK_OK(lt_gram_file_check(f));
        double v = 2;
        write_at(path, packed ? 128 + 8 * 200 : 128 + 8 * (100 * N + 3), &v, sizeof v);
        LT_CHECK(lt_gram_file_check(f) == LT_ERR_MISMATCH && strstr(lt_error_text(), "columns"));
        lt_gram_file_close(f);
    }
    LT_CHECK(!truncate(table, 300));
    lt_gram_file *f = NULL;
    LT_CHECK(lt_gram_file_open(path, &f) == LT_ERR_FORMAT && f == NULL);
    LT_CHECK(!unlink(table));
    LT_CHECK_OK(lt_gram_file_open(path, &f)); /* one of another program */
    LT_CHECK(lt_gram_file_get_shape(f).tiles == 0 && lt_gram_file_check(f) == LT_ERR_ARGUMENT);
    lt_gram_file_close(f);
    LT_CHECK_OK(lt_npy_write(path, LT_F64, &(lt_shape){ .rank = 1, .dim = { 7 } }, K));
    LT_CHECK(lt_gram_file_open(path, &f) == LT_ERR_FORMAT && strstr(lt_error_text(), "upper half"));
    end();
    folder[0] = 0;
}

LT_TEST(what_cannot_be_is_refused_before_anything_is_written)
{
    begin();
    lt_gram_options opt = usual();
    lt_gram *g = make(&opt);
    char digest[LT_GRAM_DIGEST_BYTES];
    lt_gram_file_options o = lt_gram_file_defaults();
    LT_CHECK(lt_gram_fill_file(g, &X, NULL, path, &o, NULL) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "no digest"));
    LT_CHECK_OK(lt_gram_digest(&opt, &(lt_weights){ w, n_layers, Q }, &X, NULL, digest));
    o.digest = digest;
    o.memory_bytes = 1 << 20;
    LT_CHECK(lt_gram_fill_file(g, &X, NULL, path, &o, NULL) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "the memory is"));
    o.memory_bytes = 1 << 30;
    LT_CHECK_OK(lt_gram_fill_file(g, &X, NULL, path, &o, NULL));
    lt_gram_destroy(g);
    clear();
    LT_CHECK(!mkdir(path, 0700));
    LT_CHECK(fill_file(&opt, NULL, 0, false, NULL) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "not a regular file"));
    LT_CHECK(!rmdir(path) && !is_there(part) && !is_there(part_table));
    end();
    folder[0] = 0;
}

LT_TEST_MAIN()
