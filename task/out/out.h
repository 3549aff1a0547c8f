/* out.h: HTTP requests to targets, on the process's loop: no thread, nothing blocks. Shell.
 *
 *   clients     our own (plain.h) for http:// without a proxy; libcurl for TLS, HTTP/2 and proxies.
 *               Which it is makes no difference to who calls
 *   names       are asked by us (common/net/hosts.h), and libcurl gets addresses alone: so its
 *               resolver, which would need threads, never runs. An answer counts for 5 s, and for
 *               60 s while name servers do not answer
 *   addresses   are checked each time that a connection is made (trust.h); with a proxy it is the
 *               proxy that is reached, and not checked: it is the operator's word
 *   at most once  a request is not sent again if a kept connection dies under it, since the target
 *               may have had it
 *   answers     are read as http_answer.h says, strictly; of a body OUT_BODY_MAX bytes. One that
 *               goes on is an answer all the same, since the target has done the work: its length
 *               and hash are those of the bytes that were read
 *   as it comes an answer may be heard while it comes (out_reader): no more of it is read from the
 *               target than its reader has room for. With HTTP/2 a connection has one call at a time:
 *               one that waits for its reader would hold up the others on it
 *   bounds      deadline, connect timeout, bytes of head and body, kept connections; none is older
 *               than 5 min, so that a name's new address is seen
 *   a file      as body is read in pieces of 64 KiB, as the target takes them, and none is kept
 *   never       redirects, decompression, cookies, proxies of the environment, an unverified
 *               certificate */
#ifndef SEGQ_OUT_H
#define SEGQ_OUT_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/ip.h"
#include "common/net/ev.h"
#include "task/calls/verdict.h"

#define OUT_ALLOW_MAX 32
#define OUT_BODY_MAX  ANSWER_READ_MAX /* bytes of an answer; then its connection is closed */

struct out;
struct out_target;
struct out_call;

struct out_rules { /* options of a target; copied, but for the texts of TLS */
    const char *url; /* "http://host:port/path" */
    const char *address; /* address of its host, for all connections; NULL, "": the name is asked for */
    unsigned n_allow;
    struct ip_net allow[OUT_ALLOW_MAX];
    uint32_t connect_ms;
    struct call_span ca, cert, key; /* PEM, as long as the target is there; n 0: none */
    const char *proxy; /* "http://host:port"; "": none */
    const char *told;  /* msg_endpoint.told; NULL, "": none */
    bool by_curl;      /* libcurl, also where our own client could: for tests that compare them */
};

#define OUT_ANY UINT32_MAX

struct out_file { /* a body that is read from a file while it is sent */
    int fd;       /* closed with the call, also by an out_send() that fails; -1: there is none */
    uint64_t length;
    uint8_t sha256[RESULT_SHA256]; /* hash of all: the last piece leaves if it is right */
};

struct out_reader { /* hears an answer while it comes; arg: that of the call */
    /* Head of an answer of which more follows than has come with it; *a: so far, without bytes. */
    void (*head)(void *arg, const struct call_answer *a);
    /* Next bytes of its body. */
    void (*more)(void *arg, const void *p, size_t n);
    /* Bytes that may come now; fewer than the n that are here: none until out_go_on(), and the target
     * waits. OUT_ANY: nobody reads: OUT_BODY_MAX holds. */
    uint32_t (*room)(void *arg, size_t n);
};

struct out_request { /* read during out_send() only */
    const char *method;
    const char *path;   /* from a slash on; behind the target's own */
    const char *fields; /* lines "name: value", each with a 0 behind it, */
    size_t fields_n;    /* in so many bytes */
    struct call_span body;
    struct out_file file; /* length > 0: in place of it */
    uint32_t deadline_ms;
    uint32_t keep; /* bytes of the answer's body */
    /* NULL, or gets all of a body that is longer than that, piece by piece as it comes. */
    void (*long_one)(void *arg, const void *p, size_t n);
    /* NULL, or hears all bytes of the answer's body as they come; *a: its head, and their number before these. */
    void (*hear)(void *arg, const struct call_answer *a, const void *p, size_t n);
    const char *used_header;         /* name of the field that call_answer.used is of; NULL: none */
    const struct out_reader *reader; /* ref; NULL: none */
    bool (*may)(void *arg); /* asked when the first byte is about to leave; false: it does not */
};

typedef void (*out_fn)(void *arg, const struct call_answer *a);

SQ_CHECK int out_new(struct out **out, struct ev *ev, struct err *e);
/* Header fields of answers that are kept beside those of reply_field_kept(), one more. */
SQ_CHECK int out_pass(struct out *o, const char *name, struct err *e);
/* Calls that may be under way together: each has a connection, and so a descriptor. */
size_t out_calls_most(const struct out *o);
void out_free(struct out *o); /* no target is left; NULL is fine */

SQ_CHECK int out_target_new(struct out_target **out, struct out *o, const struct out_rules *r,
                            struct err *e);
/* Cancels its calls. NULL is fine. */
void out_target_free(struct out_target *t);

/* Is it known that none of its addresses may be reached? Then why, in words; calls would end REFUSED. A
 * name is asked for, so that the answer is known soon, and changes when the name's addresses do. */
bool out_target_is_refused(struct out_target *t, char *why, size_t cap);

/* fn is called once, at the end of this turn or of a later one. NULL: no memory, and fn is not called. */
struct out_call *out_send(struct out_target *t, const struct out_request *q, out_fn fn, void *arg);
/* Reads on: the reader has room again. */
void out_go_on(struct out_call *c);
/* Answer so far: head, and the first bytes. NULL: not all of these are kept. */
const struct call_answer *out_so_far(struct out_call *c);
/* Head of an answer of which more follows; NULL: it is not here yet. */
const struct call_answer *out_head(const struct out_call *c);
/* First bytes of the answer, as far as they are kept; the number of them in *n. */
const uint8_t *out_first(const struct out_call *c, size_t *n);
/* Closes its connection; fn is not called. Not from inside fn. */
void out_cancel(struct out_call *c);

#endif
