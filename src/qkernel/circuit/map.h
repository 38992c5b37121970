/* Named maps: their arguments, read from text, and the circuits they stand for. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_CIRCUIT_MAP_H
#define LT_QKERNEL_CIRCUIT_MAP_H

#include "qkernel/circuit/circuit.h"

typedef enum lt_map_kind {
    LT_MAP_Z, LT_MAP_ZZ, LT_MAP_PAULI, LT_MAP_IQP, LT_MAP_ANGLE, LT_MAP_BASIC, LT_MAP_STRONG, LT_MAP_QAOA, LT_MAP_AMPLITUDE, LT_MAP_DEMO,
    LT_MAP_COUNT
} lt_map_kind;

typedef enum lt_entanglement {
    LT_ENTANGLE_FULL, LT_ENTANGLE_LINEAR, LT_ENTANGLE_REVERSE_LINEAR, LT_ENTANGLE_CIRCULAR, LT_ENTANGLE_PAIRWISE, LT_ENTANGLE_SCA,
    LT_ENTANGLE_LIST, LT_ENTANGLE_COUNT
} lt_entanglement;

/* Tuples of wires, each `width` long, one after the other. */
typedef struct lt_tuples { int32_t *wire; int64_t n, capacity; int width; } lt_tuples;

enum { LT_MAP_MAX_WORDS = 64, LT_MAP_MAX_WORD = 16, LT_MAP_MAX_RANGES = 4096 };

typedef struct lt_map {
    lt_map_kind     kind;
    int64_t         reps;                 /* repetitions or layers; 0 = not named */
    int64_t         wires;                /* 0 = not named */
    double          alpha;
    char            rotation, angle_rotation, local_field;
    bool            cz, reupload;
    lt_entanglement entanglement;
    lt_tuples       list;                 /* of LT_ENTANGLE_LIST, and iqp's pattern (width 0 = all pairs) */
    char            word[LT_MAP_MAX_WORDS][LT_MAP_MAX_WORD + 1];
    int             n_words;
    int32_t         range[LT_MAP_MAX_RANGES];
    int             n_ranges;
} lt_map;

/* The map with defaults where the text says nothing; *out is to be destroyed, on failure too. */
lt_status lt_map_read(const char *text, lt_map *out);
void      lt_map_destroy(lt_map *m);
const char *lt_map_name(lt_map_kind kind);

/* Appends the tuples of an entanglement on n wires; repetition is what sca shifts by. */
lt_status lt_tuples_of(lt_entanglement e, int64_t n, int width, int64_t repetition, const lt_tuples *list, lt_tuples *out);
lt_status lt_tuples_add(lt_tuples *t, const int32_t *wires);
void      lt_tuples_destroy(lt_tuples *t);


#endif
