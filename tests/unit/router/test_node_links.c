/* test_node_links.c: links to the nodes of a map come and go with it. Nobody lives at the
 * addresses. */
#include "router/state/node_links.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/log.h"

struct my_link {
    struct node_link n;
    int inited;
};

static struct router r;
static struct node_links links;
static unsigned losses, removals;

static void on_init(struct node_link *n)
{
    container_of(n, struct my_link, n)->inited = 1;
}

static void on_up(struct node_link *n)
{
    cr_assert_fail("%s cannot be up", n->name);
}

static int on_msg(struct node_link *n, const struct msg *m, uint64_t rid)
{
    (void)m;
    (void)rid;
    cr_assert_fail("%s says nothing", n->name);
    return 0;
}

static bool on_refused(struct node_link *n, const struct msg_error *m, uint64_t rid)
{
    return on_msg(n, NULL, rid) == 0 && m != NULL;
}

/* Who is told asks again, perhaps at once: not there any more. */
static void on_lost(struct node_link *n, bool was_up)
{
    losses++;
    cr_expect_not(was_up);
    cr_expect_null(node_links_reach(&links, n->no));
}

static void on_removed(struct router *of, node_no no)
{
    cr_expect_eq(of, &r);
    cr_expect_null(map_get_ptr(&links.by_no, no));
    removals++;
}

static const struct node_links_kind kind = {
    .role = RPC_SEGMENT, .size = sizeof(struct my_link), .init = on_init, .up = on_up,
    .msg = on_msg, .refused = on_refused, .lost = on_lost, .removed = on_removed,
};

static void setup(void)
{
    static const uint8_t key[32] = { 1 };
    struct rpc_opts o = { .role = RPC_ROUTER, .node = "r1", .link_key = key };

    log_set_level(LOG_ERROR);
    cr_assert_eq(ev_new(&r.ev, NULL), 0);
    cr_assert_eq(rpc_new(&r.rpc, r.ev, &o, NULL), 0);
    arena_init(&r.arena);
    node_links_init(&links, &r, &kind);
    node_links_begin(&links);
    node_links_want(&links, 1, "a", "127.0.0.1:1");
    node_links_want(&links, 2, "b", "127.0.0.1:2");
    node_links_end(&links);
}

static void teardown(void)
{
    node_links_free(&links);
    rpc_free(r.rpc);
    ev_free(r.ev);
}

TestSuite(node_links, .init = setup, .fini = teardown);

Test(node_links, a_node_that_is_dialled_may_be_asked_until_that_fails)
{
    struct my_link *l = node_links_reach(&links, 1);
    msec_t end = ev_now(r.ev) + 10000;

    cr_assert_not_null(l);
    cr_expect_eq(l->inited, 1);
    cr_expect_null(node_links_reach(&links, 3));
    while (!l->n.failed && ev_now(r.ev) < end)
        ev_turn(r.ev, true);
    cr_expect_null(node_links_reach(&links, 1));
    cr_expect_geq(losses, 1);
}

Test(node_links, what_stays_in_the_map_keeps_its_link)
{
    struct my_link *a = node_links_reach(&links, 1);
    size_t up, of;

    node_links_begin(&links);
    node_links_want(&links, 1, "a", "127.0.0.1:1");
    node_links_end(&links);
    cr_expect_eq(node_links_reach(&links, 1), a);
    cr_expect_null(node_links_reach(&links, 2));
    cr_expect_eq(losses, 1, "what was asked of b");
    cr_expect_eq(removals, 1);
    node_links_count(&links, &up, &of);
    cr_expect_eq(up, 0);
    cr_expect_eq(of, 1);
}

Test(node_links, a_node_with_another_address_or_name_is_dialled_anew)
{
    node_links_begin(&links);
    node_links_want(&links, 1, "a", "127.0.0.1:3");
    node_links_want(&links, 2, "c", "127.0.0.1:2");
    node_links_end(&links);
    cr_expect_eq(losses, 2);
    cr_expect_str_eq(((struct my_link *)node_links_reach(&links, 1))->n.addr, "127.0.0.1:3");
    cr_expect_str_eq(((struct my_link *)node_links_reach(&links, 2))->n.name, "c");
}
