/* What adapts a Gram matrix to its machine: batch sizes, learnt tiles, the memory profile, repair.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/file.h"
#include "lathe/gram.h"
#include "lathe/rng.h"
#include "lt_test.h"
#include "qkernel/rows/batch.h"
#include "qkernel/history.h"
#include "qkernel/tiles.h"
#include "vector_file.h"

/* ---- batch sizes ---- */

LT_TEST(batches_follow_the_stored_traces)
{
    FILE *f = vectors_open("batches.txt");
    long long initial, min, max, adjustments, after;
    double target, used, seconds;
    int n, traces = 0;
    for (; fscanf(f, " trace %lld %lld %lld %lf %d %lld", &initial, &min, &max, &target, &n, &adjustments) == 6; traces++) {
        lt_batch_sizer s = lt_batch_start(initial, (lt_batch_bounds){ min, max }, target);
        for (int i = 0; i < n; i++) {
            LT_CHECK(fscanf(f, "%lf %lf %lld", &used, &seconds, &after) == 3);
            LT_CHECK_EQ_INT(lt_batch_step(&s, used, seconds), after);
        }
        LT_CHECK_EQ_INT(s.adjustments, adjustments);
        LT_CHECK_EQ_INT(s.calls, n);
    }
    LT_CHECK_EQ_INT(traces, 3);
    fclose(f);
}

LT_TEST(unsteady_times_hold_the_batch)
{
    lt_batch_sizer s = lt_batch_start(1000, (lt_batch_bounds){ 64, 4000 }, 0.9);
    for (int i = 0; i < 30; i++) LT_CHECK_EQ_INT(lt_batch_step(&s, 0.2, i % 2 ? 1 : 2), 1000);
    LT_CHECK(s.used_min == 0.2 && s.used_max == 0.2 && s.adjustments == 0);
}

/* ---- learnt tiles ---- */

static lt_tile_record run_of(int64_t n, int64_t q, int64_t tile, int64_t rate, int64_t peak)
{
    return (lt_tile_record){ .n = n, .n_qubits = q, .state_tile = -1, .tile_size = tile, .pairs_per_second = rate, .peak_bytes = peak };
}

LT_TEST(the_fastest_run_that_fits_is_learnt)
{
    static lt_tile_history h;
    h.n_records = 0;
    lt_tile_prediction p = lt_history_predict(&h, 1000, 8, 1000);
    LT_CHECK(p.source == LT_TILES_DEFAULT && p.confidence == 0 && p.state_tile == -1);
    lt_tile_record a = run_of(1000, 8, 64, 500, 950), b = run_of(1000, 8, 128, 300, 800), c = run_of(1000, 8, 256, 200, 100);
    lt_history_append(&h, &a);
    LT_CHECK(lt_history_predict(&h, 1000, 8, 1000).source == LT_TILES_NO_VALID_HISTORY);
    lt_history_append(&h, &b), lt_history_append(&h, &c);
    p = lt_history_predict(&h, 1000, 8, 1000);
    LT_CHECK(p.source == LT_TILES_LEARNED && p.tile_size == 128);
    LT_CHECK_NEAR(p.confidence, 0.2, 1e-15);
    LT_CHECK_EQ_INT(lt_history_predict(&h, 1000, 8, 500).tile_size, 256); /* tighter memory */
    LT_CHECK_EQ_INT(lt_history_predict(&h, 1000, 9, 10000).tile_size, 64); /* no run of 9 qubits: all count */
}

LT_TEST(the_nearest_size_is_asked_first)
{
    static lt_tile_history h;
    h.n_records = 0;
    lt_tile_record small = run_of(100, 8, 32, 900, 1), large = run_of(10000, 8, 512, 100, 1);
    lt_history_append(&h, &small), lt_history_append(&h, &large);
    LT_CHECK_EQ_INT(lt_history_predict(&h, 5000, 8, 1000).tile_size, 512);
    LT_CHECK_EQ_INT(lt_history_predict(&h, 300, 8, 1000).tile_size, 32);
}

