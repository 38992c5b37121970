/* Inside the page about a dataset. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_OPERATORS_TOOLS_REPORT_PAGE_H
#define LT_OPERATORS_TOOLS_REPORT_PAGE_H

#include "lathe/dataset.h"

typedef struct lt_dataset_page { lt_dataset *d; lt_dataset_info i; lt_report *r; } lt_dataset_page;

lt_status lt_dataset_page_pictures(const lt_dataset_page *p);                             /* rows in motion: the calmest, the median, the wildest */
lt_status lt_dataset_page_failures(const lt_dataset_page *p, const lt_generate_info *g);  /* g NULL: no run to speak of */

#endif
