/* test_torture_common.c: what all processes share, without memory: messages, the router's
 * map, configuration; and the two servers, also with calls of the kernel that fail. The k-th
 * fails, for every k; then it goes on as if nothing had been. */
#include <arpa/inet.h>
#include "tests/lib/criterion.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec_made.h"
#include "common/wire/codec.h"
#include "common/http/admin.h"
#include "common/http/httpd.h"
#include "common/base/log.h"
#include "common/net/rpc.h"
#include "queuemng/process/config.h"
#include "router/flow/routes.h"
#include "tests/lib/failing.h"
#include "tests/lib/quiet.h"

static void setup(void)
{
    quiet_log();
}

TestSuite(torture_common, .init = setup, .timeout = 300);

/* once(k): true if its k-th did fail. Tried until it runs through three times. */
static uint64_t every(bool (*once)(uint64_t k))
{
    uint64_t k = 1;
    unsigned through = 0;

    for (; through < 3; k++)
        through = once(k) ? 0 : through + 1;
    return k - through;
}

/* ---- messages ------------------------------------------------------------------------ */

static uint16_t type; /* of the message at hand */

static bool decode_once(uint64_t k)
{
    struct gen *g = calloc(1, sizeof(*g));
    struct arena a;
    struct msg m, back;
    struct buf b;
    bool failed;
    int rc;

    rng_seed(&g->r, 7);
    g->max_rows = 6;
    gen_msg(g, type, &m);
    buf_init(&b);
    arena_init(&a);
    cr_assert_eq(msg_encode(&m, &b), 0);
    failing_arm(k, 1);
    rc = msg_decode(type, b.data, b.len, &a, &back);
    failed = failing_disarm();
    cr_assert_eq(rc, failed ? SQ_ENOMEM : 0, "%s k %lu: %d", msg_name(m.type), k, rc);
    arena_reset(&a);
    cr_assert_eq(msg_decode(type, b.data, b.len, &a, &back), 0, "%s", msg_name(m.type));
    cr_assert(same_msg(&m, &back), "%s k %lu", msg_name(m.type), k);
    arena_fini(&a);
    buf_fini(&b);
    arena_fini(&g->a);
    free(g);
    return failed;
}

static bool encode_once(uint64_t k)
{
    struct gen *g = calloc(1, sizeof(*g));
    struct msg m;
    struct buf b;
    bool failed;
    int rc;

    rng_seed(&g->r, 7);
    g->max_rows = 6;
    gen_msg(g, type, &m);
    buf_init(&b);
    failing_arm(k, 1);
    rc = msg_encode(&m, &b);
    failed = failing_disarm();
    cr_assert_eq(rc, failed ? SQ_ENOMEM : 0, "%s k %lu: %d", msg_name(m.type), k, rc);
    buf_fini(&b);
    arena_fini(&g->a);
    free(g);
    return failed;
}

Test(torture_common, messages)
{
    static const uint16_t types[] = {
#define X(name, number, ...) number,
        MSG_TYPES(X)
#undef X
    };
    uint64_t decoded = 0, encoded = 0;

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        type = types[i];
        if (type < MSG_ERROR)
            continue; /* the hello's */
        decoded += every(decode_once);
        encoded += every(encode_once);
    }
    cr_expect_gt(decoded, 50, "only %lu", decoded);
    cr_expect_gt(encoded, 20, "only %lu", encoded);
}

/* ---- the router's map ------------------------------------------------------------------ */

static struct msg_map map_of(uint64_t from, uint64_t version, bool later)
{
    static struct map_node nodes[] = { { 1, "a", "10.0.0.1:1" }, { 2, "b", "10.0.0.2:1" } };
    static struct map_seg early[] = { { 11, 1, SEG_OPEN, 0 } };
    static struct map_seg late[] = { { 12, 2, SEG_SEALED, 0 }, { 13, 1, SEG_OPEN, 0 } };
    static struct map_alias alias[] = { { 11, 12, 0 } };
    static struct map_lane lanes[2] = {
        { .name = "default", .n_segs = 1, .segs = early },
        { .name = "default", .n_segs = 2, .segs = late, .n_aliases = 1, .aliases = alias },
    };
    static struct map_queue queue[2] = {
        { .id = 7, .name = "q", .state = QUEUE_OPEN, .n_lanes = 1, .lanes = &lanes[0] },
        { .id = 7, .name = "q", .state = QUEUE_OPEN, .n_lanes = 1, .lanes = &lanes[1] },
    };

