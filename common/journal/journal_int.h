/* journal_int.h: the data structures of an open journal. Private to this room. */
#ifndef SEGQ_JOURNAL_INT_H
#define SEGQ_JOURNAL_INT_H

#include "common/journal/format.h"
#include "common/journal/journal.h"

struct jout { /* a file that is being written (out.h) */
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

#endif
