/* test_rpc_backoff.c: links whose peer is not there: the tries become rarer, and those of
 * several links fall out of step. */
#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/log.h"
#include "common/net/rpc.h"
#include "tests/lib/quiet.h"

#define LINKS 4
#define TRIES 6

struct link {
    unsigned fails;
    msec_t at_ms; /* of the last of TRIES */
};

static struct ev *ev;
static struct link link[LINKS];

static void on_fail(void *ctx, const char *why)
{
    struct link *l = ctx;

    (void)why;
    if (++l->fails == TRIES)
        l->at_ms = ev_now(ev);
}

static bool all_tried(void)
{
    for (unsigned i = 0; i < LINKS; i++)
        if (link[i].fails < TRIES)
            return false;
    return true;
}

Test(rpc_backoff, tries_become_rarer_and_fall_out_of_step, .timeout = 200)
{
    static const uint8_t key[32] = { 1 };
    static const struct rpc_calls calls = { .on_fail = on_fail };
    struct rpc_opts o = { .role = RPC_ROUTER, .node = "rt", .link_key = key, .seed = 3 };
    msec_t begun, first = INT64_MAX, last = 0;
    struct rpc_link *l[LINKS];
    struct rpc *r;

    quiet_log();
    cr_assert_eq(ev_new(&ev, NULL), 0);
    cr_assert_eq(rpc_new(&r, ev, &o, NULL), 0);
    begun = ev_now(ev);
    for (unsigned i = 0; i < LINKS; i++) /* port 1: nobody listens there */
        l[i] = rpc_dial(r, "127.0.0.1:1", RPC_MANAGER, &calls, &link[i]);
    while (!all_tried() && ev_now(ev) - begun < 150000)
        ev_turn(ev, true);
    cr_assert(all_tried());
    for (unsigned i = 0; i < LINKS; i++) {
        first = ms_min(first, link[i].at_ms);
        last = ms_max(last, link[i].at_ms);
        rpc_link_free(l[i]);
    }
    /* half of 50, 100, 200, 400, 800 ms at least */
    cr_expect_geq(first - begun, 750, "after %lld ms", (long long)(first - begun));
    cr_expect_geq(last - first, 60, "within %lld ms", (long long)(last - first));
    rpc_free(r);
    ev_free(ev);
}
