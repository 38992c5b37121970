/* What the commands on operator datasets share. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/dataset/dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

lt_status dataset_blame(lt_status s)
{
    if (s == LT_ERR_IO || s == LT_ERR_FORMAT) return cli_fail(LT_ERR_ARGUMENT, "%s", lt_error_text());
    return s;
}

const char *dataset_path(const cli_context *c, const char *option) { return option ? option : c->n_operands ? c->operand[0] : NULL; }

lt_status dataset_open(cli_context *c, const char *option, lt_dataset **out)
{
    const char *path = dataset_path(c, option);
    *out = NULL;
    if (!path) return cli_fail(LT_ERR_ARGUMENT, "which dataset? Give --dataset FILE.h5");
    if (option && c->n_operands) return cli_fail(LT_ERR_ARGUMENT, "two datasets: --dataset %s and %s", option, c->operand[0]);
    return dataset_blame(lt_dataset_open(path, out));
}

lt_status dataset_config(lt_dataset *d, const char *path, lt_dataset_config **out)
{
    lt_dataset_info i = lt_dataset_get_info(d);
    *out = NULL;
    if (!i.engine_version[0]) return cli_fail(LT_ERR_ARGUMENT, "%s: lathe did not write this file; the weights and noise of its operators are not known", path);
    if (i.engine_age > 0) fprintf(stderr, "lathe: %s was written by engine %s, this is %s: replayed states may differ\n", path, i.engine_version, lt_dataset_engine());
    return dataset_blame(lt_dataset_config_parse(i.config, strlen(i.config), path, NULL, out));
}

lt_device *dataset_device(const cli_context *c) { return strcmp(c->common.device, "cpu") && strcmp(c->common.device, "auto") ? c->device : NULL; }

lt_replay_options dataset_replay_options(const cli_context *c, lt_dataset *d)
{
    lt_replay_options o = lt_replay_defaults();
    lt_dataset_info i = lt_dataset_get_info(d);
    for (int p = 0; p < LT_PRECISION_COUNT; p++)
        if (!strcmp(i.precision, lt_precision_name((lt_precision)p))) {
            o.precision = (lt_precision)p;
            o.has_precision = true;
        }
    o.device = dataset_device(c);
    const char *here = o.device ? lt_device_id(o.device) : "cpu";
    if (i.device[0] && strncmp(here, i.device, strlen(i.device)) && !c->common.quiet)
        fprintf(stderr, "lathe: the file was made on %s, its rows are replayed on %s: states may differ (--device)\n", i.device, here);
    return o;
}

/* ---- Devices of rows ---- */

static void count_device(dataset_devices *d, const char *name, int64_t rows)
{
    int i = 0;
    while (i < d->n && strncmp(d->kind[i].name, name, sizeof d->kind[i].name - 1)) i++;
    if (i == DATASET_MAX_DEVICES) i--; /* there are fewer kinds than that */
    if (i == d->n) {
        snprintf(d->kind[i].name, sizeof d->kind[i].name, "%s", name);
        d->kind[d->n++].rows = 0;
    }
    d->kind[i].rows += rows;
}

lt_status dataset_count_devices(lt_dataset *d, dataset_devices *add_to)
{
    lt_dataset_info i = lt_dataset_get_info(d);
    const char *const *device;
    int64_t n;
    CLI_TRY(lt_dataset_texts(d, "/status/device", &n, &device));
    for (int64_t r = 0; r < n; r++) count_device(add_to, device[r], 1);
    if (n == 0) count_device(add_to, i.device[0] ? i.device : "unknown", i.rows);
    return LT_OK;
}

const char *dataset_list_devices(const dataset_devices *d, char text[256])
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < d->n && at < 256; i++)
        at += (size_t)snprintf(text + at, 256 - at, "%s%lld on %s", i ? ", " : "", (long long)d->kind[i].rows, d->kind[i].name);
    return text;
}

void dataset_json_devices(lt_json *j, const dataset_devices *d)
{
    lt_json_key(j, "devices");
    lt_json_object_begin(j);
    for (int i = 0; i < d->n; i++) lt_json_field_int(j, d->kind[i].name, d->kind[i].rows);
    lt_json_object_end(j);
}

/* ---- Lists of numbers ---- */

