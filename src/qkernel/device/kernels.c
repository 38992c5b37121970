/* The kernels of a circuit on a device, from the texts of this folder. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/circuits/circuits.h"

#include "base/hash.h"
#include "base/status.h"
#include "kernels/cuda/builder.h"

#include <stdio.h>
#include <string.h>

extern const char lt_text_tile_job_h[], lt_text_rows_job_h[], lt_text_tile_job_cuh[], lt_text_states_cuh[], lt_text_states_cu[], lt_text_states_two_cu[], lt_text_closed_cu[], lt_text_overlap_shape_cuh[], lt_text_overlap_tiles_cuh[],
    lt_text_overlap_f64_cu[], lt_text_overlap_f32_cu[], lt_text_overlap_plain_cu[];

enum { STATES_THREADS = 256, CLOSED_SIDE = 16, PRODUCT_TILE = 64, PLAIN_FROM_QUBITS = 4, SLICE = 4096 /* as overlap_tiles.cuh */, CHUNK = 1 << LT_CHUNK_WIRES };
enum { TWO_STAGES_FROM = 10 }; /* qubits: below, most of a block per state would idle */

/* ---- texts ---- */

/* Of half numbers, for one of numbers split in two: overlap_f32.cu. */
static int products_of(const lt_kernel_request *q) { return q->one_product ? 1 : 3; }

static const char *type_name(bool single) { return single ? "float" : "double"; }

/* What every text that fills tiles of K wants to know. */
static void define_result(lt_text *t, const lt_kernel_request *q)
{
    lt_text_define_as(t, "K_TYPE", type_name(q->k_single));
    lt_text_define(t, "NORMALIZE", q->normalize);
    lt_text_define(t, "REPAIR", q->repair);
    lt_text_define(t, "REAL_PART", q->real_part);
}

enum { MAX_PARTS = 5 };
typedef struct parts { const char *part[MAX_PARTS]; } parts; /* of a text, one after the other; NULL ends */

static void add_parts(lt_text *t, parts p)
{
    for (int i = 0; i < MAX_PARTS && p.part[i]; i++) lt_text_part(t, p.part[i]);
}

typedef struct launch_shape { unsigned blocks, threads; size_t shared_bytes; int n_args; } launch_shape;

static void add(lt_builder *b, const lt_text *t, const char *entry, const char *name, launch_shape s, lt_kernel **out)
{
    lt_builder_add(b, t, &(lt_kernel_key){ .name = name, .entry = entry, .n_args = s.n_args, .grid = { s.blocks }, .block = { s.threads }, .shared_bytes = s.shared_bytes }, out);
}

/* Blocks that stay and take work until there is none: all that fit at once. */
static unsigned resident_blocks(const lt_device_info *info, int per_multiprocessor) { return (unsigned)(LT_MAX(1, info->cores) * per_multiprocessor); }

/* ---- states ---- */

/* The chunk, tables of four wires each, and the gates of one stage: as states.cu lays them out. */
static size_t chunk_shared_bytes(int q)
{
    size_t group = q < 4 ? 256 : (size_t)CHUNK >> LT_MIN(q, LT_CHUNK_WIRES), nibbles = ((size_t)q + 3) / 4;
    return 16 * (size_t)CHUNK + (q >= 8 ? group * nibbles * 16 * 16 : 0) + group * (size_t)q * sizeof(lt_su2);
}

/* Tables at their end and one wire before, and the gates: as states_two.cu lays them out. */
static size_t two_stages_shared_bytes(int q)
{
    int left = q / 2, right = q - left;
    return 16 * (((size_t)4 << left) + ((size_t)4 << right) + ((size_t)8 << (right - 1))) + 2 * (size_t)q * sizeof(lt_su2);
}

/* Tensor cores multiply such numbers since sm_80 (decision 364). */
static bool has_tensor_tiles(const lt_builder *b, const lt_kernel_request *q) { return q->q >= PLAIN_FROM_QUBITS && lt_device_generation(b->dev) >= 80; }

/* States end as pairs of half numbers, for overlaps of them. */
static bool splits(const lt_builder *b, const lt_kernel_request *q) { return q->single && q->overlaps && has_tensor_tiles(b, q); }

static lt_text *states_text(lt_builder *b, const lt_kernel_request *q, const char *body)
{
    lt_text *t = lt_builder_text(b);
    lt_text_define(t, "Q", q->q);
    lt_text_define_as(t, "REAL_T", type_name(q->single));
    lt_text_define(t, "SPLIT", splits(b, q) ? products_of(q) : 0);
    lt_text_define(t, "REAL_PART", q->real_part);
    add_parts(t, (parts){ { lt_text_rows_job_h, lt_text_states_cuh, body } });
    return t;
}

static void add_two_stages(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    size_t shared = two_stages_shared_bytes(q->q);
    unsigned blocks = resident_blocks(info, (int)LT_MAX(1, LT_MIN(8, lt_device_shared_bytes(b->dev) / (shared + 1024))));
    lt_text *t = states_text(b, q, lt_text_states_two_cu);
    add(b, t, "two_stages", "gram states of two stages", (launch_shape){ blocks, STATES_THREADS, shared, 3 }, &k->two_stages);
}

