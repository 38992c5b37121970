/* What is noted down about vectors on the device, and how it is laid out for kernels: statements, and copies for the host.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/vectors_internal.h"

#include "base/status.h"

enum { MANY = 8 }; /* statements that are worth a launch of their own */

/* ---- Arithmetic ----------------------------------------------------------------------------------------------------------- */
static bool overlap(const lt_device_vectors *v, const double *a, const double *b)
{
    const uintptr_t bytes = (uintptr_t)v->z.n * sizeof *a;
    return (uintptr_t)a - (uintptr_t)b + bytes - 1 < 2 * bytes - 1;
}

static bool reads(const lt_device_vectors *v, const lt_vector_statement *s, const double *a)
{
    for (const lt_vector_term *t = v->term + s->first; t < v->term + s->first + s->count; t++)
        if (overlap(v, t->a, a)) return true;
    return false;
}

/* Behind those whose results it needs or replaces; the latter need not be made where nobody reads them in between. */
static void place(lt_device_vectors *v, lt_vector_statement *s)
{
    bool unread = !reads(v, s, s->to);
    for (lt_vector_statement *e = s - 1; e >= v->statement; e--) {
        if (e->dead) continue;
        e->dead = unread && e->to == s->to;
        if (e->dead) continue;
        const bool read = reads(v, e, s->to);
        unread = unread && !read;
        if (read || overlap(v, e->to, s->to) || reads(v, s, e->to)) s->level = LT_MAX(s->level, e->level + 1);
    }
}

/* Copies that have not gone yet would see what is written now. */
static void spare_copies(lt_device_vectors *v, const double *written)
{
    for (int i = 0; i < v->n_copies; i++)
        if (overlap(v, v->copies[i].from, written)) lt_device_vectors_note_copies(v);
}

/* The statement that `a` is the result of, if what it was made of has not changed: a copy can then be made of that as well, to the
   same bits, and need not wait for it. NULL: none. */
static const lt_vector_statement *maker_of(const lt_device_vectors *v, const double *a)
{
    const lt_vector_statement *end = v->statement + v->n_statements, *maker = end - 1;
    while (maker >= v->statement && (maker->dead || maker->to != a)) maker--;
    if (maker < v->statement) return NULL;
    for (const lt_vector_statement *s = maker; s < end; s++)
        if (reads(v, maker, s->to) || (s != maker && overlap(v, s->to, a))) return NULL;
    return maker;
}

static bool has_room(const lt_device_vectors *v, int64_t terms) { return v->n_statements < LT_LIST_STATEMENTS && v->n_terms + terms <= LT_LIST_TERMS; }

static void note(lt_device_vectors *v, double *to, int64_t m, const double *c, const double *const *a, double constant)
{
    spare_copies(v, to);
    if (!has_room(v, m)) lt_device_vectors_flush(v);
    const lt_vector_statement *maker = m == 1 && c[0] == 1 && !v->side_by_side ? maker_of(v, a[0]) : NULL;
    if (maker && !has_room(v, maker->count)) maker = NULL;
    lt_vector_statement *s = &v->statement[v->n_statements++];
    *s = (lt_vector_statement){ .to = to, .first = v->n_terms, .count = maker ? maker->count : m, .constant = maker ? maker->constant : constant };
    for (int64_t j = 0; j < s->count; j++) v->term[v->n_terms++] = maker ? v->term[maker->first + j] : (lt_vector_term){ c[j], a[j] };
    if (!v->side_by_side) place(v, s);
    v->n_levels = LT_MAX(v->n_levels, s->level + 1);
    lt_device_vectors_written(v, to, v->z.n);
}

void lt_device_vectors_overwrite(lt_device_vectors *v, const double *to)
{
    spare_copies(v, to);
    lt_device_vectors_written(v, to, v->z.n);
}

void lt_device_vectors_note_copies(lt_device_vectors *v)
{
    const int count = v->n_copies;
    v->n_copies = 0;
    for (int i = 0; i < count; i++) note(v, v->copies[i].host, 1, (const double[]){ 1 }, &v->copies[i].from, 0);
    v->noted = v->n_kept;
}

