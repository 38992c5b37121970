/* lathe-bench gram: Gram matrices by method, size, qubits, tiles and switches, one change at a time.
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/commands.h"
#include "bench/gram/gram.h"

#include "bench/peer/peers.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef enum sweep { SWEEP_METHODS, SWEEP_SIZES, SWEEP_QUBITS, SWEEP_TILES, SWEEP_ABLATION, SWEEP_CHECK, SWEEP_TARGETS, SWEEP_LIMITS, SWEEP_COMPARE,
                     SWEEP_CIRCUITS, SWEEP_AUTO } sweep;
static const char *const sweep_names[] = { "methods", "sizes", "qubits", "tiles", "ablation", "check", "targets", "limits", "compare", "circuits", "auto", NULL };

static const lt_option rows[] = {
    LT_OPTION_ENUM(gram_bench_options, sweep, "sweep", "methods", sweep_names,
                   "what changes from row to row; check compares methods and looks for numbers that are not finite; targets are the promised times of a GPU; limits "
                   "set the product method against the cores' arithmetic and the memory's writing; compare sets every method against states on "
                   "the CPU: squares and cross kernels, raw, normalised, centred; circuits: states, kernels and gradients of named maps, on the CPU; auto: "
                   "what method auto takes against the best one, over a grid of sizes"),
    LT_OPTION_INT(gram_bench_options, n, "n", "1000", LT_RANGE_CLOSED(1, 100000), "N", "rows of X"),
    LT_OPTION_INT(gram_bench_options, qubits, "qubits", "10", LT_RANGE_CLOSED(1, 24), "Q", "qubits"),
    LT_OPTION_INT(gram_bench_options, layers, "layers", "2", LT_RANGE_CLOSED(1, 100), "L", "layers, re-embedded"),
    LT_OPTION_INT(gram_bench_options, repeats, "repeats", "5", LT_RANGE_CLOSED(1, GRAM_MAX_REPEATS), "N", "timed calls per row, taken in turns"),
    LT_OPTION_BOOL(gram_bench_options, large, "large", "false", "targets: also the row of 100000 rows, which needs 80 GB of memory"),
    LT_OPTION_LIST(gram_bench_options, only, "only", "NAME", "targets: these rows only: T1 to T10, or how a row's name begins, such as 'states float32'"),
    LT_OPTION_PATH(gram_bench_options, peer, "peer", NULL, "FILE.json", "targets: timings of another framework, as bench/peers/torch_gram.py writes them"),
    LT_OPTION_BOOL(gram_bench_options, quick, "quick", "false", "small sizes, two repeats: a look, not a figure to keep"),
    LT_OPTION_PATH(gram_bench_options, csv, "csv", NULL, "FILE.csv", "write one line per row"),
    LT_OPTION_PATH(gram_bench_options, report, "report", NULL, "FILE.html", "write a page with the results"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe-bench gram", .summary = "Time Gram matrices by method, size, qubits, tiles and switches",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe-bench gram --sweep sizes --qubits 12 --csv sizes.csv",
};

/* ---- the rows of a sweep ---- */

static gram_row *add(gram_bench *b, int64_t n, int64_t q, const char *format, ...) __attribute__((format(printf, 4, 5)));
static gram_row *add(gram_bench *b, int64_t n, int64_t q, const char *format, ...)
{
    gram_row *r = &b->row[b->n_rows < GRAM_MAX_ROWS ? b->n_rows++ : GRAM_MAX_ROWS - 1];
    va_list ap;
    *r = (gram_row){ .n = n, .q = q, .layers = b->o->layers, .opt = lt_gram_defaults() };
    r->opt.re_embed_between_layers = true;
    r->opt.method = LT_GRAM_STATES; /* the headline; closed forms are rows of their own */
    va_start(ap, format);
    vsnprintf(r->label, sizeof r->label, format, ap);
    va_end(ap);
    return r;
}

static void add_methods(gram_bench *b, int64_t n, int64_t q)
{
    add(b, n, q, "states float64");
    add(b, n, q, "states float32")->opt.dtype = LT_GRAM_FLOAT32;
    if (!gram_on_cpu(b)) add(b, n, q, "states float16")->opt.dtype = LT_GRAM_FLOAT16;
    if (b->o->layers == 2) add(b, n, q, "transfer")->opt.method = LT_GRAM_TRANSFER;
    gram_row *r = add(b, n, q, "states, no re-embedding");
    r->opt.re_embed_between_layers = false;
    r = add(b, n, q, "product, no re-embedding");
    r->opt.re_embed_between_layers = false;
    r->opt.method = LT_GRAM_PRODUCT;
}

