/* One rank: everything works without MPI, and no MPI library is opened. SPDX-License-Identifier: BSD-3-Clause */
#include "base/status.h"
#include "cluster/cluster.h"
#include "cluster/work.h"
#include "lt_test.h"

#include <stdlib.h>

static lt_status add(void *ctx, int rank, int64_t unit, int kind, const void *data, size_t bytes)
{
    (void)rank, (void)kind, (void)bytes;
    *(int64_t *)ctx += unit * *(const int64_t *)data;
    return LT_OK;
}

LT_TEST(one_rank_deals_to_itself)
{
    lt_cluster *c;
    lt_work *w;
    int64_t units[] = { 5, 3, 9 }, unit, sum = 0, one = 1;
    LT_CHECK_OK(lt_cluster_open(&c));
    lt_cluster_info i = lt_cluster_get_info(c);
    LT_CHECK(i.rank == 0 && i.ranks == 1 && i.threads >= 1 && !strcmp(i.name, "self"));
    LT_CHECK_OK(lt_cluster_barrier(c));
    LT_CHECK_OK(lt_work_begin(c, &(lt_work_plan){ .unit = units, .n = 3, .take = add, .ctx = &sum }, &w));
    for (int k = 0; k < 3; k++) {
        LT_CHECK_OK(lt_work_next(w, &unit));
        LT_CHECK(unit == units[k]);
        LT_CHECK_OK(lt_work_put(w, unit, 0, 1, &(lt_piece){ &one, sizeof one }));
    }
    LT_CHECK_OK(lt_work_next(w, &unit));
    LT_CHECK(unit == -1);
    LT_CHECK_OK(lt_work_end(w, LT_OK));
    LT_CHECK(sum == 17);
    lt_cluster_close(c);
}

LT_TEST(a_failure_comes_back_as_it_was)
{
    lt_cluster *c;
    lt_work *w;
    LT_CHECK_OK(lt_cluster_open(&c));
    LT_CHECK_OK(lt_work_begin(c, &(lt_work_plan){ .n = 0 }, &w));
    LT_CHECK(lt_work_end(w, LT_FAIL(LT_ERR_NUMERIC, "as it was")) == LT_ERR_NUMERIC);
    LT_CHECK(strstr(lt_error_text(), "as it was") != NULL);
    lt_cluster_close(c);
}

LT_TEST(no_mpi_library_is_loaded)
{
    char line[1024];
    lt_cluster *c;
    LT_CHECK_OK(lt_cluster_open(&c));
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return;
    while (fgets(line, sizeof line, maps)) LT_CHECK(!strstr(line, "libmpi") && !strstr(line, "mpi-"));
    fclose(maps);
    lt_cluster_close(c);
}

LT_TEST(srun_without_mpi_is_refused)
{
    lt_cluster *c;
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("SLURM_PROCID", "2", 1);
    LT_CHECK(lt_cluster_open(&c) == LT_ERR_UNSUPPORTED);
    LT_CHECK(strstr(lt_error_text(), "--mpi=pmi") != NULL);
    LT_CHECK(lt_cluster_launched(NULL) == 2);
    unsetenv("SLURM_STEP_NUM_TASKS");
    unsetenv("SLURM_PROCID");
}

/* ---- lt_cluster_map ------------------------------------------------------------------------------------------------------------------------ */

static lt_status square(void *ctx, int64_t unit, void *row)
{
    if (unit == *(const int64_t *)ctx) return LT_FAIL(LT_ERR_NUMERIC, "unit %d has no square", (int)unit);
    *(int64_t *)row += unit * unit; /* rows begin as zeros */
    return LT_OK;
}

LT_TEST(units_fill_a_row_each_on_any_number_of_threads)
{
    static int64_t rows[1000];
    int64_t none = -1, bad = 600;
    for (int threads = 0; threads < 6; threads++) {
        memset(rows, 1, sizeof rows);
        LT_CHECK_OK(lt_cluster_map(NULL, 1000, sizeof *rows, square, &none, threads, NULL, rows));
        for (int64_t i = 0; i < 1000; i++) LT_CHECK(rows[i] == i * i);
        LT_CHECK_FAILS(lt_cluster_map(NULL, 1000, sizeof *rows, square, &bad, threads, NULL, rows), LT_ERR_NUMERIC, "unit 600 has no square");
    }
    volatile int stop = 1;
    LT_CHECK(lt_cluster_map(NULL, 1000, sizeof *rows, square, &none, 2, &stop, rows) == LT_ERR_CANCELLED);
    LT_CHECK_FAILS(lt_cluster_map(NULL, 0, sizeof *rows, square, &none, 2, NULL, rows), LT_ERR_ARGUMENT, "no units");
    LT_CHECK_FAILS(lt_cluster_map(NULL, 5, sizeof *rows, square, &none, 2, NULL, NULL), LT_ERR_ARGUMENT, "rows is NULL");
}
LT_TEST_MAIN()
