/* Gates and phases of each row from the values of their expressions. SPDX-License-Identifier: BSD-3-Clause
   Stands behind rows_job.h and sweep_job.h. Nothing is fixed when it is compiled. */

typedef long long i64;

static __device__ __forceinline__ lt_su2 product(const lt_su2 &a, const lt_su2 &b)
{
    lt_su2 g = { a.ar * b.ar - a.ai * b.ai - (a.br * b.br + a.bi * b.bi), a.ar * b.ai + a.ai * b.ar - (a.br * b.bi - a.bi * b.br),
              a.br * b.ar - a.bi * b.ai + (a.ar * b.br + a.ai * b.bi), a.br * b.ai + a.bi * b.ar + (a.ar * b.bi - a.ai * b.br) };
    return g;
}

static __device__ lt_su2 turn_of(const lt_sweep_turn &t, const double *value)
{
    if (t.axis < 0) return t.fixed;
    double s, c;
    sincos(t.factor * value[t.slot] + t.offset, &s, &c);
    if (t.axis == 0) return lt_su2{ c, 0, 0, -s };
    if (t.axis == 1) return lt_su2{ c, 0, s, 0 };
    return lt_su2{ c, -s, 0, 0 };
}

static __device__ lt_su2 gate_of(const lt_coefficient_job &j, i64 row, int gate)
{
    lt_su2 g = { 1, 0, 0, 0 };
    for (int k = j.gate[gate].first; k < j.gate[gate].first + j.gate[gate].n; k++) g = product(turn_of(j.turn[k], j.value + row * j.n_values), g);
    return g;
}

extern "C" __global__ void coefficients(const lt_coefficient_job *where)
{
    const lt_coefficient_job &j = *where;
    i64 width = j.n_gates + j.n_terms, n = j.n_rows * width;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (i64)blockDim.x) {
        i64 row = i / width, k = i % width;
        if (k < j.n_gates) {
            j.gate_out[row * j.n_gates + k] = gate_of(j, row, (int)k);
            continue;
        }
        const lt_sweep_term t = j.term[k - j.n_gates];
        j.term_out[row * j.n_terms + k - j.n_gates] = t.slot < 0 ? t.offset : t.factor * j.value[row * j.n_values + t.slot] + t.offset;
    }
}

/* Wires that never meet: the Bloch vector of each over the root of 2, as closed.cu multiplies them. Rows beyond the last are padding. */
extern "C" __global__ void wire_vectors(const lt_coefficient_job *where)
{
    const lt_coefficient_job &j = *where;
    const double half = 0.70710678118654752440;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < j.padded_rows * j.n_wires; i += gridDim.x * (i64)blockDim.x) {
        i64 row = i % j.padded_rows, wire = i / j.padded_rows;
        lt_su2 g = { 1, 0, 0, 0 };
        if (row < j.n_rows && j.wire[wire] >= 0) g = gate_of(j, row, j.wire[wire]);
        double *to = j.wire_out + wire * 3 * j.padded_rows + row;
        to[0] = 2 * (g.ar * g.br + g.ai * g.bi) * half;
        to[j.padded_rows] = 2 * (g.ar * g.bi - g.ai * g.br) * half;
        to[2 * j.padded_rows] = ((g.ar * g.ar + g.ai * g.ai) - (g.br * g.br + g.bi * g.bi)) * half;
    }
}