LT_TEST(a_history_is_bounded_and_counted)
{
    static lt_tile_history h;
    h.n_records = 0;
    for (int i = 0; i < LT_HISTORY_MAX + 10; i++) {
        lt_tile_record r = run_of(1 + i, 8, i % 2 ? 64 : 128, 100, 1);
        lt_history_append(&h, &r);
    }
    lt_tile_statistics s = lt_history_statistics(&h);
    LT_CHECK(s.runs == LT_HISTORY_MAX && s.configurations == 2 && h.record[0].n == 11);
    LT_CHECK_NEAR(s.mean_pairs_per_second, 100, 1e-9);
}

LT_TEST(a_history_survives_its_file)
{
    static lt_tile_history h, back;
    h.n_records = 0;
    for (int i = 0; i < 7; i++) {
        lt_tile_record r = { 100 * (i + 1), 10, i % 2 ? 256 : -1, 128, INT64_C(123456789012), 5 };
        lt_history_append(&h, &r);
    }
    LT_CHECK_OK(lt_history_save("a test device", LT_GRAM_STATES, LT_GRAM_FLOAT32, &h));
    LT_CHECK_OK(lt_history_load("a test device", LT_GRAM_STATES, LT_GRAM_FLOAT32, &back));
    LT_CHECK_EQ_INT(back.n_records, 7);
    LT_CHECK(memcmp(h.record, back.record, 7 * sizeof *h.record) == 0);
    LT_CHECK_OK(lt_history_load("another device", LT_GRAM_STATES, LT_GRAM_FLOAT32, &back));
    LT_CHECK_EQ_INT(back.n_records, 0);
}

/* An entry of the cache whose digest fits, but which no run has written. */
LT_TEST(a_history_is_held_to_the_ranges_of_options)
{
    static const char text[] = "100 8 -1 9223372036854775807 5 5\n100 8 9223372036854775807 128 5 5\n100 8 0 128 5 5\n9223372036854775807 8 -1 128 5 5\n"
                               "100 0 -1 128 5 5\n100 8 -1 -128 5 5\n100 8 -1 128 5 -5\n100 8 -1 64 5 5\n";
    static lt_tile_history back;
    char key[160];
    snprintf(key, sizeof key, "gram tiles a crafted device %s %s", lt_gram_method_name(LT_GRAM_STATES), lt_gram_float_name(LT_GRAM_FLOAT32));
    LT_CHECK_OK(lt_cache_put(key, text, sizeof text - 1));
    LT_CHECK_OK(lt_history_load("a crafted device", LT_GRAM_STATES, LT_GRAM_FLOAT32, &back));
    LT_CHECK_EQ_INT(back.n_records, 1);
    LT_CHECK_EQ_INT(back.record[0].tile_size, 64);
}

/* ---- whole matrices ---- */

enum { N = 700, Q = 7, LAYERS = 2 };
static double x[N * Q], weights[LAYERS * Q], K[N * N], again[N * N];

static lt_gram *make(const lt_gram_options *opt)
{
    lt_gram *g = NULL;
    lt_draws d = lt_draws_make(1, "test", 0, 0, 0);
    LT_CHECK_OK(lt_draws_uniform_f64(&d, 0, N * Q, x));
    LT_CHECK_OK(lt_draws_uniform_f64(&d, N * Q, LAYERS * Q, weights));
    LT_CHECK_OK(lt_gram_create(NULL, opt, &(lt_weights){ weights, LAYERS, Q }, &g));
    return g;
}

static lt_gram_options states_options(void)
{
    lt_gram_options opt = lt_gram_defaults();
    opt.re_embed_between_layers = true;
    opt.method = LT_GRAM_STATES;
    return opt;
}

