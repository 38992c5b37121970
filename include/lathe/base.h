/* Status, error text, element types and shapes: what every other header uses.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_BASE_H
#define LATHE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define LT_API
#else
#define LT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ---------------------------------------------------------------
   Structs of options and of information begin with `size`: the bytes that the program was compiled with. So fields can be added at
   their ends, and a program and a library of different versions still understand each other.
   - Options: `lt_gram_options o = lt_gram_defaults(); o.tile_size = 64;` Fields that an older program does not know have their defaults.
     Where the header says that these are 0, `{ .size = sizeof(lt_plot), .title = … }` is the same.
   - Information that a call fills: `lt_device_info info = { .size = sizeof info };` The library fills what the program knows.
   A size of 0, or a larger one than the library knows, is LT_ERR_ARGUMENT with the name of the struct. Functions NAME() of a header that
   return such a struct set its size and call NAME_into, which is what the library exports. Other structs never change. */
#define LT_VERSION_MAJOR 0
#define LT_VERSION_MINOR 2
#define LT_VERSION_PATCH 0

LT_API const char *lt_version(void); /* "0.2.0" */
/* What holds the processes in which files are parsed (HDF5, YAML) on this system: "seccomp, landlock, memory and time limits". */
LT_API const char *lt_jail_walls(void);

/* ---- Status -------------------------------------------------------------- */
/* Every function that can fail returns one. The library never prints and never
   exits; the sentence that goes with a failure is in lt_error_text(). */
typedef enum lt_status {
    LT_OK = 0,
    LT_ERR_ARGUMENT,    /* a value outside what the function accepts */
    LT_ERR_SHAPE,       /* tensor extents that do not fit together */
    LT_ERR_TYPE,        /* an element type that does not fit */
    LT_ERR_MEMORY,      /* an allocation failed, or a limit was reached */
    LT_ERR_IO,          /* a file could not be opened, read or written */
    LT_ERR_FORMAT,      /* a file or text that does not follow its format */
    LT_ERR_UNSUPPORTED, /* correct, but this build or device cannot do it */
    LT_ERR_DEVICE,      /* a device reported a fault */
    LT_ERR_NUMERIC,     /* a factorisation or iteration failed */
    LT_ERR_MISMATCH,    /* two results that should agree do not */
    LT_ERR_CANCELLED,   /* the caller asked to stop */
    LT_ERR_INTERNAL,    /* our mistake; please report it */
    LT_STATUS_COUNT
} lt_status;

LT_API const char *lt_status_name(lt_status s); /* "shape", "memory", … */
/* The last failure of this thread: "shape: matmul 'w' [512, 64] by … (src/…:27)".
   Never NULL; empty before the first failure. Valid until the thread's next failure. */
LT_API const char *lt_error_text(void);
/* Puts '?' for every byte of a control character, line ends and tabs excepted, and of the characters that turn the direction of
   writing: text from a file or an argument must not steer the terminal it is shown on. Error texts have been through it. */
LT_API void lt_text_disarm(char *text);
/* For callbacks that fail: text becomes this thread's lt_error_text() as it stands, cut where it is too long; returns s. */
LT_API lt_status   lt_fail(lt_status s, const char *text);

/* ---- Threads -------------------------------------------------------------- */
/* Of the library's pool. 0 = LATHE_THREADS or the cores this process may use. LT_ERR_ARGUMENT while the pool works.
   A process that was forked has one until it asks for more: threads do not survive a fork. */
LT_API lt_status lt_set_threads(int n_threads);
LT_API int       lt_get_threads(void);

/* What the last failure of this thread is about, so that nobody reads it out of the sentence. */
typedef enum lt_place_kind {
    LT_PLACE_NONE,       /* the failure names nothing of these */
    LT_PLACE_ARGUMENT,   /* name: of a parameter or a struct of the call */
    LT_PLACE_OPTION,     /* name: of the option */
    LT_PLACE_FILE,       /* name: its path */
    LT_PLACE_LINE,       /* name: of the file or text; line, column */
    LT_PLACE_ROW,        /* name: of the array; index: the row; column */
    LT_PLACE_OBJECTIVE,  /* of an optimization problem */
    LT_PLACE_INEQUALITY, /* index: element of ci */
    LT_PLACE_EQUALITY,   /* index: element of ce */
    LT_PLACE_KIND_COUNT
} lt_place_kind;

typedef struct lt_error_place {
    size_t        size;
    lt_place_kind kind;
    int64_t       index;     /* from 0; -1: none */
    int64_t       line;      /* from 1; 0: unknown */
    int64_t       column;    /* of a line: from 1, 0 unknown; of a row: from 0, -1 the whole row */
    char          name[256]; /* "" when it has none; a longer one is cut */
} lt_error_place;

LT_API const char *lt_place_kind_name(lt_place_kind k); /* "none", "option", "line", …; "?" when out of range */
LT_API void lt_error_get_place_into(lt_error_place *out);
static inline lt_error_place lt_error_get_place(void) { lt_error_place sized; sized.size = sizeof sized; lt_error_get_place_into(&sized); return sized; }

/* ---- Element types -------------------------------------------------------- */
typedef enum lt_dtype {
    LT_F16, LT_BF16, LT_F32, LT_F64, LT_C64, LT_C128, LT_I32, LT_I64, LT_U8,
    LT_DTYPE_COUNT
} lt_dtype;

LT_API const char *lt_dtype_name(lt_dtype t);                  /* "f32", …; "?" when out of range */
LT_API bool        lt_dtype_parse(const char *name, lt_dtype *out); /* also numpy's "float32" … */
LT_API size_t      lt_dtype_size(lt_dtype t);                  /* bytes; 0 when out of range */

/* ---- Shapes --------------------------------------------------------------- */
#define LT_MAX_RANK 8

typedef struct lt_shape {
    int     rank;             /* 0..LT_MAX_RANK; 0 is a scalar */
    int64_t dim[LT_MAX_RANK]; /* row major: the last index runs fastest; unused entries 0 */
} lt_shape;

typedef struct lt_shape_text { char s[192]; } lt_shape_text;

LT_API lt_shape lt_shape0(void);
LT_API lt_shape lt_shape1(int64_t d0);
LT_API lt_shape lt_shape2(int64_t d0, int64_t d1);
LT_API lt_shape lt_shape3(int64_t d0, int64_t d1, int64_t d2);
LT_API lt_shape lt_shape4(int64_t d0, int64_t d1, int64_t d2, int64_t d3);
LT_API lt_shape lt_shape_of(int rank, const int64_t *dim);     /* rank is clamped to 0..LT_MAX_RANK */
LT_API bool     lt_shape_equal(const lt_shape *a, const lt_shape *b);
/* Number of elements; -1 when an extent is negative or the product of the extents that are
   not zero overflows int64. */
LT_API int64_t  lt_shape_count(const lt_shape *s);
LT_API lt_shape_text lt_shape_str(const lt_shape *s);          /* "[3, 4]" */

/* ---- Numbers as text ------------------------------------------------------------ */
/* The shortest decimal text that reads back as value, with a point whatever the locale; not
   finite: "nan", "inf", "-inf". Returns its length; buffer holds at least 32 bytes. */
LT_API int lt_double_text(double value, char *buffer);

#ifdef __cplusplus
}
#endif
#endif
