/* A dataset described in Markdown, from what the file says of itself. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/export/split.h"
#include "operators/export/statistics.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/files/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "operators/config/config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LABELS = 64 };

typedef struct card {
    lt_dataset         *d;
    lt_dataset_info     i;
    lt_card_options     o;
    lt_arena            arena;
    const lt_yaml_node *about, *config; /* metadata and all of the configuration; NULL: there is none */
    lt_dataset_config  *parsed;         /* NULL: it is not one of ours, or does not fit the file */
    FILE               *to;
    char                name[NAME_MAX + 1]; /* of the file, with nothing that steers a terminal */
} card;

/* ---- Markdown --------------------------------------------------------------------------------------------- */

/* One line that opens neither a cell nor a tag. */
static void put_text(card *c, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') fputs("\\|", c->to);
        else if (*text == '<') fputs("&lt;", c->to);
        else fputc(*text == '\n' || *text == '\r' ? ' ' : *text, c->to);
    }
}

static void put_head(card *c, const char *title, int n, const char *const *names)
{
    fprintf(c->to, "%s%s|", title, title[0] ? "\n\n" : "");
    for (int i = 0; i < n; i++) fprintf(c->to, " %s |", names[i]);
    fputs("\n|", c->to);
    for (int i = 0; i < n; i++) fputs(" --- |", c->to);
    fputc('\n', c->to);
}
#define HEAD(c, title, ...) put_head(c, title, (int)LT_LEN(((const char *[]){ __VA_ARGS__ })), (const char *[]){ __VA_ARGS__ })

static void put_row(card *c, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put_row(card *c, const char *name, const char *format, ...)
{
    char text[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!text[0]) return;
    fputs("| ", c->to);
    put_text(c, name);
    fputs(" | ", c->to);
    put_text(c, text);
    fputs(" |\n", c->to);
}

static const char *about(const card *c, const char *key)
{
    const lt_yaml_node *n = lt_yaml_member(c->about, key);
    return n && n->text && n->kind != LT_YAML_NULL ? n->text : "";
}

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t n, char text[32])
{
    char plain[24];
    int digits = snprintf(plain, sizeof plain, "%" PRIu64, n), at = 0;
    for (int i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0) text[at++] = ',';
        text[at++] = plain[i];
    }
    text[at] = '\0';
    return text;
}

/* ---- Facts -------------------------------------------------------------------------------------------------- */

/* Of the very file that the dataset reads. */
static lt_status hash_file(const card *c, lt_digest_text *out)
{
    enum { PIECE = 1 << 20 };
    struct stat st;
    uint64_t bytes;
    int fd;
    lt_sha256 h;
    LT_TRY(lt_file_open(c->d->path, &fd, &bytes));
    char *piece = lt_malloc(PIECE);
    lt_status s = piece ? LT_OK : LT_ERR_MEMORY;
    if (!s && (fstat(fd, &st) || st.st_dev != c->d->source.device || st.st_ino != c->d->source.inode))
        s = LT_FAIL(LT_ERR_IO, "%s: was replaced while it was being read", c->d->path);
    lt_sha256_start(&h);
    for (uint64_t at = 0; at < bytes && !s; at += PIECE) {
        size_t n = (size_t)LT_MIN((uint64_t)PIECE, bytes - at);
        s = lt_file_read_at(fd, c->d->path, at, piece, n);
        if (!s) lt_sha256_add(&h, piece, n);
    }
    lt_digest digest = lt_sha256_finish(&h);
    *out = lt_digest_hex(&digest);
    close(fd);
    lt_free(piece);
    return s;
}

