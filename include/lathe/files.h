/* Files that are being written, when a program is about to end. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_FILES_H
#define LATHE_FILES_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whatever the library writes to a file PATH it writes to PATH.lathe-N.tmp beside it, which is renamed once it is whole. This removes
   those this process has not finished: for the signal handler of a program that calls _exit next. Safe in handlers. Writers that go on
   afterwards fail. The library installs no handlers of its own; what a killed process leaves is removed by the next one that writes PATH. */
LT_API void lt_files_abandon(void);

#ifdef __cplusplus
}
#endif
#endif
