/* slots.h: how many of a queue's max_active are free.
 *
 * A person is inside from the release until the pass, or the time to collect it, is over. Every
 * uncertainty counts as inside, so that there are never more than max_active:
 *
 *   reported              ready and active, as of its node's last report; ends that were not
 *                         reported yet are still inside
 *   a pop under way       all of it
 *   credit of a tail      all of it that its node has not said is used, or never will be
 *   a pop given up        all of it, until its node reports again
 *   its absorbed tickets are missing
 *                         every stored release (marks.h) that is younger than a session
 *                         can be: others nobody was told of
 *   lost                  every stored release whose pass may be good, since whoever had left
 *                         is brought back by a poll; and, until any session of that time is
 *                         over (queue_unreported_ms()), all who were inside by its last report:
 *                         theirs may have been renewed. Both, also when it is opened elsewhere
 *   the queue was flushed  all who were inside then, as long: their passes are good, and
 *                         nobody knows who leaves
 *   not heard of by this manager
 *                         an earlier one may have released there, to be stored when it is
 *                         back: nothing is free until it is, or is lost
 *
 * Whoever left within the grace, or came back in it, is outside and needs a slot like others. */
#ifndef SEGQ_QUEUEMNG_STATE_SLOTS_H
#define SEGQ_QUEUEMNG_STATE_SLOTS_H

#include "common/base/base.h"

struct mng;
struct mqueue;
struct mseg;

struct munreported { /* people who may be inside for a while, though no node reports them */
    uint64_t n;
    int64_t until_ms; /* wall clock */
    msec_t since_ms;  /* our own; 0: before our time */
};

/* People who may be inside: never less than there are. */
uint64_t slots_inside(const struct mng *m, const struct mqueue *q);
/* People who may be let in now; in mode `rate` UINT64_MAX. */
uint64_t slots_free(const struct mng *m, const struct mqueue *q);
/* False: some of its segments are not heard of, so more may be inside. */
bool slots_known(const struct mqueue *q);
/* The part of them that was released before the last flush; nobody tells when they leave. */
uint64_t slots_flushed(const struct mng *m, const struct mqueue *q);
/* Before the segment counts as lost. */
void slots_lost(const struct mng *m, struct mseg *s);
/* Notes that its node has the segment after all. */
void slots_found(const struct mng *m, struct mseg *s);
/* Before the segments of a flushed queue go. */
void slots_flush(const struct mng *m, struct mqueue *q);

#endif
