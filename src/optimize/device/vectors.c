/* A run's vectors on the device. What is to be done with them is noted down in lists, which kernels read from page-locked
   memory: one launch for all arithmetic since the last one, one for all numbers that are wanted.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/device/vectors_internal.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every block fetches its list over the bus: few large ones for statements. Sums have many: each thread then adds eight products. */
enum { THREADS = 1024, FEW_BLOCKS = 16, MAX_BLOCKS = 128, SIDE_BLOCKS = 32, SUM_THREADS = 512, SUM_BLOCKS = 64, MAX_SUM_BLOCKS = 264 }; /* SUM_BLOCKS: for each chunk */
enum { MIN_CHUNK = 4096, MAX_CHUNKS = 16 };
enum { ARRIVAL = sizeof(lt_arrival) / sizeof(double) };
enum { LISTS = 16, MAX_PIECES = 48, MAX_KNOWN = 4096, TABLE = 8192, MANY = 8, SUM_TERMS = 96 };

typedef struct list { lt_host_block words, results; bool in_flight; } list;
/* Statements of one level may run side by side; those of the next one after them. */
typedef struct statement { double *to; int64_t first, count; double constant; int level; bool dead; } statement;
typedef struct term { double c; const double *a; } term;
typedef struct copy { const double *from; double *home; } copy;
typedef struct sum_of { double *to; int64_t m; bool onto; double c[SUM_TERMS]; const double *a[SUM_TERMS]; } sum_of;
/* A number that is known, or wanted (place >= 0: which sum of the next launch). */
typedef struct number { lt_measure what; const double *a, *b; double value; int place, entry; bool alive; } number; /* entry: in the table */

struct lt_vectors {
    lt_device *dev;
    lt_stream *stream;
    lt_solve_options opt;      /* for memory; pointers in it are not followed */
    lt_vector_sizes z;
    double    *sizes, *passed, *scratch; /* there: z; numbers that go with a list; n numbers */
    uint32_t   ticket;         /* of the sums launched last */
    lt_kernel *kernel[LT_VECTORS_ENTRY_COUNT];
    list       lists[LISTS];   /* the first ones belong to captured sequences */
    int        next;           /* list of the next launch */
    lt_capture *captured;      /* statements and sums of an exchange; NULL: launched one by one */
    lt_capture *deferred, *deferred_with; /* a sequence that goes first; NULL: none */
    double    *piece[MAX_PIECES];
    lt_host_block home[MAX_PIECES];
    int        n_pieces, n_home;
    statement  statement[LT_LIST_STATEMENTS];
    term       term[LT_LIST_TERMS];
    int64_t    n_statements, n_terms;
    int        n_levels;
    bool       side_by_side;   /* the statements noted now */
    sum_of     sum;            /* the statement in the making */
    number     known[MAX_KNOWN];
    int16_t    table[TABLE];   /* by hash: one more than the index in known */
    int        n_known, wanted[LT_LIST_MAX_SUMS], n_wanted;
    int64_t    list_bytes;     /* of launches since the last wait */
    copy       copies[LT_LIST_COPIES]; /* that go with the next sums */
    int        n_copies;
    int64_t    n_kept;         /* copies asked for. Up to which one: noted as statements; there when the next wait ends; launched; arrived */
    int64_t    noted, due, launched, arrived;
    lt_status  failure;
    char       text[400];
    lt_solve_crossings crossings;
};

/* ---- Making ---------------------------------------------------------------------------------------------------------- */
extern const char lt_text_vectors_cu[];

static const struct { const char *name; int n_args; } entries[LT_VECTORS_ENTRY_COUNT] = {
    [LT_VECTORS_IN_ORDER] = { "in_order", 2 }, [LT_VECTORS_SIDE_BY_SIDE] = { "side_by_side", 2 }, [LT_VECTORS_FINISH] = { "finish", 6 },
};

