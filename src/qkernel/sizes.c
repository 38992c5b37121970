/* Tile sizes of the quantum pipeline, as a public function. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/gram.h"

#include "base/status.h"

#include <math.h>

#define RESERVE_BYTES 2147483648.0 /* kept free for others: 2 GiB */
enum { TILE_MIN = 256, TILE_MAX = 32768, TILE_UNKNOWN = 8192, PRECOMPUTE_MIN = 1024, OPERANDS = 2 };

/* States that fit into the share, for each of `operands`; negative when the arguments make no sense. */
static double states_that_fit(int64_t total_bytes, double fraction, int n_qubits, int bytes, int operands)
{
    if (total_bytes <= 0 || !(fraction > 0 && fraction <= 1) || n_qubits < 1 || n_qubits > 62 || bytes < 1) return -1;
    double left = (double)total_bytes * fraction - RESERVE_BYTES;
    return left <= 0 ? 0 : floor(left / (operands * ldexp(bytes, n_qubits)));
}

int64_t lt_gram_state_tile(int64_t total_bytes, double fraction, int n_qubits, int bytes_per_amplitude)
{
    double states = states_that_fit(total_bytes, fraction, n_qubits, bytes_per_amplitude, 1);
    if (states < 0) return TILE_UNKNOWN;
    int64_t tile = TILE_MIN;
    while (tile < TILE_MAX && (double)(2 * tile) <= states) tile *= 2;
    return tile;
}

int64_t lt_gram_max_precompute(int64_t total_bytes, double fraction, int n_qubits, int bytes_per_amplitude)
{
    double states = states_that_fit(total_bytes, fraction, n_qubits, bytes_per_amplitude, OPERANDS);
    if (states < 0) return TILE_UNKNOWN;
    return LT_MAX(PRECOMPUTE_MIN, (int64_t)LT_MIN(states, 0x1p62));
}
