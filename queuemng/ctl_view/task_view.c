/* task_view.c: tables of queues and tasks; one task, a line per member. */
#include "queuemng/ctl_view/task_view.h"

#include <inttypes.h>
#include <string.h>

#include "common/config/near.h"
#include "common/task/queue_name.h"
#include "queuemng/ctl_view/columns.h"

/* ---- pools and nodes ---- */

#define FIGURES_COLS                                                             \
    { ">DELAYED", "scheduled", .put = put_count }, { ">WAITING", "waiting", .put = put_count }, \
    { ">RUNNING", "running", .put = put_count }, { ">DEAD", "dead", .put = put_count },         \
    { ">OLDEST", "oldest_ms", .put = put_ms }

static void put_partition_state(struct buf *b, const json_t *p, const char *path)
{
    buf_str(b, json_string_length(json_object_get(p, "moves_to")) > 0 ? "moves"
               : ctl_is(p, path)                                      ? "up"
               : !ctl_equals(p, "node", "-")                          ? "away"
                                                                      : "no node yet");
}

static void view_partitions(struct buf *b, const json_t *pool)
{
    static const struct col cols[] = {
        { "PARTITION", "partition", .put = put_number }, { "NODE", "node", .put = put_text },
        { "STATE", "up", .put = put_partition_state }, FIGURES_COLS,
        { ">BYTES", "bytes", .put = put_count },
    };

    buf_byte(b, '\n');
    TABLE_LIST(b, json_object_get(pool, "partitions"), cols, NULL);
}

/* "away for 12 s": its tasks wait for it */
static void put_node_state(struct buf *b, const json_t *n, const char *path)
{
    if (!ctl_is(n, path))
        ctl_say(b, n, "away for {silent_ms~}");
    else
        buf_str(b, !ctl_is(n, "draining")           ? "up"
                   : ctl_u64(n, "partitions") > 0 ? "draining"
                                                  : "empty");
}

static void view_task_nodes(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "TASK_NODE", "name", .put = put_text }, { "STATE", "up", .put = put_node_state },
        NODE_LOAD_COLS, { ">PARTITIONS", "partitions", .put = put_count },
        { ">MOVING", "moving", .put = put_count }, { "ADDRESS", "addr", .put = put_text },
    };

    buf_byte(b, '\n');
    TABLE_LIST(b, json_object_get(doc, "nodes"), cols, "no task nodes\n");
    if (ctl_u64(doc, "moves.running") + ctl_u64(doc, "moves.done") + ctl_u64(doc, "moves.aborted") > 0)
        ctl_say(b, doc, "\nmoves of partitions: {moves.running=} running, {moves.done=} done, "
                        "{moves.aborted=} aborted\n");
}

#define NO_WORKER_MS 30000 /* a worker that comes now and then is none that is gone */

static const json_t *first_hold(const json_t *pool)
{
    return json_array_get(json_object_get(pool, "held"), 0);
}

/* Tasks of the pool lack nothing but a worker, and none has come for long. */
static bool lacks_workers(const json_t *pool)
{
    return ctl_equals(first_hold(pool), "by", "workers") && ctl_u64(pool, "running") == 0 &&
           ctl_u64(pool, "stalled_ms") >= NO_WORKER_MS;
}

void view_lacks_workers(struct buf *b, const json_t *doc)
{
    const json_t *p;
    size_t i;

    json_array_foreach(json_object_get(doc, "pools"), i, p)
        if (lacks_workers(p))
            ctl_say(b, p, "tasks of {pool}: {waiting=} wait, no worker for {stalled_ms~}\n");
}

/* The largest hold: "max_concurrent of keys (120)"; "workers (501), none for 3 min" */
static void put_held(struct buf *b, const json_t *pool, const char *path)
{
    (void)path;
    if (first_hold(pool) == NULL)
        buf_byte(b, '-');
    else
        ctl_say(b, first_hold(pool), "{says} ({tasks=})");
    if (lacks_workers(pool))
        ctl_say(b, pool, ", none for {stalled_ms~}");
}

/* A second, in the last five. */
static void put_lately(struct buf *b, const json_t *pool, const char *path)
{
    buf_printf(b, "%.4g/s", ctl_f64(pool, path));
}

static void put_pool_state(struct buf *b, const json_t *pool, const char *path)
{
    buf_str(b, ctl_u64(pool, "away") > 0 ? "away" : ctl_is(pool, path) ? "paused" : "open");
}

