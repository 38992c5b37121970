/* Kernels from source text: NVRTC, with the machine code kept on disk.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/cuda.h"

#include "base/alloc.h"
#include "base/files/pack.h"
#include "base/status.h"
#include "device/build_list.h"
#include "device/cuda/compile.h"
#include "trace/clock.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

#define CUBIN_LIMIT_BYTES ((size_t)64 << 20)
#define KERNELS_LIMIT_BYTES ((size_t)512 << 20) /* of all: some 10,000 texts */
static const char kernels_file[] = "kernels";

/* Source and options: what the machine code of one device depends on. */
static lt_digest text_digest(const lt_kernel_key *key)
{
    lt_sha256 h;
    lt_sha256_start(&h);
    lt_sha256_add(&h, key->source, strlen(key->source) + 1);
    for (int i = 0; i < key->n_options; i++) lt_sha256_add(&h, key->options[i], strlen(key->options[i]) + 1);
    return lt_sha256_finish(&h);
}

/* From the cache, or compiled. A cache that cannot be read or written costs time, nothing else. *cubin NULL: it is not known, and shall not be compiled. */
static lt_status get_cubin(lt_cuda *c, const lt_kernel_key *key, bool compile, lt_cuda_module *m)
{
    const lt_nvrtc *rtc;
    int major, minor;
    char name[200];
    LT_TRY(lt_nvrtc_open(&rtc, &major, &minor));
    snprintf(name, sizeof name, "cubin 3 sm_%d driver %d nvrtc %d.%d %s", c->sm, c->driver_version, major, minor, lt_digest_hex(&m->digest).s);
    if (lt_pack_get(kernels_file, name, CUBIN_LIMIT_BYTES, &m->cubin, &m->cubin_bytes)) m->cubin = NULL;
    if (m->cubin) c->dev->n_loaded++;
    if (m->cubin || !compile) return LT_OK;
    lt_span span = lt_span_begin("compile a text");
    int64_t start = lt_clock_ns();
    lt_status s = lt_cuda_compile(rtc, key, c->sm, &m->cubin, &m->cubin_bytes);
    c->dev->compile_ns += lt_clock_ns() - start;
    lt_span_end(span);
    if (s) return s;
    c->dev->n_compiled++;
    (void)lt_pack_put(kernels_file, name, m->cubin, m->cubin_bytes, KERNELS_LIMIT_BYTES);
    return LT_OK;
}

/* ---- Modules -------------------------------------------------------------------------------- */
/* With the lock held. */
static lt_cuda_module *find_module(lt_cuda *c, const lt_digest *digest)
{
    lt_cuda_module *m = c->modules;
    while (m && memcmp(&m->digest, digest, sizeof *digest)) m = m->next;
    return m;
}

/* With the lock held; m is in the list. */
static void take_out(lt_cuda *c, lt_cuda_module *m)
{
    lt_cuda_module **at = &c->modules;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
}

static void destroy_module(lt_cuda *c, lt_cuda_module *m)
{
    if (m->handle) (void)c->cu->cuModuleUnload(m->handle);
    lt_free(m->cubin);
    lt_free(m);
}

/* Loading and unloading wait for everything the device has been given, so what nobody uses any more stays loaded (decision 133). */
static void leave_module(lt_cuda *c, lt_cuda_module *m)
{
    if (!m) return;
    pthread_mutex_lock(&c->lock);
    bool unused = --m->n_users == 0, keep = unused && (m->handle || m->cubin) && c->n_unused_modules < LT_BUILDS_KEPT;
    if (keep) c->n_unused_modules++;
    else if (unused) take_out(c, m);
    pthread_mutex_unlock(&c->lock);
    if (unused && !keep) destroy_module(c, m);
}

void lt_cuda_modules_unload(lt_cuda *c)
{
    for (lt_cuda_module *m = c->modules, *next; m; m = next) {
        next = m->next;
        destroy_module(c, m);
    }
    c->modules = NULL;
}

/* The module of a text. It is loaded, unless *mine: then this thread has to go on with it, and to settle it. Kernels are built by several threads
   at once, and a text that two of them want is compiled once. */
static lt_cuda_module *claim_module(lt_cuda *c, const lt_digest *digest, bool *mine)
{
    pthread_mutex_lock(&c->lock);
    lt_cuda_module *m = find_module(c, digest);
    for (; m && m->making; m = find_module(c, digest)) pthread_cond_wait(&c->made, &c->lock);
    if (m && !m->n_users) c->n_unused_modules--;
    if (!m && (m = lt_calloc(1, sizeof *m))) {
        *m = (lt_cuda_module){ .next = c->modules, .digest = *digest };
        c->modules = m;
    }
    *mine = m && !m->handle;
    if (*mine) m->making = true;
    if (m) m->n_users++;
    pthread_mutex_unlock(&c->lock);
    return m;
}

/* s: how it went. After a failure the module is gone: those who wait find nothing, and try for themselves. */
static lt_status settle_module(lt_cuda *c, lt_cuda_module *m, lt_status s)
{
    pthread_mutex_lock(&c->lock);
    m->making = false;
    if (s) take_out(c, m);
    pthread_cond_broadcast(&c->made);
    pthread_mutex_unlock(&c->lock);
    if (s) destroy_module(c, m);
    return s;
}

