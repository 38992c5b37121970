/* .npy and .npz: round trips over type, rank, order and byte order; files other programs wrote;
   and a table of hostile files. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "scratch.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/files/file.h"
#include "base/files/npy.h"
#include "base/status.h"

#ifdef LT_HAVE_ZLIB
static const bool have_zlib = true;
#else
static const bool have_zlib = false;
#endif

/* ---- Files put together by hand ---------------------------------------------------- */
typedef struct bytes { unsigned char b[8192]; size_t n; } bytes;

static void add(bytes *f, const void *data, size_t n) { memcpy(f->b + f->n, data, n), f->n += n; }

/* A .npy file of the given version around a header text, not padded, and `data_bytes` of data. */
static bytes npy_file(int version, const char *text, size_t data_bytes)
{
    bytes f = { .n = 0 };
    size_t n = strlen(text);
    unsigned char prefix[12] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, n & 255, n >> 8 & 255 };
    add(&f, prefix, version == 1 ? 10 : 12);
    add(&f, text, n);
    for (size_t i = 0; i < data_bytes; i++) f.b[f.n++] = (unsigned char)i;
    return f;
}

static const char *save(const bytes *f, const char *name)
{
    const char *path = scratch(name);
    FILE *to = fopen(path, "wb");
    fwrite(f->b, 1, f->n, to);
    fclose(to);
    return path;
}

/* ---- Round trips --------------------------------------------------------------------- */
static lt_shape test_shape(int rank)
{
    static const int64_t extents[] = { 3, 2, 4, 1, 2, 3, 1, 2 };
    return lt_shape_of(rank, extents);
}

LT_TEST(every_type_and_rank_round_trips)
{
    static unsigned char data[300 * 16];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7 + 3);
    for (int t = 0; t < LT_DTYPE_COUNT; t++)
        for (int rank = 0; rank <= LT_MAX_RANK; rank++) {
            lt_shape shape = test_shape(rank), seen;
            lt_dtype dtype = (lt_dtype)t, read_as = dtype == LT_BF16 ? LT_F32 : dtype, seen_dtype;
            int64_t n = lt_shape_count(&shape);
            const char *path = scratch("round.npy");
            lt_array a;
            LT_CHECK_OK(lt_npy_write(path, dtype, &shape, data));
            LT_CHECK_OK(lt_npy_info(path, &seen_dtype, &seen));
            LT_CHECK(seen_dtype == read_as && lt_shape_equal(&seen, &shape));
            LT_CHECK_OK(lt_npy_read(path, &a));
            LT_CHECK(a.dtype == read_as && lt_shape_equal(&a.shape, &shape));
            LT_CHECK((uintptr_t)a.data % 64 == 0);
            static float wide[300];
            const void *want = data;
            if (dtype == LT_BF16) lt_convert(LT_F32, wide, LT_BF16, data, n), want = wide;
            LT_CHECK(a.data && !memcmp(a.data, want, (size_t)n * lt_dtype_size(read_as)));
            lt_array_free(&a);
            LT_CHECK(a.data == NULL);
        }
    lt_array_free(NULL);
}

LT_TEST(header_is_what_numpy_writes)
{
    lt_shape shape = lt_shape1(3);
    lt_npy_head h = lt_npy_header_format(LT_F32, &shape);
    LT_CHECK_EQ_INT(h.n, 128);
    LT_CHECK(!memcmp(h.s, "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }      ", 70));
    LT_CHECK(h.s[127] == '\n' && h.s[126] == ' ');
    lt_shape wide = { 8, { 1ll << 60, 1ll << 60, 1ll << 60, 1ll << 60, 1ll << 60, 1ll << 60, 1ll << 60, 1ll << 60 } };
    LT_CHECK(lt_npy_header_format(LT_C128, &wide).n <= sizeof h.s);
}

LT_TEST(empty_arrays_round_trip)
{
    lt_shape shape = lt_shape3(4, 0, 5);
    lt_array a;
    LT_CHECK_OK(lt_npy_write(scratch("empty.npy"), LT_F64, &shape, NULL));
    LT_CHECK_OK(lt_npy_read(scratch("empty.npy"), &a));
    LT_CHECK(lt_shape_equal(&a.shape, &shape));
    lt_array_free(&a);
}