static lt_status build(lt_vectors *v, lt_vector_entry e)
{
    static const char *const options[] = { "--fmad=false" }; /* what the host would compute */
    const int64_t whole = (v->z.n + THREADS - 1) / THREADS, blocks = LT_MIN(whole, whole <= 8 * FEW_BLOCKS ? FEW_BLOCKS : MAX_BLOCKS);
    lt_kernel_key key = { .name = entries[e].name, .n_args = entries[e].n_args };
    if (!strcmp(v->dev->backend->name, "cpu")) {
        key.host = lt_vectors_host_kernel(e, entries[e].name);
        if (!key.host) return LT_ERR_MEMORY;
    } else {
        key.source = lt_text_vectors_cu;
        key.entry = entries[e].name;
        key.options = options;
        key.n_options = 1;
        key.waits = true;
        const int64_t sum_blocks = LT_MIN(SUM_BLOCKS * v->z.chunks, MAX_SUM_BLOCKS);
        key.grid[0] = (unsigned)(e == LT_VECTORS_IN_ORDER ? blocks : e == LT_VECTORS_FINISH ? sum_blocks : SIDE_BLOCKS);
        key.block[0] = e == LT_VECTORS_FINISH ? SUM_THREADS : THREADS;
        key.grid[1] = key.grid[2] = key.block[1] = key.block[2] = 1;
    }
    lt_status s = lt_device_build(v->dev, &key, &v->kernel[e]);
    if (s) lt_kernel_destroy(key.host);
    return s;
}

static lt_status page_locked(lt_vectors *v, int64_t count, lt_host_block *out)
{
    LT_TRY(lt_host_block_create(v->dev, &v->opt, count, out));
    memset(out->at, 0, (size_t)count * sizeof(double));
    if (out->pinned) return LT_OK;
    lt_host_block_release(v->dev, out);
    return LT_FAIL(LT_ERR_UNSUPPORTED, "vectors on %s need page-locked host memory, which is switched off, too small or refused", v->dev->id);
}

static lt_status capture_exchange(lt_vectors *v)
{
    LT_TRY(lt_capture_begin(v->stream));
    lt_status s = lt_vectors_queue_exchange(v);
    if (!s) return lt_capture_end(v->stream, &v->captured);
    lt_capture_abort(v->stream);
    return s;
}

static lt_status make(lt_vectors *v)
{
    for (int e = 0; e < LT_VECTORS_ENTRY_COUNT; e++) LT_TRY(build(v, (lt_vector_entry)e));
    for (int i = 0; i < LISTS; i++) {
        LT_TRY(page_locked(v, LT_LIST_WORDS, &v->lists[i].words));
        LT_TRY(page_locked(v, ARRIVAL * LT_LIST_MAX_SUMS * v->z.chunks, &v->lists[i].results));
    }
    LT_TRY(lt_device_numbers(v->dev, v->stream, LT_VECTORS_MAX_PASSED, "numbers passed", &v->passed));
    v->z.passed = v->passed;
    LT_TRY(lt_device_numbers(v->dev, v->stream, sizeof v->z / sizeof(double), "sizes", &v->sizes));
    LT_TRY(lt_device_numbers(v->dev, v->stream, v->z.n, "scratch", &v->scratch));
    LT_TRY(lt_stream_copy(v->stream, v->sizes, &v->z, sizeof v->z, LT_TRANSFER_H2D, false));
    LT_TRY(lt_stream_sync(v->stream));
    return v->opt.captured_evaluation ? capture_exchange(v) : LT_OK;
}

lt_status lt_vectors_create(lt_device *dev, lt_stream *st, const lt_solve_options *opt, int64_t n, lt_vectors **out)
{
    const int64_t chunk = LT_MAX(MIN_CHUNK, (n + MAX_CHUNKS - 1) / MAX_CHUNKS);
    *out = NULL;
    lt_vectors *v = lt_calloc(1, sizeof *v);
    if (!v) return LT_ERR_MEMORY;
    v->dev = dev;
    v->stream = st;
    v->opt = *opt;
    v->z = (lt_vector_sizes){ .n = n, .chunk = chunk, .chunks = (n + chunk - 1) / chunk };
    v->next = LT_LIST_FIRST_FREE;
    lt_status s = make(v);
    if (s) lt_vectors_destroy(v);
    else *out = v;
    return s;
}

lt_stream *lt_vectors_stream(const lt_vectors *v) { return v->stream; }
const double *lt_vectors_passed(const lt_vectors *v) { return v->passed; }

