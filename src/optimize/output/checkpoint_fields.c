/* Reading, checking and writing the fields of a checkpoint, and the file around them.
   SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/output/checkpoint_fields.h"

#include "base/alloc.h"
#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "lathe checkpoint 9\n";
#define FILE_LIMIT ((size_t)1 << 40)

/* ---- Bytes -------------------------------------------------------------------------------------- */
static void give(lt_saved *io, const void *data, size_t bytes)
{
    if (io->status || !bytes) return;
    lt_sha256_add(&io->hash, data, bytes);
    io->status = lt_atomic_write(&io->file, data, bytes);
}

/* The next bytes of the file; NULL where there are not as many, or something failed before. */
static const char *take(lt_saved *io, size_t bytes)
{
    const char *at = io->at;
    lt_saved_expect(io, (size_t)(io->end - io->at) >= bytes, "it ends early");
    if (io->status) return NULL;
    io->at += bytes;
    return at;
}

void lt_saved_skip(lt_saved *io, size_t bytes) { (void)take(io, bytes); }

void lt_saved_expect(lt_saved *io, bool holds, const char *format, ...)
{
    char text[256];
    if (io->writing || io->status || holds) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    io->status = LT_FAIL(LT_ERR_FORMAT, "checkpoint '%s': %s", io->path, text);
}

/* ---- Fields ------------------------------------------------------------------------------------- */
static void count_field(lt_saved *io, const lt_saved_count *f)
{
    int64_t v;
    if (io->writing) {
        give(io, f->at, sizeof *f->at);
        return;
    }
    const char *from = take(io, sizeof v);
    if (!from) return;
    memcpy(&v, from, sizeof v);
    lt_saved_expect(io, v >= f->least && v <= f->most, "%s is %lld, expected %lld..%lld", f->name, (long long)v, (long long)f->least,
                    (long long)f->most);
    if (!io->status) *f->at = v;
}

void lt_saved_counts(lt_saved *io, const lt_saved_count *row, size_t n)
{
    for (size_t i = 0; i < n; i++) count_field(io, &row[i]);
}

void lt_saved_numbers(lt_saved *io, const lt_saved_number *row, size_t n)
{
    for (size_t i = 0; i < n; i++) lt_saved_reals(io, row[i].name, row[i].at, 1, row[i].rule);
}

void lt_saved_int(lt_saved *io, const char *name, int32_t *at, int32_t least, int32_t most)
{
    int32_t v;
    if (io->writing) {
        give(io, at, sizeof *at);
        return;
    }
    const char *from = take(io, sizeof v);
    if (!from) return;
    memcpy(&v, from, sizeof v);
    lt_saved_expect(io, v >= least && v <= most, "%s is %d, expected %d..%d", name, (int)v, (int)least, (int)most);
    if (!io->status) *at = v;
}

void lt_saved_word(lt_saved *io, uint64_t *at)
{
    if (io->writing) {
        give(io, at, sizeof *at);
        return;
    }
    const char *from = take(io, sizeof *at);
    if (from) memcpy(at, from, sizeof *at);
}

/* Compared as bytes: any other value in a bool is undefined. */
void lt_saved_flags(lt_saved *io, const char *name, bool *at, int64_t count)
{
    _Static_assert(sizeof(bool) == 1, "flags are bytes of the file");
    if (io->writing) {
        give(io, at, (size_t)count);
        return;
    }
    const unsigned char *from = (const unsigned char *)take(io, (size_t)count);
    for (int64_t i = 0; from && !io->status && i < count; i++) {
        lt_saved_expect(io, from[i] <= 1, "%s is %d, expected 0 or 1", name, from[i]);
        if (!io->status) at[i] = from[i] == 1;
    }
}

