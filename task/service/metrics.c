/* metrics.c: the node's figures for Prometheus. Cores count; this file names. */
#include "task/service/metrics.h"

#include <string.h>

#include "common/base/metrics.h"
#include "common/journal/keeper.h"
#include "common/node/node.h"
#include "common/supervisor/metrics_process.h"
#include "task/calls/endpoint_lets.h"
#include "task/service/caller.h"
#include "task/service/long_answers.h"
#include "task/service/service.h"

#define ROW(name, kind, member, help) METRIC_ROW("segq_task_" name, kind, ROW_OF, member, help)

/* ---- calls: endpoints, and the targets of those that have several ---- */

struct call_view { /* an endpoint, or a target */
    const struct endpoint *ep;
    struct endpoint_counts n;
    uint64_t in_flight, held, breaker, reading, adaptive;
    bool unusable, draining;
};

#define ROW_OF struct call_view
static const struct metric_row endpoint_rows[] = {
    ROW("calls_in_flight", GAUGE, in_flight, "Calls that may be at their target"),
    ROW("calls_held", GAUGE, held,
        "Slots held without a call of this process: a pending one, or one whose end nobody knows"),
    ROW("calls_sent_total", COUNTER, n.sent, "Calls sent"),
    ROW("calls_units_total", COUNTER, n.units, "Units (cost) of calls that began"),
    ROW("calls_cut_total", COUNTER, n.cut,
        "Calls whose connection was closed, since their task was cancelled by force"),
    ROW("endpoint_breaker", GAUGE, breaker,
        "0: calls go; 1: none go, since the target is not well; 2: some try"),
    ROW("endpoint_reading", GAUGE, reading,
        "Page of metrics of an endpoint with a url of its own: as segq_task_target_reading"),
    ROW("endpoint_adaptive", GAUGE, adaptive,
        "Calls at once that the target is thought to bear; 0: adaptive is off"),
    ROW("endpoint_unusable", GAUGE, unusable,
        "1: it cannot be called as it is defined (segqctl endpoint list says why)"),
};
/* Bounded by definitions: TARGETS_MAX each. */
static const struct metric_row target_rows[] = {
    ROW("target_in_flight", GAUGE, in_flight, "Calls that may be at this target of an endpoint"),
    ROW("target_sent_total", COUNTER, n.sent, "Calls sent to it"),
    ROW("target_failed_total", COUNTER, n.failed, "Calls that ended as if it was not well"),
    ROW("target_units_total", COUNTER, n.units, "Units (cost) of calls to it that began"),
    ROW("target_breaker", GAUGE, breaker, "0: calls go; 1: none go, since it is not well; 2: some try"),
    ROW("target_affine_total", COUNTER, n.affine, "Calls that went to it by affinity"),
    ROW("target_astray_total", COUNTER, n.astray,
        "Calls that affinity wanted at it, and that went to another, since it had no room"),
    ROW("target_reading", GAUGE, reading, "Its page of metrics: 0: none is read; 1: open; 2: fewer slots; "
        "3: closed; 4: it cannot be read, and does not count"),
    ROW("target_draining", GAUGE, draining, "1: no call to it begins, by its definition"),
};
#undef ROW_OF

typedef void (*view_fn)(void *ctx, const void *view);

static void view_calls(const struct endpoint *ep, view_fn fn, void *ctx)
{
    bool down = ep->def.tripped || (ep->def.targets && endpoint_is_down(ep));
    struct call_view v = {
        .ep = ep,
        .n = ep->n,
        .in_flight = ep->of == NULL ? ep->in_flight : u64_max(ep->in_flight, ep->running),
        .held = endpoint_held(ep),
        .breaker = down ? BREAKER_OPEN : ep->def.targets ? BREAKER_CLOSED : ep->breaker.state,
        .reading = ep->reading,
        .adaptive = endpoint_adaptive(ep),
        .unusable = endpoint_unusable(ep)[0] != 0,
        .draining = ep->def.paused,
    };

    fn(ctx, &v);
}

/* Endpoints without their targets. */
#define each_whole(all, ep)                                                                          \
    list_each_of (all, struct endpoint, in, ep)                                                      \
        if (ep->of == NULL)

