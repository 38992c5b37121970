/* H on the device against H on the host: products, updates, whole runs, faults. The device is the CPU behind a table
   that counts and fails on demand; the null device checks addresses. SPDX-License-Identifier: BSD-3-Clause */
#include "watched_device.h"
#include "solve_options.h"
#include "compile_kernels.h"

#include "device/null/null.h"
#include "kernels/cuda/builder.h"
#include "optimize/device/hessian.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static lt_device_hessian *kept; /* nothing: every test makes its own */

enum { N = 37, MOST = 11 }; /* odd sizes: rows are padded */

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) / 9007199254740992.0 - 0.5;
}

static void draw_vector(uint64_t *state, double *x)
{
    for (int i = 0; i < N; i++) x[i] = draw(state);
}

/* A pair with curvature: y = A s with A positive definite and different in every direction. */
static void draw_pair(uint64_t *state, double *s, double *y)
{
    draw_vector(state, s);
    for (int i = 0; i < N; i++) y[i] = (1 + i) * s[i] + 0.1 * s[(i + 1) % N] + 0.1 * s[(i + N - 1) % N];
}

static void check_products(lt_hessian *host, lt_hessian *on_device, uint64_t *state, int k)
{
    static double b[MOST][N], want[MOST][N], got[MOST][N];
    const double *from[MOST] = { 0 };
    double *to_host[MOST] = { 0 }, *to_device[MOST] = { 0 }, largest = 0, off = 0;
    for (int j = 0; j < k; j++) {
        draw_vector(state, b[j]);
        from[j] = b[j], to_host[j] = want[j], to_device[j] = got[j];
    }
    lt_hessian_apply_rows(host, k, from, to_host);
    lt_hessian_apply_rows(on_device, k, from, to_device);
    for (int j = 0; j < k; j++)
        for (int i = 0; i < N; i++) {
            largest = fmax(largest, fabs(want[j][i]));
            off = fmax(off, fabs(got[j][i] - want[j][i]));
        }
    if (!(off <= 1e-12 * largest)) LT_TEST_FAIL("%d columns: differ by %g of %g", k, off, largest);
}

static void compare(int64_t pairs, int updates)
{
    lt_device *dev = watched_open();
    lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = pairs, o.hessian_on = LT_HESSIAN_DEVICE);
    lt_hessian host, on_device;
    uint64_t state = 7;
    LT_CHECK_OK(lt_hessian_create(N, &opt, &host));
    LT_CHECK_OK(lt_hessian_create(N, &opt, &on_device));
    LT_CHECK_OK(lt_device_hessian_take(&on_device, dev, &opt, 3, &kept));
    LT_CHECK(on_device.device && !on_device.lower && !on_device.S);
    for (int u = 0; u < updates; u++) {
        double s[N], y[N], Hy[N], Hs[N];
        draw_pair(&state, s, y);
        if (u % 3 < 2) check_products(&host, &on_device, &state, 1 + u % MOST); /* else two updates come one after the other */
        lt_hessian_apply(&host, y, Hy);
        lt_hessian_apply(&host, s, Hs);
        LT_CHECK_EQ_INT(lt_hessian_update(&on_device, s, y, Hs, Hy), lt_hessian_update(&host, s, y, Hs, Hy));
    }
    check_products(&host, &on_device, &state, MOST);
    lt_hessian_state a, b;
    LT_CHECK_OK(lt_hessian_export(&host, &a));
    LT_CHECK_OK(lt_hessian_export(&on_device, &b));
    LT_CHECK(a.m == b.m && a.gamma == b.gamma);
    for (int i = 0; a.H && i < N * N; i++) LT_CHECK_NEAR(b.H[i], a.H[i], 1e-12);
    for (int i = 0; b.H && i < N * N; i++) LT_CHECK(b.H[i] == b.H[i % N * N + i / N]); /* symmetric to the bit */
    for (int i = 0; a.S && i < a.m * N; i++) LT_CHECK(a.S[i] == b.S[i] && a.Y[i] == b.Y[i]);
    lt_hessian_state_release(&a);
    lt_hessian_state_release(&b);
    lt_hessian_release(&host);
    lt_hessian_release(&on_device);
    lt_device_close(dev);
}

LT_TEST(full_memory_agrees_with_the_host) { compare(0, 20); }
LT_TEST(limited_memory_agrees_with_the_host) { compare(5, 13); } /* the ring goes round twice */
LT_TEST(one_pair_agrees_with_the_host) { compare(1, 3); }

