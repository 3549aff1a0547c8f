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

#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/status_view.h"

#define BAR_WIDTH  10
#define QUEUES_MIN 3 /* shown on the smallest screen */
#define NODES_MAX  8 /* rows of each kind on a screen; those in trouble first */

/* ---- rates, between two looks ---- */

/* The queues, with what has changed in a second, if it is known: `change`, `arrive`. New
 * reference. */
static json_t *with_rates(const json_t *now, const json_t *then)
{
    double s = (ctl_f64(now, "now_ms") - ctl_f64(then, "now_ms")) / 1000;
    json_t *list = json_array(), *q, *old;
    size_t i, k;

    json_array_foreach(json_object_get(now, "queues"), i, q) {
        json_t *row = json_copy(q);

        json_array_foreach(json_object_get(then, "queues"), k, old)
            if (s > 0 && ctl_u64(old, "id") == ctl_u64(q, "id")) {
                double more = (double)ctl_u64(q, CTL_IN_LINE) - (double)ctl_u64(old, CTL_IN_LINE);
                double come = (double)ctl_u64(q, "joined") - (double)ctl_u64(old, "joined");

                (void)json_object_set_new(row, "change", json_real(more / s));
                (void)json_object_set_new(row, "arrive", json_real(come / s));
                break;
            }
        (void)json_array_append_new(list, row);
    }
    return list;
}

/* "+12/s", "-8/s", "0/s" */
static void rate_of_change(struct buf *b, double v)
{
    buf_str(b, v >= 0.05 ? "+" : v <= -0.05 ? "-" : "");
    ctl_rate(b, fabs(v) < 0.05 ? 0 : fabs(v));
}

/* ---- the first lines ---- */

static void put_coloured(struct buf *b, enum colour colour, const json_t *now, const char *sentence)
{
    struct buf line;

    buf_init(&line);
    ctl_say(&line, now, sentence);
    buf_byte(&line, 0);
    colour_put(b, colour, line.failed ? "?" : (const char *)line.data);
    buf_byte(b, '\n');
    buf_fini(&line);
}

static void head(struct buf *b, const json_t *now)
{
    put_coloured(b, COLOUR_BOLD, now, "segq at {now_ms*}: {manager} leads, epoch {epoch=}");
    if (json_is_false(json_object_get(now, "healthy")))
        put_coloured(b, COLOUR_BAD, now, "{why}");
    else if (json_string_length(json_object_get(now, "why")) > 0)
        put_coloured(b, COLOUR_WARN, now, "{why}");
}

