/* Rows on the device: states, and the numbers of closed forms. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/circuits/circuits.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/rows/rows.h"

#include <string.h>

/* Features go up in parts of this size; gates for as many rows are held at a time. */
enum { UPLOAD_BYTES = 16 << 20, GATE_BYTES = 64 << 20, JOBS_BYTES = 1 << 16 };
/* Long states go through several kernels; as many rows at a time as keep these busy. */
enum { GROUP_BYTES = 2000000000 };

/* ---- jobs: small structs for kernels, in a ring: none is changed while a kernel reads it ---- */

lt_status lt_row_maker_job(lt_row_maker *m, const void *job, size_t bytes, void **out)
{
    size_t room = (bytes + 63) / 64 * 64;
    if (room > JOBS_BYTES) return LT_FAIL(LT_ERR_INTERNAL, "gram: %zu bytes of jobs, room for %d", bytes, JOBS_BYTES);
    if (m->jobs_used + room > JOBS_BYTES) { /* all of them have been read by then */
        LT_TRY(lt_stream_sync(m->stream));
        m->jobs_used = 0;
    }
    char *from = (char *)m->host_jobs.at + m->jobs_used, *to = (char *)m->jobs.at + m->jobs_used;
    memcpy(from, job, bytes);
    m->jobs_used += room;
    *out = to;
    return lt_stream_copy(m->stream, to, from, bytes, LT_TRANSFER_H2D, m->host_jobs.pinned);
}

/* ---- the circuit's tables ---- */

typedef struct table { size_t at, bytes; const void *from; void **to; } table;

static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

static lt_status upload(lt_row_maker *m, void *to, const void *from, size_t bytes) { return lt_host_ring_upload(&m->upload, m->stream, to, from, bytes); }

/* Gates and address maps, stage after stage, as the texts index them. */
static lt_status upload_stages(lt_row_maker *m, int *kinds, lt_su2 *fixed, uint32_t *low, uint32_t *high)
{
    int q = m->circuit->q, low_bits = (q + 1) / 2;
    for (int64_t s = 0; s < m->n_stages; s++) {
        const lt_stage *stage = &m->stages[s];
        kinds[s] = (stage->embed ? 1 : 0) + (stage->gate ? 2 : 0);
        for (int k = 0; k < q; k++) fixed[s * q + k] = stage->gate ? stage->gate[k] : (lt_su2){ 1, 0, 0, 0 };
        memcpy(low + ((size_t)s << low_bits), stage->ring->low, sizeof *low << low_bits);
        memcpy(high + ((size_t)s << (q - low_bits)), stage->ring->high, sizeof *high << (q - low_bits));
    }
    size_t n = (size_t)m->n_stages;
    LT_TRY(upload(m, m->tables.kinds, kinds, n * sizeof *kinds));
    LT_TRY(upload(m, m->tables.fixed, fixed, n * (size_t)q * sizeof *fixed));
    LT_TRY(upload(m, m->tables.low, low, n * sizeof *low << low_bits));
    return upload(m, m->tables.high, high, n * sizeof *high << (q - low_bits));
}

/* Places for everything that stays, one after the other. */
static lt_status lay_out(lt_row_maker *m)
{
    size_t q = (size_t)m->circuit->q, n = (size_t)m->n_stages, low = (q + 1) / 2;
    bool states = m->circuit->q <= LT_STATES_MAX_QUBITS;
    lt_circuit_tables *t = &m->tables;
    table all[] = {
        { 0, sizeof(double), NULL, &t->scale }, { 0, 2 * sizeof(double), NULL, &t->jitter }, { 0, sizeof(int), NULL, &t->ryrz }, { 0, 8 * sizeof(int), NULL, &t->bits },
        { 0, q * sizeof(lt_su2), NULL, &t->gates }, { 0, n * sizeof(int), NULL, &t->kinds }, { 0, n * q * sizeof(lt_su2), NULL, &t->fixed },
        { 0, states ? n * sizeof(uint32_t) << low : 1, NULL, &t->low }, { 0, states ? n * sizeof(uint32_t) << (q - low) : 1, NULL, &t->high },
    };
    size_t bytes = 0;
    for (size_t i = 0; i < LT_LEN(all); i++) {
        all[i].at = bytes;
        bytes += aligned(LT_MAX(all[i].bytes, (size_t)1));
    }
    LT_TRY(lt_device_block_reserve(m->dev, &t->memory, bytes, "gram circuit"));
    for (size_t i = 0; i < LT_LEN(all); i++) *all[i].to = (char *)t->memory.at + all[i].at;
    return LT_OK;
}

