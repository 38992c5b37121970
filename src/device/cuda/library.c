/* Opening the vendor's libraries at run time. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/library.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/status.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Where toolkits install when the loader's own search path does not know them. */
static const char *const folders[] = { "/usr/local/cuda/lib64", "/usr/local/cuda/lib" };

static void *open_in(const char *folder, const char *file)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    return n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Tries every name; why says what the loader said of the first. */
static void *open_any(const lt_cuda_library *lib, char *why, size_t bytes)
{
    const char *own = lt_config_text(LT_CONFIG_CUDA);
    if (own && own[0] != '/') own = NULL; /* the current folder may be anybody's; lt_env_check says so */
    why[0] = 0;
    for (const char *const *file = lib->files; *file; file++) {
        void *h = own ? open_in(own, *file) : NULL;
        if (!h) h = dlopen(*file, RTLD_NOW | RTLD_LOCAL);
        if (!h && !why[0]) {
            const char *text = dlerror();
            snprintf(why, bytes, "%s", text ? text : "no reason given");
        }
        for (size_t i = 0; !h && i < LT_LEN(folders); i++) h = open_in(folders[i], *file);
        if (h) return h;
    }
    return NULL;
}

/* Where memory runs out while one of these libraries starts, it ends the process. The largest maps 520 MiB and takes 40 more to start. */
static const size_t room_to_start = (size_t)1 << 30;

lt_status lt_cuda_library_open(const lt_cuda_library *lib, void *table, size_t table_bytes)
{
    if (table_bytes != (size_t)lib->n_symbols * sizeof(void *))
        return LT_FAIL(LT_ERR_INTERNAL, "%s: a table of %zu bytes for %d functions", lib->title, table_bytes, lib->n_symbols);
    if (!lt_has_room(room_to_start))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "%s cannot be opened: fewer than %zu MiB of memory are left to this process (ulimit -v, ulimit -d)", lib->title,
                       room_to_start >> 20);
    char why[200];
    void *h = open_any(lib, why, sizeof why);
    if (!h) return LT_FAIL(LT_ERR_UNSUPPORTED, "%s cannot be opened: %s; %s", lib->title, why, lib->remedy);
    for (int i = 0; i < lib->n_symbols; i++) {
        void *f = dlsym(h, lib->symbols[i]);
        if (!f) {
            dlclose(h);
            return LT_FAIL(LT_ERR_UNSUPPORTED, "%s (%s) lacks the function %s: its version does not fit; %s", lib->title,
                           lib->files[0], lib->symbols[i], lib->remedy);
        }
        memcpy((char *)table + (size_t)i * sizeof f, &f, sizeof f);
    }
    return LT_OK;
}

/* ---- Driver --------------------------------------------------------------------------- */
#define X(result, name, args) #name,
static const char *const driver_symbols[] = { LT_CUDA_DRIVER_FUNCTIONS(X) };
static const char *const nvrtc_symbols[] = { LT_NVRTC_FUNCTIONS(X) };
#undef X

static lt_status check_driver(const lt_cuda_driver *cu)
{
    int version = 0;
    if (cu->cuDriverGetVersion(&version)) return LT_FAIL(LT_ERR_UNSUPPORTED, "the CUDA driver does not tell its version");
    if (version < LT_CUDA_DRIVER_MIN)
        return LT_FAIL(LT_ERR_UNSUPPORTED, "the CUDA driver supports CUDA %d.%d, expected %d.%d or later: update the NVIDIA driver",
                       version / 1000, version % 1000 / 10, LT_CUDA_DRIVER_MIN / 1000, LT_CUDA_DRIVER_MIN % 1000 / 10);
    unsigned r = cu->cuInit(0);
    const char *name = NULL, *text = NULL;
    if (!r) return LT_OK;
    (void)cu->cuGetErrorName(r, &name);
    (void)cu->cuGetErrorString(r, &text);
    return LT_FAIL(LT_ERR_UNSUPPORTED, "the CUDA driver does not start: %s (%s)", text ? text : "?", name ? name : "?");
}

static lt_status open_driver(lt_cuda_driver *cu)
{
    static const char *const files[] = { "libcuda.so.1", "libcuda.so", NULL };
    static const lt_cuda_library lib = { "the NVIDIA driver", files, "install the NVIDIA driver",
                                         driver_symbols, (int)LT_LEN(driver_symbols) };
    LT_TRY(lt_cuda_library_open(&lib, cu, sizeof *cu));
    return check_driver(cu);
}

static lt_status open_nvrtc(lt_nvrtc *rtc, int version[2])
{
    static const char *const files[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL };
    static const lt_cuda_library lib = { "NVRTC", files,
                                         "install the CUDA toolkit 12.4 or later, or set LATHE_CUDA to the folder that holds it",
                                         nvrtc_symbols, (int)LT_LEN(nvrtc_symbols) };
    LT_TRY(lt_cuda_library_open(&lib, rtc, sizeof *rtc));
    if (rtc->nvrtcVersion(&version[0], &version[1])) return LT_FAIL(LT_ERR_UNSUPPORTED, "NVRTC does not tell its version");
    if (version[0] < 12 || (version[0] == 12 && version[1] < 4))
        return LT_FAIL(LT_ERR_UNSUPPORTED, "NVRTC is %d.%d, expected 12.4 or later: %s", version[0], version[1], lib.remedy);
    return LT_OK;
}

/* ---- Once per process ------------------------------------------------------------------- */
typedef struct once { bool tried; lt_status status; char text[LT_ERROR_TEXT_BYTES]; } once;

static lt_status remember(once *o, lt_status s)
{
    o->tried = true;
    o->status = s;
    if (s) snprintf(o->text, sizeof o->text, "%s", lt_error_text());
    return s;
}

static lt_status repeat(const once *o)
{
    if (o->status) lt_error_set(o->text);
    return o->status;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

lt_status lt_cuda_driver_open(const lt_cuda_driver **out)
{
    static lt_cuda_driver table;
    static once state;
    pthread_mutex_lock(&lock);
    lt_status s = state.tried ? repeat(&state) : remember(&state, open_driver(&table));
    pthread_mutex_unlock(&lock);
    *out = s ? NULL : &table;
    return s;
}

lt_status lt_nvrtc_open(const lt_nvrtc **out, int *major, int *minor)
{
    static lt_nvrtc table;
    static once state;
    static int version[2];
    pthread_mutex_lock(&lock);
    lt_status s = state.tried ? repeat(&state) : remember(&state, open_nvrtc(&table, version));
    pthread_mutex_unlock(&lock);
    *out = s ? NULL : &table;
    *major = version[0];
    *minor = version[1];
    return s;
}
