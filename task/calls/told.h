/* told.h: what a provider's answers say is left of its quota until a moment: x-ratelimit-remaining-requests and
 * x-ratelimit-reset-requests, or as they are called there. Pure.
 *
 * Until then no more begin here than this node's part of what is left, requests or units; it never lets more begin
 * than other limits do. Calls that began since the one that said so did count against it, as far as is known here:
 * the next answer says it better, and the latest call's counts. A node that has not heard anything itself goes by
 * the word of another one, which the manager passes on. It is bounded: for HOLD_MAX_MS at most it is obeyed. */
#ifndef SEGQ_CALLS_TOLD_H
#define SEGQ_CALLS_TOLD_H

#include "common/wire/msg_task_manager.h"
#include "task/calls/verdict.h"

#define TOLD_ANY UINT64_MAX

struct told_mark { /* calls and units that had begun */
    uint64_t calls, units;
    uint32_t rows; /* changes of the fields' names so far */
};

struct told_quotas { /* zero: nothing is told */
    struct told_mark begun; /* ever */
    struct told_row {
        uint64_t left;  /* for all nodes, when it was said; */
        uint64_t begun; /* here, since; */
        uint64_t by;    /* begun.calls with the call that said so; */
        msec_t until;   /* then it is over; 0: nothing is told */
    } of[TOLD_MAX];
    bool unread; /* the last word could not be read, which was logged */
};

/* rows, for all that follows: msg_endpoint.told. */

/* Finds which of call_answer.told a field of an answer is, as bits: 2 * row, and 1 more: its reset. Rows may share one. */
unsigned told_field(const char *rows, const char *name, size_t n);
/* Milliseconds until a reset: seconds ("1.5"), a duration ("1m2s", "6ms"), a moment (RFC 3339; Unix time, s or ms).
 * wall_ms: Unix time now. -1: it is none of them. */
int64_t told_reset(const char *text, int64_t wall_ms);

/* An answer says it, to a call that began with this mark. False: it says something that cannot be read. */
bool told_hear(struct told_quotas *t, const char *rows, const char (*said)[TOLD_SAID_MAX + 1], const struct told_mark *by,
               msec_t now, int64_t wall_ms);
/* Another node's word: left, ms of each row; ms 0: none. */
void told_pass_on(struct told_quotas *t, const uint64_t *word, uint32_t n, msec_t now);

void told_begins(struct told_quotas *t, const char *rows, uint64_t cost);
/* A call that began with this mark was not sent. */
void told_returns(struct told_quotas *t, const char *rows, const struct told_mark *by, uint64_t cost);

/* Units that the next call may have; 0: none may begin; TOLD_ANY. part: of UNIT_PARTS. */
uint64_t told_most(const struct told_quotas *t, const char *rows, uint64_t part, msec_t now);
/* When the nth call from now may begin, if it, or all before it, has so many units; 0: at once. */
msec_t told_when(const struct told_quotas *t, const char *rows, uint64_t part, uint64_t nth, uint64_t units, msec_t now);
/* Nothing is left, at whatever node. */
bool told_is_out(const struct told_quotas *t, msec_t now);

#endif
