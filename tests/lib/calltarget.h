/* calltarget.h: the target of sim_calls: what it answers in its moods, the calls that are there,
 * and what follows from an answer by PROTOCOL's words, not by the code under test
 * (task/calls/verdict.h). Pure. */
#ifndef SEGQ_TESTS_CALLTARGET_H
#define SEGQ_TESTS_CALLTARGET_H

#include <stdio.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/ticket/token.h"
#include "task/calls/verdict.h"
#include "task/store/store.h"

enum mood {
    WELL,
    SLOW,
    BROKEN,
    BUSY,
    CLOSED, /* 503, and for how long */
    AWAY,
    SILENT,
    LOSSY,  /* it does what it is asked, and the answer is lost */
    ENDLESS,
    ASKS,   /* to be asked again */
    PICKY,  /* some are refused for good */
    LATER,  /* it goes on, and says later how it ended */
    NMOODS
};

static inline struct call_answer mood_answer(enum mood mood, struct rng *r)
{
    switch (mood) {
    case BROKEN:
        return (struct call_answer){ .status = 500 };
    case BUSY:
        return (struct call_answer){ .status = 429, .retry_after = "3" };
    case CLOSED:
        return (struct call_answer){ .status = 503, .retry_after = "2" };
    case AWAY:
        return (struct call_answer){ .fault = CALL_CONNECT };
    case SILENT:
        return (struct call_answer){ .fault = CALL_TIMEOUT };
    case LOSSY:
        return (struct call_answer){ .fault = CALL_RESET };
    case ENDLESS:
        return (struct call_answer){ .fault = CALL_TOO_LONG };
    case ASKS:
        return (struct call_answer){ .status = 500, .command = "retry=4" };
    case LATER:
        return (struct call_answer){ .status = 202, .command = "pending=3" };
    case PICKY:
        if (rng_chance(r, 0.1))
            return (struct call_answer){ .status = 500, .command = "abort" };
        return (struct call_answer){ .status = rng_chance(r, 0.3) ? 404 : 200 };
    default:
        return (struct call_answer){ .status = 200 };
    }
}

/* The next attempt is not before so long. */
static inline msec_t mood_wait(const struct call_answer *a)
{
    if (strcmp(a->command, "retry=4") == 0)
        return 4000;
    return a->retry_after[0] != 0 ? (a->retry_after[0] - '0') * 1000 : 0;
}

/* The task ends with it. */
static inline bool mood_refuses(const struct call_answer *a)
{
    return a->status == 404 || strcmp(a->command, "abort") == 0;
}

/* It costs no attempt. */
static inline bool mood_is_free(const struct call_answer *a)
{
    return a->status == 429 || a->fault == CALL_CONNECT;
}

struct visit { /* a request at the target */
    task_no no;
    uint32_t attempt;
    uint32_t target; /* number; 0: the endpoint has one url */
    uint64_t call; /* of the node, that it will tell; 0: nobody is there any more */
    msec_t at;     /* when it ends; MSEC_NEVER: with the deadline */
    msec_t gone;   /* at the latest */
    msec_t gone_before; /* until its EXTEND is answered; 0: it has none */
    struct call_answer answer; /* ms: set when it ends */
    char right[RIGHT_TEXT_LEN + 1];
    bool later; /* it has said that it goes on: at `at` it says how it ended */
    msec_t began;
    bool over;
};

struct said {
    unsigned status; /* 0: nothing yet */
    char body[24];
};

/* What the target says to an attempt: no two of them are equal. */
static inline struct said said_of(const struct visit *v)
{
    struct said s = { .status = v->answer.status };

    snprintf(s.body, sizeof(s.body), "%lu/%u", v->no, v->attempt);
    return s;
}

/* How many are there now. */
static inline unsigned visits_now(const struct visit *v, unsigned n, msec_t now)
{
    unsigned there = 0;

    for (unsigned i = 0; i < n; i++)
        there += !v[i].over && v[i].gone > now;
    return there;
}

#endif
