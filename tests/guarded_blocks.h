/* What guarded_blocks.c offers a test program that is linked with it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_GUARDED_BLOCKS_H
#define LT_TEST_GUARDED_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Blocks of ours that no variable leads to any more; the first few are named. */
int lt_guard_lost(FILE *to);

#endif