static lt_status put_facts(card *c)
{
    const lt_dataset_info *i = &c->i;
    char number[32];
    bool ours = i->engine_version[0], dated = i->creation_date[0] && strcmp(i->creation_date, LT_DATE_NOT_RECORDED);
    lt_digest_text digest = { "" };
    if (c->o.checksum) LT_TRY(hash_file(c, &digest));
    HEAD(c, "", "", "");
    put_row(c, "operators", "%" PRId64, i->rows);
    put_row(c, "realizations of each", "%" PRId64, i->realizations);
    put_row(c, "steps", "%" PRId64, i->steps);
    put_row(c, "grid", "%" PRId64 " x %" PRId64 ", 3 channels", i->grid, i->grid);
    put_row(c, "states stored", "%s", i->has_outputs ? "yes" : ours ? "no; lathe replay computes them again" : "no");
    put_row(c, "precision", "%s", i->precision);
    put_row(c, "device", "%s", i->device);
    if (ours) put_row(c, "seed", "%" PRIu64, i->seed);
    if (i->shard_count > 1) put_row(c, "shard", "%" PRId64 " of %" PRId64, i->shard_index, i->shard_count);
    put_row(c, "made by", "%s%s", ours ? "lathe " : "another program than lathe", i->engine_version);
    put_row(c, "created", "%s", dated ? i->creation_date : about(c, "created"));
    put_row(c, "author", "%s", about(c, "author"));
    put_row(c, "purpose", "%s", about(c, "purpose"));
    put_row(c, "license", "%s", c->o.license ? c->o.license : about(c, "license")[0] ? about(c, "license") : "not stated");
    put_row(c, "file", "%s, %s bytes", c->name, grouped(i->file_bytes, number));
    put_row(c, "SHA-256", "%s", digest.s);
    fputc('\n', c->to);
    return LT_OK;
}

/* ---- Parameters ----------------------------------------------------------------------------------------------- */

static void put_values(card *c, const lt_param *p)
{
    if (p->kind == LT_PARAM_BOOLEAN) fputs("false, true", c->to);
    else if (p->kind != LT_PARAM_CHOICE) fprintf(c->to, "%g to %g%s", p->lo, p->hi, p->log_scale ? ", logarithmic" : "");
    for (int k = 0; p->kind == LT_PARAM_CHOICE && k < p->n_choices; k++) {
        if (k) fputs(", ", c->to);
        put_text(c, p->choices[k].text);
        if (p->weights) fprintf(c->to, " (%g)", p->weights[k]);
    }
}

static lt_status put_parameters(card *c)
{
    static const char *const kinds[] = { [LT_PARAM_INTEGER] = "integer", [LT_PARAM_CONTINUOUS] = "continuous", [LT_PARAM_CHOICE] = "choice", [LT_PARAM_BOOLEAN] = "boolean" };
    const char *const *names;
    int64_t n;
    LT_TRY(lt_dataset_texts(c->d, "/parameters@dimension_names", &n, &names));
    fputs("## Parameters\n\n", c->to);
    if (c->parsed) HEAD(c, "", "column", "parameter", "type", "values");
    else HEAD(c, "", "column", "parameter");
    for (int64_t i = 0; i < c->i.parameters; i++) {
        fprintf(c->to, "| %" PRId64 " | ", i);
        const lt_param *p = c->parsed ? &c->parsed->space.param[i] : NULL;
        if (p) put_text(c, p->name);
        else if (n == c->i.parameters) put_text(c, names[i]);
        else fprintf(c->to, "params_%" PRId64, i);
        if (p) {
            fprintf(c->to, " | %s | ", kinds[p->kind]);
            put_values(c, p);
        }
        fputs(" |\n", c->to);
    }
    fputc('\n', c->to);
    return LT_OK;
}

/* ---- What is in it ------------------------------------------------------------------------------------------------ */

static void put_arrays(card *c)
{
    HEAD(c, "## Arrays", "array", "shape", "type", "compression");
    for (int k = 0; k < c->d->n_items; k++) {
        const lt_file_item *it = &c->d->item[k];
        if (it->group) continue;
        fputs("| `", c->to);
        put_text(c, it->path);
        fputs("` | ", c->to);
        for (int r = 0; r < it->rank; r++) fprintf(c->to, "%s%" PRId64, r ? " x " : "", it->dim[r]);
        fprintf(c->to, " | %s | ", lt_element_name(it->element));
        put_text(c, it->compression[0] ? it->compression : "none");
        fputs(" |\n", c->to);
    }
    fputc('\n', c->to);
}

/* Rows by label, in alphabetical order. */
static lt_status put_labels(card *c, const char *path, const char *what)
{
    const char *const *labels, *name[MAX_LABELS];
    int64_t n, count[MAX_LABELS];
    int distinct = 0;
    LT_TRY(lt_dataset_texts(c->d, path, &n, &labels));
    for (int64_t i = 0; i < n; i++) {
        int k = 0, at = 0;
        while (k < distinct && strcmp(name[k], labels[i])) k++;
        if (k < distinct || distinct == MAX_LABELS) {
            if (k < distinct) count[k]++;
            continue;
        }
        while (at < distinct && strcmp(name[at], labels[i]) < 0) at++;
        memmove(name + at + 1, name + at, (size_t)(distinct - at) * sizeof *name);
        memmove(count + at + 1, count + at, (size_t)(distinct - at) * sizeof *count);
        name[at] = labels[i], count[at] = 1, distinct++;
    }
    for (int k = 0; k < distinct; k++) {
        char text[300];
        snprintf(text, sizeof text, "%s: %.250s", what, name[k]);
        put_row(c, text, "%" PRId64, count[k]);
    }
    return LT_OK;
}

