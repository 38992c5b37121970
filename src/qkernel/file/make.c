/* K grows in a file: what is there already, whose turn it is, tiles by all ranks, its name when it is whole. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/run.h"

#include "base/alloc.h"
#include "base/files/npy.h"
#include "base/sized.h"
#include "base/status.h"
#include "kernels/arithmetic.h"
#include "kernels/fused.h"
#include "qkernel/file/claim.h"
#include "qkernel/rows/rows.h"
#include "trace/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void lt_gram_file_defaults_into(lt_gram_file_options *out) { LT_GIVE(out, &(lt_gram_file_options){ .size = sizeof(lt_gram_file_options) }); }

/* ---- Is it possible ------------------------------------------------------------------------------------------------------------------------ */

static lt_status check_kernel(const lt_file_run *r)
{
    const lt_similarity_options *k = &r->g->similarity;
    if (r->g->program && k->shots) return LT_FAIL(LT_ERR_ARGUMENT, "gram in a file: draws (shots) need the whole matrix in one process");
    if (r->g->program && k->kind == LT_SIMILARITY_PROJECTED && !(k->gamma > 0))
        return LT_FAIL(LT_ERR_ARGUMENT, "gram in a file: a projected kernel takes its gamma from all rows: give gamma");
    return r->y && r->g->opt.packed ? LT_FAIL(LT_ERR_ARGUMENT, "gram: a packed triangle was asked for, but with Y the matrix is not symmetric") : LT_OK;
}

/* Sums are cut by the depth of tiles, which a tuning file may choose. */
static void describe_shape(const lt_file_run *r, char *text, size_t bytes)
{
    const lt_tile_shape *s = r->g->n_devices && r->method == LT_GRAM_STATES ? lt_device_gram_shape(r->g->on_device[0]) : NULL;
    size_t at = strlen(text);
    if (s) snprintf(text + at, bytes - at, ", tuned depth %d", s->depth);
}

/* What the last bits of entries depend on, beside the matrix. */
static lt_status describe_kind(lt_file_run *r, char *text, size_t bytes)
{
    lt_gram *g = r->g;
    char reason[160];
    lt_device_info d = { .size = sizeof d };
    lt_plan_request q = { .opt = &g->opt, .circuit = &g->circuit, .isa = g->isa, .n = r->layout.n, .m = r->layout.m, .cross = r->y != NULL, .transfer_from = g->transfer_from,
                          .transfer_reason = g->transfer_reason, .stored = g->stored, .real_part = g->similarity.kind == LT_SIMILARITY_REAL };
    LT_TRY(lt_plan_method(&q, &r->method, reason, sizeof reason));
    LT_TRY(lt_device_describe(g->dev, &d));
    snprintf(text, bytes, "%s, %s, %s %s", lt_gram_method_name(r->method), lt_gram_float_name(g->opt.dtype), lt_device_kind(g->dev), g->n_devices ? d.name : lt_isa_name(lt_isa_best()));
    describe_shape(r, text, bytes);
    return LT_OK;
}

static lt_status prepare(lt_file_run *r, const char *path)
{
    lt_gram *g = r->g;
    static const char *const ending[] = { "", ".tiles", ".part", ".part.tiles", ".part.states" };
    if (!r->opt.digest || strlen(r->opt.digest) != LT_GRAM_DIGEST_BYTES - 1) return LT_FAIL(LT_ERR_ARGUMENT, "gram in a file: no digest; lt_gram_digest makes one");
    if (r->opt.memory_bytes < 0 || r->opt.side < 0)
        return LT_FAIL(LT_ERR_ARGUMENT, "gram in a file: memory_bytes is %lld and side %lld, expected 0 or more", (long long)r->opt.memory_bytes,
                       (long long)r->opt.side);
    LT_TRY(lt_gram_check_rows(g, "X", r->x));
    if (r->y) LT_TRY(lt_gram_check_rows(g, "Y", r->y));
    LT_TRY(check_kernel(r));
    for (size_t i = 0; i < LT_LEN(ending); i++) {
        size_t bytes = strlen(path) + strlen(ending[i]) + 1;
        r->path[i] = lt_malloc(bytes);
        if (!r->path[i]) return LT_ERR_MEMORY;
        snprintf(r->path[i], bytes, "%s%s", path, ending[i]);
    }
    r->layout = lt_layout_of(r->x->n, r->y ? r->y->n : r->x->n, !r->y, g->opt.packed, g->opt.return_dtype == LT_GRAM_FLOAT32);
    return describe_kind(r, r->info.kind, sizeof r->info.kind);
}

