/* reply.h: the reply form: what a target answered, beside the bytes of its answer: status, Content-Type
 * and header fields, in front of the result of a task that called an endpoint. A result without them
 * (a worker's) has no such head. Pure. */
#ifndef SEGQ_COMMON_TASK_REPLY_H
#define SEGQ_COMMON_TASK_REPLY_H

#include "common/base/buf.h"
#include "common/task/call.h"

#define REPLY_TYPE_MAX   127  /* bytes of a Content-Type */
#define REPLY_FIELDS_MAX 4096 /* bytes of all header fields that are kept, packed (call.h) */
#define REPLY_STATUS_MAX 999

struct reply { /* borrowed */
    unsigned status;  /* 100 .. REPLY_STATUS_MAX; 0: there is no reply, all is `rest` */
    const char *type; /* Content-Type, without a 0 behind it */
    size_t type_n;    /* 0: none */
    struct call_span fields; /* call_header_next() reads them */
    bool fields_cut;  /* more fields than there was room for */
    const uint8_t *rest;
    size_t rest_n;
};

/* True: may be said again in an answer of ours: printable ASCII, and not too long. */
bool reply_type_ok(const char *p, size_t n);
/* A header field of an answer is kept, and said again with it: one that tells a client about the answer,
 * the next request, limits or a trace. All others are left out, also such as nobody has invented yet:
 * orders to a proxy, a CDN or a browser, which would take the target's origin for ours; cookies; rules
 * for caches and what else we say ourselves. */
bool reply_field_kept(const char *name, size_t n);
/* May an operator add it to them? */
bool reply_field_may_be_added(const char *name, size_t n);
/* Packed, and each may be said again. */
bool reply_fields_ok(struct call_span fields);
/* Appends the head, of all members but `rest`; the result comes behind it. A type that is not ok is
 * left out. */
void reply_pack(const struct reply *r, struct buf *out);
/* 0; SQ_EPROTO: it begins as a head, and is none. */
SQ_CHECK int reply_unpack(const uint8_t *p, size_t n, struct reply *r);

#endif
