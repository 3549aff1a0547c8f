/* audit_desk.h: questions about tickets, from the loop's thread to the trail's, and what was
 * found, back. Shell.
 *
 *   FREE --ask--> ASKED --work, slice by slice--> DONE --take--> FREE
 *
 * Each state is left by one thread only, so no lock is needed. */
#ifndef SEGQ_SEG_AUDIT_AUDIT_DESK_H
#define SEGQ_SEG_AUDIT_AUDIT_DESK_H

#include <stdatomic.h>

#include "segment/audit/audit_find.h"

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
