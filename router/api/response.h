/* response.h: the public HTTP interface: a result to status, headers and JSON. Pure (crypto only
 * for key ids). Only this module knows statuses and member names.
 * Queue and lane names are [a-z0-9_-], passes and tokens base64url: they need no escaping (the
 * operator's message was escaped by routes_queue.c; details of problems are, by http.c); what
 * came from a client is never repeated in an answer. */
#ifndef SEGQ_ROUTER_API_RESPONSE_H
#define SEGQ_ROUTER_API_RESPONSE_H

#include "common/base/buf.h"
#include "common/http/http.h"
#include "router/flow/flow.h"

#define API_JSON "application/json"

/* code, status, text */
#define API_PROBLEMS(X)                                                                  \
    X(BAD_REQUEST, 400, "bad_request")                                                   \
    X(QUEUE_NOT_FOUND, 404, "queue_not_found")                                           \
    X(QUEUE_CLOSED, 403, "queue_closed")                                                 \
    X(QUEUE_FULL, 503, "queue_full")                                                     \
    X(QUEUE_UNAVAILABLE, 503, "queue_unavailable")                                       \
    X(TICKET_UNKNOWN, 404, "ticket_unknown")                                             \
    X(TICKET_GONE, 410, "ticket_gone")                                                   \
    X(TOO_FAST, 429, "too_fast")                                                         \
    X(NOT_ELIGIBLE, 403, "not_eligible")                                                 \
    X(CHALLENGE_REQUIRED, 428, "challenge_required")                                     \
    X(CHALLENGE_INVALID, 403, "challenge_invalid")                                       \
    X(CHALLENGE_EXPIRED, 403, "challenge_expired")                                       \
    X(CHALLENGE_OTHER_QUEUE, 403, "challenge_other_queue")                               \
    X(CHALLENGE_OTHER_ADDRESS, 403, "challenge_other_address")                           \
    X(CHALLENGE_OTHER_JOIN, 403, "challenge_other_join")                                 \
    X(CHALLENGE_UNSOLVED, 403, "challenge_unsolved")                                     \
    X(CHALLENGE_USED, 403, "challenge_used")                                             \
    X(CHALLENGE_UNVERIFIED, 403, "challenge_unverified")                                 \
    X(SUSPECT_NETWORK, 429, "suspect_network")                                           \
    X(CONFLICT, 409, "conflict")                                                         \
    X(OTHER_DEVICE, 403, "other_device")                                                 \
    X(PROOF_REQUIRED, 401, "proof_required")                                             \
    X(PASS_INVALID, 401, "pass_invalid")                                                 \
    X(PASS_REVOKED, 403, "pass_revoked")                                                 \
    X(PASS_OTHER_METHOD, 403, "pass_other_method")                                       \
    X(PASS_OTHER_URL, 403, "pass_other_url")                                             \
    X(PASS_USED, 403, "pass_used")                                                       \
    X(PAYLOAD_TOO_LARGE, 413, "payload_too_large")                                       \
    X(METHOD_NOT_ALLOWED, 405, "method_not_allowed")                                     \
    X(UNAUTHORIZED, 401, "unauthorized")                                                 \
    X(NOT_FOUND, 404, "not_found")                                                       \
    X(UNSUPPORTED_MEDIA_TYPE, 415, "unsupported_media_type")                             \
    X(SCHEDULE_UNKNOWN, 404, "schedule_unknown")                                         \
    X(GROUP_UNKNOWN, 404, "group_unknown")                                               \
    X(GROUP_SEALED, 409, "group_sealed")                                                 \
    X(TASK_UNKNOWN, 404, "task_unknown")                                                 \
    X(TASK_GONE, 410, "task_gone")                                                       \
    X(TASK_FINAL, 409, "task_final")                                                     \
    X(IDEMPOTENCY_MISMATCH, 422, "idempotency_mismatch")                                 \
    X(UNIQUE_CONFLICT, 409, "unique_conflict")                                           \
    X(TOO_MANY_IN_BATCH, 413, "too_many_in_batch")                                       \
    X(QUEUE_HAS_ENDPOINT, 409, "queue_has_endpoint")                                     \
    X(ENDPOINT_UNKNOWN, 404, "endpoint_unknown")                                         \
    X(ROUTE_UNKNOWN, 404, "route_unknown")                                               \
    X(NO_ROUTE, 422, "no_route")                                                         \
    X(ENDPOINT_FAILED, 502, "endpoint_failed")                                           \
    X(OUTCOME_UNKNOWN, 503, "outcome_unknown")                                           \
    X(WAIT_TOO_LONG, 429, "wait_too_long")                                               \
    X(WAIT_OVER, 504, "wait_over")                                                       \
    X(OVERLOADED, 503, "queue_unavailable") /* this router is overloaded */

enum api_problem {
#define X(name, status, text) API_##name,
    API_PROBLEMS(X)
#undef X
};

struct api_told { /* facts of an answer about a task or a ticket, for the words of other APIs */
    bool permit, stopping;
    const char *state, *reason; /* words; NULL: not told */
    int64_t position, eta_s, entered_s, started_s, ended_s; /* Unix seconds; -1: not told */
    struct slice result;    /* any bytes; borrowed until it is answered */
    const char *pass;       /* likewise; NULL: none */
    size_t pass_len;
    int64_t pass_expires_s;
    const char *code, *detail; /* a problem's */
    char task[TOKEN_TEXT_LEN + 1]; /* "": nothing; the last: its first byte is all that is reset */
};

