/* monitors.c: keeps the last reading of each monitor. */
#include "queuemng/core/monitors.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/core/mng.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/targets.h"

#define LOG_MODULE "mng"

static struct metric *metric_named(struct mng *m, const char *name)
{
    const struct metric *known = metric_find(m->metric, m->n_metrics, name);
    struct metric *x;

    if (known != NULL)
        return &m->metric[known - m->metric];
    if (m->n_metrics == MNG_METRICS_MAX)
        return NULL;
    x = &m->metric[m->n_metrics++];
    strncpy(x->name, name, NAME_MAX_LEN);
    return x;
}

void mng_reading(struct mng *m, msec_t now_ms, const char *metric, double value,
                 msec_t taken_ms)
{
    struct metric *x = metric_named(m, metric);
    bool was;

    if (x == NULL)
        return;
    was = x->ok;
    metric_set(x, value, 1e9, taken_ms, now_ms);
    each_queue(m, q) {
        if (!q->active && q->def.limits.n != 0)
            pops_look(m, q, now_ms);
    }
    if (was && !x->ok) {
        m->count.monitor_failures++;
        log_error("event=monitor_bad metric=%s why=%s", metric,
                  log_q(x->why, strnlen(x->why, sizeof(x->why))));
    } else if (!was && x->ok) {
        log_info("event=monitor_ok metric=%s value=%g", metric, value);
    }
}

void mng_reading_failed(struct mng *m, msec_t now_ms, const char *metric, const char *why)
{
    struct metric *x = metric_named(m, metric);

    (void)now_ms;
    if (x == NULL)
        return;
    if (x->ok || strcmp(x->why, why) != 0)
        log_error("event=monitor_failed metric=%s why=%s", metric, log_q(why, strlen(why)));
    m->count.monitor_failures++;
    metric_fail(x, why);
}

static size_t names_of(const struct mng *m, const char *names[MNG_METRICS_MAX])
{
    for (size_t i = 0; i < m->n_known; i++)
        names[i] = m->known[i];
    return m->n_known;
}

static bool is_known(const struct mng *m, const char *name)
{
    for (size_t i = 0; i < m->n_known; i++)
        if (strcmp(m->known[i], name) == 0)
            return true;
    return false;
}

int metrics_check(const struct mng *m, const struct cfg_list *limits, const struct cfg_list *old,
                  struct err *e)
{
    const char *names[MNG_METRICS_MAX];
    size_t n = names_of(m, names);

    return m->knows ? metric_limits_measured(limits, old, names, n, e) : 0;
}

static bool is_named(const struct mng *m, const char *metric)
{
    each_queue(m, q)
        if (metric_limits_name(&q->def.limits, metric))
            return true;
    each_pool(m, p)
        if (metric_limits_name(&p->def.limits, metric))
            return true;
    each_budget(m, b)
        if (metric_limits_name(&b->def.limits, metric))
            return true;
    return false;
}

/* Drops it: nobody asks for it, and it is not measured any more, so it would be stale for ever. */
static void forget_unused(struct mng *m)
{
    unsigned n = 0;

    for (unsigned i = 0; i < m->n_metrics; i++)
        if (is_known(m, m->metric[i].name) || is_named(m, m->metric[i].name))
            m->metric[n++] = m->metric[i];
    assert(n <= m->n_metrics);
    m->n_metrics = n;
}

/* Reports a missing metric. what: "queue", "pool", "budget" */
static void miss(struct mng *m, msec_t now_ms, const char *what, const char *name,
                 const struct cfg_list *limits)
{
    const struct def_limit *l = limits->v;

    for (size_t i = 0; i < limits->n; i++) {
        if (is_known(m, l[i].metric))
            continue;
        log_error("event=metric_missing %s=%s metric=%s do=\"name it in metrics of "
                  "queuemng.yaml, or change the %s's limits\"", what, name, l[i].metric, what);
        mng_reading_failed(m, now_ms, l[i].metric, "not in metrics of queuemng.yaml");
    }
}

void mng_metrics_set(struct mng *m, msec_t now_ms, const char *const *names, size_t n)
{
    m->knows = true;
    m->n_known = n < MNG_METRICS_MAX ? n : MNG_METRICS_MAX;
    for (size_t i = 0; i < m->n_known; i++) {
        memset(m->known[i], 0, sizeof(m->known[i]));
        strncpy(m->known[i], names[i], NAME_MAX_LEN);
    }
    forget_unused(m);
    each_queue(m, q)
        miss(m, now_ms, "queue", q->def.name, &q->def.limits);
    each_pool(m, p)
        miss(m, now_ms, "pool", p->def.match, &p->def.limits);
    each_budget(m, b)
        miss(m, now_ms, "budget", b->def.name, &b->def.limits);
}

/* ---- addresses of targets with `discover` ---- */

#define ASKED_MS    60000 /* a question is over by then, whatever has become of it */

void mng_each_name_due(struct mng *m, msec_t now_ms, mng_ask_fn ask, void *ctx)
{
    each_endpoint(m, x)
        each_name(x, n) {
            if (now_ms < n->d.due || (n->asked != 0 && now_ms - n->asked < ASKED_MS))
                continue;
            n->asked = now_ms;
            ask(ctx, x->def.name, n->url);
        }
}

static void say(const struct mendpoint *x, struct mname *n, msec_t now)
{
    const char *url = log_q(n->url, strlen(n->url));
    bool failing = n->d.why[0] != 0;

    if (failing && n->failing == 0)
        log_warn("event=discovery_failing endpoint=%s url=%s addresses=%u why=%s do=\"look at the name, and at the "
                 "name servers of this machine: addresses that were known stay targets\"", x->def.name, url, n->d.n,
                 log_q(n->d.why, strlen(n->d.why)));
    else if (!failing && n->failing != 0)
        log_info("event=discovery_well endpoint=%s url=%s addresses=%u", x->def.name, url, n->d.n);
    n->failing = !failing ? 0 : n->failing != 0 ? n->failing : now;
}

static int hear(struct mng *m, struct mendpoint *x, struct mname *n, const struct name_answer *a)
{
    struct discovery_rules r = endpoint_discovery_rules(&x->def);
    bool other = discovered_hear(&n->d, a, &r, m->now_ms);
    int rc;

    n->asked = 0;
    m->count.name_failures += n->d.why[0] != 0;
    say(x, n, m->now_ms);
    if (!other && targets_of_name(x, n->url) == n->d.n)
        return 0;
    rc = targets_discover(m, x, n);
    if (other)
        log_info("event=targets_discovered endpoint=%s url=%s addresses=%u targets=%u left_out=%u", x->def.name,
                 log_q(n->url, strlen(n->url)), n->d.n, targets_of_name(x, n->url), n->d.left_out);
    return rc;
}

void mng_name_told(struct mng *m, msec_t now_ms, const char *endpoint, const char *url, const struct name_answer *a,
                   struct mng_out *out)
{
    struct mendpoint *x = defined_find(m, DEF_ENDPOINT, endpoint);
    struct mname *n = x != NULL ? name_at(x, url) : NULL;

    mng_begin(m, now_ms, out);
    if (n != NULL && hear(m, x, n, a) < 0)
        m->out->box.failed = true;
    mng_end(m);
}
