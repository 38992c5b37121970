/* The table of answers: items in order of arrival, found through a hash.
   SPDX-License-Identifier: BSD-3-Clause */
#include "tune/tune_table.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

bool lt_tune_text_ok(const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n == 0 || n > LT_TUNE_TEXT_MAX || text[0] == ' ' || text[n - 1] == ' ' || strstr(text, " : ")) return false;
    /* Ends that would make a separator together with the one beside them. */
    if (strncmp(text, ": ", 2) == 0 || (n >= 2 && strcmp(text + n - 2, " :") == 0)) return false;
    for (size_t i = 0; i < n; i++)
        if (text[i] < 0x20 || text[i] > 0x7e) return false;
    return true;
}

/* A day is the longest a single run may last; nothing takes no time. */
bool lt_tune_time_ok(double time_us) { return isfinite(time_us) && time_us > 0 && time_us <= 86400e6; }

void lt_tune_table_release(lt_tune_table *t)
{
    for (int64_t i = 0; i < t->n; i++) lt_free(t->item[i].problem);
    lt_free(t->item);
    lt_free(t->slot);
    *t = (lt_tune_table){ NULL, 0, 0, NULL, 0 };
}

/* The slot that holds the problem, or the free one where it belongs. Never full. */
static int32_t *find_slot(const lt_tune_table *t, const char *problem)
{
    uint64_t at = lt_hash64(problem, strlen(problem), 0);
    for (;; at++) {
        int32_t *s = &t->slot[at & (uint64_t)(t->n_slots - 1)];
        if (!*s || strcmp(t->item[*s - 1].problem, problem) == 0) return s;
    }
}

lt_tune_item *lt_tune_table_find(const lt_tune_table *t, const char *problem)
{
    if (!t->n_slots || !problem) return NULL;
    int32_t *s = find_slot(t, problem);
    return *s ? &t->item[*s - 1] : NULL;
}

static bool grow(lt_tune_table *t)
{
    if (t->n < t->max) return true;
    int64_t more = t->max ? 2 * t->max : 16;
    lt_tune_item *item = lt_realloc(t->item, (size_t)more * sizeof *item);
    if (!item) return false;
    t->item = item;
    int32_t *slot = lt_calloc((size_t)(4 * more), sizeof *slot);
    if (!slot) return false;              /* `max` unchanged: tried again next time */
    lt_free(t->slot);
    t->slot = slot;
    t->n_slots = 4 * more;
    t->max = more;
    for (int64_t i = 0; i < t->n; i++) *find_slot(t, item[i].problem) = (int32_t)(i + 1);
    return true;
}

static bool set_text(lt_tune_item *it, const char *problem, const char *choice)
{
    size_t np = strlen(problem) + 1, nc = strlen(choice) + 1;
    char *text = lt_malloc(np + nc);
    if (!text) return false;
    memcpy(text, problem, np);
    memcpy(text + np, choice, nc);
    lt_free(it->problem);                 /* only now: problem may point into it */
    it->problem = text;
    it->choice = text + np;
    return true;
}

lt_status lt_tune_table_put(lt_tune_table *t, const char *problem, const char *choice, double time_us, bool measured)
{
    lt_tune_item *it = lt_tune_table_find(t, problem);
    if (!it) {
        if (t->n == LT_TUNE_ENTRIES_MAX) return LT_FAIL(LT_ERR_ARGUMENT, "tune: more than %d problems", LT_TUNE_ENTRIES_MAX);
        if (!grow(t)) return LT_FAIL(LT_ERR_MEMORY, "tune: no memory for '%s'", problem);
        lt_tune_item fresh = { NULL, NULL, 0, false };
        if (!set_text(&fresh, problem, choice)) return LT_FAIL(LT_ERR_MEMORY, "tune: no memory for '%s'", problem);
        *find_slot(t, problem) = (int32_t)(t->n + 1);
        it = &t->item[t->n++];
        *it = fresh;
    } else if (!set_text(it, problem, choice)) {
        return LT_FAIL(LT_ERR_MEMORY, "tune: no memory for '%s'", problem);
    }
    it->time_us = time_us;
    it->measured = measured;
    return LT_OK;
}
