/* metrics.c: queuemng's /metrics page. */
#include "queuemng/service/metrics.h"

#include <stdio.h>

#include "common/base/metrics.h"
#include "common/redis/redis_script.h"
#include "common/supervisor/metrics_process.h"
#include "queuemng/core/budgets.h"
#include "queuemng/process/manager.h"

#define ROW(name, kind, member, help) \
    METRIC_ROW("segq_manager_" name, kind, struct mng_counts, member, help)
static const struct metric_row rows[] = {
    ROW("epoch", GAUGE, epoch, "Fencing number of this manager"),
    ROW("map_version", GAUGE, map_version, "Version of the chain map"),
    ROW("queues", GAUGE, queues, "Queues"),
    ROW("segments", GAUGE, segments, "Segments in all chains"),
    ROW("nodes_up", GAUGE, nodes_up, "Segment nodes that are registered"),
    ROW("nodes_foreign", GAUGE, nodes_foreign,
        "Segment nodes that obey managers of another store"),
    ROW("routers_up", GAUGE, routers_up, "Routers that are registered"),
    ROW("segments_opened_total", COUNTER, opened, "Segments opened"),
    ROW("segments_removed_total", COUNTER, removed, "Empty segments unlinked"),
    ROW("segments_lost_total", COUNTER, lost_segments, "Segments given up with their node"),
    ROW("segments_rebuilt_total", COUNTER, rebuilt, "Lost segments rebuilt from polls"),
    ROW("moves_started_total", COUNTER, moves_started, "Moves (merge, drain) begun"),
    ROW("moves_committed_total", COUNTER, moves_committed, "Moves committed"),
    ROW("moves_aborted_total", COUNTER, moves_aborted, "Moves aborted"),
    ROW("released_total", COUNTER, released, "Tickets released"),
    ROW("entry_credit_total", COUNTER, credits, "Joins that nodes were allowed to let in at once"),
    ROW("entered_total", COUNTER, entered, "Of these joins: used. The others were given back"),
    ROW("pops_total", COUNTER, pops_sent, "Release orders sent"),
    ROW("pops_skipped_total", COUNTER, pops_skipped, "Releases given up: head unreachable"),
    ROW("monitor_failures_total", COUNTER, monitor_failures, "Monitor readings rejected or failed"),
    ROW("maps_sent_total", COUNTER, maps_sent, "Chain maps sent to routers"),
};

#define SHELL(name, kind, member, help) \
    METRIC_ROW("segq_manager_" name, kind, struct mng_shell_counts, member, help)
static const struct metric_row shell_rows[] = {
    SHELL("messages_total", COUNTER, messages, "Messages received"),
    SHELL("undecodable_total", COUNTER, undecodable, "Messages that were not understood"),
    SHELL("store_failures_total", COUNTER, store_failures, "Times the store could not be written"),
    SHELL("steps_total", COUNTER, steps, "Steps of the core"),
};

#define LANE(name, kind, member, help) \
    METRIC_ROW("segq_lane_" name, kind, struct mng_lane_view, member, help)
/* Writes one of them for all lanes at a time, as the format wants it. */
static const struct metric_row lane_columns[] = {
    LANE("waiting", GAUGE, waiting, "Tickets in line"),
    LANE("returning", GAUGE, returning, "No-shows that came back in time"),
    LANE("ready", GAUGE, ready, "Released, pass not collected yet"),
    LANE("active", GAUGE, active, "Pass collected and still valid"),
    LANE("joined_total", COUNTER, joined, "Tickets issued"),
    LANE("released_total", COUNTER, released, "Tickets released"),
    LANE("left_total", COUNTER, left, "Tickets given up by their people"),
    LANE("expired_total", COUNTER, expired, "Tickets that timed out"),
    LANE("no_shows_total", COUNTER, no_shows,
        "Released tickets that did not collect their pass in time, or were absent when released"),
};

#define POOL(name, kind, member, help) \
    METRIC_ROW("segq_tasks_" name, kind, struct part_status_row, member, help)
