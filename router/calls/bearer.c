/* bearer.c: see bearer.h. */
#include "router/calls/bearer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/request_headers.h"
#include "common/ticket/pass.h"
#include "router/calls/device.h"

/* ---- what a pass says -------------------------------------------------------------------- */

/* "<seg>-<number>" */
static bool read_jti(const char *s, seg_id *seg, uint32_t *number)
{
    char *end;
    unsigned long long a, b;

    if (*s < '0' || *s > '9')
        return false;
    a = strtoull(s, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    b = strtoull(end + 1, &end, 10);
    *seg = a;
    *number = (uint32_t)b;
    return *end == '\0' && b <= UINT32_MAX;
}

/* Visible ASCII unchanged, all else (and %) as %XX: a subject may be any text. */
static bool put_value(char *to, size_t cap, size_t *len, const char *s)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *s != '\0'; s++) {
        uint8_t c = (uint8_t)*s;
        bool plain = c > 0x20 && c < 0x7f && c != '%';

        if (cap - *len < 3)
            return false;
        if (plain) {
            to[(*len)++] = (char)c;
            continue;
        }
        to[(*len)++] = '%';
        to[(*len)++] = hex[c >> 4];
        to[(*len)++] = hex[c & 15];
    }
    return true;
}

static bool put_line(struct known_pass *x, size_t *len, const char *name, const char *value)
{
    size_t n = strlen(name);

    if (sizeof(x->text) - *len < n)
        return false;
    memcpy(x->text + *len, name, n);
    *len += n;
    if (!put_value(x->text, sizeof(x->text) - 2, len, value))
        return false;
    x->text[(*len)++] = '\r';
    x->text[(*len)++] = '\n';
    return true;
}

static bool fill(struct known_pass *x, const struct pass_view *v)
{
    size_t len = 0, n = strlen(v->aud);

    if (!api_is_name(v->aud, n) || !read_jti(v->jti, &x->seg, &x->number))
        return false;
    memcpy(x->queue, v->aud, n + 1);
    x->nbf_s = v->nbf_s;
    x->exp_s = v->exp_s;
    if (!put_line(x, &len, "X-Segq-Queue: ", v->aud) ||
        !put_line(x, &len, "X-Segq-Ticket: ", v->jti) ||
        !put_line(x, &len, "X-Segq-Subject: ", v->sub) ||
        !put_line(x, &len, "X-Segq-Lane: ", v->lane))
        return false;
    x->len = (uint16_t)len;
    x->is_bound = v->is_bound;
    strcpy(x->device, v->bound.device);
    return true;
}

/* A key that is not published any more vouches for nothing. */
static void forget_old_keys(struct router *r)
{
    uint64_t now = routes_keys_generation(r->routes);

    if (r->keys_generation != now)
        sigcache_clear(r->sigcache);
    r->keys_generation = now;
}

/* NULL: it is none of ours. */
static const struct known_pass *known_pass_of(struct router *r, struct slice pass)
{
    const uint8_t(*keys)[32];
    size_t n = routes_keys(r->routes, &keys);
    const struct known_pass *known;
    struct known_pass x = { 0 };
    struct pass_view v;

    forget_old_keys(r);
    sigcache_hash(r->sigcache, pass.p, pass.n, x.hash);
    known = sigcache_find(r->sigcache, x.hash);
    if (known != NULL)
        return known;
    r->counts.pass_checks++;
    if (pass_check(&v, pass.p, pass.n, keys, n) < 0 || !fill(&x, &v))
        return NULL;
    if (!x.is_bound && bearer_until_s(r, &x) > router_least_s(r)) /* an expired pass is nobody's for long */
        sigcache_put(r->sigcache, &x);
    r->last_pass = x; /* perhaps not taken */
    r->last_bound = v.bound;
    return &r->last_pass;
}

const struct bound *bearer_bound(const struct router *r, const struct known_pass *x)
{
    assert(!x->is_bound || x == &r->last_pass); /* a good one is the last that was looked at */
    return x->is_bound ? &r->last_bound : NULL;
}

int64_t bearer_until_s(const struct router *r, const struct known_pass *x)
{
    int64_t more = revoked_until_s(&r->extended, x->seg, x->number);

    return more > x->exp_s ? more : x->exp_s;
}

int64_t bearer_now_s(const struct router *r, const struct known_pass *x)
{
    return pass_clock_s(&r->pass_clock, ev_now(r->ev), router_wall_s(), x->nbf_s,
                        bearer_until_s(r, x));
}

static enum bearer_state state_of(const struct router *r, const struct known_pass *x,
                                  struct slice queue)
{
    if (queue.n > 0 &&
        (strlen(x->queue) != queue.n || memcmp(x->queue, queue.p, queue.n) != 0))
        return BEARER_ELSEWHERE;
    if (!pass_clock_good(bearer_now_s(r, x), x->nbf_s, bearer_until_s(r, x)))
        return BEARER_OVER;
    return revoked_has(&r->revoked, x->seg, x->number) ? BEARER_REVOKED : BEARER_GOOD;
}

struct pick { /* the best so far */
    const struct known_pass *x;
    enum bearer_state state;
    unsigned tried;
};

/* True: it is good, look no further. */
static bool try_pass(struct router *r, struct slice pass, struct slice queue, struct pick *p)
{
    const struct known_pass *x = NULL;
    enum bearer_state s;

    if (pass.n > 0 && p->tried++ < PASSES_MAX)
        x = known_pass_of(r, pass);
    if (x == NULL)
        return false;
    s = state_of(r, x, queue);
    if (s == BEARER_GOOD) {
        *p = (struct pick){ x, s, p->tried };
        return true;
    }
    assert(s != BEARER_NONE);
    if (p->x == NULL) { /* the next look may take its place in r->last_pass */
        r->not_good = *x;
        *p = (struct pick){ &r->not_good, s, p->tried };
    }
    return false;
}

const struct known_pass *bearer_pass(struct router *r, const struct http_req *q,
                                struct slice queue, enum bearer_state *state)
{
    struct pick p = { .state = BEARER_NONE };
    struct cookies c = { 0 };
    struct slice pass = api_bearer(q);
    bool good = try_pass(r, pass, queue, &p);

    while (!good && cookie_next(&c, q, "segq_pass", &pass))
        good = try_pass(r, pass, queue, &p);
    if (state != NULL)
        *state = p.state;
    return p.x;
}

void bearer_put_cookie(struct buf *b, const char *pass, size_t n, int64_t age_s, bool https)
{
    buf_str(b, "Set-Cookie: segq_pass=");
    buf_append(b, pass, n);
    buf_str(b, "; Max-Age=");
    buf_i64(b, age_s > 0 ? age_s : 1);
    buf_str(b, "; Path=/; HttpOnly; SameSite=Lax");
    buf_str(b, https ? "; Secure\r\n" : "\r\n");
}

void bearer_put_expires(struct buf *b, int64_t until_s)
{
    buf_str(b, "X-Segq-Expires: ");
    buf_i64(b, until_s);
    buf_str(b, "\r\n");
}

void bearer_let_in(struct router *r, const struct known_pass *x)
{
    assert(x->len <= sizeof(x->text));
    r->counts.verified++;
    r->ans.status = 204;
    buf_append(&r->ans.headers, x->text, x->len);
    device_put_header(r, x);
    bearer_put_expires(&r->ans.headers, bearer_until_s(r, x));
}
