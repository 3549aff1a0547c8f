/* answer_view.c: see the header. */
#include "queuemng/ctl_view/answer_view.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/columns.h"

#define KEY_WIDTH 16

/* ---- definitions, in lists ---- */

/* By slots, by a fixed rate, or by limits; "20 inside, 5/s" is by both. */
static void put_rate_by(struct buf *b, const json_t *def, const char *path)
{
    const json_t *limits = json_object_get(def, "limits"), *l;
    size_t i;

    ctl_say(b, def, "{?mode=slots:{max_active=} inside}{?mode=both:{max_active=} inside, }");
    if (ctl_equals(def, "mode", "slots"))
        return;
    if (ctl_f64(def, path) > 0)
        ctl_say(b, def, "{release_per_s%}/s");
    else if (json_array_size(limits) == 0)
        buf_str(b, "by nothing: fallback");
    else
        json_array_foreach(limits, i, l)
            ctl_say(b, l, i > 0 ? ",{metric}" : "by {metric}");
}

static void put_lanes(struct buf *b, const json_t *def, const char *path)
{
    size_t n = json_array_size(json_object_get(def, path));

    ctl_count(b, n > 0 ? n : 1); /* none is one named default */
}

LIST_VIEW(view_queues, "queues", "no queues\n", COL("QUEUE", "{name}"), COL("STATE", "{state}"),
          COL(">LANES", "lanes", put_lanes), COL(">CAPACITY", "{segment_capacity=}"),
          COL("RATE", "release_per_s", put_rate_by))

/* "10/s, 4 at once"; "-": any. */
static void put_limit(struct buf *b, const json_t *def, const char *path)
{
    ctl_say(b, json_object_get(def, path),
            "{?rate_per_s:{rate_per_s%}/s{?max_concurrent:, {max_concurrent=} at once}|"
            "{?max_concurrent:{max_concurrent=} at once|-}}");
}

LIST_VIEW(view_pools, "pools", "no pools\n", COL("POOL", "{match}"),
          COL("STATE", "{?paused:paused|open}"), COL(">PARTITIONS", "{partitions#}"),
          COL("ORDER", "{order}"), COL("QUEUE", "queue", put_limit), COL("KEY", "key", put_limit),
          COL("SUBKEY", "subkey", put_limit))

/* A row for each budget (`whole`), and below it one for each member, with its `part` of it. */
#define USED(head, path, unit)                                                   \
    COL(head, "{+whole." path ":{used." path "%} of {whole." path "%}" unit        \
            "|{+part." path ":{used." path "%} of {part." path "%}" unit "|-}}")

/* "20000 of 100000/minute" of a budget; "25 %" of a member. */
static void put_budget_units(struct buf *b, const json_t *row, const char *path)
{
    const json_t *r;
    size_t i;

    if (ctl_member(row, "member") != NULL) {
        ctl_say(b, row, "{+part.units_part:{part.units_part%}|-}");
        return;
    }
    if (json_array_size(ctl_member(row, path)) == 0)
        buf_str(b, "-");
    json_array_foreach(ctl_member(row, path), i, r) {
        buf_str(b, i > 0 ? ", " : "");
        ctl_say(b, r, "{used=} of {units=}/{per}");
    }
}

void view_budgets(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        COL("BUDGET", "{name}"), COL("MEMBER", "{?member:{kind} {member}|-}"),
        COL(">WEIGHT", "{?member:{weight#}|-}"), USED(">RATE", "rate_per_s", "/s"),
        USED(">ACTIVE", "active", ""), COL("UNITS", "rates", put_budget_units), COL("LIMITED_BY", "{?member:-|{limited_by}}"),
    };
    const json_t *x, *member;
    struct table t;
    size_t i, k;

    table_init(&t, cols, ARRAY_LEN(cols));
    json_array_foreach(json_object_get(doc, "budgets"), i, x) {
        table_row(&t, x);
        json_array_foreach(json_object_get(x, "members"), k, member) {
            json_t *row = json_copy((json_t *)(uintptr_t)member);

            (void)json_object_set(row, "name", json_object_get(x, "name"));
            table_row_with(&t, row, "member", json_incref(json_object_get(member, "name")));
            json_decref(row);
        }
    }
    table_put(b, &t, 0, "no budgets\n");
}

