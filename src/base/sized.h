/* Public structs that begin with their size (lathe/base.h, decision 170): read from and written to what a program of another version has.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_BASE_SIZED_H
#define LT_BASE_SIZED_H

#include "lathe/base.h"

/* LT_ERR_ARGUMENT, with the name of the type, when the size at the start of *s is 0, as of a struct that was never begun, or above
   `known`, as of a program made for a newer library. NULL is allowed. */
lt_status lt_sized_check(const char *type, const void *s, size_t known);
/* Overwrites *to, which holds defaults and its own size, with the fields that the caller's struct has. from NULL: nothing. */
lt_status lt_sized_take(const char *type, const void *from, void *to);
/* Fills the caller's struct, as far as its size goes, from *from, which has `known` bytes. What only the caller knows becomes 0. NULL: nothing. */
void      lt_sized_give(void *to, const void *from, size_t known);

#define LT_CHECK_SIZE(type, s) lt_sized_check(#type, (s), sizeof(type))
#define LT_GIVE(to, ...) lt_sized_give((to), (__VA_ARGS__), sizeof *(__VA_ARGS__)) /* the second argument: a pointer to our struct */
#define LT_TAKE(type, from, to) lt_sized_take(#type, (const type *){ from }, (type *){ to })

#endif
