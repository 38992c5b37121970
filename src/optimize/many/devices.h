/* Several devices that share runs: option device_name with commas. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPTIMIZE_MANY_DEVICES_H
#define LT_OPTIMIZE_MANY_DEVICES_H

#include "lathe/solve.h"

#include <pthread.h>

enum { LT_SHARED_MOST = 16 };

typedef struct lt_shared_devices {
    int             n;                         /* 0: the options name one, and every run has it */
    char            name[LT_SHARED_MOST][32];
    pthread_mutex_t lock;                      /* of what follows */
    int             busy[LT_SHARED_MOST];      /* runs on each now */
    int64_t         runs[LT_SHARED_MOST];      /* ever */
} lt_shared_devices;

/* Looks at the names in opt->device_name. LT_ERR_ARGUMENT unless all are there and of one kind: results would depend on who ran what. */
lt_status lt_shared_devices_open(const lt_solve_options *opt, lt_shared_devices *out);
/* For the options of one run: the device with the fewest runs; its number is given back afterwards. -1: nothing to share. */
int       lt_shared_devices_take(lt_shared_devices *d, lt_solve_options *opt);
void      lt_shared_devices_give(lt_shared_devices *d, int number);

#endif