/* All ranks have the same X, weights and options, devices of one kind and what else last bits depend on (decision 400). */
static lt_status agree_on_matrix(lt_file_run *r, lt_status s)
{
    char text[256];
    lt_arithmetic a;
    snprintf(text, sizeof text, "%s %lld %lld %d %d %d %lld", r->opt.digest ? r->opt.digest : "", (long long)r->layout.n, (long long)r->layout.m, r->layout.packed, r->layout.f32, r->opt.resume,
             (long long)r->opt.side);
    LT_TRY(lt_cluster_agree(r->c, s, "matrix", text, strlen(text)));
    LT_TRY(lt_cluster_agree_on_text(r->c, LT_OK, "kind of device", r->info.kind));
    if (lt_cluster_size(r->c) == 1) return LT_OK;
    LT_TRY(lt_cluster_agree(r->c, lt_arithmetic_describe(r->g->dev, r->g->n_devices > 0, &a), "number of libraries", &a.n, sizeof a.n));
    for (int i = 0; i < a.n; i++) LT_TRY(lt_cluster_agree_on_text(r->c, LT_OK, a.trait[i].what, a.trait[i].text));
    return LT_OK;
}

/* ---- Memory -------------------------------------------------------------------------------------------------------------------------------- */

enum { LEAST_SIDE = 16, MOST_SIDE = 4096, TILES_ACROSS = 32 };
static const double PROGRAM_BYTES = 96e6; /* the program, its libraries and what MPI holds */

/* What a rank holds beside what lt_gram_fill packs. */
static double held_bytes(const lt_file_run *r, int64_t side)
{
    size_t each = lt_layout_entry(&r->layout);
    lt_layout l = r->layout;
    l.side = side;
    double tiles = 2.0 * (double)side * (double)side * (double)each + 2.0 * (double)(lt_layout_stripe(&l)) * (double)each;
    double rows = (double)(r->x->n * r->x->columns) * (double)lt_dtype_size(r->x->dtype);
    if (r->y) rows += (double)(r->y->n * r->y->columns) * (double)lt_dtype_size(r->y->dtype);
    return tiles + rows + (r->g->opt.normalize && !r->y ? 2.0 * 8 * (double)r->x->n : 0) + PROGRAM_BYTES;
}

static lt_status too_little(const lt_file_run *r, int64_t side)
{
    return LT_FAIL(LT_ERR_ARGUMENT, "gram in a file: tiles of %lld x %lld need %.3g GiB for each rank, rows included, and half as much again for packed rows; the memory is %.3g GiB: give more, or leave ranks out", (long long)side,
                   (long long)side, held_bytes(r, side) / (1 << 30), (double)r->memory / (1 << 30));
}

static lt_status choose_memory(lt_file_run *r)
{
    lt_device_info host = { .size = sizeof host };
    lt_cluster_info i = lt_cluster_get_info(r->c);
    r->memory = r->opt.memory_bytes;
    if (r->memory) return LT_OK;
    LT_TRY(lt_device_list(0, &host));
    r->memory = host.memory_free_bytes / 2 / i.local_ranks;
    return LT_OK;
}

/* A power of two: 32 tiles or so across, so that ranks can be dealt equal shares, and two thirds of the memory at most. */
static lt_status choose_side(lt_file_run *r)
{
    int64_t longest = LT_MAX(r->layout.n, r->layout.m), side = 64;
    while (side < MOST_SIDE && side * TILES_ACROSS < longest) side *= 2;
    if (r->opt.side) side = r->opt.side;
    else while (side > LEAST_SIDE && 1.5 * held_bytes(r, side) > (double)r->memory) side /= 2;
    r->layout.side = LT_MIN(side, longest);
    return LT_OK;
}

static lt_status check_memory(lt_file_run *r)
{
    double held = held_bytes(r, r->layout.side);
    if (1.5 * held > (double)r->memory) return too_little(r, r->layout.side);
    r->g->memory_limit = r->memory - (int64_t)held;
    return LT_OK;
}

/* ---- Tiles ----------------------------------------------------------------------------------------------------------------------------------- */

static lt_status take(void *ctx, int rank, int64_t unit, int kind, const void *data, size_t bytes)
{
    lt_file_run *r = ctx;
    uint64_t sum;
    if (unit < 0 || unit >= r->tiles || bytes != sizeof sum) return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent tile %lld with %zu bytes", rank, (long long)unit, bytes);
    memcpy(&sum, data, sizeof sum);
    lt_tile t = lt_layout_tile(&r->layout, unit);
    atomic_fetch_add(&r->tiles_done, 1);
    atomic_fetch_add(&r->pairs_done, t.n_rows * t.n_columns);
    r->info.made += kind == LT_TILE_MADE;
    r->info.kept += kind == LT_TILE_KEPT;
    return kind == LT_TILE_MADE ? lt_table_put(r->table, &r->head, unit, sum) : LT_OK;
}

