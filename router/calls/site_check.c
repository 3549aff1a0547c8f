/* site_check.c: see site_check.h. */
#include "router/calls/site_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/task/sha256.h"
#include "router/calls/device.h"
#include "router/calls/join_key.h"
#include "router/links/site_asks.h"


struct site_token {
    uint8_t hash[SHA256_BYTES];
    uint64_t id, of_both; /* in the door's table of what was used: of it; of it and who comes with it */
};

struct site_held {
    enum waiter waits; /* WAITS_SITE; httpd's user pointer, dispatch.c */
    struct router *r;  /* ref */
    struct httpd_req *req; /* ref; NULL: the client has gone */
    char queue[NAME_MAX_LEN + 1];
    limit_id client;
    struct site_token token;
    struct site_work work;
    struct join_then then;
    struct join_body b;
};

/* ---- tokens ---- */

static uint64_t id_of(const struct router *r, const uint8_t hash[SHA256_BYTES], const struct join_body *b)
{
    uint8_t in[1 + SHA256_BYTES + SUBJECT_MAX_LEN] = { b != NULL }, mac[HMAC256_BYTES];
    size_t n = b != NULL ? b->subject_len : 0;
    uint64_t id;

    memcpy(in + 1, hash, SHA256_BYTES);
    if (n > 0)
        memcpy(in + 1 + SHA256_BYTES, b->subject, n);
    hmac256_of(mac, &r->door.hash, in, 1 + SHA256_BYTES + n);
    memcpy(&id, mac, sizeof(id));
    return id | 1;
}

/* A join without a name gets the token's: it comes again, and finds its place. */
static void read_token(struct router *r, const struct route_queue *q, struct join_body *b, struct slice said,
                       struct site_token *t)
{
    char key[8 + 2 * SHA256_BYTES], *to = PUT(key, "verify:");
    uint64_t part;

    sha256_of(t->hash, said.p, said.n);
    t->id = id_of(r, t->hash, NULL);
    t->of_both = id_of(r, t->hash, b);
    if (b->subject_len > 0)
        return;
    for (unsigned i = 0; i < SHA256_BYTES; i += sizeof(part)) {
        memcpy(&part, t->hash + i, sizeof(part));
        to = hex_put(to, part);
    }
    join_by_key(r, q, b, (struct slice){ key, (size_t)(to - key) });
}

/* The first time, or again. False: it has been too often, or another person's: two came at once. */
static bool use(struct router *r, const struct site_token *t)
{
    if (crowd_knows(r->door.used, t->id) && !crowd_knows(r->door.used, t->of_both))
        return false;
    (void)crowd_add(r->door.used, t->id, ev_now(r->ev));
    return crowd_add(r->door.used, t->of_both, ev_now(r->ev)).all <= DOOR_USES;
}

/* ---- answers ---- */

static void say(struct router *r, struct httpd_req *req, enum api_problem p, const char *detail)
{
    if (!router_may_pass(r, req, LIMIT_BAD))
        return;
    api_problem(&r->ans, p, detail, router_request_id(r));
    router_answer(r, req);
}

void work_answer(struct router *r, const char *text, size_t n)
{
    if (n > 0)
        api_challenge(&r->ans, text, n, router_request_id(r));
    else
        api_too_fast(&r->ans, 1000, "too many challenges were asked for from this network in this second",
                     router_request_id(r));
}

static void ask_for_work(struct router *r, struct httpd_req *req, const struct site_work *w)
{
    char text[CHALLENGE_TEXT_MAX];

    work_answer(r, text, door_challenge(&r->door, &w->ask, &w->terms, w->level, text));
    router_answer(r, req);
}

static void refuse_call(struct router *r, struct httpd_req *req, enum site_no why, const struct site_work *w)
{
    switch (why) {
    case SITE_NO_PERSON:
        say(r, req, API_CHALLENGE_UNVERIFIED, "the site's check does not take you for a person: get a fresh token of "
            "it, and join again");
        return;
    case SITE_NO_MORE_USES:
        say(r, req, API_CHALLENGE_USED, "the token of the site's check was used before");
        return;
    case SITE_WORK:
        ask_for_work(r, req, w);
        return;
    case SITE_NO_QUEUE:
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
        return;
    case SITE_NO_ROOM:
        api_too_fast(&r->ans, 1000, "the site's check is asked about many joins of this network: bring the same token again",
                     router_request_id(r));
        break;
    case SITE_NO_SERVICE:
        api_problem_later(&r->ans, API_QUEUE_UNAVAILABLE,
                          "the service that tells people from programs does not answer; you have not joined: try again",
                          SITE_AGAIN_MS, router_request_id(r));
        break;
    default:
        api_challenge(&r->ans, NULL, 0, router_request_id(r));
        break;
    }
    router_answer(r, req);
}

