/* page_answer.c: see page_answer.h. */
#include "router/page_http/page_answer.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/http/request_headers.h"
#include "common/ticket/keys.h"
#include "router/calls/bearer.h"
#include "router/calls/device.h"
#include "router/calls/ticket.h"
#include "router/page/render.h"
#include "router/page_http/files.h"
#include "router/page_http/room_json.h"
#include "router/state/router.h"

#define CLOSED_MS    60000
#define EARLY_MAX    60000 /* a page that waits for the opening looks again within this time */
#define TICKET_AGE_S 86400
#define RANDOM_LEN   sodium_base64_ENCODED_LEN(16, sodium_base64_VARIANT_ORIGINAL)

void page_cookie_rest(struct buf *b, const struct page_ask *a, bool lasts)
{
    buf_str(b, "; Max-Age=");
    buf_u64(b, lasts ? TICKET_AGE_S : 0);
    buf_str(b, "; Path=/q/");
    buf_str(b, a->name);
    buf_str(b, "; HttpOnly; SameSite=Lax");
    buf_str(b, a->https ? "; Secure\r\n" : "\r\n");
}

void page_ticket_cookie(struct router *r, const struct page_ask *a, const char *token, uint64_t start)
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
    page_cookie_rest(b, a, token[0] != '\0');
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

