/* The smallest whole program: build a graph, differentiate it, compile it, run it.
   Value and gradient of 8 |x0^2 - x1| + (1 - x0)^2, Rosenbrock's valley with a kink along its floor.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <stdio.h>

/* Builders record the first mistake in the graph; the calls that return a status report it. */
static lt_status compile(lt_program **program)
{
    lt_graph *g;
    lt_status s = lt_graph_create(&g);
    if (s) return s;
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(2));
    lt_node x0 = lt_at(g, x, 0), x1 = lt_at(g, x, 1);
    lt_node kink = lt_scale(g, lt_abs(g, lt_sub(g, lt_square(g, x0), x1)), 8);
    lt_node f = lt_add(g, kink, lt_square(g, lt_rsub(g, 1, x0)));
    lt_node gradient = LT_NONE;
    s = lt_grad(g, f, &x, 1, &gradient);
    if (!s) s = lt_program_create(g, (lt_node[]){ f, gradient }, 2, NULL, program);
    lt_graph_destroy(g); /* the program lives on */
    return s;
}

int main(void)
{
    lt_program *program;
    if (compile(&program)) {
        fprintf(stderr, "%s\n", lt_error_text());
        return 1;
    }
    double x[2] = { 0.5, 1.0 }, f, gradient[2];
    lt_status s = lt_program_run(program, (const void *[]){ x }, (void *[]){ &f, gradient });
    if (s) fprintf(stderr, "%s\n", lt_error_text());
    else printf("f(%g, %g) = %g, gradient (%g, %g)\n", x[0], x[1], f, gradient[0], gradient[1]);
    if (!s) s = lt_program_dump(program, stdout);
    lt_program_destroy(program);
    /* 8 (1 - 0.25) + 0.25 = 6.25; left of the kink the gradient is (-16 x0 - 2 (1 - x0), 8). */
    return s != LT_OK || f != 6.25 || gradient[0] != -9 || gradient[1] != 8;
}
