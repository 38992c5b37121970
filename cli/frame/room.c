/* Limits of the process (ulimit -s, -v, -d), before anything else. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

enum { STACK_USUAL = 8 << 20, STACK_LEAST = 1 << 20 };

/* Kernels keep blocks of work on the stack, up to half a megabyte. What the limit leaves open is taken; threads that libraries start get the same. */
static lt_status take_stack(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_STACK, &r) || r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= STACK_USUAL) return LT_OK;
    struct rlimit more = { r.rlim_max == RLIM_INFINITY ? STACK_USUAL : CLI_MIN(r.rlim_max, STACK_USUAL), r.rlim_max };
    if (more.rlim_cur > r.rlim_cur && !setrlimit(RLIMIT_STACK, &more)) {
        pthread_attr_t a;
        r = more;
        if (!pthread_attr_init(&a)) {
            if (!pthread_attr_setstacksize(&a, (size_t)r.rlim_cur)) (void)pthread_setattr_default_np(&a);
            pthread_attr_destroy(&a);
        }
    }
    if (r.rlim_cur >= STACK_LEAST) return LT_OK;
    return cli_fail(LT_ERR_MEMORY, "the stack may have %llu KiB only (ulimit -s), and %d are needed", (unsigned long long)r.rlim_cur / 1024, STACK_LEAST / 1024);
}

static bool is_limited(int what)
{
    struct rlimit r;
    return !getrlimit(what, &r) && r.rlim_cur != RLIM_INFINITY;
}

lt_status cli_take_room(void)
{
    CLI_TRY(take_stack());
#ifdef M_ARENA_MAX
    /* The C library would reserve 64 MiB for each thread, and for a moment twice that: nobody else finds room then. */
    if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) (void)mallopt(M_ARENA_MAX, 1);
#endif
    return LT_OK;
}
