/* callworld.h: the world of sim_calls: a node's table of tasks with an endpoint, its target
 * (calltarget.h), and kills; what each request may not do is looked at when it reaches the target
 * (J3, J4, J7, J12, J15). One world, w; the first promise that is broken stays in w.why. */
#ifndef SEGQ_TESTS_CALLWORLD_H
#define SEGQ_TESTS_CALLWORLD_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/wire/msg.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/node/ends.h"
#include "tests/lib/calltarget.h"
#include "tests/lib/tabrig.h"

#define TASKS    80
#define VISITS   4000
#define SLOTS    6
#define SLOTS_1  3 /* of the first target, */
#define SLOTS_2  4 /* and of the second */
#define DEADLINE 5000
#define ATTEMPTS 8 /* of a task, by default */
#define START    ((msec_t)1800000000000)
#define MANAGER  1
#define ROUTER   2

struct simtask {
    task_no no;
    msec_t not_before; /* by what its last answer said, */
    msec_t heard;      /* and by one that is not written yet; 0: none */
    bool done_there;   /* the target has said 2xx */
    struct said said;  /* to the newest attempt that had an answer; */
    struct said heard_said; /* not written yet */
    bool cut; /* a forced cancel was answered */
    /* Of its answers so far, and of one that is not written yet: */
    unsigned spared, heard_spared; /* attempts that cost nothing */
    bool refused, heard_refused;   /* for good */
};

struct world {
    struct tabrig rig;
    struct calls calls;
    struct outbox out;
    struct rng rng;
    msec_t now;
    enum mood mood, other_mood; /* other: of the second target */
    bool targets; /* the endpoint has two targets, whose slots are more than its own */
    msec_t held, other_held; /* until then by a Retry-After that the node has heard */
    bool adaptive; /* the endpoint finds out what its target bears */
    bool tripped;  /* by the operator; */
    uint64_t serial, resets, probe; /* numbers of what the manager said of it last */
    size_t written;
    struct simtask task[TASKS];
    unsigned n_tasks, n_visits, kills, succeeded, dead, cut, told, by_hand, elsewhere;
    struct visit visit[VISITS];
    char why[160];
};

static struct world w;

static inline struct task_now now_of(void)
{
    return (struct task_now){ w.now, w.now };
}

static inline void bad(const char *why, task_no no)
{
    if (w.why[0] == 0)
        snprintf(w.why, sizeof(w.why), "%s: task %lu at %ld", why, no, w.now - START);
}

static inline struct endpoint *gen(void)
{
    return endpoints_find(&w.calls.endpoints, "gen");
}

static inline struct simtask *task_of(task_no no)
{
    for (unsigned i = 0; i < w.n_tasks; i++)
        if (w.task[i].no == no)
            return &w.task[i];
    return NULL;
}

/* ---- the target -------------------------------------------------------------------- */

static inline void look_at_breaker(const struct going_call *g)
{
    if (g->by_hand)
        return;
    if (w.tripped)
        bad("J15: sent while it is tripped", g->no);
    if (g->at->breaker.state == BREAKER_OPEN)
        bad("J15: sent while the breaker is open", g->no);
    if (g->at->breaker.probes > BREAKER_PROBES_MAX)
        bad("J15: too many probes", g->no);
}

/* A request for which there is no connection never was at a target. */
static inline bool was_sent(const struct visit *v)
{
    return !w.targets || v->answer.fault != CALL_CONNECT;
}

static inline void look_at_slots(const struct visit *v, task_no no)
{
    unsigned there = visits_now(w.visit, w.n_visits, w.now), same = 0;

    if (there > SLOTS)
        bad("J4: more at the target than slots", no);
    if (w.adaptive && there > endpoint_adaptive(gen()))
        bad("J4: more at the target than it is thought to bear", no);
    for (const struct visit *u = w.visit; u <= v; u++)
        same += u->target == v->target && !u->over && u->gone > w.now;
    if (v->target != 0 && same > (v->target == 1 ? SLOTS_1 : SLOTS_2))
        bad("J4: more at a target than its slots", no);
}

