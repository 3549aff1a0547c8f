/* top_view.c: see the header.
 *
 *   segq at 2026-11-23 13:45:12 UTC: queuemng.0 leads, epoch 3
 *   2 queues: 81 230 wait (+1 990/s), 2 000/s arrive, 10/s are let in, 45 are inside
 *
 *   QUEUE  STATE  WAITING    CHANGE  ARRIVE  LET_IN  LIMIT  LIMITED_BY  INSIDE  LAST_WAITS
 *   login  open    81 230  +1 990/s  2 000/s   10/s   10/s  fixed           45       2.3 h
 */
#include "queuemng/ctl_view/top_view.h"

#include <inttypes.h>
#include <math.h>

#include "queuemng/ctl_view/colour.h"
#include "queuemng/ctl_view/load_view.h"
#include "queuemng/ctl_view/status_view.h"
#include "queuemng/ctl_view/table.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"

#define BAR_WIDTH  10
#define QUEUES_MIN 3 /* shown on the smallest screen */
#define NODES_MAX  8 /* rows of each kind on a screen; those in trouble first */

/* The two looks that rates are counted between. */
struct span {
    const json_t *now, *then; /* lists of queues; then NULL: not known */
    double s;
};

static uint64_t in_line(const json_t *q)
{
    return ctl_u64(q, "waiting") + ctl_u64(q, "returning");
}

static uint64_t joined(const json_t *q)
{
    return ctl_u64(q, "joined");
}

/* The same queue as it was; NULL. */
static const json_t *before(const struct span *x, const json_t *q)
{
    uint64_t id = ctl_u64(q, "id");
    const json_t *o;
    size_t i;

    json_array_foreach(x->then, i, o)
        if (ctl_u64(o, "id") == id)
            return o;
    return NULL;
}

/* A second; NAN: not known. */
static double change(const struct span *x, const json_t *q, uint64_t (*of)(const json_t *))
{
    const json_t *was = before(x, q);

    return was != NULL && x->s > 0 ? ((double)of(q) - (double)of(was)) / x->s : NAN;
}

/* "+12/s", "-8/s", "0/s" */
static void put_change(struct buf *b, double v)
{
    buf_str(b, v >= 0.05 ? "+" : v <= -0.05 ? "-" : "");
    ctl_rate(b, fabs(v) < 0.05 ? 0 : fabs(v));
}

static void buf_cell(struct table *t, struct buf *b)
{
    buf_byte(b, 0);
    table_cell(t, "%s", b->failed ? "?" : (const char *)b->data);
    buf_reset(b);
}

/* ---- the first lines ---- */

static void head(struct buf *b, const json_t *now)
{
    bool well = !json_is_false(json_object_get(now, "healthy"));
    struct buf line;

    buf_init(&line);
    buf_str(&line, "segq at ");
    ctl_moment(&line, ctl_f64(now, "now_ms") / 1000);
    buf_str(&line, ": ");
    ctl_clean(&line, ctl_str(now, "manager"));
    buf_printf(&line, " leads, epoch %" PRIu64, ctl_u64(now, "epoch"));
    buf_byte(&line, 0);
    colour_put(b, COLOUR_BOLD, line.failed ? "segq" : (const char *)line.data);
    buf_byte(b, '\n');
    buf_reset(&line);
    ctl_clean(&line, ctl_str(now, "why"));
    buf_byte(&line, '\n');
    buf_byte(&line, 0);
    if (!well)
        colour_put(b, COLOUR_BAD, line.failed ? "not well\n" : (const char *)line.data);
    buf_fini(&line);
}

