/* Choosing between the kernels that can compute an op. SPDX-License-Identifier: BSD-3-Clause */
#include "graph/choose.h"

#include "base/status.h"
#include "graph/evaluate.h"

lt_status lt_choose_kernel(const lt_problem_key *key, const lt_compile_options *opt, lt_kernel **out)
{
    (void)opt;
    return lt_kernel_best(key, out);
}
