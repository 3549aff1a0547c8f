/* metrics.c: queuemng's /metrics page. */
#include "queuemng/service/metrics.h"

#include <stdio.h>

#include "common/base/metrics.h"
#include "common/redis/redis_script.h"
#include "common/supervisor/metrics_process.h"
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
    ROW("name_failures_total", COUNTER, name_failures,
        "Questions for names of targets (discover) that were not answered, or not with all addresses that count"),
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

#define LINKS(name, kind, member, help) \
    METRIC_ROW("segq_manager_" name, kind, struct rpc_counts, member, help)
static const struct metric_row link_rows[] = { RPC_ROWS(LINKS) };

#define LANE(name, kind, member, help) \
    METRIC_ROW("segq_lane_" name, kind, struct mng_lane_view, member, help)
static const struct metric_row lane_rows[] = {
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
    LANE("segments", GAUGE, n_segs, "Segments in the lane's chain"),
};
static const struct metric_row wait_rows[] = {
    LANE("wait_last_seconds", GAUGE, eta_last_s,
         "Estimated wait of the last in line; absent while it is not known"),
};

#define QUEUE(name, kind, member, help) \
    METRIC_ROW("segq_queue_" name, kind, struct mng_queue_view, member, help)
static const struct metric_row queue_rows[] = {
    QUEUE("inside", GAUGE, inside,
          "Upper bound of people inside, as counted against slots; includes those from before a flush"),
    QUEUE("granted_total", COUNTER, granted, "Tickets granted by rate"),
    QUEUE("claim_ratio", GAUGE, claim_rate,
          "Of the released, the share that collects the pass in time"),
    QUEUE("no_show_boost", GAUGE, boost, "Releases per admission, to make up for no-shows"),
};
static const struct metric_row allowed_rows[] = {
    QUEUE("allowed_per_second", GAUGE, allowed_per_s,
          "What the limits allow now, and which one limits"),
};

static const struct metric_row shadow_rows[] = {
    QUEUE("shadow_waiting", GAUGE, shadow.waiting,
          "Shadow queues: people who would wait, if they had not been let in at once"),
    QUEUE("shadow_joined_total", COUNTER, shadow.joined, "Shadow queues: joins that the line knows of"),
    QUEUE("shadow_would_wait_total", COUNTER, shadow.would_wait,
          "Shadow queues: people whose turn came after more than a second"),
    METRIC_SECONDS("segq_queue_shadow_wait_seconds", GAUGE, struct mng_queue_view, shadow.wait_ms,
                   "Shadow queues: longest wait of those who would wait"),
};

#define POOL(name, kind, member, help) \
    METRIC_ROW("segq_tasks_" name, kind, struct mng_pool_view, member, help)
/* Sums of all partitions of a pool, as their task nodes reported them last. */
static const struct metric_row pool_rows[] = {
    POOL("scheduled", GAUGE, sum.scheduled, "Tasks whose delay runs"),
    POOL("waiting", GAUGE, sum.waiting, "Tasks in line"),
    POOL("waiting_units", GAUGE, sum.waiting_units,
         "Units (cost) of tasks that wait in line, for their moment, or between two attempts"),
    POOL("warn_waiting", GAUGE, warn_waiting,
         "Tasks in line, more than which are told as trouble; 0: any number may wait"),
    POOL("running", GAUGE, sum.running, "Tasks that a worker has"),
    POOL("dead", GAUGE, sum.dead, "Tasks without an attempt left"),
    POOL("bytes", GAUGE, sum.bytes, "Bytes of payloads of tasks that are not over"),
    POOL("queues", GAUGE, sum.queues, "Queues that have a task"),
    POOL("accepted_total", COUNTER, sum.accepted, "Tasks accepted"),
    POOL("started_total", COUNTER, sum.started, "Attempts begun"),
    POOL("succeeded_total", COUNTER, sum.succeeded, "Tasks done"),
    POOL("retried_total", COUNTER, sum.retried, "Attempts that failed and are made again"),
    POOL("died_total", COUNTER, sum.died, "Tasks whose last attempt failed"),
    POOL("expired_total", COUNTER, sum.expired, "Tasks that waited for longer than they may"),
    POOL("due_total", COUNTER, sum.due, "Delays and back-offs that ended"),
    METRIC_SECONDS("segq_tasks_oldest_seconds", GAUGE, struct mng_pool_view, sum.oldest_ms,
                   "Longest wait of a task in line"),
    METRIC_SECONDS("segq_tasks_late_seconds_total", COUNTER, struct mng_pool_view, sum.late_ms,
                   "How late the delays and back-offs of segq_tasks_due_total ended, together"),
    POOL("partitions_away", GAUGE, away, "Partitions that no task node has in service"),
    POOL("paused", GAUGE, paused, "Is the pool paused"),
};