/* Value of element (i0, i1, …) in a file holding 0, 1, 2, … in its own order. */
LT_TEST(orders_and_byte_orders_read_the_same)
{
    static const struct { const char *code; int bytes, part; } types[] = {
        { "f2", 2, 2 }, { "f4", 4, 4 }, { "f8", 8, 8 }, { "c8", 8, 4 }, { "c16", 16, 8 }, { "i1", 1, 1 }, { "i2", 2, 2 },
        { "i4", 4, 4 }, { "i8", 8, 8 }, { "u1", 1, 1 }, { "u2", 2, 2 }, { "u4", 4, 4 }, { "u8", 8, 8 }, { "b1", 1, 1 } };
    for (size_t t = 0; t < LT_LEN(types); t++)
        for (int rank = 0; rank <= 4; rank++)
            for (int variant = 0; variant < 4; variant++) {
                bool fortran = variant & 1, big = variant & 2;
                lt_shape shape = test_shape(rank);
                int64_t n = lt_shape_count(&shape);
                char text[160], extents[64] = "";
                for (int d = 0; d < rank; d++) sprintf(extents + strlen(extents), "%d,", (int)shape.dim[d]);
                snprintf(text, sizeof text, "{'descr':'%c%s','fortran_order':%s,'shape':(%s)}", big ? '>' : '<', types[t].code,
                         fortran ? "True" : "False", extents);
                bytes f = npy_file(1 + variant % 3, text, 0);
                for (int64_t i = 0; i < n; i++) { /* store i as the file's type */
                    double v = types[t].code[0] == 'b' ? (double)(i & 1) : (double)i;
                    unsigned char item[16] = { 0 };
                    int64_t integer = (int64_t)v;
                    if (types[t].code[0] == 'f' || types[t].code[0] == 'c')
                        lt_store_double(types[t].part == 2 ? LT_F16 : types[t].part == 4 ? LT_F32 : LT_F64, item, 0, v);
                    else memcpy(item, &integer, 8);
                    for (int p = 0; p < types[t].bytes; p++) {
                        int within = p % types[t].part;
                        f.b[f.n++] = item[p - within + (big ? types[t].part - 1 - within : within)];
                    }
                }
                lt_array a;
                LT_CHECK_OK(lt_npy_read(save(&f, "order.npy"), &a));
                LT_CHECK(lt_shape_equal(&a.shape, &shape));
                for (int64_t i = 0; a.data && i < n; i++) { /* element i in row order, its number in the file */
                    int64_t rest = i, number = 0, index[8], step = 1;
                    for (int d = rank - 1; d >= 0; d--) index[d] = rest % shape.dim[d], rest /= shape.dim[d];
                    for (int d = 0; d < rank; d++) number += index[d] * step, step *= shape.dim[d];
                    double want = (double)(fortran ? number : i);
                    if (types[t].code[0] == 'b') want = (double)((fortran ? number : i) & 1);
                    if (lt_load_double(a.dtype, a.data, i) != want)
                        LT_TEST_FAIL("%s: element %d", text, (int)i);
                }
                lt_array_free(&a);
            }
}

LT_TEST(negative_and_large_integers_keep_their_value)
{
    lt_array a;
    bytes f = npy_file(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }", 0);
    add(&f, "\x80\xff", 2);
    LT_CHECK_OK(lt_npy_read(save(&f, "i1.npy"), &a));
    LT_CHECK(a.dtype == LT_I32 && ((int32_t *)a.data)[0] == -128 && ((int32_t *)a.data)[1] == -1);
    lt_array_free(&a);
    f = npy_file(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (1,), }", 0);
    add(&f, "\xff\xff\xff\xff", 4);
    LT_CHECK_OK(lt_npy_read(save(&f, "u4.npy"), &a));
    LT_CHECK(a.dtype == LT_I64 && ((int64_t *)a.data)[0] == 4294967295);
    lt_array_free(&a);
    f = npy_file(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", 0);
    add(&f, "\xff\xff\xff\xff\xff\xff\xff\x80", 8);
    LT_CHECK_FAILS(lt_npy_read(save(&f, "u8.npy"), &a), LT_ERR_TYPE, "uint64 value 9295429630892703743 at element 0");
    f = npy_file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 0);
    add(&f, "\x00\x07", 2);
    LT_CHECK_OK(lt_npy_read(save(&f, "b1.npy"), &a));
    LT_CHECK(a.dtype == LT_U8 && ((uint8_t *)a.data)[1] == 1);
    lt_array_free(&a);
}

LT_TEST(real_arrays_can_be_widened)
{
    const char *path = scratch("wide.npy");
    lt_array a;
    lt_shape two = lt_shape1(2);
    LT_CHECK_OK(lt_npy_write(path, LT_F32, &two, (float[]){ 1.5f, -2 }));
    LT_CHECK_OK(lt_npy_read(path, &a));
    LT_CHECK_OK(lt_array_widen(&a));
    LT_CHECK(a.dtype == LT_F64 && ((double *)a.data)[0] == 1.5 && ((double *)a.data)[1] == -2);
    LT_CHECK_OK(lt_array_widen(&a)); /* nothing to do */
    lt_array_free(&a);
    LT_CHECK_OK(lt_npy_write(path, LT_I64, &two, (int64_t[]){ 3, -4 }));
    LT_CHECK_OK(lt_npy_read(path, &a));
    LT_CHECK_OK(lt_array_widen(&a));
    LT_CHECK(((double *)a.data)[0] == 3 && ((double *)a.data)[1] == -4);
    lt_array_free(&a);
    LT_CHECK_OK(lt_npy_write(path, LT_C128, &two, (double[]){ 1, 2, 3, 4 }));
    LT_CHECK_OK(lt_npy_read(path, &a));
    LT_CHECK_FAILS(lt_array_widen(&a), LT_ERR_TYPE, "c128");
    lt_array_free(&a);
}

