/* body.h: the bodies of requests about tasks: JSON objects whose members stand in one table
 * (json_members.h). Pure. A payload and a result are any JSON value, and are kept byte for byte. */
#ifndef SEGQ_SUBMIT_BODY_H
#define SEGQ_SUBMIT_BODY_H

#include "common/http/httpd.h"
#include "common/submit/json_members.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "common/ticket/token.h"

#define TASK_WAIT_MAX_MS  60000
#define TASK_LEASE_MAX_MS 43200000
#define TTL_MOST          (INT64_C(400) * 86400000)

enum task_verb { VERB_ACK, VERB_NACK, VERB_EXTEND, TASK_NVERBS }; /* see enum task_settle */

/* name, member of struct task_body, how it is read (body.c), least, most */
#define TASK_MEMBERS(X)                                                                  \
    X(PAYLOAD, payload, value, 1, TASK_BODY_MAX)                                         \
    X(PATH, path, text, 1, CALL_PATH_MAX)                                                \
    X(METHOD, method, text, 1, CALL_METHOD_MAX)                                          \
    X(HEADERS, headers, value, 2, TASK_BODY_MAX)                                         \
    X(BODY, body, sent, 0, TASK_BODY_MAX)                                                \
    X(BODY_JSON, body_json, sent_json, 1, TASK_BODY_MAX)                                     \
    X(BODY_BASE64, body_base64, sent, 0, 2 * TASK_BODY_MAX)                              \
    X(KEY, key, key, 1, 2 * TASK_NAME_MAX + 1)                                           \
    X(DELAY, delay, span, 0, DELAY_MAX_MS)                                               \
    X(AT, at, moment, 1, INT64_C(253402300799000))                                       \
    X(PRIORITY, priority, whole, 0, TASK_PRIORITIES - 1)                                 \
    X(ORDER, order, whole, INT64_MIN, INT64_MAX)                                         \
    X(NAME, name, name, 1, TASK_NAME_MAX)                                                \
    X(IDEMPOTENCY_KEY, idempotency_key, visible, 1, TASK_IDEM_MAX)                       \
    X(TTL, ttl, span, 1, TTL_MOST)                                                       \
    X(MAX_ATTEMPTS, max_attempts, whole, 1, ATTEMPTS_MAX)                                \
    X(RETRY, retry, retry, 0, 0)                                                         \
    X(LABELS, labels, labels, 0, LABELS_MAX)                                             \
    X(UNIQUE, unique, unique, 1, TASK_IDEM_MAX)                                          \
    X(N, n, whole, 1, TASK_ROWS_MAX)                                                     \
    X(LEASE, lease, span, 1, TASK_LEASE_MAX_MS)                                          \
    X(WAIT, wait, span, 0, TASK_WAIT_MAX_MS)                                             \
    X(LEASE_ID, lease_id, visible, 1, 64)                                                \
    X(RESULT, result, value, 1, TASK_BODY_MAX)                                           \
    X(REASON, reason, words, 1, ATTEMPT_REASON)                                          \
    X(TASK, task, visible, 1, 64)                                                        \
    X(VERB, verb, verb, 0, TASK_NVERBS)                                                            \
    X(OUTCOME, outcome, outcome, 0, 3)                                                   \
    X(STATUS, status, whole, 100, 599)                                                   \
    X(CLAIM, claim, visible, 1, CLAIM_MAX_LEN)                                           \
    X(TAKE, take, value, 1, TASK_BODY_MAX)                                               \
    X(QUEUE, queue, visible, 1, TASK_NAME_MAX)                                           \
    X(COST, cost, whole, 1, TASK_COST_MAX)                                               \
    X(THEN, then, value, 1, TASK_BODY_MAX)                                               \
    X(GROUP, group, name, 1, TASK_NAME_MAX)                                              \
    X(PAYLOAD_BASE64, payload_base64, text, 0, 2 * TASK_BODY_MAX)                        \
    X(RESULT_BASE64, result_base64, text, 0, 2 * TASK_BODY_MAX)                          \
    X(CONTENT_TYPE, content_type, type, 3, REPLY_TYPE_MAX)                               \
    X(PERCENT, percent, whole, 0, 100)                                                   \
    X(TEXT, text, words, 1, PROGRESS_TEXT)                                               \
    X(DATA, data, value, 1, PROGRESS_DATA)                                               \
    X(OFFER_TO, offer_to, queues, 1, OFFER_QUEUES - 1)