static void put_words(struct buf *b, const json_t *row, const char *path)
{
    ctl_texts(b, json_object_get(row, path), "any");
}

/* A row for each rule. */
void view_routes(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        COL("ROUTE", "{name}"), COL("POINTER", "{pointer}"), COL("MATCH", "match", put_words),
        COL("ENDPOINTS", "endpoints", put_words), COL("MAX_WAIT", "{max_wait}"),
    };
    const json_t *x, *rule;
    struct table t;
    size_t i, k;

    table_init(&t, cols, ARRAY_LEN(cols));
    json_array_foreach(json_object_get(doc, "routes"), i, x) {
        json_array_foreach(json_object_get(x, "rules"), k, rule) {
            json_t *row = json_copy((json_t *)(uintptr_t)rule);

            (void)json_object_set(row, "name", json_object_get(x, "name"));
            (void)json_object_set(row, "pointer", json_object_get(x, "pointer"));
            table_row(&t, row);
            json_decref(row);
        }
    }
    table_put(b, &t, 0, "no routes\n");
}

/* ---- tickets ---- */

static void put_scalar(struct buf *b, const json_t *v, const char *yes, const char *no)
{
    if (json_is_string(v))
        ctl_clean(b, json_string_value(v));
    else if (json_is_integer(v))
        buf_i64(b, json_integer_value(v));
    else if (json_is_real(v))
        buf_printf(b, "%.10g", json_real_value(v));
    else
        buf_str(b, json_is_true(v) ? yes : json_is_false(v) ? no : "-");
}

void view_ticket(struct buf *b, const json_t *ticket)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)ticket, key, v) {
        ctl_pad(b, key, KEY_WIDTH);
        put_scalar(b, v, "true", "false");
        buf_byte(b, '\n');
    }
}

SAYS_VIEW(view_place, "lane {lane}{+position:, position {position#}}"
                      "{?state=waiting:{+eta_s:, about {eta_s^}}|, {state}}\n")

static void put_event(struct buf *b, const json_t *event)
{
    const char *key;
    json_t *v;

    ctl_say(b, event, "  {time}  ");
    ctl_pad(b, ctl_str(event, "event"), 9);
    json_object_foreach((json_t *)(uintptr_t)event, key, v) {
        if (strcmp(key, "time") == 0 || strcmp(key, "event") == 0 || strcmp(key, "ticket") == 0)
            continue; /* told already */
        buf_byte(b, ' ');
        ctl_clean(b, key);
        buf_byte(b, '=');
        put_scalar(b, v, "yes", "no");
    }
    buf_byte(b, '\n');
}

/* Prints its members, moments (x_at) among them; then its audit trail, the oldest line first. */
void view_why(struct buf *b, const json_t *doc)
{
    const json_t *events = json_object_get(doc, "events"), *nodes = json_object_get(doc, "nodes");
    const char *key;
    json_t *v;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)doc, key, v) {
        size_t n = strlen(key);

        if (json_is_array(v) || strcmp(key, "trail_whole") == 0)
            continue;
        ctl_pad(b, key, KEY_WIDTH);
        if (json_is_number(v) && n > 3 && strcmp(key + n - 3, "_at") == 0)
            ctl_moment(b, json_number_value(v));
        else
            put_scalar(b, v, "yes", "no");
        buf_byte(b, '\n');
    }
    ctl_pad(b, "audit trail", KEY_WIDTH);
    buf_printf(b, "%zu lines", json_array_size(events));
    ctl_say(b, doc, "{?trail_whole:|, perhaps not all}\n");
    json_array_foreach(nodes, i, v)
        if (!ctl_is(v, "whole"))
            ctl_say(b, v, "  {node} {?answered:{?trail:did not look through all of its trail|"
                          "keeps no audit trail (audit_dir)}|did not answer}\n");
    json_array_foreach(events, i, v)
        put_event(b, v);
}

