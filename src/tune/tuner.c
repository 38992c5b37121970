/* The tuner: looks up, else times the candidates and remembers the best.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/tune.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/sized.h"
#include "base/status.h"
#include "trace/clock.h"
#include "trace/trace.h"
#include "tune/tune_table.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CANDIDATES = 256 };

struct lt_tuner {
    pthread_mutex_t lock;
    lt_tune_mode    mode;
    int64_t         trust_ns, budget_ns;
    int             rounds;
    char            header[LT_TUNE_HEADER_MAX];
    char           *path;
    bool            path_given;       /* by the caller: a foreign file there is not ours to replace */
    lt_tune_table   table;
    int64_t         n_measured;
    char            refusal[512];
};

static const char *const mode_name[] = { [LT_TUNE_ESTIMATE] = "estimate", [LT_TUNE_MEASURE] = "measure", [LT_TUNE_STORED] = "stored" };
_Static_assert(LT_LEN(mode_name) == LT_TUNE_MODE_COUNT, "a name for each mode");

const char *lt_tune_mode_name(lt_tune_mode m) { return (unsigned)m < LT_TUNE_MODE_COUNT ? mode_name[m] : "?"; }

bool lt_tune_mode_parse(const char *name, lt_tune_mode *out)
{
    if (!out) return false;
    for (int m = 0; m < LT_TUNE_MODE_COUNT; m++)
        if (name && strcmp(name, mode_name[m]) == 0) { *out = (lt_tune_mode)m; return true; }
    return false;
}

/* ---- Making ------------------------------------------------------------------------------------- */
void lt_tuner_defaults_into(lt_tuner_options *out)
{
    LT_GIVE(out, &(lt_tuner_options){ .size = sizeof(lt_tuner_options), .device = "cpu", .driver = "none", .kernels = "0",
                                            .mode = LT_TUNE_MEASURE, .trust_ns = 100000, .budget_ns = 200000000, .rounds = 5 });
}

static bool header_text_ok(const char *text)
{
    if (!text || !*text) return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '"') return false;
    return true;
}

static lt_status check_options(const lt_tuner_options *o)
{
    if ((unsigned)o->mode >= LT_TUNE_MODE_COUNT) return LT_FAIL(LT_ERR_ARGUMENT, "tuner: no mode number %d", (int)o->mode);
    if (!header_text_ok(o->device) || !header_text_ok(o->driver) || !header_text_ok(o->kernels))
        return LT_FAIL(LT_ERR_ARGUMENT, "tuner: device, driver and kernels must be text without quotes or control characters");
    if (o->trust_ns < 100 || o->budget_ns < 0 || o->rounds < 1)
        return LT_FAIL(LT_ERR_ARGUMENT, "tuner: trust_ns %lld, budget_ns %lld, rounds %d; expected at least 100, 0 and 1",
                       (long long)o->trust_ns, (long long)o->budget_ns, o->rounds);
    return LT_OK;
}

static lt_status set_path(lt_tuner *t, const char *given)
{
    char folder[3072], path[3200];
    if (!given) {
        LT_TRY(lt_cache_dir(folder, sizeof folder));
        snprintf(path, sizeof path, "%s/tune-%016llx.txt", folder, (unsigned long long)lt_hash64(t->header, strlen(t->header), 0));
    }
    t->path_given = given != NULL;
    t->path = lt_strdup(given ? given : path);
    return t->path ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "tuner: no memory for a path");
}

/* A file that is not there is an empty one. */
static lt_status read_first(lt_tuner *t)
{
    if (access(t->path, F_OK) && errno == ENOENT) return LT_OK;
    lt_status s = lt_tune_read(t->path, t->header, &t->table);
    if (s != LT_ERR_FORMAT || t->mode == LT_TUNE_STORED) return s;
    snprintf(t->refusal, sizeof t->refusal, "%s", lt_error_text());
    return LT_OK;
}

