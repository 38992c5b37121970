/* Vectors on the device: their arithmetic and numbers, whole runs against the host, how often the host waits, faults.
   The device is the CPU behind a table that counts, fails on demand and closes its memory to the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_job.h"
#include "guarded_device.h"
#include "lost_device.h"
#include "compile_kernels.h"

#include "device/null/null.h"
#include "kernels/cuda/builder.h"
#include "optimize/device/vectors.h"
#include "optimize/vectors/vector.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Arithmetic ------------------------------------------------------------------------------------------------------- */
enum { N = 20011 }; /* three chunks of sums, odd */

static void draw(uint64_t *state, double *x)
{
    for (int i = 0; i < N; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(int64_t)(*state >> 11) / 9007199254740992.0 - 0.5;
    }
}

typedef struct fixture { lt_device *dev; lt_stream *stream; lt_device_vectors *v; lt_arena arena; lt_vectors vectors; double *device[6], host[6][N]; } fixture;

static fixture open_fixture(void)
{
    static fixture f;
    const lt_solve_options opt = lt_solve_defaults();
    uint64_t state = 5;
    f.dev = guarded_open();
    f.arena = (lt_arena){ 0 };
    LT_CHECK_OK(lt_stream_create(f.dev, &f.stream));
    LT_CHECK_OK(lt_device_vectors_create(f.dev, f.stream, &opt, N, &f.v));
    LT_CHECK_OK(lt_vectors_on_device(f.v, N, 1, &f.arena, &f.vectors));
    for (int i = 0; i < 6; i++) {
        draw(&state, f.host[i]);
        LT_CHECK_OK(lt_device_vectors_take(f.v, N, "a vector", &f.device[i]));
        lt_device_vectors_put(f.v, N, f.host[i], f.device[i]);
    }
    return f;
}

static void close_fixture(fixture *f)
{
    lt_device_vectors_destroy(f->v);
    lt_arena_release(&f->arena);
    lt_stream_destroy(f->stream);
    guarded_close(f->dev);
}

/* The same operations on both sides; each is one of space.h. */
static void compute(const lt_vectors *v, double *const *x)
{
    lt_vectors_step(v, x[0], 0.25, x[1], x[2]);
    lt_vectors_step(v, x[0], -3, x[2], x[0]);
    lt_vectors_scale(v, 1.5, x[0]);
    lt_vectors_copy(v, 1, x[0], x[3]);
    lt_vectors_difference(v, x[3], x[1], x[1]);
    lt_vectors_scaled(v, -1, x[1], x[4]);
    lt_vectors_sum(v, x[5]);
    for (int j = 0; j < 5; j++) lt_vectors_add(v, 0.1 * j + 0.3, x[j], x[5]);
    lt_vectors_sum_end(v);
}

LT_TEST(arithmetic_has_the_bits_of_the_host_and_needs_no_wait)
{
    fixture f = open_fixture();
    static double got[N];
    double *on_host[6];
    for (int i = 0; i < 6; i++) on_host[i] = f.host[i];
    const lt_vectors host = lt_vectors_on_host(N, NULL);
    compute(&host, on_host);
    watch_reset();
    compute(&f.vectors, f.device);
    LT_CHECK_EQ_INT(watched.syncs, 0);
    for (int i = 0; i < 5; i++) {
        lt_device_vectors_get(f.v, N, f.device[i], got);
        LT_CHECK(!memcmp(got, f.host[i], sizeof got));
    }
    lt_device_vectors_get(f.v, N, f.device[5], got);
    for (int i = 0; i < N; i++) LT_CHECK_NEAR(got[i], f.host[5][i], 1e-14); /* summed from the first term on, not from zero */
    close_fixture(&f);
}

