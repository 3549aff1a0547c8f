/* answer_view.c: see the header. */
#include "queuemng/ctl_view/answer_view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEY_WIDTH 15

/* ---- definitions, in lists ---- */

/* By slots, by a fixed rate, or by limits; "20 inside, 5/s" is by both. A queue without lanes has one. */
LIST_VIEW(view_queues, "queues", "no queues\n", COL("QUEUE", "{name}"), COL("STATE", "{state}"),
          COL(">LANES", "{?lanes:{lanes:count}|1}"), COL(">CAPACITY", "{segment_capacity=}"),
          COL("RATE", "{?mode=slots:{max_active=} inside|{?mode=both:{max_active=} inside, }{?release_per_s:"
              "{release_per_s%}/s|{?limits:by {&limits,:{metric}}|by nothing: fallback}}}"))

/* "10/s, 4 at once"; "-": any. */
#define LIMIT(of)                                                                                        \
    "{?" of ".rate_per_s:{" of ".rate_per_s%}/s{?" of ".max_concurrent:, {" of ".max_concurrent=} at once}|" \
    "{?" of ".max_concurrent:{" of ".max_concurrent=} at once|-}}"
LIST_VIEW(view_pools, "pools", "no pools\n", COL("POOL", "{match}"),
          COL("STATE", "{?paused:paused|open}"), COL(">PARTITIONS", "{partitions#}"),
          COL("ORDER", "{order}"), COL("QUEUE", LIMIT("queue")), COL("KEY", LIMIT("key")),
          COL("SUBKEY", LIMIT("subkey")))

/* A row for each budget (`whole`), and below it one for each member (with a `kind`), with its `part`. */
#define USED(head, path, unit)                                                   \
    COL(head, "{+whole." path ":{used." path "%} of {whole." path "%}" unit        \
            "|{+part." path ":{used." path "%} of {part." path "%}" unit "|-}}")
LIST_VIEW(view_budgets, "budgets+members", "no budgets\n", COL("BUDGET", "{?kind:{..name}|{name}}"),
          COL("MEMBER", "{?kind:{kind} {name}|-}"), COL(">WEIGHT", "{?kind:{weight#}|-}"),
          USED(">RATE", "rate_per_s", "/s"), USED(">ACTIVE", "active", ""),
          COL("UNITS", "{?kind:{+part.units_part:{part.units_part:share}|-}|{&rates, :{used=} of {units=}/{per}|-}}"),
          COL("LIMITED_BY", "{?kind:-|{limited_by}}"))

LIST_VIEW(view_routes, "routes/rules", "no routes\n", COL("ROUTE", "{..name}"), COL("POINTER", "{..pointer}"),
          COL("MATCH", "{?match:{match:texts}|any}"), COL("ENDPOINTS", "{?endpoints:{endpoints:texts}|any}"),
          COL("MAX_WAIT", "{?max_wait=0ms:any|{max_wait}}"))

/* ---- tickets ---- */

/* Members in lines, moments (x_at) as dates; lists are left out. */
static void put_members(struct buf *b, const json_t *doc)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)doc, key, v) {
        size_t n = strlen(key);

        if (json_is_array(v) || strcmp(key, "trail_whole") == 0)
            continue;
        ctl_pad(b, key, KEY_WIDTH);
        buf_byte(b, ' ');
        if (json_is_number(v) && n > 3 && strcmp(key + n - 3, "_at") == 0)
            ctl_moment(b, json_number_value(v));
        else
            ctl_say_in(b, v, NULL, "{.:plain yes no}");
        buf_byte(b, '\n');
    }
}

void view_ticket(struct buf *b, const json_t *doc)
{
    put_members(b, doc);
}

SAYS_VIEW(view_place, "lane {lane}{+position:, position {position#}}"
                      "{?state=waiting:{+eta_s:, about {eta_s^}}|, {state}}\n")

/* Members, and below them the audit trail, the oldest line first. */
void view_why(struct buf *b, const json_t *doc)
{
    put_members(b, doc);
    ctl_say(b, doc, "audit trail     {events:count} line{?events.0:{?events.1:s}|s}{?trail_whole:|, perhaps not all}\n{&nodes:{?whole:|  {node} "
                    "{?answered:{?trail:did not look through all of its trail|"
                    "keeps no audit trail (audit_dir)}|did not answer}\n}}"
                    "{&events:  {time}  {event:pad 9}{&.:{?key=time:|{?key=event:|{?key=ticket:| {key}={value:plain "
                    "yes no}}}}}\n}");
}

/* ---- limits ---- */

