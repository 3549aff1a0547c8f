/* dir.h: the names of the journal's files, and the list of those in a folder. */
#ifndef SEGQ_JOURNAL_DIR_H
#define SEGQ_JOURNAL_DIR_H

#include "common/journal/disk.h"

#define JNAME_MAX 32

enum jname_kind { JNAME_LOG, JNAME_SNAP, JNAME_TMP, JNAME_TORN };
struct jname {
    enum jname_kind kind;
    uint64_t seq;
};
struct jdir { /* sorted by kind, then seq */
    struct jname *v; /* owned */
    size_t n, cap;
    bool failed; /* no memory */
};
void jname_text(char out[JNAME_MAX], enum jname_kind kind, uint64_t seq);
/* 0; SQ_ESYS, SQ_ENOMEM. jdir_fini() is due in any case. */
SQ_CHECK int jdir_read(struct jdir *dir, struct disk *d, struct err *e);
void jdir_fini(struct jdir *dir);
SQ_CHECK int jdir_sync(struct disk *d, struct err *e); /* 0 or SQ_ESYS */

#endif
