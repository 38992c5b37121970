/* simulation.input_generation: which initial fields are drawn, and with what parameters.
   SPDX-License-Identifier: BSD-3-Clause */
#include "operators/config/field_blocks.h"

#include "base/options.h"
#include "base/status.h"
#include "operators/config/keys.h"

#include <string.h>

static const char section[] = "simulation.input_generation";
enum { PATH_BYTES = 192 };

/* ---- One parameter ---------------------------------------------------------------------- */
typedef struct target {
    const lt_field_param *param;
    lt_field_value       *value;
    char                  path[PATH_BYTES];
} target;

static lt_status refuse(const target *t, const lt_yaml_node *n, const char *shape)
{
    char each[128], expected[256];
    lt_option row = { .type = t->param->kind == LT_FIELD_INT ? LT_OPTION_TYPE_INT : LT_OPTION_TYPE_REAL, .range = t->param->range };
    lt_option_expects(&row, each, sizeof each);
    snprintf(expected, sizeof expected, shape, each);
    return lt_schema_refuse(n, t->path, expected);
}

static lt_status read_number(const target *t, const lt_yaml_node *n, const char *shape, double *out)
{
    bool number = n->kind == LT_YAML_INT || n->kind == LT_YAML_REAL;
    if (!number || !isfinite(n->real) || !lt_range_holds(&t->param->range, n->real)) return refuse(t, n, shape);
    if (t->param->kind == LT_FIELD_INT && n->real != floor(n->real)) return refuse(t, n, shape);
    *out = n->real;
    return LT_OK;
}

static lt_status read_numbers(const target *t, const lt_yaml_node *n, int least, int most, const char *shape)
{
    if (n->kind != LT_YAML_LIST || n->count < least || n->count > most) return refuse(t, n, shape);
    t->value->n = 0;
    for (const lt_yaml_node *m = n->first; m; m = m->next) LT_TRY(read_number(t, m, shape, &t->value->item[t->value->n++]));
    return LT_OK;
}

static lt_status read_name(const target *t, const lt_yaml_node *n, double *out)
{
    char expected[160];
    lt_option row = { .type = LT_OPTION_TYPE_ENUM, .names = t->param->names };
    for (int i = 0; n->text && t->param->names[i]; i++)
        if (!strcmp(n->text, t->param->names[i])) {
            *out = i;
            return LT_OK;
        }
    lt_option_expects(&row, expected, sizeof expected);
    return lt_schema_refuse(n, t->path, expected);
}

static lt_status read_names(const target *t, const lt_yaml_node *n)
{
    t->value->n = 0;
    if (n->kind == LT_YAML_NULL && !t->param->n_defaults) return LT_OK; /* the type's own rule */
    if (n->kind != LT_YAML_LIST || n->count > LT_FIELD_MAX_LIST || !n->count) return lt_schema_refuse(n, t->path, "a list of 1 to 16 names");
    for (const lt_yaml_node *m = n->first; m; m = m->next) LT_TRY(read_name(t, m, &t->value->item[t->value->n++]));
    return LT_OK;
}

static lt_status read_param(const target *t, const lt_yaml_node *n)
{
    t->value->drawn = false;
    t->value->n = 1;
    switch (t->param->kind) {
    case LT_FIELD_NAME: return read_name(t, n, &t->value->item[0]);
    case LT_FIELD_NAMES: return read_names(t, n);
    case LT_FIELD_PAIR: return read_numbers(t, n, 2, 2, "[lo, hi], each %s");
    case LT_FIELD_REALS: return read_numbers(t, n, 1, LT_FIELD_MAX_LIST, "a list of 1 to 16, each %s");
    case LT_FIELD_MAYBE:
        if (n->kind == LT_YAML_NULL) {
            t->value->n = 0;
            return LT_OK;
        }
        return read_number(t, n, "null or %s", &t->value->item[0]);
    default: return read_number(t, n, "%s, or [a, b]", &t->value->item[0]);
    }
}

/* X_range: [a, b]: X is drawn from U[a, b) for each field. */
static lt_status read_range(const target *t, const lt_yaml_node *n)
{
    LT_TRY(read_numbers(t, n, 2, 2, "[a, b] with a <= b, each %s"));
    if (t->value->item[0] > t->value->item[1]) return refuse(t, n, "[a, b] with a <= b, each %s");
    t->value->drawn = true;
    return LT_OK;
}

/* A number that is given as a list is a range too: `num_blobs: [1, 5]`. */
static bool is_pair(const target *t, const lt_yaml_node *n) { return n->kind == LT_YAML_LIST && t->param->kind <= LT_FIELD_MAYBE && t->param->kind != LT_FIELD_PAIR; }