LT_TEST(a_batch_that_changes_leaves_the_bits_alone)
{
    lt_gram_options opt = states_options();
    lt_gram *g = make(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, K));
    lt_gram_destroy(g);
    opt.precompute_all_states = false;
    opt.state_tile = 96;
    opt.dynamic_batch = opt.profile_memory = true;
    for (int half = 0; half < 2; half++) {
        opt.symmetric = half;
        for (int shrink = 0; shrink < 2; shrink++) {
            /* A target below what is in use shrinks the blocks; one far above lets them grow. What is in
               use is the machine's affair, so only the result is asserted; the rule has its own test. */
            opt.vram_fraction = shrink ? 1e-3 : 1;
            g = make(&opt);
            memset(again, 0, sizeof again);
            LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, again));
            double worst = 0; /* without symmetry, entries below the diagonal are computed in their own right */
            for (int64_t i = 0; i < N * N; i++) worst = fmax(worst, fabs(K[i] - again[i]));
            LT_CHECK(half ? memcmp(K, again, sizeof K) == 0 : worst < 1e-14);
            lt_gram_profile p = lt_gram_get_profile(g);
            LT_CHECK(p.batch_calls >= 4);
            LT_CHECK(p.batch_min >= 24 && p.batch_max <= 2 * 96 && p.batch_min <= p.batch_max);
            LT_CHECK_EQ_INT(lt_gram_get_info(g).pairs, half ? N * (N + 1) / 2 : N * N);
            lt_gram_destroy(g);
        }
    }
}

LT_TEST(the_profile_adds_up)
{
    lt_gram_options opt = states_options();
    opt.profile_memory = true;
    lt_gram *g = make(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, K));
    lt_gram_profile p = lt_gram_get_profile(g);
    lt_gram_info i = lt_gram_get_info(g);
    int64_t sum = 0;
    for (int k = 0; k < p.n_allocations; k++) sum += p.allocation[k].bytes;
    LT_CHECK(p.n_allocations >= 2 && sum == p.peak_bytes && p.peak_bytes == i.peak_bytes && p.total_bytes > p.peak_bytes);
    LT_CHECK(p.kernel_launches == i.tiles + 1 && p.kernel_seconds > 0 && p.h2d_bytes == 0);
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    LT_CHECK_OK(lt_gram_profile_print(&p, to));
    fclose(to);
    LT_CHECK(strstr(text, "row states") && strstr(text, "Kernels:"));
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) LT_CHECK_EQ_INT(end - line, 74); /* a box */
    free(text);
    lt_gram_destroy(g);
    opt.profile_memory = false;
    g = make(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, K));
    LT_CHECK_EQ_INT(lt_gram_get_profile(g).kernel_launches, 0);
    lt_gram_destroy(g);
}

static const lt_gram_profile sample_profile = {
    .size = sizeof(lt_gram_profile), .n_allocations = 2, .allocation = { { "row states", 3000000000 }, { "tile", 500000000 } }, .peak_bytes = 3500000000,
    .total_bytes = 14000000000, .h2d_bytes = 6000000000, .d2h_bytes = 1000000000, .h2d_seconds = 0.5, .d2h_seconds = 0.25, .kernel_launches = 8,
    .kernel_seconds = 0.004, .batch_calls = 3, .batch_adjustments = 2, .batch_min = 16, .batch_max = 64, .streams = 4, .stream_utilization = 0.75,
    .stream_busy = 0.5, .syncs = 5, .graph_captures = 1, .graph_replays = 3, .mpairs_per_s = 12.5,
};

/* Its lines without the frame. */
static const char *const sample_lines[] = {
    "Memory: 3.5 of 14 GB, 25.00 %", "  row states                3 GB", "  tile                    0.5 GB", "Transfers", "  to the device            6 GB, 12 GB/s",
    "  from the device          1 GB, 4 GB/s", "Kernels: 8 launches, 0.5 ms each; 12.5 million pairs/s", "Batch: 16 to 64 rows, 2 adjustments in 3 blocks",
    "Streams: 4 computing, balance 0.75, busy 50 %; 5 waits of the host", "Graphs: 1 captured, 3 replayed, hit rate 0.75",
};

