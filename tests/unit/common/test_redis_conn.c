/* test_redis_conn.c: a connection to a server that says any bytes, in any pieces, with TLS or
 * without: what it may and may not do to us, and what is said to it. */
#include "common/redis/redis_conn.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "common/redis/redis_script.h"
#include "tests/lib/certrig.h"
#include "tests/lib/redisrig.h"

#define KEPT 32 /* answers that are looked at */

struct rig {
    struct rig_loop g;
    int listen_fd, fd; /* the server's; -1: nobody has come */
    char addr[NET_TEXT_MAX];
    SSL_CTX *cert; /* NULL: without TLS */
    SSL *ssl;
    bool shaken, deaf; /* the handshake is over at the server; it reads nothing */
    struct buf got;    /* what was said to it, in plain */
    unsigned came;
    struct tls_ctx *tls;
    struct redis_conn *conn;
    bool free_in_open, free_in_reply, opened;
    struct buf said; /* answers as text, each with a newline */
    unsigned answers;
    size_t bytes; /* of the last one */
    bool ended;
    enum redis_fault fault;
    char why[400];
};

/* ---- the server ---- */

static void leave(struct rig *r)
{
    SSL_free(r->ssl);
    r->ssl = NULL;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

static void serve(struct rig *r)
{
    struct net_addr peer;
    char bytes[4096];
    int fd = net_accept(r->listen_fd, &peer);
    ssize_t n;

    if (fd >= 0) {
        leave(r);
        r->fd = fd;
        r->came++;
        r->shaken = false;
        if (r->cert != NULL) {
            r->ssl = SSL_new(r->cert);
            SSL_set_fd(r->ssl, fd);
            SSL_set_accept_state(r->ssl);
        }
    }
    if (r->fd < 0 || r->deaf)
        return;
    if (r->ssl != NULL && !r->shaken)
        r->shaken = SSL_do_handshake(r->ssl) == 1;
    do {
        n = r->ssl != NULL ? SSL_read(r->ssl, bytes, sizeof(bytes))
                           : recv(r->fd, bytes, sizeof(bytes), 0);
        if (n > 0)
            buf_append(&r->got, bytes, (size_t)n);
    } while (n > 0);
    ERR_clear_error();
}

static void turn(struct rig *r)
{
    ev_turn(r->g.ev, true);
    serve(r);
}

#define UNTIL(r, cond)                                                                   \
    do {                                                                                 \
        msec_t until_ = ev_now((r)->g.ev) + RIG_WAIT_MS;                                 \
        while (!(cond) && ev_now((r)->g.ev) < until_)                                    \
            turn(r);                                                                     \
        cr_assert(cond, "waited for: %s (%s)", #cond, (r)->why);                         \
    } while (0)

static void put(struct rig *r, const char *p, size_t n)
{
    for (size_t done = 0; done < n;) {
        int k = r->ssl != NULL ? SSL_write(r->ssl, p + done, (int)(n - done))
                               : (int)send(r->fd, p + done, n - done, MSG_NOSIGNAL);

        if (k > 0)
            done += (size_t)k;
        else
            turn(r); /* it is full: the other end reads */
        cr_assert(k > 0 || !r->ended, "%s", r->why);
    }
}

/* ---- this end ---- */

static void on_open(void *ctx)
{
    struct rig *r = ctx;

    r->opened = true;
    if (r->free_in_open)
        redis_conn_free(r->conn);
}

static void on_reply(void *ctx, const struct redis_ans *a)
{
    struct rig *r = ctx;
    int64_t v;
    const char *p;
    size_t n;

    r->answers++;
    if (a->fault != REDIS_NONE)
        buf_printf(&r->said, "-%s", a->text);
    for (size_t i = 0; i < redis_ans_n(a); i++)
        if (redis_ans_int(a, i, &v))
            buf_printf(&r->said, ":%lld", (long long)v);
        else if (redis_ans_text(a, i, &p, &n))
            buf_printf(&r->said, "$%.*s", (int)(n < 100 ? n : 100), p), r->bytes = n;
        else
            buf_str(&r->said, "?");
    buf_byte(&r->said, '\n');
    if (r->free_in_reply)
        redis_conn_free(r->conn);
}

static void on_end(void *ctx, enum redis_fault f, const char *why)
{
    struct rig *r = ctx;

    r->ended = true;
    r->fault = f;
    snprintf(r->why, sizeof(r->why), "%s", why);
}

static void dial_as(struct rig *r, const char *host)
{
    static const struct redis_conn_calls calls = { on_open, on_reply, on_end };
    struct net_addr a;
    char name[100];
    struct err e = { 0 };
    struct redis_conn_opts o = { .addr = &a, .name = name, .tls = r->tls };

    r->opened = r->ended = false;
    snprintf(name, sizeof(name), "%s%s", host, strrchr(r->addr, ':'));
    cr_assert_eq(net_parse(&a, r->addr, &e), 0);
    cr_assert_eq(redis_conn_new(&r->conn, r->g.ev, &o, &calls, r, &e), 0, "%s", e.text);
}

static void dial(struct rig *r)
{
    dial_as(r, "127.0.0.1");
    UNTIL(r, r->opened && r->fd >= 0);
}

static void say(struct rig *r, const char *word, const char *p, size_t n)
{
    struct redis_args a = { 0 };

    redis_arg_str(&a, word);
    redis_arg(&a, p, n);
    cr_assert_eq(redis_conn_send(r->conn, &a), 0);
    redis_args_fini(&a);
}

static void rig_init(struct rig *r)
{
    struct err e;

    memset(r, 0, sizeof(*r));
    rig_loop_init(&r->g);
    buf_init(&r->got);
    buf_init(&r->said);
    r->fd = -1;
    r->listen_fd = net_listen("127.0.0.1:0", false, 8, &e);
    cr_assert_geq(r->listen_fd, 0);
    net_local_text(r->listen_fd, r->addr);
}

static void rig_fini(struct rig *r)
{
    redis_conn_free(r->conn);
    leave(r);
    close(r->listen_fd);
    SSL_CTX_free(r->cert);
    tls_ctx_free(r->tls);
    buf_fini(&r->got);
    buf_fini(&r->said);
    rig_loop_fini(&r->g);
}

static const char *said(struct rig *r)
{
    buf_byte(&r->said, 0);
    r->said.len--;
    return (const char *)r->said.data;
}

/* ---- bytes ---- */

static const char all_kinds[] = "+OK\r\n-ERR no\r\n:-12\r\n$-1\r\n$0\r\n\r\n$5\r\na\r\nb\n\r\n"
                                "*3\r\n$1\r\nx\r\n:7\r\n$2\r\n\r\n\r\n*0\r\n*-1\r\n";
static const char all_said[] = "$OK\n-ERR no\n:-12\n?\n$\n$a\r\nb\n\n$x:7$\r\n\n\n?\n";

static void in_two_pieces(struct rig *r, size_t cut)
{
    const size_t n = sizeof(all_kinds) - 1;

    dial(r);
    put(r, all_kinds, cut);
    for (unsigned i = 0; i < 3; i++)
        turn(r);
    put(r, all_kinds + cut, n - cut);
    UNTIL(r, r->answers == 9);
    cr_expect_str_eq(said(r), all_said, "cut at %zu", cut);
    redis_conn_free(r->conn);
    r->conn = NULL;
    buf_reset(&r->said);
    r->answers = 0;
}

Test(redis_conn, replies_may_be_cut_at_each_byte)
{
    struct rig r;

    rig_init(&r);
    for (size_t cut = 1; cut < sizeof(all_kinds) - 1; cut++)
        in_two_pieces(&r, cut);
    rig_fini(&r);
}

static void ends_with(const char *bytes, size_t n, enum redis_fault f, const char *why)
{
    struct rig r;

    rig_init(&r);
    dial(&r);
    put(&r, bytes, n);
    shutdown(r.fd, SHUT_WR);
    UNTIL(&r, r.ended);
    cr_expect_eq(r.fault, f, "%.20s: %s", bytes, r.why);
    cr_expect(strstr(r.why, why) != NULL, "%.20s: %s", bytes, r.why);
    rig_fini(&r);
}

Test(redis_conn, what_is_no_reply_ends_it)
{
    static const char *const bad[] = {
        "what is this?\r\n", "\r\n", "$x\r\n", "$99999999999999999999\r\n", "*99999999999\r\n", ":1x\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ends_with(bad[i], strlen(bad[i]), REDIS_PROTOCOL, "");
    ends_with("\x15\x03\x03\x00\x02\x02\x28", 7, REDIS_PROTOCOL, ""); /* an alert of TLS */
    ends_with("$5\r\nabc", 7, REDIS_GONE, "closed");
    ends_with("", 0, REDIS_GONE, "closed");
}

static void large(struct rig *r, size_t n)
{
    char head[40], *body = calloc(1, n);

    snprintf(head, sizeof(head), "$%zu\r\n", n);
    put(r, head, strlen(head));
    for (size_t done = 0, k; done < n && !r->ended; done += k) {
        k = n - done < 60000 ? n - done : 60000;
        put(r, body, k);
        turn(r);
    }
    free(body);
}

Test(redis_conn, a_reply_is_bounded)
{
    struct rig r;

    rig_init(&r);
    dial(&r);
    redis_conn_allow(r.conn, 3u << 20);
    large(&r, 2u << 20);
    put(&r, "\r\n", 2);
    UNTIL(&r, r.answers == 1);
    cr_expect_eq(r.bytes, 2u << 20);
    large(&r, 64u << 20);
    UNTIL(&r, r.ended);
    cr_expect_eq(r.fault, REDIS_PROTOCOL);
    cr_expect(strstr(r.why, "too large") != NULL, "%s", r.why);
    redis_conn_free(r.conn);
    dial(&r);
    large(&r, 2u << 20); /* before the hello is over */
    UNTIL(&r, r.ended);
    cr_expect(strstr(r.why, "too large") != NULL, "%s", r.why);
    rig_fini(&r);
}

/* A few bytes: room for what they announce would be gigabytes, which are looked through in the end. */
static void announces(const char *bytes, size_t most)
{
    static const char fits[] = "*3\r\n:1\r\n*1\r\n:2\r\n:3\r\n";
    struct rig r;

    rig_init(&r);
    dial(&r);
    redis_conn_allow(r.conn, most);
    for (unsigned i = 0; i < 3; i++)
        put(&r, fits, strlen(fits));
    UNTIL(&r, r.answers == 3);
    put(&r, bytes, strlen(bytes));
    UNTIL(&r, r.ended);
    cr_expect_eq(r.fault, REDIS_PROTOCOL);
    cr_expect(strstr(r.why, "too large") != NULL, "%s: %s", bytes, r.why);
    rig_fini(&r);
}

Test(redis_conn, an_array_is_bounded_before_it_comes)
{
    announces("*7\r\n", 100);
    announces("*300000\r\n", REDIS_HELLO_MOST);
    announces("*200000000\r\n", REDIS_REPLY_MOST);
    announces("*3\r\n*30000\r\n:1\r\n", 400000);
    announces("*30000\r\n*30000\r\n:1\r\n", 800000);
}

Test(redis_conn, may_be_freed_by_each_callback)
{
    struct rig r;

    rig_init(&r);
    r.free_in_open = true;
    dial(&r);
    r.free_in_open = false;
    r.free_in_reply = true;
    dial(&r);
    put(&r, "+A\r\n+B\r\n", 8);
    UNTIL(&r, r.answers == 1);
    turn(&r);
    cr_expect_eq(r.answers, 1, "the second one is nobody's");
    r.conn = NULL;
    rig_fini(&r);
}

/* ---- TLS ---- */

static struct authority ours, other;

static void begin_certs(void)
{
    certs_begin();
    ours = authority_make("ca");
    other = authority_make("other-ca");
    cert_issue(&ours, "redis", "IP:127.0.0.1,DNS:redis.test", 30);
    cert_issue(&ours, "old", "IP:127.0.0.1", -1);
    cert_issue(&other, "stranger", "IP:127.0.0.1,DNS:redis.test", 30);
    cert_issue_for(&ours, "client", "DNS:segq", "clientAuth", 30);
}

static void finish_certs(void)
{
    authority_free(&ours);
    authority_free(&other);
    certs_end();
}

TestSuite(redis_conn_tls, .init = begin_certs, .fini = finish_certs, .timeout = 200);

static struct cfg_tls files(const char *own, const char *ca, char *name)
{
    struct cfg_tls f = { .cert = "", .key = "", .ca = cert_path(ca, ".crt"), .name = name };

    if (own != NULL) {
        f.cert = cert_path(own, ".crt");
        f.key = cert_path(own, ".key");
    }
    return f;
}

static void use(struct rig *r, const char *own, const char *ca, char *name)
{
    struct cfg_tls f = files(own, ca, name);
    struct err e = { 0 };

    tls_ctx_free(r->tls);
    cr_assert_eq(tls_ctx_foreign(&r->tls, &f, &e), 0, "%s", e.text);
}

static void server(struct rig *r, const char *name, int least, int most)
{
    rig_init(r);
    r->cert = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(r->cert, least);
    SSL_CTX_set_max_proto_version(r->cert, most);
    cr_assert_eq(SSL_CTX_use_certificate_file(r->cert, cert_path(name, ".crt"), SSL_FILETYPE_PEM), 1);
    cr_assert_eq(SSL_CTX_use_PrivateKey_file(r->cert, cert_path(name, ".key"), SSL_FILETYPE_PEM), 1);
}

static void wants_ours(struct rig *r, const char *ca)
{
    cr_assert_eq(SSL_CTX_load_verify_locations(r->cert, cert_path(ca, ".crt"), NULL), 1);
    SSL_CTX_set_verify(r->cert, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

static void speaks(int version)
{
    struct rig r;
    char *large_one = malloc(5u << 20);

    server(&r, "redis", version, version);
    wants_ours(&r, "ca");
    use(&r, "client", "ca", "");
    dial(&r);
    say(&r, "ECHO", "hello", 5);
    UNTIL(&r, r.got.len == strlen("*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n"));
    cr_expect_eq(SSL_version(r.ssl), version);
    for (size_t i = 0; i < sizeof(all_kinds) - 1; i++) {
        put(&r, all_kinds + i, 1);
        turn(&r);
    }
    UNTIL(&r, r.answers == 9);
    cr_expect_str_eq(said(&r), all_said);
    buf_reset(&r.got);
    memset(large_one, 'x', 5u << 20);
    r.deaf = true;
    say(&r, "SET", large_one, 5u << 20);
    for (unsigned i = 0; i < 20; i++)
        turn(&r);
    r.deaf = false;
    UNTIL(&r, r.got.len > 5u << 20);
    redis_conn_allow(r.conn, 4u << 20);
    large(&r, 3u << 20);
    put(&r, "\r\n", 2);
    UNTIL(&r, r.answers == 10);
    cr_expect_eq(r.bytes, 3u << 20);
    SSL_shutdown(r.ssl);
    UNTIL(&r, r.ended);
    cr_expect_eq(r.fault, REDIS_GONE);
    free(large_one);
    rig_fini(&r);
}

Test(redis_conn_tls, bytes_are_those_without_it)
{
    speaks(TLS1_2_VERSION);
    speaks(TLS1_3_VERSION);
}

/* A turn reads 256 KiB, and OpenSSL some more: the socket is empty then, and stays so. */
Test(redis_conn_tls, bytes_that_were_read_ahead_are_not_forgotten)
{
    struct rig r;
    int room = 1 << 20;

    server(&r, "redis", TLS1_3_VERSION, TLS1_3_VERSION);
    use(&r, NULL, "ca", "");
    dial(&r);
    UNTIL(&r, r.shaken);
    (void)setsockopt(r.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    for (unsigned i = 1; i <= 8; i++) {
        size_t n = (256u << 10) + 5000 * i;
        char *reply = calloc(1, n + 40);
        int head = snprintf(reply, 40, "$%zu\r\n", n);

        memcpy(reply + head + n, "\r\n", 2);
        put(&r, reply, (size_t)head + n + 2);
        UNTIL(&r, r.answers == i);
        cr_expect_eq(r.bytes, n);
        free(reply);
    }
    rig_fini(&r);
}

/* The server has heard nothing but a handshake. */
static void refused_by_us(struct rig *r, const char *host, const char *why)
{
    dial_as(r, host);
    UNTIL(r, r->ended);
    cr_expect_eq(r->fault, REDIS_TLS, "%s", r->why);
    cr_expect(strstr(r->why, why) != NULL, "%s, not %s", r->why, why);
    cr_expect_eq(r->got.len, 0);
    cr_expect_not(r->opened);
    redis_conn_free(r->conn);
    r->conn = NULL;
    rig_fini(r);
}

static void with(struct rig *r, const char *name)
{
    server(r, name, TLS1_2_VERSION, TLS1_3_VERSION);
    use(r, NULL, "ca", "");
}

Test(redis_conn_tls, a_certificate_that_is_not_good_gets_no_byte)
{
    struct rig r;

    with(&r, "stranger");
    refused_by_us(&r, "127.0.0.1", "unable to get local issuer certificate");
    with(&r, "old");
    refused_by_us(&r, "127.0.0.1", "certificate has expired");
    with(&r, "client");
    refused_by_us(&r, "127.0.0.1", "unsuitable certificate purpose");
    with(&r, "redis");
    refused_by_us(&r, "127.0.0.2", "it is not for 127.0.0.2");
    with(&r, "redis");
    refused_by_us(&r, "redis.example", "it is not for redis.example");
    server(&r, "redis", TLS1_2_VERSION, TLS1_3_VERSION);
    use(&r, NULL, "ca", "elsewhere.test");
    refused_by_us(&r, "127.0.0.1", "it is not for elsewhere.test");
    server(&r, "redis", TLS1_VERSION, TLS1_1_VERSION);
    SSL_CTX_set_security_level(r.cert, 0);
    use(&r, NULL, "ca", "");
    refused_by_us(&r, "127.0.0.1", "TLS: ");
    server(&r, "redis", TLS1_2_VERSION, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(r.cert, "AES128-GCM-SHA256:ECDHE-ECDSA-AES128-SHA"); /* none of ours */
    use(&r, NULL, "ca", "");
    refused_by_us(&r, "127.0.0.1", "TLS: ");
}

Test(redis_conn_tls, the_name_is_the_dialled_one_or_that_of_the_configuration)
{
    struct rig r;

    with(&r, "redis");
    dial_as(&r, "redis.test");
    UNTIL(&r, r.opened);
    UNTIL(&r, r.shaken);
    cr_expect_str_eq(SSL_get_servername(r.ssl, TLSEXT_NAMETYPE_host_name), "redis.test");
    redis_conn_free(r.conn);
    use(&r, NULL, "ca", "redis.test");
    dial_as(&r, "127.0.0.7");
    UNTIL(&r, r.opened);
    redis_conn_free(r.conn);
    use(&r, NULL, "ca", "127.0.0.1");
    dial_as(&r, "redis.example");
    UNTIL(&r, r.opened);
    rig_fini(&r);
}

/* With TLS 1.3 we have been let in, as it seems, when the server has not looked yet. */
static void refused_by_the_server(int version, const char *own, const char *ca)
{
    struct rig r;

    server(&r, "redis", version, version);
    wants_ours(&r, ca);
    use(&r, own, "ca", "");
    dial_as(&r, "127.0.0.1");
    UNTIL(&r, r.ended);
    cr_expect_eq(r.fault, REDIS_TLS, "%s", r.why);
    cr_expect(strstr(r.why, "alert") != NULL, "%s", r.why);
    cr_expect_eq(r.got.len, 0);
    rig_fini(&r);
}

Test(redis_conn_tls, an_alert_is_told)
{
    refused_by_the_server(TLS1_2_VERSION, NULL, "ca");
    refused_by_the_server(TLS1_3_VERSION, NULL, "ca");
    refused_by_the_server(TLS1_2_VERSION, "client", "other-ca");
    refused_by_the_server(TLS1_3_VERSION, "client", "other-ca");
}

static void answers_the_hello(const char *bytes, const char *why)
{
    struct rig r;

    rig_init(&r);
    use(&r, NULL, "ca", "");
    dial_as(&r, "127.0.0.1");
    UNTIL(&r, r.got.len > 0);
    cr_expect_eq(r.got.data[0], 0x16, "a handshake");
    cr_expect(redis_conn_is_shaking(r.conn));
    if (bytes != NULL)
        put(&r, bytes, strlen(bytes));
    leave(&r);
    UNTIL(&r, r.ended);
    cr_expect_eq(r.fault, REDIS_TLS, "%s", r.why);
    cr_expect(strstr(r.why, why) != NULL, "%s, not %s", r.why, why);
    rig_fini(&r);
}

Test(redis_conn_tls, a_server_without_it_is_told_apart)
{
    answers_the_hello(NULL, "the peer ended the handshake");
    answers_the_hello("-ERR unknown command\r\n", "wrong version number");
    answers_the_hello("\x16\x03\x03\x00\x10garbage", "TLS: ");
}

/* After some turns of it: never a wait. */
Test(redis_conn_tls, a_handshake_may_end_anywhere)
{
    struct rig r;

    with(&r, "redis");
    for (unsigned turns = 1; turns < 4; turns++) {
        dial_as(&r, "127.0.0.1");
        for (unsigned i = 0; i < turns; i++)
            turn(&r);
        while (r.fd < 0)
            turn(&r);
        shutdown(r.fd, SHUT_RDWR);
        UNTIL(&r, r.ended);
        cr_expect(r.fault == REDIS_TLS || r.fault == REDIS_GONE, "%s", r.why);
        redis_conn_free(r.conn);
        r.conn = NULL;
    }
    rig_fini(&r);
}

/* ---- a link ---- */

static void on_up(void *ctx, int64_t uptime_ms)
{
    (void)ctx;
    (void)uptime_ms;
}

static void on_down(void *ctx)
{
    (void)ctx;
}

Test(redis_conn_tls, a_link_says_its_password_to_nobody_else_and_takes_files_that_changed)
{
    static const struct redis_calls calls = { on_up, on_down };
    struct rig r;
    char *v[1];
    struct redis_link *l;
    struct redis_opts o = { .addr = v, .n_addrs = 1, .password = "sesame", .connect_ms = 20000,
                            .answer_ms = 20000 };

    server(&r, "stranger", TLS1_2_VERSION, TLS1_3_VERSION);
    use(&r, NULL, "ca", "");
    v[0] = r.addr;
    o.tls = &r.tls;
    cr_assert_eq(redis_link_new(&l, r.g.ev, &o, &calls, NULL, NULL), 0);
    UNTIL(&r, redis_link_counts(l)->fault[REDIS_TLS] >= 2);
    cr_expect_eq(r.got.len, 0);
    use(&r, NULL, "other-ca", "");
    UNTIL(&r, r.got.len > 10);
    buf_byte(&r.got, 0);
    cr_expect(strstr((char *)r.got.data, "AUTH\r\n$6\r\nsesame\r\n") != NULL, "%s", r.got.data);
    redis_link_free(l);
    rig_fini(&r);
}

/* ---- files ---- */

static struct cfg_redis redis_with(struct cfg_tls f)
{
    return (struct cfg_redis){ .user = "", .password_file = "", .tls = true, .files = f };
}

static void refused(struct cfg_tls f, const char *key, const char *what)
{
    struct cfg_redis c = redis_with(f);
    struct tls_ctx *before = (struct tls_ctx *)&c, *tls = before;
    struct err e = { 0 };

    cr_expect_lt(redis_tls_load(&tls, &c, &e), 0);
    cr_expect_eq(tls, before, "it stays");
    cr_expect_lt(redis_tls_try(&c, &e), 0);
    cr_expect(strncmp(e.text, key, strlen(key)) == 0 && strstr(e.text, what) != NULL, "%s", e.text);
}

Test(redis_conn_tls, bad_files_are_named)
{
    struct cfg_tls f = files("client", "ca", "");
    struct cfg_redis c = redis_with(f);
    struct tls_ctx *tls = NULL;
    struct err e = { 0 };

    cr_assert_eq(redis_tls_load(&tls, &c, &e), 0, "%s", e.text);
    cr_expect_not_null(tls);
    c.tls = false;
    cr_assert_eq(redis_tls_load(&tls, &c, &e), 0);
    cr_expect_null(tls);

    refused(files("old", "ca", ""), "redis_tls_cert: ", "old.crt: certificate has expired");
    cert_issue_for(&ours, "server", "DNS:redis.test", "serverAuth", 30);
    refused(files("server", "ca", ""), "redis_tls_cert: ", "clientAuth");
    f.key = cert_path("redis", ".key");
    refused(f, "redis_tls_key: ", "not the private key of the certificate");
    refused(files("nothing", "ca", ""), "redis_tls_cert: ", "No such file");
    refused(files("client", "nothing", ""), "redis_tls_ca: ", "No such file");
    f = files("client", "ca", "");
    f.ca = cert_path("ca", ".key");
    refused(f, "redis_tls_ca: ", "not certificates of an authority");
    cert_issue(&ours, "lapsed-ca", "DNS:ca", -1);
    refused(files("client", "lapsed-ca", ""), "redis_tls_ca: ", "certificate has expired");
    cr_assert_eq(chmod(cert_path("client", ".key"), 0644), 0);
    refused(files("client", "ca", ""), "redis_tls_key: ", "others");
}

static void does_not_fit(struct cfg_redis c, const char *said_of_it)
{
    struct err e = { 0 };

    cr_expect_eq(cfg_redis_check(&c, &e), SQ_EINVAL);
    cr_expect(strstr(e.text, said_of_it) != NULL, "%s", e.text);
}

Test(redis_conn_tls, keys_that_do_not_fit_are_named)
{
    struct cfg_redis c = redis_with(files("client", "ca", ""));
    char *v[] = { "127.0.0.1:1", "/run/redis.sock" };

    c.servers = (struct cfg_list){ .v = v, .n = 1 };
    cr_expect_eq(cfg_redis_check(&c, NULL), 0);
    c.servers.n = 2;
    does_not_fit(c, "redis: /run/redis.sock: a local socket has no TLS");
    c.servers.n = 1;
    c.files.key = "";
    does_not_fit(c, "redis_tls_key: missing");
    c = redis_with(files("client", "ca", ""));
    c.files.cert = "";
    does_not_fit(c, "redis_tls_cert: missing");
    c = redis_with(files(NULL, "ca", ""));
    c.tls = false;
    does_not_fit(c, "redis_tls_ca: without use");
}
