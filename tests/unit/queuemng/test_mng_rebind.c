/* test_mng_rebind.c: a ticket that an operator lets another device take over: by whom, once, for how
 * long, and that the next manager knows it. The manager core and three node cores (mngrig.h). */
#include "tests/lib/mngrig.h"

#undef each_active /* of the segment node */
#include "queuemng/core/orders.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"

#define QUEUE "{\"name\": \"q\", \"state\": \"paused\", \"bind\": \"device\"}"
#define ONE   "AAECAwQFBgcICQoLDA0ODw"
#define OTHER "AAECAwQFBgcICQoLDA0ODg"

static const struct token_key key = { .mac = { 1 } };

static struct mr *story(const char *queue)
{
    struct mr *r = mr_new("rebind");

    mr_put_queue(r, queue);
    mr_run(r, 500);
    mr_join(r, 3);
    return r;
}

static int rebind(struct mr *r, seg_id seg, uint32_t number, struct mng_rebind_view *v)
{
    struct err e = { 0 };
    int rc = mng_rebind(r->m, r->now, &key, seg, number, v, &r->out, &e);

    mr_flush_mng(r);
    return rc;
}

static void shown(struct mr *r, seg_id seg, uint32_t number, const char *id)
{
    struct msg_device d = { seg, number, id };

    mng_begin(r->m, r->now, &r->out);
    rebind_take(r->m, &d);
    mng_end(r->m);
    mr_flush_mng(r);
}

/* Whose it is; "": nobody's yet; NULL: no line is about it. */
static const char *whose(const struct mr *r, seg_id seg, uint32_t number)
{
    static struct moved_ticket x;

    return moved_find(queue_find(r->m, "q")->moved, seg, number, &x) ? x.device : NULL;
}

static bool is_open(const struct mr *r, seg_id seg, uint32_t number)
{
    struct moved_ticket x;

    return moved_find(queue_find(r->m, "q")->moved, seg, number, &x) && x.open;
}

Test(mng_rebind, the_first_device_that_shows_it_has_it)
{
    struct mr *r = story(QUEUE);
    seg_id seg = r->ticket[1].seg;
    struct mng_rebind_view v;
    struct token t;

    shown(r, seg, 1, ONE);
    cr_expect_null(whose(r, seg, 1), "nobody has said so");
    cr_assert_eq(rebind(r, seg, 1, &v), 0);
    cr_expect_not(v.was_moved);
    cr_expect_eq(token_read(&t, &key, v.token, TOKEN_TEXT_LEN), TOKEN_BOUND);
    cr_expect(t.seg == seg && t.number == 1);
    cr_expect_str_eq(whose(r, seg, 1), "");
    shown(r, seg, 2, ONE);
    cr_expect_null(whose(r, seg, 2));
    shown(r, seg, 1, "short");
    cr_expect_str_eq(whose(r, seg, 1), "");
    mr_restart_manager(r);
    cr_expect_str_eq(whose(r, seg, 1), "", "the next manager knows it");
    shown(r, seg, 1, ONE);
    cr_expect_str_eq(whose(r, seg, 1), ONE);
    shown(r, seg, 1, OTHER);
    cr_expect_str_eq(whose(r, seg, 1), ONE, "once");
    mr_restart_manager(r);
    cr_expect_str_eq(whose(r, seg, 1), ONE);
    cr_assert_eq(rebind(r, seg, 1, &v), 0);
    cr_expect(v.was_moved);
    cr_expect_str_eq(whose(r, seg, 1), ONE, "it has it until another one comes");
    shown(r, seg, 1, ONE);
    cr_expect(is_open(r, seg, 1), "the one that has it takes nothing over");
    shown(r, seg, 1, OTHER);
    cr_expect_str_eq(whose(r, seg, 1), OTHER, "again, by the operator's word");
    cr_expect_not(is_open(r, seg, 1));
    mr_free(r);
}

Test(mng_rebind, nobody_comes_for_it_and_the_last_device_keeps_it)
{
    struct mr *r = story(QUEUE);
    struct mng_rebind_view v;
    seg_id seg = r->ticket[0].seg;

    cr_assert_eq(rebind(r, seg, 0, &v), 0);
    shown(r, seg, 0, ONE);
    cr_assert_eq(rebind(r, seg, 0, &v), 0);
    mr_run(r, REBIND_S * 1000 + 2000);
    cr_assert_eq(rebind(r, r->ticket[1].seg, 1, &v), 0, "lines that are over go");
    shown(r, seg, 0, OTHER);
    mr_restart_manager(r);
    cr_expect_str_eq(whose(r, seg, 0), ONE);
    mr_free(r);
}

Test(mng_rebind, it_is_open_for_some_minutes)
{
    struct mr *r = story(QUEUE);
    struct mng_rebind_view v;
    seg_id seg = r->ticket[0].seg;

    cr_assert_eq(rebind(r, seg, 0, &v), 0);
    mr_run(r, REBIND_S * 1000 + 2000);
    shown(r, seg, 0, ONE);
    cr_expect_str_eq(whose(r, seg, 0), "");
    mr_free(r);
}

Test(mng_rebind, what_cannot_be_is_refused)
{
    struct mr *r = story("{\"name\": \"q\"}");
    struct mng_rebind_view v;

    cr_expect_eq(rebind(r, r->ticket[0].seg, 0, &v), SQ_ECONFLICT, "its queue binds none");
    cr_expect_eq(rebind(r, 12345, 0, &v), SQ_EUNKNOWN);
    mr_free(r);
}

Test(mng_rebind, lines_have_a_bound_and_go_when_they_are_over)
{
    struct moved_ticket x = { .seg = 1, .until_s = 100, .open = true }, y;
    char *text = NULL;

    for (x.number = 0; x.number < MOVED_MAX; x.number++)
        cr_assert_eq(moved_put(&text, &x, 50), 0);
    cr_expect_eq(moved_put(&text, &x, 50), SQ_EFULL);
    cr_expect_leq(strlen(text), MOVED_TEXT_MAX);
    cr_expect(moved_find(text, 1, 7, &y) && y.number == 7 && y.device[0] == '\0');
    cr_expect_not(moved_find(text, 1, MOVED_MAX, &y));
    cr_expect_not(moved_find(text, 2, 7, &y));
    x.number = 7;
    strcpy(x.device, ONE);
    x.open = false;
    cr_assert_eq(moved_put(&text, &x, 50), 0, "in place of its own");
    cr_expect(moved_find(text, 1, 7, &y) && strcmp(y.device, ONE) == 0);
    x.until_s = 200;
    cr_assert_eq(moved_put(&text, &x, 100), 0);
    cr_expect_str_eq(text, "1-7 200 " ONE "\n");
    cr_expect_not(moved_find("", 1, 7, &y) || moved_find(NULL, 1, 7, &y) || moved_find("1-7 \n", 1, 7, &y));
    free(text);
}
