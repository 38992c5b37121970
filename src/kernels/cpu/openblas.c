/* Finding and opening OpenBLAS, without the threads it would start and with room for its buffers.
   SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cpu/openblas.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/pool.h"
#include "base/status.h"
#include "lathe/features.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

lt_openblas lt_openblas_table;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static lt_status opened;
static char reason[LT_ERROR_TEXT_BYTES];
static void *library;
static bool limited;    /* as many threads inside as there are permits */
static sem_t permits;

/* Of one thread inside: 128 MiB and some pages, mostly never touched. */
#define BUFFER_BYTES ((size_t)132 << 20)
/* The library and those it needs take 45 MiB or so. */
#define LIBRARY_BYTES ((size_t)64 << 20)

/* ---- Opening -------------------------------------------------------------------------------------- */
/* Debian, conda and most others; Fedora's build with threads. */
static const char *const names[] = { "libopenblas.so.0", "libopenblasp.so.0", "libopenblas.so" };

/* The library starts as many threads as the thread that loads it may use processors, and they take memory and a core from then
   on. Its variable OPENBLAS_NUM_THREADS would stop that too, but a library must not write the environment of its program. */
static void *load_on_one_processor(const char *name)
{
    cpu_set_t all, one;
    const bool known = !sched_getaffinity(0, sizeof all, &all);
    int first = 0;
    while (known && first < CPU_SETSIZE && !CPU_ISSET(first, &all)) first++;
    CPU_ZERO(&one);
    if (first < CPU_SETSIZE) CPU_SET(first, &one);
    if (known) (void)sched_setaffinity(0, sizeof one, &one);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (known) (void)sched_setaffinity(0, sizeof all, &all);
    return handle;
}

/* What the loader says when there is a file, but no room for it. */
static bool lacks_memory(const char *text)
{
    static const char *const signs[] = { "failed to map", "cannot allocate", "Cannot allocate", "cannot create" };
    for (size_t i = 0; i < LT_LEN(signs); i++)
        if (strstr(text, signs[i])) return true;
    return false;
}

/* OpenBLAS 0.3.29 takes a buffer while it is loaded (0.3.21 did not), and tries for ever where there is no room for one. So it must
   not come to that: all room but too little to map the library is filled, so that the loader itself says whether there is a file. */
static void *fill_room(size_t *bytes)
{
    enum { LEFT_FOR_LOADER = 4 };
    size_t room = (BUFFER_BYTES + LIBRARY_BYTES) >> 20;
    *bytes = 0;
    if (lt_has_room(room << 20)) return NULL;
    while (room > 0 && !lt_has_room(room << 20)) room--;
    if (room <= LEFT_FOR_LOADER) return NULL;
    *bytes = (room - LEFT_FOR_LOADER) << 20;
    void *filler = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return filler == MAP_FAILED ? NULL : filler;
}

static lt_status load_any(void)
{
    const char *own = lt_config_text(LT_CONFIG_OPENBLAS);
    char why[400] = "";
    for (size_t i = 0; !library && i < (own ? 1 : LT_LEN(names)); i++) {
        if ((library = load_on_one_processor(own ? own : names[i]))) break;
        const char *text = dlerror();
        if (text && lacks_memory(text)) return LT_FAIL(LT_ERR_MEMORY, "no memory to load OpenBLAS: %.300s", text);
        if (!why[0]) snprintf(why, sizeof why, "%s", text ? text : "no reason given");
    }
    return library ? LT_OK : LT_FAIL(LT_ERR_UNSUPPORTED, "OpenBLAS cannot be opened: %.300s", why);
}

static lt_status load(void)
{
    size_t bytes;
    void *filler = fill_room(&bytes);
    const lt_status s = load_any();
    if (filler) munmap(filler, bytes);
    return s;
}

static lt_status find_functions(void)
{
    static const char *const symbols[] = {
#define X(name, args) #name,
        LT_OPENBLAS_FUNCTIONS(X)
#undef X
    };
    _Static_assert(sizeof symbols == sizeof lt_openblas_table, "one name per function");
    for (size_t i = 0; i < LT_LEN(symbols); i++) {
        void *f = dlsym(library, symbols[i]);
        if (!f) return LT_FAIL(LT_ERR_UNSUPPORTED, "OpenBLAS lacks the function %s: a build with CBLAS and LAPACK is expected", symbols[i]);
        memcpy((char *)&lt_openblas_table + i * sizeof f, &f, sizeof f);
    }
    return LT_OK;
}

/* ---- Room ----------------------------------------------------------------------------------------- */
enum { BUFFERS_MAX = 64 };

/* Takes a buffer for each thread of the pool, as many as there is room for; the library keeps them. A build that hides these two
   functions gets one, at its first call. */
static int reserve_buffers(int wanted)
{
    void *(*take)(int) = NULL, *buffer[BUFFERS_MAX];
    void (*give)(void *) = NULL;
    int n = 0;
    *(void **)&take = dlsym(library, "blas_memory_alloc");
    *(void **)&give = dlsym(library, "blas_memory_free");
    if (!take || !give) return lt_has_room(BUFFER_BYTES);
    while (n < wanted && lt_has_room(BUFFER_BYTES)) buffer[n++] = take(0);
    for (int i = 0; i < n; i++) give(buffer[i]);
    return n;
}

static lt_status make_room(void)
{
    limited = lt_room_is_limited();
    if (!limited) return LT_OK;
    lt_pool *pool = lt_pool_shared();
    if (!pool) return LT_ERR_MEMORY;
    const int n = reserve_buffers(LT_MIN(lt_pool_threads(pool), BUFFERS_MAX));
    if (!n) return LT_FAIL(LT_ERR_MEMORY, "no memory for OpenBLAS: a buffer of %zu bytes does not fit into the address space (ulimit -v)", BUFFER_BYTES);
    return sem_init(&permits, 0, (unsigned)n) ? LT_FAIL(LT_ERR_INTERNAL, "OpenBLAS: no semaphore of %d", n) : LT_OK;
}

/* ---- Once per process ------------------------------------------------------------------------------ */
static lt_status try_all(void)
{
    LT_TRY(load());
    LT_TRY(find_functions());
    LT_TRY(make_room());
    lt_openblas_table.openblas_set_num_threads(1); /* builds that count processors otherwise */
    return LT_OK;
}

static void open_once(void)
{
    char before[LT_ERROR_TEXT_BYTES];
    snprintf(before, sizeof before, "%s", lt_error_text());
    opened = try_all();
    snprintf(reason, sizeof reason, "%s", lt_error_text());
    lt_error_set(before); /* asking whether it is here is no failure */
}

bool lt_openblas_is_here(void)
{
    pthread_once(&once, open_once);
    return opened != LT_ERR_UNSUPPORTED;
}

lt_status lt_openblas_open(void)
{
    pthread_once(&once, open_once);
    if (opened) lt_error_set(reason);
    return opened;
}

void lt_openblas_enter(void)
{
    while (limited && sem_wait(&permits)) {} /* interrupted by a signal */
}

void lt_openblas_leave(void)
{
    if (limited) sem_post(&permits);
}

void *lt_openblas_function(const char *name) { return lt_openblas_open() ? NULL : dlsym(library, name); }