static void add_chunks(lt_builder *b, const lt_text *t, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    size_t shared = chunk_shared_bytes(q->q);
    unsigned some = resident_blocks(info, shared > ((size_t)96 << 10) ? 1 : 2), many = resident_blocks(info, 8);
    add(b, t, "chunks", "gram states", (launch_shape){ some, STATES_THREADS, shared, 5 }, &k->chunks);
    if (splits(b, q)) add(b, t, "split_pairs", "gram split pairs", (launch_shape){ many, STATES_THREADS, 0, 2 }, &k->split_pairs);
    if (q->q > LT_CHUNK_WIRES) add(b, t, "high_wires", "gram high wires", (launch_shape){ many, STATES_THREADS, 0, 4 }, &k->high_wires);
}

static void add_states(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    unsigned many = resident_blocks(info, 8);
    bool one_pass = q->two_stages && q->q >= TWO_STAGES_FROM && two_stages_shared_bytes(q->q) <= lt_device_shared_bytes(b->dev);
    lt_text *t = states_text(b, q, lt_text_states_cu);
    add(b, t, "fuse_gates", "gram fuse gates", (launch_shape){ many, STATES_THREADS, 0, 7 }, &k->fuse_gates);
    add(b, t, "permute", "gram permute", (launch_shape){ many, STATES_THREADS, 0, 5 }, &k->permute);
    if (q->normalize) add(b, t, "state_roots", "gram norms", (launch_shape){ many, STATES_THREADS, 0, 4 }, &k->roots);
    if (one_pass) add_two_stages(b, info, q, k);
    else add_chunks(b, t, info, q, k);
}

/* What is done to states of circuits of any gates once they are made. */
static void add_ends(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    const launch_shape many = { resident_blocks(info, 8), STATES_THREADS, 0, 2 }, roots = { many.blocks, STATES_THREADS, 0, 4 };
    if (!splits(b, q) && !q->normalize) return;
    lt_text *t = states_text(b, q, lt_text_states_cu);
    if (splits(b, q)) add(b, t, "split_pairs", "gram split pairs", many, &k->split_pairs);
    if (q->normalize) add(b, t, "state_roots", "gram norms", roots, &k->roots);
}

/* ---- tiles of overlaps ---- */

/* Measured on an H200; docs/performance.md has the table. */
static lt_tile_shape usual_shape(const lt_kernel_request *q)
{
    if (q->single) return (lt_tile_shape){ 2, 2, 2, 4, 16, 3, 2 };
    if (q->q < 10) return (lt_tile_shape){ 2, 2, 2, 4, 8, 4, 2 };
    return (lt_tile_shape){ 2, 2, 2, 4, 16, 2, 2 };
}

/* Stages of rows of 16 bytes an amplitude or pair of them, 8 where half numbers stand alone. */
static size_t shared_bytes(const lt_kernel_request *q, const lt_tile_shape *s)
{
    size_t amplitudes = (size_t)((s->depth + 4) * s->stages * (16 * s->fragments_m * s->warps_m + 8 * s->fragments_n * s->warps_n));
    return amplitudes * (q->one_product ? 8 : 16);
}

static parts overlap_parts(bool single)
{
    return (parts){ { lt_text_tile_job_h, lt_text_tile_job_cuh, lt_text_overlap_shape_cuh, single ? lt_text_overlap_f32_cu : lt_text_overlap_f64_cu,
                      lt_text_overlap_tiles_cuh } };
}

uint64_t lt_gram_tiles_digest(bool single)
{
    parts p = overlap_parts(single);
    uint64_t digest = 0;
    for (int i = 0; i < MAX_PARTS; i++) digest = lt_hash64(p.part[i], strlen(p.part[i]), digest);
    return digest;
}

/* As many stages as are of use, and fit with the blocks of a multiprocessor, which have little more than one of them may have. length: of a state, in units of 16 bytes. */
static lt_tile_shape fit_shape(const lt_device *dev, const lt_kernel_request *q, int length)
{
    lt_tile_shape s = q->shape ? *q->shape : usual_shape(q);
    while (s.depth > length) s.depth /= 2;
    s.stages = LT_MAX(2, LT_MIN(s.stages, length / s.depth + 1)); /* overlap_tiles.cuh */
    while (s.stages > 2 && (size_t)s.blocks * shared_bytes(q, &s) > lt_device_shared_bytes(dev)) s.stages--;
    return s;
}

static void define_shape(lt_text *t, const lt_tile_shape *s)
{
    lt_text_define(t, "WARPS_M", s->warps_m);
    lt_text_define(t, "WARPS_N", s->warps_n);
    lt_text_define(t, "FRAGMENTS_M", s->fragments_m);
    lt_text_define(t, "FRAGMENTS_N", s->fragments_n);
    lt_text_define(t, "DEPTH", s->depth);
    lt_text_define(t, "STAGES", s->stages);
    lt_text_define(t, "BLOCKS", s->blocks);
}

