/* front.c: see front.h. */
#include "router/room/front.h"

#include <string.h>

#include "router/calls/bearer.h"
#include "router/gate/visit.h"
#include "router/room/files.h"
#include "router/room/show.h"
#include "router/state/router.h"

static bool has_pass(struct router *r, const struct http_req *q, struct page_view *v)
{
    enum bearer_state state;
    const struct known_pass *x = bearer_pass(r, q, (struct slice){ 0 }, &state);
    const struct route_queue *queue;

    if (state != BEARER_GOOD)
        return false;
    queue = routes_queue(r->routes, x->queue, strlen(x->queue));
    v->state = PAGE_IN;
    v->good_for_s = bearer_until_s(r, x) - bearer_now_s(r, x);
    if (queue != NULL) {
        v->def = page_room_def(r, queue);
        v->style = page_room_style(r, queue);
    }
    return true;
}

static void show(struct router *r, struct httpd_req *req, const struct http_req *q,
                 struct page_view *v)
{
    v->lang = page_room_lang(r, q, v->def, &v->chosen);
    v->gzip = page_room_gzip(q);
    v->queue = "";
    v->target = "/";
    v->eta_s = -1;
    page_show(r, v);
    router_answer(r, req);
}

void page_front(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    struct page_view v = { .state = PAGE_START };

    if (!has_pass(r, q, &v)) {
        v.rooms = r->cfg->rooms.v;
        v.n_rooms = r->cfg->rooms.n;
    }
    show(r, req, q, &v);
}

bool page_nothing(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    struct page_view v = { .state = PAGE_NO_QUEUE };

    if (q->method != HTTP_GET || visit_of(q, (struct slice){ 0 }, true) != VISIT_PAGE)
        return false;
    show(r, req, q, &v);
    return true;
}
