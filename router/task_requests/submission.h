/* submission.h: what a submission carries, and the row that it becomes: one, a row of many, a tick of
 * a schedule, a next task of a chain; and what is behind it. Shell. */
#ifndef SEGQ_ROUTER_SUBMISSION_H
#define SEGQ_ROUTER_SUBMISSION_H

#include "common/submit/submission.h"
#include "router/task_requests/call.h"

#define SUBMIT_ROOM 8 /* ends of a row's texts */
/* *bytes: what the task carries: its payload, or the form of its call, in t->form. NULL: it may be
 * asked; else a sentence, which may be e's. w: of the queue; NULL: none is known. A payload that is no JSON is
 * b->payload then, in its form (common/task/call.h), in t->form. */
const char *submit_unfit(struct tasking *t, const struct task_way *w, struct task_body *b,
                         struct slice *bytes, enum api_problem *p, struct body_error *e);
/* Behind it: b->cost of a call as its endpoint's rule has it, where none is named. NULL, or why it may not be
 * asked. */
const char *submit_cost(const struct task_way *w, const struct tenant *tenant, struct task_body *b,
                        struct slice bytes, enum api_problem *p);
/* NULL: there is room for what it carries, of which body_n bytes are somebody's; else a sentence. */
const char *submit_size_wrong(const struct tasking *t, const struct task_way *w, size_t body_n, size_t n,
                              enum api_problem *p);
/* The row, with its texts in the call's memory. named: the same again shall be known by its payload. */
struct task_put submit_row(struct task_call *c, const struct task_body *b, struct slice bytes,
                           bool named);

/* ---- tasks behind a task (`then` of a submission): read, checked and packed as they will be submitted. What becomes
 * of them when their turn has come: notice.h ---- */

struct offer_ask { /* a task in several queues */
    const struct tasking *t;
    struct slice opens, queue; /* opens: see chain_ask */
    const struct task_way *way; /* way to the queue; NULL: none is known */
};

/* May it stand in these, too: "b,c"? NULL, or what is wrong; then *p. */
const char *offer_wrong(const struct offer_ask *a, struct slice to, enum api_problem *p);

struct chain_ask { /* whose chain it is */
    struct tasking *t;
    struct slice opens; /* queues of the token that submits all of it: queues_match() */
    const struct tenant *tenant; /* NULL: nobody's */
};

/* Packs what is behind b into t->then (empty: nothing is). NULL, or what is wrong: a sentence, which may
 * be e's; then *p. */
const char *chain_pack(const struct chain_ask *a, const struct task_body *b, enum api_problem *p,
                       struct body_error *e);

#endif