LT_TEST(an_update_goes_with_the_next_product_which_is_one_copy_each_way_and_one_wait)
{
    lt_device *dev = watched_open();
    lt_solve_options opt = SOLVE_OPTIONS(o.hessian_on = LT_HESSIAN_DEVICE);
    lt_hessian h;
    uint64_t state = 1;
    double s[N], y[N], out[N];
    LT_CHECK_OK(lt_hessian_create(N, &opt, &h));
    LT_CHECK_OK(lt_device_hessian_take(&h, dev, &opt, 3, &kept));
    for (int i = 0; i < 4; i++) {
        draw_pair(&state, s, y);
        lt_hessian_apply(&h, y, out);
        int64_t before = watched.syncs;
        lt_hessian_update(&h, s, y, NULL, out); /* its product is given */
        LT_CHECK_EQ_INT(watched.syncs, before);
    }
    lt_solve_crossings c = lt_device_hessian_crossings(h.device);
    LT_CHECK_EQ_INT(c.calls, 8);
    LT_CHECK_EQ_INT(c.syncs, 3); /* the first product is one with the identity */
    LT_CHECK_EQ_INT(c.uploads, 3); /* the last update has not gone */
    LT_CHECK_EQ_INT(c.downloads, 3);
    LT_CHECK_EQ_INT(c.bytes_down, 3 * 8 * 40); /* 37 numbers in a row of 40 */
    lt_hessian_release(&h);
    lt_device_close(dev);
}

LT_TEST(a_pair_is_sent_without_waiting_and_a_product_of_pairs_waits_once)
{
    lt_device *dev = watched_open();
    lt_solve_options opt = SOLVE_OPTIONS(o.hessian_on = LT_HESSIAN_DEVICE, o.lbfgs_pairs = 3);
    lt_hessian h;
    uint64_t state = 1;
    double s[N], y[N], out[N];
    LT_CHECK_OK(lt_hessian_create(N, &opt, &h));
    LT_CHECK_OK(lt_device_hessian_take(&h, dev, &opt, 3, &kept));
    for (int i = 0; i < 4; i++) {
        draw_pair(&state, s, y);
        int64_t waited = watched.syncs + (i > 0); /* without a pair H is a multiple of the identity */
        lt_hessian_apply(&h, s, out);
        LT_CHECK_EQ_INT(watched.syncs, waited);
        lt_hessian_update(&h, s, y, out, NULL); /* H s is given */
        LT_CHECK_EQ_INT(watched.syncs, waited);
    }
    LT_CHECK_EQ_INT(lt_device_hessian_crossings(h.device).syncs, 3);
    LT_CHECK_EQ_INT(lt_device_hessian_crossings(h.device).uploads, 3 + 4 * 2);
    LT_CHECK_EQ_INT(lt_device_hessian_crossings(h.device).downloads, 3);
    lt_hessian_release(&h);
    lt_device_close(dev);
}

LT_TEST(null_accepts_every_address)
{
    for (int64_t pairs = 0; pairs <= 3; pairs += 3) {
        lt_device *dev;
        lt_hessian h;
        double s[N], y[N], out[N];
        uint64_t state = 3;
        lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = pairs, o.hessian_on = LT_HESSIAN_DEVICE);
        LT_CHECK_OK(lt_device_open("null", &dev));
        LT_CHECK_OK(lt_hessian_create(N, &opt, &h));
        LT_CHECK_OK(lt_device_hessian_take(&h, dev, &opt, 3, &kept));
        lt_null_counts before = lt_null_read(dev);
        for (int i = 0; i < 5; i++) {
            draw_pair(&state, s, y);
            lt_hessian_apply(&h, y, out);
            lt_hessian_update(&h, s, y, s, s);
        }
        LT_CHECK_OK(lt_device_hessian_failure(h.device));
        LT_CHECK_EQ_INT(lt_null_read(dev).syncs - before.syncs, lt_device_hessian_crossings(h.device).syncs);
        LT_CHECK_EQ_INT(lt_null_read(dev).allocs, before.allocs);
        lt_hessian_release(&h);
        LT_CHECK_EQ_INT(lt_null_read(dev).builds, before.builds);
        lt_device_close(dev);
    }
}