LT_TEST(headers_of_other_writers_are_understood)
{
    static const char *const text[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "  {\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3,)}  \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n",
        "{ 'descr' : '=f4' ,\t'fortran_order' : False , 'shape' : ( 2 , 3 ) , }",
    };
    for (size_t i = 0; i < LT_LEN(text); i++)
        for (int version = 1; version <= 3; version++) {
            bytes f = npy_file(version, text[i], 24);
            lt_array a;
            LT_CHECK_OK(lt_npy_read(save(&f, "other.npy"), &a));
            LT_CHECK(a.dtype == LT_F32 && a.shape.rank == 2 && a.shape.dim[1] == 3);
            lt_array_free(&a);
        }
}

/* ---- Texts ------------------------------------------------------------------------------------ */
LT_TEST(texts_of_both_kinds_and_byte_orders)
{
    static const char wide[] = "\0\0\0h\0\0\0\xe9\0\1\xf6\0\0\0\x20\xac\0\0\0\0\0\0\0\0"; /* h e-acute smile, euro sign */
    bytes f = npy_file(1, "{'descr': '>U3', 'fortran_order': False, 'shape': (2,), }", 0);
    add(&f, wide, 24);
    lt_npy_texts t;
    bool text = false;
    const char *path = save(&f, "wide.npy");
    LT_CHECK_OK(lt_npy_holds_text(path, &text));
    LT_CHECK_OK(lt_npy_read_texts(path, &t));
    LT_CHECK(text && t.n == 2 && !strcmp(t.text[0], "h\xc3\xa9\xf0\x9f\x98\x80") && !strcmp(t.text[1], "\xe2\x82\xac"));
    lt_npy_texts_free(&t);
    f = npy_file(1, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", 0);
    add(&f, "catdo\0", 6);
    LT_CHECK_OK(lt_npy_read_texts(save(&f, "bytes.npy"), &t));
    LT_CHECK(t.n == 2 && !strcmp(t.text[0], "cat") && !strcmp(t.text[1], "do"));
    lt_npy_texts_free(&t);
}

LT_TEST(texts_written_are_read_back)
{
    const char *const words[] = { "", "cat", "h\xc3\xa9\xf0\x9f\x98\x80", "\xe2\x82\xac" };
    const char *path = scratch("words.npy");
    lt_npy_texts t;
    LT_CHECK_OK(lt_npy_write_texts(path, 4, words));
    LT_CHECK_OK(lt_npy_read_texts(path, &t));
    LT_CHECK_EQ_INT(t.n, 4);
    for (int i = 0; i < 4; i++) LT_CHECK(!strcmp(t.text[i], words[i]));
    lt_npy_texts_free(&t);
    LT_CHECK_OK(lt_npy_write_texts(path, 0, NULL));
    LT_CHECK_OK(lt_npy_read_texts(path, &t));
    LT_CHECK_EQ_INT(t.n, 0);
    lt_npy_texts_free(&t);
    const char *const bad[] = { "ok", "\xc3(" };
    LT_CHECK_FAILS(lt_npy_write_texts(path, 2, bad), LT_ERR_ARGUMENT, "text 1 (counted from 0) is not UTF-8");
}

LT_TEST(bad_texts_are_refused)
{
    static const struct { const char *text, *data; size_t n; lt_status status; const char *part; } bad[] = {
        { "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", "\0\xd8\0\0\0\0\0\0", 8, LT_ERR_FORMAT, "text 0 (counted from 0) holds a number that is no Unicode character" },
        { "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", "\0\0\0\0a\0\0\0", 8, LT_ERR_FORMAT, "has a zero before its end" },
        { "{'descr': '<U1', 'fortran_order': False, 'shape': (1, 1), }", "a\0\0\0", 4, LT_ERR_SHAPE, "expected one axis" },
        { "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }", "a\0\0\0", 4, LT_ERR_FORMAT, "4 bytes of data, expected 8" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "a\0\0\0", 4, LT_ERR_TYPE, "holds numbers, expected texts" },
    };
    for (size_t i = 0; i < LT_LEN(bad); i++) {
        bytes f = npy_file(1, bad[i].text, 0);
        lt_npy_texts t;
        add(&f, bad[i].data, bad[i].n);
        LT_CHECK_FAILS(lt_npy_read_texts(save(&f, "bad.npy"), &t), bad[i].status, bad[i].part);
        LT_CHECK(!t.text && !t.n);
    }
}

/* ---- Hostile files --------------------------------------------------------------------- */
#define PLAIN "'fortran_order': False, 'shape': (2,), }"

LT_TEST(hostile_npy_files_are_refused_with_reasons)
{
    static const struct { const char *text; size_t data_bytes; lt_status status; const char *part; } bad[] = {
        { "", 8, LT_ERR_FORMAT, "expected" },
        { "not a dictionary", 8, LT_ERR_FORMAT, "has 'not a dictionary' at byte 0 of its text, expected '{'" },
        { "{'descr': '<f4', " PLAIN, 7, LT_ERR_FORMAT, "7 bytes of data, expected 8 for shape [2]" },
        { "{'descr': '<f4', " PLAIN, 9, LT_ERR_FORMAT, "9 bytes of data, expected 8" },
        { "{'descr': '<f4', " PLAIN, 0, LT_ERR_FORMAT, "0 bytes of data, expected 8" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8, LT_ERR_FORMAT, "expected an extent of 0 or more" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }", 8,
          LT_ERR_FORMAT, "expected fewer than 2^63 elements" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9223372036854775807), }", 0,
          LT_ERR_FORMAT, "expected fewer than 2^63 elements" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }", 8, LT_ERR_FORMAT, "2^63 bytes" },
        { "{'descr': '|i1', 'fortran_order': False, 'shape': (4611686018427387904,), }", 8, LT_ERR_FORMAT, "2^63 bytes" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, LT_ERR_FORMAT, "extent below 2^63" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000,), }", 8, LT_ERR_FORMAT, "expected 400000000000" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, LT_ERR_FORMAT, "more than 8 extents" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': ((((((2,),),),),),), }", 8, LT_ERR_FORMAT, "an extent of 0 or more" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }", 8, LT_ERR_FORMAT, "a comma after the only extent" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", 24, LT_ERR_FORMAT, "expected" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3; }", 24, LT_ERR_FORMAT, "expected ',' or ')'" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,), }", 8, LT_ERR_FORMAT, "expected" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': 2, }", 8, LT_ERR_FORMAT, "a tuple of extents" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", 8, LT_ERR_FORMAT, "an extent" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,", 8, LT_ERR_FORMAT, "an extent" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", 8, LT_ERR_FORMAT, "True or False" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", 8, LT_ERR_FORMAT, "header key 'more'" },
        { "{'descr': '<f4', 'descr': '<f8', " PLAIN, 8, LT_ERR_FORMAT, "'descr' twice" },
        { "{'descr': '<f4', 'fortran_order': False}", 8, LT_ERR_FORMAT, "lacks 'shape'" },
        { "{'fortran_order': False, 'shape': (2,)}", 8, LT_ERR_FORMAT, "lacks 'descr'" },
        { "{'descr': '<f4', 'shape': (2,)}", 8, LT_ERR_FORMAT, "lacks 'fortran_order'" },
        { "{'descr': '<f4', " PLAIN " extra", 8, LT_ERR_FORMAT, "nothing after '}'" },
        { "{'descr' '<f4', " PLAIN, 8, LT_ERR_FORMAT, "expected ':'" },
        { "{'descr': '<f4' 'shape': (2,)}", 8, LT_ERR_FORMAT, "',' or '}'" },
        { "{'descr': '<f4", 8, LT_ERR_FORMAT, "a closing quote" },
        { "{'d\xc3\xa9scr': '<f4', " PLAIN, 8, LT_ERR_FORMAT, "a plain ASCII text" },
        { "{'descr': '\\x3cf4', " PLAIN, 8, LT_ERR_FORMAT, "a plain ASCII text" },
        { "{'descr': '', " PLAIN, 8, LT_ERR_FORMAT, "descr ''" },
        { "{'descr': 'f4', " PLAIN, 8, LT_ERR_FORMAT, "descr 'f4', expected byte order" },
        { "{'descr': '<f', " PLAIN, 8, LT_ERR_FORMAT, "descr '<f'" },
        { "{'descr': 4, " PLAIN, 8, LT_ERR_FORMAT, "a quoted text" },
        { "{'descr': '<f16', " PLAIN, 32, LT_ERR_TYPE, "element type '<f16'" },
        { "{'descr': '<f99999999999999999999', " PLAIN, 32, LT_ERR_TYPE, "element type '<f9999" },
        { "{'descr': '|O8', " PLAIN, 16, LT_ERR_TYPE, "holds Python objects" },
        { "{'descr': '<U3', " PLAIN, 24, LT_ERR_TYPE, "holds texts, expected numbers" },
        { "{'descr': '<U0', " PLAIN, 0, LT_ERR_TYPE, "texts of no characters" },
        { "{'descr': '|O', " PLAIN, 24, LT_ERR_TYPE, "holds Python objects (dtype object, which NumPy pickles), and only Python can read those; save a plain array instead: x.astype(float)" },
        { "{'descr': '|V2', " PLAIN, 4, LT_ERR_TYPE, "element type '|V2'" },
        { "{'descr': '<M8[ns]', " PLAIN, 16, LT_ERR_TYPE, "element type '<M8[ns]'" },
        { "{'descr': [('x', '<f4')], " PLAIN, 8, LT_ERR_TYPE, "structured" },
    };
    for (size_t i = 0; i < LT_LEN(bad); i++)
        for (int version = 1; version <= 3; version++) {
            bytes f = npy_file(version, bad[i].text, bad[i].data_bytes);
            int64_t before = lt_alloc_count();
            lt_array a = { .data = &f };
            LT_CHECK_FAILS(lt_npy_read(save(&f, "hostile.npy"), &a), bad[i].status, bad[i].part);
            LT_CHECK(strstr(lt_error_text(), "hostile.npy: "));
            LT_CHECK(a.data == NULL);
            LT_CHECK_EQ_INT(lt_alloc_count(), before); /* refused before anything was allocated */
        }
}

