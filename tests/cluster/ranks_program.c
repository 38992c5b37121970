/* A program of several ranks for ranks.sh: what they do with each other, by name. Rank 0 alone prints. SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/status.h"
#include "cluster/cluster.h"
#include "cluster/queue.h"
#include "cluster/work.h"
#include "trace/clock.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { UNITS = 500 };
#define LT_MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* ---- Work ---------------------------------------------------------------------------------------------------------------------- */

typedef struct taken { int64_t value[UNITS]; int times[UNITS], parts; bool refuse; } taken;

static lt_status take(void *ctx, int rank, int64_t unit, int kind, const void *data, size_t bytes)
{
    static taken nobody;
    taken *t = ctx ? ctx : &nobody;
    (void)rank;
    if (kind == 7) {
        t->parts++;
        return LT_OK;
    }
    if (t->refuse && unit == 40) return LT_FAIL(LT_ERR_DEVICE, "unit 40 cannot be kept");
    if (bytes != sizeof *t->value || unit < 0 || unit >= UNITS) return LT_FAIL(LT_ERR_INTERNAL, "unit %lld has %zu bytes", (long long)unit, bytes);
    memcpy(&t->value[unit], data, bytes);
    t->times[unit]++;
    return LT_OK;
}

static lt_status run_units(lt_cluster *c, lt_work *w, const char *how)
{
    int rank = lt_cluster_rank(c);
    for (int64_t unit, n = 0;; n++) {
        LT_TRY(lt_work_next(w, &unit));
        if (unit < 0) return LT_OK;
        int64_t value = unit * unit;
        if (rank == 1 && n == 3 && !strcmp(how, "fail-work")) return LT_FAIL(LT_ERR_ARGUMENT, "no more after unit %lld", (long long)unit);
        if (rank == 1 && n == 3 && !strcmp(how, "killed")) raise(SIGKILL);
        if (rank == 0 && n == 3 && !strcmp(how, "killed-first")) raise(SIGKILL);
        if (rank == 1 && n == 3 && !strcmp(how, "silent")) raise(SIGSTOP);
        usleep(200);
        LT_TRY(lt_work_put(w, unit, 7, 0, NULL));
        LT_TRY(lt_work_put(w, unit, 0, 2, (lt_piece[]){ { &value, 3 }, { (char *)&value + 3, 5 } }));
    }
}

static lt_status share_work(lt_cluster *c, const char *how)
{
    static taken t;
    static int64_t unit[UNITS];
    lt_work *w;
    t = (taken){ .refuse = !strcmp(how, "fail-take") };
    for (int i = 0; i < UNITS; i++) unit[i] = i;
    LT_TRY(lt_work_begin(c, &(lt_work_plan){ .unit = unit, .n = lt_cluster_rank(c) ? 0 : UNITS, .take = take, .ctx = &t }, &w));
    LT_TRY(lt_work_end(w, run_units(c, w, how)));
    for (int i = 0; i < UNITS && !lt_cluster_rank(c); i++)
        if (t.times[i] != 1 || t.value[i] != (int64_t)i * i || t.parts != UNITS) return LT_FAIL(LT_ERR_MISMATCH, "unit %d was taken %d times", i, t.times[i]);
    return LT_OK;
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* What an answer costs rank 0: the others ask and do nothing with the units, so that asks come as fast as they can. */
static lt_status time_answers(lt_cluster *c)
{
    enum { MANY = 200000 };
    int64_t *unit = lt_malloc(MANY * sizeof *unit);
    lt_work *w;
    if (!unit) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < MANY; i++) unit[i] = i;
    lt_status s = lt_work_begin(c, &(lt_work_plan){ .unit = unit, .n = lt_cluster_rank(c) ? 0 : MANY, .take = take }, &w);
    for (int64_t got = 0; !s && lt_cluster_rank(c) && got >= 0;) s = lt_work_next(w, &got);
    if (!lt_cluster_rank(c)) {
        double cpu = cpu_seconds();
        lt_work_stats t = lt_work_get_stats(w);
        for (int64_t before = -1; t.asks != before || !t.asks; t = lt_work_get_stats(w)) {
            before = t.asks;
            usleep(300000);
        }
        cpu = cpu_seconds() - cpu; /* of all of rank 0, its looks for messages included: other programs on the machine do not count */
        printf("%lld answers, %.1f us each by the clock, %.1f us of processor time\n", (long long)t.asks, 1e6 * t.answer_seconds / (double)LT_MAX_OF(t.asks, 1),
               1e6 * cpu / (double)LT_MAX_OF(t.asks, 1));
    }
    s = lt_work_end(w, s);
    lt_free(unit);
    return s;
}

