/* Fuzz target: any bytes as OpenQASM (first byte even) or as the text of a map (odd). What is read can be compiled, simulated where it is
   small, and written; what is written can be read again. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "lathe/circuit.h"

#include <string.h>

static void use(const lt_circuit *c)
{
    lt_circuit_info i = lt_circuit_describe(c);
    static double zeros[4096], K[4], states[2 * 2 * 64];
    LT_FUZZ_REQUIRE(i.n_qubits >= 1 && i.n_qubits <= LT_CIRCUIT_MAX_QUBITS && i.n_gates <= LT_CIRCUIT_MAX_GATES);
    if (i.n_features > 2000 || i.n_weights > 4096 || i.n_gates > 2000) return;
    for (int k = 0; k < 4096; k++) zeros[k] = 0.1 * (k % 7);
    lt_rows x = { zeros, LT_F64, 2, i.n_features, 0 };
    if (i.n_qubits <= 6) (void)lt_circuit_states(c, zeros, i.n_weights, &x, LT_GRAM_FLOAT64, states);
    lt_gram_options opt = lt_gram_defaults();
    lt_gram *g;
    opt.n_workers = 1;
    if (i.n_qubits > 64 || lt_gram_create_circuit(NULL, &opt, NULL, c, zeros, i.n_weights, &g)) return;
    char text[2048];
    LT_FUZZ_REQUIRE(lt_gram_explain(g, 2, 0, text, sizeof text) != LT_ERR_INTERNAL);
    if (i.n_qubits <= 6) (void)lt_gram_fill(g, &x, NULL, K);
    lt_gram_destroy(g);
}

static void write_and_read(const lt_circuit *c)
{
    char *text;
    lt_circuit *again;
    if (lt_circuit_to_qasm(c, &text)) return;
    LT_FUZZ_REQUIRE(lt_circuit_from_qasm(text, strlen(text), "written", &again) == LT_OK);
    LT_FUZZ_REQUIRE(lt_circuit_describe(again).n_qubits == lt_circuit_describe(c).n_qubits);
    lt_circuit_destroy(again);
    lt_circuit_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    lt_circuit *c;
    lt_status s;
    (void)lt_gram_defaults();
    static lt_device *cpu; /* what opening one starts is kept for the next */
    if (!cpu) LT_FUZZ_REQUIRE(lt_device_open("cpu", &cpu) == LT_OK);
    int64_t live = lt_alloc_live();
    if (n_bytes < 1) return 0;
    if (data[0] % 2) {
        char text[256];
        size_t n = n_bytes - 1 < sizeof text - 1 ? n_bytes - 1 : sizeof text - 1;
        lt_map_options opt = lt_map_defaults();
        opt.n_features = 3;
        memcpy(text, data + 1, n);
        text[n] = 0;
        s = lt_circuit_from_map(text, &opt, &c);
    } else s = lt_circuit_from_qasm((const char *)data + 1, n_bytes - 1, "fuzz", &c);
    if (s == LT_OK) {
        use(c);
        if (lt_circuit_describe(c).n_gates <= 2000) write_and_read(c);
        lt_circuit_destroy(c);
    } else LT_FUZZ_REQUIRE(!c && lt_error_text()[0]);
    LT_FUZZ_REQUIRE(lt_alloc_live() <= live + 64); /* the CPU keeps blocks of its own for the next call */
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const char *const seeds[] = {
        "0OPENQASM 3; include \"stdgates.inc\"; input float[64] x0; input array[float[64], 2] w; qubit[3] q; h q; rx(2*x0) q[0]; ctrl @ ry(w[1]) q[0], q[2];",
        "0OPENQASM 2.0; include \"qelib1.inc\"; qreg a[2]; creg c[2]; u3(0.1, pi/2, -1e-3) a[0]; cx a[0], a[1]; barrier a; cu1(2^3) a[1], a[0];",
        "0include \"stdgates.inc\"; gate g(t) a, b { rz(t) a; cx a, b; inv @ s b; } qubit[2] q; for int i in [0:3] { g(i/2) q[0], q[1]; } pow(-2) @ g(1) q[1], q[0];",
        "0include \"stdgates.inc\"; qubit[4] q; negctrl @ ctrl(2) @ x q[0], q[1], q[2], q[3]; swap q[0:1], q[2:3]; const float a = sin(1)/(2 - arccos(0.1)); p(a) q[-1];",
        "0include \"hqslib1.inc\"; let b = $3 ++ $0; array[float[64], 2] a = {1, pi/2}; for int i in [0:1] U1q(a[i], 3 % 2) b[{0, -1}]; ZZ b[0], $7;\n#pragma p\n@n\nx $1;",
        "1zz(reps=2, entanglement=circular)", "1pauli(paulis=[Z, XY], alpha=0.7, entanglement=[[0, 1], [2, 0]])", "1strong(layers=2, ranges=[1, 2], imprimitive=CZ)",
        "1demo(layers=2, wires=2, reupload=true)", "1amplitude(wires=3)", "1qaoa(local_field=X, wires=5)", "1iqp(pattern=[[0, 2]])",
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}