/* The pool that a queue of this name goes to, as routers find it; or whose pattern it is. */
static const json_t *pool_of(const json_t *doc, const char *queue)
{
    const json_t *pool;
    size_t i;

    json_array_foreach(json_object_get(doc, "pools"), i, pool)
        if (queue_matches(ctl_str(pool, "pool"), queue, strlen(queue)))
            return pool;
    return NULL;
}

bool view_task_queues(struct buf *b, const json_t *doc, const char *queue)
{
    static const struct col cols[] = {
        { "POOL", "pool", .put = put_text }, { "STATE", "paused", .put = put_pool_state },
        { ">QUEUES", "queues", .put = put_count },
        { ">ARRIVE", "accepted_per_s", .put = put_lately },
        { ">START", "started_per_s", .put = put_lately },
        { ">END", "ended_per_s", .put = put_lately }, FIGURES_COLS,
        { "HELD_UP_BY", NULL, .put = put_held },
    };
    const json_t *pool = queue != NULL ? pool_of(doc, queue) : NULL;
    struct table t;

    if (pool != NULL) {
        table_init(&t, cols, ARRAY_LEN(cols));
        table_row(&t, pool);
        table_put(b, &t, 0, "");
        view_partitions(b, pool);
    }
    if (queue != NULL)
        return pool != NULL;
    TABLE_LIST(b, json_object_get(doc, "pools"), cols, "no pools\n");
    view_task_nodes(b, doc);
    if (json_array_size(json_object_get(doc, "endpoints")) > 0) {
        buf_byte(b, '\n');
        view_endpoints(b, doc);
    }
    return true;
}

bool view_is_pool(struct buf *b, const json_t *doc, const char *name)
{
    struct near near = near_to(name);
    const json_t *p, *of = NULL;
    size_t i;

    json_array_foreach(json_object_get(doc, "pools"), i, p) {
        const char *match = ctl_str(p, "match");

        if (strcmp(match, name) == 0)
            return true;
        if (of == NULL && queue_matches(match, name, strlen(name)))
            of = p;
        near_try(&near, match);
    }
    buf_str(b, "there is no pool '");
    ctl_clean(b, name);
    buf_byte(b, '\'');
    if (of != NULL) {
        ctl_say(b, of, "; it is a queue of pool {match}, which is paused as a whole: "
                       "segqctl task pause '{match}'");
    } else if (near.name != NULL) {
        buf_str(b, "; did you mean ");
        ctl_clean(b, near.name);
        buf_byte(b, '?');
    }
    return false;
}

/* ---- endpoints ---- */

static void put_most(struct buf *b, const json_t *x, const char *path)
{
    buf_printf(b, "%g", ctl_f64(x, path));
}

static void put_most_per_s(struct buf *b, const json_t *x, const char *path)
{
    buf_printf(b, "%g/s", ctl_f64(x, path));
}

static bool is_unusable(const json_t *x)
{
    return !ctl_equals(x, "unusable", "-");
}

static void put_endpoint_state(struct buf *b, const json_t *x, const char *path)
{
    buf_str(b, ctl_is(x, path)                ? "paused"
               : ctl_is(x, "tripped")         ? "tripped"
               : is_unusable(x)               ? "unusable"
               : ctl_u64(x, "open") > 0      ? "down"
               : ctl_u64(x, "half_open") > 0 ? "half-open"
                                             : "up");
}

/* Milliseconds of a call that has ended, on average. */
static void put_mean(struct buf *b, const json_t *x, const char *path)
{
    uint64_t ended = ctl_u64(x, "succeeded") + ctl_u64(x, "failed");

    ctl_count(b, ended > 0 ? ctl_u64(x, path) / ended : 0);
}

void view_endpoints(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "ENDPOINT", "name", .put = put_text }, { "STATE", "paused", .put = put_endpoint_state },
        { ">RATE", "rate_per_s", .put = put_most_per_s, .only = IF_POSITIVE },
        { ">MAX_CONCURRENT", "max_concurrent", .put = put_most, .only = IF_POSITIVE },
        { ">LIMIT_NOW", "adaptive", .put = put_most, .only = IF_POSITIVE },
        { ">NODES", "nodes", .put = put_count }, { ">IN_FLIGHT", "in_flight", .put = put_count },
        { ">HELD", "held", .put = put_count }, { ">SENT", "sent", .put = put_count },
        { ">SUCCEEDED", "succeeded", .put = put_count }, { ">FAILED", "failed", .put = put_count },
        { ">MS", "ms", .put = put_mean }, { "URL", "url", .put = put_text },
    };
    const json_t *x;
    size_t i;

    TABLE_LIST(b, json_object_get(doc, "endpoints"), cols, "no endpoints\n");
    json_array_foreach(json_object_get(doc, "endpoints"), i, x) {
        if (is_unusable(x))
            ctl_say(b, x, "{name} is unusable: {unusable}\n");
        if (ctl_u64(x, "held") > 0)
            ctl_say(b, x, ctl_u64(x, "held") == 1 ? "{name}: {held=} of its slots is"
                                                  : "{name}: {held=} of its slots are");
        if (ctl_u64(x, "held") > 0)
            buf_str(b, " held until a lease ends: the target said `pending`, a task was cancelled by force, "
                       "or a restart or a move of a task node left the end of a call unknown\n");
    }
}

