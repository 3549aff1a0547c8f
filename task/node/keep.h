/* keep.h: the table as records of a journal, and records to a table again. Pure.
 *
 * A record has the number of its partition in front (a varint; 0: of the node), then what record.h
 * says of its kind. A snapshot is written partition by partition, each whole within a turn;
 * behind it SNAPPED goes into the log: what the log has of a partition before that record is in
 * the snapshot already, and is left out when they are read. */
#ifndef SEGQ_TASKTAB_KEEP_H
#define SEGQ_TASKTAB_KEEP_H

#include "task/node/table.h"

struct part;
struct part_clock;

/* Applies a record. snap: of a snapshot. 0, SQ_EPROTO, SQ_EUNKNOWN, SQ_ENOMEM; then the table is good
 * for tasktab_free() alone. */
SQ_CHECK int tasktab_replay(struct tasktab *t, bool snap, uint8_t kind, const uint8_t *p,
                            size_t n);
/* All has been read. cut: records that were acknowledged may be missing at the end. What this
 * writes down goes with the next turn. live: of each body that a task has: is it
 * there? A task without its body is cancelled. */
SQ_CHECK int tasktab_replayed(struct tasktab *t, struct task_now now, bool cut,
                              bool (*live)(void *ctx, uint64_t ref), void *ctx);
/* The same of one that has just been read. Uses t->now. */
SQ_CHECK int tasktab_part_replayed(struct tasktab *t, struct part *p,
                                   bool (*live)(void *ctx, uint64_t ref), void *ctx);
/* All of one partition, between turns. False: no memory. */
SQ_CHECK bool tasktab_snapshot_part(const struct tasktab *t, part_no no,
                                    void *(*record)(void *ctx, uint8_t kind, size_t n), void *ctx);
/* A part of the whole state: begin, or one more partition; between turns. Records as by
 * o.record, into `record`. True: there is more. */
SQ_CHECK bool tasktab_snapshot(struct tasktab *t, bool begin,
                               void *(*record)(void *ctx, uint8_t kind, size_t n), void *ctx);
/* A partition has been dropped meanwhile, or one comes: what was begun is worth nothing. */
bool tasktab_snapshot_spoilt(const struct tasktab *t);
/* A copy comes that is not whole: no snapshot is begun. */
bool tasktab_is_receiving(const struct tasktab *t);

/* ---- for the other files of this room ---------------------------------------------- */
/* tasktab_part_drop(), written down; its bodies go with it. Nobody waits there. */
void tasktab_part_gone(struct tasktab *t, struct part *p);
/* Bodies that no task has any more go when this turn is written. */
void tasktab_free_later(struct tasktab *t, struct part *p);
/* A record of the table's own, into the journal. */
void tasktab_keep(struct tasktab *t, part_no part, const struct trec *r);
void tasktab_keep_node(struct tasktab *t);
void tasktab_keep_part(struct tasktab *t, const struct part *p);
/* Writes into the journal what its axis showed (tasktab_clock_seen()). */
void tasktab_keep_clock(struct tasktab *t, struct part *p, const struct part_clock *c);
/* Levels of endpoints that have changed in this turn. */
void tasktab_keep_levels(struct tasktab *t);
/* Records what the partition's engine has logged; those who wait for a task's end are answered. False:
 * no memory. */
SQ_CHECK bool tasktab_keep_log(struct tasktab *t, struct part *p, struct outbox *out);

#endif
