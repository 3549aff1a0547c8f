/* session.h: the records of one segment's released tickets. Pure.
 *
 *   READY --polled--> ADMITTED --pass expires--> (forgotten)
 *     |
 *     claim window over --> GRACE --polled--> RETURNING --popped--> READY
 *                             |                   | idle
 *                             grace over          v
 *                             +-----------------> OVER (no-show) --> (forgotten)
 *
 * An admitted one that leaves is REVOKED until its pass would have expired: the pass may be
 * anywhere.
 *
 * The caller decides: this keeps the records, says which one is due, counts. Two
 * clocks: ADMITTED and REVOKED end on the monotonic one (a pass runs out while we are stopped), all
 * other states on the service clock (time in which we could not be asked does not count).
 * OVER is only kept so that for a while the true reason can be told.
 *
 * Memory: records are found by (segment, number) of the token; the tables shrink as the
 * records go (sessions_trim) and are freed with the last one. A pointer to a record is
 * good until the next reserve, forget or trim. */
#ifndef SEGQ_SESSION_H
#define SEGQ_SESSION_H

#include "common/base/err.h"
#include "common/wire/msg.h"
#include "segment/line/ticket_idx.h"

enum session_state {
    SESSION_FREE = 0,
    SESSION_READY = 1,
    SESSION_ADMITTED = 2,
    SESSION_GRACE = 3,
    SESSION_RETURNING = 4,
    SESSION_OVER = 5,
    SESSION_REVOKED = 6,
    SESSION_NSTATES
};

struct session {
    struct ticket_id id;
    uint8_t state;          /* enum session_state */
    uint8_t client;         /* enum client_class, once it was polled */
    uint8_t reason;         /* enum gone_reason, if OVER or REVOKED */
    uint32_t heap_at;       /* position in its clock's heap */
    union {
        struct {
            uint32_t prev, next; /* list of the returning, or of the free */
        };
        uint64_t used; /* session_has_use(): the use of its pass; 0: none */
    };
    int64_t released_at_ms; /* wall clock, as recorded by the manager */
    int64_t until_s;        /* Unix seconds, if it was extended; 0: as the rules say */
    msec_t deadline_ms;     /* end of the state: monotonic if ADMITTED or REVOKED, else service */
    msec_t expires_ms;      /* end of the pass, monotonic */
};

static inline bool session_is_monotonic(unsigned state)
{
    return state == SESSION_ADMITTED || state == SESSION_REVOKED;
}

/* Marks the pass as used, where a gate wants it good once: who used it is known. */
static inline bool session_has_use(unsigned state)
{
    return state == SESSION_READY || state == SESSION_ADMITTED;
}
#define SESSION_USE_LOST UINT64_MAX /* whether it was used is not known: it counts as used */

struct session_heap {
    uint32_t *v; /* owned; record indices, earliest deadline first */
    uint32_t n;
};

struct sessions {
    struct session *v;  /* owned */
    uint32_t cap, free; /* free: first of the free list */
    struct ticket_idx idx;
    struct session_heap service, monotonic;
    uint32_t first, last; /* the returning, in the order of their return */
    uint32_t n[SESSION_NSTATES];
};

void sessions_init(struct sessions *s);
void sessions_fini(struct sessions *s);
/* Room for n more; SQ_ENOMEM: nothing has changed. */
SQ_CHECK int sessions_reserve(struct sessions *s, uint32_t n);
void sessions_trim(struct sessions *s);

/* NULL: no record. */
struct session *sessions_find(const struct sessions *s, struct ticket_id id);
/* A new record; room must have been reserved and the id must be new. */
struct session *sessions_add(struct sessions *s, struct ticket_id id,
                             enum session_state state, msec_t deadline_ms);
/* May a record go from one state to another? Each may keep its state, and be forgotten. */
bool session_may(unsigned from, unsigned to);
/* Every change of state (asserted: session_may) or deadline. Into RETURNING: behind the others. */
void session_set(struct sessions *s, struct session *x, enum session_state state,
                 msec_t deadline_ms);
/* The same as a journal, or the manager after a loss, says it: whatever it was before. */
void session_restore(struct sessions *s, struct session *x, enum session_state state,
                     msec_t deadline_ms);
void session_forget(struct sessions *s, struct session *x);
struct session *sessions_first_returning(const struct sessions *s); /* or NULL */
struct session *sessions_next_returning(const struct sessions *s,
                                        const struct session *x);
/* A record whose state's time is over (the caller changes or forgets it); NULL: none. */
struct session *sessions_due(const struct sessions *s, msec_t service_ms, msec_t now_ms);
/* Everything on the service clock ends ms later. */
void sessions_shift(struct sessions *s, msec_t ms);
/* READY, ADMITTED, GRACE, RETURNING and REVOKED: what a segment cannot be removed with. */
uint32_t sessions_live(const struct sessions *s);
/* for (i = 0; (x = sessions_next(s, &i)) != NULL;) in no order. */
struct session *sessions_next(const struct sessions *s, uint32_t *i);

/* ---- marks: which tickets were released when, until somebody says that it is stored ---------
 * A release is told to nobody before the manager has stored it: were the node to vanish
 * with its journal, people who were let in would wait again. So each pop leaves rows here, every
 * status carries them, and they go when the manager says that it has them.
 *
 * Memory: owns its rows: one per pop and segment (as tokens name it), and one for each
 * no-show that is released again. */

struct marks {
    struct mark_row *v; /* owned; oldest first */
    uint32_t n, cap;
    uint32_t held; /* tickets that left the line with them: they still count as before others */
};

SQ_CHECK int marks_reserve(struct marks *m, uint32_t n); /* n more; or SQ_ENOMEM */
/* A ticket that was released; room must have been reserved. One pop's tickets come in
 * order, and what is dead between two of them goes with them. */
void marks_add(struct marks *m, struct ticket_id id, int64_t at_ms, bool again);
void marks_put(struct marks *m, const struct mark_row *row); /* reserved */
bool marks_has(const struct marks *m, struct ticket_id id);
void marks_clear(struct marks *m); /* also its end */

#endif
