/* The kernels of a circuit on a device, from the texts under qkernel/cuda. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/device/parts.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

extern const char lt_text_tile_job_cuh[], lt_text_states_cuh[], lt_text_states_cu[], lt_text_states_two_cu[], lt_text_closed_cu[], lt_text_overlap_shape_cuh[], lt_text_overlap_tiles_cuh[],
    lt_text_overlap_f64_cu[], lt_text_overlap_f32_cu[], lt_text_overlap_plain_cu[];

enum { MAX_OPTIONS = 12, STATES_THREADS = 256, CLOSED_SIDE = 16, PRODUCT_TILE = 64, PLAIN_FROM_QUBITS = 4, SLICE = 4096 /* as overlap_tiles.cuh */, CHUNK = 1 << LT_CHUNK_WIRES };
enum { TWO_STAGES_FROM = 10 }; /* qubits: below, most of a block per state would idle */

/* ---- definitions for a text ---- */

typedef struct defines {
    char        text[MAX_OPTIONS][40];
    const char *list[MAX_OPTIONS];
    int         n;
} defines;

static void define(defines *d, const char *name, long long value)
{
    snprintf(d->text[d->n], sizeof d->text[0], "-D%s=%lld", name, value);
    d->list[d->n] = d->text[d->n];
    d->n++;
}

static void define_type(defines *d, const char *name, bool single)
{
    snprintf(d->text[d->n], sizeof d->text[0], "-D%s=%s", name, single ? "float" : "double");
    d->list[d->n] = d->text[d->n];
    d->n++;
}

/* Of half numbers, for one of numbers split in two: overlap_f32.cu. */
static int products_of(const lt_kernel_request *q) { return q->one_product ? 1 : 3; }

/* What every text that fills tiles of K wants to know. */
static void define_result(defines *d, const lt_kernel_request *q)
{
    define_type(d, "K_TYPE", q->k_single);
    define(d, "NORMALIZE", q->normalize);
    define(d, "REPAIR", q->repair);
}

typedef struct launch_shape { unsigned blocks, threads; size_t shared_bytes; int n_args; } launch_shape;

enum { MAX_TEXTS = 4 };
typedef struct texts { const char *part[MAX_TEXTS]; } texts; /* one after the other; NULL ends */

static lt_status build(lt_device *dev, texts t, const char *entry, const char *name, const defines *d, launch_shape s, lt_kernel **out)
{
    size_t bytes = 1;
    for (int i = 0; i < MAX_TEXTS && t.part[i]; i++) bytes += strlen(t.part[i]);
    char *text = lt_malloc(bytes), *end = text;
    if (!text) return LT_ERR_MEMORY;
    *end = 0;
    for (int i = 0; i < MAX_TEXTS && t.part[i]; i++) end = stpcpy(end, t.part[i]);
    lt_kernel_key key = { .name = name, .source = text, .entry = entry, .options = d->list, .n_options = d->n, .n_args = s.n_args,
                          .grid = { s.blocks, 1, 1 }, .block = { s.threads, 1, 1 }, .shared_bytes = s.shared_bytes };
    lt_status status = lt_device_build(dev, &key, out);
    lt_free(text);
    return status;
}

/* Blocks that stay and take work until there is none: all that fit at once. */
static lt_status resident_blocks(lt_device *dev, int per_multiprocessor, unsigned *out)
{
    lt_device_info info = { .size = sizeof info };
    LT_TRY(lt_device_describe(dev, &info));
    *out = (unsigned)(LT_MAX(1, info.cores) * per_multiprocessor);
    return LT_OK;
}

/* What all blocks of a multiprocessor have together: 227 KiB from compute capability 9 on, 99 KiB on 8.9. */
static lt_status shared_limit(lt_device *dev, size_t *out)
{
    lt_device_info info = { .size = sizeof info };
    LT_TRY(lt_device_describe(dev, &info));
    *out = (size_t)(strstr(info.features, "sm_8") ? 99 : 227) << 10;
    return LT_OK;
}

/* ---- states ---- */

/* The chunk, tables of four wires each, and the gates of one stage: as states.cu lays them out. */
static size_t chunk_shared_bytes(int q)
{
    size_t group = (size_t)CHUNK >> LT_MIN(q, LT_CHUNK_WIRES), nibbles = ((size_t)q + 3) / 4;
    return 16 * (size_t)CHUNK + (q >= 8 ? group * nibbles * 16 * 16 : 0) + group * (size_t)q * sizeof(lt_su2);
}

/* Tables at their end and one wire before, and the gates: as states_two.cu lays them out. */
static size_t two_stages_shared_bytes(int q)
{
    int left = q / 2, right = q - left;
    return 16 * (((size_t)4 << left) + ((size_t)4 << right) + ((size_t)8 << (right - 1))) + 2 * (size_t)q * sizeof(lt_su2);
}

