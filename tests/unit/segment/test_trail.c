/* test_trail.c: what a node tells its audit trail: every change of every ticket, once,
 * in an order in which it can have happened, and as often as the counters say. */
#include "segment/audit/audit_line.h"
#include "tests/lib/segrig.h"

#include "common/base/rng.h"

struct line { /* what is kept of an event */
    enum audit_kind kind;
    struct ticket_id id;
    seg_id segment, from;
    char state[12], why[24], subject[24], lane[12];
    uint64_t tick, n, n_released;
    bool again;
};

static struct line heard[40000];
static uint32_t n_heard;
static struct rig *r;

static void copy(char *to, size_t cap, const char *from)
{
    snprintf(to, cap, "%s", from != NULL ? from : "");
}

static void on_event(void *ctx, const struct audit_event *e)
{
    struct line *l = &heard[n_heard++];

    cr_assert_eq(ctx, &n_heard);
    cr_assert_lt(n_heard, ARRAY_LEN(heard));
    cr_expect_str_eq(e->queue, "login");
    *l = (struct line) { .kind = e->kind, .id = e->id, .segment = e->segment,
                         .from = e->from, .tick = e->tick, .n = e->n,
                         .n_released = e->n_released, .again = e->again };
    copy(l->state, sizeof(l->state), e->state);
    copy(l->why, sizeof(l->why), e->why);
    copy(l->lane, sizeof(l->lane), e->lane);
    snprintf(l->subject, sizeof(l->subject), "%.*s", (int)e->subject_len,
             e->subject != NULL ? e->subject : "");
}

static void start(int nodes)
{
    struct segtab_opts o = rig_opts(1u << 20);

    n_heard = 0;
    r = rig_new(nodes, 1u << 20);
    o.audit = on_event;
    o.audit_ctx = &n_heard;
    for (int i = 0; i < nodes; i++) {
        segtab_free(r->t[i]);
        r->t[i] = segtab_new(&o);
        rig_start(r, i);
    }
}

static void one_node(void)
{
    start(1);
    rig_open(r, 0, 1, OPEN_TAIL, 1000, 0);
}

static void end(void)
{
    rig_free(r);
}

TestSuite(trail, .init = one_node, .fini = end);

/* "joined released admitted finished" */
static const char *story(seg_id seg, uint32_t number)
{
    static char s[400];

    s[0] = '\0';
    for (uint32_t i = 0; i < n_heard; i++)
        if (heard[i].id.seg == seg && heard[i].id.number == number)
            snprintf(s + strlen(s), sizeof(s) - strlen(s), "%s%s%s%s%s",
                     s[0] != '\0' ? " " : "", audit_kind_name(heard[i].kind),
                     heard[i].state[0] != '\0' ? "/" : "", heard[i].state,
                     heard[i].again ? "+" : "");
    return s;
}

static const struct line *last(enum audit_kind k)
{
    uint32_t i = n_heard;

    while (i > 0 && heard[i - 1].kind != k)
        i--;
    cr_assert_gt(i, 0, "no %s", audit_kind_name(k));
    return &heard[i - 1];
}

static uint64_t times(enum audit_kind k)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < n_heard; i++)
        n += heard[i].kind == k;
    return n;
}

Test(trail, records_an_admission)
{
    cr_assert_eq(rig_join_as(r, 0, 1, "ann").state, APPEND_OK);
    rig_pop(r, 0, 1, 5, 1);
    rig_pop(r, 0, 1, 5, 1); /* the same order again is no release */
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED);
    cr_assert_eq(rig_poll(r, 0, 1, 0).state, PLACE_ADMITTED); /* the same pass again */
    rig_run(r, 11000);
    cr_expect_str_eq(story(1, 0), "joined released admitted/ready finished/admitted");
    cr_expect_eq(last(AUDIT_RELEASED)->tick, 5);
    for (uint32_t i = 0; i < n_heard; i++) {
        cr_expect_str_eq(heard[i].subject, "ann", "%s", audit_kind_name(heard[i].kind));
        cr_expect_str_eq(heard[i].lane, "default");
        cr_expect_eq(heard[i].segment, 1);
    }
}