/* ---- limits ---- */

/* "below 50: 2 000/s, below 70: 500/s, from 70 on nobody" */
static void put_tiers(struct buf *b, const json_t *tiers)
{
    const json_t *t, *last = NULL;
    size_t i;

    json_array_foreach(tiers, i, t) {
        ctl_say(b, t, "below {below%}: {rate_per_s/}, ");
        last = t;
    }
    if (last != NULL)
        ctl_say(b, last, "from {below%} on nobody");
}

/* The one that was changed first, then those that are easily forgotten. */
static void put_limits(struct buf *b, const json_t *def, const char *metric, bool changed)
{
    const json_t *l;
    size_t i;

    json_array_foreach(json_object_get(def, "limits"), i, l) {
        if (ctl_equals(l, "metric", metric) != changed)
            continue;
        ctl_say(b, l, changed ? "{metric}: " : "{metric} still limits it, too: ");
        put_tiers(b, json_object_get(l, "tiers"));
        buf_byte(b, '\n');
    }
}

void view_limits(struct buf *b, const json_t *def, const char *metric)
{
    put_limits(b, def, metric, true);
    put_limits(b, def, metric, false);
    ctl_say(b, def, "{?limits:|no metric limits it now: fallback_per_s does, {fallback_per_s/}\n}"
                    "{?release_per_s:not in force while the rate is fixed at {release_per_s/}: "
                    "segqctl rate {name} limits\n}");
}

void view_limits_were(struct buf *b, const json_t *def, const char *metric)
{
    size_t before;

    buf_str(b, "was: ");
    before = b->len;
    put_limits(b, def, metric, true);
    if (b->len > before)
        return;
    ctl_clean(b, metric);
    buf_str(b, " did not limit it\n");
}

/* ---- operators and the cluster: a line each ---- */

static void put_value(struct buf *b, const json_t *v)
{
    char *s = v != NULL ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    ctl_clean(b, s != NULL ? s : "-");
    free(s);
}

/* "claim \"1m\" -> \"5s\"", or what was asked for if it is no change of a key. */
static void put_done(struct buf *b, const json_t *e)
{
    const json_t *changes = json_object_get(e, "changes"), *x;
    size_t i;

    json_array_foreach(changes, i, x) {
        ctl_say(b, x, i > 0 ? ", {key} " : " {key} ");
        put_value(b, json_object_get(x, "from"));
        buf_str(b, " -> ");
        put_value(b, json_object_get(x, "to"));
    }
    if (json_array_size(changes) == 0)
        ctl_say(b, e, " {method} {path}{?query:?{query}}");
}

static void put_since(struct buf *b, const json_t *row, const char *path)
{
    ctl_moment(b, ctl_f64(row, path) / 1000);
}

LIST_VIEW(view_suspects, "suspects", "no suspects\n", COL("PREFIX", "{prefix}"), COL("QUEUE", "{queue}"),
          COL(">SCORE", "{score#}"), COL(">SILENT", "{silent#}"), COL(">POSING", "{posing#}"),
          COL(">PLACES", "{places#}"), COL(">REFUSED", "{refused#}"), COL("BY", "{by}"),
          COL("SINCE", "since_ms", put_since))

void view_audit(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "entries");

    for (size_t i = json_array_size(list); i > 0; i--) { /* the youngest at the bottom */
        const json_t *e = json_array_get(list, i - 1);

        ctl_say(b, e, "{at} {who} ({from}) {name}:");
        put_done(b, e);
        buf_byte(b, '\n');
    }
    ctl_say(b, doc, "{?entries:|nobody has changed anything\n}{?unwritten:{unwritten=} of them "
                    "could NOT be written to audit.jsonl: is the disk full?\n}");
}

