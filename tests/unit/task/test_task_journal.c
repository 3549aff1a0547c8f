/* test_task_journal.c: a task node's table, its journal and its bodies together under `fsync`, on
 * disks that lose power and break: every task that was acknowledged has its payload, or its result,
 * byte for byte. */
#include "tests/lib/criterion.h"
#include <errno.h>

#include "task/engine/look.h"
#include "task/node/parts.h"
#include "task/service/journal.h"
#include "tests/lib/bodyrig.h"
#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

enum { MNG = 1, RTR = 2, PART = 3, EPOCH = 5, MOST = 600 };

struct node {
    struct simdisk *disk[2]; /* of the journal, of the bodies */
    struct keeper *keeper;
    struct bodies *bodies;
    struct tasktab *tab;
    struct outbox out;
    struct task_now now;
    struct rng rng;
    uint64_t seed;
    task_no no[MOST]; /* acknowledged; its payload is made of its index */
    bool done[MOST];  /* likewise; so is its result */
    uint32_t n, tried;
};

static uint32_t fill(uint8_t *p, uint32_t i, bool result)
{
    uint32_t n = i % 50 == 49 ? BODIES_KEPT_MOST : 20 + i * 7919 % 3000;

    n = result ? 1 + n % 500 : n;
    memset(p, (int)(i * 37 + result), n);
    return n;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void links_up(struct node *w)
{
    tasktab_up(w->tab, MNG, RPC_MANAGER, "m", &w->out);
    tasktab_up(w->tab, RTR, RPC_ROUTER, "r", &w->out);
    tasktab_msg(w->tab, w->now, MNG, 0,
                &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 7 } }, &w->out);
    outbox_reset(&w->out);
}

static void make_tab(struct node *w)
{
    struct tasktab_opts o = { .addr = "a:1", .admin = "a:2", .max_tasks = 10000, .max_keys = 100,
                              .bodies = brig_of_table(w->bodies),
                              .record = task_journal_record, .record_ctx = w->keeper };

    w->tab = tasktab_new(&o);
    cr_assert_not_null(w->tab);
}

static struct task_journal journal_of(const struct node *w)
{
    return (struct task_journal){ w->keeper, w->bodies, w->tab };
}

/* 0, or what the process ends with. */
static int start(struct node *w)
{
    struct keeper_opts ko = { .parent = "sim", .node = "t1", .mode = JOURNAL_FSYNC, .format = 1,
                              .snap_after = 20000, .disk = simdisk_disk(w->disk[0]),
                              .thing_bytes = 128 };
    struct bodies_opts bo = { .dir = "sim", .node = "t1", .disk = simdisk_disk(w->disk[1]),
                              .file_bytes = 256 * 1024, .keep = task_journal_keep };
    struct task_journal j;
    struct err e = { 0 };
    int rc = keeper_new(&w->keeper, &ko, &e);

    cr_assert_eq(rc, 0);
    bo.keep_ctx = w->keeper;
    rc = bodies_open(&w->bodies, &bo, &e);
    if (rc < 0)
        return rc;
    make_tab(w);
    j = journal_of(w);
    rc = task_journal_read(&j, w->now, false, &e);
    if (rc == 0)
        links_up(w);
    return rc;
}

/* The process is gone, with what it had not flushed. */
static void end(struct node *w, bool power_cut)
{
    tasktab_free(w->tab);
    w->tab = NULL;
    for (unsigned i = 0; i < 2; i++)
        simdisk_die_at(w->disk[i], 1);
    keeper_free(w->keeper);
    bodies_close(w->bodies);
    for (unsigned i = 0; i < 2; i++)
        if (power_cut)
            simdisk_crash(w->disk[i]);
        else
            simdisk_kill(w->disk[i]);
}

static void set_break(struct node *w, double chance)
{
    for (unsigned i = 0; i < 2; i++)
        simdisk_break(w->disk[i], chance, w->seed % 3 == 0 ? ENOSPC : EIO);
}

static void restart(struct node *w, bool power_cut)
{
    end(w, power_cut);
    set_break(w, 0);
    cr_assert_eq(start(w), 0, "seed %lu", (unsigned long)w->seed);
}

/* As the service does it. True: what was said may be sent. */
static bool turn(struct node *w)
{
    struct task_journal j;
    struct err e = { 0 };
    bool ok;

    w->now.ms += 30;
    w->now.wall_ms += 30;
    if (bodies_step(w->bodies, w->now.ms))
        tasktab_copy_bodies(w->tab, w->now);
    (void)!keeper_tick(w->keeper, w->now.ms);
    cr_assert(tasktab_turn(w->tab, w->now, &w->out));
    ok = bodies_flush(w->bodies) < 0 ? keeper_fails(w->keeper, "bodies") : keeper_flush(w->keeper);
    if (ok) {
        tasktab_written(w->tab);
        j = journal_of(w);
        task_journal_snapshot(&j);
    } else {
        tasktab_free(w->tab);
        bodies_again(w->bodies);
        make_tab(w);
        j = journal_of(w);
        if (task_journal_read(&j, w->now, true, &e) < 0)
            restart(w, false);
        else
            links_up(w);
    }
    tasktab_hold(w->tab, keeper_holds(w->keeper));
    return ok;
}

/* ---- work ---------------------------------------------------------------------------------- */

static const struct msg *say(struct node *w, peer_no from, const struct msg *m, enum msg_type answer)
{
    outbox_reset(&w->out);
    tasktab_msg(w->tab, w->now, from, 1, m, &w->out);
    if (!turn(w))
        return NULL;
    for (uint32_t i = 0; i < w->out.n; i++)
        if (w->out.v[i].m.type == answer)
            return &w->out.v[i].m;
    return NULL;
}

