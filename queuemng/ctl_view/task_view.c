/* task_view.c: tables of queues and tasks; one task, a line per member. */
#include "queuemng/ctl_view/task_view.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/task/rules.h"

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

/* Tasks of the pool lack nothing but a worker, and none has come for long: a worker that comes now
 * and then is none that is gone. */
#define LACKS_WORKERS(says) "{?held.0.by=workers:{?running:|{?stalled_ms>29999:" says "}}}"

#define TROUBLE                                                                                                 \
    "{&pools:{?full:tasks of {pool}: new ones are refused, {full_says}\n}{?crowded:tasks of {pool}: {waiting=} " \
    "wait, more than warn_waiting ({warn_waiting=})\n}}"

/* A name server that is silent now and then is no trouble. */
SAYS_VIEW(view_task_trouble,
          TROUBLE "{&pools:" LACKS_WORKERS("tasks of {pool}: {waiting=} wait, no worker for {stalled_ms~}\n") "}"
          "{&endpoints:{&names:{?failing_ms>59999:discovery of {url} has failed for {failing_ms~}, {addresses=} "
          "address{?addresses=1:|es} known: {failing}\n}}}")

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
        COL(">QUEUES", "{queues#}"), COL(">ARRIVE", "{accepted_per_s:lately}"),
        COL(">START", "{started_per_s:lately}"), COL(">END", "{ended_per_s:lately}"),
        FIGURES_COLS, /* the largest hold: "max_concurrent of keys (120)"; "workers (501), none for 3 min" */
        COL("HELD_UP_BY", "{?held:{held.0.says} ({held.0.tasks=})" LACKS_WORKERS(", none for {stalled_ms~}") "|-}"),
    };
    const json_t *pool = queue != NULL ? pool_of(doc, queue) : NULL;
    struct table t;

    if (pool != NULL) {
        table_init(&t, cols, ARRAY_LEN(cols));
        table_row(&t, pool, doc);
        table_put(b, &t, 0, "");
        buf_byte(b, '\n');
        partitions(b, pool);
    }
    if (queue != NULL)
        return pool != NULL;
    table_list(b, doc, "pools", cols, ARRAY_LEN(cols), "no pools\n", TROUBLE "\n");
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

#define MEAN_COL COL(">MS", "{?succeeded+failed:{ms:per succeeded+failed}|-}") /* calls that have ended */
/* "4812 of 200000 (100000/minute), 80 of 500 (500/day, from 2026-11-28 00:00 to 2026-11-29 00:00), ..." */
#define UNITS_COLS                                                                                       \
    COL("UNITS_USED", "{&rates, :{used=} of {burst=} ({units=}/{per}{?ends_at:, from {begins_at@} to "   \
        "{ends_at@}})|-}"),                                                                              \
    COL("SAID_LEFT", "{&told, :{left=} {counts} until a reset in {reset_ms:up} s|-}")

LIST_THEN_VIEW(view_endpoints, "endpoints", "no endpoints\n",
                 "{&endpoints:{&names:{?failing:{url}: its addresses cannot be discovered, {addresses=} that "
                 "{?addresses=1:is|are} known {?addresses=1:stays|stay}: {failing}\n}}"
                 "{?unusable:{name} is unusable: {unusable}\n}{?held:{name}: {held=} of its "
                 "slots {?held=1:is|are} held until a lease ends: the target said `pending`, "
                 "a task was cancelled by force, or a restart or a move of a task node left "
                 "the end of a call unknown\n}}", COL("ENDPOINT", "{name}"),
                 COL("STATE", "{?paused:paused|{?tripped:tripped|{?unusable:unusable|"
                 "{?open:down|{?half_open:half-open|{?closed:closed: {reading}|up}}}}}}"),
                 COL(">RATE", "{?rate_per_s:{rate_per_s%}/s|-}"),
                 COL(">MAX_CONCURRENT", "{?max_concurrent:{max_concurrent%}|-}"),
                 COL(">LIMIT_NOW", "{?adaptive:{adaptive%}|-}"), COL(">NODES", "{nodes#}"),
                 COL(">IN_FLIGHT", "{in_flight#}"), COL(">HELD", "{held#}"),
                 COL(">SENT", "{sent#}"), COL(">SUCCEEDED", "{succeeded#}"),
                 COL(">FAILED", "{failed#}"), MEAN_COL, UNITS_COLS, COL("URL", "{?url:{url}|(endpoint targets {name})}"))

