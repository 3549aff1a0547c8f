/* polled.c: a question at a time to each; of all, some. */
#include "task/service/polled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/task/url.h"
#include "task/calls/estimates.h"
#include "task/service/service.h"

#define LOG_MODULE "caller"
#define WHY_MAX    255

/* ---- services for waits ------------------------------------------------------------------- */

struct eta_service { /* for a partition */
    struct list_node in;
    struct estimator *all; /* ref */
    part_no part;
    struct eta_rules rules;
    const char *path;       /* behind that of its url */
    struct out_target *out; /* owned; NULL: it cannot be asked */
    bool bad; /* the last question went wrong, and that was logged */
};

static void service_free(struct eta_service *v)
{
    struct estimator *e = v->all;

    for (unsigned i = 0; i < ESTIMATOR_AT_ONCE; i++) {
        struct eta_asking *a = &e->asking[i];

        if (a->service != v)
            continue;
        out_cancel(a->call);
        a->service = NULL;
    }
    list_remove(&e->services, &v->in);
    out_target_free(v->out);
    free(v);
}

static bool is_current(const struct estimator *e, const struct eta_service *v)
{
    const struct eta_rules *r = tasktab_eta_rules(e->s->tab, v->part);

    return r != NULL && memcmp(r, &v->rules, sizeof(*r)) == 0;
}

/* Counts an end; says once that a service is bad, and that it is not any more. */
static void ends(struct eta_service *v, enum estimator_end end, const char *queue, const char *why)
{
    bool bad = end != ESTIMATE_ANSWERED;

    v->all->ended[end]++;
    if (bad && !v->bad)
        log_warn("event=eta_service_bad part=%u url=%s queue=%s why=%s do=\"look at the service, or at eta_url: our "
                 "own estimates are told\"", v->part, log_q(v->rules.url, strlen(v->rules.url)),
                 log_q(queue, strlen(queue)), log_q(why, strlen(why)));
    else if (!bad && v->bad)
        log_info("event=eta_service_good part=%u url=%s", v->part, log_q(v->rules.url, strlen(v->rules.url)));
    v->bad = bad;
}

/* Has it come, whole, with status 200? If not: why, behind `what`. */
static bool is_whole_page(const struct call_answer *a, const char *what, unsigned most, char *why, size_t cap)
{
    if (a->fault != CALL_NONE)
        snprintf(why, cap, "%s%s: %s", what, call_fault_word(a->fault), a->why);
    else if (a->status != 200)
        snprintf(why, cap, "%sHTTP %u", what, a->status);
    else if (a->length != a->n)
        snprintf(why, cap, "%smore than %u bytes", what, most);
    return a->fault == CALL_NONE && a->status == 200 && a->length == a->n;
}

/* "", or what is wrong. */
static const char *heard(struct estimator *e, const struct eta_asking *k, const struct call_answer *a)
{
    const char *wrong = tasktab_eta_told(e->s->tab, task_service_now(e->s), &k->due,
                                         a->body != NULL ? (const char *)a->body : "", a->n);

    return wrong != NULL ? wrong : "";
}

static void on_answer(void *arg, const struct call_answer *a)
{
    struct eta_asking *k = arg;
    struct eta_service *v = k->service;
    struct estimator *e = v->all;
    char why[WHY_MAX + 1] = "";
    enum estimator_end end = ESTIMATE_FAILED;

    k->service = NULL;
    if (!is_current(e, v)) /* the next tick frees it */
        return;
    if (is_whole_page(a, "", ESTIMATOR_BYTES_MAX, why, sizeof(why)))
        snprintf(why, sizeof(why), "%s", heard(e, k, a));
    if (why[0] == 0)
        end = ESTIMATE_ANSWERED;
    else if (a->fault == CALL_TIMEOUT)
        end = ESTIMATE_LATE;
    else if (a->fault == CALL_NONE && a->status == 200)
        end = ESTIMATE_WRONG;
    ends(v, end, k->due.queue, why);
}

