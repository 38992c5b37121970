/* Runs the text of CUDA kernels on the CPU: the threads of a block are fibers that take turns, and stop at barriers
   and exchanges between lanes. Enough of CUDA for kernels without warps that part; blocks run one after the other.
   Included before the text, as C++. SPDX-License-Identifier: BSD-3-Clause */
#ifndef CUDA_SHIM_H
#define CUDA_SHIM_H

#undef _FORTIFY_SOURCE /* its longjmp refuses to go to another stack */
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)

using std::isfinite;

struct double2 { double x, y; };
static struct { unsigned x; } threadIdx, blockIdx, gridDim, blockDim;
alignas(16) double2 memory[1 << 13]; /* what `extern __shared__ double2 memory[]` names */
enum { UNWRITTEN = 0x7e };           /* in it; as numbers nothing useful */

static inline double2 make_double2(double x, double y) { return { x, y }; }
static inline unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, sizeof bits); return bits; }
static inline float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
static inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static inline int atomicAdd(int *at, int x) { int old = *at; *at += x; return old; }
static inline int atomicMin(int *at, int x) { int old = *at; if (x < old) *at = x; return old; }

/* ---- fibers ---- */

namespace shim {

enum state { READY, AT_BARRIER, IN_EXCHANGE, DONE };
enum { LANES = 32, STACK = 1 << 17, MAX_THREADS = 1024 };

struct fiber { ucontext_t start; jmp_buf at; std::vector<char> stack; state now; bool started; unsigned exchanges; };
static std::vector<fiber> fibers;
static ucontext_t first_turn; /* where a fiber came from when it started; later turns jump, without system calls */
static jmp_buf scheduler;
static bool backwards; /* the last thread first: what depends on it lacks a barrier */
static void (*body)(void *);
static void *body_arg;
static unsigned char slot[2][MAX_THREADS][8]; /* of exchanges, in turns */

static inline void enter() /* the only entry of a fiber */
{
    body(body_arg);
    fibers[threadIdx.x].now = DONE;
    _longjmp(scheduler, 1);
}

static inline void give_turn(fiber &f)
{
    if (_setjmp(scheduler)) return;
    if (f.started) _longjmp(f.at, 1);
    f.started = true;
    swapcontext(&first_turn, &f.start);
}

static inline void stop(state why)
{
    fiber &f = fibers[threadIdx.x];
    f.now = why;
    if (!_setjmp(f.at)) _longjmp(scheduler, 1);
}

/* Fibers that all wait for each other go on; false when nobody can. */
static inline bool release(unsigned first, unsigned end, state why)
{
    unsigned waiting = 0, done = 0;
    for (unsigned i = first; i < end; i++) {
        waiting += fibers[i].now == why;
        done += fibers[i].now == DONE;
    }
    if (!waiting || waiting + done < end - first) return false;
    for (unsigned i = first; i < end; i++)
        if (fibers[i].now == why) fibers[i].now = READY;
    return true;
}

static inline void run_block(unsigned threads)
{
    fibers.resize(threads);
    for (unsigned i = 0; i < threads; i++) {
        fiber &f = fibers[i];
        f.stack.resize(STACK);
        getcontext(&f.start);
        f.start.uc_stack.ss_sp = f.stack.data();
        f.start.uc_stack.ss_size = f.stack.size();
        f.start.uc_link = nullptr;
        makecontext(&f.start, enter, 0);
        f.now = READY;
        f.started = false;
        f.exchanges = 0;
    }
    for (;;) {
        bool moved = false, left = false;
        for (unsigned k = 0; k < threads; k++) {
            unsigned i = backwards ? threads - 1 - k : k;
            if (fibers[i].now != READY) continue;
            threadIdx.x = i;
            give_turn(fibers[i]);
            moved = true;
        }
        for (unsigned i = 0; i < threads; i += LANES) moved |= release(i, i + LANES, IN_EXCHANGE);
        moved |= release(0, threads, AT_BARRIER);
        for (const fiber &f : fibers) left |= f.now != DONE;
        if (!left) return;
        if (!moved) {
            fprintf(stderr, "cuda_shim: block %u: threads wait for each other at different places\n", blockIdx.x);
            abort();
        }
    }
}

template <class T> static inline T exchange(T x, unsigned from)
{
    static_assert(sizeof(T) <= 8, "one number");
    fiber &f = fibers[threadIdx.x];
    unsigned turn = f.exchanges++ & 1, first = threadIdx.x / LANES * LANES;
    memcpy(slot[turn][threadIdx.x], &x, sizeof x);
    stop(IN_EXCHANGE);
    T got;
    memcpy(&got, slot[turn][first + from], sizeof got);
    return got;
}

template <class... A, size_t... I> static void call(void (*kernel)(A...), void **arg, std::index_sequence<I...>) { kernel((A)arg[I]...); }

static inline void check_shared(size_t bytes)
{
    const unsigned char *m = (const unsigned char *)memory;
    for (size_t i = bytes; i < sizeof memory; i++)
        if (m[i] != UNWRITTEN) {
            fprintf(stderr, "cuda_shim: block %u writes byte %zu of %zu of shared memory\n", blockIdx.x, i, bytes);
            abort();
        }
}

/* Arguments are pointers. */
template <class... A> static void launch(void (*kernel)(A...), unsigned blocks, unsigned threads, size_t shared_bytes, void **arg)
{
    struct job { void (*kernel)(A...); void **arg; } j = { kernel, arg };
    body = [](void *p) { job *q = (job *)p; call(q->kernel, q->arg, std::index_sequence_for<A...>()); };
    body_arg = &j;
    gridDim.x = blocks, blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        memset(memory, UNWRITTEN, sizeof memory);
        run_block(threads);
        check_shared(shared_bytes);
    }
}

/* A call of a kernel as a function object; its shared memory is its own affair. */
template <class F> static void launch(unsigned blocks, unsigned threads, F call)
{
    body = [](void *p) { (*(F *)p)(); };
    body_arg = &call;
    gridDim.x = blocks, blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) run_block(threads);
}

}

static inline void __syncthreads() { shim::stop(shim::AT_BARRIER); }
static inline void __syncwarp() { shim::stop(shim::IN_EXCHANGE); }
template <class T> static inline T __shfl_sync(unsigned, T x, int from) { return shim::exchange(x, (unsigned)from % shim::LANES); }
template <class T> static inline T __shfl_xor_sync(unsigned, T x, int mask) { return shim::exchange(x, threadIdx.x % shim::LANES ^ (unsigned)mask); }
template <class T> static inline T __shfl_up_sync(unsigned, T x, int by)
{
    unsigned lane = threadIdx.x % shim::LANES;
    return shim::exchange(x, lane >= (unsigned)by ? lane - (unsigned)by : lane);
}

#endif
