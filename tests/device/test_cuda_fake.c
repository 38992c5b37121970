/* The CUDA device over a driver that is none (fake_cuda.c): memory, captures, shared machine code, and every
   fault a GPU would have to be broken for. SPDX-License-Identifier: BSD-3-Clause */
#include "base/pool.h"
#include "base/status.h"
#include "device/build_list.h"
#include "device/cuda/cuda.h"
#include "fake_cuda.h"
#include "lt_test.h"
#include "trace/clock.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static fake_cuda *fake;

static lt_device *open_fake(void)
{
    lt_device *dev = NULL;
    void *h = dlopen(FAKE_CUDA "/libcuda.so.1", RTLD_NOW);
    if (h) fake = dlsym(h, "fake_state");
    if (!fake) {
        LT_TEST_FAIL("no fake driver: %s", dlerror());
        exit(1);
    }
    *fake = (fake_cuda){ .memory_bytes = (size_t)64 << 20 };
    LT_CHECK_OK(lt_device_open("cuda", &dev));
    if (!dev) exit(1);
    return dev;
}

static const char source[] = "extern \"C\" __global__ void touch(float *x) { x[threadIdx.x] = 1; }";
static const lt_kernel_key touch = { .name = "touch", .source = source, .entry = "touch", .n_args = 1, .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };

/* Compiling is NVRTC's business, which must be here for it. */
#define BUILD_OR_SKIP(dev, key, k)                                                                        \
    do {                                                                                                  \
        const lt_nvrtc *rtc_;                                                                             \
        int major_, minor_;                                                                               \
        if (lt_nvrtc_open(&rtc_, &major_, &minor_)) { lt_device_close(dev); LT_SKIP("%s", lt_error_text()); } \
        LT_CHECK_OK(lt_device_build(dev, key, k));                                                        \
    } while (0)

LT_TEST(memory_and_copies)
{
    lt_device *dev = open_fake();
    lt_stream *st = lt_device_stream(dev);
    lt_device_info info = { .size = sizeof info };
    char in[100] = "hello", out[100] = "";
    void *a = NULL, *b = NULL;
    LT_CHECK_OK(lt_device_describe(dev, &info));
    LT_CHECK(!strcmp(info.name, "fake GPU") && strstr(info.features, "sm_90") && !strcmp(info.driver, "CUDA 13.0"));
    LT_CHECK_OK(lt_device_alloc(dev, st, sizeof in, "test", &a));
    LT_CHECK_OK(lt_device_alloc(dev, st, sizeof in, "test", &b));
    LT_CHECK_OK(lt_stream_copy(st, a, in, sizeof in, LT_TRANSFER_H2D, false));
    LT_CHECK_OK(lt_stream_copy(st, b, a, sizeof in, LT_TRANSFER_D2D, false));
    LT_CHECK_OK(lt_stream_fill(st, a, 0, sizeof in));
    LT_CHECK_OK(lt_stream_copy(st, out, b, sizeof in, LT_TRANSFER_D2H, false));
    LT_CHECK_OK(lt_stream_sync(st));
    LT_CHECK(!memcmp(in, out, sizeof in));
    LT_CHECK_OK(lt_device_free(dev, st, a));
    LT_CHECK_OK(lt_device_free(dev, st, b));
    lt_device_close(dev);
    LT_CHECK_EQ_INT(fake->used_bytes, 0);
}

LT_TEST(a_full_device_names_sizes_and_remedies)
{
    lt_device *dev = open_fake();
    void *p = NULL;
    LT_CHECK_FAILS(lt_device_alloc(dev, NULL, (size_t)128 << 20, "test", &p), LT_ERR_MEMORY, "134217728");
    LT_CHECK_FAILS(dev->backend->alloc(dev, (size_t)128 << 20, &p), LT_ERR_MEMORY, "use smaller batches");
    LT_CHECK_OK(lt_device_alloc(dev, NULL, 1 << 20, "test", &p)); /* and it goes on */
    LT_CHECK_OK(lt_device_free(dev, NULL, p));
    lt_device_close(dev);
}

