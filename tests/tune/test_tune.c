/* Choosing by timing, and tuning files: kept, shared between processes, refused when hostile.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/tune.h"
#include "trace/clock.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEADER "lathe-tune 1 device=\"cpu test\" driver=none kernels=9f2c41d7"
static const char *const FILE_NAME = "tune_test.txt";

static lt_tuner_options options(lt_tune_mode mode)
{
    lt_tuner_options o = lt_tuner_defaults();
    o.device = "cpu test";
    o.kernels = "9f2c41d7";
    o.path = FILE_NAME;
    o.mode = mode;
    o.trust_ns = 20000;
    o.rounds = 3;
    return o;
}

static lt_tuner *make(lt_tune_mode mode)
{
    lt_tuner_options o = options(mode);
    lt_tuner *t = NULL;
    LT_CHECK_OK(lt_tuner_create(&o, &t));
    return t;
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");
    LT_CHECK(f && fwrite(text, 1, bytes, f) == bytes);
    if (f) fclose(f);
}

static char *read_text(const char *path)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = 0;
    if (f) fclose(f);
    return text;
}

static void clean(void)
{
    remove(FILE_NAME);
    remove("tune_test.txt.lock");
}

/* Candidate i takes cost[i] ns per run; negative fails. */
typedef struct load { int64_t cost[4]; int64_t calls[4]; } load;
static lt_status run_load(void *ctx, int which, int64_t repeats)
{
    load *l = ctx;
    l->calls[which]++;
    if (l->cost[which] < 0) return LT_FAIL(LT_ERR_UNSUPPORTED, "candidate %d cannot run", which);
    for (int64_t end = lt_clock_ns() + l->cost[which] * repeats; lt_clock_ns() < end;) {}
    return LT_OK;
}
static const char *const NAMES[] = { "slow", "fast TM=64", "broken", "middle" };

LT_TEST(measure_finds_the_fastest_and_asks_once)
{
    clean();
    lt_tuner *t = NULL;
    load l;
    int choice = -1;
    for (int tries = 0; tries < 5; tries++) { /* somebody else may have had the core while the fast one was timed */
        lt_tuner_destroy(t);
        t = make(LT_TUNE_MEASURE);
        l = (load){ { 40000, 2000, -1, 6000 }, { 0 } };
        LT_CHECK_OK(lt_tuner_choose(t, "matmul f32 m=8", 4, NAMES, run_load, &l, &choice));
        if (choice == 1 && l.calls[0] < l.calls[1]) break;
    }
    LT_CHECK_EQ_INT(choice, 1);
    LT_CHECK_EQ_INT(l.calls[2], 1);                 /* left out after its first failure */
    LT_CHECK(l.calls[0] < l.calls[1]);              /* hopeless: not timed again */
    int64_t before = l.calls[1];
    LT_CHECK_OK(lt_tuner_choose(t, "matmul f32 m=8", 4, NAMES, run_load, &l, &choice));
    LT_CHECK(choice == 1 && l.calls[1] == before && lt_tuner_measured(t) == 1);
    lt_tune_entry e;
    LT_CHECK(lt_tuner_lookup(t, "matmul f32 m=8", &e) && strcmp(e.choice, "fast TM=64") == 0);
    LT_CHECK(e.time_us >= 1.99 && e.time_us < 1000);
    LT_CHECK(!lt_tuner_lookup(t, "matmul f32 m=9", &e));
    LT_CHECK_OK(lt_tuner_save(t));
    lt_tuner_destroy(t);

    t = make(LT_TUNE_STORED);
    LT_CHECK(lt_tuner_count(t) == 1 && lt_tuner_entry(t, 0, &e) && strcmp(e.problem, "matmul f32 m=8") == 0);
    LT_CHECK(!lt_tuner_entry(t, 1, &e) && !lt_tuner_entry(t, -1, &e));
    LT_CHECK_OK(lt_tuner_choose(t, "matmul f32 m=8", 4, NAMES, NULL, NULL, &choice));
    LT_CHECK_EQ_INT(choice, 1);
    LT_CHECK_FAILS(lt_tuner_choose(t, "conv c=3", 4, NAMES, NULL, NULL, &choice), LT_ERR_MISMATCH, "'conv c=3' is not in 'tune_test.txt'");
    LT_CHECK_FAILS(lt_tuner_choose(t, "matmul f32 m=8", 1, NAMES, NULL, NULL, &choice), LT_ERR_MISMATCH, "stored as 'fast TM=64'");
    lt_tuner_destroy(t);
    const char *text = read_text(FILE_NAME);
    LT_CHECK(strncmp(text, HEADER "\nmatmul f32 m=8 : fast TM=64 : ", sizeof HEADER + 30) == 0);
    LT_CHECK(strcmp(text + strlen(text) - 4, " us\n") == 0);
    clean();
}

