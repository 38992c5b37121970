/* Operator datasets: making, reading, checking and replaying them.
   SPDX-License-Identifier: BSD-3-Clause

   A dataset is one HDF5 file; docs/guide-datasets.md says what is where. A build without HDF5 has all these
   functions but the replays return LT_ERR_UNSUPPORTED. */
#ifndef LATHE_DATASET_H
#define LATHE_DATASET_H

#include "lathe/cluster.h"
#include "lathe/dataset_config.h"
#include "lathe/json.h"
#include "lathe/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reading ------------------------------------------------------------------- */
typedef struct lt_dataset lt_dataset; /* opaque: a file open for reading; one user at a time. A process that was forked since may only close it */

typedef struct lt_dataset_info {      /* texts belong to the dataset; "" when the file lacks them */
    size_t      size;
    int64_t     rows, parameters, realizations, steps, grid; /* N, P, M, T, Gmax */
    int64_t     temporal_columns, summary_columns;
    int64_t     shard_index, shard_count;  /* 0, 1 unless a shard */
    bool        has_outputs;
    const char *config, *engine_config, *engine_version, *precision, *creation_date, *sampling_metrics;
    const char *device;                    /* kind its rollouts ran on: "cpu", "cuda"; "several" after a merge or with mixed_devices: /status/device has
                                              that of each row; "" unknown */
    uint64_t    seed, file_bytes;
    int64_t     status[LT_RUN_STATUS_ROOM]; /* rows by lt_run_status; all done in files that keep none */
    int64_t     engine_age;                /* -1: an older engine wrote it (lt_dataset_upgrade), 1: a newer one; 0: this one, or another program */
} lt_dataset_info;

/* The version of the engine that makes datasets: of the release that last changed a number or a column of the files. */
LT_API const char *lt_dataset_engine(void);

/* LT_ERR_FORMAT for what is not such a file, damaged ones included, and for arrays that do not have the shapes and types of
   docs/guide-datasets.md. The HDF5 library reads the file in a process of its own, without rights (lt_jail_walls), that lives until the dataset is
   closed: no file can bring this process down. LT_ERR_IO when it cannot be read. */
LT_API lt_status       lt_dataset_open(const char *path, lt_dataset **out);
LT_API void            lt_dataset_close(lt_dataset *d); /* NULL is allowed */
/* Instead of closing, for those who open a file again and again: the dataset lets go of its lock on the file and waits for a second. false: it
   does not (the file was written less than three seconds before it was opened); close it. In between only lt_dataset_wake and lt_dataset_close are allowed. */
LT_API bool            lt_dataset_rest(lt_dataset *d);
/* false: it rested for too long, another writes the file, or the file at its path is not what it was (inode, size, times); close it. */
LT_API bool            lt_dataset_wake(lt_dataset *d);
LT_API void lt_dataset_get_info_into(const lt_dataset *d, lt_dataset_info *out);
static inline lt_dataset_info lt_dataset_get_info(const lt_dataset *d) { lt_dataset_info sized; sized.size = sizeof sized; lt_dataset_get_info_into(d, &sized); return sized; }
/* Whether `path` (NULL: no) leads to the very file that d reads, under whatever name: results must not go there. */
LT_API bool            lt_dataset_is_at(const lt_dataset *d, const char *path);

typedef struct lt_dataset_item {
    size_t      size;
    const char *path;
    bool        group;
    const char *dtype;                     /* "float32", "text"; "" for groups */
    lt_shape    shape, chunk;              /* chunk of rank 0: in one piece */
    const char *compression;               /* "gzip 4", "lzf", "" */
    uint64_t    stored_bytes;
} lt_dataset_item;
/* Every group and array, in alphabetical order; a call that returns other than LT_OK ends the walk. */
LT_API lt_status lt_dataset_walk(lt_dataset *d, lt_status (*item)(void *ctx, const lt_dataset_item *item), void *ctx);

