/* risk_view.c: the consequences of an order, in sentences. Pure. */
#include "queuemng/ctl_view/risk_view.h"

#include <assert.h>
#include <string.h>

#include "queuemng/ctl_view/text.h"

/* "nobody waits", "1 person waits", "1 204 people wait" */
static void put_waiters(struct buf *b, uint64_t n)
{
    if (n == 0) {
        buf_str(b, "nobody waits");
        return;
    }
    ctl_count(b, n);
    buf_str(b, n == 1 ? " person waits" : " people wait");
}

void view_detail(struct buf *b, const json_t *doc)
{
    const char *s = json_string_value(json_object_get(doc, "detail"));

    buf_str(b, s != NULL ? "ok: " : "ok");
    ctl_clean(b, s != NULL ? s : "");
}

/* " (was open)", or " (as before)"; nothing if an older manager does not say. */
static void put_was(struct buf *b, const char *now, const char *was)
{
    if (strcmp(was, "-") == 0)
        return;
    buf_str(b, strcmp(now, was) == 0 ? " (as before" : " (was ");
    if (strcmp(now, was) != 0)
        ctl_clean(b, was);
    buf_byte(b, ')');
}

/* The operator's message stays when a queue is paused: it may be an old one. */
static void put_message(struct buf *b, const json_t *doc)
{
    if (json_string_length(json_object_get(doc, "message")) == 0)
        return;
    ctl_say(b, doc, "\nthey read: {message}\nto change it: ");
    ctl_command(b, "message", ctl_str(doc, "queue"), " TEXT");
}

void view_state(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "{queue}: {state}");
    put_was(b, ctl_str(doc, "state"), ctl_str(doc, "was"));
    if (json_object_get(doc, "waiting") == NULL)
        return;
    buf_str(b, "; ");
    put_waiters(b, ctl_u64(doc, "waiting"));
    put_message(b, doc);
}

void view_flushed(struct buf *b, const json_t *doc)
{
    uint64_t n = ctl_u64(doc, "waiting");

    if (json_object_get(doc, "waiting") == NULL) { /* an older manager does not say */
        ctl_say(b, doc, "{queue}: everybody in line has lost the place");
        return;
    }
    ctl_say(b, doc, "{queue}: {waiting#}");
    buf_str(b, n == 1 ? " person has lost the place" : " people have lost their places");
    if (n == 0)
        buf_str(b, ": nobody waited");
}

void view_released(struct buf *b, const json_t *doc)
{
    uint64_t n = ctl_u64(doc, "release"), waiting = ctl_u64(doc, "waiting");

    if (json_object_get(doc, "waiting") == NULL) { /* likewise */
        ctl_say(b, doc, "{queue}: released up to {release#}");
        return;
    }
    ctl_say(b, doc, waiting < n ? "{queue}: released {waiting#} of {release#}"
                                : "{queue}: released {release#} of {release#}");
    if (waiting < n)
        buf_str(b, waiting == 0 ? ": nobody waits" : ": no more people wait");
}

void view_tripped(struct buf *b, const json_t *doc)
{
    const char *now = ctl_is(doc, "tripped") ? "tripped" : "not tripped";
    const char *was = ctl_is(doc, "was_tripped") ? "tripped" : "not tripped";

    ctl_say(b, doc, "{endpoint}: ");
    buf_str(b, now);
    put_was(b, now, json_object_get(doc, "was_tripped") != NULL ? was : "-");
}

void view_undrained(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "{node}: takes segments and partitions again");
}

void view_held(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "key {key}: paused (was not pinned)");
}

void view_unpinned(struct buf *b, const json_t *doc)
{
    ctl_say(b, doc, "key {key}: not pinned any more: the limits of its pool hold");
}

void view_deleted(struct buf *b, const json_t *doc)
{
    if (json_object_get(doc, "pool") != NULL)
        ctl_say(b, doc, "pool {pool}: ");
    if (json_object_get(doc, "endpoint") != NULL)
        ctl_say(b, doc, "endpoint {endpoint}: ");
    if (json_object_get(doc, "budget") != NULL)
        ctl_say(b, doc, "budget {budget}: ");
    buf_str(b, "deleted");
}

void view_discarded(struct buf *b, const json_t *doc)
{
    (void)doc;
    buf_str(b, "the task is gone, with its payload and its result");
}

void view_left(struct buf *b, const json_t *doc)
{
    (void)doc;
    buf_str(b, "the place is given up");
}

static void put_order(struct buf *b, const char *verb, const json_t *q)
{
    buf_str(b, verb);
    ctl_say(b, q, " {queue}: ");
}

