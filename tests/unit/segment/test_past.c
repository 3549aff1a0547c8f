/* test_past.c: a move, or the end of a segment, of so many people that nothing is done with each of them
 * in one turn: their table goes over as it is, and what stays behind is forgotten some at a time. */
#include "segment/core/location.h"
#include "segment/core/state.h"
#include "segment/directory/exchange.h"
#include "segment/directory/past.h"
#include "segment/restore/snapshot.h"
#include "tests/lib/dirrig.h"

#define MANY (2 * PAST_TICK + 5000) /* a directory's rows of them fit into a message */
#define MOVE 9

static struct rig *r;

static void name_of(char name[40], seg_id seg, uint32_t i)
{
    snprintf(name, 40, "person-%llu-%u", (unsigned long long)seg, i);
}

/* Joins with the names from .. end - 1; a word of the other member may be waited for. */
static void named(int node, seg_id seg, uint32_t from, uint32_t end)
{
    static struct append_req q[500];
    static struct append_ans a[500];
    static char name[500][40];

    for (uint32_t at = from, n; at < end; at += n) {
        n = end - at < 500 ? end - at : 500;
        for (uint32_t i = 0; i < n; i++) {
            name_of(name[i], seg, at + i);
            q[i] = (struct append_req){ .seg = seg, .subject = name[i], .subject_len = (uint8_t)strlen(name[i]),
                                        .subject_hash = dirrig_hash(name[i]) };
        }
        for (int again = 0; again < 2; again++) {
            segtab_append(r->t[node], r->now, q, n, a, &r->mem);
            rig_step(r, node, (struct segtab_in){ .kind = SEGTAB_REPORT });
            rig_pump(r, UINT32_MAX);
        }
        for (uint32_t i = 0; i < n; i++)
            cr_assert(a[i].state == APPEND_OK || a[i].state == APPEND_EXISTING, "%u: %u", at + i, a[i].state);
    }
}

static struct subjects *of(int node, seg_id seg)
{
    return &segtab_seg(r->t[node], seg)->b.subjects;
}

/* Entries of both shares that say that the node has a ticket. */
static uint32_t said(int node)
{
    uint32_t n = 0;

    for (int i = 0; i < 2; i++) {
        const struct directory *d = &r->t[i]->dir.own;

        for (uint32_t k = 0; k < d->cap; k++)
            n += d->v[k].used && d->v[k].holder == node;
    }
    return n;
}

/* Segment 2 at node 1 has many; segment 1 at node 0 has a few. */
static void setup(void)
{
    r = rig_new(2, 1u << 20);
    r->ttl_s = 600;
    dirrig_members(r);
    rig_open(r, 1, 2, OPEN_TAIL, 1u << 20, 0);
    named(1, 2, 0, MANY);
    rig_seal(r, 1, 2, 0);
    cr_assert_eq(of(1, 2)->n, MANY);
}

static void teardown(void)
{
    rig_free(r);
}

TestSuite(past, .init = setup, .fini = teardown, .timeout = 60);

static struct msg end_msg(bool commit)
{
    return (struct msg) { .type = MSG_MOVE_END, .move_end = { r->epoch, MOVE, 2, 1, commit } };
}

static void copy(void)
{
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, MOVE, 2, 1, 0 } });
    rig_order_as(r, 1, RIG_MNG,
                 (struct msg) { .type = MSG_MOVE_OUT, .move_out = { 1, MOVE, 2, 1, "node0", "127.0.0.1:1" } });
    for (int i = 0; i < 100 && r->in_report != MOVE_FENCED; i++)
        rig_run(r, 100);
    cr_assert_eq(r->in_report, MOVE_FENCED, "%s", r->why);
}

static void commit(void)
{
    rig_order(r, 0, end_msg(true));
    cr_assert_eq(r->in_report, MOVE_COMMITTED);
    rig_order(r, 1, end_msg(true));
    cr_assert_eq(r->out_report, MOVE_COMMITTED);
}

