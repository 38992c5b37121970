/* What test programs rely on to see overruns and leaks (guarded_blocks.c): a byte too far ends the process, a block without a variable is
   lost, one that a variable leads to is not. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "guarded_blocks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void silent_child(void) { (void)!freopen("/dev/null", "w", stderr); }

/* The signal that ends a process which does this. */
static int signal_of(void (*act)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        silent_child();
        act();
        _exit(0);
    }
    LT_CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void stay_inside(void)
{
    volatile char *p = lt_malloc(24), *q = lt_malloc_aligned(24);
    p[23] = q[23] = 1;
    lt_free((void *)p), lt_free_aligned((void *)q);
}

static void write_beyond(void)
{
    volatile char *p = lt_malloc(24);
    p[24] = 1;
    lt_free((void *)p);
}

static void write_beyond_aligned(void)
{
    volatile float *p = lt_malloc_aligned(3 * sizeof *p); /* 52 more bytes belong to the last cache line */
    p[3] = 0;
    lt_free_aligned((void *)p);
}

static void write_beyond_before_growing(void)
{
    volatile char *p = lt_calloc(3, 8);
    p[24] = 0;
    lt_free(lt_realloc((void *)p, 1000));
}

static void release_twice(void)
{
    char *p = lt_strdup("once");
    lt_free(p);
    lt_free(p);
}

LT_TEST(one_byte_behind_a_block_ends_the_process)
{
    LT_CHECK_EQ_INT(signal_of(stay_inside), 0);
    LT_CHECK_EQ_INT(signal_of(write_beyond), SIGABRT);
    LT_CHECK_EQ_INT(signal_of(write_beyond_aligned), SIGABRT);
    LT_CHECK_EQ_INT(signal_of(write_beyond_before_growing), SIGABRT);
    LT_CHECK_EQ_INT(signal_of(release_twice), SIGABRT);
}

LT_TEST(memory_nobody_wrote_is_no_number)
{
    double *p = lt_malloc(3 * sizeof *p), *q = lt_calloc(2, sizeof *q);
    LT_CHECK(isnan(p[0]) && isnan(p[2]) && q[0] == 0 && q[1] == 0);
    p[0] = p[2] = 7;
    p = lt_realloc(p, 5 * sizeof *p);
    LT_CHECK(p[0] == 7 && isnan(p[3]) && isnan(p[4]));
    lt_free(p), lt_free(q);
}

static void **kept;

LT_TEST(a_block_is_lost_when_nothing_leads_to_it)
{
    FILE *nowhere = fopen("/dev/null", "w");
    LT_CHECK_EQ_INT(lt_guard_lost(nowhere), 0);
    kept = lt_calloc(4, sizeof *kept);
    kept[3] = lt_malloc(10);
    LT_CHECK_EQ_INT(lt_guard_lost(nowhere), 0); /* found through kept, through its block */
    uintptr_t hidden = ~(uintptr_t)kept[3];
    kept[3] = NULL;
    LT_CHECK_EQ_INT(lt_guard_lost(nowhere), 1);
    lt_free((void *)~hidden);
    lt_free(kept);
    kept = NULL;
    LT_CHECK_EQ_INT(lt_guard_lost(nowhere), 0);
    fclose(nowhere);
}

LT_TEST_MAIN()
