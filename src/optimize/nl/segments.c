/* The segments of a .nl file. SPDX-License-Identifier: BSD-3-Clause */
#include "optimize/nl/nl.h"

#include "base/alloc.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Header: ten lines of text in both forms --------------------------------------------------------- */

enum { HEADER_NUMBERS = 16, MOST_SIZE = 1 << 28 };

/* The numbers of one line; missing ones are 0. */
static lt_status read_header_line(lt_nl_cursor *c, int64_t *v)
{
    memset(v, 0, HEADER_NUMBERS * sizeof *v);
    if (c->at == c->end) return lt_nl_fail(c, "the file ends inside its header");
    const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    if (!end) return lt_nl_fail(c, "the file ends inside its header");
    lt_nl_cursor line = *c;
    line.binary = false;
    const char *comment = memchr(c->at, '#', (size_t)(end - c->at));
    line.end = comment ? comment : end;
    for (int k = 0; k < HEADER_NUMBERS; k++) {
        while (line.at < line.end && strchr(" \t\r", *line.at)) line.at++;
        if (line.at == line.end) break;
        LT_TRY(lt_nl_int(&line, "a size in the header", 0, MOST_SIZE, &v[k]));
    }
    c->at = end + 1;
    c->line++;
    return LT_OK;
}

static lt_status read_first_line(lt_nl_cursor *c, lt_nl *nl)
{
    char letter = c->at < c->end ? *c->at++ : 0;
    if (letter != 'g' && letter != 'b') return lt_nl_fail(c, "no .nl file: it begins with neither g nor b");
    const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    if (!end) return lt_nl_fail(c, "the file ends inside its header");
    lt_nl_cursor line = *c;
    int64_t v;
    line.end = end;
    if (line.at < end && *line.at != ' ' && *line.at != '\r') {
        LT_TRY(lt_nl_int(&line, "the number of options", 0, 9, &v));
        nl->n_options = (int)v;
    }
    for (int k = 0; k < nl->n_options; k++) {
        LT_TRY(lt_nl_int(&line, "an option", INT32_MIN, INT32_MAX, &v));
        nl->options[k] = (int)v;
    }
    if (nl->n_options >= 2 && nl->options[1] == 3) {
        LT_TRY(lt_nl_number(&line, "an option", &nl->options_tolerance));
        nl->has_tolerance = true;
    }
    c->at = end + 1;
    c->line++;
    c->binary = letter == 'b';
    return LT_OK;
}

/* The fields of each line, by their numbers in "Writing .nl files", table 5. */
static lt_status check_header(const lt_nl_cursor *c, int64_t line[11][HEADER_NUMBERS])
{
    int64_t whole = 0;
    for (int k = 0; k < 5; k++) whole += line[7][k];
    if (whole) return lt_nl_fail(c, "%" PRId64 " variables are integer or binary: only continuous ones can be solved for", whole);
    if (line[2][5]) return lt_nl_fail(c, "%" PRId64 " logical constraints: they are not supported", line[2][5]);
    if (line[3][2] || line[3][3]) return lt_nl_fail(c, "complementarity conditions are not supported");
    if (line[6][1]) return lt_nl_fail(c, "%" PRId64 " imported functions: they are not supported", line[6][1]);
    const uint16_t probe = 1;
    const int64_t own = *(const uint8_t *)&probe ? 1 : 2; /* ours: little-endian or big-endian */
    if (c->binary && line[6][2] && line[6][2] != own)
        return lt_nl_fail(c, "a binary file of a machine with another order of bytes; write it as text (AMPL: write gSTUB;)");
    if (line[2][0] < 1) return lt_nl_fail(c, "the model has no variables");
    if (line[2][0] > c->end - c->begin || line[2][1] > c->end - c->begin)
        return lt_nl_fail(c, "%" PRId64 " variables and %" PRId64 " constraints in a file of %zu bytes", line[2][0], line[2][1], (size_t)(c->end - c->begin));
    return LT_OK;
}

