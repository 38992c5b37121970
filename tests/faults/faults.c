/* Every command, with one call of the process failing at a time: status 0 or 1 and a sentence, no signal, no hang, nothing of ours left
   allocated, outputs whole or absent. SPDX-License-Identifier: BSD-3-Clause

       faults                     some hundred faults, chosen evenly: the test
       faults all MOST [PART]     of each command, and of each kind of call, every one, or MOST of them chosen evenly where there are more (0: no
                                  limit), of the commands whose line contains PART: make faults
       faults sites [PART [I/N]]  of each command, every call site (inject.h) once: make faults; with I/N every N-th of them, from number I on, so that N processes
                                  share the work
       faults KIND:K LINE         one of them, its output on the terminal

   Of MOST calls the first half are the first ones, where a command begins, and the rest stand at equal distances.

   The command's own main is linked in behind inject.c, so that a fork is all a run costs. */
#include "inject.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "lathe/npy.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cli_main(int argc, char **argv);

enum { MOST_ARGUMENTS = 32, MOST_OUTPUTS = 3, SECONDS = 60, CPU_SECONDS = 20 };

/* ---- What is run ------------------------------------------------------------------------------------------------------- */

/* % stands for the folder of inputs, @ for the folder of outputs. An output "~name" holds times, or rounds otherwise where OpenBLAS could not be opened: only its presence counts. `kept`: may stay when the run fails, and is gone on with.
   `printed`: what it prints is the same in every run, so that status 0 with another text is wrong. */
typedef struct job { const char *line, *output[MOST_OUTPUTS]; bool kept, printed; int samples; } job;

static const job jobs[] = {
    { "solve %/p.lt --quiet --set max_iterations=4 --out @/x.npz --checkpoint @/c", { "x.npz", "~c" }, true, false, 10 },
    { "solve %/p.lt --quiet --set max_iterations=6 --resume %/c --out @/x.npy", { "x.npy" }, false, false, 6 },
    { "gram --x %/x.npy --weights %/w.npy --re-embed --method states --out @/K.npy --states-out @/S.npy --quiet", { "K.npy", "S.npy" }, true, false, 10 },
    { "gram --x %/x.npy --weights %/w.npy --out @/K.npy --kernel-cache @ --quiet", { "K.npy" }, true, false, 6 },
    { "qsvm --x %/x.npy --labels %/y.npy --qubits 2 --c 1 --model-out @/m --decision-out @/d.npy --quiet", { "m", "d.npy" }, true, false, 8 },
    { "qsvm predict --model %/m --x %/x.npy --out @/p.csv --quiet", { "p.csv" }, false, false, 6 },
    { "generate --config %/c.yaml --output @/g.h5 --quiet", { "g.h5" }, true, false, 16 },
    { "generate --config %/c.yaml --output @/g.h5 --watchdog on --quiet", { "g.h5" }, true, false, 4 },
    { "info %/a.h5", { NULL }, false, true, 6 },
    { "validate %/a.h5", { NULL }, false, true, 6 },
    { "replay %/a.h5 --index 1 --out @/r.h5", { "r.h5" }, false, false, 8 },
    { "merge --out @/m.h5 %/s0.h5 %/s1.h5", { "m.h5" }, false, false, 8 },
    { "extract-features %/a.h5 --output @/e.h5 --enable-spatial --quiet", { "e.h5" }, false, false, 8 },
    { "table %/a.h5 --csv @/t.csv --parquet @/t.parquet", { "t.csv", "t.parquet" }, true, false, 6 },
    { "split %/a.h5 --stratify --out @/s.json --statistics @/n.json", { "s.json", "n.json" }, true, false, 6 },
    { "card %/a.h5 --output @/c.md", { "c.md" }, false, false, 12 },
    { "export %/a.h5 --npz @/e.npz", { "e.npz" }, false, false, 8 },
    { "visualize-features %/a.h5 --output @/f.png --width-px 16 --n-operators 1", { "f.png" }, false, false, 6 },
    { "visualize-ic-types --output @/i.png", { "i.png" }, false, false, 6 },
    { "devices", { NULL }, false, false, 4 },
    { "info %/a.h5 --report @/i.html", { "~i.html" }, false, false, 4 },
    { "solve %/m.nl --quiet --set maxit=4 --out @/x.npy", { "x.npy" }, false, false, 4 },
    { "gram --x %/x.npy --map zz(reps=2) --circuit-out @/c.qasm --out @/K.npy --quiet", { "c.qasm", "K.npy" }, true, false, 4 },
    { "gram --x %/x.npy --circuit %/c.qasm --out @/K.npy --quiet", { "K.npy" }, true, false, 4 },
    { "train-kernel --x %/x.npy --labels %/y.npy --map strong(layers=2,reupload=true) --iterations 2 --out @/w.npy --quiet", { "w.npy" }, true, false, 4 },
    { "generate --config %/c.yaml --explain-config", { NULL }, false, true, 4 },
    { "info %/a.h5 --json", { NULL }, false, true, 4 },
    { "explain conv2d", { NULL }, false, true, 2 },
    { "gram --x %/x.npy --map zz(reps=1) --memory 0.25 --out @/T.npy --quiet", { "T.npy", "T.npy.tiles" }, true, false, 4 },
    { "gram --read %/T.npy --rows 2:9 --out @/R.npy", { "R.npy" }, false, false, 4 },
    { "gram --x %/x.npy --map zz(reps=1) --landmarks 5 --out @/Z.npy --quiet", { "~Z.npy" }, false, false, 2 },
    { "gram --x %/x.npy --map zz(reps=1) --similarity projected --report @/k.html --out @/K.npy --quiet", { "~k.html", "K.npy" }, true, false, 2 },
    { "qsvm --x %/x.npy --labels %/y.npy --map zz(reps=1) --c 1 --probability --probability-out @/p.npy --report @/q.html --quiet", { "p.npy", "~q.html" }, true, false, 2 },
    { "solve %/p.lt --quiet --set max_iterations=4 --sweep bound=0.5:1:2 --out @/s.npz", { "s.npz" }, false, false, 4 },
    { "solve %/p.lt --quiet --set max_iterations=4 --starts 2 --out @/s.npz", { "s.npz" }, false, false, 2 },
    { "solve %/p.lt --quiet --set max_iterations=3 --x0 %/r.npz --out @/s.npz --report @/s.html", { "s.npz", "~s.html" }, true, false, 4 },
    { "export %/a.h5 --zarr @/z", { "~z" }, false, false, 4 },
    { "export %/a.h5 --the-well @/w.h5", { "w.h5" }, false, false, 20 },
    { "cluster sbatch --nodes 2 -- generate --config a.yaml --output b.h5", { NULL }, false, true, 2 },
    { "visualize-dataset %/a.h5 --format frames --output @/v.mp4 --steps 2 --display-realizations 1 --size 8x8 --n-operators 1", { "~v_frames" }, true, false, 2 },
};

