/* Agreement: every rank says how it fared, rank 0 gives one verdict to all. SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/inside.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "trace/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

lt_rank_text lt_cluster_name(const lt_cluster *c, int rank)
{
    lt_rank_text t;
    if (c->peer && c->peer[rank].pid) snprintf(t.s, sizeof t.s, "rank %d (process %d on %s)", rank, c->peer[rank].pid, c->peer[rank].host);
    else snprintf(t.s, sizeof t.s, "rank %d", rank);
    return t;
}

static lt_outcome make_outcome(const lt_cluster *c, lt_status s, const char *what, const void *data, size_t bytes)
{
    lt_outcome o;
    memset(&o, 0, sizeof o);
    o.status = s;
    o.pid = (int32_t)getpid();
    snprintf(o.what, sizeof o.what, "%s", what);
    snprintf(o.host, sizeof o.host, "%s", c->host);
    o.digest[0] = lt_hash64(data, data ? bytes : 0, 1);
    o.digest[1] = lt_hash64(data, data ? bytes : 0, 2);
    if (s) snprintf(o.text, sizeof o.text, "%s", lt_error_text());
    return o;
}

lt_status lt_cluster_note_outcome(lt_cluster *c, const lt_message *m)
{
    lt_outcome *o = &c->outcome[m->from];
    if (m->bytes != sizeof *o) return LT_FAIL(LT_ERR_INTERNAL, "rank %d is of another version of lathe", m->from);
    memcpy(o, m->data, sizeof *o);
    o->what[sizeof o->what - 1] = o->host[sizeof o->host - 1] = o->text[sizeof o->text - 1] = 0;
    c->n_outcomes++;
    pthread_mutex_lock(&c->lock);
    c->peer[m->from].pid = o->pid;
    memcpy(c->peer[m->from].host, o->host, sizeof o->host);
    c->peer[m->from].gone = o->status != 0; /* it may end any time now */
    pthread_mutex_unlock(&c->lock);
    return (lt_status)o->status;
}

int lt_cluster_outcomes(const lt_cluster *c) { return c->n_outcomes; }

/* ---- The verdict ------------------------------------------------------------------------------------------------------------- */

/* A failure of rank 0 speaks for itself, as does one that all ranks have; another is given with its rank. */
static lt_status judge_failure(const lt_cluster *c, int first)
{
    const lt_outcome *o = &c->outcome[first];
    char reason[512];
    lt_error_set(o->text);
    if (first == 0) return (lt_status)o->status;
    lt_error_reason(reason, sizeof reason);
    return LT_FAIL((lt_status)o->status, "%s: %s", lt_cluster_name(c, first).s, reason);
}

/* Ranks that differ are named, up to a few. */
static lt_status judge_difference(const lt_cluster *c)
{
    char list[96] = "";
    int n = 0;
    for (int i = 1; i < c->mpi.ranks; i++) {
        if (!memcmp(c->outcome[i].digest, c->outcome[0].digest, sizeof c->outcome[0].digest) && !strcmp(c->outcome[i].what, c->outcome[0].what)) continue;
        size_t at = strlen(list);
        if (n++ < 4) snprintf(list + at, sizeof list - at, "%s%d", at ? ", " : "", i);
    }
    return n ? LT_FAIL(LT_ERR_ARGUMENT, "%s %s%s %s not the same %s as rank 0", n == 1 ? "rank" : "ranks", list, n > 4 ? ", ..." : "",
                       n == 1 ? "has" : "have", c->outcome[0].what) : LT_OK;
}

static lt_status judge(const lt_cluster *c)
{
    for (int i = 0; i < c->mpi.ranks; i++)
        if (c->outcome[i].status) return judge_failure(c, i);
    return judge_difference(c);
}

/* Sends to all ranks that can still receive; the first failure to do so is no news for the others. */
static void pronounce(lt_cluster *c, lt_status s)
{
    lt_verdict v;
    memset(&v, 0, sizeof v);
    v.status = s;
    v.pid = c->peer[0].pid;
    memcpy(v.host, c->host, sizeof v.host);
    if (s) snprintf(v.text, sizeof v.text, "%s", lt_error_text());
    for (int i = 1; i < c->mpi.ranks; i++) {
        if (i != c->lost) (void)lt_cluster_send(c, i, LT_TAG_VERDICT, &v, sizeof v);
        pthread_mutex_lock(&c->lock);
        c->peer[i].gone |= s != LT_OK; /* they end now, and are not lost when they are silent */
        pthread_mutex_unlock(&c->lock);
    }
    if (s) lt_error_set(v.text);
}

static lt_status judge_all(lt_cluster *c, const lt_outcome *own)
{
    lt_status s = LT_OK;
    c->outcome[0] = *own;
    c->peer[0].pid = own->pid;
    memcpy(c->peer[0].host, own->host, sizeof own->host);
    while (c->n_outcomes < c->mpi.ranks - 1 && !s) {
        lt_message m;
        s = lt_cluster_receive(c, LT_TAG_OUTCOME, 1e300, NULL, &m);
        if (s) break;
        (void)lt_cluster_note_outcome(c, &m); /* judged below, with the others */
        lt_free(m.data);
    }
    if (!s) s = judge(c);
    pronounce(c, s);
    c->n_outcomes = 0;
    return s;
}

/* So that a rank notices when rank 0 has ended, if that is on its machine. */
static void note_first(lt_cluster *c, const lt_verdict *v)
{
    pthread_mutex_lock(&c->lock);
    c->peer[0].pid = v->pid;
    memcpy(c->peer[0].host, v->host, sizeof v->host);
    c->peer[0].gone = v->status != 0; /* it may end any time now */
    pthread_mutex_unlock(&c->lock);
}

static lt_status await_verdict(lt_cluster *c, const lt_outcome *own)
{
    lt_message m;
    lt_verdict v;
    LT_TRY(lt_cluster_send(c, 0, LT_TAG_OUTCOME, own, sizeof *own));
    LT_TRY(lt_cluster_receive(c, LT_TAG_VERDICT, 1e300, NULL, &m));
    lt_status s = m.bytes == sizeof v ? LT_OK : LT_FAIL(LT_ERR_INTERNAL, "rank 0 is of another version of lathe");
    if (!s) {
        memcpy(&v, m.data, sizeof v);
        v.text[sizeof v.text - 1] = v.host[sizeof v.host - 1] = 0;
        note_first(c, &v);
        s = (lt_status)v.status;
        if (s) lt_error_set(v.text);
    }
    lt_free(m.data);
    return s;
}

lt_status lt_cluster_agree(lt_cluster *c, lt_status s, const char *what, const void *data, size_t bytes)
{
    if (lt_cluster_size(c) == 1) return s;
    lt_outcome own = make_outcome(c, s, what, data, bytes);
    s = c->mpi.rank ? await_verdict(c, &own) : judge_all(c, &own);
    c->failed = s != LT_OK;
    return s;
}
