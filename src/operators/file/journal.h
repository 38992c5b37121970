/* The journal of a dataset being written: finished rows, each whole or absent, until they are in the
   file proper (decision 61). SPDX-License-Identifier: BSD-3-Clause

   FILE.h5.journal is a header and slots of one size. A row is written into its slot front to back
   and counts once the slot's head, with a digest of everything behind it, has been written too.
   A slot is used again when its row is in the dataset; what it still holds then is a second copy. */
#ifndef LT_OPERATORS_FILE_JOURNAL_H
#define LT_OPERATORS_FILE_JOURNAL_H

#include "base/hash.h"

#include <pthread.h>

typedef struct lt_journal {
    char          *path;
    int            fd;
    int64_t        n_steps;              /* pieces written one by one, then the rest in one */
    size_t         step_bytes, rest_bytes, slot_bytes;
    pthread_mutex_t lock;                /* of what follows */
    int64_t         n_slots, n_free, capacity;
    int64_t        *free_slot;
} lt_journal;

/* A row being written. Several may be open at a time, each used by one thread. */
typedef struct lt_journal_row {
    int64_t  slot;
    uint64_t at, hash;
} lt_journal_row;

typedef lt_status (*lt_journal_found)(void *ctx, int64_t row, int64_t slot);

/* What the slots hold and for which dataset; a journal with another identity is not read. */
typedef struct lt_journal_shape {
    lt_digest identity;
    int64_t   n_rows, n_steps;
    size_t    step_bytes, rest_bytes;
} lt_journal_shape;

/* Takes the right to write `dataset`: a lock on its journal, which is made, empty, where there is none.
   Only the process that has it may change the dataset, its journal or their temporary files.
   LT_ERR_ARGUMENT when another process has it; nothing was changed then. */
lt_status lt_journal_claim(const char *dataset, lt_journal *j);
/* Reads or starts a claimed journal. With `keep`, rows found whole are reported to `found` in the order of
   their slots, and a journal of another identity is LT_ERR_ARGUMENT; otherwise it is emptied. A failure
   leaves the claim in force. */
lt_status lt_journal_open(lt_journal *j, const lt_journal_shape *shape, bool keep, lt_journal_found found, void *ctx);
/* What a run finds out about itself only when its first row runs (decision 402): noted where nothing is yet. found is what the journal has now. */
enum { LT_JOURNAL_NOTE = 32 };
lt_status lt_journal_note(lt_journal *j, const char *text, char found[LT_JOURNAL_NOTE]);
/* Whether a claimed journal holds a run of another identity, or of one that cannot be read. */
lt_status lt_journal_is_foreign(const lt_journal *j, const lt_digest *identity, bool *foreign);
/* What was written so far survives a power failure. */
lt_status lt_journal_sync(lt_journal *j);
/* Gives up the claim. A journal that nothing was written to is removed. A closed or zeroed one is allowed. */
void      lt_journal_close(lt_journal *j);
/* As close, and the file goes away. */
void      lt_journal_remove(lt_journal *j);
/* Whether a run has left a journal; one that is only claimed does not count. */
bool      lt_journal_exists(const char *dataset);

lt_status lt_journal_begin(lt_journal *j, lt_journal_row *r);
lt_status lt_journal_add(lt_journal *j, lt_journal_row *r, const void *data, size_t n_bytes); /* one step, or the rest */
lt_status lt_journal_end(lt_journal *j, lt_journal_row *r, int64_t row);
/* The slot's row is in the dataset, synced. */
void      lt_journal_release(lt_journal *j, int64_t slot);
/* n bytes of a slot's content. */
lt_status lt_journal_read(const lt_journal *j, int64_t slot, uint64_t offset, void *data, size_t n_bytes);

#endif
