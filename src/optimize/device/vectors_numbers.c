/* Numbers about vectors on the device: which are known, which are wanted, and how they come to the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/vectors_internal.h"

#include <math.h>
#include <string.h>

/* ---- Numbers that are known ------------------------------------------------------------------------------------------- */
static uint64_t hash(lt_measure what, const double *a, const double *b)
{
    uint64_t h = ((uint64_t)(uintptr_t)a * 3 + (uint64_t)(uintptr_t)b * 5 + (uint64_t)what) * UINT64_C(0x9e3779b97f4a7c15);
    return h >> 40;
}

void lt_device_vectors_forget(lt_device_vectors *v)
{
    for (int i = 0; i < v->n_known; i++) v->table[v->known[i].entry] = 0;
    v->n_known = v->n_wanted = 0;
}

/* The number, or NULL and the free entry of the table where it would stand. What a and b are called does not matter, so that either
   order finds it. */
static lt_number *find(lt_device_vectors *v, lt_measure what, const double *a, const double *b, uint64_t *entry)
{
    const double *low = (uintptr_t)b < (uintptr_t)a ? b : a, *high = low == a ? b : a;
    uint64_t at = hash(what, low, high) % LT_VECTORS_TABLE;
    for (; v->table[at]; at = (at + 1) % LT_VECTORS_TABLE) {
        const int i = v->table[at] - 1;
        if (v->about[0][i] == low && v->about[1][i] == high && v->known[i].what == what) return &v->known[i];
    }
    *entry = at;
    return NULL;
}

/* Numbers that are wanted but not launched yet would see what is written now: they are dropped like known ones, since
   a later question means the new contents. */
void lt_device_vectors_written(lt_device_vectors *v, const double *first, int64_t count)
{
    const uintptr_t from = (uintptr_t)first, bytes = (uintptr_t)count * sizeof *first;
    for (int i = 0; i < v->n_known; i++)
        if ((uintptr_t)v->about[0][i] - from < bytes || (uintptr_t)v->about[1][i] - from < bytes) v->about[0][i] = v->about[1][i] = NULL;
}

/* ---- Numbers that are asked for -------------------------------------------------------------------------------------- */
static lt_number *want(lt_device_vectors *v, lt_measure what, const double *a, const double *b)
{
    uint64_t entry;
    lt_number *k = find(v, what, a, b, &entry);
    if (k) return k;
    if (v->n_wanted == LT_LIST_MAX_SUMS) lt_device_vectors_exchange(v);
    if (v->n_known == LT_VECTORS_MAX_KNOWN) {
        lt_device_vectors_forget(v);
        (void)find(v, what, a, b, &entry);
    }
    const int i = v->n_known++;
    v->about[0][i] = (uintptr_t)b < (uintptr_t)a ? b : a;
    v->about[1][i] = v->about[0][i] == a ? b : a;
    v->known[i] = (lt_number){ .what = what, .place = v->n_wanted, .entry = (int)entry };
    v->table[entry] = (int16_t)(i + 1);
    v->wanted[v->n_wanted++] = i;
    return &v->known[i];
}

void lt_device_vectors_expect(lt_device_vectors *v, lt_measure what, const double *a, const double *b) { (void)want(v, what, a, b); }

double lt_device_vectors_measure(lt_device_vectors *v, lt_measure what, const double *a, const double *b)
{
    lt_number *k = want(v, what, a, b);
    if (k->place >= 0) lt_device_vectors_exchange(v);
    return v->failure ? NAN : k->value;
}

bool lt_device_vectors_awaited(lt_device_vectors *v, lt_measure what, const double *a, const double *b)
{
    uint64_t entry;
    const lt_number *k = find(v, what, a, b, &entry);
    return k && k->place >= 0;
}

bool lt_device_vectors_known(lt_device_vectors *v, lt_measure what, const double *a, const double *b, double *out)
{
    uint64_t entry;
    const lt_number *k = find(v, what, a, b, &entry);
    if (!k || k->place >= 0 || v->failure) return false;
    *out = k->value;
    return true;
}

double lt_device_vectors_norm2(lt_device_vectors *v, const double *a)
{
    const double square = lt_device_vectors_measure(v, LT_MEASURE_DOT, a, a);
    if (square > 1e-280 && square < 1e280) return sqrt(square);
    const double most = lt_device_vectors_measure(v, LT_MEASURE_LARGEST, a, a), factor = 1 / most;
    if (most == 0 || !isfinite(most)) return most;
    lt_device_vectors_combine(v, 1, &factor, &a, v->scratch);
    return most * sqrt(lt_device_vectors_measure(v, LT_MEASURE_DOT, v->scratch, v->scratch));
}

/* ---- To the device and back -------------------------------------------------------------------------------------------------------------- */
void lt_device_vectors_pack_sums(lt_device_vectors *v, lt_word *w)
{
    lt_word *at = w + lt_list_sums(w);
    int count = 0;
    for (int i = 0; i < v->n_wanted; i++) {
        const int k = v->wanted[i];
        if (!v->about[0][k]) continue; /* a vector was written since */
        at[0].i = v->known[k].what;
        at[1].q = v->about[0][k];
        at[2].q = v->about[1][k];
        at += 4;
        v->known[k].place = count;
        v->wanted[count++] = k;
    }
    v->n_wanted = count;
    for (int i = 0; i < v->n_copies; i++, at += 4) {
        at[0].i = LT_LIST_COPY;
        at[1].q = v->copies[i].from;
        at[2].p = v->copies[i].host;
    }
    w[2].i = (count + v->n_copies) | (int64_t)++v->ticket << 32;
    v->list_bytes += 4 * (count + v->n_copies) * (int64_t)sizeof *w;
    v->crossings.bytes_down += v->n_copies * v->z.n * (int64_t)sizeof(double);
    v->launched = v->n_kept; /* seen when a later kernel has ended: due at the wait after this one */
    v->n_copies = 0;
}

double lt_arrival_number(const lt_arrival *a)
{
    const uint64_t bits = a->low | (uint64_t)a->high << 32;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

void lt_device_vectors_take_results(lt_device_vectors *v, const lt_list *l)
{
    const int64_t chunks = v->z.chunks;
    for (int i = 0; i < v->n_wanted; i++) {
        lt_number *k = &v->known[v->wanted[i]];
        const lt_arrival *share = (const lt_arrival *)l->results.at + k->place * chunks;
        k->value = lt_arrival_number(&share[0]);
        for (int64_t c = 1; c < chunks; c++) k->value = lt_device_vectors_fold(k->what, k->value, lt_arrival_number(&share[c]));
        k->place = -1;
    }
    v->n_wanted = 0;
}
