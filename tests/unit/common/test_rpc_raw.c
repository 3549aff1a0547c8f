/* test_rpc_raw.c: raw sockets that misbehave against an rpc instance. The raw side has its
 * own hello, written from PROTOCOL.md section 8. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/versions.h"
#include "common/net/tls.h"
#include "tests/lib/certrig.h"
#include "tests/lib/rpcrig.h"

static void plain_setup(void)
{
    tls.mode = TLS_OFF;
    setup();
}

TestSuite(rpc_raw, .init = plain_setup, .fini = teardown, .timeout = 200);

static int raw_connect(void)
{
    struct net_addr a;
    struct pollfd p = { .events = POLLOUT };

    cr_assert_eq(net_parse(&a, rpc_listen_addr(srv.rpc), NULL), 0);
    p.fd = net_connect(&a, NULL);
    cr_assert_geq(p.fd, 0);
    cr_assert_eq(poll(&p, 1, 60000), 1);
    return p.fd;
}

static int raw_connect_from(const char *ip)
{
    struct sockaddr_in from = { .sin_family = AF_INET };
    struct net_addr a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(inet_pton(AF_INET, ip, &from.sin_addr), 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    cr_assert_eq(net_parse(&a, rpc_listen_addr(srv.rpc), NULL), 0);
    cr_assert_eq(connect(fd, &a.sa, a.len), 0);
    cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static struct tls *raw_tls; /* of the raw side, if tls.mode is not off */

static void raw_shake(int fd)
{
    struct tls_ctx *c = NULL;

    cr_assert_eq(tls_ctx_keys(&c, key, NULL, NULL), 0);
    raw_tls = tls_new(c, fd, "127.0.0.1", 0);
    cr_assert_not_null(raw_tls);
    TURN_UNTIL(tls_handshake(raw_tls, NULL) == 1);
    tls_ctx_free(c);
}

static void raw_send(int fd, uint16_t type, const void *body, size_t n)
{
    uint8_t b[512];
    size_t all = FRAME_HEADER_BYTES + n;

    frame_header(b, type, 0, 0, (uint32_t)n);
    memcpy(b + FRAME_HEADER_BYTES, body, n);
    cr_assert_eq(raw_tls != NULL ? tls_send(raw_tls, b, all) : write(fd, b, all), (ssize_t)all);
}

