/* Circuits of any gates on a device: the very texts of its kernels, run by the CPU thread by thread, against the CPU's own states and
   kernels. Needs a C++ compiler, no GPU. SPDX-License-Identifier: BSD-3-Clause */
#define LT_TEST_KEPT_BLOCKS 64
#include "lt_test.h"
#include "host_gpu.h"
#include "map_file.h"

#include "lathe/gram.h"
#include "lathe/rng.h"

static lt_circuit *circuit_of(const char *map, int64_t n_features)
{
    lt_map_options opt = lt_map_defaults();
    lt_circuit *c = NULL;
    opt.n_features = n_features;
    LT_CHECK_OK(lt_circuit_from_map(map, &opt, &c));
    return c;
}

typedef struct asked { lt_gram_options opt; lt_similarity_options similarity; } asked;
static asked usual(void) { return (asked){ lt_gram_defaults(), lt_similarity_defaults() }; }

static lt_gram_info fill(lt_device *dev, const asked *a, const lt_circuit *c, const matrix *W, const lt_rows *x, const lt_rows *y, void *K)
{
    lt_gram *g = NULL;
    lt_gram_info info = { .size = sizeof info };
    LT_CHECK_OK(lt_gram_create_circuit(dev, &a->opt, &a->similarity, c, W->v, W->columns, &g));
    if (!g) return info;
    LT_CHECK_OK(lt_gram_fill(g, x, y, K));
    info = lt_gram_get_info(g);
    lt_gram_destroy(g);
    return info;
}

/* ---- stored vectors ---- */

LT_TEST(every_stored_map_has_its_kernel)
{
    if (!host_library_possible()) LT_SKIP("no C++ compiler to run kernels with");
    FILE *f = vectors_open("maps.txt");
    map_case c;
    int n = 0, closed = 0;
    double worst = 0;
    lt_device *dev = host_gpu_open(99 << 10);
    asked a = usual();
    for (; map_read(f, &c); n++) {
        lt_circuit *circuit = circuit_of(c.map, c.X.columns);
        int64_t rows = c.X.rows;
        double *K = malloc((size_t)(rows * rows) * sizeof *K), off = 0;
        lt_gram_info info = fill(dev, &a, circuit, &c.W, &(lt_rows){ c.X.v, LT_F64, rows, c.X.columns, 0 }, NULL, K);
        closed += info.method == LT_GRAM_PRODUCT;
        for (int64_t i = 0; i < rows * rows; i++) off = fmax(off, fabs(K[i] - c.K.v[i]));
        if (!(off < 1e-12)) LT_TEST_FAIL("%s with %lld features: off by %g", c.map, (long long)c.X.columns, off);
        worst = fmax(worst, off);
        free(K);
        lt_circuit_destroy(circuit);
        map_free(&c);
    }
    fclose(f);
    host_gpu_close(dev);
    LT_CHECK_EQ_INT(n, 131);
    LT_CHECK(closed > 10 && closed < 100); /* both ways were gone */
    printf("%d maps (%d as products over wires), worst error %.2g\n", n, closed, worst);
}

LT_TEST_MAIN()