static void totals(struct buf *b, const json_t *doc, const struct span *x)
{
    uint64_t waiting = 0, inside = 0, shown = json_array_size(x->now);
    uint64_t all = ctl_u64(doc, "queues_total");
    double more = 0, arrive = 0, let_in = 0;
    const json_t *q;
    size_t i;

    json_array_foreach(x->now, i, q) {
        double dw = change(x, q, in_line), dj = change(x, q, joined);

        waiting += in_line(q);
        inside += ctl_u64(q, "inside");
        let_in += ctl_f64(q, "rate_per_s");
        more += isnan(dw) ? 0 : dw;
        arrive += isnan(dj) || dj < 0 ? 0 : dj;
    }
    if (shown < all)
        buf_printf(b, "the busiest %" PRIu64 " of ", shown);
    buf_printf(b, "%" PRIu64 " queue%s: ", all, all == 1 ? "" : "s");
    ctl_count(b, waiting);
    buf_str(b, waiting == 1 ? " waits" : " wait");
    if (x->then != NULL) {
        buf_str(b, " (");
        put_change(b, more);
        buf_str(b, "), ");
        ctl_rate(b, arrive);
        buf_str(b, " arrive");
    }
    buf_str(b, ", ");
    ctl_rate(b, let_in);
    buf_str(b, " are let in, ");
    ctl_count(b, inside);
    buf_str(b, inside == 1 ? " is inside\n" : " are inside\n");
}

/* ---- queues ---- */

/* "2 000/s", "40 slots", or both. */
static void limit_cell(struct table *t, struct buf *b, const json_t *q)
{
    bool slots = strcmp(ctl_str(q, "mode"), "slots") == 0;

    if (!slots)
        ctl_rate(b, ctl_f64(q, "allowed_per_s"));
    if (slots || strcmp(ctl_str(q, "mode"), "both") == 0) {
        buf_str(b, slots ? "" : ", ");
        ctl_count(b, ctl_u64(q, "max_active"));
        buf_str(b, " slots");
    }
    buf_cell(t, b);
}

/* Writes the wait as the last person in line sees it. */
static void eta_cell(struct table *t, struct buf *b, const json_t *q)
{
    const json_t *s = json_object_get(q, "eta_last_s");

    if (in_line(q) == 0)
        buf_byte(b, '-');
    else if (json_is_number(s))
        ctl_span(b, json_number_value(s));
    else {
        buf_str(b, "? (");
        ctl_clean(b, ctl_str(q, "eta_reason"));
        buf_byte(b, ')');
    }
    buf_cell(t, b);
}

static void rate_cell(struct table *t, struct buf *b, double v, bool with_sign)
{
    if (isnan(v) || (!with_sign && v < 0))
        buf_byte(b, '-');
    else if (with_sign)
        put_change(b, v);
    else
        ctl_rate(b, v);
    buf_cell(t, b);
}

static void queue_row(struct table *t, struct buf *b, const struct span *x, const json_t *q)
{
    table_cell(t, "%s", ctl_str(q, "queue"));
    table_cell(t, "%s", ctl_str(q, "state"));
    table_u64(t, in_line(q));
    rate_cell(t, b, change(x, q, in_line), true);
    rate_cell(t, b, change(x, q, joined), false);
    rate_cell(t, b, ctl_f64(q, "rate_per_s"), false);
    limit_cell(t, b, q);
    table_cell(t, "%s", ctl_str(q, "limited_by"));
    table_u64(t, ctl_u64(q, "inside"));
    eta_cell(t, b, q);
}

/* The manager has them by people, most first. */
static void queues(struct buf *b, const struct span *x, size_t most, uint64_t all)
{
    size_t n = json_array_size(x->now);
    struct buf cell;
    struct table t;

    if (n > most)
        n = most;
    buf_init(&cell);
    table_init(&t, "QUEUE STATE >WAITING >CHANGE >ARRIVE >LET_IN >LIMIT LIMITED_BY >INSIDE >LAST_WAITS");
    for (size_t i = 0; i < n; i++)
        queue_row(&t, &cell, x, json_array_get(x->now, i));
    buf_fini(&cell);
    buf_byte(b, '\n');
    table_put(b, &t, "no queues\n");
    if (n < all)
        buf_printf(b, "(%" PRIu64 " quieter queues)\n", all - n);
}

/* ---- nodes, routers ---- */

static bool in_trouble(const json_t *n)
{
    return !json_is_true(json_object_get(n, "up")) || json_is_true(json_object_get(n, "draining"));
}

