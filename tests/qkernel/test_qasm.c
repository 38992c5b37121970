/* OpenQASM in and out: the same states either way, and every mistake with its line and column. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "dense.h"

#include "lathe/circuit.h"
#include "lathe/rng.h"

static lt_circuit *read(const char *text)
{
    lt_circuit *c = NULL;
    LT_CHECK_OK(lt_circuit_from_qasm(text, strlen(text), "t.qasm", &c));
    return c;
}

enum { ROWS = 3 };

static dense *states_of(const lt_circuit *c, const double *x, const double *w)
{
    lt_circuit_info i = lt_circuit_describe(c);
    dense *S = calloc((size_t)ROWS << i.n_qubits, sizeof *S);
    double none = 0;
    LT_CHECK_OK(lt_circuit_states(c, w, i.n_weights, &(lt_rows){ x ? x : &none, LT_F64, ROWS, i.n_features, 0 }, LT_GRAM_FLOAT64, S));
    return S;
}

/* Two programs, the same states with their phases. */
static void check_same(const char *a, const char *b)
{
    static const double x[ROWS * 4] = { 0.3, -1.2, 0.8, 2, 1.1, 0.7, -0.4, -2.2, 0.1, 0.9, 1.5, -0.6 }, w[4] = { 0.4, -0.9, 1.7, 0.2 };
    lt_circuit *ca = read(a), *cb = read(b);
    if (!ca || !cb) {
        LT_TEST_FAIL("one of '%s' and '%s' was not read", a, b);
        return;
    }
    lt_circuit_info i = lt_circuit_describe(ca), j = lt_circuit_describe(cb);
    LT_CHECK_EQ_INT(i.n_qubits, j.n_qubits);
    LT_CHECK_EQ_INT(i.n_features, j.n_features);
    LT_CHECK_EQ_INT(i.n_weights, j.n_weights);
    dense *sa = states_of(ca, x, w), *sb = states_of(cb, x, w);
    double off = 0;
    for (int64_t k = 0; k < ROWS << i.n_qubits; k++) off = fmax(off, cabs(sa[k] - sb[k]));
    if (!(off < 1e-14)) LT_TEST_FAIL("'%s' and '%s' are off by %g", a, b, off);
    free(sa);
    free(sb);
    lt_circuit_destroy(ca);
    lt_circuit_destroy(cb);
}

#define STD "OPENQASM 3; include \"stdgates.inc\"; "
#define HEAD STD "qubit[3] q; h q; ry(0.3) q[1]; rz(0.9) q[2]; "
#define INPUT STD "input array[float[64], 4] x; input array[float[64], 2] w; qubit[3] q; h q; "

