/* task_json.h: a task as its operators are shown it, and why an order about it was refused. */
#ifndef SEGQ_QUEUEMNG_ADMIN_TASK_JSON_H
#define SEGQ_QUEUEMNG_ADMIN_TASK_JSON_H

#include "queuemng/admin/answers.h"

/* With a sentence on what it waits for, its cost unless that is 1, the url of the target that has it unless
 * that is "", and its token if there is a key for it. NULL: no memory. */
json_t *task_json(const struct msg_task_get_ans *m, const struct mng_part_view *p,
                  struct mng_target_place target, const struct token_key *k);
/* A key with tasks that wait; a queue with tasks that wait or are dead; how many these are. */
json_t *task_key_json(const struct key_row *k, const char *queue, const struct mng *m);
json_t *task_queue_json(const struct key_row *k);
uint64_t task_key_has(const json_t *key);
/* A schedule, its next tick, what came of the last one. */
json_t *task_schedule_json(const struct schedule_row *k, const struct mng_part_view *p);
/* A problem, for a code other than CODE_DONE. m: the task as it is; NULL: there is none. */
void task_refused(struct admin_ans *a, enum task_do verb, uint8_t code,
                  const struct msg_task_get_ans *m, const struct mng_part_view *p);
/* The word of a question; of orders: also the last part of their path. */
const char *task_do_word(enum task_do verb);
/* "a,b" as ["a","b"] */
json_t *task_list_json(const char *p, size_t n);

#endif