static inline void visit(struct going_call *g)
{
    struct visit *v = &w.visit[w.n_visits++];
    const struct simtask *k = task_of(g->no);
    bool second = g->at->def.target == 2;
    enum mood mood = second ? w.other_mood : w.mood;

    assert(w.n_visits < VISITS);
    *v = (struct visit){ .no = g->no, .attempt = g->attempt, .call = g->id, .target = g->at->def.target,
                         .answer = mood_answer(mood, &w.rng),
                         .gone = w.now + DEADLINE, .began = w.now };
    for (struct visit *u = w.visit; u < v; u++)
        if (u->no == g->no && u->attempt == g->attempt && was_sent(u) && was_sent(v))
            bad("J3: an attempt is at the target twice", g->no);
    if (k == NULL || w.now < k->not_before)
        bad("J7: an attempt is early", g->no);
    if (w.now < (second ? w.other_held : w.held) && !g->by_hand)
        bad("J7: sent before Retry-After is over", g->no);
    if (k != NULL && k->cut)
        bad("J12: an attempt of one that was cancelled by force", g->no);
    look_at_breaker(g);
    v->at = w.now + (mood == SILENT ? DEADLINE
                     : 1 + (msec_t)rng_below(&w.rng, mood == SLOW || mood == LATER ? 4000 : 300));
    memcpy(v->right, g->right, sizeof(v->right));
    look_at_slots(v, g->no);
    g->step = CALL_SENT;
    g->endpoint->n.sent++;
    w.by_hand += g->by_hand;
}

static task_no settled; /* 0: none is being settled, */
static uint32_t settled_by; /* with this status */

static inline void heard(void *ctx, const struct task_end *end)
{
    (void)ctx;
    if (end->status != (settled == end->no ? settled_by : 0))
        bad("another status ended it than its call's", end->no);
}

static inline void settle(struct going_call *g)
{
    settled = g->no;
    settled_by = g->verdict.status;
    if (tasktab_call_ends(w.rig.t, now_of(), g))
        calls_end(&w.calls, g, w.now);
    settled = 0;
}

/* The call goes on, whether or not that has arrived; its lease may end before it does. */
static inline void goes_on(struct visit *v)
{
    v->later = true;
    v->at = w.now + (msec_t)rng_below(&w.rng, 4000);
    v->gone = w.now + 3000;
}

static inline void ends(struct visit *v)
{
    struct going_call *g = v->call != 0 ? calls_at(&w.calls, v->call) : NULL;
    struct simtask *k = task_of(v->no);
    struct said said = said_of(v);

    v->over = v->answer.status != 202;
    if (!v->over)
        goes_on(v);
    if (v->answer.fault == CALL_NONE && v->answer.status == 200)
        k->done_there = true;
    if (g == NULL)
        return;
    v->answer.body = (const uint8_t *)said.body;
    v->answer.n = (uint32_t)strlen(said.body);
    v->answer.length = v->answer.n;
    v->answer.ms = (uint32_t)(w.now - v->began);
    if (v->answer.fault == CALL_NONE && v->over)
        k->heard_said = said;
    k->heard_refused = mood_refuses(&v->answer);
    k->heard_spared = v->over && !k->heard_refused &&
                      (mood_is_free(&v->answer) ||
                       ((g->probe || g->by_hand) && v->attempt < k->spared + ATTEMPTS));
    k->heard = w.now + mood_wait(&v->answer);
    if (v->answer.retry_after[0] != 0 && v->target == 2)
        w.other_held = ms_max(w.other_held, k->heard);
    else if (v->answer.retry_after[0] != 0)
        w.held = ms_max(w.held, k->heard);
    if (w.targets && v->answer.retry_after[0] != 0)
        k->heard = 0; /* another target need not wait */
    tasktab_call_answered(w.rig.t, now_of(), g, &v->answer);
    k->heard_spared &= !g->verdict.elsewhere; /* its attempt never was */
    w.elsewhere += g->verdict.elsewhere;
    settle(g);
}

/* ---- the node ---------------------------------------------------------------------- */

static inline void tell(peer_no from, const struct msg *m)
{
    tasktab_msg(w.rig.t, now_of(), from, 1, m, &w.out);
}