/* ---- Blocks --------------------------------------------------------------------------------- */
static const lt_field_param *find_param(const lt_field_type_row *row, const char *key, int *at, bool *range)
{
    size_t n = strlen(key);
    for (*at = 0; *at < row->n_params; ++*at) {
        const lt_field_param *p = &row->params[*at];
        size_t m = strlen(p->name);
        *range = false;
        if (!strcmp(p->name, key)) return p;
        *range = true;
        if (p->kind <= LT_FIELD_MAYBE && n == m + 6 && !memcmp(key, p->name, m) && !strcmp(key + m, "_range")) return p;
    }
    return NULL;
}

/* `lenient`: unknown keys are not reported, because several types share the block and each reads its own keys. */
static lt_status read_block(const lt_yaml_node *block, bool lenient, lt_notes *notes, lt_field_recipe *recipe)
{
    char path[PATH_BYTES];
    if (!block || block->kind == LT_YAML_NULL) return LT_OK;
    snprintf(path, sizeof path, "%s.%.60s", section, block->key);
    if (block->kind != LT_YAML_MAP) return lt_schema_refuse(block, path, "a mapping of parameters");
    const lt_field_type_row *row = &lt_field_types[recipe->type];
    for (const lt_yaml_node *m = block->first; m; m = m->next) {
        int at;
        bool range;
        target t = { .param = find_param(row, m->key, &at, &range) };
        snprintf(t.path, sizeof t.path, "%s.%.60s.%.60s", section, block->key, m->key);
        if (t.param) {
            t.value = &recipe->value[at];
            LT_TRY(range || is_pair(&t, m) ? read_range(&t, m) : read_param(&t, m));
            if (!range && t.value->drawn && t.param->kind == LT_FIELD_INT) t.value->item[1] += 1; /* both ends, where X_range leaves the upper one out */
        } else if (!lenient) {
            const char *names[LT_FIELD_MAX_PARAMS];
            for (int i = 0; i < row->n_params; i++) names[i] = row->params[i].name;
            LT_TRY(lt_schema_note_key(notes, m, t.path, names, row->n_params));
        }
    }
    return LT_OK;
}

/* Parameters by rank: defaults, the section's own, the type's block, the alias's block. */
static lt_status read_recipe(const lt_dataset_config *c, const lt_yaml_node *map, lt_notes *notes, lt_field_recipe *recipe)
{
    const char *base = lt_field_types[recipe->type].name;
    bool ignore = c->ignore_alias_blocks, is_alias = strcmp(base, recipe->alias) != 0;
    if (recipe->type == LT_FIELD_GRF || recipe->type == LT_FIELD_MIXED) {
        recipe->value[0].item[0] = c->length_scale;
        recipe->value[1].item[0] = c->variance;
    }
    if (recipe->type == LT_FIELD_MIXED) {
        LT_TRY(read_block(lt_yaml_member(map, "gaussian_random_field"), true, notes, recipe));
        if (!ignore) LT_TRY(read_block(lt_yaml_member(map, "structured"), true, notes, recipe));
    }
    if (!ignore || recipe->type != LT_FIELD_STRUCTURED) LT_TRY(read_block(lt_yaml_member(map, base), is_alias, notes, recipe));
    if (is_alias && !ignore) LT_TRY(read_block(lt_yaml_member(map, recipe->alias), false, notes, recipe));
    if (recipe->type == LT_FIELD_LOCALIZED && recipe->value[1].item[0] > recipe->value[2].item[recipe->value[2].n - 1])
        return LT_FAIL(LT_ERR_ARGUMENT, "%s: %s.%s: min_width %g is above max_width %g", map->source, section, recipe->alias,
                       recipe->value[1].item[0], recipe->value[2].item[recipe->value[2].n - 1]);
    return LT_OK;
}

/* ---- The section -------------------------------------------------------------------------------- */
/* Whether the parameters of some drawn field come from this block: read_recipe says which blocks a field reads. */
static bool is_read(const lt_dataset_config *c, const char *key)
{
    for (int i = 0; i < c->n_fields; i++) {
        const lt_field_recipe *f = &c->field[i];
        bool structured = !strcmp(key, "structured"), own = !strcmp(key, lt_field_types[f->type].name);
        if (structured && c->ignore_alias_blocks) continue;
        if (own || (!strcmp(key, f->alias) && !c->ignore_alias_blocks)) return true;
        if (f->type == LT_FIELD_MIXED && (structured || !strcmp(key, "gaussian_random_field"))) return true;
    }
    return false;
}