/* Shape of an array; rank 0 when there is none. */
LT_API lt_shape  lt_dataset_shape(lt_dataset *d, const char *path);
/* Rows first..first+n-1, as float32; LT_ERR_ARGUMENT names what is out of range. `out` has room for n_values numbers, exactly as
   many as these rows have: LT_ERR_FORMAT when the array of the file has other extents than the caller thinks. */
LT_API lt_status lt_dataset_read(lt_dataset *d, const char *path, int64_t first, int64_t n, float *out, int64_t n_values);
/* States of step t of these rows: [n, M, 3, G, G]; only where the file has them. */
LT_API lt_status lt_dataset_read_step(lt_dataset *d, int64_t first, int64_t n, int64_t t, float *out, int64_t n_values);
LT_API lt_status lt_dataset_read_ints(lt_dataset *d, const char *path, int64_t first, int64_t n, int64_t *out, int64_t n_values);
/* The texts of a label array, [rows], or of an attribute "path@name". The dataset keeps them; *n is 0
   when there is none. */
LT_API lt_status lt_dataset_texts(lt_dataset *d, const char *path, int64_t *n, const char *const **out);

/* ---- Configurations, in short ------------------------------------------------------ */
typedef struct lt_dataset_summary {        /* texts belong to the configuration */
    size_t      size;
    const char *name, *output, *device, *provider; /* provider: of the cloud section, "local" by default */
    int64_t     total_samples, batch_size, realizations, steps;
    uint64_t    seed;
    bool        store_trajectories;
    lt_precision precision;
} lt_dataset_summary;
LT_API void lt_dataset_config_summary_into(const lt_dataset_config *c, lt_dataset_summary *out);
static inline lt_dataset_summary lt_dataset_config_summary(const lt_dataset_config *c) { lt_dataset_summary sized; sized.size = sizeof sized; lt_dataset_config_summary_into(c, &sized); return sized; }

/* ---- Making -------------------------------------------------------------------- */
#define LT_DATE_NOT_RECORDED "1970-01-01T00:00:00+00:00" /* what files without a date have in its place, for readers that expect one */

typedef struct lt_generate_progress { size_t size; int64_t rows_done, rows_total, steps_done; } lt_generate_progress;

typedef struct lt_generate_options {       /* plain data; start from lt_generate_defaults() */
    size_t     size;
    bool       resume;                     /* go on with the file where it stopped; a missing one is started. A finished file gets the rows it lacks
                                              when sampling.total_samples is larger than it was: the bytes of one made in one go */
    bool       overwrite;                  /* an unfinished run, or a file that is no dataset, may be replaced */
    int64_t    shard_index, shard_count;   /* rows i, i + n, … only */
    lt_device *device;                     /* NULL: the CPU; borrowed */
    const char *const *devices;            /* names of n_devices alike, `device` the first of them, that share the rows: a worker process each */
    int        n_devices;                  /* 0: `device` alone. Results do not depend on it */
    int        threads;                    /* of a rollout; 0 = all */
    int64_t    memory_bytes;               /* for activations; 0 = a share of what is free */
    int        at_once;                    /* operators side by side on a GPU, at most 4; 0 = by their size. Results do not depend on it */
    const volatile int *stop;              /* not 0: stop soon, LT_ERR_CANCELLED, the file resumable; NULL: never */
    void     (*progress)(void *ctx, const lt_generate_progress *p); /* NULL: none; after each operator */
    void      *progress_ctx;
    bool       record_times;               /* the file has the date of the run and the seconds of each row; otherwise nothing of the clock, so
                                              that equal runs give equal files */
    const char *date;                      /* written as creation date instead; NULL: LT_DATE_NOT_RECORDED, or with record_times now */
    /* Program and arguments, NULL at the end, of a process that calls lt_generate_worker(LT_WORKER_FD): where rollouts run when
       engine.watchdog says so, or several devices share them. It has standard input and error of this process and no other of its
       files, ignores SIGINT, SIGTERM, SIGHUP and SIGQUIT, and ends with the thread that called lt_generate. NULL: there is none,
       everything runs here. */
    const char *const *worker;
    double      watchdog_seconds;          /* a step may take so long, whatever is expected of it; 0 = 10 */
    int64_t     first_row, end_row;        /* with resume: rows first_row..end_row-1 of the finished file are made again; end_row 0: none */
    lt_cluster *cluster;                   /* ranks that share the rows, all of which call lt_generate with the same configuration; rank 0 writes and reports.
                                              NULL: this process alone. The file does not depend on it */
    const volatile int *drain;             /* not 0: finish what has begun and start no more, LT_ERR_CANCELLED, the file resumable; NULL: never */
    bool        mixed_devices;             /* ranks, and runs that resume, may have devices of different kinds, which differ in the last bits: /status/device has
                                              the kind of each row, and the file depends on who made what. One that was begun so is resumed so */
} lt_generate_options;

