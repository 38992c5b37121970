/* Rows of circuits on a device: values of expressions by the host, gates, phases and states by kernels. SPDX-License-Identifier: BSD-3-Clause

   The host evaluates expressions, on all threads: they are as many as features and weights make them, whatever 2^q is (decision 361). */
#include "qkernel/device/circuits/circuits.h"

#include "base/alloc.h"
#include "base/status.h"
#include "qkernel/rows/rows.h"

#include <math.h>
#include <string.h>

enum { AMPLITUDE_BYTES = 24 /* of a chunk: an amplitude and an angle */, ADJOINT_BYTES = 40 /* two amplitudes and an angle */ };
enum { STATES_THREADS = 256, COEFFICIENT_BYTES = 64 << 20 };
enum { GROUP_BYTES = 2000000000 }; /* of states that are permuted: as much memory again is taken for them */

extern const char lt_text_rows_job_h[], lt_text_sweep_job_h[], lt_text_chunk_cuh[], lt_text_sweep_cu[], lt_text_coefficients_cu[], lt_text_adjoint_cu[], lt_text_lambda_cu[], lt_text_bloch_cu[];

/* ---- kernels ---- */

/* A whole state in one chunk where that fits; beyond, a size of which two blocks run side by side where one may have 227 KiB. */
static int chunk_bits_of(const lt_device *dev, int q, size_t bytes)
{
    int bits = q <= 11 ? 11 : q == LT_SWEEP_MOST_BITS ? LT_SWEEP_MOST_BITS : 12;
    while (bits > LT_CHUNK_LEAST_BITS && bytes << bits > lt_device_shared_bytes(dev)) bits--;
    return bits;
}

static lt_kernel_key key_of(const char *name, const char *entry, unsigned blocks, unsigned threads, size_t shared)
{
    return (lt_kernel_key){ .name = name, .entry = entry, .n_args = 1, .grid = { blocks }, .block = { threads }, .shared_bytes = shared };
}

static lt_text *chunk_text(lt_builder *b, int chunk_bits, bool single, const char *body)
{
    lt_text *t = lt_builder_text(b);
    lt_text_define(t, "CHUNK_BITS", chunk_bits);
    lt_text_define_as(t, "REAL_T", single ? "float" : "double");
    const char *parts[] = { lt_text_rows_job_h, lt_text_sweep_job_h, lt_text_chunk_cuh, body };
    for (size_t i = 0; i < LT_LEN(parts); i++) lt_text_part(t, parts[i]);
    return t;
}

/* Sweeps undone, and what states are differentiated against. */
static void add_adjoint(lt_builder *b, unsigned cores, lt_gram_kernels *k)
{
    const size_t shared = (size_t)ADJOINT_BYTES << k->chunk_bits;
    const unsigned side_by_side = (unsigned)LT_MAX(1, LT_MIN(8, lt_device_shared_bytes(b->dev) / (shared + 1024)));
    lt_text *chunks = chunk_text(b, k->chunk_bits, false, lt_text_adjoint_cu), *t = lt_builder_text(b);
    lt_text_part(t, lt_text_rows_job_h);
    lt_text_part(t, lt_text_sweep_job_h);
    lt_text_part(t, lt_text_lambda_cu);
    lt_kernel_key adjoint = key_of("circuit sweep back", "adjoint", side_by_side * cores, 1u << (k->chunk_bits - 4), shared);
    lt_kernel_key sums = key_of("circuit slopes", "adjoint_sums", 8 * cores, STATES_THREADS, 0),
        weights = key_of("circuit overlaps", "lambda_weights", 8 * cores, STATES_THREADS, 0);
    lt_kernel_key lambda = key_of("circuit lambda", "lambda_states", 8 * cores, STATES_THREADS, 0);
    lt_builder_add(b, chunks, &adjoint, &k->adjoint);
    lt_builder_add(b, t, &sums, &k->adjoint_sums);
    lt_builder_add(b, t, &weights, &k->lambda_weights);
    lt_builder_add(b, t, &lambda, &k->lambda_states);
}

static void add_bloch(lt_builder *b, unsigned cores, bool single, lt_gram_kernels *k)
{
    lt_text *t = lt_builder_text(b);
    lt_text_define_as(t, "REAL_T", single ? "float" : "double");
    lt_text_part(t, lt_text_rows_job_h);
    lt_text_part(t, lt_text_sweep_job_h);
    lt_text_part(t, lt_text_bloch_cu);
    lt_kernel_key key = key_of("circuit wires", "bloch", 8 * cores, STATES_THREADS, 0);
    lt_builder_add(b, t, &key, &k->bloch);
}

