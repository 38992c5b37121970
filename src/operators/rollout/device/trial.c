/* Whether fused steps are taken on a card where they have not been measured: tried once against the compiled graph, on one operator, and
   kept in the tuning file (decision 372). SPDX-License-Identifier: BSD-3-Clause

   The same for all operators and all runs that find this file, so that a clock decides which bits a card computes once, not again and again. */
#include "operators/rollout/device/parts.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/status.h"
#include "device/flags.h"
#include "lathe/graph.h"
#include "lathe/rng.h"
#include "operators/network/weights.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GRAPH, MMA, WAYS, REALIZATIONS = 2, GRID = 128, STEPS = 4 /* of a recording */, PROBLEM_TEXT = 160, PATH_TEXT = 3400 };

static const char *const way_names[WAYS] = { "graph", "mma" };

/* What the specification allows of one step, for each of both. */
static double limit_of(lt_precision p)
{
    static const double limit[LT_PRECISION_COUNT] = { [LT_PRECISION_FLOAT32] = 1e-5, [LT_PRECISION_FLOAT16] = 4e-3, [LT_PRECISION_BFLOAT16] = 3e-2, [LT_PRECISION_TF32] = 2e-3 };
    return 2 * limit[p];
}

typedef struct trial {
    lt_device        *dev;
    lt_precision      precision;
    lt_operator_spec  spec;
    lt_stream        *stream;
    lt_application   *way[WAYS];
    lt_recording      recording[WAYS];
    void             *memory;              /* of the device, one piece */
    float            *block, *state, *next[WAYS], *policy;
    int64_t          *t, *failed;
    char              off[100];            /* how the results differ; "" when they do not */
} trial;

/* An operator with everything a step may consist of but noise: a stem, blocks that keep their width, blocks that widen. */
static lt_operator_spec spec_of_trial(void)
{
    lt_operator_spec s = lt_operator_defaults(LT_OPERATOR_CNN);
    s.num_layers = 4, s.base_channels = 64, s.kernel_size = 3, s.grid = GRID, s.noise = LT_NOISE_NONE;
    return s;
}

/* ---- Memory ---- */
static size_t lay_out(trial *r, size_t weights, char *base)
{
    const size_t field = (size_t)REALIZATIONS * LT_FIELD_CHANNELS * GRID * GRID;
    const struct { float **at; size_t count; } piece[] = { { &r->block, weights }, { &r->state, field }, { &r->next[GRAPH], field }, { &r->next[MMA], field }, { &r->policy, 2 } };
    size_t used = 0;
    for (size_t i = 0; i < LT_LEN(piece); i++) {
        *piece[i].at = base ? (float *)(void *)(base + used) : NULL;
        used += (piece[i].count * sizeof(float) + 255) / 256 * 256;
    }
    r->t = base ? (int64_t *)(void *)(base + used) : NULL;
    r->failed = base ? r->t + 1 : NULL;
    return used + (1 + REALIZATIONS) * sizeof(int64_t);
}

static lt_status send(const trial *r, void *to, const void *from, size_t bytes) { return lt_stream_copy(r->stream, to, from, bytes, LT_TRANSFER_H2D, false); }

static lt_status fill_memory(trial *r)
{
    lt_operator_weights *w = NULL;
    const size_t field = (size_t)(r->next[GRAPH] - r->state);
    const float policy[2] = { 0, 1 }; /* the state is the operator's output */
    const int64_t ends[1 + REALIZATIONS] = { 1, -1, -1 };
    float *state = lt_malloc(field * sizeof *state);
    lt_draws d = lt_draws_make(0, "step trial", 0, 0, 0);
    lt_status s = state ? lt_operator_weights_create(&r->spec, &w) : LT_FAIL(LT_ERR_MEMORY, "no memory for the state of a trial");
    if (!s) s = lt_operator_weights_draw(w, 0, 0);
    if (!s) s = lt_draws_normal_f32(&d, 0, (int64_t)field, state);
    if (!s) s = send(r, r->block, w->block, (size_t)w->network.n_floats * sizeof(float));
    if (!s) s = send(r, r->state, state, field * sizeof(float));
    if (!s) s = send(r, r->policy, policy, sizeof policy);
    if (!s) s = send(r, r->t, ends, sizeof ends);
    if (!s) s = lt_stream_sync(r->stream);
    lt_operator_weights_destroy(w);
    lt_free(state);
    return s;
}

/* ---- Running ---- */
static lt_status one_step(trial *r, int way)
{
    return lt_application_step(r->way[way], r->stream, r->state, NULL, r->policy, r->next[way], (lt_step_end){ r->t, r->failed });
}