static lt_status order_tiles(lt_file_run *r, int64_t **unit, double **cost)
{
    *unit = lt_malloc((size_t)r->tiles * sizeof **unit);
    *cost = lt_malloc((size_t)r->tiles * sizeof **cost);
    if (!*unit || !*cost) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < r->tiles; i++) {
        lt_tile t = lt_layout_tile(&r->layout, i);
        bool have = r->entry && lt_table_has(&r->entry[i]);
        (*unit)[i] = i;
        (*cost)[i] = (double)(t.n_rows * t.n_columns) * (have ? 0.1 : 1);
        r->pairs_total += t.n_rows * t.n_columns;
    }
    return LT_OK;
}

static lt_status run_tiles(lt_file_run *r)
{
    int64_t *unit = NULL;
    double *cost = NULL;
    lt_work *work;
    lt_status s = lt_cluster_agree(r->c, order_tiles(r, &unit, &cost), "tiles", NULL, 0);
    if (!s) s = lt_work_begin(r->c, &(lt_work_plan){ .unit = unit, .cost = cost, .n = r->tiles, .take = take, .ctx = r, .drain = r->opt.drain }, &work);
    if (!s) {
        s = lt_tiler_run(r, work);
        s = lt_work_end(work, s);
    }
    lt_free(unit);
    lt_free(cost);
    return s;
}

/* The handle computes plain tiles: packing and normalising are of the whole matrix, and so is the method, which `auto` would choose by the size of a tile. */
static lt_status run_plain(lt_file_run *r)
{
    lt_gram *g = r->g;
    lt_gram_options kept = g->opt;
    g->opt.packed = false;
    g->opt.method = r->method;
    g->planned = false;
    g->keeps_rows = true;
    lt_status s = LT_OK;
    if (!lt_cluster_rank(r->c) && !r->resumes) (void)unlink(r->path[LT_PATH_STATES]); /* of an earlier run; its sums would not fit either */
    LT_TRY(lt_cluster_barrier(r->c));
    if (r->tiles > 1 && !g->n_devices) g->shared = lt_shared_states_open(r->path[LT_PATH_STATES], r->opt.digest, r->x, r->y, r->layout.side);
    if (kept.normalize && !r->y) {
        g->opt.normalize = false;
        s = lt_roots_make(r);
    }
    if (!s) s = run_tiles(r);
    r->info.states_made = lt_shared_states_made(g->shared);
    r->info.states_taken = lt_shared_states_taken(g->shared);
    lt_shared_states_close(g->shared);
    g->shared = NULL;
    g->opt = kept;
    g->planned = g->keeps_rows = false;
    return s;
}

/* ---- The whole ------------------------------------------------------------------------------------------------------------------------------- */

/* The others learn what rank 0 found: tiles of an earlier run, and their side. */
static lt_status share_state(lt_file_run *r)
{
    int64_t state[3] = { r->layout.side, r->is_whole, r->resumes };
    LT_TRY(lt_cluster_broadcast(r->c, state, sizeof state));
    r->layout.side = state[0];
    r->is_whole = state[1];
    r->resumes = state[2];
    r->tiles = lt_layout_tiles(&r->layout);
    if (r->is_whole) return LT_OK;
    lt_status s = check_memory(r);
    if (!s && r->resumes && !r->entry && !(r->entry = lt_malloc((size_t)r->tiles * sizeof *r->entry))) s = LT_ERR_MEMORY;
    LT_TRY(lt_cluster_agree(r->c, s, "memory", NULL, 0));
    return r->resumes ? lt_cluster_broadcast(r->c, r->entry, (size_t)r->tiles * sizeof *r->entry) : LT_OK;
}

static lt_status begin_file(lt_file_run *r)
{
    lt_shape shape = r->layout.packed ? lt_shape1(r->layout.n * (r->layout.n + 1) / 2) : lt_shape2(r->layout.n, r->layout.m);
    lt_npy_head head = lt_npy_header_format(r->layout.f32 ? LT_F32 : LT_F64, &shape);
    struct stat st;
    if (lt_cluster_rank(r->c) || r->resumes) return LT_OK;
    if (!stat(r->path[LT_PATH_DONE], &st)) (void)fchmod(r->file.fd, st.st_mode & 0777); /* what it replaces hands its mode on */
    LT_TRY(lt_region_reserve(r->part, lt_layout_bytes(&r->layout)));
    LT_TRY(lt_region_write(r->part, 0, head.s, head.n));
    return lt_table_begin(r->table, &r->head);
}