typedef struct lt_generate_plan {          /* what a run will take; estimates are marked so in names */
    size_t   size;
    int64_t  rows, realizations, steps, grid, signatures; /* signatures: distinct architectures among the rows */
    int64_t  weight_bytes, arena_bytes, state_bytes, host_bytes; /* the most of any operator; rows on their way */
    double   total_flops;                  /* of all rows */
    double   estimated_seconds, gflops;    /* from a few timed steps of operators of four sizes */
    uint64_t raw_bytes, estimated_file_bytes;
    lt_precision precision;
    char     precision_reason[160], arithmetic[96];
} lt_generate_plan;

enum { LT_LOST_NAMED = 16 };
typedef struct lt_generate_info {          /* the statistics of a run */
    size_t   size;
    int64_t  samples, realizations;        /* by this run */
    int64_t  skipped;                      /* done before it */
    int64_t  non_finite, failed;
    bool     complete;                     /* every row was written, if only as failed or lost */
    int64_t  lost;                         /* to faults of the device, driver or a library, also when tried again */
    int64_t  lost_operators[LT_LOST_NAMED]; /* the first of them, in order */
    int64_t  retries;                      /* runs of operators beyond their first, for the sake of such faults */
    double   total_seconds, samples_per_second;
    double   sampling_seconds, warmup_seconds, input_seconds, inference_seconds, feature_seconds, storage_seconds; /* of the main lane */
    double   ahead_seconds, writer_seconds, compress_seconds; /* of the other two, beside it */
    double   device_seconds;               /* of the rollouts by the device's clock, one by one: side by side they overlap; 0 on the CPU */
    double   total_flops, gflops;          /* gflops: over inference time, of one device */
    int64_t  peak_bytes;                   /* planned memory of rollouts and weights */
    uint64_t file_bytes, raw_bytes;
    int64_t  signatures, commits;
    int64_t  workers;                      /* processes started by the watchdog; 0 = everything ran here */
    int64_t  devices;                      /* that made rows; seconds of theirs are added up, peak_bytes is the most of one */
    lt_precision precision;
    char     precision_reason[160], arithmetic[96], first_failure[160];
    char     retry_reason[160];            /* the first fault that made an operator run again; "" when none did */
    char     device_reason[160];           /* why one of several devices was given up on the way; "" when none was */
    char     feature_reason[256];          /* why states leave the device for the sake of features; "" when none does, or on the CPU */
    int64_t  kernels_compiled, kernels_loaded; /* texts that were compiled, or whose machine code was in the cache folder; 0 on the CPU */
    double   compile_seconds;              /* of all threads that compiled; they work side by side */
    char     step[16], step_reason[160];   /* steps of CNN operators on a GPU, where they fit: "sm_90" or "mma", fused; "graph", and why. "" on the CPU */
} lt_generate_info;