/* Sums of all partitions of a pool, as their task nodes reported them last. */
static const struct metric_row pool_columns[] = {
    POOL("scheduled", GAUGE, scheduled, "Tasks whose delay runs"),
    POOL("waiting", GAUGE, waiting, "Tasks in line"),
    POOL("running", GAUGE, running, "Tasks that a worker has"),
    POOL("dead", GAUGE, dead, "Tasks without an attempt left"),
    POOL("bytes", GAUGE, bytes, "Bytes of payloads of tasks that are not over"),
    POOL("queues", GAUGE, queues, "Queues that have a task"),
    POOL("accepted_total", COUNTER, accepted, "Tasks accepted"),
    POOL("started_total", COUNTER, started, "Attempts begun"),
    POOL("succeeded_total", COUNTER, succeeded, "Tasks done"),
    POOL("retried_total", COUNTER, retried, "Attempts that failed and are made again"),
    POOL("died_total", COUNTER, died, "Tasks whose last attempt failed"),
    POOL("expired_total", COUNTER, expired, "Tasks that waited for longer than they may"),
    POOL("due_total", COUNTER, due, "Delays and back-offs that ended"),
};

struct page {
    struct buf *b;
    const struct metric_row *column;
};

static void lane_sample(void *ctx, const void *view)
{
    const struct page *p = ctx;
    const struct mng_lane_view *v = view;
    const char *labels[] = { "queue", v->queue_name, "lane", v->lane, NULL };
    const uint64_t *n = (const void *)((const char *)v + p->column->offset);

    metrics_u64(p->b, p->column->name, labels, *n);
}

static void pool_sample(void *ctx, const void *view)
{
    const struct page *p = ctx;
    const struct mng_pool_view *v = view;
    const char *labels[] = { "pool", v->def->match, NULL };
    const uint64_t *n = (const void *)((const char *)&v->sum + p->column->offset);

    metrics_u64(p->b, p->column->name, labels, *n);
}

static void pool_oldest(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const char *labels[] = { "pool", v->def->match, NULL };

    metrics_f64(ctx, "segq_tasks_oldest_seconds", labels, (double)v->sum.oldest_ms / 1000);
}

static void pool_late(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const char *labels[] = { "pool", v->def->match, NULL };

    metrics_f64(ctx, "segq_tasks_late_seconds_total", labels, (double)v->sum.late_ms / 1000);
}

static void pool_away(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const char *labels[] = { "pool", v->def->match, NULL };

    metrics_u64(ctx, "segq_tasks_partitions_away", labels, v->away);
}

static void pool_paused(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const char *labels[] = { "pool", v->def->match, NULL };

    metrics_u64(ctx, "segq_tasks_paused", labels, v->def->paused);
}

static void pool_held(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;

    for (enum task_hold h = 0; h < TASK_NHOLDS; h++)
        metrics_u64(ctx, "segq_tasks_held",
                    (const char *[]){ "pool", v->def->match, "by", task_hold_word(h), NULL },
                    v->sum.held[h]);
    metrics_u64(ctx, "segq_tasks_held", (const char *[]){ "pool", v->def->match, "by", "workers", NULL },
                mng_lacks_workers(v));
}

static void task_node_up(void *ctx, const void *view)
{
    const struct mng_task_node_view *v = view;
    const char *labels[] = { "node", v->name, NULL };

    metrics_u64(ctx, "segq_tasks_node_up", labels, v->up);
}