/* ---- Whole runs -------------------------------------------------------------------------------------------------------- */
static lt_solution *solve_example(const char *example, lt_device *dev, lt_solve_options opt)
{
    lt_model *m;
    lt_problem *p;
    lt_solution *s = NULL;
    LT_CHECK_OK(lt_model_read(example, &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    opt.device = dev;
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    lt_problem_destroy(p);
    lt_model_destroy(m);
    return s;
}

LT_TEST(runs_end_where_they_end_with_h_on_the_host)
{
    static const struct { const char *name; int64_t pairs; } run[] = { { "example:C1", 0 }, { "example:B2", 0 }, { "example:B2", 10 } };
    for (size_t i = 0; i < LT_LEN(run); i++) {
        lt_device *dev = watched_open();
        lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = run[i].pairs, o.stationarity_tol = 1e-6);
        lt_solution *a = solve_example(run[i].name, NULL, opt);
        opt.hessian_on = LT_HESSIAN_DEVICE;
        lt_solution *b = solve_example(run[i].name, dev, opt);
        LT_CHECK(b->transfers->hessian_on_device && !a->transfers->hessian_on_device);
        LT_CHECK_EQ_INT(b->termination_code, a->termination_code);
        LT_CHECK_NEAR(b->best.f, a->best.f, 1e-5 * fabs(a->best.f));
        LT_CHECK_EQ_INT(b->loop_allocations, 0);
        LT_CHECK(b->H_final.m == a->H_final.m || run[i].pairs == 0);
        lt_solution_destroy(a);
        lt_solution_destroy(b);
        lt_device_close(dev);
    }
}

/* The second run takes over what the first one made: nothing is allocated on the device, and the answer has the same bits. */
LT_TEST(runs_of_one_problem_share_the_room_for_h)
{
    for (int64_t pairs = 0; pairs <= 5; pairs += 5) {
        lt_device *dev;
        lt_model *m;
        lt_problem *p;
        lt_solution *s[2];
        lt_memory_stats before = { .size = sizeof before }, after = { .size = sizeof after };
        LT_CHECK_OK(lt_device_open("cpu", &dev));
        LT_CHECK_OK(lt_model_read("example:C1", &m));
        LT_CHECK_OK(lt_problem_from_model(m, &p));
        lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = pairs, o.hessian_on = LT_HESSIAN_DEVICE, o.max_iterations = 30, o.device = dev);
        LT_CHECK_OK(lt_solve(p, &opt, &s[0]));
        LT_CHECK_OK(lt_device_memory(dev, &before));
        LT_CHECK_OK(lt_solve(p, &opt, &s[1]));
        LT_CHECK_OK(lt_device_memory(dev, &after));
        LT_CHECK_EQ_INT(after.allocs, before.allocs);
        LT_CHECK(s[0]->iters == s[1]->iters && !memcmp(s[0]->final.x, s[1]->final.x, (size_t)s[0]->n * sizeof(double)));
        LT_CHECK_EQ_INT(s[1]->transfers->hessian.calls, s[0]->transfers->hessian.calls);
        LT_CHECK_EQ_INT(s[1]->transfers->hessian.syncs, s[0]->transfers->hessian.syncs);
        lt_solution_destroy(s[0]);
        lt_solution_destroy(s[1]);
        lt_problem_destroy(p);
        lt_model_destroy(m);
        lt_device_close(dev);
    }
}

LT_TEST(small_problems_keep_h_on_the_host)
{
    lt_device *dev = watched_open();
    lt_solution *s = solve_example("example:A1", dev, lt_solve_defaults());
    LT_CHECK(!s->transfers->hessian_on_device && s->transfers->hessian.calls == 0);
    lt_solution_destroy(s);
    lt_device_close(dev);
}

LT_TEST(a_run_with_h_on_a_device_goes_on_from_its_checkpoint_bit_for_bit)
{
    for (int64_t pairs = 0; pairs <= 4; pairs += 4) {
        lt_device *dev = watched_open();
        char path[] = "/tmp/lathe_far_XXXXXX";
        int fd = mkstemp(path);
        lt_solve_options opt = SOLVE_OPTIONS(o.lbfgs_pairs = pairs, o.hessian_on = LT_HESSIAN_DEVICE, o.max_iterations = 40);
        lt_solution *whole = solve_example("example:C1", dev, opt);
        opt.max_iterations = 20;
        opt.checkpoint = path;
        lt_solution_destroy(solve_example("example:C1", dev, opt));
        opt.max_iterations = 40;
        opt.checkpoint = NULL;
        opt.resume = path;
        lt_solution *rest = solve_example("example:C1", dev, opt);
        LT_CHECK(rest->iters == whole->iters && rest->final.f == whole->final.f);
        LT_CHECK(!memcmp(rest->final.x, whole->final.x, (size_t)rest->n * sizeof(double)));
        lt_solution_destroy(rest);
        lt_solution_destroy(whole);
        lt_device_close(dev);
        remove(path);
        close(fd);
    }
}