LT_TEST(programs_that_mean_the_same)
{
    static const char *const same[][2] = {
        { HEAD "cx q[0], q[1];", "OPENQASM 2.0; include \"qelib1.inc\"; qreg a[1]; qreg b[2]; creg c[3]; h a; h b; ry(0.3) b[0]; rz(0.9) b[1]; cx a[0], b[0]; barrier a, b;" },
        { HEAD "ctrl @ x q[2], q[0];", HEAD "cx q[2], q[0];" },
        { HEAD "ctrl(2) @ x q[0], q[1], q[2];", HEAD "ccx q[0], q[1], q[2];" },
        { HEAD "ctrl @ ctrl @ z q[0], q[1], q[2];", HEAD "h q[2]; ccx q[0], q[1], q[2]; h q[2];" },
        { HEAD "ctrl @ swap q[0], q[1], q[2];", HEAD "cswap q[0], q[1], q[2];" },
        { HEAD "ctrl @ h q[0], q[1]; ctrl @ y q[0], q[1]; ctrl @ p(0.3) q[1], q[2];", HEAD "ch q[0], q[1]; cy q[0], q[1]; cp(0.3) q[1], q[2];" },
        { HEAD "ctrl @ rx(0.3) q[0], q[1]; ctrl @ ry(0.4) q[2], q[1]; ctrl @ rz(0.5) q[1], q[0];", HEAD "crx(0.3) q[0], q[1]; cry(0.4) q[2], q[1]; crz(0.5) q[1], q[0];" },
        { HEAD "ctrl @ gphase(0.7) q[1];", HEAD "p(0.7) q[1];" },
        { HEAD "negctrl @ x q[0], q[1];", HEAD "x q[0]; cx q[0], q[1]; x q[0];" },
        { HEAD "negctrl @ ctrl @ rx(0.4) q[0], q[1], q[2];", HEAD "x q[0]; ctrl(2) @ rx(0.4) q[0], q[1], q[2]; x q[0];" },
        { HEAD "inv @ s q[0]; inv @ rx(0.7) q[1]; inv @ u3(0.1, 0.2, 0.3) q[2];", HEAD "sdg q[0]; rx(-0.7) q[1]; u3(-0.1, -0.3, -0.2) q[2];" },
        { HEAD "pow(3) @ t q[0]; pow(-2) @ sx q[1]; pow(0) @ x q[2];", HEAD "t q[0]; t q[0]; t q[0]; inv @ sx q[1]; inv @ sx q[1];" },
        { HEAD "inv @ pow(2) @ ctrl @ ry(0.4) q[0], q[2];", HEAD "cry(-0.8) q[0], q[2];" },
        { HEAD "iswap q[0], q[1]; inv @ iswap q[0], q[1];", HEAD },
        { HEAD "ctrl @ U(0.1, 0.2, 0.3) q[0], q[1];", HEAD "cu(0.1, 0.2, 0.3, 0.05) q[0], q[1];" },
        { HEAD "cu3(0.1, 0.2, 0.3) q[0], q[1];", HEAD "p(0.25) q[0]; ctrl @ u3(0.1, 0.2, 0.3) q[0], q[1];" },
        { HEAD "u2(0.2, 0.3) q[0]; U(0.1, 0.2, 0.3) q[1];", HEAD "rz(0.3) q[0]; ry(pi/2) q[0]; rz(0.2) q[0]; gphase(0.3); rz(0.3) q[1]; ry(0.1) q[1]; rz(0.2) q[1];" },
        { HEAD "u1(0.2) q[0]; phase(0.3) q[1]; cphase(0.1) q[0], q[1]; CX q[0], q[1]; id q[1];", HEAD "p(0.2) q[0]; p(0.3) q[1]; cp(0.1) q[0], q[1]; cx q[0], q[1];" },
        { HEAD "rxx(0.3) q[0], q[1]; ryy(0.4) q[0], q[2];",
          HEAD "h q[0]; h q[1]; rzz(0.3) q[0], q[1]; h q[0]; h q[1]; rx(pi/2) q[0]; rx(pi/2) q[2]; cx q[0], q[2]; rz(0.4) q[2]; cx q[0], q[2]; rx(-pi/2) q[0]; rx(-pi/2) q[2];" },
        { HEAD "csx q[0], q[1]; ccz q[0], q[1], q[2];", HEAD "ctrl @ sx q[0], q[1]; ctrl(2) @ z q[0], q[1], q[2];" },
        { STD "gate foo(a, b) p, r { rx(a) p; cx p, r; rz(b*a) r; } qubit[2] q; h q; foo(0.3, 2) q[1], q[0]; inv @ foo(0.3, 2) q[1], q[0];", STD "qubit[2] q; h q;" },
        { STD "gate foo(a) p, r { rx(a) p; ctrl @ rz(a/2) p, r; } gate bar(b) u, v { foo(2*b) v, u; } qubit[3] q; h q; ctrl @ bar(0.2) q[0], q[1], q[2];",
          STD "qubit[3] q; h q; crx(0.4) q[0], q[2]; ctrl(2) @ rz(0.2) q[0], q[2], q[1];" },
        { HEAD "for int i in [0:2] { rx(i/2) q[i]; }", HEAD "rx(0) q[0]; rx(0.5) q[1]; rx(1) q[2];" },
        { HEAD "for uint[8] i in [2:-1:0] { for int j in {0, 5} { ry(i + j) q[i]; } }", HEAD "ry(2) q[2]; ry(7) q[2]; ry(1) q[1]; ry(6) q[1]; ry(0) q[0]; ry(5) q[0];" },
        { HEAD "for int i in [1:0] { measure q; }", HEAD },
        { HEAD "cx q[0:1], q[1:2]; x q[-1]; h q[0:2:2];", HEAD "cx q[0], q[1]; cx q[1], q[2]; x q[2]; h q[0]; h q[2];" },
        { HEAD "cx q[0], q[1:2];", HEAD "cx q[0], q[1]; cx q[0], q[2];" },
        { HEAD "const float[64] a = 2*pi; float b = a/3; rx(b + tau - 2**3) q[0]; rx(sin(b)*log(2)) q[1];", HEAD "rx(2*pi/3 + 2*pi - 8) q[0]; rx(sin(2*pi/3)*log(2)) q[1];" },
        { INPUT "rx(2*(pi - x[0])*w[1]) q[0]; for int i in [0:2] { ry(x[i]*x[3 - i]) q[2*i - i]; }",
          INPUT "rx(2*(pi - x[0])*w[1]) q[0]; ry(x[0]*x[3]) q[0]; ry(x[1]*x[2]) q[1]; ry(x[2]*x[1]) q[2];" },
        { STD "input float[64] x1; input float[64] x0; input angle[32] w0; qubit q; rx(x0) q; ry(x1*w0) q;", STD "input array[float[64], 2] x; input float w; qubit q; rx(x[0]) q; ry(x[1]*w) q;" },
        { STD "input float[64] b; input float[64] a; qubit q; rx(b) q; ry(a) q;", STD "input array[float[64], 2] x; qubit q; rx(x[0]) q; ry(x[1]) q;" },
        { "OPENQASM 2.0; qreg q[2]; U(0.1, 0.2, 0.3) q[0]; CX q[0], q[1]; U(2^3, 0, 0) q[1];", STD "qubit[2] q; rz(0.3) q[0]; ry(0.1) q[0]; rz(0.2) q[0]; cx q[0], q[1]; ry(8) q[1];" },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        check_same(same[i][0], same[i][1]);
}

/* ---- round trips ---- */

static void check_round_trip(const lt_circuit *c, const char *what)
{
    char *text = NULL, *again = NULL;
    LT_CHECK_OK(lt_circuit_to_qasm(c, &text));
    lt_circuit *d = text ? read(text) : NULL;
    if (!d) {
        LT_TEST_FAIL("%s was not read back: %s", what, text ? text : "");
        lt_circuit_text_free(text);
        return;
    }
    lt_circuit_info i = lt_circuit_describe(c), j = lt_circuit_describe(d);
    LT_CHECK_EQ_INT(i.n_features, j.n_features);
    LT_CHECK_EQ_INT(i.n_weights, j.n_weights);
    double *x = calloc((size_t)(ROWS * (i.n_features + 1)), sizeof *x), *w = calloc((size_t)i.n_weights + 1, sizeof *w), off = 0;
    lt_rng r = lt_rng_seed(4);
    for (int64_t k = 0; k < ROWS * i.n_features; k++) x[k] = 3 * lt_rng_uniform(&r);
    for (int64_t k = 0; k < i.n_weights; k++) w[k] = 3 * lt_rng_uniform(&r);
    dense *a = states_of(c, x, w), *b = states_of(d, x, w);
    for (int64_t k = 0; k < ROWS << i.n_qubits; k++) off = fmax(off, cabs(a[k] - b[k]));
    if (!(off < 2e-14)) LT_TEST_FAIL("%s came back off by %g:\n%s", what, off, text);
    LT_CHECK_OK(lt_circuit_to_qasm(d, &again));
    free(a), free(b), free(x), free(w);
    lt_circuit_destroy(d);
    lt_circuit_text_free(text);
    lt_circuit_text_free(again);
}

/* A gate without a body is no gate, also undone, repeated or controlled before there is any other (found by fuzz_qasm). */
/* As Qiskit, pytket, PennyLane and people write. */
LT_TEST(programs_of_other_hands)
{
    static const char *const same[][2] = {
        { STD "ry(0.3) $10; rz(0.9) $100; h $2; h $10; cx $2, $100;", STD "qubit[3] q; ry(0.3) q[1]; rz(0.9) q[2]; h q[0]; h q[1]; cx q[0], q[2];" }, /* $2, $10, $100 */
        { "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[2]; h q; gphase(0.4) q[0],q[1]; u(0.1,0.2,0.3) q[0]; u0(1) q[1];",
          STD "qubit[2] q; h q; gphase(0.4); u3(0.1, 0.2, 0.3) q[0];" },
        { "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[4]; h q; t q[1]; sx q[2]; rccx q[0],q[1],q[2]; rc3x q[0],q[1],q[2],q[3]; c3sqrtx q[0],q[1],q[2],q[3];",
          STD "qubit[4] q; h q; t q[1]; sx q[2]; h q[2]; t q[2]; cx q[1], q[2]; tdg q[2]; cx q[0], q[2]; t q[2]; cx q[1], q[2]; tdg q[2]; h q[2];"
          "h q[3]; t q[3]; cx q[2], q[3]; tdg q[3]; h q[3]; cx q[0], q[3]; t q[3]; cx q[1], q[3]; tdg q[3]; cx q[0], q[3]; t q[3]; cx q[1], q[3]; tdg q[3]; h q[3]; t q[3];"
          "cx q[2], q[3]; tdg q[3]; h q[3]; ctrl @ csx q[0], q[1], q[2]; ctrl @ inv @ csx q[0], q[1], q[2]; ctrl(3) @ sx q[0], q[1], q[2], q[3];" },
        { "OPENQASM 2.0; include \"hqslib1.inc\"; qreg q[2]; h q; U1q(0.3, 0.5) q[0]; Rz(0.2) q[1]; ZZ q[0],q[1]; RZZ(0.4) q[0],q[1]; Rxxyyzz(0.1,0.2,0.3) q[0],q[1];",
          STD "qubit[2] q; h q; rz(-0.5) q[0]; rx(0.3) q[0]; rz(0.5) q[0]; rz(0.2) q[1]; rzz(pi/2 + 0.4) q[0], q[1]; rxx(0.1) q[0], q[1]; ryy(0.2) q[0], q[1]; rzz(0.3) q[0], q[1];" },
        { STD "gate csx a, b { ctrl @ rx(0.3) a, b; } qubit[2] q; h q; csx q[0], q[1];", STD "qubit[2] q; h q; crx(0.3) q[0], q[1];" },
        { HEAD "for uint i in [0:2] { cx q[i], q[(i + 1) % 3]; }", HEAD "cx q[0], q[1]; cx q[1], q[2]; cx q[2], q[0];" },
        { HEAD "for uint i in [0:1] cx q[i], q[i + 1]; t q[0];", HEAD "cx q[0], q[1]; cx q[1], q[2]; t q[0];" },
        { HEAD "for int i in [1:0] for int j in [0:2] { h q[j]; } for int i in [1:0] h q[i]; t q[0];", HEAD "t q[0];" },
        { STD "qubit[2] u; qubit[1] v; let q = u ++ v; h q; ry(0.3) q[1]; rz(0.9) q[2]; cx q[1], v[0];", HEAD "cx q[1], q[2];" },
        { HEAD "let r = q[2:-1:0]; t r[0]; let a = r[{0, -1}] ++ q[1]; cx a[0], a[1]; s a[2];", HEAD "t q[2]; cx q[2], q[0]; s q[1];" },
        { HEAD "cx q[{0, 1}], q[{1, 2}]; h q[-2:-1];", HEAD "cx q[0], q[1]; cx q[1], q[2]; h q[1:2];" },
        { HEAD "array[float[64], 3] a = {0.1, pi/2, 3}; const array[int[32], 2] k = {2, 0}; rx(a[1]*a[0]) q[k[0]]; ry(a[2]) q[k[1]];", HEAD "rx(pi/2*0.1) q[2]; ry(3) q[0];" },
        { INPUT "array[float[64], 2] a = {x[0]*w[1], x[1]}; for int i in [0:1] rx(a[i]) q[i];", INPUT "rx(x[0]*w[1]) q[0]; rx(x[1]) q[1];" },
        { "OPENQASM 3.0;\n#pragma some { thing\n" "include \"stdgates.inc\";\npragma other }\n@note \"h q\"\nqubit[3] q;\nh q; ry(0.3) q[1];\n@last\nrz(0.9) q[2];", HEAD },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        check_same(same[i][0], same[i][1]);
}

LT_TEST(empty_gates_under_modifiers)
{
    check_same("include \"stdgates.inc\"; gate g(t) a, b { } qubit[3] q; inv @ g(1) q[0], q[1]; pow(-2) @ g(1) q[1], q[0]; ctrl @ g(2) q[0], q[1], q[2]; h q;",
               "include \"stdgates.inc\"; qubit[3] q; h q;");
}

LT_TEST(what_is_written_is_read_back)
{
    static const char *const maps[] = { "z", "zz(entanglement=circular)", "pauli(paulis=[Z, XYZ, YY], alpha=0.7)", "iqp", "angle(rotation=Y)", "basic(layers=2)", "strong(layers=3, imprimitive=CZ)",
                                        "qaoa(layers=2, wires=5)", "demo(layers=2)" };
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++) {
        lt_map_options opt = lt_map_defaults();
        lt_circuit *c = NULL;
        opt.n_features = 4;
        LT_CHECK_OK(lt_circuit_from_map(maps[m], &opt, &c));
        check_round_trip(c, maps[m]);
        lt_circuit_destroy(c);
    }
    lt_circuit *c = read(INPUT "x q[0]; y q[1]; z q[2]; s q[0]; sdg q[1]; t q[2]; tdg q[0]; sx q[1]; inv @ sx q[2]; rx(x[0]) q[0]; ry(-x[1]**2) q[1]; rz(x[2]/(1 + exp(-w[0]))) q[2]; p(w[1] - (x[0] - x[1])) q[0];"
                   "ctrl @ U(x[0], w[1], -x[2]) q[0], q[1]; cx q[0], q[1]; cy q[1], q[2]; cz q[2], q[0]; ch q[0], q[2]; swap q[0], q[1]; iswap q[1], q[2]; crx(x[0]) q[0], q[1]; cry(2) q[1], q[2];"
                   "crz(3) q[2], q[0]; cp(x[3]) q[0], q[1]; rxx(x[0]) q[0], q[1]; ryy(x[1]) q[1], q[2]; rzz(x[2]) q[2], q[0]; ccx q[0], q[1], q[2]; cswap q[0], q[1], q[2]; ctrl(2) @ rx(arccos(0.3)) q[2], q[1], q[0];"
                   "negctrl @ iswap q[0], q[1], q[2]; inv @ u3(0.3, x[1], 2) q[1];");
    if (c) check_round_trip(c, "all gates");
    lt_circuit_destroy(c);
    LT_CHECK_OK(lt_circuit_create(4, 1, 0, &c));
    LT_CHECK_OK(lt_circuit_gate(c, "MultiRZ", (int[]){ 3, 1, 0 }, 3, (const char *[]){ "x[0]" }, 1));
    LT_CHECK_OK(lt_circuit_pauli(c, "XIYZ", "2*x[0]", (int[]){ 3, 1, 0, 2 }, 4));
    LT_CHECK_OK(lt_circuit_pauli(c, "II", "x[0]", (int[]){ 3, 1 }, 2));
    LT_CHECK_OK(lt_circuit_gate(c, "GlobalPhase", NULL, 0, (const char *[]){ "ln(1 + x[0])" }, 1));
    check_round_trip(c, "words");
    lt_circuit_destroy(c);
}

/* Longer than the writer has room for on the stack, and than it asks for first. */
LT_TEST(long_angles_are_written)
{
    static const int terms[] = { 30, 100, 1500 };
    for (size_t k = 0; k < sizeof terms / sizeof *terms; k++) {
        static char text[1 << 15];
        int n = sprintf(text, INPUT "rx(");
        for (int i = 0; i < terms[k]; i++) n += sprintf(text + n, "%s%.3f*x[%d]", i ? " + " : "", 0.001 * (i + 1), i % 4);
        sprintf(text + n, ") q[0];");
        lt_circuit *c = read(text);
        if (c) check_round_trip(c, "long");
        lt_circuit_destroy(c);
    }
}

/* ---- mistakes ---- */

LT_TEST(mistakes_have_a_line_and_a_column)
{
    static const struct { const char *text, *part; } bad[] = {
        { "", "no qubits are declared" },
        { "OPENQASM 4;", "line 1, column 10: version '4', expected 2.0 or 3" },
        { "qubit q;\nOPENQASM 3;", "line 2, column 1: OPENQASM must be the first statement" },
        { "include \"foo.inc\";", "line 1, column 9: include 'foo.inc'" },
        { STD "qubit[2] q; bit[2] c;\nmeasure q -> c;", "line 2, column 1: measure: measurements have no place" },
        { STD "qubit[2] q; bit[2] c;\n  c = measure q;", "line 2, column 3: 'c' is assigned to" },
        { STD "qubit q;\nreset q;", "line 2, column 1: reset" },
        { STD "qubit q; bit c;\nif (c == 1) x q;", "line 2, column 1: if: classical control" },
        { STD "qubit q; delay[10ns] q;", "timing is not supported" },
        { STD "qubit q;\n\n   foo q;", "line 3, column 4: unknown gate 'foo'" },
        { "qubit q; h q;", "include \"stdgates.inc\"" },
        { STD "qubit[2] q;\nx q[2];", "line 2, column 5: wire 2 of q, which has 2" },
        { STD "qubit[2] q; x r[0];", "unknown qubits 'r'" },
        { STD "qubit[2] q; cx q[0];", "'cx' on 1 qubits, expected 2" },
        { STD "qubit[2] q; x q[0], q[1];", "more than 1 qubits" },
        { STD "qubit[2] q;\ncx q[1], q[1];", "line 2, column 1: CX names wire 1 twice" },
        { STD "qubit[2] a; qubit[3] b; cx a, b;", "registers of 2 and 3 qubits" },
        { STD "qubit q; rx q;", "'rx' with 0 angles, expected 1" },
        { STD "qubit q; rx(1, 2) q;", "'rx' with 2 angles, expected 1" },
        { STD "qubit q; rx(1 + ) q;", "')', expected a number, a name or '('" },
        { STD "qubit q; rx(y) q;", "unknown name 'y'" },
        { STD "input array[float[64], 2] x; qubit q; rx(x[2]) q;", "index 2 of x, which has 2 elements" },
        { STD "gate a q { a q; } qubit q; a q;", "unknown gate 'a': a gate may use those defined before it" },
        { STD "gate a q { b q; } gate b q { a q; } qubit q; a q;", "unknown gate 'b'" },
        { STD "gate a q { x r; } qubit q;", "'r' is no qubit of this gate" },
        { STD "gate a q { x q; ", "expected '}'" },
        { STD "gate a q { x q; } gate a q { } qubit q;", "gate 'a' is defined already" },
        { STD "qubit q; qubit q;", "'q' is declared already" },
        { STD "qubit q; }", "'}' without a block" },
        { STD "qubit q; pow(0.5) @ x q;", "a power of 0.5, expected a whole number" },
        { STD "qubit[20] q; ctrl(9) @ x q;", "9 controls, expected 1 to 8" },
        { STD "qubit[0] q;", "0 qubits" },
        { STD "qubit[5000] q;", "expected 1 to 4096 in all" },
        { STD "input float[64] y; qubit q; for int i in [0:y] { x q; }", "that is not a constant" },
        { STD "qubit q; for int i in [0:0:3] { x q; }", "steps of 0" },
        { STD "qubit q; for int i in [0:2000000] { x q; }", "more than 1000000 gates" },
        { STD "gate e q { } qubit q; for int i in [0:100000] { for int j in [0:100000] { e q; } }", "statements are carried out" },
        { STD "qubit q; pow(1000000) @ pow(1000000) @ x q;", "expected at most 1000000" },
        { STD "qubit q; x q \"", "column" },
        { STD "qubit q; /* never ends", "unreadable text" },
        { STD "qubit q; x q; \x01", "column" },
        { STD "let a = q;", "column 45: unknown qubits 'q'" },
        { STD "qubit[2] q; let a = q[0:5];", "wire 5 of q, which has 2" },
        { STD "qubit[2] q; let q = q;", "'q' is declared already" },
        { STD "qubit[3] q; h q[{0, 7}];", "column 57: wire 7 of q, which has 3" },
        { STD "x $9999;", "'9999', expected the number of a physical qubit below 4096" },
        { STD "cx $4, $4;", "CX names wire 0 twice" },
        { STD "gate g a { x $0; }", "'$', expected a qubit" },
        { STD "array[float[64], 2] a = {1};", "1 values for an array of 2" },
        { STD "array[float[64], 2, 2] a = {{1, 2}, {3, 4}};", "arrays have one dimension" },
        { STD "qubit q; rx(1 % 0) q;", "1 % 0, expected whole numbers" },
        { STD "qubit q; rx(1.5 % 2) q;", "1.5 % 2, expected whole numbers" },
        { STD "input float x; qubit q; rx(x % 2) q;", "% of what is not a constant" },
        { STD "qubit q; for int i in [1:0] h q", "the end of the text, expected '}'" },
        { STD "def f() { }", "subroutines" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lt_circuit *c = NULL;
        lt_status s = lt_circuit_from_qasm(bad[i].text, strlen(bad[i].text), "t.qasm", &c);
        if (s != LT_ERR_FORMAT || !strstr(lt_error_text(), bad[i].part) || !strstr(lt_error_text(), "t.qasm, line "))
            LT_TEST_FAIL("'%s': '%s' lacks '%s'", bad[i].text, s ? lt_error_text() : "no failure", bad[i].part);
        lt_circuit_destroy(c);
    }
}

LT_TEST(depth_is_bounded)
{
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP + 200);
    lt_circuit *c;
    int n = sprintf(text, STD "qubit q; rx(");
    for (int i = 0; i < DEEP; i++) text[n++] = '(';
    text[n] = 0;
    LT_CHECK_FAILS(lt_circuit_from_qasm(text, (size_t)n, "t.qasm", &c), LT_ERR_FORMAT, "levels inside each other");
    n = sprintf(text, STD "qubit q; rx(");
    for (int i = 0; i < DEEP; i++) text[n++] = '-';
    LT_CHECK_FAILS(lt_circuit_from_qasm(text, (size_t)n, "t.qasm", &c), LT_ERR_FORMAT, "levels inside each other");
    /* Each gate calls the one before twice: 2^40 calls of nothing. */
    n = sprintf(text, STD "gate g0 q { } ");
    for (int i = 1; i <= 40; i++) n += sprintf(text + n, "gate g%d q { g%d q; g%d q; } ", i, i - 1, i - 1);
    LT_CHECK_FAILS(lt_circuit_from_qasm(text, (size_t)n, "t.qasm", &c), LT_ERR_FORMAT, "statements are carried out");
    free(text);
}

LT_TEST_MAIN()
