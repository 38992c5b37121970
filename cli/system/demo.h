/* What the parts of `lathe demo` share: what happens goes to the screen, the page and the JSON.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_SYSTEM_DEMO_H
#define LATHE_CLI_SYSTEM_DEMO_H

#include "cli/frame/cli.h"

typedef struct demo {
    cli_context *c;
    lt_report   *page; /* NULL without --report */
} demo;

/* Both the screen and the page hear it. */
#define DEMO_SAY(d, ...)                                                \
    do {                                                                 \
        if (!(d)->c->json) printf(__VA_ARGS__), printf("\n");            \
        if ((d)->page) lt_report_paragraph((d)->page, __VA_ARGS__);      \
    } while (0)

static inline void demo_heading(demo *d, const char *text)
{
    if (!d->c->json) printf("\n%s\n", text);
    if (d->page) lt_report_heading(d->page, text);
}

/* The three engines, each on one small problem. */
lt_status demo_optimizer(demo *d);
lt_status demo_operators(demo *d);
lt_status demo_qkernel(demo *d);

#endif
