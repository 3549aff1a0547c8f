/* test_rpc.c: two rpc instances in one loop over loopback. */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/versions.h"
#include "tests/lib/rpcrig.h"

TestSuite(rpc, .init = setup, .fini = teardown, .timeout = 200);

Test(rpc, good_hello)
{
    both_up();
    cr_expect_str_eq(srv.peer.node, "router-1");
    cr_expect_eq(srv.peer.role, RPC_ROUTER);
    cr_expect_eq(srv.peer.incarnation, 7u);
    cr_expect_eq(srv.peer.version, (unsigned)PROTOCOL_VERSION);
    cr_expect_eq(srv.peer.speaks, (unsigned)PROTOCOL_VERSION);
    cr_expect_str_eq(cli.peer.node, "mng-1");
    cr_expect_str_eq(cli.peer.addr, rpc_listen_addr(srv.rpc));
    cr_expect_eq(rpc_counts(srv.rpc)->accepted, 1u);
    cr_expect_eq(rpc_counts(cli.rpc)->dialled, 1u);
}

Test(rpc, a_close_writes_what_the_kernel_takes)
{
    both_up();
    send_n(cli.ch, 1, 3, 200 << 10);
    rpc_chan_close(cli.ch, "enough");
    TURN_UNTIL(srv.downs == 1);
    cr_expect_eq(srv.frames, 3u);
}

Test(rpc, heartbeats_keep_a_quiet_link)
{
    msec_t end;

    both_up();
    end = ev_now(ev) + 6 * BEAT_MS;
    TURN_UNTIL(ev_now(ev) > end);
    cr_expect_eq(srv.downs + cli.downs, 0u);
    cr_expect_geq(rpc_counts(srv.rpc)->frames_in, 4u);
}

static void wrong_key(enum tls_mode mode, const char *why)
{
    uint8_t other[32] = { 9 };

    tls.mode = mode;
    serve(1u << RPC_ROUTER);
    dial(RPC_ROUTER, "router-1", other);
    TURN_UNTIL(cli.fails > 0 && rpc_counts(srv.rpc)->refused > 0);
    cr_expect_eq(srv.ups + cli.ups, 0u);
    cr_expect_eq(strncmp(cli.why, why, strlen(why)), 0, "%s", cli.why);
}

Test(rpc, wrong_key_is_refused_by_both)
{
    wrong_key(TLS_OFF, "it does not know the link key");
}

Test(rpc, wrong_key_is_refused_by_both_in_the_handshake)
{
    wrong_key(TLS_REQUIRE, "TLS: no handshake with our link key");
}

/* From plain to encrypted: each process first accepts both, then requires it. */
static void modes_meet(enum tls_mode server, enum tls_mode client, bool well, unsigned plain)
{
    setup();
    tls.mode = server;
    serve(1u << RPC_ROUTER);
    tls.mode = client;
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.fails > 3 || (cli.ups > 0 && srv.ups > 0));
    cr_expect_eq(cli.ups == 1 && srv.ups == 1, well, "%d, %d: %s", server, client, cli.why);
    cr_expect_eq(rpc_counts(cli.rpc)->plain, plain, "%d, %d", server, client);
    cr_expect_eq(rpc_counts(srv.rpc)->plain, plain, "%d, %d", server, client);
    teardown();
    memset(&cli, 0, sizeof(cli));
    memset(&srv, 0, sizeof(srv));
}

Test(rpc_tls, neighbours_in_time_understand_each_other)
{
    modes_meet(TLS_OFF, TLS_OFF, true, 1);
    modes_meet(TLS_OFF, TLS_ACCEPT, true, 1);
    modes_meet(TLS_ACCEPT, TLS_OFF, true, 1);
    modes_meet(TLS_ACCEPT, TLS_ACCEPT, true, 0);
    modes_meet(TLS_ACCEPT, TLS_REQUIRE, true, 0);
    modes_meet(TLS_REQUIRE, TLS_ACCEPT, true, 0);
    modes_meet(TLS_REQUIRE, TLS_REQUIRE, true, 0);
    modes_meet(TLS_OFF, TLS_REQUIRE, false, 0);
    modes_meet(TLS_REQUIRE, TLS_OFF, false, 0);
}

