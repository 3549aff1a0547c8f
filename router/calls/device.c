/* device.c: see device.h. */
#include "router/calls/device.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/text.h"
#include "common/http/request_headers.h"
#include "common/ticket/pass.h"
#include "router/gate/proof.h"
#include "router/links/mng_link.h"

#define COOKIE      "segq_device_"
#define COOKIE_CAP  (sizeof(COOKIE) + NAME_MAX_LEN)
#define COOKIES_MAX 4 /* looked at, where several have the name: other paths and domains */
#define AGE         "2592000" /* seconds; 30 days, the longest session */
#define KEYED_LEN   (DEVICE_LEN + 1 + STAMP_LEN) /* a key's cookie: its id, a dot, when it was proved */

_Static_assert(TOKEN_TEXT_LEN >= DEVICE_LEN + 2, "a join's text has the cookie");

struct shown { /* devices of a request, one after the other */
    char name[COOKIE_CAP];
    struct cookies c;
    unsigned n;
    bool keyed;   /* an id, proved by its key; else a secret */
    int64_t at_s; /* with keyed: when */
};

enum how { SHOWN_NOT, SHOWN_STALE, SHOWN };

static void shown_begin(struct shown *s, const char *queue)
{
    *s = (struct shown){ .n = 0 };
    text_put(PUT(s->name, COOKIE), queue, strlen(queue))[0] = 0;
}

/* NULL: there is no further one. */
static const char *shown_next(const struct router *r, struct shown *s, const struct http_req *q)
{
    struct slice v;

    while (s->n < COOKIES_MAX && cookie_next(&s->c, q, s->name, &v)) {
        s->n++;
        s->keyed = v.n == KEYED_LEN && v.p[DEVICE_LEN] == '.';
        if (s->keyed)
            s->at_s = stamp_read(&r->keys.token, v.p, v.p + DEVICE_LEN + 1, STAMP_LEN);
        if (s->keyed ? s->at_s >= 0 : device_text_ok(v.p, v.n))
            return v.p;
    }
    return NULL;
}

/* ---- is it the same? --------------------------------------------------------------------- */

/* A key's id is public: its name is of a text that no cookie can have as its secret. */
static uint64_t name_of(const struct router *r, bool other, const char *text, bool keyed)
{
    char t[DEVICE_LEN];

    memcpy(t, text, DEVICE_LEN);
    t[0] = (char)(t[0] ^ (keyed ? 0x80 : 0));
    return token_device(&r->keys.token, other, t);
}

static bool is_named(const struct router *r, const char *text, bool keyed, uint64_t device)
{
    return name_of(r, false, text, keyed) == device ||
           (r->keys.token.has_other && name_of(r, true, text, keyed) == device);
}

static void put_id(const char *text, bool keyed, char id[DEVICE_LEN + 1])
{
    memcpy(id, text, DEVICE_LEN);
    id[DEVICE_LEN] = '\0';
    if (!keyed)
        device_id(text, id);
}

static bool is_id(const char *text, bool keyed, const char id[DEVICE_LEN + 1])
{
    char own[DEVICE_LEN + 1];

    put_id(text, keyed, own);
    return sodium_memcmp(own, id, DEVICE_LEN) == 0;
}

/* Does the request show a device with this id (NULL: this name)? */
static enum how shows(const struct router *r, const struct http_req *q, const char *queue, const char *id,
                      uint64_t name)
{
    enum how how = SHOWN_NOT;
    const char *text;
    struct shown s;

    shown_begin(&s, queue);
    while ((text = shown_next(r, &s, q)) != NULL) {
        if (!(id != NULL ? is_id(text, s.keyed, id) : is_named(r, text, s.keyed, name)))
            continue;
        if (!s.keyed || stamp_is_fresh(s.at_s, router_wall_s(), PROOF_FRESH_S))
            return SHOWN;
        how = SHOWN_STALE;
    }
    return how;
}

/* Has another device taken the ticket over? */
static bool is_taken(const struct map_queue *q, seg_id seg, uint32_t number, struct moved_ticket *x)
{
    return SQ_UNLIKELY(*q->moved != '\0') && moved_find(q->moved, seg, number, x) && x->device[0] != '\0';
}