static char in_folder[] = "/tmp/lathe-faults-XXXXXX", out_folder[64];
static int n_wrong, n_runs, n_failed, n_theirs;

/* What a child leaves for its parent to see. */
typedef struct seen { int64_t calls[FAULT_KINDS], live; bool ended; } seen_by_child;
static seen_by_child *seen;
static fault_sites *sites;

static int split(const char *line, char *text, char *argv[MOST_ARGUMENTS])
{
    char *at = text;
    int n = 0;
    for (const char *c = line; *c; c++) at += *c == '%' ? sprintf(at, "%s", in_folder) : *c == '@' ? sprintf(at, "%s", out_folder) : (*at = *c, 1);
    *at = 0;
    argv[n++] = "lathe";
    for (char *word = strtok(text, " "); word && n < MOST_ARGUMENTS - 1; word = strtok(NULL, " ")) argv[n++] = word;
    argv[n] = NULL;
    return n;
}

/* Where a signal struck: the libraries on the stack say whose fault it is. */
static void show_stack(int number)
{
    void *frame[24];
    fault_disarm();
    backtrace_symbols_fd(frame, backtrace(frame, 24), 2);
    signal(number, SIG_DFL);
    raise(number);
}

static _Noreturn void child(const char *line, fault_kind kind, int64_t at, bool shown)
{
    static char text[2000], path[128];
    char *argv[MOST_ARGUMENTS];
    int argc = split(line, text, argv);
    static const char *const name[] = { "printed", "said" };
    for (int i = 0; i < 2 && !shown; i++) {
        snprintf(path, sizeof path, "%s/%s", in_folder, name[i]);
        int to = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        dup2(to, 1 + i);
        close(to);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_CPU, &(struct rlimit){ CPU_SECONDS, CPU_SECONDS });
    alarm(shown ? 0 : SECONDS);
    void *frame[4];
    (void)backtrace(frame, 4); /* loads what it needs */
    static const int fatal[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL };
    static char stack[1 << 16]; /* of its own: the other may be full */
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    for (size_t i = 0; i < LT_LEN(fatal); i++) sigaction(fatal[i], &(struct sigaction){ .sa_handler = show_stack, .sa_flags = SA_ONSTACK }, NULL);
    fault_show(shown);
    fault_arm(kind, at);
    int code = cli_main(argc, argv);
    fault_disarm();
    for (int i = 0; i < FAULT_KINDS; i++) seen->calls[i] = fault_calls(i);
    seen->live = lt_alloc_live();
    seen->ended = true;
    fflush(NULL);
    _exit(code);
}

