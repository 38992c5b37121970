/* Fuzz target: checkpoints of the solver with any field changed and a digest that fits. A run refuses them with a sentence, or goes on.
   (test_checkpoint.c sets every field in turn; here they change together.) SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "lathe/solve.h"
#include "memory_file.h"

#include <math.h>
#include <string.h>

enum { HEAD = sizeof "lathe checkpoint 5\n" - 1, KINDS = 4, MOST = 1 << 15 };

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

static struct { lt_problem *problem; lt_solve_options opt; char *data; size_t bytes; } kind[KINDS];

static void make_kinds(void)
{
    static const struct { int p, q; int64_t max_samples, pairs, patience; } k[KINDS] = { { 0, 0, 3, 0, 0 }, { 1, 1, 3, 0, 0 }, { 1, 0, 3, 2, 0 }, { 0, 1, 2, 0, 50 } };
    for (int i = 0; i < KINDS; i++) {
        const char *written = scratch("good.ckpt");
        lt_solution *s = NULL;
        static const double start[] = { -1.2, 1 };
        lt_solve_options o = lt_solve_defaults();
        o.max_samples = k[i].max_samples;
        o.lbfgs_pairs = k[i].pairs;
        o.patience = k[i].patience;
        o.max_iterations = 6;
        o.stationarity_tol = 1e-12;
        o.x0 = start;
        o.checkpoint = written;
        kind[i].opt = o;
        LT_FUZZ_REQUIRE(!lt_problem_from_function(2, k[i].p, k[i].q, kink, NULL, &kind[i].problem) && !lt_solve(kind[i].problem, &kind[i].opt, &s));
        lt_solution_destroy(s);
        LT_FUZZ_REQUIRE(!lt_file_read(written, MOST, &kind[i].data, &kind[i].bytes));
        kind[i].opt.checkpoint = NULL;
        kind[i].opt.x0 = NULL;
        kind[i].opt.max_iterations = 8;
    }
}

/* Records of five bytes: where (two), what (two), how: a byte, a word of eight, a copy from elsewhere, the end. */
static size_t change(char *image, size_t bytes, const uint8_t *data, size_t n_bytes)
{
    static const uint64_t words[] = { 0, 1, 2, 3, UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, 0x7ff0000000000000, 0x7ff8000000000000, 0x3ff0000000000000, (uint64_t)1 << 32 };
    for (size_t at = 0; at + 5 <= n_bytes; at += 5) {
        size_t where = HEAD + (size_t)(data[at] | data[at + 1] << 8) % (bytes - HEAD), other = HEAD + (size_t)(data[at + 2] | data[at + 3] << 8) % (bytes - HEAD);
        size_t whole = where - (where - HEAD) % 8;
        switch (data[at + 4] % 8) {
        case 0: image[where] = (char)data[at + 2]; break;
        case 1: image[where] ^= (char)(1 << data[at + 2] % 8); break;
        case 2: case 3: if (whole + 8 <= bytes) memcpy(image + whole, &words[data[at + 2] % (sizeof words / sizeof *words)], 8); break;
        case 4: case 5: if (where + 8 <= bytes && other + 8 <= bytes) memmove(image + where, image + other, 8); break;
        case 6: image[where] = (char)(image[where] + (int8_t)data[at + 2]); break;
        default: if (data[at + 3] % 4 == 0) bytes = where + 1; break;
        }
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static char image[MOST + sizeof(lt_digest)];
    if (n_bytes < 1) return 0;
    if (!kind[0].problem) make_kinds();
    const int k = data[0] % KINDS;
    size_t bytes = kind[k].bytes - sizeof(lt_digest);
    memcpy(image, kind[k].data, bytes);
    bytes = change(image, bytes, data + 1, n_bytes - 1);
    lt_digest digest = lt_sha256_of(image + HEAD, bytes - HEAD);
    memcpy(image + bytes, &digest, sizeof digest);
    lt_solve_options opt = kind[k].opt;
    opt.resume = lt_memory_file((const uint8_t *)image, bytes + sizeof digest);
    int64_t live = lt_alloc_live();
    lt_solution *s = NULL;
    lt_status got = lt_solve(kind[k].problem, &opt, &s);
    if (!got) LT_FUZZ_REQUIRE(s && s->iters >= 0 && s->n_history <= opt.max_iterations + 1);
    else LT_FUZZ_REQUIRE(!s && (got == LT_ERR_FORMAT || got == LT_ERR_MISMATCH) && strstr(lt_error_text(), "checkpoint"));
    lt_solution_destroy(s);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 16 || capacity < 11) return 0;
    const uint8_t seed[11] = { (uint8_t)index, (uint8_t)(16 * index), 0, 4, 0, (uint8_t)(index % 8), (uint8_t)(90 + 8 * index), 0, 5, 0, 2 };
    memcpy(out, seed, sizeof seed);
    return sizeof seed;
}
