/* task_view.c: tables of queues and tasks; one task, a line per member. */
#include "queuemng/ctl_view/task_view.h"

#include <inttypes.h>
#include <string.h>

#include "common/task/queue_name.h"
#include "queuemng/ctl_view/load_view.h"
#include "queuemng/ctl_view/table.h"
#include "queuemng/ctl_view/text.h"

/* ---- pools and nodes ---- */

static bool is_there(const char *s)
{
    return strcmp(s, "-") != 0;
}

static void figures_cells(struct table *t, const json_t *j)
{
    static const char *const keys[] = { "scheduled", "waiting", "running", "dead" };
    struct buf oldest;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        table_u64(t, ctl_u64(j, keys[i]));
    buf_init(&oldest);
    ctl_span(&oldest, ctl_f64(j, "oldest_ms") / 1000);
    buf_byte(&oldest, 0);
    table_cell(t, "%s", oldest.failed ? "?" : (const char *)oldest.data);
    buf_fini(&oldest);
}

static void view_partitions(struct buf *b, const json_t *pool)
{
    const json_t *p;
    struct table t;
    size_t i;

    table_init(&t, "PARTITION NODE STATE >DELAYED >WAITING >RUNNING >DEAD >OLDEST >BYTES");
    json_array_foreach(json_object_get(pool, "partitions"), i, p) {
        bool placed = ctl_str(p, "node")[0] != '-' || ctl_str(p, "node")[1] != '\0';

        table_cell(&t, "%" PRIu64, ctl_u64(p, "partition"));
        table_cell(&t, "%s", ctl_str(p, "node"));
        table_cell(&t, "%s", json_string_length(json_object_get(p, "moves_to")) > 0 ? "moves"
                             : json_is_true(json_object_get(p, "up"))               ? "up"
                             : placed                                               ? "away"
                                                                      : "no node yet");
        figures_cells(&t, p);
        table_u64(&t, ctl_u64(p, "bytes"));
    }
    buf_byte(b, '\n');
    table_print(&t, b, 0);
    table_fini(&t);
}

/* "away for 12 s": its tasks wait for it */
static void node_state_cell(struct table *t, const json_t *node)
{
    struct buf b;

    buf_init(&b);
    if (json_is_true(json_object_get(node, "up"))) {
        buf_str(&b, !json_is_true(json_object_get(node, "draining")) ? "up"
                    : ctl_u64(node, "partitions") > 0                 ? "draining"
                                                                      : "empty");
    } else {
        buf_str(&b, "away for ");
        ctl_span(&b, ctl_f64(node, "silent_ms") / 1000);
    }
    buf_byte(&b, 0);
    table_cell(t, "%s", b.failed ? "?" : (const char *)b.data);
    buf_fini(&b);
}

static void view_task_nodes(struct buf *b, const json_t *nodes)
{
    const json_t *n;
    struct table t;
    size_t i;

    table_init(&t, "TASK_NODE STATE " NODE_LOAD_HEADS " >PARTITIONS >MOVING ADDRESS");
    json_array_foreach(nodes, i, n) {
        table_cell(&t, "%s", ctl_str(n, "name"));
        node_state_cell(&t, n);
        node_load_cells(&t, n);
        table_u64(&t, ctl_u64(n, "partitions"));
        table_u64(&t, ctl_u64(n, "moving"));
        table_cell(&t, "%s", ctl_str(n, "addr"));
    }
    buf_byte(b, '\n');
    table_put(b, &t, "no task nodes\n");
}

static void view_part_moves(struct buf *b, const json_t *moves)
{
    if (ctl_u64(moves, "running") + ctl_u64(moves, "done") + ctl_u64(moves, "aborted") > 0)
        buf_printf(b, "\nmoves of partitions: %" PRIu64 " running, %" PRIu64 " done, %" PRIu64
                   " aborted\n", ctl_u64(moves, "running"), ctl_u64(moves, "done"),
                   ctl_u64(moves, "aborted"));
}

/* A second, in the last five. */
static void rate_cells(struct table *t, const json_t *pool)
{
    static const char *const keys[] = { "accepted_per_s", "started_per_s", "ended_per_s" };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        table_cell(t, "%.4g/s", ctl_f64(pool, keys[i]));
}

#define NO_WORKER_MS 30000 /* a worker that comes now and then is none that is gone */

/* Tasks of the pool lack nothing but a worker, and none has come for long. */
static bool lacks_workers(const json_t *pool)
{
    const json_t *first = json_array_get(json_object_get(pool, "held"), 0);

    return first != NULL && strcmp(ctl_str(first, "by"), "workers") == 0 &&
           ctl_u64(pool, "running") == 0 && ctl_u64(pool, "stalled_ms") >= NO_WORKER_MS;
}

