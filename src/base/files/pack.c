/* Many entries in one file of the cache folder. SPDX-License-Identifier: BSD-3-Clause */
#include "base/files/pack.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* "lathe-packs 1 <name>\n": a name drawn when the file is made, since another one may get its number. */
enum { NAME_AT = 14, NAME_BYTES = 16, FIRST = NAME_AT + NAME_BYTES + 1 };
static const char file_magic[] = "lathe-packs 1 ";
/* Of each entry: "lathe-pack 1 <digest of key> <digest of content> <bytes of content>\n", then the content. */
enum { HEX = 64, DIGITS = 16, KEY_AT = 13, CONTENT_AT = KEY_AT + HEX + 1, SIZE_AT = CONTENT_AT + HEX + 1, HEAD_BYTES = SIZE_AT + DIGITS + 1 };
static const char magic[] = "lathe-pack 1 ";

typedef struct item { char key[HEX], content[HEX]; off_t at; size_t bytes; } item;

/* What is known of the file used last: its entries as far as `end`. Under the lock. */
static struct known { char name[NAME_BYTES]; off_t end; item *item; int64_t n, max; } known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static lt_status path_of(const char *file, char path[static PATH_MAX])
{
    LT_TRY(lt_cache_dir(path, PATH_MAX - 70));
    size_t n = strlen(path);
    snprintf(path + n, PATH_MAX - n, "/%.64s", file);
    return LT_OK;
}

static void make_head(const char *key, const void *data, size_t n_bytes, char head[static HEAD_BYTES + 1])
{
    lt_digest k = lt_sha256_of(key, strlen(key)), content = lt_sha256_of(data, n_bytes);
    snprintf(head, HEAD_BYTES + 1, "%s%s %s %0*llx\n", magic, lt_digest_hex(&k).s, lt_digest_hex(&content).s, DIGITS, (unsigned long long)n_bytes);
}

/* Bytes of the content behind a head; -1 where it is none. */
static int64_t content_bytes(const char head[static HEAD_BYTES])
{
    int64_t n = 0;
    if (memcmp(head, magic, KEY_AT) || head[CONTENT_AT - 1] != ' ' || head[SIZE_AT - 1] != ' ' || head[HEAD_BYTES - 1] != '\n') return -1;
    for (int i = 0; i < DIGITS; i++) {
        const char *digits = "0123456789abcdef", *d = head[SIZE_AT + i] ? strchr(digits, head[SIZE_AT + i]) : NULL;
        if (!d || n > INT64_MAX >> 5) return -1;
        n = n * 16 + (d - digits);
    }
    return n;
}