static lt_status upload_circuit(lt_row_maker *m)
{
    const lt_layers *c = m->circuit;
    int ryrz = c->embed == LT_EMBED_RYRZ, bits[8];
    for (int i = 0; i < 8; i++) bits[i] = LT_CHUNK_WIRES + LT_WIRES_AT_ONCE * i;
    LT_TRY(lay_out(m));
    LT_TRY(upload(m, m->tables.jitter, (double[]){ m->jitter, 0 }, 2 * sizeof(double)));
    if (c->program) return lt_circuit_rows_open(m, c->program, !m->of_states);
    LT_TRY(upload(m, m->tables.scale, &c->scale, sizeof c->scale));
    LT_TRY(upload(m, m->tables.ryrz, &ryrz, sizeof ryrz));
    LT_TRY(upload(m, m->tables.bits, bits, sizeof bits));
    LT_TRY(upload(m, m->tables.gates, c->gates, (size_t)c->q * sizeof *c->gates));
    if (!m->n_stages) return LT_OK;
    size_t q = (size_t)c->q, n = (size_t)m->n_stages, low = (q + 1) / 2;
    int *kinds = lt_malloc(n * sizeof *kinds);
    lt_su2 *fixed = lt_malloc(n * q * sizeof *fixed);
    uint32_t *maps = lt_malloc((n * sizeof *maps << low) + (n * sizeof *maps << (q - low)));
    lt_status s = kinds && fixed && maps ? upload_stages(m, kinds, fixed, maps, maps + (n << low)) : LT_ERR_MEMORY;
    lt_free(kinds);
    lt_free(fixed);
    lt_free(maps);
    return s;
}

lt_status lt_row_maker_open(lt_row_maker *m, lt_device *dev, lt_stream *st, const lt_layers *c, const lt_gram_kernels *k,
                            const lt_row_maker_options *opt)
{
    m->dev = dev;
    m->stream = st;
    m->circuit = c;
    m->kernels = k;
    m->single = opt->single;
    m->jitter = opt->jitter;
    m->timed = opt->timed;
    m->pool = opt->pool;
    m->of_states = opt->of_states;
    for (int i = 0; i < 2; i++) LT_TRY(lt_event_create(dev, &m->sent[i]));
    LT_TRY(lt_host_ring_open(dev, &(lt_ring_options){ UPLOAD_BYTES, 1, opt->page_locked ? LT_PIN_ALWAYS : LT_PIN_NEVER, false }, &m->upload));
    LT_TRY(lt_host_memory_create(dev, JOBS_BYTES, LT_PIN_ALWAYS, &m->host_jobs));
    LT_TRY(lt_device_block_reserve(dev, &m->jobs, JOBS_BYTES, "gram jobs"));
    return upload_circuit(m);
}

void lt_row_maker_close(lt_row_maker *m)
{
    if (!m->dev) return;
    (void)lt_stream_sync(m->stream);
    lt_circuit_rows_close(m);
    lt_device_block *all[] = { &m->tables.memory, &m->x, &m->coefficients, &m->spare, &m->jobs };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_device_block_release(m->dev, all[i]);
    lt_host_ring_close(&m->upload);
    lt_host_memory_release(&m->host_jobs);
    for (int i = 0; i < 2; i++) lt_event_destroy(m->sent[i]);
    *m = (lt_row_maker){ 0 };
}

/* ---- features ---- */

void lt_row_maker_reset(lt_row_maker *m)
{
    m->launches = m->sent_bytes = 0;
    m->sent_ns = 0;
    m->sending = false;
}

lt_status lt_row_maker_sent(lt_row_maker *m)
{
    double ns;
    if (!m->sending) return LT_OK;
    m->sending = false;
    LT_TRY(lt_event_sync(m->sent[1]));
    LT_TRY(lt_event_elapsed(m->sent[0], m->sent[1], &ns));
    m->sent_ns += ns;
    return LT_OK;
}

/* Rows as they are, in double, one after the other. */
size_t lt_row_maker_stage(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, size_t at)
{
    int64_t q = m->circuit->q;
    double *to = (double *)((char *)m->upload.memory.at + at);
    if (x->dtype == LT_F64 && (x->step == 0 || x->step == q))
        memcpy(to, (const double *)x->data + first * q, (size_t)(n * q) * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < q; k++) to[i * q + k] = lt_rows_at(x, first + i, k);
    return (size_t)(n * q) * sizeof *to;
}