/* A fault at each of the first calls in turn: a status each time, no crash, nothing lost on the host. */
LT_TEST(a_device_lost_mid_run_says_so_and_stays_lost)
{
    for (int at = 1; at <= 6; at++) {
        lt_device *dev = open_fake();
        lt_stream *st = lt_device_stream(dev);
        float kept[8] = { 1, 2, 3 }, x[8] = { 0 };
        void *p = NULL;
        fake->fail_after = at;
        fake->fail_with = LT_CU_ERROR_ILLEGAL_ADDRESS;
        lt_status s = LT_OK;
        for (int i = 0; i < 10 && !s; i++) {
            s = lt_device_alloc(dev, st, sizeof x, "test", &p);
            if (!s) s = lt_stream_copy(st, p, kept, sizeof kept, LT_TRANSFER_H2D, false);
            if (!s) s = lt_stream_sync(st);
        }
        LT_CHECK_EQ_INT(s, LT_ERR_DEVICE);
        LT_CHECK_FAILS(lt_stream_sync(st), LT_ERR_DEVICE, "lost");
        LT_CHECK_FAILS(lt_stream_copy(st, x, p ? p : kept, sizeof x, LT_TRANSFER_D2H, false), LT_ERR_DEVICE, "files already written stay");
        LT_CHECK_FAILS(lt_device_alloc(dev, st, (size_t)8 << 20, "test", &p), LT_ERR_DEVICE, "start again");
        LT_CHECK(kept[2] == 3 && x[0] == 0);
        fake->sticky = 0;
        lt_device_close(dev);
    }
}

LT_TEST(faults_that_pass_do_not_lose_the_device)
{
    lt_device *dev = open_fake();
    fake->fail_after = 1;
    fake->fail_with = LT_CU_ERROR_INVALID_VALUE;
    LT_CHECK_FAILS(lt_stream_sync(lt_device_stream(dev)), LT_ERR_DEVICE, "FAKE_ERROR_1");
    fake->sticky = 0;
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
    lt_device_close(dev);
}

LT_TEST(what_a_kernel_notes_is_reported_at_the_next_sync)
{
    lt_device *dev = open_fake();
    lt_cuda *c = dev->state;
    c->fault[1] = 9, c->fault[2] = 4, c->fault[0] = LT_CUDA_FAULT_INDEX;
    LT_CHECK_FAILS(lt_stream_sync(lt_device_stream(dev)), LT_ERR_ARGUMENT, "index 9, expected -4 to 3 (the extent is 4)");
    LT_CHECK_OK(lt_stream_sync(lt_device_stream(dev)));
    lt_device_close(dev);
}

static bool is_three(void *ctx) { return *(const double *)ctx == 3; }

/* Looking in host memory asks the driver nothing; what never comes, the driver has to report. */
LT_TEST(waiting_for_a_number_in_host_memory)
{
    lt_device *dev = open_fake();
    lt_stream *st = lt_device_stream(dev);
    lt_cuda *c = dev->state;
    double answer = 3;
    fake->fail_after = 1;
    fake->fail_with = LT_CU_ERROR_INVALID_VALUE;
    LT_CHECK_OK(lt_stream_await(st, is_three, &answer));
    answer = 4;
    LT_CHECK_FAILS(lt_stream_await(st, is_three, &answer), LT_ERR_DEVICE, "FAKE_ERROR_1");
    fake->sticky = 0;
    LT_CHECK_OK(lt_stream_await(st, is_three, &answer)); /* the driver says that all has ended */
    answer = 3;
    c->fault[1] = 9, c->fault[2] = 4, c->fault[0] = LT_CUDA_FAULT_INDEX;
    LT_CHECK_FAILS(lt_stream_await(st, is_three, &answer), LT_ERR_ARGUMENT, "index 9");
    LT_CHECK_FAILS(lt_stream_await(NULL, is_three, &answer), LT_ERR_ARGUMENT, "NULL");
    lt_device_close(dev);
}

