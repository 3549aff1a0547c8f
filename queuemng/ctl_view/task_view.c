/* task_view.c: tables of queues and tasks; one task, a line per member. */
#include "queuemng/ctl_view/task_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/task/rules.h"
#include "queuemng/ctl_view/columns.h"

/* ---- pools and nodes ---- */

#define FIGURES_COLS                                                                       \
    COL(">DELAYED", "{scheduled#}"), COL(">WAITING", "{waiting#}"),                        \
    COL(">RUNNING", "{running#}"), COL(">DEAD", "{dead#}"), COL(">OLDEST", "{oldest_ms~}")

static LIST_VIEW(partitions, "partitions", NULL, COL("PARTITION", "{partition=}"),
                 COL("NODE", "{node}"),
                 COL("STATE", "{?moves_to:moves|{?up:{?full:full|up}|{?node:away|no node yet}}}"), FIGURES_COLS,
                 COL(">UNITS", "{waiting_units#}"), COL(">BYTES", "{bytes#}"))

/* "away for 12 s": its tasks wait for it */
static LIST_VIEW(task_nodes, "nodes", "no task nodes\n", COL("TASK_NODE", "{name}"),
                 COL("STATE", "{?up:{?draining:{?partitions:draining|empty}|up}|away for "
                 "{silent_ms~}}"),
                 NODE_LOAD_COLS, COL(">PARTITIONS", "{partitions#}"), COL(">MOVING", "{moving#}"),
                 COL("ADDRESS", "{addr}"),
                 COL_REGION)

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

static void says_trouble(struct buf *b, const json_t *doc)
{
    const json_t *p;
    size_t i;

    json_array_foreach(json_object_get(doc, "pools"), i, p)
        ctl_say(b, p, "{?full:tasks of {pool}: new ones are refused, {full_says}\n}"
                      "{?crowded:tasks of {pool}: {waiting=} wait, more than warn_waiting ({warn_waiting=})\n}");
}

#define NAME_FAILING_MS 60000 /* a name server that is silent now and then is no trouble */

static void say_names(struct buf *b, const json_t *endpoint, const char *sentence, uint64_t failing_ms)
{
    const json_t *x;
    size_t i;

    json_array_foreach(json_object_get(endpoint, "names"), i, x)
        if (ctl_u64(x, "failing_ms") >= failing_ms)
            ctl_say(b, x, sentence);
}

void view_task_trouble(struct buf *b, const json_t *doc)
{
    const json_t *p;
    size_t i;

    says_trouble(b, doc);
    json_array_foreach(json_object_get(doc, "pools"), i, p)
        if (lacks_workers(p))
            ctl_say(b, p, "tasks of {pool}: {waiting=} wait, no worker for {stalled_ms~}\n");
    json_array_foreach(json_object_get(doc, "endpoints"), i, p)
        say_names(b, p, "discovery of {url} has failed for {failing_ms~}, {addresses=} address{?addresses=1:|es} "
                        "known: {failing}\n", NAME_FAILING_MS);
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
    double v = ctl_f64(pool, path);

    if (v < 10000)
        buf_printf(b, "%.4g/s", v);
    else
        ctl_rate(b, v);
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
        COL("POOL", "{pool}"), COL("STATE", "{?away:away|{?paused:paused|{?full:full|open}}}"),
        COL(">QUEUES", "{queues#}"), COL(">ARRIVE", "accepted_per_s", put_lately),
        COL(">START", "started_per_s", put_lately), COL(">END", "ended_per_s", put_lately),
        FIGURES_COLS, COL("HELD_UP_BY", "", put_held),
    };
    const json_t *pool = queue != NULL ? pool_of(doc, queue) : NULL;
    struct table t;

    if (pool != NULL) {
        table_init(&t, cols, ARRAY_LEN(cols));
        table_row(&t, pool);
        table_put(b, &t, 0, "");
        buf_byte(b, '\n');
        partitions(b, pool);
    }
    if (queue != NULL)
        return pool != NULL;
    table_list(b, doc, "pools", cols, ARRAY_LEN(cols), "no pools\n");
    says_trouble(b, doc);
    buf_byte(b, '\n');
    task_nodes(b, doc);
    ctl_say(b, doc, "{?moves.running+moves.done+moves.aborted:\nmoves of partitions: "
                    "{moves.running=} running, {moves.done=} done, {moves.aborted=} "
                    "aborted\n}{?endpoints:\n}");
    if (json_array_size(json_object_get(doc, "endpoints")) > 0)
        view_endpoints(b, doc);
    return true;
}

