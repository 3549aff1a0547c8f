/* request.h: the public HTTP interface: a request's method and path to what is wanted. Pure. */
#ifndef SEGQ_ROUTER_API_REQUEST_H
#define SEGQ_ROUTER_API_REQUEST_H

#include "common/base/err.h"
#include "common/http/http.h"
#include "common/submit/json_members.h"
#include "common/ticket/pass.h"
#include "router/gate/signed_claim.h"

enum api_call {
    API_JOIN,  /* POST /v1/queues/{queue}/tickets */
    API_POLL,  /* GET /v1/tickets/{token} */
    API_EVENTS, /* GET /v1/tickets/{token}/events */
    API_LEAVE, /* DELETE /v1/tickets/{token} */
    API_CONTACT, API_UNCONTACT, /* PUT, DELETE /v1/tickets/{token}/contact */
    API_DEVICE, /* POST /v1/tickets/{token}/device */
    API_QUEUE, /* GET /v1/queues/{queue} */
    API_JWKS,  /* GET /.well-known/jwks.json */
    API_VERIFY, /* GET /v1/verify */
    API_SESSION, /* POST /v1/session */
    API_PAGE,  /* GET /q/{queue} */
    API_WORDS, /* GET /q/{queue}/words */
    API_WORKER, /* GET /q/{queue}/worker.js */
    API_FORM,  /* POST /q/{queue}/join, enter, leave, tell */
    API_UNFORM, /* GET of these: a form's address was typed in, or loaded again */
    API_START, /* GET / */
    API_TASKS, /* /v1/queues/{queue}/tasks..., router/task_api/path.h */
    API_TASK,  /* /v1/tasks/... */
    API_PERMIT, API_PERMIT_ONE, /* some of these two: router/calls/join.h */
    API_SCHEDULES, /* /v1/schedules/{queue}/..., /v1/groups/{queue}/..., likewise */
    API_PLACES, /* POST /v1/places: a join */
    API_PLACE_GROUP, /* GET, DELETE /v1/places/{group} */
    API_CALL,  /* /v1/call/{endpoint}/..., /v1/route/{route}/... */
    API_COMPAT, /* /compat/v1/..., router/compat: one of the others, in other words */
    API_AWS_ASSIGN, API_AWS_NUMBER, API_AWS_TOKEN, API_AWS_EXPIRY, API_AWS_SERVING, API_AWS_WAITING,
    API_AWS_KEY, /* /assign_queue_num ..., router/calls/aws_door.h */
    API_HEALTH,
    API_READY,
    API_BAD_METHOD, /* 405 and Allow */
    API_BAD_PATH,   /* 400: a bad escape */
    API_NO_PATH,    /* 404 */
};

struct api_req {
    enum api_call call;
    struct slice arg;  /* the queue's name or the token; of tasks all that follows; decoded, but for
                        * API_CALL */
    const char *allow; /* API_BAD_METHOD; of an open path always; NULL: there is nothing */
    char form;         /* API_FORM: 'j', 'e', 'l', 't' */
    bool any_lane;     /* a server that may open lanes without a claim */
    bool by_route;     /* API_CALL: by a route */
    bool group;        /* API_SCHEDULES: /v1/groups/ */
    bool open;         /* needs no cookie: pages of other origins may ask, request.h */
};

/* True: a call about tasks. */
static inline bool api_is_of_tasks(enum api_call c)
{
    return c == API_TASKS || c == API_TASK || c == API_SCHEDULES || c == API_CALL;
}

/* True: a call of AWS' waiting room; its method was not looked at. */
static inline bool api_is_of_aws(enum api_call c)
{
    return c >= API_AWS_ASSIGN && c <= API_AWS_KEY;
}

/* Exact, after one decoding (in place): no dots, no doubled slashes, no case games. */
void api_route(const struct http_req *q, struct api_req *out);
/* True: its path, as it came, is a path of API_COMPAT. */
bool api_is_compat(const struct http_req *q);
/* The token in Authorization: Bearer ...; n 0: none. */
struct slice api_bearer(const struct http_req *q);
/* The first value of that name in a query, as it came; false: it is not there. key: with its "=". */
bool api_query(struct slice query, const char *key, struct slice *out);
bool api_is_name(const char *p, size_t n); /* [a-z0-9][a-z0-9_-]{0,63} */

/* The JSON body of a join, by a table of its members (json_members.h).
 * Unknown members are passed over; members that are there twice, wrong types, nesting over 32 and
 * anything that is not one JSON object in UTF-8 are refused. */

struct join_body {
    uint8_t client;                /* enum client_class */
    uint8_t subject_len, lane_len; /* 0: absent */
    bool any_lane;                 /* whoever asks may open it without a claim */
    uint16_t claim_len, altcha_len; /* 0: absent */
    uint8_t head_len;              /* bindings of the pass; 0: none */
    bool keyed;                    /* the subject stands for an Idempotency-Key */
    bool https;                    /* with device: how the join came */
    bool proved;                   /* likewise: it is the id of a key; else a secret */
    char device[DEVICE_LEN + 1];   /* "": its queue is not bound to devices */
    bool replaces;                 /* a claim that names a ticket to replace: */
    struct token old;
    char old_text[TOKEN_TEXT_LEN];
    char subject[SUBJECT_MAX_LEN];
    char lane[NAME_MAX_LEN];
    char claim[CLAIM_MAX_LEN];     /* not zeroed: only claim_len bytes are there */
    char head[SUBJECT_HEAD_MAX + 1]; /* likewise, head_len; ticket/pass.h */
    char *altcha; /* likewise, altcha_len: answer to a challenge, in the request's bytes */
};

extern const char *const join_clients[CLIENT_NCLASSES]; /* words of `client` */

/* False: *e says why. An empty text: all defaults. It is read where it lies, and changed by that. */
SQ_CHECK bool body_join(struct join_body *b, struct slice text, struct body_error *e);

/* Pages of other origins that may use the API from a browser (Fetch standard,
 * section "CORS protocol"). For games on the web whose page is served by somebody else;
 * a page behind the same name as the routers needs none of it.
 *
 * Only what needs no cookie is opened: tickets, queues and tasks, with the token in the path, or a
 * claim in the body.
 * Never "credentials": the cookies of the waiting page stay its own site's. Nothing is
 * allocated per request, and without `allow_origins` nothing is even looked for. */

struct cors; /* owned */

/* "https://game.example", "http://127.0.0.1:8000", or "*" for any. */
bool cors_is_origin(const char *s);

/* origins: such ones. *out is NULL if there are none. 0 or SQ_ENOMEM. */
SQ_CHECK int cors_new(struct cors **out, char *const *origins, size_t n, struct err *e);
void cors_free(struct cors *c);

/* The lines that an answer to this request needs; NULL: none. Live as long as c. c may be
 * NULL. */
const char *cors_lines(const struct cors *c, const struct http_req *q,
                       const struct api_req *a);
/* A preflight: one that has lines is answered 204 with them, and no more. */
bool cors_preflight(const struct http_req *q, const struct api_req *a);

#endif
