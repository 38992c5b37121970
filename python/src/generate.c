/* Making datasets, and computing the states of a row again. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <string.h>

/* ---- Configurations ---------------------------------------------------------------------------------------- */
/* A text is YAML (so JSON too); a path is read by the library, with the file at `merge` deep-merged onto it where there is one. */
static int load_config(const char *path, const char *text, const lt_dataset_overrides *over, lt_dataset_config **out)
{
    lt_status s;
    Py_BEGIN_ALLOW_THREADS
    s = text ? lt_dataset_config_parse(text, strlen(text), path, over, out) : lt_dataset_config_load(path, over, out);
    Py_END_ALLOW_THREADS
    return core_check(s);
}

static PyObject *warnings_list(const lt_dataset_config *c)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < lt_dataset_config_warning_count(c); i++) {
        PyObject *t = core_text(lt_dataset_config_warning(c, i));
        if (!t || PyList_Append(list, t)) Py_CLEAR(list);
        Py_XDECREF(t);
    }
    return list;
}

/* ---- Making --------------------------------------------------------------------------------------------------- */
static void on_progress(void *progress, const lt_generate_progress *p)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *made = PyObject_CallFunction(progress, "LL", (long long)p->rows_done, (long long)p->rows_total);
    if (!made) core_keep_exception(); /* raised when the run has ended: the rows made so far are kept */
    Py_XDECREF(made);
    PyGILState_Release(gil);
}

static PyObject *info_dict(const lt_generate_info *i, const lt_dataset_config *c)
{
    lt_dataset_summary s = lt_dataset_config_summary(c);
    return Py_BuildValue("{s:s,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:O,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:L,s:K,s:K,s:L,s:s,s:s,s:N}", "output", s.output, "samples",
                         (long long)i->samples, "realizations", (long long)i->realizations, "skipped", (long long)i->skipped, "non_finite",
                         (long long)i->non_finite, "failed", (long long)i->failed, "lost", (long long)i->lost, "retries", (long long)i->retries, "complete",
                         i->complete ? Py_True : Py_False, "total_seconds", i->total_seconds, "samples_per_second", i->samples_per_second,
                         "inference_seconds", i->inference_seconds, "feature_seconds", i->feature_seconds, "storage_seconds", i->storage_seconds,
                         "total_flops", i->total_flops, "gflops", i->gflops, "peak_bytes", (long long)i->peak_bytes, "file_bytes",
                         (unsigned long long)i->file_bytes, "raw_bytes", (unsigned long long)i->raw_bytes, "signatures", (long long)i->signatures,
                         "precision", lt_precision_name(i->precision), "arithmetic", i->arithmetic, "warnings", warnings_list(c));
}

/* The device that the configuration names; "auto" as the command reads it: a GPU where there is one, else the CPU. */
static int config_device(const lt_dataset_config *c, const char *asked, lt_device **out)
{
    return core_device_open(asked && *asked ? asked : lt_dataset_config_summary(c).device, out);
}

PyObject *core_generate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    static char *names[] = { "path", "text", "output", "merge", "device", "worker", "resume", "overwrite", "threads", "progress", NULL };
    const char *path, *text = NULL, *output = NULL, *merge = NULL, *device = NULL, *worker = NULL;
    int resume = 0, overwrite = 0, threads = 0;
    PyObject *progress = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|zzzzzppiO:generate", names, &path, &text, &output, &merge, &device, &worker, &resume, &overwrite, &threads, &progress))
        return NULL;
    lt_dataset_overrides over = { .size = sizeof over, .output = output, .merge_path = merge, .device = device };
    lt_dataset_config *c = NULL;
    lt_generate_options opt = lt_generate_defaults();
    lt_generate_info info = { .size = sizeof info };
    if (load_config(path, text, &over, &c) || config_device(c, device, &opt.device)) return lt_dataset_config_destroy(c), NULL;
    opt.resume = resume;
    opt.overwrite = overwrite;
    opt.threads = threads;
    if (worker) opt.worker = (const char *const[]){ worker, "--dataset-worker", NULL };
    if (progress != Py_None) opt.progress = on_progress, opt.progress_ctx = progress;
    core_watch watch;
    lt_status s;
    Py_XDECREF(core_kept_exception());
    core_watch_begin(&watch);
    opt.stop = core_watch_flag();
    Py_BEGIN_ALLOW_THREADS
    s = lt_generate(c, &opt, &info);
    Py_END_ALLOW_THREADS
    core_watch_end(&watch);
    PyObject *made = info_dict(&info, c), *failed = core_kept_exception();
    lt_dataset_config_destroy(c);
    lt_device_close(opt.device);
    if (failed) core_raise_object(failed);
    else if (s && !core_watch_raise()) core_raise(s);
    if (!PyErr_Occurred()) return made;
    core_attach_partial(made);
    return NULL;
}