LT_TEST(kernels_of_one_text_share_their_machine_code)
{
    lt_device *dev = open_fake();
    lt_kernel *a = NULL, *b = NULL, *other = NULL;
    lt_kernel_key wider = touch;
    wider.options = (const char *const[]){ "-DX=1" };
    wider.n_options = 1;
    BUILD_OR_SKIP(dev, &touch, &a);
    LT_CHECK_OK(lt_device_build(dev, &touch, &b));
    LT_CHECK_EQ_INT(fake->modules, 1);
    LT_CHECK_OK(lt_device_build(dev, &wider, &other));
    LT_CHECK_EQ_INT(fake->modules, 2);
    lt_kernel_destroy(a);
    lt_kernel_destroy(b);
    lt_kernel_destroy(other);
    LT_CHECK_EQ_INT(fake->modules, 2); /* unloading would wait for the device */
    LT_CHECK_OK(lt_device_build(dev, &touch, &a));
    lt_kernel_destroy(a);
    LT_CHECK_EQ_INT(fake->loads, 2);
    lt_device_close(dev);
    LT_CHECK_EQ_INT(fake->modules, 0);
}

LT_TEST(page_locked_memory_is_used_again)
{
    lt_device *dev = open_fake();
    void *a = NULL, *b = NULL, *large = NULL;
    int before = fake->locked; /* the device's own */
    LT_CHECK_OK(dev->backend->host_alloc(dev, 1000000, &a));
    LT_CHECK_OK(dev->backend->host_alloc(dev, 1000000, &b));
    LT_CHECK(a != b && fake->locked == before + 2);
    LT_CHECK_OK(dev->backend->host_release(dev, a));
    void *first = a;
    LT_CHECK_OK(dev->backend->host_alloc(dev, 950000, &a));
    LT_CHECK(a == first && fake->locks == before + 2);
    LT_CHECK_OK(dev->backend->host_release(dev, a));
    LT_CHECK_OK(dev->backend->host_alloc(dev, 1000, &a)); /* not for so little */
    LT_CHECK(a != first && fake->locked == before + 3);
    LT_CHECK_OK(dev->backend->host_alloc(dev, (size_t)600 << 20, &large)); /* more than is kept */
    LT_CHECK_OK(dev->backend->host_release(dev, large));
    LT_CHECK_EQ_INT(fake->locked, before + 3);
    fake->most_locked = before + 3;
    LT_CHECK_OK(dev->backend->host_alloc(dev, 5000000, &large)); /* in place of what is kept */
    LT_CHECK_FAILS(dev->backend->host_alloc(dev, 5000000, &first), LT_ERR_MEMORY, "page-locking");
    LT_CHECK_FAILS(dev->backend->host_release(dev, &before), LT_ERR_ARGUMENT, "no page-locked memory");
    LT_CHECK_OK(dev->backend->host_release(dev, NULL));
    LT_CHECK_OK(dev->backend->host_release(dev, a));
    LT_CHECK_OK(dev->backend->host_release(dev, b));
    LT_CHECK_OK(dev->backend->host_release(dev, large));
    lt_device_close(dev);
    LT_CHECK_EQ_INT(fake->locked, 0);
}

/* Kernels of a few texts, each built by a task. */
typedef struct builds { lt_device *dev; const char *source[3]; lt_kernel *kernel[24]; } builds;
static lt_status build_one(void *ctx, int64_t i, int worker)
{
    builds *b = ctx;
    lt_kernel_key key = touch;
    (void)worker;
    key.source = b->source[i % 3];
    return lt_device_build(b->dev, &key, &b->kernel[i]);
}