/* Each is found by name, by ticket, and once. */
static void all_are_in(uint32_t more)
{
    const struct subjects *s = of(0, 1);
    char name[40];

    cr_assert_eq(s->n, MANY + more);
    for (uint32_t i = 0; i < MANY; i++) {
        const struct subject *x;

        name_of(name, 2, i);
        x = subjects_by_name(s, dirrig_hash(name), name, strlen(name));
        cr_assert(x != NULL && x == subjects_by_ticket(s, x->id) && x->id.seg == 2, "%s", name);
    }
    for (uint32_t i = 0; i < more; i++) {
        name_of(name, 1, i);
        cr_assert_not_null(subjects_by_name(s, dirrig_hash(name), name, strlen(name)), "%s", name);
    }
}

Test(past, an_empty_target_takes_the_table_as_it_is)
{
    const struct subject *v;

    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    copy();
    v = segtab_seg(r->t[0], 1)->in->in.subjects.v;
    commit();
    cr_expect_eq(of(0, 1)->v, v, "nobody was copied");
    all_are_in(0);
    cr_expect_not_null(of(0, 1)->watch.fn);
    cr_expect_eq(said(0), MANY, "%u", said(0));
}

/* The few are put to the many, not the many to the few. */
Test(past, the_targets_own_people_keep_their_names)
{
    const struct subject *v;

    rig_open(r, 0, 1, OPEN_TAIL, 1u << 20, 0);
    named(0, 1, 0, 300);
    rig_seal(r, 0, 1, 2);
    copy();
    v = segtab_seg(r->t[0], 1)->in->in.subjects.v;
    commit();
    cr_expect_eq(of(0, 1)->v, v);
    all_are_in(300);
    cr_expect_eq(said(0), MANY + 300);
    cr_assert_eq(rig_leave(r, 0, 1, 7).state, DROP_OK);
    rig_run(r, 200);
    cr_expect_eq(said(0), MANY + 299, "what ends is still said: %u", said(0));
}

/* At the source, in the turn of the commit nothing is freed; then some at each tick. */
Test(past, the_source_forgets_them_some_at_a_time)
{
    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    copy();
    rig_order(r, 0, end_msg(true));
    rig_step(r, 1, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = RIG_MNG, .msg = &(struct msg) {
        .type = MSG_MOVE_END, .move_end = { r->epoch, MOVE, 2, 1, true } } });
    cr_assert_eq(r->t[1]->pasts.n, 1);
    rig_pump(r, UINT32_MAX);
    cr_expect_eq(said(1), MANY);
    rig_run(r, 100);
    cr_expect_eq(said(1), MANY - PAST_TICK);
    rig_run(r, 1000);
    cr_expect_eq(said(1), 0);
    cr_expect_eq(said(0), MANY, "%u", said(0));
    cr_expect_eq(r->t[1]->pasts.n, 0);
    all_are_in(0);
}

/* One who left the new place may have another at the old node at once: the old node's word is of a ticket
 * that is over, and what is forgotten later does not take back the new one's. */
Test(past, a_name_that_comes_back_meanwhile_is_held)
{
    char name[40];
    struct append_ans a;
    uint32_t number;

    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    copy();
    commit();
    rig_open(r, 1, 3, OPEN_TAIL, 100, 0);
    for (uint32_t i = MANY - 4; i < MANY; i++) { /* the last to be forgotten */
        name_of(name, 2, i);
        number = subjects_by_name(of(0, 1), dirrig_hash(name), name, strlen(name))->id.number;
        cr_assert_eq(rig_leave(r, 0, 2, number).state, DROP_OK);
        rig_step(r, 0, (struct segtab_in){ .kind = SEGTAB_REPORT });
        rig_pump(r, UINT32_MAX);
        for (int again = 0; again < 3; again++) {
            a = rig_join_as(r, 1, 3, name);
            rig_step(r, 1, (struct segtab_in){ .kind = SEGTAB_REPORT });
            rig_pump(r, UINT32_MAX);
        }
        cr_assert(a.state == APPEND_EXISTING && a.seg == 3, "%u: %u of %llu", i, a.state, (unsigned long long)a.seg);
    }
    cr_assert_eq(r->t[1]->pasts.n, 1);
    rig_run(r, 1500);
    cr_assert_eq(r->t[1]->pasts.n, 0);
    cr_expect_eq(said(1), 4);
    rig_open(r, 0, 4, OPEN_TAIL, 100, 0);
    for (uint32_t i = MANY - 4; i < MANY; i++) {
        name_of(name, 2, i);
        for (int again = 0; again < 2; again++) {
            a = rig_join_as(r, 0, 4, name);
            rig_step(r, 0, (struct segtab_in){ .kind = SEGTAB_REPORT });
            rig_pump(r, UINT32_MAX);
        }
        cr_expect(a.state == APPEND_EXISTING && a.seg == 3, "one place per person");
    }
}