static void add_tensor_tiles(lt_builder *b, lt_text *t, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    int length = q->single ? 1 << (q->q - 1) : 1 << q->q; /* in units of 16 bytes */
    lt_tile_shape s = fit_shape(b->dev, q, length);
    k->meets = length > SLICE;
    k->tile_rows = 16 * s.fragments_m * s.warps_m;
    k->tile_columns = 8 * s.fragments_n * s.warps_n;
    lt_text_define(t, "AMPLITUDES", length);
    define_shape(t, &s);
    if (q->single) lt_text_define(t, "PRODUCTS", products_of(q));
    add_parts(t, overlap_parts(q->single));
    k->precision = !q->single ? LT_GRAM_FLOAT64 : q->one_product ? LT_GRAM_FLOAT16 : LT_GRAM_FLOAT32;
    snprintf(k->name, sizeof k->name, "%s_tensor_%dx%d", !q->single ? "overlap3_f64" : q->one_product ? "overlap_f16" : "overlap_f32", k->tile_rows,
             k->tile_columns);
    add(b, t, "overlap", k->name, (launch_shape){ resident_blocks(info, s.blocks), (unsigned)(32 * s.warps_m * s.warps_n), shared_bytes(q, &s), 6 }, &k->tiles);
}

static void add_overlaps(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    lt_text *t = lt_builder_text(b);
    define_result(t, q);
    if (has_tensor_tiles(b, q)) {
        add_tensor_tiles(b, t, info, q, k);
        return;
    }
    lt_text_define(t, "AMPLITUDES", 1ll << q->q);
    lt_text_define_as(t, "REAL_T", type_name(q->single));
    add_parts(t, (parts){ { lt_text_tile_job_h, lt_text_tile_job_cuh, lt_text_overlap_plain_cu } });
    k->tile_rows = k->tile_columns = CLOSED_SIDE;
    k->precision = q->single ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64; /* nothing is split here */
    snprintf(k->name, sizeof k->name, "overlap_%s_plain", q->single ? "f32" : "f64");
    add(b, t, "overlap", k->name, (launch_shape){ resident_blocks(info, 8), CLOSED_SIDE * CLOSED_SIDE, 0, 6 }, &k->tiles);
}

/* ---- closed forms ---- */

static void add_closed(lt_builder *b, const lt_device_info *info, const lt_kernel_request *q, lt_gram_kernels *k)
{
    bool transfer = q->method == LT_GRAM_TRANSFER;
    unsigned blocks = resident_blocks(info, transfer ? 1 : 2), many = resident_blocks(info, 8);
    lt_text *t = lt_builder_text(b);
    lt_text_define(t, "Q", q->q);
    lt_text_define(t, "COMPONENTS", q->components);
    lt_text_define(t, "PARITY_RING", q->parity_ring);
    define_result(t, q);
    add_parts(t, (parts){ { lt_text_rows_job_h, lt_text_tile_job_h, lt_text_tile_job_cuh, lt_text_closed_cu } });
    k->tile_rows = k->tile_columns = transfer ? CLOSED_SIDE : PRODUCT_TILE;
    k->precision = LT_GRAM_FLOAT64;
    snprintf(k->name, sizeof k->name, "%s_f64_%dx%d", lt_gram_method_name(q->method), k->tile_rows, k->tile_columns);
    if (q->normalize) add(b, t, "wire_roots", "gram norms", (launch_shape){ many, CLOSED_SIDE * CLOSED_SIDE, 0, 4 }, &k->roots);
    if (!q->program) add(b, t, "wire_numbers", "gram wire numbers", (launch_shape){ many, STATES_THREADS, 0, 6 }, &k->wire_numbers);
    add(b, t, transfer ? "transfer" : "product", k->name, (launch_shape){ blocks, CLOSED_SIDE * CLOSED_SIDE, 0, 6 }, &k->tiles);
}

/* ---- all of them ---- */

void lt_gram_kernels_destroy(lt_gram_kernels *k)
{
    lt_kernel *all[] = { k->fuse_gates, k->two_stages, k->chunks, k->high_wires, k->permute, k->split_pairs, k->coefficients, k->sweep, k->adjoint,
                         k->adjoint_sums, k->lambda_weights, k->lambda_states, k->bloch, k->wire_numbers, k->roots, k->tiles };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_kernel_destroy(all[i]);
    *k = (lt_gram_kernels){ 0 };
}

lt_status lt_gram_kernels_build(lt_device *dev, const lt_kernel_request *q, lt_gram_kernels *out)
{
    lt_device_info info = { .size = sizeof info };
    lt_builder b = lt_builder_begin(dev);
    *out = (lt_gram_kernels){ 0 };
    LT_TRY(lt_device_describe(dev, &info));
    if (q->program) lt_circuit_kernels_add(&b, &info, q, out);
    if (q->method == LT_GRAM_STATES) {
        if (q->program) add_ends(&b, &info, q, out);
        else add_states(&b, &info, q, out);
        add_overlaps(&b, &info, q, out);
    } else {
        add_closed(&b, &info, q, out);
    }
    return lt_builder_finish(&b, lt_device_pool(dev));
}
