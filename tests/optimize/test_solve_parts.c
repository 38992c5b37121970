/* Parts of the optimizer and what surrounds a run: products with H, checkpoints, threads, failing
   allocations, structure stated by the user, graphs.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "base/alloc.h"
#include "optimize/solver.h"
#include "optimize/vectors/vector.h"

#include <pthread.h>
#include <unistd.h>

static lt_solve_options base(void) { return lt_solve_defaults(); }

static void fill(lt_rng *r, int64_t n, double *v)
{
    for (int64_t i = 0; i < n; i++) v[i] = lt_rng_normal(r);
}

/* ---- Products ------------------------------------------------------------------------------------------- */
/* The inverse BFGS matrix written out: H+ = (I - rho s y') H (I - rho y s') + rho s s'. */
static void explicit_update(int64_t n, double *H, const double *s, const double *y)
{
    double sty = lt_vec_dot(n, s, y), *Hy = calloc((size_t)n, sizeof *Hy);
    for (int64_t i = 0; i < n; i++) Hy[i] = lt_vec_dot(n, H + i * n, y);
    double yHy = lt_vec_dot(n, y, Hy);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            H[i * n + j] += (1 + yHy / sty) / sty * s[i] * s[j] - (Hy[i] * s[j] + s[i] * Hy[j]) / sty;
    free(Hy);
}

static void identity(int64_t n, double scale, double *H)
{
    for (int64_t i = 0; i < n * n; i++) H[i] = i % (n + 1) ? 0 : scale;
}

static void check_products(lt_hessian *h, const double *H, int64_t k, lt_rng *r)
{
    int64_t n = h->n;
    double *B = malloc((size_t)(2 * k * n) * sizeof *B), *out = B + k * n;
    const double *from[32];
    double *to[32];
    fill(r, k * n, B);
    for (int64_t j = 0; j < k; j++) from[j] = B + j * n, to[j] = out + j * n;
    lt_hessian_apply_rows(h, k, from, to);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) {
            double want = lt_vec_dot(n, H + i * n, B + j * n);
            double size = lt_vec_norm2(n, H + i * n) * lt_vec_norm2(n, B + j * n);
            if (!(fabs(out[j * n + i] - want) <= 1e-12 * fmax(size, 1)))
                LT_TEST_FAIL("k %lld, column %lld, entry %lld: %.17g, expected %.17g", (long long)k, (long long)j, (long long)i,
                             out[j * n + i], want);
        }
    free(B);
}

/* Pairs with y = A s for a fixed positive definite A: curvature is always positive. */
static void make_pair(lt_rng *r, int64_t n, double *s, double *y)
{
    fill(r, n, s);
    for (int64_t i = 0; i < n; i++) y[i] = (1 + 0.1 * (double)i) * s[i] + 0.2 * (i ? s[i - 1] : 0) + 0.2 * (i + 1 < n ? s[i + 1] : 0);
}

LT_TEST(limited_memory_products_equal_the_explicit_matrix)
{
    enum { n = 23, memory = 5, pairs = 13 }; /* more pairs than fit: the ring wraps */
    lt_rng r = lt_rng_seed(3);
    double S[pairs][n], Y[pairs][n], *H = malloc(n * n * sizeof *H);
    lt_hessian h;
    LT_CHECK_OK(lt_hessian_create(n, (lt_solve_options[]){ SOLVE_OPTIONS(o.lbfgs_pairs = memory, o.bfgs_damping = 0) }, &h));
    for (int i = 0; i < pairs; i++) {
        make_pair(&r, n, S[i], Y[i]);
        LT_CHECK(lt_hessian_update(&h, S[i], Y[i], NULL, NULL) == LT_UPDATE_DONE);
        int first = i + 1 > memory ? i + 1 - memory : 0;
        identity(n, h.gamma, H);
        for (int j = first; j <= i; j++) explicit_update(n, H, S[j], Y[j]);
        for (int64_t k = 1; k <= 20; k += 1 + (i < pairs - 1) * 6) check_products(&h, H, k, &r);
    }
    LT_CHECK_NEAR(h.gamma, lt_vec_dot(n, S[0], Y[0]) / lt_vec_dot(n, Y[0], Y[0]), 1e-14); /* the first one stays */
    lt_hessian_state out;
    LT_CHECK_OK(lt_hessian_export(&h, &out));
    LT_CHECK(out.m == memory && !memcmp(out.S, S[pairs - memory], sizeof S[0])); /* oldest first */
    lt_hessian warm;
    lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = 3, o.lbfgs_state = &out);
    LT_CHECK_OK(lt_hessian_create(n, &opt, &warm)); /* fewer: the newest are kept */
    identity(n, h.gamma, H);
    for (int j = pairs - 3; j < pairs; j++) explicit_update(n, H, S[j], Y[j]);
    check_products(&warm, H, 4, &r);
    lt_hessian_release(&warm);
    lt_hessian_state_release(&out);
    lt_hessian_release(&h);
    free(H);
}

