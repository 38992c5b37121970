/* What the commands on operator datasets share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_CLI_DATASET_DATASET_H
#define LATHE_CLI_DATASET_DATASET_H

#include "cli/frame/cli.h"

/* What is wrong with a file the user named is the user's to mend: status 2. */
lt_status dataset_blame(lt_status s);
/* Opens --dataset FILE, or the one operand in its place. */
lt_status dataset_open(cli_context *c, const char *option, lt_dataset **out);
/* The configuration the file carries; LT_ERR_ARGUMENT when it has none of lathe's. */
lt_status dataset_config(lt_dataset *d, const char *path, lt_dataset_config **out);
const char *dataset_path(const cli_context *c, const char *option);
/* Where a file was computed: its precision, for replays. */
lt_replay_options dataset_replay_options(const cli_context *c, lt_dataset *d);
/* On which kinds of device how many rows were made. */
enum { DATASET_MAX_DEVICES = 8 };
typedef struct dataset_devices { int n; struct { char name[16]; int64_t rows; } kind[DATASET_MAX_DEVICES]; } dataset_devices;
lt_status dataset_count_devices(lt_dataset *d, dataset_devices *add_to);
const char *dataset_list_devices(const dataset_devices *d, char text[256]); /* "12 on cuda, 8 on cpu" */
void dataset_json_devices(lt_json *j, const dataset_devices *d);           /* the field "devices": rows by kind */

/* The device to compute on: NULL is the CPU. */
lt_device *dataset_device(const cli_context *c);

/* "3,5,8-11" to numbers in 0..limit-1; the caller frees *out. */
lt_status dataset_indices(const char *option, const char *text, int64_t limit, int64_t **out, int *n);

/* A progress bar over operators. */
typedef struct dataset_bar { cli_context *c; const char *label; lt_progress *bar; const char *unit; /* NULL: operator */ } dataset_bar;
void dataset_bar_set(void *bar, const lt_generate_progress *p);
void dataset_bar_end(dataset_bar *bar);

/* The statistics of a run, as text and as JSON. */
void dataset_print_info(const lt_generate_info *i);
void dataset_json_info(lt_json *j, const lt_generate_info *i);

#endif
