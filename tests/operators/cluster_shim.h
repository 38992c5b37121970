/* Runs blocks and clusters of CUDA kernels on the CPU: threads are fibers that take turns and wait for each other at
   barriers of a block, of a warp, of a cluster, and at those in shared memory. Every resident block has its own
   shared memory; it lies where the kernel's text expects it while the block has its turn.
   Included before the text, as C++. SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_SHIM_H
#define CLUSTER_SHIM_H

#undef _FORTIFY_SOURCE /* its longjmp refuses to go to another stack */
#include <csetjmp>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <utility>
#include <vector>

enum { SHARED_LIMIT = 232448, SHARED_FIRST = 1024 }; /* of a block on sm_90; its first address */

static struct { unsigned x; } threadIdx, blockIdx, gridDim;
extern "C" { alignas(1024) unsigned char shared[SHARED_LIMIT]; } /* what `extern __shared__ … shared[]` names */
#define __shared__ static __attribute__((section("block_shared"), used))
#define SHARED_DYNAMIC /* instead of it in such a declaration */
__shared__ uint64_t shared_mark[2]; /* so that the section is never empty */
extern "C" unsigned char __start_block_shared[], __stop_block_shared[];

namespace shim {

enum { LANES = 32, WARPGROUP = 128, STACK = 1 << 16, BARRIERS = 16, UNWRITTEN = 0x7e };
struct order { bool backwards, late; unsigned resident; }; /* late: asynchronous work is done when it must be; clusters at once */

static inline void fail(const char *format, ...)
{
    va_list arg;
    va_start(arg, format);
    fprintf(stderr, "cluster_shim: block %u, thread %u: ", blockIdx.x, threadIdx.x);
    vfprintf(stderr, format, arg);
    fputc('\n', stderr);
    va_end(arg);
    abort();
}

/* Where a number of threads wait until the last has come. */
struct meeting { unsigned arrived = 0, size = 0, generation = 0; const char *what = nullptr; std::vector<void *> arg; };

enum state { READY, AT_MEETING, AT_PHASE, DONE };
struct fiber {
    ucontext_t start;
    jmp_buf at;
    state now;
    bool started;
    const meeting *where;
    unsigned seen;          /* its generation */
    uint32_t barrier, parity; /* in shared memory */
};

/* Asynchronous work: products of matrices, copies into shared memory. */
struct product { void (*multiply)(const product &); float *sums[WARPGROUP]; uint64_t a, b; bool keep; };
struct copy { unsigned first_block, mask; uint32_t to, barrier, bytes; const void *from; };
/* Copies of a cell each, which their thread waits for by groups. */
struct cell_copy { uint32_t to; const void *from; };
struct copy_groups { std::vector<cell_copy> open; std::vector<std::vector<cell_copy>> closed; };
struct warpgroup { meeting all; std::vector<product> open; std::vector<std::vector<product>> committed; };
struct block {
    unsigned index, cluster, left; /* left: threads that have not ended */
    std::vector<unsigned char> image;
    meeting barrier[BARRIERS], warp[LANES];
    warpgroup group[8];
    std::vector<copy_groups> copies; /* of every thread */
    int any = 0; /* of __syncthreads_or */
};

static std::vector<fiber> fibers; /* of all resident blocks */
static std::vector<block> blocks;
static std::vector<meeting> clusters;
static std::vector<copy> copies; /* that are not done yet */
static order how;
static unsigned now, threads, cluster_size; /* now: the block that has its turn */
static size_t shared_bytes;
static ucontext_t first_turn; /* where a fiber came from when it started; later turns jump, without system calls */
static jmp_buf scheduler;
static void (*body)(void **);
static void **body_arg;

/* ---- shared memory ---- */
static inline size_t fixed_bytes() { return (size_t)(__stop_block_shared - __start_block_shared); }
static inline uint32_t address(const void *p)
{
    const unsigned char *q = (const unsigned char *)p;
    if (q >= shared && q < shared + shared_bytes) return (uint32_t)(SHARED_FIRST + (q - shared));
    if (q < __start_block_shared || q >= __stop_block_shared) fail("an address outside shared memory");
    return (uint32_t)(SHARED_FIRST + shared_bytes + (size_t)(q - __start_block_shared));
}
/* In block b, which may be another of the cluster. */
static inline unsigned char *pointer(uint32_t at, size_t bytes, unsigned b = now)
{
    size_t i = at - (size_t)SHARED_FIRST;
    if (at < SHARED_FIRST || i + bytes > shared_bytes + fixed_bytes() || (i < shared_bytes && i + bytes > shared_bytes)) fail("address %u is outside shared memory", at);
    if (at % bytes) fail("address %u is no multiple of %zu", at, bytes);
    if (!blocks[b].left) fail("block %u of the cluster has ended", blocks[b].index);
    if (b != now) return blocks[b].image.data() + i;
    return i < shared_bytes ? shared + i : __start_block_shared + (i - shared_bytes);
}
static inline void show(unsigned b) /* the block whose turn it is */
{
    if (b == now) return;
    memcpy(blocks[now].image.data(), shared, shared_bytes);
    memcpy(blocks[now].image.data() + shared_bytes, __start_block_shared, fixed_bytes());
    now = b;
    memcpy(shared, blocks[now].image.data(), shared_bytes);
    memcpy(__start_block_shared, blocks[now].image.data() + shared_bytes, fixed_bytes());
    blockIdx.x = blocks[now].index;
}

/* Barriers in shared memory: eight bytes of them. */
struct phases { uint16_t pending, expected; int32_t bytes : 31; uint32_t phase : 1; };
static_assert(sizeof(phases) == 8, "as large as the device's");
static inline phases *phases_at(uint32_t at, unsigned b = now) { return (phases *)pointer(at, 8, b); }
static inline void settle(phases *p)
{
    if (p->pending || p->bytes) return;
    p->pending = p->expected;
    p->phase ^= 1;
}
static inline void arrive(phases *p)
{
    if (!p->pending) fail("more threads arrive at a barrier than it counts");
    p->pending--;
    settle(p);
}

/* Every block is told how much came. */
static inline void run_copy(const copy &c)
{
    for (unsigned b = 0; c.mask >> b; b++) {
        if (!(c.mask >> b & 1)) continue;
        for (unsigned i = 0; i < c.bytes; i += 16) memcpy(pointer(c.to + i, 16, c.first_block + b), (const char *)c.from + i, 16);
        phases *p = phases_at(c.barrier, c.first_block + b);
        p->bytes -= (int)c.bytes;
        settle(p);
    }
}

/* A thread's own groups of copies: done when the thread waits for them, or at once. */
static inline copy_groups &own_copies() { return blocks[now].copies[threadIdx.x]; }
static inline void run_cell(const cell_copy &c) { memcpy(pointer(c.to, 16), c.from, 16); }
static inline void copy_cell_later(uint32_t to, const void *from)
{
    if (((uintptr_t)from | to) % 16) fail("cp.async of a cell that is not aligned");
    if (how.late) own_copies().open.push_back({ to, from });
    else run_cell({ to, from });
}
static inline void close_copy_group() { own_copies().closed.push_back(std::move(own_copies().open)), own_copies().open.clear(); }
static inline void wait_copy_groups(size_t left)
{
    copy_groups &g = own_copies();
    for (; g.closed.size() > left; g.closed.erase(g.closed.begin()))
        for (const cell_copy &c : g.closed.front()) run_cell(c);
}

/* ---- fibers ---- */
static inline fiber &current() { return fibers[now * threads + threadIdx.x]; }
static inline void enter() /* the only entry of a fiber */
{
    body(body_arg);
    current().now = DONE;
    blocks[now].left--;
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
    fiber &f = current();
    f.now = why;
    if (!_setjmp(f.at)) _longjmp(scheduler, 1);
}
static inline bool may_go(const fiber &f)
{
    if (f.now == AT_MEETING) return f.where->generation != f.seen;
    return f.now == READY || (f.now == AT_PHASE && phases_at(f.barrier)->phase != f.parity);
}
static inline void wait_phase(uint32_t barrier, uint32_t parity)
{
    fiber &f = current();
    if (phases_at(barrier)->phase != parity) return;
    f.barrier = barrier, f.parity = parity;
    stop(AT_PHASE);
}
/* The last of `size` to come does `all`, with what each one brought. */
template <class F> static inline void meet(meeting &m, const char *what, unsigned size, unsigned index, void *arg, F all)
{
    if (!m.arrived) m.what = what, m.size = size, m.arg.assign(size, nullptr);
    if (m.what != what || m.size != size) fail("waits at '%s' of %u while others wait at '%s' of %u", what, size, m.what, m.size);
    if (index < size) m.arg[index] = arg;
    if (++m.arrived == size) {
        all(m.arg);
        m.arrived = 0;
        m.generation++;
        return;
    }
    current().where = &m, current().seen = m.generation;
    stop(AT_MEETING);
}
static inline void meet(meeting &m, const char *what, unsigned size) { meet(m, what, size, size, nullptr, [](std::vector<void *> &) {}); }
template <class F> static inline void meet_warp(const char *what, void *arg, F all) { meet(blocks[now].warp[threadIdx.x / LANES], what, LANES, threadIdx.x % LANES, arg, all); }
static inline warpgroup &own_group() { return blocks[now].group[threadIdx.x / WARPGROUP]; }
template <class F> static inline void meet_group(const char *what, void *arg, F all) { meet(own_group().all, what, WARPGROUP, threadIdx.x % WARPGROUP, arg, all); }

/* ---- launches ---- */
static inline void report_and_abort()
{
    fprintf(stderr, "cluster_shim: threads wait for each other\n");
    for (unsigned b = 0; b < blocks.size(); b++)
        for (unsigned t = 0; t < threads; t++) {
            const fiber &f = fibers[b * threads + t];
            if (t % LANES > 1 || f.now == DONE) continue;
            if (f.now == AT_MEETING) fprintf(stderr, "  block %u thread %u: at '%s', %u of %u there\n", blocks[b].index, t, f.where->what, f.where->arrived, f.where->size);
            if (f.now == AT_PHASE) fprintf(stderr, "  block %u thread %u: for the barrier at %u, parity %u, %u of %u missing\n", blocks[b].index, t, f.barrier, f.parity,
                                           phases_at(f.barrier, b)->pending, phases_at(f.barrier, b)->expected);
        }
    abort();
}

/* All stacks in one piece, given back after the launch: other kernels have their own. */
static char *stacks;
static inline void start_fibers()
{
    fibers.resize(blocks.size() * threads);
    if (!stacks) stacks = (char *)malloc(fibers.size() * STACK);
    if (!stacks) fail("no memory for the stacks of %zu threads", fibers.size());
    for (size_t i = 0; i < fibers.size(); i++) {
        fiber &f = fibers[i];
        getcontext(&f.start);
        f.start.uc_stack.ss_sp = stacks + i * STACK;
        f.start.uc_stack.ss_size = STACK;
        f.start.uc_link = nullptr;
        makecontext(&f.start, enter, 0);
        f.now = READY;
        f.started = false;
    }
}

/* Until nobody of the block can go on. */
static inline bool run_block(unsigned b)
{
    bool moved = false;
    show(b);
    for (bool again = true; again;) {
        again = false;
        for (unsigned k = 0; k < threads; k++) {
            threadIdx.x = how.backwards ? threads - 1 - k : k;
            if (!may_go(current())) continue;
            current().now = READY;
            give_turn(current());
            again = moved = true;
        }
    }
    return moved;
}

static inline void run_resident()
{
    start_fibers();
    for (;;) {
        bool moved = false, left = false;
        for (unsigned k = 0; k < blocks.size(); k++) moved |= run_block(how.backwards ? (unsigned)blocks.size() - 1 - k : k);
        for (const fiber &f : fibers) left |= f.now != DONE;
        if (!left) break;
        if (!moved && copies.empty()) report_and_abort();
        if (!moved) { /* the newest first: nobody promised an order */
            run_copy(copies.back());
            copies.pop_back();
        }
    }
    if (!copies.empty()) fail("copies are under way when all threads are done");
    for (const block &b : blocks)
        for (const copy_groups &g : b.copies) {
            size_t left = g.open.size();
            for (const std::vector<cell_copy> &c : g.closed) left += c.size();
            if (left) fail("%zu copies of cells are under way when a thread is done", left);
        }
    for (const block &b : blocks)
        for (const warpgroup &g : b.group)
            if (!g.open.empty() || !g.committed.empty()) fail("products are under way when all threads are done");
}

static inline void place_blocks(unsigned first_cluster, unsigned n_clusters)
{
    blocks.assign(n_clusters * cluster_size, block());
    clusters.assign(n_clusters, meeting());
    for (unsigned b = 0; b < blocks.size(); b++) {
        blocks[b].index = first_cluster * cluster_size + b, blocks[b].cluster = b / cluster_size, blocks[b].left = threads;
        blocks[b].copies.assign(threads, copy_groups());
        blocks[b].image.assign(shared_bytes + fixed_bytes(), UNWRITTEN);
    }
    now = 0;
    blockIdx.x = blocks[0].index;
    memset(shared, UNWRITTEN, sizeof shared);
    memset(__start_block_shared, UNWRITTEN, fixed_bytes());
}

static inline void run_clusters(unsigned n_blocks)
{
    unsigned all = n_blocks / cluster_size;
    if (shared_bytes + fixed_bytes() > SHARED_LIMIT) fail("%zu bytes of shared memory", shared_bytes + fixed_bytes());
    gridDim.x = n_blocks;
    for (unsigned done = 0, n; done < all; done += n) {
        n = all - done < how.resident ? all - done : how.resident;
        place_blocks(how.backwards ? all - done - n : done, n);
        run_resident();
        for (size_t i = shared_bytes; i < sizeof shared; i++)
            if (shared[i] != UNWRITTEN) fail("byte %zu of %zu of shared memory is written", i, shared_bytes);
    }
    free(stacks);
    stacks = nullptr;
}

template <auto KERNEL> struct entry;
template <class... A, void (*KERNEL)(A...)> struct entry<KERNEL> { /* arguments are pointers */
    template <size_t... I> static void call(void **arg, std::index_sequence<I...>) { KERNEL((A)arg[I]...); }
    static void run(void **arg) { call(arg, std::index_sequence_for<A...>()); }
};
template <auto KERNEL> static void launch(unsigned n_blocks, unsigned cluster, unsigned n_threads, size_t dynamic, order o, void **arg)
{
    body = entry<KERNEL>::run, body_arg = arg;
    threads = n_threads, cluster_size = cluster, shared_bytes = (dynamic + 127) / 128 * 128, how = o;
    run_clusters(n_blocks);
}

}