LT_TEST(hostile_prefixes_are_refused)
{
    lt_array a;
    bytes good = npy_file(1, "{'descr': '<f4', " PLAIN, 8);
    for (size_t n = 0; n < good.n; n++) { /* cut anywhere */
        bytes cut = good;
        cut.n = n;
        LT_CHECK_FAILS(lt_npy_read(save(&cut, "cut.npy"), &a), LT_ERR_FORMAT, "cut.npy: ");
    }
    bytes f = good;
    f.b[0] = 'P', f.b[1] = 'K';
    LT_CHECK_FAILS(lt_npy_read(save(&f, "zip.npy"), &a), LT_ERR_FORMAT, "begins with bytes 50 4b");
    f = good, f.b[6] = 4;
    LT_CHECK_FAILS(lt_npy_read(save(&f, "v4.npy"), &a), LT_ERR_FORMAT, "version 4.0, expected 1.0, 2.0 or 3.0");
    f = npy_file(2, "{'descr': '<f4', " PLAIN, 8), f.b[11] = 0xff;
    LT_CHECK_FAILS(lt_npy_read(save(&f, "long.npy"), &a), LT_ERR_FORMAT, "expected at most 16384");
    LT_CHECK_FAILS(lt_npy_read(scratch("nothing.npy"), &a), LT_ERR_IO, "nothing.npy: cannot open");
    LT_CHECK_FAILS(lt_npy_read("", &a), LT_ERR_IO, "cannot open");
}