LT_TEST(numbers_agree_and_come_together)
{
    fixture f = open_fixture();
    double *const *a = f.device;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) lt_vectors_expect(&f.vectors, LT_MEASURE_DOT, a[i], a[j]);
    lt_device_vectors_expect(f.v, LT_MEASURE_LARGEST, a[2], a[2]);
    watch_reset();
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) LT_CHECK_NEAR(lt_vectors_dot(&f.vectors, a[i], a[j]), lt_vec_dot(N, f.host[i], f.host[j]), 1e-10);
    LT_CHECK_EQ_INT(lt_vectors_max_abs(&f.vectors, a[2]) == lt_vec_max_abs(N, f.host[2]), 1);
    LT_CHECK_EQ_INT(watched.syncs, 1);
    LT_CHECK_NEAR(lt_vectors_distance(&f.vectors, a[0], a[1]), lt_vec_distance(N, f.host[0], f.host[1]), 1e-10); /* not expected: waits */
    LT_CHECK_EQ_INT(watched.syncs, 2);
    LT_CHECK(lt_vectors_finite(&f.vectors, a[3]));
    close_fixture(&f);
}

LT_TEST(a_vector_that_is_written_is_measured_again)
{
    fixture f = open_fixture();
    const double before = lt_vectors_dot(&f.vectors, f.device[0], f.device[1]);
    lt_vectors_scale(&f.vectors, 2, f.device[1]);
    LT_CHECK_NEAR(lt_vectors_dot(&f.vectors, f.device[0], f.device[1]), 2 * before, 1e-12);
    lt_vectors_expect(&f.vectors, LT_MEASURE_DOT, f.device[0], f.device[1]);
    lt_vectors_fill(&f.vectors, 0, f.device[0]); /* between asking and waiting */
    LT_CHECK(lt_vectors_dot(&f.vectors, f.device[0], f.device[1]) == 0);
    close_fixture(&f);
}

LT_TEST(extremes_are_kept_apart)
{
    fixture f = open_fixture();
    f.host[0][17] = NAN;
    f.host[1][N - 1] = INFINITY;
    for (int i = 0; i < 2; i++) {
        lt_device_vectors_put(f.v, N, f.host[i], f.device[i]);
        LT_CHECK(!lt_vectors_finite(&f.vectors, f.device[i]));
    }
    LT_CHECK(isnan(lt_vectors_max_abs(&f.vectors, f.device[0])) && isinf(lt_vectors_max_abs(&f.vectors, f.device[1])));
    LT_CHECK(isnan(lt_vectors_norm2(&f.vectors, f.device[0])) && isinf(lt_vectors_norm2(&f.vectors, f.device[1])));
    lt_vectors_scale(&f.vectors, 1e-200, f.device[2]);
    lt_vectors_scale(&f.vectors, 1e200, f.device[3]);
    LT_CHECK_NEAR(lt_vectors_norm2(&f.vectors, f.device[2]) * 1e200, lt_vec_norm2(N, f.host[2]), 1e-10);
    LT_CHECK_NEAR(lt_vectors_norm2(&f.vectors, f.device[3]) * 1e-200, lt_vec_norm2(N, f.host[3]), 1e-10);
    lt_vectors_fill(&f.vectors, 0, f.device[4]);
    LT_CHECK(lt_vectors_norm2(&f.vectors, f.device[4]) == 0);
    close_fixture(&f);
}

/* Copies go with numbers, in front of what overwrites their vectors, and are known to have arrived one wait later. */
LT_TEST(copies_arrive_behind_the_numbers_and_before_what_they_show_is_gone)
{
    fixture f = open_fixture();
    double *kept[3];
    for (int i = 0; i < 3; i++) LT_CHECK_OK(lt_device_vectors_take_host(f.v, N, &kept[i]));
    LT_CHECK_EQ_INT(lt_device_vectors_keep(f.v, f.device[0], kept[0]), 1);
    (void)lt_vectors_dot(&f.vectors, f.device[0], f.device[1]);
    LT_CHECK_EQ_INT(lt_device_vectors_arrived(f.v), 0);
    (void)lt_vectors_dot(&f.vectors, f.device[0], f.device[2]);
    LT_CHECK_EQ_INT(lt_device_vectors_arrived(f.v), 1);
    LT_CHECK(!memcmp(kept[0], f.host[0], sizeof f.host[0]));

    lt_device_vectors_keep(f.v, f.device[1], kept[1]);
    lt_vectors_fill(&f.vectors, 7, f.device[1]); /* the copy is made first: it has arrived with the next wait */
    LT_CHECK(lt_vectors_dot(&f.vectors, f.device[1], f.device[1]) == 49.0 * N);
    LT_CHECK_EQ_INT(lt_device_vectors_arrived(f.v), 2);
    LT_CHECK(!memcmp(kept[1], f.host[1], sizeof f.host[1]));

    lt_device_vectors_keep(f.v, f.device[2], kept[2]);
    LT_CHECK_EQ_INT(lt_device_vectors_keep(f.v, f.device[3], kept[2]), 4); /* instead of that one */
    lt_device_vectors_settle(f.v);
    LT_CHECK_EQ_INT(lt_device_vectors_arrived(f.v), 4);
    LT_CHECK(!memcmp(kept[2], f.host[3], sizeof f.host[3]));
    close_fixture(&f);
}