/* A copy that is given up goes the same way, and the source says that it has them. */
Test(past, a_copy_that_is_given_up_is_forgotten_some_at_a_time)
{
    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    copy();
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = RIG_MNG, .msg = &(struct msg) {
        .type = MSG_MOVE_END, .move_end = { r->epoch, MOVE, 2, 1, false } } });
    cr_assert_eq(r->t[0]->pasts.n, 1);
    rig_order(r, 1, end_msg(false));
    rig_run(r, 2000);
    cr_expect_eq(said(0), 0);
    cr_expect_eq(said(1), MANY);
    copy(); /* the second one, and again amid what is forgotten of the first */
    rig_order(r, 0, end_msg(false));
    rig_order(r, 1, end_msg(false));
    r->in_report = 0;
    copy();
    commit();
    rig_run(r, 2000);
    all_are_in(0);
    cr_expect_eq(said(0), MANY, "%u", said(0));
    cr_expect_eq(said(1), 0);
}

/* A member that is being told all, and has heard of the target, is told of what came to it by a table. */
Test(past, a_member_that_is_amid_being_told_hears_all)
{
    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    rig_open(r, 0, 5, OPEN_TAIL, 1u << 20, 0);
    named(0, 5, 0, 3 * DIR_CHUNK);
    copy();
    dir_say_begin(r->t[0], 1);
    cr_assert_eq(r->t[0]->dir.m[1].at, 5);
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = RIG_MNG, .msg = &(struct msg) {
        .type = MSG_MOVE_END, .move_end = { r->epoch, MOVE, 2, 1, true } } });
    rig_run(r, 500);
    rig_order(r, 1, end_msg(true));
    rig_run(r, 500);
    cr_assert_eq(r->t[0]->dir.m[1].state, DIR_KNOWN);
    cr_expect_eq(said(0), MANY + 3 * DIR_CHUNK, "%u", said(0));
}

/* A member that had no memory for some of them, or lost its link, is said all anew: its first answer is not yet of
 * those who come with the move, who are said last. */
Test(past, a_member_has_heard_of_a_move_when_it_has_heard_all)
{
    const struct dir_member *m;
    const struct move *v;

    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    rig_open(r, 0, 5, OPEN_TAIL, 1u << 20, 0);
    named(0, 5, 0, 6 * DIR_CHUNK);
    m = &r->t[0]->dir.m[1];
    cr_assert_eq(m->state, DIR_KNOWN);
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, MOVE, 2, 1, 0 } });
    rig_order_as(r, 1, RIG_MNG,
                 (struct msg) { .type = MSG_MOVE_OUT, .move_out = { 1, MOVE, 2, 1, "node0", "127.0.0.1:1" } });
    v = segtab_seg(r->t[0], 1)->in;
    for (int i = 0; i < 100000 && v->stage == STAGE_RECEIVING; i++) {
        rig_pump(r, 1);
        if (r->head == r->tail)
            rig_run(r, 100);
    }
    cr_assert_eq(v->stage, STAGE_WHOLE);
    dir_say_begin(r->t[0], 1);
    for (int i = 0; i < 100000 && v->stage == STAGE_WHOLE; i++) {
        rig_step(r, 0, (struct segtab_in){ .kind = SEGTAB_REPORT });
        rig_pump(r, 1);
    }
    cr_assert_eq(v->stage, STAGE_READY);
    cr_expect_eq(m->state, DIR_KNOWN);
}