static lt_status allocate(lt_nl *nl)
{
    size_t n = (size_t)nl->n, m = (size_t)nl->m;
    nl->constraint = lt_arena_alloc(&nl->arena, (m + 1) * sizeof *nl->constraint);
    nl->defined = lt_arena_alloc(&nl->arena, ((size_t)nl->n_defined + 1) * sizeof *nl->defined);
    double *v = lt_arena_alloc(&nl->arena, (3 * n + 2 * m + 1) * sizeof *v);
    if (!nl->constraint || !nl->defined || !v) return LT_ERR_MEMORY;
    nl->lower = v, nl->upper = v + n, nl->x0 = v + 2 * n, nl->c_lower = v + 3 * n, nl->c_upper = v + 3 * n + m;
    nl->objective.first = -1;
    for (size_t i = 0; i < m; i++) nl->constraint[i].first = -1;
    for (int64_t i = 0; i < nl->n_defined; i++) nl->defined[i].first = -1;
    for (size_t i = 0; i < n; i++) nl->lower[i] = -INFINITY, nl->upper[i] = INFINITY;
    for (size_t i = 0; i < m; i++) nl->c_lower[i] = -INFINITY, nl->c_upper[i] = INFINITY;
    return LT_OK;
}

static lt_status read_header(lt_nl_cursor *c, lt_nl *nl)
{
    int64_t line[11][HEADER_NUMBERS] = { { 0 } };
    LT_TRY(read_first_line(c, nl));
    for (int k = 2; k <= 10; k++) LT_TRY(read_header_line(c, line[k]));
    LT_TRY(check_header(c, line));
    nl->n = line[2][0];
    nl->m = line[2][1];
    nl->n_objectives = line[2][2];
    nl->terms_expected[0] = line[8][0], nl->terms_expected[1] = line[8][1];
    for (int k = 0; k < 5; k++) nl->n_defined += line[10][k];
    if (nl->n_defined > c->end - c->begin) return lt_nl_fail(c, "%" PRId64 " defined variables in a file of %zu bytes", nl->n_defined, (size_t)(c->end - c->begin));
    return allocate(nl);
}

/* ---- Segments ---------------------------------------------------------------------------------------- */

static lt_status read_linear(lt_nl_cursor *c, lt_nl *nl, int64_t n, lt_nl_linear *out)
{
    out->variable = lt_arena_alloc(&nl->arena, (size_t)(n + 1) * sizeof *out->variable);
    out->coefficient = lt_arena_alloc(&nl->arena, (size_t)(n + 1) * sizeof *out->coefficient);
    if (!out->variable || !out->coefficient) return LT_ERR_MEMORY;
    for (int64_t k = 0; k < n; k++) {
        LT_TRY(lt_nl_int(c, "a variable", 0, nl->n + nl->n_defined - 1, &out->variable[k]));
        if (out->variable[k] >= nl->n && !nl->defined[out->variable[k] - nl->n].given)
            return lt_nl_fail(c, "v%" PRId64 " is used before it is defined", out->variable[k]);
        LT_TRY(lt_nl_number(c, "a coefficient", &out->coefficient[k]));
        if (!isfinite(out->coefficient[k])) return lt_nl_fail(c, "a coefficient is %g, expected a finite number", out->coefficient[k]);
        lt_nl_end_line(c);
    }
    out->n = n;
    return LT_OK;
}

static lt_status read_defined(lt_nl_cursor *c, lt_nl *nl)
{
    int64_t i, linear, where;
    LT_TRY(lt_nl_int(c, "a defined variable", nl->n, nl->n + nl->n_defined - 1, &i));
    LT_TRY(lt_nl_int(c, "the number of linear terms", 0, LT_MIN(nl->n + nl->n_defined, c->end - c->at), &linear));
    LT_TRY(lt_nl_int(c, "where a defined variable is used", 0, INT32_MAX, &where));
    lt_nl_end_line(c);
    lt_nl_body *body = &nl->defined[i - nl->n];
    if (body->given) return lt_nl_fail(c, "v%" PRId64 " is defined twice", i);
    LT_TRY(read_linear(c, nl, linear, &body->linear));
    LT_TRY(lt_nl_read_expression(c, nl, &body->first));
    body->given = true;
    return LT_OK;
}