/* A statement is left out when its result is replaced unread, and only then. */
LT_TEST(what_nobody_reads_is_not_computed)
{
    fixture f = open_fixture();
    double *const *x = f.device;
    const int64_t before = lt_device_vectors_crossings(f.v).bytes_up;
    lt_vectors_scaled(&f.vectors, 2, x[0], x[1]);
    lt_vectors_scaled(&f.vectors, 3, x[0], x[1]);
    (void)lt_vectors_dot(&f.vectors, x[1], x[1]);
    const int64_t one = lt_device_vectors_crossings(f.v).bytes_up; /* one statement of one term */
    lt_vectors_scaled(&f.vectors, 2, x[0], x[1]);
    lt_vectors_scaled(&f.vectors, 0.5, x[1], x[2]); /* reads it */
    lt_vectors_scaled(&f.vectors, 3, x[0], x[1]);
    lt_vectors_step(&f.vectors, x[1], 1, x[0], x[1]); /* reads what it replaces */
    LT_CHECK_NEAR(lt_vectors_dot(&f.vectors, x[1], x[2]), 4 * lt_vec_dot(N, f.host[0], f.host[0]), 1e-10);
    LT_CHECK_EQ_INT(lt_device_vectors_crossings(f.v).bytes_up - one, one - before + 3 * 32 + 4 * 16); /* four statements of five terms */
    close_fixture(&f);
}

/* Copies are made of what their vectors are made of, where that has not changed: the bits are the same in any case. */
LT_TEST(a_copy_has_the_bits_of_what_it_copies_whatever_is_written_around_it)
{
    fixture f = open_fixture();
    static double got[N], want[N];
    double *const *x = f.device;
    lt_vectors_step(&f.vectors, x[0], 0.3, x[1], x[2]);
    lt_vectors_copy(&f.vectors, 1, x[2], x[3]);          /* of x[0] and x[1] */
    lt_vectors_scale(&f.vectors, 0.7, x[1]);
    lt_vectors_copy(&f.vectors, 1, x[2], x[4]);          /* of x[2]: x[1] is another one now */
    lt_vectors_copy(&f.vectors, 1, x[1], x[5]);          /* of x[1]: it was made of itself */
    lt_vec_step(N, f.host[0], 0.3, f.host[1], want);
    for (int i = 2; i < 5; i++) {
        lt_device_vectors_get(f.v, N, x[i], got);
        LT_CHECK(!memcmp(got, want, sizeof got));
    }
    lt_vec_scale(N, 0.7, f.host[1]);
    lt_device_vectors_get(f.v, N, x[5], got);
    LT_CHECK(!memcmp(got, f.host[1], sizeof got));
    close_fixture(&f);
}

