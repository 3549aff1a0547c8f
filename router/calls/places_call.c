/* places_call.c: see places_call.h. */
#include "router/calls/places_call.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "router/calls/challenge.h"
#include "router/calls/join.h"

/* ---- the steps ---- */

static void answered(struct router *r, struct rflow *rf);

static void begin_join(struct places_call *c, struct rflow *rf, unsigned i)
{
    const struct route_queue *q = routes_queue(c->r->routes, c->queue[i], strlen(c->queue[i]));
    struct join_body b;

    assert(q != NULL); /* looked up in this turn */
    memset(&b, 0, offsetof(struct join_body, claim));
    b.client = c->client;
    b.subject_len = c->subject_len;
    memcpy(b.subject, c->subject, c->subject_len);
    if (c->subject_len == 0 && c->key.n > 0)
        join_by_key(&c->r->keys.token, q, &b, c->key);
    join_flow(c->r, rf, q, &b, c->lane[i]);
}

static void begin_one(struct places_call *c, struct rflow *rf, unsigned i)
{
    struct router *r = c->r;
    const struct token *t = &c->p.v[i].token;
    msec_t now = ev_now(r->ev);
    bool looks = c->p.step == PLACES_LOOK;

    switch ((enum places_step)c->p.step) {
    case PLACES_JOIN:
        begin_join(c, rf, i);
        break;
    case PLACES_GIVE_UP:
        flow_give_up(&rf->flow, r->routes, t, now);
        break;
    case PLACES_LEAVE:
        if (c->joins && (c->subject_len > 0 || c->key.n > 0)) { /* another try, or device, may have found it */
            flow_give_back(&rf->flow, r->routes, t, now);
            break;
        }
        /* fall through */
    case PLACES_LOSE:
        flow_leave(&rf->flow, r->routes, t, now);
        break;
    default:
        flow_poll(&rf->flow, r->routes, looks ? &r->replicas : NULL, t, now);
    }
}

/* A pass is there during this call alone. */
static void keep_pass(struct places_call *c, const struct rflow *rf)
{
    struct kept_pass *k = &c->pass[rf->place];

    *k = (struct kept_pass){ c->passes.len, rf->pass_len, (int64_t)rf->flow.released_at_ms,
                             (int64_t)rf->flow.pass_expires_s };
    buf_append(&c->passes, rf->pass, rf->pass_len);
    if (c->passes.failed) /* asked again it is told */
        k->n = 0;
}

/* The flow of place i has ended; of a join also: what is to be undone, and why. */
static void ended(struct places_call *c, unsigned i, const struct flow *f)
{
    places_said(&c->p, i, f);
    if (c->p.step != PLACES_JOIN)
        return;
    if (flow_got(f))
        c->got |= (uint8_t)(1u << i);
    if (f->result != FLOW_OK && f->result != FLOW_EXISTING && c->failed == 0) {
        c->failed = (uint8_t)(i + 1);
        c->why = *f;
    }
}

static void ask_all(struct places_call *c)
{
    uint8_t asks = c->p.asks;

    c->pending = 1;
    for (unsigned i = 0; i < c->p.n; i++) {
        struct rflow *rf;

        if ((asks >> i & 1) == 0)
            continue;
        rf = rflow_new(c->r, NULL, answered, NULL);
        if (rf == NULL) { /* overloaded: as if no node answered */
            struct flow none = { .kind = FLOW_POLL, .todo = FLOW_DONE, .result = FLOW_UNAVAIL };

            ended(c, i, &none);
            continue;
        }
        rf->places = c;
        rf->place = (uint8_t)i;
        c->pending++;
        begin_one(c, rf, i);
        rflow_begin(c->r, rf);
    }
}

/* All or none: what was joined leaves again, but not what another call of the same person or key has joined,
 * or found meanwhile, and keeps: of two that fail the later one takes it along. True: there is something to
 * undo. */
static bool undo(struct places_call *c)
{
    c->p.step = PLACES_LEAVE;
    c->p.asks = c->got;
    return c->got != 0;
}