static void endpoints(const void *all, view_fn fn, void *ctx)
{
    each_whole ((const struct list *)all, ep)
        view_calls(ep, fn, ctx);
}

static void targets(const void *all, view_fn fn, void *ctx)
{
    list_each_of ((const struct list *)all, struct endpoint, in, ep)
        if (ep->of != NULL && ep->def.serial != 0)
            view_calls(ep, fn, ctx);
}

static bool endpoint_labels(const void *view, const char **label)
{
    label[0] = "endpoint";
    label[1] = ((const struct call_view *)view)->ep->name;
    return true;
}

static bool target_labels(const void *view, const char **label)
{
    const struct endpoint *ep = ((const struct call_view *)view)->ep;
    bool at = ep->def.address[0] != 0; /* not all that its name has */
    const char *const own[] = { "endpoint", ep->of->name, "target", ep->def.url, at ? "address" : NULL,
                                ep->def.address };

    memcpy(label, own, sizeof(own));
    return true;
}

/* Writes a sample of an endpoint, by a further label. */
static void by_word(struct buf *b, const struct endpoint *ep, const char *name, const char *label,
                    const char *word, uint64_t v)
{
    metrics_u64(b, name, (const char *const[]){ "endpoint", ep->name, label, word, NULL }, v);
}

/* Writes a sample for each rate in units. */
static void by_rate(struct buf *b, const struct endpoint *ep, const char *name, bool burst, msec_t now)
{
    static const char *const no[UNIT_RATES_MAX] = { "1", "2", "3" };

    for (unsigned k = 0; k < UNIT_RATES_MAX && ep->quota.rate[k].units != 0; k++)
        by_word(b, ep, name, "rate", no[k], burst ? quota_room(&ep->quota, k) : quota_used(&ep->quota, k, now));
}

static void note(void *ctx, const void *view)
{
    (void)view;
    *(bool *)ctx = true;
}

static void caller_metrics(const struct caller *c, struct buf *b)
{
    const struct list *all = &c->calls.endpoints;
    msec_t now = task_service_now(c->s).ms;
    bool any = false;

    if (all->n == 0)
        return;
    metrics_value(b, "segq_task_calls_most", METRIC_GAUGE,
                  "Calls that this node may have under way, with files of long answers: three quarters of its open files",
                  (double)c->calls.most);
    metrics_value(b, "segq_task_calls_full", METRIC_GAUGE, "1: it has so many, and others wait", c->calls.full);
    metrics_each(b, endpoint_rows, ARRAY_LEN(endpoint_rows), endpoints, all, endpoint_labels);
    metrics_head(b, "segq_task_endpoint_units_used", METRIC_GAUGE,
                 "Units of a rate's burst that are used up at this node: where they are all, calls wait for it");
    each_whole (all, ep)
        by_rate(b, ep, "segq_task_endpoint_units_used", false, now);
    metrics_head(b, "segq_task_endpoint_units_burst", METRIC_GAUGE,
                 "Units of a rate that this node may begin at once");
    each_whole (all, ep)
        by_rate(b, ep, "segq_task_endpoint_units_burst", true, now);
    metrics_head(b, "segq_task_calls_ended_total", METRIC_COUNTER, "Calls that ended, by how");
    each_whole (all, ep)
        for (unsigned i = 0; i < CALL_NCLASSES; i++)
            by_word(b, ep, "segq_task_calls_ended_total", "class", call_class_word(i), ep->n.of_class[i]);
    metrics_head(b, "segq_task_calls_unanswered_total", METRIC_COUNTER,
                 "Calls without a whole answer, by why");
    each_whole (all, ep)
        for (unsigned i = CALL_NONE + 1; i < CALL_NFAULTS; i++)
            by_word(b, ep, "segq_task_calls_unanswered_total", "why", call_fault_word(i), ep->n.of_fault[i]);
    targets(all, note, &any);
    if (any)
        metrics_each(b, target_rows, ARRAY_LEN(target_rows), targets, all, target_labels);
    metrics_histo(b, "segq_task_call_seconds", "Calls, from the send to the end of the answer",
                  &c->took);
}

