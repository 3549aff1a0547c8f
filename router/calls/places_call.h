/* places_call.h: a call of several places under way: its steps (flow/places.h) as flows, for the API
 * (places.h) and the page (page_http/places_page.h); and the name of such a group: version, client
 * class, then the places, encrypted under a key made of the cluster's token key. Shell. */
#ifndef SEGQ_ROUTER_PLACES_CALL_H
#define SEGQ_ROUTER_PLACES_CALL_H

#include "common/base/text.h"
#include "router/api/response.h"
#include "router/flow/places.h"
#include "router/links/flows.h"
#include "router/state/router.h"

struct places_call;

/* Composes the answer in r->ans. rf: the poll of the place that is kept, if it has one; else NULL. The step is any
 * but PLACES_DONE: not all was heard; nothing was told. */
typedef void (*places_tell)(struct places_call *c, const struct rflow *rf);

/* A call under way: its flows refer to it, one for each place that is asked. It is answered within the time of a
 * request, however many steps it has. What is not done by then goes on behind the answer: a turn, which the next
 * poll finds where it stands, and places that a join gives back. */
struct places_call {
    enum waiter waits;     /* WAITS_PLACES; httpd's user pointer */
    struct httpd_req *req; /* ref; NULL: it is told, or the client has gone */
    bool told;
    struct router *r;      /* ref */
    struct list_node in_all; /* member of r->places, in the order of due_ms; without req of r->places_behind */
    msec_t due_ms;
    unsigned pending;      /* asks of this step without an answer, and one while they begin */
    bool joins, leaves;    /* kind of the call; neither: a poll */
    uint8_t unsure, outlived; /* UNDO: bits of places: a link ended under that; it goes on by itself */
    struct flow why;       /* a join: flow of the first that it did not get, p.failed */
    struct slice claim;    /* ref: a join's, of the request's bytes; n 0: none */
    bool bad_claim;        /* places_add() refuses the claim */
    uint8_t subject_len;   /* a join's, of its claim; 0: none */
    char subject[SUBJECT_MAX_LEN];
    struct slice key;      /* a join's Idempotency-Key; key_text */
    uint8_t client;
    char key_text[JOIN_KEY_MAX];
    uint8_t lane[PLACES_MAX]; /* a join's, as are these */
    char queue[PLACES_MAX][NAME_MAX_LEN + 1];
    struct places p;
    struct kept_pass {     /* where the others are kept; n 0: none */
        size_t at;         /* in passes */
        uint16_t n;
        int64_t released_at_ms, expires_s;
    } pass[PLACES_MAX];
    struct buf passes;
    places_tell tell;
    void *page;            /* owned; NULL: it is a call of the API */
};

/* NULL: out of memory. */
struct places_call *places_new(struct router *r, struct httpd_req *req, places_tell tell);
void places_free(struct places_call *c); /* before it runs */
/* A join goes to this queue, too. Why that one is in no group, and *p; NULL: it is added. */
SQ_CHECK const char *places_add(struct places_call *c, struct slice name, enum api_problem *p);
/* The same key of a single join has another place: that one's ticket is known, a group's are not.
 * False: it is none. */
SQ_CHECK bool places_key(struct places_call *c, struct slice key);
/* c is taken over, with its queues or places; joins, leaves, or neither. */
void places_run(struct places_call *c);

/* The client of `user` has gone. */
void places_gone(struct places_call *user);
/* Frees the calls whose flows rflow_fini() has freed. */
void places_fini(struct router *r);

/* ---- the name of a group ---- */

#define GROUP_NAME_ROOM 240 /* with its final 0 */

/* 0-terminated. Each time another text. */
void group_name_write(const struct places *p, const struct token_key *k, char out[GROUP_NAME_ROOM]);
/* Fills the tokens of p and its rule, which is all zero. False: it is not ours. */
SQ_CHECK bool group_name_read(struct places *p, const struct token_key *k, struct slice text);

#endif
