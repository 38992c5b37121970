/* OpenQASM files. SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/circuit.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"

#include <string.h>

enum { MAX_BYTES = 256 << 20 };

lt_status lt_circuit_read(const char *path, lt_circuit **out)
{
    char *text;
    size_t n_bytes;
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: out is NULL");
    *out = NULL;
    if (!path) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the path is NULL");
    LT_TRY(lt_file_read(path, MAX_BYTES, &text, &n_bytes));
    lt_status s = lt_circuit_from_qasm(text, n_bytes, path, out);
    lt_free(text);
    return s;
}

lt_status lt_circuit_write(const lt_circuit *c, const char *path)
{
    char *text;
    if (!path) return LT_FAIL(LT_ERR_ARGUMENT, "circuit: the path is NULL");
    LT_TRY(lt_circuit_to_qasm(c, &text));
    lt_status s = lt_file_write(path, text, strlen(text));
    lt_circuit_text_free(text);
    return s;
}