LT_TEST(bad_arguments_of_writers_are_refused)
{
    float x[4] = { 0 };
    lt_shape shape = lt_shape1(4), negative = lt_shape1(-4), deep = { .rank = 9 };
    LT_CHECK_FAILS(lt_npy_write(scratch("w.npy"), LT_F32, &negative, x), LT_ERR_SHAPE, "shape [-4]");
    LT_CHECK_FAILS(lt_npy_write(scratch("w.npy"), LT_F32, &deep, x), LT_ERR_SHAPE, "rank 9");
    LT_CHECK_FAILS(lt_npy_write(scratch("w.npy"), LT_DTYPE_COUNT, &shape, x), LT_ERR_TYPE, "element type 9");
    LT_CHECK_FAILS(lt_npy_write(scratch("w.npy"), LT_F32, &shape, NULL), LT_ERR_ARGUMENT, "data is NULL");
    LT_CHECK_FAILS(lt_npy_write(scratch("no/w.npy"), LT_F32, &shape, x), LT_ERR_IO, "no/w.npy");
    LT_CHECK(access(scratch("w.npy"), F_OK));
    lt_array none;
    LT_CHECK_FAILS(lt_npy_read(NULL, &none), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_npz_read(NULL, "a", &none), LT_ERR_ARGUMENT, "NULL");
    LT_CHECK_FAILS(lt_npz_read("x.npz", NULL, &none), LT_ERR_ARGUMENT, "x.npz: name of the array is NULL");
    LT_CHECK_FAILS(lt_npy_write(NULL, LT_F32, &shape, x), LT_ERR_ARGUMENT, "path of an array to write is NULL");
    LT_CHECK_FAILS(lt_npy_write("w", LT_F32, NULL, x), LT_ERR_ARGUMENT, "shape of an array to write is NULL");
    LT_CHECK_FAILS(lt_npz_write(NULL, 0, NULL, NULL), LT_ERR_ARGUMENT, "path of arrays to write is NULL");
    LT_CHECK_FAILS(lt_npz_write("w", 1, NULL, NULL), LT_ERR_ARGUMENT, "names of arrays to write is NULL");
    lt_npy_map *m;
    LT_CHECK_FAILS(lt_npy_map_create(scratch("w.npy"), LT_BF16, &shape, &m), LT_ERR_TYPE, "bf16");
    LT_CHECK_FAILS(lt_npy_map_create(scratch("w.npy"), LT_F32, &negative, &m), LT_ERR_SHAPE, "[-4]");
}

/* ---- Mapped files ---------------------------------------------------------------------- */
LT_TEST(mapped_file_appears_on_commit)
{
    mkdir(scratch("mapped"), 0700);
    lt_shape shape = lt_shape2(100, 30);
    lt_npy_map *m;
    LT_CHECK_OK(lt_npy_map_create(scratch("mapped/m.npy"), LT_F64, &shape, &m));
    double *x = lt_npy_map_data(m);
    LT_CHECK((uintptr_t)x % 64 == 0);
    for (int i = 0; i < 3000; i++) LT_CHECK(x[i] == 0), x[i] = i;
    LT_CHECK(access(scratch("mapped/m.npy"), F_OK)); /* not yet */
    LT_CHECK_OK(lt_npy_map_commit(m));
    lt_array a;
    LT_CHECK_OK(lt_npy_read(scratch("mapped/m.npy"), &a));
    for (int i = 0; i < 3000; i++) LT_CHECK(((double *)a.data)[i] == i);
    lt_array_free(&a);
    LT_CHECK_OK(lt_npy_map_create(scratch("mapped/gone.npy"), LT_U8, &shape, &m));
    lt_npy_map_destroy(m);
    lt_npy_map_destroy(NULL);
    lt_shape none = lt_shape1(0);
    LT_CHECK_OK(lt_npy_map_create(scratch("mapped/none.npy"), LT_I32, &none, &m));
    LT_CHECK_OK(lt_npy_map_commit(m));
    LT_CHECK_EQ_INT(scratch_count(scratch("mapped")), 2);
    lt_shape huge = lt_shape1(1ll << 55);
    LT_CHECK_FAILS(lt_npy_map_create(scratch("mapped/huge.npy"), LT_U8, &huge, &m), LT_ERR_IO, "cannot reserve");
    LT_CHECK_EQ_INT(scratch_count(scratch("mapped")), 2);
}

