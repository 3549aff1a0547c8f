/* request.h: the header fields of a call: the caller's, and ours. Pure. */
#ifndef SEGQ_CALLS_REQUEST_H
#define SEGQ_CALLS_REQUEST_H

#include "common/task/call.h"
#include "task/calls/sign.h"

struct request_facts {
    const char *task;  /* id, PARTITION-NUMBER: a token would be the right to read it */
    const char *queue;
    unsigned attempt;  /* 1: the first; later ones may find that the target knows the task already */
    int64_t due_ms;    /* Unix ms: when it began to wait */
    int64_t now_ms;    /* Unix ms: for the signature */
    const struct sign_keys *keys; /* NULL: it is not signed */
    const char *public_url;       /* address of routers, as targets reach them; "": not known */
    const char *right;            /* to say how the attempt ended; RIGHT_TEXT_LEN characters and a 0 */
};

/* Appends lines "name: value", each with a 0 behind it. Without memory out->failed is set. */
void request_fields(const struct call *c, const struct request_facts *f, struct buf *out);

#endif
