/* The cache folder: where it is, whether it can be trusted, and its entries.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/alloc.h"
#include "base/config.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/status.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The folder ------------------------------------------------------------------- */
static lt_status choose_folder(char *path, size_t bytes)
{
    const char *own = lt_config_text(LT_CONFIG_CACHE), *xdg = lt_config_text(LT_CONFIG_XDG_CACHE);
    const char *user = lt_config_text(LT_CONFIG_USER_FOLDER);
    int n;
    if (own) n = snprintf(path, bytes, "%s", own);
    else if (xdg && xdg[0] == '/') n = snprintf(path, bytes, "%s/lathe", xdg); /* XDG: relative ones are ignored */
    else if (user) n = snprintf(path, bytes, "%s/.cache/lathe", user);
    else return LT_FAIL(LT_ERR_IO, "no cache folder: none of LATHE_CACHE, XDG_CACHE_HOME and HOME is set");
    if (n < 0 || (size_t)n >= bytes)
        return LT_FAIL(LT_ERR_IO, "cache folder '%.80s…': path of %d bytes, expected fewer than %zu", path, n, bytes);
    return LT_OK;
}

lt_status lt_cache_dir(char *path, size_t path_bytes)
{
    LT_TRY(choose_folder(path, path_bytes));
    struct stat st;
    if (stat(path, &st)) {
        LT_TRY(lt_file_make_folders(path, 0700));
        if (mkdir(path, 0700) && errno != EEXIST) return LT_FAIL(LT_ERR_IO, "cache folder '%s': cannot be made: %s", path, strerror(errno));
        if (stat(path, &st)) return LT_FAIL(LT_ERR_IO, "cache folder '%s': %s", path, strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) return LT_FAIL(LT_ERR_IO, "cache folder '%s': is a file, expected a folder", path);
    if (st.st_uid != geteuid())
        return LT_FAIL(LT_ERR_IO, "cache folder '%s': belongs to user %u, expected %u", path, (unsigned)st.st_uid,
                       (unsigned)geteuid());
    if (st.st_mode & 022)
        return LT_FAIL(LT_ERR_IO, "cache folder '%s': mode %04o lets others write to it, expected 0700", path,
                       (unsigned)(st.st_mode & 07777));
    return LT_OK;
}

/* ---- Entries ------------------------------------------------------------------------ */
/* "lathe-cache 1 <digest of key> <digest of content>\n", then the content. */
enum { HEAD_BYTES = 14 + 64 + 1 + 64 + 1 };

static void make_head(const lt_digest *key, const void *data, size_t n_bytes, char head[HEAD_BYTES + 1])
{
    lt_digest content = lt_sha256_of(data, n_bytes);
    snprintf(head, HEAD_BYTES + 1, "lathe-cache 1 %s %s\n", lt_digest_hex(key).s, lt_digest_hex(&content).s);
}

static lt_status entry_path(const lt_digest *key, char *path, size_t bytes)
{
    LT_TRY(lt_cache_dir(path, bytes - 70)); /* room for "/" and the digest */
    size_t n = strlen(path);
    snprintf(path + n, bytes - n, "/%s", lt_digest_hex(key).s);
    return LT_OK;
}

lt_status lt_cache_put(const char *key, const void *data, size_t n_bytes)
{
    lt_digest key_digest = lt_sha256_of(key, strlen(key));
    char path[PATH_MAX], head[HEAD_BYTES + 1];
    LT_TRY(entry_path(&key_digest, path, sizeof path));
    make_head(&key_digest, data, n_bytes, head);
    lt_atomic_file f;
    LT_TRY(lt_atomic_open(path, &f));
    lt_status s = lt_atomic_write(&f, head, HEAD_BYTES);
    if (!s) s = lt_atomic_write(&f, data, n_bytes);
    if (!s) return lt_atomic_commit(&f);
    lt_atomic_cancel(&f);
    return s;
}

lt_status lt_cache_get(const char *key, size_t limit_bytes, char **data, size_t *n_bytes)
{
    *data = NULL;
    *n_bytes = 0;
    lt_digest key_digest = lt_sha256_of(key, strlen(key));
    char path[PATH_MAX], head[HEAD_BYTES + 1];
    LT_TRY(entry_path(&key_digest, path, sizeof path));
    if (access(path, F_OK)) return LT_OK;
    char *entry;
    size_t n;
    LT_TRY(lt_file_read(path, limit_bytes + HEAD_BYTES, &entry, &n));
    if (n >= HEAD_BYTES) make_head(&key_digest, entry + HEAD_BYTES, n - HEAD_BYTES, head);
    if (n < HEAD_BYTES || memcmp(entry, head, HEAD_BYTES)) {
        lt_free(entry);
        unlink(path);
        return LT_OK;
    }
    memmove(entry, entry + HEAD_BYTES, n - HEAD_BYTES + 1);
    *data = entry;
    *n_bytes = n - HEAD_BYTES;
    return LT_OK;
}