static lt_status read_constraint(lt_nl_cursor *c, lt_nl *nl)
{
    int64_t i;
    LT_TRY(lt_nl_int(c, "a constraint", 0, nl->m - 1, &i));
    lt_nl_end_line(c);
    if (nl->constraint[i].given) return lt_nl_fail(c, "constraint %" PRId64 " has two segments C", i);
    nl->constraint[i].given = true;
    return lt_nl_read_expression(c, nl, &nl->constraint[i].first);
}

/* Of several objectives the first is taken, as AMPL's objno=1 does. */
static lt_status read_objective(lt_nl_cursor *c, lt_nl *nl)
{
    int64_t i, sense, first;
    LT_TRY(lt_nl_int(c, "an objective", 0, nl->n_objectives - 1, &i));
    LT_TRY(lt_nl_int(c, "0 (minimize) or 1 (maximize)", 0, 1, &sense));
    lt_nl_end_line(c);
    LT_TRY(lt_nl_read_expression(c, nl, &first));
    if (i != 0) return LT_OK;
    if (nl->objective.given) return lt_nl_fail(c, "objective 0 has two segments O");
    nl->objective.given = true;
    nl->objective.first = first;
    nl->maximize = sense == 1;
    return LT_OK;
}

/* J and G: the linear part of a constraint, of an objective. */
static lt_status read_linear_part(lt_nl_cursor *c, lt_nl *nl, bool of_objective)
{
    int64_t i, n;
    lt_nl_linear skipped;
    LT_TRY(lt_nl_int(c, of_objective ? "an objective" : "a constraint", 0, (of_objective ? nl->n_objectives : nl->m) - 1, &i));
    LT_TRY(lt_nl_int(c, "the number of linear terms", 0, LT_MIN(nl->n, c->end - c->at), &n));
    lt_nl_end_line(c);
    lt_nl_linear *to = of_objective ? (i == 0 ? &nl->objective.linear : &skipped) : &nl->constraint[i].linear;
    if (to != &skipped && to->variable) return lt_nl_fail(c, "segment %c%" PRId64 " stands there twice", of_objective ? 'G' : 'J', i);
    nl->n_terms[of_objective] += n;
    return read_linear(c, nl, n, to);
}

/* One line of r or b: which bounds, then their values. */
static lt_status read_bounds(lt_nl_cursor *c, int64_t kind, double *lower, double *upper)
{
    *lower = -INFINITY, *upper = INFINITY;
    if (kind == 0 || kind == 2 || kind == 4) LT_TRY(lt_nl_number(c, "a bound", lower));
    if (kind == 0 || kind == 1) LT_TRY(lt_nl_number(c, "a bound", upper));
    if (kind == 4) *upper = *lower;
    if (kind == 5) return lt_nl_fail(c, "complementarity conditions are not supported");
    if (!(*lower <= *upper)) return lt_nl_fail(c, "bounds %g and %g contradict each other", *lower, *upper);
    if (*lower == INFINITY || *upper == -INFINITY) return lt_nl_fail(c, "bounds %g and %g: no number lies between", *lower, *upper);
    return LT_OK;
}

static lt_status read_all_bounds(lt_nl_cursor *c, int64_t n, double *lower, double *upper)
{
    lt_nl_end_line(c);
    for (int64_t i = 0; i < n; i++) {
        char letter;
        LT_TRY(lt_nl_letter(c, &letter));
        if (!letter) return lt_nl_fail(c, "the file ends where a bound is expected");
        if (letter < '0' || letter > '5') return lt_nl_fail(c, "'%c' where a kind of bound, 0 to 5, is expected", letter);
        LT_TRY(read_bounds(c, letter - '0', &lower[i], &upper[i]));
        lt_nl_end_line(c);
    }
    return LT_OK;
}

/* Starts of variables (x) and of multipliers (d, which are not used). */
static lt_status read_start(lt_nl_cursor *c, int64_t size, double *out)
{
    int64_t n, i;
    double v;
    LT_TRY(lt_nl_int(c, "the number of starting values", 0, size, &n));
    lt_nl_end_line(c);
    for (int64_t k = 0; k < n; k++) {
        LT_TRY(lt_nl_int(c, "the number of a starting value", 0, size - 1, &i));
        LT_TRY(lt_nl_number(c, "a starting value", &v));
        if (!isfinite(v)) return lt_nl_fail(c, "a starting value is %g, expected a finite number", v);
        if (out) out[i] = v;
        lt_nl_end_line(c);
    }
    return LT_OK;
}

