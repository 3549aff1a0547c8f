/* challenge.c: see challenge.h. */
#include "router/calls/challenge.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/sha256.h"
#include "router/calls/bearer.h"
#include "router/calls/device.h"
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
    join_by_key(&r->keys.token, q, b, (struct slice){ key, (size_t)(to - key) });
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

/* Composes the answer that asks for work. n: bytes of the challenge; 0: too many were asked for. */
static void work_answer(struct router *r, const char *text, size_t n)
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
        api_too_fast(&r->ans, 1000, "the site's check is asked about many joins of this network: "
                     "bring the same token again",
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

#define PASSES_PER_S 200 /* signatures that joins may have looked at: forged ones cost more than work */

static void prefix_key(uint64_t to[2], const uint8_t key[CHALLENGE_KEY_BYTES])
{
    struct hmac256 names;
    uint8_t mac[HMAC256_BYTES];

    hmac256_key(&names, key, CHALLENGE_KEY_BYTES);
    hmac256_of(mac, &names, "prefix", 6);
    memcpy(to, mac, 2 * sizeof(to[0]));
}

int challenge_init(struct router *r)
{
    const uint8_t *key = r->keys.challenge, *other = r->keys.token.has_other ? r->keys.other_challenge : NULL;
    uint8_t secret[32];
    uint64_t prefix[2];
    int rc;

    prefix_key(prefix, key);
    limit_prefix_key(r->gate.limit, prefix);
    if (other != NULL)
        prefix_key(r->other_prefix, other);
    randombytes_buf(secret, sizeof(secret));
    rc = door_init(&r->door, secret, key, other);
    sodium_memzero(secret, sizeof(secret));
    return rc;
}

/* ---- joins that need none ---- */

static bool has_pass(struct router *r, const struct http_req *q, const struct route_queue *queue)
{
    struct slice name = slice_of(queue->map.name);
    uint64_t looked = r->counts.pass_checks;
    const struct known_pass *pass;
    enum bearer_state state;

    if (q->authorization.p == NULL && q->cookies == 0)
        return false;
    if (r->join_passes.second != ev_now(r->ev) / 1000)
        r->join_passes.second = ev_now(r->ev) / 1000, r->join_passes.n = 0;
    if (r->join_passes.n >= PASSES_PER_S)
        return false;
    pass = bearer_pass(r, q, name, &state);
    r->join_passes.n += r->counts.pass_checks - looked;
    return state == BEARER_GOOD && device_may_pass(r, q, pass) &&
           door_spares(&r->door, pass->seg, pass->number, ev_now(r->ev));
}

/* Address of the browser, or whatever else asks. */
static bool client_ip(struct router *r, struct httpd_req *req, const struct http_req *q, struct ip *ip)
{
    return gate_is_trusted(httpd_tag(req)) ? gate_client(&r->gate, q, ip) : httpd_peer(req, ip);
}

/* By its address alone: anybody can write the rest of a request. */
static bool has_address(struct router *r, struct httpd_req *req, const struct http_req *q,
                        const struct route_queue *queue)
{
    struct ip ip;
    struct bypass_ask ask = { .q = q, .addr = &ip, .queue = queue->map.id, .key = &r->keys.token };

    return queue->bypass != NULL && gate_is_trusted(httpd_tag(req)) && gate_client(&r->gate, q, &ip) &&
           bypass_of(queue->bypass, &ask) == BYPASS_ADDRESS;
}

/* ---- suspects ---- */

/* Each browser says which languages it wants, also in an app's window and without https. */
static bool poses(const struct http_req *q)
{
    static const char word[] = "Mozilla/";

    return q->accept_language.p == NULL && q->user_agent.n >= sizeof(word) - 1 &&
           memcmp(q->user_agent.p, word, sizeof(word) - 1) == 0;
}

static enum suspect_grade suspect_grade(struct router *r, struct httpd_req *req, const struct http_req *q,
                                        const struct suspect_of *of)
{
    enum suspect_grade g;
    bool nameless;
    struct ip ip;

    if (r->suspects == NULL && (r->suspects = suspects_new()) == NULL)
        return SUSPECT_NONE;
    r->gate.hears = true;
    if (poses(q))
        suspects_count(r->suspects, of, SUSPECT_POSING, ev_now(r->ev));
    g = suspects_grade(r->suspects, of, ev_now(r->ev), router_wall_s(), &nameless);
    if (nameless && client_ip(r, req, q, &ip)) /* once, so a system call is none of each join */
        suspects_name(r->suspects, of, &ip);
    return g;
}

/* Applies the queue's rule: *level is raised. True: it is sent away. */
static bool is_sent_away(const struct route_queue *queue, enum suspect_grade g, uint32_t *level)
{
    uint32_t rule = queue->map.suspects;

    if (g == SUSPECT_NONE || (rule != SUSPECTS_CHALLENGE && rule != SUSPECTS_REJECT))
        return false;
    *level = (uint32_t)u64_max(*level, (unsigned)g);
    return rule == SUSPECTS_REJECT && g == SUSPECT_SCRIPT;
}

/* Notes what became of a suspect's join. */
static void suspect_acted(struct router *r, const struct suspect_of *of, enum suspect_act a)
{
    r->suspects_acts[a]++;
    if (a == SUSPECT_WORKS || a == SUSPECT_SENT_AWAY)
        suspects_count(r->suspects, of, SUSPECT_REFUSED, ev_now(r->ev));
}

/* ---- those that do ---- */

/* A place under the name of the challenge. */
static void name_by(struct router *r, const struct route_queue *queue, struct join_body *b, const char *id)
{
    char key[16 + CHALLENGE_ID_LEN];
    char *end = text_put(PUT(key, "challenge:"), id, CHALLENGE_ID_LEN);

    join_by_key(&r->keys.token, queue, b, (struct slice){ key, (size_t)(end - key) });
}

/* Names the asker, as its challenge does. While the cluster's secret is changed, also as the other one does. */
static void put_terms(struct router *r, struct httpd_req *req, const struct http_req *q,
                      const struct route_queue *queue, const struct join_body *b, struct challenge_terms *t)
{
    const struct token_key *k = &r->keys.token;
    uint32_t prefix = limit_prefix(r->gate.client);
    queue_id id = queue->map.id;
    struct token_key other = { 0 };
    struct ip ip;

    t->from = token_subject_hash(k, id, (const char *)&prefix, sizeof(prefix));
    if (b->subject_len > 0)
        t->who = token_subject_hash(k, id, b->subject, b->subject_len);
    if (!k->has_other || !client_ip(r, req, q, &ip))
        return;
    memcpy(other.subject, k->other_subject, sizeof(other.subject));
    prefix = limit_prefix_of(r->other_prefix, &ip);
    t->other_from = token_subject_hash(&other, id, (const char *)&prefix, sizeof(prefix));
    if (b->keyed)
        t->other_who = join_key_hash(&other, id, q->idempotency_key);
    else if (b->subject_len > 0)
        t->other_who = token_subject_hash(&other, id, b->subject, b->subject_len);
    sodium_memzero(&other, sizeof(other));
}

/* By its answer, or asked for one. */
static enum challenge_way works(struct router *r, const struct door_ask *ask, const struct challenge_terms *t,
                                const struct route_queue *queue, struct join_body *b, struct slice answer,
                                struct challenge_asked *out)
{
    struct challenge_seen seen;

    if (answer.p == NULL) {
        door_count(&r->door, ask);
        out->n = door_challenge(&r->door, ask, t, out->level, out->text);
        out->keys = (uint64_t)PUZZLE_KEYS_MIN << door_rank(ask, out->level);
        return out->n > 0 ? WAY_ASK : WAY_TOO_FAST;
    }
    out->state = door_check(&r->door, ask, t, answer, &seen);
    if (out->state != CHALLENGE_GOOD)
        return WAY_REFUSED;
    if (b->subject_len == 0)
        name_by(r, queue, b, seen.id);
    return WAY_IN;
}

enum challenge_way challenge_way(struct router *r, struct httpd_req *req, const struct http_req *q,
                                 const struct route_queue *queue, struct join_body *b,
                                 struct slice answer, struct challenge_asked *out)
{
    limit_id client = r->gate.client;
    struct door_ask ask = { &queue->map, queue->stats.challenge, limit_prefix(client), limit_site(client),
                            out->patient, ev_now(r->ev), router_wall_s(), { 0 } };
    struct challenge_terms t = { .queue = queue->map.name };
    enum suspect_grade g = SUSPECT_NONE;
    enum challenge_way way;
    struct suspect_of of;
    bool away;

    if (suspecting_of(queue, client, &of))
        g = suspect_grade(r, req, q, &of);
    away = is_sent_away(queue, g, &ask.told);
    out->level = door_level(&r->door, &ask);
    if (out->level == 0) {
        r->suspects_acts[SUSPECT_WATCHED] += g != SUSPECT_NONE;
        if (b->claim_len == 0)
            door_count(&r->door, &ask);
        return WAY_IN;
    }
    if (b->claim_len > 0 || has_address(r, req, q, queue) || has_pass(r, q, queue)) {
        *(g != SUSPECT_NONE ? &r->suspects_acts[SUSPECT_SPARED] : &r->door.spared) += 1;
        return WAY_IN;
    }
    if (away) {
        suspect_acted(r, &of, SUSPECT_SENT_AWAY);
        return WAY_SUSPECT;
    }
    put_terms(r, req, q, queue, b, &t);
    if (queue->map.verify_url[0] != '\0' && (!out->patient || out->checks) && answer.p == NULL) {
        out->work = (struct site_work){ ask, t, out->level };
        if (g != SUSPECT_NONE && http_find(q, "segq-verify", &answer) == 0)
            suspect_acted(r, &of, SUSPECT_WORKS);
        return WAY_SITE;
    }
    way = works(r, &ask, &t, queue, b, answer, out);
    if (g != SUSPECT_NONE && way != WAY_IN)
        suspect_acted(r, &of, SUSPECT_WORKS);
    return way;
}

static const char *const why_not[CHALLENGE_NSTATES] = {
#define X(name, word, text) [CHALLENGE_##name] = text,
    CHALLENGE_REFUSALS(X)
#undef X
};

static const uint8_t problem_of[CHALLENGE_NSTATES] = {
#define X(name, word, text) [CHALLENGE_##name] = API_CHALLENGE_##name,
    CHALLENGE_REFUSALS(X)
#undef X
};

bool challenge_passes(struct router *r, struct httpd_req *req, const struct http_req *q,
                      const struct route_queue *queue, struct join_body *b, const struct join_then *then)
{
    struct slice answer = { 0 }, said = { 0 };
    struct challenge_asked x = { .patient = false };
    bool held;

    if (http_find(q, "segq-challenge", &answer) == 0 && b->altcha_len > 0)
        answer = (struct slice){ b->altcha, b->altcha_len };
    if (q->idempotency_key.p != NULL && b->subject_len == 0)
        join_by_key(&r->keys.token, queue, b, q->idempotency_key);
    switch (challenge_way(r, req, q, queue, b, answer, &x)) {
    case WAY_IN:
        return true;
    case WAY_SITE:
        (void)http_find(q, "segq-verify", &said);
        return site_check(r, req, q, queue, b, said, &x.work, then, &held);
    case WAY_ASK:
    case WAY_TOO_FAST: /* n 0 */
        work_answer(r, x.text, x.n);
        break;
    case WAY_REFUSED:
        if (!router_may_pass(r, req, LIMIT_BAD))
            return false;
        api_problem(&r->ans, problem_of[x.state], why_not[x.state], router_request_id(r));
        break;
    case WAY_SUSPECT:
        api_problem_later(&r->ans, API_SUSPECT_NETWORK,
                          "joins of this network look like a script's: places are not polled, or programs "
                          "say to be browsers; join again later, or with a claim; a place that is had is kept",
                          SUSPECT_AGAIN_MS, router_request_id(r));
        break;
    }
    router_answer(r, req);
    return false;
}