static void task_pages(struct buf *b, const struct mng *m)
{
    struct mng_part_moves n = mng_part_moves(m);

    for (size_t i = 0; i < ARRAY_LEN(pool_columns); i++) {
        struct page p = { b, &pool_columns[i] };

        metrics_head(b, p.column->name, p.column->kind, p.column->help);
        mng_each_pool(m, pool_sample, &p);
    }
    metrics_head(b, "segq_tasks_oldest_seconds", METRIC_GAUGE, "Longest wait of a task in line");
    mng_each_pool(m, pool_oldest, b);
    metrics_head(b, "segq_tasks_late_seconds_total", METRIC_COUNTER,
                 "How late the delays and back-offs of segq_tasks_due_total ended, together");
    mng_each_pool(m, pool_late, b);
    metrics_head(b, "segq_tasks_partitions_away", METRIC_GAUGE,
                 "Partitions that no task node has in service");
    mng_each_pool(m, pool_away, b);
    metrics_head(b, "segq_tasks_held", METRIC_GAUGE,
                 "Of the tasks in line, those that something holds up; the others wait for a worker");
    mng_each_pool(m, pool_held, b);
    metrics_head(b, "segq_tasks_paused", METRIC_GAUGE, "Is the pool paused");
    mng_each_pool(m, pool_paused, b);
    metrics_value(b, "segq_tasks_moves", METRIC_GAUGE, "Partitions on the way to another node",
                  (double)n.running);
    metrics_value(b, "segq_tasks_moves_done_total", METRIC_COUNTER,
                  "Moves of partitions that came to their end", (double)n.done);
    metrics_value(b, "segq_tasks_moves_aborted_total", METRIC_COUNTER,
                  "Moves of partitions that were given up", (double)n.aborted);
    metrics_head(b, "segq_tasks_node_up", METRIC_GAUGE, "Is the task node registered");
    mng_each_task_node(m, task_node_up, b);
}

struct member_page {
    struct buf *b;
    const char *name, *budget;
    bool used, slots;
};

static void member_sample(void *ctx, const void *view)
{
    const struct mng_member_view *v = view;
    struct member_page *p = ctx;
    struct bears n = p->used ? v->used : v->part;
    uint64_t x = p->slots ? n.slots : n.rate;

    if (x != ENDPOINT_ANY)
        metrics_f64(p->b, p->name,
                    (const char *[]){ "budget", p->budget, v->kind, v->name, NULL },
                    p->slots ? (double)x : (double)x / 1000);
}

struct budget_page {
    const struct mng *m;
    struct member_page of;
};

static void budget_sample(void *ctx, const void *view)
{
    const struct mng_budget_view *v = view;
    struct budget_page *p = ctx;

    p->of.budget = v->def->name;
    mng_each_member(p->m, v->def->name, member_sample, &p->of);
}

static void budget_pages(struct buf *b, const struct mng *m)
{
    static const struct {
        const char *name, *help;
        bool used, slots;
    } v[] = {
        { "segq_budget_part_per_second", "Rate that a member of a budget may have", false, false },
        { "segq_budget_used_per_second", "Rate that it was given", true, false },
        { "segq_budget_part_active", "People inside, or calls under way, that it may have", false, true },
        { "segq_budget_used_active", "People inside, or calls under way", true, true },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct budget_page p = { m, { b, v[i].name, NULL, v[i].used, v[i].slots } };

        metrics_head(b, v[i].name, METRIC_GAUGE, v[i].help);
        mng_each_budget(m, budget_sample, &p);
    }
}

static void lane_segments(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;
    const char *labels[] = { "queue", v->queue_name, "lane", v->lane, NULL };

    metrics_u64(ctx, "segq_lane_segments", labels, v->n_segs);
}

static void lane_wait(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;
    const char *labels[] = { "queue", v->queue_name, "lane", v->lane, NULL };

    if (v->eta_last_s >= 0)
        metrics_f64(ctx, "segq_lane_wait_last_seconds", labels, v->eta_last_s);
}

static void queue_inside(void *ctx, const void *view)
{
    const struct mng_queue_view *v = view;
    const char *labels[] = { "queue", v->def->name, NULL };

    metrics_u64(ctx, "segq_queue_inside", labels, v->inside);
}

static void queue_rate(void *ctx, const void *view)
{
    const struct mng_queue_view *v = view;
    const char *labels[] = { "queue", v->def->name, "limited_by", v->limited_by, NULL };

    metrics_f64(ctx, "segq_queue_allowed_per_second", labels, v->allowed_per_s);
}

