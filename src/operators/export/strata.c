/* What makes two operators of one kind, for splits. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/export/split.h"

#include "base/alloc.h"
#include "base/status.h"
#include "operators/config/config.h"

#include <math.h>
#include <string.h>

enum { CUTS = 4, ROWS_AT_ONCE = 4096 }; /* an integer with more values than CUTS is cut into CUTS ranges */

/* Continuous parameters of an architecture, as the rate of dropout, make no kinds. */
static bool makes_kinds(const lt_param *p) { return (p->block == LT_BLOCK_ARCHITECTURE || p->block == LT_BLOCK_UAFNO) && p->kind != LT_PARAM_CONTINUOUS; }

/* A file may hold any number. */
static int32_t kind_of(const lt_param *p, double unit)
{
    double u = unit > 0 ? unit < 1 ? unit : 1 : 0;
    if (p->kind == LT_PARAM_CHOICE) return lt_param_map(p, u).choice;
    if (p->kind == LT_PARAM_INTEGER && p->hi - p->lo >= CUTS) return (int32_t)LT_MIN(u * CUTS, CUTS - 1.0);
    return (int32_t)lt_param_map(p, u).number;
}

static lt_status name_architectures(lt_dataset *d, const lt_space *space, lt_digest *out)
{
    int64_t columns = d->info.parameters, rows = LT_MIN((int64_t)ROWS_AT_ONCE, d->info.rows);
    float *x = lt_malloc((size_t)(rows * columns) * sizeof *x);
    lt_status s = x ? LT_OK : LT_ERR_MEMORY;
    for (int64_t first = 0; first < d->info.rows && !s; first += rows) {
        int64_t n = LT_MIN(rows, d->info.rows - first);
        s = lt_dataset_read(d, "/parameters/params", first, n, x, n * columns);
        for (int64_t r = 0; r < n && !s; r++) {
            lt_sha256 h;
            lt_sha256_start(&h);
            for (int i = 0; i < space->n; i++) {
                int32_t kind = makes_kinds(&space->param[i]) ? kind_of(&space->param[i], (double)x[r * columns + i]) : 0;
                lt_sha256_add(&h, &kind, sizeof kind);
            }
            out[first + r] = lt_sha256_finish(&h);
        }
    }
    lt_free(x);
    return s;
}

static lt_status name_strata(lt_dataset *d, const lt_digest *architecture, lt_digest *out)
{
    const char *const *types;
    int64_t n;
    LT_TRY(lt_dataset_texts(d, "/metadata/ic_types", &n, &types));
    if (n != d->info.rows) return LT_FAIL(LT_ERR_FORMAT, "%s: no types of initial fields in /metadata/ic_types, so rows cannot be stratified", d->path);
    for (int64_t r = 0; r < n; r++) {
        lt_sha256 h;
        lt_sha256_start(&h);
        lt_sha256_add(&h, &architecture[r], sizeof architecture[r]);
        lt_sha256_add(&h, types[r], strlen(types[r]));
        out[r] = lt_sha256_finish(&h);
    }
    return LT_OK;
}

lt_status lt_split_strata(lt_dataset *d, lt_digest *architecture, lt_digest *stratum)
{
    lt_dataset_config *c = NULL;
    if (!d->info.config[0]) return LT_FAIL(LT_ERR_FORMAT, "%s: holds no configuration, so the architecture of its rows is not known", d->path);
    LT_TRY(lt_dataset_config_parse(d->info.config, strlen(d->info.config), d->path, NULL, &c));
    lt_status s = c->space.n == d->info.parameters ? name_architectures(d, &c->space, architecture)
                                                   : LT_FAIL(LT_ERR_FORMAT, "%s: its configuration has %d parameters, its rows %lld", d->path,
                                                             c->space.n, (long long)d->info.parameters);
    lt_dataset_config_destroy(c);
    return s ? s : name_strata(d, architecture, stratum);
}
