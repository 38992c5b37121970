/* Ranks that speak with rank 0: messages, agreement, and who is still alive. SPDX-License-Identifier: BSD-3-Clause

   Everything is built on two calls, send and receive, which never wait without looking around: collective calls of MPI can neither be left
   when a rank is lost nor say which one it was (decision 220). Each message has a tag; a thread waits for the tag that is its own. A thread of the
   cluster sends a sign of life every second. A rank that has been silent for LATHE_RANK_SECONDS, or whose process is gone from this
   machine, is lost: whoever waits then fails with LT_ERR_DEVICE and the rank's name. */
#ifndef LT_CLUSTER_CLUSTER_H
#define LT_CLUSTER_CLUSTER_H

#include "lathe/cluster.h"

typedef enum lt_cluster_tag {
    LT_TAG_OUTCOME = 1, /* to rank 0: lt_cluster_agree */
    LT_TAG_VERDICT,     /* from rank 0 */
    LT_TAG_ALIVE,       /* between rank 0 and the others */
    LT_TAG_ASK,         /* to rank 0: work.h */
    LT_TAG_DEAL,        /* from rank 0 */
    LT_TAG_RESULT,      /* to rank 0 */
    LT_TAG_GATHER, LT_TAG_BROADCAST,
    LT_TAG_BYE,         /* the last message of a rank, and of rank 0 to it */
    LT_TAG_COUNT
} lt_cluster_tag;

int  lt_cluster_rank(const lt_cluster *c);  /* c NULL: 0 */
int  lt_cluster_size(const lt_cluster *c);  /* c NULL: 1 */

typedef struct lt_message { int from; size_t bytes; void *data; } lt_message; /* data: freed by the receiver with lt_free */

/* Returns when the message has left. Not to oneself. LT_ERR_DEVICE when the receiver is lost. */
lt_status lt_cluster_send(lt_cluster *c, int to, lt_cluster_tag tag, const void *data, size_t bytes);
/* The next message with this tag; waits for `seconds` at most and while *until (NULL: nothing) is 0. from is -1 when none came. */
lt_status lt_cluster_receive(lt_cluster *c, lt_cluster_tag tag, double seconds, const volatile int *until, lt_message *out);

/* As lt_cluster_agree, with a text that a difference is shown by. */
lt_status lt_cluster_agree_on_text(lt_cluster *c, lt_status s, const char *what, const char *text);

/* Waits a little, longer the more looks were in vain. */
void      lt_cluster_rest(int looks);

/* All ranks together. `out` of rank 0 gets `bytes` of each rank, in order; of the others it is not used. */
lt_status lt_cluster_gather(lt_cluster *c, const void *data, size_t bytes, void *out);
/* All ranks get rank 0's bytes. */
lt_status lt_cluster_broadcast(lt_cluster *c, void *data, size_t bytes);
lt_status lt_cluster_barrier(lt_cluster *c);

/* ---- Agreement in two halves, for rank 0's server of work (work.c) ----------------------------------------------- */
/* Whether a message of LT_TAG_OUTCOME ended well; notes it for the verdict. */
lt_status lt_cluster_note_outcome(lt_cluster *c, const lt_message *m);
int       lt_cluster_outcomes(const lt_cluster *c);    /* how many are noted since the last verdict */
/* A rank by its number, machine and process, for messages of rank 0. */
typedef struct lt_rank_text { char s[128]; } lt_rank_text;
lt_rank_text lt_cluster_name(const lt_cluster *c, int rank);

/* ---- File regions ------------------------------------------------------------------------------------------------- */
/* One file that every rank writes parts of. All ranks call open and close together; rank 0 creates the file (keep: where it is not there yet) and sizes it. LT_ERR_IO
   names the ranks that do not see the same file. */
typedef struct lt_region lt_region;
lt_status lt_region_open(lt_cluster *c, const char *path, uint64_t bytes, bool keep, lt_region **out);
lt_status lt_region_write(lt_region *r, uint64_t offset, const void *data, size_t bytes);
lt_status lt_region_read(lt_region *r, uint64_t offset, void *data, size_t bytes);
lt_status lt_region_sync(lt_region *r);
lt_status lt_region_reserve(lt_region *r, uint64_t bytes); /* takes the space at once, where the file system can: a full disk is an error here */
int       lt_region_fd(const lt_region *r);                /* for reading and writing by place */
void      lt_region_close(lt_region *r); /* NULL is allowed */

#endif
