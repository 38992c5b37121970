/* A nonsmooth problem with two constraints, written as a graph: gradients come by themselves.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <math.h>
#include <stdio.h>

int main(void)
{
    lt_graph *g = NULL;
    lt_problem *p = NULL;
    lt_solution *s = NULL;
    lt_status status = lt_graph_create(&g);
    if (status) goto done;

    /* min 8 |x0^2 - x1| + (1 - x0)^2   subject to   sqrt(2) x0 <= 1,  2 x1 <= 1 */
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(2)), x0 = lt_at(g, x, 0), x1 = lt_at(g, x, 1);
    lt_node f = lt_add(g, lt_scale(g, lt_abs(g, lt_sub(g, lt_square(g, x0), x1)), 8), lt_square(g, lt_rsub(g, 1, x0)));
    lt_node ci[] = { lt_shift(g, lt_scale(g, x0, sqrt(2)), -1), lt_shift(g, lt_scale(g, x1, 2), -1) };
    status = lt_problem_from_graph(g, f, ci, 2, NULL, 0, &p); /* the first mistake of all builders comes out here */
    if (status) goto done;

    lt_solve_options opt = lt_solve_defaults();
    const double start[] = { 5.5, 5.5 };
    opt.x0 = start;
    opt.stationarity_tol = 1e-6;
    opt.print_to = stdout;
    status = lt_solve(p, &opt, &s);
    if (status) goto done;
    printf("code %d: %s\n", s->termination_code, lt_termination_text(s->termination_code));
    printf("f = %.10g at (%.8f, %.8f), violation %.1e\n", s->best.f, s->best.x[0], s->best.x[1], s->best.tv);
    if (s->best.f > 0.0859) status = LT_ERR_NUMERIC; /* the optimum is (1 - 1/sqrt 2)^2 = 0.0857864… */

done:
    if (status) fprintf(stderr, "%s\n", lt_error_text());
    lt_solution_destroy(s);
    lt_problem_destroy(p);
    lt_graph_destroy(g);
    return status ? 1 : 0;
}