LT_TEST(estimate_times_nothing)
{
    clean();
    lt_tuner *t = make(LT_TUNE_ESTIMATE);
    int choice = -1;
    LT_CHECK_OK(lt_tuner_choose(t, "p", 4, NAMES, NULL, NULL, &choice));
    LT_CHECK(choice == 0 && lt_tuner_count(t) == 0);
    lt_tuner_destroy(t);
    write_text(FILE_NAME, HEADER "\np : middle : 1 us\n", sizeof HEADER + 18);
    t = make(LT_TUNE_ESTIMATE);
    LT_CHECK_OK(lt_tuner_choose(t, "p", 4, NAMES, NULL, NULL, &choice));
    LT_CHECK_EQ_INT(choice, 3); /* better than a guess, and free */
    lt_tuner_destroy(t);
    clean();
}

LT_TEST(a_stale_answer_is_measured_again)
{
    clean();
    write_text(FILE_NAME, HEADER "\np : gone : 1 us\n", sizeof HEADER + 16);
    lt_tuner *t = make(LT_TUNE_MEASURE);
    load l = { { 300, 300000 }, { 0 } }; /* far apart: a busy machine may stop the first for a while */
    int choice = -1;
    LT_CHECK_OK(lt_tuner_choose(t, "p", 2, NAMES, run_load, &l, &choice));
    LT_CHECK(choice == 0 && lt_tuner_count(t) == 1);
    LT_CHECK_OK(lt_tuner_save(t));
    LT_CHECK(strstr(read_text(FILE_NAME), "p : slow : "));
    lt_tuner_destroy(t);
    clean();
}

LT_TEST(bad_questions_are_refused)
{
    clean();
    lt_tuner *t = make(LT_TUNE_MEASURE);
    int choice;
    char big[402];
    memset(big, 'x', 401);
    big[401] = 0;
    const char *const bad[] = { NULL, "", " x", "x ", "a : b", ": a", "a :", "a\nb", "caf\xc3\xa9", big };
    for (size_t i = 0; i < LT_LEN(bad); i++)
        LT_CHECK_FAILS(lt_tuner_choose(t, bad[i], 4, NAMES, run_load, NULL, &choice), LT_ERR_ARGUMENT, "plain text");
    LT_CHECK_FAILS(lt_tuner_choose(t, "p", 0, NAMES, run_load, NULL, &choice), LT_ERR_ARGUMENT, "0 candidates");
    LT_CHECK_FAILS(lt_tuner_choose(t, "p", 1000, NAMES, run_load, NULL, &choice), LT_ERR_ARGUMENT, "1000 candidates");
    LT_CHECK_FAILS(lt_tuner_choose(t, "p", 2, NAMES, NULL, NULL, &choice), LT_ERR_ARGUMENT, "nothing to run");
    LT_CHECK_FAILS(lt_tuner_choose(t, "p", 2, (const char *const[]){ "a", "a" }, run_load, NULL, &choice), LT_ERR_ARGUMENT, "two candidates are called 'a'");
    LT_CHECK_FAILS(lt_tuner_choose(t, "p", 2, (const char *const[]){ "a", "b\n" }, run_load, NULL, &choice), LT_ERR_ARGUMENT, "candidate 1");
    LT_CHECK_FAILS(lt_tuner_choose(NULL, "p", 2, NAMES, run_load, NULL, &choice), LT_ERR_ARGUMENT, "NULL");
    load l = { { -1, -1 }, { 0 } };
    LT_CHECK_FAILS(lt_tuner_choose(t, "p", 2, NAMES, run_load, &l, &choice), LT_ERR_UNSUPPORTED, "candidate 0 cannot run");
    lt_tuner_destroy(t);
    lt_tuner_options o = options(LT_TUNE_MEASURE);
    o.device = "a\"b";
    LT_CHECK_FAILS(lt_tuner_create(&o, &t), LT_ERR_ARGUMENT, "without quotes");
    o = options((lt_tune_mode)9);
    LT_CHECK_FAILS(lt_tuner_create(&o, &t), LT_ERR_ARGUMENT, "mode number 9");
    o = options(LT_TUNE_MEASURE);
    o.rounds = 0;
    LT_CHECK_FAILS(lt_tuner_create(&o, &t), LT_ERR_ARGUMENT, "rounds 0");
    lt_tune_mode m;
    LT_CHECK(lt_tune_mode_parse("stored", &m) && m == LT_TUNE_STORED && !lt_tune_mode_parse("fast", &m));
    LT_CHECK(strcmp(lt_tune_mode_name((lt_tune_mode)7), "?") == 0);
    clean();
}

