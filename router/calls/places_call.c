/* places_call.c: see places_call.h. */
#include "router/calls/places_call.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "router/calls/challenge.h"
#include "router/calls/join.h"

#define DUE_AGAIN_MS 20

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
    rf->flow.named = c->p.named; /* also a key's: it finds its place behind a link that ended */
}

static void begin_one(struct places_call *c, struct rflow *rf, unsigned i)
{
    struct router *r = c->r;

    if (c->p.step == PLACES_JOIN || c->p.step == PLACES_UNDO)
        rf->as = RFLOW_PLACE;
    if (c->p.step == PLACES_JOIN)
        begin_join(c, rf, i);
    else
        places_ask(&c->p, i, &rf->flow, r->routes, &r->replicas, ev_now(r->ev));
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

/* The flow of place i has ended; of a join also: why it comes to nothing. */
static void ended(struct places_call *c, unsigned i, const struct flow *f)
{
    bool was = c->p.failed != 0;

    places_said(&c->p, i, f);
    if (c->p.failed != 0 && !was)
        c->why = *f;
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

/* ---- the answer ---- */

static void go_behind(struct places_call *c)
{
    c->req = NULL;
    list_remove(&c->r->places, &c->in_all);
    list_push_back(&c->r->places_behind, &c->in_all);
}

/* rf: of c->tell. */
static void tell_now(struct places_call *c, const struct rflow *rf)
{
    struct httpd_req *req = c->req;

    if (req == NULL)
        return;
    go_behind(c);
    c->told = true;
    c->tell(c, rf);
    router_answer(c->r, req);
}

/* Tells those that have no more time. Where joins are under way still, this process was late itself: their flows
 * end now. */
static void on_due(void *router)
{
    struct router *r = router;
    msec_t now = ev_now(r->ev);
    struct places_call *c;

    while ((c = list_entry(list_first(&r->places), struct places_call, in_all)) != NULL && c->due_ms <= now &&
           c->p.step != PLACES_JOIN)
        tell_now(c, NULL);
    if (c != NULL)
        ev_timer_at(r->places_timer, ms_max(c->due_ms, now + DUE_AGAIN_MS));
}

/* False: no memory. */
static bool set_due(struct places_call *c)
{
    struct router *r = c->r;

    if (r->places_timer == NULL)
        r->places_timer = ev_timer_new(r->ev, on_due, r);
    if (r->places_timer == NULL)
        return false;
    c->due_ms = ev_now(r->ev) + r->cfg->request_timeout + DUE_AGAIN_MS; /* flows of the first step end before */
    if (list_first(&r->places) == NULL)
        ev_timer_at(r->places_timer, c->due_ms);
    list_push_back(&r->places, &c->in_all);
    return true;
}

static void end(struct places_call *c)
{
    list_remove(&c->r->places_behind, &c->in_all);
    places_free(c);
}

/* Places for which no node could be asked are given back for a while longer. */
static void undo_on(const struct places_call *c)
{
    uint8_t again = c->p.got & (uint8_t)~c->outlived;

    for (unsigned i = 0; i < c->p.n; i++)
        if ((again >> i & 1) != 0 && c->p.v[i].is == PLACE_IS_UNKNOWN)
            rflow_give_back(c->r, &c->p.v[i].token, !c->p.named || (c->p.bare >> i & 1) != 0,
                            (c->unsure >> i & 1) != 0);
}

/* All asks of the step have ended: there is a next one, or it is over. */
static void next_step(struct places_call *c)
{
    struct places *p = &c->p;

    p->vain = c->req == NULL && !c->told && !p->named;
    if (p->step == PLACES_JOIN && p->failed == 0 && c->subject_len > 0 && !p->keeps)
        places_one_order(p, c->queue);
    if (p->step == PLACES_UNDO)
        undo_on(c);
    if (p->step < PLACES_DONE)
        places_next(p);
}

/* No ask is pending. rf: the last one, or NULL. May end the call: c is no more. */
static void step(struct places_call *c, const struct rflow *rf)
{
    while (c->pending == 0) {
        next_step(c);
        if (c->p.step >= PLACES_DONE) {
            tell_now(c, rf);
            end(c);
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
    if (c->p.step == PLACES_UNDO) {
        c->unsure |= (uint8_t)(rf->flow.unsure << rf->place);
        c->outlived |= (uint8_t)(rf->outlived << rf->place);
    }
    if (c->p.keeps && rf->flow.admitted && rf->pass != NULL)
        keep_pass(c, rf);
    assert(c->pending > 0);
    if (--c->pending == 0)
        step(c, c->p.step == PLACES_TAKE ? rf : NULL);
}

void places_gone(struct places_call *c)
{
    assert(c->req != NULL);
    go_behind(c); /* asked, so done all the same */
}

void places_fini(struct router *r)
{
    struct list *all[] = { &r->places, &r->places_behind };
    struct list_node *it;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        while (all[i]->head.next != NULL && (it = list_first(all[i])) != NULL) {
            list_remove(all[i], it);
            places_free(container_of(it, struct places_call, in_all));
        }
    if (r->places_timer != NULL)
        ev_timer_free(r->places_timer);
    r->places_timer = NULL;
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
    if (!set_due(c)) {
        router_problem(r, c->req, API_OVERLOADED, "this router is out of memory; try again");
        places_free(c);
        return;
    }
    httpd_set_user(c->req, c);
    c->p.named = c->subject_len > 0 || c->key.n > 0;
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
