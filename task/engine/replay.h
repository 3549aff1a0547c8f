/* replay.h: the state as records, and records to the state again. Pure.
 *
 * A snapshot is records, too: pools, SNAP, a TASK for each task, a NAME for each name, SNAP_END.
 * It is read into an engine that was just made, before any record that came after it. */
#ifndef SEGQ_TASK_REPLAY_H
#define SEGQ_TASK_REPLAY_H

#include "task/engine/engine.h"

/* Appends the whole state, framed (record.h). Without memory out->failed is set. */
void engine_snapshot(const struct engine *e, struct buf *out);
/* Applies a record, in the order in which they were written. 0, SQ_ENOMEM; SQ_EPROTO: it is
 * damaged, or a newer segq wrote it. After anything but 0 the engine is good for engine_fini()
 * alone. */
SQ_CHECK int engine_apply(struct engine *e, const struct trec *r);
/* All has been read; the node, whose axis shows `now_ms`, is in service again. at_ms: what the
 * partition's own would show if it had run on meanwhile, as far as is known; time goes on from
 * there, never from before the last record. Lives are longer by the time for which the node stood;
 * buckets of rates have what they had, and what has come in since. What this writes down is in the log,
 * as by a command. 0; SQ_EPROTO: a snapshot is not whole. */
SQ_CHECK int engine_opened(struct engine *e, msec_t now_ms, msec_t at_ms);
/* Behind it, if the end of what was written may be missing: as many may have started as there were. */
void engine_empty_buckets(struct engine *e);

#endif
