/* Everything lathe does, again and again in one process: memory, descriptors, threads and speed must stay flat.
   SPDX-License-Identifier: BSD-3-Clause

       soak [SECONDS [LOG]]      60 by default; an hour or a day by option: make soak MINUTES=1440

   A round runs each of the jobs below through the command's own main, which is the library and the command in one process. After a
   warm-up of three rounds the growth over the rest is judged: blocks of ours not at all, resident memory by at most 16 MiB and 5 % beyond
   that warm-up, descriptors and threads not at all, and the processor time of the median round of the last
   third at most 1.5 times that of the first: the clock measures other programs as well. */
#include "base/alloc.h"
#include "base/status.h"
#include "lathe/npy.h"
#include "trace/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int cli_main(int argc, char **argv);

enum { MOST_ARGUMENTS = 32, WARM_UP = 3, MOST_ROUNDS = 1 << 20 };

static const char *const jobs[] = {
    "solve %/p.lt --quiet --set max_iterations=30 --out %/x.npz --checkpoint %/c",
    "solve %/p.lt --quiet --set max_iterations=40 --resume %/c --report %/r.html",
    "solve example:A1 --quiet --starts 4",
    "gram --x %/x.npy --weights %/w.npy --re-embed --method states --out %/K.npy --quiet",
    "gram --x %/x.npy --weights %/w.npy --method product --out %/K.npy --normalize --quiet",
    "qsvm --x %/x.npy --labels %/y.npy --qubits 3 --trials 3 --model-out %/m --quiet",
    "qsvm predict --model %/m --x %/x.npy --out %/p.csv --quiet",
    "generate --config %/c.yaml --output %/g.h5 --quiet",
    "generate --config %/c.yaml --output %/s0.h5 --shard 0/2 --quiet",
    "generate --config %/c.yaml --output %/s1.h5 --shard 1/2 --quiet",
    "merge --out %/merged.h5 %/s0.h5 %/s1.h5",
    "info %/g.h5 --verbose",
    "validate %/g.h5 --check-samples",
    "replay %/g.h5 --index 1 --out %/row.h5",
    "extract-features %/g.h5 --output %/e.h5 --enable-spatial --overwrite --quiet",
    "visualize-features %/g.h5 --output %/f.png --width-px 16 --n-operators 1",
    "visualize-ic-types --output %/i.png",
    "table %/g.h5 --csv %/t.csv --parquet %/t.parquet",
    "split %/g.h5 --stratify --out %/split.json --statistics %/statistics.json",
    "card %/g.h5 --output %/card.md",
    "export %/g.h5 --npz %/e.npz",
    "gram --x %/x.npy --map zz(reps=2) --memory 0.25 --out %/T.npy --quiet",
    "gram --read %/T.npy --rows 3:9 --out %/rows.npy --quiet",
    "train-kernel --x %/x.npy --labels %/y.npy --map strong(layers=2,reupload=true) --iterations 2 --out %/trained.npy --quiet",
    "solve %/p.lt --quiet --x0 %/x.npz --set max_iterations=5",
    "solve %/p.lt --quiet --sweep bound=0.5:1:2 --out %/sweep.npz",
    "devices", "explain conv2d", "doctor",
};

static char folder[] = "/tmp/lathe-soak-XXXXXX";
static FILE *report_to; /* where this program speaks: standard output goes nowhere */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct level { int64_t live, resident_bytes; int descriptors, threads; } level;

static int count_entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static level measure(void)
{
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2) abort();
    fclose(f);
    return (level){ lt_alloc_live(), (int64_t)pages * sysconf(_SC_PAGESIZE), count_entries("/proc/self/fd"), count_entries("/proc/self/task") };
}

static void run(const char *line)
{
    static char text[2000];
    char *argv[MOST_ARGUMENTS], *at = text;
    int n = 0;
    for (const char *c = line; *c; c++) at += *c == '%' ? sprintf(at, "%s", folder) : (*at = *c, 1);
    *at = 0;
    argv[n++] = "lathe";
    for (char *word = strtok(text, " "); word && n < MOST_ARGUMENTS - 1; word = strtok(NULL, " ")) argv[n++] = word;
    argv[n] = NULL;
    int code = cli_main(n, argv);
    if (code && strcmp(line, "doctor")) { /* doctor has findings on machines that lack something */
        fprintf(report_to, "'%s' ended with %d: %s\n", line, code, lt_error_text());
        exit(1);
    }
}