void page_send_anew(struct router *r, const struct page_ask *a)
{
    struct buf *b = see_other(r);

    page_put_path(b, a->name, "", a->target);
    page_put_claim(b, a->claim, a->claim_len);
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
    char nonce[RANDOM_LEN], key[RANDOM_LEN], proof[STAMP_LEN + 1];

    if (v->json && room_json_show(r, v))
        return;
    put_random(nonce, sodium_base64_VARIANT_ORIGINAL);
    put_random(key, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    assert(r->ans.body.len == 0 && v->target != NULL && v->queue != NULL);
    v->nonce = nonce;
    v->key = key;
    if (v->keyed && v->preview == NULL) {
        device_nonce(r, proof);
        v->proof = proof;
    }
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

struct page_view page_view_of(struct router *r, const struct page_ask *a,
                              const struct route_queue *q, enum page_state state)
{
    struct page_view v = { .state = state,
                           .lang = a->lang,
                           .chosen = a->chosen,
                           .gzip = a->gzip,
                           .json = a->json,
                           .queue = a->name,
                           .target = a->target,
                           .eta_s = -1,
                           .wall_ms = ev_wall_ms(r->ev) };

    if (state != PAGE_REFUSED) {
        v.claim = a->claim;
        v.claim_len = a->claim_len;
    }
    if (q == NULL)
        return v;
    v.def = page_room_def(r, q);
    v.style = page_room_style(r, q);
    v.message = q->map.message;
    v.version = q->page_version;
    v.keyed = q->map.bind == BIND_KEY;
    v.opens_ms = state == PAGE_EARLY ? q->map.when.opens_ms : 0;
    return v;
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

#define RETRY_MS 5000
#define FULL_MS  15000

void page_pass_cookie(struct router *r, const struct page_ask *a, const struct route_queue *q,
                      const struct api_ticket *t)
{
    int64_t from_s = t->released_at_ms / 1000, end_s = t->pass_expires_s;
    int64_t now_s = pass_clock_s(&r->pass_clock, ev_now(r->ev), router_wall_s(), from_s, end_s);

    if (q->map.session_idle_s != 0 && from_s + q->map.session_max_s > end_s)
        end_s = from_s + q->map.session_max_s;
    bearer_put_cookie(&r->ans.headers, t->pass, t->pass_len,
                         end_s - now_s, a->https);
}

enum page_state page_state_gone(uint8_t reason)
{
    return reason == GONE_NO_SHOW ? PAGE_NO_SHOW
           : reason == GONE_LEFT  ? PAGE_LEFT
           : reason == GONE_LOST  ? PAGE_LOST
                                  : PAGE_EXPIRED;
}

enum page_state page_state_of(const struct flow *f, const struct route_queue *q, int64_t wall_ms,
                              uint32_t *retry_ms)
{
    *retry_ms = 0;
    switch (f->result) {
    case FLOW_GONE:
        return page_state_gone(f->reason);
    case FLOW_NO_QUEUE:
        return PAGE_NO_QUEUE;
    case FLOW_OTHER:
    case FLOW_INSIDE:
    case FLOW_NAMED:
        return PAGE_REFUSED;
    case FLOW_CLOSED:
        return q != NULL ? page_of_closed(q, wall_ms, retry_ms) : PAGE_CLOSED;
    case FLOW_FULL:
        *retry_ms = FULL_MS;
        return PAGE_FULL;
    default:
        *retry_ms = RETRY_MS;
        return PAGE_UNAVAILABLE;
    }
}

static void other(struct router *r, struct rflow *rf, const struct route_queue *q)
{
    uint32_t retry_ms;
    enum page_state state = page_state_of(&rf->flow, q, ev_wall_ms(r->ev), &retry_ms);
    struct page_view v = page_view_of(r, rf->page, q, state);

    v.poll_after_ms = retry_ms;
    if (v.json && rf->flow.result == FLOW_GONE) /* no reader presses a button */
        page_ticket_cookie(r, rf->page, "", 0);
    page_show(r, &v);
}

bool page_is_paused(const struct route_queue *q)
{
    return (q->map.state == QUEUE_PAUSED && /* a pre-queue, too */
            q->map.when.phase != PHASE_PREQUEUE) ||
           q->map.when.phase == PHASE_REJECT;
}

static void waiting(struct router *r, struct rflow *rf, const struct api_ticket *t,
                    const struct route_queue *q)
{
    const struct page_ask *a = rf->page;
    bool capped = api_is_capped(t);
    uint64_t position = api_position(t);
    uint64_t start = position > a->start ? position : a->start;
    struct page_view v = page_view_of(r, a, q, PAGE_WAITING);

    v.token = t->token;
    v.position = position;
    v.total = capped ? position : u64_max(position, api_lane_stats(t)->waiting);
    v.capped = capped;
    v.start = start;
    v.poll_after_ms = t->poll_after_ms;
    v.opens_ms = t->early ? q->map.when.opens_ms : 0;
    v.paused = page_is_paused(q);
    v.kept_s = q->map.kept_s;
    v.told = a->told;
    if (q->map.turn_queue[0] != '\0') {
        v.push_key = q->map.push_contact[0] != '\0' ? r->push.text : q->map.push_key;
        v.field = q->map.turn_field;
    }
    v.draw = q->map.when.draw;
    v.ticket_seg = t->of;
    v.ticket_number = t->number;
    if (t->position > 0)
        v.eta_s = api_eta_s(t->position, api_lane_stats(t));
    if (!a->joins)
        ticket_polled(r, &rf->flow.token, t->poll_after_ms);
    if (a->act == ACT_ENTER || a->joins || start != a->start)
        page_ticket_cookie(r, a, t->token, start);
    if (a->act == ACT_ENTER || a->claimed || a->posted)
        page_send_back(r, a, "?r=1");
    else
        page_show(r, &v);
}

static void admitted(struct router *r, struct rflow *rf, const struct route_queue *q,
                     const struct api_ticket *t)
{
    const struct page_ask *a = rf->page;

    assert(t->admitted && t->queue == q);
    r->counts.page_enters++;
    page_pass_cookie(r, a, q, t);
    if (a->act == ACT_ENTER || a->joins)
        page_ticket_cookie(r, a, t->token, a->start);
    page_send_to(r, a->target);
}

/* After "enter" the page must be that of this ticket; but a place that another tab has taken since
 * (by a claim, in exchange for this one) stays this browser's. */
static void gone(struct router *r, struct rflow *rf, const struct route_queue *q)
{
    const struct page_ask *a = rf->page;

    if (rf->flow.reason == GONE_FINISHED) {
        page_ticket_cookie(r, a, "", 0);
        page_send_anew(r, a);
    } else if (a->act == ACT_ENTER) {
        if (!a->other)
            page_ticket_cookie(r, a, rf->text, 0);
        page_send_back(r, a, "?r=1");
    } else {
        other(r, rf, q);
    }
}

void page_show_alien(struct router *r, const struct page_ask *a, const struct route_queue *q,
                     const struct token *t, const char *text)
{
    struct page_view v = page_view_of(r, a, q, PAGE_OTHER_DEVICE);

    v.token = text;
    v.ticket_seg = t->seg;
    v.ticket_number = t->number;
    page_show(r, &v);
}

void page_done(struct router *r, struct rflow *rf)
{
    const struct page_ask *a = rf->page;
    const struct route_queue *q = routes_queue(r->routes, a->name, strlen(a->name));
    const struct flow *f = &rf->flow;
    bool ok = f->result == FLOW_OK || f->result == FLOW_EXISTING;
    struct api_ticket t;

    assert(a != NULL && f->todo == FLOW_DONE);
    if (ok && f->kind == FLOW_JOIN && f->token.device != 0) {
        if (device_is_alien(r, rf)) {
            r->counts.other_device++;
            page_show_alien(r, a, q, &f->token, NULL); /* place of that name */
            return;
        }
        device_put_cookie(r, rf, a->name);
    }
    if (a->act == ACT_LEAVE && (ok || f->result == FLOW_GONE)) {
        page_ticket_cookie(r, a, "", 0);
        page_send_back(r, a, "?left=1");
    } else if (f->result == FLOW_INSIDE && a->had) { /* then it goes in with what it has */
        page_send_back(r, a, "?r=1");
    } else if (f->result == FLOW_GONE) {
        gone(r, rf, q);
    } else if (ok && q != NULL && router_ticket(r, rf, &t)) {
        if (t.queue != q) /* another queue's: it is none here */
            page_send_back(r, a, "?r=1");
        else if (t.admitted)
            admitted(r, rf, q, &t);
        else
            waiting(r, rf, &t, q);
    } else {
        other(r, rf, q);
    }
}

#define NAME_CAP 24

/* Made up, but possible: what people would see then. */
static const struct scene {
    const char *name;
    enum page_state state;
    uint32_t position, total, start;
    int32_t eta_s;   /* -1: not known */
    int32_t opens_s; /* from now; 0: it has opened */
    bool paused;
} scenes[] = {
    { "head", PAGE_WAITING, 3, 1240, 1180, 20, 0, false },
    { "middle", PAGE_WAITING, 612, 1240, 1180, 610, 0, false },
    { "tail", PAGE_WAITING, 1240, 1240, 1240, 1240, 0, false },
    { "far", PAGE_WAITING, 1234567, 1250000, 1240000, 12400, 0, false },
    { "unknown", PAGE_WAITING, 42, 1240, 60, -1, 0, false },
    { "paused", PAGE_WAITING, 612, 1240, 1180, -1, 0, true },
    { "opening-soon", PAGE_EARLY, 0, 0, 0, -1, 3 * 86400 + 600, false },
    { "countdown", PAGE_EARLY, 0, 0, 0, -1, 90, false },
    { "draw", PAGE_WAITING, 0, 0, 0, -1, 900, false },
    { "turn", PAGE_TURN, 0, 0, 0, -1, 0, false },
    { "in", PAGE_IN, 0, 0, 0, -1, 0, false },
    { "full", PAGE_FULL, 0, 0, 0, -1, 0, false },
    { "closed", PAGE_CLOSED, 0, 0, 0, -1, 0, false },
    { "reject", PAGE_REJECT, 0, 0, 0, -1, 0, false },
    { "unavailable", PAGE_UNAVAILABLE, 0, 0, 0, -1, 0, false },
    { "too-fast", PAGE_TOO_FAST, 0, 0, 0, -1, 0, false },
    { "left", PAGE_LEFT, 0, 0, 0, -1, 0, false },
    { "expired", PAGE_EXPIRED, 0, 0, 0, -1, 0, false },
    { "no-show", PAGE_NO_SHOW, 0, 0, 0, -1, 0, false },
    { "lost", PAGE_LOST, 0, 0, 0, -1, 0, false },
    { "refused", PAGE_REFUSED, 0, 0, 0, -1, 0, false },
    { "other-device", PAGE_OTHER_DEVICE, 0, 0, 0, -1, 0, false },
    { "cookies", PAGE_COOKIES, 0, 0, 0, -1, 0, false },
    { "door", PAGE_DOOR, 0, 0, 0, -1, 0, false },
    { "work", PAGE_WORK, 0, 0, 0, -1, 0, false },
    { "check", PAGE_CHECK, 0, 0, 0, -1, 0, false },
    { "no-queue", PAGE_NO_QUEUE, 0, 0, 0, -1, 0, false },
};

/* A place in line that is nobody's. */
static const char no_token[] = "-------------------------------------------------------";
_Static_assert(sizeof(no_token) == TOKEN_TEXT_LEN + 1, "as long as a token");
static const char a_draw[] =
    "{\"commitment\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}";

static const struct scene *scene_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
        if (strcmp(scenes[i].name, name) == 0)
            return &scenes[i];
    return &scenes[0];
}

/* Links to all of them. ticket: checked. */
static void put_links(struct buf *b, const struct scene *here, const char *ticket, const char *lang)
{
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
        buf_printf(b, "<a href=\"?preview=%s&amp;ticket=%s&amp;lang=%s\"%s>%s</a>\n", scenes[i].name,
                   ticket, lang, &scenes[i] == here ? " aria-current=\"page\"" : "",
                   scenes[i].name);
    buf_byte(b, 0);
}

static void show(struct router *r, const struct route_queue *queue, const struct page_ask *a,
                 const struct scene *s, const char *links)
{
    struct page_view v = page_view_of(r, a, queue, s->state);

    v.chosen = false;
    v.preview = links;
    v.token = s->state == PAGE_WAITING ? no_token : NULL;
    v.position = s->position;
    v.total = s->total;
    v.start = s->start;
    v.eta_s = s->eta_s;
    v.kept_s = queue->map.kept_s;
    v.good_for_s = 3600;
    v.ticket_seg = 1;
    v.ticket_number = 42;
    v.paused = s->paused;
    v.opens_ms = 0;
    if (s->opens_s != 0) {
        v.opens_ms = v.wall_ms + 1000ll * s->opens_s;
        v.draw = a_draw;
    }
    if (s->paused && v.message[0] == '\0')
        v.message = "Here stands what you say: segqctl message QUEUE TEXT";
    page_show(r, &v);
}

bool page_preview(struct router *r, struct httpd_req *req, const struct http_req *q,
                  const struct route_queue *queue, const struct page_ask *a)
{
    char name[NAME_CAP], ticket[PREVIEW_TEXT_CAP];
    const struct scene *s;
    struct buf links = { 0 };

    if (page_own(q->query, "preview", name, sizeof(name)) < 0)
        return false;
    if (page_own(q->query, "ticket", ticket, sizeof(ticket)) <= 0 ||
        !preview_ok(ticket, &r->keys, queue->map.name, router_wall_s())) {
        router_problem(r, req, API_NOT_ELIGIBLE, "this link to a preview is not good, or too old: "
                                                 "/v1/admin/queues/QUEUE/preview makes another");
        return true;
    }
    s = scene_of(name);
    put_links(&links, s, ticket, page_lang_tag(page_room_page(r), a->lang));
    if (links.failed) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "this router is out of memory; try again");
    } else {
        show(r, queue, a, s, (const char *)links.data);
        router_answer(r, req);
    }
    buf_fini(&links);
    return true;
}
