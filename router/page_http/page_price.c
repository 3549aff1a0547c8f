/* page_price.c: see page_price.h. */
#include "router/page_http/page_price.h"

#include <sodium.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "router/calls/join.h"
#include "router/page/page.h"

/* ---- a place costs work ---- */

#define RETRY_MS 5000
#define CALM_MS 30000 /* a program cannot work: it comes again, and joins when places are free */
#define ASK_MAX (4 * (CHALLENGE_TEXT_MAX + 20) / 3 + 4)

void page_work(struct router *r, struct httpd_req *req, const struct page_ask *a, const struct route_queue *q,
               bool door, struct slice challenge, uint64_t keys)
{
    char text[CHALLENGE_TEXT_MAX + 20], ask[ASK_MAX];
    char *end = PUT(text_put(PUT(text, "{\"challenge\":"), challenge.p, challenge.n), "}");
    struct page_view v = page_view_of(r, a, q, PAGE_WORK);

    sodium_bin2base64(ask, sizeof(ask), (const uint8_t *)text, (size_t)(end - text), sodium_base64_VARIANT_ORIGINAL);
    v.challenge = challenge;
    v.keys = keys;
    v.ask = ask;
    v.poll_after_ms = a->json ? CALM_MS : 0;
    v.door = door;
    page_show(r, &v);
    router_answer(r, req);
}

/* ---- a place is for those whom a service takes for people ---- */

static void show_of(struct router *r, struct httpd_req *req, const struct page_ask *a, const struct route_queue *q,
                    enum page_state state, uint32_t retry_ms)
{
    struct page_view v = page_view_of(r, a, q, state);

    v.poll_after_ms = retry_ms;
    v.door = a->door;
    page_show(r, &v);
    router_answer(r, req);
}

static void check_refuses(struct router *r, struct httpd_req *req, const struct route_queue *q, enum site_no why,
                          const struct site_work *w, const struct join_then *then)
{
    const struct page_ask *a = then->page;
    char text[CHALLENGE_TEXT_MAX];
    size_t n;

    if (why == SITE_NO_QUEUE) {
        show_of(r, req, a, NULL, PAGE_NO_QUEUE, 0);
    } else if (why == SITE_NO_SERVICE) {
        show_of(r, req, a, q, PAGE_UNAVAILABLE, SITE_AGAIN_MS);
    } else if (why == SITE_WORK && (n = door_challenge(&r->door, &w->ask, &w->terms, w->level, text)) > 0) {
        page_work(r, req, a, q, a->door, (struct slice){ text, n }, (uint64_t)PUZZLE_KEYS_MIN << door_rank(&w->ask, w->level));
    } else if (why == SITE_WORK || why == SITE_NO_ROOM) {
        show_of(r, req, a, q, PAGE_TOO_FAST, 1000);
    } else {
        show_of(r, req, a, q, PAGE_CHECK, a->json ? CALM_MS : 0);
    }
}

/* A join that was held. Takes its page over. */
static void check_goes(struct router *r, struct httpd_req *req, const struct route_queue *q, struct join_body *b,
                       const struct join_then *then)
{
    struct rflow *rf = rflow_new(r, req, page_done, NULL);
    struct page_ask *a = then->page;

    if (rf == NULL) {
        show_of(r, req, a, q, PAGE_UNAVAILABLE, RETRY_MS);
        free(a);
        return;
    }
    rf->page = a;
    join_flow(r, rf, q, b, then->lane);
    rflow_begin(r, rf);
}

struct join_then page_check_then(struct page_ask *a, unsigned lane)
{
    return (struct join_then){ .go = check_goes, .lane = lane, .refuse = check_refuses, .page = a };
}
