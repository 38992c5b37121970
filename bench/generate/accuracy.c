/* lathe-bench generate --accuracy and --ks: are rollouts in every precision as good as they should be?
   SPDX-License-Identifier: BSD-3-Clause */
#include "bench/generate/accuracy.h"

#include "bench/generate/operator_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Corrected for the number of columns. */
static const double least_p = 0.001;

/* ---- Spaces of operators ---------------------------------------------------------------------------- */

typedef struct space { int least_width, most_width, grid, realizations, steps; } space;

static const char space_format[] =
    "metadata: {name: accuracy}\n"
    "parameter_space:\n"
    "  architecture: {num_layers: {type: integer, bounds: [2, 5]}, base_channels: {type: integer, bounds: [%d, %d]},\n"
    "    kernel_size: {type: choice, choices: [3, 5, 7]}, activation: {type: choice, choices: [gelu]}}\n"
    "  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.00001, 1.0], log_scale: true}}\n"
    "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [%d]}}\n"
    "  evolution: {update_policy: {type: choice, choices: [residual, convex], weights: [0.75, 0.25]}}\n"
    "sampling: {total_samples: %lld, sobol: {seed: %lld}, validation: {check_discrepancy: false, check_correlation: false}}\n"
    "simulation: {device: cpu, precision: %s, num_realizations: %d, num_timesteps: %d, input_generation: {method: sampled,\n"
    "  ic_type_weights: {gaussian_random_field: 0.25, multiscale_grf: 0.25, structured: 0.25, localized: 0.25}}}\n"
    "dataset: {output_path: '%s', storage: {compression: none, chunk_size: 64}}\n";

static lt_status config_of(const space *s, int64_t n, int64_t seed, lt_precision p, const char *path, lt_dataset_config **out)
{
    char text[4096];
    snprintf(text, sizeof text, space_format, s->least_width, s->most_width, s->grid, (long long)n, (long long)seed, lt_precision_name(p), s->realizations,
             s->steps, path);
    return lt_dataset_config_parse(text, strlen(text), "the operators of --accuracy and --ks", NULL, out);
}

/* ---- One step against double precision ------------------------------------------------------------------- */

enum { NORMAL_NOISE, OWN_FIELDS, N_FIELDS };
static const char *const field_name[N_FIELDS] = { "normal noise", "the dataset's" };

/* Of normal noise, as in Spinlock's workload, or of the row's own field, whose channels may be nearly flat. */
static lt_status errors_of(lt_replay *r, int64_t index, int64_t seed, int kind, int grid, double *error, int64_t stride)
{
    lt_operator_spec spec = { .size = sizeof spec };
    lt_operator_weights *w = NULL;
    double *want = NULL;
    int64_t n = LT_FIELD_CHANNELS * (int64_t)grid * grid;
    lt_draws draws = lt_draws_make((uint64_t)seed, "bench field", 0, 0, (uint32_t)index);
    float *field = malloc((size_t)n * sizeof *field);
    lt_status s = field ? lt_draws_normal_f32(&draws, 0, n, field) : cli_fail(LT_ERR_MEMORY, "no memory for a field");
    if (!s) s = lt_replay_row(r, index, &spec, kind == OWN_FIELDS ? field : NULL);
    if (!s) s = lt_operator_weights_create(&spec, &w);
    if (!s) s = lt_operator_weights_draw(w, (uint64_t)seed, index);
    if (!s) s = operator_oracle(&spec, w, field, &want);
    for (int p = 0; p < LT_PRECISION_COUNT && !s; p++) s = operator_error(&spec, (lt_precision)p, w, field, want, &error[p * stride]);
    lt_operator_weights_destroy(w);
    free(want);
    free(field);
    return s;
}

/* What the operator with the largest error is. */
static lt_status describe_worst(lt_replay *r, const double *error, int64_t n, char text[CLI_CELL])
{
    lt_operator_spec spec = { .size = sizeof spec };
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (error[i] > error[at]) at = i;
    CLI_TRY(lt_replay_row(r, at, &spec, NULL));
    snprintf(text, CLI_CELL, "operator %lld: %d layers, %d channels, kernel %d", (long long)at, spec.num_layers, spec.base_channels, spec.kernel_size);
    return LT_OK;
}

