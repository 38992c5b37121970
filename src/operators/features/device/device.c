/* Features of rollouts measured on a device: memory, launches of a step, records copied to the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/features/device/device.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/memory.h"
#include "operators/features/stream.h"
#include "operators/features/device/kernels.h"

#include <stdio.h>
#include <string.h>

#define RECORDS_LIMIT_BYTES ((size_t)256 << 20)
#define ALIGNED(bytes) (((bytes) + 255) & ~(size_t)255)

struct lt_device_features {
    lt_device        *dev;
    int64_t           realizations, steps;
    lt_feature_shape  shape;
    lt_kernel        *one[LT_FEATURE_LAUNCHES], *several[LT_FEATURE_LAUNCHES]; /* states a launch: one, shape.together */
    void             *memory;                     /* of the device, one piece */
    size_t            memory_bytes;
    void             *buffer[LT_FEATURE_BUFFERS]; /* in it; NULL for what the caller brings */
    lt_host_memory    records;                    /* (T, M) of lt_state_record on the host */
    int64_t           copied;                     /* steps whose records are on the host, or on their way */
};

bool lt_device_features_fit(const lt_feature_set *s, int grid, int64_t realizations, int64_t steps, char why[static 160])
{
    if (!lt_feature_set_takes_records(s, why)) return false;
    if (!lt_feature_grid_fits(grid)) {
        snprintf(why, 160, "a grid of %d: up to %d without a prime factor above 7 are measured on the device", grid, LT_FEATURE_MAX_GRID);
        return false;
    }
    if ((double)realizations * (double)steps * (double)sizeof(lt_state_record) <= (double)RECORDS_LIMIT_BYTES) return true;
    snprintf(why, 160, "records of %lld realizations and %lld steps take more than %zu MiB", (long long)realizations, (long long)steps,
             RECORDS_LIMIT_BYTES >> 20);
    return false;
}

/* ---- Making one ---------------------------------------------------------------------------------------- */
static size_t device_bytes(const lt_feature_shape *s)
{
    size_t bytes = 0;
    for (int i = 0; i < LT_FEATURE_BUFFERS; i++) bytes += ALIGNED(s->bytes[i]);
    return bytes;
}

lt_status lt_device_features_need(const lt_feature_set *s, int grid, int64_t realizations, int64_t steps, int64_t *bytes)
{
    lt_field_plan *plan;
    lt_feature_shape shape;
    LT_TRY(lt_field_plan_create(s, grid, &plan));
    lt_feature_shape_make(plan, realizations, steps, &shape);
    lt_field_plan_destroy(plan);
    *bytes = (int64_t)device_bytes(&shape);
    return LT_OK;
}

static lt_status make_memory(lt_device_features *f)
{
    f->memory_bytes = device_bytes(&f->shape);
    LT_TRY(lt_device_alloc(f->dev, NULL, f->memory_bytes, "features", &f->memory));
    char *at = f->memory;
    for (int i = 0; i < LT_FEATURE_BUFFERS; i++) {
        if (f->shape.bytes[i]) f->buffer[i] = at;
        at += ALIGNED(f->shape.bytes[i]);
    }
    return lt_host_memory_create(f->dev, f->shape.bytes[LT_FEATURE_RECORDS], LT_PIN_ALWAYS, &f->records);
}

static lt_status upload_tables(lt_device_features *f, const lt_field_plan *plan)
{
    void *table[LT_FEATURE_BUFFERS] = { NULL };
    size_t bytes = 0;
    for (int i = LT_FEATURE_FIRST_TABLE; i < LT_FEATURE_FIRST_PART; i++) bytes += ALIGNED(f->shape.bytes[i]);
    char *block = lt_calloc(1, bytes), *at = block;
    if (!block) return LT_ERR_MEMORY;
    for (int i = LT_FEATURE_FIRST_TABLE; i < LT_FEATURE_FIRST_PART; i++) {
        table[i] = at;
        at += ALIGNED(f->shape.bytes[i]);
    }
    lt_feature_tables_fill(plan, table);
    lt_stream *st = lt_device_stream(f->dev);
    lt_status s = lt_stream_copy(st, f->buffer[LT_FEATURE_FIRST_TABLE], block, bytes, LT_TRANSFER_H2D, false); /* tables lie side by side */
    if (!s) s = lt_stream_sync(st);
    lt_free(block);
    return s;
}

