/* show.c: see show.h. */
#include "router/room/show.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/http/cookie.h"
#include "router/page/render.h"
#include "router/room/files.h"

#define CLOSED_MS    60000
#define EARLY_MAX    60000 /* a page that waits for the opening looks again within this time */
#define TICKET_AGE_S 86400
#define RANDOM_LEN   sodium_base64_ENCODED_LEN(16, sodium_base64_VARIANT_ORIGINAL)

static void put_cookie_end(struct buf *b, const char *path, const char *name, bool https)
{
    buf_str(b, "; Path=");
    buf_str(b, path);
    buf_str(b, name);
    buf_str(b, "; HttpOnly; SameSite=Lax");
    buf_str(b, https ? "; Secure\r\n" : "\r\n");
}

void page_ticket_cookie(struct router *r, const struct page_ask *a, const char *token,
                        uint64_t start)
{
    struct buf *b = &r->ans.headers;

    buf_str(b, "Set-Cookie: segq_ticket=");
    if (token[0] != '\0') {
        buf_append(b, token, TOKEN_TEXT_LEN);
        if (start > 0) {
            buf_byte(b, '.');
            buf_u64(b, start);
        }
    }
    buf_str(b, "; Max-Age=");
    buf_u64(b, token[0] != '\0' ? TICKET_AGE_S : 0);
    put_cookie_end(b, "/q/", a->name, a->https);
}

/* ---- the reader's language ---- */

size_t page_room_lang(struct router *r, const struct http_req *q, const struct page_def *def,
                      bool *chosen)
{
    const struct page *p = page_room_page(r);
    size_t lang = page_lang_for(p, q->accept_language, def != NULL ? def->lang : NULL), named;
    struct cookies c = { 0 };
    char asked[17];
    struct slice v;
    int64_t n = page_own(q->query, "lang", asked, sizeof(asked));

    *chosen = n > 0 && page_lang_known(p, (struct slice) { asked, (size_t)n }, &lang);
    if (*chosen)
        return lang;
    while (cookie_next(&c, q, "segq_lang", &v))
        if (page_lang_known(p, v, &named))
            return named;
    return lang;
}

static void lang_cookie(struct router *r, const struct page_view *v)
{
    struct buf *b = &r->ans.headers;

    buf_str(b, "Set-Cookie: segq_lang=");
    buf_str(b, page_lang_tag(page_room_page(r), v->lang));
    buf_str(b, "; Max-Age=31536000; Path=/q/; HttpOnly; SameSite=Lax\r\n");
}

/* ---- answers ---- */

bool page_room_gzip(const struct http_req *q)
{
    struct slice v;

    return http_find(q, "accept-encoding", &v) == 1 && page_takes_gzip(v);
}

static struct buf *see_other(struct router *r)
{
    struct api_ans *a = &r->ans;

    a->status = 303;
    a->type = NULL;
    (void)buf_reserve(&a->body, 1); /* a body of no bytes is somewhere, too */
    buf_str(&a->headers, "Referrer-Policy: no-referrer\r\nLocation: ");
    return &a->headers;
}

void page_send_to(struct router *r, const char *target)
{
    struct buf *b = see_other(r);

    page_put_target(b, target, strlen(target));
    buf_str(b, "\r\n");
}

void page_send_back(struct router *r, const struct page_ask *a, const char *flag)
{
    struct buf *b = see_other(r);

    page_put_path(b, a->name, flag, a->target);
    buf_str(b, "\r\n");
}

/* 128 random bits; URL-safe for a form's member. */
static void put_random(char out[RANDOM_LEN], int variant)
{
    unsigned char seed[16];

    randombytes_buf(seed, sizeof(seed));
    sodium_bin2base64(out, RANDOM_LEN, seed, sizeof(seed), variant);
}

void page_show(struct router *r, struct page_view *v)
{
    const struct page *p = page_room_page(r);
    char nonce[RANDOM_LEN], key[RANDOM_LEN];

    put_random(nonce, sodium_base64_VARIANT_ORIGINAL);
    put_random(key, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    assert(r->ans.body.len == 0 && v->target != NULL && v->queue != NULL);
    v->nonce = nonce;
    v->key = key;
    if (v->chosen)
        lang_cookie(r, v);
    r->counts.pages++;
    r->ans.status = v->preview != NULL ? 200 : page_status(v->state);
    r->ans.type = "text/html; charset=utf-8";
    page_put_headers(p, &r->ans.headers, v);
    buf_str(&r->ans.headers, "Vary: Accept-Encoding, Accept-Language, Cookie\r\n");
    if (v->gzip) {
        buf_str(&r->ans.headers, "Content-Encoding: gzip\r\n");
        page_put_gzip(p, &r->ans.body, v);
    } else {
        page_put(p, &r->ans.body, v);
    }
}

enum page_state page_of_closed(const struct route_queue *q, int64_t wall_ms,
                               uint32_t *retry_ms)
{
    int64_t left = q->map.when.opens_ms - wall_ms;

    *retry_ms = CLOSED_MS;
    if (q->map.when.phase == PHASE_REJECT)
        return PAGE_REJECT;
    if (q->map.when.phase != PHASE_EARLY)
        return PAGE_CLOSED;
    if (left < EARLY_MAX) /* people and pages spread themselves: see page.js */
        *retry_ms = left > 2000 ? (uint32_t)left : 2000;
    return PAGE_EARLY;
}
