/* bearer.h: the pass that a request presents, checked once, and until when it is good. Shell:
 * the router's keys, what it remembers of passes, and what nodes have told of them. For
 * verify.c, session.c and the page at "/". */
#ifndef SEGQ_ROUTER_BEARER_H
#define SEGQ_ROUTER_BEARER_H

#include "router/state/router.h"

enum bearer_state {
    BEARER_GOOD,
    BEARER_NONE,        /* no pass, or one that is not ours */
    BEARER_ELSEWHERE, /* good for another queue */
    BEARER_OVER,        /* or its time has not come */
    BEARER_REVOKED,
    BEARER_OTHER_METHOD, /* only verify.c finds these: it is good, and bound to another request */
    BEARER_OTHER_URL,
    BEARER_OTHER_DEVICE,
    BEARER_USED, /* good once, and used */
};

#define PASSES_MAX 4 /* passes that are checked in a request: each may cost a signature */

/* Finds in Authorization (Bearer) and the cookies segq_pass the first that is good for `queue`
 * (n 0: for any); an application may use Authorization itself, and a browser may have
 * cookies of that name for other paths and domains. None is good: the first that is ours,
 * and *state (NULL: not asked for) says what is wrong with it; NULL: BEARER_NONE. Borrowed
 * until the next call. */
const struct known_pass *bearer_pass(struct router *r, const struct http_req *q,
                                struct slice queue, enum bearer_state *state);
/* Binding of the good pass x; NULL: none. Borrowed likewise. */
const struct bound *bearer_bound(const struct router *r, const struct known_pass *x);
/* The cookie that a browser presents it in. At least a second, so that a clock that is a
 * little off does not undo an admission. */
void bearer_put_cookie(struct buf *b, const char *pass, size_t n, int64_t age_s, bool https);
/* When it is over: as it says, or later if its session was extended. */
int64_t bearer_until_s(const struct router *r, const struct known_pass *x);
/* The time by its clock: passes.h. */
int64_t bearer_now_s(const struct router *r, const struct known_pass *x);

/* The header line that tells a gate the end of a session, in Unix seconds. */
void bearer_put_expires(struct buf *b, int64_t until_s);
/* 204 and what the gate is told of the pass, into r->ans. */
void bearer_let_in(struct router *r, const struct known_pass *x);

#endif
