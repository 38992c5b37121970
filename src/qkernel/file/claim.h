/* The right to write a matrix, and what is there of it. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_FILE_CLAIM_H
#define LT_QKERNEL_FILE_CLAIM_H

#include "qkernel/file/run.h"

/* Rank 0: takes the lock, reads the table of an earlier run, and says in r what there is: resumes, is_whole, entry, layout.side, head. Nothing is changed yet but an
   empty table. */
lt_status lt_claim_take(lt_file_run *r);
/* The file and its table get their names; what was there before is replaced. */
lt_status lt_claim_finish(lt_file_run *r);
void      lt_claim_release(lt_file_run *r);

#endif
