/* schedule_json.h: a schedule's definition in a body, and what a task node says of schedules as
 * the API's answers. Pure.
 *
 *   {"cron":"0 3 * * *" | "every":"15m", "zone":"Europe/Berlin", "task":{...}, "jitter":"30s",
 *    "overlap":"allow|skip|cancel_old", "catch_up":"none|last|all", "catch_up_max":10,
 *    "from":SECONDS, "until":SECONDS, "paused":true}
 *
 * Strict, as body.h: a member that is unknown or there twice is refused by its name. `task` is a
 * submission's body without names and moments, which each tick has its own of. */
#ifndef SEGQ_TASK_API_SCHEDULE_JSON_H
#define SEGQ_TASK_API_SCHEDULE_JSON_H

#include "common/wire/msg.h"
#include "router/task_api/answer.h"
#include "router/task_api/body.h"

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
SQ_CHECK bool schedule_body_read(struct schedule_body *b, struct slice text, uint64_t may,
                                 struct body_error *e);

/* ---- answers ---- */

/* code: enum task_code or task_failure. */
struct task_outcome schedule_outcome(int code, enum schedule_verb verb,
                                     const struct msg_task_schedule_ans *m);
/* Answers a deletion in two pools; what either of them left undone is said. */
int schedule_deleted(int code, int other);
/* Answers a run that has an outcome. */
void schedule_ran(struct api_ans *a, struct slice queue, const char *name,
                  const struct msg_task_schedule_ans *m, part_no part, const struct token_key *k);
/* Answers a question that succeeded. part: of the tasks that it names. */
void schedule_answer(struct api_ans *a, enum schedule_verb verb, struct slice queue, const char *name,
                     const struct msg_task_schedule_ans *m, part_no part, const struct token_key *k);

#endif
