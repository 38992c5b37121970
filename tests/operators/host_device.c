/* A device whose kernels the CPU runs: making them. SPDX-License-Identifier: BSD-3-Clause */
#include "host_device.h"

#include "base/alloc.h"
#include "base/status.h"
#include "device/backend.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXTS = 256 };
typedef void run_kernel(unsigned blocks, unsigned cluster, unsigned threads, size_t shared_bytes, int mixed, void **arg);
typedef struct host_kernel {
    lt_kernel   base;
    run_kernel *run;
    unsigned    blocks, cluster, threads;
    size_t      shared_bytes;
} host_kernel;

static bool mixed_order;

bool host_device_possible(void) { return LT_CXX[0] != 0; }
void host_device_mix(bool mixed) { mixed_order = mixed; }

/* ---- asm statements as calls ---- */
static void copy_string(const char **p, FILE *to) /* from one quote past the next; NULL: nowhere */
{
    const char *first = *p;
    for (++*p; **p != '"'; ++*p) *p += **p == '\\';
    ++*p;
    if (to) fwrite(first, 1, (size_t)(*p - first), to);
}

/* What stands between the parentheses that *p begins with, copied. */
static void copy_operand(const char **p, FILE *to)
{
    int depth = 0;
    for (;; ++*p) {
        depth += (**p == '(') - (**p == ')');
        if (depth == 0) break;
        if (!(depth == 1 && **p == '(')) fputc(**p, to);
    }
    ++*p;
}

static void write_identifier(const char *s, size_t n, FILE *to)
{
    for (size_t i = 0; i < n; i++) fputc(isalnum((unsigned char)s[i]) ? s[i] : '_', to);
}

/* The name of a statement: its instructions, each with the numbers among its operands. */
static void write_name(const char *code, FILE *to)
{
    const char *between = "";
    fputs("ptx_", to);
    while (*code) {
        size_t length = strcspn(code, " ,;{}[]");
        bool number = length && strspn(code, "0123456789") == length, instruction = isalpha((unsigned char)*code) && memchr(code, '.', length);
        if (number) fputc('_', to);
        if (instruction) fputs(between, to), between = "__";
        if (number || instruction) write_identifier(code, length, to);
        code += length + (code[length] != 0);
    }
}

/* The instructions of a statement, the pieces of its first part put together; *p then stands behind them. */
static void read_code(const char **p, char *code, size_t size)
{
    size_t n = 0;
    for (; **p != ':' && **p != ')'; ++*p) {
        if (**p != '"') continue;
        for (++*p; **p != '"'; ++*p) {
            bool line = **p == '\\' && (*p)[1] == 'n';
            *p += line;
            if (n + 1 < size) code[n++] = line ? ' ' : **p;
        }
    }
    code[n] = 0;
}

/* *p: behind "asm" or "asm volatile", at the parenthesis. */
static void rewrite_statement(const char **p, FILE *to)
{
    char code[8192];
    const char *between = "";
    ++*p;
    read_code(p, code, sizeof code);
    write_name(code, to);
    fputc('(', to);
    while (**p != ')') {
        if (**p == '"') copy_string(p, NULL); /* a constraint */
        else if (**p == '(') fputs(between, to), copy_operand(p, to), between = ", ";
        else ++*p;
    }
    fputc(')', to);
    ++*p;
}

static bool begins(const char *p, const char *word) { return !strncmp(p, word, strlen(word)); }

static void rewrite(const char *p, FILE *to)
{
    static const char dynamic[] = "extern __shared__";
    while (*p) {
        if (*p == '"') copy_string(&p, to);
        else if (begins(p, "asm(") || begins(p, "asm volatile(")) p = strchr(p, '('), rewrite_statement(&p, to);
        else if (begins(p, dynamic)) p += strlen(dynamic), fputs("extern SHARED_DYNAMIC", to);
        else fputc(*p++, to);
    }
}

/* ---- compiling ---- */
static lt_status write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f) return LT_FAIL(LT_ERR_IO, "cannot write %s", path);
    fputs(text, f);
    return fclose(f) ? LT_FAIL(LT_ERR_IO, "cannot write %s", path) : LT_OK;
}

