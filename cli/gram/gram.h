/* What the files of `lathe gram` share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_GRAM_GRAM_H
#define LATHE_CLI_GRAM_GRAM_H

#include "cli/frame/cli.h"

typedef struct gram_cli {
    cli_common      common;
    lt_gram_options gram;
    int             backend;
    const char     *x, *y, *weights, *out, *states_out, *report, *devices, *kernel_cache;
    const char     *map, *circuit, *circuit_out, *read, *rows;
    bool            plan, resume, requeue;
    double          memory;        /* GiB of each rank; 0: not said */
    int64_t         landmarks;     /* 0: K itself */
    lt_similarity_options similarity;
} gram_cli;
enum { GRAM_MAX_DEVICES = 16 };

typedef struct gram_job {
    cli_context    *c;
    const gram_cli *o;
    lt_array        x, y, w;
    lt_rows         X, Y;
    double         *weights;
    lt_npy_map     *map, *states_map;
    void           *K, *own_K;     /* K: in the map, or own_K */
    int64_t         n, m;
    lt_device      *device[GRAM_MAX_DEVICES]; /* of --devices */
    int             n_devices;
    lt_gram        *gram;
    lt_progress    *bar;
    bool            bar_of_states; /* it shows states being prepared, not pairs */
    lt_gram_info    info;
    lt_landmark_info landmarks;
    bool            wants_K;       /* not only states */
    char           *cached;        /* the file of the kernel cache; NULL = none asked for */
    bool            from_cache;    /* K was there */
    lt_circuit     *circuit;       /* of --map or --circuit; NULL = layers of --weights */
    int64_t         qubits;
} gram_job;

/* Circuits (gram_circuit.c): whether the options ask for one; made, with its weights, or with none where that is all right; a handle of it; its plan. */
bool      gram_has_circuit(const gram_cli *o);
lt_status gram_circuit_make(const char *map, const char *file, const char *weights, int64_t n_features, bool without_weights, lt_circuit **out, double **w);
lt_status gram_read_circuit(gram_job *j);
lt_status gram_refuse_circuit_options(const gram_job *j);
lt_status gram_open_circuit(gram_job *j, const lt_gram_options *opt);
lt_status gram_print_plan(gram_job *j);
lt_similarity_options gram_similarity(const gram_job *j);

/* --landmarks (gram_landmarks.c): what goes with it; Z into j->K; what came out. */
lt_status gram_check_landmarks(const gram_job *j);
lt_status gram_make_landmarks(gram_job *j);
void      gram_put_landmarks(const gram_job *j);

/* K in a file, tile by tile (gram_file.c): whether the run is one; what goes with it; the run. */
bool      gram_by_tiles(const gram_job *j);
lt_status gram_check_tiles(const gram_job *j);
lt_status gram_make_tiles(gram_job *j);
/* Removes the table of tiles of a matrix that was replaced by one made at once. */
void      gram_drop_table(const char *path);
/* --read: rows of a finished file, or what it is. */
lt_status gram_read(gram_job *j);

lt_status gram_report(gram_job *j);
/* The kernel cache (gram_cache.c): K from its file where there is one that fits; K into it. */
lt_status gram_cache_load(gram_job *j);
lt_status gram_cache_store(const gram_job *j);

#endif
