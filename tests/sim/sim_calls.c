/* sim_calls.c: a table of tasks whose pool has an endpoint, and a target that is well, slow, broken,
 * busy, away or silent by turns, or says later how it ended (calltarget.h); the node is killed
 * before a turn is written (of an ACCEPT, a START, an END), behind it (START is written, and nothing
 * sent; what was accepted has no answer), while calls are at the target, and when the answer is
 * there. Snapshots take the journal's place, and bodies move to other files, at any time.
 * In every third seed the endpoint has two targets, each with moods and slots of its own (J4, J7, J15 hold
 * for each), and what one cannot be sent goes to the other: J3 counts what was sent.
 *   J2   succeeded: the target said so         J3   (task, attempt) is at the target once at most
 *   J4   never more at the target than slots   J7   no attempt before its moment,
 *   J15  while the breaker is open nothing goes; while        none before a Retry-After is over
 *        it probes, four at most; while it is tripped probes by hand alone; no task dies of
 *        attempts that cost nothing
 *   J14  what is kept of an end is what the target said last, byte for byte; and no body is left over
 *   J1   in the end, with the target well, each task is final
 *   J12  behind the answer to a forced cancel nothing is sent, and J4 holds all the same
 *   SEEDS=1000 FIRST=1 sim_calls    so many seeds, from this one
 *   SEED=n sim_calls                one */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>

#include "common/task/state.h"
#include "tests/lib/callworld.h"
#include "tests/lib/quiet.h"

#if defined(__SANITIZE_ADDRESS__)
#define SEEDS 60u
#else
#define SEEDS 300u
#endif
#define STEPS    1200

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

static void submit(double kill)
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
    if (!turn(kill)) /* it was never accepted; else it is, whether its caller has heard so or not */
        w.n_tasks--;
}

static void cancel_by_force(double kill)
{
    struct simtask *k = &w.task[rng_below(&w.rng, w.n_tasks)];
    struct msg_task_change q = { .part = 3, .epoch = 8, .verb = CHANGE_CANCEL, .no = k->no,
                                 .queue = "", .name = "", .patch.labels = "", .force = true };
    bool done;

    tell(ROUTER, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = q });
    done = w.out.v[w.out.n - 1].m.task_change_ans.code == CODE_DONE;
    k->cut |= turn(kill) && done;
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
        submit(kill);
    if (w.n_tasks > 0 && rng_chance(&w.rng, 0.02))
        cancel_by_force(kill);
    if (rng_chance(&w.rng, 0.02))
        w.mood = (enum mood)rng_below(&w.rng, NMOODS);
    if (w.targets && rng_chance(&w.rng, 0.02)) /* two in three times well, or away: so it takes over, or dies */
        w.other_mood = rng_chance(&w.rng, 0.3) ? (enum mood)rng_below(&w.rng, NMOODS)
                       : rng_chance(&w.rng, 0.5) ? WELL : AWAY;
    if (rng_chance(&w.rng, 0.01))
        operator_says();
    target_lives(kill);
    (void)turn(kill);
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
        const struct simtask *k = &w.task[i];
        task_slot slot = task_find(&p->e.store, k->no);
        const struct task *t = slot != SLOT_NONE ? task_at(&p->e.store, slot) : NULL;
        enum task_state s = t != NULL ? (enum task_state)t->state : TASK_FREE;

        if (k->cut ? s != TASK_CANCELLED : s != TASK_SUCCEEDED && s != TASK_DEAD)
            bad("J1: it has no end", k->no);
        if (s == TASK_SUCCEEDED && !k->done_there)
            bad("J2: succeeded, and the target has not said so", k->no);
        if (s == TASK_DEAD && !k->refused && t->attempts < k->spared + ATTEMPTS)
            bad("J15: dead of attempts that cost nothing", k->no);
        w.succeeded += s == TASK_SUCCEEDED;
        w.dead += s == TASK_DEAD;
        bodies += 1 + (s == TASK_DEAD && k->said.status != 0);
        if (s != TASK_CANCELLED)
            judge_answer(k);
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
    w.targets = seed % 3 == 0;
    w.adaptive &= !w.targets;
    w.now = START;
    w.rig.boot.id = seed % 2; /* 0: the machine does not say */
    w.rig.calls = &w.calls;
    calls_init(&w.calls);
    outbox_init(&w.out);
    w.rig.ended = heard;
    tabrig_new(&w.rig);
    connect();
    (void)turn(0);
    for (unsigned i = 0; i < STEPS && w.why[0] == 0; i++)
        step(kill);
    w.mood = w.other_mood = WELL;
    reset();
    for (unsigned i = 0; i < 20000 && w.why[0] == 0 && (w.n_tasks < TASKS || !all_final()); i++) {
        w.now += 50;
        if (w.n_tasks < TASKS)
            submit(0);
        target_lives(0);
        (void)turn(0);
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
    uint64_t cut = 0, told = 0, by_hand = 0, elsewhere = 0;

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
        by_hand += w.by_hand;
        elsewhere += w.elsewhere;
    }
    printf("%lu calls, %lu kills, %lu dead, %lu cancelled by force, %lu told later, %lu probes by hand, "
           "%lu went to another target\n", visits, kills, dead, cut, told, by_hand, elsewhere);
    cr_expect(elsewhere > 0 || only != 0);
    cr_expect(by_hand > 0 || only != 0);
    cr_assert_eq(wrong, 0);
}
