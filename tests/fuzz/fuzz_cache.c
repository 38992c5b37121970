/* Fuzz target: any bytes as an entry of the cache folder (compiled kernels, learnt tiles), and any text with a digest that fits as learnt
   tiles. An entry whose digest is wrong is gone and counts as none. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "qkernel/history.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

enum { HEAD_BYTES = 14 + 64 + 1 + 64 + 1, LIMIT = 1 << 16 };
static const char key[] = "fuzz";
static char folder[400], entry[600];

static void make_folder(void)
{
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1);
    snprintf(folder, sizeof folder, "%s", scratch("cache"));
    setenv("LATHE_CACHE", folder, 1);
    lt_digest d = lt_sha256_of(key, strlen(key));
    LT_FUZZ_REQUIRE(lt_cache_put(key, "x", 1) == LT_OK);
    snprintf(entry, sizeof entry, "%s/%s", folder, lt_digest_hex(&d).s);
}

static void write_entry(const char *path, const void *head, const uint8_t *data, size_t n_bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    LT_FUZZ_REQUIRE(fd >= 0 && (!head || write(fd, head, HEAD_BYTES) == HEAD_BYTES) && write(fd, data, n_bytes) == (ssize_t)n_bytes);
    close(fd);
}

/* The head that fits this content, with byte `wrong` of it changed where that lies inside. */
static void make_head(const uint8_t *data, size_t n_bytes, size_t wrong, char *head)
{
    lt_digest k = lt_sha256_of(key, strlen(key)), content = lt_sha256_of(data, n_bytes);
    snprintf(head, HEAD_BYTES + 1, "lathe-cache 1 %s %s\n", lt_digest_hex(&k).s, lt_digest_hex(&content).s);
    if (wrong < HEAD_BYTES) head[wrong] ^= 1;
}

static void check_entry(const uint8_t *data, size_t n_bytes, bool good)
{
    char *got;
    size_t n;
    LT_FUZZ_REQUIRE(lt_cache_get(key, LIMIT, &got, &n) == LT_OK);
    LT_FUZZ_REQUIRE((got != NULL) == good && (!good || (n == n_bytes && !memcmp(got, data, n) && got[n] == 0)));
    LT_FUZZ_REQUIRE(good == (access(entry, F_OK) == 0));
    lt_free(got);
}

/* The file of the list of learnt tiles: the one that saving makes. */
static const char *tiles_name(void)
{
    static char name[80];
    static const lt_tile_history none;
    if (name[0]) return name;
    LT_FUZZ_REQUIRE(lt_history_save("fuzz", LT_GRAM_STATES, LT_GRAM_FLOAT64, &none) == LT_OK);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strlen(e->d_name) == 64 && !strstr(entry, e->d_name)) snprintf(name, sizeof name, "%.64s", e->d_name);
    closedir(d);
    LT_FUZZ_REQUIRE(name[0]);
    return name;
}

/* Any text as the list, with a digest that fits: what is taken from it is sensible. */
static void check_tiles(const uint8_t *text, size_t n_bytes)
{
    static lt_tile_history h;
    char path[600], head[HEAD_BYTES + 1];
    lt_digest content = lt_sha256_of(text, n_bytes);
    snprintf(path, sizeof path, "%s/%s", folder, tiles_name());
    snprintf(head, sizeof head, "lathe-cache 1 %s %s\n", tiles_name(), lt_digest_hex(&content).s);
    write_entry(path, head, text, n_bytes);
    LT_FUZZ_REQUIRE(lt_history_load("fuzz", LT_GRAM_STATES, LT_GRAM_FLOAT64, &h) == LT_OK && h.n_records >= 0 && h.n_records <= LT_HISTORY_MAX);
    for (int i = 0; i < h.n_records; i++) {
        const lt_tile_record *r = &h.record[i];
        LT_FUZZ_REQUIRE(r->n > 0 && r->n_qubits > 0 && r->state_tile >= -1 && r->tile_size > 0 && r->pairs_per_second >= 0 && r->peak_bytes >= 0);
    }
    lt_tile_prediction p = lt_history_predict(&h, 100, 4, 1 << 20);
    LT_FUZZ_REQUIRE(p.confidence >= 0 && p.confidence <= 1);
    (void)lt_history_statistics(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 2) return 0;
    if (!entry[0]) make_folder();
    int64_t live = lt_alloc_live();
    const uint8_t *body = data + 2;
    size_t n = n_bytes - 2, wrong = data[1] + (data[0] & 0x80 ? HEAD_BYTES : 0);
    char head[HEAD_BYTES + 1];
    switch (data[0] % 4) {
    case 0: /* as it came: short, or with a head that cannot fit */
        write_entry(entry, NULL, body, n);
        check_entry(NULL, 0, false);
        break;
    case 1:
        check_tiles(body, n);
        break;
    default:
        make_head(body, n, wrong, head);
        write_entry(entry, head, body, n);
        check_entry(body, n, wrong >= HEAD_BYTES);
    }
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const char *const seeds[] = { "\4\1lathe-cache 1 ", "\1\1 1000 4 -1 128 5000000 65536\n 2000 4 64 32 100 1\n", "\2\5content", "\x82\1\1\2\3", "\3\x30",
                                         "\1\1 99999999999999999999 -1 0 0 0 0\n", "\1\1 1 1 1 1 1 1 1 1 1" };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}
