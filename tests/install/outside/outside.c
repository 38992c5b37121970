/* A program outside the tree: includes everything, calls the library, prints its version.
   SPDX-License-Identifier: BSD-3-Clause */
#include <lathe/lathe.h>

#include <stdio.h>

int main(void)
{
    lt_graph *g;
    if (lt_graph_create(&g)) return 1;
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(3));
    lt_node f = lt_sum(g, lt_square(g, x));
    lt_program *p;
    if (lt_program_create(g, &f, 1, NULL, &p)) { fprintf(stderr, "%s\n", lt_error_text()); return 1; }
    double at[3] = { 1, 2, 3 }, value = 0;
    const void *in[] = { at };
    void *out[] = { &value };
    lt_status s = lt_program_run(p, in, out);
    lt_program_destroy(p);
    lt_graph_destroy(g);
    if (s || value != 14) { fprintf(stderr, "sum of squares: %g, expected 14\n", value); return 1; }
    printf("lathe %s\n", lt_version());
    return 0;
}
