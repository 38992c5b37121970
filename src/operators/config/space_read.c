/* parameter_space of a configuration: reading and checking. SPDX-License-Identifier: BSD-3-Clause */
#include "base/options.h"
#include "base/status.h"
#include "operators/config/schema.h"
#include "operators/sample/sobol.h"
#include "operators/config/space.h"

#include <math.h>
#include <string.h>

enum { PATH_BYTES = 192 };

typedef struct reader {
    lt_arena *arena;
    lt_notes *notes;
    lt_space *space;
    char      path[PATH_BYTES];  /* of the column being read */
} reader;

static lt_status refuse(const reader *r, const lt_yaml_node *n, const char *key, const char *expected)
{
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s%s%s", r->path, key ? "." : "", key ? key : "");
    return lt_schema_refuse(n, path, expected);
}

/* ---- One spec -------------------------------------------------------------------------- */
static bool is_number(const lt_yaml_node *n) { return (n->kind == LT_YAML_INT || n->kind == LT_YAML_REAL) && isfinite(n->real); }

static lt_status read_bounds(const reader *r, const lt_yaml_node *spec, lt_param *p)
{
    const lt_yaml_node *b = lt_yaml_member(spec, "bounds");
    if (!b) return refuse(r, spec, NULL, "a key bounds: [lo, hi]");
    bool whole = p->kind == LT_PARAM_INTEGER;
    const char *expected = whole ? "[lo, hi], two integers with lo < hi" : "[lo, hi], two numbers with lo < hi";
    if (b->kind != LT_YAML_LIST || b->count != 2) return refuse(r, b, "bounds", expected);
    for (const lt_yaml_node *m = b->first; m; m = m->next)
        if (!is_number(m) || (whole && m->real != floor(m->real))) return refuse(r, m, "bounds", expected);
    p->lo = b->first->real;
    p->hi = b->last->real;
    if (p->lo >= p->hi)
        return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s.bounds is [%s, %s]: expected lo < hi (one value: type choice with one element)",
                       lt_yaml_place(b).s, r->path, b->first->text, b->last->text), b);
    if (!p->log_scale || p->lo > 0) return LT_OK;
    return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s.bounds begins at %s: expected lo > 0 with log_scale", lt_yaml_place(b).s, r->path, b->first->text), b);
}

static lt_status read_weights(const reader *r, const lt_yaml_node *spec, lt_param *p)
{
    const lt_yaml_node *w = lt_yaml_member(spec, "weights");
    if (!w || w->kind == LT_YAML_NULL) return LT_OK;
    char expected[96];
    snprintf(expected, sizeof expected, "a list of %d weights of at least 0, one per choice", p->n_choices);
    if (w->kind != LT_YAML_LIST || w->count != p->n_choices) return refuse(r, w, "weights", expected);
    p->weights = lt_arena_alloc(r->arena, (size_t)p->n_choices * sizeof *p->weights);
    if (!p->weights) return LT_ERR_MEMORY;
    double sum = 0;
    int i = 0;
    for (const lt_yaml_node *m = w->first; m; m = m->next) {
        if (!is_number(m) || m->real < 0) return refuse(r, m, "weights", expected);
        sum += p->weights[i++] = m->real;
    }
    if (fabs(sum - 1) <= 1e-6) return LT_OK;
    return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s.weights sum to %.9g: expected 1 within 1e-6", lt_yaml_place(w).s, r->path, sum), w);
}

static lt_status read_choices(const reader *r, const lt_yaml_node *spec, lt_param *p)
{
    const lt_yaml_node *c = lt_yaml_member(spec, "choices");
    if (!c) return refuse(r, spec, NULL, "a key choices: [one, or, more]");
    if (c->kind != LT_YAML_LIST || !c->count) return refuse(r, c, "choices", "a list of one or more texts or numbers");
    p->choices = lt_arena_alloc(r->arena, (size_t)c->count * sizeof *p->choices);
    if (!p->choices) return LT_ERR_MEMORY;
    for (const lt_yaml_node *m = c->first; m; m = m->next) {
        if (!is_number(m) && m->kind != LT_YAML_TEXT) return refuse(r, m, "choices", "texts or numbers (put a text like no or off in quotes)");
        p->choices[p->n_choices++] = (lt_param_choice){ m->text, is_number(m) ? m->real : NAN };
    }
    return read_weights(r, spec, p);
}

