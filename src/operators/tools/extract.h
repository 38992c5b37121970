/* What the files of the offline extractor share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_EXTRACT_H
#define LT_OPERATORS_TOOLS_EXTRACT_H

#include "operators/generate/row_copy.h"
#include "operators/generate/generate.h"

enum { LT_EXTRACT_BLOCK = 16 };             /* rows whose stored states are read together */

typedef struct lt_upgrade lt_upgrade;       /* tools/upgrade.c */

typedef struct lt_extract {
    lt_dataset               *d;
    lt_dataset_info           in;
    lt_extract_options       *opt;
    lt_generate_info         *info;
    lt_dataset_config        *c;            /* of the new file */
    lt_arena                  arena;
    lt_feature_set           *set;
    lt_row_table              rows;
    lt_store_plan             plan;
    lt_store                 *store;
    lt_row_features           features;
    lt_replay                *replay;
    lt_operator_weights      *weights;      /* of the row being worked on, where its features need them */
    lt_row_status             status;       /* of the dataset */
    lt_row_reader             old;          /* of parts that are kept */
    unsigned                  kept;         /* bits of lt_part: copied from the dataset, not computed */
    bool                      in_place, upgrading, needs_states;
    struct lt_extract_document *document;   /* NULL: none */
    const char               *note[5];      /* its metadata, in the order of lt_extract_notes */
    lt_upgrade               *upgrade;      /* NULL: features are computed and stored as they are */
    int64_t                  *failed;       /* [LT_EXTRACT_BLOCK, M] */
    float                    *states, *small; /* one step of a block; one row of it, not padded */
    float                    *field;        /* [3, Gmax, Gmax] */
} lt_extract;

/* Computes and stores all rows that the store does not have. */
lt_status lt_extract_rows(lt_extract *e);

/* The configuration of the new file: that of the dataset, with the features the options and the
   extractor's own document ask for. What the document says of output, sizes and overwriting fills in
   what the options leave open. */
lt_status lt_extract_config(lt_extract *e, lt_dataset_config **out);

/* The whole of it: preparing, rows, the new file in its place. */
lt_status lt_extract_run(lt_extract *e);
void      lt_extract_release(lt_extract *e);

/* ---- Files of older engines ----------------------------------------------------------------------------- */
/* Looks at the columns that the file has; *out NULL when it keeps no SUMMARY features. */
lt_status lt_upgrade_create(const lt_extract *e, lt_upgrade **out);
void      lt_upgrade_destroy(lt_upgrade *u);
/* A row as the file has it, with what is computed differently now. The row must come out as the file has it in every other column. */
lt_status lt_upgrade_row(lt_upgrade *u, lt_extract *e, int64_t row, lt_store_row *out);

#endif
