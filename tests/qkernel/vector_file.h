/* Reads the plain-text vectors made by make_vectors.py. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_VECTOR_FILE_H
#define LT_TEST_VECTOR_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LT_VECTORS
#error "LT_VECTORS names the folder of the vectors"
#endif

typedef struct matrix { int64_t rows, columns; double *v; } matrix; /* v NULL: absent */

typedef struct vector_case {
    char   id[64], mode[16], entangler[16], shortcut[16];
    int    q, layers, re_embed;
    double scale;
    matrix X, W, state_rows, states_re, states_im, gram, Y, cross_gram;
} vector_case;

static inline FILE *vectors_open(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", LT_VECTORS, name);
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    return f;
}

static inline void vectors_broken(const char *what)
{
    fprintf(stderr, "the vectors are broken at '%s'\n", what);
    exit(1);
}

/* "rows columns" and the numbers. */
static inline matrix matrix_read(FILE *f)
{
    long long rows, columns;
    if (fscanf(f, "%lld %lld", &rows, &columns) != 2) vectors_broken("size");
    matrix m = { rows, columns, malloc((size_t)(rows * columns) * sizeof(double)) };
    for (int64_t i = 0; i < rows * columns; i++)
        if (fscanf(f, "%lf", &m.v[i]) != 1) vectors_broken("number");
    return m;
}

static inline matrix matrix_named(FILE *f, const char *name)
{
    char word[32];
    if (fscanf(f, "%31s", word) != 1 || strcmp(word, name)) vectors_broken(name);
    return matrix_read(f);
}

static inline bool case_read(FILE *f, vector_case *c)
{
    char word[32];
    memset(c, 0, sizeof *c);
    if (fscanf(f, "%31s", word) != 1) return false;
    if (strcmp(word, "case") || fscanf(f, "%63s %d %d %15s %lf %d %15s %15s", c->id, &c->q, &c->layers, c->mode, &c->scale,
                                       &c->re_embed, c->entangler, c->shortcut) != 8)
        vectors_broken(word);
    struct { const char *name; matrix *to; } part[] = {
        { "X", &c->X }, { "W", &c->W }, { "state_rows", &c->state_rows }, { "states_re", &c->states_re },
        { "states_im", &c->states_im }, { "gram", &c->gram }, { "Y", &c->Y }, { "cross_gram", &c->cross_gram },
    };
    while (fscanf(f, "%31s", word) == 1 && strcmp(word, "end")) {
        size_t i = 0;
        while (i < sizeof part / sizeof *part && strcmp(word, part[i].name)) i++;
        if (i == sizeof part / sizeof *part) vectors_broken(word);
        *part[i].to = matrix_read(f);
    }
    return true;
}

static inline void case_free(vector_case *c)
{
    matrix *all[] = { &c->X, &c->W, &c->state_rows, &c->states_re, &c->states_im, &c->gram, &c->Y, &c->cross_gram };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->v);
}

#endif
