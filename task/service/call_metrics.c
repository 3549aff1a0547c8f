/* call_metrics.c: a family after the other. */
#include "task/service/call_metrics.h"

#include "task/calls/endpoint_lets.h"
#include "task/service/state.h"

static void by_endpoint(struct buf *b, const struct endpoint *ep, const char *name, uint64_t v)
{
    const char *const labels[] = { "endpoint", ep->name, NULL };

    metrics_u64(b, name, labels, v);
}

static void by_end(struct buf *b, const struct endpoint *ep)
{
    for (unsigned i = 0; i < CALL_NCLASSES; i++) {
        const char *const labels[] = { "endpoint", ep->name, "class", call_class_word(i), NULL };

        metrics_u64(b, "segq_task_calls_ended_total", labels, ep->n.of_class[i]);
    }
}

static void by_fault(struct buf *b, const struct endpoint *ep)
{
    for (unsigned i = CALL_NONE + 1; i < CALL_NFAULTS; i++) {
        const char *const labels[] = { "endpoint", ep->name, "why", call_fault_word(i), NULL };

        metrics_u64(b, "segq_task_calls_unanswered_total", labels, ep->n.of_fault[i]);
    }
}

/* Writes a sample for each rate in units. */
static void by_rate(struct buf *b, const struct endpoint *ep, const char *name, bool burst, msec_t now)
{
    static const char *const no[UNIT_RATES_MAX] = { "1", "2", "3" };

    for (unsigned k = 0; k < UNIT_RATES_MAX && ep->quota.rate[k].units != 0; k++) {
        const char *const labels[] = { "endpoint", ep->name, "rate", no[k], NULL };

        metrics_u64(b, name, labels, burst ? quota_room(&ep->quota, k) : quota_used(&ep->quota, k, now));
    }
}

static uint64_t target_in_flight(const struct endpoint *ep)
{
    return u64_max(ep->in_flight, ep->running);
}

static uint64_t target_sent(const struct endpoint *ep)
{
    return ep->n.sent;
}

static uint64_t target_failed(const struct endpoint *ep)
{
    return ep->n.failed;
}

static uint64_t target_affine(const struct endpoint *ep)
{
    return ep->n.affine;
}

static uint64_t target_astray(const struct endpoint *ep)
{
    return ep->n.astray;
}

static uint64_t target_units(const struct endpoint *ep)
{
    return ep->n.units;
}

static uint64_t target_breaker(const struct endpoint *ep)
{
    return ep->def.tripped ? BREAKER_OPEN : ep->breaker.state;
}

static uint64_t target_reading(const struct endpoint *ep)
{
    return ep->reading;
}

static uint64_t target_draining(const struct endpoint *ep)
{
    return ep->def.paused;
}

/* Endpoints without their targets. */
#define each_whole(all, ep)                                                                          \
    list_each_of (all, struct endpoint, in, ep)                                                      \
        if (ep->of == NULL)

static void by_target(struct buf *b, const struct endpoint *ep, const char *name, uint64_t v)
{
    bool at = ep->def.address[0] != 0; /* not all that its name has */
    const char *const labels[] = { "endpoint", ep->of->name, "target", ep->def.url, at ? "address" : NULL,
                                   ep->def.address, NULL };

    metrics_u64(b, name, labels, v);
}

/* Bounded by definitions: TARGETS_MAX each. */
static void target_metrics(const struct list *all, struct buf *b)
{
    static const struct {
        const char *name, *help;
        enum metric_kind kind;
        uint64_t (*of)(const struct endpoint *ep);
    } rows[] = {
        { "segq_task_target_in_flight", "Calls that may be at this target of an endpoint", METRIC_GAUGE,
          target_in_flight },
        { "segq_task_target_sent_total", "Calls sent to it", METRIC_COUNTER, target_sent },
        { "segq_task_target_failed_total", "Calls that ended as if it was not well", METRIC_COUNTER,
          target_failed },
        { "segq_task_target_units_total", "Units (cost) of calls to it that began", METRIC_COUNTER, target_units },
        { "segq_task_target_breaker", "0: calls go; 1: none go, since it is not well; 2: some try", METRIC_GAUGE,
          target_breaker },
        { "segq_task_target_affine_total", "Calls that went to it by affinity", METRIC_COUNTER, target_affine },
        { "segq_task_target_astray_total", "Calls that affinity wanted at it, and that went to another, since it had no "
          "room", METRIC_COUNTER, target_astray },
        { "segq_task_target_reading", "Its page of metrics: 0: none is read; 1: open; 2: fewer slots; 3: closed; 4: it "
          "cannot be read, and does not count", METRIC_GAUGE, target_reading },
        { "segq_task_target_draining", "1: no call to it begins, by its definition", METRIC_GAUGE,
          target_draining },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool head = false;

        list_each_of (all, struct endpoint, in, ep) {
            if (ep->of == NULL || ep->def.serial == 0)
                continue;
            if (!head)
                metrics_head(b, rows[i].name, rows[i].kind, rows[i].help);
            head = true;
            by_target(b, ep, rows[i].name, rows[i].of(ep));
        }
    }
}

