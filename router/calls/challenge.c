/* challenge.c: see challenge.h. */
#include "router/calls/challenge.h"

#include <sodium.h>
#include <string.h>

#include "router/calls/bearer.h"
#include "router/calls/device.h"
#include "router/calls/join_key.h"
#include "router/state/suspecting.h"

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
    struct slice name = { (char *)(uintptr_t)queue->map.name, strlen(queue->map.name) };
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

    join_by_key(r, queue, b, (struct slice){ key, (size_t)(end - key) });
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
        join_by_key(r, queue, b, q->idempotency_key);
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