LT_API void lt_generate_defaults_into(lt_generate_options *out);
static inline lt_generate_options lt_generate_defaults(void) { lt_generate_options sized; sized.size = sizeof sized; lt_generate_defaults_into(&sized); return sized; }

/* The GPUs that simulation.device and simulation.parallelism.devices mean on this machine. n = 0: what simulation.device says is to be
   opened as it is, since there is no GPU, or one and nothing to choose. */
enum { LT_GENERATE_MAX_DEVICES = 32 };
typedef struct lt_generate_devices {
    size_t size;
    int  n;
    char name[LT_GENERATE_MAX_DEVICES][16]; /* "cuda:0" */
    char reason[256];                      /* why others that are here do not share the rows; "" when all do */
} lt_generate_devices;
/* LT_ERR_ARGUMENT when a GPU of a list is missing or unlike the first, or when a run cannot have several. */
LT_API lt_status lt_generate_choose_devices(const lt_dataset_config *c, lt_generate_devices *out);
/* What a run of this configuration takes. Writes nothing. */
LT_API lt_status lt_generate_make_plan(const lt_dataset_config *c, const lt_generate_options *opt, lt_generate_plan *out);
/* Makes the dataset at the configuration's output path. After a failure on the way (LT_ERR_CANCELLED, LT_ERR_IO, LT_ERR_DEVICE,
   LT_ERR_MEMORY) what was written is readable and can be resumed. An operator that fails for the sake of its device is run again: alone, by
   a rollout made anew, in a fresh worker process where there are workers. LT_ERR_DEVICE at the end of a run that wrote all rows names
   those that stayed lost; a run that resumes makes them. info may be NULL. */
LT_API lt_status lt_generate(const lt_dataset_config *c, const lt_generate_options *opt, lt_generate_info *info);

/* The other side of the watchdog: a process started by lt_generate serves it until it is asked to end. A step that hangs, or
   a fault that ends this process, costs the operator it happened to and nothing else. */
enum { LT_WORKER_FD = 3 };
LT_API lt_status lt_generate_worker(int fd);

/* Assembles shards: configuration, seed, engine and precision agree, every row occurs once. They may come from devices of different
   kinds, whose rows differ in the last bits: the file then keeps the device of each row. */
LT_API lt_status lt_dataset_merge(const char *out_path, int n, const char *const *paths);

/* ---- Replay: rows to states, no file access --------------------------------------- */
typedef struct lt_replay lt_replay;        /* opaque; one run at a time */

typedef struct lt_replay_options {         /* plain data; start from lt_replay_defaults() */
    size_t       size;
    int64_t      steps, realizations;      /* 0 = the configuration's */
    lt_precision precision;                /* must be the dataset's for equal bits */
    bool         has_precision;            /* else the configuration's */
    lt_post      post;
    bool         clamp;
    double       clamp_lo, clamp_hi;
    int          policy;                   /* an lt_policy to run instead of the row's; -1: the row's */
    lt_device   *device;                   /* NULL: the CPU */
    int          cache;                    /* compiled architectures kept; 0 = 8 */
} lt_replay_options;

LT_API void lt_replay_defaults_into(lt_replay_options *out);
static inline lt_replay_options lt_replay_defaults(void) { lt_replay_options sized; sized.size = sizeof sized; lt_replay_defaults_into(&sized); return sized; }
/* Borrows c and the device, which must outlive *out. */
LT_API lt_status lt_replay_create(const lt_dataset_config *c, const lt_replay_options *opt, lt_replay **out);
LT_API void      lt_replay_destroy(lt_replay *r); /* NULL is allowed */
/* Row `index` of the dataset: the operator's spec and its field [3, G, G] (either may be NULL). */
LT_API lt_status lt_replay_row(lt_replay *r, int64_t index, lt_operator_spec *spec, float *field);
/* The states of row `index`, as lt_rollout_run gives them; realization -1: all. At generation speed:
   what was compiled for an architecture is kept. */
