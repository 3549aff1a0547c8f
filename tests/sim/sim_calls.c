/* sim_calls.c: a table of tasks whose pool has an endpoint, and a target that is well, slow, broken,
 * busy, away or silent by turns, or says later how it ended; the node is killed before a turn is written, behind it (START is
 * written, and nothing sent), while calls are at the target, and when the answer is there. Snapshots
 * take the journal's place, and bodies move to other files, at any time.
 *   J2   succeeded: the target said so         J3   (task, attempt) is at the target once at most
 *   J4   never more at the target than slots   J7   no attempt before its moment
 *   J15  while the breaker is open nothing goes; while it probes, four at most
 *   J14  what is kept of an end is what the target said last, byte for byte; and no body is left over
 *   J1   in the end, with the target well, each task is final
 *   J12  behind the answer to a forced cancel nothing is sent, and J4 holds all the same
 *   SEEDS=1000 FIRST=1 sim_calls    so many seeds, from this one
 *   SEED=n sim_calls                one */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/rng.h"
#include "common/task/state.h"
#include "common/wire/role.h"
#include "task/archive/archive_line.h"
#include "task/calls/calls.h"
#include "tests/lib/quiet.h"
#include "tests/lib/tabrig.h"

#if defined(__SANITIZE_ADDRESS__)
#define SEEDS 60u
#else
#define SEEDS 300u
#endif
#define TASKS    80
#define VISITS   4000
#define SLOTS    6
#define DEADLINE 5000
#define STEPS    1200
#define START    ((msec_t)1800000000000)
#define MANAGER  1
#define ROUTER   2

enum mood { WELL, SLOW, BROKEN, BUSY, AWAY, SILENT, PICKY, LATER, NMOODS };

struct visit { /* a request at the target */
    task_no no;
    uint32_t attempt;
    uint64_t call; /* of the node, that it will tell; 0: nobody is there any more */
    msec_t at;     /* when it ends; MSEC_NEVER: with the deadline */
    msec_t gone;   /* at the latest */
    struct call_answer answer; /* ms: set when it ends */
    char right[RIGHT_TEXT_LEN + 1];
    bool later; /* it has said that it goes on: at `at` it says how it ended */
    msec_t began;
    bool over;
};

struct simtask {
    task_no no;
    msec_t not_before; /* by what its last answer said, */
    msec_t heard;      /* and by one that is not written yet; 0: none */
    bool done_there;   /* the target has said 2xx */
    struct said {
        unsigned status; /* 0: nothing yet */
        char body[24];
    } said, heard_said;  /* to the newest attempt that had an answer; heard: it is not written yet */
    bool cut;          /* a forced cancel was answered */
};

struct world {
    struct tabrig rig;
    struct calls calls;
    struct outbox out;
    struct rng rng;
    msec_t now;
    enum mood mood;
    bool adaptive; /* the endpoint finds out what its target bears */
    size_t written;
    struct simtask task[TASKS];
    unsigned n_tasks, n_visits, kills, succeeded, dead, cut, told;
    struct visit visit[VISITS];
    char why[160];
};

static struct world w;

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

static struct task_now now_of(void)
{
    return (struct task_now){ w.now, w.now };
}

static void bad(const char *why, task_no no)
{
    if (w.why[0] == 0)
        snprintf(w.why, sizeof(w.why), "%s: task %lu at %ld", why, no, w.now - START);
}

static struct endpoint *gen(void)
{
    return calls_find(&w.calls, "gen");
}

static struct simtask *task_of(task_no no)
{
    for (unsigned i = 0; i < w.n_tasks; i++)
        if (w.task[i].no == no)
            return &w.task[i];
    return NULL;
}

/* ---- the target -------------------------------------------------------------------- */

static struct call_answer answer_of(enum mood mood)
{
    switch (mood) {
    case BROKEN:
        return (struct call_answer){ .status = 500 };
    case BUSY:
        return (struct call_answer){ .status = 429, .retry_after = "3" };
    case AWAY:
        return (struct call_answer){ .fault = CALL_CONNECT };
    case SILENT:
        return (struct call_answer){ .fault = CALL_TIMEOUT };
    case LATER:
        return (struct call_answer){ .status = 202, .command = "pending=3" };
    case PICKY:
        return (struct call_answer){ .status = rng_chance(&w.rng, 0.3) ? 404 : 200 };
    default:
        return (struct call_answer){ .status = 200 };
    }
}

/* What the target says to an attempt: no two of them are equal. */
static struct said said_of(const struct visit *v)
{
    struct said s = { .status = v->answer.status };

    snprintf(s.body, sizeof(s.body), "%lu/%u", v->no, v->attempt);
    return s;
}