static inline uint8_t say_end(const struct visit *v, const struct msg_task_complete *end, bool forged)
{
    struct msg_task_complete m = *end;
    struct attempt_right right;
    bool is_right = right_read(&right, v->right, RIGHT_TEXT_LEN);

    assert(is_right);
    m.part = 3;
    m.epoch = 8;
    m.no = right.no;
    m.lease = right.lease;
    m.attempt = right.attempt;
    m.right = (struct bytes_of){ RIGHT_MAC_BYTES, right.mac };
    right.mac[0] ^= forged;
    settled = m.no;
    settled_by = m.status;
    tell(ROUTER, &(struct msg){ .type = MSG_TASK_COMPLETE, .task_complete = m });
    settled = 0;
    return w.out.v[w.out.n - 1].m.task_complete_ans.code;
}

/* The target says how it ended, or that it goes on; once more with the same outcome, it is the same. */
static inline void told_later(struct visit *v)
{
    struct simtask *k = task_of(v->no);
    struct said said = said_of(v);
    struct msg_task_complete end = { .verb = (uint8_t)rng_below(&w.rng, COMPLETE_NVERBS),
                                     .ms = 3000, .content_type = "",
                                     .result = { (uint32_t)strlen(said.body),
                                                 (const uint8_t *)said.body } };
    uint8_t code;

    end.status = said.status = end.verb == COMPLETE_SUCCEEDED ? 200 : 503;
    if (say_end(v, &end, true) != CODE_INVALID)
        bad("a forged right is good", v->no);
    k->done_there |= end.verb == COMPLETE_SUCCEEDED;
    code = say_end(v, &end, false);
    v->over = code != CODE_DONE || end.verb != COMPLETE_EXTEND;
    if (code != CODE_DONE)
        return; /* its time is over */
    w.told++;
    if (end.verb == COMPLETE_EXTEND) {
        v->gone_before = v->gone;
        goes_on(v);
        return;
    }
    if (end.verb == COMPLETE_FAILED)
        k->heard = w.now + end.ms;
    k->heard_refused = end.verb == COMPLETE_DEAD;
    k->heard_said = said;
    if (say_end(v, &end, false) != CODE_SAME)
        bad("the same again is not the same", v->no);
}

static inline void say_endpoint(void)
{
    uint64_t adaptive = w.adaptive ? 1 : 0;
    struct msg_endpoint e = { .epoch = 5, .name = "gen", .serial = ++w.serial, .url = "http://gen",
                              .rate = 50 * 1000, .burst = 5, .max_concurrent = SLOTS,
                              .deadline_ms = DEADLINE, .connect_timeout_ms = 1000,
                              .breaker_ratio = 50, .breaker_min = 8, .breaker_open_ms = 2000,
                              .secret_file = "", .ca_file = "", .cert_file = "", .key_file = "",
                              .proxy = "", .adaptive_min = adaptive, .budget = "",
                              .tripped = w.tripped, .resets = w.resets, .probe = w.probe,
                              .auth_field = "", .auth_file = "", .reading_path = "", .of = "", .targets = w.targets };

    tell(MANAGER, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = e });
    e.targets = false;
    e.of = "gen";
    e.rate = ENDPOINT_ANY;
    for (e.target = 1; w.targets && e.target <= 2; e.target++) {
        e.name = e.target == 1 ? "gen#1" : "gen#2";
        e.max_concurrent = e.target == 1 ? SLOTS_1 : SLOTS_2;
        e.weight = 1;
        tell(MANAGER, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = e });
    }
}

static inline void reset(void)
{
    w.tripped = false;
    w.resets++;
    w.held = w.other_held = 0;
    say_endpoint();
}

/* Trip, reset, probe. */
static inline void operator_says(void)
{
    uint64_t what = rng_below(&w.rng, 4);

    if (what > 1) {
        reset();
        return;
    }
    w.tripped |= what == 0;
    w.probe += what == 1;
    say_endpoint();
}

static inline void connect(void)
{
    tasktab_up(w.rig.t, MANAGER, RPC_MANAGER, "m1", &w.out);
    tasktab_up(w.rig.t, ROUTER, RPC_ROUTER, "r1", &w.out);
    tell(MANAGER, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { 5, 1, 7 } });
    say_endpoint();
    tell(MANAGER, &(struct msg){ .type = MSG_PART_OPEN,
                                 .part_open = { .epoch = 5, .part = 3, .part_epoch = 8,
                                                .match = "q/*", .max_tasks = 1000,
                                                .endpoint = "gen" } });
    each_endpoint (&w.calls.endpoints, ep)
        ep->usable = true;
    outbox_reset(&w.out);
}

