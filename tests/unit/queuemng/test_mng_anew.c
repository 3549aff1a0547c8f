/* test_mng_anew.c: a core that could not note down a step is begun anew; the peer whose messages do
 * this again and again is dropped. On a real service, with real links. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/process/manager.h"
#include "queuemng/service/service.h"
#include "queuemng/service/term.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/store/store.h"
#include "tests/lib/turn.h"

static struct world {
    struct ev *ev;
    struct mng_cfg cfg;
    struct mng_service *s;
    struct rpc *rpc; /* of a task node */
    struct rpc_link *link;
    unsigned ups, downs;
    char dir[64];
    char logged[65536];
} w;

static void capture(void *ctx, enum log_level level, const char *line)
{
    size_t n = strlen(w.logged);

    (void)ctx;
    (void)level;
    snprintf(w.logged + n, sizeof(w.logged) - n, "%s\n", line);
}

static void setup(void)
{
    char set[3][200];
    const char *sets[] = { set[0], set[1], set[2], "create_keys=true", "listen=127.0.0.1:0",
                           "admin=127.0.0.1:0" };
    struct err e = { 0 };

    log_set_sink(capture, NULL);
    cr_assert_eq(keys_init(&e), 0);
    snprintf(w.dir, sizeof(w.dir), "/tmp/segq-anew-XXXXXX");
    cr_assert_not_null(mkdtemp(w.dir));
    snprintf(set[0], sizeof(set[0]), "secret_file=%s/s", w.dir);
    snprintf(set[1], sizeof(set[1]), "admin_token_file=%s/t", w.dir);
    snprintf(set[2], sizeof(set[2]), "data_dir=%s/data", w.dir);
    cr_assert_eq(cfg_load(&w.cfg, sizeof(w.cfg), mng_keys, NULL, sets, ARRAY_LEN(sets), &e), 0, "%s",
                 e.text);
    cr_assert_eq(ev_new(&w.ev, &e), 0);
    cr_assert_eq(mng_service_new(&w.s, w.ev, &w.cfg, &e), 0, "%s", e.text);
}

static void teardown(void)
{
    char cmd[100];

    if (w.rpc != NULL)
        rpc_free(w.rpc);
    mng_service_free(w.s);
    ev_free(w.ev);
    cfg_clear(&w.cfg, mng_keys);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", w.dir);
    cr_expect_eq(system(cmd), 0);
}

TestSuite(anew, .init = setup, .fini = teardown);

static struct rpc_peer peer(const char *node)
{
    struct rpc_peer p = { .role = RPC_TASK };

    snprintf(p.node, sizeof(p.node), "%s", node);
    return p;
}

static uint64_t epoch(void)
{
    struct mng_counts c;

    mng_count(w.s->mng, &c);
    return c.epoch;
}

/* A step by this peer that the core cannot note down. */
static void fails_by(const char *node)
{
    struct rpc_peer p = peer(node);
    struct mng_out *o = mng_service_step_by(w.s, &p, MSG_TASK_REG);
    uint64_t before = epoch();

    o->box.failed = true;
    snprintf(o->why, sizeof(o->why), "the record task_node/%s cannot be written as JSON", node);
    UNTIL(epoch() > before);
}

static bool is_logged(const char *text)
{
    return strstr(w.logged, text) != NULL;
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *p)
{
    (void)ctx;
    (void)ch;
    (void)p;
    w.ups++;
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ctx;
    (void)ch;
    (void)why;
    w.downs++;
}

static void dial_as(const char *node)
{
    static const struct rpc_calls calls = { .on_up = on_up, .on_down = on_down };
    struct rpc_opts o = { .role = RPC_TASK, .node = node, .incarnation = 1,
                          .link_key = w.s->keys.link, .tls = &w.cfg.tls };
    struct err e = { 0 };

    cr_assert_eq(rpc_new(&w.rpc, w.ev, &o, &e), 0, "%s", e.text);
    w.link = rpc_dial(w.rpc, rpc_listen_addr(w.s->rpc), RPC_MANAGER, &calls, NULL);
    cr_assert_not_null(w.link);
}

