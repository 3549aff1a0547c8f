/* submit.h: tasks are submitted: one, or many in a list or in lines (NDJSON). Shell.
 * One with an Idempotency-Key or a name may be asked again after a lost link: that makes no second
 * task. Of many, each row has an answer of its own. */
#ifndef SEGQ_ROUTER_SUBMIT_H
#define SEGQ_ROUTER_SUBMIT_H

#include "router/task_api/callback.h"
#include "router/task_requests/call.h"

void submit_start(struct tasking *t, const struct task_asked *x);
/* By a claim in its body. False: there is none; nothing is answered. */
SQ_CHECK bool submit_by_claim(struct tasking *t, const struct task_asked *x);
/* The request itself is a call, to be passed on and answered as the target answers it. ours: its
 * Authorization is for us. */
void submit_request(struct tasking *t, const struct task_asked *x, bool ours);
void submit_batch(struct tasking *t, const struct task_asked *x);

/* ---- for what makes tasks otherwise (schedule.c) ---- */
#define SUBMIT_MEMBERS                                                                       \
    (CALL_MEMBERS | WITH(PAYLOAD) | WITH(KEY) | WITH(DELAY) | WITH(AT) | WITH(PRIORITY) |    \
     WITH(ORDER) | WITH(NAME) | WITH(IDEMPOTENCY_KEY) | WITH(TTL) | WITH(MAX_ATTEMPTS) |     \
     WITH(RETRY) | WITH(LABELS) | WITH(RESULT) | WITH(UNIQUE) | WITH(COST) | WITH(THEN))
#define SUBMIT_ROOM 8 /* ends of a row's texts */
/* *bytes: what the task carries: its payload, or the form of its call, in t->form. NULL: it may be
 * asked; else a sentence, which may be e's. w: of the queue; NULL: none is known. */
const char *submit_unfit(struct tasking *t, const struct task_way *w, const struct task_body *b,
                         struct slice *bytes, enum api_problem *p, struct body_error *e);
/* The row, with its texts in the call's memory. named: the same again shall be known by its payload. */
struct task_put submit_row(struct task_call *c, const struct task_body *b, struct slice bytes,
                           bool named);

/* The meaning of "another payload" of a call: every router says the same, in every release. */
uint64_t submit_digest_of_call(struct slice form);
uint64_t submit_digest(struct slice bytes, bool is_call);

#endif
