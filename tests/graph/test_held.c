/* Held inputs: what follows from them alone is computed once, with the same bits as every time.
   SPDX-License-Identifier: BSD-3-Clause */
#include "graph/program/program.h"
#include "lathe/rng.h"
#include "lt_test.h"

enum { SIDE = 13, IN = 17, OUT = 20, X = SIDE * SIDE * IN, WEIGHTS = OUT * IN * 9, Y = SIDE * SIDE * OUT };

/* y = conv(x, 2 w) with channels last: the doubling follows from w alone. */
static lt_status make_with(const lt_compile_options *opt, lt_program **out)
{
    lt_graph *g;
    lt_conv_options conv = lt_conv_defaults();
    conv.channels_last = true;
    conv.padding[0] = conv.padding[1] = 1;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node x = lt_input(g, "x", LT_F32, lt_shape4(1, SIDE, SIDE, IN)), w = lt_input(g, "w", LT_F32, lt_shape4(OUT, IN, 3, 3));
    lt_node y = lt_conv2d(g, x, lt_scale(g, w, 2), LT_NONE, &conv);
    lt_status s = lt_program_create(g, &y, 1, opt, out);
    lt_graph_destroy(g);
    return s;
}

static lt_program *make(int held_from, bool low_precision, lt_mode mode)
{
    lt_program *p = NULL;
    LT_CHECK_OK(make_with(&(lt_compile_options){ .size = sizeof(lt_compile_options), .mode = mode, .held_from = held_from, .low_precision = low_precision, .storage_type = LT_BF16 }, &p));
    return p;
}

static float x[X], w[WEIGHTS], other[WEIGHTS], first[Y], got[Y], want[Y];

static void fill(float *to, int64_t n, uint32_t stream)
{
    lt_draws d = lt_draws_make(1, "test", stream, 0, 0);
    LT_CHECK_OK(lt_draws_normal_f32(&d, 0, n, to));
}

static void run(lt_program *p, const float *weights, float *to)
{
    LT_CHECK_OK(lt_program_run(p, (const void *[]){ x, weights }, (void *[]){ to }));
}

static int count_held(const lt_program *p, bool packs)
{
    int n = 0;
    for (int i = 0; i < p->n_steps; i++) n += packs ? p->step[i].packs : p->step[i].held;
    return n;
}

LT_TEST(held_results_have_the_same_bits)
{
    for (int low = 0; low < 2; low++) {
        lt_program *held = make(1, low, LT_MODE_DEFAULT), *plain = make(0, low, LT_MODE_DEFAULT);
        fill(x, X, 0);
        fill(w, WEIGHTS, 1);
        run(held, w, first);
        run(plain, w, want);
        LT_CHECK(memcmp(first, want, sizeof want) == 0);
        fill(x, X, 2); /* the other inputs still count */
        run(held, w, got);
        run(plain, w, want);
        LT_CHECK(memcmp(got, want, sizeof want) == 0 && memcmp(got, first, sizeof want) != 0);
        LT_CHECK(count_held(held, false) >= 1 && count_held(plain, false) == 0 && count_held(plain, true) == 0);
        LT_CHECK_EQ_INT(held->n_live, held->n_steps - count_held(held, false));
        lt_program_destroy(held);
        lt_program_destroy(plain);
    }
}

LT_TEST(new_contents_count_after_renewal_and_new_pointers_at_once)
{
    lt_program *held = make(1, false, LT_MODE_DEFAULT);
    fill(x, X, 0);
    fill(w, WEIGHTS, 1);
    run(held, w, first);
    fill(w, WEIGHTS, 3);
    run(held, w, got);
    LT_CHECK(memcmp(got, first, sizeof got) == 0);
    lt_program_renew(held);
    run(held, w, want);
    LT_CHECK(memcmp(want, first, sizeof want) != 0);
    memcpy(other, w, sizeof w);
    fill(w, WEIGHTS, 4);
    run(held, other, got);
    LT_CHECK(memcmp(got, want, sizeof got) == 0);
    lt_program_destroy(held);
    lt_program_renew(NULL);
}

