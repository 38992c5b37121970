/* Images: canvas, letters, colours, fields, and PNG files as libpng reads them back.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "operators/tools/pictures/image.h"

#include <unistd.h>

#if LT_HAVE_PNG
#include <png.h>
#endif

static uint32_t colour_at(const lt_image *m, int x, int y)
{
    const uint8_t *p = m->rgb + 3 * (y * m->width + x);
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

LT_TEST(what_lies_outside_is_cut_off)
{
    lt_image m;
    LT_CHECK_OK(lt_image_create(10, 6, 0x102030, &m));
    lt_image_fill(&m, (lt_rect){ -5, -5, 7, 6 }, 0xff0000);
    lt_image_fill(&m, (lt_rect){ 8, 5, 100, 100 }, 0x00ff00);
    lt_image_fill(&m, (lt_rect){ 50, 50, 5, 5 }, 0xffffff);
    lt_image_text(&m, 7, 3, 3, 0x0000ff, "W"); /* over the edge */
    LT_CHECK(colour_at(&m, 0, 0) == 0xff0000 && colour_at(&m, 1, 0) == 0xff0000 && colour_at(&m, 2, 0) == 0x102030 && colour_at(&m, 0, 1) == 0x102030);
    LT_CHECK(colour_at(&m, 7, 3) == 0x0000ff && colour_at(&m, 9, 0) == 0x102030);
    lt_image_free(&m);
    LT_CHECK_FAILS(lt_image_create(0, 4, 0, &m), LT_ERR_ARGUMENT, "0 by 4");
    LT_CHECK_FAILS(lt_image_create(70000, 4, 0, &m), LT_ERR_ARGUMENT, "70000 by 4");
}

LT_TEST(letters_have_their_shape)
{
    static const char *const rows[] = { ".###.", "#...#", "#....", "#.###", "#...#", "#...#", ".####" };
    lt_image m;
    LT_CHECK_OK(lt_image_create(12, 7, 0, &m));
    lt_image_text(&m, 0, 0, 1, 0xffffff, "G\x80");
    int same = 0;
    for (int y = 0; y < 7; y++)
        for (int x = 0; x < 5; x++) same += (colour_at(&m, x, y) != 0) == (rows[y][x] == '#');
    LT_CHECK_EQ_INT(same, 35);
    LT_CHECK(colour_at(&m, 6, 0) && colour_at(&m, 10, 6) && !colour_at(&m, 8, 3) && !colour_at(&m, 5, 0)); /* a box for what is not ASCII */
    LT_CHECK_EQ_INT(lt_image_text_width("abc", 2), 34);
    LT_CHECK_EQ_INT(lt_image_text_width("", 2), 0);
    lt_image_free(&m);
}

/* Ends and middle as matplotlib 3.10 has them. */
LT_TEST(colour_maps_are_the_published_ones)
{
    static const struct { const char *name; int first[3], middle[3], last[3]; } golden[] = {
        { "viridis", { 68, 1, 84 }, { 33, 145, 140 }, { 253, 231, 37 } },
        { "inferno", { 0, 0, 4 }, { 188, 55, 84 }, { 252, 255, 164 } },
        { "gray", { 0, 0, 0 }, { 128, 128, 128 }, { 255, 255, 255 } },
        { "coolwarm", { 59, 76, 192 }, { 221, 220, 220 }, { 180, 4, 38 } },
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        int which = 0;
        while (lt_colormap_names[which] && strcmp(lt_colormap_names[which], golden[i].name)) which++;
        LT_CHECK(which < LT_COLORMAP_COUNT);
        uint8_t table[256][3];
        lt_colormap_table(which, table);
        for (int c = 0; c < 3; c++) {
            LT_CHECK_EQ_INT(table[0][c], golden[i].first[c]);
            LT_CHECK(abs(table[128][c] - golden[i].middle[c]) <= 2);
            LT_CHECK_EQ_INT(table[255][c], golden[i].last[c]);
        }
    }
    for (int w = 0; w < LT_COLORMAP_COUNT; w++) LT_CHECK(lt_colormap_names[w] != NULL);
    LT_CHECK(!lt_colormap_names[LT_COLORMAP_COUNT]);
}

LT_TEST(fields_are_scaled_by_quantiles_and_what_is_not_finite_is_grey)
{
    float x[200], scratch[200], lo, hi;
    for (int i = 0; i < 200; i++) x[i] = (float)i;
    x[199] = 1e30f; /* one spike does not darken the rest */
    x[50] = NAN;
    lt_image_quantiles(x, 200, scratch, &lo, &hi);
    LT_CHECK(lo == 2 && hi == 197);
    lt_image_quantiles((const float[]){ NAN, INFINITY }, 2, scratch, &lo, &hi);
    LT_CHECK(lo == 0 && hi == 0);
    lt_image m;
    uint8_t table[256][3];
    lt_colormap_table(8, table); /* gray */
    LT_CHECK_OK(lt_image_create(8, 4, 0x123456, &m));
    static const float plane[] = { 0, 1, NAN, 0.5f }; /* 2 x 2, enlarged twofold, at the right */
    lt_image_plane(&m, (lt_rect){ 4, 0, 4, 4 }, plane, 2, 2, 0, 1, (const uint8_t(*)[3])table);
    LT_CHECK(colour_at(&m, 3, 0) == 0x123456 && colour_at(&m, 4, 1) == 0 && colour_at(&m, 7, 1) == 0xffffff);
    LT_CHECK(colour_at(&m, 5, 3) == 0x808080 && colour_at(&m, 6, 2) == 0x808080);
    static const float colours[] = { 1, 0, 0 };
    lt_image_colour_planes(&m, (lt_rect){ 0, 0, 2, 2 }, colours, 1, 1, 0, 1);
    LT_CHECK(colour_at(&m, 1, 1) == 0xff0000);
    lt_image_free(&m);
}

LT_TEST(a_png_holds_the_same_pixels)
{
    lt_image m;
    LT_CHECK_OK(lt_image_create(37, 21, 0, &m));
    for (int i = 0; i < 37 * 21 * 3; i++) m.rgb[i] = (uint8_t)(i * 31 + i / 7);
#if LT_HAVE_PNG
    char path[] = "/tmp/lathe-image-XXXXXX";
    close(mkstemp(path));
    LT_CHECK_OK(lt_image_write_png(&m, path));
    png_image png = { .version = PNG_IMAGE_VERSION };
    LT_CHECK(png_image_begin_read_from_file(&png, path) && png.width == 37 && png.height == 21);
    png.format = PNG_FORMAT_RGB;
    uint8_t back[37 * 21 * 3];
    LT_CHECK(PNG_IMAGE_SIZE(png) == sizeof back && png_image_finish_read(&png, NULL, back, 0, NULL));
    LT_CHECK(!memcmp(back, m.rgb, sizeof back));
    unlink(path);
    LT_CHECK_FAILS(lt_image_write_png(&m, "/no/such/folder/x.png"), LT_ERR_IO, "/no/such/folder");
#else
    LT_CHECK_FAILS(lt_image_write_png(&m, "x.png"), LT_ERR_UNSUPPORTED, "without libpng");
#endif
    lt_image_free(&m);
}

LT_TEST_MAIN()
