/* All ranks begin with the same problem: options as text, functions by what they give at one point (decision 254). SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/many/runs.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "kernels/arithmetic.h"
#include "lathe/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Those that compute, each kind once. */
static lt_status describe_devices(char *text, size_t bytes)
{
    size_t used = 0;
    lt_device_info d = { .size = sizeof d };
    text[0] = 0;
    for (int i = 0, n = lt_device_count(); i < n && used < bytes; i++) {
        LT_TRY(lt_device_list(i, &d));
        const char *name = d.own_memory ? d.name : "cpu";
        if (d.computes && !strstr(text, name)) used += (size_t)snprintf(text + used, bytes - used, "%s%s%s%s", used ? ", " : "", name, d.own_memory ? " " : "", d.own_memory ? d.features : "");
    }
    return LT_OK;
}

/* Bits of results depend on processors, libraries (decision 400) and on the GPU, if there is one. */
static lt_status agree_on_devices(lt_cluster *c, lt_status s)
{
    char text[256] = "";
    lt_arithmetic a = { .n = 0 };
    if (!s) s = describe_devices(text, sizeof text);
    LT_TRY(lt_cluster_agree_on_text(c, s, "kind of device", text));
    LT_TRY(lt_cluster_agree(c, lt_arithmetic_describe(NULL, true, &a), "number of libraries", &a.n, sizeof a.n));
    for (int i = 0; i < a.n; i++) LT_TRY(lt_cluster_agree_on_text(c, LT_OK, a.trait[i].what, a.trait[i].text));
    return LT_OK;
}

/* A clock chooses kernels anew on each rank. */
static lt_status refuse_timed(const lt_solve_options *opt)
{
    return opt->compile_mode != LT_MODE_MAX_AUTOTUNE ? LT_OK
         : LT_FAIL(LT_ERR_ARGUMENT, "compile_mode is max-autotune, which times kernels, and ranks might choose different ones: leave it out, or run in one process");
}

/* Where it runs may have a number of its own on each rank, and rank 0 alone prints. */
static uint64_t hash_options(const lt_solve_options *opt)
{
    const lt_option_table *t = lt_solve_options_table();
    uint64_t h = (uint64_t)opt->seed;
    for (int g = 0; g < t->n_groups; g++)
        for (int i = 0; i < t->groups[g].n_rows; i++) {
            char value[256];
            const char *name = t->groups[g].rows[i].name;
            if (strcmp(name, "device_name") && strncmp(name, "print_", 6) && !lt_options_get(t, name, opt, value, sizeof value)) h = lt_hash64(value, strlen(value), h);
        }
    return h;
}

static uint64_t hash_numbers(const double *x, int64_t n, uint64_t h)
{
    for (int64_t i = 0; i < n; i++) {
        double v = isnan(x[i]) ? 0x1p1023 : x[i] + 0.0; /* NaN has many forms, and -0 is 0 */
        h = lt_hash64(&v, sizeof v, h);
    }
    return h;
}

/* A point where functions fail says so, too. */
static lt_status hash_functions(lt_problem *p, const lt_solve_options *opt, const double *x, uint64_t *h)
{
    lt_problem_size size = lt_problem_get_size(p);
    double f = 0, *ci = lt_calloc((size_t)(size.p + size.q + size.n + 1), sizeof *ci), *ce = ci + size.p, *grad = ce + size.q;
    if (!ci) return LT_ERR_MEMORY;
    lt_status s = lt_problem_evaluate_with(p, opt, x, &(lt_outputs){ .f = &f, .grad_f = grad, .ci = size.p ? ci : NULL, .ce = size.q ? ce : NULL });
    int64_t all[4] = { size.n, size.p, size.q, s };
    *h = lt_hash64(all, sizeof all, *h);
    if (!s) *h = hash_numbers(ci, size.p + size.q + size.n, hash_numbers(&f, 1, *h));
    lt_free(ci);
    return s == LT_ERR_MEMORY || s == LT_ERR_DEVICE ? s : LT_OK;
}

lt_status lt_runs_agree(lt_cluster *c, lt_status s, lt_problem *p, const lt_solve_options *opt, const double *x, int64_t count)
{
    uint64_t h[2] = { 0, (uint64_t)count };
    if (lt_cluster_size(c) == 1) return s;
    if (!s) s = refuse_timed(opt);
    LT_TRY(agree_on_devices(c, s));
    h[0] = hash_options(opt);
    LT_TRY(lt_cluster_agree(c, LT_OK, "options", h, sizeof h));
    s = hash_functions(p, opt, x, h);
    return lt_cluster_agree(c, s, "problem", h, sizeof h);
}
