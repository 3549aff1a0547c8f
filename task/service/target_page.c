/* target_page.c: see the header. */
#include "task/service/target_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "task/service/state.h"

#define LOG_MODULE "caller"

#define PAGE_MAX      (1u << 20)
#define PAGE_DEADLINE 3000 /* ms */
#define AT_ONCE       16   /* pages of all targets: each may be in memory */

struct target_page {
    struct target_pages *all;      /* ref */
    struct endpoint *ep;    /* ref */
    struct out_target *out; /* owned */
    struct out_call *call;  /* NULL: none is under way */
};

/* Scheme, host and port of a url. */
static const char *cut_path(const char *url, char *text, size_t cap)
{
    const char *host = strstr(url, "://");
    size_t n = host != NULL ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : strlen(url);

    snprintf(text, cap, "%.*s", (int)n, url);
    return text;
}

int target_page_new(struct target_page **out, struct target_pages *all, struct out *o, struct endpoint *ep,
                    const struct out_rules *rules, struct err *e)
{
    char host[ENDPOINT_URL_MAX + 1];
    struct out_rules r = *rules;
    struct target_page *p;
    int rc;

    *out = NULL;
    if (ep->def.n_readings == 0)
        return 0;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    r.url = cut_path(ep->def.url, host, sizeof(host));
    *p = (struct target_page){ .all = all, .ep = ep };
    rc = out_target_new(&p->out, o, &r, e);
    if (rc < 0)
        free(p);
    else
        *out = p;
    return rc;
}

static void say(struct target_page *p)
{
    const struct endpoint *ep = p->ep;
    char text[READING_SAID_MAX + 1];
    bool blind = pressure_state(&ep->pressure, &ep->def, task_service_now(p->all->s).ms, text) == READING_BLIND;

    if (blind && !ep->pressure.said)
        log_warn("event=target_blind endpoint=%s url=%s address=%s why=%s do=\"look at its page, or at readings: it gets calls "
                 "as one without readings\"", ep->of != NULL ? ep->of->name : ep->name,
                 log_q(ep->def.url, strlen(ep->def.url)), ep->def.address, log_q(text, strlen(text)));
    else if (!blind && ep->pressure.said)
        log_info("event=target_seen endpoint=%s url=%s address=%s", ep->of != NULL ? ep->of->name : ep->name,
                 log_q(ep->def.url, strlen(ep->def.url)), ep->def.address);
    p->ep->pressure.said = blind;
}

static void on_page(void *arg, const struct call_answer *a)
{
    struct target_page *p = arg;
    struct endpoint *ep = p->ep;
    msec_t now = task_service_now(p->all->s).ms;
    char why[READING_SAID_MAX + 1] = "";

    p->call = NULL;
    p->all->asked--;
    if (ep->def.serial == 0) /* gone, with its url; so is this one with the next tick */
        return;
    if (a->fault != CALL_NONE)
        snprintf(why, sizeof(why), "page: %s: %s", call_fault_word(a->fault), a->why);
    else if (a->status != 200)
        snprintf(why, sizeof(why), "page: HTTP %u", a->status);
    else if (a->length != a->n)
        snprintf(why, sizeof(why), "page: longer than %u bytes", PAGE_MAX);
    if (why[0] != 0)
        pressure_failed(&ep->pressure, why, now);
    else
        (void)!pressure_read(&ep->pressure, &ep->def, a->body != NULL ? (const char *)a->body : "", a->n, now - a->ms);
    ep->pressure.next = ms_max(ep->pressure.next + ep->def.reading_ms, now + ep->def.reading_ms / 2);
    say(p);
}

static bool may_leave(void *arg)
{
    (void)arg;
    return true;
}

void target_page_look(struct target_page *p, const char *auth)
{
    msec_t now = task_service_now(p->all->s).ms;
    struct out_request q = { .method = "GET", .path = p->ep->def.reading_path, .fields = auth != NULL ? auth : "",
                             .fields_n = auth != NULL ? strlen(auth) + 1 : 0, .deadline_ms = PAGE_DEADLINE,
                             .keep = PAGE_MAX, .may = may_leave };

    if (p->call != NULL || now < p->ep->pressure.next || p->all->asked >= AT_ONCE)
        return;
    if (p->ep->pressure.next == 0)
        p->ep->pressure.next = now;
    p->call = out_send(p->out, &q, on_page, p);
    if (p->call != NULL)
        p->all->asked++;
}

void target_page_free(struct target_page *p)
{
    if (p == NULL)
        return;
    if (p->call != NULL) {
        out_cancel(p->call);
        p->all->asked--;
    }
    out_target_free(p->out);
    free(p);
}