static void check_full_memory(bool in_place)
{
    enum { n = 37 };
    lt_rng r = lt_rng_seed(4);
    double s[n], y[n], *H = malloc(n * n * sizeof *H);
    lt_hessian h;
    lt_solve_debug debug = lt_solve_debug_defaults();
    debug.in_place_bfgs = in_place;
    LT_CHECK_OK(lt_hessian_create(n, (lt_solve_options[]){ SOLVE_OPTIONS(o.bfgs_damping = 0, o.debug = &debug) }, &h));
    for (int i = 0; i < 20; i++) {
        make_pair(&r, n, s, y);
        if (i == 0) identity(n, lt_vec_dot(n, s, y) / lt_vec_dot(n, y, y), H);
        LT_CHECK(lt_hessian_update(&h, s, y, NULL, NULL) == LT_UPDATE_DONE);
        explicit_update(n, H, s, y);
        for (int64_t k = 1; k <= 20; k += 9) check_products(&h, H, k, &r);
    }
    for (int i = 0; i < n; i++) y[i] = -s[i];
    LT_CHECK(lt_hessian_update(&h, s, y, NULL, NULL) == LT_UPDATE_NO_CURVATURE);
    y[0] = NAN;
    LT_CHECK(lt_hessian_update(&h, s, y, NULL, NULL) != LT_UPDATE_DONE);
    check_products(&h, H, 3, &r); /* a refused update leaves H alone */
    LT_CHECK(h.counts.requests == 22 && h.counts.updates == 20 && h.counts.sty_fails >= 1);
    lt_hessian_release(&h);
    free(H);
}

LT_TEST(full_memory_products_and_updates_equal_the_explicit_matrix)
{
    check_full_memory(true);
    check_full_memory(false);
}

LT_TEST(damping_keeps_curvature_positive)
{
    lt_hessian h;
    LT_CHECK_OK(lt_hessian_create(2, (lt_solve_options[]){ SOLVE_OPTIONS(o.scale_H0 = false, o.bfgs_damping = 0.2) }, &h));
    double s[2] = { 1, 0 }, y[2] = { -0.5, 0.1 };
    LT_CHECK(lt_hessian_update(&h, s, y, NULL, NULL) == LT_UPDATE_DONE);
    LT_CHECK(h.counts.damped_requests == 1 && h.counts.damped_updates == 1);
    /* theta = 0.8 / 1.5, y = theta y + (1 - theta) s, s'y = 0.2 s'Hs: H[0][0] = 1 / (s'y) scaled by s. */
    double x[2] = { 1, 0 }, out[2];
    lt_hessian_apply(&h, x, out);
    LT_CHECK(out[0] > 0);
    double work[3];
    LT_CHECK(lt_packed_is_definite(2, h.lower, work));
    lt_hessian_release(&h);
}

LT_TEST(eigenvalues_of_symmetric_matrices)
{
    lt_rng r = lt_rng_seed(5);
    for (int64_t n = 1; n <= 40; n += 3) {
        size_t bytes = (size_t)(n * n) * sizeof(double);
        double *A = malloc(bytes), *copy = malloc(bytes), *V = malloc(bytes), *w = malloc((size_t)n * 8), *work = malloc((size_t)n * 32);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j <= i; j++) A[i * n + j] = A[j * n + i] = lt_rng_normal(&r);
        if (n > 4) for (int64_t j = 0; j < n; j++) A[2 * n + j] = A[j * n + 2] = 0; /* singular */
        memcpy(copy, A, bytes);
        LT_CHECK(lt_eigen_symmetric(n, copy, w, V, work));
        for (int64_t k = 0; k < n; k++) {
            LT_CHECK(k == 0 || w[k] >= w[k - 1]);
            for (int64_t i = 0; i < n; i++)
                LT_CHECK_NEAR(lt_vec_dot(n, A + i * n, V + k * n), w[k] * V[k * n + i], 1e-12 * (double)n);
            for (int64_t m = 0; m <= k; m++) LT_CHECK_NEAR(lt_vec_dot(n, V + k * n, V + m * n), k == m, 1e-13 * (double)n);
        }
        free(A); free(copy); free(V); free(w); free(work);
    }
}

