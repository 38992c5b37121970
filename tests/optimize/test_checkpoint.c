/* Checkpoints that are not what a run wrote, with a digest that fits: every place of the file is set to what its field is least
   likely to be. A run refuses such a file with a sentence, or goes on; under sanitizers nothing is found.
   SPDX-License-Identifier: BSD-3-Clause */
#include "solve_tools.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/status.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 2, HEAD = sizeof "lathe checkpoint 5\n" - 1, SHAPE = 8 * 8 };

/* The kinked Rosenbrock function; an inequality that is linear, so that its gradient is shared, and an equality. */
static lt_status kink(void *ctx, const double *x, const lt_outputs *out)
{
    const double u = x[0] * x[0] - x[1], side = u >= 0 ? 8 : -8;
    (void)ctx;
    if (out->f) *out->f = 8 * fabs(u) + (1 - x[0]) * (1 - x[0]);
    if (out->grad_f) out->grad_f[0] = 2 * side * x[0] - 2 * (1 - x[0]), out->grad_f[1] = -side;
    if (out->ci) *out->ci = x[0] + x[1] - 1.5;
    if (out->grad_ci) out->grad_ci[0] = out->grad_ci[1] = 1;
    if (out->ce) *out->ce = x[0] * x[0] + x[1] * x[1] - 1;
    if (out->grad_ce) out->grad_ce[0] = 2 * x[0], out->grad_ce[1] = 2 * x[1];
    return LT_OK;
}

typedef struct run { const char *what; int p, q; int64_t max_samples, pairs, patience; bool compat; int64_t max_iterations; } run;

static const run runs[] = {
    { "full memory", 0, 0, 3, 0, 0, false, 6 },     { "full memory, constrained", 1, 1, 3, 0, 0, false, 6 },
    { "a ring not full", 1, 0, 8, 0, 0, false, 4 }, { "limited memory", 0, 0, 3, 2, 0, false, 6 },
    { "limited memory, constrained", 1, 1, 3, 4, 0, false, 3 }, { "patience", 0, 1, 2, 0, 50, false, 7 },
    { "compat", 1, 0, 3, 0, 0, true, 6 },
};

static const double start[] = { -1.2, 1 };

/* What is changed lies in memory, under a name: a hundred thousand files would take minutes on a disk. */
typedef struct bench { lt_problem *problem; lt_solve_options opt; int fd; char path[32]; char *data; size_t bytes; int64_t refused, went_on; } bench;

static void make(const run *c, bench *b)
{
    char written[] = "/tmp/lathe-crafted-XXXXXX";
    lt_solution *s = NULL;
    *b = (bench){ .opt = SOLVE_OPTIONS(o.max_samples = c->max_samples, o.lbfgs_pairs = c->pairs, o.patience = c->patience, o.compat = c->compat,
                           o.max_iterations = c->max_iterations, o.stationarity_tol = 1e-12, o.x0 = start, o.checkpoint = written) };
    close(mkstemp(written));
    LT_CHECK_OK(lt_problem_from_function(N, c->p, c->q, kink, NULL, &b->problem));
    LT_CHECK_OK(lt_solve(b->problem, &b->opt, &s));
    lt_solution_destroy(s);
    LT_CHECK_OK(lt_file_read(written, 1 << 20, &b->data, &b->bytes));
    unlink(written);
    b->fd = memfd_create("crafted", 0);
    snprintf(b->path, sizeof b->path, "/proc/self/fd/%d", b->fd);
    b->opt.checkpoint = NULL;
    b->opt.x0 = NULL;
    b->opt.resume = b->path;
    b->opt.max_iterations = c->max_iterations + 4;
}

static void end(bench *b)
{
    close(b->fd);
    lt_free(b->data);
    lt_problem_destroy(b->problem);
}