bool view_is_pool(struct buf *b, const json_t *doc, const char *name)
{
    struct near near = near_to(name);
    const json_t *p, *of = NULL;
    size_t i;

    if (ctl_find(doc, "pools", "match", name) != NULL)
        return true;
    json_array_foreach(json_object_get(doc, "pools"), i, p) {
        if (of == NULL && queue_matches(ctl_str(p, "match"), name, strlen(name)))
            of = p;
        near_try(&near, ctl_str(p, "match"));
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

/* Milliseconds of a call that has ended, on average. */
static void put_mean(struct buf *b, const json_t *x, const char *path)
{
    uint64_t ended = ctl_u64(x, "succeeded+failed");

    ctl_count(b, ended > 0 ? ctl_u64(x, path) / ended : 0);
}

/* "4812 of 200000 (100000/minute), 80 of 500 (500/day, from 2026-11-28 00:00 to 2026-11-29 00:00), ..."; "-" */
static void put_units_used(struct buf *b, const json_t *x, const char *path)
{
    const json_t *list = ctl_member(x, path), *r;
    size_t i;

    if (json_array_size(list) == 0)
        buf_str(b, "-");
    json_array_foreach(list, i, r) {
        buf_str(b, i > 0 ? ", " : "");
        ctl_say(b, r, "{used=} of {burst=} ({units=}/{per}{?ends_at:, from {begins_at@} to {ends_at@}})");
    }
}

/* "3 requests for 12 s"; "-" */
static void put_left(struct buf *b, const json_t *x, const char *path)
{
    const json_t *list = ctl_member(x, path), *r;
    size_t i;

    if (json_array_size(list) == 0)
        buf_str(b, "-");
    json_array_foreach(list, i, r) {
        buf_str(b, i > 0 ? ", " : "");
        ctl_say(b, r, "{left=} {counts} until a reset in ");
        ctl_count(b, (ctl_u64(r, "reset_ms") + 999) / 1000);
        buf_str(b, " s");
    }
}

static LIST_VIEW(endpoints, "endpoints", "no endpoints\n", COL("ENDPOINT", "{name}"),
                 COL("STATE", "{?paused:paused|{?tripped:tripped|{?unusable:unusable|"
                 "{?open:down|{?half_open:half-open|{?closed:closed: {reading}|up}}}}}}"),
                 COL(">RATE", "{?rate_per_s:{rate_per_s%}/s|-}"),
                 COL(">MAX_CONCURRENT", "{?max_concurrent:{max_concurrent%}|-}"),
                 COL(">LIMIT_NOW", "{?adaptive:{adaptive%}|-}"), COL(">NODES", "{nodes#}"),
                 COL(">IN_FLIGHT", "{in_flight#}"), COL(">HELD", "{held#}"),
                 COL(">SENT", "{sent#}"), COL(">SUCCEEDED", "{succeeded#}"),
                 COL(">FAILED", "{failed#}"), COL(">MS", "ms", put_mean), COL("UNITS_USED", "rates", put_units_used),
                 COL("SAID_LEFT", "told", put_left), COL("URL", "{?url:{url}|(endpoint targets {name})}"))

static LIST_VIEW(targets_of, "targets", "no targets: it has a url of its own, or its names have no address yet\n",
                 COL("TARGET", "{url}{?address: ({address})}"),
                 COL("STATE", "{state}{?gone:, removed}{?unusable:: {unusable}}"), COL(">WEIGHT", "{weight#}"),
                 COL(">MAX_CONCURRENT", "{?max_concurrent:{max_concurrent%}|-}"),
                 COL(">LIMIT_NOW", "{?adaptive:{adaptive%}|-}"), COL(">IN_FLIGHT", "{in_flight#}"),
                 COL(">HELD", "{held#}"), COL(">SENT", "{sent#}"), COL(">SUCCEEDED", "{succeeded#}"),
                 COL(">FAILED", "{failed#}"), COL(">AFFINE", "{?affine:{affine#}|-}"),
                 COL(">ASTRAY", "{?astray:{astray#}|-}"), COL(">MS", "ms", put_mean),
                 COL("READING", "{?blind:not read: }{?narrowed:narrowed: }{reading}"),
                 COL("UNITS_USED", "rates", put_units_used), COL("SAID_LEFT", "told", put_left))

void view_targets_of(struct buf *b, const json_t *doc)
{
    targets_of(b, doc);
    say_names(b, doc, "{url}: {addresses=} address{?addresses=1:|es}{?left_out:, and {left_out=} more, which are left out "
                      "(discovery.addresses)}{?failing:; those that are known stay, since: {failing}}\n", 0);
}

void view_endpoints(struct buf *b, const json_t *doc)
{
    const json_t *x;
    size_t i;

    endpoints(b, doc);
    json_array_foreach(json_object_get(doc, "endpoints"), i, x) {
        say_names(b, x, "{?failing:{url}: its addresses cannot be discovered, {addresses=} that {?addresses=1:is|are} "
                        "known {?addresses=1:stays|stay}: {failing}\n}", 0);
        ctl_say(b, x, "{?unusable:{name} is unusable: {unusable}\n}{?held:{name}: {held=} of its "
                      "slots {?held=1:is|are} held until a lease ends: the target said `pending`, "
                      "a task was cancelled by force, or a restart or a move of a task node left "
                      "the end of a call unknown\n}");
    }
}

/* How a probe by hand ended, in place of its word. */
static void put_probe(struct buf *b, const json_t *x, const char *path)
{
    static const char *const says[][2] = {
        { "ended", "{answer}" },
        { "not_asked", "came later: it was not asked" },
        { "asked", "has not said anything" },
        { "sent", "has no answer yet" },
        { "no_task", "no task waits that may start: nothing was sent" },
        { "not_down", "is not down: calls go, nothing more was sent" },
        { "paused", "is paused: nothing was sent" },
        { "limited", "rate and slots let none go now: nothing was sent" },
        { "unusable", "cannot call it as it is defined (segqctl endpoint list)" },
        { "cancelled", "its task was cancelled meanwhile" },
        { "away", "is away" },
    };
    const char *sentence = "{outcome}";

    for (size_t i = 0; i < ARRAY_LEN(says); i++)
        if (ctl_equals(x, path, says[i][0]))
            sentence = says[i][1];
    ctl_say(b, x, sentence);
}

LIST_VIEW(view_probe, "probe", "no task node calls it\n", COL("NODE", "{node}{?target:, {target}}{?address: ({address})}"),
          COL(">MS", "{?outcome=ended:{ms#}|-}"), COL("ANSWER", "outcome", put_probe))

/* ---- tasks ---- */

static LIST_VIEW(tasks, "tasks", "no tasks\n", COL("TASK", "{id}"), COL("STATE",
                 "{state}{+progress.percent: {progress.percent=} %|}"), COL("KEY", "{key}"), COL(">ATTEMPTS",
                 "{attempts#}"), COL(">PLACE", "{?position:{position#}|-}"), COL("SINCE", "{entered_at@}"),
                 COL("LIMITED_BY", "{limited_by}"))

void view_tasks(struct buf *b, const json_t *doc)
{
    tasks(b, doc);
    if (ctl_member(doc, "startable") != NULL)
        ctl_say(b, doc, "{startable=} of them may start now{?cut:; the list is not whole: too many keys are "
                        "limited}\n");
}

/* "rate, max_concurrent"; "-": none */
static void put_limits(struct buf *b, const json_t *k, const char *path)
{
    ctl_texts(b, ctl_member(k, path), "-");
}

LIST_VIEW(view_task_keys, "keys", "no keys\n", COL("KEY", "{key}"), COL(">WAITING", "{waiting#}"),
          COL(">RUNNING", "{running#}"), COL("STOPPED_BY", "limits", put_limits),
          COL("UNTIL", "{limited_until@}"), COL("PINNED", "{?pinned:pinned|-}"))

#define KEY_LIMIT(path) "{?inherit:pool's|{?" path ":{" path "%}|any}}"
LIST_VIEW(view_pinned_keys, "keys", "no key is pinned\n", COL("QUEUE", "{queue}"),
          COL("KEY", "{key}"), COL("STATE", "{?paused:PAUSED|open}"),
          COL(">RATE", KEY_LIMIT("rate_per_s")),
          COL(">MAX_CONCURRENT", KEY_LIMIT("max_concurrent")), COL(">WEIGHT", KEY_LIMIT("weight")),
          COL("UNITS", "rates", view_unit_rates))

LIST_VIEW(view_busiest, "queues", "no queue has a task that waits or is dead\n",
          COL("QUEUE", "{queue}"), COL(">WAITING", "{waiting#}"), COL(">RUNNING", "{running#}"),
          COL(">DEAD", "{dead#}"), COL("REDRIVE", "{?redriving:goes on|-}"),
          COL("STOPPED_BY", "limits", put_limits), COL("UNTIL", "{limited_until@}"))

LIST_VIEW(view_task_schedules, "schedules", "the queue has no schedule\n",
          COL("SCHEDULE", "{schedule}"), COL("NEXT", "{next@}"), COL("LAST", "{last@}"),
          COL("OUTCOME", "{outcome}"), COL("TASK", "{id}"), COL("STATE", "{state}"))

/* "NAME: VALUE" as JSON, cleaned. */
static void put_value(struct buf *b, const json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

    ctl_clean(b, v == NULL || json_is_null(v) ? "-" : text != NULL ? text : "?");
    free(text);
}

static void put_ticks(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "ticks"), *x;
    size_t i;

    buf_str(b, json_array_size(list) == 0 ? "fires: not again" : "fires: ");
    json_array_foreach(list, i, x)
        if (i < 3)
            ctl_say(b, x, i > 0 ? ", {local}" : "{local}");
    buf_str(b, "\n");
}

static void put_changes(struct buf *b, const json_t *doc)
{
    const json_t *x;
    size_t i;

    json_array_foreach(json_object_get(doc, "changes"), i, x) {
        ctl_say(b, x, "{key}: ");
        put_value(b, json_object_get(x, "from"));
        buf_str(b, " -> ");
        put_value(b, json_object_get(x, "to"));
        buf_str(b, "\n");
    }
}

static void put_definition(struct buf *b, const json_t *doc)
{
    const char *key;
    json_t *v;

    json_object_foreach(json_object_get(doc, "definition"), key, v) {
        ctl_clean(b, key);
        buf_str(b, ": ");
        put_value(b, v);
        buf_str(b, "\n");
    }
}

void view_task_schedule(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "schedule {schedule} of queue {queue}{?why:; stands still: {why}}\n");
    put_definition(b, doc);
    put_ticks(b, doc);
    ctl_say(b, doc, "last: {last@}{?outcome: ({outcome})}{?id:, task {id}: {state}}\n");
}

