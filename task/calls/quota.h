/* quota.h: what rates in units let an endpoint begin at this node. Pure, no memory.
 *
 * A node has a part of each rate, and a bucket for it (rate.h): a call begins when each of them has its
 * cost. One of more units than go into a bucket waits while that fills beyond its room, up to what the call
 * needs, and nothing else begins meanwhile: so it runs, alone and in its turn, and nothing is owed that a node
 * would forget when it is killed. Buckets begin empty, or with what they had before a restart
 * (endpoint.h). What is in one stays, in units, when the part changes.
 *
 * A rate with a window of the calendar has a purse in place of a bucket: the node has what the manager gave
 * it of the window (common/recur/meter.h).
 *
 * Over all nodes, in any window of w, at most
 *   room + units * w / per, and at each node what its largest call has beyond its part of the room. */
#ifndef SEGQ_CALLS_QUOTA_H
#define SEGQ_CALLS_QUOTA_H

#include "common/recur/meter.h"
#include "common/wire/msg_task_manager.h"
#include "task/containers/rate.h"

#define QUOTA_ANY UINT64_MAX

struct quota { /* zero: no rates */
    struct unit_rate rate[UNIT_RATES_MAX]; /* this node's parts; the first ones */
    int64_t tat[UNIT_RATES_MAX];
    struct purse purse[UNIT_RATES_MAX]; /* moments are those of `now`; to_ms 0: a bucket */
    msec_t since[UNIT_RATES_MAX];       /* the purse is of its window */
    uint64_t rest[UNIT_RATES_MAX];      /* units of the window that no node has yet */
    uint64_t whole[UNIT_RATES_MAX]; /* units at once, of all nodes together */
    uint8_t per[UNIT_RATES_MAX];
    bool shared[UNIT_RATES_MAX]; /* units of the budget */
    bool idle[UNIT_RATES_MAX];   /* the node has no part of it: what it owes stays owed */
    uint64_t needs; /* cost of the next call, which does not fit; 0: not known */
    bool none;      /* no part of the rates that there are */
    bool changed;   /* since its owner wrote it down */
    uint64_t calls, units; /* lately begun: what the next ones cost */
};

struct quota_parts {
    uint64_t own, shared; /* parts, of UNIT_PARTS */
    uint32_t n_shared;    /* `shared` is the node's part of the last so many rates */
};
/* numbers: units, per, room of each of n rates. */
void quota_define(struct quota *q, const uint64_t *numbers, uint32_t n, struct quota_parts parts, msec_t now);
static inline bool quota_is_set(const struct quota *q)
{
    return q->rate[0].units != 0 || q->none;
}
/* Units that a call may have that begins now; QUOTA_ANY. */
uint64_t quota_most(const struct quota *q, msec_t now);
/* The next call has more units than quota_most(): buckets fill for it. */
void quota_waits(struct quota *q, uint64_t cost, msec_t now);
/* A call begins. */
void quota_pays(struct quota *q, uint64_t cost, msec_t now);
/* A call took more units than it has paid: what was not there is owed. */
void quota_owes(struct quota *q, uint64_t units, msec_t now);
/* Takes that back: it did not begin after all, or took fewer. begun: since when it was paid; 0: not known, and
 * nothing comes back to a window. */
void quota_returns(struct quota *q, uint64_t cost, msec_t begun, msec_t now);
/* The first moment at which the next call fits: that of quota_waits(), or any; MSEC_NEVER. */
msec_t quota_when(const struct quota *q, msec_t now);
/* The moment at which the nth call from now may begin, if those before it cost what calls have cost so far, on
 * average; cost: its own, 0: as they do; one that all nodes together have room for, but not this one, needs a full
 * bucket. 0: at once. */
msec_t quota_nth(const struct quota *q, uint64_t nth, uint64_t cost, msec_t now);
/* The end of the calendar window in which that one has no room, and whether it is the budget's; 0: there is room. */
msec_t quota_window(const struct quota *q, uint64_t nth, uint64_t cost, msec_t now, bool *shared);
/* Units at once of the k-th rate, at this node. */
uint64_t quota_room(const struct quota *q, unsigned k);
/* Whole units in the bucket of the k-th rate; below 0: owed. Of a window: those that are taken. */
int64_t quota_level(const struct quota *q, unsigned k, msec_t now);
struct quota_kept { /* state of before; rates are those of now */
    const uint64_t *numbers;
    uint32_t n;
    struct quota_parts parts; /* own: the part of then */
    const int64_t *units;
    const uint64_t *windows; /* their numbers */
};
/* Goes on from what was so long ago: it has filled since. Buckets of a budget are empty: others may have had
 * its part. */
void quota_resume(struct quota *q, const struct quota_kept *was, msec_t away, msec_t now);
/* Behind quota_define(), and quota_resume(): what the manager says of windows (unit_window of ENDPOINT); ahead: of
 * `now` before the wall clock. fresh: what was taken of what was given before is only known by kept (or NULL). */
struct quota_windows {
    const uint64_t *numbers;
    uint32_t n;
    msec_t ahead;
    bool fresh;
    const struct quota_kept *kept;
};
void quota_follow(struct quota *q, const struct quota_windows *w, msec_t now);
/* Units that are gone from the room of the k-th rate, and not there again. */
uint64_t quota_used(const struct quota *q, unsigned k, msec_t now);

#endif