void view_lacks_workers(struct buf *b, const json_t *doc)
{
    const json_t *p;
    size_t i;

    json_array_foreach(json_object_get(doc, "pools"), i, p) {
        if (!lacks_workers(p))
            continue;
        buf_str(b, "tasks of ");
        ctl_clean(b, ctl_str(p, "pool"));
        buf_printf(b, ": %" PRIu64 " wait, no worker for ", ctl_u64(p, "waiting"));
        ctl_span(b, ctl_f64(p, "stalled_ms") / 1000);
        buf_byte(b, '\n');
    }
}

/* The largest hold: "max_concurrent of keys (120)"; "workers (501), none for 3 min" */
static void held_cell(struct table *t, const json_t *pool)
{
    const json_t *first = json_array_get(json_object_get(pool, "held"), 0);
    struct buf b;

    if (first == NULL) {
        table_cell(t, "-");
        return;
    }
    buf_init(&b);
    buf_printf(&b, "%s (%" PRIu64 ")", ctl_str(first, "says"), ctl_u64(first, "tasks"));
    if (lacks_workers(pool)) {
        buf_str(&b, ", none for ");
        ctl_span(&b, ctl_f64(pool, "stalled_ms") / 1000);
    }
    buf_byte(&b, 0);
    table_cell(t, "%s", b.failed ? "?" : (const char *)b.data);
    buf_fini(&b);
}

/* "300/s": of a limit; "-": none */
static void most_cell(struct table *t, double most, const char *unit)
{
    if (most > 0)
        table_cell(t, "%g%s", most, unit);
    else
        table_cell(t, "-");
}

static void explain_unusable(struct buf *b, const json_t *x)
{
    if (!is_there(ctl_str(x, "unusable")))
        return;
    ctl_clean(b, ctl_str(x, "name"));
    buf_str(b, " is unusable: ");
    ctl_clean(b, ctl_str(x, "unusable"));
    buf_byte(b, '\n');
}

static void explain_held(struct buf *b, const json_t *x)
{
    uint64_t n = ctl_u64(x, "held");

    if (n == 0)
        return;
    ctl_clean(b, ctl_str(x, "name"));
    buf_printf(b, ": %" PRIu64 " of its slots %s held until a lease ends: the target said `pending`, a task was "
               "cancelled by force, or a restart or a move of a task node left the end of a call unknown\n",
               n, n == 1 ? "is" : "are");
}

void view_endpoints(struct buf *b, const json_t *doc)
{
    const json_t *x;
    struct table t;
    size_t i;

    table_init(&t, "ENDPOINT STATE >RATE >MAX_CONCURRENT >LIMIT_NOW >NODES >IN_FLIGHT >HELD >SENT >SUCCEEDED >FAILED >MS URL");
    json_array_foreach(json_object_get(doc, "endpoints"), i, x) {
        uint64_t ended = ctl_u64(x, "succeeded") + ctl_u64(x, "failed");

        table_cell(&t, "%s", ctl_str(x, "name"));
        table_cell(&t, "%s", json_is_true(json_object_get(x, "paused")) ? "paused"
                             : json_is_true(json_object_get(x, "tripped")) ? "tripped"
                             : is_there(ctl_str(x, "unusable"))         ? "unusable"
                             : ctl_u64(x, "open") > 0                   ? "down"
                             : ctl_u64(x, "half_open") > 0              ? "half-open"
                                                                        : "up");
        most_cell(&t, ctl_f64(x, "rate_per_s"), "/s");
        most_cell(&t, ctl_f64(x, "max_concurrent"), "");
        most_cell(&t, ctl_f64(x, "adaptive"), "");
        table_u64(&t, ctl_u64(x, "nodes"));
        table_u64(&t, ctl_u64(x, "in_flight"));
        table_u64(&t, ctl_u64(x, "held"));
        table_u64(&t, ctl_u64(x, "sent"));
        table_u64(&t, ctl_u64(x, "succeeded"));
        table_u64(&t, ctl_u64(x, "failed"));
        table_u64(&t, ended > 0 ? ctl_u64(x, "ms") / ended : 0);
        table_cell(&t, "%s", ctl_str(x, "url"));
    }
    table_put(b, &t, "no endpoints\n");
    json_array_foreach(json_object_get(doc, "endpoints"), i, x) {
        explain_unusable(b, x);
        explain_held(b, x);
    }
}