/* The same member before the move began: it heard of those who came as they came. It hears again of the target alone,
 * else it would never have heard all while moves come. */
Test(past, a_member_that_is_amid_being_told_of_the_target_hears_of_all_of_it)
{
    const uint32_t own = 6 * DIR_CHUNK, left = 2 * MANY - own; /* in the new table they stand before the place */
    struct dir_member *m;
    uint64_t echo, begun;

    rig_open(r, 0, 5, OPEN_TAIL, 1u << 20, 0);
    rig_open(r, 0, 1, OPEN_TAIL, 1u << 20, 0);
    named(0, 5, 0, 100);
    named(0, 1, 0, left + own);
    rig_seal(r, 0, 1, 2);
    for (uint32_t i = 0; i < left; i++) {
        cr_assert_eq(rig_leave(r, 0, 1, i).state, DROP_OK);
        if (i % 10000 == 0)
            rig_run(r, 100);
    }
    rig_run(r, 100);
    dir_say_begin(r->t[0], 1);
    m = &r->t[0]->dir.m[1];
    cr_assert(m->at == 1 && m->at_i > MANY + own);
    echo = m->echo;
    begun = m->begun;
    m->echo = UINT64_MAX; /* its answer comes late */
    m->said_ms = r->now.now_ms + 1000000;
    copy();
    commit();
    cr_assert(m->state == DIR_SAYING && m->begun == begun);
    m->echo = echo;
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = m->to, .msg = &(struct msg) {
        .type = MSG_DIR_ANS, .dir_ans = { .version = 5, .n = 1, .v = &(struct dir_row){ .hash = echo, .what = DIR_HEARD } } } });
    rig_run(r, 1500);
    cr_assert(m->state == DIR_KNOWN && m->begun == begun);
    cr_expect_eq(said(0), MANY + own + 100, "%u", said(0));
}

static bool is_said(int owner, int node, uint64_t hash)
{
    const struct directory *d = &r->t[owner]->dir.own;

    for (uint32_t k = 0; k < d->cap; k++)
        if (d->v[k].used && d->v[k].holder == node && d->v[k].hash == hash)
            return true;
    return false;
}

/* A join that was allowed, and has not come back for the word. */
Test(past, a_name_that_may_come_back_is_held)
{
    uint32_t n = 0;
    char name[40];

    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    copy();
    commit();
    rig_open(r, 1, 3, OPEN_TAIL, 100, 0);
    for (uint32_t i = 100; i < 120; i++) {
        uint64_t hash;

        name_of(name, 2, i);
        hash = dirrig_hash(name);
        if (directory_owner(hash, dirrig_nodes, 2) != 0)
            continue;
        cr_assert_eq(rig_leave(r, 0, 2, subjects_by_name(of(0, 1), hash, name, strlen(name))->id.number).state, DROP_OK);
        cr_assert_eq(rig_join_as(r, 1, 3, name).state, APPEND_BUSY);
        n++;
    }
    cr_assert_gt(n, 0);
    rig_step(r, 1, (struct segtab_in){ .kind = SEGTAB_REPORT });
    rig_pump(r, UINT32_MAX);
    rig_run(r, 500);
    cr_assert_eq(r->t[1]->pasts.n, 0);
    cr_expect_eq(said(1), n);
    for (uint32_t i = 100; i < 120; i++) {
        name_of(name, 2, i);
        if (directory_owner(dirrig_hash(name), dirrig_nodes, 2) == 0)
            cr_expect(is_said(0, 1, dirrig_hash(name)), "%s", name);
    }
}