#define ROW_OF struct tasktab_counts
static const struct metric_row tab_rows[] = {
    ROW("partitions", GAUGE, parts, "Partitions here"),
    ROW("tasks", GAUGE, tasks, "Tasks in any state"),
    ROW("max_tasks", GAUGE, max_tasks, "Tasks that it takes at most (max_tasks)"),
    ROW("full_ratio", GAUGE, full,
        "Tasks that wait, run or are dead, by max_tasks of the node, or of the partition that is nearest to its own"),
    ROW("scheduled", GAUGE, scheduled, "Tasks whose delay or back-off runs"),
    ROW("waiting", GAUGE, waiting, "Tasks in line"),
    ROW("waiting_units", GAUGE, waiting_units,
        "Units (cost) of tasks that wait in line, for their moment, or between two attempts"),
    ROW("waiting_bytes", GAUGE, waiting_bytes, "Bytes of payloads of tasks that are not over"),
    ROW("running", GAUGE, running, "Tasks that a worker has"),
    ROW("final", GAUGE, finals, "Tasks that have ended, and are kept"),
    ROW("dead", GAUGE, dead_now, "Of these, tasks without an attempt left"),
    ROW("queues", GAUGE, queues, "Queues that have tasks"),
    ROW("waiting_calls", GAUGE, waiting_calls, "Takes and looks that wait"),
    ROW("core_bytes", GAUGE, core_bytes, "Memory of tasks, timers, names and queues"),
    ROW("epoch", GAUGE, epoch, "Highest manager epoch seen"),
    ROW("submitted_total", COUNTER, puts, "Submissions received"),
    ROW("accepted_total", COUNTER, engine.accepted, "Tasks accepted"),
    ROW("same_total", COUNTER, engine.same, "Submissions that were there already"),
    ROW("started_total", COUNTER, engine.started, "Attempts begun"),
    ROW("units_started_total", COUNTER, engine.units, "Units (cost) of the attempts begun"),
    ROW("units_charged_total", COUNTER, engine.units_more, "Units that attempts took beyond their cost, charged when that was known"),
    ROW("units_given_back_total", COUNTER, engine.units_back, "Units that attempts took less than their cost, or that had not begun"),
    ROW("succeeded_total", COUNTER, engine.succeeded, "Tasks done"),
    ROW("retried_total", COUNTER, engine.retried, "Attempts that failed, and are followed by another"),
    ROW("died_total", COUNTER, engine.dead, "Tasks whose last attempt failed"),
    ROW("cancelled_total", COUNTER, engine.cancelled, "Tasks cancelled"),
    ROW("expired_total", COUNTER, engine.expired, "Tasks that waited for too long"),
    ROW("lapsed_total", COUNTER, engine.lapsed, "Leases that expired"),
    ROW("gone_total", COUNTER, engine.gone, "Final tasks let go"),
    ROW("gave_way_total", COUNTER, engine.gave_way, "Of them: before their time, since max_tasks was reached"),
    ROW("take_answers_total", COUNTER, takes, "Takes answered with tasks"),
    ROW("looks_total", COUNTER, gets, "Questions about a task"),
    ROW("settlements_total", COUNTER, settled, "Acks, nacks and other settlements by workers"),
    ROW("changes_total", COUNTER, changed, "Cancellations and other changes"),
    ROW("stale_answers_total", COUNTER, stale, "Questions under another epoch"),
    ROW("busy_answers_total", COUNTER, busy, "Questions for which there was no room"),
    ROW("wait_too_long_total", COUNTER, too_long,
        "Submissions refused, since their wait was estimated to be longer than max_wait"),
    ROW("eta_crowded_total", COUNTER, eta_crowded,
        "Looks at queues about which the operator's service (eta_url) is not asked, since it is about 64 others"),
    ROW("stale_orders_total", COUNTER, stale_orders, "Orders refused for their epoch"),
    ROW("refused_orders_total", COUNTER, refused, "Other orders refused"),
    ROW("notices", GAUGE, notices, "Ends of tasks that are to be told in another queue"),
    ROW("notices_taken_total", COUNTER, notices_taken, "Ends of tasks that the other queue has"),
    ROW("notices_dropped_total", COUNTER, notices_dropped,
        "Ends of tasks that are told nowhere, since too many waited"),
    ROW("chains_on_their_way", GAUGE, relays,
        "Tasks of chains (then) that the queue they are for has not taken yet"),
    ROW("chains_begun_total", COUNTER, chains_begun, "Tasks of chains (then) that were submitted"),
    ROW("chains_failed_total", COUNTER, chains_failed,
        "Chains that ended behind a task that succeeded, since the next one could not be"),
    ROW("schedules", GAUGE, schedules, "Schedules of its partitions"),
    ROW("ticks_fired_total", COUNTER, ticks.fired, "Ticks of schedules that made a task"),
    ROW("ticks_skipped_total", COUNTER, ticks.skipped,
        "Ticks without a task, since that of the tick before was not over"),
    ROW("ticks_missed_total", COUNTER, ticks.missed, "Ticks that came too late to count"),
    ROW("ticks_refused_total", COUNTER, ticks.refused, "Ticks whose task could not be made"),
    ROW("lost_bodies_total", COUNTER, lost_bodies, "Bodies that cannot be read"),
};
#undef ROW_OF