    return (struct msg_map) { .epoch = 5, .from_version = from, .version = version,
                              .next_seg = 20, .n_nodes = 2, .nodes = nodes,
                              .n_queues = 1, .queues = &queue[later] };
}

/* The map is the old one, the new one, or none at all; never something between. */
static void check_map(const struct routes *r, uint64_t k)
{
    struct route_owner o = { 0 };
    struct route_tail t = { 0 };
    uint64_t v = routes_version(r);

    if (v == 0) {
        cr_assert_null(routes_queue(r, "q", 1), "k %lu", k);
        cr_assert_eq(routes_owner(r, 11, &o), SQ_ESTALE, "k %lu", k);
        return;
    }
    cr_assert_eq(routes_owner(r, 11, &o), 0, "k %lu", k);
    cr_assert_eq(routes_tail(r, 7, 0, &t), 0, "k %lu", k);
    cr_assert_eq(o.seg, v == 1 ? 11 : 12, "k %lu", k);
    cr_assert_eq(t.seg, v == 1 ? 11 : 13, "k %lu", k);
}

static bool routes_once(uint64_t k)
{
    struct routes *r = routes_new();
    struct msg_map m = map_of(0, 1, false);
    bool failed;
    int rc;

    failing_arm(k, 1);
    rc = routes_apply(r, &m);
    check_map(r, k);
    if (rc == 0) {
        m = map_of(1, 2, true);
        rc = routes_apply(r, &m);
        check_map(r, k);
    }
    failed = failing_disarm();
    cr_assert_eq(rc, failed ? SQ_ENOMEM : 0, "k %lu: %d", k, rc);
    m = map_of(0, 3, true);
    cr_assert_eq(routes_apply(r, &m), 0, "k %lu", k);
    check_map(r, k);
    routes_free(r);
    return failed;
}

Test(torture_common, routers_map)
{
    cr_expect_gt(every(routes_once), 5);
}

/* ---- configuration --------------------------------------------------------------------- */

static bool cfg_once(uint64_t k)
{
    static const char *const sets[] = { "tick=200ms" };
    struct mng_cfg c = { 0 }, was;
    struct err e = { 0 };
    bool failed;
    int rc;

    was = c;
    failing_arm(k, 1);
    rc = cfg_load(&c, sizeof(c), mng_keys, "conf/queuemng.yaml", sets, 1, &e);
    failed = failing_disarm();
    if (rc < 0) {
        cr_assert(failed, "%s", e.text);
        cr_assert_eq(memcmp(&c, &was, sizeof(c)), 0, "k %lu: half a configuration", k);
        cr_assert_neq(e.text[0], 0, "k %lu: no reason given", k);
    } else {
        cr_assert_eq(c.tick_ms, 200, "k %lu", k);
    }
    cfg_clear(&c, mng_keys);
    return failed;
}

Test(torture_common, configuration)
{
    cr_expect_gt(every(cfg_once), 100);
}

/* ---- both servers ---------------------------------------------------------------------- */

static bool io;      /* calls of the kernel fail, not allocations */
static int io_error; /* with this */

static void arm(uint64_t k)
{
    if (io)
        failing_arm_io(k, 1, io_error);
    else
        failing_arm(k, 1);
    failing_pause(true);
}

static void turn(struct ev *ev)
{
    failing_pause(false);
    ev_turn(ev, false);
    failing_pause(true);
}

