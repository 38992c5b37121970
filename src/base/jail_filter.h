/* The walls of a jail that the kernel keeps. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_JAIL_FILTER_H
#define LT_BASE_JAIL_FILTER_H

#include <stdbool.h>

/* Each is silent where the kernel lacks it. */
void lt_jail_landlock(int file);  /* nothing can be opened but this; -1: nothing */
void lt_jail_seccomp(void);       /* only the calls that parsing takes; files only for reading */
void lt_jail_seccomp_shut(void);  /* no file is opened any more */

#endif