static void state_cell(struct table *t, struct buf *b, const json_t *n)
{
    bool up = json_is_true(json_object_get(n, "up"));

    buf_str(b, up ? "up" : "down for ");
    if (!up)
        ctl_span(b, ctl_f64(n, "silent_ms") / 1000);
    if (json_is_true(json_object_get(n, "draining")))
        buf_str(b, ", draining");
    buf_cell(t, b);
}

static void node_row(struct table *t, struct buf *b, const json_t *n)
{
    uint64_t of = ctl_u64(n, "max_tickets"), taken = ctl_u64(n, "tickets");

    table_cell(t, "%s", ctl_str(n, "name"));
    state_cell(t, b, n);
    node_load_cells(t, n);
    table_u64(t, ctl_u64(n, "segments"));
    ctl_bar(b, taken, 0, of, BAR_WIDTH);
    buf_cell(t, b);
    table_u64(t, taken);
    table_u64(t, of);
}

static void quieter(struct buf *b, size_t n)
{
    if (n > 0)
        buf_printf(b, "(%zu more, which are up: segqctl status)\n", n);
}

static void nodes(struct buf *b, const json_t *list, size_t most)
{
    size_t i, shown = 0;
    const json_t *n;
    struct buf cell;
    struct table t;

    buf_init(&cell);
    table_init(&t, "NODE STATE " NODE_LOAD_HEADS " >SEGMENTS PLACES >TAKEN >OF");
    for (unsigned well = 0; well < 2; well++)
        json_array_foreach(list, i, n)
            if (in_trouble(n) == (well == 0) && (well == 0 || shown < most)) {
                node_row(&t, &cell, n);
                shown++;
            }
    buf_fini(&cell);
    buf_byte(b, '\n');
    table_put(b, &t, "no segment nodes\n");
    quieter(b, json_array_size(list) - shown);
}

/* Writes its map: it sends people to segments by it. */
static void routers(struct buf *b, const json_t *list, uint64_t map, size_t most)
{
    size_t i, n = json_array_size(list);
    const json_t *r;
    struct table t;

    table_init(&t, "ROUTER STATE " ROUTER_LOAD_HEADS " HTTP");
    json_array_foreach(list, i, r) {
        if (i >= most)
            break;
        table_cell(&t, "%s", ctl_str(r, "name"));
        table_cell(&t, "%s", ctl_u64(r, "map_version") == map ? "up" : "up, old map");
        router_load_cells(&t, r);
        table_cell(&t, "%s", ctl_str(r, "http"));
    }
    buf_byte(b, '\n');
    table_put(b, &t, "no routers\n");
    quieter(b, n > most ? n - most : 0);
}

/* ---- the whole ---- */

static void tasks(struct buf *b, const json_t *t)
{
    if (json_array_size(json_object_get(t, "pools")) == 0 &&
        json_array_size(json_object_get(t, "nodes")) == 0)
        return;
    buf_byte(b, '\n');
    (void)view_task_queues(b, t, NULL);
}

static size_t lines_of(const struct buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == '\n';
    return n;
}

void view_top(struct buf *b, const json_t *now, const json_t *then, size_t lines)
{
    const struct span x = { json_object_get(now, "queues"), json_object_get(then, "queues"),
                            (ctl_f64(now, "now_ms") - ctl_f64(then, "now_ms")) / 1000 };
    size_t most = lines == 0 ? SIZE_MAX : NODES_MAX, taken, room = SIZE_MAX;
    struct buf rest;

    buf_init(&rest);
    nodes(&rest, json_object_get(now, "nodes"), most);
    routers(&rest, json_object_get(now, "routers"), ctl_u64(now, "map_version"), most);
    view_metrics(&rest, json_object_get(now, "metrics"));
    view_moves(&rest, json_object_get(now, "moves"));
    tasks(&rest, json_object_get(now, "tasks"));
    head(b, now);
    totals(b, now, &x);
    taken = lines_of(b) + lines_of(&rest) + 3; /* a blank line, the heads, "(N quieter queues)" */
    if (lines > 0)
        room = lines > taken + QUEUES_MIN ? lines - taken : QUEUES_MIN;
    queues(b, &x, room, ctl_u64(now, "queues_total"));
    buf_append(b, rest.data, rest.len);
    b->failed |= rest.failed;
    buf_fini(&rest);
}
