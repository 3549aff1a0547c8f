/* past.h: a night that was: arrivals from lines `time,count`, or each person of it from the lines
 * of the audit trail (proto/PROTOCOL.md section 10a). Pure. */
#ifndef SEGQ_REHEARSE_PAST_H
#define SEGQ_REHEARSE_PAST_H

#include "rehearse/night.h"

#define PAST_LINES_MAX 200000

/* Arrivals of lines `time,count`: the list is the caller's, and must be empty. A time is seconds,
 * HH:MM[:SS], or a date and time with a zone, the same in all lines; the first one is the night's
 * beginning. A line stands for the least distance between two: where one is missing nobody came.
 * SQ_EINVAL, with file and line; SQ_ENOMEM. */
SQ_CHECK int past_csv(struct cfg_list *arrivals, char *text, const char *file, struct err *e);

struct past { /* lines of the trail that were read; to be ended by past_fini(); zeroed is good */
    struct past_event *v; /* owned */
    size_t n, cap;
    struct night_past *people; /* owned: by past_end() */
    uint32_t n_people;
    int64_t from_ms;           /* the night's beginning */
    uint64_t before, after;    /* people who joined outside the night, and are left out */
    uint64_t missing;          /* lines that the trail says are missing, and cut ones */
    bool no_memory;
};

void past_line(struct past *p, const char *line, const struct queue_def *d); /* ended with 0 */
/* Makes people of them, in order of coming. from_ms: 0, the first join. SQ_EUNKNOWN: nobody joined;
 * SQ_ENOMEM. */
SQ_CHECK int past_end(struct past *p, int64_t from_ms, int64_t for_ms);
void past_fini(struct past *p);

#endif