static void queue_granted(void *ctx, const void *view)
{
    const struct mng_queue_view *v = view;
    const char *labels[] = { "queue", v->def->name, NULL };

    metrics_u64(ctx, "segq_queue_granted_total", labels, v->granted);
}

static void queue_claims(void *ctx, const void *view)
{
    const struct mng_queue_view *v = view;
    const char *labels[] = { "queue", v->def->name, NULL };

    metrics_f64(ctx, "segq_queue_claim_ratio", labels, v->claim_rate);
}

static void queue_boost(void *ctx, const void *view)
{
    const struct mng_queue_view *v = view;
    const char *labels[] = { "queue", v->def->name, NULL };

    metrics_f64(ctx, "segq_queue_no_show_boost", labels, v->boost);
}

static void metric_value(void *ctx, const void *view)
{
    const struct mng_metric_view *v = view;
    const char *labels[] = { "metric", v->name, NULL };

    if (v->ok)
        metrics_f64(ctx, "segq_monitor_value", labels, v->value);
}

static void metric_ok(void *ctx, const void *view)
{
    const struct mng_metric_view *v = view;
    const char *labels[] = { "metric", v->name, NULL };

    metrics_u64(ctx, "segq_monitor_ok", labels, v->ok);
}

static void store_page(struct buf *b, const struct store *s)
{
    struct store_counts c;

    store_count(s, &c);
    metrics_value(b, "segq_store_keys", METRIC_GAUGE, "Records in the store", c.keys);
    metrics_value(b, "segq_store_bytes", METRIC_GAUGE, "Size of the store", c.bytes);
    metrics_value(b, "segq_store_syncs_total", METRIC_COUNTER, "Syncs of the store", c.syncs);
    metrics_value(b, "segq_store_compactions_total", METRIC_COUNTER, "Compactions of the store",
                  c.compactions);
    metrics_value(b, "segq_store_failures_total", METRIC_COUNTER, "Writes that failed", c.failures);
}

/* The error of the told waiting times. */
static void eta_page(struct buf *b, const struct eta_errors *e)
{
    static const char name[] = "segq_eta_error_seconds";
    uint64_t n = 0;
    char le[32];

    metrics_head(b, name, METRIC_HISTOGRAM,
                 "Difference between estimated and real waiting time, by probes");
    for (size_t i = 0; i < ARRAY_LEN(eta_bounds); i++) {
        const char *labels[] = { "le", le, NULL };

        n += e->le[i];
        snprintf(le, sizeof(le), "%g", eta_bounds[i]);
        metrics_u64(b, "segq_eta_error_seconds_bucket", labels, n);
    }
    metrics_u64(b, "segq_eta_error_seconds_bucket", (const char *[]){ "le", "+Inf", NULL },
                e->n);
    metrics_f64(b, "segq_eta_error_seconds_sum", NULL, e->sum_s);
    metrics_u64(b, "segq_eta_error_seconds_count", NULL, e->n);
    metrics_head(b, "segq_eta_promised_seconds_total", METRIC_COUNTER,
                 "Estimated waiting time of the same probes; error divided by this is the "
                 "relative error");
    metrics_f64(b, "segq_eta_promised_seconds_total", NULL, e->promised_s);
}

static void redis_page(struct buf *b, const struct mng_lead_view *v)
{
    redis_fault_metrics(b, v->faults->fault);
    metrics_value(b, "segq_redis_up", METRIC_GAUGE, "Is the link to Redis up", v->reachable);
    metrics_value(b, "segq_redis_connects_total", METRIC_COUNTER, "Times the link to Redis came up",
                  v->faults->connects);
    metrics_value(b, "segq_redis_commands_total", METRIC_COUNTER, "Commands sent to Redis",
                  v->faults->commands);
    metrics_histo(b, "segq_store_write_seconds", "From sending a write to its answer",
                  v->latency);
}

