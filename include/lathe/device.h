/* Devices: what is here, opening one, its memory, how fast it copies.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_DEVICE_H
#define LATHE_DEVICE_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Devices --------------------------------------------------------------- */
typedef struct lt_device lt_device;          /* opaque: made by lt_device_open */

typedef struct lt_device_info {
    size_t  size;
    char    id[16];                          /* what lt_device_open takes: "cpu", "cuda:0" */
    char    name[64];                        /* "Intel(R) Xeon(R) Processor @ 2.80GHz" */
    char    features[192];                   /* "sse4.2 avx avx2 fma …", "sm_90" */
    char    driver[32];                      /* "" on the CPU */
    int     cores;                           /* cores this process may use; multiprocessors */
    int64_t memory_total_bytes, memory_free_bytes; /* a container's limit is respected */
    int64_t cache_bytes[3];                  /* L1 data, L2, L3 of one core; 0 = unknown */
    bool    computes;                        /* false for "null", which plans and counts only, and for a GPU without NVRTC */
    bool    own_memory;                      /* false for "cpu", which works in the caller's */
} lt_device_info;

/* name: "auto" (the best that computes), "cpu", "null", "cuda" or "cuda:<ordinal>". A device
   that cannot run here is an error, never a silent substitute. */
LT_API lt_status lt_device_open(const char *name, lt_device **out);
/* NULL is allowed. Everything made on the device must be gone before. */
LT_API void      lt_device_close(lt_device *dev);

LT_API int       lt_device_count(void);      /* devices that open here: cpu, null, then others */
LT_API lt_status lt_device_list(int index, lt_device_info *out);
LT_API lt_status lt_device_describe(lt_device *dev, lt_device_info *out);
LT_API const char *lt_device_id(const lt_device *dev);   /* "cpu"; valid while the device is open */

/* ---- Libraries a GPU works with ---------------------------------------------- */
typedef struct lt_device_library_info {
    size_t size;
    char name[16], purpose[40], version[32]; /* "cuDNN", "convolution", "9.13.0" */
    bool usable;                             /* opened, with every function that is needed */
    char reason[400];                        /* when not: why, and what to do */
} lt_device_library_info;
/* The index-th library of NVIDIA's that is opened at run time, GPU or not; false past the last one. */
LT_API bool lt_device_library(int index, lt_device_library_info *out);

/* ---- Memory ---------------------------------------------------------------- */
typedef struct lt_memory_stats {             /* of the device's caching allocator */
    size_t  size;
    int64_t in_use_bytes, reserved_bytes;    /* handed out; taken from the device */
    int64_t peak_in_use_bytes, peak_reserved_bytes;
    int64_t limit_bytes;                     /* of reserved; 0 = none */
    int64_t allocs, frees, hits, misses;     /* hit: served without asking the device */
    int64_t splits, merges, stream_waits;    /* stream_waits: reuse across streams, by event */
} lt_memory_stats;

LT_API lt_status lt_device_memory(lt_device *dev, lt_memory_stats *out);
/* 0 lifts the limit. Memory already reserved above it stays until trimmed. */
LT_API lt_status lt_device_memory_limit(lt_device *dev, int64_t limit_bytes);
LT_API lt_status lt_device_memory_trim(lt_device *dev); /* gives unused memory back */

/* Bytes read plus bytes written per second by a copy of `bytes` within the device's memory: the limit that
   kernels which only stream are held against. The median of several copies; takes twice the memory. */
LT_API lt_status lt_device_bandwidth(lt_device *dev, int64_t bytes, double *bytes_per_second);
/* Seconds that a copy of `bytes` takes from ordinary host memory to the device, and back: in one piece, or staged through
   page-locked memory, some pieces under way at once. Medians of `rounds` copies. pinned: the staging memory is page-locked. */
LT_API lt_status lt_device_transfer_seconds(lt_device *dev, int64_t bytes, bool staged, int rounds, double *to_device, double *to_host, bool *pinned);

#ifdef __cplusplus
}
#endif
#endif
