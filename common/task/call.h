/* call.h: the call form: the HTTP request that a task of an endpoint is, as it is kept and sent;
 * and which requests may be made: what a caller cannot say, since it would be another request to
 * the target than the one that it seems (another path, length, host, or a header of ours). Pure.
 * A form comes from files and peers: call_unpack() looks at all of it again. And the reply form, payloads
 * that are no JSON, and the window of an answer that is told while it comes. */
#ifndef SEGQ_COMMON_TASK_CALL_H
#define SEGQ_COMMON_TASK_CALL_H

#include <assert.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/task/rules.h"

#define CALL_METHOD_MAX  16
#define CALL_PATH_MAX    8192  /* bytes, with the query */
#define CALL_HEADERS_MAX 64
#define CALL_HEAD_MAX    16384 /* bytes of all names and values */

struct call_span { /* borrowed; no 0 behind it */
    const char *p;
    size_t n;
};

/* A body that is in a file of its own, beside the form (task/bodies/large.h). */
struct call_file {
    uint64_t length; /* bytes; 0: there is none, the body is in the form */
    uint64_t upload; /* number under which its pieces came, on the link of its submission */
    uint8_t sha256[RESULT_SHA256];
};
struct large_piece { /* piece of one that comes (task/bodies/large.h) */
    uint64_t upload, at; /* upload: a number of the link's */
    uint64_t length;     /* bytes of all, as announced; 0: not known */
    const uint8_t *p;
    size_t n;
    bool last;
};

#define CALL_FILE_BYTES (8u + 8u + RESULT_SHA256) /* in a form */

struct call { /* borrowed from the form */
    struct call_span method, path; /* path: with its query; it goes behind the endpoint's url */
    struct call_span headers;      /* call_header_next() reads them */
    struct call_span body;
    struct call_file file; /* length > 0: and `body` is empty */
};

/* Capital letters; not CONNECT, not TRACE. */
bool call_method_ok(const char *p, size_t n);
/* NULL, or what is wrong. From a slash on; without a fragment, and without parts that a target may
 * take for "the folder above" (also where they are escaped). */
const char *call_path_wrong(const char *p, size_t n);
/* NULL, or what is wrong with the name, or with the value. A value has no blanks at its ends. */
const char *call_header_wrong(const char *name, size_t name_n, const char *value, size_t value_n);
/* True: a field of the connection and not of the request, so it is not passed on; or we say it ourselves.
 * '_' counts as '-', since many targets read it so. */
bool call_header_refused(const char *name, size_t n);
/* The first n bytes of the name are `lower`, read in the same way. */
bool call_header_is(const char *name, const char *lower, size_t n);

/* A form is made in this order; what is not right (as above) is the caller's fault: asserted.
 * Without memory out->failed is set. */
void call_pack_begin(struct buf *out, struct call_span method, struct call_span path);
void call_pack_header(struct buf *out, struct call_span name, struct call_span value);
void call_pack_body(struct buf *out, struct call_span body);
/* In place of a body, of a form that is all of *out: its last bytes are those of *f, which
 * call_pack_file_end() writes once it is known. */
void call_pack_file(struct buf *out);
void call_pack_file_end(uint8_t *form, size_t n, const struct call_file *f);
/* Does the form name a file? Its head alone is looked at. */
bool call_has_file(const uint8_t *form, size_t n, struct call_file *f);

/* 0; SQ_EPROTO: it is no form, or no request that may be made. */
SQ_CHECK int call_unpack(const uint8_t *p, size_t n, struct call *c);
/* The next header of `rest`, which goes behind it; false: there is none. Begin with a copy of
 * call.headers. */
bool call_header_next(struct call_span *rest, struct call_span *name, struct call_span *value);

/* ---- the reply form: what a target answered, beside the bytes of its answer ----
 *
 * Status, Content-Type and header fields, in front of the result of a task that called an endpoint.
 * A result without them (a worker's) has no such head. */

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

/* ---- payloads ------------------------------------------------------------------------ */

/* Payloads that are no JSON: their Content-Type and their bytes, behind a mark with which no JSON
 * begins. One that is JSON stands as it came. */

#define PAYLOAD_ANY "application/octet-stream" /* where no type was said */

struct payload { /* borrowed */
    bool typed; /* false: JSON; type is none */
    struct call_span type, bytes;
};

/* A Content-Type as it may be said again: visible ASCII and blanks, with a slash. */
bool payload_type_ok(const char *p, size_t n);
/* type: ok, or n 0: any bytes. */
void payload_pack(struct buf *out, struct call_span type, struct call_span bytes);
struct payload payload_of(const void *p, size_t n);

/* ---- the window of an answer --------------------------------------------------------- */

/* Both ends of an answer that is told piece by piece as it comes (TASK_PIECE): what may be on
 * its way between them, and what has arrived.
 *
 *   at most     WINDOW_BYTES are on their way, or with the receiver: so neither end, nor the link
 *               between them, ever has more of one answer
 *   crumbs      are not sent: a window that is nearly full counts as full, else each one that a fast
 *               target fills ends in a piece of some bytes, which costs as much as a whole one
 *   pieces      count as some bytes more than they have: many small ones are no way around it
 *   more        is asked for when half of it has been taken, not at each piece
 *   order       each piece says what was told before it: bytes are a prefix of what was sent, or the
 *               answer is broken
 *   whole       only what ends by the sender's word, at its known length, if it has one */

#define WINDOW_BYTES 65536u
#define WINDOW_PIECE 16u /* bytes that a piece counts more */
#define WINDOW_LEAST 2048u /* less room is none; well below half of the window: more comes */

struct window_out { /* end of who sends */
    uint64_t told;  /* bytes */
    uint32_t room;  /* bytes that may follow */
    uint32_t all;   /* bytes that may be on their way */
};

struct window_in { /* end of who receives */
    uint64_t heard; /* bytes */
    uint32_t room;  /* bytes that may come */
    uint32_t owed;  /* bytes that were taken, and are not asked for anew */
    bool sized;
    uint64_t length; /* sized */
};

static inline struct window_out window_out(uint32_t bytes)
{
    return (struct window_out){ .room = bytes, .all = bytes };
}

/* Bytes that the next piece may have. */
static inline uint32_t window_room(const struct window_out *w)
{
    return w->room >= WINDOW_LEAST ? w->room - WINDOW_PIECE : 0;
}

static inline void window_tell(struct window_out *w, size_t n)
{
    assert(n > 0 && n <= window_room(w));
    w->told += n;
    w->room -= (uint32_t)n + WINDOW_PIECE;
}

/* False: more than ever were on their way; nothing has changed. */
SQ_CHECK bool window_more(struct window_out *w, uint32_t n);

static inline struct window_in window_in(uint32_t bytes, bool sized, uint64_t length)
{
    return (struct window_in){ .room = bytes, .sized = sized, .length = length };
}

/* A piece of n bytes comes, with `at` before them. False: they are not the next ones, or too many. */
SQ_CHECK bool window_hear(struct window_in *w, uint64_t at, size_t n);
/* All that came has been taken: so many are to be asked for now; 0: later. */
uint32_t window_taken(struct window_in *w);
/* The sender says that it was all: is it? */
static inline bool window_is_whole(const struct window_in *w)
{
    return !w->sized || w->heard == w->length;
}

#endif
