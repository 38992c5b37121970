/* Choosing between kernels and parameters by timing them, and keeping the answers.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_TUNE_H
#define LATHE_TUNE_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lt_tune_mode {
    LT_TUNE_ESTIMATE,                 /* what is stored, else the first candidate; no timing */
    LT_TUNE_MEASURE,                  /* what is stored, else time the candidates */
    LT_TUNE_STORED,                   /* what is stored; a miss is an error: repeatable runs */
    LT_TUNE_MODE_COUNT
} lt_tune_mode;

LT_API const char *lt_tune_mode_name(lt_tune_mode m);  /* "estimate", …; "?" when out of range */
LT_API bool        lt_tune_mode_parse(const char *name, lt_tune_mode *out);

typedef struct lt_tuner lt_tuner;     /* opaque; safe to use from several threads */

typedef struct lt_tuner_options {     /* start from lt_tuner_defaults(); text is copied */
    size_t       size;
    const char  *device;              /* "cpu Intel(R) Xeon(R) … avx512f", without quotes or controls */
    const char  *driver;              /* "580.95 nvrtc=13.0"; "none" on the CPU */
    const char  *kernels;             /* digest of the kernels there are to choose from */
    const char  *path;                /* the tuning file; NULL = one in the cache folder */
    lt_tune_mode mode;
    int64_t      trust_ns;            /* shortest stretch the clock is trusted with */
    int64_t      budget_ns;           /* stop repeating a problem's timings after this long */
    int          rounds;              /* timings per candidate, of which the best counts */
} lt_tuner_options;

LT_API void lt_tuner_defaults_into(lt_tuner_options *out);
static inline lt_tuner_options lt_tuner_defaults(void) { lt_tuner_options sized; sized.size = sizeof sized; lt_tuner_defaults_into(&sized); return sized; }
/* Reads the file where there is one. A file of another device, driver or kernel list, or a
   malformed one, is refused whole: in stored mode that is an error, else the tuner starts
   empty and lt_tuner_refusal says why. */
LT_API lt_status   lt_tuner_create(const lt_tuner_options *opt, lt_tuner **out);
LT_API void        lt_tuner_destroy(lt_tuner *t);      /* NULL is allowed; does not save */
LT_API const char *lt_tuner_refusal(const lt_tuner *t); /* "" when no file was refused */
LT_API const char *lt_tuner_path(const lt_tuner *t);
LT_API const char *lt_tuner_header(const lt_tuner *t); /* the first line of its file */

/* Runs candidate number `candidate` `repeats` times and returns when all are done. A failure
   leaves the candidate out. Must not call the tuner. */
typedef lt_status (*lt_tune_run)(void *ctx, int candidate, int64_t repeats);

/* problem: printable text without " : ", at most 400 bytes, such as "matmul f32 m=64 n=64 k=8".
   names: one per candidate, alike, all different, best guess first. */
LT_API lt_status lt_tuner_choose(lt_tuner *t, const char *problem, int n_candidates, const char *const *names,
                                 lt_tune_run run, void *ctx, int *choice);

typedef struct lt_tune_entry {
    const char *problem, *choice;     /* valid until the tuner is next changed */
    double      time_us;              /* best time of one run */
} lt_tune_entry;

LT_API bool      lt_tuner_lookup(lt_tuner *t, const char *problem, lt_tune_entry *out);
LT_API int64_t   lt_tuner_count(lt_tuner *t);
LT_API bool      lt_tuner_entry(lt_tuner *t, int64_t index, lt_tune_entry *out); /* in order of arrival */
LT_API int64_t   lt_tuner_measured(lt_tuner *t);       /* problems timed since it was made */

/* Adds a file's entries; those there already stay. On failure nothing has changed. */
LT_API lt_status lt_tuner_load(lt_tuner *t, const char *path);
/* Replaces the file by what it holds now joined with what this tuner measured; several
   processes may do so at once. A file named by the caller that was refused is not overwritten. */
LT_API lt_status lt_tuner_save(lt_tuner *t);

#ifdef __cplusplus
}
#endif
#endif
