/* test_no_show.c: the claim rate is learnt and forgotten with evidence; what is made of it is
 * bounded; and with the manager core and three node cores (mngrig.h): as many come as the
 * rate says, though a quarter of those released never do. */
#define MR_TICKETS 4000
#include "tests/lib/mngrig.h"

#include "queuemng/policy/release.h"

static void decided(struct no_show *c, unsigned claimed, unsigned missed)
{
    c->claimed += claimed;
    c->missed += missed;
    no_show_second(c);
}

Test(no_show, little_evidence_is_none)
{
    struct no_show c = { 0 };

    cr_expect_eq(no_show_share_come(&c), 1);
    decided(&c, 0, NO_SHOW_FEW - 1);
    cr_expect_eq(no_show_share_come(&c), 1);
    cr_expect_eq(no_show_boost(&c, 3), 1);
    decided(&c, 0, 1);
    cr_expect_eq(no_show_share_come(&c), 0);
}

Test(no_show, rate_is_the_share_that_comes)
{
    for (unsigned chunk = 1; chunk <= 1000; chunk *= 10) {
        struct no_show c = { 0 };

        for (unsigned n = 0; n < 4000; n += 4 * chunk)
            decided(&c, 3 * chunk, chunk);
        cr_expect_float_eq(no_show_share_come(&c), 0.75, 1e-9, "by %u: %g", chunk, c.rate);
        cr_expect_float_eq(no_show_boost(&c, 1.5), 4 / 3.0, 1e-9);
    }
}

Test(no_show, old_evidence_is_forgotten_by_new_not_by_time)
{
    struct no_show c = { 0 };

    for (unsigned n = 0; n < 10000; n++)
        decided(&c, 0, 10);
    for (unsigned n = 0; n < 100; n++)
        decided(&c, 0, 0);
    cr_expect_eq(no_show_share_come(&c), 0);
    for (unsigned n = 0; n < 100; n++)
        decided(&c, 10, 0);
    cr_expect_gt(no_show_share_come(&c), 0.98);
}

Test(no_show, the_boost_is_bounded)
{
    struct no_show c = { 0 };

    decided(&c, 10, 990);
    cr_expect_eq(no_show_boost(&c, 1.5), 1.5);
    cr_expect_eq(no_show_boost(&c, 1), 1, "1: no-shows are not made up for");
    cr_expect_eq(no_show_boost(&c, 0), 1);
    decided(&c, 100000, 0);
    cr_expect_eq(no_show_boost(&c, 1.5), 1);
}

/* ---- in a cluster ----------------------------------------------------------------------- */

#define QUEUE(boost)                                                                     \
    "{\"name\": \"q\", \"release_per_s\": 40, \"no_show_boost\": " #boost                \
    ", \"segment_capacity\": 800, \"claim\": \"2s\", \"grace\": \"0s\", "                \
    "\"idle\": {\"game\": \"10m\", \"mobile\": \"10m\", \"browser\": \"10m\"}, "         \
    "\"poll_min\": \"2m\", \"poll_max\": \"2m\", \"pass_ttl\": \"10m\"}"

static unsigned admitted(const struct mr *r)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += r->ticket[i].admitted;
    return n;
}

/* Every fourth of them never comes again. */
static struct mr *crowd(const char *name, const char *queue)
{
    struct mr *r = mr_new(name);

    r->crowd = true;
    mr_put_queue(r, queue);
    mr_run(r, 500);
    mr_join(r, 3000);
    for (uint32_t i = 0; i < r->n_tickets; i += 4)
        r->ticket[i].left = true;
    mr_play(r, 10000); /* it learns */
    return r;
}

static unsigned admitted_in(struct mr *r, msec_t ms)
{
    unsigned before = admitted(r);

    mr_play(r, ms);
    return admitted(r) - before;
}

Test(no_show, as_many_come_as_the_rate_says)
{
    struct mr *r = crowd("boosted", QUEUE(1.5));
    unsigned n = admitted_in(r, 20000);

    cr_expect(n >= 20 * 40 * 0.94 && n <= 20 * 40 * 1.06, "%u came in 20 s", n);
    mr_free(r);
}

Test(no_show, boost_stays_within_no_show_boost)
{
    struct mr *r = crowd("bounded", QUEUE(1.1));
    unsigned n = admitted_in(r, 20000);

    cr_expect(n >= 20 * 40 * 0.78 && n <= 20 * 40 * 0.87, "%u came in 20 s", n);
    mr_free(r);
}

static void find_claim_rate(void *ctx, const void *view)
{
    *(double *)ctx = ((const struct mng_queue_view *)view)->claim_rate;
}

/* A new manager's first reports tell of all that ever was: that is no evidence of now. */
Test(no_show, a_new_manager_learns_anew)
{
    struct mr *r = crowd("restarted", QUEUE(1.5));
    double rate = 0;

    mr_restart_manager(r);
    mr_run(r, 1000);
    mng_each_queue(r->m, find_claim_rate, &rate);
    cr_expect_eq(rate, 1, "%g", rate);
    mr_play(r, 10000);
    mng_each_queue(r->m, find_claim_rate, &rate);
    cr_expect(rate > 0.7 && rate < 0.8, "%g", rate);
    mr_free(r);
}