/* ---- Faults -------------------------------------------------------------------------------------------------------------- */
/* At every wait of a run in turn: while it is set up the call fails, then the run ends with code 14 and keeps its best
   point, whether an evaluation or a product with H was waited for; at the very end only H is missing. */
LT_TEST(a_loss_at_any_wait_keeps_what_was_found)
{
    lt_device *dev = watched_open();
    lt_model *m;
    lt_problem *p;
    lt_solution *s = NULL;
    lt_solve_options opt = SOLVE_OPTIONS(o.hessian_on = LT_HESSIAN_DEVICE, o.max_iterations = 12, o.device = dev);
    int n_refused = 0, n_lost = 0, n_late = 0;
    LT_CHECK_OK(lt_model_read("example:B3", &m));
    LT_CHECK_OK(lt_problem_from_model(m, &p));
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    lt_solution_destroy(s);
    watch_reset();
    LT_CHECK_OK(lt_solve(p, &opt, &s));
    const int64_t waits = watched.syncs, last = s->termination_code;
    lt_solution_destroy(s);
    for (int64_t after = 0; after < waits; after++) {
        watch_reset();
        watched.syncs_left = after;
        lt_status status = lt_solve(p, &opt, &s);
        if (status) {
            LT_CHECK_EQ_INT(status, LT_ERR_DEVICE);
            n_refused++;
            continue;
        }
        LT_CHECK(s->final.present && isfinite(s->final.f) && s->most_feasible.present && (s->termination_code != LT_TERMINATION_DEVICE_LOST || !s->H_final.H));
        if (s->termination_code == LT_TERMINATION_DEVICE_LOST) n_lost++;
        else n_late++;
        LT_CHECK(s->termination_code == LT_TERMINATION_DEVICE_LOST ? s->error && strstr(s->error, "lost") : s->termination_code == last);
        lt_solution_destroy(s);
    }
    LT_CHECK(n_refused > 0 && n_lost > 12 && n_late > 0);
    watch_reset();
    lt_problem_destroy(p);
    lt_model_destroy(m);
    lt_device_close(dev);
}

LT_TEST(what_only_the_host_does_is_refused)
{
    lt_device *dev = watched_open();
    lt_hessian h;
    lt_solve_options opt = SOLVE_OPTIONS(o.hessian_on = LT_HESSIAN_DEVICE, o.condition_limit = 1e6);
    LT_CHECK_OK(lt_hessian_create(N, &opt, &h));
    LT_CHECK_FAILS(lt_device_hessian_take(&h, dev, &opt, 3, &kept), LT_ERR_UNSUPPORTED, "condition_limit");
    LT_CHECK(!h.device && h.lower);
    opt.hessian_on = LT_HESSIAN_AUTO;
    LT_CHECK_OK(lt_device_hessian_take(&h, dev, &opt, 3, &kept)); /* stays */
    LT_CHECK(!h.device);
    lt_hessian_release(&h);
    lt_device_close(dev);
}

LT_TEST(an_h_that_does_not_fit_says_what_would_help)
{
    lt_device *dev;
    lt_hessian h;
    lt_solve_options opt = SOLVE_OPTIONS(o.hessian_on = LT_HESSIAN_DEVICE);
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_null_capacity(dev, 1 << 20);
    LT_CHECK_OK(lt_hessian_create(4000, &opt, &h));
    LT_CHECK_FAILS(lt_device_hessian_take(&h, dev, &opt, 3, &kept), LT_ERR_MEMORY, "hessian_on=host");
    LT_CHECK(!h.device && h.lower);
    lt_hessian_release(&h);
    lt_device_close(dev);
}

/* ---- Text ------------------------------------------------------------------------------------------------------------------ */
extern const char lt_text_hessian_job_h[], lt_text_hessian_cu[], lt_text_move_cu[];

LT_TEST(the_kernels_compile_for_every_architecture)
{
    static const char *const options[] = { "--fmad=false" };
    OPEN_OR_SKIP();
    lt_text text = { 0 };
    lt_text_part(&text, lt_text_hessian_job_h);
    lt_text_part(&text, lt_text_hessian_cu);
    compile_kernels(&(lt_kernel_key){ .name = "hessian", .source = text.s, .entry = "multiply1", .options = options, .n_options = 1 });
    compile_kernels(&(lt_kernel_key){ .name = "move", .source = lt_text_move_cu, .entry = "move_to_host" });
    lt_text_free(&text);
}

LT_TEST_MAIN()
