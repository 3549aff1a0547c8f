/* device.h: tickets and passes that work only with the device that joined (`bind: device` of a
 * queue). Shell: the cookies of a request, the router's keys and map.
 *
 * A join sets the cookie segq_device_QUEUE: 128 random bits, for scripts invisible. The ticket's token
 * carries its short name (ticket/token.h), what is kept of the ticket and its pass carry its id
 * (ticket/pass.h): so every router and every gate knows the device by what is shown, and nobody
 * keeps a table of them.
 *
 * An operator may let another device take a ticket over: then the map says which (map_queue.moved).
 *
 * A cookie for each queue: two tabs that join two queues at once would overwrite a common one, and one
 * of the two places would be lost. A join that comes again with its Idempotency-Key, without the cookie
 * that was lost with the first answer, gets the same bits: they are made of the key then.
 *
 * With `bind: key` a device may have a key in place of the secret (gate/proof.h). Its cookie is the key's
 * id and a stamp: good for the ticket for ten minutes, then the key must be proved anew; for a pass as
 * long as another cookie, for the pages behind a gate sign nothing. So a poll costs what it costs with a
 * secret, at any router, and requests that no script sends (the page, its forms, events) have it, too. */
#ifndef SEGQ_ROUTER_CALLS_DEVICE_H
#define SEGQ_ROUTER_CALLS_DEVICE_H

#include "router/api/request.h"
#include "router/gate/proof.h"
#include "router/links/flows.h"

enum device_word {
    DEVICE_SAME,  /* or its queue is not bound, or gone */
    DEVICE_OTHER,
    DEVICE_STALE,  /* the same, but its key must be proved anew */
    DEVICE_TAKES,  /* another one, which may take the ticket over (ticket/pass.h) */
    DEVICE_UNSURE, /* the map does not know its queue yet */
};

/* Does the request come from the device of t, which TOKEN_BOUND came with? */
enum device_word device_of(const struct router *r, const struct http_req *q, const struct token *t);
/* The same for a call of the API; false: it has been answered. */
SQ_CHECK bool device_may(struct router *r, struct httpd_req *req, const struct http_req *q,
                         const struct token *t);
/* The same of a good pass. */
bool device_may_pass(const struct router *r, const struct http_req *q, const struct known_pass *x);

/* X-Segq-Device of a pass that is let in: the id, for the site; of any device: no line. */
void device_put_header(struct router *r, const struct known_pass *x);

/* Gives a join of a queue that binds the device of its request. key: its Idempotency-Key, proof: of a key
 * (ticket BIND_KEY alone); p NULL: none. NULL, or what is wrong with the proof: then it has a cookie's device. */
const char *device_join(const struct router *r, struct httpd_req *req, const struct http_req *q,
                        const struct route_queue *queue, struct join_body *b, struct slice key,
                        struct slice proof);
/* The header DPoP; p NULL: none. */
struct slice device_proof(const struct http_req *q);
/* Answers that the key must be proved, with a nonce. */
void device_unproved(struct router *r, struct httpd_req *req, const char *why);
void device_nonce(const struct router *r, char out[STAMP_LEN + 1]);
/* POST /v1/tickets/{token}/device: the cookie of the key that the request proves; answers. */
void device_prove(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice token);
/* Puts it into the head of b, and into the token and text of its flow. */
void device_bind(const struct router *r, struct rflow *rf, struct join_body *b);
/* The cookie, into r->ans, behind a join. */
void device_put_cookie(struct router *r, const struct rflow *rf, const char *queue);
/* Has the join found a place (of its name) that belongs to another device? */
bool device_is_alien(const struct router *r, const struct rflow *rf);
/* DEVICE_TAKES: the managers are told, and the cookie is put into r->ans: it works once the map says so. */
void device_take(struct router *r, struct httpd_req *req, const struct http_req *q, const struct token *t);
/* Composes the refusal, and counts it. */
void device_refuse(struct router *r, seg_id seg, uint32_t number);

#endif