Test(anew, the_log_says_why_and_by_which_peer)
{
    fails_by("t0");
    cr_expect(is_logged("event=core_anew why=\"the record task_node/t0 cannot be written as JSON\" "
                        "by=t0 role=task message=TASK_REG times=1"), "%s", w.logged);
    fails_by("t0");
    cr_expect(is_logged("times=2"));
    cr_expect_not(is_logged("event=peer_dropped"), "%s", w.logged);
    mng_service_step(w.s)->box.failed = true;
    UNTIL(is_logged("why=\"no memory\" by=- role=- message=- times=0"));
}

Test(anew, a_peer_that_did_it_three_times_is_dropped_and_others_are_not)
{
    fails_by("t0");
    fails_by("t1");
    fails_by("t0");
    fails_by("t0");
    cr_expect(is_logged("event=peer_dropped node=t0 role=task for_s=600"), "%s", w.logged);
    dial_as("t0");
    UNTIL(w.downs >= 2);
    cr_expect_eq(w.s->peers.n, 0);
    rpc_free(w.rpc);
    w.ups = 0;
    dial_as("t1");
    UNTIL(w.ups == 1 && w.s->peers.n == 1);
}

Test(anew, who_is_blamed_is_forgotten_in_time)
{
    static struct blame b;
    char node[NAME_MAX_LEN + 1];

    cr_expect_eq(blame_add(&b, RPC_TASK, "t0", 1000), 1);
    cr_expect_eq(blame_add(&b, RPC_TASK, "t0", 2000), 2);
    cr_expect_eq(blame_add(&b, RPC_SEGMENT, "t0", 2000), 1, "another process");
    cr_expect_eq(blame_add(&b, RPC_TASK, "t0", 1000 + BLAME_WITHIN_MS), 2);
    cr_expect_eq(blame_left_ms(&b, RPC_TASK, "t0", 1000 + BLAME_WITHIN_MS), 0);
    cr_expect_eq(blame_add(&b, RPC_TASK, "t0", 1001 + BLAME_WITHIN_MS), 3);
    cr_expect_eq(blame_left_ms(&b, RPC_TASK, "t0", 1001 + BLAME_WITHIN_MS), BLAME_DROP_MS);
    cr_expect_eq(blame_left_ms(&b, RPC_SEGMENT, "t0", 1001 + BLAME_WITHIN_MS), 0);
    cr_expect_eq(blame_left_ms(&b, RPC_TASK, "t0", 1001 + BLAME_WITHIN_MS + BLAME_DROP_MS), 0);
    for (int i = 0; i < 3 * BLAME_ROWS; i++) {
        snprintf(node, sizeof(node), "n%d", i);
        cr_expect_eq(blame_add(&b, RPC_ROUTER, node, 900000 + i), 1);
    }
    cr_expect_eq(blame_add(&b, RPC_TASK, "t0", 900100), 1, "its row was given to another");
}

static const struct store_ops *store_ops;
static msec_t loaded_ms;

/* A tick is late by five seconds: the first step after it, whichever it is, does not find nodes away. */
Test(anew, who_was_not_heard_while_the_manager_stood_still_is_not_silent)
{
    struct mnode *n = node_at(w.s->mng, 1);
    msec_t now = ev_now(w.ev);

    n->down_ms = now - 5100;
    w.s->mng->tick_due_ms = now - 5000;
    mng_out_reset(mng_service_step(w.s));
    cr_expect_eq(n->down_ms, now - 100);
    mng_out_reset(mng_service_step(w.s));
    cr_expect_eq(n->down_ms, now - 100, "once for each time");
    cr_expect(is_logged("event=stood_still ms=5000"), "%s", w.logged);
}

static int each_slowly(const struct store *s, kv_fn fn, void *ctx)
{
    int rc = store_ops->each(s, fn, ctx);
    int64_t end_us = ev_read_mono_us() + 50000;

    while (ev_read_mono_us() < end_us)
        ;
    loaded_ms = end_us / 1000;
    return rc;
}

/* Else a store that takes two seconds to read seals every tail, before any node has come back. */
Test(anew, nodes_are_silent_only_from_the_moment_on_at_which_all_is_loaded)
{
    struct store_ops slow = *w.s->store->ops;

    store_ops = w.s->store->ops;
    slow.each = each_slowly;
    w.s->store->ops = &slow;
    fails_by("t0");
    w.s->store->ops = store_ops;
    cr_assert_gt(loaded_ms, 0);
    cr_expect_geq(w.s->mng->started_ms, loaded_ms);
}
