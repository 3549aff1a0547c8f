/* crowd.h: how often each of many things came lately, in fixed memory: joins of an address prefix,
 * uses of a challenge. Pure; times are milliseconds of a clock that does not jump.
 *
 * Two counts a row: of the period that runs, and of the one before it, whose weight falls as the
 * period passes. So a count rises at once and falls within a period, without an edge. Rows lie in
 * sets of four, which the id chooses: ids are hashes under a key of ours. A newcomer takes the
 * place of the row that has come least in both periods, among these of the one that came longest
 * ago: what is lost counts from nothing again. So many who come once do not wash out one who
 * comes often. */
#ifndef SEGQ_CROWD_H
#define SEGQ_CROWD_H

#include "common/base/base.h"

struct crowd;

struct crowd_count {
    uint32_t now;    /* in this period */
    uint32_t all;    /* in it and in the one before, whole */
    uint32_t lately; /* in a period up to now, about */
};

/* entries: rounded up to a power of two, 24 bytes each, touched as they are used. NULL: no memory. */
struct crowd *crowd_new(size_t entries, uint32_t period_ms);
void crowd_free(struct crowd *c);
/* Counts that it came once more. id is never 0. Where all calls with one id round their times down to the
 * period, periods begin there. */
struct crowd_count crowd_add(struct crowd *c, uint64_t id, msec_t now_ms);
struct crowd_count crowd_look(const struct crowd *c, uint64_t id, msec_t now_ms); /* without counting */
/* Has it been counted, and is its row still there? However long ago. */
bool crowd_knows(const struct crowd *c, uint64_t id);

#endif