/* More statements, terms, numbers and launches than a list, or all lists, hold. */
LT_TEST(lists_that_overflow_are_launched_in_parts)
{
    fixture f = open_fixture();
    double *const *x = f.device, *many[300], sum = 0;
    LT_CHECK_OK(lt_device_vectors_take(f.v, 300 * N, "many", &many[0]));
    for (int i = 0; i < 300; i++) {
        many[i] = many[0] + (size_t)i * N;
        lt_vectors_fill(&f.vectors, i, many[i]);
    }
    lt_vectors_sum(&f.vectors, x[0]);
    for (int i = 0; i < 300; i++) lt_vectors_add(&f.vectors, i % 2 ? 1 : -1, many[i], x[0]); /* 150 */
    lt_vectors_sum_end(&f.vectors);
    lt_device_vectors_many_begin(f.v, 300);
    for (int i = 0; i < 300; i++) lt_vectors_step(&f.vectors, many[i], 2, x[0], many[i]); /* i + 300 */
    lt_device_vectors_many_end(f.v);
    for (int i = 0; i < 300; i++)
        for (int j = i; j < i + 8 && j < 300; j++) lt_vectors_expect(&f.vectors, LT_MEASURE_DOT, many[i], many[j]); /* 2372 */
    watch_reset();
    for (int i = 0; i < 300; i++)
        for (int j = i; j < i + 8 && j < 300; j++) {
            double got = lt_vectors_dot(&f.vectors, many[i], many[j]), want = (double)N * (i + 300) * (j + 300);
            sum += fabs(got - want) / want;
        }
    LT_CHECK_NEAR(sum, 0, 1e-9);
    LT_CHECK(watched.syncs <= 3);
    close_fixture(&f);
}

LT_TEST(after_a_loss_numbers_are_nan_and_the_first_text_stays)
{
    fixture f = open_fixture();
    watched.syncs_left = 0;
    LT_CHECK(isnan(lt_vectors_dot(&f.vectors, f.device[0], f.device[1])));
    LT_CHECK_EQ_INT(lt_device_vectors_failure(f.v), LT_ERR_DEVICE);
    LT_CHECK(strstr(lt_error_text(), "lost"));
    watch_reset();
    LT_CHECK(isnan(lt_vectors_dot(&f.vectors, f.device[0], f.device[1])));
    close_fixture(&f);
}

/* ---- Whole runs -------------------------------------------------------------------------------------------------------- */
static job open_job(const char *example, lt_device *dev)
{
    job j = read_job(example);
    j.opt.device = dev;
    if (dev) j.opt.hessian_on = j.opt.vectors_on = LT_HESSIAN_DEVICE;
    return j;
}

LT_TEST(runs_end_where_they_end_on_the_host)
{
    static const struct { const char *name; int64_t pairs; double tolerance; } runs[] = {
        { "example:A1", 0, 1e-7 }, { "example:B1", 0, 1e-6 }, { "example:B2", 0, 1e-6 }, { "example:B2", 10, 1e-5 },
        { "example:B3", 0, 1e-5 }, { "example:C1", 0, 1e-4 }, { "example:C1", 5, 1e-2 }, { "example:C3", 0, 1e-4 } };
    for (size_t i = 0; i < LT_LEN(runs); i++) {
        lt_device *dev = guarded_open();
        job host = open_job(runs[i].name, NULL), device = open_job(runs[i].name, dev);
        host.opt.lbfgs_pairs = device.opt.lbfgs_pairs = runs[i].pairs;
        lt_solution *a = run(&host), *b = run(&device);
        LT_CHECK(b->transfers->vectors_on_device && b->transfers->hessian_on_device && !a->transfers->vectors_on_device);
        if (!(fabs(a->best.f - b->best.f) <= runs[i].tolerance * fmax(1, fabs(a->best.f))))
            LT_TEST_FAIL("%s, %d pairs: f is %.12g after %d iterations, on the host %.12g after %d", runs[i].name, (int)runs[i].pairs, b->best.f,
                         (int)b->iters, a->best.f, (int)a->iters);
        LT_CHECK_EQ_INT(b->loop_allocations, 0);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
        close_job(&host);
        close_job(&device);
        guarded_close(dev);
    }
}

typedef struct counted { int64_t iters, evaluations, vectors, hessian, bytes, watched, watched_bytes; } counted;

