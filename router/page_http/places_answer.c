/* places_answer.c: see places_answer.h. */
#include "router/page_http/places_answer.h"

#include <string.h>

#include "router/calls/group_name.h"
#include "router/calls/places.h"
#include "router/calls/ticket.h"
#include "router/page_http/files.h"

#define RETRY_MS 5000

/* ---- where to go afterwards ---- */

static const struct page_def *def_of(struct router *r, const struct route_queue *q)
{
    return q != NULL ? page_room_def(r, q) : NULL;
}

bool places_lead_to(struct router *r, const struct route_queue *q, const char *to)
{
    const struct page_def *d = def_of(r, q);

    return page_target_ok(to, strlen(to), d != NULL ? d->ret.v : NULL, d != NULL ? d->ret.n : 0);
}

/* Sends it on as the queue says whose turn it is. */
static void send_in(struct router *r, const struct page_ask *a, const struct route_queue *q)
{
    const struct page_def *d = def_of(r, q);
    char to[PAGE_TARGET_MAX + 1] = "";

    if (a->target[0] != '\0' && places_lead_to(r, q, a->target)) {
        page_send_to(r, a->target);
        return;
    }
    if (d != NULL && d->ret.n > 0)
        strcpy(to, ((char *const *)d->ret.v)[0]); /* at most 255, page_origin_ok() */
    strcat(to, "/");
    page_send_to(r, to);
}

/* ---- answers ---- */

/* name "": deletes it. */
static void put_cookie(struct router *r, const struct page_ask *a, const char *name)
{
    struct buf *b = &r->ans.headers;

    buf_str(b, "Set-Cookie: segq_places=");
    buf_str(b, name);
    page_cookie_rest(b, a, name[0] != '\0');
}

/* Forms may lead to what each of the queues leads to: a turn may be there at once. */
static void put_origins(struct router *r, const struct page_ask *a, struct buf *b)
{
    const struct cfg_group *g = places_group(r, (struct slice){ (char *)(uintptr_t)a->name, strlen(a->name) });
    char *const *v = g != NULL ? g->queues.v : NULL;

    for (size_t i = 0; g != NULL && i < g->queues.n; i++) {
        const struct page_def *d = def_of(r, routes_queue(r->routes, v[i], strlen(v[i])));

        for (size_t k = 0; d != NULL && k < d->ret.n; k++) {
            buf_byte(b, ' ');
            buf_str(b, ((char *const *)d->ret.v)[k]);
        }
    }
    buf_byte(b, '\0');
}

static void put_page(struct router *r, struct page_view *v, const struct page_ask *a)
{
    struct buf origins = { 0 };

    put_origins(r, a, &origins);
    v->forms_to = origins.failed ? NULL : (const char *)origins.data;
    page_show(r, v);
    buf_fini(&origins);
}

void places_show(struct router *r, const struct page_ask *a, enum page_state state, uint32_t retry_ms)
{
    struct page_view v = page_view_of(r, a, NULL, state);

    v.poll_after_ms = retry_ms;
    put_page(r, &v, a);
}

/* The others are given up for it, so its end is the end of all. */
static uint8_t why_over(const struct places *p)
{
    uint8_t why = GONE_LEFT;

    for (unsigned i = 0; i < p->n && why == GONE_LEFT; i++)
        why = p->v[i].reason;
    return why;
}

static enum page_state state_of(const struct one_place *v, bool pass)
{
    return v->is == PLACE_IS_WAITING ? PAGE_WAITING
           : pass                    ? PAGE_TURN
           : v->is == PLACE_IS_OVER  ? page_state_gone(v->reason)
                                     : PAGE_UNAVAILABLE;
}

static void fill(const struct places_call *c, unsigned i, struct page_place *o)
{
    struct router *r = c->r;
    const struct one_place *v = &c->p.v[i];
    struct route_owner w;
    bool known = routes_owner(r->routes, v->token.seg, &w) == 0 && w.queue != NULL;
    const struct route_queue *q = known ? w.queue : NULL;
    struct api_ticket t = { .queue = q, .lane = known ? w.lane : 0, .position = v->position };

    *o = (struct page_place){ .queue = known ? q->map.name : "", .state = state_of(v, known && c->pass[i].n > 0), .early = v->early,
                              .eta_s = -1, .ticket_seg = v->token.seg, .ticket_number = v->token.number };
    if (!known)
        return;
    o->def = page_room_def(r, q);
    if (v->is != PLACE_IS_WAITING)
        return;
    o->paused = page_is_paused(q);
    if (v->position == 0)
        return;
    o->position = api_position(&t);
    o->eta_s = api_eta_s(v->position, api_lane_stats(&t));
}