LT_TEST(the_profile_says_what_was_counted)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    LT_CHECK_OK(lt_gram_profile_print(&sample_profile, to));
    fclose(to);
    char *line = strchr(text, '\n') + 1;
    for (size_t i = 0; i < sizeof sample_lines / sizeof *sample_lines; i++, line = strchr(line, '\n') + 1) {
        size_t n = strlen(sample_lines[i]);
        if (strncmp(line, "| ", 2) || strncmp(line + 2, sample_lines[i], n) || strspn(line + 2 + n, " ") != 71 - n) LT_TEST_FAIL("%.74s, expected %s", line, sample_lines[i]);
    }
    LT_CHECK(!strncmp(line, "+---", 4) && strlen(line) == 75);
    free(text);
    lt_gram_profile idle = { .size = sizeof idle };
    to = open_memstream(&text, &bytes);
    LT_CHECK_OK(lt_gram_profile_print(&idle, to));
    fclose(to);
    LT_CHECK(strstr(text, "0 launches, 0 ms each") && strstr(text, "0 GB, 0 GB/s") && !strstr(text, "Batch") && !strstr(text, "Streams") && !strstr(text, "Graphs"));
    free(text);
    LT_CHECK_FAILS(lt_gram_profile_print(&(lt_gram_profile){ .size = 3 }, stdout), LT_ERR_ARGUMENT, "lt_gram_profile");
}

LT_TEST(the_profile_as_json)
{
    lt_json *j;
    LT_CHECK_OK(lt_json_create(LT_JSON_COMPACT, &j));
    lt_json_object_begin(j);
    lt_gram_profile_json(&sample_profile, j);
    lt_json_object_end(j);
    LT_CHECK_OK(lt_json_finish(j));
    const char *want = "{\"peak_allocated_gb\":3.5,\"allocations\":{\"row states\":3,\"tile\":0.5},\"h2d_total_gb\":6,\"d2h_total_gb\":1,\"h2d_avg_bandwidth_gbps\":12,"
                       "\"d2h_avg_bandwidth_gbps\":4,\"kernel_launches\":8,\"avg_kernel_time_ms\":0.5,\"throughput_mpairs_per_sec\":12.5,\"graph_captures\":1,"
                       "\"graph_replays\":3,\"graph_hit_rate\":0.75,\"streams\":4,\"stream_utilization\":0.75,\"stream_busy\":0.5,\"host_waits\":5,"
                       "\"batch_adjustments\":2,\"batch_min\":16,\"batch_max\":64}";
    if (strcmp(lt_json_text(j), want)) LT_TEST_FAIL("%s", lt_json_text(j));
    lt_json_destroy(j);
}

/* ---- repair ---- */

/* No finite input leads to an entry that is not finite, so the packed rows are spoilt by hand. lines: K is written while
   it is computed. */
static void spoil_a_row(int64_t n, bool symmetric, bool lines)
{
    lt_gram_options opt = lt_gram_defaults();
    lt_layers c;
    lt_gram_plan p;
    lt_pool *pool;
    double *out = aligned_alloc(64, (size_t)(n * n + 7) / 8 * 64);
    opt.symmetric = symmetric;
    LT_CHECK_OK(lt_layers_create(&opt, &(lt_weights){ weights, LAYERS, Q }, &c));
    LT_CHECK_OK(lt_pool_create(1, &pool));
    lt_plan_request r = { .opt = &opt, .circuit = &c, .isa = lt_gram_isa_of(lt_isa_best()), .threads = 1, .n = n, .m = n,
                          .free_bytes = INT64_C(1) << 30, .total_bytes = INT64_C(1) << 30, .transfer_reason = "" };
    LT_CHECK_OK(lt_gram_plan_make(&r, &p));
    double *rows = aligned_alloc(64, (p.a_bytes + 63) / 64 * 64), *scratch = aligned_alloc(64, (p.scratch_bytes + 63) / 64 * 64);
    for (size_t i = 0; i < p.a_bytes / sizeof *rows; i++) rows[i] = 0.5;
    rows[3] = NAN;      /* one feature of the fourth row */
    const lt_vec_set *vec = lt_vec_set_of(lt_isa_best(), LT_F64);
    lt_gram_out to = { .K = out, .half = symmetric, .n_columns = n, .copy = vec->copy, .fence = vec->fence, .lines = lines };
    lt_gram_block b = { .a = rows, .b = rows, .n_rows = n, .n_columns = n };
    lt_gram_meter strict = { .fn = NULL }, lenient = { .repair = true };
    LT_CHECK_FAILS(lt_tiles_run(&p, &c, pool, &b, &to, scratch, &strict), LT_ERR_INTERNAL, "not finite");
    LT_CHECK_OK(lt_tiles_run(&p, &c, pool, &b, &to, scratch, &lenient));
    LT_CHECK_EQ_INT(lenient.repaired, symmetric ? n : 2 * n - 1); /* its row and column */
    for (int64_t i = 0; i < n * n; i++) LT_CHECK(isfinite(out[i]) && (out[i] == 0) == (i / n == 3 || i % n == 3));
    free(rows), free(scratch), free(out);
    lt_pool_destroy(pool);
    lt_layers_destroy(&c);
}