static const char *read_number(const char *at, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(at, &end, 10);
    return end == at || errno || *at == '-' || *at == '+' || *at == ' ' ? NULL : end;
}

lt_status dataset_indices(const char *option, const char *text, int64_t limit, int64_t **out, int *n)
{
    enum { MAX_INDICES = 4096 };
    *n = 0;
    *out = malloc(MAX_INDICES * sizeof **out);
    if (!*out) return cli_fail(LT_ERR_MEMORY, "no memory for the list of rows");
    for (const char *at = text; *at;) {
        int64_t from, to;
        const char *end = read_number(at, &from);
        to = from;
        if (end && *end == '-') end = read_number(end + 1, &to);
        if (!end || (*end && *end != ',') || to < from) return cli_fail(LT_ERR_ARGUMENT, "--%s '%s': expected numbers and ranges, as in 3,5,8-11", option, text);
        if (to >= limit) return cli_fail(LT_ERR_ARGUMENT, "--%s: row %lld: expected 0..%lld", option, (long long)to, (long long)limit - 1);
        if (*n + (to - from) >= MAX_INDICES) return cli_fail(LT_ERR_ARGUMENT, "--%s names more than %d rows", option, MAX_INDICES);
        for (; from <= to; from++) (*out)[(*n)++] = from;
        at = *end ? end + 1 : end;
    }
    return *n ? LT_OK : cli_fail(LT_ERR_ARGUMENT, "--%s is empty", option);
}

/* ---- Progress and statistics ---- */

void dataset_bar_set(void *ctx, const lt_generate_progress *p)
{
    dataset_bar *b = ctx;
    if (!b->bar && lt_progress_create(b->label, b->unit ? b->unit : "operator", p->rows_total, b->c->common.quiet || b->c->json, &b->bar)) return;
    lt_progress_set(b->bar, p->rows_done);
}

void dataset_bar_end(dataset_bar *b)
{
    lt_progress_destroy(b->bar);
    b->bar = NULL;
}

typedef struct share { const char *name, *key; double seconds; bool of_devices; } share;
enum { N_SHARES = 6 };

static void shares_of(const lt_generate_info *i, share out[N_SHARES])
{
    const share list[N_SHARES] = {
        { "sampling", "sampling", i->sampling_seconds, false }, { "warm-up", "warmup", i->warmup_seconds, true },
        { "input generation", "input_generation", i->input_seconds, true }, { "inference", "inference", i->inference_seconds, true },
        { "features", "features", i->feature_seconds, true }, { "storage", "storage", i->storage_seconds, false },
    };
    memcpy(out, list, sizeof list);
}

/* Of the time of all devices, where these are the seconds of all of them. */
static double share_of(const lt_generate_info *i, const share *s)
{
    double all = i->total_seconds * (s->of_devices && i->devices > 1 ? (double)i->devices : 1);
    return all > 0 ? s->seconds / all : 0;
}

void dataset_print_info(const lt_generate_info *i)
{
    share s[N_SHARES];
    shares_of(i, s);
    printf("samples           %lld (%lld realizations)", (long long)i->samples, (long long)i->realizations);
    if (i->skipped) printf(", %lld done before", (long long)i->skipped);
    printf("\ntotal time        %s, %.4g samples per second\n", cli_seconds(i->total_seconds).s, i->samples_per_second);
    for (int k = 0; k < N_SHARES; k++)
        printf("  %-16s  %-10s %5.1f %%\n", s[k].name, cli_seconds(s[k].seconds).s, 100 * share_of(i, &s[k]));
    printf("beside it         drawing and compiling ahead %s, writing %s (compression %s)\n", cli_seconds(i->ahead_seconds).s,
           cli_seconds(i->writer_seconds).s, cli_seconds(i->compress_seconds).s);
    if (i->device_seconds > 0) printf("device            %s of rollouts by its own clock\n", cli_seconds(i->device_seconds).s);
    if (i->kernels_compiled || i->kernels_loaded)
        printf("kernels           %lld compiled in %s of all threads, %lld loaded from the cache\n", (long long)i->kernels_compiled, cli_seconds(i->compile_seconds).s,
               (long long)i->kernels_loaded);
    printf("arithmetic        %s, %s: %.4g GFLOP/s%s\n", lt_precision_name(i->precision), i->arithmetic, i->gflops, i->devices > 1 ? " a device" : "");
    if (i->step[0]) printf("steps             %s%s%s\n", i->step, i->step_reason[0] ? ": " : "", i->step_reason);
    printf("memory            %s planned for rollouts, %lld architectures\n", cli_bytes((double)i->peak_bytes).s, (long long)i->signatures);
    printf("file              %s, from %s of arrays written\n", cli_bytes((double)i->file_bytes).s, cli_bytes((double)i->raw_bytes).s);
    if (i->workers) printf("watchdog          rollouts ran in %lld worker process%s", (long long)i->workers, i->workers == 1 ? "" : "es");
    if (i->workers && i->devices > 1) printf(" on %lld devices, whose times are added up", (long long)i->devices);
    if (i->workers) putchar('\n');
    if (i->non_finite || i->failed)
        printf("operators         %lld became not finite, %lld failed%s%s\n", (long long)i->non_finite, (long long)i->failed, i->first_failure[0] ? ": " : "",
               i->first_failure);
    if (i->retries)
        printf("tried again       %lld time%s for the device's sake, %lld operators stay lost; first: %s\n", (long long)i->retries, i->retries == 1 ? "" : "s",
               (long long)i->lost, i->retry_reason);
}