LIST_THEN_VIEW(view_targets_of, "targets",
                 "no targets: it has a url of its own, or its names have no address yet\n",
                 "{&names:{url}: {addresses=} address{?addresses=1:|es}{?left_out:, and {left_out=} more, which are "
                 "left out (discovery.addresses)}{?failing:; those that are known stay, since: {failing}}\n}",
                 COL("TARGET", "{url}{?address: ({address})}"),
                 COL("STATE", "{state}{?gone:, removed}{?unusable:: {unusable}}"), COL(">WEIGHT", "{weight#}"),
                 COL(">MAX_CONCURRENT", "{?max_concurrent:{max_concurrent%}|-}"),
                 COL(">LIMIT_NOW", "{?adaptive:{adaptive%}|-}"), COL(">IN_FLIGHT", "{in_flight#}"),
                 COL(">HELD", "{held#}"), COL(">SENT", "{sent#}"), COL(">SUCCEEDED", "{succeeded#}"),
                 COL(">FAILED", "{failed#}"), COL(">AFFINE", "{?affine:{affine#}|-}"),
                 COL(">ASTRAY", "{?astray:{astray#}|-}"), MEAN_COL,
                 COL("READING", "{?blind:not read: }{?narrowed:narrowed: }{reading}"),
                 UNITS_COLS)

/* How a probe by hand ended, in place of its word. Each opens a brace; those behind {outcome}, a word that
 * a newer server says, close them all. */
#define ENDED(how, says) "{?outcome=" how ":" says "|"
LIST_VIEW(view_probe, "probe", "no task node calls it\n",
          COL("NODE", "{node}{?target:, {target}}{?address: ({address})}"), COL(">MS", "{?outcome=ended:{ms#}|-}"),
          COL("ANSWER", ENDED("ended", "{answer}") ENDED("not_asked", "came later: it was not asked")
              ENDED("asked", "has not said anything") ENDED("sent", "has no answer yet")
              ENDED("no_task", "no task waits that may start: nothing was sent")
              ENDED("not_down", "is not down: calls go, nothing more was sent")
              ENDED("paused", "is paused: nothing was sent")
              ENDED("limited", "rate and slots let none go now: nothing was sent")
              ENDED("unusable", "cannot call it as it is defined (segqctl endpoint list)")
              ENDED("cancelled", "its task was cancelled meanwhile") ENDED("away", "is away") "{outcome}}}}}}}}}}}}"))

/* ---- tasks ---- */

LIST_THEN_VIEW(view_tasks, "tasks", "no tasks\n",
                 "{!startable:{startable=} of them may start now{?cut:; the list is not whole: too many keys are "
                 "limited}\n}", COL("TASK", "{id}"), COL("STATE",
                 "{state}{+progress.percent: {progress.percent=} %|}"), COL("KEY", "{key}"), COL(">ATTEMPTS",
                 "{attempts#}"), COL(">PLACE", "{?position:{position#}|-}"), COL("SINCE", "{entered_at@}"),
                 COL("LIMITED_BY", "{limited_by}"))

LIST_VIEW(view_task_keys, "keys", "no keys\n", COL("KEY", "{key}"), COL(">WAITING", "{waiting#}"),
          COL(">RUNNING", "{running#}"), COL("STOPPED_BY", "{limits:texts}"),
          COL("UNTIL", "{limited_until@}"), COL("PINNED", "{?pinned:pinned|-}"))

#define LIMIT_OF_KEY(path) "{?inherit:pool's|{?" path ":{" path "%}|any}}"
LIST_VIEW(view_pinned_keys, "keys", "no key is pinned\n", COL("QUEUE", "{queue}"),
          COL("KEY", "{key}"), COL("STATE", "{?paused:PAUSED|open}"),
          COL(">RATE", LIMIT_OF_KEY("rate_per_s")),
          COL(">MAX_CONCURRENT", LIMIT_OF_KEY("max_concurrent")), COL(">WEIGHT", LIMIT_OF_KEY("weight")),
          COL("UNITS", "{&rates,:{units=}/{per}|{?inherit:pool's|any}}"))

LIST_VIEW(view_busiest, "queues", "no queue has a task that waits or is dead\n",
          COL("QUEUE", "{queue}"), COL(">WAITING", "{waiting#}"), COL(">RUNNING", "{running#}"),
          COL(">DEAD", "{dead#}"), COL("REDRIVE", "{?redriving:goes on|-}"),
          COL("STOPPED_BY", "{limits:texts}"), COL("UNTIL", "{limited_until@}"))