/* ---- Carried products ------------------------------------------------------------------------------------- */
LT_TEST(carried_products_follow_the_same_path_as_fresh_ones)
{
    lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 120);
    lt_solution *a = solve_example(example_total_variation(), opt, false);
    lt_solve_debug debug = lt_solve_debug_defaults();
    debug.incremental_products = false;
    opt.debug = &debug;
    lt_solution *b = solve_example(example_total_variation(), opt, false);
    for (int64_t i = 0; i <= 40; i++) LT_CHECK_NEAR(row_of(a, i)->f, row_of(b, i)->f, 1e-9);
    LT_CHECK_NEAR(row_of(a, 120)->f, row_of(b, 120)->f, 1e-6);
    lt_solution_destroy(a);
    lt_solution_destroy(b);
}

/* ---- Checkpoints ---------------------------------------------------------------------------------------------- */
static void check_same_end(const lt_solution *a, const lt_solution *b)
{
    LT_CHECK_EQ_INT(b->iters, a->iters);
    LT_CHECK_EQ_INT(b->fn_evals, a->fn_evals);
    LT_CHECK_EQ_INT(b->termination_code, a->termination_code);
    LT_CHECK_EQ_INT(b->n_qp, a->n_qp);
    LT_CHECK_EQ_INT(b->n_history, a->n_history);
    LT_CHECK(a->stat_value == b->stat_value && a->final.mu == b->final.mu);
    LT_CHECK(!memcmp(a->final.x, b->final.x, (size_t)a->n * sizeof(double)));
    LT_CHECK(a->best.present == b->best.present && (!a->best.present || !memcmp(a->best.x, b->best.x, (size_t)a->n * sizeof(double))));
    LT_CHECK(!a->H_final.H || !memcmp(a->H_final.H, b->H_final.H, (size_t)(a->n * a->n) * sizeof(double)));
}

LT_TEST(a_resumed_run_ends_bit_for_bit_like_one_that_never_stopped)
{
    char path[] = "/tmp/lathe-checkpoint-XXXXXX";
    close(mkstemp(path));
    for (int which = 0; which < 5; which++)
        for (int64_t stop = 1; stop < 40; stop += 13) {
            lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.max_iterations = 70);
            if (which == 3) opt.lbfgs_pairs = 6;
            if (which == 4) opt.condition_limit = 100, opt.last_fallback = 4, opt.compat = 1;
            if (which == 1) opt.stationarity_tol = 0.1, opt.patience = 9; /* met early: stops fall before and after */
#define MAKE() (which == 0 ? example_rosenbrock(5.5, 5.5) : which == 1 ? example_trace(2) : which == 2 ? example_robust_pca() \
                : example_total_variation())
            lt_solution *whole = solve_example(MAKE(), opt, false);
            lt_solve_options first = opt, second = opt;
            first.max_iterations = stop;
            first.checkpoint = path;
            first.checkpoint_every = 7;
            lt_solution *a = solve_example(MAKE(), first, false);
            second.resume = path;
            lt_solution *b = solve_example(MAKE(), second, false);
            if (a && a->iters == stop) check_same_end(whole, b);
            lt_solution_destroy(whole);
            lt_solution_destroy(a);
            lt_solution_destroy(b);
        }
    unlink(path);
}

/* Raises a flag at one evaluation, wherever in an iteration that is. */
typedef struct alarm_clock { example *e; lt_problem *inner; int64_t at, n; int flag; } alarm_clock;

static lt_status evaluate_and_ring(void *ctx, const double *x, const lt_outputs *out)
{
    alarm_clock *a = ctx;
    if (out->f && ++a->n == a->at) a->flag = 1;
    return lt_problem_evaluate(a->inner, x, out);
}

static lt_solution *solve_until(example *e, lt_solve_options opt, int64_t at)
{
    alarm_clock a = { .e = e, .inner = example_problem(e), .at = at };
    lt_problem_size size = lt_problem_get_size(a.inner);
    opt.interrupt = &a.flag;
    opt.x0 = opt.resume ? NULL : e->x0;
    lt_solution *s = solve_function(size.n, size.p, size.q, evaluate_and_ring, &a, opt);
    lt_problem_destroy(a.inner);
    example_free(e);
    return s;
}

