/* A tool of the build: reads the builders out of graph.h and writes them as rows of a C table, so
   that `lathe explain` cannot fall behind the header (decision 13). make_op_table GRAPH.H > op_table.inc
   SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void put_quoted(const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from)) from++;
    while (to > from && isspace((unsigned char)to[-1])) to--;
    putchar('"');
    for (; from < to; from++) {
        if (*from == '"' || *from == '\\') putchar('\\');
        putchar(*from);
    }
    putchar('"');
}

/* "LT_API lt_node lt_NAME(ARGS); [comment]" -> { "NAME", "lt_node lt_NAME(ARGS)", "section", "comment" }, */
static void put_row(const char *line, const char *section)
{
    const char *signature = line + strlen("LT_API ");
    const char *name = strstr(signature, "lt_node lt_");
    if (!name) return;
    name += strlen("lt_node lt_");
    const char *open = strchr(name, '('), *end = strchr(name, ';');
    if (!open || !end) return;
    const char *comment = strstr(end, "/*"), *comment_end = comment ? strstr(comment, "*/") : NULL;
    printf("    { ");
    put_quoted(name, open);
    printf(", ");
    put_quoted(signature, end);
    printf(", ");
    put_quoted(section, section + strlen(section));
    printf(", ");
    if (comment) put_quoted(comment + 2, comment_end ? comment_end : comment + strlen(comment));
    else printf("\"\"");
    printf(" },\n");
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f) {
        fprintf(stderr, "usage: make_op_table GRAPH.H\n");
        return 1;
    }
    char line[1024], section[80] = "";
    while (fgets(line, sizeof line, f)) {
        if (!strncmp(line, "/* ---- ", 8)) { /* a section heading: the words up to the dashes */
            snprintf(section, sizeof section, "%.79s", line + 8);
            char *dashes = strstr(section, " --");
            if (dashes) *dashes = '\0';
            char *colon = strchr(section, ':');
            if (colon) *colon = '\0';
        }
        if (!strncmp(line, "LT_API lt_node lt_", 18) && strcmp(section, "")) put_row(line, section);
    }
    return fclose(f) != 0;
}