static bool report_error(cli_context *c, cli_table *t, lt_precision p, int kind, int64_t n, double *error, const char *which)
{
    qsort(error, (size_t)n, sizeof *error, cli_ascending);
    double worst = error[n - 1], limit = operator_error_limit(p);
    bool good = worst <= limit;
    cli_table_row(t);
    cli_table_cell(t, 0, "%s", lt_precision_name(p));
    cli_table_cell(t, 1, "%s", field_name[kind]);
    cli_table_cell(t, 2, "%.2e", error[n / 2]);
    cli_table_cell(t, 3, "%.2e", worst);
    cli_table_cell(t, 4, "%.0e", limit);
    cli_table_cell(t, 5, "%s", good ? "good" : "TOO LARGE");
    cli_table_cell(t, 6, "%s", which);
    if (!c->json) return good;
    lt_json_object_begin(c->json);
    lt_json_field_string(c->json, "precision", lt_precision_name(p));
    lt_json_field_string(c->json, "fields", field_name[kind]);
    lt_json_field_double(c->json, "median", error[n / 2]);
    lt_json_field_double(c->json, "worst", worst);
    lt_json_field_string(c->json, "worst_operator", which);
    lt_json_field_double(c->json, "limit", limit);
    lt_json_field_bool(c->json, "good", good);
    lt_json_object_end(c->json);
    return good;
}

static lt_status run_accuracy(cli_context *c, int64_t n, bool quick)
{
    static const char *const columns[] = { "precision", "fields", "median", "worst", "limit", "", "worst of" };
    const space s = quick ? (space){ 4, 8, 16, 1, 2 } : (space){ 16, 64, 32, 1, 2 };
    lt_dataset_config *config = NULL;
    lt_replay_options opt = lt_replay_defaults();
    lt_replay *r = NULL;
    cli_table *t = NULL;
    bool good = true;
    int64_t stride = LT_PRECISION_COUNT * n;
    double *error = malloc((size_t)(N_FIELDS * stride) * sizeof *error);
    lt_status st = error ? config_of(&s, n, c->common.seed, LT_PRECISION_FLOAT32, "unused.h5", &config) : cli_fail(LT_ERR_MEMORY, "no memory for errors");
    if (!st) st = lt_replay_create(config, &opt, &r);
    for (int64_t i = 0; i < N_FIELDS * n && !st; i++)
        st = cli_interrupted() ? cli_stopped() : errors_of(r, i % n, c->common.seed, (int)(i / n), s.grid, error + i / n * stride + i % n, n);
    if (!st) st = cli_table_create("One step against double precision: |difference| / |state|", CLI_LEN(columns), columns, &t);
    if (!st && c->json) {
        lt_json_field_int(c->json, "operators", n);
        lt_json_field_int(c->json, "operator_grid", s.grid);
        lt_json_key(c->json, "one_step_errors");
        lt_json_array_begin(c->json);
    }
    for (int k = 0; k < N_FIELDS * LT_PRECISION_COUNT && !st; k++) {
        char which[CLI_CELL];
        st = describe_worst(r, error + k * n, n, which);
        if (!st) good = report_error(c, t, (lt_precision)(k % LT_PRECISION_COUNT), k / LT_PRECISION_COUNT, n, error + k * n, which) && good;
    }
    if (!st && c->json) {
        lt_json_array_end(c->json);
        c->json_complete = true;
    } else if (!st) {
        cli_table_print(t, stdout);
        printf("%lld operators of 2 to 5 layers, %d to %d channels, kernels 3, 5, 7, %d x %d\n\n", (long long)n, s.least_width, s.most_width, s.grid, s.grid);
    }
    cli_table_destroy(t);
    lt_replay_destroy(r);
    lt_dataset_config_destroy(config);
    free(error);
    return st || good ? st : cli_fail(LT_ERR_NUMERIC, "the error of one step is above its limit");
}

/* ---- Distributions of features --------------------------------------------------------------------------------- */

/* value [columns, rows]: means over realizations, their stds and cvs, means over time of TEMPORAL. */
typedef struct features { int64_t rows, columns, summary; double *value; char (*name)[80]; } features;