/* Its length, then its bytes; what cannot be printed is read as a question mark. */
void lt_saved_text(lt_saved *io, const char *name, char *text, size_t size)
{
    int64_t n = io->writing ? (int64_t)strlen(text) : 0;
    lt_saved_counts(io, &(lt_saved_count){ name, &n, 0, (int64_t)size - 1 }, 1);
    if (io->writing) {
        give(io, text, (size_t)n);
        return;
    }
    const char *from = take(io, (size_t)n);
    for (int64_t i = 0; from && i < n; i++) text[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    if (from) text[n] = 0;
}

static bool obeys(double v, lt_saved_rule rule) { return rule == LT_SAVED_ANY || (rule == LT_SAVED_NUMBER ? !isnan(v) : isfinite(v)); }

void lt_saved_reals(lt_saved *io, const char *name, double *at, int64_t count, lt_saved_rule rule)
{
    if (io->writing) {
        give(io, at, (size_t)count * sizeof *at);
        return;
    }
    const char *from = take(io, (size_t)count * sizeof *at);
    if (!from || !count) return;
    memcpy(at, from, (size_t)count * sizeof *at);
    for (int64_t i = 0; rule != LT_SAVED_ANY && i < count; i++)
        lt_saved_expect(io, obeys(at[i], rule), "%s is %g, expected %s", name, at[i], rule == LT_SAVED_FINITE ? "a finite number" : "a number");
}

void lt_saved_ascending(lt_saved *io, const char *name, int64_t *at, int64_t count, int64_t below)
{
    for (int64_t i = 0; i < count; i++) count_field(io, &(lt_saved_count){ name, at + i, i ? at[i - 1] + 1 : 0, below - 1 });
}

/* ---- The file ----------------------------------------------------------------------------------- */
void lt_saved_create(lt_saved *io, const char *path)
{
    *io = (lt_saved){ .writing = true, .path = path };
    lt_sha256_start(&io->hash);
    io->status = lt_atomic_open(path, &io->file);
    if (!io->status) io->status = lt_atomic_write(&io->file, magic, sizeof magic - 1);
}

lt_status lt_saved_commit(lt_saved *io)
{
    lt_digest digest = lt_sha256_finish(&io->hash);
    if (!io->status) io->status = lt_atomic_write(&io->file, &digest, sizeof digest);
    if (!io->status) io->status = lt_atomic_commit(&io->file);
    else lt_atomic_cancel(&io->file);
    return io->status;
}

static lt_status check_file(const char *path, const char *data, size_t bytes)
{
    static const char any[] = "lathe checkpoint ";
    size_t head = sizeof magic - 1;
    if (bytes < head || memcmp(data, any, sizeof any - 1)) return LT_FAIL(LT_ERR_FORMAT, "'%s' is no checkpoint", path);
    if (memcmp(data, magic, head))
        return LT_FAIL(LT_ERR_FORMAT, "'%s' is a checkpoint of another version of lathe: only that version can go on from it", path);
    if (bytes < head + sizeof(lt_digest)) return LT_FAIL(LT_ERR_FORMAT, "'%s' ends early", path);
    lt_digest digest = lt_sha256_of(data + head, bytes - head - sizeof(lt_digest));
    if (memcmp(&digest, data + bytes - sizeof digest, sizeof digest))
        return LT_FAIL(LT_ERR_FORMAT, "'%s' is damaged: its digest does not match", path);
    return LT_OK;
}

void lt_saved_open(lt_saved *io, const char *path)
{
    size_t bytes = 0;
    *io = (lt_saved){ .path = path };
    io->status = lt_file_read(path, FILE_LIMIT, &io->data, &bytes);
    if (!io->status) io->status = check_file(path, io->data, bytes);
    if (io->status) return;
    io->at = io->data + sizeof magic - 1;
    io->end = io->data + bytes - sizeof(lt_digest);
}

lt_status lt_saved_close(lt_saved *io)
{
    lt_saved_expect(io, io->at == io->end, "it is longer than expected");
    lt_free(io->data);
    io->data = NULL;
    return io->status;
}
