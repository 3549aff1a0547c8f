/* release.h: turns "what the backend can bear" into a number per lane and tick. Pure; no
 * chain in it.
 *
 * Per queue: a metric reading per limit, tiers, hysteresis, slew, fallback; the smallest
 * limit wins and is named. The rate becomes whole tickets with the fraction carried, so
 * 0.4 a tick is exact over time. The budget starts empty, and what could not be used in a
 * tick is not saved up beyond one tick (I7). Lanes share by weight (smooth weighted
 * round robin over lanes that have waiters; what one lane cannot use goes to the others)
 * or strictly (the first lane first).
 * For those who will not come, more than the rate is released: release_in.boost, no_show_boost().
 * By slots, what may be released is what is free now: nothing is earned or carried. */
#ifndef SEGQ_RELEASE_H
#define SEGQ_RELEASE_H

#include "common/base/base.h"
#include "queuemng/policy/queue_def.h"

/* The rate while nobody needs a pass: as much as a chain gives without a long tick. */
#define PASSTHROUGH_PER_S 100000.0

#define METRIC_FRESH_MS 15000 /* an older reading counts as missing */

struct metric { /* the last reading of one monitor */
    char name[NAME_MAX_LEN + 1];
    double value;
    msec_t taken_ms;   /* monotonic; of the measurement, not of its arrival */
    bool ok;
    char why[120];     /* if not ok */
};
/* Refuses NaN, Inf, negative, above max_value, older than METRIC_FRESH_MS, from the
 * future: ok = false and why. */
void metric_set(struct metric *m, double value, double max_value, msec_t taken_ms,
                msec_t now_ms);
void metric_fail(struct metric *m, const char *why);
/* NULL: there is none of this name. */
const struct metric *metric_find(const struct metric *v, unsigned n, const char *name);
bool metric_usable(const struct metric *m, msec_t now_ms);

struct release { /* the controller of one queue; zero = new */
    double rate_per_s;      /* now, after slew */
    double own_per_s;       /* by its own limits */
    double carry;           /* fraction of a ticket not yet given */
    uint64_t spare;         /* tickets that nobody took, for the rest of the tick */
    msec_t spare_ms;        /* since when */
    uint64_t limits_digest; /* the list that the next three belong to: another one begins anew */
    uint32_t tier[16];      /* per limit: where we are (hysteresis) */
    bool tier_known[16];
    msec_t lost_ms[16];     /* since when its reading is unusable; 0 = it is usable */
    msec_t last_ms;         /* 0 = never ticked */
    int64_t lane_credit[LANES_MAX];
    char limited_by[NAME_MAX_LEN + 1];
    bool fallback;          /* some limit has no usable reading */
    bool by_slots;          /* the last tick was bound by what is free, its own or a budget's */
    uint64_t granted;       /* tickets ever granted by rate */
};

struct release_in {
    msec_t now_ms;
    msec_t tick_ms;         /* how often it is called; 0 = 100 */
    const struct queue_def *def;
    const struct metric *const *metrics; /* per def->limits entry; NULL = unknown name */
    unsigned n_lanes;
    const int64_t *weights;
    uint64_t waiting[LANES_MAX]; /* incl. returning: what could be released now */
    double boost;           /* factor on what the rate earns; below 1 (0 = not set): 1 */
    bool not_open;          /* by its schedule nobody is let in yet */
    bool free;              /* everybody goes in, whatever the state: a shadow */
    uint64_t keep;          /* at most so many that nobody takes now stay for the rest of a tick */
    uint64_t slots;         /* mode slots or both: how many more may be inside now */
    const char *budget;     /* "budget:gpu": has the least to give of these slots; NULL: not */
    const char *rate_budget; /* and it has at most rate_most of its rate; NULL: any */
    double rate_most;
    bool flushed;           /* more would be free but for those who were inside at a flush */
};
struct release_out {
    uint64_t n[LANES_MAX]; /* to release now; n[i] <= waiting[i] */
    double allowed_per_s;  /* rate of the limits, before lack of waiters and boost */
};
void release_tick(struct release *r, const struct release_in *in, struct release_out *out);
/* The rate alone, of what has no lanes: in place of release_tick(), as often. */
double release_rate(struct release *r, const struct release_in *in);
/* A new reading while there are no ticks, because nobody waits: the tier that it leads to is
 * remembered as by a tick, or hysteresis would go by the last tick's. */
void release_look(struct release *r, const struct release_in *in);
/* Credits that could not be used (the head was busy): given back, bounded to one tick. */
void release_refund(struct release *r, uint64_t n, double max_carry);
/* Splits n among lanes as release_tick does (manual release). */
void release_share(struct release *r, const struct release_in *in, uint64_t n,
                   uint64_t out[LANES_MAX]);

/* People who are not there: the share of released people who do not come, with the
 * over-release that makes up for them; and whether one person is silent, or the whole queue.
 *
 * A released ticket is claimed (its pass is collected) or missed (its claim window ran out).
 * The share of the claimed follows the last NO_SHOW_MEMORY decided tickets, so that it moves
 * with evidence and not with time: a quiet night does not forget. A miss is known one claim
 * window later than a claim: in the first window of a rush the share is taken for too high,
 * which lets in too few and never too many.
 *
 * In mode `rate` more tickets are released than the rate says, at most no_show_boost times as
 * many, so that about the rate comes. In mode `slots` a slot is given back when the window is
 * over, and none of this is needed. */

#define NO_SHOW_MEMORY 200 /* decided tickets that the share is made of */
#define NO_SHOW_FEW    50  /* with less evidence it is not acted on */

struct no_show { /* counts of a queue; zero = new */
    uint64_t claimed, missed; /* ever, in this manager's time */
    uint64_t seen_claimed, seen_missed; /* part of them that the share knows */
    double rate;              /* share of the decided that came: 0..1 */
};

/* Tickets decided since the last call go into the share; once a second. */
void no_show_second(struct no_show *c);
/* The share of the released who come, 0..1; 1 while there is too little evidence. */
double no_show_share_come(const struct no_show *c);
/* The factor of over-release; 1 .. most. */
double no_show_boost(const struct no_show *c, double most);

/* Is one person silent, or the whole queue?
 *
 *   polls:    | | |  | |       silence        | || | | | |
 *   people:   judged          nobody is judged             judged again after `away`
 *
 * A person who is called and has not polled for `away` is skipped (segment/tickets/release.c).
 * But when a load balancer restarts, an uplink is cut, or all routers are away, the whole line
 * falls silent, and everybody would lose the turn to the first to be back. So nobody
 * is skipped while no poll comes at all, nor after that until everybody has had the time to come
 * back, which is as long as a person may be silent: `away`. */

struct quiet { /* zero = nobody yet */
    msec_t last_ms, since_ms;
};

/* Some person of the queue has polled. A gap of more than quiet_ms between polls is a silence. */
void quiet_poll(struct quiet *h, msec_t now_ms, msec_t quiet_ms);
/* The lateness from which a person is skipped: away_ms; 0: nobody is. */
uint32_t quiet_away_ms(const struct quiet *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms);

#endif