#define ROW_OF struct task_shell_counts
static const struct metric_row shell_rows[] = {
    ROW("late_turns_total", COUNTER, late_turns, "Turns more than a second late"),
};
#undef ROW_OF

#define ROW_OF struct node_counts
static const struct metric_row node_rows[] = { NODE_ROWS(ROW) };
#undef ROW_OF

#define ROW_OF struct rpc_counts
static const struct metric_row rpc_rows[] = { RPC_ROWS(ROW) };
#undef ROW_OF

#define ROW_OF struct keeper_counts
static const struct metric_row journal_rows[] = {
    KEEPER_ROWS(ROW),
    ROW("journal_promised_bytes", GAUGE, file.promised, "Room kept for tasks"),
    ROW("journal_refused_tasks_total", COUNTER, refused, "Submissions that had no room"),
    ROW("journal_recovered_tasks", GAUGE, recovered, "Tasks found at the start"),
};
#undef ROW_OF

#define ROW_OF struct bodies_counts
static const struct metric_row body_rows[] = {
    ROW("bodies_written_total", COUNTER, puts, "Bodies and results written"),
    ROW("bodies_bytes_total", COUNTER, bytes, "Bytes written, with what is around them"),
    ROW("bodies_copied_total", COUNTER, copies, "Bodies copied out of files mostly dead"),
    ROW("bodies_failures_total", COUNTER, failures, "Writes and syncs that failed"),
    ROW("bodies_damaged_total", COUNTER, damaged, "Reads of what is not as it was written"),
    ROW("bodies_no_room", GAUGE, no_room, "1 while their disk has no room for anything new"),
    ROW("bodies_files", GAUGE, files, "Files of bodies"),
    ROW("bodies_disk_bytes", GAUGE, disk_bytes, "Their size"),
    ROW("bodies_living_bytes", GAUGE, living_bytes, "Of these, bytes that a task has"),
};
#undef ROW_OF

#define ROW_OF struct key_view
/* Figures of single queues, with the label `queue`. */
static const struct metric_row queue_rows[] = {
    ROW("queue_waiting", GAUGE, waiting, "Tasks in line in queues with metrics of their own (metrics_busiest)"),
    ROW("queue_running", GAUGE, running, "Tasks of these queues that a worker has"),
    ROW("queue_dead", GAUGE, dead, "Tasks of these queues without an attempt left"),
};
#undef ROW_OF

#define ROW_OF struct trail_counts
static const struct metric_row archive_rows[] = { TRAIL_ROWS(ROW, "archive", "the archive") };
#undef ROW_OF

static void file_page(struct buf *b, const struct task_service *s)
{
    struct keeper_counts journal;
    struct bodies_counts bodies;

    keeper_count(s->keeper, &journal);
    journal.recovered = s->recovered;
    bodies_counts(s->bodies, &bodies);
    metrics_rows(b, journal_rows, ARRAY_LEN(journal_rows), &journal);
    metrics_rows(b, body_rows, ARRAY_LEN(body_rows), &bodies);
}