/* A second program reads what the first computed of held inputs, and has no memory for it. */
LT_TEST(one_program_holds_for_another)
{
    for (int low = 0; low < 2; low++) {
        lt_program *owner = make(1, low, LT_MODE_DEFAULT), *guest = NULL;
        lt_compile_options opt = { .size = sizeof opt, .held_from = 1, .low_precision = low, .storage_type = LT_BF16, .held_by = owner };
        LT_CHECK_OK(make_with(&opt, &guest));
        lt_program_info o = lt_program_get_info(owner), g = lt_program_get_info(guest);
        LT_CHECK(o.held_bytes > 0 && g.arena_bytes + o.held_bytes <= o.arena_bytes + 64 * (size_t)owner->n_held);
        fill(x, X, 0);
        for (uint32_t stream = 1; stream < 3; stream++) { /* new contents are the owner's business, too */
            fill(w, WEIGHTS, stream);
            lt_program_renew(owner);
            lt_program_renew(guest);
            LT_CHECK_OK(lt_program_hold(owner, (const void *[]){ x, w }, (void *[]){ want }));
            run(guest, w, got);
            run(owner, w, want);
            LT_CHECK(memcmp(got, want, sizeof want) == 0);
        }
        lt_program_destroy(guest);
        opt.low_precision = !low; /* other options: other values are held */
        LT_CHECK_FAILS(make_with(&opt, &guest), LT_ERR_ARGUMENT, "held_by");
        lt_program_destroy(owner);
    }
    LT_CHECK_FAILS(lt_program_hold(NULL, NULL, NULL), LT_ERR_ARGUMENT, "hold");
}

/* gelu(conv(tanh(x), w)) of three fields at once; filters of so many channels are worth reading once for all. */
LT_TEST(programs_abreast_have_the_same_bits)
{
    enum { GRID = 64, CHANNELS = 96, MAP = GRID * GRID * CHANNELS, TAPS = CHANNELS * CHANNELS * 25, RUNS = 3 };
    lt_graph *g;
    lt_conv_options conv = lt_conv_defaults();
    conv.channels_last = true;
    conv.padding[0] = conv.padding[1] = 2;
    LT_CHECK_OK(lt_graph_create(&g));
    lt_node in = lt_input(g, "x", LT_F32, lt_shape4(1, GRID, GRID, CHANNELS)), taps = lt_input(g, "w", LT_F32, lt_shape4(CHANNELS, CHANNELS, 5, 5));
    lt_node y = lt_gelu(g, lt_conv2d(g, lt_tanh(g, in), taps, LT_NONE, &conv));
    lt_program *p[RUNS] = { NULL };
    for (int i = 0; i < RUNS; i++) LT_CHECK_OK(lt_program_create(g, &y, 1, &(lt_compile_options){ .size = sizeof(lt_compile_options), .held_from = 1, .held_by = i ? p[0] : NULL }, &p[i]));
    lt_graph_destroy(g);
    if (lt_isa_best() < LT_ISA_AVX2) LT_CHECK(!lt_program_gains_abreast(p[0]));
    else LT_CHECK(lt_program_gains_abreast(p[0]));
    float *weights = malloc(TAPS * sizeof *weights), *maps = malloc((2 * RUNS + 1) * MAP * sizeof *maps), *alone = maps + 2 * RUNS * MAP;
    fill(weights, TAPS, 1);
    fill(maps, RUNS * MAP, 2);
    const void *input[RUNS][2], *const *inputs[RUNS];
    void *output[RUNS], *const *outputs[RUNS];
    for (int i = 0; i < RUNS; i++) {
        input[i][0] = maps + i * MAP, input[i][1] = weights, inputs[i] = input[i];
        output[i] = maps + (RUNS + i) * MAP, outputs[i] = &output[i];
    }
    LT_CHECK_OK(lt_program_run_abreast(p, RUNS, inputs, outputs));
    for (int i = 0; i < RUNS; i++) {
        LT_CHECK_OK(lt_program_run(p[0], input[i], (void *[]){ alone }));
        LT_CHECK(memcmp(alone, output[i], MAP * sizeof *alone) == 0);
    }
    for (int i = RUNS - 1; i >= 0; i--) lt_program_destroy(p[i]);
    free(weights), free(maps);
}

LT_TEST(captured_programs_hold_nothing)
{
    lt_program *p = make(1, false, LT_MODE_REDUCE_OVERHEAD);
    fill(x, X, 0);
    fill(w, WEIGHTS, 1);
    run(p, w, first);
    fill(w, WEIGHTS, 3);
    run(p, w, got);
    LT_CHECK(memcmp(got, first, sizeof got) != 0);
    LT_CHECK_EQ_INT(count_held(p, false) + count_held(p, true), 0);
    lt_program_destroy(p);
}

LT_TEST_MAIN()