static lt_status put_rows(card *c)
{
    static const char *const words[] = { "pending", "done", "non-finite", "failed", "lost" };
    HEAD(c, "## Rows", "", "operators");
    for (size_t k = 0; k < LT_LEN(words); k++)
        if (c->i.status[k]) put_row(c, words[k], "%" PRId64, c->i.status[k]);
    LT_TRY(put_labels(c, "/metadata/ic_types", "initial condition"));
    LT_TRY(put_labels(c, "/metadata/evolution_policies", "policy"));
    LT_TRY(put_labels(c, "/metadata/noise_regimes", "noise"));
    fputc('\n', c->to);
    return LT_OK;
}

/* ---- Figures -------------------------------------------------------------------------------------------------------- */

static bool is_shown(const char *name)
{
    static const char *const shown[] = { "energy_growth_rate_mean", "lyapunov_approx_mean", "trend_strength_mean", "final_to_initial_ratio_mean", "L2_mean_drift_raw_mean",
                                         "entropy_mean_drift_raw_mean" };
    for (size_t k = 0; k < LT_LEN(shown); k++)
        if (!strcmp(name, shown[k])) return true;
    return false;
}

static lt_status put_figures(card *c)
{
    static const char path[] = "/features/summary/aggregated/features";
    const lt_file_item *item = lt_dataset_find(c->d, path);
    const char *const *names;
    int64_t n;
    LT_TRY(lt_dataset_texts(c->d, "/features/summary/aggregated/features@column_names", &n, &names));
    if (!item || !lt_is_family(c->d, item) || item->rank != 2 || n != item->dim[1]) return LT_OK;
    lt_column_statistics *s = lt_malloc((size_t)n * sizeof *s);
    lt_status st = s ? lt_array_statistics(c->d, item, NULL, s) : LT_ERR_MEMORY;
    if (!st) {
        HEAD(c, "## Figures", "SUMMARY feature", "least", "median", "most", "mean", "deviation", "not finite");
        for (int64_t i = 0; i < n; i++) {
            if (!is_shown(names[i])) continue;
            fputs("| ", c->to);
            put_text(c, names[i]);
            if (s[i].count) fprintf(c->to, " | %.4g | %.4g | %.4g | %.4g | %.4g", s[i].min, s[i].median, s[i].max, s[i].mean, s[i].std);
            else fputs(" | | | | | ", c->to);
            fprintf(c->to, " | %" PRId64 " |\n", c->i.rows - s[i].count);
        }
        fputc('\n', c->to);
    }
    lt_free(s);
    return st;
}

/* What cannot be read is left out; what there is no memory for is a failure. */
static lt_status put_sampling(card *c)
{
    lt_notes notes = { .arena = &c->arena };
    lt_yaml_node *root = NULL;
    lt_status s = c->i.sampling_metrics[0] ? lt_yaml_read(&c->arena, c->i.sampling_metrics, strlen(c->i.sampling_metrics), "sampling metrics", &notes, &root) : LT_OK;
    if (s == LT_ERR_MEMORY) return s;
    if (s || !root || !root->first || root->kind != LT_YAML_MAP) return LT_OK;
    HEAD(c, "## Sampling", "measure", "value");
    for (const lt_yaml_node *m = root->first; m; m = m->next) {
        if (m->kind == LT_YAML_REAL) put_row(c, m->key, "%.4g", m->real);
        else if (m->text) put_row(c, m->key, "%s", m->text);
    }
    fputc('\n', c->to);
    return LT_OK;
}

/* ---- How it was made ------------------------------------------------------------------------------------------------ */

/* More backquotes than the text has side by side. */
static void put_fence(card *c, const char *text, const char *language)
{
    int most = 2, run = 0;
    for (; *text; text++) {
        run = *text == '`' ? run + 1 : 0;
        most = LT_MAX(most, run);
    }
    for (int i = 0; i <= most; i++) fputc('`', c->to);
    fprintf(c->to, "%s\n", language);
}