/* Rows that fit: 0.85 of the memory for states of three planes and for K, as the pipeline's own tool sizes its sweeps. */
static int64_t safe_rows(gram_bench *b, int64_t n, int64_t q)
{
    lt_device_info info = { .size = sizeof info };
    if (lt_device_describe(b->c->device, &info)) return n;
    double memory = 0.85 * (double)info.memory_free_bytes, states = memory / (1.5 * ldexp(16, (int)q)), square = sqrt(memory / 16);
    return (int64_t)fmax(fmin((double)n, fmin(states, square)), 100);
}

bool gram_on_cpu(const gram_bench *b) { return cli_on_cpu(b->c->device); }

static void add_tiles(gram_bench *b, int64_t n, int64_t q)
{
    add(b, n, q, "defaults");
    for (int64_t t = 64; t <= 2048 && gram_on_cpu(b); t *= 2) add(b, n, q, "tile size %lld", (long long)t)->opt.tile_size = t; /* a GPU's are the tuner's */
    for (int64_t t = 512; t <= 4096; t *= 2) {
        gram_row *r = add(b, n, q, "no precompute, state tile %lld", (long long)t);
        r->opt.precompute_all_states = false;
        r->opt.state_tile = t;
    }
    add(b, n, q, "half the memory")->opt.vram_fraction = 0.5;
    add(b, n, q, "one thread")->opt.n_workers = 1;
}

/* What only devices with memory of their own have. */
static void add_device_switches(gram_bench *b, int64_t n, int64_t q)
{
    add(b, n, q, "no autotune")->opt.autotune = false;
    gram_row *r = add(b, n, q, "no precompute, no learned tiles"); /* with all rows held there is nothing to learn */
    r->opt.precompute_all_states = r->opt.learn_tiles = false;
    r = add(b, n, q, "dynamic batch, 1024 rows held");
    r->opt.dynamic_batch = true;
    r->opt.precompute_all_states = false;
    r->opt.state_tile = 1024;
    r = add(b, n, q, "the same, not dynamic");
    r->opt.precompute_all_states = false;
    r->opt.state_tile = 1024;
    add(b, n, q, "one stream")->opt.streams = 1;
    add(b, n, q, "four streams")->opt.streams = 4;
    add(b, n, q, "graphs")->opt.cuda_graphs = true;
    add(b, n, q, "pageable memory")->opt.pinned = false;
    add(b, n, q, "host waits for each launch")->opt.sync_interval = 1;
    add(b, n, q, "host never waits")->opt.sync_interval = 0;
    add(b, n, q, "profiled")->opt.profile_memory = true;
    add(b, n, q, "handle made anew, memory given back")->fresh = true;
}

static void add_ablation(gram_bench *b, int64_t n, int64_t q)
{
    add(b, n, q, "all on");
    if (!gram_on_cpu(b)) add_device_switches(b, n, q);
    add(b, n, q, "both halves computed")->opt.symmetric = false;
    add(b, n, q, "no precompute")->opt.precompute_all_states = false;
    add(b, n, q, "one thread")->opt.n_workers = 1;
    if (gram_on_cpu(b)) add(b, n, q, "smallest tiles")->opt.tile_size = 1;
    gram_row *r = add(b, n, q, "all off");
    r->opt.symmetric = r->opt.precompute_all_states = false;
    r->opt.n_workers = r->opt.tile_size = 1;
    add(b, n, q, "normalised too")->opt.normalize = true;
    add(b, n, q, "float32")->opt.dtype = LT_GRAM_FLOAT32;
    if (!gram_on_cpu(b)) add(b, n, q, "float16")->opt.dtype = LT_GRAM_FLOAT16;
    add(b, n, q, "upper triangle only")->opt.packed = true;
    if (b->o->layers == 2) add(b, n, q, "transfer")->opt.method = LT_GRAM_TRANSFER;
}

static void add_rows(gram_bench *b)
{
    const gram_bench_options *o = b->o;
    int64_t n = o->quick ? (o->n < 150 ? o->n : 150) : o->n, q = o->quick && o->qubits > 8 ? 8 : o->qubits;
    switch ((sweep)o->sweep) {
    case SWEEP_METHODS: add_methods(b, n, q); break;
    case SWEEP_CHECK: add_methods(b, 100, q); break;
    case SWEEP_SIZES:
        for (int64_t m = 256; m <= (o->quick ? 512 : 4096); m *= 2) add(b, m, q, "%lld rows", (long long)m);
        break;
    case SWEEP_QUBITS:
        for (int64_t k = 4; k <= (o->quick ? 8 : 16); k += 4) add(b, safe_rows(b, n, k), k, "%lld qubits", (long long)k);
        break;
    case SWEEP_TILES: add_tiles(b, n, q); break;
    case SWEEP_ABLATION: add_ablation(b, n, q); break;
    case SWEEP_TARGETS: case SWEEP_LIMITS: case SWEEP_COMPARE: case SWEEP_CIRCUITS: case SWEEP_AUTO: break; /* have tables of their own */
    }
}