static void show_places(struct places_call *c)
{
    const struct page_ask *a = c->page;
    struct page_view v = page_view_of(c->r, a, NULL, PAGE_PLACES);
    struct page_place places[PLACES_MAX];

    for (unsigned i = 0; i < c->p.n; i++)
        fill(c, i, &places[i]);
    v.places = places;
    v.n_places = c->p.n;
    v.keeps = c->p.keeps;
    v.poll_after_ms = places_told(c);
    put_page(c->r, &v, a);
}

/* Leads to the queue that was chosen, if its turn is still there; where the others are kept. */
static void let_in_chosen(struct places_call *c)
{
    const struct page_ask *a = c->page;

    for (unsigned i = 0; i < c->p.n; i++) {
        const struct kept_pass *k = &c->pass[i];
        struct route_owner o;
        struct api_ticket t = { .pass = (const char *)c->passes.data + k->at, .pass_len = k->n,
                                .released_at_ms = k->released_at_ms, .pass_expires_s = k->expires_s };

        if (k->n == 0 || routes_owner(c->r->routes, c->p.v[i].token.seg, &o) != 0 || o.queue == NULL ||
            o.queue->map.id != a->queue)
            continue;
        c->r->counts.page_enters++;
        page_pass_cookie(c->r, a, o.queue, &t);
        send_in(c->r, a, o.queue);
        return;
    }
    page_send_back(c->r, a, "?r=1");
}

/* rf: the poll of the place whose turn it is. */
static void let_in(struct places_call *c, const struct rflow *rf)
{
    struct api_ticket t;
    const struct page_ask *a = c->page;

    if (!router_ticket(c->r, rf, &t)) { /* a queue went in this moment */
        places_show(c->r, a, PAGE_UNAVAILABLE, RETRY_MS);
        return;
    }
    c->r->counts.page_enters++;
    page_pass_cookie(c->r, a, t.queue, &t);
    send_in(c->r, a, t.queue);
}

static void show_failed_join(struct places_call *c)
{
    const char *name = c->queue[c->failed - 1];
    uint32_t retry_ms;
    enum page_state s = page_state_of(&c->why, routes_queue(c->r->routes, name, strlen(name)),
                                      ev_wall_ms(c->r->ev), &retry_ms);

    places_show(c->r, c->page, s, retry_ms);
}

static void show_over(struct places_call *c)
{
    const struct page_ask *a = c->page;
    uint8_t why = why_over(&c->p);

    if (why != GONE_FINISHED) {
        places_show(c->r, a, page_state_gone(why), 0);
        return;
    }
    put_cookie(c->r, a, "");
    page_send_anew(c->r, a);
}

void places_answer(struct places_call *c, const struct rflow *rf)
{
    const struct page_ask *a = c->page;
    char name[GROUP_NAME_ROOM];
    unsigned over = 0;

    for (unsigned i = 0; i < c->p.n; i++)
        over += c->p.v[i].is == PLACE_IS_OVER;
    if (c->failed != 0) {
        show_failed_join(c);
        return;
    }
    if (c->joins) { /* also of a join whose turn is there: asked again, it is told */
        group_name_write(&c->p, &c->r->keys.token, name);
        put_cookie(c->r, a, name);
    }
    if (c->p.step == PLACES_FAILED) {
        places_show(c->r, a, PAGE_UNAVAILABLE, RETRY_MS);
    } else if (c->leaves) {
        put_cookie(c->r, a, "");
        page_send_back(c->r, a, "?left=1");
    } else if (rf != NULL && rf->pass != NULL) {
        let_in(c, rf);
    } else if (over == c->p.n) {
        show_over(c);
    } else if (a->act == ACT_ENTER) {
        let_in_chosen(c);
    } else if (a->posted || a->claimed) {
        page_send_back(c->r, a, "?r=1");
    } else {
        show_places(c);
    }
}