int64_t lt_device_vectors_keep(lt_device_vectors *v, const double *from, double *host)
{
    int at = 0;
    while (at < v->n_copies && v->copies[at].host != host) at++;
    if (at == LT_LIST_COPIES) lt_device_vectors_note_copies(v), at = 0;
    v->copies[at] = (lt_kept){ from, host };
    v->n_copies = LT_MAX(v->n_copies, at + 1);
    return ++v->n_kept;
}

/* Terms beyond what a list holds go on top of what the first ones gave. */
void lt_device_vectors_sum_begin(lt_device_vectors *v, double *to)
{
    v->sum.to = to;
    v->sum.m = 0;
    v->sum.onto = false;
}

void lt_device_vectors_sum_end(lt_device_vectors *v)
{
    if (v->sum.m || !v->sum.onto) note(v, v->sum.to, v->sum.m, v->sum.c, v->sum.a, 0);
}

void lt_device_vectors_sum_add(lt_device_vectors *v, double c, const double *a)
{
    lt_sum_of *s = &v->sum;
    if (s->m == LT_VECTORS_SUM_TERMS) {
        lt_device_vectors_sum_end(v);
        s->onto = true;
        s->m = 1;
        s->c[0] = 1;
        s->a[0] = s->to;
    }
    s->c[s->m] = c;
    s->a[s->m++] = a;
}

void lt_device_vectors_combine(lt_device_vectors *v, int64_t m, const double *c, const double *const *a, double *to)
{
    lt_device_vectors_sum_begin(v, to);
    for (int64_t j = 0; j < m; j++) lt_device_vectors_sum_add(v, c[j], a[j]);
    lt_device_vectors_sum_end(v);
}

void lt_device_vectors_fill(lt_device_vectors *v, double value, double *to) { note(v, to, 0, NULL, NULL, value); }

void lt_device_vectors_many_begin(lt_device_vectors *v, int64_t count)
{
    if (count < MANY) return; /* not worth a launch of their own */
    lt_device_vectors_note_copies(v);
    lt_device_vectors_flush(v);
    v->side_by_side = true;
}

void lt_device_vectors_many_end(lt_device_vectors *v)
{
    if (v->side_by_side) lt_device_vectors_flush(v);
    v->side_by_side = false;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------------------- */
/* Level by level, and without those whose results nobody reads. */
void lt_device_vectors_pack_statements(lt_device_vectors *v, lt_word *w)
{
    const lt_vector_statement *order[LT_LIST_STATEMENTS];
    lt_word *at = w + LT_LIST_HEAD;
    int64_t count = 0, n_terms = 0;
    for (int level = 0; level < v->n_levels; level++) {
        const int64_t first = count;
        for (int64_t i = 0; i < v->n_statements; i++)
            if (v->statement[i].level == level && !v->statement[i].dead) order[count++] = &v->statement[i];
        for (int64_t i = first; i < count; i++) at[4 * i + 1].i = count << 32; /* where the level ends */
    }
    lt_word *terms = at + 4 * count;
    for (int64_t i = 0; i < count; i++, at += 4) {
        const lt_vector_statement *s = order[i];
        at[0].p = s->to;
        at[1].i |= n_terms;
        at[2].i = s->count;
        at[3].d = s->constant;
        for (const lt_vector_term *t = v->term + s->first; t < v->term + s->first + s->count; t++, n_terms++) {
            terms[2 * n_terms].d = t->c;
            terms[2 * n_terms + 1].q = t->a;
        }
    }
    w[0].i = count;
    w[1].i = n_terms;
    w[2].i = w[LT_LIST_PASSED].i = 0;
    v->list_bytes += (LT_LIST_HEAD + 4 * count + 2 * n_terms) * (int64_t)sizeof *w;
    v->n_statements = v->n_terms = 0;
    v->n_levels = 0;
    v->due = v->launched = LT_MAX(v->launched, v->noted);
}