LT_TEST(threads_that_want_one_text_compile_it_once)
{
    lt_device *dev = open_fake();
    lt_pool *pool = NULL;
    lt_kernel *first = NULL;
    char text[3][200];
    builds b = { .dev = dev };
    BUILD_OR_SKIP(dev, &touch, &first);
    LT_CHECK_OK(lt_pool_create(4, &pool));
    for (int i = 0; i < 3; i++) {
        snprintf(text[i], sizeof text[i], "/* %d %lld */ %s", i, (long long)lt_clock_ns(), source); /* in no cache */
        b.source[i] = text[i];
    }
    LT_CHECK_OK(lt_pool_run(pool, LT_LEN(b.kernel), build_one, &b));
    LT_CHECK_EQ_INT(fake->loads, 1 + 3);
    for (size_t i = 0; i < LT_LEN(b.kernel); i++) lt_kernel_destroy(b.kernel[i]), b.kernel[i] = NULL;
    /* One that nobody can compile: whoever waited for it learns that, too, and nothing is left. */
    for (int i = 0; i < 3; i++) b.source[i] = "nonsense";
    LT_CHECK_FAILS(lt_pool_run(pool, LT_LEN(b.kernel), build_one, &b), LT_ERR_FORMAT, "nonsense");
    LT_CHECK_EQ_INT(fake->modules, 1 + 3);
    LT_CHECK_OK(lt_device_build(dev, &touch, &b.kernel[0]));
    lt_kernel_destroy(b.kernel[0]);
    lt_kernel_destroy(first);
    lt_pool_destroy(pool);
    lt_device_close(dev);
}

LT_TEST(texts_are_compiled_without_loading_them)
{
    lt_device *dev = open_fake();
    lt_build_list *l = NULL;
    lt_kernel *k = NULL;
    lt_kernel_key key = touch;
    char text[3][200];
    int64_t missing = 0;
    BUILD_OR_SKIP(dev, &touch, &k); /* known, and loaded */
    lt_kernel_destroy(k);
    LT_CHECK_OK(lt_build_list_create(dev, &l));
    for (int i = 0; i < 3; i++) {
        snprintf(text[i], sizeof text[i], "/* %d %lld */ %s", i, (long long)lt_clock_ns(), i < 2 ? source : "nonsense");
        key.source = text[i];
        LT_CHECK_OK(lt_device_build(lt_build_list_device(l), i < 2 ? &key : &touch, &k));
        lt_kernel_destroy(k);
    }
    LT_CHECK_OK(lt_build_list_find(l, lt_device_pool(dev), &missing));
    LT_CHECK(missing == 2 && fake->loads == 1);
    int64_t before = lt_device_build_counts(dev).compiled;
    LT_CHECK_OK(lt_build_list_compile(l, lt_device_pool(dev), NULL, NULL));
    LT_CHECK(lt_device_build_counts(dev).compiled == before + 2 && fake->loads == 1);
    LT_CHECK_OK(lt_build_list_find(l, lt_device_pool(dev), &missing));
    LT_CHECK_EQ_INT(missing, 0);
    key.source = text[0];
    LT_CHECK_OK(lt_device_build(dev, &key, &k)); /* loaded when it is wanted */
    LT_CHECK(lt_device_build_counts(dev).compiled == before + 2 && fake->loads == 2);
    lt_kernel_destroy(k);
    LT_CHECK_OK(lt_build_list_run(l, lt_device_pool(dev), NULL, NULL));
    LT_CHECK_EQ_INT(fake->loads, 3);
    key.source = text[2]; /* does not compile, every time it is tried, and waits nowhere */
    LT_CHECK_OK(lt_device_build(lt_build_list_device(l), &key, &k));
    lt_kernel_destroy(k);
    for (int i = 0; i < 2; i++) LT_CHECK_FAILS(lt_build_list_compile(l, lt_device_pool(dev), NULL, NULL), LT_ERR_FORMAT, "does not compile");
    lt_build_list_destroy(l);
    lt_device_close(dev);
    LT_CHECK_EQ_INT(fake->modules, 0);
}

static lt_kernel *part;
static lt_status enqueue_part(const lt_kernel *k, lt_stream *st, void *const *arg)
{
    (void)k;
    return lt_stream_launch(st, &(lt_launch){ part, (void *[]){ arg[0] } });
}
static void keep(lt_kernel *k) { (void)k; }

