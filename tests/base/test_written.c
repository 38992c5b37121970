/* What is in the files: bytes of archives, widths of texts, headers as others write them. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "base/status.h"
#include "lathe/npy.h"

/* The bytes that zipfile and NumPy read: no field of the directory or of the headers moves unseen. */
LT_TEST(written_archives_keep_their_bytes)
{
    static const double x[2] = { 1, -2.5 };
    static const int64_t k[3] = { 1, 2, 3 };
    lt_array arrays[] = { { LT_F64, lt_shape1(2), (void *)x }, { LT_I64, lt_shape1(3), (void *)k } };
    char *data;
    size_t n;
    LT_CHECK_OK(lt_npz_write(scratch("kept.npz"), 2, (const char *const[]){ "x", "count" }, arrays));
    LT_CHECK_OK(lt_file_read(scratch("kept.npz"), 1 << 16, &data, &n));
    lt_digest d = lt_sha256_of(data, n);
    if (strcmp(lt_digest_hex(&d).s, "2e671b8b73ad4e81e6c999616f15b6413dd25791430a0549779a1b6bd8d37c4f")) LT_TEST_FAIL("%zu bytes of %s", n, lt_digest_hex(&d).s);
    lt_free(data);
}

/* Blanks or none anywhere, either quote. */
LT_TEST(blanks_in_headers_do_not_matter)
{
    static const char *const heads[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "{ 'descr' :  '<f8' , 'fortran_order' :False,'shape':( 2 , ) }",
        "{'descr':'<f8','fortran_order':False,'shape':(2,)}", "  {\t\"shape\": (2,), \"descr\":   \"<f8\", \"fortran_order\": False}",
    };
    for (size_t i = 0; i < LT_LEN(heads); i++) {
        unsigned char file[256] = "\x93NUMPY\x01";
        const double x[2] = { 3, 4 };
        lt_array a;
        memset(file + 10, ' ', 118);
        memcpy(file + 10, heads[i], strlen(heads[i]));
        file[8] = 118, file[127] = '\n';
        memcpy(file + 128, x, sizeof x);
        LT_CHECK_OK(lt_file_write(scratch("blanks.npy"), file, 128 + sizeof x));
        lt_status s = lt_npy_read(scratch("blanks.npy"), &a);
        if (s || memcmp(a.data, x, sizeof x)) LT_TEST_FAIL("%s: %s", heads[i], s ? lt_error_text() : "other numbers");
        lt_array_free(&a);
    }
}

/* As wide as the longest text has characters, no more. */
LT_TEST(texts_are_as_wide_as_the_longest)
{
    static const struct { const char *text[2]; const char *descr; } rows[] = {
        { { "", "cat" }, "'<U3'" }, { { "h\xc3\xa9\xf0\x9f\x98\x80", "\xe2\x82\xac" }, "'<U3'" }, { { "a", "b" }, "'<U1'" }, { { "", "" }, "'<U1'" },
    };
    for (size_t i = 0; i < LT_LEN(rows); i++) {
        char *data;
        size_t n;
        LT_CHECK_OK(lt_npy_write_texts(scratch("texts.npy"), 2, rows[i].text));
        LT_CHECK_OK(lt_file_read(scratch("texts.npy"), 1 << 16, &data, &n));
        if (!memmem(data, n, rows[i].descr, strlen(rows[i].descr))) LT_TEST_FAIL("'%s', '%s': not %s", rows[i].text[0], rows[i].text[1], rows[i].descr);
        lt_free(data);
    }
}

LT_TEST_MAIN()
