/* The test harness: cases register themselves; the program runs them all, or those whose name
   contains its argument, and exits 1 when any check failed, 77 when every case was skipped.
   With --list it prints their names instead. Where the program is linked with src/base, blocks of ours that are still
   allocated at the end fail it, but for the few that lathe keeps as long as the process lives (LT_TEST_KEPT_BLOCKS); one that no variable
   leads to any more fails it in any case, and so do a byte written behind a block (guarded_blocks.c)
   and a file that stays open.

       LT_TEST(name) { LT_CHECK(1 + 1 == 2); LT_CHECK_OK(lt_something()); }
       LT_TEST_MAIN()

   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_H
#define LT_TEST_H

#include "lathe/base.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lt_test_case {
    const char *name;
    void (*run)(void);
    struct lt_test_case *next;
} lt_test_case;

static lt_test_case *lt_test_first, **lt_test_last = &lt_test_first;
static int lt_test_failures, lt_test_skips;
static const char *lt_test_current = "";

#define LT_TEST(id)                                                                         \
    static void test_##id(void);                                                            \
    static lt_test_case case_##id = { #id, test_##id, NULL };                               \
    __attribute__((constructor)) static void add_##id(void)                                 \
    { *lt_test_last = &case_##id; lt_test_last = &case_##id.next; }                         \
    static void test_##id(void)

#define LT_TEST_FAIL(...)                                                                   \
    (lt_test_failures++, fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, lt_test_current), \
     fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))
#define LT_CHECK(cond) ((cond) ? (void)0 : (void)LT_TEST_FAIL("not true: %s", #cond))
#define LT_CHECK_OK(call)                                                                   \
    do { lt_status s_ = (call);                                                             \
         if (s_) LT_TEST_FAIL("%s: %s", #call, lt_error_text()); } while (0)
/* The call must fail with this status and a text that contains `part`. */
#define LT_CHECK_FAILS(call, status, part)                                                  \
    do { lt_status s_ = (call);                                                             \
         if (s_ != (status)) LT_TEST_FAIL("%s: status %s, expected %s", #call,              \
                                          lt_status_name(s_), lt_status_name(status));      \
         else if (!strstr(lt_error_text(), (part)))                                         \
             LT_TEST_FAIL("%s: text '%s' lacks '%s'", #call, lt_error_text(), (part)); } while (0)
#define LT_CHECK_EQ_INT(got, want)                                                          \
    do { long long g_ = (long long)(got), w_ = (long long)(want);                           \
         if (g_ != w_) LT_TEST_FAIL("%s is %lld, expected %lld", #got, g_, w_); } while (0)
/* |got - want| <= tol * max(1, |want|); NaN fails unless both are NaN. */
#define LT_CHECK_NEAR(got, want, tol)                                                       \
    do { double g_ = (got), w_ = (want);                                                    \
         if (!(fabs(g_ - w_) <= (tol) * fmax(1, fabs(w_))) && !(isnan(g_) && isnan(w_)) && g_ != w_) \
             LT_TEST_FAIL("%s is %.17g, expected %.17g", #got, g_, w_); } while (0)
/* Set where every launch takes a hundred times as long (scripts/sanitize-cuda.py): the same kernels, in fewer and smaller rounds. */
static inline bool lt_test_brief(void) { return getenv("LT_TEST_BRIEF") != NULL; }

#define LT_SKIP(...) do { lt_test_skips++; printf("skip %s: ", lt_test_current); printf(__VA_ARGS__); puts(""); return; } while (0)

/* What caches, opened libraries and pools of threads hold. A test that must leave more defines it before including this. */
#ifndef LT_TEST_KEPT_BLOCKS
#define LT_TEST_KEPT_BLOCKS 32
#endif
extern int64_t lt_alloc_live(void) __attribute__((weak)); /* base/alloc.h; absent in programs that see the public library only */

/* Blocks that only a thread or a library of others still knows of. */
#ifndef LT_TEST_LOST_BLOCKS
#define LT_TEST_LOST_BLOCKS 0
#endif
extern int lt_guard_lost(FILE *to) __attribute__((weak)); /* guarded_blocks.c */

static inline void lt_test_count_leaks(void)
{
    int lost = lt_guard_lost ? lt_guard_lost(stderr) : 0;
    lt_test_current = "blocks that nothing leads to";
    if (lost > LT_TEST_LOST_BLOCKS) LT_TEST_FAIL("%d, expected at most %d", lost, LT_TEST_LOST_BLOCKS);
    int64_t live = lt_alloc_live ? lt_alloc_live() : 0;
    lt_test_current = "blocks that stay allocated";
    if (live > LT_TEST_KEPT_BLOCKS) LT_TEST_FAIL("%lld, expected at most %d", (long long)live, LT_TEST_KEPT_BLOCKS);
    if (getenv("LT_TEST_SHOW_BLOCKS")) printf("%lld blocks stay allocated\n", (long long)live);
}

/* Descriptors that are open, but for the one that counts them; -1 where the system does not show them. */
#ifndef LT_TEST_KEPT_FILES
#define LT_TEST_KEPT_FILES 0
#endif
static inline int lt_test_open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n - 1;
}

static inline void lt_test_count_files(int before)
{
    int more = lt_test_open_files() - before;
    lt_test_current = "files that stay open";
    if (more > LT_TEST_KEPT_FILES) LT_TEST_FAIL("%d, expected at most %d", more, LT_TEST_KEPT_FILES);
}

static inline int lt_test_main(int argc, char **argv)
{
    int n_run = 0, n_open = lt_test_open_files();
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (lt_test_case *c = lt_test_first; c; c = c->next) puts(c->name);
        return 0;
    }
    for (lt_test_case *c = lt_test_first; c; c = c->next) {
        if (argc > 1 && !strstr(c->name, argv[1])) continue;
        int before = lt_test_failures;
        lt_test_current = c->name;
        c->run();
        n_run++;
        if (lt_test_failures > before) printf("FAIL %s\n", c->name);
    }
    lt_test_count_leaks();
    lt_test_count_files(n_open);
    printf("%d cases, %d failed checks, %d skipped\n", n_run, lt_test_failures, lt_test_skips);
    if (lt_test_failures) return 1;
    if (!n_run) { printf("no case matches\n"); return 1; }
    return lt_test_skips == n_run ? 77 : 0;
}
#define LT_TEST_MAIN() int main(int argc, char **argv) { return lt_test_main(argc, argv); }

#endif