LT_TEST(a_run_stopped_inside_a_line_search_goes_on_bit_for_bit)
{
    char path[] = "/tmp/lathe-checkpoint-XXXXXX";
    close(mkstemp(path));
    int inside = 0;
    for (int which = 0; which < 5; which++)
        for (int64_t stop = 1; stop < 75; stop += which == 0 ? 1 : 9) {
            lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.max_iterations = 60), first = opt, second = opt;
            if (which == 3) first.lbfgs_pairs = second.lbfgs_pairs = opt.lbfgs_pairs = 6;
            if (which == 4) first.compat = second.compat = opt.compat = 1;
            lt_solution *whole = solve_until(MAKE(), opt, 0);
            first.checkpoint = path;
            lt_solution *a = solve_until(MAKE(), first, stop);
            second.resume = path;
            if (a->interrupted) {
                lt_solution *b = solve_until(MAKE(), second, 0);
                check_same_end(whole, b);
                lt_solution_destroy(b);
                inside += a->fn_evals == stop;
            }
            lt_solution_destroy(whole);
            lt_solution_destroy(a);
        }
    LT_CHECK(inside > 50); /* stopped right there, most of the time in the middle of an iteration */
    unlink(path);
}

LT_TEST(checkpoints_that_do_not_fit_are_refused)
{
    char path[] = "/tmp/lathe-checkpoint-XXXXXX";
    int fd = mkstemp(path);
    lt_solve_options opt = SOLVE_OPTIONS(o.max_iterations = 5, o.checkpoint = path);
    lt_solution *s = solve_example(example_trace(1), opt, false);
    lt_solution_destroy(s);
    example *e = example_rosenbrock(1, 2);
    lt_problem *p = example_problem(e);
    lt_solve_options resume = SOLVE_OPTIONS(o.resume = path);
    LT_CHECK_FAILS(lt_solve(p, &resume, &s), LT_ERR_MISMATCH, "n 5");
    FILE *f = fopen(path, "r+");
    fseek(f, 100, SEEK_SET);
    fputc('x', f);
    fputc('y', f);
    fclose(f);
    LT_CHECK_FAILS(lt_solve(p, &resume, &s), LT_ERR_FORMAT, "damaged");
    f = fopen(path, "r+");
    fputs("lathe checkpoint 3\n", f);
    fclose(f);
    LT_CHECK_FAILS(lt_solve(p, &resume, &s), LT_ERR_FORMAT, "another version");
    LT_CHECK(!truncate(path, 10));
    LT_CHECK_FAILS(lt_solve(p, &resume, &s), LT_ERR_FORMAT, "no checkpoint");
    resume.resume = "/nonexistent";
    LT_CHECK_FAILS(lt_solve(p, &resume, &s), LT_ERR_IO, "nonexistent");
    close(fd);
    unlink(path);
    lt_problem_destroy(p);
    example_free(e);
}

/* ---- Threads ------------------------------------------------------------------------------------------------------ */
static void *run_thread(void *ctx)
{
    lt_solution **out = ctx;
    lt_problem *p = (lt_problem *)*out;
    *out = NULL;
    lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.max_iterations = 60) }, out);
    return NULL;
}

LT_TEST(solves_in_parallel_share_nothing)
{
    enum { threads = 4 };
    lt_graph *g;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(6));
    lt_node f = lt_add(g, lt_norm1(g, lt_shift(g, x, -0.5)), lt_scale(g, lt_sum(g, lt_square(g, x)), 0.3));
    lt_node ci = lt_shift(g, lt_slice(g, x, 0, 0, 3, 1), -0.25);
    lt_problem *p;
    LT_CHECK_OK(lt_problem_from_graph(g, f, &ci, 1, NULL, 0, &p));
    pthread_t thread[threads];
    lt_solution *s[threads];
    for (int i = 0; i < threads; i++) {
        s[i] = (lt_solution *)p;
        LT_CHECK(!pthread_create(&thread[i], NULL, run_thread, &s[i]));
    }
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < threads; i++) {
        LT_CHECK(s[i] != NULL);
        if (i && s[i] && s[0]) LT_CHECK(!memcmp(s[i]->final.x, s[0]->final.x, 6 * sizeof(double)));
    }
    for (int i = 0; i < threads; i++) lt_solution_destroy(s[i]);
    lt_problem_destroy(p);
    lt_graph_destroy(g);
}

