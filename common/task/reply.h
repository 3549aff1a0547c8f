/* reply.h: the reply form: what a target answered, beside the bytes of its answer: status and
 * Content-Type, in front of the result of a task that called an endpoint. A result without them (a
 * worker's) has no such head. Pure. */
#ifndef SEGQ_COMMON_TASK_REPLY_H
#define SEGQ_COMMON_TASK_REPLY_H

#include "common/base/buf.h"

#define REPLY_TYPE_MAX   127 /* bytes of a Content-Type */
#define REPLY_STATUS_MAX 999

struct reply { /* borrowed */
    unsigned status;  /* 100 .. REPLY_STATUS_MAX; 0: there is no reply, all is `rest` */
    const char *type; /* Content-Type, without a 0 behind it */
    size_t type_n;    /* 0: none */
    const uint8_t *rest;
    size_t rest_n;
};

/* It may be said again in an answer of ours: printable ASCII, and not too long. */
bool reply_type_ok(const char *p, size_t n);
/* Appends the head; the result comes behind it. A type that is not ok is left out. */
void reply_pack(unsigned status, const char *type, size_t n, struct buf *out);
/* 0; SQ_EPROTO: it begins as a head, and is none. */
SQ_CHECK int reply_unpack(const uint8_t *p, size_t n, struct reply *r);

#endif