#define MOVES(name, kind, member, help) \
    METRIC_ROW("segq_tasks_moves" name, kind, struct mng_part_moves, member, help)
static const struct metric_row moves_rows[] = {
    MOVES("", GAUGE, running, "Partitions on the way to another node"),
    MOVES("_done_total", COUNTER, done, "Moves of partitions that came to their end"),
    MOVES("_aborted_total", COUNTER, aborted, "Moves of partitions that were given up"),
};

static const struct metric_row task_node_rows[] = {
    METRIC_ROW("segq_tasks_node_up", GAUGE, struct mng_task_node_view, up,
               "Is the task node registered"),
};

#define MONITOR(name, kind, member, help) \
    METRIC_ROW("segq_monitor_" name, kind, struct mng_metric_view, member, help)
static const struct metric_row reading_rows[] = {
    MONITOR("value", GAUGE, value, "Last usable reading"),
};
static const struct metric_row monitor_rows[] = {
    MONITOR("ok", GAUGE, ok, "Is there a usable reading"),
};

#define STORE(name, kind, member, help) \
    METRIC_ROW("segq_store_" name, kind, struct store_counts, member, help)
static const struct metric_row store_rows[] = {
    STORE("keys", GAUGE, keys, "Records in the store"),
    STORE("bytes", GAUGE, bytes, "Size of the store"),
    STORE("syncs_total", COUNTER, syncs, "Syncs of the store"),
    STORE("compactions_total", COUNTER, compactions, "Compactions of the store"),
    STORE("failures_total", COUNTER, failures, "Writes that failed"),
};

#define LEAD(name, kind, member, help) \
    METRIC_ROW("segq_manager_" name, kind, struct mng_lead_view, member, help)
static const struct metric_row lead_rows[] = {
    LEAD("leader", GAUGE, leads, "Does this manager lead"),
    LEAD("terms_total", COUNTER, terms, "Terms of leading begun"),
    LEAD("lease_renewals_total", COUNTER, renewals, "Renewals of the lease"),
    LEAD("lease_failures_total", COUNTER, failures, "Lease requests without an answer"),
};

#define REDIS(name, kind, member, help) \
    METRIC_ROW("segq_redis_" name, kind, struct redis_counts, member, help)
static const struct metric_row redis_rows[] = {
    REDIS("connects_total", COUNTER, connects, "Times the link to Redis came up"),
    REDIS("commands_total", COUNTER, commands, "Commands sent to Redis"),
};
static const struct metric_row redis_up_rows[] = {
    METRIC_ROW("segq_redis_up", GAUGE, struct mng_lead_view, reachable, "Is the link to Redis up"),
};

#define AUDIT(name, kind, member, help) \
    METRIC_ROW("segq_manager_audit_" name, kind, struct op_log_counts, member, help)
static const struct metric_row audit_rows[] = {
    AUDIT("entries_total", COUNTER, entries, "Changes by operators"),
    AUDIT("failures_total", COUNTER, failures,
          "Times the log of operators' changes could not be written"),
    AUDIT("unwritten", GAUGE, unwritten, "Changes that are not in that log yet"),
    AUDIT("lost_total", COUNTER, lost, "Changes that never came into that log"),
};