static void put(const char *name, int64_t rows, int64_t columns)
{
    char path[128];
    double x[600];
    lt_shape s = columns ? lt_shape2(rows, columns) : lt_shape1(rows);
    for (int64_t i = 0; i < lt_shape_count(&s); i++) x[i] = columns ? 0.1 * (double)(i * 7 % 31) + (double)(i / columns % 2) : (double)(i % 2);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (lt_npy_write(path, LT_F64, &s, x)) abort();
}

static void put_text(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) abort();
}

static void prepare(void)
{
    char cache[64];
    if (!mkdtemp(folder)) abort();
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("LATHE_CACHE", cache, 1);
    put("x.npy", 60, 5);
    put("y.npy", 60, 0);
    put("w.npy", 2, 5);
    put_text("p.lt", "data A = normal(12, 12, seed=1)\ndata bound = 1\nvar x[12] in [-9, 9] = [sin(i + 1) for i in 0:12]\nminimize sum(abs(A @ x - 1)) + 0.1*norm(x)\nsubject to\n  x[0] + x[1] <= bound\n");
    put_text("c.yaml",
             "metadata: {name: soak}\nparameter_space:\n  architecture: {num_layers: {type: integer, bounds: [2, 3]}, base_channels: {type: integer, bounds: [4, 6]}, "
             "kernel_size: {type: choice, choices: [3]}}\n  stochastic: {noise_type: {type: choice, choices: [gaussian]}}\n"
             "  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [16]}}\n"
             "sampling: {total_samples: 6, batch_size: 2}\nsimulation: {device: cpu, precision: float32, num_realizations: 2, num_timesteps: 8}\n"
             "dataset: {output_path: OUT.h5, storage: {chunk_size: 2, store_trajectories: true}}\n");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *times, int n)
{
    double *copy = malloc((size_t)n * sizeof *copy), middle;
    memcpy(copy, times, (size_t)n * sizeof *copy);
    qsort(copy, (size_t)n, sizeof *copy, by_size);
    middle = copy[n / 2];
    free(copy);
    return middle;
}

static int judge(const level *warm, const level *end, const double *times, int n)
{
    int wrong = 0;
    int third = (n - WARM_UP) / 3;
    double first = third ? median(times + WARM_UP, third) : 0, last = third ? median(times + n - third, third) : 0;
    fprintf(report_to, "%d rounds of %zu jobs; blocks %lld to %lld, resident %.1f to %.1f MiB, descriptors %d to %d, threads %d to %d, median round %.3f s to %.3f s of processor time\n", n, LT_LEN(jobs),
            (long long)warm->live, (long long)end->live, (double)warm->resident_bytes / 1048576, (double)end->resident_bytes / 1048576, warm->descriptors, end->descriptors,
            warm->threads, end->threads, first, last);
    wrong |= end->live > warm->live;
    wrong |= (double)end->resident_bytes > 1.05 * (double)warm->resident_bytes + (16 << 20);
    wrong |= end->descriptors > warm->descriptors || end->threads > warm->threads;
    wrong |= n > 100 && last > 1.5 * first;
    fprintf(report_to, wrong ? "NOT flat\n" : "flat\n");
    return wrong;
}

int main(int argc, char **argv)
{
    static double times[MOST_ROUNDS];
    const double seconds = argc > 1 ? atof(argv[1]) : 60;
    level warm = { 0 }, now = { 0 };
    int n = 0, nowhere = open("/dev/null", O_WRONLY);
    report_to = argc > 2 ? fopen(argv[2], "a") : fdopen(dup(1), "w");
    if (!report_to) { perror(argv[2]); return 1; }
    setvbuf(report_to, NULL, _IOLBF, 0);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    close(nowhere);
    prepare();
    const int64_t start = lt_clock_ns();
    double spoken = 0;
    for (; n < MOST_ROUNDS && (n < 3 * WARM_UP || 1e-9 * (double)(lt_clock_ns() - start) < seconds); n++) {
        double round = processor_seconds();
        for (size_t i = 0; i < LT_LEN(jobs); i++) run(jobs[i]);
        times[n] = processor_seconds() - round;
        now = measure();
        if (n + 1 == WARM_UP) warm = now;
        double since = 1e-9 * (double)(lt_clock_ns() - start);
        if (since < spoken + 60) continue;
        spoken = since;
        fprintf(report_to, "%6.0f s, round %d: %lld blocks, %.1f MiB, %d descriptors, %d threads, %.3f s\n", since, n + 1, (long long)now.live,
                (double)now.resident_bytes / 1048576, now.descriptors, now.threads, times[n]);
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) fprintf(report_to, "%s stays\n", folder);
    return judge(&warm, &now, times, n);
}