/* ---- measuring ---- */

typedef struct data { double *x, *w, *K, *first; } data;

/* SplitMix64. */
void gram_draw(uint64_t seed, double *v, int64_t n, double range)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        v[i] = range * (2 * (double)((z ^ z >> 31) >> 11) * 0x1p-53 - 1);
    }
}

/* Without pools: everything is made again, from memory the device has to find first. */
static lt_status renew(gram_bench *b, gram_row *r, data *d)
{
    lt_gram_destroy(r->gram);
    r->gram = NULL;
    CLI_TRY(lt_device_memory_trim(b->c->device));
    return lt_gram_create(b->c->device, &r->opt, &(lt_weights){ d->w, r->layers, r->q }, &r->gram);
}

static lt_status call(gram_bench *b, gram_row *r, data *d, double *seconds)
{
    lt_rows x = { d->x, LT_F64, r->n, r->q, 0 };
    double start = cli_now();
    if (r->fresh) CLI_TRY(renew(b, r, d));
    CLI_TRY(lt_gram_fill(r->gram, &x, NULL, d->K));
    *seconds = cli_now() - start;
    r->info = lt_gram_get_info(r->gram);
    return cli_interrupted() ? cli_stopped() : LT_OK;
}

/* One complex product of 768 rows in OpenBLAS on the same threads: flops per second; NaN without it. */
static double blas_rate(const gram_row *r)
{
    void (*gemm)(int, int, int, int, int, int, const void *, const void *, int, const void *, int, const void *, void *, int) = NULL;
    int n = 768, D = 1 << (r->q > 14 ? 14 : r->q);
    bool f32 = r->opt.dtype != LT_GRAM_FLOAT64;
    size_t size = f32 ? 8 : 16;
    void *a = calloc((size_t)n * (size_t)D, size), *c = calloc((size_t)n * (size_t)n, size);
    double best = 0;
    const void *one = f32 ? (const void *)(const float[]){ 1, 0 } : (const double[]){ 1, 0 }, *zero = (const double[]){ 0, 0 };
    *(void **)&gemm = lt_openblas_function(f32 ? "cblas_cgemm" : "cblas_zgemm");
    peer_openblas_threads(r->info.threads);
    for (int i = 0; gemm && a && c && i < 3; i++) {
        double start = cli_now();
        gemm(PEER_ROWS, PEER_PLAIN, PEER_CONJUGATE, n, n, D, one, a, D, a, D, zero, c, n);
        best = fmax(best, 8.0 * n * n * D / (cli_now() - start));
    }
    peer_openblas_threads(1);
    free(a);
    free(c);
    return best > 0 ? best : NAN;
}

double gram_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, cli_ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

enum { LARGEST_SORTED = 1 << 20 }; /* entries; sorting more would take longer than computing them */

static void look_at(gram_row *r, const gram_row *first, data *d, bool is_first)
{
    int64_t count = r->opt.packed ? r->n * (r->n + 1) / 2 : r->n * r->n;
    double sum = 0, square = 0, difference = 0, size = 0, errors = 0;
    bool same = first->n == r->n && first->q == r->q && !r->opt.packed &&
                first->opt.re_embed_between_layers == r->opt.re_embed_between_layers && !r->opt.normalize;
    r->low = INFINITY, r->high = -INFINITY, r->error = 0, r->n_nan = r->n_infinite = 0;
    if (is_first) memcpy(d->first, d->K, (size_t)count * sizeof *d->K);
    for (int64_t i = 0; i < count; i++) {
        double k = d->K[i], e = same ? fabs(k - d->first[i]) : 0;
        r->n_nan += isnan(k), r->n_infinite += isinf(k);
        r->low = fmin(r->low, k), r->high = fmax(r->high, k), r->error = fmax(r->error, e);
        sum += k, square += k * k, errors += e, difference += e * e, size += same ? d->first[i] * d->first[i] : 0;
    }
    r->mean = sum / (double)count;
    r->std = sqrt(fmax(square / (double)count - r->mean * r->mean, 0));
    r->frobenius = same ? sqrt(difference / size) : NAN;
    r->mean_error = same ? errors / (double)count : NAN;
    if (!same) r->error = NAN;
    r->diagonal_error = r->opt.packed ? NAN : 0;
    for (int64_t i = 0; i < r->n && !r->opt.packed; i++) r->diagonal_error += fabs(d->K[i * (r->n + 1)] - 1) / (double)r->n;
    r->middle = count <= LARGEST_SORTED ? gram_median(d->K, (int)count) : NAN; /* sorts K, which the next call writes again */
}

