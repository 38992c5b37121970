/* Carries the rows of src/kernels/ops.def and src/optimize/language/functions.def into the files that repeat them:
   graph.h, docs/ops.md, docs/problem-language.md and the editors' syntax files.

       op_files ROOT            rewrites them (ninja op_files)
       op_files ROOT --check    says which of them differ and exits with 1 (the test op_files)

   SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct op { const char *name, *operand[3], *doc, *domain, *kind; int n_operands, flops, is_function; } op;

#define FUNCTION 1
#define NONE 0
static const op elementwise[] = {
#define LT_UNARY(ID, name, x, flops, kind, vector, builder, language, doc, domain, ...) { #name, { #x }, doc, domain, #kind, 1, flops, language },
#define LT_BINARY(ID, name, a, b, flops, kind, vector, builder, language, doc, domain, ...) { #name, { #a, #b }, doc, domain, #kind, 2, flops, language },
#define LT_TERNARY(ID, name, x, y, z, flops, kind, vector, builder, language, doc, domain, ...) { #name, { #x, #y, #z }, doc, domain, #kind, 3, flops, language },
#include "kernels/ops.def"
};

static const op others[] = {
#define LT_SOURCE(ID, name, doc) { #name, { 0 }, doc, "", "", 0, 0, 0 },
#define LT_OTHER(ID, name, n, infer, gradient, doc, domain) { #name, { 0 }, doc, domain, #gradient, n, 0, 0 },
#include "kernels/ops.def"
};

static const char *builtins[] = {
#define LT_BUILTIN(name, ...) #name,
#include "optimize/language/functions.def"
};

#define LEN(a) (sizeof(a) / sizeof(a)[0])
#define EACH(x, table) for (const op *x = table; x < table + LEN(table); x++)

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "op_files: %s: %s\n", path, what);
    exit(2);
}

/* ---- what is written ---------------------------------------------------------------------- */

static void put_operands(FILE *to, const op *x, const char *type)
{
    for (int i = 0; i < x->n_operands; i++) fprintf(to, "%s%s%s", i || *type ? ", " : "", type, x->operand[i]);
}

static void put_call(FILE *to, const op *x)
{
    fprintf(to, "%s(", x->name);
    for (int i = 0; i < x->n_operands; i++) fprintf(to, "%s%s", i ? ", " : "", x->operand[i]);
    fprintf(to, ")");
}

static void put_header(FILE *to)
{
    EACH(x, elementwise) {
        long start = ftell(to);
        fprintf(to, "LT_API lt_node lt_%s(lt_graph *g", x->name);
        put_operands(to, x, "lt_node ");
        fprintf(to, ");");
        int width = (int)(ftell(to) - start), column = x->n_operands == 1 ? 52 : 62;
        fprintf(to, "%*s/* %s */\n", width < column ? column - width : 1, "", x->doc);
    }
}

/* | separates columns of a table. */
static void put_cell(FILE *to, const char *text)
{
    for (; *text; text++) fprintf(to, *text == '|' ? "\\|" : "%c", *text);
}

static void put_page(FILE *to)
{
    fputs("# The ops\n\nEverything that graphs compute is made of these; `lathe explain NAME` has the builders that users call. This page is written by\n"
          "`ninja op_files` from `src/kernels/ops.def`, where each op is one row; [how to add one](how-to/add-an-op.md).\n\n"
          "## Elementwise\n\nFLOPs are rough, of one element. Integers: *yes* for ops that also take integers; *within* where the result never leaves\n"
          "their type's range. *Function*: the [problem language](problem-language.md) has a function of this name.\n\n"
          "Domain: where the op has a value. Elsewhere it is NaN (or the infinity named here), never an error: a search that meets such a value takes a shorter step.\n"
          "Nothing stands there for ops that have a value everywhere. A start outside is an error that names the function.\n\n"
          "| op | computes | domain | FLOPs | integers | function |\n| --- | --- | --- | --- | --- | --- |\n", to);
    EACH(x, elementwise) {
        fprintf(to, "| `");
        put_call(to, x);
        fprintf(to, "` | ");
        put_cell(to, x->doc);
        const char *integers = !strcmp(x->kind, "REAL") ? "" : !strcmp(x->kind, "WHOLE") ? "yes" : "within";
        fprintf(to, " | ");
        put_cell(to, x->domain);
        fprintf(to, " | %d | %s | %s |\n", x->flops, integers, x->is_function ? "yes" : "");
    }
    fputs("\n## The others\n\n| op | operands | computes | domain | gradient |\n| --- | --- | --- | --- | --- |\n", to);
    EACH(x, others) {
        char operands[16] = "any";
        if (x->n_operands >= 0) snprintf(operands, sizeof operands, "%d", x->n_operands);
        fprintf(to, "| `%s` | %s | ", x->name, operands);
        put_cell(to, x->doc);
        fprintf(to, " | ");
        put_cell(to, x->domain);
        fprintf(to, " | %s |\n", !strncmp(x->kind, "RULE", 4) ? "yes" : !strcmp(x->kind, "MISSING") ? "missing" : "none");
    }
}