/* ---- objects: how they are walked over, and the labels of each ------------------------------------ */

static void lanes(const void *s, mng_each_fn fn, void *ctx)
{
    mng_each_lane(((const struct mng_service *)s)->mng, 0, fn, ctx);
}

static bool lane_labels(const void *view, const char **label)
{
    const struct mng_lane_view *v = view;

    label[0] = "queue";
    label[1] = v->queue_name;
    label[2] = "lane";
    label[3] = v->lane;
    return true;
}

static bool wait_labels(const void *view, const char **label)
{
    return ((const struct mng_lane_view *)view)->eta_last_s >= 0 && lane_labels(view, label);
}

static void queues(const void *s, mng_each_fn fn, void *ctx)
{
    mng_each_queue(((const struct mng_service *)s)->mng, fn, ctx);
}

static bool queue_labels(const void *view, const char **label)
{
    label[0] = "queue";
    label[1] = ((const struct mng_queue_view *)view)->def->name;
    return true;
}

static bool shadow_labels(const void *view, const char **label)
{
    return ((const struct mng_queue_view *)view)->has_shadow && queue_labels(view, label);
}

static bool allowed_labels(const void *view, const char **label)
{
    label[2] = "limited_by";
    label[3] = ((const struct mng_queue_view *)view)->limited_by;
    return queue_labels(view, label);
}

static void pools(const void *s, mng_each_fn fn, void *ctx)
{
    mng_each_pool(((const struct mng_service *)s)->mng, fn, ctx);
}

static bool pool_labels(const void *view, const char **label)
{
    label[0] = "pool";
    label[1] = ((const struct mng_pool_view *)view)->def->match;
    return true;
}

static void task_nodes(const void *s, mng_each_fn fn, void *ctx)
{
    mng_each_task_node(((const struct mng_service *)s)->mng, fn, ctx);
}

static bool task_node_labels(const void *view, const char **label)
{
    label[0] = "node";
    label[1] = ((const struct mng_task_node_view *)view)->name;
    return true;
}

static void monitors(const void *of, mng_each_fn fn, void *ctx)
{
    const struct mng_service *s = of;

    mng_each_metric(s->mng, ev_now(s->ev), fn, ctx);
}

static bool monitor_labels(const void *view, const char **label)
{
    label[0] = "metric";
    label[1] = ((const struct mng_metric_view *)view)->name;
    return true;
}

static bool reading_labels(const void *view, const char **label)
{
    return ((const struct mng_metric_view *)view)->ok && monitor_labels(view, label);
}

#define OF_EACH(rows, each, labels) { rows, ARRAY_LEN(rows), each, labels }
static const struct {
    const struct metric_row *rows;
    size_t n;
    metric_each each;
    metric_labels labels;
} of_each[] = {
    OF_EACH(lane_rows, lanes, lane_labels),
    OF_EACH(wait_rows, lanes, wait_labels),
    OF_EACH(queue_rows, queues, queue_labels),
    OF_EACH(allowed_rows, queues, allowed_labels),
    OF_EACH(shadow_rows, queues, shadow_labels),
    OF_EACH(pool_rows, pools, pool_labels),
    OF_EACH(task_node_rows, task_nodes, task_node_labels),
    OF_EACH(reading_rows, monitors, reading_labels),
    OF_EACH(monitor_rows, monitors, monitor_labels),
};

/* ---- what is no number of one struct -------------------------------------------------------------- */

static void pool_held(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;

    for (enum task_hold h = 0; h < TASK_NHOLDS; h++)
        metrics_u64(ctx, "segq_tasks_held",
                    (const char *[]){ "pool", v->def->match, "by", task_hold_words(h).word, NULL },
                    v->sum.held[h]);
    metrics_u64(ctx, "segq_tasks_held", (const char *[]){ "pool", v->def->match, "by", "workers", NULL },
                mng_lacks_workers(v));
}

