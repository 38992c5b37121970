/* Runs a fuzz target without libFuzzer: the files given (of a folder: those in it), then mutations of its seeds for a bounded
   time. SPDX-License-Identifier: BSD-3-Clause

       fuzz_npy [seconds [file or folder…]]
       fuzz_npy --seeds FOLDER      writes the seeds there, one file each, for libFuzzer to begin with

   An input that crashes is left in fuzz-last-input.bin. */
#include "fuzz.h"

#include "lathe/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 16384, MOST_SEEDS = 32 };

static uint8_t current[CAPACITY];
static size_t current_bytes;

/* Saves the input for a second run, then lets the signal do what it would have done. */
static void on_crash(int signal_number)
{
    int fd = open("fuzz-last-input.bin", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0 && write(fd, current, current_bytes) >= 0) close(fd);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run_current(void) { LLVMFuzzerTestOneInput(current, current_bytes); }

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) { perror(path); return 1; }
    current_bytes = fread(current, 1, CAPACITY, f);
    fclose(f);
    run_current();
    return 0;
}

static int n_files;

static int run_path(const char *path)
{
    DIR *d = opendir(path);
    int failed = 0;
    if (!d) { n_files++; return run_file(path); }
    for (struct dirent *e; !failed && (e = readdir(d));) {
        char file[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        failed = run_path(file);
    }
    closedir(d);
    return failed;
}

static int write_seeds(const char *folder)
{
    for (int i = 0; (current_bytes = lt_fuzz_seed(i, current, CAPACITY)); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%d", folder, i);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(current, 1, current_bytes, f) != current_bytes || fclose(f)) { perror(path); return 1; }
    }
    return 0;
}

/* ---- Mutations of the current input ---------------------------------------------------- */
static void overwrite(lt_rng *r, const void *data, size_t n)
{
    if (n > current_bytes) return;
    memcpy(current + lt_rng_below(r, current_bytes - n + 1), data, n);
}

static void interesting_number(lt_rng *r)
{
    static const uint64_t values[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff,
                                       0x7fffffffffffffff, 0xffffffffffffffff };
    static const size_t sizes[] = { 1, 2, 4, 8 };
    uint64_t v = values[lt_rng_below(r, sizeof values / sizeof *values)];
    overwrite(r, &v, sizes[lt_rng_below(r, 4)]);
}

static void interesting_text(lt_rng *r)
{
    static const char *const texts[] = { "(", ")", ",", "'", "{", "}", "-1", "9223372036854775807", "99999999999999999999",
                                         "True", "False", "<f4", ">c16", "|O8", "=", "--", "\xff", "nan", "inf", "1e999" };
    const char *t = texts[lt_rng_below(r, sizeof texts / sizeof *texts)];
    overwrite(r, t, strlen(t));
}

static void insert_copy(lt_rng *r)
{
    size_t from = lt_rng_below(r, current_bytes), n = 1 + lt_rng_below(r, 16), to = lt_rng_below(r, current_bytes);
    if (from + n > current_bytes || current_bytes + n > CAPACITY) return;
    uint8_t piece[16];
    memcpy(piece, current + from, n);
    memmove(current + to + n, current + to, current_bytes - to);
    memcpy(current + to, piece, n);
    current_bytes += n;
}

static void remove_piece(lt_rng *r)
{
    size_t at = lt_rng_below(r, current_bytes), n = 1 + lt_rng_below(r, 16);
    if (at + n >= current_bytes) { current_bytes = at + 1; return; } /* cut the end off */
    memmove(current + at, current + at + n, current_bytes - at - n);
    current_bytes -= n;
}

static void mutate(lt_rng *r)
{
    for (uint64_t times = 1 + lt_rng_below(r, 4); times-- && current_bytes;) switch (lt_rng_below(r, 6)) {
        case 0: current[lt_rng_below(r, current_bytes)] ^= (uint8_t)(1 << lt_rng_below(r, 8)); break;
        case 1: current[lt_rng_below(r, current_bytes)] = (uint8_t)lt_rng_u64(r); break;
        case 2: interesting_number(r); break;
        case 3: interesting_text(r); break;
        case 4: insert_copy(r); break;
        default: remove_piece(r); break;
        }
}

/* ---- The loop ------------------------------------------------------------------------------ */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], on_crash);
    if (argc == 3 && !strcmp(argv[1], "--seeds")) return write_seeds(argv[2]);
    for (int i = 2; i < argc; i++)
        if (run_path(argv[i])) return 1;

    static struct { uint8_t data[CAPACITY]; size_t n; } seeds[MOST_SEEDS];
    int n_seeds = 0;
    for (; n_seeds < MOST_SEEDS && (current_bytes = lt_fuzz_seed(n_seeds, current, CAPACITY)); n_seeds++) {
        memcpy(seeds[n_seeds].data, current, current_bytes);
        seeds[n_seeds].n = current_bytes;
        run_current();
    }
    if (!n_seeds) { fprintf(stderr, "the target has no seeds\n"); return 1; }

    lt_rng r = lt_rng_seed(1); /* fixed: the same inputs in every run, as far as time reaches */
    double end = now_s() + (argc > 1 ? atof(argv[1]) : 3);
    long n_runs = 0;
    for (; n_runs % 64 || now_s() < end; n_runs++) {
        uint64_t seed = lt_rng_below(&r, (uint64_t)n_seeds);
        current_bytes = seeds[seed].n;
        memcpy(current, seeds[seed].data, current_bytes);
        mutate(&r);
        run_current();
    }
    printf("%d seeds, %d files, %ld mutated inputs\n", n_seeds, n_files, n_runs);
    return 0;
}