enum device_word device_of(const struct router *r, const struct http_req *q, const struct token *t)
{
    struct route_owner o;
    struct moved_ticket x = { 0 };
    int rc = routes_owner(r->routes, t->seg, &o);
    const struct map_queue *m;
    enum how how;

    assert(t->device != 0);
    if (rc < 0 && rc != SQ_EGONE)
        return DEVICE_UNSURE;
    if (rc < 0 || o.queue->map.bind == BIND_NONE)
        return DEVICE_SAME;
    m = &o.queue->map;
    how = shows(r, q, m->name, is_taken(m, t->seg, t->number, &x) ? x.device : NULL, t->device);
    if (how == SHOWN || (how == SHOWN_STALE && m->bind != BIND_KEY))
        return DEVICE_SAME;
    if (how == SHOWN_STALE)
        return DEVICE_STALE;
    return x.open && x.until_s > router_wall_s() ? DEVICE_TAKES : DEVICE_OTHER;
}

void device_refuse(struct router *r, seg_id seg, uint32_t number)
{
    r->counts.other_device++;
    api_other_device(&r->ans, seg, number, router_request_id(r));
}

void device_nonce(const struct router *r, char out[STAMP_LEN + 1])
{
    stamp_put(&r->keys.token, NULL, router_wall_s(), out);
    out[STAMP_LEN] = '\0';
}

static void put_nonce(struct router *r)
{
    char nonce[STAMP_LEN + 1];

    device_nonce(r, nonce);
    buf_str(&r->ans.headers, "DPoP-Nonce: ");
    buf_str(&r->ans.headers, nonce);
    buf_str(&r->ans.headers, "\r\n");
}

void device_unproved(struct router *r, struct httpd_req *req, const char *why)
{
    put_nonce(r);
    router_problem(r, req, API_PROOF_REQUIRED, why);
}

bool device_may(struct router *r, struct httpd_req *req, const struct http_req *q,
                const struct token *t)
{
    switch (device_of(r, q, t)) {
    case DEVICE_SAME:
        return true;
    case DEVICE_OTHER:
        device_refuse(r, t->seg, t->number);
        router_answer(r, req);
        return false;
    case DEVICE_STALE:
        device_unproved(r, req, "the key of this device was proved more than ten minutes ago: POST a proof "
                                "to the ticket's /device");
        return false;
    case DEVICE_TAKES:
        device_take(r, req, q, t);
        api_problem_later(&r->ans, API_QUEUE_UNAVAILABLE, "the ticket comes to this device: ask again", 1000,
                          router_request_id(r));
        router_answer(r, req);
        return false;
    default:
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router does not know the ticket's queue yet; the place is kept, ask again");
        return false;
    }
}

/* Id of the device that a pass is good for; NULL: any. m: memory for it. */
static const char *device_of_pass(const struct router *r, const struct known_pass *x, struct moved_ticket *m)
{
    const struct route_queue *of;

    if (SQ_LIKELY(x->device[0] == '\0'))
        return NULL;
    of = routes_queue(r->routes, x->queue, strlen(x->queue));
    if (of != NULL && of->map.bind == BIND_NONE)
        return NULL;
    return of != NULL && is_taken(&of->map, x->seg, x->number, m) ? m->device : x->device;
}

bool device_may_pass(const struct router *r, const struct http_req *q, const struct known_pass *x)
{
    struct moved_ticket m;
    const char *id = device_of_pass(r, x, &m);

    return SQ_LIKELY(id == NULL) || shows(r, q, x->queue, id, 0) != SHOWN_NOT;
}

void device_put_header(struct router *r, const struct known_pass *x)
{
    struct moved_ticket m;
    const char *id = device_of_pass(r, x, &m);

    if (SQ_LIKELY(id == NULL))
        return;
    buf_str(&r->ans.headers, "X-Segq-Device: ");
    buf_str(&r->ans.headers, id);
    buf_str(&r->ans.headers, "\r\n");
}

/* ---- joins ------------------------------------------------------------------------------- */