void view_events(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "events"), *e;
    uint64_t now = ctl_u64(doc, "now_ms");
    size_t i;

    json_array_foreach(list, i, e) {
        uint64_t at = ctl_u64(e, "at_ms");

        buf_printf(b, "%7" PRIu64 " s ago ", at < now ? (now - at) / 1000 : 0);
        ctl_pad(b, ctl_str(e, "level"), 6);
        ctl_say(b, e, "{text}\n");
    }
    if (json_array_size(list) == 0)
        buf_str(b, "nothing has happened\n");
}

/* ---- any answer ---- */

void view_problem(struct buf *b, int status, const json_t *p)
{
    if (ctl_equals(p, "detail", "-"))
        buf_printf(b, "status %d and no reason: is this the address of segq, or of a proxy before "
                      "it? see --admin, --router", status);
    else
        ctl_say(b, p, "{detail}{?reason:: {reason}}");
}

void view_pretty(struct buf *b, const json_t *doc)
{
    char *s = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    if (s != NULL)
        ctl_clean_json(b, s, strlen(s)); /* jansson escapes C0 alone */
    free(s);
}

#define WAITERS                                                                          \
    "{?" CTL_IN_LINE ":{" CTL_IN_LINE "#} {?" CTL_IN_LINE "=1:person waits|people wait}" \
    "|nobody waits}"

/* ---- answers to orders ---- */

SAYS_VIEW(view_undrained, "{node}: takes segments and partitions again")
SAYS_VIEW(view_held, "key {key}: paused (was not pinned)")
SAYS_VIEW(view_unpinned, "key {key}: not pinned any more: the limits of its pool hold")
SAYS_VIEW(view_deleted, "{?pool:pool {pool}: }{?endpoint:endpoint {endpoint}: }{?budget:budget "
                        "{budget}: }deleted")
SAYS_VIEW(view_discarded, "the task is gone, with its payload and its result")
SAYS_VIEW(view_rebind, "ticket {ticket} of queue {queue}: {was} -> {device}, until {until_ms*}; at a router: {path}")
SAYS_VIEW(view_left, "the place is given up")
SAYS_VIEW(view_detail, "ok{?detail:: {detail}}")
SAYS_VIEW(view_flushed, "{queue}: {+waiting:{waiting#} {?waiting=1:person has lost the "
                        "place|people have lost their places}{?waiting:|: nobody waited}|everybody "
                        "in line has lost the place}")
SAYS_VIEW(view_tripped, "{endpoint}: {?tripped:tripped ({?was_tripped:as before|was not tripped})|"
                        "not tripped ({?was_tripped:was tripped|as before})}")

/* " (was open)", or " (as before)". The message stays when a queue is paused: it may be an old
 * one. */
void view_state(struct buf *b, const json_t *doc)
{
    const char *was = ctl_str(doc, "was");

    ctl_say(b, doc, ctl_equals(doc, "state", was) ? "{queue}: {state}{?was: (as before)}"
                                                  : "{queue}: {state}{?was: (was {was})}");
    ctl_say(b, doc, "{+waiting:; " WAITERS
                    "{?message:\nthey read: {message}\nto change it: segqctl message {queue} "
                    "TEXT}}");
}

void view_released(struct buf *b, const json_t *doc)
{
    bool all = ctl_u64(doc, "waiting") >= ctl_u64(doc, "release");

    ctl_say(b, doc, !json_is_number(ctl_member(doc, "waiting"))
            ? "{queue}: released up to {release#}"
                    : all ? "{queue}: released {release#} of {release#}"
                          : "{queue}: released {waiting#} of {release#}: {?waiting:no more people "
                            "wait|nobody waits}");
}

/* ---- orders that take something from those who wait ---- */

