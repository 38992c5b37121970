/* Reads "pauli(paulis=[Z, ZZ], alpha=2)". SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/circuit/map.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

static const char *const map_names[] = { "z", "zz", "pauli", "iqp", "angle", "basic", "strong", "qaoa", "amplitude", "demo" };
_Static_assert(LT_LEN(map_names) == LT_MAP_COUNT, "one name per map");
static const char *const entanglement_names[] = { "full", "linear", "reverse_linear", "circular", "pairwise", "sca" };
_Static_assert(LT_LEN(entanglement_names) == LT_ENTANGLE_LIST, "one name per entanglement that is not a list");

const char *lt_map_name(lt_map_kind kind) { return (unsigned)kind < LT_MAP_COUNT ? map_names[kind] : "?"; }

/* ---- values ---- */

static lt_status read_count(lt_script *s, int64_t least, int64_t most, int64_t *out)
{
    const lt_script_word w = s->word;
    if (w.kind != LT_SCRIPT_NUMBER || !w.whole || w.value < (double)least || w.value > (double)most)
        return lt_script_fail(s, &w, "%s, expected a whole number from %lld to %lld", lt_script_word_str(&w).s, (long long)least, (long long)most);
    *out = (int64_t)w.value;
    lt_script_next(s);
    return LT_OK;
}

static lt_status read_bool(lt_script *s, bool *out)
{
    static const struct { const char *name; bool value; } words[] = { { "true", true }, { "True", true }, { "false", false }, { "False", false } };
    for (size_t i = 0; i < LT_LEN(words); i++)
        if (lt_script_word_is(&s->word, words[i].name)) {
            *out = words[i].value;
            lt_script_next(s);
            return LT_OK;
        }
    return lt_script_fail(s, &s->word, "%s, expected true or false", lt_script_word_str(&s->word).s);
}

static bool is_text(const lt_script_word *w) { return w->kind == LT_SCRIPT_NAME || w->kind == LT_SCRIPT_STRING; }

static lt_status read_letter(lt_script *s, char *out)
{
    const lt_script_word w = s->word;
    if (!is_text(&w) || w.length != 1 || !strchr("XYZ", w.text[0]))
        return lt_script_fail(s, &w, "%s, expected X, Y or Z", lt_script_word_str(&w).s);
    *out = w.text[0];
    lt_script_next(s);
    return LT_OK;
}

static bool opens(const lt_script *s) { return lt_script_sees(s, '[') || lt_script_sees(s, '('); }

/* Begins a list; *close is the sign that ends it. */
static lt_status open_list(lt_script *s, int *close)
{
    if (!opens(s)) return lt_script_fail(s, &s->word, "%s, expected a list, as [a, b]", lt_script_word_str(&s->word).s);
    *close = s->word.sign == '[' ? ']' : ')';
    lt_script_next(s);
    return LT_OK;
}

/* Whether another element follows. */
static lt_status more_in_list(lt_script *s, int close, bool *more)
{
    *more = true;
    if (lt_script_takes(s, ',')) {
        *more = !lt_script_takes(s, close);
        return LT_OK;
    }
    *more = false;
    return lt_script_expect(s, close, "or ',' in a list");
}

/* [[0, 1], (1, 2)] */
static lt_status read_tuples(lt_script *s, lt_tuples *out)
{
    int close = 0, inner = 0;
    bool more = true, more_inside;
    LT_TRY(open_list(s, &close));
    lt_tuples_destroy(out);
    while (more) {
        int32_t wire[LT_MAP_MAX_WORD];
        const lt_script_word at = s->word;
        int n = 0;
        LT_TRY(open_list(s, &inner));
        do {
            int64_t v = 0;
            if (n == LT_MAP_MAX_WORD) return lt_script_fail(s, &at, "more than %d wires in a tuple", LT_MAP_MAX_WORD);
            LT_TRY(read_count(s, 0, LT_CIRCUIT_MAX_QUBITS - 1, &v));
            wire[n++] = (int32_t)v;
            LT_TRY(more_in_list(s, inner, &more_inside));
        } while (more_inside);
        if (out->width && out->width != n) return lt_script_fail(s, &at, "a tuple of %d wires after one of %d", n, out->width);
        out->width = n;
        LT_TRY(lt_tuples_add(out, wire));
        LT_TRY(more_in_list(s, close, &more));
    }
    return LT_OK;
}