static bool read_at(int fd, void *to, size_t n_bytes, off_t at)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t got = pread(fd, (char *)to + done, n_bytes - done, at + (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static bool write_at(int fd, const void *from, size_t n_bytes, off_t at)
{
    for (size_t done = 0; done < n_bytes;) {
        ssize_t put = pwrite(fd, (const char *)from + done, n_bytes - done, at + (off_t)done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        done += (size_t)put;
    }
    return true;
}

static bool add_item(const char head[static HEAD_BYTES], size_t bytes)
{
    if (known.n == known.max) {
        int64_t more = known.max ? 2 * known.max : 64;
        item *p = lt_realloc(known.item, (size_t)more * sizeof *p);
        if (!p) return false;
        known.item = p, known.max = more;
    }
    item *i = &known.item[known.n++];
    memcpy(i->key, head + KEY_AT, HEX);
    memcpy(i->content, head + CONTENT_AT, HEX);
    i->at = known.end + HEAD_BYTES, i->bytes = bytes;
    return true;
}

/* Goes on through the file from where it ended last time; false when it cannot be asked for its size. Without its first line it has no end. */
static bool look(int fd, off_t *size)
{
    struct stat st;
    char first[FIRST];
    if (fstat(fd, &st)) return false;
    *size = st.st_size;
    bool named = read_at(fd, first, FIRST, 0) && !memcmp(first, file_magic, NAME_AT) && first[FIRST - 1] == '\n';
    if (!named || memcmp(first + NAME_AT, known.name, NAME_BYTES) || st.st_size < known.end) known.n = 0, known.end = FIRST;
    if (!named) known.end = 0;
    if (!named) return true;
    memcpy(known.name, first + NAME_AT, NAME_BYTES);
    for (char head[HEAD_BYTES]; st.st_size - known.end >= HEAD_BYTES && read_at(fd, head, sizeof head, known.end);) {
        int64_t bytes = content_bytes(head);
        if (bytes < 0 || bytes > st.st_size - known.end - HEAD_BYTES || !add_item(head, (size_t)bytes)) break;
        known.end += HEAD_BYTES + bytes;
    }
    return true;
}

/* The newest. */
static const item *find(const char *key)
{
    lt_digest d = lt_sha256_of(key, strlen(key));
    lt_digest_text text = lt_digest_hex(&d);
    for (int64_t i = known.n; i-- > 0;)
        if (!memcmp(known.item[i].key, text.s, HEX)) return &known.item[i];
    return NULL;
}

static lt_status read_item(int fd, const item *i, char **data, size_t *n_bytes)
{
    char *x = lt_malloc(i->bytes + 1);
    if (!x) return LT_FAIL(LT_ERR_MEMORY, "cache: %zu bytes for an entry", i->bytes);
    bool whole = read_at(fd, x, i->bytes, i->at);
    lt_digest content = whole ? lt_sha256_of(x, i->bytes) : (lt_digest){ { 0 } };
    if (!whole || memcmp(lt_digest_hex(&content).s, i->content, HEX)) {
        lt_free(x);
        return LT_OK;
    }
    x[i->bytes] = 0;
    *data = x, *n_bytes = i->bytes;
    return LT_OK;
}

lt_status lt_pack_get(const char *file, const char *key, size_t limit_bytes, char **data, size_t *n_bytes)
{
    char path[PATH_MAX];
    off_t size;
    *data = NULL, *n_bytes = 0;
    LT_TRY(path_of(file, path));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno == ENOENT ? LT_OK : LT_FAIL(lt_file_status(errno), "%s: %s", path, strerror(errno));
    pthread_mutex_lock(&lock);
    const item *found = look(fd, &size) ? find(key) : NULL;
    item own = found ? *found : (item){ .bytes = 0 };
    pthread_mutex_unlock(&lock);
    lt_status s = found && own.bytes <= limit_bytes ? read_item(fd, &own, data, n_bytes) : LT_OK;
    close(fd);
    return s;
}

/* Takes the lock of the file that has this name now: who waited may have got that of one that is gone. */
static lt_status open_to_write(const char *path, lt_file_lock *file)
{
    for (;;) {
        struct stat own, named;
        bool taken;
        LT_TRY(lt_file_lock_take(path, true, file, &taken));
        if (!fstat(file->fd, &own) && !stat(path, &named) && own.st_dev == named.st_dev && own.st_ino == named.st_ino) return LT_OK;
        lt_file_lock_release(file);
    }
}

static uint64_t draw_name(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t drawn[] = { now.tv_sec, now.tv_nsec, getpid() };
    return lt_hash64(drawn, sizeof drawn, 0);
}

/* Behind what is whole; what else stands there is cut off, as is an entry that has no room. */
static lt_status append(int fd, const char *path, off_t end, off_t size, const char *head, const void *data, size_t n_bytes)
{
    char first[FIRST + 1];
    off_t at = end ? end : FIRST;
    if (size > end && ftruncate(fd, end)) return LT_FAIL(LT_ERR_IO, "%s: %s", path, strerror(errno));
    snprintf(first, sizeof first, "%s%0*llx\n", file_magic, NAME_BYTES, (unsigned long long)draw_name());
    bool named = end || write_at(fd, first, FIRST, 0);
    if (named && write_at(fd, head, HEAD_BYTES, at) && write_at(fd, data, n_bytes, at + HEAD_BYTES)) return LT_OK;
    lt_status s = LT_FAIL(LT_ERR_IO, "%s: %s", path, strerror(errno));
    if (ftruncate(fd, end)) return s; /* the next one cuts it off */
    return s;
}

lt_status lt_pack_put(const char *file, const char *key, const void *data, size_t n_bytes, size_t most_bytes)
{
    char path[PATH_MAX], head[HEAD_BYTES + 1];
    lt_file_lock f;
    off_t size;
    LT_TRY(path_of(file, path));
    make_head(key, data, n_bytes, head);
    LT_TRY(open_to_write(path, &f));
    pthread_mutex_lock(&lock);
    bool known_size = look(f.fd, &size);
    off_t end = known.end;
    pthread_mutex_unlock(&lock);
    lt_status s = known_size ? LT_OK : LT_FAIL(LT_ERR_IO, "%s: %s", path, strerror(errno));
    if (!s && end > FIRST && (size_t)end + HEAD_BYTES + n_bytes > most_bytes) {
        s = unlink(path) ? LT_FAIL(LT_ERR_IO, "%s: %s", path, strerror(errno)) : LT_OK;
        lt_file_lock_release(&f);
        return s ? s : lt_pack_put(file, key, data, n_bytes, most_bytes);
    }
    if (!s) s = append(f.fd, path, end, size, head, data, n_bytes);
    lt_file_lock_release(&f);
    return s;
}