LT_TEST(multistart_gives_the_same_answers_for_any_number_of_threads)
{
    lt_multistart *m[3];
    for (int t = 0; t < 3; t++) {
        example *e = example_rosenbrock(0, 0);
        lt_problem *p = example_problem(e);
        lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.max_iterations = 100, o.seed = 7);
        LT_CHECK_OK(lt_solve_multistart(p, &opt, 9, t + 1, &m[t]));
        lt_problem_destroy(p);
        example_free(e);
    }
    for (int i = 0; i < 9; i++) {
        LT_CHECK(m[0]->solution[i] != NULL);
        if (i) LT_CHECK(m[0]->solution[i]->best.f >= m[0]->solution[i - 1]->best.f);
        for (int t = 1; t < 3; t++) {
            LT_CHECK_EQ_INT(m[t]->start[i], m[0]->start[i]);
            LT_CHECK(!memcmp(m[t]->solution[i]->final.x, m[0]->solution[i]->final.x, 2 * sizeof(double)));
        }
    }
    LT_CHECK(m[0]->solution[0]->best.f <= 0.0859);
    for (int t = 0; t < 3; t++) lt_multistart_destroy(m[t]);
    example *e = example_rosenbrock(0, 0);
    lt_problem *p = example_problem(e);
    lt_multistart *none;
    LT_CHECK_FAILS(lt_solve_multistart(p, NULL, 0, 1, &none), LT_ERR_ARGUMENT, "starts");
    LT_CHECK_FAILS(lt_solve_multistart(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.checkpoint = "c") }, 2, 1, &none), LT_ERR_ARGUMENT, "checkpoint");
    lt_problem_destroy(p);
    example_free(e);
}

/* ---- H handed out ------------------------------------------------------------------------------------------------ */
static bool keep_hessian(void *ctx, const lt_iterate *it)
{
    lt_hessian_state *last = ctx;
    lt_hessian_state_release(last);
    LT_CHECK_OK(lt_iterate_hessian(it, last));
    return false;
}

/* The solution takes H over where it lies; callbacks get copies. Both must be the same, also when the
   ring of pairs has gone round, and before the first update. */
LT_TEST(the_final_matrix_is_that_of_the_last_callback)
{
    static const struct { int64_t pairs, max_iterations; } run[] = { { 0, 12 }, { 0, 1 }, { 4, 3 }, { 4, 4 }, { 4, 11 }, { 4, 17 } };
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        lt_hessian_state last = { 0 };
        lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = run[i].pairs, o.max_iterations = run[i].max_iterations, o.iterate_fn = keep_hessian, o.iterate_ctx = &last);
        lt_solution *s = solve_example(example_total_variation(), opt, false);
        const lt_hessian_state *h = &s->H_final;
        LT_CHECK_EQ_INT(h->m, run[i].pairs < run[i].max_iterations ? run[i].pairs : run[i].max_iterations);
        LT_CHECK(h->n == last.n && h->m == last.m && h->gamma == last.gamma && (h->H != NULL) == (last.H != NULL));
        size_t row = (size_t)h->n * sizeof(double);
        if (h->H) LT_CHECK(!memcmp(h->H, last.H, (size_t)h->n * row));
        if (h->m) LT_CHECK(!memcmp(h->S, last.S, (size_t)h->m * row) && !memcmp(h->Y, last.Y, (size_t)h->m * row)
                           && !memcmp(h->rho, last.rho, (size_t)h->m * sizeof(double)));
        lt_hessian_state_release(&last);
        lt_solution_destroy(s);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------------------------------- */
LT_TEST(no_allocation_after_the_second_iteration)
{
    for (int limited = 0; limited < 2; limited++) {
        lt_solve_options opt = SOLVE_OPTIONS(o.stationarity_tol = 1e-6, o.lbfgs_pairs = limited ? 10 : 0);
        lt_solution *s = solve_example(example_robust_pca(), opt, false);
        LT_CHECK_EQ_INT(s->loop_allocations, 0);
        lt_solution_destroy(s);
        s = solve_example(example_sphere(60, -1), opt, false);
        LT_CHECK_EQ_INT(s->loop_allocations, 0);
        lt_solution_destroy(s);
    }
}

LT_TEST(every_failing_allocation_is_handled)
{
    example *e = example_trace(2);
    lt_problem *p = example_problem(e);
    int64_t live = -1;
    for (int64_t n = 1; n < 200; n++) {
        lt_solution *s = NULL;
        lt_alloc_fail_at(n);
        lt_status status = lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.x0 = e->x0, o.max_iterations = 5, o.lbfgs_pairs = n % 2) }, &s);
        lt_alloc_fail_at(0);
        LT_CHECK((status == LT_ERR_MEMORY && !s) || (status == LT_OK && s));
        bool done = status == LT_OK && s->termination_code == LT_TERMINATION_MAX_ITERATIONS;
        lt_solution_destroy(s);
        if (live < 0) live = lt_alloc_live();
        if (n > 4) LT_CHECK(lt_alloc_live() <= live + 4); /* an idle evaluator may have come */
        if (done && n > 60) break;
        LT_CHECK(n < 199);
    }
    lt_problem_destroy(p);
    example_free(e);
}