static lt_status read_entanglement(lt_script *s, lt_map *m)
{
    if (opens(s)) {
        m->entanglement = LT_ENTANGLE_LIST;
        return read_tuples(s, &m->list);
    }
    for (size_t i = 0; i < LT_LEN(entanglement_names); i++)
        if (is_text(&s->word) && strlen(entanglement_names[i]) == (size_t)s->word.length
            && !strncmp(s->word.text, entanglement_names[i], (size_t)s->word.length)) {
            m->entanglement = (lt_entanglement)i;
            lt_script_next(s);
            return LT_OK;
        }
    return lt_script_fail(s, &s->word, "%s, expected full, linear, reverse_linear, circular, pairwise, sca or a list of tuples", lt_script_word_str(&s->word).s);
}

static lt_status read_paulis(lt_script *s, lt_map *m)
{
    int close = 0;
    bool more = true;
    LT_TRY(open_list(s, &close));
    for (m->n_words = 0; more; m->n_words++) {
        const lt_script_word w = s->word;
        if (m->n_words == LT_MAP_MAX_WORDS) return lt_script_fail(s, &w, "more than %d words", LT_MAP_MAX_WORDS);
        if (!is_text(&w) || w.length < 1 || w.length > LT_MAP_MAX_WORD || (int)strspn(w.text, "XYZ") < w.length)
            return lt_script_fail(s, &w, "%s, expected a word of up to %d letters X, Y, Z", lt_script_word_str(&w).s, LT_MAP_MAX_WORD);
        memcpy(m->word[m->n_words], w.text, (size_t)w.length);
        m->word[m->n_words][w.length] = 0;
        lt_script_next(s);
        LT_TRY(more_in_list(s, close, &more));
    }
    return LT_OK;
}

static lt_status read_ranges(lt_script *s, lt_map *m)
{
    int close = 0;
    bool more = true;
    LT_TRY(open_list(s, &close));
    for (m->n_ranges = 0; more; m->n_ranges++) {
        int64_t v = 0;
        if (m->n_ranges == LT_MAP_MAX_RANGES) return lt_script_fail(s, &s->word, "more than %d ranges", LT_MAP_MAX_RANGES);
        LT_TRY(read_count(s, 0, LT_CIRCUIT_MAX_QUBITS, &v));
        m->range[m->n_ranges] = (int32_t)v;
        LT_TRY(more_in_list(s, close, &more));
    }
    return LT_OK;
}

static lt_status read_imprimitive(lt_script *s, lt_map *m)
{
    m->cz = lt_script_word_is(&s->word, "CZ");
    if (!m->cz && !lt_script_word_is(&s->word, "CX") && !lt_script_word_is(&s->word, "CNOT"))
        return lt_script_fail(s, &s->word, "%s, expected CX or CZ", lt_script_word_str(&s->word).s);
    lt_script_next(s);
    return LT_OK;
}

static lt_status read_alpha(lt_script *s, lt_map *m)
{
    double sign = lt_script_takes(s, '-') ? -1 : 1;
    if (s->word.kind != LT_SCRIPT_NUMBER) return lt_script_fail(s, &s->word, "%s, expected a number", lt_script_word_str(&s->word).s);
    m->alpha = sign * s->word.value;
    lt_script_next(s);
    return LT_OK;
}

/* ---- arguments ---- */

enum { REPS = 1, ENTANGLEMENT = 2, PAULIS = 4, ALPHA = 8, REPEATS = 16, PATTERN = 32, ROTATION = 64, ANGLE_ROTATION = 128, LAYERS = 256,
       IMPRIMITIVE = 512, RANGES = 1024, LOCAL_FIELD = 2048, WIRES = 4096, REUPLOAD = 8192 };

static const int allowed[] = {
    [LT_MAP_Z] = REPS | WIRES | REUPLOAD, [LT_MAP_ZZ] = REPS | ENTANGLEMENT | WIRES | REUPLOAD,
    [LT_MAP_PAULI] = REPS | ENTANGLEMENT | PAULIS | ALPHA | WIRES | REUPLOAD, [LT_MAP_IQP] = REPEATS | PATTERN | WIRES | REUPLOAD,
    [LT_MAP_ANGLE] = ROTATION | WIRES | REUPLOAD, [LT_MAP_BASIC] = LAYERS | ROTATION | ANGLE_ROTATION | WIRES | REUPLOAD,
    [LT_MAP_STRONG] = LAYERS | IMPRIMITIVE | RANGES | ANGLE_ROTATION | WIRES | REUPLOAD, [LT_MAP_QAOA] = LAYERS | LOCAL_FIELD | WIRES,
    [LT_MAP_AMPLITUDE] = WIRES, [LT_MAP_DEMO] = LAYERS | WIRES | REUPLOAD,
};
_Static_assert(LT_LEN(allowed) == LT_MAP_COUNT, "one row per map");

