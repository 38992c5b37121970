/* The CUDA device: memory, streams, kernels from text, the cache of machine code, events, capture,
   replay and new arguments. Skips, with the reason, where there is no GPU.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "device/cuda/libraries.h"
#include "lt_test.h"

#include <dirent.h>
#include <unistd.h>

enum { N = 1000 };

/* y[i] = y[i] + x[i] */
static const char source[] = "extern \"C\" __global__ void add(const long long *x, long long *y)\n"
                             "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < COUNT) y[i] += x[i]; }\n";
static const char *const options[] = { "-DCOUNT=1000" };
static const lt_kernel_key add_key = { .name = "add_i64", .source = source, .entry = "add", .options = options, .n_options = 1,
                                       .n_args = 2, .grid = { 4, 1, 1 }, .block = { 256, 1, 1 }, .bytes = 24.0 * N };

static lt_device *dev;
#define OPEN_OR_SKIP() do { if (!dev && lt_device_open("cuda", &dev)) { dev = NULL; LT_SKIP("%s", lt_error_text()); } } while (0)

/* A device array holding first, first + step, … */
static int64_t *make(int64_t first, int64_t step)
{
    int64_t host[N];
    void *p = NULL;
    for (int i = 0; i < N; i++) host[i] = first + i * step;
    LT_CHECK_OK(lt_device_alloc(dev, NULL, sizeof host, "test", &p));
    LT_CHECK_OK(lt_stream_copy(lt_device_stream(dev), p, host, sizeof host, LT_TRANSFER_H2D, false));
    return p;
}

