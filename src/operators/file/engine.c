/* Which engine wrote a file. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/file/engine.h"

#include "lathe/dataset.h"

#include <stdio.h>

/* The engine has a version of its own: the release that last changed a number or a column of its files. A release that changes neither
   leaves it alone, so that runs survive an update of lathe (decision 205). */
#define ENGINE "0.2.1"

const char *lt_dataset_engine(void) { return ENGINE; }

static int parse(const char *text, int v[3])
{
    char rest;
    return sscanf(text, "%9d.%9d.%9d%c", &v[0], &v[1], &v[2], &rest) == 3;
}

int64_t lt_engine_age(const char *version)
{
    int file[3], now[3];
    if (!version[0]) return 0;
    if (!parse(version, file) || !parse(ENGINE, now)) return 1;
    for (int i = 0; i < 3; i++)
        if (file[i] != now[i]) return file[i] < now[i] ? -1 : 1;
    return 0;
}