LIST_VIEW(view_task_schedules, "schedules", "the queue has no schedule\n",
          COL("SCHEDULE", "{schedule}"), COL("NEXT", "{?paused:paused|{next@}}"), COL("LAST", "{last@}"),
          COL("OUTCOME", "{outcome}"), COL("TASK", "{id}"), COL("STATE", "{state}"))

#define DEFINITION "{&definition:{key}: {value:json -}\n}"
#define TICKS                                                                                           \
    "fires: {?ticks:{ticks.0.local}{?ticks.1:, {ticks.1.local}}{?ticks.2:, {ticks.2.local}}|not "       \
    "{?definition.paused:while it is paused|again}}\n"

SAYS_VIEW(view_task_schedule,
          "schedule {schedule} of queue {queue}{?why:; stands still: {why}}\n" DEFINITION TICKS
          "last: {last@}{?outcome: ({outcome})}{?id:, task {id}: {state}}\n")

SAYS_VIEW(view_schedule_changed,
          "schedule {schedule} of queue {queue}:{?changes:| nothing has changed: it is so already}\n"
          "{&changes:{key}: {from:json -} -> {to:json -}\n}" TICKS)

SAYS_VIEW(view_schedule_deleted, "schedule {schedule} of queue {queue} is deleted; it was:\n" DEFINITION)

void view_task_order(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "{?away:|ok: }{tasks#} task{?tasks=1:|s}\n");
    ctl_say_away(b, doc);
}

/* ---- one task ---- */

/* The reason; the fields of times that it names (ends_at) are written as these times. */
static void put_because(struct buf *b, const json_t *task)
{
    static const char *const fields[][2] = { { "ends_at", "{ends_at@}" },
                                             { "limited_until", "{limited_until@}" } };
    const char *why = json_string_value(ctl_member(task, "because"));
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

/* "attempt 2   2026-11-23 02:40:11 UTC, 350 ms: nack: no paper; again at ..." */
#define HISTORY                                                                                              \
    "{?history:history\n}{?earlier_attempts:  {earlier_attempts=} attempt{?earlier_attempts=1:|s} before "   \
    "these\n}{&history:  {?attempt:attempt {attempt:pad 2} |end        }{?started_at:{started_at@}, took "   \
    "{ended_at:took started_at}|{ended_at@}}: {end}{?status: {status=}}{?reason:: {reason}}{?retry_at:; "    \
    "again from {retry_at@}}\n}"

_Static_assert(AHEAD_MOST == 100, "`place` says so");

/* A line for each of these that has something to say; then the history. */
void view_task(struct buf *b, const json_t *task)
{
    static const struct col lines[] = {
        COL("task", "{?id:{id}}"), COL("token", "{?task:{task}}"), COL("state", "{?state:{state}}"),
        COL("because", NULL), COL("queue", "{?queue:{queue}}"),
        COL("key", "{?key:{key}}"),
        COL("place", "{?position:{position=} in its queue; before it in its key: {ahead_of_key=}{?ahead_of_key>99: or "
            "more}{!ahead_of_priority:; of its priority or above: {ahead_of_priority=}}}"),
        COL("limited by", "{?limited_by:{limited_by}}"),
        COL("  until", "{?limited_until:{limited_until@}}"),
        COL("since", "{?entered_at:{entered_at@}}"), COL("started", "{?started_at:{started_at@}}"),
        /* "40 %, page 12 of 30, {"page":12}, 2026-11-23 02:40:11 UTC" */
        COL("progress", "{!progress:{+progress.percent:{progress.percent=} %, }{?progress.text:{progress.text}, }"
            "{!progress.data:{progress.data:json}, }{progress.at@}}"),
        COL("ended", "{?ended_at:{ended_at@}}"), COL("ends", "{?ends_at:{ends_at@}}"),
        COL("after", "{?after:{after}}"),
        COL("then", "{?then:{then}}{?then_task: {then_task}}{?then_why: ({then_why})}"),
        COL("cost", "{?cost:{cost=} units}{?cost_used:, used {cost_used=}}"),
        COL("attempts", "{?queue:{attempts=}}"),
        COL("priority", "{?queue:{priority=}}"),
        COL("pool", "{?pool:{pool}}"), COL("node", "{?node:{node}}"),
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        size_t line = b->len, from;

        buf_printf(b, "%-10s ", lines[i].head);
        from = b->len;
        if (lines[i].cell == NULL)
            put_because(b, task);
        else
            ctl_say(b, task, lines[i].cell);
        if (b->len == from)
            b->len = line;
        else
            buf_byte(b, '\n');
    }
    ctl_say(b, task, HISTORY);
}