/* ---- Hostile files ---------------------------------------------------------------------------------- */
LT_TEST(hostile_files_are_refused_whole)
{
#define CASE(text, why) { text, sizeof(text) - 1, why }
    static const struct { const char *text; size_t bytes; const char *why; } c[] = {
        CASE("", "empty"),
        CASE("\n", "another device"),
        CASE("lathe-tune 2 device=\"cpu test\" driver=none kernels=9f2c41d7\n", "another device"),
        CASE("lathe-tune 1 device=\"cpu other\" driver=none kernels=9f2c41d7\np : a : 1 us\n", "another device"),
        CASE(HEADER " \n", "another device"),
        CASE(HEADER "\r\n", "another device"),
        CASE(HEADER, "cut off"),
        CASE(HEADER "\np : a : 1 us", ":2: the last line is cut off"),
        CASE(HEADER "\np : a : 1 us\nq : b : 2", ":3: the last line is cut off"),
        CASE(HEADER "\n\n", ":2: expected"),
        CASE(HEADER "\nfree text\n", ":2: expected 'problem : choice : time us', got 'free text'"),
        CASE(HEADER "\np : a\n", ":2: expected"),
        CASE(HEADER "\np : a : 1 us\np : b : 2 us\n", ":3: problem 'p' is there twice"),
        CASE(HEADER "\np : a : 1 ms\n", "not a positive number"),
        CASE(HEADER "\np : a : 1us\n", "not a positive number"),
        CASE(HEADER "\np : a : us\n", "not a positive number"),
        CASE(HEADER "\np : a : 0 us\n", "not a positive number"),
        CASE(HEADER "\np : a : -1 us\n", "not a positive number"),
        CASE(HEADER "\np : a : nan us\n", "not a positive number"),
        CASE(HEADER "\np : a : inf us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1e400 us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1e999999999999 us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1e-999 us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1e us\n", "not a positive number"),
        CASE(HEADER "\np : a : 0x10 us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1.2.3 us\n", "not a positive number"),
        CASE(HEADER "\np : a : . us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1e12 us\n", "not a positive number"),
        CASE(HEADER "\np : a : 111111111111111111111111111111111111111 us\n", "not a positive number"),
        CASE(HEADER "\np : a : 1 us \n", "not a positive number"),
        CASE(HEADER "\np : a : b : 1 us\n", "not a positive number"),
        CASE(HEADER "\n : a : 1 us\n", ":2: "),
        CASE(HEADER "\np :  : 1 us\n", ":2: "),
        CASE(HEADER "\n p : a : 1 us\n", "not plain text"),
        CASE(HEADER "\np\t : a : 1 us\n", "not plain text"),
        CASE(HEADER "\np\x80 : a : 1 us\n", "not plain text"),
        CASE(HEADER "\np : a : 1 us\nq\0 : a : 1 us\n", ":3: a zero byte"),
        CASE("\0", "cut off"),
        CASE("\0\n", "zero byte"),
    };
    clean();
    lt_tuner *kept = make(LT_TUNE_MEASURE);
    load l = { { 1000, 30000 }, { 0 } };
    int choice;
    LT_CHECK_OK(lt_tuner_choose(kept, "mine", 2, NAMES, run_load, &l, &choice));
    for (size_t i = 0; i < LT_LEN(c); i++) {
        write_text(FILE_NAME, c[i].text, c[i].bytes);
        lt_tuner_options o = options(LT_TUNE_STORED);
        lt_tuner *t;
        LT_CHECK_FAILS(lt_tuner_create(&o, &t), LT_ERR_FORMAT, c[i].why);
        LT_CHECK(t == NULL);
        t = make(LT_TUNE_MEASURE);
        if (!strstr(lt_tuner_refusal(t), c[i].why)) LT_TEST_FAIL("case %zu: refusal '%s' lacks '%s'", i, lt_tuner_refusal(t), c[i].why);
        LT_CHECK_EQ_INT(lt_tuner_count(t), 0);
        lt_tuner_destroy(t);
        LT_CHECK_FAILS(lt_tuner_load(kept, FILE_NAME), LT_ERR_FORMAT, c[i].why);
        LT_CHECK_EQ_INT(lt_tuner_count(kept), 1);   /* as it was */
        LT_CHECK_FAILS(lt_tuner_save(kept), LT_ERR_FORMAT, "not overwritten");
    }
    remove(FILE_NAME);
    LT_CHECK_OK(lt_tuner_save(kept));
    lt_tuner_destroy(kept);
    clean();
}