void lt_circuit_kernels_add(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    const unsigned cores = (unsigned)LT_MAX(1, info->cores);
    lt_text *t = lt_builder_text(b);
    lt_text_part(t, lt_text_rows_job_h);
    lt_text_part(t, lt_text_sweep_job_h);
    lt_text_part(t, lt_text_coefficients_cu);
    lt_kernel_key coefficients = key_of("circuit coefficients", "coefficients", 8 * cores, STATES_THREADS, 0),
        vectors = key_of("circuit wires", "wire_vectors", 8 * cores, STATES_THREADS, 0);
    if (q->method != LT_GRAM_STATES) {
        lt_builder_add(b, t, &vectors, &k->wire_numbers);
        return;
    }
    lt_builder_add(b, t, &coefficients, &k->coefficients);
    const size_t each = q->adjoint ? ADJOINT_BYTES : AMPLITUDE_BYTES;
    k->chunk_bits = chunk_bits_of(b->dev, q->q, each);
    const size_t shared = each << k->chunk_bits;
    const unsigned side_by_side = (unsigned)LT_MAX(1, LT_MIN(8, lt_device_shared_bytes(b->dev) / (shared + 1024)));
    t = chunk_text(b, k->chunk_bits, q->single, lt_text_sweep_cu);
    lt_kernel_key sweep = key_of("circuit sweep", "sweep", side_by_side * cores, 1u << (k->chunk_bits - 4), shared);
    lt_builder_add(b, t, &sweep, &k->sweep);
    if (q->adjoint) add_adjoint(b, cores, k);
    if (q->bloch) add_bloch(b, cores, q->single, k);
}

/* ---- tables ---- */

typedef struct table { const void *from; size_t bytes; const void **to; } table;
static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

#define TABLE(list, type, to) { s->list.at, (size_t)s->list.n * sizeof(type), (const void **)&(to) }

static lt_status upload_tables(lt_row_maker *m)
{
    lt_circuit_rows *r = m->any;
    const lt_sweeps *s = &r->sweeps;
    const lt_circuit *c = r->program->circuit;
    const table all[] = {
        TABLE(sweep, lt_sweep, r->job.sweep), TABLE(op, lt_sweep_op, r->job.op), TABLE(group, lt_phase_group, r->job.group), TABLE(part, lt_phase_part, r->job.part),
        TABLE(map, uint32_t, r->job.map), TABLE(turn, lt_sweep_turn, r->coefficients.turn), TABLE(gate, lt_sweep_gate, r->coefficients.gate),
        TABLE(term, lt_sweep_term, r->coefficients.term), { c->number, (size_t)c->n_numbers * sizeof(double), (const void **)&r->job.number },
        { s->wire ? s->wire : r->program->factor[0].wire, (size_t)(s->wire ? c->n_qubits : s->q) * sizeof(int), (const void **)&r->coefficients.wire },
    };
    size_t bytes = 0;
    for (size_t i = 0; i < LT_LEN(all); i++) bytes += aligned(LT_MAX((size_t)1, all[i].bytes));
    LT_TRY(lt_device_block_reserve(m->dev, &r->memory, bytes, "gram circuit"));
    char *at = r->memory.at;
    for (size_t i = 0; i < LT_LEN(all); i++) {
        *all[i].to = at;
        if (all[i].bytes) LT_TRY(lt_host_ring_upload(&m->upload, m->stream, at, all[i].from, all[i].bytes));
        at += aligned(LT_MAX((size_t)1, all[i].bytes));
    }
    return LT_OK;
}

lt_status lt_circuit_rows_open(lt_row_maker *m, const lt_compiled *p, bool closed)
{
    lt_circuit_rows *r = m->any = lt_calloc(1, sizeof *r);
    if (!r) return LT_ERR_MEMORY;
    r->program = p;
    LT_TRY(closed ? lt_sweeps_closed(p, &r->sweeps) : lt_sweeps_of_states(p, m->kernels->chunk_bits, m->kernels->adjoint != NULL, &r->sweeps));
    const int64_t values = lt_sweeps_values(&r->sweeps), gates = r->sweeps.gate.n, terms = r->sweeps.term.n;
    r->job = (lt_sweep_job){ .n_values = values, .n_gates = gates, .n_terms = terms, .q = r->sweeps.q, .n_columns = r->sweeps.n_columns, .first_column = r->sweeps.slot.n };
    r->coefficients = (lt_coefficient_job){ .n_values = values, .n_gates = gates, .n_terms = terms, .n_wires = p->circuit->n_qubits };
    return upload_tables(m);
}

