/* risk_view.c: the consequences of an order, in sentences. Pure. */
#include "queuemng/ctl_view/risk_view.h"

#include <assert.h>

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

void view_done(struct buf *b, const json_t *doc)
{
    (void)doc;
    buf_str(b, "ok");
}

void view_detail(struct buf *b, const json_t *doc)
{
    const char *s = json_string_value(json_object_get(doc, "detail"));

    view_done(b, doc);
    buf_str(b, s != NULL ? ": " : "");
    ctl_clean(b, s != NULL ? s : "");
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
        [RISK_FINAL] = { "queue delete", "Everyone in line loses the place at once, and there is "
                                         "no undo." },
    };

    assert(risk > RISK_NONE && risk < ARRAY_LEN(risks));
    buf_printf(b, "%s ", risks[risk].verb);
    ctl_clean(b, ctl_str(q, "queue"));
    buf_str(b, ": ");
    put_waiters(b, ctl_u64(q, "waiting") + ctl_u64(q, "returning"));
    buf_printf(b, ". %s", risks[risk].what);
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

    buf_str(b, "forget ");
    ctl_clean(b, ctl_str(n, "name"));
    buf_str(b, ": ");
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
    if (json_is_true(json_object_get(n, "up"))) {
        buf_printf(b, " will move to other nodes; the node is empty when segqctl %s says so",
                   has_tasks(n) ? "task list" : "status");
        return;
    }
    buf_str(b, " cannot move now: the node is down since ");
    ctl_count(b, ctl_u64(n, "silent_ms") / 1000);
    buf_str(b, " s. Start it again; if it is gone for good: segqctl forget ");
    ctl_clean(b, ctl_str(n, "name"));
}
