/* status_view.c: nodes, chains, metrics and moves in columns. Pure.
 *
 *   queue login (open): 2 000/s allowed, limited by cpu
 *     lane default: 81 230 waiting, ... , 1 990/s
 *       SEGMENT  NODE       STATE   FILL                    WAITING   AHEAD  MOVE
 *            17  segment.0  sealed  [####----------------]   20 100       0  -
 *            18  segment.1  open    [############........]   61 130  20 100  -
 */
#include "queuemng/ctl_view/status_view.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/task_view.h"

#define BAR_WIDTH      20
#define QUEUES_SHOWN   20 /* queues of a cluster with many */
#define SEGMENTS_SHOWN 12 /* segments of a long chain: the first and the last */

/* ---- nodes, routers, moves, metrics ---- */

/* People who wait or are inside, in the segments on this node. */
static uint64_t people_in(const json_t *segments, const char *node)
{
    const json_t *s;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(segments, i, s) {
        if (ctl_equals(s, "node", node))
            n += ctl_in_line(s) + ctl_u64(s, "ready") + ctl_u64(s, "active");
    }
    return n;
}

static uint64_t people_on(const json_t *queues, const char *node)
{
    const json_t *q, *l;
    uint64_t n = 0;
    size_t i, k;

    json_array_foreach(queues, i, q) {
        json_array_foreach(json_object_get(q, "lanes"), k, l)
            n += people_in(json_object_get(l, "segments"), node);
    }
    return n;
}

static void put_node_state(struct buf *b, const json_t *n, const char *path)
{
    buf_str(b, ctl_is(n, path) ? "up" : "down");
    buf_str(b, ctl_is(n, "draining") ? ",draining" : "");
}

static void put_places(struct buf *b, const json_t *n, const char *path)
{
    ctl_bar(b, ctl_u64(n, path), 0, ctl_u64(n, "max_tickets"), BAR_WIDTH);
}

/* A node takes its places by blocks: a few people hold some hundred of them. */
static void nodes(struct buf *b, const json_t *list, const json_t *queues)
{
    static const struct col cols[] = {
        { "NODE", "name", .put = put_text }, { "STATE", "up", .put = put_node_state },
        { ">SEGMENTS", "segments", .put = put_count }, { ">OF", "max_segments", .put = put_count },
        { ">PEOPLE", "people", .put = put_count }, { "PLACES", "tickets", .put = put_places },
        { ">TAKEN", "tickets", .put = put_count }, { ">OF", "max_tickets", .put = put_count },
        { "ADDRESS", "addr", .put = put_text },
    };
    struct table t;
    json_t *n;
    size_t i;

    table_init(&t, cols, ARRAY_LEN(cols));
    json_array_foreach(list, i, n) {
        json_t *row = json_copy(n);

        (void)json_object_set_new(row, "people",
                                  json_integer((json_int_t)people_on(queues, ctl_str(n, "name"))));
        table_row(&t, row);
        json_decref(row);
    }
    table_put(b, &t, 0, "no segment nodes\n");
}

static void routers(struct buf *b, const json_t *list)
{
    static const struct col cols[] = {
        { "ROUTER", "name", .put = put_text }, { "MAP", "map_version", .put = put_number },
        { "HTTP", "http", .put = put_text },
    };

    TABLE_LIST(b, list, cols, "no routers\n");
}

void view_moves(struct buf *b, const json_t *list)
{
    static const struct col cols[] = {
        { ">MOVE", "move", .put = put_id }, { ">FROM", "from", .put = put_id },
        { ">TO", "to", .put = put_id }, { "STATE", "state", .put = put_text },
        { ">TICKETS", "tickets", .put = put_count },
    };

    buf_str(b, json_array_size(list) > 0 ? "\n" : "");
    TABLE_LIST(b, list, cols, "");
}

static void put_value(struct buf *b, const json_t *m, const char *path)
{
    buf_printf(b, "%.4g", ctl_f64(m, path));
}

static void put_age(struct buf *b, const json_t *m, const char *path)
{
    buf_printf(b, "%.1f s", (double)ctl_u64(m, path) / 1000);
}

