/* schedule_body.h: the body of a schedule's definition. Pure.
 *
 *   {"cron":"0 3 * * *" | "every":"15m", "zone":"Europe/Berlin", "task":{...}, "jitter":"30s",
 *    "overlap":"allow|skip|cancel_old", "catch_up":"none|last|all", "catch_up_max":10,
 *    "from":SECONDS, "until":SECONDS, "paused":true}
 *
 * Strict, as body.h: a member that is unknown or there twice is refused by its name. `task` is a
 * submission's body without names and moments, which each tick has its own of. */
#ifndef SEGQ_TASK_API_SCHEDULE_BODY_H
#define SEGQ_TASK_API_SCHEDULE_BODY_H

#include "common/wire/msg.h"
#include "router/task_api/body.h"

#define SCHEDULE_CATCH_UP_MAX 10 /* if it says nothing else */

struct schedule_body {
    struct slice cron, zone; /* n 0: not there; in the request's bytes */
    int64_t every, jitter, from, until; /* ms; from, until: Unix ms; 0: not there */
    int64_t overlap, catch_up, catch_up_max;
    bool paused;
    struct task_body task;
};

/* Letters, digits, '_', '-', '.' of a path's part, 64 at most. */
bool schedule_name_ok(struct slice name);
/* may: the members that its task may have. False: *e says why. */
SQ_CHECK bool schedule_body_read(struct schedule_body *b, struct slice text, uint32_t may,
                                 struct body_error *e);

#endif
