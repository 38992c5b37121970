/* A file of packed states (decision 351): a sum for each panel, then the panels. A panel counts when its bytes have its sum, which is mixed with the matrix and the layout
   of panels; so ranks need no order and no messages, and a kill costs nothing. SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/file/states.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "trace/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Slower than this states are made, they are worth keeping; faster, a disk and a checksum take as long. Then what reading takes decides. */
enum { LEAST_READS = 16 }; /* before reading is judged: another program may have held up one */
static const double WORTH_BYTES_PER_NS = 0.5;

struct lt_shared_states {
    int        fd;
    char       digest[LT_GRAM_DIGEST_BYTES];
    lt_rows    x, y;          /* y.n 0: none */
    int64_t    side;          /* of tiles */
    bool       off;           /* reading took longer than making, or writing failed */
    double     make_ns, made_bytes, read_ns, read_bytes;
    int64_t    reads, made, taken; /* times; rows */
};

/* ---- Where panels lie -------------------------------------------------------------------------------------------------------------- */

typedef struct place { int64_t panel, n_panels; uint64_t seed, sums_bytes; } place;

static bool row_of(const lt_rows *all, const lt_rows *x, int64_t first, int64_t *out)
{
    const int64_t row = (int64_t)lt_dtype_size(all->dtype) * (all->step ? all->step : all->columns);
    const intptr_t at = (const char *)x->data - (const char *)all->data;
    if (!all->n || (const char *)x->data < (const char *)all->data || at / row >= all->n || at % row) return false;
    *out = at / row + first;
    return true;
}

/* False for rows that no panels of their own hold. */
static bool find(const lt_shared_states *s, const lt_gram_plan *p, const lt_rows *x, int64_t first, int64_t n, place *out)
{
    struct { char digest[LT_GRAM_DIGEST_BYTES]; int64_t side, panel, bytes, planes, slots, element; } kind;
    const int64_t each = (s->side + p->panel - 1) / p->panel; /* panels begin anew with every tile */
    const int64_t of_x = (s->x.n + s->side - 1) / s->side * each, of_y = (s->y.n + s->side - 1) / s->side * each;
    int64_t row;
    const lt_rows *all = row_of(&s->x, x, first, &row) ? &s->x : row_of(&s->y, x, first, &row) ? &s->y : NULL;
    if (!all) return false;
    const int64_t in_tile = row % s->side, rest = LT_MIN(s->side, all->n - row + in_tile) - in_tile;
    if (in_tile % p->panel || n > rest || (n % p->panel && n != rest)) return false;
    memset(&kind, 0, sizeof kind);
    memcpy(kind.digest, s->digest, sizeof kind.digest);
    kind.side = s->side, kind.panel = p->panel, kind.bytes = (int64_t)p->panel_bytes, kind.planes = p->planes, kind.slots = p->n_slots, kind.element = (int64_t)p->element;
    out->seed = lt_hash64(&kind, sizeof kind, 3);
    out->panel = row / s->side * each + in_tile / p->panel + (all == &s->y ? of_x : 0);
    out->n_panels = (n + p->panel - 1) / p->panel;
    out->sums_bytes = (uint64_t)(of_x + of_y) * sizeof(uint64_t);
    return true;
}

static uint64_t sum_of(const place *at, int64_t i, const void *panels, size_t bytes)
{
    return lt_hash64((const char *)panels + (size_t)i * bytes, bytes, at->seed + (uint64_t)(at->panel + i)) | 1; /* not 0: absent */
}

static bool read_whole(int fd, void *to, size_t bytes, uint64_t from)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(from + done));
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_whole(int fd, const void *from, size_t bytes, uint64_t to)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(to + done));
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

/* ---- Reading and writing --------------------------------------------------------------------------------------------------------------- */

static bool usable(const lt_shared_states *s, const lt_gram_plan *p) { return s && !s->off && p->method == LT_GRAM_STATES && p->n_slices == 1; }

static bool has_all(const lt_shared_states *s, const place *at, const uint64_t *sum, const lt_gram_plan *p, void *panels)
{
    for (int64_t i = 0; i < at->n_panels; i++)
        if (!sum[i]) return false; /* before anything large is read */
    if (!read_whole(s->fd, panels, (size_t)at->n_panels * p->panel_bytes, at->sums_bytes + (uint64_t)at->panel * p->panel_bytes)) return false;
    for (int64_t i = 0; i < at->n_panels; i++)
        if (sum_of(at, i, panels, p->panel_bytes) != sum[i]) return false;
    return true;
}

bool lt_shared_states_read(lt_shared_states *s, const lt_gram_plan *p, const lt_rows *x, int64_t first, int64_t n, void *panels)
{
    place at;
    if (!usable(s, p) || !find(s, p, x, first, n, &at)) return false;
    int64_t start = lt_clock_ns();
    uint64_t *sum = lt_malloc((size_t)at.n_panels * sizeof *sum);
    bool found = sum && read_whole(s->fd, sum, (size_t)at.n_panels * sizeof *sum, (uint64_t)at.panel * sizeof *sum) && has_all(s, &at, sum, p, panels);
    lt_free(sum);
    if (!found) return false;
    s->taken += n;
    s->read_ns += (double)(lt_clock_ns() - start);
    s->read_bytes += (double)at.n_panels * (double)p->panel_bytes;
    s->off = ++s->reads >= LEAST_READS && s->made_bytes > 0 && s->read_ns / s->read_bytes > s->make_ns / s->made_bytes;
    return true;
}

void lt_shared_states_write(lt_shared_states *s, const lt_gram_plan *p, const lt_rows *x, int64_t first, int64_t n, const void *panels, int64_t ns)
{
    place at;
    struct statvfs disk;
    if (s) s->made += n;
    if (!usable(s, p) || !find(s, p, x, first, n, &at)) return;
    const size_t bytes = (size_t)at.n_panels * p->panel_bytes;
    s->make_ns += (double)ns;
    s->made_bytes += (double)bytes;
    if (s->made_bytes / s->make_ns > WORTH_BYTES_PER_NS) return;
    uint64_t *sum = lt_malloc((size_t)at.n_panels * sizeof *sum);
    for (int64_t i = 0; sum && i < at.n_panels; i++) sum[i] = sum_of(&at, i, panels, p->panel_bytes);
    /* Half of what is free stays for the table and for others. */
    bool room = !fstatvfs(s->fd, &disk) && (double)disk.f_bavail * (double)disk.f_frsize > 2.0 * (double)bytes;
    s->off = !sum || !room || !write_whole(s->fd, panels, bytes, at.sums_bytes + (uint64_t)at.panel * p->panel_bytes)
          || !write_whole(s->fd, sum, (size_t)at.n_panels * sizeof *sum, (uint64_t)at.panel * sizeof *sum);
    lt_free(sum);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------------------------------- */

lt_shared_states *lt_shared_states_open(const char *path, const char *digest, const lt_rows *x, const lt_rows *y, int64_t side)
{
    lt_shared_states *s = lt_calloc(1, sizeof *s);
    if (!s) return NULL;
    snprintf(s->digest, sizeof s->digest, "%s", digest);
    s->x = *x;
    s->side = side;
    if (y) s->y = *y;
    s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->fd >= 0) return s;
    lt_free(s);
    return NULL;
}

void lt_shared_states_close(lt_shared_states *s)
{
    if (!s) return;
    close(s->fd);
    lt_free(s);
}

int64_t lt_shared_states_made(const lt_shared_states *s) { return s ? s->made : 0; }
int64_t lt_shared_states_taken(const lt_shared_states *s) { return s ? s->taken : 0; }
