/* The right to write a dataset: one process has it at a time, from before anything is touched.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/store_internal.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/temporary.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two names of one file (a link and its target) share one journal. */
static lt_status claim(const char *path, lt_store_claim *c)
{
    struct stat st;
    LT_TRY(lt_file_resolve(path, &c->path));
    if (stat(c->path, &st) == 0 && !S_ISREG(st.st_mode))
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: not a regular file, and cannot be replaced by one", path);
    return lt_journal_claim(c->path, &c->journal);
}

lt_status lt_store_claim_take(const char *path, lt_store_claim **out)
{
    *out = NULL;
    lt_store_claim *c = lt_calloc(1, sizeof *c);
    if (!c) return LT_ERR_MEMORY;
    lt_status s = claim(path, c);
    if (s) lt_store_claim_release(c);
    else *out = c;
    return s;
}

void lt_store_claim_release(lt_store_claim *c)
{
    if (!c) return;
    lt_journal_close(&c->journal);
    for (size_t i = 0; i < LT_LEN(c->place); i++) lt_temporary_unlist(c->place[i]);
    lt_free(c->path);
    lt_free(c);
}

void lt_store_claim_list(lt_store_claim *c, bool file)
{
    struct stat st;
    if (!fstat(c->journal.fd, &st) && st.st_size == 0) c->place[0] = lt_temporary_list(c->journal.path); /* else it holds rows of another run */
    if (file) c->place[1] = lt_temporary_list(c->path);
}

bool lt_store_claim_has_run(const lt_store_claim *c, const void *identity, size_t identity_bytes)
{
    bool foreign = true;
    struct stat st;
    lt_digest digest = lt_sha256_of(identity, identity_bytes);
    return lt_journal_exists(c->path) && !stat(c->path, &st) && !lt_journal_is_foreign(&c->journal, &digest, &foreign) && !foreign;
}

lt_status lt_store_claim_clear(const lt_store_claim *c)
{
    return ftruncate(c->journal.fd, 0) ? LT_FAIL(LT_ERR_IO, "%s: cannot be emptied: %s", c->journal.path, strerror(errno)) : LT_OK;
}

const char *lt_store_claim_path(const lt_store_claim *c) { return c->path; }

lt_status lt_store_claim_check(const lt_store_claim *c, const void *identity, size_t identity_bytes)
{
    bool foreign;
    lt_digest digest = lt_sha256_of(identity, identity_bytes);
    LT_TRY(lt_journal_is_foreign(&c->journal, &digest, &foreign));
    return foreign ? LT_FAIL(LT_ERR_ARGUMENT, "%s: holds an unfinished run: finish it (lathe generate --resume), choose another path, or remove %s", c->path,
                             c->journal.path) : LT_OK;
}