/* ---- .npz --------------------------------------------------------------------------------- */
static const float weights[6] = { 0, 1, 2, 3, 4, 5 };
static const uint16_t halves[2] = { 0x3f80, 0x4000 }; /* bf16 1 and 2 */
static const char *const two_names[] = { "weights", "b/c" };

static void two_arrays(lt_array a[2])
{
    a[0] = (lt_array){ LT_F32, lt_shape2(2, 3), (void *)(uintptr_t)weights };
    a[1] = (lt_array){ LT_BF16, lt_shape1(2), (void *)(uintptr_t)halves };
}

static void check_two(const char *path)
{
    lt_array a;
    lt_npz_names names;
    LT_CHECK_OK(lt_npz_list(path, &names));
    LT_CHECK(names.n == 2 && !strcmp(names.name[0], "weights") && !strcmp(names.name[1], "b/c"));
    lt_npz_names_free(&names);
    LT_CHECK_OK(lt_npz_read(path, "weights", &a));
    LT_CHECK(a.dtype == LT_F32 && a.shape.rank == 2 && !memcmp(a.data, weights, sizeof weights));
    lt_array_free(&a);
    LT_CHECK_OK(lt_npz_read(path, "b/c.npy", &a));
    LT_CHECK(a.dtype == LT_F32 && ((float *)a.data)[0] == 1 && ((float *)a.data)[1] == 2);
    lt_array_free(&a);
    LT_CHECK_FAILS(lt_npz_read(path, "absent", &a), LT_ERR_ARGUMENT, "no array 'absent', expected one of 'weights', 'b/c'");
}

LT_TEST(npz_round_trips_with_and_without_zip64)
{
    lt_array a[2];
    two_arrays(a);
    LT_CHECK_OK(lt_npz_write(scratch("two.npz"), 2, two_names, a));
    check_two(scratch("two.npz"));
    static const uint64_t from[] = { 0, 100, 136, 137, 152, 200, 300 };
    for (size_t i = 0; i < LT_LEN(from); i++) { /* every mixture of narrow and wide fields */
        LT_CHECK_OK(lt_npz_write_with(scratch("wide.npz"), 2, two_names, a, from[i]));
        check_two(scratch("wide.npz"));
    }
    LT_CHECK_OK(lt_npz_write(scratch("none.npz"), 0, NULL, NULL));
    lt_npz_names names;
    LT_CHECK_OK(lt_npz_list(scratch("none.npz"), &names));
    LT_CHECK_EQ_INT(names.n, 0);
    lt_npz_names_free(&names);
    lt_npz_names_free(NULL);
    lt_array none;
    LT_CHECK_FAILS(lt_npz_read(scratch("none.npz"), "x", &none), LT_ERR_ARGUMENT, "(none)");
}

LT_TEST(npz_writer_refuses_bad_arguments)
{
    lt_array a[2];
    two_arrays(a);
    LT_CHECK_FAILS(lt_npz_write(scratch("x.npz"), 2, (const char *[]){ "a", "a" }, a), LT_ERR_ARGUMENT, "two arrays are called 'a'");
    LT_CHECK_FAILS(lt_npz_write(scratch("x.npz"), 1, (const char *[]){ "" }, a), LT_ERR_ARGUMENT, "array 0 is empty");
    LT_CHECK_FAILS(lt_npz_write(scratch("x.npz"), 1, (const char *[]){ NULL }, a), LT_ERR_ARGUMENT, "array 0 is NULL");
    LT_CHECK_FAILS(lt_npz_write(scratch("x.npz"), -1, NULL, a), LT_ERR_ARGUMENT, "-1 arrays");
    a[1].data = NULL;
    LT_CHECK_FAILS(lt_npz_write(scratch("x.npz"), 2, two_names, a), LT_ERR_ARGUMENT, "data is NULL");
    LT_CHECK(access(scratch("x.npz"), F_OK));
}