lt_status lt_device_features_create(lt_device *dev, const lt_feature_set *s, int grid, int64_t realizations, int64_t steps,
                                    lt_device_features **out)
{
    char why[160];
    lt_field_plan *plan;
    *out = NULL;
    if (!lt_device_features_fit(s, grid, realizations, steps, why)) return LT_FAIL(LT_ERR_UNSUPPORTED, "features on %s: %s", dev->id, why);
    LT_TRY(lt_field_plan_create(s, grid, &plan));
    lt_device_features *f = lt_calloc(1, sizeof *f);
    lt_status status = f ? LT_OK : LT_ERR_MEMORY;
    if (f) {
        f->dev = dev;
        f->realizations = realizations;
        f->steps = steps;
        lt_feature_shape_make(plan, realizations, steps, &f->shape);
    }
    if (!status) status = lt_feature_kernels_build(dev, &f->shape, f->one, f->several);
    if (!status) status = make_memory(f);
    if (!status) status = upload_tables(f, plan);
    lt_field_plan_destroy(plan);
    if (status) lt_device_features_destroy(f);
    else *out = f;
    return status;
}

lt_status lt_device_features_prepare(lt_device *dev, const lt_feature_set *s, int grid, int64_t realizations, int64_t steps)
{
    lt_device_features f = { .dev = dev };
    lt_field_plan *plan;
    LT_TRY(lt_field_plan_create(s, grid, &plan));
    lt_feature_shape_make(plan, realizations, steps, &f.shape);
    lt_field_plan_destroy(plan);
    lt_status status = lt_feature_kernels_build(dev, &f.shape, f.one, f.several);
    lt_feature_kernels_destroy(f.one);
    lt_feature_kernels_destroy(f.several);
    return status;
}

void lt_device_features_destroy(lt_device_features *f)
{
    if (!f) return;
    lt_feature_kernels_destroy(f->one);
    lt_feature_kernels_destroy(f->several);
    (void)lt_device_free(f->dev, NULL, f->memory);
    lt_host_memory_release(&f->records);
    lt_free(f);
}

int64_t lt_device_features_bytes(const lt_device_features *f) { return (int64_t)f->memory_bytes; }

/* ---- A run ----------------------------------------------------------------------------------------------- */
static lt_status measure(const lt_device_features *f, lt_stream *st, lt_kernel *const kernel[], const float *now, const float *before, const int64_t *t)
{
    void *buffer[LT_FEATURE_BUFFERS];
    memcpy(buffer, f->buffer, sizeof buffer);
    buffer[LT_FEATURE_NOW] = (void *)(uintptr_t)now;
    buffer[LT_FEATURE_BEFORE] = (void *)(uintptr_t)before;
    buffer[LT_FEATURE_STEP] = (void *)(uintptr_t)t;
    for (int i = 0; i < LT_FEATURE_LAUNCHES; i++) {
        const lt_feature_launch *l = &lt_feature_launches[i];
        void *arg[LT_FEATURE_MAX_ARGS];
        for (int k = 0; k < l->n_args; k++) arg[k] = buffer[l->arg[k]];
        LT_TRY(lt_stream_launch(st, &(lt_launch){ kernel[i], arg }));
    }
    return LT_OK;
}

/* st is the rollout's own stream (decision 83). */
static lt_status measure_states(void *ctx, lt_stream *st, const lt_state_view *view)
{
    const lt_device_features *f = ctx;
    int64_t stride = lt_state_stride(f->realizations, f->shape.grid), together = f->shape.together;
    for (int64_t i = 0; i < view->n;) {
        bool many = view->n - i >= together;
        const float *now = view->now + i * stride;
        LT_TRY(measure(f, st, many ? f->several : f->one, now, i ? now - stride : view->before, view->t + i));
        i += many ? together : 1;
    }
    return LT_OK;
}

static lt_status begin(void *ctx, lt_stream *st)
{
    (void)st;
    ((lt_device_features *)ctx)->copied = 0;
    return LT_OK;
}

static lt_state_record *records_of(const lt_device_features *f, int64_t t) { return (lt_state_record *)f->records.at + t * f->realizations; }

static lt_status copy_records(void *ctx, lt_stream *copies, int64_t t, int64_t n)
{
    lt_device_features *f = ctx;
    const lt_state_record *from = f->buffer[LT_FEATURE_RECORDS];
    f->copied = t + n;
    return lt_stream_copy(copies, records_of(f, t), from + t * f->realizations, (size_t)(n * f->realizations) * sizeof *from, LT_TRANSFER_D2H, f->records.pinned);
}

/* What no sink has asked for: without one, all records at the end (decision 82). */
static lt_status copy_rest(void *ctx, lt_stream *st)
{
    const lt_device_features *f = ctx;
    return f->copied < f->steps ? copy_records(ctx, st, f->copied, f->steps - f->copied) : LT_OK;
}

lt_state_reader lt_device_features_reader(lt_device_features *f)
{
    return (lt_state_reader){ .ctx = f, .begin = begin, .states = measure_states, .end = copy_rest, .copy = copy_records };
}

const lt_state_record *lt_device_features_records(const lt_device_features *f) { return records_of(f, 0); }

lt_status lt_device_features_push(const lt_device_features *f, lt_feature_stream *s, int64_t t)
{
    return lt_feature_stream_push_records(s, t, records_of(f, t));
}
