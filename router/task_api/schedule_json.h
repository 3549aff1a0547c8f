/* schedule_json.h: what a task node says of schedules, as the API's answers. Pure. */
#ifndef SEGQ_TASK_API_SCHEDULE_JSON_H
#define SEGQ_TASK_API_SCHEDULE_JSON_H

#include "common/wire/msg.h"
#include "router/task_api/answer.h"

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