static lt_status upload_rows(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n)
{
    int64_t q = m->circuit->q, at_once = LT_MAX(1, (int64_t)(m->upload.slot_bytes / sizeof(double)) / q);
    size_t bytes = (size_t)(n * q) * sizeof(double);
    m->sent_bytes += (int64_t)bytes;
    LT_TRY(lt_device_block_reserve(m->dev, &m->x, bytes, "gram features"));
    if (m->staged) {
        const char *from = (const char *)m->upload.memory.at + m->staged_at;
        m->staged_at += bytes;
        return lt_stream_copy(m->stream, m->x.at, from, bytes, LT_TRANSFER_H2D, m->upload.memory.pinned);
    }
    LT_TRY(lt_row_maker_sent(m));
    if (m->timed) LT_TRY(lt_event_record(m->sent[0], m->stream));
    for (int64_t row = 0; row < n; row += at_once) {
        lt_ring_slot *s;
        LT_TRY(lt_host_ring_take(&m->upload, &s));
        size_t part = lt_row_maker_stage(m, x, first + row, LT_MIN(at_once, n - row), 0);
        LT_TRY(lt_host_ring_send(&m->upload, s, m->stream, (double *)m->x.at + row * q, part));
    }
    if (m->timed) LT_TRY(lt_event_record(m->sent[1], m->stream));
    m->sending = m->timed;
    return LT_OK;
}

static lt_status launch(lt_row_maker *m, const lt_kernel *k, void **arg)
{
    m->launches++;
    return lt_stream_launch(m->stream, &(lt_launch){ k, arg });
}

/* The device's own clock starts with the first kernel, once the features are on the device. */
lt_status lt_row_maker_begin(lt_row_maker *m)
{
    lt_event *begin = m->begin;
    m->begin = NULL;
    return begin ? lt_event_record(begin, m->stream) : LT_OK;
}

/* ---- states ---- */

/* One state group: rows of x from `row` on, whose gates are at coefficients + (row - gates_from). */
typedef struct group { int64_t row, n; void *coefficients, *to; } group;

static lt_status run_chunks(lt_row_maker *m, const group *g, void *job)
{
    return launch(m, m->kernels->chunks, (void *[]){ job, g->coefficients, m->tables.low, m->tables.high, g->to });
}

static lt_status run_high_wires(lt_row_maker *m, const group *g, void *job)
{
    for (int bit = LT_CHUNK_WIRES, i = 0; bit < m->circuit->q; bit += LT_WIRES_AT_ONCE, i++)
        LT_TRY(launch(m, m->kernels->high_wires, (void *[]){ job, (int *)m->tables.bits + i, g->coefficients, g->to }));
    return LT_OK;
}

/* States longer than a chunk: the first two stages begin with the product state, later ones with a
   permutation into spare memory and back. jobs: one per stage. */
static lt_status long_states(lt_row_maker *m, const group *g, lt_states_job *jobs)
{
    size_t bytes = (size_t)g->n << (m->circuit->q + (m->single ? 3 : 4));
    group here = *g;
    LT_TRY(run_chunks(m, &here, &jobs[0]));
    if (m->n_stages > 1) LT_TRY(run_high_wires(m, &here, &jobs[0]));
    for (int64_t s = 2; s < m->n_stages; s++) {
        LT_TRY(lt_device_block_reserve(m->dev, &m->spare, bytes, "gram spare states"));
        LT_TRY(launch(m, m->kernels->permute, (void *[]){ &jobs[m->n_stages + s], m->tables.low, m->tables.high, g->to, m->spare.at }));
        LT_TRY(lt_stream_copy(m->stream, g->to, m->spare.at, bytes, LT_TRANSFER_D2D, false));
        LT_TRY(run_chunks(m, &here, &jobs[s]));
        LT_TRY(run_high_wires(m, &here, &jobs[s]));
    }
    return LT_OK;
}

/* The jobs of groups of n rows: [0] generates and applies stage 1 (if any); [s] loads and applies stage
   s; [n_stages + s] permutes by the ring of stage s - 1. */
static lt_status upload_jobs(lt_row_maker *m, int64_t n, lt_states_job **out)
{
    int64_t stages = m->n_stages;
    lt_states_job *j = lt_malloc(2 * (size_t)stages * sizeof *j);
    if (!j) return LT_ERR_MEMORY;
    bool whole = m->circuit->q <= LT_CHUNK_WIRES;
    for (int64_t s = 0; s < stages; s++) {
        j[s] = (lt_states_job){ n, stages, s, s, 0 };
        j[stages + s] = (lt_states_job){ n, stages, LT_MAX(0, s - 1), s, 0 };
    }
    j[0] = (lt_states_job){ n, stages, 1, whole ? stages - 1 : LT_MIN(1, stages - 1), 1 };
    void *to = NULL;
    lt_status status = lt_row_maker_job(m, j, 2 * (size_t)stages * sizeof *j, &to);
    lt_free(j);
    *out = to;
    return status;
}