void lt_vectors_destroy(lt_vectors *v)
{
    if (!v) return;
    lt_vectors_reset(v);
    lt_capture_destroy(v->captured);
    for (int i = 0; i < LISTS; i++) {
        if (v->lists[i].words.at) lt_host_block_release(v->dev, &v->lists[i].words);
        if (v->lists[i].results.at) lt_host_block_release(v->dev, &v->lists[i].results);
    }
    (void)lt_device_free(v->dev, v->stream, v->passed);
    for (int e = 0; e < LT_VECTORS_ENTRY_COUNT; e++) lt_kernel_destroy(v->kernel[e]);
    (void)lt_device_free(v->dev, v->stream, v->sizes);
    (void)lt_device_free(v->dev, v->stream, v->scratch);
    lt_free(v);
}

/* ---- Memory ----------------------------------------------------------------------------------------------------------- */
lt_status lt_vectors_take(lt_vectors *v, int64_t count, const char *what, double **out)
{
    *out = NULL;
    if (v->n_pieces == MAX_PIECES) return LT_FAIL(LT_ERR_INTERNAL, "vectors: more than %d pieces", MAX_PIECES);
    LT_TRY(lt_device_numbers(v->dev, v->stream, count, what, out));
    v->piece[v->n_pieces++] = *out;
    return lt_stream_fill(v->stream, *out, 0, (size_t)LT_MAX(count, 1) * sizeof(double));
}

lt_status lt_vectors_take_home(lt_vectors *v, int64_t count, double **out)
{
    *out = NULL;
    if (v->n_home == MAX_PIECES) return LT_FAIL(LT_ERR_INTERNAL, "vectors: more than %d pieces at home", MAX_PIECES);
    LT_TRY(page_locked(v, LT_MAX(count, 1), &v->home[v->n_home]));
    *out = v->home[v->n_home++].at;
    return LT_OK;
}

void lt_vectors_reset(lt_vectors *v)
{
    (void)lt_stream_sync(v->stream); /* a fault was told before; memory must not be used any more */
    for (int i = 0; i < v->n_pieces; i++) (void)lt_device_free(v->dev, v->stream, v->piece[i]);
    for (int i = 0; i < v->n_home; i++) lt_host_block_release(v->dev, &v->home[i]);
    for (int i = 0; i < LISTS; i++) v->lists[i].in_flight = false;
    v->n_pieces = v->n_home = 0;
    v->n_statements = v->n_terms = v->list_bytes = 0;
    v->n_kept = v->noted = v->due = v->launched = v->arrived = 0;
    v->n_levels = v->n_copies = 0;
    v->side_by_side = false;
    v->deferred = NULL;
    v->failure = LT_OK;
    v->crossings = (lt_solve_crossings){ 0 };
    lt_vectors_forget(v);
}

/* ---- Failures --------------------------------------------------------------------------------------------------------- */
static void fail(lt_vectors *v, lt_status s)
{
    if (!s || v->failure) return;
    v->failure = s;
    snprintf(v->text, sizeof v->text, "%s", lt_error_text());
}

lt_status lt_vectors_failure(const lt_vectors *v)
{
    if (!v || !v->failure) return LT_OK;
    lt_error_set(v->text);
    return v->failure;
}

int64_t lt_vectors_arrived(const lt_vectors *v) { return v->arrived; }
lt_solve_crossings lt_vectors_crossings(const lt_vectors *v) { return v->crossings; }

/* ---- Numbers that are known ------------------------------------------------------------------------------------------- */
static uint64_t hash(lt_measure what, const double *a, const double *b)
{
    uint64_t h = ((uint64_t)(uintptr_t)a * 3 + (uint64_t)(uintptr_t)b * 5 + (uint64_t)what) * UINT64_C(0x9e3779b97f4a7c15);
    return h >> 40;
}

void lt_vectors_forget(lt_vectors *v)
{
    for (int i = 0; i < v->n_known; i++) v->table[v->known[i].entry] = 0;
    v->n_known = v->n_wanted = 0;
}

/* What a and b are called does not matter, so that either order finds the number. */
static number *find(lt_vectors *v, lt_measure what, const double *a, const double *b, bool make_one)
{
    if ((uintptr_t)b < (uintptr_t)a) {
        const double *t = a;
        a = b;
        b = t;
    }
    uint64_t at = hash(what, a, b) % TABLE;
    for (; v->table[at]; at = (at + 1) % TABLE) {
        number *k = &v->known[v->table[at] - 1];
        if (k->what == what && k->a == a && k->b == b && k->alive) return k;
    }
    if (!make_one) return NULL;
    v->known[v->n_known] = (number){ .what = what, .a = a, .b = b, .place = -1, .entry = (int)at, .alive = true };
    v->table[at] = (int16_t)++v->n_known;
    return &v->known[v->n_known - 1];
}