Test(trail, records_a_late_pickup)
{
    rig_join(r, 0, 1, 1);
    rig_pop(r, 0, 1, 1, 1);
    rig_run(r, 2200); /* claim window */
    rig_poll(r, 0, 1, 0);
    rig_pop(r, 0, 1, 2, 1);
    rig_poll(r, 0, 1, 0);
    rig_leave(r, 0, 1, 0);
    rig_leave(r, 0, 1, 0); /* nothing more to leave */
    rig_run(r, 12000);
    cr_expect_str_eq(story(1, 0), "joined released no_show/ready returned/grace "
                                  "released+ admitted/ready left/admitted");
}

Test(trail, records_a_no_show)
{
    rig_join(r, 0, 1, 2);
    rig_pop(r, 0, 1, 1, 2);
    rig_run(r, 2200);
    rig_poll(r, 0, 1, 1); /* once, and never again */
    rig_run(r, 30000);
    cr_expect_str_eq(story(1, 0), "joined released no_show/ready lapsed/grace");
    cr_expect_str_eq(story(1, 1),
                     "joined released no_show/ready returned/grace lapsed/returning");
    cr_expect_str_eq(last(AUDIT_LAPSED)->why, "silent");
}

Test(trail, records_leaves_and_expiries)
{
    rig_join(r, 0, 1, 3);
    rig_leave(r, 0, 1, 1);
    rig_leave(r, 0, 1, 1);
    rig_pop(r, 0, 1, 1, 1);
    rig_leave(r, 0, 1, 0);
    rig_run(r, 30000);
    cr_expect_str_eq(story(1, 0), "joined released left/ready");
    cr_expect_str_eq(story(1, 1), "joined left/waiting");
    cr_expect_str_eq(story(1, 2), "joined expired/waiting");
}

Test(trail, records_a_removed_segment)
{
    rig_join(r, 0, 1, 5);
    rig_pop(r, 0, 1, 1, 2);
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_REMOVE, .seg_remove = { r->epoch, 1, true } });
    cr_expect_eq(last(AUDIT_REMOVED)->n, 3);
    cr_expect_eq(last(AUDIT_REMOVED)->n_released, 2);
    cr_expect_eq(last(AUDIT_REMOVED)->segment, 1);
}

/* ---- moved -------------------------------------------------------------------------- */

static void move(seg_id from, seg_id to)
{
    rig_order(r, 1, (struct msg) { .type = MSG_MOVE_IN,
                                   .move_in = { r->epoch, 9, from, to, 3 } });
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_OUT,
                                   .move_out = { r->epoch, 9, from, to, "node1", "b:1" } });
    rig_run(r, 1000);
    for (int i = 1; i >= 0; i--)
        rig_order(r, i, (struct msg) { .type = MSG_MOVE_END,
                                       .move_end = { r->epoch, 9, from, to, true } });
}

/* It goes on under its own name, with the name of its person. */
Test(trail_move, under_its_own_name, .fini = end)
{
    start(2);
    rig_open(r, 0, 2, OPEN_TAIL, 1000, 0);
    rig_open(r, 1, 1, OPEN_TARGET, 1000, 0);
    rig_link(r);
    rig_join_as(r, 0, 2, "ann");
    rig_join_as(r, 0, 2, "bob");
    rig_join_as(r, 0, 2, "cy");
    rig_seal(r, 0, 2, 0);
    rig_leave(r, 0, 2, 0);
    move(2, 1);
    cr_expect_eq(last(AUDIT_ABSORBED)->from, 2);
    cr_expect_eq(last(AUDIT_ABSORBED)->segment, 1);
    cr_expect_eq(last(AUDIT_ABSORBED)->n, 2);
    rig_leave(r, 1, 2, 2);
    cr_expect_str_eq(last(AUDIT_LEFT)->subject, "cy");
    cr_expect_eq(last(AUDIT_LEFT)->segment, 1);
    cr_expect_str_eq(story(2, 2), "joined left/waiting");
    rig_run(r, 20000);
    cr_expect_str_eq(last(AUDIT_EXPIRED)->subject, "bob");
    cr_expect_str_eq(story(2, 1), "joined expired/waiting");
    cr_expect_eq(times(AUDIT_JOINED), 3);
}