static void check_array(lt_stream *st, const int64_t *x, int64_t first, int64_t step)
{
    int64_t host[N] = { 0 };
    LT_CHECK_OK(lt_stream_copy(st, host, x, sizeof host, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(st));
    for (int i = 0; i < N; i++)
        if (host[i] != first + i * step) {
            LT_TEST_FAIL("element %d is %lld, expected %lld", i, (long long)host[i], (long long)(first + i * step));
            return;
        }
}

static void drop(void *p) { LT_CHECK_OK(lt_device_free(dev, NULL, p)); }

LT_TEST(describes_itself)
{
    OPEN_OR_SKIP();
    lt_device_info d = { .size = sizeof d };
    LT_CHECK_OK(lt_device_describe(dev, &d));
    LT_CHECK(d.computes && d.name[0] && strstr(d.features, "sm_") && strstr(d.driver, "CUDA "));
    LT_CHECK(d.cores > 0 && d.memory_total_bytes >= d.memory_free_bytes && d.memory_free_bytes > 0 && d.cache_bytes[1] > 0);
    LT_CHECK_FAILS(lt_device_open("cuda:999", &(lt_device *){ NULL }), LT_ERR_ARGUMENT, "out of range");
}

LT_TEST(copies_fills_and_runs_in_order)
{
    OPEN_OR_SKIP();
    lt_stream *own, *stream[2] = { lt_device_stream(dev) };
    lt_kernel *k = NULL;
    LT_CHECK_OK(lt_device_build(dev, &add_key, &k));
    LT_CHECK_OK(lt_stream_create(dev, &own));
    stream[1] = own;
    for (int i = 0; i < 2 && k; i++) {
        int64_t *x = make(1, 2), *y = make(0, 0);
        LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
        LT_CHECK_OK(lt_stream_fill(stream[i], y, 0xff, N * sizeof *y)); /* all -1 */
        void *arg[] = { x, y };
        for (int r = 0; r < 100; r++) LT_CHECK_OK(lt_stream_launch(stream[i], &(lt_launch){ k, arg }));
        check_array(stream[i], y, 99, 200);
        LT_CHECK_OK(lt_stream_copy(stream[i], x, y, N * sizeof *y, LT_TRANSFER_D2D, false));
        check_array(stream[i], x, 99, 200);
        drop(x), drop(y);
    }
    lt_stream_destroy(own);
    lt_kernel_destroy(k);
}

LT_TEST(events_order_and_time_streams)
{
    OPEN_OR_SKIP();
    lt_stream *a = lt_device_stream(dev), *b;
    lt_event *from, *to, *never;
    lt_kernel *k = NULL;
    double ns = -1;
    bool done = false;
    LT_CHECK_OK(lt_device_build(dev, &add_key, &k));
    LT_CHECK_OK(lt_stream_create(dev, &b));
    LT_CHECK_OK(lt_event_create(dev, &from));
    LT_CHECK_OK(lt_event_create(dev, &to));
    LT_CHECK_OK(lt_event_create(dev, &never));
    int64_t *x = make(1, 0), *y = make(0, 0);
    LT_CHECK_OK(lt_event_record(from, a));
    for (int r = 0; r < 1000; r++) LT_CHECK_OK(lt_stream_launch(a, &(lt_launch){ k, (void *[]){ x, y } }));
    LT_CHECK_OK(lt_event_record(to, a));
    LT_CHECK_OK(lt_event_wait(b, to));
    LT_CHECK_OK(lt_stream_launch(b, &(lt_launch){ k, (void *[]){ y, x } }));
    check_array(b, x, 1001, 0);
    LT_CHECK_OK(lt_event_sync(to));
    LT_CHECK_OK(lt_event_query(to, &done));
    LT_CHECK_OK(lt_event_elapsed(from, to, &ns));
    LT_CHECK(done && ns > 0 && ns < 10e9);
    LT_CHECK_FAILS(lt_event_wait(a, never), LT_ERR_ARGUMENT, "never recorded");
    lt_event_destroy(from), lt_event_destroy(to), lt_event_destroy(never);
    drop(x), drop(y);
    lt_stream_destroy(b);
    lt_kernel_destroy(k);
}

/* A kernel of two launches, as one that calls a library would be. */
static lt_kernel *part;
static lt_status enqueue_twice(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    (void)k;
    void *again[] = { arg[0], arg[1] };
    LT_TRY(lt_stream_launch(st, &(lt_launch){ part, again }));
    return lt_stream_launch(st, &(lt_launch){ part, again });
}
static void keep(lt_kernel *k) { (void)k; }

LT_TEST(a_capture_replays_and_takes_new_arguments)
{
    OPEN_OR_SKIP();
    lt_stream *st;
    lt_kernel *k = NULL;
    lt_capture *c = NULL;
    LT_CHECK_OK(lt_device_build(dev, &add_key, &k));
    LT_CHECK_OK(lt_stream_create(dev, &st));
    part = k;
    lt_kernel twice = { .name = "twice", .enqueue = enqueue_twice, .destroy = keep, .n_args = 2, .module = dev->state };
    int64_t *x = make(1, 1), *y = make(0, 0), *z = make(0, 0);
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
    LT_CHECK_OK(lt_capture_begin(st));
    LT_CHECK_OK(lt_stream_fill(st, y, 0, N * sizeof *y));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, (void *[]){ x, y } }));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &twice, (void *[]){ x, y } }));
    LT_CHECK_OK(lt_stream_copy(st, z, y, N * sizeof *y, LT_TRANSFER_D2D, false));
    LT_CHECK_OK(lt_capture_end(st, &c));
    if (!c) return;
    LT_CHECK_EQ_INT(c->n_launches, 2);
    check_array(st, z, 0, 0); /* nothing ran yet */
    for (int r = 0; r < 3; r++) LT_CHECK_OK(lt_capture_replay(st, c));
    check_array(st, z, 3, 3);
    int64_t *w = make(10, 0);
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
    LT_CHECK_OK(lt_capture_rebind(c, 0, (void *[]){ w, y })); /* a plain kernel: in place */
    LT_CHECK_OK(lt_capture_replay(st, c));
    check_array(st, z, 12, 2);
    LT_CHECK_OK(lt_capture_rebind(c, 1, (void *[]){ w, y })); /* two launches: recorded again */
    LT_CHECK_OK(lt_capture_replay(st, c));
    check_array(st, z, 30, 0);
    LT_CHECK_OK(lt_capture_rebind(c, 0, (void *[]){ x, y }));
    LT_CHECK_OK(lt_capture_replay(st, c));
    check_array(st, z, 21, 1);
    LT_CHECK_FAILS(lt_capture_rebind(c, 2, (void *[]){ x, y }), LT_ERR_ARGUMENT, "2 were captured");
    lt_capture_destroy(c);
    drop(x), drop(y), drop(z), drop(w);
    lt_stream_destroy(st);
    lt_kernel_destroy(k);
}

