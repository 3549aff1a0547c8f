/* test_torture_node.c: a segment node without memory. A fixed story (open, join, poll,
 * leave, release, a merge whose both ends are here) in which the k-th allocation fails,
 * for every k; and then all from the k-th on. What was refused is asked again when there is
 * memory; afterwards everything acknowledged must be there, once, in its order. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/node/segtab.h"
#include "tests/lib/failing.h"
#include "tests/lib/quiet.h"

enum { MNG = 1, ROUTER = 2 };

#define CAPACITY 700u
#define TICKETS  (2 * CAPACITY)
#define MOVE     77u

struct tick {
    seg_id seg;
    uint32_t number;
    bool left, waits;
};

struct world {
    struct segtab *t;
    struct seg_now now;
    struct tick ticket[TICKETS];
    uint32_t n_tickets, released, first_waiting;
    uint64_t tick;
    struct msg_seg_popped popped; /* the last answer */
    bool answered, said_committed, aborted;
    uint32_t in_tickets;
    seg_id asked; /* to release */
    uint64_t k; /* for messages */
};

static int make_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    return snprintf(out, MSG_PASS_MAX, "%llu-%u", (unsigned long long)p->seg, p->number);
}

/* ---- talking to it ----------------------------------------------------------------- */

static void hear_move(struct world *w, const struct msg_move_status *m)
{
    if (m->report == MOVE_ABORTED)
        w->aborted = true;
    if (m->side == MOVE_SIDE_IN && m->report == MOVE_COMMITTED)
        w->said_committed = true;
    if (m->side == MOVE_SIDE_IN && m->report == MOVE_FENCED)
        w->in_tickets = m->tickets;
}

static void hear(struct world *w, const struct msg *m)
{
    if (m->type == MSG_SEG_POPPED) {
        w->popped = m->seg_popped;
        w->answered = true;
    } else if (m->type == MSG_MOVE_STATUS) {
        hear_move(w, &m->move_status);
    } else if (m->type == MSG_SEG_STATUS) {
        for (uint32_t i = 0; i < m->seg_status.n; i++)
            w->answered |= m->seg_status.v[i].seg == w->asked;
        for (uint32_t i = 0; i < m->seg_status.n_gone; i++)
            w->answered |= m->seg_status.gone[i] == w->asked;
    }
}

static void step(struct world *w, struct segtab_in in)
{
    struct outbox out;

    outbox_init(&out);
    in.now = w->now;
    segtab_step(w->t, &in, &out);
    for (uint32_t i = 0; i < out.n; i++)
        hear(w, &out.v[i].m);
    outbox_fini(&out);
}

static void order(struct world *w, struct msg m)
{
    step(w, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = MNG, .msg = &m });
}

static void run(struct world *w, unsigned ticks)
{
    for (; ticks > 0; ticks--) {
        w->now.now_ms += 100;
        w->now.wall_ms += 100;
        step(w, (struct segtab_in) { .kind = SEGTAB_TICK });
    }
}

static void give_rules(struct world *w)
{
    struct msg m = { .type = MSG_RULES,
                     .rules = { .epoch = 1, .queue = 7, .name = "q", .issuer = "i",
                                .idle_ms = { 3600000, 3600000, 3600000 },
                                .claim_ms = 600000, .grace_ms = 1000, .pass_ttl_s = 600,
                                .n_lanes = 1, .lanes = { "default" } } };

    order(w, m);
}

static void open_seg(struct world *w, seg_id seg)
{
    struct msg m = { .type = MSG_SEG_OPEN,
                     .seg_open = { 1, seg, 7, 0, OPEN_TAIL, CAPACITY, 0 } };

    give_rules(w);
    order(w, m);
}

/* ---- the story: what is refused is left out, what is acknowledged is noted ----------- */

static bool join(struct world *w, seg_id seg, bool named)
{
    char name[32];
    int n = snprintf(name, sizeof(name), "player-%u", w->n_tickets);
    struct append_req q = { .seg = seg };
    struct append_ans a;
    struct arena mem;

    if (named) {
        q.subject = name;
        q.subject_len = (uint8_t)n;
        q.subject_hash = 1000003u * (w->n_tickets + 1);
    }
    arena_init(&mem);
    segtab_append(w->t, w->now, &q, 1, &a, &mem);
    arena_fini(&mem);
    if (a.state != APPEND_OK)
        return false;
    cr_assert_lt(w->n_tickets, TICKETS);
    w->ticket[w->n_tickets++] = (struct tick) { .seg = a.seg, .number = a.number };
    return true;
}

static void join_many(struct world *w, seg_id seg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        (void)join(w, seg, i % 50 == 0);
}