LT_TEST(a_million_lines_are_refused_quickly)
{
    clean();
    FILE *f = fopen(FILE_NAME, "w");
    fprintf(f, HEADER "\n");
    for (int i = 0; i < 1000000; i++) fprintf(f, "p%d : a : 1 us\n", i);
    fclose(f);
    lt_tuner_options o = options(LT_TUNE_STORED);
    lt_tuner *t;
    int64_t start = lt_clock_ns();
    LT_CHECK_FAILS(lt_tuner_create(&o, &t), LT_ERR_FORMAT, ":200002: more than 200000 problems");
    LT_CHECK(lt_clock_ns() - start < INT64_C(20000000000));
    LT_CHECK_EQ_INT(truncate(FILE_NAME, (off_t)(65 << 20)), 0); /* sparse and too large */
    LT_CHECK_FAILS(lt_tuner_create(&o, &t), LT_ERR_FORMAT, FILE_NAME);
    clean();
}

LT_TEST(numbers_read_back)
{
    clean();
    static const struct { const char *text; double us; } c[] = { { "11.8", 11.8 }, { "1", 1 }, { "0.001", 0.001 }, { "2.5e+3", 2500 }, { "1e-3", 0.001 }, { ".5", 0.5 } };
    for (size_t i = 0; i < LT_LEN(c); i++) {
        char text[200];
        int n = snprintf(text, sizeof text, HEADER "\np : a : %s us\n", c[i].text);
        write_text(FILE_NAME, text, (size_t)n);
        lt_tuner *t = make(LT_TUNE_STORED);
        lt_tune_entry e = { NULL, NULL, 0 };
        LT_CHECK(t && lt_tuner_lookup(t, "p", &e));
        LT_CHECK_NEAR(e.time_us, c[i].us, 1e-14);
        lt_tuner_destroy(t);
    }
    clean();
}