/* A peer that was away is dialled with TLS again, though the last link was plain. */
Test(rpc, tls_is_tried_again_after_a_plain_link)
{
    char addr[NET_TEXT_MAX];

    tls.mode = TLS_OFF;
    serve(1u << RPC_ROUTER);
    snprintf(addr, sizeof(addr), "%s", rpc_listen_addr(srv.rpc));
    tls.mode = TLS_ACCEPT;
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1);
    rpc_free(srv.rpc);
    srv.rpc = NULL;
    TURN_UNTIL(cli.downs == 1);
    tls.mode = TLS_REQUIRE;
    start(&srv, RPC_MANAGER, "mng-1", key, 0);
    cr_assert_eq(rpc_listen(srv.rpc, addr, 1u << RPC_ROUTER, &calls, &srv, NULL), 0);
    TURN_UNTIL(cli.ups == 2);
    cr_expect_eq(rpc_counts(srv.rpc)->plain, 0u);
}

/* While the secret is changed everybody has old (a), old and new (ab), new and old (ba),
 * or new (b) alone; one step at a time, so that these meet: */
static void meets(const uint8_t *server, const uint8_t *server_other,
                  const uint8_t *client, const uint8_t *client_other, bool well)
{
    setup();
    other_key = server_other;
    start(&srv, RPC_MANAGER, "mng-1", server, 0);
    cr_assert_eq(rpc_listen(srv.rpc, "127.0.0.1:0", 1u << RPC_ROUTER, &calls, &srv, NULL), 0);
    other_key = client_other;
    dial(RPC_ROUTER, "router-1", client);
    TURN_UNTIL(cli.fails > 0 || (cli.ups > 0 && srv.ups > 0));
    cr_expect_eq(cli.ups == 1 && srv.ups == 1, well);
    teardown();
    memset(&cli, 0, sizeof(cli));
    memset(&srv, 0, sizeof(srv));
}

Test(rpc_rotation, neighbours_in_time_understand_each_other)
{
    static const uint8_t a[32] = { 1 }, b[32] = { 2 };

    meets(a, NULL, a, b, true);
    meets(a, b, a, NULL, true);
    meets(a, b, b, a, true);
    meets(b, a, a, b, true);
    meets(b, a, b, NULL, true);
    meets(b, NULL, b, a, true);
    meets(a, b, a, b, true);
    meets(a, NULL, b, NULL, false);
    meets(b, a, a, NULL, false); /* a step was left out: it proves itself with b */
}

Test(rpc, a_forbidden_role_is_refused)
{
    serve(1u << RPC_SEGMENT);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.fails > 0);
    cr_expect_eq(srv.ups + cli.ups, 0u);
    cr_expect_neq(strstr(logged, "role router is not allowed here"), NULL, "%s", logged);
}

Test(rpc, acceptor_of_another_role_than_dialled)
{
    serve(1u << RPC_ROUTER);
    start(&cli, RPC_ROUTER, "router-1", key, 0);
    rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_SEGMENT, &calls, &cli);
    TURN_UNTIL(cli.fails > 0);
    cr_expect_str_eq(cli.why, "role manager is not allowed here");
    cr_expect_eq(srv.ups, 0u);
}

Test(rpc, our_own_name_is_refused)
{
    serve(1u << RPC_MANAGER);
    dial(RPC_MANAGER, "mng-1", key);
    TURN_UNTIL(cli.fails > 0);
    cr_expect_eq(srv.ups + cli.ups, 0u);
    cr_expect_neq(strstr(logged, "our own name"), NULL, "%s", logged);
}