static lt_status put_configuration(card *c)
{
    lt_json *j = NULL;
    if (!c->config) return LT_OK;
    LT_TRY(lt_json_create(LT_JSON_INDENT, &j));
    lt_yaml_json(c->config, j);
    lt_status s = lt_json_finish(j);
    if (!s) {
        fputs("## How it was made\n\n", c->to);
        if (c->i.engine_version[0])
            fprintf(c->to, "`lathe generate` (engine %s) with this configuration. A row is a function of the configuration, its seed and the row's number: the same engine on the same kind of "
                    "device gives the same bytes again.\n\n", c->i.engine_version);
        put_fence(c, lt_json_text(j), "json");
        fputs(lt_json_text(j), c->to);
        fputc('\n', c->to);
        put_fence(c, lt_json_text(j), "");
    }
    lt_json_destroy(j);
    return s;
}

static void put_reading(card *c)
{
    const char *name = c->name;
    fputs("## Reading it\n\n    import lathe\n    d = lathe.Dataset(\"", c->to);
    for (; *name; name++) fprintf(c->to, "%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
    fputs("\")\n    d.features(), d.to_pandas(), d.torch()\n\n", c->to);
}

/* ---- The whole -------------------------------------------------------------------------------------------------------- */

static lt_status read_config(card *c)
{
    lt_notes notes = { .arena = &c->arena };
    lt_yaml_node *root = NULL;
    if (!c->i.config[0]) return LT_OK;
    lt_status s = lt_yaml_read(&c->arena, c->i.config, strlen(c->i.config), c->d->path, &notes, &root);
    if (s == LT_ERR_MEMORY) return s;
    if (!s && root && root->kind == LT_YAML_MAP) c->config = root, c->about = lt_yaml_member(root, "metadata");
    s = lt_dataset_config_parse(c->i.config, strlen(c->i.config), c->d->path, NULL, &c->parsed);
    if (c->parsed && c->parsed->space.n != c->i.parameters) {
        lt_dataset_config_destroy(c->parsed);
        c->parsed = NULL;
    }
    return s == LT_ERR_MEMORY ? s : LT_OK; /* a file with another program's configuration has a card too */
}

static lt_status put_all(card *c)
{
    LT_TRY(read_config(c));
    fputs("# ", c->to);
    put_text(c, about(c, "name")[0] ? about(c, "name") : c->name);
    fputs("\n\n", c->to);
    if (about(c, "description")[0]) {
        put_text(c, about(c, "description"));
        fputs("\n\n", c->to);
    }
    LT_TRY(put_facts(c));
    LT_TRY(put_parameters(c));
    put_arrays(c);
    LT_TRY(put_rows(c));
    LT_TRY(put_figures(c));
    LT_TRY(put_sampling(c));
    put_reading(c);
    return put_configuration(c);
}

void lt_card_defaults_into(lt_card_options *out) { LT_GIVE(out, &(lt_card_options){ .size = sizeof(lt_card_options), .checksum = true }); }

lt_status lt_dataset_card(lt_dataset *d, const lt_card_options *options, FILE *to)
{
    LT_NEED(d);
    LT_NEED(to);
    card c = { .d = d, .i = lt_dataset_get_info(d), .o = lt_card_defaults(), .to = to };
    LT_TRY(LT_TAKE(lt_card_options, options, &c.o));
    snprintf(c.name, sizeof c.name, "%s", lt_base_name(d->path));
    lt_text_disarm(c.name);
    lt_status s = put_all(&c);
    if (!s && (fflush(to) || ferror(to))) s = LT_FAIL(LT_ERR_IO, "the card cannot be written");
    lt_dataset_config_destroy(c.parsed);
    lt_arena_release(&c.arena);
    return s;
}

lt_status lt_dataset_save_card(lt_dataset *d, const lt_card_options *opt, const char *path)
{
    LT_NEED(d);
    char *text = NULL;
    size_t n = 0;
    if (lt_dataset_is_at(d, path)) return LT_FAIL(LT_ERR_ARGUMENT, "%s: is the dataset itself", path);
    FILE *to = open_memstream(&text, &n);
    if (!to) return LT_ERR_MEMORY;
    lt_status s = lt_dataset_card(d, opt, to);
    if (fclose(to) && !s) s = LT_ERR_MEMORY;
    if (!s) s = lt_file_write(path, text, n);
    free(text); /* from open_memstream */
    return s;
}
