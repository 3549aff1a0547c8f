/* callback.h: tasks that are calls to an endpoint: the call form (common/task/call.h) of what a
 * caller says in JSON, or of a request that is to be passed on as it is. Pure. */
#ifndef SEGQ_SUBMIT_CALLBACK_H
#define SEGQ_SUBMIT_CALLBACK_H

#include "common/base/buf.h"
#include "common/http/http.h"
#include "common/submit/body.h"

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

#endif