LT_TEST(lanes_of_a_capture_run_side_by_side)
{
    OPEN_OR_SKIP();
    enum { LANES = 3, STEPS = 200 };
    lt_stream *st, *branch[LANES];
    lt_kernel *k = NULL;
    lt_capture *c = NULL;
    int64_t *x = make(1, 1), *sum = make(0, 0), *part_of[LANES];
    LT_CHECK_OK(lt_device_build(dev, &add_key, &k));
    LT_CHECK_OK(lt_stream_create(dev, &st));
    for (int i = 0; i < LANES; i++) {
        part_of[i] = make(0, 0);
        LT_CHECK_OK(lt_stream_create(dev, &branch[i]));
    }
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
    LT_CHECK_OK(lt_capture_begin(st));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, (void *[]){ x, x } }));
    for (int i = 0; i < LANES; i++) {
        LT_CHECK_OK(lt_stream_branch(st, branch[i]));
        for (int r = 0; r <= STEPS * i; r++) LT_CHECK_OK(lt_stream_launch(branch[i], &(lt_launch){ k, (void *[]){ x, part_of[i] } }));
    }
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, (void *[]){ x, sum } }));
    for (int i = 0; i < LANES; i++) LT_CHECK_OK(lt_stream_join(st, branch[i]));
    for (int i = 0; i < LANES; i++) LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, (void *[]){ part_of[i], sum } }));
    LT_CHECK_OK(lt_capture_end(st, &c));
    int64_t unit = 0, total = 0, part_total = 0; /* x doubles with each replay; parts and sum grow by what they were given */
    for (int r = 0; c && r < 3; r++) {
        LT_CHECK_OK(lt_capture_replay(st, c));
        unit = (int64_t)2 << r;
        part_total += unit * (1 + (1 + STEPS) + (1 + 2 * STEPS));
        total += unit + part_total;
    }
    check_array(st, sum, total, total);
    lt_capture_destroy(c);
    for (int i = 0; i < LANES; i++) {
        drop(part_of[i]);
        lt_stream_destroy(branch[i]);
    }
    drop(x), drop(sum);
    lt_stream_destroy(st);
    lt_kernel_destroy(k);
}

LT_TEST(bad_text_and_bad_keys_are_refused)
{
    OPEN_OR_SKIP();
    lt_kernel *k = NULL;
    lt_kernel_key key = add_key;
    key.source = "extern \"C\" __global__ void add(float *x) { x[0] = nonsense; }";
    LT_CHECK_FAILS(lt_device_build(dev, &key, &k), LT_ERR_FORMAT, "nonsense");
    key = add_key;
    key.entry = "missing";
    LT_CHECK_FAILS(lt_device_build(dev, &key, &k), LT_ERR_DEVICE, "missing");
    key = add_key;
    key.block[1] = 0;
    LT_CHECK_FAILS(lt_device_build(dev, &key, &k), LT_ERR_ARGUMENT, "at least 1");
    key = add_key;
    key.shared_bytes = (size_t)1 << 30;
    LT_CHECK_FAILS(lt_device_build(dev, &key, &k), LT_ERR_UNSUPPORTED, "shared memory");
    lt_kernel host = { .name = "of_the_cpu", .n_args = 1 };
    LT_CHECK_FAILS(lt_device_build(dev, &(lt_kernel_key){ .name = "of_the_cpu", .host = &host }, &k), LT_ERR_UNSUPPORTED, "kernel of the CPU");
    LT_CHECK_FAILS(lt_stream_launch(lt_device_stream(dev), &(lt_launch){ &host, (void *[]){ NULL } }), LT_ERR_ARGUMENT, "not built for this device");
}

