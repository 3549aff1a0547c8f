/* keeper.h: the journal of a process that answers others: what all of them do with it. Shell.
 *
 *   open    the folder of this node below the configured one; the files are read again
 *   flush   before the turn's answers leave; after one that failed nothing new is accepted
 *           (it *holds*) until one works again
 *   tick    promises of room, sync, and a slice of the snapshot that is being written
 *
 * When a flush fails, what was said in that turn is taken back by the caller (its links are closed,
 * the peers ask again), and its state is made anew of what the journal has (keeper_again): what
 * a restart would find. */
#ifndef SEGQ_JOURNAL_KEEPER_H
#define SEGQ_JOURNAL_KEEPER_H

#include "common/base/buf.h"
#include "common/journal/journal.h"

struct keeper;

struct keeper_opts {
    const char *parent; /* the folder of all nodes' journals; read during the call only */
    const char *node;   /* name of the folder in it */
    enum journal_mode mode;
    uint32_t format;
    uint64_t snap_after; /* bytes; 0: the journal's own default */
    struct disk *disk;   /* ref, for tests; NULL: the folder of this machine */
    uint32_t thing_bytes; /* most that a live thing (a ticket, a task) can still cost */
};

struct keeper_counts {
    struct journal_counts file;
    uint64_t refused;    /* things for which there was no room */
    uint64_t taken_back; /* turns whose answers were not sent */
    uint64_t holding;    /* now */
    uint64_t no_room;    /* now, for what is new */
    uint64_t recovered;  /* things, at the start: the caller's */
    uint64_t room_bytes; /* free on its file system; 0: not known */
};

/* Which start of the machine this is: a part of the kernel's name for it. 0: there is none. */
uint64_t keeper_this_boot(void);

/* *out = NULL if it is switched off (refused if the folder holds one). */
SQ_CHECK int keeper_new(struct keeper **out, const struct keeper_opts *o, struct err *e);
/* Before it is opened, for tests that bring their disk: which start of the machine this is. */
void keeper_set_boot(struct keeper *k, uint64_t boot);
void keeper_free(struct keeper *k); /* flushes. NULL is fine */
const char *keeper_dir(const struct keeper *k);
struct journal *keeper_journal(struct keeper *k); /* for its records */
SQ_CHECK int keeper_open(struct keeper *k, const struct journal_replay *r, struct err *e);

/* Room for n more things; false: accept none. NULL: always. */
SQ_CHECK bool keeper_reserve(struct keeper *k, uint64_t n);
/* False: the answers may not leave, and what the turn has changed must go: keeper_again().
 * NULL: always true. */
SQ_CHECK bool keeper_flush(struct keeper *k);
/* The same after a turn that could not be written for another reason. Always false. */
bool keeper_fails(struct keeper *k, const char *why);
bool keeper_holds(const struct keeper *k);
/* For one thing more, as keeper_tick() found it; those that are there have theirs. */
bool keeper_no_room(const struct keeper *k);
/* Appends what is wrong with it now, after "; " if there is something; nothing: it is well. NULL: nothing. */
void keeper_warn(const struct keeper *k, struct buf *b);
/* Replays the journal into a new state. < 0: it cannot be read: the process must end. */
SQ_CHECK int keeper_again(struct keeper *k, const struct journal_replay *r, struct err *e);

/* At least every 100 ms. True, once a second: keeper_promise() next. */
SQ_CHECK bool keeper_tick(struct keeper *k, msec_t now_ms);
/* Sets how many things live: those that are gone need no room any more. */
void keeper_promise(struct keeper *k, uint64_t live);

/* ---- a snapshot in slices ------------------------------------------------------------ */

/* A snapshot is due, or being written: put a slice of it. begin: the first. */
SQ_CHECK bool keeper_snap(struct keeper *k, bool *begin);
/* Append to it, then keeper_snap_put(): whole records. */
struct buf *keeper_chunk(struct keeper *k);
void keeper_snap_put(struct keeper *k);
/* The slice is put. more: others follow. */
void keeper_snap_sliced(struct keeper *k, bool more);
/* Gives the snapshot up. */
void keeper_snap_abort(struct keeper *k);

void keeper_count(const struct keeper *k, struct keeper_counts *n); /* NULL: all 0 */

/* A journal's figures for Prometheus: rows of struct keeper_counts for a process's
 * own macro, which puts its name in front. */
#define KEEPER_ROWS(ROW)                                                                       \
    ROW("journal_records_total", COUNTER, file.records, "Records written"),                    \
    ROW("journal_bytes_total", COUNTER, file.bytes, "Bytes written, with heads"),              \
    ROW("journal_writes_total", COUNTER, file.writes, "System calls that wrote them"),         \
    ROW("journal_syncs_total", COUNTER, file.syncs, "Syncs to the disk"),                      \
    ROW("journal_failures_total", COUNTER, file.failures, "Writes and syncs that failed"),     \
    ROW("journal_full_total", COUNTER, file.full, "Writes refused for want of room"),          \
    ROW("journal_snapshots_total", COUNTER, file.snapshots, "Whole snapshots"),                \
    ROW("journal_snapshot_failures_total", COUNTER, file.snap_failures, "Snapshots given up"), \
    ROW("journal_log_bytes", GAUGE, file.log_bytes, "Bytes since the last snapshot"),          \
    ROW("journal_torn_bytes", GAUGE, file.torn_bytes, "Cut off at the start"),                 \
    ROW("journal_replayed_records", GAUGE, file.replay_records, "Read at the start"),          \
    ROW("journal_taken_back_turns_total", COUNTER, taken_back, "Turns not answered"),          \
    ROW("journal_holding", GAUGE, holding, "1 while nothing new can be kept"),                 \
    ROW("journal_no_room", GAUGE, no_room, "1 while its disk has no room for anything new"),   \
    ROW("journal_room_bytes", GAUGE, room_bytes, "Free on its file system; 0 without one")

#endif