struct queue_views {
    unsigned n;
    struct key_view v[METRICS_QUEUES_MAX + BUSIEST_MAX];
};

static void each_queue(const void *of, void (*fn)(void *ctx, const void *view), void *ctx)
{
    const struct queue_views *q = of;

    for (unsigned i = 0; i < q->n; i++)
        fn(ctx, &q->v[i]);
}

static bool queue_label(const void *view, const char **label)
{
    label[0] = "queue";
    label[1] = ((const struct key_view *)view)->key1;
    return true;
}

static void queues_page(struct buf *b, const struct task_service *s)
{
    struct queue_views q;

    q.n = tasktab_queue_views(s->tab, s->queues, s->n_queues, q.v);
    metrics_each(b, queue_rows, ARRAY_LEN(queue_rows), each_queue, &q, queue_label);
}

static void held_page(struct buf *b, const struct tasktab_counts *n)
{
    static const char name[] = "segq_task_held";

    metrics_head(b, name, METRIC_GAUGE,
                 "Of the tasks in line, those that something holds up; the others wait for a worker");
    for (enum task_hold h = 0; h < TASK_NHOLDS; h++)
        metrics_u64(b, name, (const char *[]){ "by", task_hold_words(h).word, NULL }, n->held[h]);
}

struct eta_view {
    const char *by;
    struct histo error;
};

#define ROW_OF struct eta_view
static const struct metric_row eta_rows[] = {
    ROW("eta_error_seconds", HISTOGRAM, error,
        "Difference between estimated and real waiting time of tasks, by probes; by: whose estimate"),
};
#undef ROW_OF

static void each_eta(const void *of, void (*fn)(void *ctx, const void *view), void *ctx)
{
    const struct engine_counts *c = of;

    fn(ctx, &(struct eta_view){ "segq", c->eta_error });
    fn(ctx, &(struct eta_view){ "service", c->eta_error_told });
}

static bool eta_label(const void *view, const char **label)
{
    label[0] = "by";
    label[1] = ((const struct eta_view *)view)->by;
    return true;
}

static void eta_page(struct buf *b, const struct task_service *s, const struct tasktab_counts *n)
{
    metrics_each(b, eta_rows, ARRAY_LEN(eta_rows), each_eta, &n->engine, eta_label);
    estimator_metrics(&s->estimator, b);
}

void task_metrics(void *ctx, struct buf *b)
{
    const struct task_service *s = ctx;
    struct tasktab_counts tab;
    struct trail_counts archive;

    tasktab_count(s->tab, &tab);
    archive_count(s->archive, &archive);
    metrics_rows(b, tab_rows, ARRAY_LEN(tab_rows), &tab);
    metrics_rows(b, shell_rows, ARRAY_LEN(shell_rows), &s->n);
    metrics_rows(b, archive_rows, ARRAY_LEN(archive_rows), &archive);
    metrics_rows(b, node_rows, ARRAY_LEN(node_rows), &s->node.n);
    metrics_rows(b, rpc_rows, ARRAY_LEN(rpc_rows), rpc_counts(s->node.rpc));
    caller_metrics(&s->caller, b);
    whole_metrics(s, b);
    if (s->shared != NULL)
        task_shared_metrics(s->shared, b);
    else
        file_page(b, s);
    metrics_value(b, "segq_task_oldest_seconds", METRIC_GAUGE,
                  "How long the first of those in line has waited", (double)tab.oldest_ms / 1000);
    held_page(b, &tab);
    queues_page(b, s);
    metrics_histo(b, "segq_task_wait_seconds", "From a task's entry into its line to its start",
                  &tab.engine.wait);
    eta_page(b, s, &tab);
    metrics_histo(b, "segq_task_lateness_seconds", "How late delays and back-offs ended",
                  &tab.engine.late);
    metrics_histo(b, "segq_task_tick_lateness_seconds", "How late ticks of schedules fired",
                  &tab.ticks.late);
    metrics_process(b, "task", s->node.region, s->node.zone);
}