/* New arguments: in place, in place refused, and for a kernel of several parts. */
LT_TEST(captures_take_new_arguments)
{
    for (int refuse = 0; refuse < 2; refuse++) {
        lt_device *dev = open_fake();
        lt_stream *st;
        lt_capture *c = NULL;
        float x[2];
        void *p = &x[0], *q = &x[1];
        BUILD_OR_SKIP(dev, &touch, &part);
        lt_kernel parts = { .name = "parts", .enqueue = enqueue_part, .destroy = keep, .n_args = 1, .module = dev->state };
        fake->refuse_updates = refuse;
        LT_CHECK_OK(lt_stream_create(dev, &st));
        LT_CHECK_OK(lt_capture_begin(st));
        LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ &parts, &p }));
        LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ part, &p }));
        LT_CHECK_OK(lt_capture_end(st, &c));
        LT_CHECK(c && c->n_launches == 2 && fake->launches == 0);
        LT_CHECK_OK(lt_capture_replay(st, c));
        LT_CHECK(fake->launches == 2 && fake->last_arg == p);
        LT_CHECK_OK(lt_capture_rebind(c, 1, &q));
        LT_CHECK_OK(lt_capture_replay(st, c));
        LT_CHECK(fake->last_arg == q);
        LT_CHECK_EQ_INT(fake->instantiated, 1 + refuse);
        LT_CHECK_OK(lt_capture_rebind(c, 0, &q)); /* several parts: recorded again */
        LT_CHECK_OK(lt_capture_replay(st, c));
        LT_CHECK_EQ_INT(fake->instantiated, 2 + refuse);
        LT_CHECK_EQ_INT(fake->launches, 6);
        lt_capture_destroy(c);
        lt_stream_destroy(st);
        lt_kernel_destroy(part);
        lt_device_close(dev);
    }
}

LT_TEST(kernels_that_wait_start_early_unless_asked_otherwise)
{
    static const char *const value[] = { "0", "1", "" };
    for (int i = 0; i < 3; i++) {
        setenv("LATHE_CUDA_EARLY", value[i], 1);
        lt_device *dev = open_fake();
        lt_kernel *k = NULL, *plain = NULL;
        lt_kernel_key key = touch;
        float x = 0;
        void *p = &x;
        key.waits = true;
        BUILD_OR_SKIP(dev, &key, &k);
        LT_CHECK_OK(lt_device_build(dev, &touch, &plain));
        LT_CHECK_OK(lt_stream_launch(lt_device_stream(dev), &(lt_launch){ k, &p }));
        LT_CHECK_OK(lt_stream_launch(lt_device_stream(dev), &(lt_launch){ plain, &p }));
        LT_CHECK(fake->launches == 2 && fake->early == (i > 0));
        lt_kernel_destroy(k);
        lt_kernel_destroy(plain);
        lt_device_close(dev);
    }
    setenv("LATHE_CUDA_EARLY", "2", 1);
    LT_CHECK_FAILS(lt_device_open("cuda", &(lt_device *){ NULL }), LT_ERR_ARGUMENT, "LATHE_CUDA_EARLY");
    unsetenv("LATHE_CUDA_EARLY");
}

/* Beside each other as well: what follows an event waits for more than the kernel before it. */
LT_TEST(branches_are_captured_and_do_not_start_early)
{
    lt_device *dev = open_fake();
    lt_stream *st, *branch;
    lt_kernel *k = NULL;
    lt_capture *c = NULL;
    lt_kernel_key key = touch;
    float x = 0;
    void *p = &x;
    key.waits = true;
    BUILD_OR_SKIP(dev, &key, &k);
    LT_CHECK_OK(lt_stream_create(dev, &st));
    LT_CHECK_OK(lt_stream_create(dev, &branch));
    LT_CHECK_OK(lt_capture_begin(st));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, &p }));   /* early */
    LT_CHECK_OK(lt_stream_branch(st, branch));
    LT_CHECK_OK(lt_stream_launch(branch, &(lt_launch){ k, &p })); /* after an event */
    LT_CHECK_OK(lt_stream_launch(branch, &(lt_launch){ k, &p })); /* early */
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, &p }));   /* early */
    LT_CHECK_OK(lt_stream_join(st, branch));
    LT_CHECK_OK(lt_stream_launch(st, &(lt_launch){ k, &p }));   /* after an event */
    LT_CHECK_OK(lt_capture_end(st, &c));
    LT_CHECK(c && fake->launches == 0 && fake->early == 3);
    LT_CHECK_OK(lt_capture_replay(st, c));
    LT_CHECK_EQ_INT(fake->launches, 5);
    LT_CHECK_OK(lt_stream_launch(branch, &(lt_launch){ k, &p })); /* no longer recorded */
    LT_CHECK(fake->launches == 6 && fake->early == 4);
    LT_CHECK_FAILS(lt_capture_rebind(c, 0, &p), LT_ERR_UNSUPPORTED, "several streams");
    lt_capture_destroy(c);
    lt_stream_destroy(branch);
    lt_stream_destroy(st);
    lt_kernel_destroy(k);
    lt_device_close(dev);
}