static void raw_read(int fd, uint8_t *out, size_t n)
{
    size_t have = 0;

    TURN_UNTIL(({
        ssize_t k = raw_tls != NULL ? tls_recv(raw_tls, out + have, n - have)
                                    : read(fd, out + have, n - have);
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
    out[0] = PROTOCOL_VERSION;
    out[4] = role;
    out[5] = (uint8_t)n;
    out[8] = 3; /* incarnation */
    out[16] = BEAT_MS;
    memset(out + 20, 0xa5, 32); /* nonce */
    memcpy(out + 52, node, n);
    return 52 + n;
}

#define CHALLENGE_BYTES (52 + 5) /* from "mng-1", without the MAC */

/* As a version 9 would say it: with more behind the name. */
static size_t raw_newer(uint8_t out[52 + NAME_MAX_LEN], uint16_t oldest)
{
    size_t n = raw_hello(out, RPC_ROUTER, "raw");

    out[0] = 9;
    out[6] = (uint8_t)oldest;
    memcpy(out + n, "news", 4);
    return n + 4;
}

static void raw_proof(uint8_t out[32], const uint8_t *hello, size_t n,
                      const uint8_t *challenge)
{
    crypto_generichash_state st;

    crypto_generichash_init(&st, key, 32, 32);
    crypto_generichash_update(&st, (const uint8_t *)"segq-link-1 dialler", 20);
    crypto_generichash_update(&st, (const uint8_t[4]){ (uint8_t)n }, 4);
    crypto_generichash_update(&st, hello, n);
    crypto_generichash_update(&st, (const uint8_t[4]){ CHALLENGE_BYTES }, 4);
    crypto_generichash_update(&st, challenge, CHALLENGE_BYTES);
    crypto_generichash_final(&st, out, 32);
}

/* HELLO out, CHALLENGE in; the answer to it in proof. */
static int raw_challenged_with(uint8_t *hello, size_t n, uint8_t proof[32])
{
    uint8_t in[FRAME_HEADER_BYTES + CHALLENGE_BYTES + 32];
    int fd = raw_connect();

    if (tls.mode != TLS_OFF)
        raw_shake(fd);
    raw_send(fd, MSG_HELLO, hello, n);
    raw_read(fd, in, sizeof(in));
    cr_assert_eq(in[6], MSG_CHALLENGE);
    raw_proof(proof, hello, n, in + FRAME_HEADER_BYTES);
    return fd;
}

static int raw_challenged(uint8_t proof[32])
{
    uint8_t hello[52 + NAME_MAX_LEN];

    return raw_challenged_with(hello, raw_hello(hello, RPC_ROUTER, "raw"), proof);
}

Test(rpc_raw, the_documented_hello_works_and_cannot_be_replayed)
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

Test(rpc_raw, a_newer_version_is_let_in_and_spoken_to_as_we_can)
{
    uint8_t hello[52 + NAME_MAX_LEN], proof[32];
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_challenged_with(hello, raw_newer(hello, PROTOCOL_VERSION), proof);
    raw_send(fd, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(srv.ups == 1);
    cr_expect_eq(srv.peer.version, 9u);
    cr_expect_eq(srv.peer.speaks, (unsigned)PROTOCOL_VERSION);
    cr_expect_str_eq(srv.peer.node, "raw");
    close(fd);
}

Test(rpc_raw, the_whole_hello_is_authenticated)
{
    uint8_t hello[52 + NAME_MAX_LEN], in[FRAME_HEADER_BYTES + CHALLENGE_BYTES + 32];
    uint8_t proof[32];
    size_t n = raw_newer(hello, 1);
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_connect();
    raw_send(fd, MSG_HELLO, hello, n);
    raw_read(fd, in, sizeof(in));
    hello[n - 1] ^= 1; /* it proves another card than it has shown */
    raw_proof(proof, hello, n, in + FRAME_HEADER_BYTES);
    raw_send(fd, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(raw_eof(fd));
    cr_expect_eq(srv.ups, 0u);
    cr_expect_neq(strstr(logged, "does not know the link key"), NULL, "%s", logged);
    close(fd);
}

Test(rpc_raw, without_a_common_version_both_learn_why)
{
    uint8_t hello[52 + NAME_MAX_LEN], proof[32];
    char why[100];
    int fd;

    serve(1u << RPC_ROUTER);
    snprintf(why, sizeof(why), "it speaks protocol %d to 9, we %d to %d", PROTOCOL_VERSION + 1, PROTOCOL_OLDEST,
             PROTOCOL_VERSION);
    fd = raw_challenged_with(hello, raw_newer(hello, PROTOCOL_VERSION + 1), proof);
    TURN_UNTIL(raw_eof(fd)); /* it had our card, with our versions, before that */
    cr_expect_eq(srv.ups, 0u);
    cr_expect_neq(strstr(logged, why), NULL, "%s", logged);
    close(fd);
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

Test(rpc_raw, garbage_closes)
{
    expect_refused("GET / HTTP/1.1\r\n\r\n", 18, "not our frames");
}

Test(rpc_raw, a_handshake_where_tls_is_off_closes)
{
    expect_refused("\x16\x03\x01\x02\x00\x01", 6, "it speaks TLS, and here it is off (key tls)");
}

Test(rpc_raw, a_plain_hello_where_tls_is_required_closes)
{
    uint8_t frame[FRAME_HEADER_BYTES + 52 + NAME_MAX_LEN];
    size_t n = raw_hello(frame + FRAME_HEADER_BYTES, RPC_ROUTER, "raw");

    tls.mode = TLS_REQUIRE;
    frame_header(frame, MSG_HELLO, 0, 0, (uint32_t)n);
    expect_refused(frame, FRAME_HEADER_BYTES + n, "it speaks without TLS, which is required (key tls)");
}

Test(rpc_raw, garbage_in_a_handshake_closes)
{
    tls.mode = TLS_REQUIRE;
    expect_refused("\x16\x03\x01\x00\x05hello", 10, "TLS: no handshake with our link key");
}

Test(rpc_raw, a_handshake_that_stops_is_given_up)
{
    int fd;

    tls.mode = TLS_REQUIRE;
    serve(1u << RPC_ROUTER);
    fd = raw_connect();
    cr_assert_eq(write(fd, "\x16\x03\x01\x02\x00", 5), 5);
    TURN_UNTIL(raw_eof(fd));
    cr_expect(strstr(logged, "TLS handshake timed out") != NULL, "%s", logged);
    close(fd);
}

/* More at once than a processor should bear: they are taken, beat by beat. */
Test(rpc_raw, a_flood_of_handshakes_is_taken_in_pieces)
{
    int fd[3 * 64];

    tls.mode = TLS_REQUIRE;
    serve(1u << RPC_ROUTER);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = raw_connect();
        cr_assert_eq(write(fd[i], "\x16\x03\x01\x00\x01\x00", 6), 6);
    }
    ev_turn(ev, true);
    ev_turn(ev, true);
    cr_expect_leq(rpc_counts(srv.rpc)->refused, 64u);
    TURN_UNTIL(rpc_counts(srv.rpc)->refused == ARRAY_LEN(fd));
    cr_expect(strstr(logged, "not our frames") == NULL, "those that wait are read as plain peers");
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
}

/* Which costs nothing but places, and would have them all. */
Test(rpc_raw, silent_strangers_keep_no_peer_out)
{
    int fd[400];
    msec_t since;

    tls.mode = TLS_REQUIRE;
    beat_ms = 60000;
    serve(1u << RPC_ROUTER);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        fd[i] = raw_connect_from("127.0.0.2");
    since = ev_now(ev);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1 && srv.ups == 1);
    cr_expect_lt(ev_now(ev) - since, 1000, "it was its turn behind all of them");
    cr_expect_eq(cli.fails, 0u, "%s", cli.why);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
}

/* The oldest of the largest crowd gives way: neither a peer in its hello, nor a slow one elsewhere. */
Test(rpc_raw, strangers_give_way_where_they_are_most)
{
    uint8_t proof[32];
    int fd[300], slow, peer;

    tls.mode = TLS_REQUIRE;
    serve(1u << RPC_ROUTER);
    peer = raw_challenged(proof);
    slow = raw_connect();
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        fd[i] = raw_connect_from("127.0.0.2");
    TURN_UNTIL(rpc_counts(srv.rpc)->refused >= ARRAY_LEN(fd) + 1 - 256);
    cr_expect(raw_eof(fd[0]), "it was the first of the crowd");
    cr_expect_not(raw_eof(fd[ARRAY_LEN(fd) - 1]));
    cr_expect_not(raw_eof(slow));
    raw_send(peer, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(srv.ups == 1);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    tls_free(raw_tls);
    close(peer);
    close(slow);
}

/* A flood from one address has three quarters of a beat's handshakes, not all. */
Test(rpc_raw, a_flood_of_handshakes_leaves_turns_for_others)
{
    int fd[200];
    msec_t since;

    tls.mode = TLS_REQUIRE;
    beat_ms = 60000; /* a beat every 250 ms */
    serve(1u << RPC_ROUTER);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = raw_connect_from("127.0.0.2");
        cr_assert_eq(write(fd[i], "\x16\x03\x01\x00\x01\x00", 6), 6);
    }
    since = ev_now(ev);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1 && srv.ups == 1);
    cr_expect_lt(ev_now(ev) - since, 500);
    cr_expect_lt(rpc_counts(srv.rpc)->refused, (uint64_t)ARRAY_LEN(fd));
    TURN_UNTIL(rpc_counts(srv.rpc)->refused == ARRAY_LEN(fd));
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
}

/* One that hangs up while it waits for its turn is no reason to spin, nor is it forgotten; what it had
 * sent is not read as a plain hello. */
Test(rpc_raw, who_waits_for_a_handshake_may_leave)
{
    static const char begun[40] = "\x16\x03\x01\x02\x00";
    int fd[120];

    tls.mode = TLS_REQUIRE;
    beat_ms = 60000;
    serve(1u << RPC_ROUTER);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = raw_connect();
        cr_assert_eq(write(fd[i], begun, sizeof(begun)), sizeof(begun));
    }
    ev_turn(ev, true);
    ev_turn(ev, true);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    TURN_UNTIL(rpc_counts(srv.rpc)->refused == ARRAY_LEN(fd));
    cr_expect(strstr(logged, "TLS: the peer ended the handshake") != NULL, "%s", logged);
    cr_expect(strstr(logged, "not our frames") == NULL, "%s", logged);
}

/* More peers of one address than handshakes are begun in a beat: after a power cut. */
Test(rpc_raw, peers_who_wait_for_a_handshake_come_up)
{
    enum { N = 150 };
    unsigned beats;
    msec_t since;

    tls.mode = TLS_REQUIRE;
    beat_ms = 1000;
    serve(1u << RPC_ROUTER);
    since = ev_now(ev); /* beats are counted from here */
    dial(RPC_ROUTER, "router-1", key);
    for (unsigned i = 1; i < N; i++)
        cr_assert_not_null(rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &calls, &cli));
    TURN_UNTIL(cli.ups > 0);
    beats = (unsigned)(ev_now(ev) - since) / (beat_ms / 4 - 50); /* a slow machine sees some already */
    cr_expect_leq(srv.ups, 64 * (1 + beats), "nobody waits: nothing is shown");
    TURN_UNTIL(cli.ups == N && srv.ups == N);
    cr_expect_eq(cli.fails, 0u, "%s", cli.why);
    cr_expect_eq(rpc_counts(srv.rpc)->refused, 0u);
}

/* A long heartbeat is no reason to let peers wait until they give up. */
Test(rpc_raw, peers_are_taken_at_the_same_rate_with_a_long_heartbeat)
{
    int fd[3 * 64];
    msec_t since;

    tls.mode = TLS_REQUIRE;
    beat_ms = 60000;
    serve(1u << RPC_ROUTER);
    since = ev_now(ev);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = raw_connect();
        cr_assert_eq(write(fd[i], "\x16\x03\x01\x00\x01\x00", 6), 6);
    }
    TURN_UNTIL(rpc_counts(srv.rpc)->refused == ARRAY_LEN(fd));
    cr_expect_lt(ev_now(ev) - since, 15000);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
}

