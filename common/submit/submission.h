/* submission.h: what a submission carries, as its body says (body.h), and the row that it becomes, wherever it
 * comes in: at a router, as a task behind a task, or as the task of a schedule. Pure. */
#ifndef SEGQ_SUBMIT_SUBMISSION_H
#define SEGQ_SUBMIT_SUBMISSION_H

#include "common/base/arena.h"
#include "common/submit/callback.h"
#include "common/task/rules.h"
#include "common/wire/msg.h"

#define SUBMIT_MEMBERS                                                                       \
    (CALL_MEMBERS | WITH(PAYLOAD) | WITH(KEY) | WITH(DELAY) | WITH(AT) | WITH(PRIORITY) |    \
     WITH(ORDER) | WITH(NAME) | WITH(IDEMPOTENCY_KEY) | WITH(TTL) | WITH(MAX_ATTEMPTS) |     \
     WITH(RETRY) | WITH(LABELS) | WITH(RESULT) | WITH(UNIQUE) | WITH(COST) | WITH(THEN) |      \
     WITH(GROUP) | WITH(PAYLOAD_BASE64) | WITH(CONTENT_TYPE) | WITH(OFFER_TO))

/* *bytes: what the task carries: its payload, or the form of its call, in `form`; *body_n: how many of them are
 * the submitter's. endpoint: of the queue; "": workers take its tasks; NULL: that is not known. NULL, or a
 * sentence, which may be e's. A payload that is no JSON is b->payload then, in its form
 * (common/task/payload.h), in `form`. */
const char *submit_carries(struct buf *form, const char *endpoint, struct task_body *b,
                           struct slice *bytes, size_t *body_n, struct body_error *e);

/* The row but for its queue, name, group and Idempotency-Key; texts in `mem`, bytes borrowed. */
struct task_put submit_put(struct arena *mem, const struct task_body *b, struct slice bytes);

/* *cost: what is named (0: nothing), then what the rule makes of a call with this body. NULL, or why that is
 * not known. */
const char *submit_units(const struct cost_rule *r, struct slice body, uint64_t length, int64_t *cost);

/* The meaning of "another payload" of a call: every router says the same, in every release. */
uint64_t submit_digest_of_call(struct slice form);
uint64_t submit_digest(struct slice bytes, bool is_call);

#endif