void view_schedule_changed(struct buf *b, const json_t *doc)
{
    bool same = json_array_size(json_object_get(doc, "changes")) == 0;

    ctl_say(b, doc, same ? "schedule {schedule} of queue {queue}: nothing has changed: it is so already\n"
                         : "schedule {schedule} of queue {queue}:\n");
    put_changes(b, doc);
    put_ticks(b, doc);
}

void view_schedule_deleted(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "schedule {schedule} of queue {queue} is deleted; it was:\n");
    put_definition(b, doc);
}

void view_task_order(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "ok: {tasks#} tasks\n");
    view_away(b, doc);
}

/* ---- one task ---- */

/* The reason; the fields of times that it names (ends_at) are written as these times. */
static void put_because(struct buf *b, const json_t *task, const char *path)
{
    static const char *const fields[][2] = { { "ends_at", "{ends_at@}" },
                                             { "limited_until", "{limited_until@}" } };
    const char *why = json_string_value(ctl_member(task, path));
    char head[300];

    for (size_t i = 0; why != NULL && i < ARRAY_LEN(fields); i++) {
        const char *key = fields[i][0], *at = strstr(why, key);

        if (at == NULL || ctl_f64(task, key) <= 0 || (size_t)(at - why) >= sizeof(head))
            continue;
        snprintf(head, sizeof(head), "%.*s", (int)(at - why), why);
        ctl_clean(b, head);
        ctl_say(b, task, fields[i][1]);
        why = at + strlen(key);
        break;
    }
    ctl_clean(b, why != NULL ? why : "");
}