static inline void __syncthreads() { shim::meet(shim::blocks[shim::now].barrier[0], "bar.sync", shim::threads); }
static inline int __syncthreads_or(int x)
{
    shim::blocks[shim::now].any |= x;
    __syncthreads();
    int any = shim::blocks[shim::now].any;
    __syncthreads();
    shim::blocks[shim::now].any = 0;
    __syncthreads(); /* before the next one begins */
    return any;
}
static inline void __syncwarp() { shim::meet_warp("__syncwarp", nullptr, [](std::vector<void *> &) {}); }
static inline void __threadfence() {}
template <class T> static inline T __shfl_sync(unsigned, T x, int from)
{
    struct lane { T give, got; int from; } mine = { x, x, from };
    shim::meet_warp("shfl", &mine, [](std::vector<void *> &all) {
        for (void *p : all) ((lane *)p)->got = ((lane *)all[(unsigned)((lane *)p)->from % shim::LANES])->give;
    });
    return mine.got;
}
template <class T> static inline T __shfl_xor_sync(unsigned all, T x, int mask) { return __shfl_sync(all, x, (int)(threadIdx.x % shim::LANES) ^ mask); }
static inline unsigned atomicAdd(unsigned *at, unsigned x) { unsigned old = *at; *at += x; return old; }

#endif