static void summarise(gram_row *r, int n)
{
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) sum += r->seconds[i];
    for (int i = 0; i < n; i++) square += (r->seconds[i] - sum / n) * (r->seconds[i] - sum / n);
    r->median = gram_median(r->seconds, n);
    r->spread = r->seconds[3 * n / 4] - r->seconds[n / 4];
    r->deviation = n > 1 ? sqrt(square / (n - 1)) : 0;
    r->average = sum / n;
    r->p95 = r->seconds[(95 * (n - 1) + 99) / 100];
}

/* A row once, unmeasured and looked at. *base: the row its entries are compared with. */
static lt_status look_first(gram_bench *b, gram_row *r, gram_row **base, data *d)
{
    double ignored;
    CLI_TRY(lt_gram_create(b->c->device, &r->opt, &(lt_weights){ d->w, r->layers, r->q }, &r->gram));
    CLI_TRY(call(b, r, d, &ignored));
    if (r->opt.re_embed_between_layers != (*base)->opt.re_embed_between_layers) *base = r; /* another kernel: its own yardstick */
    look_at(r, *base, d, *base == r || r->n != (*base)->n || r->q != (*base)->q);
    return LT_OK;
}

/* First every row once; then rounds over all rows, so that what else the machine does falls on all of them. */
static lt_status measure_in_turns(gram_bench *b, data *d)
{
    gram_row *base = &b->row[0];
    for (int i = 0; i < b->n_rows; i++) CLI_TRY(look_first(b, &b->row[i], &base, d));
    for (int k = 0; k < b->repeats; k++)
        for (int i = 0; i < b->n_rows; i++) {
            CLI_TRY(call(b, &b->row[i], d, &b->row[i].seconds[k]));
            if (k == 0) b->row[i].blas_flops = blas_rate(&b->row[i]);
        }
    return LT_OK;
}

/* A device's memory is for one row at a time: each plans as if it were alone. */
static lt_status measure_one_by_one(gram_bench *b, data *d)
{
    gram_row *base = &b->row[0];
    for (int i = 0; i < b->n_rows; i++) {
        gram_row *r = &b->row[i];
        CLI_TRY(look_first(b, r, &base, d));
        for (int k = 0; k < b->repeats; k++) CLI_TRY(call(b, r, d, &r->seconds[k]));
        r->blas_flops = NAN;
        lt_gram_destroy(r->gram);
        r->gram = NULL;
    }
    return LT_OK;
}

static lt_status measure(gram_bench *b, data *d)
{
    CLI_TRY(gram_on_cpu(b) ? measure_in_turns(b, d) : measure_one_by_one(b, d));
    for (int i = 0; i < b->n_rows; i++) summarise(&b->row[i], b->repeats);
    return LT_OK;
}