lt_status lt_tuner_create(const lt_tuner_options *opt, lt_tuner **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "tuner: out is NULL");
    *out = NULL;
    lt_tuner_options o = lt_tuner_defaults();
    LT_TRY(LT_TAKE(lt_tuner_options, opt, &o));
    LT_TRY(check_options(&o));
    lt_tuner *t = lt_calloc(1, sizeof *t);
    if (!t) return LT_FAIL(LT_ERR_MEMORY, "tuner: %zu bytes for the handle", sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    t->mode = o.mode;
    t->trust_ns = o.trust_ns;
    t->budget_ns = o.budget_ns;
    t->rounds = o.rounds;
    int n = snprintf(t->header, sizeof t->header, "lathe-tune 1 device=\"%s\" driver=%s kernels=%s", o.device, o.driver, o.kernels);
    lt_status s = n < (int)sizeof t->header ? LT_OK : LT_FAIL(LT_ERR_ARGUMENT, "tuner: the description of the device is %d bytes, at most %d fit", n, LT_TUNE_HEADER_MAX - 1);
    if (!s) s = set_path(t, o.path);
    if (!s) s = read_first(t);
    if (s) { lt_tuner_destroy(t); return s; }
    *out = t;
    return LT_OK;
}

void lt_tuner_destroy(lt_tuner *t)
{
    if (!t) return;
    lt_tune_table_release(&t->table);
    lt_free(t->path);
    pthread_mutex_destroy(&t->lock);
    lt_free(t);
}

const char *lt_tuner_refusal(const lt_tuner *t) { return t->refusal; }
const char *lt_tuner_path(const lt_tuner *t) { return t->path; }
const char *lt_tuner_header(const lt_tuner *t) { return t->header; }

/* ---- Timing --------------------------------------------------------------------------------------- */
typedef struct candidate { int64_t repeats; double best_ns; bool out; } candidate;

static lt_status time_once(lt_tune_run run, void *ctx, int which, candidate *c, int64_t *took_ns)
{
    int64_t start = lt_clock_ns();
    LT_TRY(lt_callback_status("tune: the function", run(ctx, which, c->repeats)));
    *took_ns = lt_clock_ns() - start;
    double each = (double)LT_MAX(*took_ns, 1) / (double)c->repeats;
    if (c->best_ns == 0 || each < c->best_ns) c->best_ns = each;
    return LT_OK;
}

/* The first run warms caches and pages and does not count; then repeats double until one
   stretch is long enough for the clock. */
static lt_status find_repeats(const lt_tuner *t, lt_tune_run run, void *ctx, int which, candidate *c)
{
    int64_t took = 0;
    LT_TRY(lt_callback_status("tune: the function", run(ctx, which, 1)));
    for (c->repeats = 1;; c->repeats *= 2) {
        LT_TRY(time_once(run, ctx, which, c, &took));
        if (took >= t->trust_ns || c->repeats >= INT64_C(1) << 40) break;
    }
    c->best_ns = (double)LT_MAX(took, 1) / (double)c->repeats;
    return LT_OK;
}

static double best_of(const candidate *c, int n, int *which)
{
    *which = -1;
    for (int i = 0; i < n; i++)
        if (!c[i].out && (*which < 0 || c[i].best_ns < c[*which].best_ns)) *which = i;
    return *which < 0 ? 0 : c[*which].best_ns;
}

/* To four digits: more would only be noise in the file. */
static double round_time(double us)
{
    double unit = pow(10, floor(log10(us)) - 3);
    double digits = floor(us / unit + 0.5);
    return unit < 1 ? digits / floor(1 / unit + 0.5) : digits * unit; /* dividing keeps the text short */
}

/* Rounds go over all candidates in turn, so that a disturbance of the machine hits all alike.
   Whoever is four times slower than the best will not catch up. */
static lt_status measure(const lt_tuner *t, int n, lt_tune_run run, void *ctx, int *choice, double *time_us)
{
    candidate c[MAX_CANDIDATES];
    memset(c, 0, (size_t)n * sizeof *c);
    lt_status failed = LT_OK;
    char text[512] = "";
    int64_t start = lt_clock_ns(), took;
    for (int i = 0; i < n; i++) {
        lt_status s = find_repeats(t, run, ctx, i, &c[i]);
        if (!s) continue;
        c[i].out = true;
        if (!failed) snprintf(text, sizeof text, "%s", lt_error_text());
        failed = failed ? failed : s;
    }
    double best = best_of(c, n, choice);
    if (*choice < 0) { lt_error_set(text); return failed; }
    for (int i = 0; i < n; i++) c[i].out |= c[i].best_ns > 4 * best;
    for (int r = 1; r < t->rounds && lt_clock_ns() - start < t->budget_ns; r++)
        for (int i = 0; i < n; i++)
            if (!c[i].out && time_once(run, ctx, i, &c[i], &took)) c[i].out = true;
    best = best_of(c, n, choice);
    if (*choice >= 0) *time_us = round_time(best / 1e3);
    return *choice < 0 ? LT_FAIL(LT_ERR_INTERNAL, "tune: every candidate failed on repetition") : LT_OK;
}

