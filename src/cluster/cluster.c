/* Opening and leaving a cluster, messages between ranks, and what is made of them. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/inside.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/pool.h"
#include "base/sized.h"
#include "device/flags.h"
#include "trace/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int lt_cluster_rank(const lt_cluster *c) { return c ? c->mpi.rank : 0; }
int lt_cluster_size(const lt_cluster *c) { return c ? c->mpi.ranks : 1; }
bool lt_cluster_has_failed(const lt_cluster *c) { return c && c->failed; }

/* ---- Waiting ------------------------------------------------------------------------------------------------------------------ */

/* Between looks: short at first, since most answers come at once, then longer, by a share of the time waited so far: ranks that have ended may wait for others that
   share their cores. */
void lt_cluster_rest(int looks)
{
    enum { EAGER = 20, DOUBLINGS = 9 };
    if (looks < EAGER) {
        sched_yield();
        return;
    }
    long us = 20L << LT_MIN((looks - EAGER) / 8, DOUBLINGS); /* 10 ms at most, after 0.2 s */
    nanosleep(&(struct timespec){ 0, 1000 * us }, NULL);
}

static lt_status mpi_failed(const char *what, int rank, int code)
{
    return LT_FAIL(LT_ERR_DEVICE, "a message could not be %s rank %d: the MPI library failed with %d", what, rank, code);
}

lt_status lt_cluster_send(lt_cluster *c, int to, lt_cluster_tag tag, const void *data, size_t bytes)
{
    void *request = NULL;
    if (bytes > INT32_MAX) return LT_FAIL(LT_ERR_UNSUPPORTED, "a message of %zu bytes to rank %d: at most %d fit", bytes, to, INT32_MAX);
    pthread_mutex_lock(&c->lock);
    int rc = c->mpi.send(to, tag, data, bytes, &request);
    pthread_mutex_unlock(&c->lock);
    if (rc) return mpi_failed("sent to", to, rc);
    for (int looks = 0;; looks++) {
        pthread_mutex_lock(&c->lock);
        rc = c->mpi.sent(&request);
        pthread_mutex_unlock(&c->lock);
        if (rc < 0) return mpi_failed("sent to", to, rc);
        if (rc) return LT_OK;
        LT_TRY(lt_alive_check(c)); /* the request is abandoned: the process ends soon */
        lt_cluster_rest(looks);
    }
}

/* Receives a message if one has arrived; from is -1 otherwise. */
static lt_status look(lt_cluster *c, lt_cluster_tag tag, lt_message *out)
{
    pthread_mutex_lock(&c->lock);
    *out = (lt_message){ .from = -1 };
    int from, rc = c->mpi.arrived(tag, &from, &out->bytes);
    lt_status s = rc < 0 ? mpi_failed("received from", from = -1, rc) : LT_OK;
    if (rc > 0 && !(out->data = lt_malloc(out->bytes + 1))) s = LT_ERR_MEMORY;
    if (rc > 0 && !s && (rc = c->mpi.receive(from, tag, out->data, out->bytes))) s = mpi_failed("received from", from, rc);
    else if (rc >= 0 && out->data) out->from = from;
    if (out->from >= 0 && c->peer) c->peer[from].heard_ns = lt_clock_ns();
    pthread_mutex_unlock(&c->lock);
    if (s) lt_free(out->data);
    return s;
}

lt_status lt_cluster_receive(lt_cluster *c, lt_cluster_tag tag, double seconds, const volatile int *until, lt_message *out)
{
    int64_t start = lt_clock_ns();
    for (int looks = 0;; looks++) {
        LT_TRY(look(c, tag, out));
        if (out->from >= 0) return LT_OK;
        LT_TRY(lt_alive_check(c));
        if ((until && *until) || lt_seconds_since(start) >= seconds) return LT_OK;
        lt_cluster_rest(looks);
    }
}

/* ---- All ranks together --------------------------------------------------------------------------------------------------------- */

static const double forever = 1e300;

static lt_status receive_exactly(lt_cluster *c, lt_cluster_tag tag, size_t bytes, lt_message *m)
{
    LT_TRY(lt_cluster_receive(c, tag, forever, NULL, m));
    if (m->bytes == bytes) return LT_OK;
    lt_free(m->data);
    return LT_FAIL(LT_ERR_INTERNAL, "rank %d sent %zu bytes with tag %d, expected %zu", m->from, m->bytes, tag, bytes);
}

lt_status lt_cluster_gather(lt_cluster *c, const void *data, size_t bytes, void *out)
{
    if (lt_cluster_rank(c)) return lt_cluster_send(c, 0, LT_TAG_GATHER, data, bytes);
    memcpy(out, data, bytes);
    for (int i = 1; i < lt_cluster_size(c); i++) {
        lt_message m;
        LT_TRY(receive_exactly(c, LT_TAG_GATHER, bytes, &m));
        memcpy((char *)out + (size_t)m.from * bytes, m.data, bytes);
        lt_free(m.data);
    }
    return LT_OK;
}