struct api_ans { /* reused from request to request */
    int status;
    const char *type;   /* NULL: no body */
    struct buf headers; /* extra lines, each with CRLF */
    struct buf body;
    struct api_told told;
    bool wraps; /* the next problem has `error`, too: clients of language models read nothing else */
};

void api_ans_init(struct api_ans *a);
void api_ans_fini(struct api_ans *a);
void api_ans_reset(struct api_ans *a);
/* Notes whose answer it is: the n characters of a task's or ticket's token. */
void api_tell_name(struct api_told *x, const char *token, size_t n);
/* Begins an answer with JSON. */
void api_ok(struct api_ans *a, int status);
/* For what is given to the server: "" or the lines, 0-terminated; NULL: no memory. */
const char *api_headers(struct api_ans *a);

int api_problem_status(enum api_problem p);
const char *api_problem_code(enum api_problem p);
/* salt: spreads Retry-After; also the request_id. detail: ours. */
void api_problem(struct api_ans *a, enum api_problem p, const char *detail,
                 uint64_t salt);
/* Likewise, to be tried again when wait_ms have passed; the answer says so. */
void api_problem_later(struct api_ans *a, enum api_problem p, const char *detail, uint64_t wait_ms,
                       uint64_t salt);
/* 429, with when to come again. detail: ours. */
void api_too_fast(struct api_ans *a, uint32_t wait_ms, const char *detail, uint64_t salt);
/* A request that http.c refused. */
void api_bad_http(struct api_ans *a, int status, uint64_t salt);
/* 403 queue_closed of a queue that has more to say: until when, the operator's message. */
void api_closed(struct api_ans *a, const struct route_queue *q, const char *detail,
                uint64_t salt);
/* 428, with the challenge: n bytes of JSON; 0: the queue's service is to be asked for a token. */
void api_challenge(struct api_ans *a, const char *challenge, size_t n, uint64_t salt);
/* A ticket that another device shows than the one that it works with. */
void api_other_device(struct api_ans *a, seg_id seg, uint32_t number, uint64_t salt);
/* A pass is missing or not good. room: where one waits for one, with nothing special to
 * JSON in it; n 0: it is not known which queue's. May lie in a->headers. */
void api_no_pass(struct api_ans *a, enum api_problem p, const char *detail,
                 struct slice room, uint64_t salt);
void api_bad_method(struct api_ans *a, const char *allow, uint64_t salt);

struct api_ticket {
    char token[TOKEN_TEXT_LEN];
    const struct route_queue *queue; /* borrowed: its record in the map, its figures */
    unsigned lane;
    bool permit; /* told as a task */
    bool admitted;
    uint64_t position; /* 0 while waiting: not known now (null) */
    seg_id of;       /* the ticket's own name: segment and number, as in its token */
    uint32_t number;
    bool early;             /* waits for the draw, when its queue opens */
    uint32_t poll_after_ms;
    seg_id segment;
    const char *pass; /* admitted */
    size_t pass_len;
    int64_t released_at_ms, pass_expires_s;
};
/* The line that says where the ticket can be polled. token: TOKEN_TEXT_LEN characters. */
#define API_LOCATION_LEN (24 + TOKEN_TEXT_LEN)
void api_location(char line[API_LOCATION_LEN], const char *token);
/* location: the answer to a join. */
void api_ticket(struct api_ans *a, int status, const struct api_ticket *t, bool location);
/* A permit that is over. token: TOKEN_TEXT_LEN characters. */
void api_permit_over(struct api_ans *a, const char *token, enum gone_reason why);
/* Equal for two tickets that wait, if what is told of them differs in figures only. */
uint32_t api_words(const struct api_ticket *t);
/* 204: this router takes no further listeners now. */
void api_no_listener(struct api_ans *a, uint64_t salt);
const char *api_gone_word(unsigned why); /* enum gone_reason */
/* Problem of a join that got no ticket. */
enum api_problem api_flow_problem(const struct flow *f);
/* A flow that ended with something else than a ticket. wait_s: Retry-After where its node is awaited. */
void api_failed(struct api_ans *a, const struct flow *f, uint32_t wait_s, uint64_t salt);

void api_queue(struct api_ans *a, const struct route_queue *q);
void api_jwk(struct buf *b, const uint8_t key[32]);
void api_jwks(struct api_ans *a, const uint8_t (*keys)[32], size_t n);
void api_ready(struct api_ans *a, bool ready, uint64_t map_version, size_t up, size_t of);
void api_health(struct api_ans *a);

/* Seconds, rounded up; -1: not known (rate 0). */
int64_t api_eta_s(uint64_t position, const struct lane_stats *s);
/* The place is further back than what is told. */
static inline bool api_is_capped(const struct api_ticket *t)
{
    uint64_t cap = t->queue->map.position_cap;

    return cap != 0 && t->position > cap;
}
/* The position that is told: the cap instead of one behind it. */
static inline uint64_t api_position(const struct api_ticket *t)
{
    return api_is_capped(t) ? t->queue->map.position_cap : t->position;
}
static inline const struct lane_stats *api_lane_stats(const struct api_ticket *t)
{
    return &t->queue->stats.lane[t->lane];
}

#endif
