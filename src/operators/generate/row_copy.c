/* Rows of one dataset file copied into another that is being written. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/row_copy.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/dataset.h"

#include <inttypes.h>
#include <string.h>

lt_status lt_row_status_read(lt_dataset *d, lt_row_status *out)
{
    int64_t n = lt_dataset_get_info(d).rows;
    *out = (lt_row_status){ lt_malloc((size_t)n * sizeof *out->code), lt_malloc((size_t)n * sizeof *out->step), lt_malloc((size_t)n * sizeof *out->seconds), NULL };
    if (!out->code || !out->step || !out->seconds) return LT_ERR_MEMORY;
    LT_TRY(lt_dataset_read_ints(d, "/status/code", 0, n, out->code, n));
    LT_TRY(lt_dataset_read_ints(d, "/status/step", 0, n, out->step, n));
    int64_t n_devices;
    LT_TRY(lt_dataset_texts(d, "/status/device", &n_devices, &out->device));
    if (n_devices < n) out->device = NULL;
    return lt_dataset_read(d, "/status/seconds", 0, n, out->seconds, n);
}

void lt_row_status_release(lt_row_status *s)
{
    lt_free(s->code);
    lt_free(s->step);
    lt_free(s->seconds);
    *s = (lt_row_status){ 0 };
}

/* ---- Rows one by one ---------------------------------------------------------------------------------------- */

#define BLOCK_BYTES ((int64_t)64 << 20) /* of one array */

static lt_status allocate_block(lt_row_reader *r, lt_part part, int64_t row_values)
{
    int64_t chunk = lt_dataset_get_info(r->d).rows, most = BLOCK_BYTES / (int64_t)sizeof(float) / LT_MAX(row_values, (int64_t)1);
    r->part[part].most = LT_MAX(LT_MIN(chunk, most), (int64_t)1);
    r->part[part].block = lt_malloc((size_t)(r->part[part].most * row_values) * sizeof(float));
    return r->part[part].block ? LT_OK : LT_ERR_MEMORY;
}

lt_status lt_row_reader_get(lt_row_reader *r, lt_part part, const char *path, int64_t row, int64_t n_values, const float **out)
{
    if (!r->part[part].block) LT_TRY(allocate_block(r, part, n_values));
    if (row < r->part[part].first || row >= r->part[part].first + r->part[part].n) {
        int64_t first = row / r->part[part].most * r->part[part].most, n = LT_MIN(r->part[part].most, lt_dataset_get_info(r->d).rows - first);
        r->part[part].n = 0;
        LT_TRY(lt_dataset_read(r->d, path, first, n, r->part[part].block, n * n_values));
        r->part[part].first = first;
        r->part[part].n = n;
    }
    *out = r->part[part].block + (row - r->part[part].first) * n_values;
    return LT_OK;
}

void lt_row_reader_close(lt_row_reader *r)
{
    for (int i = 0; i < LT_PART_OUTPUT; i++) lt_free(r->part[i].block);
    *r = (lt_row_reader){ 0 };
}

/* ---- Rows into a store --------------------------------------------------------------------------------------- */

lt_status lt_row_copy_check(const char *path, const lt_dataset_info *i, const lt_row_status *s, const lt_store_plan *p)
{
    if (i->grid < 1 || i->grid > p->grid || i->realizations != p->realizations || (i->steps && i->steps != p->steps))
        return LT_FAIL(LT_ERR_FORMAT, "%s: holds %" PRId64 " realizations, %" PRId64 " steps, grid %" PRId64 "; its configuration gives %" PRId64 ", %" PRId64
                       " and at most %" PRId64, path, i->realizations, i->steps, i->grid, p->realizations, p->steps, p->grid);
    for (int64_t r = 0; r < i->rows; r++)
        if (s->code[r] < LT_RUN_DONE || s->code[r] >= LT_RUN_STATUS_COUNT || s->step[r] < INT32_MIN || s->step[r] > INT32_MAX)
            return LT_FAIL(LT_ERR_FORMAT, "%s: /status has code %" PRId64 " and step %" PRId64 " for row %" PRId64, path, s->code[r], s->step[r], r);
    return LT_OK;
}

lt_status lt_row_copy_open(lt_store *to, const lt_store_plan *plan, lt_row_copy *out)
{
    *out = (lt_row_copy){ .to = to, .plan = plan, .most = LT_MIN(plan->chunk_rows, (int64_t)LT_MIN((int)LT_COPY_ROWS, plan->rows_on_the_way)) };
    out->block = lt_malloc(LT_MAX(plan->step_bytes, (size_t)1) * (size_t)out->most);
    return out->block ? LT_OK : LT_ERR_MEMORY;
}

void lt_row_copy_close(lt_row_copy *c)
{
    lt_free(c->block);
    c->block = NULL;
}

static lt_status copy_parts(lt_row_copy *c, lt_row_reader *from, int64_t first, int n)
{
    for (int i = 0; i < LT_PART_OUTPUT; i++) {
        const lt_part_plan *part = &c->plan->part[i];
        if (!part->rank) continue;
        /* The file may hold smaller grids only: its fields lie in the middle of ours. */
        int64_t grid = i == LT_PART_FIELD ? lt_dataset_get_info(from->d).grid : 0;
        int64_t values = grid ? LT_FIELD_CHANNELS * grid * grid : (int64_t)(part->row_bytes / sizeof(float));
        for (int k = 0; k < n; k++) {
            const float *row;
            LT_TRY(lt_row_reader_get(from, (lt_part)i, part->path, first + k, values, &row));
            if (grid) lt_store_pad(row, LT_FIELD_CHANNELS, (int)grid, (int)c->plan->grid, c->open[k]->part[i]);
            else memcpy(c->open[k]->part[i], row, part->row_bytes);
        }
    }
    return LT_OK;
}

static lt_status copy_steps(lt_row_copy *c, lt_dataset *from, int64_t first, int n)
{
    int64_t grid = lt_dataset_get_info(from).grid, row = c->plan->realizations * LT_FIELD_CHANNELS * grid * grid;
    for (int64_t t = 0; t < c->plan->n_steps; t++) {
        LT_TRY(lt_dataset_read_step(from, first, n, t, c->block, n * row));
        for (int k = 0; k < n; k++) LT_TRY(lt_store_row_step(c->to, c->open[k], c->block + k * row, (int)grid));
    }
    return LT_OK;
}

lt_status lt_row_copy_run(lt_row_copy *c, lt_row_reader *from, const lt_row_status *status, int64_t first, int n, const int64_t *to)
{
    int taken = 0;
    lt_status st = LT_OK;
    for (; taken < n && !st; taken++) st = lt_store_row_take(c->to, to[taken], &c->open[taken]);
    if (st) taken--;
    if (!st) st = copy_steps(c, from->d, first, n);
    if (!st) st = copy_parts(c, from, first, n);
    for (int k = 0; k < taken; k++) {
        lt_store_row *r = c->open[k];
        if (st) {
            lt_store_row_drop(c->to, r);
            continue;
        }
        r->code = (uint8_t)status->code[first + k];
        r->step = (int32_t)status->step[first + k];
        r->seconds = status->seconds[first + k];
        const char *device = status->device ? status->device[first + k] : lt_dataset_get_info(from->d).device;
        memcpy(r->device, device, strnlen(device, sizeof r->device));
        st = lt_store_row_put(c->to, r);
    }
    return st;
}