/* Numbers that are wanted but not launched yet would see what is written now: they are dropped like known ones, since
   whoever asks after this means the new contents. */
void lt_vectors_written(lt_vectors *v, const double *first, int64_t count)
{
    const uintptr_t from = (uintptr_t)first, bytes = (uintptr_t)count * sizeof *first;
    for (int i = 0; i < v->n_known; i++) {
        number *k = &v->known[i];
        if ((uintptr_t)k->a - from < bytes || (uintptr_t)k->b - from < bytes) k->alive = false;
    }
}

/* ---- Launches ----------------------------------------------------------------------------------------------------------- */
/* Level by level, and without those whose results nobody reads. */
static void pack_statements(lt_vectors *v, lt_word *w)
{
    const statement *order[LT_LIST_STATEMENTS];
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
        const statement *s = order[i];
        at[0].p = s->to;
        at[1].i |= n_terms;
        at[2].i = s->count;
        at[3].d = s->constant;
        for (const term *t = v->term + s->first; t < v->term + s->first + s->count; t++, n_terms++) {
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

static void pack_sums(lt_vectors *v, lt_word *w)
{
    lt_word *at = w + LT_LIST_SUMS;
    int count = 0;
    for (int i = 0; i < v->n_wanted; i++) {
        number *k = &v->known[v->wanted[i]];
        if (!k->alive) continue;
        v->wanted[count] = v->wanted[i];
        k->place = count++;
        at[0].i = k->what;
        at[1].q = k->a;
        at[2].q = k->b;
        at += 4;
    }
    v->n_wanted = count;
    for (int i = 0; i < v->n_copies; i++, at += 4) {
        at[0].i = LT_LIST_COPY;
        at[1].q = v->copies[i].from;
        at[2].p = v->copies[i].home;
    }
    w[2].i = (count + v->n_copies) | (int64_t)++v->ticket << 32;
    v->list_bytes += 4 * (count + v->n_copies) * (int64_t)sizeof *w;
    v->crossings.bytes_down += v->n_copies * v->z.n * (int64_t)sizeof(double);
    v->launched = v->n_kept; /* seen when a later kernel has ended: due at the wait after this one */
    v->n_copies = 0;
}

static double number_of(const lt_arrival *a)
{
    const uint64_t bits = a->low | (uint64_t)a->high << 32;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void take_results(lt_vectors *v, const list *l)
{
    const int64_t chunks = v->z.chunks;
    for (int i = 0; i < v->n_wanted; i++) {
        number *k = &v->known[v->wanted[i]];
        const lt_arrival *share = (const lt_arrival *)l->results.at + k->place * chunks;
        k->value = number_of(&share[0]);
        for (int64_t c = 1; c < chunks; c++) k->value = lt_vectors_fold(k->what, k->value, number_of(&share[c]));
        k->place = -1;
    }
    v->n_wanted = 0;
}

static lt_word *words_of(const list *l) { return (lt_word *)l->words.at; }

static lt_status launch_statements(lt_vectors *v, const list *l, bool side_by_side)
{
    void *arg[] = { v->sizes, l->words.at };
    return lt_stream_launch(v->stream, &(lt_launch){ v->kernel[side_by_side ? LT_VECTORS_SIDE_BY_SIDE : LT_VECTORS_IN_ORDER], arg });
}

static lt_status launch_sums(lt_vectors *v, const list *l, const double *values, int64_t count, double *home)
{
    void *arg[] = { v->sizes, l->words.at, l->results.at, (void *)(uintptr_t)values, home, count ? home + ARRIVAL * (count - 1) : home };
    return lt_stream_launch(v->stream, &(lt_launch){ v->kernel[LT_VECTORS_FINISH], arg });
}

static void waited(lt_vectors *v, lt_status s)
{
    for (int i = 0; i < LISTS; i++) v->lists[i].in_flight = false;
    fail(v, s);
    if (!s) v->arrived = v->due;
}

/* Results of sums, and values of functions. */
typedef struct arrivals { const lt_arrival *at[2]; int64_t count[2]; uint32_t ticket; } arrivals;

/* Looks on from where it stopped: what has arrived stays. */
static bool have_arrived(void *ctx)
{
    arrivals *a = ctx;
    for (int i = 0; i < 2; i++)
        for (; a->count[i]; a->at[i]++, a->count[i]--)
            if (__atomic_load_n(&a->at[i]->ticket, __ATOMIC_ACQUIRE) != a->ticket || __atomic_load_n(&a->at[i]->again, __ATOMIC_ACQUIRE) != a->ticket) return false;
    return true;
}

static lt_status await_sums(lt_vectors *v, const list *l, const double *values, int64_t count)
{
    arrivals a = { { (const lt_arrival *)l->results.at, (const lt_arrival *)values }, { v->n_wanted * v->z.chunks, count }, v->ticket };
    return lt_stream_await(v->stream, have_arrived, &a);
}

/* For the sums of a list, or (NULL) for everything. */
static void wait_for(lt_vectors *v, const list *sums)
{
    if (v->failure) return;
    v->crossings.syncs++;
    v->crossings.bytes_up += v->list_bytes;
    v->list_bytes = 0;
    if (!sums) v->due = v->launched;
    waited(v, sums ? await_sums(v, sums, NULL, 0) : lt_stream_sync(v->stream));
}

static void wait(lt_vectors *v) { wait_for(v, NULL); }

void lt_vectors_defer(lt_vectors *v, lt_capture *alone, lt_capture *with_exchange)
{
    v->deferred = alone;
    v->deferred_with = with_exchange;
}

/* Before anything else is launched. */
static void catch_up(lt_vectors *v)
{
    if (v->deferred && !v->failure) fail(v, lt_capture_replay(v->stream, v->deferred));
    v->deferred = NULL;
}

/* A list that no kernel reads any more. */
static list *free_list(lt_vectors *v)
{
    list *l = &v->lists[v->next];
    if (l->in_flight) wait(v);
    v->next = v->next + 1 < LISTS ? v->next + 1 : LT_LIST_FIRST_FREE;
    l->in_flight = true;
    return l;
}

void lt_vectors_flush(lt_vectors *v)
{
    catch_up(v);
    if (!v->n_statements) return;
    list *l = free_list(v);
    pack_statements(v, words_of(l));
    v->crossings.uploads++;
    if (!v->failure) fail(v, launch_statements(v, l, v->side_by_side));
}

lt_status lt_vectors_queue_exchange(lt_vectors *v)
{
    const list *l = &v->lists[LT_LIST_EXCHANGE];
    LT_TRY(launch_statements(v, l, false));
    return launch_sums(v, l, l->results.at, 0, l->results.at);
}

/* All numbers wanted until now, in one wait. */
static void exchange(lt_vectors *v)
{
    const list *l = &v->lists[LT_LIST_EXCHANGE];
    if (v->side_by_side) lt_vectors_flush(v);
    pack_statements(v, words_of(l));
    pack_sums(v, words_of(l));
    v->crossings.calls++;
    v->crossings.uploads++;
    v->crossings.downloads++;
    v->crossings.bytes_down += v->n_wanted * v->z.chunks * (int64_t)sizeof(double);
    lt_capture *sequence = v->deferred ? v->deferred_with : v->captured;
    v->deferred = NULL;
    if (!v->failure) fail(v, sequence ? lt_capture_replay(v->stream, sequence) : lt_vectors_queue_exchange(v));
    wait_for(v, l);
    take_results(v, l);
}

void lt_vectors_pack(lt_vectors *v, lt_vectors_list where, const double *passed, int count)
{
    list *l = &v->lists[where];
    lt_word *w = words_of(l);
    catch_up(v);
    if (l->in_flight) wait(v); /* only when nothing was asked for since it was used last */
    l->in_flight = true;
    pack_statements(v, w);
    w[LT_LIST_PASSED].i = count;
    for (int i = 0; i < count; i++) w[LT_LIST_PASSED + 1 + i].d = passed[i];
    v->crossings.uploads++;
}

lt_status lt_vectors_queue(lt_vectors *v, lt_vectors_list where) { return launch_statements(v, &v->lists[where], false); }

/* ---- Arithmetic ----------------------------------------------------------------------------------------------------------- */
static bool overlap(const lt_vectors *v, const double *a, const double *b)
{
    const uintptr_t bytes = (uintptr_t)v->z.n * sizeof *a;
    return (uintptr_t)a - (uintptr_t)b + bytes - 1 < 2 * bytes - 1;
}

static bool reads(const lt_vectors *v, const statement *s, const double *a)
{
    for (const term *t = v->term + s->first; t < v->term + s->first + s->count; t++)
        if (overlap(v, t->a, a)) return true;
    return false;
}

/* Behind those whose results it needs or replaces; the latter need not be made where nobody reads them in between. */
static void place(lt_vectors *v, statement *s)
{
    bool unread = !reads(v, s, s->to);
    for (statement *e = s - 1; e >= v->statement; e--) {
        if (e->dead) continue;
        e->dead = unread && e->to == s->to;
        if (e->dead) continue;
        const bool read = reads(v, e, s->to);
        unread = unread && !read;
        if (read || overlap(v, e->to, s->to) || reads(v, s, e->to)) s->level = LT_MAX(s->level, e->level + 1);
    }
}

static void note_copies(lt_vectors *v); /* notes in its turn */

/* Copies that have not gone yet would see what is written now. */
static void spare_copies(lt_vectors *v, const double *written)
{
    for (int i = 0; i < v->n_copies; i++)
        if (overlap(v, v->copies[i].from, written)) note_copies(v);
}

static void note(lt_vectors *v, double *to, int64_t m, const double *c, const double *const *a, double constant)
{
    spare_copies(v, to);
    if (v->n_statements == LT_LIST_STATEMENTS || v->n_terms + m > LT_LIST_TERMS) lt_vectors_flush(v);
    statement *s = &v->statement[v->n_statements++];
    *s = (statement){ .to = to, .first = v->n_terms, .count = m, .constant = constant };
    for (int64_t j = 0; j < m; j++) v->term[v->n_terms++] = (term){ c[j], a[j] };
    if (!v->side_by_side) place(v, s);
    v->n_levels = LT_MAX(v->n_levels, s->level + 1);
    lt_vectors_written(v, to, v->z.n);
}

static void note_copies(lt_vectors *v)
{
    const int count = v->n_copies;
    v->n_copies = 0;
    for (int i = 0; i < count; i++) note(v, v->copies[i].home, 1, (const double[]){ 1 }, &v->copies[i].from, 0);
    v->noted = v->n_kept;
}

int64_t lt_vectors_keep(lt_vectors *v, const double *from, double *home)
{
    int at = 0;
    while (at < v->n_copies && v->copies[at].home != home) at++;
    if (at == LT_LIST_COPIES) note_copies(v), at = 0;
    v->copies[at] = (copy){ from, home };
    v->n_copies = LT_MAX(v->n_copies, at + 1);
    return ++v->n_kept;
}

/* Terms beyond what a list holds go on top of what the first ones gave. */
void lt_vectors_sum_begin(lt_vectors *v, double *to)
{
    v->sum.to = to;
    v->sum.m = 0;
    v->sum.onto = false;
}

void lt_vectors_sum_end(lt_vectors *v)
{
    if (v->sum.m || !v->sum.onto) note(v, v->sum.to, v->sum.m, v->sum.c, v->sum.a, 0);
}

void lt_vectors_sum_add(lt_vectors *v, double c, const double *a)
{
    sum_of *s = &v->sum;
    if (s->m == SUM_TERMS) {
        lt_vectors_sum_end(v);
        s->onto = true;
        s->m = 1;
        s->c[0] = 1;
        s->a[0] = s->to;
    }
    s->c[s->m] = c;
    s->a[s->m++] = a;
}

void lt_vectors_combine(lt_vectors *v, int64_t m, const double *c, const double *const *a, double *to)
{
    lt_vectors_sum_begin(v, to);
    for (int64_t j = 0; j < m; j++) lt_vectors_sum_add(v, c[j], a[j]);
    lt_vectors_sum_end(v);
}

void lt_vectors_fill(lt_vectors *v, double value, double *to) { note(v, to, 0, NULL, NULL, value); }

void lt_vectors_many_begin(lt_vectors *v, int64_t count)
{
    if (count < MANY) return; /* not worth a launch of their own */
    note_copies(v);
    lt_vectors_flush(v);
    v->side_by_side = true;
}

void lt_vectors_many_end(lt_vectors *v)
{
    if (v->side_by_side) lt_vectors_flush(v);
    v->side_by_side = false;
}

/* ---- Whole vectors ----------------------------------------------------------------------------------------------------------- */
void lt_vectors_settle(lt_vectors *v)
{
    note_copies(v);
    lt_vectors_flush(v);
    wait(v);
}

void lt_vectors_put(lt_vectors *v, int64_t count, const double *from_host, double *to)
{
    const size_t bytes = (size_t)count * sizeof *to;
    note_copies(v);
    lt_vectors_flush(v);
    lt_vectors_written(v, to, count);
    v->crossings.uploads++;
    v->crossings.bytes_up += (int64_t)bytes;
    if (!v->failure) fail(v, lt_stream_copy(v->stream, to, from_host, bytes, LT_TRANSFER_H2D, false));
    wait(v);
}

void lt_vectors_get(lt_vectors *v, int64_t count, const double *from, double *to_host)
{
    const size_t bytes = (size_t)count * sizeof *from;
    note_copies(v);
    lt_vectors_flush(v);
    v->crossings.downloads++;
    v->crossings.bytes_down += (int64_t)bytes;
    if (!v->failure) fail(v, lt_stream_copy(v->stream, to_host, from, bytes, LT_TRANSFER_D2H, false));
    wait(v);
    for (int64_t i = 0; v->failure && i < count; i++) to_host[i] = NAN;
}

/* ---- Numbers ------------------------------------------------------------------------------------------------------------------- */
static number *want(lt_vectors *v, lt_measure what, const double *a, const double *b)
{
    number *k = find(v, what, a, b, false);
    if (k) return k;
    if (v->n_wanted == LT_LIST_MAX_SUMS) exchange(v);
    if (v->n_known == MAX_KNOWN) lt_vectors_forget(v);
    k = find(v, what, a, b, true);
    k->place = v->n_wanted;
    v->wanted[v->n_wanted++] = (int)(k - v->known);
    return k;
}

void lt_vectors_expect(lt_vectors *v, lt_measure what, const double *a, const double *b) { (void)want(v, what, a, b); }

double lt_vectors_measure(lt_vectors *v, lt_measure what, const double *a, const double *b)
{
    number *k = want(v, what, a, b);
    if (k->place >= 0) exchange(v);
    return v->failure ? NAN : k->value;
}

bool lt_vectors_known(lt_vectors *v, lt_measure what, const double *a, const double *b, double *out)
{
    const number *k = find(v, what, a, b, false);
    if (!k || k->place >= 0 || v->failure) return false;
    *out = k->value;
    return true;
}

double lt_vectors_norm2(lt_vectors *v, const double *a)
{
    const double square = lt_vectors_measure(v, LT_MEASURE_DOT, a, a);
    if (square > 1e-280 && square < 1e280) return sqrt(square);
    const double most = lt_vectors_measure(v, LT_MEASURE_LARGEST, a, a), factor = 1 / most;
    if (most == 0 || !isfinite(most)) return most;
    lt_vectors_combine(v, 1, &factor, &a, v->scratch);
    return most * sqrt(lt_vectors_measure(v, LT_MEASURE_DOT, v->scratch, v->scratch));
}

/* ---- Evaluations ----------------------------------------------------------------------------------------------------------------- */
void lt_vectors_evaluation_begin(lt_vectors *v)
{
    lt_word *w = words_of(&v->lists[LT_LIST_EVALUATION]);
    catch_up(v);
    pack_statements(v, w);
    pack_sums(v, w);
}

lt_status lt_vectors_queue_after(lt_vectors *v, const double *values, int64_t count, double *home)
{
    return launch_sums(v, &v->lists[LT_LIST_EVALUATION], values, count, home);
}

lt_status lt_vectors_evaluation_wait(lt_vectors *v, const double *home, int64_t count)
{
    return await_sums(v, &v->lists[LT_LIST_EVALUATION], home, count);
}

void lt_vectors_values(const double *home, int64_t first, int64_t count, double *to)
{
    for (int64_t i = 0; to && i < count; i++) to[i] = number_of((const lt_arrival *)home + first + i);
}

void lt_vectors_evaluation_end(lt_vectors *v, lt_status s, lt_solve_crossings *n)
{
    n->bytes_up += v->list_bytes;
    n->bytes_down += v->n_wanted * v->z.chunks * (int64_t)sizeof(double);
    v->list_bytes = 0;
    waited(v, s);
    take_results(v, &v->lists[LT_LIST_EVALUATION]);
}