/* 128 bits of whoever knows the text. */
static void derive(const struct router *r, queue_id queue, const char *text, size_t n, uint8_t raw[16])
{
    char in[1 + SUBJECT_MAX_LEN];
    uint64_t half;

    n = n < SUBJECT_MAX_LEN ? n : SUBJECT_MAX_LEN - 1;
    memcpy(in + 1, text, n);
    for (char i = 0; i < 2; i++) {
        in[0] = (char)(3 + i); /* 1 and 2: secrets.c */
        half = token_subject_hash(&r->keys.token, queue, in, n + 1);
        memcpy(raw + 8 * i, &half, 8);
    }
}

/* The request's own, or a fresh one; a key's cookie is no secret. key, n: text that it is made of; NULL: of nothing. */
static void secret_of(const struct router *r, const struct http_req *q, const struct map_queue *queue,
                      const char *key, size_t n, char to[DEVICE_LEN + 1])
{
    const char *secret;
    uint8_t raw[16];
    struct shown s;

    shown_begin(&s, queue->name);
    do
        secret = shown_next(r, &s, q);
    while (secret != NULL && s.keyed);
    to[DEVICE_LEN] = '\0';
    if (secret != NULL) {
        memcpy(to, secret, DEVICE_LEN);
        return;
    }
    if (key != NULL)
        derive(r, queue->id, key, n, raw);
    else
        randombytes_buf(raw, sizeof(raw));
    sodium_bin2base64(to, DEVICE_LEN + 1, raw, sizeof(raw), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static bool is_secure(const struct router *r, struct httpd_req *req, const struct http_req *q)
{
    return gate_is_secure(r->cfg, httpd_is_sealed(req), httpd_tag(req), q);
}

struct slice device_proof(const struct http_req *q)
{
    struct slice v;

    switch (http_find(q, "dpop", &v)) {
    case 0:
        return (struct slice){ 0 };
    case 1:
        return v;
    default:
        return (struct slice){ .p = "" }; /* no proof */
    }
}

const char *device_join(const struct router *r, struct httpd_req *req, const struct http_req *q,
                        const struct route_queue *queue, struct join_body *b, struct slice key,
                        struct slice proof)
{
    struct proof_ask ask = { .key = &r->keys.token, .path = q->path, .now_s = router_wall_s() };
    const char *why = NULL;

    b->https = is_secure(r, req, q);
    if (queue->map.bind == BIND_KEY && proof.p != NULL)
        why = proof_check(&ask, proof, b->device);
    b->proved = why == NULL && queue->map.bind == BIND_KEY && proof.p != NULL;
    if (b->proved)
        return NULL;
    if (b->keyed)
        secret_of(r, q, &queue->map, b->subject, b->subject_len, b->device);
    else
        secret_of(r, q, &queue->map, key.p, key.n, b->device);
    return why;
}

void device_bind(const struct router *r, struct rflow *rf, struct join_body *b)
{
    char id[DEVICE_LEN + 1];
    size_t n = b->head_len > 0 ? b->head_len : (size_t)(PUT(b->head, "\x02 - ") - b->head);

    assert(n + 1 + DEVICE_LEN <= SUBJECT_HEAD_MAX && b->device[0] != '\0');
    b->head[n] = ' ';
    put_id(b->device, b->proved, id);
    memcpy(b->head + n + 1, id, DEVICE_LEN);
    b->head_len = (uint8_t)(n + 1 + DEVICE_LEN);
    b->head[1] = (char)(b->head_len - 2);
    rf->flow.token.device = name_of(r, false, b->device, b->proved);
    memcpy(rf->text, b->device, DEVICE_LEN);
    rf->text[DEVICE_LEN] = b->https ? 's' : ' ';
    rf->text[DEVICE_LEN + 1] = b->proved ? 'k' : ' ';
}

/* at_s 0: a secret; else the id of a key that was proved then. */
static void put_cookie(struct router *r, const char *queue, const char *text, bool https, int64_t at_s)
{
    struct buf *b = &r->ans.headers;
    char stamp[STAMP_LEN];

    buf_str(b, "Set-Cookie: " COOKIE);
    buf_str(b, queue);
    buf_byte(b, '=');
    buf_append(b, text, DEVICE_LEN);
    if (at_s != 0) {
        stamp_put(&r->keys.token, text, at_s, stamp);
        buf_byte(b, '.');
        buf_append(b, stamp, STAMP_LEN);
    }
    buf_str(b, "; Max-Age=" AGE "; Path=/; HttpOnly; SameSite=Lax");
    buf_str(b, https ? "; Secure\r\n" : "\r\n");
}

void device_put_cookie(struct router *r, const struct rflow *rf, const char *queue)
{
    assert(rf->flow.kind == FLOW_JOIN);
    put_cookie(r, queue, rf->text, rf->text[DEVICE_LEN] == 's',
               rf->text[DEVICE_LEN + 1] == 'k' ? router_wall_s() : 0);
}

/* ---- a ticket goes to another device ----------------------------------------------------- */

bool device_is_alien(const struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    struct route_owner o;
    struct moved_ticket x;

    if (routes_owner(r->routes, f->token.seg, &o) == 0 && o.queue != NULL &&
        is_taken(&o.queue->map, f->token.seg, f->token.number, &x))
        return !is_id(rf->text, rf->text[DEVICE_LEN + 1] == 'k', x.device);
    return f->alien;
}

void device_take(struct router *r, struct httpd_req *req, const struct http_req *q, const struct token *t)
{
    struct msg_device d = { .seg = t->seg, .number = t->number };
    char secret[DEVICE_LEN + 1], id[DEVICE_LEN + 1];
    struct route_owner o;

    if (routes_owner(r->routes, t->seg, &o) < 0 || o.queue == NULL)
        return;
    secret_of(r, q, &o.queue->map, NULL, 0, secret);
    device_id(secret, id);
    d.id = id;
    if (r->mngs != NULL)
        mng_links_device(r->mngs, &d);
    put_cookie(r, o.queue->map.name, secret, is_secure(r, req, q), 0);
}

/* ---- a key is proved anew ---------------------------------------------------------------- */

struct proved { /* id that the proof must have */
    const struct router *r;
    uint64_t name;
    const char *id; /* NULL: that name's */
};

static bool is_its_key(const void *of, const char *id)
{
    const struct proved *p = of;

    return p->id != NULL ? is_id(id, true, p->id) : is_named(p->r, id, true, p->name);
}

static void prove(struct router *r, struct httpd_req *req, const struct http_req *q, const struct token *t,
                  const struct map_queue *m)
{
    struct slice proof = device_proof(q);
    struct moved_ticket x;
    struct proved p = { .r = r, .name = t->device,
                        .id = is_taken(m, t->seg, t->number, &x) ? x.device : NULL };
    struct proof_ask ask = { .key = &r->keys.token, .path = q->path, .now_s = router_wall_s(),
                             .may = is_its_key, .of = &p };
    char id[DEVICE_LEN + 1];
    const char *why = proof.p == NULL ? "a proof is missing: the header DPoP" : proof_check(&ask, proof, id);

    if (why != NULL && *why != '\0') {
        device_unproved(r, req, why);
        return;
    }
    if (why != NULL) {
        device_refuse(r, t->seg, t->number);
    } else {
        put_cookie(r, m->name, id, is_secure(r, req, q), router_wall_s());
        put_nonce(r);
        r->ans.status = 204;
    }
    router_answer(r, req);
}

void device_prove(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice text)
{
    struct route_owner o;
    struct token t;
    int rc = token_read(&t, &r->keys.token, text.p, text.n);

    if (rc < 0) {
        router_forged(r, req);
        return;
    }
    rc = routes_owner(r->routes, t.seg, &o);
    if (rc < 0 && rc != SQ_EGONE)
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router does not know the ticket's queue yet; the place is kept, ask again");
    else if (rc < 0 || o.queue == NULL || o.queue->map.bind != BIND_KEY || t.device == 0)
        router_problem(r, req, API_CONFLICT, "no key is asked for this ticket (bind of its queue, or it is older)");
    else
        prove(r, req, q, &t, &o.queue->map);
}
