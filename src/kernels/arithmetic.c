/* What the last bits of results depend on. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/arithmetic.h"

#include "base/status.h"
#include "device/flags.h"
#include "kernels/kernel_table.h"
#include "lathe/features.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#if LT_HAVE_ONEDNN
#include "kernels/cpu/conv/onednn/onednn.h"
#endif
#if LT_HAVE_FFTW || LT_HAVE_FFTWF
#include <fftw3.h>
#endif

__attribute__((format(printf, 3, 4))) static void add(lt_arithmetic *a, const char *what, const char *format, ...)
{
    va_list arg;
    lt_arithmetic_trait *t = &a->trait[a->n++];
    t->what = what;
    va_start(arg, format);
    vsnprintf(t->text, sizeof t->text, format, arg);
    va_end(arg);
}

/* Loops of ours: what they are compiled by and for, and the functions of the C library they call. */
static void add_own(lt_arithmetic *a, const lt_device_info *cpu)
{
    add(a, "instruction set", "%s of %s", lt_isa_name(lt_isa_best()), cpu->features);
    add(a, "compiler of lathe", "%s, %s", lt_build_compiler(), lt_build_type());
#ifdef __GLIBC__
    add(a, "C library", "glibc %s", gnu_get_libc_version());
#endif
}

/* Their blocks follow the caches of the processor, and their kernels its model. */
static void add_libraries(lt_arithmetic *a, const lt_device_info *cpu)
{
    const char *(*config)(void) = NULL;
    add(a, "processor caches", "%" PRId64 ", %" PRId64 " and %" PRId64 " KiB", cpu->cache_bytes[0] >> 10, cpu->cache_bytes[1] >> 10, cpu->cache_bytes[2] >> 10);
    add(a, "bfloat16 products", "%s", lt_kernel_bf16_is_native() ? "native" : "widened");
    *(void **)&config = lt_openblas_function("openblas_get_config");
    add(a, "OpenBLAS", "%s", config ? config() : "none");
#if LT_HAVE_ONEDNN
    char text[64];
    lt_onednn_describe(text, sizeof text);
    add(a, "oneDNN", "%s", text);
#endif
#if LT_HAVE_FFTW
    add(a, "FFTW", "%s", fftw_version);
#endif
#if LT_HAVE_FFTWF
    add(a, "FFTW in single precision", "%s", fftwf_version);
#endif
}

static lt_status add_gpu(lt_arithmetic *a, lt_device *dev, bool libraries)
{
    char text[sizeof a->trait[0].text];
    size_t used = 0;
    lt_device_info d = { .size = sizeof d };
    lt_device_library_info l = { .size = sizeof l };
    LT_TRY(lt_device_describe(dev, &d));
    add(a, "kind of GPU", "%s, %s, driver %s", d.name, d.features, d.driver);
    text[0] = 0;
    for (int i = 0; libraries && lt_device_library(i, &l) && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", i ? ", " : "", l.name, l.usable ? l.version : "none");
    if (libraries) add(a, "CUDA libraries", "%s", text);
    return LT_OK;
}

lt_status lt_arithmetic_describe(lt_device *dev, bool libraries, lt_arithmetic *out)
{
    lt_device_info cpu = { .size = sizeof cpu };
    lt_error before;
    out->n = 0;
    LT_TRY(lt_device_list(0, &cpu));
    lt_error_keep(&before);
    add_own(out, &cpu);
    if (libraries) add_libraries(out, &cpu);
    lt_error_restore(&before); /* a library that is not here is no failure */
    return dev && lt_device_has(dev, LT_DEVICE_OWN_MEMORY) ? add_gpu(out, dev, libraries) : LT_OK;
}
