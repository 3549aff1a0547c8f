/* page_room.h: the waiting page's service: requests to flows and back to HTML. Shell.
 *
 *   GET /q/{queue} --page_get.c--> join or poll --flow--> page_done.c --> HTML, or 303
 *   POST .../enter, leave, join ---^
 * The ticket is in a cookie for /q/{queue} alone; whoever is admitted gets the pass in
 * another, and is sent to where it wanted to go. */
#ifndef SEGQ_ROUTER_PAGE_ROOM_H
#define SEGQ_ROUTER_PAGE_ROOM_H

#include "router/page/page.h"
#include "router/service/router_flow.h"

enum page_act { ACT_SEE, ACT_ENTER, ACT_LEAVE };

struct page_ask { /* one request of a page, while its flow is under way */
    enum page_act act;
    size_t lang;
    bool https;
    bool joins;          /* it has no ticket yet */
    bool claimed;        /* by a claim, which must not stay in the address */
    bool posted;         /* by a form: a page that is loaded again must not send it again */
    uint64_t start;      /* the first position that it was told; 0: not known */
    queue_id queue;
    char name[NAME_MAX_LEN + 1];
    char target[PAGE_TARGET_MAX + 1];
};

/* Reads the files; cfg is not kept. */
SQ_CHECK int page_room_new(struct page_room **out, const struct router_cfg *cfg,
                           struct err *e);
void page_room_free(struct page_room *p); /* NULL is fine */

/* API_PAGE, API_WORDS, API_FORM, API_UNFORM. Answers, or begins a flow that will. */
void page_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                const struct api_req *a);
/* API_START: the page at "/". */
void page_front(struct router *r, struct httpd_req *req, const struct http_req *q);
/* API_NO_PATH: a page for people who look; false: nobody does, not answered. */
SQ_CHECK bool page_nothing(struct router *r, struct httpd_req *req, const struct http_req *q);
/* Its flow is over: composes r->ans. */
void page_done(struct router *r, struct rflow *rf);
void page_ask_free(struct page_ask *a); /* NULL is fine */

/* ---- between page_get.c and page_done.c ---- */

/* The queue's page definition as the map has it; NULL: nothing is said. */
const struct page_def *page_room_def(struct router *r, const struct route_queue *q);
const struct page *page_room_page(const struct router *r);

/* Into r->ans. v: all but nonce; retry_ms: for states that are tried again. */
void page_show(struct router *r, struct page_view *v);
/* 303. Cookies are in r->ans.headers already. */
void page_send_to(struct router *r, const char *target);
void page_send_back(struct router *r, const struct page_ask *a, const char *flag);
/* "": forget it. */
void page_ticket_cookie(struct router *r, const struct page_ask *a, const char *token,
                        uint64_t start);

#endif