/* No ask is pending. rf: the last one, or NULL. May end the call: c is no more. */
static void step(struct places_call *c, const struct rflow *rf)
{
    while (c->pending == 0) {
        if (c->p.step == PLACES_JOIN && c->failed != 0 && undo(c)) {
            ask_all(c);
            c->pending--;
            continue;
        }
        if (c->p.step == PLACES_JOIN && c->failed == 0 && c->subject_len > 0 && !c->p.keeps)
            places_one_order(&c->p, c->queue);
        if (c->p.step < PLACES_DONE)
            places_next(&c->p);
        if (c->p.step >= PLACES_DONE) {
            if (c->req != NULL) {
                c->tell(c, rf);
                router_answer(c->r, c->req);
            }
            list_remove(&c->r->places, &c->in_all);
            places_free(c);
            return;
        }
        ask_all(c);
        c->pending--;
        rf = NULL;
    }
}

static void answered(struct router *r, struct rflow *rf)
{
    struct places_call *c = rf->places;

    (void)r;
    ended(c, rf->place, &rf->flow);
    if (c->p.keeps && rf->flow.admitted && rf->pass != NULL)
        keep_pass(c, rf);
    assert(c->pending > 0);
    if (--c->pending == 0)
        step(c, c->p.step == PLACES_TAKE ? rf : NULL);
}

void places_gone(struct places_call *c)
{
    c->req = NULL; /* asked, so done all the same */
}

void places_fini(struct router *r)
{
    struct list_node *it;

    while (r->places.head.next != NULL && (it = list_first(&r->places)) != NULL) {
        list_remove(&r->places, it);
        places_free(container_of(it, struct places_call, in_all));
    }
}

struct places_call *places_new(struct router *r, struct httpd_req *req, places_tell tell)
{
    struct places_call *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->waits = WAITS_PLACES;
    c->req = req;
    c->r = r;
    c->tell = tell;
    return c;
}

void places_free(struct places_call *c)
{
    buf_fini(&c->passes);
    free(c->page);
    free(c);
}

void places_run(struct places_call *c)
{
    struct router *r = c->r;

    r->counts.polls += !c->leaves && !c->joins;
    r->counts.leaves += c->leaves;
    httpd_set_user(c->req, c);
    list_push_back(&r->places, &c->in_all);
    places_begin(&c->p, c->joins ? PLACES_JOIN : c->leaves ? PLACES_LEAVE : PLACES_LOOK);
    ask_all(c);
    if (--c->pending == 0)
        step(c, NULL);
}

/* ---- what is asked ---- */

/* Why the queue is in no group; NULL: it may be, with this lane. */
static const char *unfit(struct places_call *c, const struct route_queue *q, enum api_problem *p, unsigned *lane)
{
    struct router *r = c->r;
    struct join_body b;
    const char *why = NULL;
    int rc;

    *p = API_NOT_ELIGIBLE;
    if (q == NULL) {
        *p = API_QUEUE_NOT_FOUND;
        return "there is no such queue";
    }
    if (q->map.state == QUEUE_CLOSED) {
        *p = API_QUEUE_CLOSED;
        return "it is closed";
    }
    if (q->map.bind != BIND_NONE)
        return "its tickets are bound to devices, those of a group are not";
    if (!challenge_is_free(q))
        return "it asks for challenges or looks for suspects, which a group cannot answer";
    memset(&b, 0, offsetof(struct join_body, claim));
    b.claim_len = (uint16_t)c->claim.n;
    memcpy(b.claim, c->claim.n > 0 ? c->claim.p : "", c->claim.n);
    rc = join_lane(r, q, &b, lane, &why);
    if (rc < 0 && rc != SQ_EAUTH) {
        *p = API_OVERLOADED;
        return "this router is out of memory; try again";
    }
    if (rc == 0 && b.replaces)
        why = "the claim replaces a ticket, which a group does not";
    if (rc < 0 || b.replaces) {
        c->bad_claim = c->claim.n > 0;
        return why;
    }
    c->subject_len = b.subject_len;
    memcpy(c->subject, b.subject, b.subject_len);
    return NULL;
}

