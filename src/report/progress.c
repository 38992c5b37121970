/* The progress bar: drawn on standard error, only when that is a terminal.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/status.h"
#include "lathe/report.h"
#include "report/progress_rate.h"
#include "trace/clock.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MIN_BAR = 8, MAX_BAR = 40, MAX_WIDTH = 200 };

struct lt_progress {
    char    label[48], unit[24];
    int64_t total, done;
    double  drawn;                /* seconds */
    lt_progress_rate rate;
    bool    on;
    bool    line_open;            /* something was drawn that a newline must end */
};

static double now(void) { return 1e-9 * (double)lt_clock_ns(); }

static int terminal_width(void)
{
    struct winsize w;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col == 0) return 80;
    return LT_MIN((int)w.ws_col, MAX_WIDTH);
}

/* "47 s", "3:07", "1:02:45"; "" when unknown. */
static void duration_text(double seconds, char out[16])
{
    out[0] = '\0';
    if (!isfinite(seconds) || seconds < 0 || seconds > 359999) return;
    int s = (int)lround(seconds);
    if (s < 60) snprintf(out, 16, "%d s", s);
    else if (s < 3600) snprintf(out, 16, "%d:%02d", s / 60, s % 60);
    else snprintf(out, 16, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
}

/* Three digits and a thousands letter: "12.3k". */
static void rate_text(double rate, char out[16])
{
    static const char letter[] = " kMGT";
    int k = 0;
    while (rate >= 999.5 && k < 4) rate /= 1000, k++;
    snprintf(out, 16, rate < 9.995 ? "%.2f%.1s" : rate < 99.95 ? "%.1f%.1s" : "%.0f%.1s", rate, k ? letter + k : "");
}

/* How much is done, how fast and how long it will take; of the last two what is known. */
static void tail_text(const char *unit, int64_t done, int64_t total, double rate, char *tail, size_t bytes)
{
    char per_second[16], left[16], speed[64] = "";
    rate_text(rate, per_second);
    if (rate >= 0) snprintf(speed, sizeof speed, ", %s %s/s", per_second, unit);
    duration_text(total > 0 && rate > 0 ? (double)(total - done) / rate : INFINITY, left);
    if (total > 0) snprintf(tail, bytes, " %lld/%lld%s%s%s", (long long)done, (long long)total, speed, left[0] ? ", left " : "", left);
    else snprintf(tail, bytes, " %lld%s", (long long)done, speed);
}

/* rate < 0: not known yet. */
static int line_text(const char *label, const char *unit, int64_t done, int64_t total, double rate, int width, char *text, size_t capacity)
{
    char tail[160];
    if (!text || !capacity) return 0;
    tail_text(unit ? unit : "step", done, total, rate, tail, sizeof tail);

    char bar[MAX_BAR + 8] = "";
    int room = width - (int)strlen(label ? label : "") - (int)strlen(tail) - 9; /* " [", "] ", "100 %" */
    if (total > 0 && room >= MIN_BAR) {
        int length = LT_MIN(room, MAX_BAR);
        double share = LT_MIN(LT_MAX((double)done / (double)total, 0), 1);
        int full = (int)(share * length);
        memcpy(bar, " [", 2);
        memset(bar + 2, '#', (size_t)full);
        memset(bar + 2 + full, '.', (size_t)(length - full));
        memcpy(bar + 2 + length, "]", 2);
    }
    char line[MAX_WIDTH + 256];
    if (total > 0)
        snprintf(line, sizeof line, "%s%s %3d %%%s", label ? label : "", bar,
                 (int)(100 * LT_MIN((double)done / (double)total, 1)), tail);
    else
        snprintf(line, sizeof line, "%s%s", label ? label : "", tail);
    int n = LT_MIN(LT_MIN((int)strlen(line), LT_MAX(width, 0)), (int)capacity - 1);
    memcpy(text, line, (size_t)n);
    text[n] = '\0';
    return n;
}

int lt_progress_text(const char *label, const char *unit, int64_t done, int64_t total,
                     double seconds, int width, char *text, size_t capacity)
{
    return line_text(label, unit, done, total, seconds >= LT_PROGRESS_LEAST_SECONDS ? (double)done / seconds : -1, width, text, capacity);
}

lt_status lt_progress_create(const char *label, const char *unit, int64_t total, bool quiet, lt_progress **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "progress: out is NULL");
    *out = NULL;
    if (total < 0) return LT_FAIL(LT_ERR_ARGUMENT, "progress: a total of %lld, expected 0 or more", (long long)total);
    lt_progress *p = lt_calloc(1, sizeof *p);
    if (!p) return LT_ERR_MEMORY;
    snprintf(p->label, sizeof p->label, "%s", label ? label : "");
    snprintf(p->unit, sizeof p->unit, "%s", unit ? unit : "step");
    p->total = total;
    p->on = !quiet && isatty(STDERR_FILENO);
    *out = p;
    return LT_OK;
}

static void draw(lt_progress *p, double at)
{
    char text[MAX_WIDTH + 1];
    /* One column less than the terminal has: a full line would wrap. */
    line_text(p->label, p->unit, p->done, p->total, lt_progress_rate_at(&p->rate, p->done, at), terminal_width() - 1, text, sizeof text);
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    p->drawn = at;
    p->line_open = true;
}

void lt_progress_set(lt_progress *p, int64_t done)
{
    if (!p) return;
    p->done = done;
    if (!p->on) return;
    double at = now();
    (void)lt_progress_rate_at(&p->rate, done, at); /* the first report begins the clock */
    if (at - p->drawn >= 0.1) draw(p, at);
}

void lt_progress_destroy(lt_progress *p)
{
    if (!p) return;
    if (p->on) draw(p, now());
    if (p->line_open) fputc('\n', stderr);
    lt_free(p);
}