/* ---- Several at once ------------------------------------------------------------------------------------ */
LT_TEST(processes_join_their_answers)
{
    clean();
    enum { CHILDREN = 6 };
    pid_t pid[CHILDREN];
    const int failed_before = lt_test_failures;
    for (int k = 0; k < CHILDREN; k++) {
        pid[k] = fork();
        if (pid[k]) continue;
        lt_tuner *t = make(LT_TUNE_MEASURE);
        load l = { { 200, 300 }, { 0 } };
        int choice;
        for (int i = 0; i < 5; i++) {
            char problem[32];
            snprintf(problem, sizeof problem, "child %d problem %d", k, i);
            if (lt_tuner_choose(t, problem, 2, NAMES, run_load, &l, &choice) || lt_tuner_save(t)) _exit(1);
        }
        _exit(lt_test_failures > failed_before);
    }
    for (int k = 0; k < CHILDREN; k++) {
        int status = -1;
        LT_CHECK(waitpid(pid[k], &status, 0) == pid[k] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    lt_tuner *t = make(LT_TUNE_STORED);
    LT_CHECK_EQ_INT(lt_tuner_count(t), CHILDREN * 5);
    lt_tuner_destroy(t);
    clean();
}

static void *choose_many(void *arg)
{
    lt_tuner *t = arg;
    load l = { { 200, 300 }, { 0 } };
    int choice;
    char problem[32];
    for (int i = 0; i < 10; i++) {
        snprintf(problem, sizeof problem, "problem %d", i);
        if (lt_tuner_choose(t, problem, 2, NAMES, run_load, &l, &choice)) return arg;
    }
    return lt_tuner_save(t) ? arg : NULL;
}

LT_TEST(threads_share_a_tuner)
{
    clean();
    lt_tuner *t = make(LT_TUNE_MEASURE);
    pthread_t id[4];
    for (int i = 0; i < 4; i++) pthread_create(&id[i], NULL, choose_many, t);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(id[i], &failed);
        LT_CHECK(failed == NULL);
    }
    LT_CHECK(lt_tuner_measured(t) == 10 && lt_tuner_count(t) == 10);
    lt_tuner_destroy(t);
    clean();
}

LT_TEST(what_was_measured_here_wins_over_the_file)
{
    clean();
    lt_tuner *a = make(LT_TUNE_MEASURE), *b = make(LT_TUNE_MEASURE);
    load fast0 = { { 1000, 20000 }, { 0 } }, fast1 = { { 20000, 1000 }, { 0 } };
    int choice;
    LT_CHECK_OK(lt_tuner_choose(a, "p", 2, NAMES, run_load, &fast0, &choice));
    LT_CHECK_OK(lt_tuner_choose(b, "p", 2, NAMES, run_load, &fast1, &choice));
    LT_CHECK_OK(lt_tuner_choose(b, "q", 2, NAMES, run_load, &fast1, &choice));
    LT_CHECK_OK(lt_tuner_save(b));
    LT_CHECK_OK(lt_tuner_save(a));
    lt_tune_entry e;
    LT_CHECK(lt_tuner_count(a) == 2 && lt_tuner_lookup(a, "p", &e) && strcmp(e.choice, "slow") == 0);
    LT_CHECK(strstr(read_text(FILE_NAME), "p : slow") && strstr(read_text(FILE_NAME), "q : fast TM=64"));
    lt_tuner_destroy(a);
    lt_tuner_destroy(b);
    clean();
}

LT_TEST(the_cache_folder_is_the_default_place)
{
    setenv("LATHE_CACHE", "tune_cache", 1);
    lt_tuner_options o = options(LT_TUNE_MEASURE);
    o.path = NULL;
    lt_tuner *t;
    LT_CHECK_OK(lt_tuner_create(&o, &t));
    if (!t) return;
    LT_CHECK(strstr(lt_tuner_path(t), "tune_cache/tune-") && strcmp(lt_tuner_header(t), HEADER) == 0);
    write_text(lt_tuner_path(t), "rubbish\n", 8); /* in our own folder: replaced */
    load l = { { 1000, 9000 }, { 0 } };
    int choice;
    LT_CHECK_OK(lt_tuner_choose(t, "p", 2, NAMES, run_load, &l, &choice));
    LT_CHECK_OK(lt_tuner_save(t));
    LT_CHECK(strstr(read_text(lt_tuner_path(t)), "p : slow : "));
    char lock[4096];
    snprintf(lock, sizeof lock, "%s.lock", lt_tuner_path(t));
    remove(lt_tuner_path(t));
    remove(lock);
    rmdir("tune_cache");
    lt_tuner_destroy(t);
}

LT_TEST(every_failing_allocation_is_survived)
{
    clean();
    write_text(FILE_NAME, HEADER "\np : slow : 1 us\nr : slow : 1 us\n", sizeof HEADER + 32);
    int64_t live = lt_alloc_live();
    bool passed = false;
    for (int64_t at = 1; at < 100 && !passed; at++) {
        lt_tuner_options o = options(LT_TUNE_MEASURE);
        lt_tuner *t;
        int choice;
        load l = { { 200, 900 }, { 0 } };
        lt_alloc_fail_at(at);
        lt_status s = lt_tuner_create(&o, &t);
        if (!s) s = lt_tuner_choose(t, "q", 2, NAMES, run_load, &l, &choice);
        if (!s) s = lt_tuner_save(t);
        if (!s) s = lt_tuner_load(t, FILE_NAME);
        lt_alloc_fail_at(0);
        passed = s == LT_OK;
        if (!passed && s != LT_ERR_MEMORY) LT_TEST_FAIL("allocation %lld: %s", (long long)at, lt_error_text());
        lt_tuner_destroy(t);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(passed);
    clean();
}

LT_TEST_MAIN()
