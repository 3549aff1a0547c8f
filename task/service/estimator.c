/* estimator.c: see the header. */
#include "task/service/estimator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/task/url.h"
#include "task/calls/estimates.h"
#include "task/service/state.h"

#define LOG_MODULE "estimator"
#define WHY_MAX    255

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
    if (a->fault != CALL_NONE)
        snprintf(why, sizeof(why), "%s: %s", call_fault_word(a->fault), a->why);
    else if (a->status != 200)
        snprintf(why, sizeof(why), "HTTP %u", a->status);
    else if (a->length != a->n)
        snprintf(why, sizeof(why), "more than %d bytes", ESTIMATOR_BYTES_MAX);
    else
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
