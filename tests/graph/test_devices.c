/* Programs on a device with memory of its own: the null device counts what a GPU would do.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/null/null.h"
#include "lathe/graph.h"
#include "lathe/trace.h"
#include "lt_test.h"

#include <string.h>

/* A small network with its gradient; the number of kernels it takes. */
static lt_program *compile(lt_graph *g, lt_device *dev, lt_mode mode)
{
    lt_node x = lt_input(g, "x", LT_F32, lt_shape2(8, 16)), w = lt_input(g, "w", LT_F32, lt_shape2(4, 16)), unused = lt_input(g, "u", LT_F32, lt_shape1(3));
    lt_node c = lt_constant(g, LT_F32, lt_shape1(4), (float[]){ 1, 2, 3, 4 });
    lt_node f = lt_sum(g, lt_square(g, lt_add(g, lt_tanh(g, lt_linear(g, x, w, LT_NONE)), c))), df;
    lt_program *p = NULL;
    (void)unused;
    LT_CHECK_OK(lt_grad(g, f, &w, 1, &df));
    LT_CHECK_OK(lt_program_create(g, (lt_node[]){ f, df }, 2, &(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = mode, .device = dev }, &p));
    return p;
}

LT_TEST(null_counts_copies_and_launches_of_every_mode)
{
    static float x[128], w[64], f, df[64];
    for (int mode = 0; mode < LT_MODE_MAX_AUTOTUNE; mode++) {
        lt_device *dev;
        lt_graph *g;
        LT_CHECK_OK(lt_device_open("null", &dev));
        LT_CHECK_OK(lt_graph_create(&g));
        lt_program *p = compile(g, dev, (lt_mode)mode);
        lt_null_counts before = lt_null_read(dev);
        int64_t kernels = lt_program_get_info(p).n_kernels;
        for (int run = 0; run < 3; run++) LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, w, NULL }, (void *[]){ &f, df }));
        lt_null_counts after = lt_null_read(dev);
        LT_CHECK_EQ_INT(after.copies[LT_TRANSFER_H2D] - before.copies[LT_TRANSFER_H2D], 3 * 2); /* the unused input stays on the host */
        LT_CHECK_EQ_INT(after.copy_bytes[LT_TRANSFER_H2D] - before.copy_bytes[LT_TRANSFER_H2D], 3 * (int64_t)(sizeof x + sizeof w));
        LT_CHECK_EQ_INT(after.copies[LT_TRANSFER_D2H] - before.copies[LT_TRANSFER_D2H], 3 * 2);
        LT_CHECK_EQ_INT(after.syncs - before.syncs, 3); /* one wait per run */
        LT_CHECK_EQ_INT(after.allocs - before.allocs, 0);
        if (mode == LT_MODE_REDUCE_OVERHEAD) {
            LT_CHECK_EQ_INT(after.captures, 1);
            LT_CHECK_EQ_INT(after.replays, 3);
            LT_CHECK_EQ_INT(after.replayed_launches, 3 * kernels);
        } else {
            LT_CHECK_EQ_INT(after.launches - before.launches, 3 * kernels);
        }
        lt_program_destroy(p);
        lt_graph_destroy(g);
        lt_device_close(dev);
    }
}

/* Kernels appear twice: when they are launched, and on a track of the device when they ran. */
LT_TEST(a_trace_has_a_track_of_the_device)
{
    static float x[128], w[64], f, df[64];
    static char text[1 << 16];
    lt_device *dev;
    lt_graph *g;
    LT_CHECK_OK(lt_device_open("null", &dev));
    LT_CHECK_OK(lt_graph_create(&g));
    lt_program *p = compile(g, dev, LT_MODE_REDUCE_OVERHEAD);
    lt_null_counts before = lt_null_read(dev);
    LT_CHECK_OK(lt_trace_start(NULL));
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, w, NULL }, (void *[]){ &f, df }));
    lt_trace_stop();
    LT_CHECK_EQ_INT(lt_null_read(dev).launches - before.launches, lt_program_get_info(p).n_kernels);
    LT_CHECK_OK(lt_trace_write_chrome("trace_device.json"));
    FILE *file = fopen("trace_device.json", "r");
    LT_CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
    if (file) fclose(file);
    remove("trace_device.json");
    int spans = 0; /* of kernels and of the whole run */
    for (const char *at = text; (at = strstr(at, "\"ph\":\"X\"")); at++) spans++;
    LT_CHECK_EQ_INT(spans, 1 + 2 * lt_program_get_info(p).n_kernels);
    LT_CHECK(strstr(text, lt_device_id(dev)) != NULL);
    lt_trace_clear();
    lt_program_destroy(p);
    lt_graph_destroy(g);
    lt_device_close(dev);
}

LT_TEST(a_full_device_is_a_clear_error)
{
    lt_device *dev;
    lt_graph *g;
    lt_program *p;
    LT_CHECK_OK(lt_device_open("null", &dev));
    lt_null_capacity(dev, 1 << 16);
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F64, lt_shape1(1 << 20)), y = lt_cumsum(g, lt_cumsum(g, x, 0), 0);
    LT_CHECK_FAILS(lt_program_create(g, &y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .device = dev }, &p), LT_ERR_MEMORY, "null");
    LT_CHECK(p == NULL);
    lt_graph_destroy(g);
    lt_device_close(dev);
}

LT_TEST_MAIN()
