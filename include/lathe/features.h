/* What this build of the library contains. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_FEATURES_H
#define LATHE_FEATURES_H

#include "lathe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One outside library the build can use. OpenBLAS is opened at run time: `built_in` says that lathe looks for it. */
typedef struct lt_feature {
    size_t      size;
    const char *name;      /* "openblas" */
    const char *purpose;   /* what it is for, in words */
    const char *package;   /* the Debian and Ubuntu package that brings it */
    const char *configure; /* the switch of the build: "LT_OPENBLAS=AUTO" */
    bool        built_in;
} lt_feature;

/* The index-th of them, in a fixed order; false past the last one. Texts live as long as the program. */
LT_API bool lt_feature_get(int index, lt_feature *out);
/* A function of the OpenBLAS that lathe uses, for programs that compare with it; opens the library. NULL, and lt_error_text() says
   why: there is none here, it finds no room, or it lacks that function. */
LT_API void *lt_openblas_function(const char *name);
LT_API const char *lt_build_compiler(void); /* "GNU 12.2.0" */
LT_API const char *lt_build_type(void);     /* "Release", … */

#ifdef __cplusplus
}
#endif
#endif
