/* challenge.c: see challenge.h. */
#include "router/calls/challenge.h"

#include <sodium.h>
#include <string.h>

#include "router/calls/bearer.h"
#include "router/calls/join_key.h"

#define PASSES_PER_S 200 /* signatures that joins may have looked at: forged ones cost more than work */

int challenge_init(struct router *r)
{
    const uint8_t *key = r->keys.challenge, *other = r->keys.token.has_other ? r->keys.other_challenge : NULL;
    struct hmac256 names;
    uint8_t secret[32], mac[HMAC256_BYTES];
    uint64_t prefix[2];
    int rc;

    hmac256_key(&names, key, CHALLENGE_KEY_BYTES);
    hmac256_of(mac, &names, "prefix", 6);
    memcpy(prefix, mac, sizeof(prefix));
    limit_prefix_key(r->gate.limit, prefix);
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
    return state == BEARER_GOOD && door_spares(&r->door, pass->seg, pass->number, ev_now(r->ev));
}

/* By its address alone: anybody can write the rest of a request. */
static bool has_address(struct router *r, uint64_t tag, const struct http_req *q,
                        const struct route_queue *queue)
{
    struct ip ip;
    struct bypass_ask ask = { .q = q, .addr = &ip, .queue = queue->map.id, .key = &r->keys.token };

    return queue->bypass != NULL && gate_is_trusted(tag) && gate_client(&r->gate, q, &ip) &&
           bypass_of(queue->bypass, &ask) == BYPASS_ADDRESS;
}

/* ---- those that do ---- */

/* A place under the name of the challenge. */
static void name_by(struct router *r, const struct route_queue *queue, struct join_body *b, const char *id)
{
    char key[16 + CHALLENGE_ID_LEN];
    char *end = text_put(PUT(key, "challenge:"), id, CHALLENGE_ID_LEN);

    join_by_key(r, queue, b, (struct slice){ key, (size_t)(end - key) });
}

enum challenge_way challenge_way(struct router *r, uint64_t tag, const struct http_req *q,
                                 const struct route_queue *queue, struct join_body *b,
                                 struct slice answer, struct challenge_asked *out)
{
    uint32_t prefix = limit_prefix(r->gate.client);
    struct door_ask ask = { &queue->map, queue->stats.challenge, prefix, out->patient, ev_now(r->ev),
                            router_wall_s() };
    struct challenge_terms t = { .queue = queue->map.name };
    struct challenge_seen seen;

    out->level = door_level(&r->door, &ask);
    if (out->level == 0)
        return WAY_IN;
    if (b->claim_len > 0 || has_address(r, tag, q, queue) || has_pass(r, q, queue)) {
        r->door.spared++;
        return WAY_IN;
    }
    t.from = token_subject_hash(&r->keys.token, queue->map.id, (const char *)&prefix, sizeof(prefix));
    if (b->subject_len > 0)
        t.who = token_subject_hash(&r->keys.token, queue->map.id, b->subject, b->subject_len);
    if (answer.p == NULL) {
        out->n = door_challenge(&r->door, &ask, &t, out->level, out->text);
        out->keys = (uint64_t)PUZZLE_KEYS_MIN << door_rank(&ask, out->level);
        return out->n > 0 ? WAY_ASK : WAY_TOO_FAST;
    }
    out->state = door_check(&r->door, &ask, &t, answer, &seen);
    if (out->state != CHALLENGE_GOOD)
        return WAY_REFUSED;
    if (b->subject_len == 0)
        name_by(r, queue, b, seen.id);
    return WAY_IN;
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
                      const struct route_queue *queue, struct join_body *b)
{
    struct slice answer = { 0 };
    struct challenge_asked x = { .patient = false };

    if (http_find(q, "segq-challenge", &answer) == 0 && b->altcha_len > 0)
        answer = (struct slice){ b->altcha, b->altcha_len };
    if (q->idempotency_key.p != NULL && b->subject_len == 0)
        join_by_key(r, queue, b, q->idempotency_key);
    switch (challenge_way(r, httpd_tag(req), q, queue, b, answer, &x)) {
    case WAY_IN:
        return true;
    case WAY_ASK:
        api_challenge(&r->ans, x.text, x.n, router_request_id(r));
        break;
    case WAY_REFUSED:
        if (!router_may_pass(r, req, LIMIT_BAD))
            return false;
        api_problem(&r->ans, problem_of[x.state], why_not[x.state], router_request_id(r));
        break;
    case WAY_TOO_FAST:
        api_too_fast(&r->ans, 1000, "too many challenges were asked for from this network in this second",
                     router_request_id(r));
        break;
    }
    router_answer(r, req);
    return false;
}