LT_API lt_status lt_replay_run(lt_replay *r, int64_t index, int64_t realization, lt_rollout_sink sink, void *ctx, lt_rollout_result *out);
/* The same for any unit row and field: weights and noise are those of `index`. unit [P], field [3, G, G]
   or NULL for the row's own. */
LT_API lt_status lt_replay_run_unit(lt_replay *r, const float *unit, int64_t index, const float *field, int64_t realization,
                                    lt_rollout_sink sink, void *ctx, lt_rollout_result *out);
LT_API lt_status lt_replay_save_weights(lt_replay *r, int64_t index, const char *path);
/* Writes the states of one row as a dataset file of its own: /outputs/fields and what belongs to it. */
LT_API lt_status lt_replay_to_file(const lt_dataset_config *c, const lt_replay_options *opt, int64_t index, int64_t realization, const char *path,
                                   lt_rollout_result *out);

/* ---- Checking -------------------------------------------------------------------- */
typedef enum lt_finding_level { LT_FINDING_OK, LT_FINDING_WARNING, LT_FINDING_ERROR } lt_finding_level;
/* Reads the whole file and reports what it finds. check_samples also replays `replays` finished rows and compares their
   features, of files made on the CPU bit for bit; check_metadata also compares labels and parameters with what the configuration gives. */
typedef struct lt_validate_options {       /* plain data; start from lt_validate_defaults() */
    size_t size;
    bool check_samples, check_metadata;
    int  replays;
    lt_device *device;                     /* where rows are replayed, of the kind that made the file; NULL: the CPU */
} lt_validate_options;
LT_API void lt_validate_defaults_into(lt_validate_options *out);
static inline lt_validate_options lt_validate_defaults(void) { lt_validate_options sized; sized.size = sizeof sized; lt_validate_defaults_into(&sized); return sized; }
typedef void (*lt_finding)(void *ctx, lt_finding_level level, const char *text);
LT_API lt_status lt_dataset_validate(lt_dataset *d, const lt_validate_options *opt, lt_finding finding, void *ctx);

/* ---- Features of an existing dataset --------------------------------------------- */
typedef struct lt_extract_options {        /* plain data; start from lt_extract_defaults(): the dataset's own features again */
    size_t      size;
    const char *config;                    /* YAML of the offline extractor (lt_extract_document); NULL: none */
    const char *output;                    /* must differ from the dataset; NULL, also in `config`: into the dataset itself */
    int64_t     max_rows, batch_size;      /* 0: all; 32 */
    bool        overwrite, record_times;   /* record_times: as in lt_generate_options */
    bool        spatial, spectral, temporal; /* with any of them set, only these TEMPORAL categories are on */
    int         num_fft_scales;            /* 0: the configuration's */
    lt_device  *device;
    const volatile int *stop;
    void      (*progress)(void *ctx, const lt_generate_progress *p);
    void       *progress_ctx;
    const char *only;                      /* families that are computed, "temporal,summary,architecture,initial"; the others stay as the dataset has them. NULL: all, in place
                                              those of `config` */
} lt_extract_options;

LT_API void lt_extract_defaults_into(lt_extract_options *out);
static inline lt_extract_options lt_extract_defaults(void) { lt_extract_options sized; sized.size = sizeof sized; lt_extract_defaults_into(&sized); return sized; }
/* What a document says besides features. Texts live as long as it, NULL where it has none. Errors name file, line, column and key. */
typedef struct lt_extract_document lt_extract_document; /* opaque */
LT_API lt_status          lt_extract_document_load(const char *path, lt_extract_document **out);
LT_API void               lt_extract_document_destroy(lt_extract_document *d); /* NULL is allowed */
LT_API const char        *lt_extract_document_input(const lt_extract_document *d);  /* input_dataset */
LT_API const char        *lt_extract_document_output(const lt_extract_document *d); /* output_dataset */
LT_API const char        *lt_extract_document_device(const lt_extract_document *d); /* cpu, cuda, cuda:N or auto */
LT_API const lt_idle_key *lt_extract_document_idle(const lt_extract_document *d, int i); /* keys without effect; NULL past the last */

