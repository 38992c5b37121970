/* Signs of life: a thread that sends them, and notices which ranks are lost. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/inside.h"

#include "base/alloc.h"
#include "trace/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BEAT_S = 1 }; /* seconds between signs */

lt_status lt_alive_check(const lt_cluster *c)
{
    int lost = __atomic_load_n(&c->lost, __ATOMIC_ACQUIRE);
    return lost < 0 ? LT_OK : LT_FAIL(LT_ERR_DEVICE, "%s", c->lost_text);
}

static void note_lost(lt_cluster *c, int rank, const char *why)
{
    if (c->lost >= 0) return;
    snprintf(c->lost_text, sizeof c->lost_text, "%s was lost: %s", lt_cluster_name(c, rank).s, why);
    __atomic_store_n(&c->lost, rank, __ATOMIC_RELEASE);
}

/* Ended, but its launcher has not noticed: launchers hang at times. */
static bool is_zombie(int pid)
{
    char path[32], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *behind_name = strrchr(text, ')');
    return behind_name && (!strncmp(behind_name, ") Z", 3) || !strncmp(behind_name, ") X", 3));
}

/* Whether the process of a rank on this machine has ended; false where that cannot be known. */
static bool has_ended(const lt_cluster *c, const lt_peer *p)
{
    return p->pid && !strcmp(p->host, c->host) && ((kill(p->pid, 0) && errno == ESRCH) || is_zombie(p->pid));
}

static void look_at_peer(lt_cluster *c, int rank)
{
    char why[96];
    pthread_mutex_lock(&c->lock);
    lt_peer p = c->peer[rank];
    pthread_mutex_unlock(&c->lock);
    int64_t silent = lt_clock_ns() - p.heard_ns;
    snprintf(why, sizeof why, "nothing was heard of it for %lld seconds", (long long)(silent / 1000000000));
    if (p.gone) return;
    if (has_ended(c, &p)) note_lost(c, rank, "its process has ended");
    else if (silent > c->silence_ns) note_lost(c, rank, why);
}

/* Begins to send without waiting: a receiver that is gone must not stop this thread. The sign is one byte, which MPI sends at once. */
static void send_sign(lt_cluster *c, int to, void **request)
{
    static const char sign = 1;
    pthread_mutex_lock(&c->lock);
    if (*request) (void)c->mpi.sent(request);
    if (!*request && !c->hushed && c->mpi.send(to, LT_TAG_ALIVE, &sign, 1, request)) *request = NULL;
    pthread_mutex_unlock(&c->lock);
}

/* The last sign has left long ago; only that of a peer that is gone may be under way for ever, and its handle is lost. */
static void let_go(lt_cluster *c, void **request)
{
    pthread_mutex_lock(&c->lock);
    if (*request) (void)c->mpi.sent(request);
    pthread_mutex_unlock(&c->lock);
}

void lt_alive_drain(lt_cluster *c)
{
    int from, n;
    size_t bytes;
    char sign[8];
    pthread_mutex_lock(&c->lock);
    for (n = 0; n < 4 * c->mpi.ranks && c->mpi.arrived(LT_TAG_ALIVE, &from, &bytes) > 0 && bytes <= sizeof sign; n++)
        if (!c->mpi.receive(from, LT_TAG_ALIVE, sign, bytes)) c->peer[from].heard_ns = lt_clock_ns();
    pthread_mutex_unlock(&c->lock);
}

/* Until the next sign is due, or the cluster ends. Hundreds of ranks may share a core: none wakes up more often. */
static bool rest(lt_cluster *c)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BEAT_S;
    pthread_mutex_lock(&c->ending_lock);
    while (!c->ending && !pthread_cond_timedwait(&c->ended, &c->ending_lock, &until)) continue;
    bool ending = c->ending;
    pthread_mutex_unlock(&c->ending_lock);
    return !ending;
}

static void *beat(void *ctx)
{
    lt_cluster *c = ctx;
    int first = c->mpi.rank ? 0 : 1, last = c->mpi.rank ? 1 : c->mpi.ranks; /* whom it watches */
    void **request = lt_calloc((size_t)c->mpi.ranks, sizeof *request);
    do {
        for (int i = first; i < last && request; i++) send_sign(c, i, &request[i]);
        lt_alive_drain(c);
        for (int i = first; i < last; i++) look_at_peer(c, i);
    } while (request && rest(c));
    for (int i = first; i < last && request; i++) let_go(c, &request[i]);
    lt_free((void *)request);
    return NULL;
}

lt_status lt_alive_start(lt_cluster *c)
{
    sigset_t all, before;
    int64_t now = lt_clock_ns();
    for (int i = 0; i < c->mpi.ranks; i++) c->peer[i].heard_ns = now;
    sigfillset(&all); /* signals are for the threads that work */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&c->beat, NULL, beat, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    c->beating = rc == 0;
    return rc ? LT_FAIL(LT_ERR_MEMORY, "no thread for the signs of life between ranks: %s", strerror(rc)) : LT_OK;
}

void lt_alive_hush(lt_cluster *c)
{
    pthread_mutex_lock(&c->lock);
    c->hushed = true;
    pthread_mutex_unlock(&c->lock);
}

void lt_alive_stop(lt_cluster *c)
{
    if (!c->beating) return;
    pthread_mutex_lock(&c->ending_lock);
    c->ending = true;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->ending_lock);
    pthread_join(c->beat, NULL);
    c->beating = false;
}