static enum place_state poll(struct world *w, const struct tick *k)
{
    struct place_req q = { .seg = k->seg, .number = k->number, .client = CLIENT_GAME };
    struct place_ans a;
    struct arena mem;

    arena_init(&mem);
    segtab_place(w->t, w->now, &q, 1, &a, &mem);
    arena_fini(&mem);
    return (enum place_state)a.state;
}

static void leave(struct world *w, struct tick *k)
{
    struct drop_req q = { .seg = k->seg, .number = k->number };
    struct drop_ans a;

    segtab_drop(w->t, w->now, &q, 1, &a);
    if (a.state == DROP_OK)
        k->left = true;
}

/* A release is asked for again, as the manager does, until it is answered. */
static void release(struct world *w, seg_id seg, uint32_t n)
{
    struct msg m = { .type = MSG_SEG_POP,
                     .seg_pop = { 1, seg, ++w->tick, n, w->now.wall_ms } };

    w->answered = false;
    w->asked = seg;
    w->popped.tick = 0;
    for (unsigned i = 0; i < 3 && !w->answered; i++) {
        order(w, m);
        if (!w->answered)
            failing_disarm(); /* nothing can be said at all: there is memory again */
    }
    cr_assert(w->answered, "k %llu: no answer", (unsigned long long)w->k);
    if (w->popped.tick == w->tick)
        w->released += w->popped.n;
    order(w, (struct msg) { .type = MSG_SEG_AHEAD, /* they are stored, and may be told */
                            .seg_ahead = { .epoch = 1, .n_kept = 1,
                                           .kept = &(struct kept_entry) { seg, w->tick } } });
}

static void seal(struct world *w, seg_id seg)
{
    order(w, (struct msg) { .type = MSG_SEG_SEAL, .seg_seal = { 1, seg, 0 } });
}

static void merge(struct world *w)
{
    struct msg in = { .type = MSG_MOVE_IN, .move_in = { 1, MOVE, 2, 1, 0 } };
    struct msg out = { .type = MSG_MOVE_OUT, .move_out = { 1, MOVE, 2, 1, "self", "" } };
    struct msg end = { .type = MSG_MOVE_END, .move_end = { 1, MOVE, 2, 1, true } };

    w->aborted = w->said_committed = false;
    w->in_tickets = UINT32_MAX;
    order(w, in);
    order(w, out);
    for (unsigned i = 0; i < 20 && w->in_tickets == UINT32_MAX && !w->aborted; i++)
        run(w, 1);
    if (w->in_tickets == UINT32_MAX) {
        end.move_end.commit = false;
        order(w, end);
        return;
    }
    for (unsigned i = 0; i < 40 && !w->said_committed && !w->aborted; i++) {
        order(w, end);
        run(w, 1);
        if (i == 20)
            failing_disarm();
    }
    cr_assert(w->said_committed, "k %llu: neither committed nor aborted",
              (unsigned long long)w->k);
}

static void story(struct world *w)
{
    open_seg(w, 1);
    join_many(w, 1, CAPACITY - 100);
    for (uint32_t i = 0; i < w->n_tickets; i += 7)
        (void)poll(w, &w->ticket[i]);
    run(w, 2);
    release(w, 1, 200);
    for (uint32_t i = 0; i < w->released; i += 3)
        (void)poll(w, &w->ticket[i]);
    seal(w, 1);
    open_seg(w, 2);
    join_many(w, 2, 150);
    for (uint32_t i = 210; i < w->n_tickets; i += 5)
        leave(w, &w->ticket[i]);
    run(w, 2);
    seal(w, 2);
    merge(w);
    release(w, 1, 100);
    run(w, 3);
}

/* ---- what must hold ----------------------------------------------------------------- */

static void seen(void *ctx, seg_id host, seg_id seg, uint32_t number)
{
    struct world *w = ctx;

    (void)host;
    for (uint32_t i = 0; i < w->n_tickets; i++) {
        struct tick *k = &w->ticket[i];

        if (k->seg != seg || k->number != number)
            continue;
        cr_assert_not(k->waits, "k %llu: ticket %u waits twice", (unsigned long long)w->k,
                      i);
        k->waits = true;
        return;
    }
    cr_assert_fail("k %llu: %llu-%u waits, and was never acknowledged",
                   (unsigned long long)w->k, (unsigned long long)seg, number);
}

