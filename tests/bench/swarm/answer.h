/* answer.h: reads an HTTP answer, and the ticket in it. Pure.
 * Strict enough to find a router's mistakes; not a general client. */
#ifndef SEGQ_SWARM_ANSWER_H
#define SEGQ_SWARM_ANSWER_H

#include "common/base/base.h"

struct answer {
    int status;
    int retry_after_s; /* -1: not said */
    bool close;        /* the server will close */
    const char *body;  /* borrowed from the input */
    size_t len;
};

/* > 0: bytes of the whole answer; 0: more bytes needed; SQ_EPROTO: not HTTP as we know it.
 * Text: the input is not changed. */
SQ_CHECK int64_t answer_parse(struct answer *a, const char *p, size_t n);

enum ticket_state { TICKET_WAITING, TICKET_ADMITTED };

struct ticket {
    enum ticket_state state;
    const char *token; /* all borrowed from the body */
    size_t token_len;
    bool has_position; /* false while a segment is being recovered */
    uint64_t position;
    uint32_t poll_after_ms;
    const char *pass;
    size_t pass_len;
    int64_t released_ms; /* Unix time */
};

SQ_CHECK int ticket_parse(struct ticket *t, const char *body, size_t n); /* 0 or SQ_EPROTO */

/* The value of a top-level member, as text; a string without its quotes. */
bool json_member(const char *body, size_t n, const char *name, const char **v, size_t *len);
/* 64 bits that stand for a text; equal texts, equal numbers. Never 0. */
uint64_t text_hash(const char *s, size_t n);
/* That of the ticket's id ("jti") in a pass; 0: there is none. */
uint64_t pass_id_hash(const char *pass, size_t n);

#endif