const char *places_add(struct places_call *c, struct slice name, enum api_problem *p)
{
    const struct route_queue *q = routes_queue(c->r->routes, name.p, name.n);
    unsigned lane = 0;
    const char *why = unfit(c, q, p, &lane);

    assert(c->p.n < PLACES_MAX);
    if (why != NULL)
        return why;
    memcpy(c->queue[c->p.n], name.p, name.n); /* zeroed */
    c->lane[c->p.n++] = (uint8_t)lane;
    return NULL;
}

bool places_key(struct places_call *c, struct slice key)
{
    if (!join_key_ok(key) || key.n >= JOIN_KEY_MAX)
        return false;
    c->key_text[0] = '\2';
    memcpy(c->key_text + 1, key.p, key.n);
    c->key = (struct slice){ c->key_text, key.n + 1 };
    return true;
}

/* ---- the name of a group ---- */

#define VERSION   1 /* others are given up; */
#define KEEPS     2 /* they are kept: older routers refuse the name */
#define ONE_BYTES 16 /* segment, number, time of issue */
#define PLAIN_MAX (2 + ONE_BYTES * PLACES_MAX)
#define NONCE     crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG       crypto_aead_xchacha20poly1305_ietf_ABYTES
#define RAW_MAX   (NONCE + PLAIN_MAX + TAG)

_Static_assert(GROUP_NAME_ROOM >= (RAW_MAX * 4 + 2) / 3 + 1, "it holds the longest name");

static void seal_key(uint8_t key[32], const uint8_t mac[TOKEN_KEY_BYTES])
{
    static const char what[] = "segq places 1";

    crypto_generichash(key, 32, (const uint8_t *)what, sizeof(what) - 1, mac, TOKEN_KEY_BYTES);
}

void group_name_write(const struct places *p, const struct token_key *k, char out[GROUP_NAME_ROOM])
{
    uint8_t raw[RAW_MAX], plain[PLAIN_MAX] = { p->keeps ? KEEPS : VERSION, (uint8_t)p->v[0].token.client }, key[32];
    uint8_t *at = plain + 2;
    unsigned long long n;

    for (unsigned i = 0; i < p->n; i++, at += ONE_BYTES) {
        memcpy(at, &p->v[i].token.seg, 8);
        memcpy(at + 8, &p->v[i].token.number, 4);
        memcpy(at + 12, &p->v[i].token.issued_s, 4);
    }
    seal_key(key, k->mac);
    randombytes_buf(raw, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(raw + NONCE, &n, plain, (size_t)(at - plain), NULL, 0, NULL,
                                               raw, key);
    sodium_bin2base64(out, GROUP_NAME_ROOM, raw, NONCE + n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static bool unseal(uint8_t plain[PLAIN_MAX], size_t *len, const uint8_t *raw, size_t n,
                   const uint8_t mac[TOKEN_KEY_BYTES])
{
    unsigned long long got = 0;
    uint8_t key[32];

    seal_key(key, mac);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, &got, NULL, raw + NONCE, n - NONCE, NULL, 0, raw,
                                                   key) != 0)
        return false;
    *len = got;
    return got >= 2 + ONE_BYTES && (got - 2) % ONE_BYTES == 0 && (plain[0] == VERSION || plain[0] == KEEPS) &&
           plain[1] < CLIENT_NCLASSES;
}

bool group_name_read(struct places *p, const struct token_key *k, struct slice text)
{
    uint8_t raw[RAW_MAX], plain[PLAIN_MAX];
    const char *end = NULL;
    size_t n = 0, len = 0;

    if (text.n >= GROUP_NAME_ROOM ||
        sodium_base642bin(raw, sizeof(raw), text.p, text.n, NULL, &n, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        end != text.p + text.n || n < NONCE + TAG)
        return false;
    if (!unseal(plain, &len, raw, n, k->mac) &&
        !(k->has_other && unseal(plain, &len, raw, n, k->other_mac)))
        return false;
    p->n = (uint8_t)((len - 2) / ONE_BYTES);
    p->keeps = plain[0] == KEEPS;
    for (unsigned i = 0; i < p->n; i++) {
        struct token *t = &p->v[i].token;
        const uint8_t *at = plain + 2 + i * ONE_BYTES;

        memcpy(&t->seg, at, 8);
        memcpy(&t->number, at + 8, 4);
        memcpy(&t->issued_s, at + 12, 4);
        t->client = plain[1];
    }
    return true;
}