/* ---- Replaying -------------------------------------------------------------------------------------------------- */
typedef struct sink { float *to; int64_t n; } sink;

static lt_status take_state(void *ctx, int64_t t, const float *states, const int64_t *failed)
{
    sink *k = ctx;
    (void)failed;
    memcpy(k->to + t * k->n, states, (size_t)k->n * sizeof *states);
    return core_watch_interrupted() ? lt_fail(LT_ERR_CANCELLED, "replay: interrupted") : LT_OK;
}

static PyObject *run_replay(lt_replay *r, const lt_dataset_config *c, int64_t index, int64_t realization, int64_t steps)
{
    lt_operator_spec spec = { .size = sizeof spec };
    lt_rollout_result result = { .size = sizeof result, .status = LT_RUN_DONE };
    if (core_check(lt_replay_row(r, index, &spec, NULL))) return NULL;
    int64_t m = realization < 0 ? lt_dataset_config_summary(c).realizations : 1;
    lt_shape shape = { .rank = 5, .dim = { steps, m, LT_FIELD_CHANNELS, spec.grid, spec.grid } };
    void *data;
    PyObject *states = core_array_new(LT_F32, &shape, &data);
    if (!states) return NULL;
    sink k = { data, m * LT_FIELD_CHANNELS * spec.grid * spec.grid };
    core_watch watch;
    lt_status s;
    core_watch_begin(&watch);
    Py_BEGIN_ALLOW_THREADS
    s = lt_replay_run(r, index, realization, take_state, &k, &result);
    Py_END_ALLOW_THREADS
    core_watch_end(&watch);
    if (s) {
        Py_DECREF(states);
        return core_watch_raise() ? NULL : core_raise(s);
    }
    static const char *const words[LT_RUN_STATUS_COUNT] = { "pending", "done", "non-finite", "failed", "lost" };
    return Py_BuildValue("{s:N,s:s,s:s,s:i,s:s,s:L,s:d}", "states", states, "status", words[result.status], "operator", lt_operator_kind_name(spec.kind),
                         "grid", spec.grid, "policy", lt_policy_name(spec.policy), "step", (long long)result.step, "seconds", result.seconds);
}

/* replay(config text, name, index, realization, precision, device): the states of a row, [T, M, 3, G, G]. */
PyObject *core_replay(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    static char *names[] = { "config", "name", "index", "realization", "precision", "device", "weights_out", NULL };
    const char *text, *name, *precision = "", *device = "cpu", *weights_out = NULL;
    long long index, realization = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ssL|Lssz:replay", names, &text, &name, &index, &realization, &precision, &device, &weights_out)) return NULL;
    lt_dataset_config *c = NULL;
    lt_replay_options opt = lt_replay_defaults();
    lt_replay *r = NULL;
    PyObject *made = NULL;
    for (int p = 0; p < LT_PRECISION_COUNT; p++)
        if (!strcmp(precision, lt_precision_name((lt_precision)p))) opt.precision = (lt_precision)p, opt.has_precision = true;
    if (!load_config(name, text, NULL, &c) && !core_device_open(device, &opt.device)) {
        int64_t all = lt_dataset_config_summary(c).realizations;
        if (realization >= all) PyErr_Format(core.error[LT_ERR_ARGUMENT], "realization %lld: expected 0..%lld, or -1 for all", realization, (long long)all - 1);
        else if (!core_check(lt_replay_create(c, &opt, &r)) && !(weights_out && core_check(lt_replay_save_weights(r, index, weights_out))))
            made = run_replay(r, c, index, realization, lt_dataset_config_summary(c).steps);
    }
    lt_replay_destroy(r);
    lt_dataset_config_destroy(c);
    lt_device_close(opt.device);
    return made;
}
