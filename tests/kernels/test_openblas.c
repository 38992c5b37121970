/* Opening OpenBLAS: no thread, no change for the thread that opens it, and an answer however little room there is. Each case is a
   process of its own, since a library is opened once. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/status.h"
#include "kernels/cpu/openblas.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static int count_threads(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static size_t address_space(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What the child's exit says, or 99 when it did not end by itself within ten seconds. */
static int in_a_child(int (*body)(size_t), size_t argument)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        alarm(10);
        _exit(body(argument));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int is_missing(size_t unused)
{
    (void)unused;
    return !lt_openblas_is_here();
}

static int opens_quietly(size_t unused)
{
    (void)unused;
    cpu_set_t before, after;
    double a[64 * 64], c[64 * 64];
    sched_getaffinity(0, sizeof before, &before);
    const int threads = count_threads();
    if (lt_openblas_open()) return 1;
    sched_getaffinity(0, sizeof after, &after);
    for (int i = 0; i < 64 * 64; i++) a[i] = i % 65 == 0;
    LT_OPENBLAS_CALL(cblas_dgemm, LT_BLAS_ROWS, LT_BLAS_PLAIN, LT_BLAS_PLAIN, 64, 64, 64, 1, a, 64, a, 64, 0, c, 64);
    return memcmp(a, c, sizeof a) ? 2 : count_threads() != threads ? 3 : !CPU_EQUAL(&before, &after) ? 4 : 0;
}

LT_TEST(no_thread_is_started)
{
    if (in_a_child(is_missing, 0)) LT_SKIP("no OpenBLAS here");
    LT_CHECK_EQ_INT(in_a_child(opens_quietly, 0), 0);
}

/* 0: it works; 1: refused, with memory named. */
static int opens_within(size_t more)
{
    const struct rlimit limit = { address_space() + more, address_space() + more };
    setrlimit(RLIMIT_AS, &limit);
    const lt_status s = lt_openblas_open();
    if (s) return s == LT_ERR_MEMORY && strstr(lt_error_text(), "memory") && lt_openblas_is_here() ? 1 : 2;
    return opens_quietly(0) ? 3 : 0;
}

#ifdef SANITIZED
enum { SANITIZER_MAPS_TERABYTES = 1 };
#else
enum { SANITIZER_MAPS_TERABYTES = 0 };
#endif

LT_TEST(little_room_is_an_answer)
{
    if (SANITIZER_MAPS_TERABYTES) LT_SKIP("the sanitizer maps terabytes");
    if (in_a_child(is_missing, 0)) LT_SKIP("no OpenBLAS here");
    LT_CHECK_EQ_INT(in_a_child(opens_within, (size_t)8 << 20), 1);   /* not even the library */
    for (int mib = 16; mib <= 176; mib += 16) LT_CHECK_EQ_INT(in_a_child(opens_within, (size_t)mib << 20), 1); /* no buffer */
    LT_CHECK_EQ_INT(in_a_child(opens_within, (size_t)1 << 30), 0);   /* one at least */
}

static int names_the_file(size_t unused)
{
    (void)unused;
    setenv("LATHE_OPENBLAS", "/nonexistent/libopenblas.so", 1);
    return lt_openblas_is_here() || lt_openblas_open() != LT_ERR_UNSUPPORTED || !strstr(lt_error_text(), "/nonexistent/libopenblas.so");
}

LT_TEST(a_missing_library_is_named) { LT_CHECK_EQ_INT(in_a_child(names_the_file, 0), 0); }

/* Any library will do that is none: the C library has no cblas_sgemm. */
static int names_the_function(size_t unused)
{
    (void)unused;
    setenv("LATHE_OPENBLAS", "libc.so.6", 1);
    return lt_openblas_is_here() || lt_openblas_open() != LT_ERR_UNSUPPORTED || !strstr(lt_error_text(), "lacks the function cblas_sgemm");
}

LT_TEST(another_library_is_refused) { LT_CHECK_EQ_INT(in_a_child(names_the_function, 0), 0); }

LT_TEST_MAIN()
