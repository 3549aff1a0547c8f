/* site_asks.h: questions to the services that tell people from programs (challenge.verify_url of a
 * queue): the form that siteverify has at Turnstile, hCaptcha, reCAPTCHA and Friendly Captcha 2. Shell:
 * by task/out/out.h, so nothing blocks, and addresses are checked as those of calls are.
 *
 *   POST verify_url, X-API-Key: SECRET     secret=SECRET&response=TOKEN
 *   200 {"success":true}                   a person
 *   200, 400 {"success":false}             none; but if error-codes are about the secret or the service,
 *                                          and with any other answer, nobody knows. (400: a token that is
 *                                          malformed; whoever sends one is not to choose the fallback)
 * Nothing of the client goes there but its token. SITE_ASKS at a time, SITE_ASKS_OF_ONE of them for one
 * network, each SITE_ASK_MS at most. */
#ifndef SEGQ_ROUTER_SITE_ASKS_H
#define SEGQ_ROUTER_SITE_ASKS_H

#include "router/state/router.h"

#define SITE_ASKS      256
#define SITE_ASKS_OF_ONE 32
#define SITE_ASK_MS    3000
#define SITE_TOKEN_MAX 4096 /* bytes; a longer one is none */

enum site_said { SITE_PERSON, SITE_NONE, SITE_UNKNOWN, SITE_ENDED }; /* ENDED: the router ends: nobody is answered */
typedef void (*site_said_fn)(void *arg, enum site_said said);

struct site_asks;

/* Are so many asked for that network (limit_site(); 0: it is not known)? */
bool site_asks_are_many(const struct router *r, uint64_t from);
/* False: it cannot be asked, now or at all; then fn is not called. fn is called once, in a later turn. */
SQ_CHECK bool site_ask(struct router *r, const struct map_queue *q, uint64_t from, struct slice token,
                       site_said_fn fn, void *arg);
void site_asks_free(struct site_asks *a); /* NULL is fine */

#endif
