/* How large a tile fits into a share of the free memory. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/device.h"

#include "base/sized.h"
#include "base/status.h"

#include <stdio.h>

static bool is_power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

/* fixed + t row + t^2 pair; INT64_MAX when it does not fit in 63 bits, which no budget holds. */
static int64_t bytes_of_tile(const lt_tile_request *r, int64_t t)
{
    int64_t rows, pairs, sum;
    if (__builtin_mul_overflow(t, r->bytes_per_row, &rows) || __builtin_mul_overflow(t, t, &pairs) ||
        __builtin_mul_overflow(pairs, r->bytes_per_pair, &pairs) || __builtin_add_overflow(rows, pairs, &sum) ||
        __builtin_add_overflow(sum, r->fixed_bytes, &sum))
        return INT64_MAX;
    return sum;
}

static bool fits(int64_t bytes, int64_t budget) { return bytes <= budget && bytes != INT64_MAX; }

static lt_status check_request(const lt_tile_request *r)
{
    if (r->rows < 1 || r->rows > INT64_C(1) << 61)
        return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: rows is %lld, expected 1 to 2^61", (long long)r->rows);
    if (r->bytes_per_row < 0 || r->bytes_per_pair < 0 || r->fixed_bytes < 0 || r->free_bytes < 0)
        return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: negative bytes (row %lld, pair %lld, fixed %lld, free %lld)",
                       (long long)r->bytes_per_row, (long long)r->bytes_per_pair, (long long)r->fixed_bytes,
                       (long long)r->free_bytes);
    if (!(r->fraction > 0 && r->fraction <= 1))
        return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: fraction is %g, expected above 0 and at most 1", r->fraction);
    if (r->min_tile && !is_power_of_two(r->min_tile))
        return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: min_tile is %lld, expected a power of two or 0", (long long)r->min_tile);
    if (r->max_tile && (!is_power_of_two(r->max_tile) || r->max_tile < r->min_tile))
        return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: max_tile is %lld, expected 0 or a power of two not below min_tile %lld",
                       (long long)r->max_tile, (long long)r->min_tile);
    return LT_OK;
}

void lt_tile_request_defaults_into(lt_tile_request *out)
{
    LT_GIVE(out, &(lt_tile_request){ .size = sizeof(lt_tile_request), .fraction = 1 });
}

static lt_status plan(const lt_tile_request *req, lt_tile_plan *out)
{
    LT_TRY(check_request(req));
    int64_t least = req->min_tile ? req->min_tile : 1;
    int64_t most = req->max_tile ? req->max_tile : INT64_C(1) << 62;
    double share = (double)req->free_bytes * req->fraction;
    int64_t budget = req->fraction == 1 || share >= 0x1p63 ? req->free_bytes : (int64_t)share;
    int64_t need = bytes_of_tile(req, least);
    if (!fits(need, budget))
        return LT_FAIL(LT_ERR_MEMORY, "plan_tiles: a tile of %lld rows needs %lld bytes, the budget is %lld (%g of %lld free); "
                       "free memory, raise the fraction or lower min_tile", (long long)least, (long long)need,
                       (long long)budget, req->fraction, (long long)req->free_bytes);
    int64_t t = least;
    const char *stop = "it covers all rows";
    char why[96];
    while (t < req->rows) {
        if (t >= most) { stop = "it is the largest allowed"; break; }
        int64_t more = bytes_of_tile(req, 2 * t);
        if (!fits(more, budget)) {
            if (more == INT64_MAX) snprintf(why, sizeof why, "%lld would not fit", (long long)(2 * t));
            else snprintf(why, sizeof why, "%lld would need %lld bytes", (long long)(2 * t), (long long)more);
            stop = why;
            break;
        }
        t *= 2;
    }
    out->tile_rows = t;
    out->n_tiles = (req->rows - 1) / t + 1;
    out->budget_bytes = budget;
    out->tile_bytes = bytes_of_tile(req, t);
    snprintf(out->reason, sizeof out->reason, "tile %lld: %lld bytes of a budget of %lld (%g of %lld free); %s",
             (long long)t, (long long)out->tile_bytes, (long long)budget, req->fraction, (long long)req->free_bytes, stop);
    return LT_OK;
}

lt_status lt_plan_tiles(const lt_tile_request *req, lt_tile_plan *out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: out is NULL");
    if (!req) return LT_FAIL(LT_ERR_ARGUMENT, "plan_tiles: the request is NULL");
    LT_TRY(LT_CHECK_SIZE(lt_tile_plan, out));
    lt_tile_request own = lt_tile_request_defaults();
    lt_tile_plan found = { .size = sizeof found };
    lt_status s = LT_TAKE(lt_tile_request, req, &own);
    if (!s) s = plan(&own, &found);
    LT_GIVE(out, &found);
    return s;
}
