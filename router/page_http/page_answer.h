/* page_answer.h: the waiting page's answers: HTML, redirects, the ticket's cookie. Shell.
 * How a flow of the page ended:
 *
 *   waiting    the page; after "enter": back to it, with this ticket
 *   admitted   the pass into its cookie, and off to the target
 *   over       the page says why; one whose visit is finished begins anew */
#ifndef SEGQ_ROUTER_PAGE_ANSWER_H
#define SEGQ_ROUTER_PAGE_ANSWER_H

#include "router/links/flows.h"
#include "router/page/page.h"
#include "router/state/router.h"

enum page_act { ACT_SEE, ACT_ENTER, ACT_LEAVE };

struct page_ask { /* a request of a page, while its flow is under way */
    enum page_act act;
    size_t lang;
    bool chosen;         /* the language, by the address */
    bool gzip;           /* the browser takes it */
    bool https;
    bool json;           /* for a program: room_json.h */
    bool joins;          /* no ticket yet */
    bool claimed;        /* by a claim, which must not stay in the address */
    bool had;            /* came with a ticket, which the claim's would replace */
    bool other;          /* the cookie has another ticket than the form */
    uint8_t told;        /* enum page_told */
    bool door;           /* the form is one of a page that asks first: a ticket that is there by now will do */
    bool posted;         /* by a form: a page that is loaded again must not send it again */
    uint64_t start;      /* the first position that it was told; 0: not known */
    queue_id queue;
    char name[NAME_MAX_LEN + 1];
    char target[PAGE_TARGET_MAX + 1];
    uint16_t claim_len;  /* 0: none */
    char claim[];        /* a page that asks again brings it again */
};

/* The reader's language: named in the address (?lang=de: *chosen), else kept in a cookie, else
 * what the browser prefers, else the queue's. def: NULL if there is none. */
size_t page_room_lang(struct router *r, const struct http_req *q, const struct page_def *def,
                      bool *chosen);
bool page_room_gzip(const struct http_req *q);
/* A view as far as the request, the queue (NULL: there is none) and the moment say it. */
struct page_view page_view_of(struct router *r, const struct page_ask *a,
                              const struct route_queue *q, enum page_state state);
/* Into r->ans. v: all but nonce and key. */
void page_show(struct router *r, struct page_view *v);
/* The page of a ticket that works with another device than the request's. text: of t, if it
 * may prove that it is not; else NULL. */
void page_show_alien(struct router *r, const struct page_ask *a, const struct route_queue *q,
                     const struct token *t, const char *text);
/* Ends a Set-Cookie of the page's own path: it lasts for a day, or is deleted. */
void page_cookie_rest(struct buf *b, const struct page_ask *a, bool lasts);
/* Sets the ticket's cookie; token "": deletes it. start: the first position that was told; 0: none. */
void page_ticket_cookie(struct router *r, const struct page_ask *a, const char *token, uint64_t start);
/* The cookie of t's pass. Lasts as long as the pass is good, or its session may be renewed: a gate that
 * does not hand the renewed pass on throws nobody out by that. */
void page_pass_cookie(struct router *r, const struct page_ask *a, const struct route_queue *q,
                      const struct api_ticket *t);
/* 303. Cookies are in r->ans.headers already. */
void page_send_to(struct router *r, const char *target);
void page_send_back(struct router *r, const struct page_ask *a, const char *flag);
/* The visit is over, so this is another one: with the claim that it came with. */
void page_send_anew(struct router *r, const struct page_ask *a);
/* The page of a queue that is closed: why, and when to look again. */
enum page_state page_of_closed(const struct route_queue *q, int64_t wall_ms,
                               uint32_t *retry_ms);

/* The page of a place that is over (enum gone_reason). */
enum page_state page_state_gone(uint8_t reason);
/* The page of a flow that found no place; and when to look again. */
enum page_state page_state_of(const struct flow *f, const struct route_queue *q, int64_t wall_ms,
                              uint32_t *retry_ms);
bool page_is_paused(const struct route_queue *q); /* lets nobody in, and keeps places */

/* Composes r->ans; rf->page says what was asked for. An rflow_done. */
void page_done(struct router *r, struct rflow *rf);

/* The waiting page's states as an operator may look at them, with a ticket of queuemng's
 * (common/ticket/keys.h): GET /q/login?preview=paused&ticket=1795430569.0123... Nobody takes a
 * place by it: the document is in a sandbox that sends no form, and asks for nothing. False: no preview is asked for; else it is answered. */
SQ_CHECK bool page_preview(struct router *r, struct httpd_req *req, const struct http_req *q,
                           const struct route_queue *queue, const struct page_ask *a);

#endif
