/* risk_view.c: the consequences of an order, in sentences. Pure. */
#include "queuemng/ctl_view/risk_view.h"

#include <assert.h>

#include "queuemng/ctl_view/columns.h"

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
