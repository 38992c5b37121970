/* What the files that call the HDF5 library share: errors, attributes, the LZF filter.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_HDF5_H
#define LT_OPERATORS_FILE_HDF5_H

#define H5_USE_110_API 1 /* object addresses, which later interfaces hide */
#include <hdf5.h>

#include "base/status.h"

/* Silences the library's own printing and registers LZF; before any other call. The library is not
   safe from several threads: hold this lock while calling it. A failure does not hold it. */
lt_status lt_hdf5_lock(void);
void lt_hdf5_unlock(void);

/* LT_FAIL(status, "PATH: WHAT: the library's reason"). */
lt_status lt_hdf5_fail(lt_status status, const char *path, const char *what);

enum { LT_FILTER_LZF = 32000 }; /* h5py's, registered with the HDF Group */

/* ---- Attributes; negative on failure ------------------------------------------------------- */
int lt_hdf5_put_text(hid_t at, const char *name, const char *text);
int lt_hdf5_put_int(hid_t at, const char *name, int64_t value);
int lt_hdf5_put_bool(hid_t at, const char *name, bool value);  /* as h5py: an enum of int8 */
int lt_hdf5_put_texts(hid_t at, const char *name, int n, const char *const *texts);
int lt_hdf5_put_bytes(hid_t at, const char *name, int n, const char *const *texts); /* of one length, filled up with zeros */

/* A scalar text; *out NULL when there is no such attribute or it is something else. lt_free it. */
lt_status lt_hdf5_get_text(hid_t at, const char *path, const char *name, char **out);
/* *found false: it has none. LT_ERR_TYPE where it is no integer. */
lt_status lt_hdf5_get_int(hid_t at, const char *path, const char *name, bool *found, int64_t *out);
/* An array of texts; n 0 when there is none. lt_free *out, one block. */
lt_status lt_hdf5_get_texts(hid_t at, const char *path, const char *name, int *n, char ***out);

#endif