static counted count_run(job *j, int64_t max_iterations)
{
    j->opt.max_iterations = max_iterations;
    watch_reset();
    lt_solution *s = run(j);
    const lt_solve_transfers *t = s->transfers;
    counted c = { s->iters, t->evaluation.syncs, t->vectors.syncs, t->hessian.syncs,
                  t->vectors.bytes_up + t->vectors.bytes_down + t->evaluation.bytes_up + t->evaluation.bytes_down, watched.syncs,
                  watched.bytes[LT_TRANSFER_H2D] + watched.bytes[LT_TRANSFER_D2H] };
    LT_CHECK_EQ_INT(t->evaluation.syncs, t->evaluation.calls);
    lt_solution_destroy(s);
    return c;
}

/* Per iteration: one wait for each evaluation, one for products and samples, one for the stationarity measure, and now and
   then one more; limited memory adds one for the matrix of steering. Between a short run and a long one the report and an
   independent count differ by the same. */
LT_TEST(an_iteration_waits_a_few_times_and_moves_numbers_only)
{
    for (int64_t pairs = 0; pairs <= 10; pairs += 10) {
        lt_device *dev = guarded_open();
        job j = open_job("example:B2", dev);
        j.opt.lbfgs_pairs = pairs;
        j.opt.scale_functions = false; /* below 1024 variables, where vectors are on a device only if asked for, it costs a wait */
        lt_solution_destroy(run(&j)); /* compiles and captures */
        counted a = count_run(&j, 20), b = count_run(&j, 60);
        const int64_t iters = b.iters - a.iters, vectors = b.vectors - a.vectors, hessian = b.hessian - a.hessian;
        LT_CHECK_EQ_INT(iters, 40);
        LT_CHECK_EQ_INT(b.watched - a.watched, b.evaluations - a.evaluations + vectors + hessian);
        LT_CHECK_EQ_INT(b.watched_bytes, a.watched_bytes); /* no vector crosses in between */
        LT_CHECK(vectors <= (pairs ? 3 : 2) * iters + 2);
        LT_CHECK_EQ_INT(hessian, 0);
        LT_CHECK(b.bytes - a.bytes < 12000 * iters);
        close_job(&j);
        guarded_close(dev);
    }
}

typedef struct seen { int64_t calls; double difference; } seen;

/* What a callback is shown must be the point: its f is what the functions say. */
static bool look(void *ctx, const lt_iterate *it)
{
    seen *s = ctx;
    double most = 0;
    for (int64_t i = 0; i < it->n; i++) most = fmax(most, fabs(it->grad_phi[i] - it->mu * it->grad_f[i]));
    s->calls++;
    s->difference = fmax(s->difference, most);
    LT_CHECK(isfinite(it->x[0]) && isfinite(it->stat_vec[it->n - 1]) && isfinite(it->d[0]));
    return false;
}

LT_TEST(a_callback_sees_the_vectors)
{
    lt_device *dev = guarded_open();
    job j = open_job("example:C2", dev); /* unconstrained: grad phi is mu grad f */
    seen s = { 0 };
    j.opt.max_iterations = 12;
    lt_solution *plain = run(&j);
    j.opt.iterate_fn = look;
    j.opt.iterate_ctx = &s;
    lt_solution *watched_run = run(&j);
    LT_CHECK_EQ_INT(s.calls, watched_run->iters + 1);
    LT_CHECK(s.difference == 0);
    LT_CHECK(!memcmp(plain->final.x, watched_run->final.x, (size_t)plain->n * sizeof(double)));
    lt_solution_destroy(plain);
    lt_solution_destroy(watched_run);
    close_job(&j);
    guarded_close(dev);
}

