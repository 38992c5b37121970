/* base/jail.h without a process, for fuzz targets: the work runs in this one, on a stack of its own, and the two take turns. So nothing is
   forked for an input, and libFuzzer sees what both sides cover. SPDX-License-Identifier: BSD-3-Clause

   Linked into the program, these functions are found before those of base/jail.c. Limits and walls are not there: what needs them belongs to a
   target that has the real jail (fuzz_hdf5_bytes). */
#ifndef LT_FUZZ_JAIL_HERE_H
#define LT_FUZZ_JAIL_HERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keeps the answers that are heard, to be replayed. */
void lt_jail_here_record(bool on);
/* From now on the work is not run. The answers kept are heard again, then zeros of the length that is asked, each as these records of eight bytes
   change it: what a process might send that somebody took over. */
void lt_jail_here_replay(const uint8_t *changes, size_t n_bytes);

#endif