/* Features of stored states where the file has them, else of replayed ones; into a new dataset, or in the place of the old one, which stays as it is until the new
   one is whole (PATH.lathe-next, renamed). Replaces features that are there only with `overwrite`. */
LT_API lt_status lt_dataset_extract(lt_dataset *d, const lt_extract_options *opt, lt_generate_info *info);

/* ---- Files of older engines ------------------------------------------------------- */
typedef struct lt_upgrade_options {        /* plain data; start from lt_upgrade_defaults() */
    size_t      size;
    lt_device  *device;                    /* where rows are computed again, of the kind that made the file; NULL: the CPU */
    const volatile int *stop;
    void      (*progress)(void *ctx, const lt_generate_progress *p);
    void       *progress_ctx;
} lt_upgrade_options;
LT_API void lt_upgrade_defaults_into(lt_upgrade_options *out);
static inline lt_upgrade_options lt_upgrade_defaults(void) { lt_upgrade_options sized; sized.size = sizeof sized; lt_upgrade_defaults_into(&sized); return sized; }
/* Rewrites a finished file of an older engine (lt_dataset_info.engine_age) with the columns and numbers of this one; one of this engine is left alone. The
   new file is written beside it, PATH.lathe-next, and renamed over it when it is whole: until then the file is as it was, and the same call goes on after a
   kill. info may be NULL: samples is the number of rows computed. */
LT_API lt_status lt_dataset_upgrade(const char *path, const lt_upgrade_options *opt, lt_generate_info *info);

/* ---- Tables ----------------------------------------------------------------------- */
typedef struct lt_table_options {          /* plain data; start from lt_table_defaults() */
    size_t      size;
    const char *csv, *parquet;             /* files to write, whole or not at all; NULL: not that */
    bool        unit;                      /* parameters as the stored numbers of the unit interval, not as values */
} lt_table_options;
typedef struct lt_table_info { size_t size; int64_t rows, columns; } lt_table_info;
LT_API void lt_table_defaults_into(lt_table_options *out);
static inline lt_table_options lt_table_defaults(void) { lt_table_options sized; sized.size = sizeof sized; lt_table_defaults_into(&sized); return sized; }
/* One row per operator: parameters, families of features with one row each, labels, status; columns are named group.name, as in the Python package. In blocks of rows. */
LT_API lt_status lt_dataset_table(lt_dataset *d, const lt_table_options *opt, lt_table_info *info);

/* ---- Other formats ---------------------------------------------------------------- */
typedef struct lt_export_options {         /* plain data; start from lt_export_defaults() */
    size_t      size;
    const char *npz, *the_well;            /* files to write, whole or not at all; NULL: not that */
    const char *zarr;                      /* a folder to make, whole or not at all: there must be nothing of that name */
    const char *arrays;                    /* for npz and zarr: names with commas, "parameters,summary,/status/code"; NULL: all */
    const volatile int *stop;              /* not 0: stop soon, LT_ERR_CANCELLED, nothing is left */
    void      (*progress)(void *ctx, const lt_generate_progress *p); /* NULL: none; in megabytes */
    void       *progress_ctx;
} lt_export_options;
typedef struct lt_export_info {
    size_t   size;
    int64_t  arrays, left_out;             /* written; of types that are not exported (booleans, compounds) */
    int64_t  trajectories, trajectories_left_out; /* the_well: of rows that are not done, or on smaller grids */
    uint64_t bytes;                        /* of numbers */
} lt_export_info;
LT_API void lt_export_defaults_into(lt_export_options *out);
static inline lt_export_options lt_export_defaults(void) { lt_export_options sized; sized.size = sizeof sized; lt_export_defaults_into(&sized); return sized; }
/* A Zarr group of format 3, The Well's HDF5 layout (needs stored states), or a NumPy archive; docs/guide-datasets.md says what becomes what. Memory does not grow with the
   dataset. */
