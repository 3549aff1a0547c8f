/* status_view.c: nodes, chains, metrics and moves in columns. Pure.
 *
 *   queue login (open): 2 000/s allowed, limited by cpu
 *     lane default: 81 230 waiting, ... , 1 990/s
 *       SEGMENT  NODE       STATE   FILL                    WAITING   AHEAD  MOVE
 *            17  segment.0  sealed  [####----------------]   20 100       0  -
 *            18  segment.1  open    [############........]   61 130  20 100  -
 */
#include "queuemng/ctl_view/status_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/table.h"
#include "queuemng/ctl_view/text.h"

#define BAR_WIDTH      20
#define QUEUES_SHOWN   20 /* queues of a cluster with many */
#define SEGMENTS_SHOWN 12 /* segments of a long chain: the first and the last */

/* ---- members ---- */

/* A name, a number, or nothing (null, 0, absent): "-". */
static void id_cell(struct table *t, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (json_integer_value(v) != 0)
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else
        table_cell(t, "%s", ctl_str(o, key));
}

static void count(struct buf *b, const char *before, uint64_t n, const char *after)
{
    buf_str(b, before);
    ctl_count(b, n);
    buf_str(b, after);
}

static void bar_cell(struct table *t, uint64_t held, uint64_t used, uint64_t of)
{
    struct buf bar;

    buf_init(&bar);
    ctl_bar(&bar, held, used, of, BAR_WIDTH);
    table_cell(t, "%.*s", (int)bar.len, bar.data != NULL ? (const char *)bar.data : "");
    buf_fini(&bar);
}

/* ---- nodes, routers, moves, metrics ---- */

static void show(struct table *t, struct buf *b, size_t indent)
{
    if (table_rows(t) > 0)
        table_print(t, b, indent);
    table_fini(t);
}

