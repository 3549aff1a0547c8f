/* throttle.h: how much an endpoint bears: a breaker, a limit of calls at once that learns, a budget
 * of retries. Pure.
 *
 * The breaker says whether the target is well enough to be called:
 *
 *   CLOSED   calls go. Of the calls that ended in the last 10 s, `ratio` percent have failed (and
 *            there were `min`), or the last 10 in a row have, or 5 over a second or more: so a task
 *            that is alone at its endpoint does not use its attempts up first: OPEN
 *   OPEN     none go, for open_ms the first time, twice as long each time after that, up to a
 *            minute; then PROBES
 *   PROBES   one goes; if it is well, two; then four; then CLOSED. One that fails: OPEN
 *
 * (M. Nygard, "Release It!", 2007; the figures are those of Convoy and Finagle.) A call says when
 * it ends whether it was a probe, since those that began before it opened end while it is open. */
#ifndef SEGQ_CALLS_THROTTLE_H
#define SEGQ_CALLS_THROTTLE_H

#include "common/base/err.h"
#include "common/wire/msg_task_manager.h"

#define BREAKER_IN_A_ROW    10u
#define BREAKER_FEW         5u   /* in a row, */
#define BREAKER_FEW_MS      1000 /* over so long */
#define BREAKER_OPEN_MAX_MS 60000
#define BREAKER_SLOTS       10u /* cells of a second each */
#define BREAKER_PROBES_MAX  4u

struct breaker_rules {
    uint32_t ratio; /* percent; 0: it never opens */
    uint32_t min, open_ms;
};

struct breaker { /* zero: closed */
    uint8_t state; /* enum breaker_state */
    uint32_t in_a_row; /* failed, */
    msec_t row_since;  /* the first of them then */
    struct {
        int64_t second;
        uint32_t ended, failed;
    } slot[BREAKER_SLOTS];
    msec_t until;   /* OPEN */
    msec_t last_ms; /* for how long it was open the last time; 0: since it was closed */
    uint32_t probes, allowed, good; /* PROBES: on their way; at once; that were well */
};

/* OPEN goes to PROBES when it is time; when it will be: MSEC_NEVER if it is not open. */
msec_t breaker_advance(struct breaker *b, msec_t now);
/* May a call begin? */
bool breaker_lets(struct breaker *b, msec_t now);
/* Likewise, and nothing changes by the question. */
bool breaker_would_let(const struct breaker *b, msec_t now);
/* When it may let one pass by itself; MSEC_NEVER; 0: now. */
msec_t breaker_when(const struct breaker *b);
/* A call begins. True: it is a probe. */
bool breaker_begins(struct breaker *b);
/* A call that did not ask it was well: if it is open more may try now: two, then four. */
void breaker_heard_well(struct breaker *b);
enum breaker_end { END_WELL, END_FAILED, END_UNKNOWN }; /* UNKNOWN: nobody knows: cancelled by us */
void breaker_ends(struct breaker *b, const struct breaker_rules *r, bool probe,
                  enum breaker_end how, msec_t now);

/* ---- adaptive limit -------------------------------------------------------------------- */

/* How many calls the target bears at once, found out from how it answers.
 *
 * Gradient2 (Netflix, concurrency-limits): what calls take now against what they take in the long
 * run. While they take less than 1.5 times as long the limit rises by up to one a window, beyond
 * that it falls, to 0.9 of itself at most. A window is ten answers, and as long as one takes at
 * least. The limit stays while it is not what binds: less than half of it is under way. A time-out,
 * a connection that cannot be made, 429 and 503 make it 0.9 of itself, once in the time of an
 * answer. It begins at its least. */
struct adaptive { /* zero: nothing is known */
    double limit;     /* 0: not begun */
    double long_ms;   /* time of an answer, in the long run; 0: none yet */
    double sum_ms;    /* sum over this window, */
    uint32_t n;       /* number of its answers, */
    msec_t since;     /* which began then */
    msec_t cut_at;    /* when it was made less; 0: never */
};

struct adaptive_rules {
    uint64_t min, max; /* min 1 .. max */
};

/* Returns the limit of now, between the two. */
uint64_t adaptive_limit(const struct adaptive *a, const struct adaptive_rules *r);
/* An answer that says that the target is well, after ms; in_flight: calls, with this one. */
void adaptive_well(struct adaptive *a, const struct adaptive_rules *r, uint32_t ms, uint64_t in_flight,
                   msec_t now);
