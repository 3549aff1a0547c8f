/* test_rpc.c: two rpc instances in one loop over loopback, and raw sockets that
 * misbehave. The raw side has its own hello, written from PROTOCOL.md section 8. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"
#include "common/msg.h"
#include "common/net.h"
#include "common/rpc.h"

#define BEAT_MS 60
#define ECHO    100 /* frame types of these tests */
#define ANSWER  101

struct side {
    struct rpc *rpc;
    struct rpc_chan *ch; /* the newest */
    unsigned ups, downs, frames, fails;
    uint64_t next_rid; /* what must come next, if in_order */
    bool in_order, echo;
    size_t last_len;
    char why[128];
    struct rpc_peer peer;
};

static struct ev *ev;
static struct side srv, cli;
static uint8_t key[32] = { 1, 2, 3 };
static char logged[65536];

static void capture(void *ctx, enum log_level level, const char *line)
{
    size_t n = strlen(logged);

    (void)ctx;
    (void)level;
    snprintf(logged + n, sizeof(logged) - n, "%s\n", line);
}

static void setup(void)
{
    log_set_sink(capture, NULL);
    cr_assert_eq(ev_new(&ev, NULL), 0);
}

static void teardown(void)
{
    rpc_free(cli.rpc);
    rpc_free(srv.rpc);
    ev_free(ev);
}

TestSuite(rpc, .init = setup, .fini = teardown, .timeout = 60);

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct side *s = ctx;

    s->ups++;
    s->ch = ch;
    s->peer = *peer;
}

static void answer(struct rpc_chan *ch, const struct frame *f)
{
    buf_append(rpc_begin(ch), f->body, f->len);
    cr_assert_eq(rpc_end(ch, ANSWER, f->rid), 0);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct side *s = ctx;

    s->frames++;
    s->last_len = f->len;
    if (s->in_order)
        cr_assert_eq(f->rid, ++s->next_rid);
    if (s->echo)
        answer(ch, f);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct side *s = ctx;

    (void)ch;
    s->downs++;
    s->ch = NULL;
    snprintf(s->why, sizeof(s->why), "%s", why);
}

static void on_fail(void *ctx, const char *why)
{
    struct side *s = ctx;

    s->fails++;
    snprintf(s->why, sizeof(s->why), "%s", why);
}

static const struct rpc_calls calls = { on_up, on_frame, on_down, on_fail };

static const uint8_t *other_key; /* of the side that is started next */

static void start(struct side *s, enum rpc_role role, const char *node, const uint8_t *k,
                  size_t max_out)
{
    struct rpc_opts o = { .role = role,
                          .node = node,
                          .incarnation = 7,
                          .link_key = k,
                          .other_link_key = other_key,
                          .heartbeat_ms = BEAT_MS,
                          .max_output_bytes = max_out,
                          .seed = 1 };

    cr_assert_eq(rpc_new(&s->rpc, ev, &o, NULL), 0);
}

static void serve(unsigned roles)
{
    start(&srv, RPC_MANAGER, "mng-1", key, 0);
    cr_assert_eq(rpc_listen(srv.rpc, "127.0.0.1:0", roles, &calls, &srv, NULL), 0);
}

static struct rpc_link *dial(enum rpc_role role, const char *node, const uint8_t *k)
{
    start(&cli, role, node, k, 0);
    return rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &calls, &cli);
}

#define TURN_UNTIL(cond)                                                                 \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 15000;                                                \
        while (!(cond) && ev_now(ev) < end_)                                             \
            ev_turn(ev, true);                                                           \
        cr_assert(cond, "waited in vain; log:\n%s", logged);                             \
    } while (0)

static void send_n(struct rpc_chan *ch, uint64_t from, unsigned n, size_t len)
{
    uint8_t *body = calloc(1, len + 1);

    for (unsigned i = 0; i < n; i++) {
        buf_append(rpc_begin(ch), body, len);
        cr_assert_eq(rpc_end(ch, ECHO, from + i), 0);
    }
    free(body);
}

static void both_up(void)
{
    serve(1u << RPC_ROUTER);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(srv.ups == 1 && cli.ups == 1);
}