/* Real processes whose units sleep as long as operators of the standard space would run, of cost 1 to 50: how much of the time they work. */
static double cost_of(int64_t unit)
{
    uint64_t h = ((uint64_t)unit + 1) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    return exp(log(50.0) * (double)(h * 0xbf58476d1ce4e5b9u >> 11) * 0x1p-53);
}

static lt_status time_sleepers(lt_cluster *c, int64_t n, double cheapest)
{
    int64_t *unit = lt_malloc((size_t)n * sizeof *unit), got = 0;
    double *cost = lt_malloc((size_t)n * sizeof *cost), total = 0, slept = 0;
    lt_work *w;
    if (!unit || !cost) return LT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) unit[i] = i, total += cost[i] = cost_of(i);
    LT_TRY(lt_queue_order(unit, cost, n, LT_MAX_OF(64 * lt_cluster_size(c), 512)));
    LT_TRY(lt_cluster_barrier(c));
    int64_t start = lt_clock_ns();
    lt_status s = lt_work_begin(c, &(lt_work_plan){ .unit = unit, .cost = cost, .n = lt_cluster_rank(c) ? 0 : n, .take = take }, &w);
    while (!s && !(s = lt_work_next(w, &got)) && got >= 0) {
        int64_t ns = (int64_t)(1e9 * cheapest * cost_of(got)), before = lt_clock_ns();
        nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
        slept += 1e-9 * (double)(lt_clock_ns() - before);
        s = lt_work_put(w, got, 7, 0, NULL);
    }
    double *all = lt_calloc((size_t)lt_cluster_size(c), sizeof *all), sum = 0;
    s = lt_work_end(w, s);
    double seconds = 1e-9 * (double)(lt_clock_ns() - start), ideal = cheapest * total / lt_cluster_size(c);
    if (!s) s = lt_cluster_gather(c, &slept, sizeof slept, all);
    for (int i = 0; i < lt_cluster_size(c); i++) sum += all[i];
    if (!lt_cluster_rank(c))
        printf("efficiency %.4f: %lld units on %d ranks in %.2f s, %.2f s would be ideal; sleeping took %.4f of what was asked for\n", ideal / seconds, (long long)n, lt_cluster_size(c), seconds, ideal,
               sum / (cheapest * total));
    lt_free(unit);
    lt_free(cost);
    lt_free(all);
    return s;
}

/* ---- Regions --------------------------------------------------------------------------------------------------------------------- */

enum { PART = 1000 };

static lt_status check_region(lt_cluster *c, lt_region *r)
{
    char part[PART];
    for (int i = 0; i < lt_cluster_size(c) && !lt_cluster_rank(c); i++) {
        LT_TRY(lt_region_read(r, (uint64_t)i * PART, part, PART));
        for (int k = 0; k < PART; k++)
            if (part[k] != (char)('a' + i)) return LT_FAIL(LT_ERR_MISMATCH, "byte %d of part %d is %d", k, i, part[k]);
    }
    return LT_OK;
}

