/* answer.c: see answer.h. */
#include "router/state/answer.h"

#include <assert.h>

#include "router/compat/classic_answer.h"
#include "router/state/pass_time.h"

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

void router_problem(struct router *r, struct httpd_req *req, enum api_problem p,
                    const char *detail)
{
    api_problem(&r->ans, p, detail, router_request_id(r));
    router_answer(r, req);
}

bool router_may_pass(struct router *r, struct httpd_req *req, enum limit_kind k)
{
    uint32_t wait_ms = gate_take(&r->gate, k, ev_now_us(r->ev));

    if (__builtin_expect(wait_ms == 0, 1))
        return true;
    api_too_fast(&r->ans, wait_ms, k == LIMIT_POLL, router_request_id(r));
    router_answer(r, req);
    return false;
}

void router_forged(struct router *r, struct httpd_req *req)
{
    r->counts.forged++;
    if (router_may_pass(r, req, LIMIT_BAD))
        router_problem(r, req, API_TICKET_UNKNOWN, "this is not a ticket of ours");
}