void lt_circuit_rows_close(lt_row_maker *m)
{
    if (!m->any) return;
    lt_sweeps_destroy(&m->any->sweeps);
    lt_device_block_release(m->dev, &m->any->memory);
    lt_free(m->any);
    m->any = NULL;
}

/* ---- values ---- */

enum { LANES = 64 }; /* rows whose expressions are evaluated together */

typedef struct valuing {
    const lt_compiled *p;
    const lt_sweeps *s;
    const lt_rows *x;
    int64_t first, n;
    double *to, *scratch;     /* scratch: of each worker */
    size_t  scratch_doubles;
} valuing;

static lt_status value_rows(void *ctx, int64_t index, int worker)
{
    const valuing *v = ctx;
    const int64_t d = v->x->columns, row = v->first + index * LANES, n = LT_MIN(LANES, v->n - index * LANES), width = lt_sweeps_values(v->s);
    double *x = v->scratch + (size_t)worker * v->scratch_doubles, *value = x + d * LANES, *to = v->to + index * LANES * width;
    const int32_t *slot = v->s->slot.at;
    for (int64_t r = 0; r < LANES; r++) {
        const int64_t from = row + LT_MIN(r, n - 1);
        const double length = v->s->n_columns ? lt_rows_length(v->x, from) : 1;
        for (int64_t k = 0; k < d; k++) x[k * LANES + r] = lt_rows_at(v->x, from, k) / length;
    }
    lt_tape_run(&v->p->tape, x, v->p->weights, LANES, value);
    for (int64_t r = 0; r < n; r++, to += width) {
        for (int32_t k = 0; k < v->s->slot.n; k++) to[k] = value[(int64_t)slot[k] * LANES + r];
        for (int64_t k = 0; k < v->s->n_columns; k++) to[v->s->slot.n + k] = x[k * LANES + r];
    }
    return LT_OK;
}

/* Values of the expressions of rows: (n, values), as kernels read them. */
static lt_status values_of_rows(const lt_compiled *p, const lt_sweeps *s, lt_pool *pool, const lt_rows *x, int64_t first, int64_t n, double *to)
{
    valuing v = { .p = p, .s = s, .x = x, .first = first, .n = n, .to = to, .scratch_doubles = (size_t)(x->columns + LT_MAX(1, p->tape.n)) * LANES };
    v.scratch = lt_malloc(v.scratch_doubles * (size_t)lt_pool_threads(pool) * sizeof *v.scratch);
    if (!v.scratch) return LT_ERR_MEMORY;
    lt_status status = lt_pool_run(pool, (n + LANES - 1) / LANES, value_rows, &v);
    lt_free(v.scratch);
    return status;
}

static lt_status upload_values(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n)
{
    const lt_circuit_rows *r = m->any;
    const int64_t width = lt_sweeps_values(&r->sweeps), at_once = LT_MAX(1, (int64_t)(m->upload.slot_bytes / sizeof(double)) / LT_MAX(1, width));
    const size_t row_bytes = (size_t)width * sizeof(double);
    LT_TRY(lt_device_block_reserve(m->dev, &m->x, LT_MAX((size_t)1, (size_t)n * row_bytes), "gram features"));
    if (width == 0) return LT_OK;
    if (row_bytes > m->upload.slot_bytes)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "gram: %lld different angles are more than a device takes for a row: give --device cpu", (long long)width);
    m->sent_bytes += (int64_t)((size_t)n * row_bytes);
    LT_TRY(lt_row_maker_sent(m));
    if (m->timed) LT_TRY(lt_event_record(m->sent[0], m->stream));
    for (int64_t row = 0; row < n; row += at_once) {
        const int64_t part = LT_MIN(at_once, n - row);
        lt_ring_slot *s;
        LT_TRY(lt_host_ring_take(&m->upload, &s));
        LT_TRY(values_of_rows(r->program, &r->sweeps, m->pool, x, first + row, part, s->at));
        LT_TRY(lt_host_ring_send(&m->upload, s, m->stream, (char *)m->x.at + (size_t)row * row_bytes, (size_t)part * row_bytes));
    }
    if (m->timed) LT_TRY(lt_event_record(m->sent[1], m->stream));
    m->sending = m->timed;
    return LT_OK;
}

/* ---- states ---- */

