/* body_at.h: one value of a stranger's body by a pointer ("/options/size"): where routes and costs look into
 * it. Pure. Nothing is changed, or copied: what was read goes to the target. */
#ifndef SEGQ_SUBMIT_BODY_AT_H
#define SEGQ_SUBMIT_BODY_AT_H

#include "common/http/httpd.h"

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