Test(rpc, the_same_name_twice_replaces_nothing)
{
    struct side other = { 0 };

    both_up();
    start(&other, RPC_ROUTER, "router-1", key, 0);
    rpc_dial(other.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &calls, &other);
    TURN_UNTIL(other.ups == 1 && srv.ups == 2);
    cr_expect_eq(srv.downs + cli.downs, 0u);
    rpc_free(other.rpc);
}

Test(rpc, ten_thousand_echoes_in_order_and_few_writes)
{
    both_up();
    srv.echo = srv.in_order = cli.in_order = true;
    send_n(cli.ch, 1, 10000, 20);
    TURN_UNTIL(cli.frames == 10000);
    cr_expect_eq(srv.frames, 10000u);
    cr_expect_lt(rpc_counts(cli.rpc)->writes, 100u);
    cr_expect_lt(rpc_counts(srv.rpc)->writes, 200u);
}

Test(rpc, largest_frame_and_one_byte_more)
{
    struct buf *b;

    both_up();
    srv.echo = true;
    send_n(cli.ch, 1, 1, FRAME_MAX_BODY);
    b = rpc_begin(cli.ch);
    cr_assert_neq(buf_reserve(b, FRAME_MAX_BODY + 1), NULL);
    memset(b->data + b->len, 0, FRAME_MAX_BODY + 1);
    b->len += FRAME_MAX_BODY + 1;
    cr_expect_eq(rpc_end(cli.ch, ECHO, 2), SQ_ETOOBIG);
    send_n(cli.ch, 3, 1, 5);
    TURN_UNTIL(cli.frames == 2);
    cr_expect_eq(cli.last_len, 5u);
    cr_expect_eq(srv.frames, 2u, "the oversized one was taken back");
}

Test(rpc, nothing_is_sent_of_a_message_that_cannot_be_encoded)
{
    static struct place_req many[MSG_BATCH_MAX + 1];
    struct msg m = { .type = MSG_PLACE, .place = { MSG_BATCH_MAX + 1, many } };
    size_t before;

    both_up();
    before = rpc_chan_pending(cli.ch);
    cr_expect_eq(rpc_send(cli.ch, &m, 7), SQ_ETOOBIG);
    cr_expect_eq(rpc_chan_pending(cli.ch), before, "not even a header");
    srv.echo = true;
    send_n(cli.ch, 1, 1, 5);
    TURN_UNTIL(cli.frames == 1);
    cr_expect_eq(srv.frames, 1u);
}

Test(rpc, reconnects_when_the_listener_comes_back)
{
    struct rpc_link *l;
    char addr[NET_TEXT_MAX];

    serve(1u << RPC_ROUTER);
    snprintf(addr, sizeof(addr), "%s", rpc_listen_addr(srv.rpc));
    l = dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1);
    cr_expect_eq(rpc_link_chan(l), cli.ch);
    rpc_free(srv.rpc);
    srv.rpc = NULL;
    TURN_UNTIL(cli.downs == 1 && cli.fails >= 2);
    cr_expect_eq(rpc_link_chan(l), NULL);
    start(&srv, RPC_MANAGER, "mng-1", key, 0);
    cr_assert_eq(rpc_listen(srv.rpc, addr, 1u << RPC_ROUTER, &calls, &srv, NULL), 0);
    TURN_UNTIL(cli.ups == 2);
}

Test(rpc, a_name_is_dialled_too)
{
    char addr[NET_TEXT_MAX];

    serve(1u << RPC_ROUTER);
    snprintf(addr, sizeof(addr), "localhost%s", strchr(rpc_listen_addr(srv.rpc), ':'));
    start(&cli, RPC_ROUTER, "router-1", key, 0);
    rpc_dial(cli.rpc, addr, RPC_MANAGER, &calls, &cli);
    TURN_UNTIL(cli.ups == 1 || cli.fails > 0);
    cr_expect_eq(cli.ups, 1u, "%s", cli.why);
}

