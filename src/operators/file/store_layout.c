/* What a dataset file holds: arrays, extents, chunks. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/store_internal.h"

#include "base/status.h"

#include <inttypes.h>
#include <string.h>

/* HDF5 keeps chunk sizes in 32 bits. */
#define MAX_CHUNK_BYTES ((uint64_t)UINT32_MAX)

static void set_part(lt_part_plan *part, const char *path, int rank, const int64_t *dim)
{
    part->path = path;
    part->rank = rank;
    part->row_bytes = sizeof(float);
    for (int k = 0; k < rank; k++) {
        part->dim[k] = part->chunk[k] = dim[k];
        part->row_bytes *= (size_t)dim[k];
    }
}

static void set_parts(lt_store_plan *p)
{
    const int64_t m = p->realizations, t = p->steps, c = LT_FIELD_CHANNELS, g = p->grid, s = p->summary_columns;
    set_part(&p->part[LT_PART_FIELD], "/inputs/fields", 3, (int64_t[]){ c, g, g });
    if (p->temporal_columns)
        set_part(&p->part[LT_PART_TEMPORAL], "/features/temporal/features", 2, (int64_t[]){ t, p->temporal_columns });
    if (s) {
        set_part(&p->part[LT_PART_PER_TRAJECTORY], "/features/summary/per_trajectory/features", 2, (int64_t[]){ m, s });
        set_part(&p->part[LT_PART_AGGREGATED], "/features/summary/aggregated/features", 1, (int64_t[]){ 3 * s });
    }
    if (p->learned_columns)
        set_part(&p->part[LT_PART_LEARNED], "/features/summary/learned/features", 1, (int64_t[]){ p->learned_columns });
    if (p->initial_columns)
        set_part(&p->part[LT_PART_INITIAL], "/features/initial/aggregated/features", 1, (int64_t[]){ p->initial_columns });
    if (p->manual_columns) set_part(&p->part[LT_PART_INITIAL_MANUAL], "/features/initial/manual/features", 1, (int64_t[]){ p->manual_columns });
    if (p->cnn_columns) set_part(&p->part[LT_PART_INITIAL_CNN], "/features/initial/cnn/features", 1, (int64_t[]){ p->cnn_columns });
    if (p->architecture_columns)
        set_part(&p->part[LT_PART_ARCHITECTURE], "/features/architecture/aggregated/features", 1, (int64_t[]){ p->architecture_columns });
    if (!p->outputs) return;
    lt_part_plan *out = &p->part[LT_PART_OUTPUT];
    if (t > 1) set_part(out, "/outputs/fields", 5, (int64_t[]){ m, t, c, g, g });
    else set_part(out, "/outputs/fields", 4, (int64_t[]){ m, c, g, g });
    for (int k = 0; k < out->rank - 3; k++) out->chunk[k] = 1; /* one state a chunk */
}

/* K at most N, and small enough that no chunk outgrows the format. */
static lt_status clamp_chunk_rows(lt_store_plan *p)
{
    uint64_t largest = 0;
    for (int i = 0; i < LT_PART_COUNT; i++) {
        uint64_t bytes = p->part[i].rank ? sizeof(float) : 0;
        for (int k = 0; k < p->part[i].rank; k++) bytes *= (uint64_t)p->part[i].chunk[k];
        largest = LT_MAX(largest, bytes);
    }
    if (largest > MAX_CHUNK_BYTES)
        return LT_FAIL(LT_ERR_ARGUMENT, "one row of the dataset has an array of %" PRIu64 " bytes, HDF5 chunks hold at most %" PRIu64, largest,
                       MAX_CHUNK_BYTES);
    p->chunk_rows = LT_MIN(p->chunk_rows, p->rows);
    p->chunk_rows = LT_MIN(p->chunk_rows, (int64_t)(MAX_CHUNK_BYTES / LT_MAX(largest, (uint64_t)1)));
    return LT_OK;
}

lt_status lt_store_plan_finish(lt_store_plan *p)
{
    if (p->rows < 1 || p->chunk_rows < 1) return LT_FAIL(LT_ERR_ARGUMENT, "dataset of %" PRId64 " rows in chunks of %" PRId64, p->rows, p->chunk_rows);
    if (!p->rows_on_the_way) p->rows_on_the_way = 4;
    set_parts(p);
    LT_TRY(clamp_chunk_rows(p));
    p->n_steps = p->outputs ? p->steps : 0;
    p->step_bytes = p->outputs ? p->part[LT_PART_OUTPUT].row_bytes / (size_t)p->steps : 0;
    p->rest_bytes = 16; /* code, step, seconds */
    for (int i = 0; i < LT_PART_OUTPUT; i++) {
        p->part[i].offset = (size_t)p->n_steps * p->step_bytes + p->rest_bytes;
        p->rest_bytes += p->part[i].row_bytes;
    }
    return LT_OK;
}

void lt_store_operator_path(const lt_store_plan *p, int i, char path[160])
{
    snprintf(path, 160, "/features/summary/operator_sensitivity_inline/%.100s", p->part[LT_PART_PER_TRAJECTORY].names[p->first_operator_column + i]);
}

uint64_t lt_store_plan_bytes(const lt_store_plan *p)
{
    uint64_t bytes = 0;
    for (int i = 0; i < LT_PART_COUNT; i++) bytes += (uint64_t)p->rows * p->part[i].row_bytes;
    return bytes + (uint64_t)p->rows * (uint64_t)(4 * p->parameters + 3 * 24 + 4 + 9);
}

void lt_store_pad(const float *field, int planes, int grid, int to_grid, float *out)
{
    int low = (to_grid - grid) / 2;
    memset(out, 0, sizeof *out * (size_t)planes * (size_t)to_grid * (size_t)to_grid);
    for (int c = 0; c < planes; c++)
        for (int y = 0; y < grid; y++)
            memcpy(out + ((size_t)c * (size_t)to_grid + (size_t)(low + y)) * (size_t)to_grid + low,
                   field + ((size_t)c * (size_t)grid + (size_t)y) * (size_t)grid, (size_t)grid * sizeof *out);
}