/* ---- Choosing ---------------------------------------------------------------------------------------- */
static lt_status check_problem(const char *problem, int n, const char *const *names, lt_tune_run run, lt_tune_mode mode)
{
    if (!lt_tune_text_ok(problem))
        return LT_FAIL(LT_ERR_ARGUMENT, "tune: problem '%.60s' must be 1 to %d bytes of plain text without ' : '", problem ? problem : "(null)", LT_TUNE_TEXT_MAX);
    if (n < 1 || n > MAX_CANDIDATES || !names)
        return LT_FAIL(LT_ERR_ARGUMENT, "tune '%s': %d candidates, expected 1 to %d", problem, n, MAX_CANDIDATES);
    for (int i = 0; i < n; i++) {
        if (!lt_tune_text_ok(names[i])) return LT_FAIL(LT_ERR_ARGUMENT, "tune '%s': the name of candidate %d is not plain text", problem, i);
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0) return LT_FAIL(LT_ERR_ARGUMENT, "tune '%s': two candidates are called '%s'", problem, names[i]);
    }
    if (mode == LT_TUNE_MEASURE && n > 1 && !run) return LT_FAIL(LT_ERR_ARGUMENT, "tune '%s': nothing to run", problem);
    return LT_OK;
}

static lt_status choose(lt_tuner *t, const char *problem, int n, const char *const *names, lt_tune_run run, void *ctx, int *choice)
{
    const lt_tune_item *known = lt_tune_table_find(&t->table, problem);
    for (int i = 0; known && i < n; i++)
        if (strcmp(known->choice, names[i]) == 0) { *choice = i; return LT_OK; }
    if (t->mode == LT_TUNE_STORED)
        return known ? LT_FAIL(LT_ERR_MISMATCH, "tune: '%s' is stored as '%s', which is no candidate here", problem, known->choice)
                     : LT_FAIL(LT_ERR_MISMATCH, "tune: '%s' is not in '%s'; run once in mode measure", problem, t->path);
    *choice = 0;
    if (t->mode == LT_TUNE_ESTIMATE || n == 1) return LT_OK;
    double time_us = 0;
    lt_span span = lt_span_begin("tune");
    lt_status s = measure(t, n, run, ctx, choice, &time_us);
    lt_span_end(span);
    LT_TRY(s);
    t->n_measured++;
    return lt_tune_table_put(&t->table, problem, names[*choice], time_us, true);
}

lt_status lt_tuner_choose(lt_tuner *t, const char *problem, int n_candidates, const char *const *names, lt_tune_run run, void *ctx, int *choice)
{
    if (!choice) return LT_FAIL(LT_ERR_ARGUMENT, "tune: choice is NULL");
    *choice = 0;
    if (!t) return LT_FAIL(LT_ERR_ARGUMENT, "tune: the tuner is NULL");
    LT_TRY(check_problem(problem, n_candidates, names, run, t->mode));
    pthread_mutex_lock(&t->lock);
    lt_status s = choose(t, problem, n_candidates, names, run, ctx, choice);
    if (s) *choice = 0;
    pthread_mutex_unlock(&t->lock);
    return s;
}

/* ---- Reading the table ---------------------------------------------------------------------------------- */
static void fill(const lt_tune_item *it, lt_tune_entry *out) { *out = (lt_tune_entry){ it->problem, it->choice, it->time_us }; }

bool lt_tuner_lookup(lt_tuner *t, const char *problem, lt_tune_entry *out)
{
    pthread_mutex_lock(&t->lock);
    const lt_tune_item *it = lt_tune_table_find(&t->table, problem);
    if (it) fill(it, out);
    pthread_mutex_unlock(&t->lock);
    return it != NULL;
}

