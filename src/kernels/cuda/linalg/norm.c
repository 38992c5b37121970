/* NORM on the CUDA device. SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sequence.h"
#include "kernels/cuda/text_kernel.h"
#include "kernels/host_kernel.h"
#include "kernels/norm_lines.h"

#include "base/dtype.h"
#include "base/status.h"

extern const char lt_text_norm_cu[];
enum { THREADS = 256 };

static void add_offset(lt_text *t, const char *name, int n, const int64_t *extent, const int64_t *stride)
{
    lt_text_add(t, "inline i64 %s(i64 i)\n{\n    i64 at = 0;\n", name);
    for (int d = 0; d < n; d++)
        lt_text_add(t, "    at += i %% %lldll * %lldll; i /= %lldll;\n", (long long)extent[d], (long long)stride[d], (long long)extent[d]);
    lt_text_add(t, "    return at;\n}\n");
}

bool lt_cuda_norm_applies(const lt_problem_key *p) { return lt_key_is_float(p); }

lt_status lt_cuda_norm_prepare(lt_device *dev, const lt_problem_key *p, lt_kernel **out)
{
    int64_t lines = lt_tensor_count(&p->out), all = lt_tensor_count(&p->in[1]);
    if (lines == 0) return lt_sequence_nothing(dev, "norm_cuda", 3, out);
    lt_norm_lines v = lt_norm_lines_of(p);
    lt_text t = { 0 };
    lt_text_type(&t, "T", p->out.dtype);
    lt_text_constant(&t, "LINES", lines), lt_text_constant(&t, "LENGTH", all / lines);
    char least[32];
    lt_double_text(lt_norm_least_ordinary(v.type), least);
    lt_text_add(&t, "#define LEAST %s\n", least);
    if (all > 0) {
        add_offset(&t, "line_offset", v.n_kept, v.kept, v.kept_stride);
        add_offset(&t, "element_offset", v.n_gone, v.gone, v.gone_stride);
    } else { /* extents may be 0, and nothing is read */
        add_offset(&t, "line_offset", 0, NULL, NULL);
        add_offset(&t, "element_offset", 0, NULL, NULL);
    }
    return lt_text_kernel_build(dev, &(lt_text_kernel){ "norm_cuda", "norms", lt_text_norm_cu, 3, { lt_blocks(lines, THREADS) }, { THREADS },
                                                        4 * (double)lines, 2 * (double)lt_tensor_bytes(&p->out) }, &t, out);
}