/* How a probe by hand ended, in place of its word. */
static const char *probe_says(const json_t *x)
{
    static const struct { const char *word, *says; } all[] = {
        { "not_asked", "came later: it was not asked" },
        { "asked", "has not said anything (an older release does not know probes)" },
        { "sent", "has no answer yet" },
        { "no_task", "no task waits that may start: nothing was sent" },
        { "not_down", "is not down: calls go, nothing more was sent" },
        { "paused", "is paused: nothing was sent" },
        { "limited", "rate and slots let none go now: nothing was sent" },
        { "unusable", "cannot call it as it is defined (segqctl endpoint list)" },
        { "cancelled", "its task was cancelled meanwhile" },
        { "away", "is away" },
    };
    const char *word = ctl_str(x, "outcome");

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].word, word) == 0)
            return all[i].says;
    return strcmp(word, "ended") == 0 ? ctl_str(x, "answer") : word;
}

void view_probe(struct buf *b, const json_t *doc)
{
    const json_t *x;
    struct table t;
    size_t i;

    table_init(&t, "NODE >MS ANSWER");
    json_array_foreach(json_object_get(doc, "probe"), i, x) {
        bool ended = strcmp(ctl_str(x, "outcome"), "ended") == 0;

        table_cell(&t, "%s", ctl_str(x, "node"));
        if (ended)
            table_u64(&t, ctl_u64(x, "ms"));
        else
            table_cell(&t, "-");
        table_cell(&t, "%s", probe_says(x));
    }
    table_put(b, &t, "no task node calls it\n");
}

/* Matches like routers; or the pattern itself. */
bool view_task_queues(struct buf *b, const json_t *doc, const char *queue)
{
    const json_t *pool, *found = NULL;
    struct table t;
    size_t i;

    table_init(&t, "POOL STATE >QUEUES >ARRIVE >START >END >DELAYED >WAITING >RUNNING >DEAD >OLDEST "
                   "HELD_UP_BY");
    json_array_foreach(json_object_get(doc, "pools"), i, pool) {
        if (queue != NULL && (found != NULL || !queue_matches(ctl_str(pool, "pool"), queue, strlen(queue))))
            continue;
        found = pool;
        table_cell(&t, "%s", ctl_str(pool, "pool"));
        table_cell(&t, "%s", ctl_u64(pool, "away") > 0                     ? "away"
                             : json_is_true(json_object_get(pool, "paused")) ? "paused"
                                                                             : "open");
        table_u64(&t, ctl_u64(pool, "queues"));
        rate_cells(&t, pool);
        figures_cells(&t, pool);
        held_cell(&t, pool);
    }
    table_put(b, &t, queue == NULL ? "no pools\n" : "");
    if (queue == NULL) {
        view_task_nodes(b, json_object_get(doc, "nodes"));
        view_part_moves(b, json_object_get(doc, "moves"));
        if (json_array_size(json_object_get(doc, "endpoints")) > 0) {
            buf_byte(b, '\n');
            view_endpoints(b, doc);
        }
    } else if (found != NULL)
        view_partitions(b, found);
    return queue == NULL || found != NULL;
}

/* ---- tasks ---- */

static void moment_cell(struct table *t, double at_s)
{
    struct buf b;

    buf_init(&b);
    ctl_moment(&b, at_s);
    buf_byte(&b, 0);
    table_cell(t, "%s", b.failed ? "?" : (const char *)b.data);
    buf_fini(&b);
}

static void put_away(struct buf *b, const json_t *doc)
{
    const json_t *k;
    size_t i;

    json_array_foreach(json_object_get(doc, "away"), i, k)
        buf_printf(b, "partition %" PRIu64 " did not answer: task node %s\n",
                   ctl_u64(k, "partition"), ctl_str(k, "node"));
}

void view_tasks(struct buf *b, const json_t *doc)
{
    const json_t *k;
    struct table t;
    size_t i;

    table_init(&t, "TASK STATE KEY >ATTEMPTS >PLACE SINCE LIMITED_BY");
    json_array_foreach(json_object_get(doc, "tasks"), i, k) {
        table_cell(&t, "%s", ctl_str(k, "id"));
        table_cell(&t, "%s", ctl_str(k, "state"));
        table_cell(&t, "%s", ctl_str(k, "key"));
        table_u64(&t, ctl_u64(k, "attempts"));
        if (ctl_u64(k, "position") > 0)
            table_u64(&t, ctl_u64(k, "position"));
        else
            table_cell(&t, "-");
        moment_cell(&t, ctl_f64(k, "entered_at"));
        table_cell(&t, "%s", ctl_str(k, "limited_by"));
    }
    table_put(b, &t, "no tasks\n");
    put_away(b, doc);
}