void dataset_json_info(lt_json *j, const lt_generate_info *i)
{
    share s[N_SHARES];
    shares_of(i, s);
    lt_json_field_int(j, "samples", i->samples);
    lt_json_field_int(j, "realizations", i->realizations);
    lt_json_field_int(j, "skipped", i->skipped);
    lt_json_field_int(j, "non_finite", i->non_finite);
    lt_json_field_int(j, "failed", i->failed);
    lt_json_field_int(j, "lost", i->lost);
    lt_json_key(j, "lost_operators");
    lt_json_array_begin(j);
    for (int64_t k = 0; k < i->lost && k < LT_LOST_NAMED; k++) lt_json_int(j, i->lost_operators[k]);
    lt_json_array_end(j);
    lt_json_field_int(j, "retries", i->retries);
    lt_json_field_string(j, "retry_reason", i->retry_reason);
    lt_json_field_double(j, "total_time", i->total_seconds);
    lt_json_field_double(j, "samples_per_second", i->samples_per_second);
    lt_json_key(j, "seconds");
    lt_json_object_begin(j);
    for (int k = 0; k < N_SHARES; k++) lt_json_field_double(j, s[k].key, s[k].seconds);
    lt_json_field_double(j, "ahead", i->ahead_seconds);
    lt_json_field_double(j, "writer", i->writer_seconds);
    lt_json_field_double(j, "compression", i->compress_seconds);
    lt_json_object_end(j);
    lt_json_key(j, "shares");
    lt_json_object_begin(j);
    for (int k = 0; k < N_SHARES; k++) lt_json_field_double(j, s[k].key, share_of(i, &s[k]));
    lt_json_object_end(j);
    lt_json_field_double(j, "gflops", i->gflops);
    lt_json_field_double(j, "total_flops", i->total_flops);
    lt_json_field_string(j, "precision", lt_precision_name(i->precision));
    lt_json_field_string(j, "precision_reason", i->precision_reason);
    lt_json_field_string(j, "arithmetic", i->arithmetic);
    lt_json_field_string(j, "step", i->step);
    lt_json_field_string(j, "step_reason", i->step_reason);
    lt_json_field_int(j, "peak_bytes", i->peak_bytes);
    lt_json_field_int(j, "signatures", i->signatures);
    lt_json_field_int(j, "file_bytes", (int64_t)i->file_bytes);
    lt_json_field_int(j, "raw_bytes", (int64_t)i->raw_bytes);
    lt_json_field_int(j, "commits", i->commits);
    lt_json_field_int(j, "workers", i->workers);
    lt_json_field_int(j, "devices", i->devices);
    lt_json_field_string(j, "device_reason", i->device_reason);
    lt_json_field_double(j, "device_seconds", i->device_seconds);
    lt_json_field_int(j, "kernels_compiled", i->kernels_compiled);
    lt_json_field_int(j, "kernels_loaded", i->kernels_loaded);
    lt_json_field_double(j, "compile_seconds", i->compile_seconds);
    lt_json_field_string(j, "first_failure", i->first_failure);
    lt_json_field_string(j, "feature_reason", i->feature_reason);
}