LT_TEST(entries_that_are_not_finite_are_an_error_or_counted)
{
    spoil_a_row(30, true, false);
    spoil_a_row(30, false, false);
    spoil_a_row(96, false, true);
    spoil_a_row(312, true, true);
}

LT_TEST(tiles_of_many_runs_are_used)
{
    lt_gram_options opt = states_options();
    lt_device_info d = { .size = sizeof d };
    static lt_tile_history h;
    opt.learn_tiles = false;
    lt_gram *g = make(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, K));
    int64_t usual_tiles = lt_gram_get_info(g).tiles;
    int threads = lt_gram_get_info(g).threads;
    lt_gram_destroy(g);
    LT_CHECK_OK(lt_device_list(0, &d));
    char name[96];
    snprintf(name, sizeof name, "%s x%d", d.name, threads);
    h.n_records = 0;
    for (int i = 0; i < 8; i++) {
        lt_tile_record r = run_of(N, Q, 24, INT64_C(1) << 50, 1);
        lt_history_append(&h, &r);
    }
    LT_CHECK_OK(lt_history_save(name, LT_GRAM_STATES, LT_GRAM_FLOAT64, &h));
    opt.learn_tiles = true;
    g = make(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, again));
    LT_CHECK(lt_gram_get_info(g).tiles > 2 * usual_tiles);
    LT_CHECK(strstr(lt_gram_get_info(g).plan, "learnt from earlier runs") != NULL);
    LT_CHECK(memcmp(K, again, sizeof K) == 0);
    lt_gram_destroy(g);
    opt.learn_tiles = false; /* what is stored is then not looked at */
    g = make(&opt);
    LT_CHECK_OK(lt_gram_fill(g, &(lt_rows){ x, LT_F64, N, Q, 0 }, NULL, again));
    LT_CHECK_EQ_INT(lt_gram_get_info(g).tiles, usual_tiles);
    lt_gram_destroy(g);
    h.n_records = 0;
    LT_CHECK_OK(lt_history_save(name, LT_GRAM_STATES, LT_GRAM_FLOAT64, &h));
}

/* ---- K larger than memory ---- */

LT_TEST(bands_of_tiles_cover_a_matrix_that_lives_in_a_file)
{
    lt_gram_options opt = states_options();
    lt_layers c;
    lt_gram_plan p;
    LT_CHECK_OK(lt_layers_create(&opt, &(lt_weights){ weights, LAYERS, Q }, &c));
    for (int half = 0; half < 2; half++)
        for (int64_t memory = INT64_C(1) << 26; memory <= INT64_C(1) << 36; memory <<= 10) {
            enum { ROWS = 5000 };
            opt.symmetric = half;
            lt_plan_request r = { .opt = &opt, .circuit = &c, .isa = lt_gram_isa_of(lt_isa_best()), .threads = 2, .n = ROWS, .m = ROWS,
                                  .free_bytes = memory, .total_bytes = memory, .transfer_reason = "" };
            LT_CHECK_OK(lt_gram_plan_make(&r, &p));
            LT_CHECK((p.band_tiles > 1) == (memory < (int64_t)ROWS * ROWS * 8));
            int64_t pairs = 0;
            lt_gram_block all = { .n_rows = ROWS, .n_columns = ROWS };
            LT_CHECK(lt_tiles_count(&p, &all, &pairs) > 0);
            LT_CHECK_EQ_INT(pairs, half ? ROWS * (ROWS + 1) / 2 : ROWS * ROWS);
        }
    lt_layers_destroy(&c);
}

LT_TEST_MAIN()