LT_TEST(too_much_memory_is_an_error_with_numbers)
{
    OPEN_OR_SKIP();
    void *p = NULL;
    LT_CHECK_FAILS(lt_device_alloc(dev, NULL, (size_t)1 << 45, "test", &p), LT_ERR_MEMORY, "bytes");
    LT_CHECK(p == NULL);
    int64_t *x = make(5, 1); /* and the device goes on */
    check_array(lt_device_stream(dev), x, 5, 1);
    drop(x);
}

/* Changes the last byte of every entry of the cache folder; how many there are. */
static int tamper(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[600];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *f = fopen(path, "r+b");
        if (!f) continue;
        n++;
        fseek(f, -1, SEEK_END);
        int c = fgetc(f);
        fseek(f, -1, SEEK_END);
        fputc(c ^ 0x55, f);
        fclose(f);
    }
    if (d) closedir(d);
    return n;
}

LT_TEST(a_cache_entry_that_was_changed_is_built_again)
{
    OPEN_OR_SKIP();
    char folder[] = "/tmp/lathe-cuda-XXXXXX", text[700];
    if (!mkdtemp(folder)) LT_SKIP("no temporary folder");
    setenv("LATHE_CACHE", folder, 1);
    for (int round = 0; round < 3; round++) { /* built, taken from the cache, tampered with */
        lt_kernel *k = NULL;
        lt_device_close(dev); /* what an open device has loaded it does not look for */
        dev = NULL;
        OPEN_OR_SKIP();
        if (round == 2) LT_CHECK_EQ_INT(tamper(folder), 1);
        LT_CHECK_OK(lt_device_build(dev, &add_key, &k));
        int64_t *x = make(1, 1), *y = make(1, 0);
        if (k) LT_CHECK_OK(lt_stream_launch(lt_device_stream(dev), &(lt_launch){ k, (void *[]){ x, y } }));
        check_array(lt_device_stream(dev), y, 2, 1);
        drop(x), drop(y);
        lt_kernel_destroy(k);
    }
    unsetenv("LATHE_CACHE");
    snprintf(text, sizeof text, "rm -rf '%s'", folder);
    LT_CHECK_EQ_INT(system(text), 0);
}

LT_TEST(libraries_start)
{
    OPEN_OR_SKIP();
    const lt_cublaslt *blas;
    const lt_cudnn *dnn;
    const lt_cufft *fft;
    const lt_cusolver *solver;
    cublasLtHandle_t blas_handle;
    const lt_library_handle *dnn_handle, *solver_handle;
    LT_CHECK_OK(lt_cuda_blaslt(dev, &blas, &blas_handle));
    LT_CHECK_OK(lt_cuda_dnn_api(&dnn));
    LT_CHECK_OK(lt_cuda_fft(&fft));
    LT_CHECK_OK(lt_cuda_solver_api(&solver));
    lt_stream *st = lt_device_stream(dev);
    LT_CHECK_OK(lt_cuda_stream_lock(st, LT_LIBRARY_DNN, &dnn_handle));
    lt_cuda_stream_unlock(st);
    LT_CHECK_OK(lt_cuda_stream_lock(st, LT_LIBRARY_SOLVER, &solver_handle));
    lt_cuda_stream_unlock(st);
    LT_CHECK(dnn_handle->dnn && solver_handle->solver && solver_handle->params);
}

LT_TEST(libraries_are_listed_with_version_or_reason)
{
    lt_device_library_info l = { .size = sizeof l };
    int n = 0;
    while (lt_device_library(n, &l)) {
        LT_CHECK(l.name[0] && l.purpose[0] && (l.usable ? l.version[0] : l.reason[0]));
        n++;
    }
    LT_CHECK_EQ_INT(n, 5);
    LT_CHECK(!lt_device_library(-1, &l));
}

LT_TEST(everything_was_given_back)
{
    OPEN_OR_SKIP();
    lt_memory_stats m = { .size = sizeof m };
    LT_CHECK_OK(lt_device_memory(dev, &m));
    LT_CHECK_EQ_INT(m.in_use_bytes, 0);
    lt_device_close(dev);
    dev = NULL;
}

LT_TEST_MAIN()