static void refuse(struct router *r, struct httpd_req *req, const struct route_queue *q, enum site_no why,
                   const struct site_work *w, const struct join_then *then)
{
    r->site_results[SITE_REFUSED] += why == SITE_NO_PERSON;
    r->site_results[SITE_USED] += why == SITE_NO_MORE_USES;
    if (then->refuse != NULL)
        then->refuse(r, req, q, why, w, then);
    else
        refuse_call(r, req, why, w);
}

/* By the queue's rule. True: it goes in. */
static bool falls_back(struct router *r, struct httpd_req *req, const struct route_queue *q,
                       const struct site_work *w, const struct join_then *then)
{
    r->site_results[SITE_FALLBACK]++;
    if (q->map.verify_fallback == VERIFY_LET_IN)
        return true;
    refuse(r, req, q, q->map.verify_fallback == VERIFY_REFUSE ? SITE_NO_SERVICE : SITE_WORK, w, then);
    return false;
}

static void end_held(struct site_held *h, const struct route_queue *q, enum site_said said)
{
    struct router *r = h->r;
    bool goes = false;

    h->work.ask.queue = &q->map;
    h->work.terms.queue = q->map.name;
    h->work.ask.now_ms = ev_now(r->ev);
    h->work.ask.wall_s = router_wall_s();
    if (said == SITE_NONE)
        refuse(r, h->req, q, SITE_NO_PERSON, &h->work, &h->then);
    else if (said == SITE_UNKNOWN)
        goes = falls_back(r, h->req, q, &h->work, &h->then);
    else if (!(goes = use(r, &h->token)))
        refuse(r, h->req, q, SITE_NO_MORE_USES, &h->work, &h->then);
    r->site_results[SITE_GOOD] += said == SITE_PERSON && goes;
    if (goes) {
        h->then.go(r, h->req, q, &h->b, &h->then);
        h->then.page = NULL;
    }
}

static void on_said(void *arg, enum site_said said)
{
    struct site_held *h = arg;
    struct router *r = h->r;
    const struct route_queue *q = routes_queue(r->routes, h->queue, strlen(h->queue));

    if (h->req != NULL && said != SITE_ENDED) {
        r->gate.client = h->client;
        if (q != NULL)
            end_held(h, q, said);
        else
            refuse(r, h->req, NULL, SITE_NO_QUEUE, &h->work, &h->then);
    } else if (said == SITE_PERSON) {
        /* Asked, so its token is used up: whoever comes again with it goes in. */
        r->site_results[SITE_GOOD] += use(r, &h->token);
    }
    free(h->then.page);
    free(h);
}

void site_held_gone(struct site_held *h)
{
    h->req = NULL;
}

/* ---- questions ---- */

/* False: it cannot be asked now. */
static bool hold(struct router *r, struct httpd_req *req, const struct route_queue *q, const struct join_body *b,
                 struct slice said, const struct site_token *t, const struct site_work *w,
                 const struct join_then *then)
{
    struct site_held *h = malloc(sizeof(*h));

    if (h == NULL)
        return false;
    *h = (struct site_held){ .waits = WAITS_SITE, .r = r, .req = req, .client = r->gate.client, .work = *w,
                             .then = *then };
    h->b = *b;
    h->token = *t;
    strcpy(h->queue, q->map.name);
    if (!site_ask(r, &q->map, limit_site(r->gate.client), said, on_said, h)) {
        free(h);
        return false;
    }
    r->site_results[SITE_ASKED]++;
    httpd_set_user(req, h);
    return true;
}

bool site_check(struct router *r, struct httpd_req *req, const struct http_req *q,
                const struct route_queue *queue, struct join_body *b, struct slice said, const struct site_work *w,
                const struct join_then *then, bool *held)
{
    struct site_token t;
    const char *why;
    enum site_no no;

    *held = false;
    if (said.n == 0 || said.n > SITE_TOKEN_MAX) {
        refuse(r, req, queue, SITE_NO_TOKEN, w, then);
        return false;
    }
    read_token(r, queue, b, said, &t);
    if (crowd_knows(r->door.used, t.of_both) && use(r, &t))
        return true;
    no = crowd_knows(r->door.used, t.id)                           ? SITE_NO_MORE_USES
         : site_asks_are_many(r, limit_site(r->gate.client)) ? SITE_NO_ROOM
                                                                   : SITE_NO_TOKEN;
    if (no != SITE_NO_TOKEN) {
        refuse(r, req, queue, no, w, then);
        return false;
    }
    if (queue->map.bind != BIND_NONE && then->page == NULL &&
        (why = device_join(r, req, q, queue, b, q->idempotency_key, device_proof(q))) != NULL) {
        device_unproved(r, req, why);
        return false;
    }
    door_count(&r->door, &w->ask);
    *held = hold(r, req, queue, b, said, &t, w, then);
    return !*held && falls_back(r, req, queue, w, then);
}