static bool may_leave(void *arg)
{
    (void)arg;
    return true;
}

/* Without a target it cannot be asked: its url is of another release's. */
static void service_open(struct estimator *e, struct eta_service *v)
{
    struct out_rules r = { .url = v->rules.url, .connect_ms = v->rules.timeout_ms, .proxy = "" };
    struct url u;

    for (uint32_t i = 0; i < v->rules.n_allow; i++)
        if (ip_net_parse(&r.allow[r.n_allow], v->rules.allow[i]))
            r.n_allow++;
    if (url_parse(&u, r.url) != NULL || out_target_new(&v->out, e->s->caller.out, &r, NULL) < 0)
        return;
    v->path = u.path[0] != 0 ? "" : "/";
}

static struct eta_service *service_of(struct estimator *e, part_no part, const struct eta_rules *r)
{
    struct eta_service *v;

    list_each_of (&e->services, struct eta_service, in, x)
        if (x->part == part)
            return x; /* the rules are these: others were freed in this tick */
    v = calloc(1, sizeof(*v));
    if (v == NULL)
        return NULL;
    *v = (struct eta_service){ .all = e, .part = part };
    memcpy(&v->rules, r, sizeof(*r));
    list_push_back(&e->services, &v->in);
    service_open(e, v);
    return v;
}

static struct eta_asking *free_place(struct estimator *e)
{
    for (unsigned i = 0; i < ESTIMATOR_AT_ONCE; i++)
        if (e->asking[i].service == NULL)
            return &e->asking[i];
    return NULL;
}

static void ask(struct estimator *e, struct eta_asking *k, struct eta_service *v)
{
    static const char fields[] = "content-type: application/json";
    struct out_request q = { .method = "POST", .path = v->path, .fields = fields, .fields_n = sizeof(fields),
                             .body = { (const char *)e->text.data, e->text.len }, .deadline_ms = v->rules.timeout_ms,
                             .keep = ESTIMATOR_BYTES_MAX, .may = may_leave };

    k->call = v->out != NULL && !e->text.failed ? out_send(v->out, &q, on_answer, k) : NULL;
    if (k->call != NULL)
        k->service = v;
    else
        ends(v, ESTIMATE_FAILED, k->due.queue, "it cannot be asked");
}

void estimator_tick(struct estimator *e)
{
    struct eta_asking *k;

    list_each_of (&e->services, struct eta_service, in, v)
        if (!is_current(e, v))
            service_free(v);
    while ((k = free_place(e)) != NULL) {
        const struct eta_rules *r;
        struct eta_service *v;

        buf_reset(&e->text);
        r = tasktab_eta_due(e->s->tab, task_service_now(e->s), &k->due, &e->text);
        v = r != NULL ? service_of(e, k->due.part, r) : NULL;
        if (v == NULL)
            return;
        ask(e, k, v);
    }
}

void estimator_init(struct estimator *e, struct task_service *s)
{
    e->s = s;
    list_init(&e->services);
}

void estimator_fini(struct estimator *e)
{
    list_each_of (&e->services, struct eta_service, in, v)
        service_free(v);
    buf_fini(&e->text);
}

void estimator_metrics(const struct estimator *e, struct buf *b)
{
    static const char *const words[] = {
#define X(NAME, word) word,
        ESTIMATOR_ENDS(X)
#undef X
    };

    metrics_by(b, "segq_task_eta_questions_total", "Questions to operators' services for waits (eta_url)", "ended", words,
               e->ended, ESTIMATE_NENDS);
}

/* ---- pages of targets -------------------------------------------------------------------------- */
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
    if (!is_whole_page(a, "page: ", PAGE_MAX, why, sizeof(why)))
        pressure_failed(&ep->pressure, why, now);
    else
        (void)!pressure_read(&ep->pressure, &ep->def, a->body != NULL ? (const char *)a->body : "", a->n, now - a->ms);
    ep->pressure.next = ms_max(ep->pressure.next + ep->def.reading_ms, now + ep->def.reading_ms / 2);
    say(p);
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