static void held_page(struct buf *b, const struct mng *m)
{
    metrics_head(b, "segq_tasks_held", METRIC_GAUGE,
                 "Of the tasks in line, those that something holds up; the others wait for a worker");
    mng_each_pool(m, pool_held, b);
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

struct names_page {
    struct buf *b;
    const struct mng *m;
    const char *endpoint;
};

static void name_sample(void *ctx, const void *view)
{
    const struct mng_name_view *v = view;
    const struct names_page *p = ctx;

    metrics_f64(p->b, "segq_endpoint_name_failing_seconds", (const char *[]){ "endpoint", p->endpoint, "url", v->url, NULL },
                (double)v->failing_ms / 1000);
}

static void names_sample(void *ctx, const void *view)
{
    struct names_page *p = ctx;

    p->endpoint = ((const struct mng_endpoint_view *)view)->def->name;
    mng_each_name(p->m, p->endpoint, name_sample, p);
}

static void names_page(struct buf *b, const struct mng *m)
{
    metrics_head(b, "segq_endpoint_name_failing_seconds", METRIC_GAUGE,
                 "How long the name of a target with discover has had no address, or no answer; 0: it has");
    mng_each_endpoint(m, names_sample, &(struct names_page){ b, m, NULL });
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

static void lead_page(struct buf *b, const struct mng_service *s)
{
    struct mng_lead_view v = { 0 };

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    v.leads = s->leads;
    metrics_rows(b, lead_rows, ARRAY_LEN(lead_rows), &v);
    if (s->lead == NULL)
        return;
    redis_fault_metrics(b, v.faults->fault);
    metrics_rows(b, redis_up_rows, ARRAY_LEN(redis_up_rows), &v);
    metrics_rows(b, redis_rows, ARRAY_LEN(redis_rows), v.faults);
    metrics_histo(b, "segq_store_write_seconds", "From sending a write to its answer", v.latency);
}

void mng_metrics(void *ctx, struct buf *b)
{
    struct mng_service *s = ctx;
    struct mng_part_moves moves = mng_part_moves(s->mng);
    struct op_log_counts audit;
    struct store_counts store;
    struct mng_counts n;

    mng_count(s->mng, &n);
    op_log_count(s->op_log, &audit);
    metrics_rows(b, rows, ARRAY_LEN(rows), &n);
    metrics_rows(b, shell_rows, ARRAY_LEN(shell_rows), &s->counts);
    metrics_rows(b, link_rows, ARRAY_LEN(link_rows), rpc_counts(s->rpc));
    metrics_rows(b, moves_rows, ARRAY_LEN(moves_rows), &moves);
    metrics_rows(b, audit_rows, ARRAY_LEN(audit_rows), &audit);
    metrics_value(b, "segq_manager_tokens_refused", METRIC_GAUGE,
                  "1: admin_tokens_file was refused when it was read again; the tokens of before are used",
                  s->tokens_wrong[0] != '\0');
    metrics_value(b, "segq_manager_clocks_off", METRIC_GAUGE,
                  "Routers and nodes whose wall clock is 5 s or more from this manager's",
                  (double)loads_clocks_off(&s->loads, ev_now(s->ev)));
    for (size_t i = 0; i < ARRAY_LEN(of_each); i++)
        metrics_each(b, of_each[i].rows, of_each[i].n, of_each[i].each, s, of_each[i].labels);
    held_page(b, s->mng);
    budget_pages(b, s->mng);
    names_page(b, s->mng);
    eta_page(b, mng_eta_errors(s->mng));
    if (s->store != NULL) {
        store_count(s->store, &store);
        metrics_rows(b, store_rows, ARRAY_LEN(store_rows), &store);
    }
    lead_page(b, s);
    metrics_process(b, "queuemng", s->cfg->region, s->cfg->zone);
}
