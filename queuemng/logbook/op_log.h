/* op_log.h: two logs for operators. The log of changes by operators: name, time, address, old and new value. Shell.
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

/* The latest events of the process's log, level info or worse (log_set_tap()), for the dashboard. Pure.
 *
 * Segments open, merge and go all the time, and an operator looks for the node that died an hour
 * ago. So routine events have a ring of their own, and push out no other. */

#define EVENTS_KEPT      200 /* events of each kind */
#define EVENT_TEXT_BYTES 240

struct event {
    uint64_t seq;    /* 1, 2, ... over both kinds; 0 = none */
    int64_t wall_ms;
    int level;       /* enum log_level */
    char text[EVENT_TEXT_BYTES]; /* "event=node_down node=a segments=3" */
};

struct events { /* zero = new */
    uint64_t last;   /* seq */
    struct event notable[EVENTS_KEPT], routine[EVENTS_KEPT];
    uint64_t n_notable, n_routine; /* ever */
};

/* line: as a sink gets it, "info move event=move_state ..."; what is no event is left out. */
void events_add(struct events *v, int64_t wall_ms, int level, const char *line);
/* Younger than `since`, oldest first, the youngest `max` of them; how many. */
size_t events_since(const struct events *v, uint64_t since, const struct event **out,
                    size_t max);

#endif
