/* out.h: writes one of the journal's files, group by group; and the data of an open journal, private
 * to this room.
 * Everything returns 0, SQ_EFULL (no room; may be tried again), or SQ_ESYS. */
#ifndef SEGQ_JOURNAL_OUT_H
#define SEGQ_JOURNAL_OUT_H

#include "common/journal/disk.h"
#include "common/journal/format.h"
#include "common/journal/journal.h"

struct jout { /* a file that is being written */
    int h;    /* -1 = none */
    uint64_t seq, written, synced, allocated;
    struct jkey key;
    uint8_t *buf; /* owned: room for a group's head, then its records */
    size_t len, cap, first_cap;
    uint32_t count;
};

struct journal {
    struct disk *disk; /* owned if own_disk */
    bool own_disk;
    char *where; /* owned: the folder, for messages */
    char node[NAME_MAX_LEN + 1];
    enum journal_mode mode;
    uint64_t reserve, snap_after, promised, boot;
    uint32_t format;
    uint64_t kept; /* end of the log as of the last flush that answered 0 */
    uint32_t sync_ms;
    bool failed; /* the log cannot be believed any more */
    bool curing; /* failed, and a fresh log and its snapshot are being written */
    bool full;   /* the group in log.buf found no room */
    bool was_cut; /* found at the opening: of another start of the machine */
    bool starved; /* room was refused; asked for again after the next tick */
    struct jout log, snap; /* snap.seq == log.seq while one is written */
    bool snap_running;
    uint64_t snap_chunks;
    uint64_t older_bytes; /* bytes of the logs since the newest snapshot, without the current */
    unsigned older_logs;
    uint64_t base_bytes;  /* bytes of the newest snapshot */
    msec_t now_ms, synced_ms, retry_ms;
    struct journal_counts c;
};

/* Reserves: a record of up to `longest` bytes will always fit. 0 or SQ_ENOMEM. */
SQ_CHECK int jout_init(struct jout *o, size_t longest);
void jout_fini(struct jout *o, struct disk *d);
void *jout_put_slow(struct jout *o, uint8_t type, size_t n);
static inline void *jout_put(struct jout *o, uint8_t type, size_t n)
{ /* NULL: no memory, o as before */
    uint8_t *p = o->buf + o->len;

    if (SQ_UNLIKELY(o->cap - o->len < JRECORD_BYTES + n || o->count == JCOUNT_MAX))
        return jout_put_slow(o, type, n);
    le32_put(p, (uint32_t)n << 8 | type);
    o->len += JRECORD_BYTES + n;
    o->count++;
    return p + JRECORD_BYTES;
}
void jout_drop(struct jout *o); /* forgets the records that were not written */
struct jfile_new {
    enum jname_kind name;
    uint64_t seq, flags;
    uint64_t room; /* to be had, if possible; `must`: or fail with SQ_EFULL */
    bool must;
};
/* A file with its head; a log's is on the disk for good. Leaves o->buf alone. */
SQ_CHECK int jout_create(struct journal *j, struct jout *o, const struct jfile_new *n,
                         struct err *e);
/* The records in the buffer as one group; they stay there if that fails. */
SQ_CHECK int jout_write(struct journal *j, struct jout *o, enum jgroup_kind kind,
                        struct err *e);
SQ_CHECK int jout_bytes(struct journal *j, struct jout *o, const uint8_t *p, size_t n,
                        struct err *e);
SQ_CHECK int jout_sync(struct journal *j, struct jout *o, struct err *e);
/* Room up to `end`, in large steps; false: none to be had. */
bool jout_room(struct journal *j, struct jout *o, uint64_t end);
void jout_close(struct jout *o, struct disk *d); /* the file, not the buffer */

#endif