/* Least squares of T(N) = a N + b N^2, each size weighted by its time. */
static void fit(gram_bench *b)
{
    double s11 = 0, s12 = 0, s22 = 0, y1 = 0, y2 = 0;
    for (int i = 0; i < b->n_rows; i++) {
        double n = (double)b->row[i].n, t = b->row[i].median, p = n / t, q = n * n / t;
        s11 += p * p, s12 += p * q, s22 += q * q, y1 += p, y2 += q;
    }
    double det = s11 * s22 - s12 * s12;
    b->fitted = b->n_rows >= 2 && det > 0;
    b->fit_a = (y1 * s22 - y2 * s12) / det;
    b->fit_b = (y2 * s11 - y1 * s12) / det;
    double n = b->n_rows, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < b->n_rows; i++) {
        double x = log((double)b->row[i].n), y = log(b->row[i].median);
        sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    b->slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* The check fails on anything that is not finite or does not agree. */
static lt_status judge(const gram_bench *b)
{
    for (int i = 0; i < b->n_rows; i++) {
        const gram_row *r = &b->row[i];
        double allowed = r->info.error_bound;
        if (r->n_nan + r->n_infinite)
            return cli_fail(LT_ERR_NUMERIC, "%s: %lld entries are NaN, %lld infinite", r->label, (long long)r->n_nan, (long long)r->n_infinite);
        if (r->error > allowed) return cli_fail(LT_ERR_MISMATCH, "%s: differs by %g, allowed %g", r->label, r->error, allowed);
    }
    return LT_OK;
}

double gram_row_flops(const gram_row *r)
{
    double per_pair = r->info.method == LT_GRAM_STATES ? ldexp(8, (int)r->q)
                    : r->info.method == LT_GRAM_PRODUCT ? 8.0 * (double)r->q : 370.0 * (double)(r->q - 1);
    return (double)r->info.pairs * per_pair / r->median;
}

static lt_status run_bench(gram_bench *b)
{
    int64_t n = 0, q = 0;
    add_rows(b);
    for (int i = 0; i < b->n_rows; i++) {
        n = b->row[i].n > n ? b->row[i].n : n;
        q = b->row[i].q > q ? b->row[i].q : q;
    }
    data d = { malloc((size_t)(n * q) * sizeof(double)), malloc((size_t)(b->o->layers * q) * sizeof(double)),
               malloc((size_t)(n * n) * sizeof(double)), malloc((size_t)(n * n) * sizeof(double)) };
    lt_status s = d.x && d.w && d.K && d.first ? LT_OK : cli_fail(LT_ERR_MEMORY, "no memory for matrices of %lld rows", (long long)n);
    if (!s) {
        gram_draw((uint64_t)b->c->common.seed, d.x, n * q, 3);
        gram_draw((uint64_t)b->c->common.seed + 1, d.w, b->o->layers * q, 0.3);
        s = measure(b, &d);
    }
    for (int i = 0; i < b->n_rows; i++) lt_gram_destroy(b->row[i].gram);
    free(d.x), free(d.w), free(d.K), free(d.first);
    if (!s && b->o->sweep == SWEEP_SIZES) fit(b);
    if (!s) s = gram_bench_present(b);
    b->c->json_complete = !s; /* also when the check fails */
    return s ? s : judge(b);
}

static lt_status check_options(const gram_bench_options *o)
{
    bool targets = o->sweep == SWEEP_TARGETS;
    if ((targets || o->sweep == SWEEP_LIMITS || o->sweep == SWEEP_COMPARE || o->sweep == SWEEP_CIRCUITS) && (o->csv || o->report))
        return cli_fail(LT_ERR_ARGUMENT, "--sweep %s has no %s; use --json", sweep_names[o->sweep], o->csv ? "--csv" : "--report");
    if (!targets && (o->large || o->peer || o->only.n)) return cli_fail(LT_ERR_ARGUMENT, "%s is for --sweep targets", o->large ? "--large" : o->peer ? "--peer" : "--only");
    return targets ? gram_targets_check(o) : LT_OK;
}

static lt_status run(cli_context *c)
{
    CLI_TRY(check_options(c->options));
    gram_bench *b = calloc(1, sizeof *b);
    if (!b) return cli_fail(LT_ERR_MEMORY, "no memory for the rows");
    b->c = c;
    b->o = c->options;
    b->sweep = sweep_names[b->o->sweep];
    b->repeats = b->o->quick ? 2 : b->o->repeats;
    lt_status s = b->o->sweep == SWEEP_TARGETS ? gram_targets(b) : b->o->sweep == SWEEP_LIMITS ? gram_limits(b)
                : b->o->sweep == SWEEP_COMPARE ? gram_compare(b) : b->o->sweep == SWEEP_CIRCUITS ? gram_circuits(b) : b->o->sweep == SWEEP_AUTO ? gram_auto(b) : run_bench(b);
    free(b);
    return s;
}

const cli_command bench_gram = {
    .name = "gram", .options = &table, .options_bytes = sizeof(gram_bench_options), .need = CLI_NEED_DEVICE, .stops = true, .run = run,
    .description = "Computes the same Gram matrix in several ways, in turns, and compares times and results. The states path is the "
                   "headline; closed forms are rows of their own. Beside each rate stands that of OpenBLAS's complex matrix product "
                   "of the same depth, measured in the same run; sizes are fitted by a N + b N^2. Targets are the promised times of a GPU "
                   "with those of a peer beside them, each compared with the CPU on rows spread over X. Limits time the product method with K in the "
                   "caches and with all of K written, beside the cores' multiply-adds and the memory's writing in the same run.\n"
                   "Ends with status 1 when an entry is not finite or two exact methods differ by more than rounding.",
};