static void submit(struct node *w)
{
    static uint8_t bytes[BODIES_KEPT_MOST];
    struct task_put row = { .part = PART, .epoch = EPOCH, .queue = "q", .key1 = "", .key2 = "",
                            .name = "" };
    uint32_t i = w->tried++;
    const struct msg *a;

    row.body = (struct bytes_of){ fill(bytes, i, false), bytes };
    a = say(w, RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &row } },
            MSG_TASK_PUT_ANS);
    if (a != NULL && a->task_put_ans.n == 1 && a->task_put_ans.v[0].code == CODE_DONE)
        w->no[i] = a->task_put_ans.v[0].no;
}

static uint32_t index_of(const struct node *w, task_no no)
{
    for (uint32_t i = 0; i < w->tried; i++)
        if (w->no[i] == no)
            return i;
    return MOST; /* its submission was not answered, and was done */
}

static void work(struct node *w)
{
    static uint8_t bytes[BODIES_KEPT_MOST];
    const struct msg *a = say(w, RTR, &(struct msg){ .type = MSG_TASK_TAKE, .task_take =
                              { PART, EPOCH, "q", 1, 3600000, 0 } }, MSG_TASK_TAKE_ANS);
    struct settle_row row = { .part = PART, .epoch = EPOCH, .verb = SETTLE_ACK };
    uint32_t i;

    if (a == NULL || a->task_take_ans.n == 0)
        return;
    row.no = a->task_take_ans.v[0].no;
    row.lease = a->task_take_ans.v[0].lease;
    i = index_of(w, row.no);
    row.result = (struct bytes_of){ fill(bytes, i, true), bytes };
    a = say(w, RTR, &(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &row, { 0 } } },
            MSG_TASK_SETTLE_ANS);
    if (a != NULL && i < MOST && a->task_settle_ans.v[0].code == CODE_DONE)
        w->done[i] = true;
}

/* ---- what must hold ------------------------------------------------------------------------- */

static void check_one(struct node *w, const struct part *p, uint32_t i)
{
    static uint8_t want[BODIES_KEPT_MOST];
    struct task_view v;
    struct buf got;
    uint32_t n;

    buf_init(&got);
    cr_assert_eq(engine_look(&p->e, w->no[i], &v), 0, "seed %lu: task %u", (unsigned long)w->seed, i);
    cr_assert(!w->done[i] || v.state == TASK_SUCCEEDED);
    n = fill(want, i, v.state == TASK_SUCCEEDED);
    cr_assert_eq(bodies_get(w->bodies, v.body, &got), 0, "seed %lu: task %u", (unsigned long)w->seed, i);
    cr_assert_geq(got.len, n);
    cr_assert_eq(memcmp(got.data + got.len - n, want, n), 0); /* a result has a head */
    buf_fini(&got);
}

static void check(struct node *w)
{
    const struct part *p = tasktab_part(w->tab, PART);
    struct tasktab_counts c;

    cr_assert_not_null(p);
    for (uint32_t i = 0; i < w->tried; i++)
        if (w->no[i] != 0)
            check_one(w, p, i);
    tasktab_count(w->tab, &c);
    cr_assert_eq(c.lost_bodies, 0);
}

static struct node *node_new(uint64_t seed)
{
    struct node *w = calloc(1, sizeof(*w));

    cr_assert_not_null(w);
    log_set_sink(brig_quiet, NULL);
    w->seed = seed;
    rng_seed(&w->rng, seed);
    w->now = (struct task_now){ 1000000, 1700000000000 };
    outbox_init(&w->out);
    for (unsigned i = 0; i < 2; i++)
        w->disk[i] = simdisk_new(seed * 2 + i);
    cr_assert_eq(start(w), 0);
    cr_assert_not_null(say(w, MNG, &(struct msg){ .type = MSG_PART_OPEN, .part_open =
                           { EPOCH, PART, EPOCH, "*", 0, NULL, 10000, false } }, MSG_PART_STATUS));
    return w;
}

static void node_free(struct node *w)
{
    end(w, false);
    outbox_fini(&w->out);
    for (unsigned i = 0; i < 2; i++)
        simdisk_free(w->disk[i]);
    free(w);
}

static void some_steps(struct node *w)
{
    for (unsigned i = rng_below(&w->rng, 20); i > 0 && w->tried < MOST; i--)
        if (rng_below(&w->rng, 3) != 0)
            submit(w);
        else
            work(w);
}

Test(task_journal, a_power_cut_takes_nothing_that_was_acknowledged)
{
    uint64_t snapshots = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct node *w = node_new(seed);

        for (unsigned round = 0; round < 15; round++) {
            struct keeper_counts c;

            some_steps(w);
            keeper_count(w->keeper, &c);
            snapshots += c.file.snapshots;
            restart(w, round % 4 != 3);
            check(w);
        }
        node_free(w);
    }
    cr_assert_gt(snapshots, 40, "so the journal has forgotten much");
}

Test(task_journal, disks_that_break_and_lose_power_take_nothing_that_was_acknowledged)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct node *w = node_new(seed);

        for (unsigned round = 0; round < 12; round++) {
            set_break(w, 0.02 + 0.05 * (double)(seed % 3));
            some_steps(w);
            set_break(w, 0);
            for (unsigned i = 0; i < 400 && keeper_holds(w->keeper); i++)
                (void)turn(w);
            cr_assert_not(keeper_holds(w->keeper));
            some_steps(w);
            restart(w, round % 2 == 0);
            check(w);
        }
        node_free(w);
    }
}