Test(rpc_raw, other_frame_version_closes)
{
    expect_refused("\4\0\0\0\2", 5, "not our frames (version byte 2)");
}

Test(rpc_raw, big_frame_before_the_hello_closes_at_its_length)
{
    expect_refused("\1\4\0\0", 4, "frame of 1025 bytes");
}

Test(rpc_raw, another_frame_than_hello_closes)
{
    static const uint8_t ping[16] = { 0, 0, 0, 0, 1, 0, MSG_PING };

    expect_refused(ping, sizeof(ping), "unexpected frame of type 5");
}

Test(rpc_raw, broken_hello_closes)
{
    uint8_t b[16 + 52 + NAME_MAX_LEN];
    size_t n = raw_hello(b + 16, RPC_ROUTER, "raw");

    b[16 + 5] = 4; /* the name is shorter than it says */
    frame_header(b, MSG_HELLO, 0, 0, (uint32_t)n);
    expect_refused(b, 16 + n, "bad hello");
}

Test(rpc_raw, oversize_after_the_hello_is_refused_before_allocation)
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

Test(rpc_raw, silent_after_the_hello_is_found_dead)
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

Test(rpc_raw, silent_before_the_hello_is_given_up)
{
    int fd;

    serve(1u << RPC_ROUTER);
    fd = raw_connect();
    TURN_UNTIL(raw_eof(fd));
    cr_expect_neq(strstr(logged, "hello timed out"), NULL, "%s", logged);
    close(fd);
}