/* ---- Graphs, structure, checker ------------------------------------------------------------------------------------------ */
static lt_problem *rosenbrock_graph(lt_graph **g, bool two_inputs, lt_dtype t)
{
    LT_CHECK_OK(lt_graph_create(g));
    lt_node x0, x1;
    if (two_inputs) {
        x0 = lt_input(*g, "x1", t, lt_shape0());
        x1 = lt_input(*g, "x2", t, lt_shape2(1, 1));
    } else {
        lt_node x = lt_input(*g, "x", t, lt_shape1(2));
        x0 = lt_at(*g, x, 0);
        x1 = lt_at(*g, x, 1);
    }
    lt_node f = lt_add(*g, lt_scale(*g, lt_abs(*g, lt_sub(*g, lt_square(*g, x0), x1)), 8), lt_square(*g, lt_rsub(*g, 1, x0)));
    lt_node ci[] = { lt_shift(*g, lt_scale(*g, x0, sqrt(2)), -1), lt_shift(*g, lt_scale(*g, x1, 2), -1) };
    lt_problem *p = NULL;
    LT_CHECK_OK(lt_problem_from_graph(*g, f, ci, 2, NULL, 0, &p));
    return p;
}

LT_TEST(graph_problems_follow_the_same_table)
{
    for (int two = 0; two < 2; two++)
        for (int policy = 0; policy < 3; policy++) {
            lt_graph *g;
            lt_problem *p = rosenbrock_graph(&g, two, LT_F64);
            double x0[2] = { 5.5, 5.5 };
            lt_solution *s = NULL;
            lt_solve_options opt = SOLVE_OPTIONS(AS_PUBLISHED, o.x0 = x0, o.mu0 = 100, o.max_iterations = 10, o.gradients = (lt_gradient_policy)policy);
            LT_CHECK_OK(lt_solve(p, &opt, &s));
            LT_CHECK_NEAR(s->final.f, 9.27057783616, 1e-11);
            LT_CHECK_EQ_INT(s->fn_evals, 35);
            LT_CHECK(s->p == 2 && s->q == 0 && s->time_compile > 0);
            lt_solution_destroy(s);
            lt_variable v[2];
            LT_CHECK_EQ_INT(lt_problem_variables(p, v, 2), two + 1);
            LT_CHECK(!strcmp(v[0].name, two ? "x1" : "x") && (!two || v[1].offset == 1));
            lt_problem_destroy(p);
            lt_graph_destroy(g);
        }
}

LT_TEST(graph_problems_in_single_precision)
{
    lt_graph *g;
    lt_problem *p = rosenbrock_graph(&g, true, LT_F32);
    double x0[2] = { -1, 2 };
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.x0 = x0, o.stationarity_tol = 1e-4) }, &s));
    LT_CHECK(s->best.present && s->best.f < 0.0862);
    lt_solution_destroy(s);
    LT_CHECK_FAILS(lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.graph_gradients = false) }, &s), LT_ERR_ARGUMENT, "graph_gradients");
    lt_problem_destroy(p);
    lt_graph_destroy(g);
}

static lt_status nothing(void *ctx, const double *x, const lt_outputs *o)
{
    (void)ctx, (void)x, (void)o;
    return LT_OK;
}