void caller_metrics(const struct caller *c, struct buf *b)
{
    const struct list *all = &c->calls.endpoints;
    msec_t now = task_service_now(c->s).ms;

    if (all->n == 0)
        return;
    metrics_head(b, "segq_task_calls_in_flight", METRIC_GAUGE, "Calls that may be at their target");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_calls_in_flight", ep->in_flight);
    metrics_value(b, "segq_task_calls_most", METRIC_GAUGE,
                  "Calls that this node may have under way, with files of long answers: three quarters of its open files",
                  (double)c->calls.most);
    metrics_value(b, "segq_task_calls_full", METRIC_GAUGE, "1: it has so many, and others wait", c->calls.full);
    metrics_head(b, "segq_task_calls_held", METRIC_GAUGE,
                 "Slots held without a call of this process: a pending one, or one whose end nobody knows");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_calls_held", endpoint_held(ep));
    metrics_head(b, "segq_task_calls_sent_total", METRIC_COUNTER, "Calls sent");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_calls_sent_total", ep->n.sent);
    metrics_head(b, "segq_task_calls_units_total", METRIC_COUNTER, "Units (cost) of calls that began");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_calls_units_total", ep->n.units);
    metrics_head(b, "segq_task_endpoint_units_used", METRIC_GAUGE,
                 "Units of a rate's burst that are used up at this node: where they are all, calls wait for it");
    each_whole (all, ep)
        by_rate(b, ep, "segq_task_endpoint_units_used", false, now);
    metrics_head(b, "segq_task_endpoint_units_burst", METRIC_GAUGE,
                 "Units of a rate that this node may begin at once");
    each_whole (all, ep)
        by_rate(b, ep, "segq_task_endpoint_units_burst", true, now);
    metrics_head(b, "segq_task_calls_cut_total", METRIC_COUNTER,
                 "Calls whose connection was closed, since their task was cancelled by force");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_calls_cut_total", ep->n.cut);
    metrics_head(b, "segq_task_endpoint_breaker", METRIC_GAUGE,
                 "0: calls go; 1: none go, since the target is not well; 2: some try");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_endpoint_breaker",
                    ep->def.tripped || (ep->def.targets && endpoint_is_down(ep)) ? BREAKER_OPEN
                    : ep->def.targets ? BREAKER_CLOSED : ep->breaker.state);
    metrics_head(b, "segq_task_endpoint_reading", METRIC_GAUGE,
                 "Page of metrics of an endpoint with a url of its own: as segq_task_target_reading");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_endpoint_reading", ep->reading);
    metrics_head(b, "segq_task_endpoint_adaptive", METRIC_GAUGE,
                 "Calls at once that the target is thought to bear; 0: adaptive is off");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_endpoint_adaptive", endpoint_adaptive(ep));
    metrics_head(b, "segq_task_endpoint_unusable", METRIC_GAUGE,
                 "1: it cannot be called as it is defined (segqctl endpoint list says why)");
    each_whole (all, ep)
        by_endpoint(b, ep, "segq_task_endpoint_unusable", endpoint_unusable(ep)[0] != 0);
    metrics_head(b, "segq_task_calls_ended_total", METRIC_COUNTER, "Calls that ended, by how");
    each_whole (all, ep)
        by_end(b, ep);
    metrics_head(b, "segq_task_calls_unanswered_total", METRIC_COUNTER,
                 "Calls without a whole answer, by why");
    each_whole (all, ep)
        by_fault(b, ep);
    target_metrics(all, b);
    metrics_histo(b, "segq_task_call_seconds", "Calls, from the send to the end of the answer",
                  &c->took);
}