/* How a probe by hand ended, in place of its word. */
static void put_probe(struct buf *b, const json_t *x, const char *path)
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

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (ctl_equals(x, path, all[i].word)) {
            buf_str(b, all[i].says);
            return;
        }
    put_text(b, x, ctl_equals(x, path, "ended") ? "answer" : path);
}

static void put_probe_ms(struct buf *b, const json_t *x, const char *path)
{
    if (ctl_equals(x, "outcome", "ended"))
        put_count(b, x, path);
    else
        buf_byte(b, '-');
}

void view_probe(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "NODE", "node", .put = put_text }, { ">MS", "ms", .put = put_probe_ms },
        { "ANSWER", "outcome", .put = put_probe },
    };

    TABLE_LIST(b, json_object_get(doc, "probe"), cols, "no task node calls it\n");
}

/* ---- tasks ---- */

static void put_away(struct buf *b, const json_t *doc)
{
    const json_t *k;
    size_t i;

    json_array_foreach(json_object_get(doc, "away"), i, k)
        ctl_say(b, k, "partition {partition=} did not answer: task node {node}\n");
}

void view_tasks(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "TASK", "id", .put = put_text }, { "STATE", "state", .put = put_text },
        { "KEY", "key", .put = put_text }, { ">ATTEMPTS", "attempts", .put = put_count },
        { ">PLACE", "position", .put = put_count, .only = IF_POSITIVE },
        { "SINCE", "entered_at", .put = put_moment },
        { "LIMITED_BY", "limited_by", .put = put_text },
    };

    TABLE_LIST(b, json_object_get(doc, "tasks"), cols, "no tasks\n");
    put_away(b, doc);
}

/* "rate, max_concurrent"; "-": none */
static void put_limits(struct buf *b, const json_t *k, const char *path)
{
    const json_t *list = ctl_member(k, path), *l;
    char word[24];
    size_t i;

    if (json_array_size(list) == 0)
        buf_byte(b, '-');
    json_array_foreach(list, i, l) {
        snprintf(word, sizeof(word), "%.20s", json_is_string(l) ? json_string_value(l) : "?");
        buf_str(b, i > 0 ? "," : "");
        ctl_clean(b, word);
    }
}

void view_task_keys(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "KEY", "key", .put = put_text }, { ">WAITING", "waiting", .put = put_count },
        { ">RUNNING", "running", .put = put_count }, { "STOPPED_BY", "limits", .put = put_limits },
        { "UNTIL", "limited_until", .put = put_moment },
        { "PINNED", "pinned", EITHER("pinned", "-") },
    };

    TABLE_LIST(b, json_object_get(doc, "keys"), cols, "no keys\n");
    put_away(b, doc);
}

static void put_key_limit(struct buf *b, const json_t *k, const char *path)
{
    if (ctl_is(k, "inherit"))
        buf_str(b, "pool's");
    else if (ctl_f64(k, path) > 0)
        buf_printf(b, "%.10g", ctl_f64(k, path));
    else
        buf_str(b, "any");
}

void view_pinned_keys(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "QUEUE", "queue", .put = put_text }, { "KEY", "key", .put = put_text },
        { "STATE", "paused", EITHER("PAUSED", "open") },
        { ">RATE", "rate_per_s", .put = put_key_limit },
        { ">MAX_CONCURRENT", "max_concurrent", .put = put_key_limit },
        { ">WEIGHT", "weight", .put = put_key_limit },
    };

    TABLE_LIST(b, json_object_get(doc, "keys"), cols, "no key is pinned\n");
}

