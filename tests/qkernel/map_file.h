/* Reads vectors of named maps, made by make_map_vectors.py. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_MAP_FILE_H
#define LT_TEST_MAP_FILE_H

#include "lathe/circuit.h"
#include "vector_file.h"

typedef struct map_case { char map[256]; matrix X, W, K, re, im; } map_case;

static inline bool map_read(FILE *f, map_case *c)
{
    char line[256], word[32];
    memset(c, 0, sizeof *c);
    do
        if (!fgets(line, sizeof line, f)) return false;
    while (line[0] == '\n');
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "case ", 5)) vectors_broken(line);
    snprintf(c->map, sizeof c->map, "%s", line + 5);
    struct { const char *name; matrix *to; } part[] = { { "X", &c->X }, { "W", &c->W }, { "K", &c->K }, { "re", &c->re }, { "im", &c->im } };
    while (fscanf(f, "%31s", word) == 1 && strcmp(word, "end")) {
        size_t i = 0;
        while (i < sizeof part / sizeof *part && strcmp(word, part[i].name)) i++;
        if (i == sizeof part / sizeof *part) vectors_broken(word);
        *part[i].to = matrix_read(f);
    }
    return true;
}

static inline void map_free(map_case *c) { free(c->X.v), free(c->W.v), free(c->K.v), free(c->re.v), free(c->im.v); }

#endif
