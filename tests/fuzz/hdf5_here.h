/* The reading calls of the HDF5 library without its files, for fuzz targets: a file is described once, and calls answer from the description as
   records of the input change it. SPDX-License-Identifier: BSD-3-Clause

   So an execution costs no parsing of HDF5, and answers can be what no file makes the library say today. Linked with --wrap=H5… (CMakeLists.txt). */
#ifndef LT_FUZZ_HDF5_HERE_H
#define LT_FUZZ_HDF5_HERE_H

#include <stddef.h>
#include <stdint.h>

/* Describes the file at `path` with the library itself. */
void lt_hdf5_here_learn(const char *path);
/* Arrays, and attributes as "object@name"; each list ends with NULL. */
const char *const *lt_hdf5_here_arrays(void), *const *lt_hdf5_here_attributes(void);

/* Until the end, calls answer from the description with these records of eight bytes applied to it: a field, which object, which part of it, a
   width, and a value of four bytes. `fd` stands for the file's descriptor. */
void lt_hdf5_here_begin(int fd, const uint8_t *records, size_t n_bytes);
/* Whatever was opened has to be closed by then. */
void lt_hdf5_here_end(void);

#endif