static void put_task_place(struct buf *b, const json_t *task, const char *path)
{
    if (ctl_u64(task, path) > 0)
        ctl_say(b, task, "{position=} in its queue; before it in its key: {ahead_of_key=}");
    if (ctl_u64(task, path) > 0 && ctl_u64(task, "ahead_of_key") >= AHEAD_MOST)
        buf_str(b, " or more");
    if (ctl_u64(task, path) > 0 && ctl_member(task, "ahead_of_priority") != NULL)
        ctl_say(b, task, "; of its priority or above: {ahead_of_priority=}");
}

/* "40 %, page 12 of 30, {"page":12}, 2026-11-23 02:40:11 UTC" */
static void put_progress(struct buf *b, const json_t *task, const char *path)
{
    const json_t *p = ctl_member(task, path), *data = ctl_member(p, "data");
    char *text = data != NULL ? json_dumps(data, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    if (p != NULL)
        ctl_say(b, p, "{+percent:{percent=} %, |}{?text:{text}, |}");
    if (text != NULL) {
        ctl_clean(b, text);
        buf_str(b, ", ");
    }
    if (p != NULL)
        ctl_say(b, p, "{at@}");
    free(text);
}

/* "attempt 2   2026-11-23 02:40:11 UTC, 350 ms: nack: no paper; again at ..." */
static void attempt_line(struct buf *b, const json_t *h)
{
    double took = ctl_f64(h, "ended_at") - ctl_f64(h, "started_at");
    uint64_t no = ctl_u64(h, "attempt");

    if (no > 0)
        buf_printf(b, "  attempt %-2" PRIu64 " ", no);
    else
        buf_str(b, "  end        ");
    ctl_say(b, h, "{?started_at:{started_at@}, took |{ended_at@}}");
    if (ctl_f64(h, "started_at") > 0 && took < 10)
        buf_printf(b, "%.0f ms", 1000 * took);
    else if (ctl_f64(h, "started_at") > 0)
        ctl_span(b, took);
    ctl_say(b, h, ": {end}{?status: {status=}}{?reason:: {reason}}{?retry_at:; again from "
                  "{retry_at@}}\n");
}

/* A line for each of these that has something to say; then the history. */
void view_task(struct buf *b, const json_t *task)
{
    static const struct col lines[] = {
        COL("task", "{?id:{id}}"), COL("token", "{?task:{task}}"), COL("state", "{?state:{state}}"),
        COL("because", "because", put_because), COL("queue", "{?queue:{queue}}"),
        COL("key", "{?key:{key}}"), COL("place", "position", put_task_place),
        COL("limited by", "{?limited_by:{limited_by}}"),
        COL("  until", "{?limited_until:{limited_until@}}"),
        COL("since", "{?entered_at:{entered_at@}}"), COL("started", "{?started_at:{started_at@}}"),
        COL("progress", "progress", put_progress),
        COL("ended", "{?ended_at:{ended_at@}}"), COL("ends", "{?ends_at:{ends_at@}}"),
        COL("after", "{?after:{after}}"),
        COL("then", "{?then:{then}}{?then_task: {then_task}}{?then_why: ({then_why})}"),
        COL("cost", "{?cost:{cost=} units}{?cost_used:, used {cost_used=}}"),
        COL("attempts", "{?queue:{attempts=}}"),
        COL("priority", "{?queue:{priority=}}"),
        COL("pool", "{?pool:{pool}}"), COL("node", "{?node:{node}}"),
    };
    const json_t *h;
    size_t k;

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        size_t line = b->len, from;

        buf_printf(b, "%-10s ", lines[i].head);
        from = b->len;
        (lines[i].put != NULL ? lines[i].put : ctl_say)(b, task, lines[i].cell);
        if (b->len == from)
            b->len = line;
        else
            buf_byte(b, '\n');
    }
    ctl_say(b, task, "{?history:history\n}{?earlier_attempts:  {earlier_attempts=} "
                     "attempt{?earlier_attempts=1:|s} before these\n}");
    json_array_foreach(json_object_get(task, "history"), k, h)
        attempt_line(b, h);
}