/* Spreads over realizations are reported, not judged: noise below the resolution of a precision is a spread of its rounding. */
static bool is_spread(const features *f, int64_t column) { return column >= f->summary && column < 3 * f->summary; }

/* SUMMARY as stored; of TEMPORAL the mean over time. */
static lt_status read_features(lt_dataset *d, features *f)
{
    static const char *const path[] = { "/features/summary/aggregated/features", "/features/temporal/features" };
    lt_shape shape[2] = { lt_dataset_shape(d, path[0]), lt_dataset_shape(d, path[1]) };
    int64_t n = shape[0].dim[0], steps = shape[1].dim[1], column = 0;
    *f = (features){ .rows = n, .columns = shape[0].dim[1] + shape[1].dim[2], .summary = shape[0].dim[1] / 3 };
    f->value = calloc((size_t)(n * f->columns), sizeof *f->value);
    f->name = calloc((size_t)f->columns, sizeof *f->name);
    for (int a = 0; a < 2; a++) {
        int64_t width = a ? shape[1].dim[2] : shape[0].dim[1], deep = a ? steps : 1, n_names;
        const char *const *names;
        char attribute[80];
        float *x = malloc((size_t)(n * deep * width) * sizeof *x);
        lt_status s = x && f->value && f->name ? lt_dataset_read(d, path[a], 0, n, x, n * deep * width) : cli_fail(LT_ERR_MEMORY, "no memory for features");
        snprintf(attribute, sizeof attribute, "%s@column_names", path[a]);
        if (!s) s = lt_dataset_texts(d, attribute, &n_names, &names);
        for (int64_t r = 0; r < n && !s; r++)
            for (int64_t t = 0; t < deep; t++)
                for (int64_t k = 0; k < width; k++) f->value[(column + k) * n + r] += (double)x[(r * deep + t) * width + k] / (double)deep;
        for (int64_t k = 0; k < width && !s && k < n_names; k++) snprintf(f->name[column + k], sizeof *f->name, "%s", names[k]);
        free(x);
        CLI_TRY(s);
        column += width;
    }
    return LT_OK;
}

static lt_status make_features(const space *s, int64_t n, int64_t seed, lt_precision p, int threads, const cli_folder *folder, lt_generate_info *info, features *out)
{
    char file[32];
    lt_dataset_config *config = NULL;
    lt_dataset *d = NULL;
    lt_generate_options opt = lt_generate_defaults();
    snprintf(file, sizeof file, "%s.h5", lt_precision_name(p));
    cli_folder_path path = cli_folder_file(folder, file);
    opt.stop = cli_interrupt_flag();
    opt.threads = threads;
    lt_status st = config_of(s, n, seed, p, path.s, &config);
    if (!st) st = lt_generate(config, &opt, info);
    if (!st) st = lt_dataset_open(path.s, &d);
    if (!st) st = read_features(d, out);
    lt_dataset_close(d);
    lt_dataset_config_destroy(config);
    return st;
}

/* The chance that two samples of one distribution are at least this far apart; asymptotic, Stephens' correction. */
static double chance_of(double distance, double n)
{
    double root = sqrt(n / 2), x = (root + 0.12 + 0.11 / root) * distance, sum = 0, sign = 1;
    if (x < 0.2) return 1; /* the series has not converged there, and the answer is 1 to many digits */
    for (int k = 1; k <= 100; k++, sign = -sign) sum += sign * exp(-2 * x * x * k * k);
    return fmin(fmax(2 * sum, 0), 1);
}

/* Sorts both. The largest distance between their distribution functions. */
static double distance_of(double *a, double *b, int64_t n)
{
    double most = 0;
    qsort(a, (size_t)n, sizeof *a, cli_ascending);
    qsort(b, (size_t)n, sizeof *b, cli_ascending);
    for (int64_t i = 0, k = 0; i < n && k < n;) {
        double at = fmin(a[i], b[k]);
        while (i < n && a[i] == at) i++;
        while (k < n && b[k] == at) k++;
        most = fmax(most, fabs((double)(i - k)) / (double)n);
    }
    return most;
}

/* For the number of columns looked at. */
static double corrected(double distance, const features *f) { return fmin(chance_of(distance, (double)f->rows) * (double)(f->columns - 2 * f->summary), 1); }

