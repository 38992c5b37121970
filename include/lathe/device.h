/* Devices: what is here, opening one, its memory, and how large a tile fits.
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

/* ---- Tiles ----------------------------------------------------------------- */
/* Pairs of rows are worked on in square tiles of t rows by t rows, which need
   fixed_bytes + t bytes_per_row + t^2 bytes_per_pair. */
typedef struct lt_tile_request {             /* start from lt_tile_request_defaults() */
    size_t  size;
    int64_t rows;                            /* of the whole problem, >= 1 */
    int64_t bytes_per_row, bytes_per_pair;   /* >= 0; both panels of rows count: pass their sum */
    int64_t fixed_bytes;                     /* needed or kept free whatever the tile, >= 0 */
    int64_t free_bytes;                      /* of the device, now */
    double  fraction;                        /* of free_bytes to use: in (0, 1] */
    int64_t min_tile, max_tile;              /* 0 = 1 and no limit; else powers of two */
} lt_tile_request;
LT_API void lt_tile_request_defaults_into(lt_tile_request *out); /* fraction 1, the rest 0 */
static inline lt_tile_request lt_tile_request_defaults(void) { lt_tile_request sized; sized.size = sizeof sized; lt_tile_request_defaults_into(&sized); return sized; }

typedef struct lt_tile_plan {
    size_t  size;
    int64_t tile_rows, n_tiles;              /* tiles along one side */
    int64_t budget_bytes, tile_bytes;
    char    reason[256];                     /* "tile 1024: 2048 would need … of a budget of …" */
} lt_tile_plan;

/* The largest power of two that fits and covers no more than the rows need. LT_ERR_MEMORY,
   naming the numbers, when not even min_tile fits. */
LT_API lt_status lt_plan_tiles(const lt_tile_request *req, lt_tile_plan *out);

#ifdef __cplusplus
}
#endif
#endif
