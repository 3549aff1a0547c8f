/* router.c: see router.h. */
#include "router/state/router.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "router/compat/classic.h"

void router_answer(struct router *r, struct httpd_req *req)
{
    struct api_ans *a = &r->ans;
    const char *headers;

    assert(a->status >= 200 && a->status < 600); /* something has been said */
    if (SQ_UNLIKELY(httpd_is_marked(req)))
        classic_answer(a, &(struct classic_clock){ router_wall_s(), r->cfg->compat_time, router_time_text });
    headers = api_headers(a);
    if (headers == NULL) /* no memory to say more */
        httpd_answer(req, 503, NULL, "Retry-After: 1\r\n", "", 0);
    else
        httpd_answer(req, a->status, a->type, headers, (const char *)a->body.data,
                     a->body.len);
    api_ans_reset(a);
}

bool router_answer_begin(struct router *r, struct httpd_req *req, uint64_t length)
{
    struct api_ans *a = &r->ans;
    const char *headers = api_headers(a);

    if (headers == NULL) {
        router_answer(r, req);
        return false;
    }
    httpd_open_sized(req, a->status, a->type, headers, length);
    httpd_send(req, (const char *)a->body.data, a->body.len);
    api_ans_reset(a);
    return true;
}

bool router_answer_passing(struct router *r, struct httpd_req *req, uint64_t length)
{
    struct api_ans *a = &r->ans;
    const char *headers = api_headers(a);

    if (headers == NULL) {
        router_answer(r, req);
        return false;
    }
    httpd_open_passing(req, a->status, a->type, headers, length);
    api_ans_reset(a);
    return true;
}

void router_problem(struct router *r, struct httpd_req *req, enum api_problem p,
                    const char *detail)
{
    api_problem(&r->ans, p, detail, router_request_id(r));
    router_answer(r, req);
}

void router_failed(struct router *r, const struct flow *f)
{
    uint64_t salt = router_request_id(r);
    uint32_t wait_s = 0;

    if (f->result == FLOW_UNAVAIL)
        wait_s = put_off_s(&r->put_off, ev_now(r->ev), (uint32_t)(salt >> 32));
    api_failed(&r->ans, f, wait_s, salt);
}

/* False: wait_ms is not 0; that has been answered. */
static inline bool passes(struct router *r, struct httpd_req *req, enum limit_kind k, uint32_t wait_ms)
{
    if (__builtin_expect(wait_ms == 0, 1))
        return true;
    api_too_fast(&r->ans, wait_ms,
                 k == LIMIT_POLL ? "too many requests from this address; the place is kept"
                                 : "too many requests from this address",
                 router_request_id(r));
    router_answer(r, req);
    return false;
}

bool router_may_pass(struct router *r, struct httpd_req *req, enum limit_kind k)
{
    return passes(r, req, k, gate_take(&r->gate, k, ev_now_us(r->ev)));
}

bool router_may_pass_more(struct router *r, struct httpd_req *req, enum limit_kind k, unsigned n)
{
    return passes(r, req, k, gate_take_more(&r->gate, k, n, ev_now_us(r->ev)));
}

void router_forged(struct router *r, struct httpd_req *req)
{
    r->counts.forged++;
    if (router_may_pass(r, req, LIMIT_BAD))
        router_problem(r, req, API_TICKET_UNKNOWN, "this is not a ticket of ours");
}

int64_t router_wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

int64_t router_least_s(const struct router *r)
{
    return pass_clock_least_s(&r->pass_clock, ev_now(r->ev), router_wall_s());
}

size_t router_time_text(char out[ROUTER_TIME_MAX], const char *layout, int64_t unix_s)
{
    bool rfc3339 = strcmp(layout, "rfc3339") == 0;
    time_t t = (time_t)unix_s;
    struct tm at;
    long off;
    size_t n;

    if (strcmp(layout, "unix") == 0)
        return (size_t)snprintf(out, ROUTER_TIME_MAX, "%lld", (long long)unix_s);
    if (localtime_r(&t, &at) == NULL)
        return 0;
    n = strftime(out, ROUTER_TIME_MAX - 8, rfc3339 ? "%Y-%m-%dT%H:%M:%S" : layout, &at);
    off = at.tm_gmtoff < 0 ? -at.tm_gmtoff : at.tm_gmtoff;
    if (rfc3339 && n > 0)
        n += (size_t)snprintf(out + n, 8, "%c%02ld:%02ld", at.tm_gmtoff < 0 ? '-' : '+',
                              off / 3600 % 24, off / 60 % 60);
    return n;
}

bool router_time_fits(const char *layout)
{
    const int64_t begin_s = 1830297600 + 59 * 60 + 59, hours = 366 * 24; /* 2028 */
    char text[ROUTER_TIME_MAX];

    for (int64_t i = 0; i < hours; i++)
        if (router_time_text(text, layout, begin_s + i * 3600) == 0)
            return false;
    return true;
}

/* ---- suspects: what this router tells its table of them (router/gate/suspects.h) ---- */

bool suspecting_of(const struct route_queue *q, limit_id client, struct suspect_of *of)
{
    if (q->map.suspects == SUSPECTS_OFF || q->map.suspects_from == 0 || client == 0)
        return false;
    *of = (struct suspect_of){ q->map.id, limit_prefix(client), limit_site(client), q->map.suspects_from,
                               q->map.suspects_places };
    return true;
}

void suspecting_placed(struct router *r, limit_id client, const struct flow *f)
{
    struct suspect_of of;
    struct route_owner o;

    if (r->suspects == NULL || f->result != FLOW_OK || f->admitted ||
        routes_owner(r->routes, f->token.seg, &o) < 0 || o.queue == NULL || !suspecting_of(o.queue, client, &of))
        return;
    suspects_count(r->suspects, &of, SUSPECT_PLACES, ev_now(r->ev));
    if (f->poll_after_ms <= SUSPECT_POLL_MS)
        suspects_count(r->suspects, &of, SUSPECT_OWED, ev_now(r->ev));
}

void suspecting_heard_of(struct router *r, const struct token *t, bool polls)
{
    struct suspect_of of;
    struct route_owner o;

    if (routes_owner(r->routes, t->seg, &o) < 0 || o.queue == NULL ||
        !suspecting_of(o.queue, r->gate.client, &of))
        return;
    if (polls)
        suspects_heard(r->suspects, of.queue, ev_now(r->ev));
    if (router_wall_s() - (int64_t)t->issued_s <= SUSPECT_YOUNG_S)
        suspects_polled(r->suspects, &of, t->seg, t->number, ev_now(r->ev));
}