static void contacts_of(int node, seg_id seg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct contact_req q = { .seg = seg, .number = i, .n_sealed = 3, .sealed = (const uint8_t *)"abc" };
        struct contact_ans a;

        segtab_contact(r->t[node], r->now, &q, 1, &a);
        cr_assert_eq(a.state, CONTACT_OK);
    }
}

/* Names are done before contacts are, which are as many. */
Test(past, contacts_are_forgotten_after_the_names)
{
    contacts_of(1, 2, MANY);
    rig_open(r, 0, 1, OPEN_TARGET, 1u << 20, 0);
    copy();
    commit();
    cr_assert_eq(segtab_seg(r->t[0], 1)->b.contacts.n, MANY);
    cr_assert_eq(r->t[1]->pasts.n, 1);
    rig_run(r, 2000);
    cr_expect_eq(r->t[1]->pasts.n, 0);
    cr_expect_eq(said(1), 0);
}

/* One whose second ticket, in the segment that comes, was given in place of the first, at the target. */
Test(past, a_name_leads_to_the_later_of_its_two_tickets)
{
    char name[40];
    struct append_ans was, now = { 0 };
    struct append_req q;

    snprintf(name, sizeof(name), "twice");
    rig_open(r, 0, 1, OPEN_TAIL, 1u << 20, 0);
    rig_open(r, 1, 3, OPEN_TAIL, 1u << 20, 0);
    for (int again = 0; again < 3; again++) {
        was = rig_join_as(r, 0, 1, name);
        rig_step(r, 0, (struct segtab_in){ .kind = SEGTAB_REPORT });
        rig_pump(r, UINT32_MAX);
    }
    cr_assert_eq(was.seg, 1);
    q = (struct append_req){ .seg = 3, .subject = name, .subject_len = (uint8_t)strlen(name), .subject_hash = dirrig_hash(name),
                             .old_seg = 1, .old_number = was.number, .old_issued_s = was.issued_s };
    for (int again = 0; again < 3; again++) {
        segtab_append(r->t[1], r->now, &q, 1, &now, &r->mem);
        rig_step(r, 1, (struct segtab_in){ .kind = SEGTAB_REPORT });
        rig_pump(r, UINT32_MAX);
    }
    cr_assert(now.state == APPEND_EXISTING && now.seg == 3, "%u: %llu", now.state, (unsigned long long)now.seg);
    named(1, 3, 0, 10);
    rig_seal(r, 0, 1, 3);
    rig_seal(r, 1, 3, 0);
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_IN, .move_in = { 1, MOVE, 3, 1, 0 } });
    rig_order_as(r, 1, RIG_MNG,
                 (struct msg) { .type = MSG_MOVE_OUT, .move_out = { 1, MOVE, 3, 1, "node0", "127.0.0.1:1" } });
    for (int i = 0; i < 100 && r->in_report != MOVE_FENCED; i++)
        rig_run(r, 100);
    cr_assert_eq(r->in_report, MOVE_FENCED, "%s", r->why);
    rig_order(r, 0, (struct msg) { .type = MSG_MOVE_END, .move_end = { r->epoch, MOVE, 3, 1, true } });
    rig_order(r, 1, (struct msg) { .type = MSG_MOVE_END, .move_end = { r->epoch, MOVE, 3, 1, true } });
    rig_run(r, 500);
    cr_assert_eq(rig_leave(r, 0, 1, was.number).state, DROP_OK);
    rig_run(r, 500);
    cr_expect_eq(said(0), 11, "the name of the later one is not free: %u", said(0));
    rig_open(r, 1, 4, OPEN_TAIL, 100, 0);
    for (int again = 0; again < 4; again++) {
        now = rig_join_as(r, 1, 4, name);
        rig_run(r, 100);
    }
    cr_expect(now.state == APPEND_EXISTING && now.seg == 3, "one place per person: %u: %llu", now.state,
              (unsigned long long)now.seg);
}