/* Written by NumPy 2: savez_compressed(a=arange(6, float32).reshape(2, 3), zeros=zeros(40, int64)). */
static const unsigned char compressed[401] = {
    80, 75, 3, 4, 45, 0, 0, 0, 8, 0, 0, 0, 33, 0, 79, 233, 0, 42, 255, 255, 255, 255, 255, 255, 255, 255, 5,
    0, 20, 0, 97, 46, 110, 112, 121, 1, 0, 16, 0, 152, 0, 0, 0, 0, 0, 0, 0, 85, 0, 0, 0, 0, 0, 0, 0, 155, 236,
    23, 234, 27, 16, 201, 200, 80, 198, 80, 173, 158, 146, 90, 156, 92, 164, 110, 165, 160, 110, 147, 102,
    162, 174, 163, 160, 158, 150, 95, 84, 82, 148, 152, 23, 159, 95, 148, 146, 10, 18, 119, 75, 204, 41, 78,
    5, 138, 23, 103, 36, 22, 164, 2, 249, 26, 70, 58, 10, 198, 154, 58, 10, 181, 10, 100, 3, 46, 6, 48, 104,
    176, 7, 18, 14, 64, 4, 196, 13, 64, 188, 192, 1, 0, 80, 75, 3, 4, 45, 0, 0, 0, 8, 0, 0, 0, 33, 0, 193, 95,
    221, 220, 255, 255, 255, 255, 255, 255, 255, 255, 9, 0, 20, 0, 122, 101, 114, 111, 115, 46, 110, 112, 121,
    1, 0, 16, 0, 192, 1, 0, 0, 0, 0, 0, 0, 74, 0, 0, 0, 0, 0, 0, 0, 155, 236, 23, 234, 27, 16, 201, 200, 80,
    198, 80, 173, 158, 146, 90, 156, 92, 164, 110, 165, 160, 110, 147, 105, 161, 174, 163, 160, 158, 150, 95,
    84, 82, 148, 152, 23, 159, 95, 148, 146, 10, 18, 119, 75, 204, 41, 78, 5, 138, 23, 103, 36, 22, 164, 2,
    249, 26, 38, 6, 58, 154, 58, 10, 181, 10, 228, 3, 46, 134, 81, 64, 17, 0, 0, 80, 75, 1, 2, 45, 3, 45, 0,
    0, 0, 8, 0, 0, 0, 33, 0, 79, 233, 0, 42, 85, 0, 0, 0, 152, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    128, 1, 0, 0, 0, 0, 97, 46, 110, 112, 121, 80, 75, 1, 2, 45, 3, 45, 0, 0, 0, 8, 0, 0, 0, 33, 0, 193, 95,
    221, 220, 74, 0, 0, 0, 192, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 1, 140, 0, 0, 0, 122, 101,
    114, 111, 115, 46, 110, 112, 121, 80, 75, 5, 6, 0, 0, 0, 0, 2, 0, 2, 0, 106, 0, 0, 0, 17, 1, 0, 0, 0, 0
};

LT_TEST(npz_of_numpy_is_read)
{
    bytes f = { .n = 0 };
    add(&f, compressed, sizeof compressed);
    const char *path = save(&f, "numpy.npz");
    lt_npz_names names;
    LT_CHECK_OK(lt_npz_list(path, &names));
    LT_CHECK(names.n == 2 && !strcmp(names.name[0], "a") && !strcmp(names.name[1], "zeros"));
    lt_npz_names_free(&names);
    lt_array a;
    lt_status s = lt_npz_read(path, "a", &a);
    if (!have_zlib) {
        LT_CHECK(s == LT_ERR_UNSUPPORTED && strstr(lt_error_text(), "built without zlib"));
        return;
    }
    LT_CHECK_OK(s);
    LT_CHECK(a.dtype == LT_F32 && a.shape.dim[0] == 2 && !memcmp(a.data, weights, sizeof weights));
    lt_array_free(&a);
    LT_CHECK_OK(lt_npz_read(path, "zeros", &a));
    LT_CHECK(a.dtype == LT_I64 && a.shape.dim[0] == 40 && ((int64_t *)a.data)[39] == 0);
    lt_array_free(&a);
    f.b[100] ^= 1; /* inside the compressed data */
    LT_CHECK_FAILS(lt_npz_read(save(&f, "numpy.npz"), "a", &a), LT_ERR_FORMAT, "numpy.npz: 'a.npy'");
}

