/* answer.h: an HTTP answer to the request at hand: what is in r->ans, or a refusal. Shell.
 * Each function that answers does so once; req is the server's and is not to be used after. */
#ifndef SEGQ_ROUTER_ANSWER_H
#define SEGQ_ROUTER_ANSWER_H

#include "router/state/router.h"

/* Sends r->ans and empties it. */
void router_answer(struct router *r, struct httpd_req *req);
/* The same of an answer of `length` bytes, of which r->ans has the first; the rest is the caller's to
 * send (httpd_may_open_sized() has been asked). False: there is no memory; that has been answered. */
SQ_CHECK bool router_answer_begin(struct router *r, struct httpd_req *req, uint64_t length);
void router_problem(struct router *r, struct httpd_req *req, enum api_problem p,
                    const char *detail);
/* False: its address is over its budget `k`; that has been answered. */
SQ_CHECK bool router_may_pass(struct router *r, struct httpd_req *req, enum limit_kind k);
/* Answers a request whose token is not ours. */
void router_forged(struct router *r, struct httpd_req *req);

static inline uint64_t router_request_id(struct router *r)
{
    return r->request_id += 0x9e3779b97f4a7c15ull;
}

#endif