Test(rpc, close_flushes_and_tells_both)
{
    both_up();
    send_n(cli.ch, 1, 3, 10);
    rpc_chan_close(cli.ch, "enough");
    cr_expect_eq(cli.downs, 0u, "down is never told from inside close");
    TURN_UNTIL(cli.downs == 1 && srv.downs == 1);
    cr_expect_str_eq(cli.why, "enough");
    cr_expect_str_eq(srv.why, "closed by the peer");
    cr_expect_eq(srv.frames, 3u);
}

Test(rpc, a_freed_link_is_silent)
{
    struct rpc_link *l;

    serve(1u << RPC_ROUTER);
    l = dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1 && srv.ups == 1);
    rpc_link_free(l);
    TURN_UNTIL(srv.downs == 1);
    cr_expect_eq(cli.downs, 0u);
}

static void free_link(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ch;
    (void)why;
    rpc_link_free(ctx);
    cli.downs++;
}

Test(rpc, a_link_may_be_freed_in_on_down)
{
    struct rpc_calls c = { .on_up = NULL, .on_down = free_link };
    struct rpc_link *l;

    serve(1u << RPC_ROUTER);
    start(&cli, RPC_ROUTER, "router-1", key, 0);
    l = rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &c, NULL);
    rpc_link_free(l);
    l = rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &c, &cli);
    rpc_link_free(l); /* before it dialled */
    c.on_down = on_down;
    c.on_up = on_up;
    rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &c, &cli);
    TURN_UNTIL(srv.ups == 1 && cli.ups == 1);
}

static struct rpc_link *suicidal;

static void free_suicidal(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ctx;
    free_link(suicidal, ch, why);
}

Test(rpc, on_down_frees_its_link)
{
    struct rpc_calls c = { .on_down = free_suicidal };

    serve(1u << RPC_ROUTER);
    start(&cli, RPC_ROUTER, "router-1", key, 0);
    suicidal = rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &c, &cli);
    TURN_UNTIL(srv.ups == 1);
    TURN_UNTIL(rpc_counts(cli.rpc)->dialled == 1);
    rpc_chan_close(srv.ch, "bye");
    TURN_UNTIL(cli.downs == 1);
    cr_expect_eq(rpc_counts(cli.rpc)->closed, 1u);
}

static void send_on(void *ctx)
{
    send_n(ctx, 9, 1, 4);
}

static unsigned glances; /* turns that did not wait */

/* In place of the C library's; a loop that waits calls epoll_pwait2(), or has a time to wait. */
int epoll_wait(int epfd, struct epoll_event *v, int n, int ms)
{
    glances += ms == 0;
    return (int)syscall(SYS_epoll_pwait, epfd, v, n, ms, NULL, 8);
}

Test(rpc, messages_of_a_late_hook_are_sent)
{
    both_up();
    cr_assert_eq(ev_hook(ev, RPC_HOOK_LAST + 1, send_on, cli.ch), 0);
    ev_turn(ev, false);
    ev_unhook(ev, send_on, cli.ch);
    glances = 0;
    ev_turn(ev, true);
    cr_expect_eq(glances, 1u, "it does not wait for anything else");
    TURN_UNTIL(srv.frames >= 1);
}

static bool says;

static void say_once(void *ctx)
{
    if (says)
        send_n(ctx, 9, 1, 4);
    says = false;
}

/* What hooks say is written in the same turn, so the next one waits: each turn of a busy process had a
 * second one behind it, with all its hooks, for nothing. */
Test(rpc, messages_of_hooks_cost_no_turn_of_their_own)
{
    both_up();
    cr_assert_eq(ev_hook(ev, 0, say_once, cli.ch), 0);
    for (unsigned i = 0; i < 10; i++)
        ev_turn(ev, false); /* what both_up() had left */
    says = true;
    glances = 0;
    ev_turn(ev, false);
    cr_expect_eq(glances, 1u);
    TURN_UNTIL(srv.frames == 1);
    cr_expect_eq(glances, 1u);
    ev_unhook(ev, say_once, cli.ch);
}
