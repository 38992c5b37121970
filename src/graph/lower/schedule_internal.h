/* Shared by the parts of the scheduler. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_LOWER_SCHEDULE_INTERNAL_H
#define LT_GRAPH_LOWER_SCHEDULE_INTERNAL_H

#include "graph/lower/schedule.h"

/* The node whose memory an operand is read from: below reshapes and views that were not copied. */
int32_t lt_schedule_memory(const lt_schedule *s, int32_t id);
/* Depth of the unit that writes what the operand is read from; 0 for sources. */
int lt_schedule_available(const lt_schedule *s, int32_t id);
lt_status lt_schedule_add_unit(lt_schedule *s, int32_t op, int depth, int32_t *out);
/* Gives a view a kernel that copies it out. */
lt_status lt_schedule_copy_view(lt_schedule *s, int32_t id);

/* Puts a groupable node into a group, or lets it wait for its user. */
lt_status lt_schedule_place_groupable(lt_schedule *s, int32_t id);
/* Puts a node into a group now, with the waiting nodes it is made from. */
lt_status lt_schedule_place_waiting(lt_schedule *s, int32_t id);

#endif