Test(rpc, good_hello)
{
    both_up();
    cr_expect_str_eq(srv.peer.node, "router-1");
    cr_expect_eq(srv.peer.role, RPC_ROUTER);
    cr_expect_eq(srv.peer.incarnation, 7u);
    cr_expect_eq(srv.peer.version, (unsigned)MSG_PROTOCOL_VERSION);
    cr_expect_str_eq(cli.peer.node, "mng-1");
    cr_expect_str_eq(cli.peer.addr, rpc_listen_addr(srv.rpc));
    cr_expect_eq(rpc_counts(srv.rpc)->accepted, 1u);
    cr_expect_eq(rpc_counts(cli.rpc)->dialled, 1u);
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

Test(rpc, wrong_key_is_refused_by_both)
{
    uint8_t other[32] = { 9 };

    serve(1u << RPC_ROUTER);
    dial(RPC_ROUTER, "router-1", other);
    TURN_UNTIL(cli.fails > 0 && rpc_counts(srv.rpc)->refused > 0);
    cr_expect_eq(srv.ups + cli.ups, 0u);
    cr_expect_str_eq(cli.why, "it does not know the link key");
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

Test(rpc, role_that_is_not_allowed)
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

Test(rpc, what_a_late_hook_sends_still_leaves)
{
    both_up();
    cr_assert_eq(ev_hook(ev, RPC_HOOK_LAST + 1, send_on, cli.ch), 0);
    ev_turn(ev, false);
    ev_unhook(ev, send_on, cli.ch);
    TURN_UNTIL(srv.frames >= 1);
}

/* ---- raw peers ---- */

static int raw_connect(void)
{
    struct net_addr a;
    struct pollfd p = { .events = POLLOUT };

    cr_assert_eq(net_parse(&a, rpc_listen_addr(srv.rpc), NULL), 0);
    p.fd = net_connect(&a, NULL);
    cr_assert_geq(p.fd, 0);
    cr_assert_eq(poll(&p, 1, 5000), 1);
    return p.fd;
}

static void raw_send(int fd, uint16_t type, const void *body, size_t n)
{
    uint8_t b[512];

    frame_header(b, type, 0, 0, (uint32_t)n);
    memcpy(b + FRAME_HEADER_BYTES, body, n);
    cr_assert_eq(write(fd, b, FRAME_HEADER_BYTES + n), (ssize_t)(FRAME_HEADER_BYTES + n));
}

static void raw_read(int fd, uint8_t *out, size_t n)
{
    size_t have = 0;

    TURN_UNTIL(({
        ssize_t k = read(fd, out + have, n - have);
        have += k > 0 ? (size_t)k : 0;
        have == n;
    }));
}

static bool raw_eof(int fd)
{
    uint8_t b[4096];
    ssize_t n;

    while ((n = read(fd, b, sizeof(b))) > 0)
        ;
    return n == 0 || errno == ECONNRESET;
}

static size_t raw_hello(uint8_t out[52 + NAME_MAX_LEN], uint8_t role, const char *node)
{
    size_t n = strlen(node);

    memset(out, 0, 52);
    out[0] = MSG_PROTOCOL_VERSION;
    out[4] = role;
    out[5] = (uint8_t)n;
    out[8] = 3; /* incarnation */
    out[16] = BEAT_MS;
    memset(out + 20, 0xa5, 32); /* nonce */
    memcpy(out + 52, node, n);
    return 52 + n;
}

#define CHALLENGE_BYTES (52 + 5) /* from "mng-1", without the MAC */

static void raw_proof(uint8_t out[32], const uint8_t *hello, size_t n,
                      const uint8_t *challenge)
{
    crypto_generichash_state st;

    crypto_generichash_init(&st, key, 32, 32);
    crypto_generichash_update(&st, (const uint8_t *)"segq-link-1 dialler", 20);
    crypto_generichash_update(&st, hello, n);
    crypto_generichash_update(&st, challenge, CHALLENGE_BYTES);
    crypto_generichash_final(&st, out, 32);
}

/* HELLO out, CHALLENGE in; the answer to it in proof. */
static int raw_challenged(uint8_t proof[32])
{
    uint8_t hello[52 + NAME_MAX_LEN], in[FRAME_HEADER_BYTES + CHALLENGE_BYTES + 32];
    size_t n = raw_hello(hello, RPC_ROUTER, "raw");
    int fd = raw_connect();

    raw_send(fd, MSG_HELLO, hello, n);
    raw_read(fd, in, sizeof(in));
    cr_assert_eq(in[6], MSG_CHALLENGE);
    raw_proof(proof, hello, n, in + FRAME_HEADER_BYTES);
    return fd;
}

Test(rpc, the_documented_hello_works_and_cannot_be_replayed)
{
    uint8_t proof[32], other[32], welcome[FRAME_HEADER_BYTES];
    int a, b;

    serve(1u << RPC_ROUTER);
    a = raw_challenged(proof);
    raw_send(a, MSG_PROOF, proof, sizeof(proof));
    raw_read(a, welcome, sizeof(welcome));
    cr_expect_eq(welcome[6], MSG_WELCOME);
    cr_expect_eq(srv.ups, 1u);
    b = raw_challenged(other);
    cr_expect_neq(memcmp(proof, other, 32), 0);
    raw_send(b, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(raw_eof(b));
    cr_expect_eq(srv.ups, 1u);
    cr_expect_neq(strstr(logged, "does not know the link key"), NULL);
    close(a);
    close(b);
}

static void expect_refused(const void *bytes, size_t n, const char *why)
{
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_connect();
    cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
    TURN_UNTIL(raw_eof(fd));
    cr_expect_neq(strstr(logged, why), NULL, "%s", logged);
    cr_expect_eq(rpc_counts(srv.rpc)->refused, 1u);
    cr_expect_eq(strchr(logged, '\n')[1], '\0', "one line: %s", logged);
    close(fd);
}

Test(rpc, garbage_closes)
{
    expect_refused("GET / HTTP/1.1\r\n\r\n", 18, "not our frames");
}

Test(rpc, other_frame_version_closes)
{
    expect_refused("\4\0\0\0\2", 5, "not our frames (version byte 2)");
}

Test(rpc, big_frame_before_the_hello_closes_at_its_length)
{
    expect_refused("\1\4\0\0", 4, "frame of 1025 bytes");
}

Test(rpc, another_frame_than_hello_closes)
{
    static const uint8_t ping[16] = { 0, 0, 0, 0, 1, 0, MSG_PING };

    expect_refused(ping, sizeof(ping), "unexpected frame of type 5");
}

Test(rpc, broken_hello_closes)
{
    uint8_t b[16 + 52 + NAME_MAX_LEN];
    size_t n = raw_hello(b + 16, RPC_ROUTER, "raw");

    b[16 + 5] = 4; /* the name is shorter than it says */
    frame_header(b, MSG_HELLO, 0, 0, (uint32_t)n);
    expect_refused(b, 16 + n, "bad hello");
}

Test(rpc, oversize_after_the_hello_is_refused_before_allocation)
{
    uint8_t proof[32], h[FRAME_HEADER_BYTES];
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_challenged(proof);
    raw_send(fd, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(srv.ups == 1);
    frame_header(h, ECHO, 0, 1, FRAME_MAX_BODY + 1);
    cr_assert_eq(write(fd, h, 4), 4);
    TURN_UNTIL(srv.downs == 1);
    cr_expect_neq(strstr(srv.why, "above the limit"), NULL, "%s", srv.why);
    close(fd);
}

Test(rpc, silent_after_the_hello_is_found_dead)
{
    uint8_t proof[32];
    msec_t up;
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_challenged(proof);
    raw_send(fd, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(srv.ups == 1);
    up = ev_now(ev);
    TURN_UNTIL(srv.downs == 1);
    cr_expect_neq(strstr(srv.why, "silent for"), NULL, "%s", srv.why);
    cr_expect_geq(ev_now(ev) - up, 3 * BEAT_MS - 5);
    close(fd);
}

Test(rpc, silent_before_the_hello_is_given_up)
{
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_connect();
    TURN_UNTIL(raw_eof(fd));
    cr_expect_neq(strstr(logged, "hello timed out"), NULL, "%s", logged);
    close(fd);
}

Test(rpc, acceptor_that_never_answers_is_given_up)
{
    int lfd = net_listen("127.0.0.1:0", false, 4, NULL);
    char addr[NET_TEXT_MAX];

    net_local_text(lfd, addr);
    start(&cli, RPC_ROUTER, "router-1", key, 0);
    rpc_dial(cli.rpc, addr, RPC_MANAGER, &calls, &cli);
    TURN_UNTIL(cli.fails == 1);
    cr_expect_str_eq(cli.why, "hello timed out");
    close(lfd);
}

Test(rpc, a_pause_of_ours_is_not_their_silence)
{
    both_up();
    cr_assert_eq(usleep(10 * BEAT_MS * 1000), 0); /* what SIGSTOP does to us */
    TURN_UNTIL(rpc_counts(srv.rpc)->frames_in > 5);
    cr_expect_eq(srv.downs + cli.downs, 0u);
}

Test(rpc, slow_reader_is_closed_at_the_bound)
{
    uint8_t proof[32];
    unsigned sent = 0;
    int fd;

    start(&srv, RPC_MANAGER, "mng-1", key, 256 << 10);
    cr_assert_eq(rpc_listen(srv.rpc, "127.0.0.1:0", 1u << RPC_ROUTER, &calls, &srv, NULL),
                 0);
    fd = raw_challenged(proof);
    raw_send(fd, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(srv.ups == 1);
    while (srv.ch != NULL && sent < 4000) { /* it reads nothing */
        send_n(srv.ch, ++sent, 1, 32 << 10);
        cr_assert_leq(rpc_chan_pending(srv.ch), (size_t)(300 << 10));
        ev_turn(ev, false);
    }
    cr_expect_eq(srv.downs, 1u);
    cr_expect_neq(strstr(srv.why, "peer too slow"), NULL, "%s", srv.why);
    close(fd);
}

Test(rpc, strangers_are_counted)
{
    int fd[300];

    serve(1u << RPC_ROUTER);
    for (int i = 0; i < 300; i++)
        fd[i] = raw_connect();
    TURN_UNTIL(rpc_counts(srv.rpc)->refused >= 300 - 256);
    cr_expect_neq(strstr(logged, "hellos are open"), NULL);
    for (int i = 0; i < 300; i++)
        close(fd[i]);
    TURN_UNTIL(rpc_counts(srv.rpc)->refused == 300);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1);
}

Test(rpc, no_descriptors_left_pauses_accepting)
{
    struct rlimit was, low;
    int fd, spare;

    serve(1u << RPC_ROUTER);
    fd = raw_connect();
    spare = dup(fd); /* the next free one */
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    low = was;
    low.rlim_cur = (rlim_t)spare;
    close(spare);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    TURN_UNTIL(strstr(logged, "accept paused") != NULL);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1 && srv.ups == 1);
    close(fd);
}
