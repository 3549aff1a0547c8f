/* op_log.h: the log of changes by operators: name, time, address, old and new value. Shell.
 *
 * DIR/audit.jsonl, one JSON object a line, written before the operator is answered and synced
 * within seconds (a script that makes ten thousand queues need not wait for as many syncs);
 * at the first entry of another day (UTC) the file becomes audit-YYYY-MM-DD.jsonl, named after
 * the day of its last entry. Nothing is ever deleted here: these are few.
 *
 * If it cannot be written (disk full), the change is done all the same: on a bad night a
 * full disk must not take the pause button away. Log, metric and dashboard show it (but not
 * /healthz, which may have us restarted), the entry stays in memory, and is written,
 * in order, as soon as the disk takes it. */
#ifndef SEGQ_OP_LOG_H
#define SEGQ_OP_LOG_H

#include <jansson.h>

#include "common/base/base.h"
#include "common/base/err.h"

#define OP_LOG_KEPT 500 /* in memory, for the dashboard and segqctl */

struct op_log;

/* NULL: no memory. A folder that cannot be used is not the end: see above. The youngest
 * entries that are there are read back. */
struct op_log *op_log_new(const char *dir);
void op_log_free(struct op_log *l, int64_t wall_ms); /* tries to write what is not written */
/* Takes the entry (NULL: no memory, counted as not written); `at` is set in it. */
void op_log_add(struct op_log *l, json_t *entry, int64_t wall_ms);
/* Every few seconds: syncs, and tries again what failed; cheap if there is nothing to do. */
void op_log_tick(struct op_log *l, int64_t wall_ms);

/* The youngest n, youngest first, as an array for the caller; NULL: no memory. */
json_t *op_log_last(const struct op_log *l, size_t n);

struct op_log_counts {
    uint64_t entries, failures; /* ever; times it could not be written */
    uint64_t unwritten;         /* now */
    uint64_t lost;              /* entries that were never written and left the memory */
};
void op_log_count(const struct op_log *l, struct op_log_counts *c);

#endif
