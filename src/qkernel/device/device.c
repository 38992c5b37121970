/* The device half of a Gram handle: kernels by method, and what is kept between calls.
   SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/fill.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/rows/closed.h"

#include <stdio.h>

static lt_status open_streams(lt_device_gram *d)
{
    d->n_panel_streams = (int)LT_MAX(1, LT_MIN(d->opt->streams - 1, LT_MAX_PANEL_STREAMS)); /* one stream copies to the host (decision 80) */
    d->n_turns = d->n_panel_streams + 1;
    d->panel_stream[0].stream = d->stream;
    for (int i = 1; i < d->n_panel_streams; i++) LT_TRY(lt_stream_create(d->dev, &d->panel_stream[i].stream));
    for (int i = 0; i < d->n_turns; i++) {
        LT_TRY(lt_event_create(d->dev, &d->turn[i].begun));
        LT_TRY(lt_event_create(d->dev, &d->turn[i].done));
    }
    return LT_OK;
}

lt_status lt_device_gram_create(lt_device *dev, const lt_device_gram_setup *s, lt_device_gram **out)
{
    lt_device_gram *d = lt_calloc(1, sizeof *d);
    if (!d) return LT_ERR_MEMORY;
    *out = d;
    d->dev = dev;
    d->opt = s->opt;
    d->circuit = s->circuit;
    d->real_part = s->real_part;
    d->pool = s->pool;
    d->has_shape = s->shape != NULL;
    if (s->shape) d->shape = *s->shape;
    d->stream = lt_device_stream(dev);
    LT_TRY(open_streams(d));
    LT_TRY(lt_event_create(dev, &d->rows_ready));
    for (size_t i = 0; i < LT_LEN(d->mark); i++) LT_TRY(lt_event_create(dev, &d->mark[i]));
    LT_TRY(lt_device_block_reserve(dev, &d->faults, sizeof(lt_tile_faults), "gram faults"));
    return lt_host_memory_create(dev, sizeof(lt_tile_faults), LT_PIN_ALWAYS, &d->host_faults);
}

static void close_streams(lt_device_gram *d)
{
    for (int i = 1; i < d->n_panel_streams; i++) lt_stream_destroy(d->panel_stream[i].stream);
    for (int i = 0; i < d->n_turns; i++) {
        lt_panel_turn *t = &d->turn[i];
        lt_event_destroy(t->begun);
        lt_event_destroy(t->done);
        lt_device_block_release(d->dev, &t->slot);
        lt_device_block_release(d->dev, &t->jobs);
        lt_host_memory_release(&t->host_jobs);
    }
}

void lt_device_gram_forget(lt_device_gram *d)
{
    lt_captured_drop(d);
    lt_row_maker_close(&d->maker);
    d->prepared = false;
}

const lt_tile_shape *lt_device_gram_shape(const lt_device_gram *d) { return d->has_shape ? &d->shape : NULL; }

void lt_device_gram_destroy(lt_device_gram *d)
{
    if (!d) return;
    lt_captured_drop(d);
    lt_row_maker_close(&d->maker);
    lt_fetch_close(&d->fetch);
    lt_gram_kernels_destroy(&d->kernels);
    close_streams(d);
    lt_device_block *all[] = { &d->a, &d->b, &d->k, &d->roots[0], &d->roots[1], &d->faults };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_device_block_release(d->dev, all[i]);
    lt_host_memory_release(&d->host_faults);
    lt_event_destroy(d->rows_ready);
    for (size_t i = 0; i < LT_LEN(d->mark); i++) lt_event_destroy(d->mark[i]);
    lt_free(d);
}

/* Kernels and tables for a method and a list of stages; kept while these stay the same. */
lt_status lt_device_gram_prepare(lt_device_gram *d, lt_gram_method method, const lt_stage *stages, int64_t n_stages)
{
    if (d->prepared && d->method == method && d->maker.stages == stages) return LT_OK;
    const lt_gram_options *opt = d->opt;
    const lt_layers *c = d->circuit;
    const bool single = opt->dtype != LT_GRAM_FLOAT64, states = method == LT_GRAM_STATES;
    d->prepared = false;
    lt_captured_drop(d);
    lt_row_maker_close(&d->maker);
    lt_gram_kernels_destroy(&d->kernels);
    lt_kernel_request q = { .method = method, .q = states ? lt_layers_widest(c) : c->q, .components = lt_closed_components(c, method), .single = single,
                            .one_product = opt->dtype == LT_GRAM_FLOAT16, .k_single = opt->return_dtype == LT_GRAM_FLOAT32,
                            .parity_ring = c->parity_ring, .overlaps = stages == c->overlap || c->program, .program = c->program != NULL,
                            .real_part = d->real_part,
                            .two_stages = n_stages == 2 && c->parity_ring, .normalize = opt->normalize, .repair = opt->repair,
                            .shape = d->has_shape ? &d->shape : NULL };
    LT_TRY(lt_gram_kernels_build(d->dev, &q, &d->kernels));
    d->maker.stages = stages;
    d->maker.n_stages = n_stages;
    LT_TRY(lt_row_maker_open(&d->maker, d->dev, d->stream, c, &d->kernels,
                             &(lt_row_maker_options){ single, opt->pinned, opt->profile_memory, states, opt->jitter, d->pool }));
    if (!d->fetch.stream)
        LT_TRY(lt_fetch_open(d->dev, &(lt_fetch_options){ opt->pinned, opt->profile_memory, opt->streams > 1 ? NULL : d->stream, d->pool }, &d->fetch));
    d->method = method;
    d->prepared = true;
    return LT_OK;
}

void *lt_device_gram_matrix(const lt_device_gram *d) { return d->kept ? d->k.at : NULL; }

lt_status lt_device_gram_states(lt_device_gram *d, const lt_rows *x, void *out)
{
    const lt_layers *c = d->circuit;
    int64_t row_bytes = (int64_t)1 << (c->q + (d->opt->dtype == LT_GRAM_FLOAT64 ? 4 : 3));
    int64_t at_once = LT_MAX(1, (256 << 20) / row_bytes);
    LT_TRY(lt_device_gram_prepare(d, LT_GRAM_STATES, c->full, c->n_full));
    lt_captured_drop(d);
    LT_TRY(lt_device_block_reserve(d->dev, &d->a, (size_t)(LT_MIN(at_once, x->n) * row_bytes), "gram rows"));
    LT_TRY(lt_device_block_reserve(d->dev, &d->b, (size_t)(LT_MIN(at_once, x->n) * row_bytes), "gram columns"));
    LT_TRY(lt_device_block_reserve(d->dev, &d->turn[0].jobs, sizeof(lt_states_job), "gram jobs"));
    for (int64_t row = 0; row < x->n; row += at_once) {
        int64_t n = LT_MIN(at_once, x->n - row);
        lt_states_job job = { n, c->n_full, c->n_full - 1, c->n_full - 1, 0 };
        LT_TRY(lt_row_maker_states(&d->maker, x, row, n, d->a.at));
        LT_TRY(lt_stream_copy(d->stream, d->turn[0].jobs.at, &job, sizeof job, LT_TRANSFER_H2D, false));
        LT_TRY(lt_stream_launch(d->stream, &(lt_launch){ d->kernels.permute, (void *[]){ d->turn[0].jobs.at, d->maker.tables.low, d->maker.tables.high, d->a.at, d->b.at } }));
        LT_TRY(lt_stream_copy(d->stream, (char *)out + row * row_bytes, d->b.at, (size_t)(n * row_bytes), LT_TRANSFER_D2H, false));
        LT_TRY(lt_stream_sync(d->stream));
    }
    return LT_OK;
}
