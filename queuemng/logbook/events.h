/* events.h: the latest events of the log, level info or worse (log_set_tap()), for the dashboard.
 * Pure.
 *
 * Segments open, merge and go all the time, and an operator looks for the node that died an hour
 * ago. So routine events have a ring of their own, and push out no other. */
#ifndef SEGQ_EVENTS_H
#define SEGQ_EVENTS_H

#include "common/base/base.h"

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
