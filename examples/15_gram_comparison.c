/* Times of the methods side by side, and how far they agree. `lathe-bench gram` does this at length.
   SPDX-License-Identifier: BSD-3-Clause */
enum { ROWS = 300, QUBITS = 11 };
#include "gram_data.h"

static double reference[ROWS * ROWS];

int main(void)
{
    make_data();
    static const struct { const char *name; lt_gram_method method; lt_gram_float type; double allowed; } way[] = {
        { "states float64", LT_GRAM_STATES, LT_GRAM_FLOAT64, 0 },
        { "states float32", LT_GRAM_STATES, LT_GRAM_FLOAT32, 2e-5 },
        { "transfer", LT_GRAM_TRANSFER, LT_GRAM_FLOAT64, 1e-12 },
    };
    int bad = 0;
    for (int i = 0; i < 3; i++) {
        lt_gram_options opt = lt_gram_defaults();
        lt_gram_info info = { .size = sizeof info };
        opt.re_embed_between_layers = true;
        opt.method = way[i].method;
        opt.dtype = way[i].type;
        if (gram(&opt, &info)) return fail();
        double worst = 0;
        for (int k = 0; k < ROWS * ROWS; k++) {
            if (i == 0) reference[k] = K[k];
            worst = fmax(worst, fabs(K[k] - reference[k]));
        }
        printf("%-15s %8.3f ms  %8.3f Mpairs/s  differs by %.2g\n", way[i].name, 1e3 * info.total_seconds, info.mpairs_per_s, worst);
        bad += !(worst <= way[i].allowed);
    }
    return bad;
}
