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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/task_view.h"

#define QUEUES_SHOWN   20 /* queues of a cluster with many */
#define SEGMENTS_SHOWN 12 /* segments of a long chain: the first and the last */

/* ---- nodes, routers, moves, metrics ---- */

/* Sum of `members` in the segments on this node. */
static uint64_t people_on(const json_t *queues, const char *members, const char *node)
{
    const json_t *q, *l;
    uint64_t n = 0;
    size_t i, k;

    json_array_foreach(queues, i, q)
        json_array_foreach(json_object_get(q, "lanes"), k, l)
            n += ctl_sum(json_object_get(l, "segments"), members, "node", node);
    return n;
}

#define NODE_STATE "{?up:up|down for {silent_ms~}}{?draining:, draining}"

/* How far the drains are, and what holds them up. */
static void drains(struct buf *b, const json_t *list)
{
    const json_t *n;
    size_t i;

    json_array_foreach(list, i, n)
        ctl_say(b, n,
                "{?drain.segments_left:{name} is being drained: {drain.segments_left#} "
                "segment{?drain.segments_left=1:|s} left, {drain.moving#} moving"
                "{?drain.why:; segment {drain.segment!} stays: {drain.why}"
                "{+drain.again_in_ms:; tried again in {drain.again_in_ms:ms}}}\n}");
}

/* A drain of all of them ends nowhere. */
static bool all_drained(const json_t *list)
{
    const json_t *n;
    bool any = false;
    size_t i;

    json_array_foreach(list, i, n) {
        if (ctl_is(n, "up") && !ctl_is(n, "draining"))
            return false;
        any = any || (ctl_is(n, "up") && ctl_is(n, "draining"));
    }
    return any;
}

/* A new reference: the node, with the people in its segments. */
static json_t *with_people(const json_t *node, const json_t *queues)
{
    json_t *row = json_copy((json_t *)(uintptr_t)node);
    const char *name = ctl_str(node, "name");

    (void)json_object_set_new(row, "in_line", json_integer((json_int_t)people_on(queues, CTL_IN_LINE, name)));
    (void)json_object_set_new(row, "inside", json_integer((json_int_t)people_on(queues, "ready+active", name)));
    return row;
}

/* A node takes its places by blocks: a few people who wait hold some hundred of them, and those inside none. */
static void nodes(struct buf *b, const json_t *list, const json_t *queues)
{
    static const struct col cols[] = {
        COL("NODE", "{name}"), COL("STATE", NODE_STATE),
        COL(">SEGMENTS", "{segments#}"), COL(">OF", "{max_segments#}"), COL(">WAITING", "{in_line#}"),
        COL(">INSIDE", "{inside#}"),
        COL("PLACES", "{tickets:bar tickets max_tickets 20}"), COL(">TAKEN", "{tickets#}"),
        COL(">OF", "{max_tickets#}"), COL("ADDRESS", "{addr}"),
        COL_REGION,
    };
    struct table t;
    const json_t *n;
    size_t i;

    table_init(&t, cols, ARRAY_LEN(cols));
    json_array_foreach(list, i, n) {
        json_t *row = with_people(n, queues);

        table_row(&t, row, NULL);
        json_decref(row);
    }
    table_put(b, &t, 0, "no segment nodes\n");
    drains(b, list);
    if (all_drained(list))
        buf_str(b, "warning: all segment nodes that are up are drained: nothing moves, no segment opens, and joins are "
                   "refused when the open ones are full: segqctl undrain NODE\n");
}

static LIST_VIEW(routers, "routers", "no routers\n", COL("ROUTER", "{name}"),
                 COL("MAP", "{map_version=}"), COL("HTTP", "{http}"),
                 COL_REGION)

static LIST_VIEW(metrics, "metrics", "", COL("METRIC", "{name}"), COL("STATE", "{?ok:ok|FAILED}"),
                 COL(">VALUE", "{+value:{value:.4g}|-}"), COL(">AGE", "{+age_ms:{age_ms:ms}|-}"), COL("WHY", "{why}"))

static LIST_VIEW(moves, "moves", "", COL(">MOVE", "{move!}"), COL(">FROM", "{from!}"),
                 COL(">TO", "{to!}"), COL("STATE", "{state}"), COL(">TICKETS", "{tickets#}"))

void view_metrics_and_moves(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "{?metrics:\n}");
    metrics(b, doc);
    ctl_say(b, doc, "{?moves:\n}");
    moves(b, doc);
}

/* ---- queues, lanes, segments ---- */

/* People of it are still to come back: how many are before the next ones is not known. */
static bool is_away(const json_t *s)
{
    return ctl_equals(s, "state", "lost") || ctl_equals(s, "state", "rebuilding");
}

