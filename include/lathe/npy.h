/* Arrays in files: NumPy's .npy and .npz. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_NPY_H
#define LATHE_NPY_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lt_array { /* zero-initialised is an empty one */
    lt_dtype dtype;
    lt_shape shape;
    void    *data; /* row major, this machine's byte order, 64-byte aligned; owned */
} lt_array;

LT_API void lt_array_free(lt_array *a); /* NULL and empty are allowed; leaves *a empty */
/* Real numbers of any type become f64 (i64 beyond 2^53 are rounded); complex ones are LT_ERR_TYPE and stay. */
LT_API lt_status lt_array_widen(lt_array *a);

/* ---- .npy ------------------------------------------------------------------- */
/* Read: format versions 1 to 3, C and Fortran order, either byte order. bool becomes u8; int8,
   int16 and uint16 become i32; uint32 becomes i64, and so does uint64 when every value fits. Other
   types, texts among them, are LT_ERR_TYPE. The header is checked against the size of the file before anything is
   allocated; a file that does not follow the format is LT_ERR_FORMAT, with file, what was found and
   what was expected. On failure *out is empty. */
LT_API lt_status lt_npy_read(const char *path, lt_array *out);
/* The type lt_npy_read would give, and the shape. */
LT_API lt_status lt_npy_info(const char *path, lt_dtype *dtype, lt_shape *shape);
/* Written beside the target, then renamed over it: a reader sees the old file or the new one.
   bf16, which NumPy has no name for, is written as float32: exact, and every reader knows it. */
LT_API lt_status lt_npy_write(const char *path, lt_dtype dtype, const lt_shape *shape, const void *data);

/* Texts ('<U5' or '|S5' of NumPy) along one axis, as UTF-8; those of 'S' are the bytes of the file. */
typedef struct lt_npy_texts { /* zero-initialised is empty */
    int64_t n;
    char  **text;  /* n; owned */
} lt_npy_texts;
LT_API lt_status lt_npy_holds_text(const char *path, bool *out); /* by the header alone */
LT_API lt_status lt_npy_read_texts(const char *path, lt_npy_texts *out); /* numbers are LT_ERR_TYPE */
LT_API void      lt_npy_texts_free(lt_npy_texts *t); /* NULL and empty are allowed; leaves *t empty */
LT_API lt_status lt_npy_write_texts(const char *path, int64_t n, const char *const *text); /* as 'U' */

/* A .npy file as writable memory, for results larger than the machine's memory. Its space is
   reserved at once; bf16 is LT_ERR_TYPE, as its values would need another size. */
typedef struct lt_npy_map lt_npy_map;
LT_API lt_status lt_npy_map_create(const char *path, lt_dtype dtype, const lt_shape *shape, lt_npy_map **out);
LT_API void     *lt_npy_map_data(lt_npy_map *m);   /* zeros at first; valid until commit or destroy */
LT_API lt_status lt_npy_map_commit(lt_npy_map *m); /* the file appears under its name; m is gone, even on failure */
LT_API void      lt_npy_map_destroy(lt_npy_map *m); /* throws the file away; NULL is allowed */

/* ---- .npz ------------------------------------------------------------------- */
/* One array of a .npz file; `name` with or without its ".npy". Compressed members need zlib
   (LT_ERR_UNSUPPORTED without). The checksum of what is read is verified. */
LT_API lt_status lt_npz_read(const char *path, const char *name, lt_array *out);

typedef struct lt_npz_names {
    int    n;
    char **name; /* without ".npy", in file order; members of other kinds are left out */
} lt_npz_names;
LT_API lt_status lt_npz_list(const char *path, lt_npz_names *out);
LT_API void      lt_npz_names_free(lt_npz_names *names);

/* n arrays under distinct names, not compressed; zip64 where sizes ask for it. Same bytes for the
   same arrays. Only dtype, shape and data of the arrays are read. Renamed into place as above. */
LT_API lt_status lt_npz_write(const char *path, int n, const char *const *names, const lt_array *arrays);

#ifdef __cplusplus
}
#endif
#endif