static unsigned at_target(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w.n_visits; i++)
        n += !w.visit[i].over && w.visit[i].gone > w.now;
    return n;
}

static void look_at_breaker(const struct going_call *g)
{
    if (gen()->breaker.state == BREAKER_OPEN)
        bad("J15: sent while the breaker is open", g->no);
    if (gen()->breaker.probes > BREAKER_PROBES_MAX)
        bad("J15: too many probes", g->no);
}

static void visit(struct going_call *g)
{
    struct visit *v = &w.visit[w.n_visits++];
    const struct simtask *k = task_of(g->no);

    assert(w.n_visits < VISITS);
    for (struct visit *u = w.visit; u < v; u++)
        if (u->no == g->no && u->attempt == g->attempt)
            bad("J3: an attempt is at the target twice", g->no);
    if (k == NULL || w.now < k->not_before)
        bad("J7: an attempt is early", g->no);
    if (k != NULL && k->cut)
        bad("J12: an attempt of one that was cancelled by force", g->no);
    look_at_breaker(g);
    *v = (struct visit){ .no = g->no, .attempt = g->attempt, .call = g->id,
                         .answer = answer_of(w.mood), .gone = w.now + DEADLINE, .began = w.now };
    v->at = w.now + (w.mood == SILENT ? DEADLINE : 1 + (msec_t)rng_below(&w.rng, w.mood == SLOW ? 4000 : 300));
    memcpy(v->right, g->right, sizeof(v->right));
    if (at_target() > SLOTS)
        bad("J4: more at the target than slots", g->no);
    if (w.adaptive && at_target() > endpoint_adaptive(gen()))
        bad("J4: more at the target than it is thought to bear", g->no);
    g->step = CALL_SENT;
    g->endpoint->n.sent++;
}

static task_no settled; /* 0: none is being settled, */
static uint32_t settled_by; /* with this status */

static void heard(void *ctx, const struct task_end *end)
{
    (void)ctx;
    if (end->status != (settled == end->no ? settled_by : 0))
        bad("another status ended it than its call's", end->no);
}

static void settle(struct going_call *g)
{
    settled = g->no;
    settled_by = g->verdict.status;
    if (tasktab_call_ends(w.rig.t, now_of(), g))
        calls_end(&w.calls, g, w.now);
    settled = 0;
}

/* The call goes on, whether or not that has arrived; its lease may end before it does. */
static void goes_on(struct visit *v)
{
    v->later = true;
    v->at = w.now + (msec_t)rng_below(&w.rng, 4000);
    v->gone = w.now + 3000;
}

static void ends(struct visit *v)
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
    tasktab_call_answered(w.rig.t, now_of(), g, &v->answer);
    if (g->verdict.kind == VERDICT_RETRY)
        k->heard = w.now + g->verdict.least_ms;
    settle(g);
}

/* ---- the node ---------------------------------------------------------------------- */

static void tell(peer_no from, const struct msg *m)
{
    tasktab_msg(w.rig.t, now_of(), from, 1, m, &w.out);
}

static uint8_t say_end(const struct visit *v, const struct msg_task_complete *end, bool forged)
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
static void told_later(struct visit *v)
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
        goes_on(v);
        return;
    }
    if (end.verb == COMPLETE_FAILED)
        k->heard = w.now + end.ms;
    k->heard_said = said;
    if (say_end(v, &end, false) != CODE_SAME)
        bad("the same again is not the same", v->no);
}

static void connect(void)
{
    uint64_t adaptive = w.adaptive ? 1 : 0;
    struct msg_endpoint e = { .epoch = 5, .name = "gen", .serial = 1, .url = "http://gen",
                              .rate = 50 * 1000, .burst = 5, .max_concurrent = SLOTS,
                              .deadline_ms = DEADLINE, .connect_timeout_ms = 1000,
                              .breaker_ratio = 50, .breaker_min = 8, .breaker_open_ms = 2000,
                              .secret_file = "", .ca_file = "", .cert_file = "", .key_file = "",
                              .proxy = "", .adaptive_min = adaptive };

    tasktab_up(w.rig.t, MANAGER, RPC_MANAGER, "m1", &w.out);
    tasktab_up(w.rig.t, ROUTER, RPC_ROUTER, "r1", &w.out);
    tell(MANAGER, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { 5, 1, 7 } });
    tell(MANAGER, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = e });
    tell(MANAGER, &(struct msg){ .type = MSG_PART_OPEN,
                                 .part_open = { .epoch = 5, .part = 3, .part_epoch = 8,
                                                .match = "q/*", .max_tasks = 1000,
                                                .endpoint = "gen" } });
    gen()->usable = true;
    outbox_reset(&w.out);
}

static void turn(double kill);