/* ---- a crowd ------------------------------------------------------------------------ */

/* What may follow what. */
static const char *const after[AUDIT_NKINDS] = {
    [AUDIT_RELEASED] = "joined returned", [AUDIT_ADMITTED] = "released",
    [AUDIT_NO_SHOW] = "joined released",  [AUDIT_RETURNED] = "no_show",
    [AUDIT_LAPSED] = "no_show returned",  [AUDIT_EXPIRED] = "joined",
    [AUDIT_FINISHED] = "admitted",        [AUDIT_LEFT] = "joined released admitted no_show returned",
};

static void check_stories(uint32_t people)
{
    enum audit_kind was[2000];
    bool known[2000] = { 0 };

    cr_assert_leq(people, ARRAY_LEN(was));
    for (uint32_t i = 0; i < n_heard; i++) {
        const struct line *l = &heard[i];
        uint32_t n = l->id.number;

        if (l->id.seg == 0)
            continue;
        cr_assert_lt(n, people);
        if (l->kind == AUDIT_JOINED)
            cr_assert_not(known[n], "ticket %u joined twice", n);
        else
            cr_assert(known[n] && strstr(after[l->kind], audit_kind_name(was[n])) != NULL,
                      "ticket %u: %s after %s", n, audit_kind_name(l->kind),
                      known[n] ? audit_kind_name(was[n]) : "nothing");
        known[n] = true;
        was[n] = l->kind;
    }
}

static void pop(uint64_t tick, uint32_t n, uint32_t away_ms)
{
    rig_order(r, 0,
              (struct msg) { .type = MSG_SEG_POP,
                             .seg_pop = { .epoch = r->epoch, .seg = 1, .tick = tick, .n = n,
                                          .released_at_ms = r->now.wall_ms,
                                          .away_ms = away_ms } });
    rig_stored(r, 0, 1, tick);
}

static void a_turn(struct rng *g, uint32_t *joined, uint64_t *tick)
{
    if (*joined < 1000 && rng_chance(g, 0.7))
        rig_join(r, 0, 1, 1), ++*joined;
    if (rng_chance(g, 0.3))
        pop(++*tick, (uint32_t)rng_below(g, 4), rng_chance(g, 0.5) ? 1000 : 0);
    for (int i = 0; i < 12 && *joined > 0; i++)
        rig_poll(r, 0, 1, (uint32_t)rng_below(g, *joined));
    if (*joined > 0 && rng_chance(g, 0.2))
        rig_leave(r, 0, 1, (uint32_t)rng_below(g, *joined));
    arena_reset(&r->mem);
    rig_run(r, 100);
}

static uint64_t passed_over(void)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < n_heard; i++)
        n += heard[i].kind == AUDIT_NO_SHOW && strcmp(heard[i].state, "waiting") == 0;
    return n;
}

Test(trail, a_crowd)
{
    struct segtab_counts n;
    struct rng g;
    uint32_t joined = 0;
    uint64_t tick = 0;

    rng_seed(&g, 11);
    for (int i = 0; i < 3000; i++)
        a_turn(&g, &joined, &tick);
    rig_run(r, 30000);
    check_stories(1000);
    segtab_count(r->t[0], &n);
    cr_expect_eq(times(AUDIT_JOINED), n.joined);
    cr_expect_eq(times(AUDIT_RELEASED), n.popped);
    cr_expect_eq(times(AUDIT_ADMITTED), n.admitted);
    cr_expect_eq(times(AUDIT_NO_SHOW), n.no_shows);
    cr_expect_eq(times(AUDIT_RETURNED), n.returned);
    cr_expect_eq(times(AUDIT_EXPIRED), n.expired);
    cr_expect_gt(passed_over(), 50);
    cr_expect_gt(n.returned, 5); /* else all of it says little */
    cr_expect_gt(n.expired, 50);
    /* Whoever joined has gone by now, each in one way. */
    cr_expect_eq(times(AUDIT_LEFT) + times(AUDIT_EXPIRED) + times(AUDIT_FINISHED) +
                     times(AUDIT_LAPSED),
                 n.joined);
}