static bool report_distance(cli_context *c, cli_table *t, lt_precision p, lt_precision q, const features *a, const features *b)
{
    int64_t worst = 0, apart = 0, spreads = 0;
    double most = -1;
    for (int64_t k = 0; k < a->columns; k++) {
        double distance = distance_of(a->value + k * a->rows, b->value + k * b->rows, a->rows);
        bool differs = corrected(distance, a) <= least_p;
        if (is_spread(a, k)) spreads += differs;
        else apart += differs;
        if (!is_spread(a, k) && distance > most) most = distance, worst = k;
    }
    double chance = corrected(most, a);
    bool good = apart == 0;
    cli_table_row(t);
    cli_table_cell(t, 0, "%s, %s", lt_precision_name(p), lt_precision_name(q));
    cli_table_cell(t, 1, "%s", a->name[worst]);
    cli_table_cell(t, 2, "%.3f", most);
    cli_table_cell(t, 3, "%.2g", chance);
    if (good) cli_table_cell(t, 4, "good");
    else cli_table_cell(t, 4, "%lld DIFFERENT", (long long)apart);
    cli_table_cell(t, 5, "%lld", (long long)spreads);
    if (!c->json) return good;
    lt_json_object_begin(c->json);
    lt_json_field_string(c->json, "precision", lt_precision_name(p));
    lt_json_field_string(c->json, "other", lt_precision_name(q));
    lt_json_field_int(c->json, "columns_apart", apart);
    lt_json_field_int(c->json, "spreads_apart", spreads);
    lt_json_field_string(c->json, "column", a->name[worst]);
    lt_json_field_double(c->json, "distance", most);
    lt_json_field_double(c->json, "corrected_p", chance);
    lt_json_field_bool(c->json, "good", good);
    lt_json_object_end(c->json);
    return good;
}

static lt_status run_ks(cli_context *c, int64_t n, bool quick)
{
    static const char *const columns[] = { "precisions", "column most apart", "distance", "corrected p", "", "spreads apart" };
    const space s = { 4, quick ? 6 : 16, 16, 2, quick ? 6 : 20 };
    features f[LT_PRECISION_COUNT] = { 0 };
    cli_folder folder;
    cli_table *t = NULL;
    bool good = true;
    lt_status st = cli_folder_make(&folder);
    for (int p = 0; p < LT_PRECISION_COUNT && !st; p++) st = make_features(&s, n, c->common.seed, (lt_precision)p, 0, &folder, NULL, &f[p]);
    if (!st) st = cli_table_create("Features between precisions: two-sample Kolmogorov-Smirnov", CLI_LEN(columns), columns, &t);
    if (!st && c->json) {
        lt_json_field_int(c->json, "samples", n);
        lt_json_field_int(c->json, "sample_grid", s.grid);
        lt_json_field_int(c->json, "columns", f[0].columns);
        lt_json_field_int(c->json, "judged", f[0].columns - 2 * f[0].summary);
        lt_json_key(c->json, "distributions");
        lt_json_array_begin(c->json);
    }
    for (int p = 0; p < LT_PRECISION_COUNT && !st; p++)
        for (int q = p + 1; q < LT_PRECISION_COUNT; q++) good = report_distance(c, t, (lt_precision)p, (lt_precision)q, &f[p], &f[q]) && good;
    if (!st && c->json) {
        lt_json_array_end(c->json);
        c->json_complete = true; /* also when a limit is passed */
    } else if (!st) {
        cli_table_print(t, stdout);
        printf("%lld features and %lld spreads over realizations of %lld operators of 2 to 5 layers, %d to %d channels, %d x %d, %d realizations, %d steps; p above %g is good\n\n",
               (long long)(f[0].columns - 2 * f[0].summary), (long long)(2 * f[0].summary), (long long)n, s.least_width, s.most_width, s.grid, s.grid,
               s.realizations, s.steps, least_p);
    }
    for (int p = 0; p < LT_PRECISION_COUNT; p++) free(f[p].value), free(f[p].name);
    cli_table_destroy(t);
    cli_folder_remove(&folder);
    return st || good ? st : cli_fail(LT_ERR_NUMERIC, "features of two precisions are distributed differently");
}

