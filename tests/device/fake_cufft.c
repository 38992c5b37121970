/* A cuFFT that is none. A plan is for one thread at a time, from the setting of its stream and work area to the transform.
   SPDX-License-Identifier: BSD-3-Clause */
#include "fake_library.h"

#include "device/cuda/api_cufft.h"

#define X(result, name, args) result name args;
#pragma GCC visibility push(default)
LT_CUFFT_FUNCTIONS(X)
#pragma GCC visibility pop
#undef X

enum { MAX_PLANS = 256, INVALID_PLAN = 1, EXEC_FAILED = 6, WORK_BYTES = 1024 };

/* owner: set the stream last, and nobody has since. */
static struct { fake_use use; void *_Atomic owner; } plan[MAX_PLANS];
static atomic_int n_plans, executed;
static _Thread_local char me;

unsigned cufftGetVersion(int *v) { *v = 12000; return 0; }
unsigned cufftCreate(int *p) { *p = atomic_fetch_add(&n_plans, 1); return *p < MAX_PLANS ? 0 : INVALID_PLAN; }
unsigned cufftDestroy(int p) { (void)p; return 0; }
unsigned cufftSetAutoAllocation(int p, int on) { (void)p, (void)on; return 0; }
unsigned cufftMakePlanMany64(int p, int rank, long long *n, long long *inembed, long long istride, long long idist, long long *onembed, long long ostride,
                             long long odist, unsigned type, long long batch, size_t *work)
{
    (void)p, (void)rank, (void)n, (void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist, (void)type, (void)batch;
    *work = WORK_BYTES;
    return 0;
}

unsigned cufftSetStream(int p, lt_cu_stream st)
{
    (void)st;
    bool alone = fake_enter(&plan[p].use);
    plan[p].owner = &me;
    fake_leave(&plan[p].use);
    return alone ? 0 : EXEC_FAILED;
}
unsigned cufftSetWorkArea(int p, void *at) { return at && plan[p].owner == (void *)&me ? 0 : EXEC_FAILED; }

static unsigned execute(int p)
{
    bool alone = fake_enter(&plan[p].use);
    fake_leave(&plan[p].use);
    return alone && plan[p].owner == (void *)&me && !fake_fault(&executed) ? 0 : EXEC_FAILED;
}
unsigned cufftExecR2C(int p, cufftReal *x, cufftComplex *y) { (void)x, (void)y; return execute(p); }
unsigned cufftExecC2R(int p, cufftComplex *x, cufftReal *y) { (void)x, (void)y; return execute(p); }
unsigned cufftExecD2Z(int p, cufftDoubleReal *x, cufftDoubleComplex *y) { (void)x, (void)y; return execute(p); }
unsigned cufftExecZ2D(int p, cufftDoubleComplex *x, cufftDoubleReal *y) { (void)x, (void)y; return execute(p); }