typedef struct recorded { trial *r; int way; } recorded;
static lt_status queue_steps(void *ctx, lt_stream *st)
{
    recorded *q = ctx;
    (void)st; /* the trial's own */
    for (int i = 0; i < STEPS; i++) LT_TRY(one_step(q->r, q->way));
    return LT_OK;
}

static lt_status run_way(void *ctx, int way, int64_t repeats)
{
    trial *r = ctx;
    for (int64_t i = 0; i < repeats; i++) LT_TRY(lt_recording_replay(&r->recording[way], r->stream));
    return lt_stream_sync(r->stream);
}

static lt_status make_way(trial *r, int way)
{
    lt_rollout_info info = { .size = sizeof info };
    lt_rollout_options opt = lt_rollout_defaults();
    int64_t available;
    opt.device = r->dev, opt.realizations = REALIZATIONS, opt.precision = r->precision;
    LT_TRY(lt_device_available_memory(r->dev, &available));
    lt_application_request q = { .dev = r->dev, .spec = &r->spec, .opt = &opt, .budget_bytes = available / 2, .step = way == MMA ? LT_STEP_MMA : LT_STEP_GRAPH };
    LT_TRY(lt_application_create(&q, &r->way[way], &info));
    LT_TRY(lt_stream_sync(lt_device_stream(r->dev))); /* what programs took is there */
    return LT_OK;
}

static lt_status compare(trial *r)
{
    const size_t n = (size_t)(r->next[GRAPH] - r->state);
    float *x = lt_malloc(WAYS * n * sizeof *x);
    double error = 0, size = 0;
    if (!x) return LT_FAIL(LT_ERR_MEMORY, "no memory for the states of a trial");
    lt_status s = LT_OK;
    for (int way = 0; way < WAYS && !s; way++) s = one_step(r, way);
    for (int way = 0; way < WAYS && !s; way++) s = lt_stream_copy(r->stream, x + (size_t)way * n, r->next[way], n * sizeof *x, LT_TRANSFER_D2H, false);
    if (!s) s = lt_stream_sync(r->stream);
    for (size_t i = 0; i < n && !s; i++) error += pow((double)x[n + i] - x[i], 2), size += pow(x[i], 2);
    lt_free(x);
    if (!s && !(sqrt(error / size) <= limit_of(r->precision)))
        snprintf(r->off, sizeof r->off, "graph, since mma was off by %.1e, at most %.1e", sqrt(error / size), limit_of(r->precision));
    return s;
}

static lt_status set_up(trial *r)
{
    LT_TRY(lt_stream_create(r->dev, &r->stream));
    for (int way = 0; way < WAYS; way++) LT_TRY(make_way(r, way));
    size_t weights = (size_t)lt_application_network(r->way[GRAPH])->n_floats;
    LT_TRY(lt_device_alloc(r->dev, r->stream, lay_out(r, weights, NULL), "step trial", &r->memory));
    (void)lay_out(r, weights, r->memory);
    LT_TRY(fill_memory(r));
    for (int way = 0; way < WAYS; way++) LT_TRY(lt_application_set_weights(r->way[way], r->stream, r->block));
    LT_TRY(compare(r));
    for (int way = 0; way < WAYS; way++) LT_TRY(lt_recording_make(&r->recording[way], r->stream, queue_steps, &(recorded){ r, way }));
    return LT_OK;
}

static void release(trial *r)
{
    if (r->stream) (void)lt_stream_sync(r->stream);
    for (int way = 0; way < WAYS; way++) lt_recording_drop(&r->recording[way]), lt_application_destroy(r->way[way]);
    if (r->memory) (void)lt_device_free(r->dev, r->stream, r->memory);
    lt_stream_destroy(r->stream);
}

/* ---- Remembering ---- */
static lt_status run_alone(void *ctx, int way, int64_t repeats)
{
    const struct timespec a_while = { .tv_nsec = 1000000 }; /* what the tuner's clock can see */
    (void)ctx, (void)repeats;
    if (way != GRAPH) return LT_FAIL(LT_ERR_UNSUPPORTED, "fused steps are out of the race");
    (void)nanosleep(&a_while, NULL);
    return LT_OK;
}

/* An answer without a race: a tuner keeps no other. */
static lt_status note(lt_tuner *tuner, const char *problem, const char *answer)
{
    int choice;
    return lt_tuner_choose(tuner, problem, WAYS, (const char *[]){ answer, way_names[MMA] }, run_alone, NULL, &choice);
}