static lt_status read_kind(const reader *r, const lt_yaml_node *spec, lt_param *p)
{
    static const char *const names[] = {
        [LT_PARAM_INTEGER] = "integer", [LT_PARAM_CONTINUOUS] = "continuous", [LT_PARAM_CHOICE] = "choice", [LT_PARAM_BOOLEAN] = "boolean",
    };
    if (spec->kind != LT_YAML_MAP) return refuse(r, spec, NULL, "a mapping like {type: integer, bounds: [2, 5]}");
    const lt_yaml_node *type = lt_yaml_member(spec, "type");
    if (!type) return refuse(r, spec, NULL, "a key type: integer, continuous, choice or boolean");
    for (size_t i = 0; type->text && i < LT_LEN(names); i++)
        if (!strcmp(type->text, names[i])) {
            p->kind = (lt_param_kind)i;
            return LT_OK;
        }
    if (type->text && !strcmp(type->text, "array"))
        return refuse(r, type, "type", "integer, continuous, choice or boolean (arrays have no columns: give each element a name)");
    return refuse(r, type, "type", "integer, continuous, choice or boolean");
}

static lt_status note_spec_keys(const reader *r, const lt_yaml_node *spec)
{
    static const char *const known[] = { "type", "bounds", "log_scale", "choices", "weights", "description" };
    for (const lt_yaml_node *m = spec->first; m; m = m->next) {
        bool found = false;
        for (size_t i = 0; i < LT_LEN(known) && !found; i++) found = !strcmp(m->key, known[i]);
        char path[PATH_BYTES + 64];
        snprintf(path, sizeof path, "%s.%.60s", r->path, m->key);
        if (!found) LT_TRY(lt_schema_note_key(r->notes, m, path, known, (int)LT_LEN(known)));
    }
    return LT_OK;
}

/* ---- Whether a column can mean what its name says ------------------------------------------ */
static bool inside(const lt_param_target *t, double v)
{
    return lt_range_holds(&t->range, v) && (!t->odd || fmod(v, 2) == 1);
}

static lt_status refuse_value(const reader *r, const lt_yaml_node *spec, const lt_param_target *t, double v)
{
    char expected[160];
    lt_option row = { .type = t->kind == LT_TARGET_INT ? LT_OPTION_TYPE_INT : LT_OPTION_TYPE_REAL, .range = t->range };
    lt_option_expects(&row, expected, sizeof expected);
    return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s can be %.10g: expected %s%s", lt_yaml_place(spec).s, r->path, v, expected, t->odd ? ", odd" : ""), spec);
}

static lt_status check_choice(const reader *r, const lt_yaml_node *node, const lt_param_target *t, const lt_param_choice *c)
{
    if (t->kind == LT_TARGET_NAME) {
        if (!strcmp(t->name, "noise_type") && !strcmp(c->text, "uniform"))
            return lt_note(r->notes, "%s: noise_type 'uniform' adds no noise, as in Spinlock", lt_yaml_place(node).s);
        if (lt_param_name_position(t, c->text) >= 0) return LT_OK;
        char expected[160];
        lt_option row = { .type = LT_OPTION_TYPE_ENUM, .names = t->names };
        lt_option_expects(&row, expected, sizeof expected);
        return refuse(r, node, "choices", expected);
    }
    if (isnan(c->number)) return refuse(r, node, "choices", "numbers");
    if (t->kind == LT_TARGET_INT && c->number != floor(c->number)) return refuse(r, node, "choices", "integers");
    return inside(t, c->number) ? LT_OK : refuse_value(r, node, t, c->number);
}