static lt_status build_two_stages(lt_device *dev, const lt_kernel_request *q, const defines *d, lt_remote_kernels *k)
{
    unsigned blocks;
    size_t shared = two_stages_shared_bytes(q->q), limit;
    LT_TRY(shared_limit(dev, &limit));
    LT_TRY(resident_blocks(dev, (int)LT_MAX(1, LT_MIN(8, limit / (shared + 1024))), &blocks));
    return build(dev, (texts){ { lt_text_states_cuh, lt_text_states_two_cu } }, "two_stages", "gram states of two stages", d,
                 (launch_shape){ blocks, STATES_THREADS, shared, 3 }, &k->two_stages);
}

static lt_status build_chunks(lt_device *dev, const lt_kernel_request *q, texts text, const defines *d, bool split, lt_remote_kernels *k)
{
    unsigned some, many;
    size_t shared = chunk_shared_bytes(q->q);
    LT_TRY(resident_blocks(dev, shared > ((size_t)96 << 10) ? 1 : 2, &some));
    LT_TRY(resident_blocks(dev, 8, &many));
    LT_TRY(build(dev, text, "chunks", "gram states", d, (launch_shape){ some, STATES_THREADS, shared, 5 }, &k->chunks));
    if (split) LT_TRY(build(dev, text, "split_pairs", "gram split pairs", d, (launch_shape){ many, STATES_THREADS, 0, 2 }, &k->split_pairs));
    if (q->q <= LT_CHUNK_WIRES) return LT_OK;
    return build(dev, text, "high_wires", "gram high wires", d, (launch_shape){ many, STATES_THREADS, 0, 4 }, &k->high_wires);
}