#define TURN_UNTIL(ev, cond, k)                                                          \
    do {                                                                                 \
        for (msec_t end_ = ev_now(ev) + 20000; !(cond) && ev_now(ev) < end_;)            \
            turn(ev);                                                                    \
        cr_assert(cond, "k %lu: in vain", (unsigned long)(k));                           \
    } while (0)

/* ---- HTTP */

static void on_request(void *ctx, struct httpd_req *r, const struct http_req *q)
{
    (void)ctx;
    httpd_answer(r, 200, "text/plain", "", q->body.n > 0 ? "body" : "none", 4);
}

static int dial(uint16_t port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_geq(fd, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

struct client {
    int fd;
    char text[4096];
    size_t n;
    bool ended;
};

static unsigned answers(struct client *c)
{
    ssize_t n = recv(c->fd, c->text + c->n, sizeof(c->text) - 1 - c->n, 0);
    unsigned found = 0;

    c->ended |= n == 0 || (n < 0 && errno != EAGAIN);
    c->n += n > 0 ? (size_t)n : 0;
    c->text[c->n] = '\0';
    for (const char *p = c->text; (p = strstr(p, "HTTP/1.1 ")) != NULL; p++)
        found++;
    return found;
}

/* Two requests at once and a body in two pieces: three answers, or the connection ends. must:
 * nothing fails, they are all 200. */
static void ask(struct ev *ev, uint16_t port, bool must, uint64_t k)
{
    static const char last[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char first[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
                                "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n";
    char body[3000];
    struct client c = { .fd = dial(port) };

    memset(body, 'b', sizeof(body));
    cr_assert_eq(send(c.fd, first, sizeof(first) - 1, MSG_NOSIGNAL), sizeof(first) - 1);
    TURN_UNTIL(ev, answers(&c) >= 1 || c.ended, k);
    (void)!send(c.fd, body, sizeof(body), MSG_NOSIGNAL);
    (void)!send(c.fd, last, sizeof(last) - 1, MSG_NOSIGNAL);
    TURN_UNTIL(ev, answers(&c) == 3 || c.ended, k);
    cr_assert(!must || (answers(&c) == 3 && strstr(c.text, "HTTP/1.1 503") == NULL),
              "k %lu: no answer", k);
    close(c.fd);
}

static bool httpd_once(uint64_t k)
{
    struct httpd_calls calls = { .on_request = on_request };
    struct httpd_opts o = { .addr = "127.0.0.1:0", .head_ms = 300, .body_ms = 300,
                            .idle_ms = 300 };
    struct httpd *h;
    struct ev *ev;
    uint16_t port;
    bool failed;

    cr_assert_eq(ev_new(&ev, NULL), 0);
    cr_assert_eq(httpd_new(&h, ev, &o, &calls, NULL, NULL), 0);
    port = (uint16_t)atoi(strrchr(httpd_addr(h), ':') + 1);
    arm(k);
    ask(ev, port, false, k);
    failed = failing_disarm();
    ask(ev, port, true, k);
    TURN_UNTIL(ev, httpd_counts(h)->conns_now == 0, k);
    httpd_free(h);
    ev_free(ev);
    return failed;
}

Test(torture_common, http_without_memory)
{
    cr_expect_gt(every(httpd_once), 3);
}

Test(torture_common, http_with_broken_calls)
{
    static const int errors[] = { ECONNRESET, EAGAIN, EINTR };

    io = true;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        io_error = errors[i];
        cr_expect_gt(every(httpd_once), 3);
    }
}

static struct ev *admin_ev;

static void send_held(void *h)
{
    admin_send(h);
}

/* What has a body is answered in the next turn. */
static void on_admin(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    (void)ctx;
    a->status = 200;
    a->content_type = "text/plain";
    buf_str(&a->body, "yes");
    if (q->body_len > 0) {
        struct admin_held *h = admin_hold(a);

        if (h != NULL)
            ev_post(admin_ev, send_held, h);
    }
}

static bool admin_once(uint64_t k)
{
    struct admin_opts o = { .addr = "127.0.0.1:0", .handler = on_admin };
    struct admin *a;
    uint16_t port;
    bool failed;

    cr_assert_eq(ev_new(&admin_ev, NULL), 0);
    cr_assert_eq(admin_new(&a, admin_ev, &o, NULL), 0);
    port = (uint16_t)atoi(strrchr(admin_addr(a), ':') + 1);
    arm(k);
    ask(admin_ev, port, false, k);
    failed = failing_disarm();
    ask(admin_ev, port, true, k);
    admin_free(a);
    ev_free(admin_ev);
    return failed;
}

Test(torture_common, the_admin_server_without_memory)
{
    cr_expect_gt(every(admin_once), 5);
}

/* ---- channels */

struct side {
    struct rpc *rpc;
    struct rpc_chan *ch;
    unsigned echoes;
    bool echo;
};

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    (void)peer;
    ((struct side *)ctx)->ch = ch;
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct side *s = ctx;

    s->echoes++;
    if (!s->echo)
        return;
    buf_append(rpc_begin(ch), f->body, f->len);
    if (rpc_end(ch, 101, f->rid) < 0)
        rpc_chan_close(ch, "out of memory");
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ch;
    (void)why;
    ((struct side *)ctx)->ch = NULL;
}

static const struct rpc_calls side_calls = { on_up, on_frame, on_down, NULL };

static void side_new(struct side *s, struct ev *ev, enum rpc_role role, const char *node)
{
    static const uint8_t key[32] = { 1, 2, 3 };
    struct rpc_opts o = { .role = role, .node = node, .incarnation = 7, .link_key = key,
                          .heartbeat_ms = 50, .seed = 1 };

    memset(s, 0, sizeof(*s));
    cr_assert_eq(rpc_new(&s->rpc, ev, &o, NULL), 0);
}

/* Frames go out and come back, large ones among them; a link that breaks comes back. */
static void talk(struct ev *ev, struct side *cli, uint64_t k)
{
    static uint8_t body[20000];
    unsigned want = cli->echoes + 3;

    for (msec_t end = ev_now(ev) + 20000; cli->echoes < want && ev_now(ev) < end;) {
        unsigned before = cli->echoes;
        struct rpc_chan *ch;

        TURN_UNTIL(ev, cli->ch != NULL, k);
        ch = cli->ch;
        failing_pause(false);
        buf_append(rpc_begin(ch), body, (size_t)before % 3 * 9000);
        if (rpc_end(ch, 100, before) < 0)
            rpc_chan_close(ch, "out of memory");
        failing_pause(true);
        TURN_UNTIL(ev, cli->echoes > before || cli->ch != ch, k);
    }
    cr_assert_geq(cli->echoes, want, "k %lu: no echo", k);
}

static bool rpc_once(uint64_t k)
{
    struct side srv, cli;
    struct rpc_link *l;
    struct ev *ev;
    bool failed;

    cr_assert_eq(ev_new(&ev, NULL), 0);
    side_new(&srv, ev, RPC_MANAGER, "mng");
    side_new(&cli, ev, RPC_ROUTER, "rt");
    srv.echo = true;
    cr_assert_eq(rpc_listen(srv.rpc, "127.0.0.1:0", 1u << RPC_ROUTER, &side_calls, &srv,
                            NULL), 0);
    arm(k);
    failing_pause(false);
    l = rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &side_calls, &cli);
    failing_pause(true);
    if (l == NULL) {
        failed = failing_disarm();
        cr_assert(failed);
        l = rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &side_calls, &cli);
    }
    talk(ev, &cli, k);
    failed = failing_disarm();
    talk(ev, &cli, k);
    rpc_link_free(l);
    rpc_free(cli.rpc);
    rpc_free(srv.rpc);
    ev_free(ev);
    return failed;
}

Test(torture_common, channels_without_memory)
{
    cr_expect_gt(every(rpc_once), 5);
}

Test(torture_common, channels_with_broken_calls)
{
    static const int errors[] = { ECONNRESET, EAGAIN, EINTR };

    io = true;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        io_error = errors[i];
        cr_expect_gt(every(rpc_once), 5);
    }
}
