/* lathe gram with K in a file, tile by tile: on ranks, within --memory, --resume; rows of finished files. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Making --------------------------------------------------------------------------------------------------------------------------------- */

bool gram_by_tiles(const gram_job *j) { return !j->o->plan && (cli_several_ranks(j->c) || j->o->memory > 0 || j->o->resume || j->o->requeue); }

lt_status gram_check_tiles(const gram_job *j)
{
    const gram_cli *o = j->o;
    const char *other = o->states_out ? "states-out" : o->report ? "report" : o->kernel_cache ? "kernel-cache" : o->circuit_out ? "circuit-out" : o->landmarks ? "landmarks" : NULL;
    const char *why = cli_several_ranks(j->c) ? "ranks share" : o->memory > 0 ? "--memory is for" : o->resume ? "--resume is for" : "--requeue is for";
    if (other) return cli_fail(LT_ERR_ARGUMENT, "%s a matrix that grows in its file, tile by tile: leave --%s out, or have one process do it", why, other);
    if (!o->out) return cli_fail(LT_ERR_ARGUMENT, "%s a matrix that grows in its file, tile by tile: give --out K.npy", why);
    if (cli_several_ranks(j->c) && o->devices) return cli_fail(LT_ERR_ARGUMENT, "--devices: a rank has one GPU of its machine; leave it out");
    return LT_OK;
}

static lt_status make_digest(const gram_job *j, char digest[LT_GRAM_DIGEST_BYTES])
{
    lt_weights w = { j->weights, j->w.shape.dim[0], j->w.shape.dim[1] };
    lt_similarity_options similarity = gram_similarity(j);
    const lt_rows *Y = j->o->y ? &j->Y : NULL;
    return j->circuit ? lt_gram_digest_circuit(&j->o->gram, &similarity, j->circuit, j->weights, &j->X, Y, digest) : lt_gram_digest(&j->o->gram, &w, &j->X, Y, digest);
}

static lt_status report(const gram_job *j, const lt_gram_file_info *i)
{
    lt_json *json = j->c->json;
    if (!cli_first_rank(j->c)) return LT_OK;
    if (json) {
        lt_json_field_int(json, "n", i->n);
        lt_json_field_int(json, "m", i->m);
        lt_json_field_string(json, "kind", i->kind);
        lt_json_field_bool(json, "complete", i->complete);
        lt_json_field_int(json, "ranks", i->ranks);
        lt_json_field_int(json, "side", i->side);
        lt_json_field_int(json, "tiles", i->tiles);
        lt_json_field_int(json, "tiles_kept", i->kept);
        lt_json_field_int(json, "tiles_made", i->made);
        lt_json_field_int(json, "states_made", i->states_made);
        lt_json_field_int(json, "states_taken", i->states_taken);
        lt_json_field_int(json, "file_bytes", i->file_bytes);
        lt_json_field_int(json, "memory_bytes", i->memory_bytes);
        lt_json_field_double(json, "seconds", i->seconds);
    } else if (i->complete) {
        printf("K %lld x %lld, %s in %s: %s, by %d rank%s in %s\n", (long long)i->n, (long long)i->m, cli_bytes((double)i->file_bytes).s, cli_shown(j->o->out).s, i->kind, i->ranks,
               i->ranks == 1 ? "" : "s", cli_seconds(i->seconds).s);
        if (!j->c->common.quiet)
            printf("%lld tiles of %lld x %lld, %lld of them kept from an earlier run; checksums in %s.tiles; at most %s for each rank\n",
                   (long long)i->tiles, (long long)i->side, (long long)i->side,
                   (long long)i->kept, cli_shown(j->o->out).s, cli_bytes((double)i->memory_bytes).s);
        if (!j->c->common.quiet && i->states_taken)
            printf("%lld states computed, %lld taken from those kept beside the matrix, since making them was slower than reading\n",
                   (long long)i->states_made, (long long)i->states_taken);
    }
    return i->complete ? LT_OK : cli_say_resume(j->c, "tiles", i->kept + i->made, i->tiles);
}

lt_status gram_make_tiles(gram_job *j)
{
    char digest[LT_GRAM_DIGEST_BYTES];
    lt_gram_file_info info = { .size = sizeof info };
    lt_gram_file_options opt = lt_gram_file_defaults();
    CLI_TRY(make_digest(j, digest));
    opt.cluster = j->c->cluster;
    opt.digest = digest;
    opt.memory_bytes = (int64_t)ceil(j->o->memory * (1 << 30)); /* less than a byte is no 0, which means as much as there is */
    opt.resume = j->o->resume;
    if (j->o->requeue) {
        cli_drain_on_term();
        opt.drain = cli_drain_flag();
    }
    lt_status s = lt_gram_fill_file(j->gram, &j->X, j->o->y ? &j->Y : NULL, j->o->out, &opt, &info);
    lt_progress_destroy(j->bar);
    j->bar = NULL;
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_stopped();
    CLI_TRY(s);
    return report(j, &info);
}

