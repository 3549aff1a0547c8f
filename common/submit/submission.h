/* submission.h: what a submission carries, as its body says (body.h), and the row that it becomes, wherever it
 * comes in: at a router, as a task behind a task, or as the task of a schedule; calls among them; and
 * definitions of schedules. Pure. */
#ifndef SEGQ_SUBMIT_SUBMISSION_H
#define SEGQ_SUBMIT_SUBMISSION_H

#include "common/base/buf.h"
#include "common/base/memory.h"
#include "common/http/http.h"
#include "common/submit/body.h"
#include "common/task/rules.h"
#include "common/wire/msg.h"

/* ---- calls --------------------------------------------------------------------------- */

/* Tasks that are calls to an endpoint: the call form (common/task/call.h) of what a
 * caller says in JSON, or of a request that is to be passed on as it is. */

/* Members of a submission that say a call; PATH is always among them. */
#define CALL_MEMBERS                                                                     \
    (WITH(PATH) | WITH(METHOD) | WITH(HEADERS) | WITH(BODY) | WITH(BODY_JSON) | WITH(BODY_BASE64))
/* A form is at most so much longer than the JSON, or the request, that it is made of. */
#define CALLBACK_MORE 64

/* Decoded where it lies: how many bytes; -1: it is no base64 with padding. */
int64_t callback_base64(struct slice text);
/* Appends the form of b, whose texts change by it. False: e says why. *body_n: bytes of its body. */
SQ_CHECK bool callback_of_body(struct buf *form, const struct task_body *b, size_t *body_n,
                               struct body_error *e);
/* Fields that are not passed on: it is for us; it tells tasks of one tenant apart, and to the target all
 * tenants are one. */
enum { CALLBACK_NO_AUTH = 1, CALLBACK_NO_IDEM = 2 };
/* Makes the form of a request: its method, its headers but for those that are not passed on, its body. path: from a
 * slash on, with its query. */
SQ_CHECK bool callback_of_request(struct buf *form, const struct http_req *q, struct slice path,
                                  unsigned drops, struct body_error *e);

/* ---- what a submission carries ------------------------------------------------------- */

#define SUBMIT_MEMBERS                                                                       \
    (CALL_MEMBERS | WITH(PAYLOAD) | WITH(KEY) | WITH(DELAY) | WITH(AT) | WITH(PRIORITY) |    \
     WITH(ORDER) | WITH(NAME) | WITH(IDEMPOTENCY_KEY) | WITH(TTL) | WITH(MAX_ATTEMPTS) |     \
     WITH(RETRY) | WITH(LABELS) | WITH(RESULT) | WITH(UNIQUE) | WITH(COST) | WITH(THEN) |      \
     WITH(GROUP) | WITH(PAYLOAD_BASE64) | WITH(CONTENT_TYPE) | WITH(OFFER_TO))

/* *bytes: what the task carries: its payload, or the form of its call, in `form`; *body_n: how many of them are
 * the submitter's. endpoint: of the queue; "": workers take its tasks; NULL: that is not known. NULL, or a
 * sentence, which may be e's. A payload that is no JSON is b->payload then, in its form
 * (common/task/call.h), in `form`. */
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

/* ---- schedules ----------------------------------------------------------------------- */

/* A schedule's definition in a body, whether a router or the manager has it.
 *
 *   {"cron":"0 3 * * *" | "every":"15m", "zone":"Europe/Berlin", "task":{...}, "jitter":"30s",
 *    "overlap":"allow|skip|cancel_old", "catch_up":"none|last|all", "catch_up_max":10,
 *    "from":SECONDS, "until":SECONDS, "paused":true}
 *
 * Strict, as body.h: a member that is unknown or there twice is refused by its name. `task` is a
 * submission's body without names and moments, which each tick has its own of. */

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

/* By which an operator's change of a definition, which was read as this text, is refused if somebody
 * else has changed it meanwhile: above SCHEDULE_ABSENT, and a whole number that browsers can count. */
uint64_t schedule_version(const void *text, size_t n);

#endif