LT_API lt_status lt_dataset_export(lt_dataset *d, const lt_export_options *opt, lt_export_info *info);

/* ---- Splits, statistics, cards ------------------------------------------------------ */
typedef struct lt_row_split_options {          /* plain data; start from lt_row_split_defaults(): 0.8, 0.1, 0.1 of the rows that are done, seed 0 */
    size_t   size;
    double   train, val, test;             /* shares of the rows that take part, which add up to 1 at most … */
    bool     counts;                       /* … or, with this, numbers of rows */
    bool     stratify;                     /* by architecture and type of initial field */
    int64_t  seed;
    unsigned status;                       /* rows that take part: bits 1 << lt_run_status */
} lt_row_split_options;
typedef struct lt_row_split lt_row_split;  /* opaque */
enum { LT_SPLIT_TRAIN, LT_SPLIT_VAL, LT_SPLIT_TEST };

LT_API void lt_row_split_defaults_into(lt_row_split_options *out);
static inline lt_row_split_options lt_row_split_defaults(void) { lt_row_split_options sized; sized.size = sizeof sized; lt_row_split_defaults_into(&sized); return sized; }
/* Rows for training, validation and test, by a rule that does not depend on the machine: an operator is a row with all its realizations. */
LT_API lt_status   lt_dataset_split(lt_dataset *d, const lt_row_split_options *opt, lt_row_split **out);
LT_API void        lt_row_split_destroy(lt_row_split *s); /* NULL is allowed */
LT_API int64_t     lt_row_split_rows(const lt_row_split *s, int part, const int64_t **rows); /* how many; *rows ascending, owned by s */
LT_API const char *lt_row_split_rule(const lt_row_split *s);
/* Writes it as JSON, whole or not at all; path NULL: beside the dataset, as FILE.split.json. */
LT_API lt_status   lt_row_split_save(const lt_row_split *s, const lt_dataset *d, const char *path);
/* Mean, deviation, least, most, quartiles and robust deviation of each column of parameters and features over these rows (ascending; NULL: all), as JSON; path NULL:
   FILE.statistics.json, which lathe.Dataset.statistics reads while file and rows are the same. Memory does not grow with the dataset. */
LT_API lt_status   lt_dataset_save_statistics(lt_dataset *d, int64_t n_rows, const int64_t *rows, const char *path);

typedef struct lt_card_options {           /* plain data; start from lt_card_defaults() */
    size_t      size;
    bool        checksum;                  /* SHA-256 of the file, which is read for it; true by default */
    const char *license;                   /* instead of metadata.license of the configuration; NULL: that */
} lt_card_options;
LT_API void lt_card_defaults_into(lt_card_options *out);
static inline lt_card_options lt_card_defaults(void) { lt_card_options sized; sized.size = sizeof sized; lt_card_defaults_into(&sized); return sized; }
/* The dataset described in Markdown, from its own metadata: what is in it, how it was made, figures, licence, checksum. */
LT_API lt_status lt_dataset_card(lt_dataset *d, const lt_card_options *opt, FILE *to);
LT_API lt_status lt_dataset_save_card(lt_dataset *d, const lt_card_options *opt, const char *path); /* whole or not at all */