/* What goes in portions goes in smaller ones, for simulations. */
Test(past, a_portion_has_no_more_rows_than_the_options_say)
{
    rig_open(r, 0, 5, OPEN_TAIL, 1u << 20, 0);
    named(0, 5, 0, 100);
    r->t[0]->o.portion = 3;
    dir_say_begin(r->t[0], 1);
    cr_expect_eq(r->t[0]->dir.m[1].n, 5, "%u: a beginning, three names, an echo", r->t[0]->dir.m[1].n);
    rig_run(r, 1500);
    cr_expect_eq(r->t[0]->dir.m[1].state, DIR_KNOWN);
    cr_expect_eq(said(0), 100, "%u", said(0));
}

/* A draw makes a new table, without the gaps of those who left: a member that is amid being told misses nobody. */
Test(past, a_draw_hides_nobody_from_a_member_that_is_being_told)
{
    const uint32_t n = 6 * DIR_CHUNK;

    rig_order(r, 0, (struct msg) { .type = MSG_SEG_OPEN, .seg_open = {
        .epoch = r->epoch, .seg = 5, .queue = 7, .kind = OPEN_TAIL, .capacity = n, .early = true } });
    named(0, 5, 0, n);
    rig_seal(r, 0, 5, 0);
    for (uint32_t i = 0; i < n / 2; i++)
        cr_assert_eq(rig_leave(r, 0, 5, i).state, DROP_OK);
    rig_run(r, 500);
    cr_assert_eq(said(0), n / 2);
    dir_say_begin(r->t[0], 1);
    cr_assert_gt(r->t[0]->dir.m[1].at_i, n / 2);
    rig_step(r, 0, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = RIG_MNG, .msg = &(struct msg) {
        .type = MSG_SEG_SEAL, .seg_seal = { .epoch = r->epoch, .seg = 5, .draw = { .n = n, .seed = { 3 } } } } });
    cr_assert_not_null(segtab_seg(r->t[0], 5)->draw);
    rig_run(r, 500);
    cr_assert_eq(r->t[0]->dir.m[1].state, DIR_KNOWN);
    cr_expect_eq(said(0), n / 2, "%u of %u", said(0), n / 2);
}

static void nowhere(void *ctx, const struct jrec *x)
{
    (void)ctx;
    (void)x;
}

/* What is in a snapshot goes to the end of the list of segments: a member that is being told of one hears of those
 * behind it, too. */
Test(past, a_snapshot_hides_nobody_from_a_member_that_is_being_told)
{
    for (seg_id seg = 5; seg < 8; seg++) {
        rig_open(r, 0, seg, OPEN_TAIL, 1u << 20, 0);
        named(0, seg, 0, 3 * DIR_CHUNK);
    }
    for (uint32_t more = 0; more < 9; more++) {
        dir_say_begin(r->t[0], 1);
        for (uint32_t i = 0; i < more; i++) {
            rig_step(r, 0, (struct segtab_in){ .kind = SEGTAB_REPORT });
            rig_pump(r, 2);
        }
        for (bool begin = true; segtab_snapshot(r->t[0], begin, 1, nowhere, NULL) && begin; begin = false)
            ;
        rig_run(r, 500);
        cr_assert_eq(r->t[0]->dir.m[1].state, DIR_KNOWN);
        cr_assert_eq(said(0), 9 * DIR_CHUNK, "%u: %u of %u", more, said(0), 9 * DIR_CHUNK);
    }
}

/* A segment that is removed by force. */
Test(past, the_people_of_a_removed_segment_are_forgotten_some_at_a_time)
{
    rig_step(r, 1, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = RIG_MNG, .msg = &(struct msg) {
        .type = MSG_SEG_REMOVE, .seg_remove = { .epoch = r->epoch, .seg = 2, .force = true } } });
    cr_assert_eq(r->t[1]->pasts.n, 1);
    rig_run(r, 2000);
    cr_expect_eq(said(1), 0);
    cr_expect_eq(r->t[1]->pasts.n, 0);
}