/* Offsets of fields in a one-member archive of 152 bytes named "a.npy", from its end record back. */
LT_TEST(hostile_npz_files_are_refused)
{
    bytes good = { .n = 0 };
    add(&good, compressed, sizeof compressed);
    size_t end = good.n - 22, directory = 273;
    static const struct { int base; size_t at; unsigned char value[4]; int n; lt_status status; const char *part; } bad[] = {
        { 1, 0, { 'X' }, 1, LT_ERR_FORMAT, "no end record" },
        { 1, 10, { 0xff, 0xff }, 2, LT_ERR_FORMAT, "65535 members in a directory of 106 bytes" },
        { 1, 12, { 0xff, 0xff, 0xff, 0xff }, 4, LT_ERR_FORMAT, "directory of 4294967295 bytes" },
        { 1, 16, { 0xff, 0xff, 0xff, 0x7f }, 4, LT_ERR_FORMAT, "at byte 2147483647" },
        { 1, 16, { 0x12 }, 1, LT_ERR_FORMAT, "expected it before" },
        { 2, 0, { 'X' }, 1, LT_ERR_FORMAT, "directory broken at its byte 0" },
        { 2, 28, { 0xff, 0xff }, 2, LT_ERR_FORMAT, "in the directory, expected at most" },
        { 2, 8, { 1 }, 1, LT_ERR_UNSUPPORTED, "encrypted" },
        { 2, 10, { 12 }, 1, LT_ERR_UNSUPPORTED, "compression method 12" },
        { 2, 10, { 0 }, 1, LT_ERR_FORMAT, "stored with 85 bytes, expected 152" },
        { 2, 24, { 0xff, 0xff, 0xff, 0x7f }, 4, LT_ERR_FORMAT, "expected at most 1032 times" },
        { 2, 20, { 0xff, 0xff, 0xff, 0x7f }, 4, LT_ERR_FORMAT, "expected it inside" },
        { 2, 42, { 0xff, 0xff, 0xff, 0x7f }, 4, LT_ERR_FORMAT, "expected it inside" },
        { 2, 42, { 1 }, 1, LT_ERR_FORMAT, "expected the head of member 'a.npy'" },
    };
    for (size_t i = 0; i < LT_LEN(bad); i++) {
        bytes f = good;
        memcpy(f.b + (bad[i].base == 1 ? end : directory) + bad[i].at, bad[i].value, (size_t)bad[i].n);
        lt_array a;
        LT_CHECK_FAILS(lt_npz_read(save(&f, "hostile.npz"), "a", &a), bad[i].status, bad[i].part);
        LT_CHECK(a.data == NULL);
    }
    for (size_t n = 0; n < good.n; n += 7) { /* cut anywhere: the end record is gone */
        bytes cut = good;
        cut.n = n;
        lt_npz_names names;
        LT_CHECK_FAILS(lt_npz_list(save(&cut, "cut.npz"), &names), LT_ERR_FORMAT, "no end record");
    }
    if (!have_zlib) return;
    lt_array a;
    bytes f = good;
    f.b[directory + 16] ^= 1;
    LT_CHECK_FAILS(lt_npz_read(save(&f, "crc.npz"), "a", &a), LT_ERR_FORMAT, "checksum");
    f = good, f.b[directory + 24] = 0x99; /* says one byte more than there is */
    LT_CHECK_FAILS(lt_npz_read(save(&f, "size.npz"), "a", &a), LT_ERR_FORMAT, "bytes of data, expected 24");
}

LT_TEST(stored_damage_is_found_by_the_checksum)
{
    lt_array a[2], got;
    two_arrays(a);
    LT_CHECK_OK(lt_npz_write(scratch("sum.npz"), 2, two_names, a));
    FILE *f = fopen(scratch("sum.npz"), "r+b");
    fseek(f, 41 + 128 + 3, SEEK_SET); /* into the data of the first array */
    fputc(0x55, f);
    fclose(f);
    LT_CHECK_FAILS(lt_npz_read(scratch("sum.npz"), "weights", &got), LT_ERR_FORMAT, "checksum");
}

LT_TEST(readers_and_writers_survive_each_failing_allocation)
{
    lt_array a[2], got;
    two_arrays(a);
    bytes fortran = npy_file(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", 12), packed = { .n = 0 };
    add(&packed, compressed, sizeof compressed);
    const char *npy = save(&fortran, "f.npy"), *npz = save(&packed, "p.npz"), *out = scratch("o.npz"), *texts = scratch("t.npy");
    LT_CHECK_OK(lt_npy_write_texts(texts, 2, two_names));
    bool all_passed = false;
    for (int at = 1; !all_passed && at < 60; at++) {
        int64_t live = lt_alloc_live();
        lt_alloc_fail_at(at);
        lt_npz_names names;
        lt_npy_map *map;
        lt_npy_texts words;
        lt_status s[7] = { lt_npy_read(npy, &got) };
        s[5] = lt_npy_write_texts(texts, 2, two_names);
        s[6] = lt_npy_read_texts(texts, &words);
        lt_npy_texts_free(&words);
        lt_array_free(&got);
        s[1] = lt_npz_list(npz, &names);
        lt_npz_names_free(&names);
        s[2] = lt_npz_write(out, 2, two_names, a);
        s[3] = lt_npy_map_create(out, LT_F32, &a[0].shape, &map);
        lt_npy_map_destroy(map);
        s[4] = lt_npz_read(npz, "a", &got);
        lt_array_free(&got);
        lt_alloc_fail_at(0);
        int failed = 0;
        for (int i = 0; i < 7; i++) {
            bool unsupported = i == 4 && s[i] == LT_ERR_UNSUPPORTED; /* without zlib */
            LT_CHECK(s[i] == LT_OK || s[i] == LT_ERR_MEMORY || unsupported);
            failed += s[i] == LT_ERR_MEMORY;
        }
        LT_CHECK(failed <= 1);
        all_passed = failed == 0;
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    LT_CHECK(all_passed);
}

LT_TEST_MAIN()
