/* What the processor is and how much memory this process may use.
   SPDX-License-Identifier: BSD-3-Clause */
#include "device/cpu/cpu.h"

#include "base/status.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* ---- Memory ---------------------------------------------------------------------------------- */
/* The first number in a file; -1 when there is none ("max", or no such file). */
static int64_t read_number(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    long long v = -1;
    if (fscanf(f, "%lld", &v) != 1) v = -1;
    fclose(f);
    return v;
}

static int64_t meminfo(const char *key)
{
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return -1;
    char line[128];
    long long kib = -1;
    size_t n = strlen(key);
    while (kib < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && line[n] == ':') kib = strtoll(line + n + 1, NULL, 10);
    fclose(f);
    return kib < 0 ? -1 : (int64_t)kib * 1024;
}

/* The control group of this process: "controller" is "" for version 2, "memory" for version 1. */
static bool cgroup_path(const char *controller, char *out, size_t bytes)
{
    FILE *f = fopen("/proc/self/cgroup", "r");
    if (!f) return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        if (strcmp(names + 1, controller)) continue;
        found = snprintf(out, bytes, "%s", strcmp(path, "/") ? path : "") < (int)bytes;
    }
    fclose(f);
    return found;
}

/* A limit may sit on any level above; inside a container its own level is the root. */
static int64_t smallest_limit(const char *root, char *group, const char *file, int64_t *used, const char *used_file)
{
    int64_t least = -1;
    for (;;) {
        char path[700];
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        int64_t limit = read_number(path);
        if (limit > 0 && (least < 0 || limit < least)) {
            least = limit;
            snprintf(path, sizeof path, "%s%s/%s", root, group, used_file);
            *used = LT_MAX(read_number(path), 0);
        }
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static int64_t cgroup_limit(int64_t *used)
{
    char group[512];
    *used = 0;
    if (cgroup_path("", group, sizeof group)) {
        int64_t limit = smallest_limit("/sys/fs/cgroup", group, "memory.max", used, "memory.current");
        if (limit > 0) return limit;
    }
    if (cgroup_path("memory", group, sizeof group))
        return smallest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", used, "memory.usage_in_bytes");
    return -1;
}

int64_t lt_cpu_memory_total(void)
{
    int64_t total = meminfo("MemTotal"), used, limit = cgroup_limit(&used);
    if (total < 0) total = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return limit > 0 && limit < total ? limit : total;
}

int64_t lt_cpu_memory_free(void)
{
    int64_t avail = meminfo("MemAvailable"), used, limit = cgroup_limit(&used);
    if (avail < 0) avail = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t left = limit > 0 ? LT_MAX(limit - used, 0) : avail;
    return LT_MIN(left, avail);
}

/* ---- The processor ------------------------------------------------------------------------------ */
static void processor_name(char *out, size_t bytes)
{
    snprintf(out, bytes, "unknown processor");
#if defined(__x86_64__)
    unsigned r[12];
    if ((unsigned)__get_cpuid_max(0x80000000, NULL) < 0x80000004) return;
    for (unsigned i = 0; i < 3; i++) __get_cpuid(0x80000002 + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
    char brand[sizeof r + 1];
    memcpy(brand, r, sizeof r);
    brand[sizeof r] = 0;
    const char *start = brand + strspn(brand, " ");
    snprintf(out, bytes, "%s", start);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' ';) out[--n] = 0;
#endif
}

#if defined(__x86_64__)
/* The compiler's probe also asks whether the system saves the wide registers. */
#define FEATURES(X) X("sse4.2") X("avx") X("avx2") X("fma") X("avx512f") X("avx512dq") X("avx512bw") X("avx512vl") X("avx512vnni")
static void list_features(char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    __builtin_cpu_init();
#define X(name)                                                                                  \
    if (__builtin_cpu_supports(name) && used < bytes)                                            \
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? " " : "", name);
    FEATURES(X)
#undef X
}
#else
static void list_features(char *out, size_t bytes) { snprintf(out, bytes, "%s", ""); }
#endif

/* Cache `level` of core 0 from the system's tables; instruction caches left out. */
static int64_t cache_size(int level)
{
    for (int i = 0; i < 8; i++) {
        char path[96], type[32] = "";
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        FILE *f = fopen(path, "r");
        if (!f) break;
        bool data = fgets(type, sizeof type, f) && strncmp(type, "Instruction", 11) != 0;
        fclose(f);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!data || read_number(path) != level) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        return LT_MAX(read_number(path), 0) * 1024; /* "48K" */
    }
    static const int name[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE };
    return LT_MAX((int64_t)sysconf(name[level - 1]), 0);
}

static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return (int)LT_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

lt_status lt_cpu_describe(lt_device *dev, lt_device_info *out)
{
    (void)dev;
    processor_name(out->name, sizeof out->name);
    list_features(out->features, sizeof out->features);
    out->cores = usable_cores();
    out->memory_total_bytes = lt_cpu_memory_total();
    out->memory_free_bytes = lt_cpu_memory_free();
    for (int level = 1; level <= 3; level++) out->cache_bytes[level - 1] = cache_size(level);
    out->computes = true;
    return LT_OK;
}
