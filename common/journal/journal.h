/* journal.h: an append-only log of records with snapshots: what a process must not forget,
 * as files in one folder. Opening, closing, and the rules of the whole room. Shell (disk.h).
 *
 * The caller knows what the records mean; here they are a type, a length and bytes.
 * A user keeps its state in memory and brings three things: a record for each change
 * (turn.h), a way to write the whole state as chunks, and two callbacks that
 * make the state from chunks and records again (struct journal_replay). Then it
 *
 *   opens     the journal, with its own name as `node`: replay makes the state
 *   each turn puts the records of what it changed, flushes, and only then answers
 *   by ticks  asks whether a snapshot is due, and puts one, at once or in slices
 *   when full or failed (below) refuses work until a flush answers 0 again
 *
 * Each user has a folder, a name, a format and record types of its own:
 *   a segment node       segment/service/journal.c } keeper.h: promises of room, snapshots in
 *   a task node          task/service/journal.c    } slices, a turn that is given up
 *   the manager's store  queuemng/store/store_file.c: one snapshot at once, mode `fsync`
 * Nothing is ever read back in service (but for journal_again), and a snapshot writes the whole
 * state: so bodies of tasks are in files of their own (task/bodies), and their places in records.
 *
 * Files in one folder, numbered by a sequence that only grows (16 hex digits):
 *   snap-N    the whole state as it was when log-N began; complete or not there at all
 *   log-N     records in order; recovery = newest snapshot N, then log-N, log-N+1, ...
 *   *.tmp     a snapshot being written;  *.torn  what recovery cut off, for a human
 *   lock      held while a process uses the folder
 *
 * A turn of the event loop appends records and flushes once: the records of one flush are
 * one *group*, written by one write under one checksum, and are replayed all or none. (A turn that
 * would be huge is several: journal_piece().)
 *
 * A flush() of 0 means: `fsync`: on the disk. `os`: in the kernel (survives kill -9; a
 * power cut costs what came after the last sync, at most sync_ms and the time of one sync).
 *
 * Failures. No room (SQ_EFULL): the group is kept and tried again by the next flush;
 * nothing that it holds may be acknowledged meanwhile. Or it is given up (journal_again),
 * and a later flush answers 0 when there is room. Any other failed write, and every failed
 * sync, is final for that log file (a kernel that failed to write a page calls it clean
 * afterwards, so a second sync that succeeds proves nothing): flush() answers SQ_ESYS from
 * then on, reserve() false, journal_snap_due() becomes true. The cure is a whole snapshot: begin
 * (starts a fresh file), put, commit; then the journal works again, and the next flush()
 * that answers 0 covers everything. Until then nothing new may be acknowledged: a restart
 * would forget it.
 *
 * A torn tail of the newest log is cut off and kept as .torn; damage before bytes that are
 * known to have been synced is refused with file and offset, as is a newer version. */
#ifndef SEGQ_JOURNAL_H
#define SEGQ_JOURNAL_H

#include "common/journal/disk.h"

/* The longest record, and the longest chunk of a snapshot. */
#define JOURNAL_RECORD_MAX (256u * 1024)
#define JOURNAL_ROOM_AGAIN (1u << 20) /* bytes free: then a full disk counts as mended */
/* Bytes of the disk that a record of n bytes takes at most (alone in its group). */
#define JOURNAL_COST(n) ((n) + 36u)

enum journal_mode { JOURNAL_OFF, JOURNAL_OS, JOURNAL_FSYNC };

struct journal_opts {
    const char *dir;
    struct disk *disk; /* ref; NULL: `dir` on this machine, made if missing */
    const char *node;  /* whose it is: a journal of another name is refused */
    uint32_t format; /* format of the caller's records, > 0; heads name it: older ones are read, newer
                      * ones are refused */
    enum journal_mode mode; /* OFF: writes nothing; refused if the folder holds a journal,
                             * which would come to life again when switched on later */
    uint64_t reserve_bytes;    /* room kept beyond all promises; 0 = 1 MiB */
    uint64_t snap_after_bytes; /* bytes of logs since the last snapshot; 0 = 64 MiB */
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
    uint64_t promised, log_bytes, snap_bytes, unsynced; /* now */
};

struct journal;

/* 0; SQ_EBUSY (another process has the folder), SQ_EPROTO (damaged, of a newer segq, of
 * another node), SQ_ESYS, SQ_ENOMEM, or what a callback answered. */
SQ_CHECK int journal_open(struct journal **out, const struct journal_opts *o,
                          const struct journal_replay *r, struct err *e);
/* Flushes and syncs, and marks the log as closed in order. NULL is fine. */
void journal_close(struct journal *j);

/* After a flush that failed: gives up what was not written, and replays what a restart would
 * find: the state as of the last flush that answered 0, and what journal_piece() has written since.
 * Writes nothing; a snapshot that was under way is given up. < 0: it cannot be read. */
SQ_CHECK int journal_again(struct journal *j, const struct journal_replay *r, struct err *e);
/* The machine was restarted since the journal was last written: what was acknowledged after the
 * last sync may be missing at its end. True after each opening until something has been
 * flushed. Never if `boot` is 0; a journal without one counts as cut. */
bool journal_was_cut(const struct journal *j);
void journal_counts(const struct journal *j, struct journal_counts *out);

#endif