/* Goes on from these fields with a fresh digest. */
static void attempt(bench *b, const char *data, size_t bytes, const char *what, size_t at)
{
    const lt_digest digest = lt_sha256_of(data + HEAD, bytes - HEAD);
    lt_solution *s = NULL;
    LT_CHECK(!ftruncate(b->fd, 0) && pwrite(b->fd, data, bytes, 0) == (ssize_t)bytes);
    LT_CHECK(pwrite(b->fd, &digest, sizeof digest, (off_t)bytes) == (ssize_t)sizeof digest);
    const lt_status got = lt_solve(b->problem, &b->opt, &s);
    if (!got) {
        b->went_on++;
        LT_CHECK(s && s->iters >= 0 && s->n_history <= b->opt.max_iterations + 1);
    } else {
        b->refused++;
        if ((got != LT_ERR_FORMAT && got != LT_ERR_MISMATCH) || !strstr(lt_error_text(), "checkpoint") || s)
            LT_TEST_FAIL("%s at byte %zu: status %s, '%s'", what, at, lt_status_name(got), lt_error_text());
    }
    lt_solution_destroy(s);
}

static uint64_t bits_of(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

LT_TEST(any_field_may_be_anything)
{
    const uint64_t words[] = { UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, 3, bits_of(NAN), bits_of(INFINITY) };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        bench b;
        make(&runs[i], &b);
        const size_t end_at = b.bytes - sizeof(lt_digest);
        char *changed = malloc(b.bytes);
        attempt(&b, b.data, end_at, "as it was", 0);
        LT_CHECK_EQ_INT(b.went_on, 1);
        for (size_t at = HEAD; at < end_at; at++) {
            for (int k = 0; k < 3; k++) {
                memcpy(changed, b.data, end_at);
                changed[at] = (char)(k == 0 ? 2 : k == 1 ? 0xff : b.data[at] ^ 1);
                attempt(&b, changed, end_at, "a byte", at);
            }
            for (size_t k = 0; k < sizeof words / sizeof *words && at + 8 <= end_at; k++) {
                memcpy(changed, b.data, end_at);
                memcpy(changed + at, &words[k], 8);
                attempt(&b, changed, end_at, "a word", at);
            }
        }
        printf("%-30s %zu bytes: %lld refused, %lld went on\n", runs[i].what, b.bytes, (long long)b.refused, (long long)b.went_on);
        LT_CHECK(b.refused > 1000 && b.went_on > 1000);
        free(changed);
        end(&b);
    }
}

LT_TEST(any_length_but_its_own_is_refused)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        bench b;
        make(&runs[i], &b);
        const size_t end_at = b.bytes - sizeof(lt_digest);
        for (size_t bytes = HEAD; bytes < b.bytes; bytes++)
            if (bytes != end_at) attempt(&b, b.data, bytes, "cut or longer", bytes); /* the old digest makes it longer */
        LT_CHECK_EQ_INT(b.went_on, 0);
        end(&b);
    }
}

/* Ends of several kinds. */
typedef struct ending { const char *what; lt_termination code; int q; int64_t pairs, patience; double stationarity_tol, decrease_tol, target_f; } ending;

static const ending endings[] = {
    { "converged", LT_TERMINATION_CONVERGED, 0, 0, 0, 1e-4, 0, -INFINITY },
    { "converged, constrained", LT_TERMINATION_CONVERGED, 1, 0, 0, 1e-4, 0, -INFINITY },
    { "converged, with patience", LT_TERMINATION_CONVERGED, 0, 0, 5, 1e-4, 0, -INFINITY },
    { "a small decrease", LT_TERMINATION_SMALL_DECREASE, 0, 0, 0, 1e-14, 0.1, -INFINITY },
    { "the target", LT_TERMINATION_TARGET, 0, 3, 0, 1e-14, 0, 1e-2 },
    { "a bracket", LT_TERMINATION_BRACKET_FEASIBLE, 0, 0, 0, 0, 0, -INFINITY },
};

