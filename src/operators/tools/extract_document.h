/* The document of the offline extractor. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_EXTRACT_DOCUMENT_H
#define LT_OPERATORS_TOOLS_EXTRACT_DOCUMENT_H

#include "lathe/dataset.h"
#include "operators/config/keys.h"

enum { LT_EXTRACT_SECTIONS = 4, LT_EXTRACT_NOTES = 5 };
extern const char *const lt_extract_sections[LT_EXTRACT_SECTIONS]; /* temporal, summary, architecture, initial */
extern const char *const lt_extract_notes[LT_EXTRACT_NOTES];       /* keys of metadata */

struct lt_extract_document {
    lt_arena      arena;
    lt_yaml_node *root;
    lt_notes      notes;
    const char   *note[LT_EXTRACT_NOTES], *input, *output, *device;
    int64_t       batch_size, max_samples, workers;
    bool          overwrite, cache;
};


#endif
