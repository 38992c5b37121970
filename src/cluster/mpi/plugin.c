/* The only file that calls MPI; compiled once per MPI library, without a symbol of lathe's (decision 222). SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/mpi/plugin.h"

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int begin_send(int to, int tag, const void *data, size_t bytes, void **request)
{
    MPI_Request *r = malloc(sizeof *r); /* libc's: the plugin has no symbol of lathe's */
    if (!r) return MPI_ERR_NO_MEM;
    int rc = bytes > INT_MAX ? MPI_ERR_COUNT : MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
    if (rc) free(r); /* libc's */
    *request = rc ? NULL : r;
    return rc;
}

static int is_sent(void **request)
{
    int done = 0, rc = MPI_Test(*request, &done, MPI_STATUS_IGNORE);
    if (rc || done) {
        free(*request); /* libc's */
        *request = NULL;
    }
    return rc ? -1 : done;
}

static int has_arrived(int tag, int *from, size_t *bytes)
{
    MPI_Status st;
    int flag = 0, n = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &st)) return -1;
    if (!flag) return 0;
    if (MPI_Get_count(&st, MPI_BYTE, &n)) return -1;
    *from = st.MPI_SOURCE;
    *bytes = (size_t)n;
    return 1;
}

static int take(int from, int tag, void *data, size_t bytes)
{
    return MPI_Recv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int leave(void) { return MPI_Finalize(); }
static void end_all(int exit_status) { MPI_Abort(MPI_COMM_WORLD, exit_status); }

static int describe(lt_mpi_table *t)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Comm local;
    int rc = MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    if (!rc) rc = MPI_Comm_size(MPI_COMM_WORLD, &t->ranks);
    if (!rc) rc = MPI_Get_library_version(text, &length);
    if (!rc) rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    if (rc) return rc;
    text[strcspn(text, "\n")] = 0;
    snprintf(t->library, sizeof t->library, "%.*s", (int)sizeof t->library - 1, text);
    MPI_Comm_rank(local, &t->local_rank);
    MPI_Comm_size(local, &t->local_ranks);
    return MPI_Comm_free(&local);
}

int lt_mpi_join(int version, lt_mpi_table *out, char *why, size_t bytes);
__attribute__((visibility("default"))) int lt_mpi_join(int version, lt_mpi_table *out, char *why, size_t bytes)
{
    int got = 0;
    if (version != LT_MPI_PLUGIN) {
        snprintf(why, bytes, "the plugin is of another version of lathe");
        return -1;
    }
    int rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &got);
    if (!rc && got < MPI_THREAD_SERIALIZED) {
        snprintf(why, bytes, "this MPI library does not allow calls from several threads");
        return -1;
    }
    if (!rc) rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    *out = (lt_mpi_table){ .version = LT_MPI_PLUGIN, .send = begin_send, .sent = is_sent, .arrived = has_arrived, .receive = take, .leave = leave, .abort = end_all };
    if (!rc) rc = describe(out);
    if (rc) snprintf(why, bytes, "MPI could not start, error %d", rc);
    return rc;
}