static lt_status make_module(lt_cuda *c, const lt_kernel_key *key, lt_cuda_module *m)
{
    char what[96];
    if (!m->cubin) LT_TRY(get_cubin(c, key, true, m));
    unsigned r = c->cu->cuModuleLoadData(&m->handle, m->cubin);
    if (r) {
        m->handle = NULL;
        snprintf(what, sizeof what, "loading kernel '%.60s'", key->name);
        return lt_cuda_fail(c, r, what, __FILE__, __LINE__);
    }
    lt_free(m->cubin);
    m->cubin = NULL;
    return LT_OK;
}

static lt_status claim(lt_cuda *c, const lt_kernel_key *key, lt_cuda_module **out, bool *mine)
{
    lt_digest digest = text_digest(key);
    *out = claim_module(c, &digest, mine);
    return *out ? LT_OK : LT_FAIL(LT_ERR_MEMORY, "%s: no memory for kernel '%s'", c->dev->id, key->name);
}

static lt_status load_module(lt_cuda *c, const lt_kernel_key *key, lt_cuda_module **out)
{
    bool mine;
    LT_TRY(claim(c, key, out, &mine));
    if (!mine) return LT_OK;
    lt_status s = settle_module(c, *out, make_module(c, key, *out));
    if (s) *out = NULL;
    return s;
}

lt_status lt_cuda_have_code(lt_device *dev, const lt_kernel_key *key, bool compile, bool *known)
{
    lt_cuda *c = lt_cuda_of(dev);
    lt_cuda_module *m;
    bool mine;
    *known = true;
    LT_TRY(claim(c, key, &m, &mine));
    if (mine) {
        lt_status s = settle_module(c, m, m->cubin ? LT_OK : get_cubin(c, key, compile, m));
        if (s) return s;
        *known = m->cubin != NULL; /* until now this thread uses it */
    }
    leave_module(c, m);
    return LT_OK;
}

/* ---- Kernels -------------------------------------------------------------------------------- */
static void destroy_kernel(lt_kernel *base)
{
    lt_cuda_kernel *k = (lt_cuda_kernel *)base;
    lt_cuda *c = base->module;
    (void)c->cu->cuCtxSetCurrent(c->context);
    leave_module(c, k->module);
    lt_free(k);
}

static lt_status load(lt_cuda *c, const lt_kernel_key *key, lt_cuda_kernel *k)
{
    char what[160];
    LT_TRY(load_module(c, key, &k->module));
    unsigned r = c->cu->cuModuleGetFunction(&k->function, k->module->handle, key->entry);
    if (!r && key->shared_bytes) /* with what the text itself takes it may pass what needs no asking */
        r = c->cu->cuFuncSetAttribute(k->function, LT_CU_FUNCTION_MAX_SHARED_BYTES, (int)key->shared_bytes);
    if (!r) return LT_OK;
    snprintf(what, sizeof what, "kernel '%.60s', function '%.60s'", key->name, key->entry);
    return lt_cuda_fail(c, r, what, __FILE__, __LINE__);
}

static lt_status check_key(const lt_cuda *c, const lt_kernel_key *key)
{
    if (key->host)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: '%s' is a kernel of the CPU, there is none for this device", c->dev->id, key->name);
    for (int i = 0; i < 3; i++)
        if (!key->grid[i] || !key->block[i])
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: '%s' has a grid of %u x %u x %u blocks of %u x %u x %u threads, expected at least 1",
                           c->dev->id, key->name, key->grid[0], key->grid[1], key->grid[2], key->block[0], key->block[1], key->block[2]);
    if (key->shared_bytes > c->dev->shared_bytes)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: '%s' needs %zu bytes of shared memory, a block has %zu", c->dev->id, key->name,
                       key->shared_bytes, c->dev->shared_bytes);
    return LT_OK;
}

lt_status lt_cuda_build(lt_device *dev, const lt_kernel_key *key, lt_kernel **out)
{
    lt_cuda *c = lt_cuda_of(dev);
    LT_TRY(check_key(c, key));
    LT_TRY(lt_cuda_enter(c));
    size_t length = strlen(key->name) + 1;
    lt_cuda_kernel *k = lt_calloc(1, sizeof *k + length);
    if (!k) return LT_FAIL(LT_ERR_MEMORY, "%s: no memory for kernel '%s'", dev->id, key->name);
    memcpy(k->name, key->name, length);
    k->base = (lt_kernel){ .name = k->name, .destroy = destroy_kernel, .scratch_bytes = key->scratch_bytes, .n_args = key->n_args,
                           .flops = key->flops, .bytes = key->bytes, .module = c };
    memcpy(k->grid, key->grid, sizeof k->grid);
    memcpy(k->block, key->block, sizeof k->block);
    k->shared_bytes = (unsigned)key->shared_bytes;
    k->early = key->waits && c->early;
    lt_status s = load(c, key, k);
    if (s) destroy_kernel(&k->base);
    else *out = &k->base;
    return s;
}
