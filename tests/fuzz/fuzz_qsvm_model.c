/* Fuzz target: stored machines whose members were replaced by others of any type, shape and content. (Archives broken
   as archives are fuzz_npz's.) What loads must also decide, or say why not. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/scratch.h"
#include "lathe/npy.h"
#include "lathe/qsvm.h"
#include "lathe/rng.h"

#include <math.h>
#include <string.h>

enum { MOST_MEMBERS = 48, MOST_VALUES = 4096, RECORD = 8 };

static struct { int n; char *name[MOST_MEMBERS]; lt_array array[MOST_MEMBERS]; } base;

/* A machine of two qubits out of three features, trained once. */
static void make_base(void)
{
    double x[12 * 3];
    uint8_t y[12];
    lt_rng r = lt_rng_seed(7);
    for (int i = 0; i < 12; i++) {
        y[i] = i % 2;
        for (int k = 0; k < 3; k++) x[3 * i + k] = lt_rng_normal(&r) + y[i];
    }
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    lt_qsvm *q;
    lt_npz_names names;
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1); /* files are synced; memory makes that cheap */
    const char *path = scratch("base.qsvm");
    opt.n_qubits = 2;
    opt.n_folds = 0;
    opt.C = 1;
    gram.re_embed_between_layers = true;
    opt.gram = &gram;
    LT_FUZZ_REQUIRE(!lt_qsvm_create(NULL, &opt, &q) && !lt_qsvm_fit(q, &(lt_rows){ x, LT_F64, 12, 3, 0 }, y) && !lt_qsvm_save(q, path));
    lt_qsvm_destroy(q);
    LT_FUZZ_REQUIRE(!lt_npz_list(path, &names) && names.n <= MOST_MEMBERS);
    base.n = names.n;
    for (int i = 0; i < names.n; i++) {
        base.name[i] = strdup(names.name[i]);
        LT_FUZZ_REQUIRE(!lt_npz_read(path, names.name[i], &base.array[i]));
    }
    lt_npz_names_free(&names);
}

/* One member from eight bytes: which, type, rank, three extents, what fills it, how. */
static void replace(const uint8_t *b, lt_array *a, double *values)
{
    static const lt_dtype types[] = { LT_F64, LT_F64, LT_F64, LT_I64, LT_I64, LT_F32, LT_U8, LT_C128 };
    static const double reals[] = { 0, 1, -1, 1e308, -1e308, 5e-324, NAN, INFINITY };
    static const int64_t wholes[] = { 0, 1, -1, 2, 3, 1 << 20, INT64_MAX, INT64_MIN };
    bool keep = b[1] & 0x80; /* type and shape stay */
    lt_array old = *a;
    int64_t dim[3] = { b[3] % 9, b[4] % 9, b[5] % 9 };
    if (!keep) *a = (lt_array){ types[b[1] % 8], lt_shape_of(b[2] % 4, dim), values };
    int64_t n = lt_shape_count(&a->shape), bytes = n * (int64_t)lt_dtype_size(a->dtype);
    if (bytes > MOST_VALUES * (int64_t)sizeof *values) return;
    if (keep) memcpy(values, old.data, (size_t)bytes);
    else memset(values, b[6], (size_t)bytes);
    a->data = values;
    for (int64_t i = 0; i < n; i++) {
        if (keep && i != b[3] % n) continue; /* one number of it */
        if (a->dtype == LT_F64) values[i] = b[7] & 8 ? reals[b[7] % 8] : (double)(int8_t)b[6] / 16;
        if (a->dtype == LT_I64) ((int64_t *)values)[i] = b[7] & 8 ? wholes[b[7] % 8] : (int8_t)b[6];
        if (a->dtype == LT_U8 && keep) ((uint8_t *)values)[i] = b[6];
    }
}

static void use(const char *path)
{
    lt_qsvm *q;
    if (lt_qsvm_load(NULL, path, &q)) {
        LT_FUZZ_REQUIRE(q == NULL && lt_error_text()[0]);
        return;
    }
    const lt_qsvm_info *i = lt_qsvm_get_info(q);
    double x[2 * 9] = { 0.25, -1, 3 }, decision[2];
    LT_FUZZ_REQUIRE(i && i->n_features >= 1 && i->n_features <= 9);
    (void)lt_qsvm_decide(q, LT_QSVM_QUANTUM, &(lt_rows){ x, LT_F64, 2, i->n_features, 0 }, decision);
    lt_qsvm_destroy(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static double values[MOST_MEMBERS][MOST_VALUES];
    if (!base.n) make_base();
    lt_array array[MOST_MEMBERS];
    memcpy(array, base.array, sizeof array);
    int n = base.n;
    for (size_t at = 0; at + RECORD <= n_bytes; at += RECORD) {
        int which = data[at] % base.n;
        if (data[at] == 0xff) n = base.n - 1; /* the last one is missing */
        else replace(data + at, &array[which], values[which]);
    }
    const char *path = scratch("fuzzed.qsvm");
    if (lt_npz_write(path, n, (const char *const *)base.name, array)) return 0;
    int64_t live = lt_alloc_live();
    use(path);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    return 0;
}

/* Seed k: one number of member k changed, then another shape for the next. */
size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    if (index >= 24 || capacity < 2 * RECORD) return 0;
    const uint8_t seed[2 * RECORD] = { (uint8_t)index, 0x80, 0, 0, 0, 0, 16, 0, (uint8_t)(index + 1), 0, 2, 2, 3, 1, 16, 8 };
    memcpy(out, seed, sizeof seed);
    return index % 2 ? sizeof seed : RECORD;
}