/* The one that was changed first, then those that are easily forgotten. */
static void put_limits(struct buf *b, const json_t *def, const char *metric, bool changed)
{
    const json_t *l, *tiers;
    size_t i;

    json_array_foreach(json_object_get(def, "limits"), i, l) {
        if (ctl_equals(l, "metric", metric) != changed)
            continue;
        tiers = json_object_get(l, "tiers");
        ctl_say(b, l, changed ? "{metric}: " : "{metric} still limits it, too: ");
        ctl_say(b, l, "{&tiers:below {below%}: {rate_per_s/}, }");
        if (json_array_size(tiers) > 0)
            ctl_say(b, json_array_get(tiers, json_array_size(tiers) - 1), "from {below%} on nobody");
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

LIST_VIEW(view_suspects, "suspects", "no suspects\n", COL("PREFIX", "{prefix}"), COL("QUEUE", "{queue}"),
          COL(">SCORE", "{score#}"), COL(">SILENT", "{silent#}"), COL(">POSING", "{posing#}"),
          COL(">PLACES", "{places#}"), COL(">REFUSED", "{refused#}"), COL("BY", "{by}"), COL("SINCE", "{since_ms*}"))

/* "claim "1m" -> "5s"", or what was asked for if it is no change of a key. */
void view_audit(struct buf *b, const json_t *doc)
{
    const json_t *list = json_object_get(doc, "entries");

    for (size_t i = json_array_size(list); i > 0; i--) /* the youngest at the bottom */
        ctl_say(b, json_array_get(list, i - 1), "{at} {who} ({from}) {name}: {&changes, :{key} {from:json} -> "
                "{to:json}|{method} {path}{?query:?{query}}}\n");
    ctl_say(b, doc, "{?entries:|nobody has changed anything\n}{?unwritten:{unwritten=} of them "
                    "could NOT be written to audit.jsonl: is the disk full?\n}");
}

SAYS_VIEW(view_events, "{&events:{at_ms:ago ..now_ms} s ago {level:pad 6}{text}\n|nothing has happened\n}")

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
SAYS_VIEW(view_deleted, "{?pool:pool {pool}: }{?endpoint:endpoint {endpoint}: }"
                        "{?budget:budget {budget}: }{?route:route {route}: }deleted")
SAYS_VIEW(view_discarded, "the task is gone, with its payload and its result")
SAYS_VIEW(view_rebind, "ticket {ticket} of queue {queue}: {was} -> {device}, until {until_ms*}; at a router: {path}")
SAYS_VIEW(view_left, "the place is given up")
SAYS_VIEW(view_detail, "ok{?detail:: {detail}}")
SAYS_VIEW(view_flushed, "{queue}: {+waiting:{waiting#} {?waiting=1:person has lost the "
                        "place|people have lost their places}{?waiting:|: nobody waited}|everybody "
                        "in line has lost the place}")
SAYS_VIEW(view_tripped, "{endpoint}: {?tripped:tripped ({?was_tripped:as before|was not tripped})|"
                        "not tripped ({?was_tripped:was tripped|as before})}")

/* The message stays when a queue is paused: it may be an old one. */
SAYS_VIEW(view_state, "{queue}: {state}{?was: ({?state==was:as before|was {was}})}{+waiting:; " WAITERS
                      "{?message:\nthey read: {message}\nto change it: segqctl message {queue} TEXT}}")
SAYS_VIEW(view_released, "{queue}: released {+waiting:{?waiting<release:{waiting#} of {release#}: {?waiting:no more "
                         "people wait|nobody waits}|{release#} of {release#}}|up to {release#}}")

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
          "They are on its disk alone and are lost; {?others:new tasks go to other nodes|no other task "
          "node is up, and new tasks are refused}.|{?segments:{segments#} segment{?segments=1: is there. It opens on another node "
          "{?others:now|when one is up}, the people in it|s are there. They open on other nodes "
          "{?others:now|when some are up}, the people in them} "
          "bring their places back by polling, and passes that only this node has signed may be "
          "refused.|it alone has the key of passes that may still be good; they will be refused.}} "
          "If it can come back, start it again instead.")

SAYS_VIEW(view_drain,
          "ok: {?partitions+segments:{partitions+segments#} "
          "{?partitions:partition|segment}{?partitions+segments=1:|s}{?up:{?others: will move to other "
          "nodes; the node is empty when segqctl {?partitions:task list|status} says so| will stay: no "
          "other node is up that takes {?partitions+segments=1:it|them}{?partitions:|; when the open segments are full, "
          "joins are refused}}| cannot "
          "move now: the node is down since {silent_ms~}. Start it again; if it is gone for good: "
          "segqctl forget {name}}|it is empty and can be stopped}")

SAYS_VIEW(view_opening,
          "{?opens_in_ms:queue {queue}: the clock opens it in {opens_in_ms~}\n}"
          "{?opened_ms:queue {queue}: opens_at was {opened_ms~} ago: the clock holds nobody back\n}"
          "{?closes_in_ms:queue {queue}: the clock closes it in {closes_in_ms~}\n}"
          "{?closed_ms:queue {queue}: closes_at was {closed_ms~} ago: nobody may join any more\n}")
