/* Every command with its n-th allocation refused, in a process of its own for each n: status 0 or 1, and a sentence that names
   memory. The command's own main is linked in, so that a fork is all a run costs. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/status.h"
#include "lathe/npy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int cli_main(int argc, char **argv);

enum { MOST_ARGUMENTS = 24, MOST_RUNS = 150, TIMEOUT_S = 60 };

static char folder[] = "/tmp/lathe-oom-XXXXXX";
static struct seen { int64_t allocations; } *seen; /* shared with the children */

/* Words of a command line; % stands for the folder. */
static int split(char *text, char *argv[MOST_ARGUMENTS])
{
    int n = 0;
    argv[n++] = "lathe";
    for (char *word = strtok(text, " "); word && n < MOST_ARGUMENTS - 1; word = strtok(NULL, " ")) argv[n++] = word;
    argv[n] = NULL;
    return n;
}

static void child(const char *command, int64_t n)
{
    static char text[2000];
    char *argv[MOST_ARGUMENTS], *at = text, path[64];
    for (const char *c = command; *c; c++) at += *c == '%' ? sprintf(at, "%s", folder) : (*at = *c, 1);
    *at = 0;
    snprintf(path, sizeof path, "%s/said", folder);
    int to = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600), argc = split(text, argv);
    dup2(to, 1);
    dup2(to, 2);
    alarm(TIMEOUT_S);
    const int64_t before = lt_alloc_count();
    lt_alloc_fail_at(n);
    const int code = cli_main(argc, argv);
    seen->allocations = lt_alloc_count() - before;
    fflush(NULL);
    _exit(code);
}

/* What waitpid says; the output lies in `said`. */
static int run(const char *command, int64_t n, char *said, size_t bytes)
{
    char path[64];
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) child(command, n);
    waitpid(pid, &status, 0);
    snprintf(path, sizeof path, "%s/said", folder);
    FILE *f = fopen(path, "r");
    said[f ? fread(said, 1, bytes - 1, f) : 0] = 0;
    if (f) fclose(f);
    return status;
}

/* A run that is not refused anything is how many allocations it makes; then each n, or as many as there is time for. */
static void walk(const char *command)
{
    static char said[20000];
    int status = run(command, 0, said, sizeof said);
    if (strstr(said, "built without")) return;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        LT_TEST_FAIL("lathe %s: wait status %d: %s", command, status, said);
        return;
    }
    const int64_t all = seen->allocations;
    int64_t failed = 0;
    for (int64_t i = 0, runs = all < MOST_RUNS ? all : MOST_RUNS; i < runs; i++) {
        const int64_t n = all < MOST_RUNS ? i + 1 : i < MOST_RUNS / 2 ? i + 1 : MOST_RUNS / 2 + (all - MOST_RUNS / 2) * (i - MOST_RUNS / 2 + 1) / (MOST_RUNS - MOST_RUNS / 2);
        status = run(command, n, said, sizeof said);
        failed += WIFEXITED(status) && WEXITSTATUS(status) == 1;
        if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 1 && strstr(said, "memory")))) continue;
        LT_TEST_FAIL("lathe %s, allocation %lld of %lld: wait status 0x%x: %.300s", command, (long long)n, (long long)all, (unsigned)status, said);
    }
    printf("%-70.70s %6lld allocations, %lld runs failed\n", command, (long long)all, (long long)failed);
    LT_CHECK(failed > 0);
}

static void put(const char *name, int64_t rows, int64_t columns, bool labels)
{
    char path[64];
    double x[400];
    lt_shape s = labels ? lt_shape1(rows) : lt_shape2(rows, columns);
    for (int64_t i = 0; i < rows * columns; i++) x[i] = labels ? (double)(i % 2) : 0.1 * (double)(i * 7 % 31) + (double)(i / columns % 2);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    LT_CHECK_OK(lt_npy_write(path, LT_F64, &s, x));
}

static void put_config(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/c.yaml", folder);
    FILE *f = fopen(path, "w");
    fputs("metadata: {name: oom}\nparameter_space:\n  architecture:\n    num_layers: {type: integer, bounds: [2, 3]}\n"
          "    base_channels: {type: integer, bounds: [4, 8]}\n    kernel_size: {type: choice, choices: [3]}\n    activation: {type: choice, choices: [gelu]}\n"
          "  stochastic:\n    noise_type: {type: choice, choices: [gaussian]}\n    noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}\n"
          "  operator:\n    normalization: {type: choice, choices: [instance]}\n    grid_size: {type: choice, choices: [16]}\n"
          "  evolution: {update_policy: {type: choice, choices: [residual]}}\nsampling: {total_samples: 2, batch_size: 2, sobol: {seed: 3}}\n"
          "simulation:\n  device: cpu\n  precision: float32\n  num_realizations: 2\n  num_timesteps: 6\n  input_generation: {method: structured}\n"
          "dataset: {output_path: OUT.h5, storage: {chunk_size: 3}}\n", f);
    fclose(f);
}

static void prepare(void)
{
    static char said[20000];
    static const char *const first[] = { "generate --config %/c.yaml --output %/a.h5 --quiet", "generate --config %/c.yaml --output %/s0.h5 --shard 0/2 --quiet",
                                         "generate --config %/c.yaml --output %/s1.h5 --shard 1/2 --quiet" };
    if (seen) return;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    LT_CHECK(mkdtemp(folder) != NULL);
    char cache[64];
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("LATHE_CACHE", cache, 1);
    put("x.npy", 40, 4, false);
    put("y.npy", 40, 1, true);
    put("w.npy", 2, 4, false);
    put_config();
    for (size_t i = 0; i < LT_LEN(first); i++) (void)run(first[i], 0, said, sizeof said);
}

__attribute__((destructor)) static void remove_folder(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (seen && system(command)) fprintf(stderr, "%s stays\n", folder);
}

#define COMMAND(name, text) LT_TEST(name) { prepare(); walk(text); }
COMMAND(solve, "solve example:B1 --quiet --set max_iterations=3")
COMMAND(solve_matrices, "solve example:A1 --quiet --set max_iterations=2")
COMMAND(gram, "gram --x %/x.npy --weights %/w.npy --out %/K.npy")
COMMAND(gram_map, "gram --x %/x.npy --map zz --out %/K.npy --circuit-out %/c.qasm")
COMMAND(gram_circuit, "gram --x %/x.npy --circuit %/c.qasm --similarity projected --out %/K.npy")
COMMAND(train_kernel, "train-kernel --x %/x.npy --labels %/y.npy --map basic(layers=2,reupload=true) --weights %/w.npy --iterations 2 --out %/t.npy")
COMMAND(qsvm, "qsvm --x %/x.npy --labels %/y.npy --qubits 3 --model-out %/m.qsvm")
COMMAND(qsvm_predict, "qsvm predict --model %/m.qsvm --x %/x.npy --out %/p.npy")
COMMAND(generate, "generate --config %/c.yaml --output %/g.h5 --overwrite")
COMMAND(validate, "validate %/a.h5 --check-samples --check-metadata")
COMMAND(info, "info %/a.h5 --verbose")
COMMAND(replay, "replay %/a.h5 --index 1")
COMMAND(extract_features, "extract-features %/a.h5 --output %/e.h5 --enable-spatial --overwrite")
COMMAND(merge, "merge --out %/m.h5 %/s0.h5 %/s1.h5")
COMMAND(visualize_features, "visualize-features %/a.h5 --output %/f.png --width-px 64")

LT_TEST_MAIN()
