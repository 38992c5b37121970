/* What a run prints, keeps and hands out. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_OUTPUT_OUTPUT_H
#define LT_OPTIMIZE_OUTPUT_OUTPUT_H

#include "lathe/rng.h"
#include "optimize/recovery/recover.h"
#include "optimize/search.h"

typedef struct lt_history { lt_history_row *row; int64_t n, capacity, step; } lt_history; /* step: iterations from row to row */
lt_status lt_history_create(lt_run *r);
void      lt_history_log(lt_run *r);

/* ---- console.c ---- */
typedef struct lt_console lt_console;
lt_status lt_console_create(lt_run *r);
void lt_console_destroy(lt_console *c);
void lt_console_header(lt_run *r);                   /* banner, problem, table head */
void lt_console_row(lt_run *r);
void lt_console_note(lt_run *r, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
void lt_console_end(lt_run *r, const lt_solution *s);

/* ---- checkpoint.c, pause.c, start_files.c ---- */
typedef struct lt_pause {    /* what looking for a step changes, as it was before */
    lt_oracle    oracle;
    lt_penalty   penalty;
    lt_fallback  fallback;
    lt_last_step last;
    lt_rng  rng;
    int64_t last_search, n_solved, n_failed; /* steps of the last search; QPs of steering */
    bool    warm;
    lt_recovery recovery;
    double *y;               /* q + p: steering's last answer */
} lt_pause;

lt_status lt_checkpoint_write(lt_run *r, const char *path);
lt_status lt_checkpoint_read(lt_run *r, const char *path);
void      lt_pause_note(lt_run *r);                  /* before a step is looked for */
lt_status lt_pause_write(lt_run *r, const char *path); /* a checkpoint when that was given up */
/* Exactly `count` numbers of a .npy file, or of a member of a .npz file. `what` is for messages. */
lt_status lt_start_read(const char *path, const char *member, const char *what, int64_t count, double *out);
lt_status lt_start_hessian(lt_run *r);               /* creates H from the options or their files */

/* ---- warm_start.c ---- */
typedef struct lt_warm {     /* what an x0 file has that is the result of another run */
    double *x;               /* n; NULL: there is none */
    double  mu;
    bool    takes_mu;
    double *multiplier;      /* q + p; NULL: none */
    lt_hessian_state H;      /* H or pairs; neither: none */
    char    text[256];       /* what was taken; "": nothing */
} lt_warm;
lt_status lt_warm_read(lt_run *r);                   /* from x0_file, where it holds the result of another run and no x0 is given */
void      lt_warm_multipliers(lt_run *r);            /* at x0, with its mu */
void      lt_warm_release(lt_run *r);

/* ---- resumed.c ---- */
typedef struct lt_resumed { lt_option_change *change; int n; } lt_resumed; /* options that are not those of the checkpoint */
struct lt_saved;
void      lt_resumed_walk(struct lt_saved *io, lt_run *r);
lt_status lt_resumed_give(const lt_run *r, lt_solution *s);

/* ---- solution.c ---- */
lt_status lt_solution_create(lt_run *r, lt_solution **out);

#endif