lt_status lt_cluster_broadcast(lt_cluster *c, void *data, size_t bytes)
{
    lt_message m;
    if (!lt_cluster_rank(c)) {
        for (int i = 1; i < lt_cluster_size(c); i++) LT_TRY(lt_cluster_send(c, i, LT_TAG_BROADCAST, data, bytes));
        return LT_OK;
    }
    LT_TRY(receive_exactly(c, LT_TAG_BROADCAST, bytes, &m));
    memcpy(data, m.data, bytes);
    lt_free(m.data);
    return LT_OK;
}

lt_status lt_cluster_barrier(lt_cluster *c) { return lt_cluster_agree(c, LT_OK, "barrier", NULL, 0); }

/* ---- Opening and leaving --------------------------------------------------------------------------------------------------------- */

static lt_status meet(lt_cluster *c, const lt_launch *l)
{
    int64_t seconds;
    LT_TRY(lt_config_int(LT_CONFIG_RANK_SECONDS, 2, 86400, 60, &seconds));
    c->silence_ns = seconds * 1000000000;
    LT_TRY(lt_launch_join(l, &c->mpi, c->name));
    size_t n = (size_t)c->mpi.ranks;
    c->peer = lt_calloc(n, sizeof *c->peer);
    c->outcome = lt_calloc(n, sizeof *c->outcome);
    if (!c->peer || !c->outcome) return LT_ERR_MEMORY;
    return lt_cluster_agree_on_text(c, LT_OK, "version of lathe", lt_version());
}

/* Cores for each rank of this machine. A launcher that binds ranks to cores has divided them already. */
static int share_of_cores(const lt_cluster *c)
{
    cpu_set_t set;
    int own = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    int all = (int)LT_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    return c ? LT_MAX(LT_MIN(own, all / c->mpi.local_ranks), 1) : own;
}

lt_status lt_cluster_open(lt_cluster **out)
{
    lt_launch l;
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "cluster: out is NULL");
    *out = NULL;
    LT_TRY(lt_launch_find(&l));
    lt_cluster *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_ERR_MEMORY;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->ending_lock, NULL);
    pthread_cond_init(&c->ended, NULL);
    c->lost = -1;
    c->mpi = (lt_mpi_table){ .ranks = 1, .local_ranks = 1 };
    snprintf(c->name, sizeof c->name, "self");
    if (gethostname(c->host, sizeof c->host - 1)) c->host[0] = 0;
    lt_status s = l.ranks > 1 ? meet(c, &l) : LT_OK;
    if (!s && l.ranks > 1) s = lt_alive_start(c);
    if (!s && l.ranks > 1) lt_device_prefer(c->mpi.local_rank); /* where a batch system shows each rank one GPU, that is it */
    if (!s && l.ranks > 1 && !lt_config_text(LT_CONFIG_THREADS)) s = lt_pool_shared_resize(share_of_cores(c));
    if (s) lt_cluster_close(c);
    else *out = c;
    return s;
}

static lt_status await_bye(lt_cluster *c)
{
    lt_message m;
    LT_TRY(lt_cluster_receive(c, LT_TAG_BYE, forever, NULL, &m));
    pthread_mutex_lock(&c->lock);
    c->peer[m.from].gone = true;
    pthread_mutex_unlock(&c->lock);
    lt_free(m.data);
    return LT_OK;
}

/* Signs that nobody has received are something that MPI libraries complain of, on standard output. A rank that is lost ends the wait. */
static lt_status say_bye(lt_cluster *c)
{
    lt_alive_hush(c);
    if (c->mpi.rank) {
        LT_TRY(lt_cluster_send(c, 0, LT_TAG_BYE, "", 1));
        LT_TRY(await_bye(c));
    } else {
        for (int i = 1; i < c->mpi.ranks; i++) LT_TRY(await_bye(c));
        for (int i = 1; i < c->mpi.ranks; i++) LT_TRY(lt_cluster_send(c, i, LT_TAG_BYE, "", 1));
    }
    lt_alive_drain(c);
    return LT_OK;
}

void lt_cluster_close(lt_cluster *c)
{
    if (!c) return;
    if (c->beating && c->lost < 0) (void)say_bye(c); /* a rank that was lost meanwhile is seen below */
    lt_alive_stop(c);
    if (c->mpi.leave) {
        if (c->lost >= 0) c->mpi.abort(1); /* leaving in order would wait for the lost one */
        else (void)c->mpi.leave();
    }
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->ending_lock);
    pthread_cond_destroy(&c->ended);
    lt_free(c->peer);
    lt_free(c->outcome);
    lt_free(c);
}

void lt_cluster_abort(lt_cluster *c, int exit_status)
{
    if (c && c->mpi.abort) c->mpi.abort(exit_status);
    _Exit(exit_status);
}

void lt_cluster_get_info_into(const lt_cluster *c, lt_cluster_info *out)
{
    lt_cluster_info i = { .size = sizeof i, .ranks = 1, .local_ranks = 1, .threads = share_of_cores(c), .name = "self" };
    if (c) {
        i.rank = c->mpi.rank;
        i.ranks = c->mpi.ranks;
        i.local_rank = c->mpi.local_rank;
        i.local_ranks = c->mpi.local_ranks;
        memcpy(i.name, c->name, sizeof i.name);
        memcpy(i.library, c->mpi.library, sizeof i.library);
        memcpy(i.host, c->host, sizeof i.host);
    }
    LT_GIVE(out, &i);
}