/* Shows the two ends of a long chain: that is where things happen. */
static void segments(struct buf *b, const json_t *list, bool all)
{
    static const struct col cols[] = {
        COL(">SEGMENT", "{segment!}"), COL("NODE", "{node!}"), COL("STATE", "{state}"),
        COL("FILL", "{waiting:bar joined capacity 20}"), COL(">WAITING", "{waiting#}"),
        COL(">PLACES", "{joined#}"), COL(">OF", "{capacity#}"),
        COL(">AHEAD", "{?ahead_known:{ahead#}|?}"), COL("MOVE", "{move!}"),
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
            table_row_with(&t, json_array_get(list, i), "ahead_known", json_boolean(ahead_known));
        ahead_known = ahead_known && !is_away(json_array_get(list, i));
    }
    table_put(b, &t, 4, "");
    if (from < to)
        buf_printf(b, "    (%zu more between them: --all)\n", to - from);
}

/* At its end the last person's estimate, as that person sees it. */
static void lane(struct buf *b, const json_t *l, bool all)
{
    ctl_say(b, l, "  lane {lane}: {waiting#} waiting, {returning#} returning, {ready#} ready, "
                  "{active#} active{?missing:, {missing#} of lost segments not back yet}, "
                  "{released#} released since this manager leads, now {rate_per_s/}"
                  "{?" CTL_IN_LINE ":; the last in line waits {+eta_last_s:about "
                                   "{eta_last_s^}{?eta_reason=stay:, if all who are inside stay as "
                                   "long as they may}|? ({eta_reason})}}\n");
    segments(b, json_object_get(l, "segments"), all);
}

/* "2 000/s allowed", "40 of 40 slots taken", or both; `inside` has those of before a flush, too. */
static void allowed(struct buf *b, const json_t *q)
{
    ctl_say(b, q, "{?mode=slots:|{allowed_per_s/} allowed}{?mode=both:, }");
    if (!ctl_equals(q, "mode", "slots") && !ctl_equals(q, "mode", "both"))
        return;
    ctl_count(b, json_is_integer(json_object_get(q, "inside"))
                     ? ctl_u64(q, "inside") : ctl_sum(json_object_get(q, "lanes"), "active+ready",
                                                      NULL, NULL));
    ctl_say(b, q, " of {max_active#} slots taken{?inside_flushed: ({inside_flushed#} by passes "
                  "from before the flush)}");
}

/* Behind the order what people are told, if that is something else: "open: full", "open: prequeue". */
#define TOLD "{?public_state:{?public_state==state:|: {public_state}}}"