static lt_status make_groups(lt_row_maker *m, int64_t n, int64_t at_once, void *to)
{
    size_t row_bytes = (size_t)1 << (m->circuit->q + (m->single ? 3 : 4)), gate_bytes = (size_t)(m->n_stages * m->circuit->q) * sizeof(lt_su2);
    for (int64_t row = 0; row < n;) {
        lt_states_job *jobs;
        int64_t rest = n - row, size = LT_MIN(at_once, rest);
        LT_TRY(upload_jobs(m, size, &jobs));
        for (; n - row >= size && size > 0; row += size) { /* all groups of this size share their jobs */
            group g = { row, size, (char *)m->coefficients.at + (size_t)row * gate_bytes, (char *)to + (size_t)row * row_bytes };
            LT_TRY(m->circuit->q > LT_CHUNK_WIRES ? long_states(m, &g, jobs) : run_chunks(m, &g, jobs));
        }
    }
    return LT_OK;
}

/* Rows whose gates are on the device. job: of all of them. */
static lt_status make_states(lt_row_maker *m, int64_t n, void *job, void *to)
{
    const lt_gram_kernels *k = m->kernels;
    if (k->two_stages) return launch(m, k->two_stages, (void *[]){ job, m->coefficients.at, to });
    int64_t row_bytes = (int64_t)1 << (m->circuit->q + (m->single ? 3 : 4));
    LT_TRY(make_groups(m, n, m->circuit->q > LT_CHUNK_WIRES ? LT_MAX(1, GROUP_BYTES / row_bytes) : n, to));
    return k->split_pairs ? launch(m, k->split_pairs, (void *[]){ job, to }) : LT_OK;
}

lt_status lt_row_maker_states(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, void *to)
{
    if (m->any) return lt_circuit_rows_states(m, x, first, n, to);
    int64_t q = m->circuit->q, gates = m->n_stages * q * (int64_t)sizeof(lt_su2);
    int64_t with_gates = LT_MAX(1, GATE_BYTES / gates), row_bytes = (int64_t)1 << (q + (m->single ? 3 : 4));
    LT_TRY(lt_device_block_reserve(m->dev, &m->coefficients, (size_t)(LT_MIN(with_gates, n) * gates), "gram gates"));
    for (int64_t row = 0; row < n; row += with_gates) {
        int64_t rows = LT_MIN(with_gates, n - row);
        lt_states_job *job;
        LT_TRY(upload_rows(m, x, first + row, rows));
        LT_TRY(upload_jobs(m, rows, &job));
        LT_TRY(lt_row_maker_begin(m));
        LT_TRY(launch(m, m->kernels->fuse_gates, (void *[]){ job, m->x.at, m->tables.scale, m->tables.ryrz, m->tables.kinds, m->tables.fixed,
                                                             m->coefficients.at }));
        LT_TRY(make_states(m, rows, job, (char *)to + row * row_bytes));
    }
    return LT_OK;
}

/* ---- closed forms ---- */

lt_status lt_row_maker_wires(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, int64_t padded, void *to)
{
    void *job;
    if (m->any) return lt_circuit_rows_wires(m, x, first, n, padded, to);
    LT_TRY(upload_rows(m, x, first, n));
    LT_TRY(lt_row_maker_job(m, &(lt_closed_job){ n, padded }, sizeof(lt_closed_job), &job));
    LT_TRY(lt_row_maker_begin(m));
    return launch(m, m->kernels->wire_numbers, (void *[]){ job, m->x.at, m->tables.scale, m->tables.ryrz, m->tables.gates, to });
}

/* ---- both ---- */

lt_status lt_row_maker_roots(lt_row_maker *m, int64_t n, int64_t padded, const void *rows, bool jitter, void *roots)
{
    void *job;
    if (m->of_states) LT_TRY(lt_row_maker_job(m, &(lt_states_job){ .n_rows = n }, sizeof(lt_states_job), &job));
    else LT_TRY(lt_row_maker_job(m, &(lt_closed_job){ n, padded }, sizeof(lt_closed_job), &job));
    return launch(m, m->kernels->roots, (void *[]){ job, (double *)m->tables.jitter + !jitter, (void *)(uintptr_t)rows, roots });
}