static lt_status check_column(const reader *r, const lt_yaml_node *spec, const lt_param *p)
{
    const lt_param_target *t = lt_param_target_of(p->name);
    if (!t) {
        const char *near = lt_param_target_nearest(p->name);
        LT_TRY(lt_note(r->notes, "%s: parameter '%.100s' has a column and no effect%s%s%s", lt_yaml_place(spec).s, r->path,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ""));
        return lt_note_idle(r->notes, spec, r->path, "a column that no operator reads%s%s%s", near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (p->kind == LT_PARAM_CHOICE) {
        const lt_yaml_node *node = lt_yaml_member(spec, "choices")->first;
        for (int i = 0; i < p->n_choices; i++, node = node->next) LT_TRY(check_choice(r, node, t, &p->choices[i]));
        return LT_OK;
    }
    if (t->kind == LT_TARGET_NAME) return refuse(r, spec, "type", "choice: its values are names");
    if (p->kind == LT_PARAM_BOOLEAN) return refuse(r, spec, "type", "integer, continuous or choice: its values are numbers");
    if (t->kind == LT_TARGET_INT && p->kind == LT_PARAM_CONTINUOUS) return refuse(r, spec, "type", "integer or choice: its values are integers");
    if (t->odd) return refuse(r, spec, "type", "choice of odd numbers: a range contains even ones");
    if (!inside(t, p->lo)) return refuse_value(r, spec, t, p->lo);
    bool open_end = p->kind == LT_PARAM_CONTINUOUS && t->range.hi_open && p->hi == t->range.hi; /* never drawn: u < 1 */
    return open_end || inside(t, p->hi) ? LT_OK : refuse_value(r, spec, t, p->hi);
}

/* ---- Blocks --------------------------------------------------------------------------------- */
static const char *const block_names[] = {
    [LT_BLOCK_ARCHITECTURE] = "architecture", [LT_BLOCK_STOCHASTIC] = "stochastic", [LT_BLOCK_OPERATOR] = "operator",
    [LT_BLOCK_EVOLUTION] = "evolution", [LT_BLOCK_UAFNO] = "u_afno",
};

static lt_status add_column(reader *r, lt_param *p, const lt_yaml_node *at)
{
    if (r->space->n == LT_SOBOL_MAX_COLUMNS)
        return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s: more than %d parameters: there are Sobol numbers for no more", lt_yaml_place(at).s, r->path, LT_SOBOL_MAX_COLUMNS), at);
    if (lt_space_find(r->space, p->name, NULL))
        return lt_yaml_at(LT_FAIL(LT_ERR_ARGUMENT, "%s: %s: another block has a parameter of this name", lt_yaml_place(at).s, r->path), at);
    r->space->param[r->space->n++] = *p;
    return LT_OK;
}

static lt_status read_column(reader *r, lt_param_block block, const lt_yaml_node *spec)
{
    lt_param p = { .name = spec->key, .block = block };
    snprintf(r->path, sizeof r->path, "parameter_space.%s.%.60s", block_names[block], spec->key);
    LT_TRY(read_kind(r, spec, &p));
    const lt_yaml_node *log_scale = lt_yaml_member(spec, "log_scale");
    if (log_scale && p.kind == LT_PARAM_CONTINUOUS) {
        if (log_scale->kind != LT_YAML_BOOL) return refuse(r, log_scale, "log_scale", "true or false");
        p.log_scale = log_scale->integer != 0;
    }
    if (p.kind == LT_PARAM_CHOICE) LT_TRY(read_choices(r, spec, &p));
    else if (p.kind != LT_PARAM_BOOLEAN) LT_TRY(read_bounds(r, spec, &p));
    LT_TRY(note_spec_keys(r, spec));
    LT_TRY(check_column(r, spec, &p));
    return add_column(r, &p, spec);
}

/* The block of U-AFNO has five columns in an order of its own, whatever is given. */
static lt_status read_uafno(reader *r, const lt_yaml_node *map)
{
    static const struct { const char *name; double lo, hi; } fixed[] = {
        { "modes", 8, 64 }, { "hidden_dim", 32, 256 }, { "encoder_levels", 2, 5 }, { "afno_blocks", 2, 8 }, { "blocks_per_level", 1, 4 },
    };
    for (size_t i = 0; i < LT_LEN(fixed); i++) {
        const lt_yaml_node *spec = lt_yaml_member(map, fixed[i].name);
        if (spec) {
            LT_TRY(read_column(r, LT_BLOCK_UAFNO, spec));
            continue;
        }
        lt_param p = { .name = fixed[i].name, .block = LT_BLOCK_UAFNO, .kind = LT_PARAM_INTEGER, .lo = fixed[i].lo, .hi = fixed[i].hi };
        LT_TRY(add_column(r, &p, map));
    }
    for (const lt_yaml_node *m = map->first; m; m = m->next) {
        const char *names[LT_LEN(fixed)];
        bool known = false;
        for (size_t i = 0; i < LT_LEN(fixed); i++) known |= !strcmp(m->key, names[i] = fixed[i].name);
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "parameter_space.u_afno.%.60s", m->key);
        if (!known) LT_TRY(lt_schema_note_key(r->notes, m, path, names, (int)LT_LEN(names)));
    }
    return LT_OK;
}

/* ---- Columns together ------------------------------------------------------------------------- */
static double largest(const lt_param *p)
{
    double v = p->hi;
    for (int i = 0; i < p->n_choices; i++) v = i ? fmax(v, p->choices[i].number) : p->choices[i].number;
    return v;
}

/* Every grid that may be drawn must divide by every number of halvings that may be drawn. */
static lt_status check_grids(const lt_space *s, const lt_yaml_node *root)
{
    const lt_param *grid = lt_space_find(s, "grid_size", NULL), *levels = lt_space_find(s, "encoder_levels", NULL);
    int halvings = levels ? (int)largest(levels) : lt_operator_defaults(LT_OPERATOR_UAFNO).encoder_levels;
    lt_param standard = { .kind = LT_PARAM_INTEGER, .lo = 64, .hi = 64 };
    if (!grid) grid = &standard;
    bool range = grid->kind == LT_PARAM_INTEGER;
    int n = range ? (int)(grid->hi - grid->lo) + 1 : grid->n_choices;
    for (int i = 0; i < n; i++) {
        int g = (int)(range ? grid->lo + i : grid->choices[i].number);
        if (g % (1 << halvings))
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: parameter_space.operator.grid_size can be %d and encoder_levels %d: expected grids divisible by %d",
                           root->source, g, halvings, 1 << halvings);
    }
    return LT_OK;
}