static lt_status share_region(lt_cluster *c, const char *path, bool elsewhere)
{
    lt_region *r = NULL;
    char part[PART], other[4096];
    int rank = lt_cluster_rank(c);
    snprintf(other, sizeof other, "%s.%d", path, getpid());
    bool own = lt_cluster_size(c) == 1 || (elsewhere && rank == 2); /* ranks that work alone must not share it */
    if (own) close(creat(other, 0600));
    LT_TRY(lt_region_open(c, own ? other : path, (uint64_t)lt_cluster_size(c) * PART, false, &r));
    memset(part, 'a' + rank, PART);
    lt_status s = lt_region_write(r, (uint64_t)rank * PART, part, PART);
    if (!s) s = lt_region_sync(r);
    s = lt_cluster_agree(c, s, "parts", NULL, 0);
    if (!s) s = check_region(c, r);
    lt_region_close(r);
    return s;
}

/* ---- All together -------------------------------------------------------------------------------------------------------------------- */

static lt_status share_numbers(lt_cluster *c)
{
    int own = 10 + lt_cluster_rank(c), *all = lt_calloc((size_t)lt_cluster_size(c), sizeof *all), same = lt_cluster_rank(c) ? 0 : 42;
    if (!all) return LT_ERR_MEMORY;
    lt_status s = lt_cluster_gather(c, &own, sizeof own, all);
    for (int i = 0; i < lt_cluster_size(c) && !s && !lt_cluster_rank(c); i++)
        if (all[i] != 10 + i) s = LT_FAIL(LT_ERR_MISMATCH, "rank %d gave %d", i, all[i]);
    lt_free(all);
    LT_TRY(s);
    LT_TRY(lt_cluster_broadcast(c, &same, sizeof same));
    if (same != 42) return LT_FAIL(LT_ERR_MISMATCH, "%d came from rank 0", same);
    return lt_cluster_barrier(c);
}

static lt_status run(lt_cluster *c, const char *how, const char *path)
{
    int rank = lt_cluster_rank(c);
    if (!strcmp(how, "fail-early")) return lt_cluster_agree(c, rank == 2 ? LT_FAIL(LT_ERR_ARGUMENT, "rank 2 does not like it") : LT_OK, "start", NULL, 0);
    if (!strcmp(how, "differ")) return lt_cluster_agree(c, LT_OK, "numbers", rank ? "1" : "0", 1);
    if (!strcmp(how, "other-disk")) return share_region(c, path, true);
    if (!strcmp(how, "answers")) return time_answers(c);
    if (!strncmp(how, "sleepers=", 9)) return time_sleepers(c, atoll(how + 9), atof(path)); /* sleepers=UNITS SECONDS */
    if (strcmp(how, "all")) return share_work(c, how);
    LT_TRY(share_numbers(c));
    LT_TRY(share_work(c, how));
    LT_TRY(share_work(c, how)); /* again: nothing is left of the first time */
    LT_TRY(share_region(c, path, false));
    return lt_cluster_agree(c, LT_OK, "end", NULL, 0);
}

#ifdef OTHER_VERSION
/* The linker puts it in front of the library's. */
const char *__wrap_lt_version(void);
const char *__wrap_lt_version(void) { return "9.9.9"; }
#endif

int main(int argc, char **argv)
{
    lt_cluster *c;
    if (argc < 3) return 2;
    lt_status s = lt_cluster_open(&c);
    if (s) {
        if (lt_cluster_launched(NULL) == 0) printf("%s\n", lt_error_text());
        return s == LT_ERR_ARGUMENT ? 2 : 1;
    }
    s = run(c, argv[1], argv[2]);
    if (s && !lt_cluster_has_failed(c)) s = lt_cluster_agree(c, s, "end", NULL, 0);
    lt_cluster_info i = lt_cluster_get_info(c);
    if (i.rank == 0) printf("%s %s, %d ranks: %s\n", s ? "failed" : "fine", i.name, i.ranks, s ? lt_error_text() : "");
    fflush(stdout);
    lt_cluster_close(c);
    return s == LT_ERR_ARGUMENT ? 2 : s != LT_OK;
}