void view_busiest(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "QUEUE", "queue", .put = put_text }, { ">WAITING", "waiting", .put = put_count },
        { ">RUNNING", "running", .put = put_count }, { ">DEAD", "dead", .put = put_count },
        { "REDRIVE", "redriving", EITHER("goes on", "-") },
        { "STOPPED_BY", "limits", .put = put_limits },
        { "UNTIL", "limited_until", .put = put_moment },
    };

    TABLE_LIST(b, json_object_get(doc, "queues"), cols, "no queue has a task that waits or is dead\n");
    put_away(b, doc);
}

void view_task_schedules(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        { "SCHEDULE", "schedule", .put = put_text }, { "NEXT", "next", .put = put_moment },
        { "LAST", "last", .put = put_moment }, { "OUTCOME", "outcome", .put = put_text },
        { "TASK", "id", .put = put_text }, { "STATE", "state", .put = put_text },
    };

    TABLE_LIST(b, json_object_get(doc, "schedules"), cols, "the queue has no schedule\n");
    put_away(b, doc);
}

void view_task_order(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "ok: {tasks#} tasks\n");
    put_away(b, doc);
}

/* ---- one task ---- */

static void line(struct buf *b, const char *name, const json_t *task, const char *path, put_fn put)
{
    buf_printf(b, "%-10s ", name);
    put(b, task, path);
    buf_byte(b, '\n');
}

/* The reason; the fields of times that it names (ends_at) are written as these times. */
static void put_because(struct buf *b, const json_t *task, const char *path)
{
    static const char *const fields[] = { "ends_at", "limited_until" };
    const char *why = ctl_str(task, path), *at = NULL, *key = NULL;
    char head[300];

    for (size_t i = 0; i < ARRAY_LEN(fields) && at == NULL; i++) {
        key = fields[i];
        at = strstr(why, key);
    }
    if (at == NULL || ctl_f64(task, key) <= 0 || (size_t)(at - why) >= sizeof(head)) {
        ctl_clean(b, why);
        return;
    }
    snprintf(head, sizeof(head), "%.*s", (int)(at - why), why);
    ctl_clean(b, head);
    put_moment(b, task, key);
    ctl_clean(b, at + strlen(key));
}

static void put_task_place(struct buf *b, const json_t *task, const char *path)
{
    (void)path;
    ctl_say(b, task, "{position=} in its queue; before it in its key: {ahead_of_key=}");
    buf_str(b, ctl_u64(task, "ahead_of_key") >= AHEAD_MOST ? " or more" : "");
}

/* "attempt 2   2026-11-23 02:40:11 UTC, 350 ms: nack: no paper; again at ..." */
static void attempt_line(struct buf *b, const json_t *h)
{
    double started = ctl_f64(h, "started_at"), took = ctl_f64(h, "ended_at") - started;
    uint64_t no = ctl_u64(h, "attempt");

    if (no > 0)
        buf_printf(b, "  attempt %-2" PRIu64 " ", no);
    else
        buf_str(b, "  end        ");
    put_moment(b, h, started > 0 ? "started_at" : "ended_at");
    if (started > 0) {
        buf_str(b, ", took ");
        if (took < 10)
            buf_printf(b, "%.0f ms", 1000 * took);
        else
            ctl_span(b, took);
    }
    ctl_say(b, h, ctl_u64(h, "status") > 0 ? ": {end} {status=}" : ": {end}");
    if (json_string_length(json_object_get(h, "reason")) > 0)
        ctl_say(b, h, ": {reason}");
    if (ctl_f64(h, "retry_at") > 0)
        ctl_say(b, h, "; again from {retry_at@}");
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
    static const struct {
        const char *name, *path;
        put_fn put;
    } lines[] = {
        { "task", "id", put_text }, { "token", "task", put_text }, { "state", "state", put_text },
        { "because", "because", put_because }, { "queue", "queue", put_text }, { "key", "key", put_text },
        { "place", "position", put_task_place }, { "limited by", "limited_by", put_text },
        { "  until", "limited_until", put_moment }, { "since", "entered_at", put_moment },
        { "started", "started_at", put_moment }, { "ended", "ended_at", put_moment },
        { "ends", "ends_at", put_moment }, { "attempts", "attempts", put_number },
        { "priority", "priority", put_number }, { "pool", "pool", put_text }, { "node", "node", put_text },
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const char *path = lines[i].path;
        bool is_there = lines[i].put == put_number       ? !ctl_equals(task, "queue", "-")
                        : lines[i].put == put_moment     ? ctl_f64(task, path) > 0
                        : lines[i].put == put_task_place ? ctl_u64(task, path) > 0
                                                         : !ctl_equals(task, path, "-");

        if (is_there)
            line(b, lines[i].name, task, path, lines[i].put);
    }
    history_lines(b, task);
}
