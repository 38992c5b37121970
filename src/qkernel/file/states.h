/* Packed states that tiles and ranks of one matrix share, where making them takes longer than reading them. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_FILE_STATES_H
#define LT_QKERNEL_FILE_STATES_H

#include "lathe/gram.h"
#include "qkernel/plan.h"

typedef struct lt_shared_states lt_shared_states;

/* PATH is a file of states beside a growing matrix of this digest, in tiles of this side. It only saves work: what is missing in it, damaged, of another matrix or cannot be written is made as if it
   were not there. NULL when there is no memory for it, or no room on the disk. */
lt_shared_states *lt_shared_states_open(const char *path, const char *digest, const lt_rows *x, const lt_rows *y, int64_t side);
void              lt_shared_states_close(lt_shared_states *s); /* NULL is allowed; the file stays */

/* Rows first..first+n-1 of x, which is a part of the matrix's X or Y, as panels of this plan: true when `panels` holds them. s NULL: false. */
bool lt_shared_states_read(lt_shared_states *s, const lt_gram_plan *p, const lt_rows *x, int64_t first, int64_t n, void *panels);
/* Offers panels that took so long to make. */
void lt_shared_states_write(lt_shared_states *s, const lt_gram_plan *p, const lt_rows *x, int64_t first, int64_t n, const void *panels, int64_t ns);

int64_t lt_shared_states_made(const lt_shared_states *s); /* rows; NULL: 0 */
int64_t lt_shared_states_taken(const lt_shared_states *s);

#endif
