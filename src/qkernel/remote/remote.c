/* The remote half of a Gram handle: kernels by method, and what is kept between calls.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/remote/fill.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/closed.h"

#include <stdio.h>

enum { FETCH_SLOT_BYTES = 32 << 20, FETCH_SLOTS = 4 };

lt_status lt_remote_create(lt_device *dev, const lt_gram_options *opt, const lt_circuit *c, const lt_tile_shape *shape, lt_remote **out)
{
    lt_remote *r = lt_calloc(1, sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    *out = r;
    r->dev = dev;
    r->opt = opt;
    r->circuit = c;
    r->has_shape = shape != NULL;
    if (shape) r->shape = *shape;
    r->stream = lt_device_stream(dev);
    for (size_t i = 0; i < LT_LEN(r->done); i++) LT_TRY(lt_event_create(dev, &r->done[i]));
    for (size_t i = 0; i < LT_LEN(r->mark); i++) LT_TRY(lt_event_create(dev, &r->mark[i]));
    return LT_OK;
}

void lt_remote_destroy(lt_remote *r)
{
    if (!r) return;
    lt_row_maker_close(&r->maker);
    lt_fetch_destroy(r->fetch);
    lt_remote_kernels_destroy(&r->kernels);
    lt_remote_memory *all[] = { &r->a, &r->b, &r->k, &r->slot[0], &r->slot[1], &r->jobs[0], &r->jobs[1] };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_remote_release(r->dev, all[i]);
    for (int i = 0; i < 2; i++)
        if (r->pinned[i]) (void)r->dev->backend->host_release(r->dev, r->pinned[i]);
    for (size_t i = 0; i < LT_LEN(r->done); i++) lt_event_destroy(r->done[i]);
    for (size_t i = 0; i < LT_LEN(r->mark); i++) lt_event_destroy(r->mark[i]);
    lt_free(r);
}

/* Kernels and tables for a method and a list of stages; kept while these stay the same. */
lt_status lt_remote_prepare(lt_remote *r, lt_gram_method method, const lt_stage *stages, int64_t n_stages)
{
    if (r->prepared && r->method == method && r->maker.stages == stages) return LT_OK;
    bool single = r->opt->dtype == LT_GRAM_FLOAT32;
    r->prepared = false;
    lt_row_maker_close(&r->maker);
    lt_remote_kernels_destroy(&r->kernels);
    lt_kernel_request q = { .method = method, .q = r->circuit->q, .components = lt_closed_components(r->circuit, method),
                            .single = single, .k_single = r->opt->return_dtype == LT_GRAM_FLOAT32, .parity_ring = r->circuit->parity_ring, .shape = r->has_shape ? &r->shape : NULL };
    LT_TRY(lt_remote_kernels_build(r->dev, &q, &r->kernels));
    r->maker.stages = stages;
    r->maker.n_stages = n_stages;
    LT_TRY(lt_row_maker_open(&r->maker, r->dev, r->stream, r->circuit, &r->kernels, single));
    if (!r->fetch) LT_TRY(lt_fetch_create(r->dev, FETCH_SLOT_BYTES, FETCH_SLOTS, &r->fetch));
    r->method = method;
    r->prepared = true;
    return LT_OK;
}

void *lt_remote_matrix(const lt_remote *r) { return r->kept ? r->k.p : NULL; }

lt_status lt_remote_states(lt_remote *r, const lt_rows *x, void *out)
{
    const lt_circuit *c = r->circuit;
    int64_t row_bytes = (int64_t)1 << (c->q + (r->opt->dtype == LT_GRAM_FLOAT32 ? 3 : 4));
    int64_t at_once = LT_MAX(1, (256 << 20) / row_bytes);
    LT_TRY(lt_remote_prepare(r, LT_GRAM_STATES, c->full, c->n_full));
    LT_TRY(lt_remote_reserve(r->dev, &r->a, (size_t)(LT_MIN(at_once, x->n) * row_bytes), "gram rows"));
    LT_TRY(lt_remote_reserve(r->dev, &r->b, (size_t)(LT_MIN(at_once, x->n) * row_bytes), "gram columns"));
    LT_TRY(lt_remote_reserve(r->dev, &r->jobs[0], sizeof(lt_states_job), "gram jobs"));
    for (int64_t row = 0; row < x->n; row += at_once) {
        int64_t n = LT_MIN(at_once, x->n - row);
        lt_states_job job = { n, c->n_full, c->n_full - 1, c->n_full - 1, 0 };
        LT_TRY(lt_row_maker_states(&r->maker, x, row, n, r->a.p, false));
        LT_TRY(lt_stream_copy(r->stream, r->jobs[0].p, &job, sizeof job, LT_TRANSFER_H2D, false));
        LT_TRY(lt_stream_launch(r->stream, &(lt_launch){ r->kernels.permute, (void *[]){ r->jobs[0].p, r->maker.tables.low, r->maker.tables.high, r->a.p, r->b.p } }));
        LT_TRY(lt_stream_copy(r->stream, (char *)out + row * row_bytes, r->b.p, (size_t)(n * row_bytes), LT_TRANSFER_D2H, false));
        LT_TRY(lt_stream_sync(r->stream));
    }
    return LT_OK;
}
