/* Main of tests that read configurations and write datasets: skipped as a whole, with the reason, in builds that cannot.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_DATASET_MAIN_H
#define LT_DATASET_MAIN_H

#include "lt_test.h"

#include "lathe/dataset.h"
#include "operators/file/store.h"

/* Whether a library without which there are no datasets was left out; lt_error_text() says which. */
static inline bool dataset_library_missing(void)
{
    lt_dataset_config *c = NULL;
    lt_dataset *d = NULL;
    bool missing = lt_dataset_config_parse("{}", 2, "probe", NULL, &c) == LT_ERR_UNSUPPORTED || lt_dataset_open("", &d) == LT_ERR_UNSUPPORTED
                   || lt_store_check_compression(LT_COMPRESS_GZIP) == LT_ERR_UNSUPPORTED;
    lt_dataset_config_destroy(c);
    lt_dataset_close(d);
    return missing;
}

#define LT_DATASET_TEST_MAIN()                                                   \
    int main(int argc, char **argv)                                              \
    {                                                                            \
        if (!dataset_library_missing()) return lt_test_main(argc, argv);         \
        printf("skip: %s\n", lt_error_text());                                   \
        return 77;                                                               \
    }

#endif
