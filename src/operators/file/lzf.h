/* LZF, the light compression h5py offers: its published byte format, coded anew.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_FILE_LZF_H
#define LT_OPERATORS_FILE_LZF_H

#include <stddef.h>
#include <stdint.h>

/* Bytes written, or 0 when they would be more than capacity. */
size_t lt_lzf_pack(const uint8_t *in, size_t n, uint8_t *out, size_t capacity);
/* Bytes written, or 0 when the input is damaged or does not fit. */
size_t lt_lzf_unpack(const uint8_t *in, size_t n, uint8_t *out, size_t capacity);

#endif