enum task_member {
#define X(NAME, member, how, least, most) MEMBER_##NAME,
    TASK_MEMBERS(X)
#undef X
    TASK_NMEMBERS
};

_Static_assert(TASK_NMEMBERS <= JSON_MEMBERS_MAX, "WITH() has a bit for each");
#define WITH(NAME)   (UINT64_C(1) << MEMBER_##NAME) /* a set of members */
#define EVERY_MEMBER ((UINT64_C(1) << TASK_NMEMBERS) - 1)

struct task_body { /* slices point into the request's bytes */
    uint64_t has; /* WITH(...) | ...: what is not there is zero */
    struct slice payload, key, name, idempotency_key, lease_id, result, reason, task, claim;
    struct slice group, queue, take, then; /* take, then: objects, each to be read as a body of its own */
    struct slice path, method, headers, body, body_json, body_base64; /* parts of a call */
    bool is_tenants; /* no Idempotency-Key among its headers: to the target all tenants are one */
    int64_t delay, at, lease, wait; /* ms; at: Unix ms */
    struct slice payload_base64, result_base64, content_type;
    bool raw; /* payload_base64 has the bytes themselves */
    struct slice text, data; /* parts of a progress */
    int64_t percent;
    int64_t priority, order, n, verb;
    int64_t outcome, status; /* outcome: enum task_complete */
    int64_t ttl, max_attempts, cost;
    struct task_retry {
        int64_t min, max, doublings, jitter; /* the value + 1; 0: not there */
    } retry;
    struct slice labels, offer_to; /* "a,b" */
    struct task_unique {
        struct slice key;
        int64_t lasts, on_conflict; /* enum unique_while, unique_conflict */
    } unique;
};

/* True for a submission: its member `result` is missing, or a word that we know. */
bool task_body_keeps_or_drops(const struct task_body *b);
/* The member of struct task_own for a cost; 0: nothing is said. */
static inline uint64_t task_own_cost(int64_t cost)
{
    return cost > 1 ? (uint64_t)cost + 1 : 0;
}
/* For a submission. labels: 0-terminated. */
struct task_own task_body_own(const struct task_body *b, const char *labels);

/* Reads an object at s; `may`: the members that it may have. False: *e says why; the scan may go on
 * behind the object if it is JSON (s->why is NULL then). */
SQ_CHECK bool task_body_read(struct task_body *b, struct json_scan *s, uint64_t may,
                             struct body_error *e);
/* The whole body: one object, or nothing at all. */
SQ_CHECK bool task_body_whole(struct task_body *b, struct slice text, uint64_t may,
                              struct body_error *e);

/* A key of one or two levels: "tenant7" or "tenant7/user42". */
bool task_key_ok(struct slice key);

/* Reads one value of a stranger's body by a pointer ("/options/size"): where routes and costs look into
 * it. Pure. Nothing is changed, or copied: what was read goes to the target. */
enum body_at {
    AT_FOUND,
    AT_NOTHING, /* also of what is no JSON */
    AT_TWICE,   /* targets differ in which of two equal members counts: so none does */
    AT_DEEP,    /* JSON nested deeper than is read: perhaps it is there */
};

#define BODY_UNKNOWN UINT64_MAX /* a length that nobody has said */

/* raw: bytes of the value, as they stand. length: of all of the body; more than `body` has: that is its begin, and
 * what is further on is as if it were not there. */
enum body_at body_at(struct slice body, uint64_t length, const char *pointer, struct slice *raw);

/* The part of a request's body that is looked at, and how long all of it is. */
static inline struct slice task_body_seen(const struct http_req *q)
{
    return (struct slice){ q->body.p, q->in_pieces ? u64_min(q->body.n, HTTPD_BEGIN) : q->body.n };
}
static inline uint64_t task_body_length(const struct http_req *q)
{
    return !q->in_pieces ? q->body.n : q->length != 0 ? q->length : BODY_UNKNOWN;
}

#endif