/* Calls of the old process go; what is at the target goes on there. */
static void drop_calls(void)
{
    each_going (&w.calls, g)
        calls_end(&w.calls, g, w.now);
    for (unsigned i = 0; i < w.n_visits; i++)
        w.visit[i].call = 0;
    calls_fini(&w.calls);
    calls_init(&w.calls);
}

static void die(void)
{
    w.kills++;
    for (unsigned i = 0; i < w.n_tasks; i++)
        w.task[i].heard = w.task[i].heard_said.status = 0;
    w.rig.log.b.len = w.written;
    w.now += (msec_t)rng_below(&w.rng, 3000);
    drop_calls();
    outbox_reset(&w.out);
    (void)tabrig_again(&w.rig, now_of());
    connect();
    turn(0); /* the clock that ran with the manager's order is of this moment */
}

static void deliver(void)
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
static void keep(void)
{
    w.written = w.rig.log.b.len;
    tasktab_written(w.rig.t);
    for (unsigned i = 0; i < w.n_tasks; i++) {
        w.task[i].not_before = ms_max(w.task[i].not_before, w.task[i].heard);
        w.task[i].heard = 0;
        if (w.task[i].heard_said.status != 0)
            w.task[i].said = w.task[i].heard_said;
        w.task[i].heard_said.status = 0;
    }
}

/* In a turn: some files of bodies are emptied. */
static void move_bodies(void)
{
    w.rig.old_to = rng_below(&w.rng, w.rig.n_bodies + 1);
    tasktab_copy_bodies(w.rig.t, now_of());
}

/* Behind a turn. */
static void snapshot(void)
{
    bool more;

    buf_reset(&w.rig.snap.b);
    buf_reset(&w.rig.log.b);
    more = tasktab_snapshot(w.rig.t, true, tabrig_record, &w.rig.snap);
    assert(!more); /* there is one partition */
    w.written = w.rig.log.b.len;
}

/* As the caller does at the end of a turn: the target goes on with what it has. */
static void cut_calls(void)
{
    if (tasktab_calls_cut(w.rig.t))
        each_going (&w.calls, g)
            if (g->step == CALL_SENT && tasktab_call_is_cut(w.rig.t, g))
                calls_end(&w.calls, g, w.now);
}

static void turn(double kill)
{
    bool ok;

    if (rng_chance(&w.rng, 0.02))
        move_bodies();
    ok = tasktab_turn(w.rig.t, now_of(), &w.out);
    assert(ok);
    cut_calls();
    if (rng_chance(&w.rng, kill)) { /* nothing of the turn is written */
        die();
        return;
    }
    keep();
    if (rng_chance(&w.rng, 0.02))
        snapshot();
    if (rng_chance(&w.rng, kill)) /* START is written, and nothing sent */
        die();
    else
        deliver();
}

/* ---- what happens ------------------------------------------------------------------ */

static void submit(void)
{
    static const uint8_t body[] = "call";
    char queue[8];
    struct task_put one = { .part = 3, .epoch = 8, .queue = queue, .key1 = "", .key2 = "",
                            .name = "", .digest = 1, .body = { sizeof(body), body } };
    struct simtask *k = &w.task[w.n_tasks];
    const struct msg *a;

    snprintf(queue, sizeof(queue), "q/%u", (unsigned)rng_below(&w.rng, 3));
    one.delay_ms = rng_chance(&w.rng, 0.2) ? 1 + (int64_t)rng_below(&w.rng, 5000) : 0;
    tell(ROUTER, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    a = &w.out.v[w.out.n - 1].m;
    assert(a->type == MSG_TASK_PUT_ANS && a->task_put_ans.v[0].code == CODE_DONE);
    *k = (struct simtask){ .no = a->task_put_ans.v[0].no, .not_before = w.now + one.delay_ms };
    w.n_tasks++;
    turn(0); /* it is acknowledged */
}

static void cancel_by_force(void)
{
    struct simtask *k = &w.task[rng_below(&w.rng, w.n_tasks)];
    struct msg_task_change q = { .part = 3, .epoch = 8, .verb = CHANGE_CANCEL, .no = k->no,
                                 .queue = "", .name = "", .patch.labels = "", .force = true };

    tell(ROUTER, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = q });
    k->cut |= w.out.v[w.out.n - 1].m.task_change_ans.code == CODE_DONE;
    turn(0); /* it is acknowledged */
}

static void target_lives(double kill)
{
    for (unsigned i = 0; i < w.n_visits; i++)
        if (!w.visit[i].over && w.visit[i].at <= w.now) {
            if (w.visit[i].later)
                told_later(&w.visit[i]);
            else
                ends(&w.visit[i]);
            if (rng_chance(&w.rng, kill)) { /* the answer was here, and is not written */
                die();
                return;
            }
        }
}