static lt_status read_repetitions(lt_script *s, lt_map *m) { return read_count(s, 1, 1 << 20, &m->reps); }
static lt_status read_pattern(lt_script *s, lt_map *m) { return read_tuples(s, &m->list); }
static lt_status read_rotation(lt_script *s, lt_map *m) { return read_letter(s, &m->rotation); }
static lt_status read_angle_rotation(lt_script *s, lt_map *m) { return read_letter(s, &m->angle_rotation); }
static lt_status read_local_field(lt_script *s, lt_map *m) { return read_letter(s, &m->local_field); }
static lt_status read_wires(lt_script *s, lt_map *m) { return read_count(s, 1, LT_CIRCUIT_MAX_QUBITS, &m->wires); }
static lt_status read_reupload(lt_script *s, lt_map *m) { return read_bool(s, &m->reupload); }

static const struct { const char *name; int bit; lt_status (*read)(lt_script *s, lt_map *m); } arguments[] = {
    { "reps", REPS, read_repetitions }, { "repeats", REPEATS, read_repetitions }, { "layers", LAYERS, read_repetitions },
    { "entanglement", ENTANGLEMENT, read_entanglement }, { "paulis", PAULIS, read_paulis }, { "alpha", ALPHA, read_alpha },
    { "pattern", PATTERN, read_pattern }, { "rotation", ROTATION, read_rotation }, { "angle_rotation", ANGLE_ROTATION, read_angle_rotation },
    { "imprimitive", IMPRIMITIVE, read_imprimitive }, { "ranges", RANGES, read_ranges }, { "local_field", LOCAL_FIELD, read_local_field },
    { "wires", WIRES, read_wires }, { "reupload", REUPLOAD, read_reupload },
};

static lt_status unknown_argument(const lt_script *s, const lt_script_word *at, lt_map_kind kind)
{
    char list[160] = "";
    for (size_t i = 0; i < LT_LEN(arguments); i++)
        if (arguments[i].bit & allowed[kind]) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", arguments[i].name);
        }
    return lt_script_fail(s, at, "%s has no argument %s; it has %s", lt_map_name(kind), lt_script_word_str(at).s, list);
}

static lt_status read_argument(lt_script *s, lt_map *m, int *given)
{
    const lt_script_word name = s->word;
    for (size_t i = 0; i < LT_LEN(arguments); i++) {
        if (!lt_script_word_is(&name, arguments[i].name) || !(arguments[i].bit & allowed[m->kind])) continue;
        if (*given & arguments[i].bit) return lt_script_fail(s, &name, "%s twice", lt_script_word_str(&name).s);
        *given |= arguments[i].bit;
        lt_script_next(s);
        LT_TRY(lt_script_expect(s, '=', "after the argument's name"));
        return arguments[i].read(s, m);
    }
    return unknown_argument(s, &name, m->kind);
}

static lt_status read_map(lt_script *s, lt_map *m)
{
    int given = 0;
    bool more = true;
    m->kind = LT_MAP_COUNT;
    for (int k = 0; k < LT_MAP_COUNT; k++)
        if (lt_script_word_is(&s->word, map_names[k])) m->kind = (lt_map_kind)k;
    if (m->kind == LT_MAP_COUNT)
        return lt_script_fail(s, &s->word, "%s, expected a map: z, zz, pauli, iqp, angle, basic, strong, qaoa, amplitude or demo", lt_script_word_str(&s->word).s);
    lt_script_next(s);
    if (lt_script_takes(s, '(') && !lt_script_takes(s, ')'))
        while (more) {
            LT_TRY(read_argument(s, m, &given));
            LT_TRY(more_in_list(s, ')', &more));
        }
    if (s->word.kind != LT_SCRIPT_END) return lt_script_fail(s, &s->word, "%s after the map", lt_script_word_str(&s->word).s);
    return LT_OK;
}

lt_status lt_map_read(const char *text, lt_map *m)
{
    lt_script s;
    char name[80];
    *m = (lt_map){ .alpha = 2, .rotation = 'X', .angle_rotation = 'X', .local_field = 'Y', .n_words = 2, .word = { "Z", "ZZ" } };
    snprintf(name, sizeof name, "map '%.50s'", text);
    lt_script_open(&s, name, text, strlen(text));
    return read_map(&s, m);
}

void lt_map_destroy(lt_map *m) { lt_tuples_destroy(&m->list); }