/* People who wait or are inside, in the segments on this node. */
static uint64_t people_in(const json_t *segments, const char *node)
{
    const json_t *s;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(segments, i, s) {
        if (strcmp(ctl_str(s, "node"), node) == 0)
            n += ctl_u64(s, "waiting") + ctl_u64(s, "returning") + ctl_u64(s, "ready") +
                 ctl_u64(s, "active");
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

/* A node takes its places by blocks: a few people hold some hundred of them. */
static void nodes(struct buf *b, const json_t *list, const json_t *queues)
{
    struct table t;
    const json_t *n;
    size_t i;

    table_init(&t, "NODE STATE >SEGMENTS >OF >PEOPLE PLACES >TAKEN >OF ADDRESS");
    json_array_foreach(list, i, n) {
        bool up = json_is_true(json_object_get(n, "up"));

        table_cell(&t, "%s", ctl_str(n, "name"));
        table_cell(&t, "%s%s", up ? "up" : "down",
                   json_is_true(json_object_get(n, "draining")) ? ",draining" : "");
        table_u64(&t, ctl_u64(n, "segments"));
        table_u64(&t, ctl_u64(n, "max_segments"));
        table_u64(&t, people_on(queues, ctl_str(n, "name")));
        bar_cell(&t, ctl_u64(n, "tickets"), 0, ctl_u64(n, "max_tickets"));
        table_u64(&t, ctl_u64(n, "tickets"));
        table_u64(&t, ctl_u64(n, "max_tickets"));
        table_cell(&t, "%s", ctl_str(n, "addr"));
    }
    if (table_rows(&t) == 0)
        buf_str(b, "no segment nodes\n");
    show(&t, b, 0);
}

static void routers(struct buf *b, const json_t *list)
{
    struct table t;
    const json_t *r;
    size_t i;

    table_init(&t, "ROUTER MAP HTTP");
    json_array_foreach(list, i, r) {
        table_cell(&t, "%s", ctl_str(r, "name"));
        table_cell(&t, "%" PRIu64, ctl_u64(r, "map_version"));
        table_cell(&t, "%s", ctl_str(r, "http"));
    }
    if (table_rows(&t) == 0)
        buf_str(b, "no routers\n");
    show(&t, b, 0);
}

void view_moves(struct buf *b, const json_t *list)
{
    struct table t;
    const json_t *m;
    size_t i;

    table_init(&t, ">MOVE >FROM >TO STATE >TICKETS");
    json_array_foreach(list, i, m) {
        id_cell(&t, m, "move");
        id_cell(&t, m, "from");
        id_cell(&t, m, "to");
        table_cell(&t, "%s", ctl_str(m, "state"));
        table_u64(&t, ctl_u64(m, "tickets"));
    }
    if (table_rows(&t) > 0)
        buf_byte(b, '\n');
    show(&t, b, 0);
}

void view_metrics(struct buf *b, const json_t *list)
{
    struct table t;
    const json_t *m;
    size_t i;

    table_init(&t, "METRIC STATE >VALUE >AGE WHY");
    json_array_foreach(list, i, m) {
        bool ok = json_is_true(json_object_get(m, "ok"));

        table_cell(&t, "%s", ctl_str(m, "name"));
        table_cell(&t, "%s", ok ? "ok" : "FAILED");
        if (json_is_number(json_object_get(m, "value")))
            table_cell(&t, "%.4g", ctl_f64(m, "value"));
        else
            table_cell(&t, "-");
        if (json_is_integer(json_object_get(m, "age_ms")))
            table_cell(&t, "%.1f s", (double)ctl_u64(m, "age_ms") / 1000);
        else /* never read */
            table_cell(&t, "-");
        table_cell(&t, "%s", ctl_str(m, "why"));
    }
    if (table_rows(&t) > 0)
        buf_byte(b, '\n');
    show(&t, b, 0);
}

/* ---- queues, lanes, segments ---- */

/* People of it are still to come back: how many are before the next ones is not known. */
static bool is_away(const json_t *s)
{
    const char *state = ctl_str(s, "state");

    return strcmp(state, "lost") == 0 || strcmp(state, "rebuilding") == 0;
}

static void segment_row(struct table *t, const json_t *s, bool ahead_known)
{
    id_cell(t, s, "segment");
    id_cell(t, s, "node");
    table_cell(t, "%s", ctl_str(s, "state"));
    bar_cell(t, ctl_u64(s, "waiting"), ctl_u64(s, "joined"), ctl_u64(s, "capacity"));
    table_u64(t, ctl_u64(s, "waiting"));
    table_u64(t, ctl_u64(s, "joined"));
    table_u64(t, ctl_u64(s, "capacity"));
    if (ahead_known)
        table_u64(t, ctl_u64(s, "ahead"));
    else
        table_cell(t, "?");
    id_cell(t, s, "move");
}

/* Shows the two ends of a long chain: that is where things happen. */
static void segments(struct buf *b, const json_t *list, bool all)
{
    size_t n = json_array_size(list), from = n, to = n;
    bool ahead_known = true;
    struct table t;

    if (n > SEGMENTS_SHOWN && !all) {
        from = SEGMENTS_SHOWN / 2;
        to = n - SEGMENTS_SHOWN / 2;
    }
    table_init(&t, ">SEGMENT NODE STATE FILL >WAITING >JOINED >OF >AHEAD MOVE");
    for (size_t i = 0; i < n; i++) {
        if (i < from || i >= to)
            segment_row(&t, json_array_get(list, i), ahead_known);
        ahead_known = ahead_known && !is_away(json_array_get(list, i));
    }
    show(&t, b, 4);
    if (from < to)
        buf_printf(b, "    (%zu more between them: --all)\n", to - from);
}

/* The last person's estimate, as that person sees it. An older manager has none. */
static void eta(struct buf *b, const json_t *l)
{
    const json_t *s = json_object_get(l, "eta_last_s");

    if (s == NULL || ctl_u64(l, "waiting") + ctl_u64(l, "returning") == 0)
        return;
    buf_str(b, "; the last in line waits ");
    if (json_is_number(s)) {
        buf_str(b, "about ");
        ctl_span(b, json_number_value(s));
        if (strcmp(ctl_str(l, "eta_reason"), "stay") == 0)
            buf_str(b, ", if all who are inside stay as long as they may");
        return;
    }
    buf_str(b, "? (");
    ctl_clean(b, ctl_str(l, "eta_reason"));
    buf_byte(b, ')');
}

static void lane(struct buf *b, const json_t *l, bool all)
{
    buf_str(b, "  lane ");
    ctl_clean(b, ctl_str(l, "lane"));
    count(b, ": ", ctl_u64(l, "waiting"), " waiting");
    count(b, ", ", ctl_u64(l, "returning"), " returning");
    count(b, ", ", ctl_u64(l, "ready"), " ready");
    count(b, ", ", ctl_u64(l, "active"), " active");
    if (ctl_u64(l, "missing") > 0)
        count(b, ", ", ctl_u64(l, "missing"), " of lost segments not back yet");
    count(b, ", ", ctl_u64(l, "released"), " released, now ");
    ctl_rate(b, ctl_f64(l, "rate_per_s"));
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
    bool slots = strcmp(ctl_str(q, "mode"), "slots") == 0;

    if (!slots) {
        ctl_rate(b, ctl_f64(q, "allowed_per_s"));
        buf_str(b, " allowed");
    }
    if (slots || strcmp(ctl_str(q, "mode"), "both") == 0) {
        buf_str(b, slots ? "" : ", ");
        ctl_count(b, inside(q));
        buf_str(b, " of ");
        ctl_count(b, ctl_u64(q, "max_active"));
        buf_str(b, " slots taken");
        if (ctl_u64(q, "inside_flushed") > 0)
            count(b, " (", ctl_u64(q, "inside_flushed"), " by passes from before the flush)");
    }
}

static void queue_view(struct buf *b, const json_t *q, bool all)
{
    const char *by = ctl_str(q, "limited_by");
    const json_t *l;
    size_t i;

    buf_str(b, "queue ");
    ctl_clean(b, ctl_str(q, "queue"));
    buf_str(b, " (");
    ctl_clean(b, ctl_str(q, "state"));
    buf_str(b, "): ");
    allowed(b, q);
    if (strcmp(by, "-") != 0) {
        buf_str(b, ", limited by ");
        ctl_clean(b, by);
    }
    claims(b, q);
    buf_byte(b, '\n');
    json_array_foreach(json_object_get(q, "lanes"), i, l) lane(b, l, all);
}

static uint64_t waiting_of(const json_t *q)
{
    const json_t *l;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(json_object_get(q, "lanes"), i, l) n +=
        ctl_u64(l, "waiting") + ctl_u64(l, "returning");
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

static bool queue_named(struct buf *b, const json_t *list, const char *name)
{
    const json_t *q;
    size_t i;

    json_array_foreach(list, i, q) {
        if (strcmp(ctl_str(q, "queue"), name) != 0)
            continue;
        queue_view(b, q, true);
        return true;
    }
    return false;
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

static void deleted(struct buf *b, const json_t *list)
{
    const json_t *q;
    size_t i;

    json_array_foreach(list, i, q) {
        buf_str(b, "\nqueue ");
        ctl_clean(b, ctl_str(q, "queue"));
        count(b, " is deleted, with ", ctl_u64(q, "waiting"),
              " waiting: segqctl queue restore brings it back\n");
    }
}

/* A cluster without any has no lines of them. */
static void tasks(struct buf *b, const json_t *t)
{
    if (json_array_size(json_object_get(t, "pools")) == 0 &&
        json_array_size(json_object_get(t, "nodes")) == 0)
        return;
    buf_byte(b, '\n');
    (void)view_task_queues(b, t, NULL);
}

bool view_cluster(struct buf *b, const json_t *c, const char *queue, bool all)
{
    if (queue != NULL)
        return queue_named(b, json_object_get(c, "queues"), queue);
    buf_printf(b, "epoch %" PRIu64 ", map %" PRIu64 "\n\n", ctl_u64(c, "epoch"),
               ctl_u64(c, "map_version"));
    nodes(b, json_object_get(c, "nodes"), json_object_get(c, "queues"));
    buf_byte(b, '\n');
    routers(b, json_object_get(c, "routers"));
    view_metrics(b, json_object_get(c, "metrics"));
    view_moves(b, json_object_get(c, "moves"));
    queues(b, json_object_get(c, "queues"), all);
    deleted(b, json_object_get(c, "deleted"));
    tasks(b, json_object_get(c, "tasks"));
    return true;
}