/* ---- Pictures -------------------------------------------------------------------- */
typedef enum lt_pick { LT_PICK_SOBOL, LT_PICK_RANDOM, LT_PICK_SEQUENTIAL, LT_PICK_DIVERSE, LT_PICK_COUNT } lt_pick;
typedef enum lt_color_norm { LT_COLOR_PER_CELL, LT_COLOR_PER_OPERATOR, LT_COLOR_GLOBAL, LT_COLOR_NORM_COUNT } lt_color_norm;
typedef enum lt_aggregate {
    LT_AGGREGATE_MEAN, LT_AGGREGATE_ENVELOPE, LT_AGGREGATE_ENTROPY, LT_AGGREGATE_VARIANCE, LT_AGGREGATE_STDDEV, LT_AGGREGATE_OVERLAY,
    LT_AGGREGATE_PCA, LT_AGGREGATE_SSIM, LT_AGGREGATE_SPECTRAL, LT_AGGREGATE_COUNT
} lt_aggregate;
enum { LT_AGGREGATE_ROOM = 16 };           /* of arrays with one entry each, so that there may be more of them */
/* Names as the command writes them, in the order of the enums; each ends with NULL. */
LT_API const char *const *lt_pick_names(void);
LT_API const char *const *lt_color_norm_names(void);
LT_API const char *const *lt_aggregate_names(void);

typedef struct lt_movie_options {          /* plain data; start from lt_movie_defaults() */
    size_t        size;
    const char   *video, *frames;          /* a file for ffmpeg; a folder of PNG files; NULL: not that */
    int           fps;
    int           n_operators, realizations, shown; /* realizations 0: the dataset's */
    int64_t       steps, stride;
    int           cell_width, cell_height;
    const char   *colormap;
    lt_color_norm norm;
    int           n_aggregates;
    lt_aggregate  aggregate[LT_AGGREGATE_ROOM];
    bool          spacing;
    lt_pick       pick;
    const int64_t *indices;                /* n_operators of them instead of picking; NULL: pick */
    uint64_t      seed;
    const lt_replay_options *replay;       /* how states are replayed; its steps and realizations are those above. NULL: lt_replay_defaults() */
    const volatile int *stop;
    void        (*progress)(void *ctx, const lt_generate_progress *p);
    void         *progress_ctx;
} lt_movie_options;

typedef struct lt_movie_info { size_t size; int64_t frames, operators; int width, height; bool video; char note[160]; } lt_movie_info;

LT_API void lt_movie_defaults_into(lt_movie_options *out);
static inline lt_movie_options lt_movie_defaults(void) { lt_movie_options sized; sized.size = sizeof sized; lt_movie_defaults_into(&sized); return sized; }
/* One row per operator: realizations side by side, then aggregates over all of them; states are
   replayed. Where ffmpeg is not found, frames are written instead (beside the video's name) and the
   note says so. With neither video nor frames: only the layout, in info. */
LT_API lt_status lt_dataset_movie(lt_dataset *d, const lt_movie_options *opt, lt_movie_info *info);

typedef struct lt_feature_picture_options { /* plain data; start from lt_feature_picture_defaults() */
    size_t         size;
    const char    *output;                 /* FILE.png */
    int            n_operators, width, dpi;
    const int64_t *indices;                /* n_operators of them; NULL: chosen, alpha between far apart (1) and typical (0) */
    double         alpha;
    uint64_t       seed;
} lt_feature_picture_options;
LT_API void lt_feature_picture_defaults_into(lt_feature_picture_options *out);
static inline lt_feature_picture_options lt_feature_picture_defaults(void) { lt_feature_picture_options sized; sized.size = sizeof sized; lt_feature_picture_defaults_into(&sized); return sized; }
/* Initial field, TEMPORAL features over time and SUMMARY features of a few operators, as one picture. */
LT_API lt_status lt_dataset_feature_picture(lt_dataset *d, const lt_feature_picture_options *opt);

/* ---- Pages ------------------------------------------------------------------------ */
/* Adds an overview of the dataset; info may be NULL. */
LT_API lt_status lt_dataset_report(lt_dataset *d, const lt_generate_info *info, lt_report *r);

#ifdef __cplusplus
}
#endif
#endif
