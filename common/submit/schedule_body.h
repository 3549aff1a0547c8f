/* schedule_body.h: a schedule's definition in a body, whether a router or the manager has it. Pure.
 *
 *   {"cron":"0 3 * * *" | "every":"15m", "zone":"Europe/Berlin", "task":{...}, "jitter":"30s",
 *    "overlap":"allow|skip|cancel_old", "catch_up":"none|last|all", "catch_up_max":10,
 *    "from":SECONDS, "until":SECONDS, "paused":true}
 *
 * Strict, as body.h: a member that is unknown or there twice is refused by its name. `task` is a
 * submission's body without names and moments, which each tick has its own of. */
#ifndef SEGQ_SUBMIT_SCHEDULE_BODY_H
#define SEGQ_SUBMIT_SCHEDULE_BODY_H

#include "common/submit/submission.h"

#define SCHEDULE_CATCH_UP_MAX 10 /* if it says nothing else */

struct schedule_body {
    struct slice cron, zone; /* n 0: not there; in the request's bytes */
    int64_t every, jitter, from, until; /* ms; from, until: Unix ms; 0: not there */
    int64_t overlap, catch_up, catch_up_max;
    bool paused;
    struct task_body task;
    uint64_t may; /* while it is read: the members that its task may have, and */
    struct body_error *e; /* where a reason goes */
};

/* Letters, digits, '_', '-', '.' of a path's part, 64 at most. */
bool schedule_name_ok(struct slice name);
/* may: the members that its task may have. False: *e says why. */
#define TICK_MEMBERS                                                                        \
    (SUBMIT_MEMBERS & ~(WITH(DELAY) | WITH(AT) | WITH(NAME) | WITH(IDEMPOTENCY_KEY) | WITH(THEN) | WITH(GROUP) | \
                        WITH(OFFER_TO)))
SQ_CHECK bool schedule_body_read(struct schedule_body *b, struct slice text, uint64_t may,
                                 struct body_error *e);

/* All of a definition that is no text, but for its task. */
void schedule_numbers(struct msg_task_schedule *m, const struct schedule_body *b);

/* By which an operator's change of a definition, which was read as this text, is refused if somebody else has changed it
 * meanwhile: above SCHEDULE_ABSENT, and a whole number that browsers can count. */
uint64_t schedule_version(const void *text, size_t n);

#endif