static lt_status open_file(lt_file_run *r)
{
    LT_TRY(lt_region_open(r->c, r->path[LT_PATH_PART], lt_layout_bytes(&r->layout), r->resumes, &r->part));
    r->file = (lt_open_file){ lt_region_fd(r->part), r->path[LT_PATH_PART] };
    return lt_cluster_agree(r->c, begin_file(r), "file", NULL, 0);
}

/* Of all ranks. */
static lt_status count_states(lt_file_run *r)
{
    int64_t own[2] = { r->info.states_made, r->info.states_taken }, *all = lt_calloc((size_t)lt_cluster_size(r->c), sizeof own);
    LT_TRY(lt_cluster_agree(r->c, all ? LT_OK : LT_ERR_MEMORY, "states", NULL, 0));
    lt_status s = lt_cluster_gather(r->c, own, sizeof own, all);
    for (int i = 1; i < lt_cluster_size(r->c) && !lt_cluster_rank(r->c) && !s; i++) own[0] += all[2 * i], own[1] += all[2 * i + 1];
    if (!s) s = lt_cluster_broadcast(r->c, own, sizeof own);
    r->info.states_made = own[0];
    r->info.states_taken = own[1];
    lt_free(all);
    return s;
}

static lt_status run_all(lt_file_run *r)
{
    LT_TRY(share_state(r));
    r->info.side = r->layout.side;
    r->info.tiles = r->tiles;
    if (r->is_whole) {
        r->info.complete = true;
        r->info.kept = r->tiles;
        return LT_OK;
    }
    LT_TRY(open_file(r));
    LT_TRY(run_plain(r));
    LT_TRY(lt_cluster_agree(r->c, lt_region_sync(r->part), "file", NULL, 0));
    bool first = lt_cluster_rank(r->c) == 0;
    r->info.complete = r->info.kept + r->info.made == r->tiles;
    if (first && r->info.complete) (void)unlink(r->path[LT_PATH_STATES]);
    LT_TRY(lt_cluster_agree(r->c, first && r->info.complete ? lt_claim_finish(r) : LT_OK, "file", NULL, 0));
    LT_TRY(count_states(r));
    int64_t state[3] = { r->info.complete, r->info.kept, r->info.made };
    LT_TRY(lt_cluster_broadcast(r->c, state, sizeof state));
    r->info.complete = state[0];
    r->info.kept = state[1];
    r->info.made = state[2];
    return LT_OK;
}

static lt_status make(lt_file_run *r, const char *path)
{
    LT_TRY(agree_on_matrix(r, prepare(r, path)));
    lt_status s = choose_memory(r);
    if (!s && !lt_cluster_rank(r->c)) s = choose_side(r);
    if (!s && !lt_cluster_rank(r->c)) s = lt_claim_take(r);
    LT_TRY(lt_cluster_agree(r->c, s, "file", NULL, 0));
    return run_all(r);
}

lt_status lt_gram_fill_file(lt_gram *g, const lt_rows *x, const lt_rows *y, const char *path, const lt_gram_file_options *options, lt_gram_file_info *info)
{
    lt_file_run r = { .g = g, .x = x, .y = y, .opt = lt_gram_file_defaults(), .table = { .fd = -1 }, .file = { .fd = -1 }, .start_ns = lt_clock_ns() };
    LT_TRY(LT_TAKE(lt_gram_file_options, options, &r.opt));
    LT_TRY(LT_CHECK_SIZE(lt_gram_file_info, info));
    if (!g || !x || !path) return LT_FAIL(LT_ERR_ARGUMENT, "gram in a file: the handle, X or the path is NULL");
    r.c = r.opt.cluster;
    r.info.size = sizeof r.info;
    lt_status s = make(&r, path);
    r.info.n = r.layout.n;
    r.info.m = r.layout.m;
    r.info.ranks = lt_cluster_size(r.c);
    r.info.file_bytes = (int64_t)lt_layout_bytes(&r.layout);
    r.info.memory_bytes = r.memory;
    r.info.seconds = lt_seconds_since(r.start_ns);
    g->memory_limit = 0;
    lt_region_close(r.part);
    lt_claim_release(&r);
    lt_free(r.entry);
    lt_free(r.roots);
    for (size_t i = 0; i < LT_LEN(r.path); i++) lt_free(r.path[i]);
    LT_GIVE(info, &r.info);
    return s;
}
