/* device.c: see device.h. */
#include "router/calls/device.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/text.h"
#include "common/http/cookie.h"
#include "common/ticket/moved.h"
#include "router/links/mng_link.h"

#define COOKIE      "segq_device_"
#define COOKIE_CAP  (sizeof(COOKIE) + NAME_MAX_LEN)
#define COOKIES_MAX 4 /* looked at, where several have the name: other paths and domains */
#define AGE         "2592000" /* seconds; 30 days, the longest session */

_Static_assert(TOKEN_TEXT_LEN >= DEVICE_LEN + 2, "a join's text has the cookie");

struct shown { /* secrets of a request, one after the other */
    char name[COOKIE_CAP];
    struct cookies c;
    unsigned n;
};

static void shown_begin(struct shown *s, const char *queue)
{
    *s = (struct shown){ .n = 0 };
    text_put(PUT(s->name, COOKIE), queue, strlen(queue))[0] = 0;
}

/* NULL: there is no further one. */
static const char *shown_next(struct shown *s, const struct http_req *q)
{
    struct slice v;

    while (s->n < COOKIES_MAX && cookie_next(&s->c, q, s->name, &v)) {
        s->n++;
        if (device_text_ok(v.p, v.n))
            return v.p;
    }
    return NULL;
}

/* ---- is it the same? --------------------------------------------------------------------- */

static bool is_named(const struct router *r, const char *secret, uint64_t device)
{
    return token_device(&r->keys.token, false, secret) == device ||
           (r->keys.token.has_other && token_device(&r->keys.token, true, secret) == device);
}

static bool is_id(const char *secret, const char id[DEVICE_LEN + 1])
{
    char own[DEVICE_LEN + 1];

    device_id(secret, own);
    return sodium_memcmp(own, id, DEVICE_LEN) == 0;
}

/* Does the request show a device with this id (NULL: this name)? */
static bool shows(const struct router *r, const struct http_req *q, const char *queue, const char *id,
                  uint64_t name)
{
    const char *secret;
    struct shown s;

    shown_begin(&s, queue);
    while ((secret = shown_next(&s, q)) != NULL)
        if (id != NULL ? is_id(secret, id) : is_named(r, secret, name))
            return true;
    return false;
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

    assert(t->device != 0);
    if (rc < 0 && rc != SQ_EGONE)
        return DEVICE_UNSURE;
    if (rc < 0 || o.queue->map.bind != BIND_DEVICE)
        return DEVICE_SAME;
    m = &o.queue->map;
    if (shows(r, q, m->name, is_taken(m, t->seg, t->number, &x) ? x.device : NULL, t->device))
        return DEVICE_SAME;
    return x.open && x.until_s > router_wall_s() ? DEVICE_TAKES : DEVICE_OTHER;
}

void device_refuse(struct router *r, seg_id seg, uint32_t number)
{
    r->counts.other_device++;
    api_other_device(&r->ans, seg, number, router_request_id(r));
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

bool device_may_pass(const struct router *r, const struct http_req *q, const struct known_pass *x)
{
    const struct route_queue *of;
    struct moved_ticket m;

    if (SQ_LIKELY(x->device[0] == '\0'))
        return true;
    of = routes_queue(r->routes, x->queue, strlen(x->queue));
    if (of != NULL && of->map.bind != BIND_DEVICE)
        return true;
    return shows(r, q, x->queue,
                 of != NULL && is_taken(&of->map, x->seg, x->number, &m) ? m.device : x->device, 0);
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
        in[0] = (char)(3 + i); /* 1 and 2: join_key.c */
        half = token_subject_hash(&r->keys.token, queue, in, n + 1);
        memcpy(raw + 8 * i, &half, 8);
    }
}

/* The request's own, or a fresh one. key, n: text that it is made of; NULL: of nothing. */
static void secret_of(const struct router *r, const struct http_req *q, const struct map_queue *queue,
                      const char *key, size_t n, char to[DEVICE_LEN + 1])
{
    const char *secret;
    uint8_t raw[16];
    struct shown s;

    shown_begin(&s, queue->name);
    secret = shown_next(&s, q);
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

void device_join(const struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct route_queue *queue, struct join_body *b, struct slice key)
{
    b->https = is_secure(r, req, q);
    if (b->keyed)
        secret_of(r, q, &queue->map, b->subject, b->subject_len, b->device);
    else
        secret_of(r, q, &queue->map, key.p, key.n, b->device);
}

void device_bind(const struct router *r, struct rflow *rf, struct join_body *b)
{
    size_t n = b->head_len > 0 ? b->head_len : (size_t)(PUT(b->head, "\x02 - ") - b->head);

    assert(n + 1 + DEVICE_LEN <= SUBJECT_HEAD_MAX && b->device[0] != '\0');
    b->head[n] = ' ';
    device_id(b->device, b->head + n + 1);
    b->head_len = (uint8_t)(n + 1 + DEVICE_LEN);
    b->head[1] = (char)(b->head_len - 2);
    rf->flow.token.device = token_device(&r->keys.token, false, b->device);
    memcpy(rf->text, b->device, DEVICE_LEN);
    rf->text[DEVICE_LEN] = b->https ? 's' : ' ';
}

static void put_cookie(struct buf *b, const char *queue, const char *secret, bool https)
{
    buf_str(b, "Set-Cookie: " COOKIE);
    buf_str(b, queue);
    buf_byte(b, '=');
    buf_append(b, secret, DEVICE_LEN);
    buf_str(b, "; Max-Age=" AGE "; Path=/; HttpOnly; SameSite=Lax");
    buf_str(b, https ? "; Secure\r\n" : "\r\n");
}

void device_put_cookie(struct router *r, const struct rflow *rf, const char *queue)
{
    assert(rf->flow.kind == FLOW_JOIN);
    put_cookie(&r->ans.headers, queue, rf->text, rf->text[DEVICE_LEN] == 's');
}

/* ---- a ticket goes to another device ----------------------------------------------------- */

bool device_is_alien(const struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    struct route_owner o;
    struct moved_ticket x;

    if (routes_owner(r->routes, f->token.seg, &o) == 0 && o.queue != NULL &&
        is_taken(&o.queue->map, f->token.seg, f->token.number, &x))
        return !is_id(rf->text, x.device);
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
    put_cookie(&r->ans.headers, o.queue->map.name, secret, is_secure(r, req, q));
}