/* Gradients asked for after values at the same x go on from there; anywhere else they begin anew. */
LT_TEST(gradients_after_values_equal_those_at_once)
{
    static const char text[] = "data A = normal(20, 30, seed=1)\nvar x[30]\nminimize norm(A @ x) + sum(abs(x))\nsubject to\n  x' @ x == 1\n  max(x) <= 0.4\n";
    lt_model *m;
    lt_problem *p;
    double x[2][30], f[2], ce[2], ci[2], grad[2][3][30], again[3][30];
    LT_CHECK_OK(lt_model_parse("stages.lt", "", text, sizeof text - 1, &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    lt_rng r = lt_rng_seed(3);
    for (int i = 0; i < 2; i++) {
        fill(&r, 30, x[i]);
        LT_CHECK_OK(lt_problem_evaluate(p, x[i], &(lt_outputs){ &f[i], grad[i][0], &ci[i], grad[i][1], &ce[i], grad[i][2] }));
    }
    for (int k = 0; k < 4; k++) { /* values at one point, gradients there or at the other one */
        int at = k / 2, then = k % 2;
        double v[3];
        LT_CHECK_OK(lt_problem_evaluate(p, x[at], &(lt_outputs){ .f = &v[0], .ci = &v[1], .ce = &v[2] }));
        LT_CHECK(v[0] == f[at] && v[1] == ci[at] && v[2] == ce[at]);
        v[0] = v[1] = v[2] = NAN; /* the caller's to change: what follows must not read them */
        LT_CHECK_OK(lt_problem_evaluate(p, x[then], &(lt_outputs){ .grad_f = again[0], .grad_ci = again[1], .grad_ce = again[2] }));
        LT_CHECK(!memcmp(again, grad[then], sizeof again));
    }
    lt_problem_destroy(p);
    lt_model_destroy(m);
}

LT_TEST(graphs_that_are_no_problem_are_refused)
{
    lt_graph *g;
    lt_problem *p;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node c = lt_scalar(g, LT_F64, 1);
    LT_CHECK_FAILS(lt_problem_from_graph(g, c, NULL, 0, NULL, 0, &p), LT_ERR_ARGUMENT, "no input");
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(3));
    LT_CHECK_FAILS(lt_problem_from_graph(g, x, NULL, 0, NULL, 0, &p), LT_ERR_SHAPE, "3 elements");
    LT_CHECK_FAILS(lt_problem_from_graph(g, LT_NONE, NULL, 0, NULL, 0, &p), LT_ERR_SHAPE, "0 elements");
    lt_input(g, "labels", LT_I64, lt_shape1(3));
    LT_CHECK_FAILS(lt_problem_from_graph(g, lt_sum(g, x), NULL, 0, NULL, 0, &p), LT_ERR_TYPE, "labels");
    lt_graph_destroy(g);
    LT_CHECK_FAILS(lt_problem_from_function(0, 0, 0, nothing, NULL, &p), LT_ERR_ARGUMENT, "0 variables");
    LT_CHECK_FAILS(lt_problem_from_function(INT64_MAX, 5, 0, nothing, NULL, &p), LT_ERR_MEMORY, "too many");
}

typedef struct chain { int64_t n; int64_t linear_asked; bool sparse; } chain;

/* min sum |x_i|, x_i + x_{i+1} >= 1 written as ci <= 0. */
static lt_status chain_fn(void *ctx, const double *x, const lt_outputs *o)
{
    chain *c = ctx;
    if (o->f) *o->f = 0;
    for (int64_t i = 0; i < c->n; i++) {
        if (o->f) *o->f += (1 + 0.01 * (double)i) * fabs(x[i]);
        if (o->grad_f) o->grad_f[i] = (1 + 0.01 * (double)i) * (x[i] > 0 ? 1 : -1);
    }
    for (int64_t i = 0; i + 1 < c->n; i++) {
        if (o->ci) o->ci[i] = 1 - x[i] - x[i + 1];
        if (!o->grad_ci) continue;
        double *row = c->sparse ? o->grad_ci + 2 * i : o->grad_ci + i * c->n;
        if (!c->sparse) memset(row, 0, (size_t)c->n * sizeof *row);
        if (!c->sparse) row += i;
        row[0] = row[1] = -1;
    }
    c->linear_asked += o->grad_ci != NULL;
    return LT_OK;
}

LT_TEST(linear_and_sparse_constraints_need_less_and_give_the_same)
{
    enum { n = 8 };
    int64_t start[n], column[2 * (n - 1)];
    for (int i = 0; i < n; i++) start[i] = 2 * i;
    for (int i = 0; i + 1 < n; i++) column[2 * i] = i, column[2 * i + 1] = i + 1;
    double final[3][n], x0[n];
    for (int i = 0; i < n; i++) x0[i] = 0.3 * i - 1;
    for (int form = 0; form < 3; form++) {
        chain c = { .n = n, .sparse = form == 2 };
        lt_problem *p;
        lt_solution *s;
        LT_CHECK_OK(lt_problem_from_function(n, n - 1, 0, chain_fn, &c, &p));
        if (form == 1) LT_CHECK_OK(lt_problem_declare_linear(p, LT_CONSTRAINT_INEQUALITY));
        if (form == 2) LT_CHECK_OK(lt_problem_declare_sparse(p, LT_CONSTRAINT_INEQUALITY, start, column));
        LT_CHECK_OK(lt_solve(p, (lt_solve_options[]){ SOLVE_OPTIONS(o.x0 = x0, o.max_iterations = 40) }, &s));
        memcpy(final[form], s->final.x, sizeof final[0]);
        if (form == 1) LT_CHECK_EQ_INT(c.linear_asked, 1);
        else LT_CHECK(c.linear_asked > 5);
        lt_solution_destroy(s);
        int64_t bad[] = { 0, 1 }, out[] = { n };
        LT_CHECK(lt_problem_declare_sparse(p, LT_CONSTRAINT_EQUALITY, bad, out) != LT_OK); /* too late */
        lt_problem_destroy(p);
    }
    LT_CHECK(!memcmp(final[0], final[1], sizeof final[0]) && !memcmp(final[0], final[2], sizeof final[0]));
}

static lt_status wrong_gradient(void *ctx, const double *x, const lt_outputs *o)
{
    example *e = ctx;
    lt_status s = e->fn(e, x, o);
    if (o->grad_ci) o->grad_ci[3] += 0.01;
    return s;
}

LT_TEST(the_gradient_checker_finds_a_wrong_entry)
{
    example *e = example_rosenbrock(0.3, 0.7);
    lt_problem *p = example_problem(e);
    lt_check_result r = { .size = sizeof r };
    LT_CHECK_OK(lt_problem_check(p, e->x0, 0, 0, &r));
    LT_CHECK(r.passed && r.n_checked == 6 && r.worst < 1e-7);
    lt_problem_destroy(p);
    LT_CHECK_OK(lt_problem_from_function(2, 2, 0, wrong_gradient, e, &p));
    LT_CHECK_OK(lt_problem_check(p, e->x0, 0, 0, &r));
    LT_CHECK(!r.passed && r.worst_function == 1 && r.worst_direction == 1 && fabs(r.gradient - r.difference - 0.01) < 1e-6);
    lt_problem_destroy(p);
    example_free(e);
    e = example_sphere(40, -1);
    p = example_problem(e);
    LT_CHECK_OK(lt_problem_check(p, e->x0, 1e-6, 5, &r)); /* along random directions */
    LT_CHECK(r.passed && r.n_checked == 10);
    lt_problem_destroy(p);
    example_free(e);
}

LT_TEST(named_tensors_are_packed_in_order)
{
    lt_variable v[] = { { "M", lt_shape2(2, 3), 0 }, { "s", lt_shape0(), 0 }, { "b", lt_shape1(2), 0 } };
    LT_CHECK_EQ_INT(lt_variables_layout(v, 3), 9);
    LT_CHECK(v[1].offset == 6 && v[2].offset == 7);
    double M[6] = { 1, 2, 3, 4, 5, 6 }, s = 7, b[2] = { 8, 9 }, x[9], back[6];
    LT_CHECK_OK(lt_variables_pack(v, 3, (const double *[]){ M, &s, b }, x));
    for (int i = 0; i < 9; i++) LT_CHECK(x[i] == i + 1);
    LT_CHECK_OK(lt_variables_unpack(v, 3, x, (double *[]){ back, NULL, NULL }));
    LT_CHECK(!memcmp(back, M, sizeof M));
    LT_CHECK_FAILS(lt_variables_pack(v, 3, (const double *[]){ M, NULL, b }, x), LT_ERR_ARGUMENT, "'s'");
}

LT_TEST(prescaling_scales_and_reports_both)
{
    example *e = example_rosenbrock(5.5, 5.5);
    lt_solve_options opt = SOLVE_OPTIONS(o.prescale_above = 1.5, o.stationarity_tol = 1e-6, o.max_iterations = 200);
    lt_solution *s = solve_example(e, opt, true);
    LT_CHECK(s->scalings.f && *s->scalings.f < 1 && s->scalings.ci && !s->scalings.ce);
    LT_CHECK(s->scalings.ci[0] == 1 && s->scalings.ci[1] == 0.75); /* norms sqrt 2 and 2 */
    LT_CHECK_NEAR(s->final_unscaled.f * *s->scalings.f, s->final.f, 1e-14);
    LT_CHECK_NEAR(s->best_unscaled.f, 0.0857864376269, 1e-2);
    LT_CHECK_NEAR(row_of(s, 0)->f, 218.25 * *s->scalings.f, 1e-13);
    LT_CHECK(s->best_unscaled.present && s->most_feasible_unscaled.present);
    lt_solution_destroy(s);
    s = solve_example(e, base(), false);
    LT_CHECK(!s->scalings.f && !s->final_unscaled.present);
    lt_solution_destroy(s);
}

LT_TEST_MAIN()
