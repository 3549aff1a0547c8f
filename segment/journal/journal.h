/* journal.h: what a segment node must not forget, as bytes in files. Shell (disk.h).
 * What the records mean is the caller's affair; here they are a type, a length and bytes.
 *
 * Files in one folder, numbered by a sequence that only grows (16 hex digits):
 *   snap-N    the whole state as it was when log-N began; complete or not there at all
 *   log-N     records in order; recovery = newest snapshot N, then log-N, log-N+1, ...
 *   *.tmp     a snapshot being written;  *.torn  what recovery cut off, for a human
 *   lock      held while a process uses the folder
 *
 * A turn of the event loop appends records and flushes once: the records of one flush are
 * one *group*, written by one write under one checksum, and are replayed all or none.
 *
 * What flush()'s 0 means: `fsync`: on the disk. `os`: in the kernel (survives kill -9; a
 * power cut costs what came after the last sync, at most sync_ms and the time of one sync).
 *
 * Failures. No room (SQ_EFULL): the group is kept and tried again by the next flush;
 * nothing that it holds may be told meanwhile. Or it is given up (journal_again), and a
 * later flush answers 0 when there is room. Any other failed write, and every failed
 * sync, is final for that log file (a kernel that failed to write a page calls it clean
 * afterwards, so a second sync that succeeds proves nothing): flush() answers SQ_ESYS from
 * then on, reserve() false, snap_due() becomes true. The cure is a whole snapshot: begin
 * (starts a fresh file), put, commit; then the journal works again, and the next flush()
 * that answers 0 covers everything. Until then nothing new may be told: a restart would
 * forget it.
 *
 * A torn tail of the newest log is cut off and kept as .torn; damage before bytes that are
 * known to have been synced is refused with file and offset, as is a newer version. */
#ifndef SEGQ_JOURNAL_H
#define SEGQ_JOURNAL_H

#include <stdio.h>

#include "common/base/versions.h"
#include "segment/journal/disk.h"

/* The longest record, and the longest chunk of a snapshot. */
#define JOURNAL_RECORD_MAX (256u * 1024)
/* What a record of n bytes costs on the disk at most (alone in its group). */
#define JOURNAL_COST(n) ((n) + 36u)

enum journal_mode { JOURNAL_OFF, JOURNAL_OS, JOURNAL_FSYNC };

struct journal_opts {
    const char *dir;
    struct disk *disk; /* ref; NULL: `dir` on this machine, made if missing */
    const char *node;  /* a journal of another node is refused */
    enum journal_mode mode; /* OFF: writes nothing; refused if the folder holds a journal,
                             * which would come to life again when switched on later */
    uint64_t reserve_bytes;    /* room kept beyond all promises; 0 = 1 MiB */
    uint64_t snap_after_bytes; /* of logs since the last snapshot; 0 = 64 MiB */
    uint32_t sync_ms;          /* `os`; 0 = 1000 */
    uint64_t boot; /* which start of the machine this is; 0 = not known, see journal_was_cut */
    bool allow_damage; /* skip what cannot be read, loudly, instead of refusing */
};

/* Called in order while opening; < 0 refuses the journal (say why in e). Snapshot chunks
 * come as they were put, before any record. */
struct journal_replay {
    int (*on_chunk)(void *ctx, const uint8_t *p, size_t n, struct err *e);
    int (*on_record)(void *ctx, uint8_t type, const uint8_t *p, size_t n, struct err *e);
    void *ctx;
};

struct journal_counts {
    uint64_t records, bytes; /* written since open; bytes with heads */
    uint64_t writes, syncs, failures, full; /* full: writes refused for want of room */
    uint64_t snapshots, snap_failures;
    uint64_t replay_chunks, replay_records, replay_bytes, replay_ms;
    uint64_t torn_bytes, damaged_bytes; /* cut off, skipped (allow_damage) at open */
    uint64_t promised, log_bytes, unsynced; /* now */
};

struct journal;

/* 0; SQ_EBUSY (another process has the folder), SQ_EPROTO (damaged, of a newer segq, of
 * another node), SQ_ESYS, SQ_ENOMEM, or what a callback answered. */
SQ_CHECK int journal_open(struct journal **out, const struct journal_opts *o,
                          const struct journal_replay *r, struct err *e);
/* Flushes and syncs, and marks the log as closed in order. NULL is fine. */
void journal_close(struct journal *j);

/* ---- one turn --------------------------------------------------------------------- */
/* Room for n bytes in the turn's group, to be filled before the next call. Never fails:
 * without memory the journal fails as by a failed write. type: the caller's, 0..255. */
void *journal_put(struct journal *j, uint8_t type, size_t n);
void journal_append(struct journal *j, uint8_t type, const void *p, size_t n);
/* Room on the disk for n more bytes (sum of JOURNAL_COST) beyond what is promised already;
 * then they are promised until given back. Records do not use up a promise: promise per
 * live ticket the most that it can still cost, give it back when the ticket is gone. False:
 * nothing is promised, refuse the work. OFF: always true. */
SQ_CHECK bool journal_reserve(struct journal *j, uint64_t n);
void journal_give_back(struct journal *j, uint64_t n);
/* Before the answers of the turn go out. 0: all that was appended may be told. SQ_EFULL,
 * SQ_ESYS: see above. Costs nothing in a turn without records. */
SQ_CHECK int journal_flush(struct journal *j, struct err *e);
/* After a flush that failed: gives up what was not written, and replays what a restart would
 * find: the state as of the last flush that answered 0. Writes nothing; a snapshot that was
 * under way is given up. < 0: it cannot be read. */
SQ_CHECK int journal_again(struct journal *j, const struct journal_replay *r, struct err *e);
/* At least every 100 ms; syncs in mode `os`. 0 or SQ_ESYS. */
SQ_CHECK int journal_tick(struct journal *j, msec_t now_ms, struct err *e);

/* ---- snapshot --------------------------------------------------------------------- */
/* Log grown, or failed; false while one is being written, and 5 s after one failed. */
bool journal_snap_due(const struct journal *j);
/* Flushes, then starts a new log: call it between turns. What is put until the commit
 * must describe the state at this very moment, or records after it must be harmless when
 * they meet a state that knows them already. < 0: no snapshot begun. */
SQ_CHECK int journal_snap_begin(struct journal *j, struct err *e);
/* n <= JOURNAL_RECORD_MAX; written when a quarter of a MiB has come together. < 0: abort. */
SQ_CHECK int journal_snap_put(struct journal *j, const void *p, size_t n, struct err *e);
/* Syncs, renames, then removes what it replaces. < 0: aborted already, the old files count. */
SQ_CHECK int journal_snap_commit(struct journal *j, struct err *e);
void journal_snap_abort(struct journal *j);
bool journal_snap_running(const struct journal *j);

/* The machine was started anew since the journal was last written: what was said after the
 * last sync may be missing at its end. True again after each opening until something has
 * been flushed. Never if `boot` is 0; one of an older segq, which kept none, counts as cut. */
bool journal_was_cut(const struct journal *j);
bool journal_ok(const struct journal *j); /* false: failed, see above */
void journal_counts(const struct journal *j, struct journal_counts *out);

/* ---- segment --check-journal DIR --------------------------------------------------- */
/* Reads only, takes no lock. name: text of a record type, NULL if unknown. 0 fine (a torn
 * tail is), 1 damaged or unreadable. */
int journal_check(const char *dir, const char *(*name)(uint8_t type), FILE *out);
/* The same on any disk. */
int journal_check_disk(struct disk *d, const char *(*name)(uint8_t type), FILE *out);

#endif
