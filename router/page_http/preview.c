/* preview.c: see preview.h. */
#include "router/page_http/preview.h"

#include <string.h>

#include "common/ticket/preview.h"
#include "router/page_http/files.h"
#include "router/state/router.h"

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
    { "cookies", PAGE_COOKIES, 0, 0, 0, -1, 0, false },
    { "door", PAGE_DOOR, 0, 0, 0, -1, 0, false },
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
