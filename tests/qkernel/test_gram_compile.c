/* Every kernel text of Gram matrices compiles for the architectures lathe is made for. Needs NVRTC, no
   GPU. SPDX-License-Identifier: BSD-3-Clause */
#include "compile_kernels.h"

#include "base/hash.h"
#include "qkernel/device/circuits/circuits.h"

static int n_compiled;

/* ---- a device that compiles and nothing else ---- */

/* Several entries of one text need one compilation. */
static bool same_as_last(const lt_kernel_key *key)
{
    static uint64_t last;
    uint64_t now = lt_hash64(key->source, strlen(key->source), 1);
    for (int i = 0; i < key->n_options; i++) now = lt_hash64(key->options[i], strlen(key->options[i]), now);
    bool same = now == last;
    last = now;
    return same;
}

static lt_status compile(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    if (key->shared_bytes > dev->shared_bytes) LT_TEST_FAIL("%s (%s): %zu bytes of shared memory", key->name, key->entry, key->shared_bytes);
    if (!same_as_last(key)) {
        LT_TRY(compile_for_all(key));
        n_compiled++;
    }
    return compiled_kernel(key, out);
}

static lt_status describe(lt_device *dev, lt_device_info *out)
{
    (void)dev;
    *out = (lt_device_info){ .size = sizeof(lt_device_info), .id = "compile", .cores = 100, .features = "sm_89" };
    return LT_OK;
}

static const lt_backend backend = { .name = "compile", .build = compile, .describe = describe };
static lt_device device = { .backend = &backend, .id = "compile", .generation = 120, .shared_bytes = 99 << 10 }; /* late, with little shared memory */

static void build(lt_kernel_request q)
{
    lt_gram_kernels k;
    LT_CHECK_OK(lt_gram_kernels_build(&device, &q, &k));
    lt_gram_kernels_destroy(&k);
}

LT_TEST(kernels_of_every_method_compile)
{
    OPEN_OR_SKIP();
    static const int wires[] = { 2, 10, 16 }; /* plain tiles and several states a chunk; one; a part of one */
    for (size_t i = 0; i < LT_LEN(wires); i++)
        build((lt_kernel_request){ .method = LT_GRAM_STATES, .q = wires[i], .single = i == 1, .k_single = i == 0 });
    for (int type = 0; type < LT_GRAM_FLOAT_COUNT; type++)
        build((lt_kernel_request){ .method = LT_GRAM_STATES, .q = 11 + (type > 0), .single = type > 0, .one_product = type == LT_GRAM_FLOAT16, .two_stages = true, .overlaps = true,
                                   .normalize = true, .repair = true });
    build((lt_kernel_request){ .method = LT_GRAM_PRODUCT, .q = 16, .components = 3, .normalize = true });
    build((lt_kernel_request){ .method = LT_GRAM_PRODUCT, .q = 3, .components = 2, .k_single = true });
    build((lt_kernel_request){ .method = LT_GRAM_TRANSFER, .q = 16, .components = 8, .parity_ring = true });
    LT_CHECK_EQ_INT(n_compiled, 2 * 3 + 3 * 3 + 3);
}

/* Of circuits of any gates: what a device with little shared memory runs and what one with much does, both types, derivatives, wires that never meet. */
static void build_circuit(lt_kernel_request q)
{
    lt_gram_kernels k = { 0 };
    lt_device_info info = { .size = sizeof info };
    lt_builder b = lt_builder_begin(&device);
    q.program = true;
    LT_CHECK_OK(lt_device_describe(&device, &info));
    lt_circuit_kernels_add(&b, &info, &q, &k);
    LT_CHECK_OK(lt_builder_finish(&b, NULL));
    lt_gram_kernels_destroy(&k);
}

LT_TEST(kernels_of_circuits_compile)
{
    OPEN_OR_SKIP();
    const size_t before = device.shared_bytes;
    n_compiled = 0;
    build_circuit((lt_kernel_request){ .method = LT_GRAM_STATES, .q = 12, .single = true, .bloch = true });
    device.shared_bytes = 227 << 10;
    build_circuit((lt_kernel_request){ .method = LT_GRAM_STATES, .q = 13, .adjoint = true });
    device.shared_bytes = before;
    build_circuit((lt_kernel_request){ .method = LT_GRAM_PRODUCT, .q = 12 });
    LT_CHECK_EQ_INT(n_compiled, 3 + 4 + 1);
}

LT_TEST_MAIN()
