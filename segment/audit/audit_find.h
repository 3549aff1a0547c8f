/* audit_find.h: a ticket's lines in the files of the audit trail, newest first. Shell; used by
 * the trail's own thread, a slice at a time, so that writing goes on in between.
 *
 * It ends with the line that says how the ticket began (`joined`), at the oldest file, or
 * when it has read or found too much. */
#ifndef SEGQ_SEG_AUDIT_AUDIT_FIND_H
#define SEGQ_SEG_AUDIT_AUDIT_FIND_H

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

#endif