Test(rpc_raw, a_silent_acceptor_times_out)
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

Test(rpc_raw, a_pause_of_ours_is_not_their_silence)
{
    both_up();
    cr_assert_eq(usleep(10 * BEAT_MS * 1000), 0); /* what SIGSTOP does to us */
    TURN_UNTIL(rpc_counts(srv.rpc)->frames_in > 5);
    cr_expect_eq(srv.downs + cli.downs, 0u);
}

Test(rpc_raw, slow_reader_is_closed_at_the_bound)
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

/* Its bytes make room for ours, which leave with the same event: then there is nothing to wait for. */
Test(rpc_raw, a_slow_reader_that_reads_on_costs_no_turns)
{
    uint8_t hello[52 + NAME_MAX_LEN], proof[32], b[4096];
    size_t n = raw_hello(hello, RPC_ROUTER, "raw");
    unsigned sent = 0, turns = 0;
    msec_t since;
    int fd;

    tls.mode = TLS_REQUIRE;
    hello[18] = 1; /* heartbeats once a minute */
    serve(1u << RPC_ROUTER);
    fd = raw_challenged_with(hello, n, proof);
    raw_send(fd, MSG_PROOF, proof, sizeof(proof));
    TURN_UNTIL(srv.ups == 1);
    while (rpc_chan_pending(srv.ch) == 0) {
        cr_assert_lt(++sent, 4000u, "what is sealed is pending, too");
        send_n(srv.ch, sent, 1, 32 << 10);
        ev_turn(ev, false);
    }
    while (read(fd, b, sizeof(b)) > 0)
        ;
    raw_send(fd, MSG_PING, b, 0);
    TURN_UNTIL(rpc_chan_pending(srv.ch) == 0);
    for (since = ev_now(ev); ev_now(ev) < since + BEAT_MS; turns++)
        ev_turn(ev, true);
    cr_expect_lt(turns, 100u);
    tls_free(raw_tls);
    close(fd);
}