static void must_end_alike(const lt_solution *a, const lt_solution *b, const char *what, int every)
{
    const bool equal = a->termination_code == b->termination_code && a->iters == b->iters && a->fn_evals == b->fn_evals && a->final.f == b->final.f
                       && !memcmp(a->final.x, b->final.x, N * sizeof(double)) && !memcmp(a->best.x, b->best.x, N * sizeof(double))
                       && a->n_history == b->n_history && a->stat_value == b->stat_value && a->certificate->known == b->certificate->known
                       && (!a->certificate->known || a->certificate->residual == b->certificate->residual);
    if (!equal) LT_TEST_FAIL("%s, a checkpoint every %d: code %d at %.17g, %.17g after %lld iterations and %lld evaluations; expected %d at %.17g, %.17g after %lld and %lld",
                             what, every, a->termination_code, a->final.x[0], a->final.x[1], (long long)a->iters, (long long)a->fn_evals,
                             b->termination_code, b->final.x[0], b->final.x[1], (long long)b->iters, (long long)b->fn_evals);
}

LT_TEST(a_run_that_ended_ends_again)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        for (int every = 0; every < 4; every++) {
            const ending *e = &endings[i];
            char path[] = "/tmp/lathe-ended-XXXXXX";
            lt_solve_options opt = SOLVE_OPTIONS(o.max_samples = 3, o.lbfgs_pairs = e->pairs, o.patience = e->patience, o.stationarity_tol = e->stationarity_tol,
                                     o.decrease_tol = e->decrease_tol, o.target_f = e->target_f, o.x0 = start,
                                     o.checkpoint = path, o.checkpoint_every = every);
            close(mkstemp(path));
            lt_solution *first = solve_function(N, 0, e->q, kink, NULL, opt);
            LT_CHECK_EQ_INT(first->termination_code, e->code);
            opt.checkpoint = NULL;
            opt.resume = path;
            lt_solution *again = solve_function(N, 0, e->q, kink, NULL, opt);
            must_end_alike(again, first, e->what, every);
            lt_solution_destroy(again);
            opt.stationarity_tol = opt.decrease_tol = 0; /* what ended the run does so no more */
            opt.target_f = -INFINITY;
            opt.patience = 0;
            again = solve_function(N, 0, e->q, kink, NULL, opt);
            LT_CHECK(again->iters > first->iters || e->code == LT_TERMINATION_BRACKET_FEASIBLE);
            lt_solution_destroy(again);
            lt_solution_destroy(first);
            unlink(path);
        }
}

/* Where in the file an index is: it is the only place whose change makes this sentence. */
LT_TEST(indices_are_named_when_they_are_wrong)
{
    static const struct { int run; int64_t value; const char *says; } wrong[] = {
        { 0, -1, "the newest of 3 samples is -1" }, { 0, 3, "the newest sample is 3, expected -1..2" }, { 2, 0, "the newest of" },
        { 3, -1, "the newest pair is -1, expected 0..1" }, { 0, -7, "iterations is -7, expected 0.." }, { 0, INT64_MIN, "ns of the run is" },
        { 0, 99, "the level of the last step is 99" }, { 0, 4, "samples is 4, expected 0..3" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bench b;
        make(&runs[wrong[i].run], &b);
        const size_t end_at = b.bytes - sizeof(lt_digest);
        char *changed = malloc(b.bytes);
        bool said = false;
        for (size_t at = HEAD + SHAPE; at + 8 <= end_at && !said; at++) {
            memcpy(changed, b.data, end_at);
            memcpy(changed + at, &wrong[i].value, strstr(wrong[i].says, "level") ? 4 : 8);
            lt_error_set("");
            attempt(&b, changed, end_at, "an index", at);
            said = strstr(lt_error_text(), wrong[i].says);
        }
        if (!said) LT_TEST_FAIL("nothing says '%s'", wrong[i].says);
        free(changed);
        end(&b);
    }
}

LT_TEST_MAIN()
