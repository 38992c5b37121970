/* Matrices kept for the next call: lathe gram --kernel-cache. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static lt_status name_file(gram_job *j)
{
    char digest[LT_GRAM_DIGEST_BYTES];
    const char *folder = j->o->kernel_cache;
    size_t bytes = strlen(folder) + sizeof "/kernel_.npy" + sizeof digest;
    struct stat found;
    lt_weights w = { j->weights, j->w.shape.dim[0], j->w.shape.dim[1] };
    if (stat(folder, &found) || !S_ISDIR(found.st_mode)) return cli_fail(LT_ERR_ARGUMENT, "--kernel-cache %s: there is no such folder", folder);
    lt_similarity_options similarity = gram_similarity(j);
    if (j->circuit) CLI_TRY(lt_gram_digest_circuit(&j->o->gram, &similarity, j->circuit, j->weights, &j->X, j->o->y ? &j->Y : NULL, digest));
    else CLI_TRY(lt_gram_digest(&j->o->gram, &w, &j->X, j->o->y ? &j->Y : NULL, digest));
    j->cached = malloc(bytes);
    if (!j->cached) return cli_fail(LT_ERR_MEMORY, "no memory for a file name");
    snprintf(j->cached, bytes, "%s/kernel_%s.npy", folder, digest);
    return LT_OK;
}

static lt_dtype type_of(const gram_job *j) { return j->o->gram.return_dtype == LT_GRAM_FLOAT32 ? LT_F32 : LT_F64; }
static lt_shape shape_of(const gram_job *j) { return j->o->gram.packed ? lt_shape1(j->n * (j->n + 1) / 2) : lt_shape2(j->n, j->m); }

/* A file that is not what it should be counts as none, and is replaced: only this command writes there. */
lt_status gram_cache_load(gram_job *j)
{
    lt_array a = { 0 };
    lt_shape want = shape_of(j);
    if (!j->o->kernel_cache) return LT_OK;
    CLI_TRY(name_file(j));
    if (lt_npy_read(j->cached, &a)) return LT_OK;
    bool fits = a.dtype == type_of(j) && a.shape.rank == want.rank;
    for (int i = 0; fits && i < want.rank; i++) fits = a.shape.dim[i] == want.dim[i];
    if (fits) memcpy(j->K, a.data, (size_t)lt_shape_count(&want) * lt_dtype_size(a.dtype));
    j->from_cache = fits;
    lt_array_free(&a);
    return LT_OK;
}

lt_status gram_cache_store(const gram_job *j)
{
    lt_shape shape = shape_of(j);
    return lt_npy_write(j->cached, type_of(j), &shape, j->K);
}
