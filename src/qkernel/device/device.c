/* The remote half of a Gram handle: kernels by method, and what is kept between calls.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/fill.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/rows/closed.h"

#include <stdio.h>

enum { FETCH_SLOT_BYTES = 32 << 20, FETCH_SLOTS = 4 };

static lt_status open_lanes(lt_remote *r)
{
    r->n_lanes = (int)LT_MAX(1, LT_MIN(r->opt->streams - 1, LT_MAX_LANES)); /* one stream is for the way home */
    r->n_turns = r->n_lanes + 1;
    r->lane[0].stream = r->stream;
    LT_TRY(lt_stream_pool_create(r->dev, LT_MAX_LANES, &r->streams));
    for (int i = 1; i < r->n_lanes; i++) LT_TRY(lt_stream_pool_next(r->streams, &r->lane[i].stream));
    for (int i = 0; i < r->n_turns; i++) {
        LT_TRY(lt_event_create(r->dev, &r->turn[i].begun));
        LT_TRY(lt_event_create(r->dev, &r->turn[i].done));
    }
    return LT_OK;
}

lt_status lt_remote_create(lt_device *dev, const lt_remote_setup *s, lt_remote **out)
{
    lt_remote *r = lt_calloc(1, sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    *out = r;
    r->dev = dev;
    r->opt = s->opt;
    r->circuit = s->circuit;
    r->pool = s->pool;
    r->has_shape = s->shape != NULL;
    if (s->shape) r->shape = *s->shape;
    r->stream = lt_device_stream(dev);
    LT_TRY(open_lanes(r));
    LT_TRY(lt_event_create(dev, &r->rows_ready));
    for (size_t i = 0; i < LT_LEN(r->mark); i++) LT_TRY(lt_event_create(dev, &r->mark[i]));
    LT_TRY(lt_remote_reserve(dev, &r->faults, sizeof(lt_tile_faults), "gram faults"));
    void *p;
    LT_TRY(dev->backend->host_alloc(dev, sizeof(lt_tile_faults), &p));
    r->faults_home = p;
    return LT_OK;
}

static void close_lanes(lt_remote *r)
{
    lt_stream_pool_destroy(r->streams);
    for (int i = 0; i < r->n_turns; i++) {
        lt_remote_turn *t = &r->turn[i];
        lt_event_destroy(t->begun);
        lt_event_destroy(t->done);
        lt_remote_release(r->dev, &t->slot);
        lt_remote_release(r->dev, &t->jobs);
        if (t->pinned) (void)r->dev->backend->host_release(r->dev, t->pinned);
    }
}

void lt_remote_destroy(lt_remote *r)
{
    if (!r) return;
    lt_captured_drop(r);
    lt_row_maker_close(&r->maker);
    lt_fetch_destroy(r->fetch);
    lt_remote_kernels_destroy(&r->kernels);
    close_lanes(r);
    lt_remote_memory *all[] = { &r->a, &r->b, &r->k, &r->roots[0], &r->roots[1], &r->faults };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_remote_release(r->dev, all[i]);
    if (r->faults_home) (void)r->dev->backend->host_release(r->dev, r->faults_home);
    lt_event_destroy(r->rows_ready);
    for (size_t i = 0; i < LT_LEN(r->mark); i++) lt_event_destroy(r->mark[i]);
    lt_free(r);
}

/* Kernels and tables for a method and a list of stages; kept while these stay the same. */
lt_status lt_remote_prepare(lt_remote *r, lt_gram_method method, const lt_stage *stages, int64_t n_stages)
{
    if (r->prepared && r->method == method && r->maker.stages == stages) return LT_OK;
    const lt_gram_options *opt = r->opt;
    const lt_layers *c = r->circuit;
    bool single = opt->dtype != LT_GRAM_FLOAT64;
    r->prepared = false;
    lt_captured_drop(r);
    lt_row_maker_close(&r->maker);
    lt_remote_kernels_destroy(&r->kernels);
    lt_kernel_request q = { .method = method, .q = c->q, .components = lt_closed_components(c, method), .single = single,
                            .one_product = opt->dtype == LT_GRAM_FLOAT16, .k_single = opt->return_dtype == LT_GRAM_FLOAT32, .parity_ring = c->parity_ring, .overlaps = stages == c->overlap,
                            .two_stages = n_stages == 2 && c->parity_ring, .normalize = opt->normalize, .repair = opt->repair,
                            .shape = r->has_shape ? &r->shape : NULL };
    LT_TRY(lt_remote_kernels_build(r->dev, &q, &r->kernels));
    r->maker.stages = stages;
    r->maker.n_stages = n_stages;
    LT_TRY(lt_row_maker_open(&r->maker, r->dev, r->stream, c, &r->kernels,
                             &(lt_row_maker_options){ single, opt->pinned, opt->profile_memory, opt->jitter }));
    if (!r->fetch)
        LT_TRY(lt_fetch_create(r->dev, &(lt_fetch_options){ FETCH_SLOT_BYTES, FETCH_SLOTS, opt->pinned, opt->profile_memory,
                                                            opt->streams > 1 ? NULL : r->stream, r->pool }, &r->fetch));
    r->method = method;
    r->prepared = true;
    return LT_OK;
}

void *lt_remote_matrix(const lt_remote *r) { return r->kept ? r->k.p : NULL; }

lt_status lt_remote_states(lt_remote *r, const lt_rows *x, void *out)
{
    const lt_layers *c = r->circuit;
    int64_t row_bytes = (int64_t)1 << (c->q + (r->opt->dtype == LT_GRAM_FLOAT64 ? 4 : 3));
    int64_t at_once = LT_MAX(1, (256 << 20) / row_bytes);
    LT_TRY(lt_remote_prepare(r, LT_GRAM_STATES, c->full, c->n_full));
    lt_captured_drop(r);
    LT_TRY(lt_remote_reserve(r->dev, &r->a, (size_t)(LT_MIN(at_once, x->n) * row_bytes), "gram rows"));
    LT_TRY(lt_remote_reserve(r->dev, &r->b, (size_t)(LT_MIN(at_once, x->n) * row_bytes), "gram columns"));
    LT_TRY(lt_remote_reserve(r->dev, &r->turn[0].jobs, sizeof(lt_states_job), "gram jobs"));
    for (int64_t row = 0; row < x->n; row += at_once) {
        int64_t n = LT_MIN(at_once, x->n - row);
        lt_states_job job = { n, c->n_full, c->n_full - 1, c->n_full - 1, 0 };
        LT_TRY(lt_row_maker_states(&r->maker, x, row, n, r->a.p));
        LT_TRY(lt_stream_copy(r->stream, r->turn[0].jobs.p, &job, sizeof job, LT_TRANSFER_H2D, false));
        LT_TRY(lt_stream_launch(r->stream, &(lt_launch){ r->kernels.permute, (void *[]){ r->turn[0].jobs.p, r->maker.tables.low, r->maker.tables.high, r->a.p, r->b.p } }));
        LT_TRY(lt_stream_copy(r->stream, (char *)out + row * row_bytes, r->b.p, (size_t)(n * row_bytes), LT_TRANSFER_D2H, false));
        LT_TRY(lt_stream_sync(r->stream));
    }
    return LT_OK;
}
