/* The files that programs include, beyond the gates of the table (decision 411). SPDX-License-Identifier: BSD-3-Clause */
#include "qkernel/qasm/reader.h"

#include "base/status.h"

#include <string.h>

/* u3 and u2 have no phase (see calls.c); under control it matters, and cu3 has that of U3 of the table. */
#define COMMON \
    "gate u0(gamma) a { id a; }" \
    "gate u2(phi, lambda) a { u3(pi/2, phi, lambda) a; }" \
    "gate cu3(theta, phi, lambda) a, b { p((phi + lambda)/2) a; ctrl @ u3(theta, phi, lambda) a, b; }" \
    "gate cu(theta, phi, lambda, gamma) a, b { p(gamma) a; cu3(theta, phi, lambda) a, b; }" \
    "gate csx a, b { ctrl @ sx a, b; }" \
    "gate ccz a, b, c { ctrl(2) @ z a, b, c; }" \
    "gate c3x a, b, c, d { ctrl(3) @ x a, b, c, d; }" \
    "gate c4x a, b, c, d, e { ctrl(4) @ x a, b, c, d, e; }" \
    "gate c3sqrtx a, b, c, d { ctrl(3) @ sx a, b, c, d; }" \
    "gate rccx a, b, c { h c; t c; cx b, c; tdg c; cx a, c; t c; cx b, c; tdg c; h c; }" \
    "gate rc3x a, b, c, d { h d; t d; cx c, d; tdg d; h d; cx a, d; t d; cx b, d; tdg d; cx a, d; t d; cx b, d; tdg d; h d; t d; cx c, d; tdg d; h d; }"

/* Gates of Quantinuum's machines, as pytket writes them. */
#define QUANTINUUM \
    "gate Rz(lambda) a { rz(lambda) a; }" \
    "gate U1q(theta, phi) a { rz(-phi) a; rx(theta) a; rz(phi) a; }" \
    "gate ZZ a, b { rzz(pi/2) a, b; }" \
    "gate RZZ(theta) a, b { rzz(theta) a, b; }" \
    "gate Rxxyyzz(alpha, beta, gamma) a, b { rxx(alpha) a, b; ryy(beta) a, b; rzz(gamma) a, b; }"

const char *lt_qasm_library(const lt_script_word *file)
{
    static const struct { const char *name, *text; } files[] = { { "stdgates.inc", COMMON }, { "qelib1.inc", COMMON }, { "hqslib1.inc", COMMON QUANTINUUM } };
    for (size_t i = 0; i < LT_LEN(files); i++)
        if (file->kind == LT_SCRIPT_STRING && strlen(files[i].name) == (size_t)file->length && !strncmp(files[i].name, file->text, (size_t)file->length)) return files[i].text;
    return NULL;
}