void view_metrics(struct buf *b, const json_t *list)
{
    static const struct col cols[] = {
        { "METRIC", "name", .put = put_text }, { "STATE", "ok", EITHER("ok", "FAILED") },
        { ">VALUE", "value", .put = put_value, .only = IF_NUMBER },
        { ">AGE", "age_ms", .put = put_age, .only = IF_NUMBER }, { "WHY", "why", .put = put_text },
    };

    buf_str(b, json_array_size(list) > 0 ? "\n" : "");
    TABLE_LIST(b, list, cols, "");
}

/* ---- queues, lanes, segments ---- */

/* People of it are still to come back: how many are before the next ones is not known. */
static bool is_away(const json_t *s)
{
    return ctl_equals(s, "state", "lost") || ctl_equals(s, "state", "rebuilding");
}

static void put_fill(struct buf *b, const json_t *s, const char *path)
{
    ctl_bar(b, ctl_u64(s, path), ctl_u64(s, "joined"), ctl_u64(s, "capacity"), BAR_WIDTH);
}

static void put_ahead(struct buf *b, const json_t *s, const char *path)
{
    if (ctl_is(s, "ahead_unknown"))
        buf_byte(b, '?');
    else
        put_count(b, s, path);
}

static void segment_row(struct table *t, json_t *s, bool ahead_known)
{
    json_t *row = json_copy(s);

    (void)json_object_set_new(row, "ahead_unknown", json_boolean(!ahead_known));
    table_row(t, row);
    json_decref(row);
}

/* Shows the two ends of a long chain: that is where things happen. */
static void segments(struct buf *b, const json_t *list, bool all)
{
    static const struct col cols[] = {
        { ">SEGMENT", "segment", .put = put_id }, { "NODE", "node", .put = put_id },
        { "STATE", "state", .put = put_text }, { "FILL", "waiting", .put = put_fill },
        { ">WAITING", "waiting", .put = put_count }, { ">JOINED", "joined", .put = put_count },
        { ">OF", "capacity", .put = put_count }, { ">AHEAD", "ahead", .put = put_ahead },
        { "MOVE", "move", .put = put_id },
    };
    size_t n = json_array_size(list), from = n, to = n;
    bool ahead_known = true;
    struct table t;

    if (n > SEGMENTS_SHOWN && !all) {
        from = SEGMENTS_SHOWN / 2;
        to = n - SEGMENTS_SHOWN / 2;
    }
    table_init(&t, cols, ARRAY_LEN(cols));
    for (size_t i = 0; i < n; i++) {
        if (i < from || i >= to)
            segment_row(&t, json_array_get(list, i), ahead_known);
        ahead_known = ahead_known && !is_away(json_array_get(list, i));
    }
    table_put(b, &t, 4, "");
    if (from < to)
        buf_printf(b, "    (%zu more between them: --all)\n", to - from);
}

/* The last person's estimate, as that person sees it. An older manager has none. */
static void eta(struct buf *b, const json_t *l)
{
    const json_t *s = json_object_get(l, "eta_last_s");

    if (s == NULL || ctl_in_line(l) == 0)
        return;
    buf_str(b, "; the last in line waits ");
    if (!json_is_number(s)) {
        ctl_say(b, l, "? ({eta_reason})");
        return;
    }
    buf_str(b, "about ");
    ctl_span(b, json_number_value(s));
    if (ctl_equals(l, "eta_reason", "stay"))
        buf_str(b, ", if all who are inside stay as long as they may");
}

static void lane(struct buf *b, const json_t *l, bool all)
{
    ctl_say(b, l, "  lane {lane}: {waiting#} waiting, {returning#} returning, {ready#} ready, "
                  "{active#} active");
    if (ctl_u64(l, "missing") > 0)
        ctl_say(b, l, ", {missing#} of lost segments not back yet");
    ctl_say(b, l, ", {released#} released, now {rate_per_s/}");
    eta(b, l);
    buf_byte(b, '\n');
    segments(b, json_object_get(l, "segments"), all);
}

/* Only with no-shows; an older manager does not have the rate. */
static void claims(struct buf *b, const json_t *q)
{
    double rate = ctl_f64(q, "claim_rate");

    if (json_object_get(q, "claim_rate") == NULL || rate >= 1)
        return;
    buf_printf(b, ", %.0f %% of those let in come, so %.2f times as many are let in", 100 * rate,
               ctl_f64(q, "boost"));
}

