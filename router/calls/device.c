/* device.c: see device.h. */
#include "router/calls/device.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/text.h"
#include "common/http/cookie.h"

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

enum device_word device_of(const struct router *r, const struct http_req *q, const struct token *t)
{
    struct route_owner o;
    const char *secret;
    struct shown s;
    int rc = routes_owner(r->routes, t->seg, &o);

    assert(t->device != 0);
    if (rc < 0 && rc != SQ_EGONE)
        return DEVICE_UNSURE;
    if (rc < 0 || o.queue->map.bind != BIND_DEVICE)
        return DEVICE_SAME;
    shown_begin(&s, o.queue->map.name);
    while ((secret = shown_next(&s, q)) != NULL)
        if (is_named(r, secret, t->device))
            return DEVICE_SAME;
    return DEVICE_OTHER;
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
    default:
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router does not know the ticket's queue yet; the place is kept, ask again");
        return false;
    }
}

bool device_may_pass(const struct router *r, const struct http_req *q, const struct known_pass *x)
{
    const struct route_queue *of;
    char id[DEVICE_LEN + 1];
    const char *secret;
    struct shown s;

    if (SQ_LIKELY(x->device[0] == '\0'))
        return true;
    of = routes_queue(r->routes, x->queue, strlen(x->queue));
    if (of != NULL && of->map.bind != BIND_DEVICE)
        return true;
    shown_begin(&s, x->queue);
    while ((secret = shown_next(&s, q)) != NULL) {
        device_id(secret, id);
        if (sodium_memcmp(id, x->device, DEVICE_LEN) == 0)
            return true;
    }
    return false;
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

void device_join(const struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct route_queue *queue, struct join_body *b, struct slice key)
{
    const char *secret;
    uint8_t raw[16];
    struct shown s;

    shown_begin(&s, queue->map.name);
    secret = shown_next(&s, q);
    b->https = gate_is_secure(r->cfg, httpd_is_sealed(req), httpd_tag(req), q);
    if (secret != NULL) {
        memcpy(b->device, secret, DEVICE_LEN);
        return;
    }
    if (b->keyed)
        derive(r, queue->map.id, b->subject, b->subject_len, raw);
    else if (key.p != NULL)
        derive(r, queue->map.id, key.p, key.n, raw);
    else
        randombytes_buf(raw, sizeof(raw));
    sodium_bin2base64(b->device, sizeof(b->device), raw, sizeof(raw), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
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

void device_put_cookie(struct router *r, const struct rflow *rf, const char *queue)
{
    struct buf *b = &r->ans.headers;

    assert(rf->flow.kind == FLOW_JOIN);
    buf_str(b, "Set-Cookie: " COOKIE);
    buf_str(b, queue);
    buf_byte(b, '=');
    buf_append(b, rf->text, DEVICE_LEN);
    buf_str(b, "; Max-Age=" AGE "; Path=/; HttpOnly; SameSite=Lax");
    buf_str(b, rf->text[DEVICE_LEN] == 's' ? "; Secure\r\n" : "\r\n");
}