/* "rate, max_concurrent"; "-": none */
static void limits_cell(struct table *t, const json_t *list)
{
    const json_t *l;
    struct buf b;
    size_t i;

    buf_init(&b);
    json_array_foreach(list, i, l)
        buf_printf(&b, "%s%.20s", i > 0 ? "," : "", json_is_string(l) ? json_string_value(l) : "?");
    buf_byte(&b, 0);
    table_cell(t, "%s", b.failed ? "?" : b.len == 1 ? "-" : (const char *)b.data);
    buf_fini(&b);
}

void view_task_keys(struct buf *b, const json_t *doc)
{
    const json_t *k;
    struct table t;
    size_t i;

    table_init(&t, "KEY >WAITING >RUNNING STOPPED_BY UNTIL PINNED");
    json_array_foreach(json_object_get(doc, "keys"), i, k) {
        table_cell(&t, "%s", ctl_str(k, "key"));
        table_u64(&t, ctl_u64(k, "waiting"));
        table_u64(&t, ctl_u64(k, "running"));
        limits_cell(&t, json_object_get(k, "limits"));
        moment_cell(&t, ctl_f64(k, "limited_until"));
        table_cell(&t, "%s", json_is_true(json_object_get(k, "pinned")) ? "pinned" : "-");
    }
    table_put(b, &t, "no keys\n");
    put_away(b, doc);
}

static void limit_cell(struct table *t, const json_t *k, const char *name)
{
    double v = ctl_f64(k, name);

    if (json_is_true(json_object_get(k, "inherit")))
        table_cell(t, "pool's");
    else
        table_cell(t, v > 0 ? "%.10g" : "any", v);
}

void view_pinned_keys(struct buf *b, const json_t *doc)
{
    const json_t *k;
    struct table t;
    size_t i;

    table_init(&t, "QUEUE KEY STATE >RATE >MAX_CONCURRENT >WEIGHT");
    json_array_foreach(json_object_get(doc, "keys"), i, k) {
        table_cell(&t, "%s", ctl_str(k, "queue"));
        table_cell(&t, "%s", ctl_str(k, "key"));
        table_cell(&t, "%s", json_is_true(json_object_get(k, "paused")) ? "PAUSED" : "open");
        limit_cell(&t, k, "rate_per_s");
        limit_cell(&t, k, "max_concurrent");
        limit_cell(&t, k, "weight");
    }
    table_put(b, &t, "no key is pinned\n");
}

void view_busiest(struct buf *b, const json_t *doc)
{
    const json_t *k;
    struct table t;
    size_t i;

    table_init(&t, "QUEUE >WAITING >RUNNING >DEAD REDRIVE STOPPED_BY UNTIL");
    json_array_foreach(json_object_get(doc, "queues"), i, k) {
        table_cell(&t, "%s", ctl_str(k, "queue"));
        table_u64(&t, ctl_u64(k, "waiting"));
        table_u64(&t, ctl_u64(k, "running"));
        table_u64(&t, ctl_u64(k, "dead"));
        table_cell(&t, "%s", json_is_true(json_object_get(k, "redriving")) ? "goes on" : "-");
        limits_cell(&t, json_object_get(k, "limits"));
        moment_cell(&t, ctl_f64(k, "limited_until"));
    }
    table_put(b, &t, "no queue has a task that waits or is dead\n");
    put_away(b, doc);
}

void view_task_schedules(struct buf *b, const json_t *doc)
{
    const json_t *k;
    struct table t;
    size_t i;

    table_init(&t, "SCHEDULE NEXT LAST OUTCOME TASK STATE");
    json_array_foreach(json_object_get(doc, "schedules"), i, k) {
        table_cell(&t, "%s", ctl_str(k, "schedule"));
        moment_cell(&t, ctl_f64(k, "next"));
        moment_cell(&t, ctl_f64(k, "last"));
        table_cell(&t, "%s", ctl_str(k, "outcome"));
        table_cell(&t, "%s", ctl_str(k, "id"));
        table_cell(&t, "%s", ctl_str(k, "state"));
    }
    table_put(b, &t, "the queue has no schedule\n");
    put_away(b, doc);
}

void view_task_order(struct buf *b, const json_t *doc)
{
    buf_str(b, "ok: ");
    ctl_count(b, ctl_u64(doc, "tasks"));
    buf_str(b, " tasks\n");
    put_away(b, doc);
}

static void begin_line(struct buf *b, const char *name)
{
    buf_printf(b, "%-10s ", name);
}