bool lt_tuner_entry(lt_tuner *t, int64_t index, lt_tune_entry *out)
{
    pthread_mutex_lock(&t->lock);
    bool found = index >= 0 && index < t->table.n;
    if (found) fill(&t->table.item[index], out);
    pthread_mutex_unlock(&t->lock);
    return found;
}

int64_t lt_tuner_count(lt_tuner *t)
{
    pthread_mutex_lock(&t->lock);
    int64_t n = t->table.n;
    pthread_mutex_unlock(&t->lock);
    return n;
}

int64_t lt_tuner_measured(lt_tuner *t)
{
    pthread_mutex_lock(&t->lock);
    int64_t n = t->n_measured;
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* ---- Files -------------------------------------------------------------------------------------------------- */
/* All of `from` that `to` does not know; with measured_wins also what this process measured. */
static lt_status join(lt_tune_table *to, const lt_tune_table *from, bool measured_wins)
{
    for (int64_t i = 0; i < from->n; i++) {
        const lt_tune_item *it = &from->item[i];
        if (lt_tune_table_find(to, it->problem) && !(measured_wins && it->measured)) continue;
        LT_TRY(lt_tune_table_put(to, it->problem, it->choice, it->time_us, it->measured));
    }
    return LT_OK;
}

/* Into a copy first: a failure half way must leave the tuner as it was. */
static lt_status join_copy(const lt_tune_table *a, const lt_tune_table *b, bool measured_wins, lt_tune_table *out)
{
    *out = (lt_tune_table){ NULL, 0, 0, NULL, 0 };
    lt_status s = join(out, a, false);
    if (!s) s = join(out, b, measured_wins);
    if (s) lt_tune_table_release(out);
    return s;
}

lt_status lt_tuner_load(lt_tuner *t, const char *path)
{
    if (!t || !path) return LT_FAIL(LT_ERR_ARGUMENT, "tune: tuner or path is NULL");
    lt_tune_table file, both;
    LT_TRY(lt_tune_read(path, t->header, &file));
    pthread_mutex_lock(&t->lock);
    lt_status s = join_copy(&t->table, &file, false, &both);
    if (!s) {
        lt_tune_table_release(&t->table);
        t->table = both;
    }
    pthread_mutex_unlock(&t->lock);
    lt_tune_table_release(&file);
    return s;
}

/* Under both locks. What others wrote meanwhile is kept, and known here from now on. */
static lt_status merge_and_write(lt_tuner *t)
{
    lt_tune_table file = { NULL, 0, 0, NULL, 0 }, both;
    if (access(t->path, F_OK) == 0) {
        lt_status s = lt_tune_read(t->path, t->header, &file);
        if (s == LT_ERR_FORMAT && t->path_given) {
            char why[400];
            snprintf(why, sizeof why, "%s", lt_error_text());
            return LT_FAIL(LT_ERR_FORMAT, "not overwritten, remove it or give another path: %s", why);
        }
        if (s && s != LT_ERR_FORMAT) return s;
    }
    lt_status s = join_copy(&file, &t->table, true, &both);
    lt_tune_table_release(&file);
    if (s) return s;
    s = lt_tune_write(t->path, t->header, &both);
    if (s) { lt_tune_table_release(&both); return s; }
    lt_tune_table_release(&t->table);
    t->table = both;
    t->refusal[0] = 0;
    return LT_OK;
}

lt_status lt_tuner_save(lt_tuner *t)
{
    if (!t) return LT_FAIL(LT_ERR_ARGUMENT, "tune: the tuner is NULL");
    size_t bytes = strlen(t->path) + 6;
    char *lock_path = lt_malloc(bytes);
    if (!lock_path) return LT_FAIL(LT_ERR_MEMORY, "tune: no memory for a path");
    snprintf(lock_path, bytes, "%s.lock", t->path);
    lt_file_lock lock;
    bool taken;
    pthread_mutex_lock(&t->lock);
    lt_status s = lt_file_lock_take(lock_path, true, &lock, &taken);
    if (!s) {
        s = merge_and_write(t);
        lt_file_lock_release(&lock);
    }
    pthread_mutex_unlock(&t->lock);
    lt_free(lock_path);
    return s;
}