/* Suffixes are for other solvers: read past. */
static lt_status skip_suffix(lt_nl_cursor *c)
{
    int64_t kind, n, i, length;
    const char *name;
    double v;
    LT_TRY(lt_nl_int(c, "the kind of a suffix", 0, 7, &kind));
    LT_TRY(lt_nl_int(c, "the number of its values", 0, c->end - c->at, &n));
    LT_TRY(lt_nl_text(c, "the name of a suffix", &name, &length));
    lt_nl_end_line(c);
    for (int64_t k = 0; k < n; k++) {
        LT_TRY(lt_nl_int(c, "the number of an item", 0, INT32_MAX, &i));
        if (kind & 4) LT_TRY(lt_nl_number(c, "the value of a suffix", &v));
        else LT_TRY(lt_nl_int(c, "the value of a suffix", INT32_MIN, INT32_MAX, &i));
        lt_nl_end_line(c);
    }
    return LT_OK;
}

/* Lengths of the columns of the Jacobian: not needed. */
static lt_status skip_columns(lt_nl_cursor *c, int64_t n)
{
    int64_t count, v;
    LT_TRY(lt_nl_int(c, "the number of columns", 0, n, &count));
    lt_nl_end_line(c);
    for (int64_t k = 0; k < count; k++) LT_TRY(lt_nl_int(c, "the length of a column", 0, INT64_MAX, &v));
    return LT_OK;
}

static lt_status read_segment(lt_nl_cursor *c, lt_nl *nl, char letter)
{
    switch (letter) {
    case 'V': return read_defined(c, nl);
    case 'C': return read_constraint(c, nl);
    case 'O': return read_objective(c, nl);
    case 'J': return read_linear_part(c, nl, false);
    case 'G': return read_linear_part(c, nl, true);
    case 'x': return read_start(c, nl->n, nl->x0);
    case 'd': return read_start(c, nl->m, NULL);
    case 'b': nl->has_bounds = true; return read_all_bounds(c, nl->n, nl->lower, nl->upper);
    case 'r': nl->has_ranges = true; return read_all_bounds(c, nl->m, nl->c_lower, nl->c_upper);
    case 'k': case 'K': return skip_columns(c, nl->n);
    case 'S': return skip_suffix(c);
    case 'F': return lt_nl_fail(c, "imported functions are not supported");
    case 'L': return lt_nl_fail(c, "logical constraints are not supported");
    default: return lt_nl_fail(c, letter >= ' ' && letter <= '~' ? "there is no segment '%c'" : "there is no segment of code %d", letter);
    }
}

lt_status lt_nl_read(lt_nl_cursor *c, lt_nl *nl)
{
    nl->name = c->name;
    LT_TRY(read_header(c, nl));
    for (char letter;;) {
        LT_TRY(lt_nl_letter(c, &letter));
        if (!letter && c->at >= c->end) break;
        LT_TRY(read_segment(c, nl, letter));
        lt_nl_end_line(c);
    }
    for (int k = 0; k < 2; k++)
        if (nl->n_terms[k] < nl->terms_expected[k])
            return lt_nl_fail(c, "the file ends after %" PRId64 " of %" PRId64 " linear terms of the %s", nl->n_terms[k], nl->terms_expected[k], k ? "objective" : "constraints");
    if (!nl->has_bounds) return lt_nl_fail(c, "the file ends without a segment b, the bounds of the variables");
    if (!nl->has_ranges && nl->m) return lt_nl_fail(c, "the file ends without a segment r, the right-hand sides of the constraints");
    if (nl->n_objectives && !nl->objective.given) return lt_nl_fail(c, "the file ends without a segment O, the objective");
    return LT_OK;
}

void lt_nl_release(lt_nl *nl)
{
    lt_arena_release(&nl->arena);
    lt_free(nl->node);
    lt_free(nl->breakpoints);
    nl->node = NULL;
    nl->breakpoints = NULL;
}