static lt_status note_unread_block(const lt_dataset_config *c, const lt_yaml_node *block, lt_notes *notes)
{
    char path[PATH_BYTES];
    if (is_read(c, block->key)) return LT_OK;
    snprintf(path, sizeof path, "%s.%.60s", section, block->key);
    return lt_note_idle(notes, block, path, c->ignore_alias_blocks ? "no field that is drawn reads it (engine.alias_blocks is ignore)" : "no field of this type is drawn");
}

/* Notes keys that are neither the schema's nor a type's. Blocks that no drawn field reads are checked all the same. */
static lt_status check_keys(const lt_dataset_config *c, const lt_yaml_node *map, lt_notes *notes)
{
    static const char *const own[] = { "method", "distribution", "num_samples_per_operator", "spatial_size", "length_scale", "variance", "ic_type_weights" };
    for (const lt_yaml_node *m = map->first; m; m = m->next) {
        bool known = false;
        for (size_t i = 0; i < LT_LEN(own) && !known; i++) known = !strcmp(m->key, own[i]);
        if (known) continue;
        lt_field_recipe unused;
        lt_field_type type;
        if (lt_field_type_find(m->key, &type)) {
            lt_field_recipe_default(type, m->key, &unused);
            bool drawn = false;
            for (int i = 0; i < c->n_fields && !drawn; i++) drawn = !strcmp(c->field[i].alias, m->key);
            if (!drawn) LT_TRY(read_block(m, false, notes, &unused));
            LT_TRY(note_unread_block(c, m, notes));
            continue;
        }
        char path[PATH_BYTES];
        const char *near = lt_field_type_nearest(m->key);
        snprintf(path, sizeof path, "%s.%.60s", section, m->key);
        LT_TRY(lt_schema_note_key(notes, m, path, near ? &near : own, near ? 1 : (int)LT_LEN(own)));
    }
    return LT_OK;
}

static lt_status reserve(lt_dataset_config *c, int n)
{
    c->field = lt_arena_alloc(&c->arena, (size_t)n * sizeof *c->field);
    c->field_weight = lt_arena_alloc(&c->arena, (size_t)n * sizeof *c->field_weight);
    return c->field && c->field_weight ? LT_OK : LT_ERR_MEMORY;
}

static lt_status read_weights(lt_dataset_config *c, const lt_yaml_node *weights)
{
    LT_TRY(reserve(c, weights->count));
    double sum = 0;
    for (const lt_yaml_node *m = weights->first; m; m = m->next) {
        char path[PATH_BYTES];
        lt_field_type type;
        snprintf(path, sizeof path, "%s.ic_type_weights.%.60s", section, m->key);
        if (!lt_field_type_find(m->key, &type)) {
            const char *near = lt_field_type_nearest(m->key);
            return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s: no such type of field%s%s%s", lt_yaml_place(m).s, path, near ? ": did you mean '" : "",
                           near ? near : "", near ? "'?" : ""), m);
        }
        if ((m->kind != LT_YAML_INT && m->kind != LT_YAML_REAL) || !(m->real >= 0) || isinf(m->real))
            return lt_schema_refuse(m, path, "a weight of at least 0");
        lt_field_recipe_default(type, m->key, &c->field[c->n_fields]);
        sum += c->field_weight[c->n_fields++] = m->real;
    }
    return sum > 0 ? LT_OK : lt_schema_refuse(weights, "simulation.input_generation.ic_type_weights", "weights with a sum above 0");
}

lt_status lt_config_read_fields(lt_dataset_config *c, const lt_yaml_node *root, lt_notes *notes)
{
    static const lt_yaml_node nothing = { .kind = LT_YAML_MAP };
    const lt_yaml_node *map = lt_schema_find(root, section), *weights = lt_yaml_member(map, "ic_type_weights");
    if (!map || map->kind != LT_YAML_MAP) map = &nothing;
    if (c->method == LT_METHOD_SAMPLED && weights && weights->count) {
        LT_TRY(read_weights(c, weights));
    } else {
        lt_field_type type = c->method < LT_METHOD_FIRST_TYPE ? LT_FIELD_GRF : (lt_field_type)(c->method - LT_METHOD_FIRST_TYPE);
        LT_TRY(reserve(c, 1));
        lt_field_recipe_default(type, c->method == LT_METHOD_RANDOM ? "random" : lt_field_types[type].name, &c->field[0]);
        c->field_weight[c->n_fields++] = 1;
    }
    for (int i = 0; i < c->n_fields; i++) LT_TRY(read_recipe(c, map, notes, &c->field[i]));
    return check_keys(c, map, notes);
}