static int run(const char *line, fault_kind kind, int64_t at, bool shown)
{
    int status = -1;
    memset(seen, 0, sizeof *seen);
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) child(line, kind, at, shown);
    while (waitpid(pid, &status, 0) < 0 && pid > 0) { }
    return status;
}

/* ---- Files ------------------------------------------------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type;
    return at->level ? remove(path) : 0;
}

static void clean_outputs(void) { (void)nftw(out_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static lt_digest digest_of(const char *folder, const char *name)
{
    static char data[1 << 22], path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(data, 1, sizeof data, f) : 0;
    if (f) fclose(f);
    return f ? lt_sha256_of(data, n) : (lt_digest){ { 0 } };
}

static bool exists(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", out_folder, name);
    return access(path, F_OK) == 0;
}

static const char *said(void)
{
    static char text[4000], path[128];
    snprintf(path, sizeof path, "%s/said", in_folder);
    FILE *f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
    if (f) fclose(f);
    return text;
}

/* ---- Judging a run ------------------------------------------------------------------------------------------------------------ */

typedef struct reference { lt_digest output[MOST_OUTPUTS], printed; int64_t live, calls[FAULT_KINDS]; } reference;

static void wrong(const job *j, fault_kind kind, int64_t at, const char *what)
{
    n_wrong++;
    if (sites && sites->mode) printf("from\n%s", sites->text);
    printf("WRONG %s:%lld '%s': %s\n      %.1200s\n", fault_name(kind), (long long)at, j->line, what, said());
}

static const char *const theirs[] = { "libdnnl", "libfftw3", "libhdf5", "libopenblas", "libgomp", "libstdc++", "libsvm", "libgfortran", "libhdf5, in its jail",
                                      "libhdf5, which calls want of memory a damaged file", "libgomp, which says so and calls exit", "libhdf5, which stores a chunk as it is where its filter has no memory" };
enum { HDF5 = 2, HDF5_UNPACKED = LT_LEN(theirs) - 1, GOMP = HDF5_UNPACKED - 1, HDF5_UNSAID = GOMP - 1, HDF5_IN_JAIL = HDF5_UNSAID - 1, GFORTRAN = HDF5_UNSAID - 2 };
static int n_ended_by[LT_LEN(theirs)];

/* Whether a library of others ended the process: it stands on the stack between the signal and the first function of ours. Such ends are
   counted and named, and nothing can be done about them here; SECURITY.md lists them. */
static int whose(fault_kind kind, int status)
{
    const char *text = said(), *ours = strstr(text, "test_faults("); /* the handler itself */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 255) return HDF5; /* H5I_register calls exit(-1) without memory */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(text, "Operating system error: Cannot allocate memory")) return GFORTRAN; /* as OpenBLAS loads it: exit(1) */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2 && strstr(text, "the process that parses it does not survive")) return HDF5_IN_JAIL; /* by a signal, which damage would cause too */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(text, "libgomp: Out of memory")) return GOMP;
    if (sites && sites->mode && WIFEXITED(status) && WEXITSTATUS(status) == 0 && strstr(sites->text, "(H5Z_pipeline+") && !strstr(sites->text, "(H5Dread+")) return HDF5_UNPACKED; /* the numbers are there */
    if (kind == FAULT_MEMORY && WIFEXITED(status) && WEXITSTATUS(status) == 2 && strstr(text, ": format: ") && strstr(text, ".h5: ")) return HDF5_UNSAID;
    if (!WIFSIGNALED(status) || !ours) return -1;
    const char *next = strstr(ours + 1, "test_faults(");
    for (int i = 0; i < HDF5_IN_JAIL; i++) {
        const char *at = strstr(ours, theirs[i]);
        if (at && (!next || at < next)) return i;
    }
    return -1;
}

