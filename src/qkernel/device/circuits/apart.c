/* States and one-qubit states of circuits, made by a device and brought to the host. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/circuits/apart.h"

#include "base/status.h"

enum { BATCH_BYTES = 256 << 20 };

static lt_status open_parts(lt_circuit_apart *a, lt_pool *pool, bool single, lt_apart_for what)
{
    lt_device_info info = { .size = sizeof info };
    lt_builder b = lt_builder_begin(a->dev);
    const lt_kernel_request q = { .method = LT_GRAM_STATES, .q = a->layers.program->widest, .single = single, .program = true, .adjoint = what == LT_APART_ADJOINT,
                                  .bloch = what == LT_APART_BLOCH };
    LT_TRY(lt_device_describe(a->dev, &info));
    lt_circuit_kernels_add(&b, &info, &q, &a->kernels);
    LT_TRY(lt_builder_finish(&b, lt_device_pool(a->dev)));
    return lt_row_maker_open(&a->maker, a->dev, a->stream, &a->layers, &a->kernels,
                             &(lt_row_maker_options){ .single = single, .page_locked = true, .of_states = true, .pool = pool });
}

lt_status lt_circuit_apart_open(lt_circuit_apart *a, lt_device *dev, lt_pool *pool, const lt_compiled *p, bool single, lt_apart_for what)
{
    *a = (lt_circuit_apart){ .dev = dev, .stream = lt_device_stream(dev), .layers = { .q = (int)p->circuit->n_qubits, .program = p } };
    lt_status s = open_parts(a, pool, single, what);
    if (s) lt_circuit_apart_close(a);
    return s;
}

void lt_circuit_apart_close(lt_circuit_apart *a)
{
    lt_row_maker_close(&a->maker);
    lt_gram_kernels_destroy(&a->kernels);
}

static lt_status fetch_states(lt_circuit_apart *a, const lt_rows *x, lt_device_block *states, char *out)
{
    const int64_t row_bytes = INT64_C(1) << (a->layers.program->widest + (a->maker.single ? 3 : 4)), at_once = LT_MIN(x->n, LT_MAX(1, BATCH_BYTES / row_bytes));
    LT_TRY(lt_device_block_reserve(a->dev, states, (size_t)(at_once * row_bytes), "circuit states"));
    for (int64_t row = 0; row < x->n; row += at_once) {
        const int64_t n = LT_MIN(at_once, x->n - row);
        LT_TRY(lt_row_maker_states(&a->maker, x, row, n, states->at));
        LT_TRY(lt_stream_copy(a->stream, out + row * row_bytes, states->at, (size_t)(n * row_bytes), LT_TRANSFER_D2H, false));
        LT_TRY(lt_stream_sync(a->stream));
    }
    return LT_OK;
}

lt_status lt_circuit_device_states(lt_device *dev, const lt_compiled *p, lt_gram_float type, const lt_rows *x, void *out)
{
    lt_circuit_apart a;
    lt_device_block states = { 0 };
    LT_TRY(lt_circuit_apart_open(&a, dev, lt_device_pool(dev), p, type != LT_GRAM_FLOAT64, LT_APART_STATES));
    lt_status s = fetch_states(&a, x, &states, out);
    lt_device_block_release(dev, &states);
    lt_circuit_apart_close(&a);
    return s;
}

static lt_status fetch_bloch(lt_circuit_apart *a, const lt_rows *x, lt_device_block *states, lt_device_block *vectors, double *out)
{
    const lt_compiled *p = a->layers.program;
    const int64_t row_bytes = INT64_C(1) << (p->widest + (a->maker.single ? 3 : 4)), at_once = LT_MIN(x->n, LT_MAX(1, BATCH_BYTES / row_bytes)), q = p->circuit->n_qubits;
    const size_t bytes = (size_t)(3 * q) * sizeof(double);
    for (int64_t i = 0; i < x->n * 3 * q; i++) out[i] = i / q % 3 == 2; /* wires that no gate touches stay at |0> */
    LT_TRY(lt_device_block_reserve(a->dev, states, (size_t)(at_once * row_bytes), "circuit states"));
    LT_TRY(lt_device_block_reserve(a->dev, vectors, (size_t)at_once * bytes, "circuit wires"));
    for (int64_t row = 0; row < x->n; row += at_once) {
        const int64_t n = LT_MIN(at_once, x->n - row);
        const lt_bloch_job j = { .n_rows = n, .q = p->widest, .n_wires = q, .wire = a->maker.any->coefficients.wire, .states = states->at, .out = vectors->at };
        LT_TRY(lt_stream_copy(a->stream, vectors->at, out + row * 3 * q, (size_t)n * bytes, LT_TRANSFER_H2D, false));
        LT_TRY(lt_row_maker_states(&a->maker, x, row, n, states->at));
        LT_TRY(lt_circuit_launch(&a->maker, a->kernels.bloch, &j, sizeof j));
        LT_TRY(lt_stream_copy(a->stream, out + row * 3 * q, vectors->at, (size_t)n * bytes, LT_TRANSFER_D2H, false));
        LT_TRY(lt_stream_sync(a->stream));
    }
    return LT_OK;
}

lt_status lt_circuit_device_bloch(lt_device *dev, const lt_compiled *p, lt_gram_float type, const lt_rows *x, double *out)
{
    lt_circuit_apart a;
    lt_device_block states = { 0 }, vectors = { 0 };
    LT_TRY(lt_circuit_apart_open(&a, dev, lt_device_pool(dev), p, type != LT_GRAM_FLOAT64, LT_APART_BLOCH));
    lt_status s = fetch_bloch(&a, x, &states, &vectors, out);
    lt_device_block_release(dev, &states);
    lt_device_block_release(dev, &vectors);
    lt_circuit_apart_close(&a);
    return s;
}