static lt_status check_dropout(const lt_space *s, const lt_yaml_node *root)
{
    const lt_param *type = lt_space_find(s, "noise_type", NULL), *scale = lt_space_find(s, "noise_scale", NULL);
    for (int i = 0; type && scale && i < type->n_choices; i++)
        if (!strcmp(type->choices[i].text, "dropout") && largest(scale) >= 1)
            return LT_FAIL(LT_ERR_ARGUMENT, "%s: parameter_space.stochastic.noise_scale can be %g with noise_type dropout: expected probabilities below 1",
                           root->source, largest(scale));
    return LT_OK;
}

lt_status lt_space_read(lt_arena *arena, const lt_yaml_node *root, lt_operator_kind kind, lt_notes *notes, lt_space *out)
{
    *out = (lt_space){ .param = lt_arena_alloc(arena, LT_SOBOL_MAX_COLUMNS * sizeof *out->param) };
    if (!out->param) return LT_ERR_MEMORY;
    const lt_yaml_node *blocks = lt_yaml_member(root, "parameter_space");
    reader r = { .arena = arena, .notes = notes, .space = out };
    for (int b = LT_BLOCK_ARCHITECTURE; b <= LT_BLOCK_EVOLUTION; b++) {
        const lt_yaml_node *map = lt_yaml_member(blocks, block_names[b]);
        for (const lt_yaml_node *m = map ? map->first : NULL; m; m = m->next) LT_TRY(read_column(&r, (lt_param_block)b, m));
    }
    const lt_yaml_node *uafno = lt_yaml_member(blocks, "u_afno");
    if (uafno && uafno->kind == LT_YAML_MAP) LT_TRY(read_uafno(&r, uafno));
    if (!out->n) return lt_schema_refuse(blocks, "parameter_space", "at least one parameter");
    if (kind == LT_OPERATOR_UAFNO) LT_TRY(check_grids(out, root));
    return check_dropout(out, root);
}