static void text_line(struct buf *b, const char *name, const char *value)
{
    if (!is_there(value))
        return;
    begin_line(b, name);
    ctl_clean(b, value);
    buf_byte(b, '\n');
}

static void moment_line(struct buf *b, const char *name, const json_t *task, const char *key)
{
    double at = ctl_f64(task, key);

    if (at <= 0)
        return;
    begin_line(b, name);
    ctl_moment(b, at);
    buf_byte(b, '\n');
}

/* The reason; the fields of times that it names (ends_at) are written as these times. */
static void because_line(struct buf *b, const json_t *task)
{
    static const char *const fields[] = { "ends_at", "limited_until" };
    const char *why = ctl_str(task, "because"), *at = NULL, *key = NULL;
    char head[300];

    for (size_t i = 0; i < 2 && at == NULL; i++) {
        key = fields[i];
        at = strstr(why, key);
    }
    if (at == NULL || ctl_f64(task, key) <= 0 || (size_t)(at - why) >= sizeof(head)) {
        text_line(b, "because", why);
        return;
    }
    snprintf(head, sizeof(head), "%.*s", (int)(at - why), why);
    begin_line(b, "because");
    ctl_clean(b, head);
    ctl_moment(b, ctl_f64(task, key));
    ctl_clean(b, at + strlen(key));
    buf_byte(b, '\n');
}

/* "attempt 2   2026-11-23 02:40:11 UTC, 350 ms: nack: no paper; again at ..." */
static void attempt_line(struct buf *b, const json_t *h)
{
    double started = ctl_f64(h, "started_at"), ended = ctl_f64(h, "ended_at");
    uint64_t no = ctl_u64(h, "attempt"), status = ctl_u64(h, "status");

    if (no > 0)
        buf_printf(b, "  attempt %-2" PRIu64 " ", no);
    else
        buf_str(b, "  end        ");
    ctl_moment(b, started > 0 ? started : ended);
    if (started > 0) {
        buf_str(b, ", took ");
        if (ended - started < 10)
            buf_printf(b, "%.0f ms", 1000 * (ended - started));
        else
            ctl_span(b, ended - started);
    }
    buf_str(b, ": ");
    ctl_clean(b, ctl_str(h, "end"));
    if (status > 0)
        buf_printf(b, " %" PRIu64, status);
    if (json_string_length(json_object_get(h, "reason")) > 0) {
        buf_str(b, ": ");
        ctl_clean(b, ctl_str(h, "reason"));
    }
    if (ctl_f64(h, "retry_at") > 0) {
        buf_str(b, "; again from ");
        ctl_moment(b, ctl_f64(h, "retry_at"));
    }
    buf_byte(b, '\n');
}

static void history_lines(struct buf *b, const json_t *task)
{
    uint64_t earlier = ctl_u64(task, "earlier_attempts");
    const json_t *h;
    size_t i;

    if (json_array_size(json_object_get(task, "history")) > 0)
        buf_str(b, "history\n");
    if (earlier > 0)
        buf_printf(b, "  %" PRIu64 " attempt%s before these\n", earlier, earlier == 1 ? "" : "s");
    json_array_foreach(json_object_get(task, "history"), i, h)
        attempt_line(b, h);
}

void view_task(struct buf *b, const json_t *task)
{
    uint64_t place = ctl_u64(task, "position"), ahead = ctl_u64(task, "ahead_of_key");

    text_line(b, "task", ctl_str(task, "id"));
    text_line(b, "token", ctl_str(task, "task"));
    text_line(b, "state", ctl_str(task, "state"));
    because_line(b, task);
    text_line(b, "queue", ctl_str(task, "queue"));
    text_line(b, "key", ctl_str(task, "key"));
    if (place > 0)
        buf_printf(b, "%-10s %" PRIu64 " in its queue; before it in its key: %" PRIu64 "%s\n",
                   "place", place, ahead, ahead >= AHEAD_MOST ? " or more" : "");
    text_line(b, "limited by", ctl_str(task, "limited_by"));
    moment_line(b, "  until", task, "limited_until");
    moment_line(b, "since", task, "entered_at");
    moment_line(b, "started", task, "started_at");
    moment_line(b, "ended", task, "ended_at");
    moment_line(b, "ends", task, "ends_at");
    if (is_there(ctl_str(task, "queue")))
        buf_printf(b, "%-10s %" PRIu64 "\n%-10s %" PRIu64 "\n", "attempts",
                   ctl_u64(task, "attempts"), "priority", ctl_u64(task, "priority"));
    text_line(b, "pool", ctl_str(task, "pool"));
    text_line(b, "node", ctl_str(task, "node"));
    history_lines(b, task);
}