/* Lowers it: the target has too much to do. */
void adaptive_too_much(struct adaptive *a, const struct adaptive_rules *r, msec_t now);

/* ---- probe by hand --------------------------------------------------------------------- */

/* A probe that an operator orders of an endpoint that is down: one call at once,
 * whatever the breaker says.
 *
 *   ASKED -> SENT -> ANSWERED     and what came: a target that is well again lets probes follow
 *     |        '---> LOST         its task was cancelled
 *     '-> NO_TASK, NO_NEED, PAUSED, LIMITED, UNUSABLE: nothing was sent
 *
 * One that fails does not prolong the time for which the breaker is open, and a tripped endpoint
 * stays tripped whatever it says: the operator decides. Rate and slots hold for it, too. */
struct hand_probe { /* zero: none yet */
    uint64_t no;   /* number of the order */
    uint8_t state; /* enum probe_state */
    uint64_t call; /* SENT: going_call.id */
    uint64_t ms;   /* ANSWERED: it took so long, */
    char said[PROBE_SAID_MAX + 1]; /* and ended so, in words */
};

/* ---- budget of retries ----------------------------------------------------------------- */

/* How many calls to an endpoint may be retries.
 *
 * Each first attempt adds a fifth of a retry, and time adds three in 10 s; a bucket holds as many
 * as 10 s bring, three at least. A retry is paid for when its attempt has failed: what is not there
 * is owed, and the retry waits for as long as the bucket needs, at the pace of the last 10 s, to
 * pay it back. So what exceeds the budget waits in its back-off and stops nobody else, and no
 * attempt is lost. (The shape of Finagle's RetryBudget.) */
#define BUDGET_LEAST   3 /* retries, in */
#define BUDGET_SPAN_MS 10000
#define BUDGET_PER     5 /* first attempts are worth one retry */
#define BUDGET_WAIT_MS 3600000 /* longer waits nobody */

struct budget {
    int64_t micros;   /* millionths of a retry that are there; below 0: owed */
    msec_t at;
    uint64_t firsts, before; /* first attempts since `began`, and in the span before it */
    msec_t began;
};

void budget_init(struct budget *b, msec_t now); /* full */
void budget_first(struct budget *b, msec_t now);
/* Counts another retry: how long it waits, beside its back-off. */
msec_t budget_retry(struct budget *b, msec_t now);

/* Readings: a target says on a page of metrics how much it has to do (requests that wait there, a
 * cache that is full), and what follows for its slots.
 *
 * A reading closes its target while its value was above `close_above` and has not been down to `open_below`
 * since (a hysteresis, so that it does not flap), and narrows it: at `narrow_from` it has all slots, at
 * `narrow_to` one, in proportion between. Several readings: closed by any, narrowed by the one that leaves
 * least. Calls under way go on.
 *
 * A value counts for `stale`. A page that cannot be read any longer is no pressure: the breaker, slots and the
 * adaptive limit hold as ever, and the target is `blind`, so that somebody may look. */

#define PRESSURE_LOOK_MS 500 /* a target that is closed is looked at again so often */

struct pressure { /* zero: nothing is known */
    struct {
        double value;
        msec_t at; /* time of the page that had it; 0: none */
        bool closed;
    } of[READINGS_MAX];
    msec_t failing; /* since when a page, or a value on it, is not read; 0: the last one was whole */
    char why[READING_SAID_MAX + 1]; /* reason; "" */
    /* For who reads: */
    msec_t next; /* when the page is read again */
    bool said;   /* blindness was logged */
};

/* Takes the page that was asked for at now. False: one of the values is not there, p->why. */
bool pressure_read(struct pressure *p, const struct msg_endpoint *d, const char *text, size_t n, msec_t now);
/* The page could not be read. */
void pressure_failed(struct pressure *p, const char *why, msec_t now);

bool pressure_closes(const struct pressure *p, const struct msg_endpoint *d, msec_t now);
/* Returns its slots, of `most`; at least one, if there is any. */
uint64_t pressure_slots(const struct pressure *p, const struct msg_endpoint *d, uint64_t most, msec_t now);
/* Returns its state, for people; text: the value that counts most, or why there is none. */
enum reading_state pressure_state(const struct pressure *p, const struct msg_endpoint *d, msec_t now,
                                  char text[READING_SAID_MAX + 1]);
/* Both have the same readings. */
bool pressure_same(const struct msg_endpoint *a, const struct msg_endpoint *b);

#endif