static lt_status measure(lt_device *dev, lt_precision precision, lt_tuner *tuner, const char *problem)
{
    trial r = { .dev = dev, .precision = precision, .spec = spec_of_trial() };
    int choice;
    lt_status s = set_up(&r);
    if (s) snprintf(r.off, sizeof r.off, "graph, since mma did not run: %.60s", lt_error_text());
    for (char *c = r.off; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == '"' || *c == ':') *c = ' '; /* as the file wants it */
    if (s && lt_stream_sync(lt_device_stream(dev)) == LT_ERR_DEVICE) { /* lost to this process: the next one finds the marker */
        release(&r);
        return LT_FAIL(LT_ERR_DEVICE, "rollout: a trial of fused steps ended %s, which will use compiled graphs from now on", dev->id);
    }
    s = r.off[0] ? note(tuner, problem, r.off) : lt_tuner_choose(tuner, problem, WAYS, way_names, run_way, &r, &choice);
    release(&r);
    return s;
}

/* A trial that took the process with it leaves a file behind, and is not repeated. */
static lt_status try_once(lt_device *dev, lt_precision precision, lt_tuner *tuner, const char *problem, const char *marker)
{
    if (access(marker, F_OK) == 0) {
        LT_TRY(note(tuner, problem, "graph, since a trial of mma did not end"));
    } else {
        int fd = open(marker, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0) return LT_FAIL(LT_ERR_IO, "cannot write %s", marker);
        close(fd);
        LT_TRY(measure(dev, precision, tuner, problem));
    }
    LT_TRY(lt_tuner_save(tuner));
    (void)unlink(marker);
    return LT_OK;
}

static bool known(lt_tuner *tuner, const char *problem, bool *taken, char why[static 160])
{
    lt_tune_entry e;
    if (!lt_tuner_lookup(tuner, problem, &e)) return false;
    *taken = strcmp(e.choice, way_names[MMA]) == 0;
    snprintf(why, 160, "%s%.100s", *taken ? "" : "fused steps were tried on this card: ", *taken ? "" : e.choice);
    return true;
}

/* One process at a time; who waited finds the answer of the other. */
static lt_status try_alone(lt_device *dev, lt_precision precision, const char *problem, bool *taken, char why[static 160])
{
    char folder[3072], lock_path[PATH_TEXT], marker[PATH_TEXT];
    lt_tuner *tuner;
    lt_file_lock lock;
    bool got;
    LT_TRY(lt_tuner_open(dev, LT_TUNE_MEASURE, NULL, &tuner));
    lt_status s = lt_cache_dir(folder, sizeof folder);
    unsigned long long key = lt_hash64(lt_tuner_header(tuner), strlen(lt_tuner_header(tuner)), (uint64_t)precision);
    lt_tuner_destroy(tuner);
    LT_TRY(s);
    snprintf(lock_path, sizeof lock_path, "%s/trial-%016llx.lock", folder, key);
    snprintf(marker, sizeof marker, "%s/trial-%016llx.trying", folder, key);
    LT_TRY(lt_file_lock_take(lock_path, true, &lock, &got));
    s = lt_tuner_open(dev, LT_TUNE_MEASURE, NULL, &tuner);
    if (!s) {
        if (!known(tuner, problem, taken, why)) {
            s = try_once(dev, precision, tuner, problem, marker);
            if (!s) (void)known(tuner, problem, taken, why);
        }
        lt_tuner_destroy(tuner);
    }
    lt_file_lock_release(&lock);
    return s;
}

lt_status lt_step_trial(lt_device *dev, lt_precision precision, bool may_try, bool *taken, char why[static 160])
{
    char problem[PROBLEM_TEXT];
    lt_tuner *tuner;
    *taken = false;
    snprintf(problem, sizeof problem, "rollout step %s layers=4 channels=64 kernel=3 grid=%d M=%d", lt_precision_name(precision), GRID, REALIZATIONS);
    lt_status s = lt_tuner_open(dev, LT_TUNE_ESTIMATE, NULL, &tuner);
    if (!s) {
        bool found = known(tuner, problem, taken, why);
        lt_tuner_destroy(tuner);
        if (found) return LT_OK;
        snprintf(why, 160, "fused steps have not been tried on this card");
        if (may_try && lt_device_has(dev, LT_DEVICE_COMPUTES)) s = try_alone(dev, precision, problem, taken, why);
    }
    if (!s || s == LT_ERR_DEVICE) return s;
    *taken = false; /* without a folder to remember the answer in */
    snprintf(why, 160, "fused steps cannot be tried: %.120s", lt_error_text());
    return LT_OK;
}