/* Conditions may stand inside statements: the preprocessor comes first. */
static lt_status write_rewritten(const char *source, const char *path)
{
    char command[512];
    char *text = NULL;
    size_t size = 0;
    snprintf(command, sizeof command, "'%s' -E -P -x c++ '%s'", LT_CXX, source);
    FILE *in = popen(command, "r"), *all = open_memstream(&text, &size);
    if (!in || !all) return LT_FAIL(LT_ERR_IO, "cannot run %s", command);
    for (int c; (c = fgetc(in)) != EOF;) fputc(c, all);
    fclose(all);
    FILE *f = pclose(in) == 0 ? fopen(path, "w") : NULL;
    if (f) rewrite(text, f);
    free(text);
    return !f || fclose(f) ? LT_FAIL(LT_ERR_IO, "%s does not work", command) : LT_OK;
}

static lt_status compile(const lt_kernel_key *key, const char *folder, void **library)
{
    char source[96], text[96], built[96], command[1024];
    snprintf(source, sizeof source, "%s/source.cu", folder);
    snprintf(text, sizeof text, "%s/kernel.inc", folder);
    snprintf(built, sizeof built, "%s/kernel.so", folder);
    snprintf(command, sizeof command, "'%s' -std=c++17 -O1 -ftree-vectorize -fno-strict-aliasing -w -shared -fPIC -DENTRY=%s '-DKERNEL_TEXT=\"%s\"' '%s/fused_kernels_host.cc' -o '%s'",
             LT_CXX, key->entry, text, LT_TEST_SOURCES, built);
    lt_status s = write_text(source, key->source);
    if (!s) s = write_rewritten(source, text);
    if (!s && system(command)) s = LT_FAIL(LT_ERR_UNSUPPORTED, "the C++ compiler refuses kernel '%s'", key->name);
    if (!s && !(*library = dlopen(built, RTLD_NOW | RTLD_LOCAL))) s = LT_FAIL(LT_ERR_UNSUPPORTED, "%s", dlerror());
    unlink(source);
    unlink(text);
    unlink(built);
    return s;
}

static lt_status run(const lt_kernel *base, lt_pool *pool, void *const *arg)
{
    const host_kernel *k = (const host_kernel *)base;
    void *copy[LT_KERNEL_MAX_ARGS];
    (void)pool;
    memcpy(copy, arg, (size_t)base->n_args * sizeof *copy);
    k->run(k->blocks, k->cluster, k->threads, k->shared_bytes, mixed_order, copy);
    return LT_OK;
}

static void destroy(lt_kernel *base)
{
    lt_free(base); /* the library stays: another kernel may have the same text */
}

/* Texts that were compiled before; kernels are built by several threads. */
static struct { char *source; void *library; } known[MAX_TEXTS];
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

/* That of this text, or else `made`, which is then known; NULL: neither is there. */
static lt_status know(const char *source, void *made, void **library)
{
    int i = 0;
    pthread_mutex_lock(&known_lock);
    while (i < MAX_TEXTS && known[i].source && strcmp(known[i].source, source)) i++;
    if (made && i < MAX_TEXTS && !known[i].source) known[i].source = strdup(source), known[i].library = made;
    *library = i < MAX_TEXTS ? known[i].library : NULL;
    pthread_mutex_unlock(&known_lock);
    return i < MAX_TEXTS ? LT_OK : LT_FAIL(LT_ERR_UNSUPPORTED, "more than %d texts", MAX_TEXTS);
}

static lt_status find_or_compile(const lt_kernel_key *key, void **library)
{
    char folder[] = "/tmp/lathe-kernels-XXXXXX";
    void *made = NULL;
    LT_TRY(know(key->source, NULL, library));
    if (*library) return LT_OK;
    lt_status s = mkdtemp(folder) ? compile(key, folder, &made) : LT_FAIL(LT_ERR_IO, "cannot make a folder");
    rmdir(folder);
    return s ? s : know(key->source, made, library);
}

lt_status host_device_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    void *library = NULL;
    (void)dev;
    LT_TRY(find_or_compile(key, &library));
    host_kernel *k = lt_calloc(1, sizeof *k);
    if (!k) return LT_ERR_MEMORY;
    k->base = (lt_kernel){ .name = key->name, .run = run, .destroy = destroy, .n_args = key->n_args, .flops = key->flops };
    k->blocks = key->grid[0], k->threads = key->block[0], k->shared_bytes = key->shared_bytes;
    k->cluster = strstr(key->source, "__cluster_dims__(2, 1, 1)") ? 2 : 1;
    *(void **)&k->run = dlsym(library, "run_kernel");
    *out = &k->base;
    return LT_OK;
}