void view_risk(struct buf *b, enum risk risk, const json_t *q)
{
    static const struct {
        const char *verb, *what;
    } risks[] = {
        [RISK_FLUSH] = { "flush", "Everyone in line loses the place, and there is no undo. Passes "
                                  "stay good." },
        [RISK_REJECT] = { "reject", "Nobody is let in and joins are refused until you open it "
                                    "again. Places are kept." },
        [RISK_DELETE] = { "queue delete", "Nobody joins and nobody is let in any more. For ten "
                                          "minutes it can be restored as it is; then everyone in "
                                          "line loses the place." },
        [RISK_PASSTHROUGH] = { "passthrough", "All of them go in at once, whatever the backend "
                                              "bears, and nobody needs a pass until you open it "
                                              "again. Who is in stays in: there is no undo." },
        [RISK_FINAL] = { "queue delete", "Everyone in line loses the place at once, and there is "
                                         "no undo." },
    };

    assert(risk > RISK_NONE && risk < ARRAY_LEN(risks));
    put_order(b, risks[risk].verb, q);
    put_waiters(b, ctl_in_line(q));
    buf_printf(b, ". %s", risks[risk].what);
}

enum risk risk_of_keys(const json_t *keys)
{
    return ctl_equals(keys, "state", "passthrough") ? RISK_PASSTHROUGH
           : ctl_equals(keys, "state", "reject")    ? RISK_REJECT
                                                    : RISK_NONE;
}

#define FEW          100 /* people: a test, a group of friends */
#define AS_MUCH_AS_S 60  /* seconds of the rate */

static uint64_t those_who_go(uint64_t n, const json_t *q)
{
    return n < ctl_in_line(q) ? n : ctl_in_line(q);
}

bool risk_of_release(uint64_t n, const json_t *q)
{
    uint64_t go = those_who_go(n, q);

    return go > FEW && (double)go > AS_MUCH_AS_S * ctl_f64(q, "allowed_per_s");
}

void view_release_risk(struct buf *b, uint64_t n, const json_t *q)
{
    put_order(b, "release", q);
    put_waiters(b, ctl_in_line(q));
    buf_str(b, ". ");
    ctl_count(b, those_who_go(n, q));
    buf_str(b, those_who_go(n, q) == 1 ? " of them goes" : " of them go");
    buf_str(b, " in now, beyond the rate and max_active. Who is in stays in: there is no undo.");
}

/* n of a thing, of which there may be one. */
static void put_things(struct buf *b, uint64_t n, const char *thing)
{
    ctl_count(b, n);
    buf_printf(b, " %s%s", thing, n == 1 ? "" : "s");
}

static bool has_tasks(const json_t *n)
{
    return json_object_get(n, "partitions") != NULL;
}

static void put_lost_tasks(struct buf *b, const json_t *n)
{
    put_things(b, ctl_u64(n, "partitions"), "partition");
    buf_str(b, " of task queues, with ");
    put_things(b, ctl_u64(n, "tasks"), "task");
    buf_str(b, " to be done when it was last heard, and all results. They are on its disk alone and "
               "are lost; new tasks go to other nodes.");
}

void view_forget(struct buf *b, const json_t *n)
{
    uint64_t segs = ctl_u64(n, "segments");

    ctl_say(b, n, "forget {name}: ");
    if (has_tasks(n)) {
        put_lost_tasks(b, n);
    } else if (segs == 0) {
        buf_str(b, "it alone has the key of passes that may still be good; they will be refused.");
    } else {
        ctl_count(b, segs);
        buf_str(b, segs == 1 ? " segment is there. It opens on another node now, the people in it"
                             : " segments are there. They open on other nodes now, the people "
                               "in them");
        buf_str(b, " bring their places back by polling, and passes that only this node has signed "
                   "may be refused.");
    }
    buf_str(b, " If it can come back, start it again instead.");
}

void view_drain(struct buf *b, const json_t *n)
{
    uint64_t things = ctl_u64(n, has_tasks(n) ? "partitions" : "segments");

    if (things == 0) {
        buf_str(b, "ok: it is empty and can be stopped");
        return;
    }
    buf_str(b, "ok: ");
    put_things(b, things, has_tasks(n) ? "partition" : "segment");
    if (ctl_is(n, "up")) {
        buf_printf(b, " will move to other nodes; the node is empty when segqctl %s says so",
                   has_tasks(n) ? "task list" : "status");
        return;
    }
    buf_str(b, " cannot move now: the node is down since ");
    ctl_count(b, ctl_u64(n, "silent_ms") / 1000);
    buf_str(b, " s. Start it again; if it is gone for good: ");
    ctl_command(b, "forget", ctl_str(n, "name"), "");
}
