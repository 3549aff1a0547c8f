/* test_mng_undo.c: a queue that was deleted by mistake: nobody loses anything while it can be
 * restored. The manager core and three node cores (mngrig.h). */
#include "tests/lib/mngrig.h"

#define QUEUE                                                                            \
    "{\"name\": \"q\", \"release_per_s\": 5, \"segment_capacity\": 40, "                  \
    "\"idle\": {\"game\": \"20m\", \"mobile\": \"20m\", \"browser\": \"20m\"}}"

static struct mng_deleted_view delete(struct mr *r, bool final)
{
    struct mng_deleted_view v = { 0 };
    struct err e = { 0 };

    cr_assert_eq(mng_queue_delete(r->m, r->now, "q", final, &v, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
    return v;
}

static int restore(struct mr *r)
{
    struct err e = { 0 };
    int rc = mng_queue_restore(r->m, r->now, "q", &r->out, &e);

    mr_flush_mng(r);
    return rc;
}

static int create(struct mr *r, const char *name)
{
    struct queue_def d = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    char json[80];
    int rc;

    snprintf(json, sizeof(json), "{\"name\": \"%s\"}", name);
    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0);
    rc = mng_define(r->m, DEF_QUEUE, r->now, &d, &r->out, &e);
    mr_flush_mng(r);
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
    return rc;
}

static unsigned admitted(const struct mr *r)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += r->ticket[i].admitted;
    return n;
}

static struct mr *story(void)
{
    struct mr *r = mr_new("undo");

    mr_put_queue(r, QUEUE);
    mr_run(r, 500);
    mr_join(r, 100);
    mr_play(r, 2000);
    return r;
}

/* mr_poll_all() fails for whoever is gone, or was told a place that is worse. */
Test(mng_undo, nobody_loses_a_place_and_all_goes_on)
{
    for (int restart = 0; restart <= 1; restart++) {
        struct mr *r = story();
        struct mng_deleted_view v = delete(r, false);
        unsigned in;

        mr_run(r, 500); /* what was released before is told */
        mr_poll_all(r);
        in = admitted(r);
        cr_expect_gt(in, 5);
        cr_expect_leq(100 - v.waiting, in);
        cr_expect_geq(v.inside + v.waiting, 100 - 1);
        cr_expect_geq(v.until_ms, r->wall + 590000);
        cr_expect_null(mng_defined(r->m, DEF_QUEUE, "q", NULL));
        if (restart)
            mr_restart_manager(r);
        mr_play(r, 120000);
        cr_expect_eq(admitted(r), in, "nobody is let in meanwhile");
        cr_expect_eq(restore(r), 0);
        cr_expect_eq(((const struct queue_def *)mng_defined(r->m, DEF_QUEUE, "q", NULL))->state, DEF_OPEN);
        mr_play(r, 3000);
        cr_expect_gt(admitted(r), in);
        mr_join(r, 1);
        mr_play(r, 25000);
        cr_expect_eq(admitted(r), 101);
        cr_expect_eq(restore(r), SQ_ECONFLICT);
        mr_free(r);
    }
}

static unsigned gone(struct mr *r)
{
    struct place_ans a;
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += mr_poll(r, &r->ticket[i], &a) && a.state == PLACE_GONE;
    return n;
}

Test(mng_undo, a_deleted_queue_expires)
{
    struct mr *r = story();

    r->crowd = r->may_lose = true;
    delete(r, false);
    mr_run(r, 590000);
    cr_expect_lt(gone(r), 50, "%u", gone(r));
    mr_run(r, 15000);
    cr_expect_eq(gone(r), 100);
    cr_expect_eq(restore(r), SQ_EUNKNOWN);
    mr_restart_manager(r);
    cr_expect_eq(restore(r), SQ_EUNKNOWN);
    mr_free(r);
}

Test(mng_undo, final_is_at_once_and_also_later)
{
    for (int twice = 0; twice <= 1; twice++) {
        struct mr *r = story();

        r->crowd = r->may_lose = true;
        if (twice)
            delete(r, false);
        cr_expect_eq(delete(r, true).until_ms, 0);
        mr_run(r, 1000);
        cr_expect_eq(gone(r), 100);
        cr_expect_eq(restore(r), SQ_EUNKNOWN);
        cr_expect_eq(create(r, "q"), 0);
        mr_free(r);
    }
}

/* Whoever makes it anew in a hurry does not throw those out who could be brought back. */
Test(mng_undo, a_deleted_name_is_reserved_while_tickets_remain)
{
    struct mr *r = story();

    delete(r, false);
    cr_expect_eq(create(r, "q"), SQ_ECONFLICT);
    cr_expect_eq(create(r, "other"), 0);
    cr_expect_eq(restore(r), 0);
    mr_play(r, 1000);
    mr_free(r);
    r = mr_new("empty");
    mr_put_queue(r, QUEUE);
    mr_run(r, 500);
    delete(r, false);
    cr_expect_eq(create(r, "q"), 0, "nobody is in the old one");
    mr_run(r, 1000);
    mr_join(r, 1);
    cr_expect_eq(restore(r), SQ_ECONFLICT);
    mr_free(r);
}
