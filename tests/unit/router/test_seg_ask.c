/* test_seg_ask.c: requests are collected for a segment node, and nobody is called back. */
#include "router/links/flows.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>

#define N (2 * MSG_BATCH_MAX + 1)

static struct router r;
static struct seg_links s = { .r = &r };
static struct seg_link link;
static struct rflow rf[N];

static void setup(void)
{
    struct err e = { 0 };

    cr_assert_eq(ev_new(&r.ev, &e), 0);
    list_init(&s.free_batches);
    map_init(&s.nodes.by_no, 0);
    link = (struct seg_link) { .s = &s, .n.no = 7 };
    for (int i = 0; i < SEG_KINDS; i++) {
        list_init(&link.kind[i].open);
        list_init(&link.kind[i].sent);
    }
    cr_assert_eq(map_set_ptr(&s.nodes.by_no, 7, &link), 0);
    for (int i = 0; i < N; i++)
        rf[i] = (struct rflow) { .flow = { .asks = FLOW_POLL, .node = 7 } };
}

static void teardown(void)
{
    list_each (&link.kind[FLOW_POLL].open, it)
        free(container_of(it, struct batch, in_list));
    map_fini(&s.nodes.by_no);
    ev_free(r.ev);
}

TestSuite(seg_ask, .init = setup, .fini = teardown);

/* The channel is none: whoever would write to it, or tell a flow that it is lost, crashes. */
Test(seg_ask, full_batches_wait_for_the_end_of_the_turn)
{
    const struct list *open = &link.kind[FLOW_POLL].open;

    link.n.ch = (struct rpc_chan *)&link;
    for (int i = 0; i < N; i++)
        cr_assert_eq(seg_link_ask(&s, &rf[i]), 0, "%d", i);
    cr_expect_eq(open->n, 3);
    cr_expect_eq(container_of(list_first(open), struct batch, in_list)->n, MSG_BATCH_MAX);
    cr_expect_eq(container_of(list_last(open), struct batch, in_list)->n, 1);
    cr_expect_eq(link.kind[FLOW_POLL].sent.n, 0);
    cr_expect_eq(r.counts.batches, 0);
    for (int i = 0; i < N; i++) {
        cr_expect_eq(*rf[i].slot, &rf[i], "%d", i);
        cr_expect_eq(rf[i].flow.todo, FLOW_ASK);
    }
}

Test(seg_ask, a_node_that_is_dialled_has_one_batch_waiting)
{
    for (int i = 0; i < MSG_BATCH_MAX; i++)
        cr_assert_eq(seg_link_ask(&s, &rf[i]), 0, "%d", i);
    cr_expect_eq(seg_link_ask(&s, &rf[MSG_BATCH_MAX]), SQ_EUNAVAIL);
    cr_expect_eq(link.kind[FLOW_POLL].open.n, 1);
}

Test(seg_ask, a_node_that_failed_or_is_unknown_is_not_asked)
{
    link.n.failed = true;
    cr_expect_eq(seg_link_ask(&s, &rf[0]), SQ_EUNAVAIL);
    rf[0].flow.node = 8;
    cr_expect_eq(seg_link_ask(&s, &rf[0]), SQ_EUNAVAIL);
    cr_expect_null(rf[0].slot);
}