static void step(double kill)
{
    w.now += 1 + (msec_t)rng_below(&w.rng, 200);
    if (w.n_tasks < TASKS && rng_chance(&w.rng, 0.2))
        submit();
    if (w.n_tasks > 0 && rng_chance(&w.rng, 0.02))
        cancel_by_force();
    if (rng_chance(&w.rng, 0.02))
        w.mood = (enum mood)rng_below(&w.rng, NMOODS);
    target_lives(kill);
    turn(kill);
}

/* J14 */
static void judge_answer(const struct simtask *k)
{
    const struct msg_task_get_ans *a;

    tell(ROUTER, &(struct msg){ .type = MSG_TASK_GET,
                                .task_get = { 3, 8, k->no, "", "", 0, true } });
    a = &w.out.v[w.out.n - 1].m.task_get_ans;
    if (a->code != CODE_DONE || a->status != k->said.status ||
        (a->status != 0 && (a->result.n != strlen(k->said.body) ||
                            memcmp(a->result.p, k->said.body, a->result.n) != 0)))
        bad("J14: what is kept is not what the target said last", k->no);
}

static uint64_t bodies_there(void)
{
    uint64_t n = 0;

    for (uint64_t i = 1; i <= w.rig.n_bodies; i++)
        n += w.rig.body[i].len > 0;
    return n;
}

/* J1, J2: with the target well all of them end. */
static void judge(void)
{
    const struct part *p = tasktab_part(w.rig.t, 3);
    uint64_t bodies = 0;

    for (unsigned i = 0; i < w.n_tasks; i++) {
        task_slot slot = task_find(&p->e.store, w.task[i].no);
        enum task_state s = slot == SLOT_NONE ? TASK_FREE
                                              : (enum task_state)task_at(&p->e.store, slot)->state;

        if (w.task[i].cut ? s != TASK_CANCELLED : s != TASK_SUCCEEDED && s != TASK_DEAD)
            bad("J1: it has no end", w.task[i].no);
        if (s == TASK_SUCCEEDED && !w.task[i].done_there)
            bad("J2: succeeded, and the target has not said so", w.task[i].no);
        w.succeeded += s == TASK_SUCCEEDED;
        w.dead += s == TASK_DEAD;
        bodies += 1 + (s == TASK_DEAD && w.task[i].said.status != 0);
        if (s != TASK_CANCELLED)
            judge_answer(&w.task[i]);
        w.cut += s == TASK_CANCELLED;
    }
    if (w.kills == 0 && bodies_there() != bodies) /* what a kill leaves behind, a start finds */
        bad("J14: bodies that nobody has", 0);
}

static bool all_final(void)
{
    const uint32_t *n = tasktab_part(w.rig.t, 3)->e.store.n;

    return n[TASK_SCHEDULED] + n[TASK_WAITING] + n[TASK_RUNNING] + n[TASK_RETRYING] == 0;
}

static bool run_seed(uint64_t seed)
{
    double kill;

    memset(&w, 0, sizeof(w));
    rng_seed(&w.rng, seed);
    kill = rng_chance(&w.rng, 0.3) ? 0 : rng_unit(&w.rng) * 0.01;
    w.adaptive = rng_chance(&w.rng, 0.5);
    w.now = START;
    w.rig.calls = &w.calls;
    calls_init(&w.calls);
    outbox_init(&w.out);
    w.rig.ended = heard;
    tabrig_new(&w.rig);
    connect();
    turn(0);
    for (unsigned i = 0; i < STEPS && w.why[0] == 0; i++)
        step(kill);
    w.mood = WELL;
    for (unsigned i = 0; i < 20000 && w.why[0] == 0 && (w.n_tasks < TASKS || !all_final()); i++) {
        w.now += 50;
        if (w.n_tasks < TASKS)
            submit();
        target_lives(0);
        turn(0);
    }
    if (w.why[0] == 0)
        judge();
    drop_calls();
    calls_fini(&w.calls);
    tabrig_fini(&w.rig);
    outbox_fini(&w.out);
    return w.why[0] == 0;
}

Test(sim_calls, seeds)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1);
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS), wrong = 0, kills = 0, visits = 0, dead = 0;
    uint64_t cut = 0, told = 0;

    quiet_log();
    for (uint64_t i = 0; i < n; i++) {
        if (!run_seed(first + i)) {
            fprintf(stderr, "seed %lu: %s (SEED=%lu sim_calls)\n", first + i, w.why, first + i);
            wrong++;
        }
        kills += w.kills;
        visits += w.n_visits;
        dead += w.dead;
        cut += w.cut;
        told += w.told;
    }
    printf("%lu calls, %lu kills, %lu dead, %lu cancelled by force, %lu told later\n", visits, kills, dead,
           cut, told);
    cr_assert_eq(wrong, 0);
}
