/* Times of the QP solver in microseconds: cold, from a nearby answer with a new matrix, and along the
   line of linear terms a steering call walks (12 solves, one matrix). One line per case:
       qp kind=steering m=12 rank=9 cold_us=… near_us=… line_us=… iterations=… free=…
   Build: the target bench_qp. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/qp.h"
#include "optimize/qp_check.h"
#include "trace/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 12 };

typedef struct bench {
    lt_qp     *qp;
    qp_case    now, next; /* the second matrix is the first, moved a little */
    double    *gradient;  /* (m) what mu multiplies in a steering call's linear term */
    double    *c;
    lt_qp_info info;
} bench;

static void must(lt_status s)
{
    if (s) {
        fprintf(stderr, "%s\n", lt_error_text());
        exit(1);
    }
}

static void solve(bench *b, const qp_case *p, const double *c, const double *start, bool warm)
{
    lt_qp_problem problem = qp_case_problem(p);
    problem.c = c;
    problem.start = start;
    problem.warm = warm;
    must(lt_qp_solve(b->qp, &problem, p->y, &b->info));
    if (b->info.status != LT_QP_OK) printf("m=%d: %s, residual %.1e\n", p->m, lt_qp_status_name(b->info.status), b->info.residual);
}

static void cold(bench *b)
{
    must(lt_qp_set_matrix(b->qp, b->now.m, b->now.q, b->now.m));
    solve(b, &b->now, b->now.c, NULL, false);
}

static void near(bench *b)
{
    must(lt_qp_set_matrix(b->qp, b->next.m, b->next.q, b->next.m));
    solve(b, &b->next, b->next.c, b->now.y, false);
}

static void line(bench *b)
{
    double mu = 1;
    must(lt_qp_set_matrix(b->qp, b->now.m, b->now.q, b->now.m));
    for (int k = 0; k < LINE; k++, mu *= 0.9) {
        for (int i = 0; i < b->now.m; i++) b->c[i] = b->now.c[i] + mu * b->gradient[i];
        solve(b, &b->now, b->c, NULL, k > 0);
    }
}

/* Best of several stretches of at least a millisecond each. */
static double best_us(void (*run)(bench *), bench *b)
{
    double best = 1e300;
    int repeats = 1;
    for (int round = 0; round < 7;) {
        int64_t begin = lt_clock_ns();
        for (int k = 0; k < repeats; k++) run(b);
        double ns = (double)(lt_clock_ns() - begin);
        if (ns < 1e6 && repeats < 1 << 20) {
            repeats *= 2;
            continue;
        }
        best = fmin(best, ns / repeats / 1e3);
        round++;
    }
    return best;
}

typedef enum kind { STEERING, STATIONARITY, ORTHOGONALITY } kind;

static void make(bench *b, lt_rng *r, int m, int rank, kind what)
{
    bool stationarity = what == STATIONARITY;
    b->now = qp_case_make(m);
    b->next = qp_case_make(m);
    b->gradient = calloc((size_t)m, sizeof(double));
    b->c = calloc((size_t)m, sizeof(double));
    if (!b->gradient || !b->c) exit(1);
    lt_rng same = *r;
    qp_case_random(&b->now, r, rank, 1, stationarity ? 0.1 : sqrt(m));
    qp_case_random(&b->next, &same, rank, 1, stationarity ? 0.1 : sqrt(m));
    for (int i = 0; i < m; i++) {
        double f = 1 + 1e-3 * lt_rng_normal(r);
        for (int j = 0; j < m; j++) {
            b->next.q[(size_t)i * (size_t)m + (size_t)j] *= f;
            b->next.q[(size_t)j * (size_t)m + (size_t)i] *= f;
        }
        b->gradient[i] = lt_rng_normal(r);
    }
    qp_case *both[2] = { &b->now, &b->next };
    for (int k = 0; k < 2; k++)
        if (what == ORTHOGONALITY) qp_case_orthogonality(both[k], (int)sqrt(m), 5, 0.3, 1e-2 * k);
        else if (stationarity) qp_case_stationarity(both[k], 0, m, 0.5);
        else qp_case_steering(both[k], m / 2);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 2, 5, 12, 30, 100, 300, 900 };
    int most = argc > 1 ? atoi(argv[1]) : 900;
    lt_rng r = lt_rng_seed(7);
    static const char *const names[] = { [STEERING] = "steering", [STATIONARITY] = "stationarity", [ORTHOGONALITY] = "orthogonality" };
    for (int k = 0; k < 5; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= most; s++) {
            int m = sizes[s], rank = k % 2 ? m / 2 + 1 : m + 2;
            kind what = (kind)(k / 2);
            if (what == ORTHOGONALITY && m != 100 && m != 900) continue;
            bench b = { .info.size = sizeof b.info };
            must(lt_qp_create(m, NULL, &b.qp));
            make(&b, &r, m, rank, what);
            double t_cold = best_us(cold, &b);
            int iterations = b.info.iterations, interior = b.info.interior_iterations, n_free = b.info.n_free;
            double t_near = best_us(near, &b);
            int again = b.info.iterations;
            double t_line = best_us(line, &b);
            printf("qp kind=%s m=%d rank=%d cold_us=%.2f near_us=%.2f line_us=%.2f iterations=%d+%d near_iterations=%d free=%d\n",
                   names[what], m, b.now.rank, t_cold, t_near, t_line, iterations, interior, again, n_free);
            fflush(stdout);
            qp_case_free(&b.now);
            qp_case_free(&b.next);
            free(b.gradient);
            free(b.c);
            lt_qp_destroy(b.qp);
        }
    return 0;
}