static uint64_t inside(const json_t *q)
{
    const json_t *l;
    uint64_t n = 0;
    size_t i;

    if (json_is_integer(json_object_get(q, "inside")))
        return ctl_u64(q, "inside"); /* with those of before a flush */
    json_array_foreach(json_object_get(q, "lanes"), i, l) n +=
        ctl_u64(l, "active") + ctl_u64(l, "ready");
    return n;
}

/* "2 000/s allowed", "40 of 40 slots taken", or both. */
static void allowed(struct buf *b, const json_t *q)
{
    bool slots = ctl_equals(q, "mode", "slots"), both = ctl_equals(q, "mode", "both");

    if (!slots)
        ctl_say(b, q, both ? "{allowed_per_s/} allowed, " : "{allowed_per_s/} allowed");
    if (!slots && !both)
        return;
    ctl_count(b, inside(q));
    ctl_say(b, q, " of {max_active#} slots taken");
    if (ctl_u64(q, "inside_flushed") > 0)
        ctl_say(b, q, " ({inside_flushed#} by passes from before the flush)");
}

static void queue_view(struct buf *b, const json_t *q, bool all)
{
    const json_t *l;
    size_t i;

    ctl_say(b, q, "queue {queue} ({state}): ");
    allowed(b, q);
    if (!ctl_equals(q, "limited_by", "-"))
        ctl_say(b, q, ", limited by {limited_by}");
    claims(b, q);
    buf_byte(b, '\n');
    json_array_foreach(json_object_get(q, "lanes"), i, l) lane(b, l, all);
}

static uint64_t waiting_of(const json_t *q)
{
    const json_t *l;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(json_object_get(q, "lanes"), i, l) n += ctl_in_line(l);
    return n;
}

struct busy {
    uint64_t waiting;
    size_t at;
};

static int busier(const void *a, const void *b)
{
    const struct busy *x = a, *y = b;

    if (x->waiting != y->waiting)
        return x->waiting > y->waiting ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Shows the busiest queues of a cluster with many, those with the most people first. */
static void queues_busiest(struct buf *b, const json_t *list)
{
    size_t n = json_array_size(list), i;
    struct busy *v = malloc(n * sizeof(*v));
    const json_t *q;

    if (v == NULL)
        return;
    json_array_foreach(list, i, q) v[i] =
        (struct busy) { .waiting = waiting_of(q), .at = i };
    qsort(v, n, sizeof(*v), busier);
    for (i = 0; i < QUEUES_SHOWN; i++) {
        buf_byte(b, '\n');
        queue_view(b, json_array_get(list, v[i].at), false);
    }
    free(v);
    buf_printf(b, "\n(%zu quieter queues: --all, or name one)\n", n - QUEUES_SHOWN);
}

static void queues(struct buf *b, const json_t *list, bool all)
{
    const json_t *q;
    size_t i;

    if (json_array_size(list) > QUEUES_SHOWN && !all) {
        queues_busiest(b, list);
        return;
    }
    json_array_foreach(list, i, q) {
        buf_byte(b, '\n');
        queue_view(b, q, all);
    }
    if (json_array_size(list) == 0)
        buf_str(b, "\nno queues\n");
}

void view_tasks_of(struct buf *b, const json_t *t)
{
    if (json_array_size(json_object_get(t, "pools")) == 0 &&
        json_array_size(json_object_get(t, "nodes")) == 0)
        return;
    buf_byte(b, '\n');
    (void)view_task_queues(b, t, NULL);
}

bool view_cluster(struct buf *b, const json_t *c, const char *queue, bool all)
{
    const json_t *list = json_object_get(c, "queues"), *q;
    size_t i;

    json_array_foreach(list, i, q) {
        if (queue == NULL || !ctl_equals(q, "queue", queue))
            continue;
        queue_view(b, q, true);
        return true;
    }
    if (queue != NULL)
        return false;
    ctl_say(b, c, "epoch {epoch=}, map {map_version=}\n\n");
    nodes(b, json_object_get(c, "nodes"), list);
    buf_byte(b, '\n');
    routers(b, json_object_get(c, "routers"));
    view_metrics(b, json_object_get(c, "metrics"));
    view_moves(b, json_object_get(c, "moves"));
    queues(b, list, all);
    json_array_foreach(json_object_get(c, "deleted"), i, q)
        ctl_say(b, q, "\nqueue {queue} is deleted, with {waiting#} waiting: segqctl queue restore "
                      "brings it back\n");
    view_tasks_of(b, json_object_get(c, "tasks"));
    return true;
}