static inline bool turn(double kill);

/* Calls of the old process go; what is at the target goes on there. */
static inline void drop_calls(void)
{
    each_going (&w.calls, g)
        calls_end(&w.calls, g, w.now);
    for (unsigned i = 0; i < w.n_visits; i++) {
        struct visit *v = &w.visit[i];

        v->call = 0;
        v->gone = v->gone_before != 0 ? v->gone_before : v->gone;
        v->gone_before = 0;
    }
    calls_fini(&w.calls);
    calls_init(&w.calls);
}

static inline void forget_heard(struct simtask *k)
{
    k->heard = k->heard_said.status = k->heard_spared = k->heard_refused = 0;
}

static inline void die(void)
{
    w.kills++;
    for (unsigned i = 0; i < w.n_tasks; i++)
        forget_heard(&w.task[i]);
    w.held = w.other_held = 0;
    w.rig.log.b.len = w.written;
    w.now += (msec_t)rng_below(&w.rng, 3000);
    drop_calls();
    outbox_reset(&w.out);
    (void)tabrig_again(&w.rig, now_of());
    connect();
    (void)turn(0); /* the clock that ran with the manager's order is of this moment */
}

static inline void deliver(void)
{
    for (uint32_t i = 0; i < w.out.n; i++) {
        const struct out_item *o = &w.out.v[i];
        struct going_call *g = o->to == PEER_SELF ? calls_at(&w.calls, o->rid) : NULL;

        if (g != NULL && tasktab_call_is_cut(w.rig.t, g))
            calls_end(&w.calls, g, w.now);
        else if (g != NULL)
            visit(g);
    }
    outbox_reset(&w.out);
}

/* The turn is written, and with it what targets said. */
static inline void keep(void)
{
    w.written = w.rig.log.b.len;
    tasktab_written(w.rig.t);
    for (unsigned i = 0; i < w.n_visits; i++)
        w.visit[i].gone_before = 0;
    for (unsigned i = 0; i < w.n_tasks; i++) {
        struct simtask *k = &w.task[i];

        k->not_before = ms_max(k->not_before, k->heard);
        if (k->heard_said.status != 0)
            k->said = k->heard_said;
        k->spared += k->heard_spared;
        k->refused |= k->heard_refused;
        forget_heard(k);
    }
}

/* In a turn: some files of bodies are emptied. */
static inline void move_bodies(void)
{
    w.rig.old_to = rng_below(&w.rng, w.rig.n_bodies + 1);
    tasktab_copy_bodies(w.rig.t, now_of());
}

/* Behind a turn. */
static inline void snapshot(void)
{
    bool more;

    buf_reset(&w.rig.snap.b);
    buf_reset(&w.rig.log.b);
    more = tasktab_snapshot(w.rig.t, true, tabrig_record, &w.rig.snap);
    assert(!more); /* there is one partition */
    w.written = w.rig.log.b.len;
}

/* As the caller does at the end of a turn: the target goes on with what it has. */
static inline void cut_calls(void)
{
    if (tasktab_calls_cut(w.rig.t))
        each_going (&w.calls, g)
            if (g->step == CALL_SENT && tasktab_call_is_cut(w.rig.t, g))
                calls_end(&w.calls, g, w.now);
}

/* False: it was not written. */
static inline bool turn(double kill)
{
    bool ok;

    if (rng_chance(&w.rng, 0.02))
        move_bodies();
    ok = tasktab_turn(w.rig.t, now_of(), &w.out);
    assert(ok);
    cut_calls();
    if (rng_chance(&w.rng, kill)) { /* nothing of the turn is written */
        die();
        return false;
    }
    keep();
    if (rng_chance(&w.rng, 0.02))
        snapshot();
    if (rng_chance(&w.rng, kill)) /* START is written, and nothing sent */
        die();
    else
        deliver();
    return true;
}

#endif