/* ---- Going on, again, and faults ------------------------------------------------------------------------------------------ */
LT_TEST(a_run_repeats_and_goes_on_from_its_checkpoint_bit_for_bit)
{
    for (int64_t pairs = 0; pairs <= 4; pairs += 4) {
        lt_device *dev = guarded_open();
        char path[] = "/tmp/lathe_vectors_XXXXXX";
        int fd = mkstemp(path);
        job j = open_job("example:C1", dev);
        j.opt.lbfgs_pairs = pairs;
        j.opt.max_iterations = 40;
        j.opt.stationarity_tol = 0.3; /* met before the stop below: a point to go back to is in the checkpoint */
        j.opt.patience = 40;
        lt_solution *whole = run(&j), *again = run(&j);
        LT_CHECK(whole->iters > 20 && (whole->termination_code != LT_TERMINATION_CONVERGED || whole->stat_value <= j.opt.stationarity_tol));
        LT_CHECK(again->fn_evals == whole->fn_evals && !memcmp(again->final.x, whole->final.x, (size_t)whole->n * sizeof(double)));
        j.opt.max_iterations = 20;
        j.opt.checkpoint = path;
        lt_solution_destroy(run(&j));
        j.opt.max_iterations = 40;
        j.opt.checkpoint = NULL;
        j.opt.resume = path;
        lt_solution *rest = run(&j);
        LT_CHECK(rest->iters == whole->iters && rest->final.f == whole->final.f);
        LT_CHECK(!memcmp(rest->final.x, whole->final.x, (size_t)rest->n * sizeof(double)));
        lt_solution_destroy(rest);
        lt_solution_destroy(again);
        lt_solution_destroy(whole);
        close_job(&j);
        guarded_close(dev);
        remove(path);
        close(fd);
    }
}

LT_TEST(a_loss_at_any_wait_keeps_points_with_their_values)
{
    lt_device *dev = guarded_open();
    job j = open_job("example:B3", dev);
    j.opt.max_iterations = 12;
    LT_CHECK(lose_at_every_wait(&j) > 12);
    close_job(&j);
    guarded_close(dev);
}

LT_TEST(what_keeps_vectors_on_the_host_is_reported)
{
    lt_device *dev = guarded_open();
    job j = open_job("example:C1", dev);
    lt_solution *s;
    j.opt.hessian_on = LT_HESSIAN_HOST;
    LT_CHECK_FAILS(lt_solve(j.problem, &j.opt, &s), LT_ERR_UNSUPPORTED, "H on the host");
    j.opt.hessian_on = LT_HESSIAN_DEVICE;
    j.debug.pinned_transfers = false;
    j.opt.debug = &j.debug;
    LT_CHECK_FAILS(lt_solve(j.problem, &j.opt, &s), LT_ERR_UNSUPPORTED, "page-locked");
    j.opt.vectors_on = LT_HESSIAN_AUTO;
    j.opt.max_iterations = 3;
    s = run(&j);
    LT_CHECK(!s->transfers->vectors_on_device);
    lt_solution_destroy(s);
    close_job(&j);
    guarded_close(dev);
}

LT_TEST(null_accepts_every_address)
{
    lt_device *dev;
    LT_CHECK_OK(lt_device_open("null", &dev));
    for (int64_t pairs = 0; pairs <= 3; pairs += 3) {
        job j = open_job("example:B2", dev);
        j.opt.lbfgs_pairs = pairs;
        lt_solution *s = run(&j); /* zeros come back: stationary at once */
        LT_CHECK(s->transfers->vectors_on_device && s->transfers->evaluation.calls == 1);
        LT_CHECK_EQ_INT(s->transfers->replays, 1);
        lt_solution_destroy(s);
        close_job(&j);
    }
    lt_device_close(dev);
}

extern const char lt_text_measure_h[], lt_text_vectors_job_h[], lt_text_vectors_cu[];

LT_TEST(the_kernels_compile_for_every_architecture)
{
    static const char *const options[] = { "--fmad=false" };
    OPEN_OR_SKIP();
    for (int together = 1; together <= 8; together += 7) {
        lt_text text = { 0 };
        lt_text_define(&text, "TOGETHER", together);
        lt_text_part(&text, lt_text_measure_h);
        lt_text_part(&text, lt_text_vectors_job_h);
        lt_text_part(&text, lt_text_vectors_cu);
        compile_kernels(&(lt_kernel_key){ .name = "vectors", .source = text.s, .entry = "finish", .options = options, .n_options = 1 });
        lt_text_free(&text);
    }
}

LT_TEST_MAIN()
