/* A run-time compiler that states its version, 12.FAKE_MINOR, and compiles nothing, or with FAKE_CODE anything to some bytes that the made-up driver takes. SPDX-License-Identifier: BSD-3-Clause */
#include "device/cuda/api_nvrtc.h"

#include <string.h>

#pragma GCC visibility push(default)
#define X(result, name, args) result name args;
LT_NVRTC_FUNCTIONS(X)
#undef X
#pragma GCC visibility pop

#ifdef FAKE_CODE
enum { FAILED = 0, CODE_BYTES = 64 };
#else
enum { FAILED = 6, CODE_BYTES = 0 };
#endif

static int fake;
static const char code[64] = "\177ELF, as it begins";

unsigned nvrtcVersion(int *major, int *minor) { *major = 12, *minor = FAKE_MINOR; return 0; }
const char *nvrtcGetErrorString(unsigned r) { (void)r; return "compiles nothing"; }
unsigned nvrtcCreateProgram(lt_nvrtc_program *p, const char *text, const char *name, int n, const char *const *headers, const char *const *names)
{
    if (!FAILED) *p = (lt_nvrtc_program)(void *)&fake; /* nobody looks into it */
    (void)text, (void)name, (void)n, (void)headers, (void)names;
    return FAILED;
}
unsigned nvrtcDestroyProgram(lt_nvrtc_program *p) { (void)p; return FAILED; }
unsigned nvrtcCompileProgram(lt_nvrtc_program p, int n, const char *const *options) { (void)p, (void)n, (void)options; return FAILED; }
unsigned nvrtcGetCUBINSize(lt_nvrtc_program p, size_t *n) { (void)p; *n = CODE_BYTES; return FAILED; }
unsigned nvrtcGetCUBIN(lt_nvrtc_program p, char *to) { (void)p; if (CODE_BYTES) memcpy(to, code, CODE_BYTES); return FAILED; }
unsigned nvrtcGetProgramLogSize(lt_nvrtc_program p, size_t *n) { (void)p; *n = 1; return FAILED; }
unsigned nvrtcGetProgramLog(lt_nvrtc_program p, char *to) { (void)p; *to = 0; return FAILED; }
