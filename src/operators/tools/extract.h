/* What the files of the offline extractor share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_EXTRACT_H
#define LT_OPERATORS_TOOLS_EXTRACT_H

#include "operators/generate/generate.h"

/* The configuration of the new file: that of the dataset, with the features the options and the
   extractor's own document ask for. What the document says of output, sizes and overwriting fills in
   what the options leave open. */
lt_status lt_extract_config(lt_dataset *d, lt_extract_options *opt, lt_arena *arena, lt_dataset_config **out);

#endif