/* ---- what the made-up driver does not take ---- */
typedef struct offence { lt_device *dev; lt_stream *st; lt_kernel *k; lt_kernel_key key; } offence;
static void launch(offence *o)
{
    float x = 0;
    void *p = &x;
    lt_device_build(o->dev, &o->key, &o->k);
    lt_stream_launch(o->st, &(lt_launch){ o->k, &p });
}
static void too_many_threads(offence *o) { o->key.block[0] = 64, launch(o); }
static void too_much_shared(offence *o) { o->key.shared_bytes = 230000, launch(o); }
static void less_shared_than_before(offence *o)
{
    lt_kernel *other;
    float x = 0;
    void *p = &x;
    o->key.shared_bytes = 100000;
    lt_device_build(o->dev, &o->key, &o->k);
    o->key.shared_bytes = 60000;
    lt_device_build(o->dev, &o->key, &other);
    lt_stream_launch(o->st, &(lt_launch){ o->k, &p });
}
static void past_the_end(offence *o)
{
    void *p;
    char from[4000] = "";
    o->dev->backend->alloc(o->dev, 3000, &p);
    lt_stream_copy(o->st, p, from, sizeof from, LT_TRANSFER_H2D, false);
}
static void waiting_while_recording(offence *o)
{
    lt_capture_begin(o->st);
    lt_cuda_sync(o->st);
}
static void a_thread_without_context(offence *o)
{
    lt_cuda *c = o->dev->state;
    c->cu->cuDevicePrimaryCtxRelease_v2(0);
    c->cu->cuStreamSynchronize(((lt_cuda_stream *)o->st)->handle);
}

/* In a process of its own: it ends with the rule. */
static void check_refused(void (*offend)(offence *), const char *rule)
{
    int pipe_of[2], status;
    char said[400] = "";
    if (pipe(pipe_of)) LT_TEST_FAIL("no pipe");
    pid_t child = fork();
    if (child == 0) {
        static const char bounded[] = "extern \"C\" __global__ void __launch_bounds__(32) touch(float *x) { __shared__ float s[1024]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[threadIdx.x ^ 1]; }";
        dup2(pipe_of[1], STDERR_FILENO);
        lt_device *dev = open_fake();
        offence o = { .dev = dev, .st = lt_device_stream(dev), .key = touch };
        o.key.source = bounded;
        offend(&o);
        _exit(0);
    }
    close(pipe_of[1]);
    for (size_t n = 0, got; n + 1 < sizeof said && (got = (size_t)LT_MAX(read(pipe_of[0], said + n, sizeof said - 1 - n), 0)) > 0;) n += got;
    close(pipe_of[0]);
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || !strstr(said, rule)) LT_TEST_FAIL("expected '%s', the driver said '%s'", rule, said);
}

LT_TEST(the_made_up_driver_keeps_rules)
{
    lt_device *dev = open_fake();
    lt_kernel *k = NULL;
    BUILD_OR_SKIP(dev, &touch, &k);
    lt_kernel_destroy(k);
    lt_device_close(dev);
    check_refused(too_many_threads, "more threads than its launch bounds");
    check_refused(too_much_shared, "230000 bytes of shared memory beside 4096");
    check_refused(less_shared_than_before, "60000 are allowed so far");
    check_refused(past_the_end, "pass the end of its memory");
    check_refused(waiting_while_recording, "is being recorded");
    check_refused(a_thread_without_context, "no context is current");
}

LT_TEST_MAIN()
