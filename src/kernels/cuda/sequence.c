/* Kernels made of several parts. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/sequence.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/cuda/cuda.h"

#include <string.h>

typedef struct sequence_part {
    lt_kernel   *kernel;         /* NULL: a fill, or a copy when `copies` */
    lt_part_arg *arg;            /* owned; NULL: as they are */
    lt_part_arg  to, from;
    bool         copies;
    int          byte;
    size_t       bytes;
} sequence_part;

struct lt_sequence {
    lt_kernel base;
    sequence_part *part;
    int       n_parts, max_parts;
    lt_kernel *packs;            /* the part whose operand can be packed beforehand, or NULL */
    char      name[];
};

static void *place(const lt_kernel *k, void *const *arg, lt_part_arg at)
{
    if (at.from == LT_SEQUENCE_FAULT) return ((const lt_cuda *)k->module)->fault;
    return (char *)arg[at.from == LT_SEQUENCE_SCRATCH ? k->n_args : at.from] + at.offset;
}

static lt_status enqueue(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    const lt_sequence *s = (const lt_sequence *)k;
    for (int i = 0; i < s->n_parts; i++) {
        const sequence_part *p = &s->part[i];
        void *own[LT_KERNEL_MAX_ARGS + 1];
        if (!p->kernel && p->copies) {
            LT_TRY(lt_stream_copy(st, place(k, arg, p->to), place(k, arg, p->from), p->bytes, LT_TRANSFER_D2D, false));
            continue;
        }
        if (!p->kernel) {
            LT_TRY(lt_stream_fill(st, place(k, arg, p->to), p->byte, p->bytes));
            continue;
        }
        int n = p->kernel->n_args + (p->kernel->scratch_bytes ? 1 : 0);
        for (int j = 0; p->arg && j < n; j++) own[j] = place(k, arg, p->arg[j]);
        LT_TRY(lt_stream_launch(st, &(lt_launch){ p->kernel, p->arg ? own : (void **)(uintptr_t)arg }));
    }
    return LT_OK;
}

static void destroy(lt_kernel *k)
{
    lt_sequence *s = (lt_sequence *)k;
    for (int i = 0; i < s->n_parts; i++) {
        lt_kernel_destroy(s->part[i].kernel);
        lt_free(s->part[i].arg);
    }
    lt_free(s->part);
    lt_free(s);
}

void lt_sequence_destroy(lt_sequence *s) { if (s) destroy(&s->base); }

lt_status lt_sequence_create(lt_device *dev, const char *name, int n_args, lt_sequence **out)
{
    size_t bytes = strlen(name) + 1;
    *out = lt_calloc(1, sizeof **out + bytes);
    if (!*out) return LT_FAIL(LT_ERR_MEMORY, "no memory for kernel '%s'", name);
    memcpy((*out)->name, name, bytes);
    (*out)->base = (lt_kernel){ .name = (*out)->name, .enqueue = enqueue, .destroy = destroy, .n_args = n_args, .module = dev->state };
    return LT_OK;
}

size_t lt_sequence_scratch(lt_sequence *s, size_t bytes)
{
    size_t at = s->base.scratch_bytes;
    s->base.scratch_bytes = at + (bytes + 255) / 256 * 256;
    return at;
}

static lt_status add_part(lt_sequence *s, sequence_part p)
{
    if (s->n_parts == s->max_parts) {
        int more = s->max_parts ? 2 * s->max_parts : 4;
        sequence_part *grown = lt_realloc(s->part, (size_t)more * sizeof *grown);
        if (!grown) return LT_FAIL(LT_ERR_MEMORY, "no memory for part %d of kernel '%s'", s->n_parts + 1, s->name);
        s->part = grown;
        s->max_parts = more;
    }
    s->part[s->n_parts++] = p;
    s->base.uncapturable = s->base.uncapturable || (p.kernel && p.kernel->uncapturable);
    s->base.flops += p.kernel ? p.kernel->flops : 0;
    s->base.bytes += p.kernel ? p.kernel->bytes : p.copies ? 2 * (double)p.bytes : (double)p.bytes;
    return LT_OK;
}

lt_status lt_sequence_add(lt_sequence *s, lt_kernel *k, const lt_part_arg *arg)
{
    sequence_part p = { .kernel = k };
    size_t bytes = (size_t)(k->n_args + (k->scratch_bytes ? 1 : 0)) * sizeof *arg;
    lt_status status = LT_OK;
    if (arg) {
        p.arg = lt_malloc(LT_MAX(bytes, 1));
        if (p.arg) memcpy(p.arg, arg, bytes);
        else status = LT_FAIL(LT_ERR_MEMORY, "no memory for the arguments of '%s'", k->name);
    }
    if (!status) status = add_part(s, p);
    if (status) {
        lt_kernel_destroy(k);
        lt_free(p.arg);
    }
    return status;
}

lt_status lt_sequence_add_fill(lt_sequence *s, lt_part_arg at, int byte, size_t bytes)
{
    return add_part(s, (sequence_part){ .to = at, .byte = byte, .bytes = bytes });
}

lt_status lt_sequence_add_copy(lt_sequence *s, lt_part_arg to, lt_part_arg from, size_t bytes)
{
    return add_part(s, (sequence_part){ .copies = true, .to = to, .from = from, .bytes = bytes });
}

static lt_status queue_pack(const lt_kernel *k, lt_stream *st, const void *operand, void *packed)
{
    lt_kernel *inner = ((const lt_sequence *)k)->packs;
    inner->packed = packed;
    return inner->queue_pack(inner, st, operand, packed);
}

void lt_sequence_forward_pack(lt_sequence *s, lt_kernel *k)
{
    if (!k->queue_pack) return;
    s->packs = k;
    s->base.queue_pack = queue_pack;
    s->base.pack_arg = k->pack_arg;
    s->base.packed_bytes = k->packed_bytes;
}

lt_status lt_sequence_finish(lt_sequence *s, lt_status status, lt_kernel **out)
{
    *out = status ? NULL : &s->base;
    if (!status && s->n_parts == 1 && s->part[0].kernel && !s->part[0].arg && !s->base.scratch_bytes) {
        *out = s->part[0].kernel;
        s->n_parts = 0;
        destroy(&s->base);
    } else if (status) {
        lt_sequence_destroy(s);
    }
    return status;
}

lt_status lt_sequence_nothing(lt_device *dev, const char *name, int n_args, lt_kernel **out)
{
    lt_sequence *s;
    LT_TRY(lt_sequence_create(dev, name, n_args, &s));
    return lt_sequence_finish(s, LT_OK, out);
}