/* A matrix that came another way is not what an earlier table says. */
void gram_drop_table(const char *path)
{
    char name[4096], begin[12] = "";
    snprintf(name, sizeof name, "%s.tiles", path);
    FILE *f = fopen(name, "rb");
    bool ours = f && fread(begin, 1, sizeof begin - 1, f) == sizeof begin - 1 && !strcmp(begin, "lathe tiles");
    if (f) fclose(f);
    if (ours) (void)unlink(name);
}

/* ---- Reading -------------------------------------------------------------------------------------------------------------------------------- */

/* "a:b", "a:", ":b" or "a": rows a to b - 1. */
static lt_status parse_rows(const char *text, int64_t n, int64_t *first, int64_t *end)
{
    char *at = (char *)text;
    *first = *text == ':' ? 0 : strtoll(text, &at, 10);
    bool good = at != text || *text == ':';
    if (good && *at == ':') {
        const char *last = at + 1;
        *end = *last ? strtoll(last, &at, 10) : n;
        good = !*last || (at != last && !*at);
    } else {
        good = good && !*at;
        *end = *first + 1;
    }
    if (!good) return cli_fail(LT_ERR_ARGUMENT, "--rows '%s': expected FIRST:END, as 0:1000", text);
    if (*first < 0 || *end <= *first || *end > n) return cli_fail(LT_ERR_ARGUMENT, "--rows %s: the file has rows 0:%lld", text, (long long)n);
    return LT_OK;
}

static lt_status write_rows(const gram_job *j, lt_gram_file *f, const lt_gram_file_shape *s)
{
    int64_t first, end;
    lt_npy_map *map;
    CLI_TRY(parse_rows(j->o->rows, s->n, &first, &end));
    if (!j->o->out) return cli_fail(LT_ERR_ARGUMENT, "--rows: where do they go? Give --out ROWS.npy");
    lt_shape shape = lt_shape2(end - first, s->m);
    CLI_TRY(lt_npy_map_create(j->o->out, s->dtype, &shape, &map));
    lt_status status = lt_gram_file_rows(f, first, end - first, lt_npy_map_data(map));
    if (status) lt_npy_map_destroy(map);
    else status = lt_npy_map_commit(map);
    CLI_TRY(status);
    if (!j->c->json) printf("rows %lld to %lld of %s, %lld columns, in %s\n", (long long)first, (long long)end - 1, cli_shown(j->o->read).s, (long long)s->m, cli_shown(j->o->out).s);
    return LT_OK;
}

static lt_status describe(const gram_job *j, lt_gram_file *f, const lt_gram_file_shape *s)
{
    lt_json *json = j->c->json;
    if (s->tiles) CLI_TRY(lt_gram_file_check(f));
    if (json) {
        lt_json_field_int(json, "n", s->n);
        lt_json_field_int(json, "m", s->m);
        lt_json_field_bool(json, "packed", s->packed);
        lt_json_field_string(json, "type", lt_dtype_name(s->dtype));
        lt_json_field_int(json, "tiles", s->tiles);
        return LT_OK;
    }
    printf("K %lld x %lld, %s%s: ", (long long)s->n, (long long)s->m, lt_dtype_name(s->dtype), s->packed ? ", the upper half" : "");
    if (s->tiles) printf("all %lld tiles are what their checksums say\n", (long long)s->tiles);
    else printf("without checksums (no %s.tiles)\n", cli_shown(j->o->read).s);
    return LT_OK;
}

lt_status gram_read(gram_job *j)
{
    const gram_cli *o = j->o;
    lt_gram_file *f = NULL;
    if (o->x || o->y || o->weights || o->map || o->circuit || o->states_out || o->report)
        return cli_fail(LT_ERR_ARGUMENT, "--read reads a matrix that is there: leave the options that compute one out");
    if (o->out && !o->rows) return cli_fail(LT_ERR_ARGUMENT, "--out: which rows? Give --rows FIRST:END");
    CLI_TRY(cli_blame_input(lt_gram_file_open(o->read, &f)));
    lt_gram_file_shape s = lt_gram_file_get_shape(f);
    lt_status status = o->rows ? write_rows(j, f, &s) : describe(j, f, &s);
    lt_gram_file_close(f);
    return status;
}
