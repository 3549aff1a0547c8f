/* audit_find.h: a ticket's lines in the files of the audit trail, newest first. Shell; the trail's
 * own thread looks for them, a slice at a time, so that writing goes on in between.
 *
 * It ends with the line that says how the ticket began (`joined`), at the oldest file, or
 * when it has read or found too much. */
#ifndef SEGQ_SEG_AUDIT_AUDIT_FIND_H
#define SEGQ_SEG_AUDIT_AUDIT_FIND_H

#include <stdatomic.h>

#include "common/base/buf.h"
#include "segment/audit/audit_line.h"

#define AUDIT_FIND_BYTES (1ull << 30) /* read at most */
#define AUDIT_SLICE_BYTES (4u << 20)

struct audit_find {
    int dir;    /* ref */
    int64_t *day; /* owned: of the files, oldest first; those left are day[0 .. n - 1] */
    uint32_t n;
    int fd;       /* owned: of day[n - 1]; -1: not open */
    uint64_t end; /* lines before this offset are left in it */
    char needle[64];
    char *window; /* owned */
    size_t max;   /* bytes of lines that are wanted */
    struct buf lines; /* owned: newest first */
    uint64_t read;
    bool whole; /* nothing was left out */
};

/* false: no memory. */
SQ_CHECK bool audit_find_init(struct audit_find *f, int dir, struct ticket_id id, size_t max);
void audit_find_fini(struct audit_find *f);
/* Reads about a slice; false: there is no more to do. */
SQ_CHECK bool audit_find_step(struct audit_find *f);

/* ---- questions about tickets, from the loop's thread to the trail's, and what was found, back --
 *
 *   FREE --ask--> ASKED --work, slice by slice--> DONE --take--> FREE
 *
 * Each state is left by one thread only, so no lock is needed. */

#define AUDIT_DESK_PLACES 8

struct audit_ask {
    uint64_t ask; /* these two are the asker's business */
    uint32_t peer;
    struct ticket_id id;
    size_t max; /* bytes of lines */
};

struct audit_found {
    struct audit_ask ask;
    struct buf lines; /* newest first; the receiver's */
    bool whole;
    uint64_t read;
};

struct audit_desk {
    struct {
        atomic_int state;
        struct audit_found f;
    } place[AUDIT_DESK_PLACES];
    struct audit_find at_work; /* search for place[busy] */
    unsigned busy;
    bool working;
};

void audit_desk_fini(struct audit_desk *d); /* a zeroed one is good, too */
SQ_CHECK bool audit_desk_ask(struct audit_desk *d, const struct audit_ask *q); /* false: full */
SQ_CHECK bool audit_desk_take(struct audit_desk *d, struct audit_found *f);
/* The trail's thread. false: nothing (more) to do. */
SQ_CHECK bool audit_desk_work(struct audit_desk *d, int dir);

#endif