static void lead_page(struct buf *b, const struct mng_service *s)
{
    struct mng_lead_view v = { 0 };

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    metrics_value(b, "segq_manager_leader", METRIC_GAUGE, "Does this manager lead", s->leads);
    metrics_value(b, "segq_manager_terms_total", METRIC_COUNTER, "Terms of leading begun", v.terms);
    metrics_value(b, "segq_manager_lease_renewals_total", METRIC_COUNTER, "Renewals of the lease",
                  v.renewals);
    metrics_value(b, "segq_manager_lease_failures_total", METRIC_COUNTER,
                  "Lease requests without an answer", v.failures);
    if (s->lead != NULL)
        redis_page(b, &v);
}

static void audit_page(struct buf *b, const struct op_log *l)
{
    struct op_log_counts c;

    op_log_count(l, &c);
    metrics_value(b, "segq_manager_audit_entries_total", METRIC_COUNTER, "Changes by operators",
                  c.entries);
    metrics_value(b, "segq_manager_audit_failures_total", METRIC_COUNTER,
                  "Times the log of operators' changes could not be written", c.failures);
    metrics_value(b, "segq_manager_audit_unwritten", METRIC_GAUGE,
                  "Changes that are not in that log yet", c.unwritten);
    metrics_value(b, "segq_manager_audit_lost_total", METRIC_COUNTER,
                  "Changes that never came into that log", c.lost);
}

void mng_metrics(void *ctx, struct buf *b)
{
    struct mng_service *s = ctx;
    struct mng_counts c;

    mng_count(s->mng, &c);
    metrics_rows(b, rows, ARRAY_LEN(rows), &c);
    metrics_rows(b, shell_rows, ARRAY_LEN(shell_rows), &s->counts);
    for (size_t i = 0; i < ARRAY_LEN(lane_columns); i++) {
        struct page p = { b, &lane_columns[i] };

        metrics_head(b, p.column->name, p.column->kind, p.column->help);
        mng_each_lane(s->mng, 0, lane_sample, &p);
    }
    metrics_head(b, "segq_lane_segments", METRIC_GAUGE, "Segments in the lane's chain");
    mng_each_lane(s->mng, 0, lane_segments, b);
    metrics_head(b, "segq_lane_wait_last_seconds", METRIC_GAUGE,
                 "Estimated wait of the last in line; absent while it is not known");
    mng_each_lane(s->mng, 0, lane_wait, b);
    metrics_head(b, "segq_queue_inside", METRIC_GAUGE,
                 "Upper bound of people inside, as counted against slots; includes those from "
                 "before a flush");
    mng_each_queue(s->mng, queue_inside, b);
    metrics_head(b, "segq_queue_allowed_per_second", METRIC_GAUGE,
                 "What the limits allow now, and which one limits");
    mng_each_queue(s->mng, queue_rate, b);
    metrics_head(b, "segq_queue_granted_total", METRIC_COUNTER, "Tickets granted by rate");
    mng_each_queue(s->mng, queue_granted, b);
    metrics_head(b, "segq_queue_claim_ratio", METRIC_GAUGE,
                 "Of the released, the share that collects the pass in time");
    mng_each_queue(s->mng, queue_claims, b);
    metrics_head(b, "segq_queue_no_show_boost", METRIC_GAUGE,
                 "Releases per admission, to make up for no-shows");
    mng_each_queue(s->mng, queue_boost, b);
    task_pages(b, s->mng);
    budget_pages(b, s->mng);
    eta_page(b, mng_eta_errors(s->mng));
    metrics_head(b, "segq_monitor_value", METRIC_GAUGE, "Last usable reading");
    mng_each_metric(s->mng, ev_now(s->ev), metric_value, b);
    metrics_head(b, "segq_monitor_ok", METRIC_GAUGE, "Is there a usable reading");
    mng_each_metric(s->mng, ev_now(s->ev), metric_ok, b);
    if (s->store != NULL)
        store_page(b, s->store);
    lead_page(b, s);
    audit_page(b, s->op_log);
    metrics_process(b, "queuemng");
}