/* ---- The checksum of fixed operators ------------------------------------------------------------------------------ */

enum { FIXED_OPERATORS = 100 };

/* With oneDNN 2.6 and FFTW 3.3.10; other processors and libraries may round otherwise. A change of results must change these. */
static const struct { const char *arithmetic; uint64_t checksum; } recorded[] = {
    { "float32 (avx512)", 0x927b9ad5df8c4fc7 },
    { "float32 products of values rounded to float16 (avx512)", 0x667147d21161078a },
    { "float32 products of values rounded to bfloat16 (avx512)", 0x4bb3d7cd5836b728 },
};

/* FNV-1a over the numbers, as they lie in memory. */
static uint64_t digest(const features *f)
{
    uint64_t h = 0xcbf29ce484222325u;
    const unsigned char *bytes = (const unsigned char *)f->value;
    for (size_t i = 0; i < (size_t)(f->rows * f->columns) * sizeof *f->value; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* Twice, on one thread and on all of them. */
static lt_status checksums_of(lt_precision p, const cli_folder *folder, lt_generate_info *info, uint64_t sum[2])
{
    static const space s = { 4, 8, 16, 2, 6 };
    for (int i = 0; i < 2; i++) {
        features f = { 0 };
        lt_status st = make_features(&s, FIXED_OPERATORS, 0, p, i == 0, folder, info, &f);
        if (!st) sum[i] = digest(&f);
        free(f.value);
        free(f.name);
        CLI_TRY(st);
    }
    return LT_OK;
}

static const char *judge(const lt_generate_info *info, const uint64_t sum[2])
{
    if (sum[0] != sum[1]) return "NOT REPEATABLE";
    for (int i = 0; i < CLI_LEN(recorded); i++)
        if (!strcmp(recorded[i].arithmetic, info->arithmetic)) return recorded[i].checksum == sum[0] ? "as recorded" : "not as recorded: another library, or other results";
    return "no record for this arithmetic";
}

lt_status bench_checksum(cli_context *c)
{
    static const char *const columns[] = { "arithmetic", "checksum", "" };
    cli_folder folder;
    cli_table *t = NULL;
    bool repeatable = true;
    CLI_TRY(cli_folder_make(&folder));
    lt_status s = cli_table_create("Features of 100 fixed operators", CLI_LEN(columns), columns, &t);
    if (!s && c->json) {
        lt_json_key(c->json, "checksums");
        lt_json_array_begin(c->json);
    }
    for (int p = 0; p < LT_PRECISION_COUNT && !s; p++) {
        lt_generate_info info = { .size = sizeof info };
        uint64_t sum[2];
        char text[24];
        if ((s = checksums_of((lt_precision)p, &folder, &info, sum))) break;
        snprintf(text, sizeof text, "%016llx", (unsigned long long)sum[0]);
        repeatable = repeatable && sum[0] == sum[1];
        cli_table_row(t);
        cli_table_cell(t, 0, "%s", info.arithmetic);
        cli_table_cell(t, 1, "%s", text);
        cli_table_cell(t, 2, "%s", judge(&info, sum));
        if (!c->json) continue;
        lt_json_object_begin(c->json);
        lt_json_field_string(c->json, "precision", lt_precision_name((lt_precision)p));
        lt_json_field_string(c->json, "arithmetic", info.arithmetic);
        lt_json_field_string(c->json, "checksum", text);
        lt_json_field_string(c->json, "verdict", judge(&info, sum));
        lt_json_object_end(c->json);
    }
    if (!s && c->json) lt_json_array_end(c->json);
    else if (!s) cli_table_print(t, stdout), putchar('\n');
    cli_table_destroy(t);
    cli_folder_remove(&folder);
    if (!s) c->json_complete = true; /* also when they differ */
    return s || repeatable ? s : cli_fail(LT_ERR_NUMERIC, "the same operators gave two different sets of features");
}

lt_status bench_accuracy(cli_context *c, int64_t operators, int64_t samples, bool quick)
{
    if (c->json) CLI_TRY(cli_json_machine(c));
    if (operators) CLI_TRY(run_accuracy(c, operators, quick));
    return samples ? run_ks(c, samples, quick) : LT_OK;
}
