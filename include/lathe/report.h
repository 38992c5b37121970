/* Reports: self-contained HTML pages, and the progress bar.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_REPORT_H
#define LATHE_REPORT_H

#include "lathe/base.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Pages ------------------------------------------------------------------ */
/* A page needs no network and no script, and follows the reader's light or dark setting. All text
   is escaped. The first failure (no memory, a bad argument) is kept, later calls do nothing, and
   lt_report_write returns it: callers check once, at the end. Everything passed in is copied.

       lt_report *r;
       lt_report_create("Rollout 17", &r);
       lt_report_paragraph(r, "Four thousand steps on a 64 x 64 grid.");
       lt_report_plot(r, &(lt_plot){ .size = sizeof(lt_plot), .title = "Energy", .y_log = true, .n_series = 1, .series = &energy });
       lt_status s = lt_report_write(r, "rollout.html");
       lt_report_destroy(r);
*/
typedef struct lt_report lt_report; /* opaque */

LT_API lt_status lt_report_create(const char *title, lt_report **out);
LT_API void      lt_report_destroy(lt_report *r); /* NULL is allowed */
/* Writes the page beside path and renames it into place; r may be added to and written again. */
LT_API lt_status lt_report_write(lt_report *r, const char *path);
/* Writes the page to an open file. */
LT_API lt_status lt_report_print(lt_report *r, FILE *to);

LT_API void lt_report_heading(lt_report *r, const char *text);   /* opens a section */
LT_API void lt_report_paragraph(lt_report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
LT_API void lt_report_listing(lt_report *r, const char *text);   /* fixed width, lines kept */

/* Two columns: what, and its value. */
LT_API void lt_report_facts(lt_report *r, int n, const char *const *names, const char *const *values);

/* cells: n_rows * n_columns texts, row by row; NULL is an empty cell. A column whose cells all
   read as numbers (a unit may follow) is set to the right. */
LT_API void lt_report_table(lt_report *r, const char *title, int n_columns, const char *const *columns,
                            int64_t n_rows, const char *const *cells);

typedef struct lt_series {
    const char   *name;          /* in the legend; NULL = none */
    const double *x, *y;         /* n of each; x NULL = 0, 1, 2, …; the line breaks where either is not finite */
    int64_t       n;
} lt_series;

typedef struct lt_plot {         /* start from lt_plot_defaults(), or from { .size = sizeof(lt_plot) }: other fields are 0 by default */
    size_t      size;
    const char *title, *x_label, *y_label; /* NULL = none */
    bool        x_log, y_log;    /* values <= 0 are left out, and the page says how many */
    bool        points;          /* marks without lines */
    int         n_series;        /* 1..16 */
    const lt_series *series;
} lt_plot;
LT_API void lt_plot_defaults_into(lt_plot *out);
static inline lt_plot lt_plot_defaults(void) { lt_plot sized; sized.size = sizeof sized; lt_plot_defaults_into(&sized); return sized; }
LT_API void lt_report_plot(lt_report *r, const lt_plot *p);

/* One horizontal bar per label; values may be negative; unit may be NULL. */
LT_API void lt_report_bars(lt_report *r, const char *title, const char *unit, int n,
                           const char *const *labels, const double *values);
/* Counts of the finite values in n_bins equal bins; 0 = choose. */
LT_API void lt_report_histogram(lt_report *r, const char *title, const char *x_label, int64_t n,
                                const double *values, int n_bins);

typedef struct lt_heatmap {      /* as a plot: lt_heatmap_defaults() */
    size_t        size;
    const char   *title, *x_label, *y_label, *unit; /* NULL = none */
    int64_t       rows, columns; /* each 1..4096 */
    const double *values;        /* (rows, columns); not finite = left blank */
    bool          diverging;     /* colours centred on 0, for signed data */
    int           n_x_names;     /* at most 16 texts, each in the middle of an equal share of the width, instead of column numbers … */
    const char *const *x_names;
    bool          bare_rows;     /* … and no row numbers */
    int           n_y_names;     /* as many as rows, at most 24, from the top: instead of row numbers */
    const char *const *y_names;
} lt_heatmap;
LT_API void lt_heatmap_defaults_into(lt_heatmap *out);
static inline lt_heatmap lt_heatmap_defaults(void) { lt_heatmap sized; sized.size = sizeof sized; lt_heatmap_defaults_into(&sized); return sized; }
LT_API void lt_report_heatmap(lt_report *r, const lt_heatmap *m);

/* ---- Progress ---------------------------------------------------------------- */
/* A bar on standard error with rate and time left, as wide as the terminal. Silent when that is
   not a terminal, or when quiet. Drawn at most ten times a second, so calling often is cheap. Rates
   count from the first lt_progress_set on (what was done before is no work of this run) and are
   shown once half a second has passed. */
typedef struct lt_progress lt_progress; /* opaque */

/* total 0 = unknown: count and rate only. unit names one step ("iteration"); NULL = "step". */
LT_API lt_status lt_progress_create(const char *label, const char *unit, int64_t total, bool quiet,
                                    lt_progress **out);
LT_API void      lt_progress_set(lt_progress *p, int64_t done);  /* NULL is allowed */
LT_API void      lt_progress_destroy(lt_progress *p);            /* ends the line; NULL is allowed */
/* The text of the bar for these numbers: what lt_progress_set draws. Returns its length, which is
   at most width columns (and capacity - 1 bytes). */
LT_API int       lt_progress_text(const char *label, const char *unit, int64_t done, int64_t total,
                                  double seconds, int width, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