/* Files of another name: temporary ones, journals. The cache of kernels that a job makes is its output. */
static void check_litter(const job *j, fault_kind kind, int64_t at, bool failed)
{
    DIR *d = opendir(out_folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        bool known = e->d_name[0] == '.' || !strncmp(e->d_name, "kernel_", 7);
        for (int i = 0; i < MOST_OUTPUTS && j->output[i]; i++) known |= !strcmp(e->d_name, j->output[i] + (j->output[i][0] == '~'));
        known |= j->kept && failed && (strstr(e->d_name, ".journal") || strstr(e->d_name, ".part")); /* --resume goes on with them */
        char what[400];
        snprintf(what, sizeof what, "left %s", e->d_name);
        if (!known) wrong(j, kind, at, what);
    }
    if (d) closedir(d);
}

static void check_outputs(const job *j, const reference *r, fault_kind kind, int64_t at, bool failed)
{
    for (int i = 0; i < MOST_OUTPUTS && j->output[i]; i++) {
        const char *name = j->output[i] + (j->output[i][0] == '~');
        if (!exists(name)) {
            if (!failed) wrong(j, kind, at, "status 0 without its output");
            continue;
        }
        lt_digest d = digest_of(out_folder, name);
        if (name > j->output[i] || memcmp(&d, &r->output[i], sizeof d) == 0) continue;
        if (!(j->kept && failed)) wrong(j, kind, at, "an output that is not what an undisturbed run writes");
    }
}

static void judge(const job *j, const reference *r, fault_kind kind, int64_t at, int status)
{
    char what[100];
    bool failed = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    n_failed += failed;
    const int other = whose(kind, status);
    if (other >= 0) {
        n_theirs++;
        n_ended_by[other]++;
        return;
    }
    if (WIFSIGNALED(status)) snprintf(what, sizeof what, WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "hangs" : "ended by signal %d", WTERMSIG(status));
    else snprintf(what, sizeof what, "status %d", WEXITSTATUS(status));
    if (!failed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) wrong(j, kind, at, what);
    else if (failed && !strstr(said(), "lathe")) wrong(j, kind, at, "status 1 without a sentence");
    /* A block that could not be cut is used whole: the cache of the device then keeps one segment more, and its record. */
    const int64_t segment = failed ? 0 : 2;
    if (seen->ended && seen->live > r->live + segment) {
        snprintf(what, sizeof what, "%lld blocks of ours stay allocated, %lld in an undisturbed run", (long long)seen->live, (long long)r->live);
        wrong(j, kind, at, what);
    }
    lt_digest printed = digest_of(in_folder, "printed");
    if (j->printed && !failed && memcmp(&printed, &r->printed, sizeof printed)) wrong(j, kind, at, "status 0, and it prints something else");
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) check_outputs(j, r, kind, at, failed);
    check_litter(j, kind, at, failed);
}

/* ---- All of them ---------------------------------------------------------------------------------------------------------------- */

static bool make_reference(const job *j, reference *r)
{
    for (int twice = 0; twice < 2; twice++) { /* the second finds what the first stored in the cache folder */
        clean_outputs();
        int status = run(j->line, FAULT_MEMORY, 0, false);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            if (strstr(said(), "built without")) return false;
            n_wrong++;
            printf("WRONG '%s' fails undisturbed: %s\n", j->line, said());
            return false;
        }
    }
    memcpy(r->calls, seen->calls, sizeof r->calls);
    r->live = seen->live;
    r->printed = digest_of(in_folder, "printed");
    for (int i = 0; i < MOST_OUTPUTS && j->output[i]; i++) r->output[i] = digest_of(out_folder, j->output[i]);
    return true;
}

/* Call number i of n that are tried, of `all`: the first half of them one by one, the rest evenly. */
static int64_t choose(int64_t i, int64_t n, int64_t all)
{
    if (n >= all || i < n / 2) return i + 1;
    return n / 2 + (all - n / 2) * (i - n / 2 + 1) / (n - n / 2);
}

/* `most`: calls of each kind; -1: the sample of the test. */
static void walk(const job *j, int64_t most)
{
    const bool all = most >= 0;
    reference r = { 0 };
    if (!make_reference(j, &r)) return;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        int64_t n = all ? (most ? most : r.calls[kind]) : kind == FAULT_MEMORY ? 3 * j->samples : j->samples / 2;
        if (n > r.calls[kind]) n = r.calls[kind];
        int before = n_wrong;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = choose(i, n, r.calls[kind]);
            clean_outputs();
            int status = run(j->line, (fault_kind)kind, at, false);
            n_runs++;
            judge(j, &r, (fault_kind)kind, at, status);
        }
        if (all || n_wrong > before) printf("%-8s %6lld of %6lld calls, %d wrong: %.60s\n", fault_name((fault_kind)kind), (long long)n, (long long)r.calls[kind], n_wrong - before, j->line);
        fflush(stdout);
    }
}