/* With since when joins cost work, and why; a claim rate only with no-shows. */
static void queue_view(struct buf *b, const json_t *q, bool all)
{
    const json_t *l;
    size_t i;

    ctl_say(b, q, "queue {queue} ({state}" TOLD "): ");
    allowed(b, q);
    ctl_say(b, q, "{?limited_by:, limited by {limited_by}}{?opens_ms:; opens at {opens_ms*}}{?closed_ms:; closed by "
                  "the clock since {closed_ms*}}{?challenge.level:; joins cost work since "
                  "{challenge.since_ms*}{?challenge.why=by_hand:, by hand|: {challenge.began_per_s#} came in a second}}"
                  "{?suspects:; suspects: {suspects#}}{!claim_rate:{?claim_rate<1:, {claim_rate:share} of those let in "
                  "come, so {boost:.2f} times as many are let in}}\n"
                  "{?shadow:  shadow{?limited_by=shadow:, everybody goes in at once}: {shadow.waiting#} would wait, up "
                  "to {shadow.wait_s^} ({shadow.allowed_per_s/}{?shadow.limited_by:, limited by {shadow.limited_by}}); "
                  "of {shadow.joined#} so far {shadow.would_wait#} would have waited, up to {shadow.longest_s^}\n}");
    json_array_foreach(json_object_get(q, "lanes"), i, l)
        lane(b, l, all);
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
    json_array_foreach(list, i, q)
        v[i] = (struct busy){ ctl_sum(json_object_get(q, "lanes"), CTL_IN_LINE, NULL, NULL), i };
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

void view_tasks_of(struct buf *b, const json_t *doc)
{
    size_t before = b->len;

    ctl_say(b, doc, "{?tasks.pools:\n|{?tasks.nodes:\n}}");
    if (b->len > before)
        (void)view_task_queues(b, json_object_get(doc, "tasks"), NULL);
}

/* A process's word of itself: it is well, but for this. */
#define WARNINGS(list) "{&" list ":{?load.warning:warning: {name}: {load.warning}\n}}"

bool view_cluster(struct buf *b, const json_t *c, const char *queue, bool all)
{
    const json_t *list = json_object_get(c, "queues"), *q;

    if (queue != NULL) {
        q = ctl_find(c, "queues", "queue", queue);
        if (q != NULL)
            queue_view(b, q, true);
        return q != NULL;
    }
    ctl_say(b, c, "epoch {epoch=}, map {map_version=}\n\n");
    nodes(b, json_object_get(c, "nodes"), list);
    buf_byte(b, '\n');
    routers(b, c);
    ctl_say(b, c, "{?warning:warning: {manager}: {warning}\n}" WARNINGS("nodes") WARNINGS("tasks.nodes")
                  WARNINGS("routers") "{&routers_gone:warning: router {name} is gone for {silent_ms~}\n}" "{&queues:{?warning:warning: queue {queue}: {warning}\n}}");
    view_metrics_and_moves(b, c);
    queues(b, list, all);
    ctl_say(b, c, "{&deleted:\nqueue {queue} is deleted, with {waiting#} waiting: segqctl queue restore "
                  "{queue} brings it back until {restore_until_ms*}\n}");
    view_tasks_of(b, c);
    return true;
}

/* ---- the whole cluster on one screen ---- */

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
        ctl_change(b, more);
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

/* The manager has them by people, most first. */
static void top_queues(struct buf *b, const json_t *list, size_t most, uint64_t all)
{
    static const struct col cols[] = {
        COL("QUEUE", "{queue}"), COL("STATE", "{state}" TOLD), COL(">WAITING", "{" CTL_IN_LINE "#}"),
        COL(">CHANGE", "{+change:{change:change}|-}"),
        COL(">ARRIVE", "{+arrive:{arrive:counter}|-}"),
        COL(">LET_IN", "{rate_per_s:counter}"),
        COL(">LIMIT", "{?mode=slots:|{allowed_per_s/}}{?mode=both:, }{?mode=slots:{max_active#} "
                      "slots}{?mode=both:{max_active#} slots}"),
        COL("LIMITED_BY", "{limited_by}"), COL(">INSIDE", "{inside#}"),
        COL(">LAST_WAITS", "{?" CTL_IN_LINE ":{+eta_last_s:{eta_last_s^}|? ({eta_reason})}|-}"),
    };
    size_t n = json_array_size(list) < most ? json_array_size(list) : most;
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    for (size_t i = 0; i < n; i++)
        table_row(&t, json_array_get(list, i), NULL);
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

static void quieter(struct buf *b, size_t n)
{
    if (n > 0)
        buf_printf(b, "(%zu more, which are up: segqctl status)\n", n);
}

static void top_nodes(struct buf *b, const json_t *list, size_t most)
{
    static const struct col cols[] = {
        COL("NODE", "{name}"), COL("STATE", NODE_STATE),
        NODE_LOAD_COLS, COL(">SEGMENTS", "{segments#}"), COL("PLACES", "{tickets:bar tickets max_tickets 10}"),
        COL(">TAKEN", "{tickets#}"), COL(">OF", "{max_tickets#}"),
    };
    size_t i, shown = 0;
    const json_t *n;
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    for (unsigned well = 0; well < 2; well++)
        json_array_foreach(list, i, n)
            if (in_trouble(n) == (well == 0) && (well == 0 || shown < most)) {
                table_row(&t, n, NULL);
                shown++;
            }
    buf_byte(b, '\n');
    table_put(b, &t, 0, "no segment nodes\n");
    quieter(b, json_array_size(list) - shown);
    drains(b, list);
}

/* With its map: a router sends people to segments by it. */
static void top_routers(struct buf *b, const json_t *now, size_t most)
{
    static const struct col cols[] = {
        COL("ROUTER", "{name}"), COL("STATE", "up{?map_version==..map_version:|, old map}"), LOAD_COLS,
        COL(">ANSWERS", "{+load.answers_per_s:{load.answers_per_s:.0f}/s|-}"),
        COL(">P99", "{?load.p99_us:{load.p99_us:us}|-}"), COL("HTTP", "{http}"),
    };
    const json_t *list = json_object_get(now, "routers");
    size_t n = json_array_size(list);
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    for (size_t i = 0; i < n && i < most; i++)
        table_row(&t, json_array_get(list, i), now);
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
    top_nodes(&rest, json_object_get(now, "nodes"), most);
    top_routers(&rest, now, most);
    view_metrics_and_moves(&rest, now);
    view_tasks_of(&rest, now);
    head(b, now);
    totals(b, now, list, json_object_get(then, "queues") != NULL);
    taken = lines_of(b) + lines_of(&rest) + 3; /* a blank line, the heads, "(N quieter queues)" */
    if (lines > 0)
        room = lines > taken + QUEUES_MIN ? lines - taken : QUEUES_MIN;
    top_queues(b, list, room, ctl_u64(now, "queues_total"));
    buf_append(b, rest.data, rest.len);
    b->failed |= rest.failed;
    buf_fini(&rest);
    json_decref(list);
}
