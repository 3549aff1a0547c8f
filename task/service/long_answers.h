/* long_answers.h: answers of calls that are longer than what is kept of a result, up to max_answer
 * of their endpoint: into files (task/bodies/answers.h) as they come, and out of them. Shell. */
#ifndef SEGQ_TASK_LONG_ANSWERS_H
#define SEGQ_TASK_LONG_ANSWERS_H

#include "task/calls/calls.h"
#include "task/node/table.h"
#include "task/service/config.h"

struct buf;
struct task_service;

/* With `store: redis` those of before go: their partitions may have been others' since. */
SQ_CHECK int whole_open(struct task_service *s, const struct task_cfg *c, struct err *e);
/* Large bodies of calls (task/bodies/large.h): their folder; not with `store: redis`: what is in it would not be where
 * a partition goes next. */
SQ_CHECK int large_begin(struct task_service *s, const struct task_cfg *c, struct err *e);
/* For out_request.long_one; arg: struct going_call. */
void whole_more(void *arg, const void *p, size_t n);
bool whole_is_wanted(const struct going_call *g);
/* The answer is here, and has its verdict; before its task is settled. */
void whole_ends(struct going_call *g, const struct call_answer *a);
/* Gives it up. */
void whole_give_up(struct going_call *g);
/* For tasktab_opts. */
struct tab_answers whole_table(const struct task_service *s);
/* Once in a while: those whose tasks have gone go. */
void whole_tick(struct task_service *s);
void whole_metrics(const struct task_service *s, struct buf *b);

#endif