/* ---- Every site ------------------------------------------------------------------------------------------------------------------ */

static fault_site found[FAULT_MOST_SITES];
static int n_unmet;

static int by_stack(const void *a, const void *b)
{
    uint64_t x = ((const fault_site *)a)->stack, y = ((const fault_site *)b)->stack;
    return (x > y) - (x < y);
}

static int list_sites(const job *j)
{
    int n = 0;
    memset(sites, 0, sizeof *sites);
    sites->mode = 1;
    clean_outputs();
    (void)run(j->line, FAULT_MEMORY, 0, false);
    sites->mode = 0;
    for (int i = 0; i < FAULT_MOST_SITES; i++)
        if (sites->site[i].stack) found[n++] = sites->site[i];
    qsort(found, (size_t)n, sizeof *found, by_stack);
    return n;
}

/* The first call from this site fails. Where threads race it may not come to that; then once more. */
static void strike(const job *j, const reference *r, const fault_site *s)
{
    int status = 0;
    for (int attempt = 0; attempt < 3; attempt++) {
        clean_outputs();
        sites->text[0] = 0;
        sites->struck = 0;
        sites->wanted = *s;
        sites->mode = 2;
        status = run(j->line, FAULT_MEMORY, 0, false);
        n_runs++;
        if (sites->struck) break;
    }
    n_unmet += !sites->struck;
    judge(j, r, (fault_kind)s->kind, (int64_t)(s->stack >> 1), status);
    sites->mode = 0;
}

static void walk_sites(const job *j, int from, int step)
{
    reference r = { 0 };
    if (!make_reference(j, &r)) return;
    const int n = list_sites(j), wrong_before = n_wrong, unmet_before = n_unmet;
    int n_kind[FAULT_KINDS] = { 0 };
    for (int i = from; i < n; i += step) {
        n_kind[found[i].kind]++;
        strike(j, &r, &found[i]);
    }
    printf("%5d of %d sites, %d wrong, %d not met again:", (n - from + step - 1) / step, n, n_wrong - wrong_before, n_unmet - unmet_before);
    for (int k = 0; k < FAULT_KINDS; k++)
        if (n_kind[k]) printf(" %s %d", fault_name((fault_kind)k), n_kind[k]);
    printf(": %.80s\n", j->line);
    fflush(stdout);
}

/* ---- Inputs -------------------------------------------------------------------------------------------------------------------- */

static void put(const char *name, int64_t rows, int64_t columns)
{
    char path[128];
    double x[400];
    lt_shape s = columns ? lt_shape2(rows, columns) : lt_shape1(rows);
    for (int64_t i = 0; i < lt_shape_count(&s); i++) x[i] = columns ? 0.1 * (double)(i * 7 % 31) + (double)(i / columns % 2) : (double)(i % 2);
    snprintf(path, sizeof path, "%s/%s", in_folder, name);
    if (lt_npy_write(path, LT_F64, &s, x)) abort();
}

static void put_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", in_folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) abort();
}

static void share_sites(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/sites", in_folder);
    if (!(sites = fault_sites_share(path))) abort();
}