static void totals(struct buf *b, const json_t *doc, const json_t *queues, bool has_rates)
{
    uint64_t waiting = ctl_sum(queues, CTL_IN_LINE, NULL, NULL),
        inside = ctl_sum(queues, "inside", NULL, NULL);
    double more = 0, arrive = 0, let_in = 0;
    const json_t *q;
    size_t i;

    json_array_foreach(queues, i, q) {
        let_in += ctl_f64(q, "rate_per_s");
        more += ctl_f64(q, "change");
        arrive += fmax(0, ctl_f64(q, "arrive"));
    }
    if (json_array_size(queues) < ctl_u64(doc, "queues_total"))
        buf_printf(b, "the busiest %zu of ", json_array_size(queues));
    ctl_say(b, doc, "{queues_total=} queue{?queues_total=1:|s}: ");
    ctl_count(b, waiting);
    buf_str(b, waiting == 1 ? " waits" : " wait");
    if (has_rates) {
        buf_str(b, " (");
        rate_of_change(b, more);
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

static void put_change(struct buf *b, const json_t *q, const char *path)
{
    rate_of_change(b, ctl_f64(q, path));
}

/* A counter that began anew is no rate below 0. */
static void put_rate_above_0(struct buf *b, const json_t *q, const char *path)
{
    if (ctl_f64(q, path) < 0)
        buf_byte(b, '-');
    else
        ctl_rate(b, ctl_f64(q, path));
}

/* The manager has them by people, most first. */
static void queues(struct buf *b, const json_t *list, size_t most, uint64_t all)
{
    static const struct col cols[] = {
        COL("QUEUE", "{queue}"), COL("STATE", "{state}"), COL(">WAITING", "{" CTL_IN_LINE "#}"),
        COL(">CHANGE", "change", put_change, IF_NUMBER),
        COL(">ARRIVE", "arrive", put_rate_above_0, IF_NUMBER),
        COL(">LET_IN", "rate_per_s", put_rate_above_0),
        COL(">LIMIT", "{?mode=slots:|{allowed_per_s/}}{?mode=both:, }{?mode=slots:{max_active#} "
                      "slots}{?mode=both:{max_active#} slots}"),
        COL("LIMITED_BY", "{limited_by}"), COL(">INSIDE", "{inside#}"),
        COL(">LAST_WAITS", "{?" CTL_IN_LINE ":{+eta_last_s:{eta_last_s^}|? ({eta_reason})}|-}"),
    };
    size_t n = json_array_size(list) < most ? json_array_size(list) : most;
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    for (size_t i = 0; i < n; i++)
        table_row(&t, json_array_get(list, i));
    buf_byte(b, '\n');
    table_put(b, &t, 0, "no queues\n");
    if (n < all)
        buf_printf(b, "(%" PRIu64 " quieter queues)\n", all - n);
}

/* ---- nodes, routers ---- */

static bool in_trouble(const json_t *n)
{
    return !ctl_is(n, "up") || ctl_is(n, "draining");
}

static void put_places(struct buf *b, const json_t *n, const char *path)
{
    ctl_bar(b, ctl_u64(n, path), 0, ctl_u64(n, "max_tickets"), BAR_WIDTH);
}

static void quieter(struct buf *b, size_t n)
{
    if (n > 0)
        buf_printf(b, "(%zu more, which are up: segqctl status)\n", n);
}

static void nodes(struct buf *b, const json_t *list, size_t most)
{
    static const struct col cols[] = {
        COL("NODE", "{name}"), COL("STATE", "{?up:up|down for {silent_ms~}}{?draining:, draining}"),
        NODE_LOAD_COLS, COL(">SEGMENTS", "{segments#}"), COL("PLACES", "tickets", put_places),
        COL(">TAKEN", "{tickets#}"), COL(">OF", "{max_tickets#}"),
    };
    size_t i, shown = 0;
    const json_t *n;
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    for (unsigned well = 0; well < 2; well++)
        json_array_foreach(list, i, n)
            if (in_trouble(n) == (well == 0) && (well == 0 || shown < most)) {
                table_row(&t, n);
                shown++;
            }
    buf_byte(b, '\n');
    table_put(b, &t, 0, "no segment nodes\n");
    quieter(b, json_array_size(list) - shown);
}

static void put_answers(struct buf *b, const json_t *r, const char *path)
{
    buf_printf(b, "%.0f/s", ctl_f64(r, path));
}

/* With its map: a router sends people to segments by it. */
static void routers(struct buf *b, const json_t *now, size_t most)
{
    static const struct col cols[] = {
        COL("ROUTER", "{name}"), COL("STATE", "up{?map_is_old:, old map}"), LOAD_COLS,
        COL(">ANSWERS", "load.answers_per_s", put_answers, IF_NUMBER),
        COL(">P99", "load.p99_us", put_us, IF_POSITIVE), COL("HTTP", "{http}"),
    };
    const json_t *list = json_object_get(now, "routers");
    size_t n = json_array_size(list);
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    for (size_t i = 0; i < n && i < most; i++) {
        const json_t *r = json_array_get(list, i);
        bool old = ctl_u64(r, "map_version") != ctl_u64(now, "map_version");

        table_row_with(&t, r, "map_is_old", json_boolean(old));
    }
    buf_byte(b, '\n');
    table_put(b, &t, 0, "no routers\n");
    quieter(b, n > most ? n - most : 0);
}

/* ---- the whole ---- */

static size_t lines_of(const struct buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == '\n';
    return n;
}

void view_top(struct buf *b, const json_t *now, const json_t *then, size_t lines)
{
    size_t most = lines == 0 ? SIZE_MAX : NODES_MAX, taken, room = SIZE_MAX;
    json_t *list = with_rates(now, then);
    struct buf rest;

    buf_init(&rest);
    nodes(&rest, json_object_get(now, "nodes"), most);
    routers(&rest, now, most);
    view_metrics_and_moves(&rest, now);
    view_tasks_of(&rest, now);
    head(b, now);
    totals(b, now, list, json_object_get(then, "queues") != NULL);
    taken = lines_of(b) + lines_of(&rest) + 3; /* a blank line, the heads, "(N quieter queues)" */
    if (lines > 0)
        room = lines > taken + QUEUES_MIN ? lines - taken : QUEUES_MIN;
    queues(b, list, room, ctl_u64(now, "queues_total"));
    buf_append(b, rest.data, rest.len);
    b->failed |= rest.failed;
    buf_fini(&rest);
    json_decref(list);
}