/* The row of the language page: names of unary functions, calls of the others. */
static void put_language(FILE *to)
{
    fprintf(to, "| --- | --- |\n| elementwise | `");
    int first = 1;
    EACH(x, elementwise) {
        if (!x->is_function) continue;
        if (!first) fputc(' ', to);
        first = 0;
        if (x->n_operands == 1) fputs(x->name, to);
        else put_call(to, x);
    }
    fputs("`; masks (`lt le gt ge eq`) are 1 or 0; masks, `sign` and `floor` have no gradient |\n", to);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void put_vim(FILE *to)
{
    size_t width = 1000;
    for (size_t i = 0; i < LEN(builtins); i++) {
        if (width + strlen(builtins[i]) >= 120) width = (size_t)fprintf(to, "%ssyn keyword latheFunction", i ? "\n" : "") - (i > 0);
        width += (size_t)fprintf(to, " %s", builtins[i]);
    }
    fputc('\n', to);
}

static void put_vscode(FILE *to)
{
    fputs("      \"match\": \"\\\\b(", to);
    for (size_t i = 0; i < LEN(builtins); i++) fprintf(to, "%s%s", i ? "|" : "", builtins[i]);
    fputs(")\\\\b(?=\\\\s*\\\\()\"\n", to);
}

/* ---- where ------------------------------------------------------------------------------------ */

/* Lines after the one that starts with `after` (NULL: from the first) and before the next that starts with `before`
   (NULL: to the end) are replaced. */
typedef struct file { const char *path, *after, *before; void (*put)(FILE *to); } file;

static const file files[] = {
    { "include/lathe/graph.h", "/* Rows of src/kernels/ops.def", "/* End of these rows", put_header },
    { "docs/ops.md", NULL, NULL, put_page },
    { "docs/problem-language.md", "| group | functions |", "| several arguments |", put_language },
    { "editors/vim/syntax/lathe.vim", "syn keyword latheConstant", "syn match   latheRelation", put_vim },
    { "editors/vscode/syntaxes/lathe.tmLanguage.json", "      \"name\": \"support.function.lathe\"", "    }", put_vscode },
};

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    if (!to) stop("no memory", path);
    for (int c; f && (c = fgetc(f)) != EOF;) fputc(c, to);
    if (f) fclose(f);
    fclose(to);
    return text;
}

static const char *line_that_starts(const char *text, const char *with)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, with, strlen(with))) return line;
    return NULL;
}

static char *renewed(const file *f, const char *old, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    const char *from = old, *end = "";
    if (f->after) {
        from = line_that_starts(old, f->after);
        from = from ? strchr(from, '\n') : NULL;
        end = from ? line_that_starts(++from, f->before) : NULL;
        if (!end) stop("the lines to replace are not found", path);
    }
    FILE *to = open_memstream(&text, &n);
    if (!to) stop("no memory", path);
    fwrite(old, 1, (size_t)(from - old), to);
    f->put(to);
    fputs(end, to);
    fclose(to);
    return text;
}

int main(int argc, char **argv)
{
    int check = argc == 3 && !strcmp(argv[2], "--check"), differ = 0;
    if (argc != 2 && !check) stop("usage: op_files ROOT [--check]", argc > 2 ? argv[2] : "arguments");
    qsort(builtins, LEN(builtins), sizeof *builtins, by_name);
    for (const file *f = files; f < files + LEN(files); f++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], f->path);
        char *old = read_text(path), *text = renewed(f, old, path);
        if (strcmp(old, text)) {
            differ = 1;
            printf("%s %s\n", f->path, check ? "is not what the rows of ops.def and functions.def say: ninja op_files" : "rewritten");
            FILE *to = check ? NULL : fopen(path, "wb");
            if (!check && (!to || fputs(text, to) == EOF || fclose(to))) stop("cannot be written", path);
        }
        free(old);
        free(text);
    }
    return check && differ;
}
