/* test_mng_forget.c: nodes that were taken away: nobody hears of them any more, and they take
 * nobody's place or pass with them. The manager core and three node cores (mngrig.h). */
#include "tests/lib/mngrig.h"

#define QUEUE                                                                            \
    "{\"name\": \"q\", \"release_per_s\": 1, \"segment_capacity\": 20, \"pass_ttl\": \"1h\", "                  \
    "\"idle\": {\"game\": \"20m\", \"mobile\": \"20m\", \"browser\": \"20m\"}}"
#define AWAY (3600 * 1000)

static struct mr *story(void)
{
    struct mr *r = mr_new("forget");

    mr_put_queue(r, QUEUE);
    mr_run(r, 500);
    mr_join(r, 100);
    mr_play(r, 2000);
    return r;
}

static void drain(struct mr *r, int no, bool on)
{
    struct err e = { 0 };

    cr_assert_eq(mng_drain(r->m, r->now, mr_name[no], on, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
}

static int forget(struct mr *r, int no, bool force, struct mng_forget_end *end)
{
    struct err e = { 0 };
    int rc = mng_forget(r->m, r->now, mr_name[no], force, end, &r->out, &e);

    mr_flush_mng(r);
    return rc;
}

struct find {
    const char *name;
    bool found;
    struct mng_node_view v;
};

static void on_node(void *ctx, const void *view)
{
    struct find *f = ctx;
    const struct mng_node_view *v = view;

    if (strcmp(v->name, f->name) != 0)
        return;
    f->found = true;
    f->v = *v;
}

static bool find(const struct mr *r, int no, struct mng_node_view *v)
{
    struct find f = { .name = mr_name[no] };

    mng_each_node(r->m, on_node, &f);
    *v = f.v;
    return f.found;
}

static bool in_map(const struct mr *r, int no)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->routes, &v);

    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, mr_name[no]) == 0)
            return true;
    return false;
}

static void drained_and_stopped(struct mr *r, int no)
{
    struct mng_node_view v;

    drain(r, no, true);
    for (int i = 0; i < 200 && find(r, no, &v) && v.segments != 0; i++)
        mr_play(r, 500);
    cr_assert(find(r, no, &v) && v.segments == 0, "%u segments", v.segments);
    mr_link_down(r, &r->link[no], AWAY);
    mr_play(r, 1000);
}

static void restart_without(struct mr *r, int no)
{
    mr_restart_manager(r);
    mr_link_down(r, &r->link[no], AWAY);
}

/* mr_play() fails for whoever loses a place. */
Test(mng_forget, a_drained_absent_node_is_forgotten)
{
    for (int restart = 0; restart <= 1; restart++) {
        struct mr *r = story();
        struct mng_node_view v;

        drained_and_stopped(r, 1);
        cr_assert(find(r, 1, &v));
        cr_expect(v.retired);
        cr_expect_gt(v.forget_in_ms, 250000);
        cr_expect_not(in_map(r, 1), "routers do not dial it any more");
        if (restart)
            restart_without(r, 1);
        mr_play(r, 290000);
        cr_expect(find(r, 1, &v));
        mr_play(r, 15000);
        cr_expect_not(find(r, 1, &v));
        restart_without(r, 1);
        mr_play(r, 1000);
        cr_expect_not(find(r, 1, &v), "a later manager does not know it either");
        r->link[1].down_until = 0;
        mr_play(r, 2000);
        cr_assert(find(r, 1, &v), "it comes back");
        cr_expect(v.up && !v.draining && !v.retired);
        cr_expect(in_map(r, 1));
        cr_expect_eq(v.no, 4, "as a new one");
        mr_free(r);
    }
}

Test(mng_forget, an_undrained_node_stays_missing)
{
    struct mr *r = story();
    struct mng_node_view v;

    r->crowd = r->may_lose = true;
    mr_link_down(r, &r->link[1], AWAY);
    mr_run(r, 900000);
    cr_assert(find(r, 1, &v));
    cr_expect_not(v.retired);
    cr_expect_eq(v.forget_in_ms, -1);
    mr_free(r);
}

Test(mng_forget, an_order_forgets_at_once_unless_the_node_is_up)
{
    struct mng_forget_end end;
    struct mr *r = story();
    struct mng_node_view v;

    cr_expect_eq(forget(r, 1, true, &end), SQ_ECONFLICT, "it is up");
    drained_and_stopped(r, 1);
    cr_expect_eq(forget(r, 1, false, &end), 0);
    cr_expect(end.forgotten);
    cr_expect_not(find(r, 1, &v));
    cr_expect_eq(forget(r, 1, false, &end), SQ_EUNKNOWN);
    mr_play(r, 10000);
    mr_free(r);
}

static unsigned waiting(struct mr *r)
{
    struct place_ans a;
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += mr_poll(r, &r->ticket[i], &a) && a.state == PLACE_WAITING;
    return n;
}

/* Its people are not forgotten with it: others have its segments, and their polls bring them
 * back. */
Test(mng_forget, a_node_with_tickets_needs_force_and_they_return)
{
    struct mng_forget_end end;
    struct mr *r = story();
    struct mng_node_view v;
    unsigned before, n = 0;
    int no = 0;

    mr_order(r, MNG_PAUSE);
    mr_run(r, 500);
    before = waiting(r);
    r->crowd = r->may_lose = true;
    while (no < MR_NODES && (!find(r, no, &v) || v.segments == 0))
        no++;
    mr_link_down(r, &r->link[no], AWAY);
    mr_run(r, 300);
    cr_expect_eq(forget(r, no, false, &end), SQ_ECONFLICT);
    cr_expect(find(r, no, &v));
    cr_expect_eq(forget(r, no, true, &end), 0);
    cr_expect(end.forgotten);
    cr_expect_not(find(r, no, &v));
    for (int i = 0; i < 40 && n < before; i++) {
        mr_run(r, 500);
        n = waiting(r);
    }
    cr_expect_eq(n, before);
    mr_free(r);
}

/* Nobody has room for them: they are not thrown away, it is forgotten when somebody has. */
Test(mng_forget, without_room_its_segments_wait_for_a_node)
{
    struct mng_forget_end end;
    struct mr *r = story();
    struct mng_node_view v;
    int no = 0;

    r->crowd = r->may_lose = true;
    while (no < MR_NODES && (!find(r, no, &v) || v.segments == 0))
        no++;
    for (int i = 0; i < MR_NODES; i++)
        if (i != no)
            drain(r, i, true);
    mr_link_down(r, &r->link[no], AWAY);
    mr_run(r, 300);
    cr_expect_eq(forget(r, no, true, &end), 0);
    cr_expect_not(end.forgotten);
    cr_expect_gt(end.segments, 0);
    mr_run(r, 400000);
    cr_expect(find(r, no, &v));
    for (int i = 0; i < MR_NODES; i++)
        if (i != no)
            drain(r, i, false);
    mr_run(r, 310000);
    cr_expect_not(find(r, no, &v));
    mr_free(r);
}