static void prepare(void)
{
    static const char *const first[] = {
        "generate --config %/c.yaml --output %/a.h5 --quiet", "generate --config %/c.yaml --output %/s0.h5 --shard 0/2 --quiet",
        "generate --config %/c.yaml --output %/s1.h5 --shard 1/2 --quiet", "solve %/p.lt --quiet --set max_iterations=3 --checkpoint %/c",
        "qsvm --x %/x.npy --labels %/y.npy --qubits 2 --c 1 --model-out %/m --quiet", "gram --x %/x.npy --map zz(reps=1) --memory 0.25 --out %/T.npy --quiet",
        "solve %/p.lt --quiet --set max_iterations=3 --out %/r.npz",
    };
    char cache[64];
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!mkdtemp(in_folder)) abort();
    snprintf(cache, sizeof cache, "%s/cache", in_folder);
    snprintf(out_folder, sizeof out_folder, "%s/out", in_folder);
    setenv("LATHE_CACHE", cache, 1);
    setenv("LATHE_THREADS", "2", 1);
    if (mkdir(out_folder, 0700)) abort();
    put("x.npy", 24, 4);
    put("y.npy", 24, 0);
    put("w.npy", 2, 4);
    put_text("p.lt", "data bound = 1\ndata A = normal(3, 3, seed=1)\nvar x[3] = [1, -1, 0.5]\nminimize sum(abs(A @ x)) + norm(A' @ A)*norm(x)\nsubject to\n  x[0] + x[1] <= bound\n");
    put_text("c.yaml",
             "metadata: {name: faults}\nparameter_space:\n  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 5]}, "
             "kernel_size: {type: choice, choices: [3]}}\n  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
             "  operator: {normalization: {type: choice, choices: [none]}, grid_size: {type: choice, choices: [8]}}\n"
             "sampling: {total_samples: 2, batch_size: 2}\nsimulation: {device: cpu, precision: float32, num_realizations: 1, num_timesteps: 3}\n"
             "dataset: {output_path: OUT.h5, storage: {chunk_size: 2, store_trajectories: true}}\n");
    put_text("m.nl", "g3 1 1 0\n 2 0 1 0 0\n 0 1\n 0 0\n 0 2 0\n 0 0 0 1\n 0 0 0 0 0\n 0 2\n 0 0\n 0 0 0 0 0\n"
                     "O0 0\no0\no5\nv0\nn2\no5\nv1\nn2\nx2\n0 1\n1 5\nb\n3\n3\nk1\n0\nG0 2\n0 0\n1 0\n");
    put_text("c.qasm", "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float[64] x0;\ninput float[64] x1;\ninput float[64] x2;\ninput float[64] x3;\nqubit[2] q;\nry(x0) q[0];\nry(x1) q[1];\nrz(x2) q[0];\nrz(x3) q[1];\ncx q[0], q[1];\n");
    for (size_t i = 0; i < LT_LEN(first); i++) (void)run(first[i], FAULT_MEMORY, 0, false);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", in_folder);
    if (system(command)) fprintf(stderr, "%s stays\n", in_folder);
}

static fault_kind kind_of(const char *text, int64_t *at)
{
    const char *colon = strchr(text, ':');
    for (int i = 0; colon && i < FAULT_KINDS; i++)
        if (!strncmp(text, fault_name((fault_kind)i), (size_t)(colon - text))) { *at = atoll(colon + 1); return (fault_kind)i; }
    fprintf(stderr, "%s: expected a kind and a number, as in write:3\n", text);
    exit(2);
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && !strcmp(argv[1], "all"), by_site = argc > 1 && !strcmp(argv[1], "sites");
    int from = 0, step = 1;
    /* The watchdog starts the command again: this program with the arguments of a worker. */
    if (argc > 1 && !all && !by_site && !strchr(argv[1], ':')) return cli_main(argc, argv);
    if (all && argc < 3) {
        fprintf(stderr, "faults all MOST [PART]\n");
        return 2;
    }
    if (by_site && argc > 3 && (sscanf(argv[3], "%d/%d", &from, &step) != 2 || from < 0 || from >= step)) {
        fprintf(stderr, "faults sites [PART [I/N]]\n");
        return 2;
    }
    prepare();
    if (by_site) share_sites();
    for (size_t i = 0; i < LT_LEN(jobs) && by_site; i++)
        if (argc < 3 || strstr(jobs[i].line, argv[2])) walk_sites(&jobs[i], from, step);
    if (argc > 2 && !all && !by_site) {
        int64_t at = 0;
        fault_kind kind = kind_of(argv[1], &at);
        int status = run(argv[2], kind, at, true);
        printf("wait status 0x%x, live %lld\n", (unsigned)status, (long long)seen->live);
        remove_all();
        return 0;
    }
    for (size_t i = 0; i < LT_LEN(jobs) && !by_site; i++)
        if (argc < 4 || strstr(jobs[i].line, argv[3])) walk(&jobs[i], all ? atoll(argv[2]) : -1);
    remove_all();
    for (size_t i = 0; i < LT_LEN(theirs); i++)
        if (n_ended_by[i]) printf("%5d ended by %s\n", n_ended_by[i], theirs[i]);
    printf("%d runs, %d failed as they should, %d ended by libraries of others, %d sites not met again, %d wrong\n", n_runs, n_failed, n_theirs, n_unmet, n_wrong);
    return n_wrong > 0 || !n_failed;
}