void view_risk(struct buf *b, enum risk risk, const json_t *q)
{
    static const char *const risks[] = {
        [RISK_FLUSH] = "flush {queue}: " WAITERS ". Everyone in line loses the place, and there is "
                                                 "no undo. Passes stay good.",
        [RISK_REJECT] = "reject {queue}: " WAITERS ". Nobody is let in and joins are refused until "
                                                   "you open it again. Places are kept.",
        [RISK_DELETE] = "queue delete {queue}: " WAITERS ". Nobody joins and nobody is let in any "
                                                         "more. For ten minutes it can be restored "
                                                         "as it is; then everyone in line loses "
                                                         "the place.",
        [RISK_PASSTHROUGH] = "passthrough {queue}: " WAITERS ". All of them go in at once, "
                                                             "whatever the backend bears, and "
                                                             "nobody needs a pass until you open "
                                                             "it again. Who is in stays in: there "
                                                             "is no undo.",
        [RISK_SHADOW] = "shadow {queue}: " WAITERS ". All of them go in at once, and so does everybody "
                                            "who comes, whatever the backend bears, until you set "
                                            "shadow=false. Who is in stays in: there is no undo.",
        [RISK_FINAL] = "queue delete {queue}: " WAITERS ". Everyone in line loses the place at "
                                                        "once, and there is no undo.",
    };

    assert(risk > RISK_NONE && risk < ARRAY_LEN(risks));
    ctl_say(b, q, risks[risk]);
}

enum risk risk_of_keys(const json_t *keys)
{
    if (json_is_true(json_object_get(keys, "shadow")))
        return RISK_SHADOW;
    return ctl_equals(keys, "state", "passthrough") ? RISK_PASSTHROUGH
           : ctl_equals(keys, "state", "reject")    ? RISK_REJECT
                                                    : RISK_NONE;
}

#define FEW          100 /* people: a test, a group of friends */
#define AS_MUCH_AS_S 60  /* seconds of the rate */

static uint64_t those_who_go(uint64_t n, const json_t *q)
{
    uint64_t waiting = ctl_u64(q, CTL_IN_LINE);

    return n < waiting ? n : waiting;
}

bool risk_of_release(uint64_t n, const json_t *q)
{
    uint64_t go = those_who_go(n, q);

    return go > FEW && (double)go > AS_MUCH_AS_S * ctl_f64(q, "allowed_per_s");
}

void view_release_risk(struct buf *b, uint64_t n, const json_t *q)
{
    uint64_t go = those_who_go(n, q);

    ctl_say(b, q, "release {queue}: " WAITERS ". ");
    ctl_count(b, go);
    buf_printf(b, " of them go%s in now, beyond the rate and max_active. Who is in stays in: there "
                  "is no undo.",
               go == 1 ? "es" : "");
}

/* ---- nodes: a task node has partitions, and `tasks` to be done ---- */

SAYS_VIEW(view_forget,
          "forget {name}: {+partitions:{partitions#} partition{?partitions=1:|s} of task queues, "
          "with {tasks#} task{?tasks=1:|s} to be done when it was last heard, and all results. "
          "They are on its disk alone and are lost; new tasks go to other "
          "nodes.|{?segments:{segments#} segment{?segments=1: is there. It opens on another node "
          "now, the people in it|s are there. They open on other nodes now, the people in them} "
          "bring their places back by polling, and passes that only this node has signed may be "
          "refused.|it alone has the key of passes that may still be good; they will be refused.}} "
          "If it can come back, start it again instead.")

SAYS_VIEW(view_drain,
          "ok: {?partitions+segments:{partitions+segments#} "
          "{?partitions:partition|segment}{?partitions+segments=1:|s}{?up: will move to other "
          "nodes; the node is empty when segqctl {?partitions:task list|status} says so| cannot "
          "move now: the node is down since {silent_ms~}. Start it again; if it is gone for good: "
          "segqctl forget {name}}|it is empty and can be stopped}")