/* Who waits is the end of those who joined and have not left; who does not was released. */
static void check_line(struct world *w)
{
    uint32_t gone = 0;
    bool begun = false;

    for (uint32_t i = 0; i < w->n_tickets; i++)
        w->ticket[i].waits = false;
    segtab_each_waiting(w->t, seen, w);
    for (uint32_t i = 0; i < w->n_tickets; i++) {
        struct tick *k = &w->ticket[i];

        cr_assert_not(k->left && k->waits, "k %llu: ticket %u left and waits",
                      (unsigned long long)w->k, i);
        if (k->left)
            continue;
        begun = begun || k->waits;
        gone += !k->waits;
        cr_assert_eq(k->waits, begun, "k %llu: ticket %u is not in its place",
                     (unsigned long long)w->k, i);
        cr_assert_eq(poll(w, k), k->waits ? PLACE_WAITING : PLACE_ADMITTED,
                     "k %llu: ticket %u waits %d", (unsigned long long)w->k, i, k->waits);
    }
    cr_assert_eq(gone, w->released, "k %llu: %u were released, %u do not wait",
                 (unsigned long long)w->k, w->released, gone);
}

static void check_count(struct world *w)
{
    struct segtab_counts c;
    uint64_t waiting = 0;

    segtab_count(w->t, &c);
    for (uint32_t i = 0; i < w->n_tickets; i++)
        waiting += w->ticket[i].waits;
    cr_assert_eq(c.waiting, waiting, "k %llu: counted %llu of %llu",
                 (unsigned long long)w->k, (unsigned long long)c.waiting,
                 (unsigned long long)waiting);
}

/* There is memory again: it goes on as if there always had been. */
static void go_on(struct world *w)
{
    open_seg(w, 1);
    open_seg(w, 3);
    cr_assert(join(w, 3, true), "k %llu: nobody can join", (unsigned long long)w->k);
    run(w, 20);
    check_line(w);
    check_count(w);
    for (seg_id s = 1; s < 4; s++) {
        for (unsigned i = 0; i < 20; i++)
            release(w, s, 200);
    }
    run(w, 2);
    check_line(w);
    for (uint32_t i = 0; i < w->n_tickets; i++)
        cr_assert_not(w->ticket[i].waits, "k %llu: ticket %u was not released",
                      (unsigned long long)w->k, i);
}

static struct world *world_new(uint64_t k)
{
    struct segtab_opts o = { .max_tickets = 100000, .max_segments = 10,
                             .addr = "127.0.0.1:1", .admin = "", .make_pass = make_pass };
    struct world *w;

    failing_pause(true);
    w = calloc(1, sizeof(*w));
    failing_pause(false);
    quiet_log();
    w->k = k;
    w->now = (struct seg_now) { 1000000, 1700000000000 };
    w->t = segtab_new(&o);
    return w;
}

/* What a shell does whose link up came to nothing: the peer dials again. */
static void meet(struct world *w)
{
    struct member_row self = { .no = 1, .name = "node0", .addr = "127.0.0.1:1" };
    struct segtab_counts c;

    for (unsigned i = 0; i < 2; i++) {
        step(w, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = MNG });
        step(w, (struct segtab_in) { .kind = SEGTAB_DOWN, .peer = ROUTER });
        step(w, (struct segtab_in) { .kind = SEGTAB_UP, .peer = MNG, .role = RPC_MANAGER,
                                     .name = "mng" });
        step(w, (struct segtab_in) { .kind = SEGTAB_UP, .peer = ROUTER,
                                     .role = RPC_ROUTER, .name = "rt" });
        order(w, (struct msg) { .type = MSG_NODE_OK, .node_ok = { 1, 1 } });
        order(w, (struct msg) { .type = MSG_MEMBERS,
                                .members = { .epoch = 1, .version = 1, .self = 1, .n = 1,
                                             .v = &self } });
        segtab_count(w->t, &c);
        if (c.epoch == 1 && c.dir_members == 1)
            return;
        failing_disarm();
    }
    cr_assert_fail("k %llu: it does not take orders", (unsigned long long)w->k);
}

static bool once(uint64_t k, uint64_t n)
{
    struct world *w;
    bool failed;

    failing_arm(k, n);
    w = world_new(k);
    if (w->t == NULL) { /* refused to start: that is its right */
        failing_disarm();
        free(w);
        return true;
    }
    meet(w);
    story(w);
    failed = failing_disarm();
    meet(w);
    go_on(w);
    segtab_free(w->t);
    free(w);
    return failed;
}

Test(torture_node, without_a_fault)
{
    cr_assert_not(once(0, 0));
}

/* A story is the longer the later it fails; when it runs through, all k were tried. */
static void every(uint64_t n)
{
    uint64_t k = 1;
    unsigned through = 0;

    for (; through < 3; k++)
        through = once(k, n) ? 0 : through + 1;
    cr_assert_gt(k, 40, "only %llu allocations", (unsigned long long)k);
}

Test(torture_node, each_allocation_fails_once, .timeout = 300)
{
    every(1);
}

Test(torture_node, all_later_allocations_fail, .timeout = 300)
{
    every(FAILING_ALL);
}
