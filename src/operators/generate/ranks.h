/* A dataset made by several ranks. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_GENERATE_RANKS_H
#define LT_OPERATORS_GENERATE_RANKS_H

#include "cluster/cluster.h"
#include "operators/generate/generate.h"

/* Everything after lt_generator_prepare, whose outcome on this rank is s: the file, the rows, the end. All ranks of g->opt->cluster call it, and get the
   same status. */
lt_status lt_generator_share(lt_generator *g, lt_status s);

/* Its first step: what all ranks must have in common (ranks_agree.c). Where they would take different steps on their GPUs, g->rollout is changed to one that all
   can take. */
lt_status lt_generator_ranks_agree(lt_generator *g, lt_status s);

#endif