static lt_status build_states(lt_device *dev, const lt_kernel_request *q, lt_remote_kernels *k)
{
    defines d = { .n = 0 };
    unsigned many;
    bool split = q->single && q->overlaps && q->q >= PLAIN_FROM_QUBITS;
    size_t limit;
    LT_TRY(shared_limit(dev, &limit));
    LT_TRY(resident_blocks(dev, 8, &many));
    bool one_pass = q->two_stages && q->q >= TWO_STAGES_FROM && two_stages_shared_bytes(q->q) <= limit;
    define(&d, "Q", q->q);
    define_type(&d, "REAL_T", q->single);
    define(&d, "SPLIT", split ? products_of(q) : 0);
    texts text = { { lt_text_states_cuh, lt_text_states_cu } };
    LT_TRY(build(dev, text, "fuse_gates", "gram fuse gates", &d, (launch_shape){ many, STATES_THREADS, 0, 7 }, &k->fuse_gates));
    LT_TRY(build(dev, text, "permute", "gram permute", &d, (launch_shape){ many, STATES_THREADS, 0, 5 }, &k->permute));
    if (q->normalize) LT_TRY(build(dev, text, "state_roots", "gram norms", &d, (launch_shape){ many, STATES_THREADS, 0, 4 }, &k->roots));
    return one_pass ? build_two_stages(dev, q, &d, k) : build_chunks(dev, q, text, &d, split, k);
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

static texts overlap_texts(bool single)
{
    return (texts){ { lt_text_tile_job_cuh, lt_text_overlap_shape_cuh, single ? lt_text_overlap_f32_cu : lt_text_overlap_f64_cu,
                      lt_text_overlap_tiles_cuh } };
}

uint64_t lt_remote_tiles_digest(bool single)
{
    texts t = overlap_texts(single);
    uint64_t digest = 0;
    for (int i = 0; i < MAX_TEXTS; i++) digest = lt_hash64(t.part[i], strlen(t.part[i]), digest);
    return digest;
}

static lt_status build_tensor_tiles(lt_device *dev, const lt_kernel_request *q, defines *d, lt_remote_kernels *k)
{
    lt_tile_shape s = q->shape ? *q->shape : usual_shape(q);
    unsigned blocks;
    size_t limit;
    int length = q->single ? 1 << (q->q - 1) : 1 << q->q; /* in units of 16 bytes */
    LT_TRY(shared_limit(dev, &limit));
    define(d, "AMPLITUDES", length);
    k->meets = length > SLICE;
    while (s.depth > length) s.depth /= 2;
    s.stages = LT_MAX(2, LT_MIN(s.stages, length / s.depth + 1)); /* overlap_tiles.cuh */
    while (s.stages > 2 && (size_t)s.blocks * shared_bytes(q, &s) > limit) s.stages--;
    k->tile_rows = 16 * s.fragments_m * s.warps_m;
    k->tile_columns = 8 * s.fragments_n * s.warps_n;
    define(d, "WARPS_M", s.warps_m);
    define(d, "WARPS_N", s.warps_n);
    define(d, "FRAGMENTS_M", s.fragments_m);
    define(d, "FRAGMENTS_N", s.fragments_n);
    define(d, "DEPTH", s.depth);
    define(d, "STAGES", s.stages);
    define(d, "BLOCKS", s.blocks);
    LT_TRY(resident_blocks(dev, s.blocks, &blocks));
    if (q->single) define(d, "PRODUCTS", products_of(q));
    k->precision = !q->single ? LT_GRAM_FLOAT64 : q->one_product ? LT_GRAM_FLOAT16 : LT_GRAM_FLOAT32;
    snprintf(k->name, sizeof k->name, "%s_tensor_%dx%d", !q->single ? "overlap3_f64" : q->one_product ? "overlap_f16" : "overlap_f32", k->tile_rows,
             k->tile_columns);
    return build(dev, overlap_texts(q->single), "overlap", k->name, d,
                 (launch_shape){ blocks, (unsigned)(32 * s.warps_m * s.warps_n), shared_bytes(q, &s), 6 }, &k->tiles);
}

static lt_status build_overlaps(lt_device *dev, const lt_kernel_request *q, lt_remote_kernels *k)
{
    defines d = { .n = 0 };
    unsigned blocks;
    define_result(&d, q);
    if (q->q >= PLAIN_FROM_QUBITS) return build_tensor_tiles(dev, q, &d, k);
    define(&d, "AMPLITUDES", 1ll << q->q);
    define_type(&d, "REAL_T", q->single);
    k->tile_rows = k->tile_columns = CLOSED_SIDE;
    k->precision = q->single ? LT_GRAM_FLOAT32 : LT_GRAM_FLOAT64; /* nothing is split there */
    snprintf(k->name, sizeof k->name, "overlap_%s_plain", q->single ? "f32" : "f64");
    LT_TRY(resident_blocks(dev, 8, &blocks));
    return build(dev, (texts){ { lt_text_tile_job_cuh, lt_text_overlap_plain_cu } }, "overlap", k->name, &d,
                 (launch_shape){ blocks, CLOSED_SIDE * CLOSED_SIDE, 0, 6 }, &k->tiles);
}

/* ---- closed forms ---- */

static lt_status build_closed(lt_device *dev, const lt_kernel_request *q, lt_remote_kernels *k)
{
    bool transfer = q->method == LT_GRAM_TRANSFER;
    defines d = { .n = 0 };
    unsigned blocks, many;
    define(&d, "Q", q->q);
    define(&d, "COMPONENTS", q->components);
    define(&d, "PARITY_RING", q->parity_ring);
    define_result(&d, q);
    LT_TRY(resident_blocks(dev, transfer ? 1 : 2, &blocks));
    LT_TRY(resident_blocks(dev, 8, &many));
    k->tile_rows = k->tile_columns = transfer ? CLOSED_SIDE : PRODUCT_TILE;
    k->precision = LT_GRAM_FLOAT64;
    snprintf(k->name, sizeof k->name, "%s_f64_%dx%d", lt_gram_method_name(q->method), k->tile_rows, k->tile_columns);
    texts t = { { lt_text_tile_job_cuh, lt_text_closed_cu } };
    if (q->normalize) LT_TRY(build(dev, t, "wire_roots", "gram norms", &d, (launch_shape){ many, CLOSED_SIDE * CLOSED_SIDE, 0, 4 }, &k->roots));
    LT_TRY(build(dev, t, "wire_numbers", "gram wire numbers", &d, (launch_shape){ many, STATES_THREADS, 0, 6 }, &k->wire_numbers));
    return build(dev, t, transfer ? "transfer" : "product", k->name, &d,
                 (launch_shape){ blocks, CLOSED_SIDE * CLOSED_SIDE, 0, 6 }, &k->tiles);
}

/* ---- all of them ---- */

void lt_remote_kernels_destroy(lt_remote_kernels *k)
{
    lt_kernel *all[] = { k->fuse_gates, k->two_stages, k->chunks, k->high_wires, k->permute, k->split_pairs, k->wire_numbers, k->roots, k->tiles };
    for (size_t i = 0; i < LT_LEN(all); i++) lt_kernel_destroy(all[i]);
    *k = (lt_remote_kernels){ 0 };
}

lt_status lt_remote_kernels_build(lt_device *dev, const lt_kernel_request *q, lt_remote_kernels *out)
{
    *out = (lt_remote_kernels){ 0 };
    lt_status s = q->method == LT_GRAM_STATES ? build_states(dev, q, out) : LT_OK;
    if (!s) s = q->method == LT_GRAM_STATES ? build_overlaps(dev, q, out) : build_closed(dev, q, out);
    if (s) lt_remote_kernels_destroy(out);
    return s;
}