static bool warns_of(const char *text)
{
    struct buf b;
    bool has;

    buf_init(&b);
    rpc_warn(srv.rpc, &b);
    buf_byte(&b, 0);
    has = text == NULL ? b.len == 1 : strstr((const char *)b.data, text) != NULL;
    buf_fini(&b);
    return has;
}

Test(rpc_raw, a_certificate_that_ends_soon_is_said_until_a_new_one_is_read)
{
    struct authority ca;

    certs_begin();
    ca = authority_make("ca");
    cert_issue(&ca, "seg1", "IP:127.0.0.1", 10);
    tls = cert_files("seg1", "ca", "");
    serve(1u << RPC_ROUTER);
    cr_expect(warns_of("the certificate of tls_cert ends on 20"));
    TURN_UNTIL(strstr(logged, "event=cert_ends why=\"the certificate of tls_cert ends on 20") != NULL);
    cert_issue(&ca, "seg1", "IP:127.0.0.1", 20);
    cr_assert_eq(rpc_reload(srv.rpc, &tls, NULL), 0);
    cr_expect(warns_of(NULL));
    cr_expect_gt(rpc_counts(srv.rpc)->cert_ends_s, (uint64_t)(ev_wall_ms(ev) / 1000 + 19 * 86400));
    authority_free(&ca);
    certs_end();
}

Test(rpc_raw, strangers_are_counted)
{
    int fd[300];

    serve(1u << RPC_ROUTER);
    for (int i = 0; i < 300; i++)
        fd[i] = raw_connect();
    TURN_UNTIL(strstr(logged, "event=link_refused n=") != NULL);
    cr_expect_geq(rpc_counts(srv.rpc)->refused, 300 - 256u);
    for (int i = 0; i < 300; i++)
        close(fd[i]);
    TURN_UNTIL(rpc_counts(srv.rpc)->refused == 300);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1);
}

Test(rpc_raw, no_descriptors_left_pauses_accepting)
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
    TURN_UNTIL(strstr(logged, "event=accept_paused") != NULL);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(cli.ups == 1 && srv.ups == 1);
    close(fd);
}