lt_status lt_circuit_launch(lt_row_maker *m, const lt_kernel *k, const void *job, size_t bytes)
{
    void *where;
    LT_TRY(lt_row_maker_job(m, job, bytes, &where));
    m->launches++;
    return lt_stream_launch(m->stream, &(lt_launch){ k, (void *[]){ where } });
}

/* Sweeps that read through a map go from one memory to another: the first lies so that the last one ends in `to`. */
static lt_status run_sweeps(lt_row_maker *m, const lt_sweep_job *of_rows, void *to)
{
    const lt_circuit_rows *r = m->any;
    const size_t bytes = (size_t)of_rows->n_rows << (r->sweeps.q + (m->single ? 3 : 4));
    lt_sweep_job j = *of_rows;
    if (r->sweeps.n_mapped) LT_TRY(lt_device_block_reserve(m->dev, &m->spare, bytes, "gram spare states"));
    void *here = r->sweeps.n_mapped % 2 ? m->spare.at : to, *other = r->sweeps.n_mapped % 2 ? to : m->spare.at;
    for (int32_t i = 0; i < r->sweeps.sweep.n; i++) {
        const lt_sweep *s = (const lt_sweep *)r->sweeps.sweep.at + i;
        j.from = j.to = here;
        if (s->begin == LT_SWEEP_LOAD && s->mapped) j.to = other, other = here, here = j.to;
        j.sweep = of_rows->sweep + i;
        LT_TRY(lt_circuit_launch(m, m->kernels->sweep, &j, sizeof j));
    }
    return LT_OK;
}

int64_t lt_circuit_rows_at_once(const lt_row_maker *m, int64_t n)
{
    const lt_sweeps *s = &m->any->sweeps;
    const int64_t coefficients = s->gate.n * (int64_t)sizeof(lt_su2) + s->term.n * (int64_t)sizeof(double), row_bytes = INT64_C(1) << (s->q + (m->single ? 3 : 4));
    const int64_t rows = LT_MIN(n, LT_MAX(1, COEFFICIENT_BYTES / LT_MAX(1, coefficients)));
    return s->n_mapped ? LT_MIN(rows, LT_MAX(1, GROUP_BYTES / row_bytes)) : rows;
}

lt_status lt_circuit_rows_coefficients(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, lt_sweep_job *job)
{
    lt_coefficient_job c = m->any->coefficients;
    const size_t gates = (size_t)(n * c.n_gates) * sizeof(lt_su2), terms = (size_t)(n * c.n_terms) * sizeof(double);
    *job = m->any->job;
    LT_TRY(lt_device_block_reserve(m->dev, &m->coefficients, LT_MAX((size_t)1, gates + terms), "gram gates"));
    LT_TRY(upload_values(m, x, first, n));
    c.n_rows = job->n_rows = n;
    c.value = job->value = m->x.at;
    c.gate_out = m->coefficients.at;
    c.term_out = (double *)((char *)m->coefficients.at + gates);
    job->gate = c.gate_out;
    job->term = c.term_out;
    LT_TRY(lt_row_maker_begin(m));
    return lt_circuit_launch(m, m->kernels->coefficients, &c, sizeof c);
}

lt_status lt_circuit_rows_states(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, void *to)
{
    const int64_t at_once = lt_circuit_rows_at_once(m, n), row_bytes = INT64_C(1) << (m->any->sweeps.q + (m->single ? 3 : 4));
    for (int64_t row = 0; row < n; row += at_once) {
        lt_sweep_job j;
        LT_TRY(lt_circuit_rows_coefficients(m, x, first + row, LT_MIN(at_once, n - row), &j));
        LT_TRY(run_sweeps(m, &j, (char *)to + row * row_bytes));
    }
    if (!m->kernels->split_pairs) return LT_OK;
    const lt_states_job all = { .n_rows = n };
    void *where;
    LT_TRY(lt_row_maker_job(m, &all, sizeof all, &where));
    m->launches++;
    return lt_stream_launch(m->stream, &(lt_launch){ m->kernels->split_pairs, (void *[]){ where, to } });
}

/* ---- wires that never meet ---- */

lt_status lt_circuit_rows_wires(lt_row_maker *m, const lt_rows *x, int64_t first, int64_t n, int64_t padded, void *to)
{
    lt_coefficient_job c = m->any->coefficients;
    LT_TRY(upload_values(m, x, first, n));
    c.n_rows = n;
    c.padded_rows = padded;
    c.value = m->x.at;
    c.wire_out = to;
    LT_TRY(lt_row_maker_begin(m));
    return lt_circuit_launch(m, m->kernels->wire_numbers, &c, sizeof c);
}
