/* PNG files by libpng. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/image.h"

#include "base/files/file.h"
#include "base/status.h"

#if LT_HAVE_PNG
#include <png.h>

typedef struct sink {
    lt_atomic_file file;
    lt_status      status;     /* of writing; its text is set */
    char           reason[96]; /* libpng's own */
} sink;

static void on_error(png_structp png, png_const_charp text)
{
    sink *k = png_get_error_ptr(png);
    snprintf(k->reason, sizeof k->reason, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void write_bytes(png_structp png, png_bytep data, png_size_t n)
{
    sink *k = png_get_io_ptr(png);
    k->status = lt_atomic_write(&k->file, data, n);
    if (k->status) png_error(png, "writing failed");
}

static void flush(png_structp png) { (void)png; }

/* libpng leaves by longjmp, so nothing here lives in a local that changes. */
static lt_status write_image(png_structp png, png_infop info, const lt_image *m, sink *k)
{
    if (setjmp(png_jmpbuf(png))) return k->status ? k->status : LT_FAIL(LT_ERR_INTERNAL, "libpng: %s", k->reason);
    png_set_write_fn(png, k, write_bytes, flush);
    png_set_compression_level(png, 6);
    png_set_IHDR(png, info, (png_uint_32)m->width, (png_uint_32)m->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < m->height; y++) png_write_row(png, m->rgb + 3 * (size_t)y * (size_t)m->width);
    png_write_end(png, info);
    return LT_OK;
}

lt_status lt_image_write_png(const lt_image *m, const char *path)
{
    sink k = { .status = LT_OK };
    LT_TRY(lt_atomic_open(path, &k.file));
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &k, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    lt_status s = info ? write_image(png, info, m, &k) : LT_FAIL(LT_ERR_MEMORY, "%s: no memory for libpng", path);
    png_destroy_write_struct(&png, &info);
    if (!s) return lt_atomic_commit(&k.file);
    lt_atomic_cancel(&k.file);
    return s;
}

#else

lt_status lt_image_write_png(const lt_image *m, const char *path)
{
    (void)m;
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: cannot be written: lathe was built without libpng (Debian package libpng-dev)", path);
}

#endif
