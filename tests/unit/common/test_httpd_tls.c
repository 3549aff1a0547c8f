/* The HTTP server over TLS: handshakes whole, cut and in pieces, names, tickets, bounds, large bodies,
 * certificates that change and that are bad. */
#include "common/base/log.h"
#include "common/net/tls_server.h"
#include "tests/lib/certrig.h"
#include "tests/lib/httpdrig.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>

static struct authority ca;
static struct tls_server *server;
static int64_t clock_s;
static const uint8_t key_a[32] = "a", key_b[32] = "b";

static int64_t test_clock(void)
{
    return clock_s;
}

static void init(void)
{
    signal(SIGPIPE, SIG_IGN);
    certs_begin();
    ca = authority_make("ca");
    cert_issue(&ca, "one", "DNS:one.example,IP:127.0.0.1", 5);
    cert_issue(&ca, "two", "DNS:two.example,DNS:*.two.example", 5);
    clock_s = 1000 * TLS_TICKET_HALF_DAY + 5;
}

static void fini(void)
{
    authority_free(&ca);
    certs_end();
}

TestSuite(httpd_tls, .init = init, .fini = fini);

static struct cfg_cert files(const char *name)
{
    return (struct cfg_cert){ .cert = cert_path(name, ".crt"), .key = cert_path(name, ".key") };
}

static void use(struct tls_server *s, const char *a, const char *b)
{
    struct cfg_cert v[2] = { files(a), files(b != NULL ? b : a) };
    struct err e = { 0 };

    cr_assert_eq(tls_server_load(s, "listen_certs", v, 1 + (b != NULL), &e), 0, "%s", e.text);
}

static struct tls_server *make(const uint8_t *key, const uint8_t *other)
{
    struct tls_server_opts o = { .key = key, .other = other, .now_s = test_clock };
    struct tls_server *s = tls_server_new(&o);

    cr_assert_not_null(s);
    return s;
}

static void begin(struct httpd_opts o)
{
    server = make(key_a, NULL);
    use(server, "one", "two");
    o.tls = server;
    start(o);
}

static void end(void)
{
    stop();
    tls_server_free(server);
}

/* ---- a client ---- */

struct client {
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
    struct got got;
};

static SSL_SESSION *kept; /* owned: the last ticket */

static int on_session(SSL *ssl, SSL_SESSION *s)
{
    (void)ssl;
    SSL_SESSION_free(kept);
    kept = s;
    return 1;
}

static void client_open(struct client *c, int version, const char *name)
{
    memset(c, 0, sizeof(*c));
    c->ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(c->ctx, version);
    SSL_CTX_set_max_proto_version(c->ctx, version);
    SSL_CTX_load_verify_locations(c->ctx, cert_path("ca", ".crt"), NULL);
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c->ctx, on_session);
    SSL_CTX_set_mode(c->ctx, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
    c->ssl = SSL_new(c->ctx);
    if (name != NULL)
        SSL_set_tlsext_host_name(c->ssl, name);
    SSL_set_connect_state(c->ssl);
}

static void client_dial(struct client *c)
{
    c->fd = dial();
    SSL_set_fd(c->ssl, c->fd);
}

static void client_close(struct client *c)
{
    SSL_set_shutdown(c->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* else its ticket is thrown away */
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    close(c->fd);
}

/* 1: done; 0: not yet; -1: failed. */
static int shake(struct client *c)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(c->ssl);
    if (rc == 1)
        return 1;
    rc = SSL_get_error(c->ssl, rc);
    return rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static bool tells(struct client *c, const char *text)
{
    int n;

    ERR_clear_error();
    n = SSL_read(c->ssl, c->got.t + c->got.n, (int)(sizeof(c->got.t) - 1 - c->got.n));
    if (n > 0)
        c->got.n += (size_t)n;
    else if (SSL_get_error(c->ssl, n) != SSL_ERROR_WANT_READ)
        c->got.eof = true;
    c->got.t[c->got.n] = '\0';
    return strstr(c->got.t, text) != NULL;
}

static void ask(struct client *c, const char *text)
{
    cr_assert_eq(SSL_write(c->ssl, text, (int)strlen(text)), (int)strlen(text));
}

static void connected(struct client *c, int version, const char *name)
{
    client_open(c, version, name);
    client_dial(c);
    UNTIL(shake(c) == 1);
}

static void one_request(struct client *c)
{
    c->got.n = 0;
    ask(c, GET("/x"));
    UNTIL(tells(c, "[/x|]"));
}

/* ---- requests ---- */

static void keeps_connections(int version)
{
    struct client c;

    begin((struct httpd_opts){ 0 });
    connected(&c, version, "one.example");
    for (int i = 0; i < 5; i++)
        one_request(&c);
    ask(&c, GET("/later"));
    UNTIL(w.n_held == 1);
    cr_assert(httpd_is_sealed(w.held[0]));
    httpd_answer(w.held[0], 200, "text/plain", "", "late", 4);
    UNTIL(tells(&c, "late"));
    cr_assert_eq(httpd_counts(w.h)->tls_done, 1);
    cr_assert_eq(httpd_counts(w.h)->tls_now, 0);
    ask(&c, "GET /bye HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    UNTIL(tells(&c, "[/bye|]") && tells(&c, "") && c.got.eof);
    cr_assert_eq(SSL_get_shutdown(c.ssl) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN, "no close_notify");
    client_close(&c);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    end();
}

Test(httpd_tls, a_connection_is_kept_1_2) { keeps_connections(TLS1_2_VERSION); }
Test(httpd_tls, a_connection_is_kept_1_3) { keeps_connections(TLS1_3_VERSION); }

Test(httpd_tls, older_versions_are_refused)
{
    struct client c;

    begin((struct httpd_opts){ 0 });
    client_open(&c, TLS1_1_VERSION, NULL);
    SSL_set_security_level(c.ssl, 0);
    client_dial(&c);
    UNTIL(shake(&c) == -1);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    cr_assert_eq(httpd_counts(w.h)->tls_failed, 1);
    client_close(&c);
    end();
}

/* More than one read, than one record and than the kernel takes at once, in both directions. */
Test(httpd_tls, large_bodies_and_slow_readers)
{
    static char body[150000];
    struct client c;
    size_t at = 0, whole;
    char head[200];

    begin((struct httpd_opts){ .max_body = 200000, .max_output_bytes = 1 << 20 });
    connected(&c, TLS1_3_VERSION, NULL);
    memset(body, 'y', sizeof(body));
    snprintf(head, sizeof(head), "POST /none HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n", sizeof(body));
    ask(&c, head);
    while (at < sizeof(body)) {
        int n = SSL_write(c.ssl, body + at, (int)(sizeof(body) - at));

        at += n > 0 ? (size_t)n : 0;
        ev_turn(w.ev, false);
    }
    UNTIL(tells(&c, "204 No Content"));
    c.got.n = 0;
    for (int i = 0; i < 3; i++)
        ask(&c, GET("/big"));
    for (int i = 0; i < 200; i++)
        ev_turn(w.ev, false); /* it does not read */
    cr_assert_eq(httpd_counts(w.h)->conns_now, 1);
    for (int i = 0; i < 3; i++) {
        c.got.n = 0;
        UNTIL(tells(&c, "\r\n\r\n"));
        whole = sizeof(w.big) + (size_t)(strstr(c.got.t, "\r\n\r\n") + 4 - c.got.t);
        while (c.got.n < whole) {
            int n = SSL_read(c.ssl, c.got.t + c.got.n, 1);

            c.got.n += n > 0;
            if (n <= 0)
                ev_turn(w.ev, false);
        }
        cr_assert_eq(c.got.t[c.got.n - 1], '#');
    }
    one_request(&c);
    client_close(&c);
    end();
}

/* Sockets that are accepted from now on have it. */
static void small_send_buffers(void)
{
    int size = 4096, listens;
    socklen_t n = sizeof(listens);

    for (int fd = 3; fd < 64; fd++)
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens)
            cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
}

/* 0: it is not given up; else the longest turn in ms: amid one of a second nobody takes anything. */
static int64_t given_up_amid(void)
{
    static char b[4096];
    struct client c;
    int64_t t0, past = 0, taken = 0, longest = 1;
    uint64_t closed;

    begin((struct httpd_opts){ .body_ms = 1000, .max_output_bytes = 1 << 20 });
    small_send_buffers();
    client_open(&c, TLS1_3_VERSION, NULL);
    c.fd = dial_rcv(4096);
    SSL_set_fd(c.ssl, c.fd);
    UNTIL(shake(&c) == 1);
    ask(&c, GET("/big"));
    t0 = now_ms();
    while (past < 4000) {
        int64_t was = past;
        ssize_t n = 1;

        while (n > 0 && taken < past * 6) { /* also behind a pause of ours */
            n = recv(c.fd, b, sizeof(b), 0);
            taken += n > 0 ? n : 0;
        }
        ev_turn(w.ev, false);
        past = now_ms() - t0;
        longest = past - was > longest ? past - was : longest;
    }
    closed = httpd_counts(w.h)->closed_slow_reader;
    UNTIL(httpd_counts(w.h)->closed_slow_reader == 1);
    client_close(&c);
    end();
    return closed > 0 ? longest : 0;
}

/* A record takes it 2.7 s at 6 kB/s: the kernel takes it in pieces meanwhile. */
Test(httpd_tls, who_takes_a_record_in_pieces_is_no_dead_reader)
{
    int64_t turn_ms = given_up_amid();

    for (int i = 0; i < 9 && turn_ms > 300; i++) /* the machine stood still: that says nothing */
        turn_ms = given_up_amid();
    cr_expect_eq(turn_ms, 0);
}

/* A record is larger than the room that is left, so that the socket says nothing of the rest. */
Test(httpd_tls, pipelined_requests_of_one_record_are_all_answered)
{
    static char many[64 * 1024];
    struct client c;
    size_t n = 0, answers = 0;

    begin((struct httpd_opts){ .max_pipelined = 4 });
    connected(&c, TLS1_3_VERSION, NULL);
    for (int i = 0; i < 300; i++)
        n += (size_t)snprintf(many + n, sizeof(many) - n, GET("/%d"), i);
    ask(&c, many);
    UNTIL(tells(&c, "[/299|]"));
    for (const char *p = c.got.t; (p = strstr(p, "HTTP/1.1 200")) != NULL; p++)
        answers++;
    cr_assert_eq(answers, 300);
    client_close(&c);
    end();
}

/* ---- handshakes that are cut, or come in pieces ---- */

static int client_hello(uint8_t *out, size_t cap, int version)
{
    struct client c;
    BIO *in = BIO_new(BIO_s_mem()), *to = BIO_new(BIO_s_mem());
    int n;

    client_open(&c, version, "two.example");
    SSL_set_bio(c.ssl, in, to);
    (void)SSL_do_handshake(c.ssl);
    n = BIO_read(to, out, (int)cap);
    c.fd = dup(0);
    client_close(&c);
    return n;
}

Test(httpd_tls, a_handshake_cut_at_every_byte)
{
    uint8_t hello[2000];
    int n = client_hello(hello, sizeof(hello), TLS1_3_VERSION);

    begin((struct httpd_opts){ 0 });
    for (int at = 0; at <= n; at++) {
        int fd = dial();

        cr_assert_eq(send(fd, hello, (size_t)at, MSG_NOSIGNAL), at);
        shutdown(fd, SHUT_WR);
        UNTIL(ended(fd, &g));
        g.eof = false;
        close(fd);
    }
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    cr_assert_eq(httpd_counts(w.h)->tls_now, 0);
    cr_assert_eq(httpd_counts(w.h)->tls_done, 0);
    end();
}

static void in_pieces(int version)
{
    struct client c;
    BIO *in = BIO_new(BIO_s_mem()), *to = BIO_new(BIO_s_mem());
    bool asked = false;

    begin((struct httpd_opts){ 0 });
    client_open(&c, version, "two.example");
    SSL_set_bio(c.ssl, in, to);
    c.fd = dial();
    BIO_set_mem_eof_return(in, -1);
    while (!tells(&c, "[/x|]")) {
        char b[4096];
        int n;

        if (!asked && shake(&c) == 1) {
            ask(&c, GET("/x"));
            asked = true;
        }
        while (BIO_read(to, b, 1) == 1) { /* byte by byte */
            cr_assert_eq(send(c.fd, b, 1, MSG_NOSIGNAL), 1);
            ev_turn(w.ev, false);
        }
        n = (int)recv(c.fd, b, 1, 0);
        if (n == 1)
            BIO_write(in, b, 1);
        ev_turn(w.ev, false);
        cr_assert(n != 0);
    }
    client_close(&c);
    end();
}

Test(httpd_tls, a_handshake_byte_by_byte_1_2) { in_pieces(TLS1_2_VERSION); }
Test(httpd_tls, a_handshake_byte_by_byte_1_3) { in_pieces(TLS1_3_VERSION); }

Test(httpd_tls, bytes_that_are_damaged_end_it)
{
    uint8_t hello[2000], bad[2000];
    int n = client_hello(hello, sizeof(hello), TLS1_3_VERSION);
    uint64_t seed = 7;

    begin((struct httpd_opts){ 0 });
    for (int i = 0; i < 400; i++) {
        int fd = dial(), changes;

        memcpy(bad, hello, (size_t)n);
        for (changes = 1 + i % 4; changes > 0; changes--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bad[(seed >> 33) % (uint64_t)n] = (uint8_t)(seed >> 25);
        }
        (void)!send(fd, bad, (size_t)n, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        UNTIL(ended(fd, &g));
        g.eof = false;
        g.n = 0;
        close(fd);
    }
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    cr_assert_eq(httpd_counts(w.h)->tls_done, 0);
    end();
}

Test(httpd_tls, plain_http_is_told_what_is_spoken)
{
    const char *body;
    int fd;

    begin((struct httpd_opts){ 0 });
    fd = dial();
    say(fd, GET("/"));
    UNTIL(ended(fd, &g));
    cr_assert(strncmp(g.t, "HTTP/1.1 400 Bad Request\r\n", 26) == 0, "%s", g.t);
    body = strstr(g.t, "\r\n\r\n") + 4;
    cr_assert_eq(strlen(body), atoi(strstr(g.t, "Content-Length: ") + 16));
    close(fd);
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    cr_assert_eq(httpd_counts(w.h)->tls_plain, 1);
    cr_assert_eq(httpd_counts(w.h)->tls_failed, 0);
    cr_assert_eq(w.n_requests, 0);
    end();
}

/* ---- bounds ---- */

Test(httpd_tls, half_a_handshake_ends_after_the_time_of_a_head)
{
    int fd;

    begin((struct httpd_opts){ .head_ms = 100 });
    fd = dial();
    cr_assert_eq(send(fd, "\x16\x03\x01\x02", 4, 0), 4);
    UNTIL(httpd_counts(w.h)->tls_now == 1 || httpd_counts(w.h)->tls_failed == 1); /* in one turn, if it was stopped */
    UNTIL(ended(fd, &g));
    cr_assert_eq(httpd_counts(w.h)->tls_failed, 1);
    cr_assert_eq(httpd_counts(w.h)->tls_now, 0);
    close(fd);
    end();
}

/* Of those under way the oldest makes room; but not before it has had some time. */
Test(httpd_tls, handshakes_are_bounded_in_number)
{
    int fd[3];
    int64_t t0 = now_ms();
    struct client c;

    begin((struct httpd_opts){ .max_handshakes = 3 });
    for (int i = 0; i < 3; i++) {
        fd[i] = dial();
        cr_assert_eq(send(fd[i], "\x16\x03\x01\x02", 4, 0), 4);
        UNTIL(httpd_counts(w.h)->tls_now == (uint64_t)i + 1);
    }
    client_open(&c, TLS1_3_VERSION, NULL);
    client_dial(&c);
    UNTIL(shake(&c) == 1);
    cr_assert_geq(now_ms() - t0, 1900);
    cr_assert_gt(httpd_counts(w.h)->accept_paused, 0);
    cr_assert_leq(httpd_counts(w.h)->tls_now, 3);
    UNTIL(ended(fd[0], &g));
    one_request(&c);
    cr_assert_eq(httpd_counts(w.h)->tls_failed, 1, "one came, and one made room");
    client_close(&c);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    end();
}

static unsigned n_paused;

static void count_paused(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    n_paused += strstr(line, "event=accept_paused") != NULL;
}

/* Each one that ends lets one in, and is the last one that fits: not a line for each. */
Test(httpd_tls, strangers_who_come_and_go_do_not_fill_the_log)
{
    int fd[60];
    int64_t t0 = now_ms();

    log_set_sink(count_paused, NULL);
    begin((struct httpd_opts){ .max_handshakes = 2 });
    for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = dial();
        cr_assert_eq(send(fd[i], "\x16\x03\x01\x02", 4, 0), 4);
    }
    for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
        UNTIL(httpd_counts(w.h)->accepted >= u64_min(i + 2, ARRAY_LEN(fd)));
        close(fd[i]);
    }
    UNTIL(httpd_counts(w.h)->conns_now == 0);
    cr_assert_gt(httpd_counts(w.h)->accept_paused, 10);
    cr_assert(n_paused >= 1 && n_paused <= 1 + (now_ms() - t0) / 1000, "%u lines", n_paused);
    end();
    log_set_sink(NULL, NULL);
}

/* What comes all at once is spread over turns, and ends all the same. */
Test(httpd_tls, a_flood_of_handshakes_leaves_turns_to_others)
{
    static struct client c[60];
    int64_t longest_us = 0;
    size_t done = 0;

    begin((struct httpd_opts){ 0 });
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        client_open(&c[i], TLS1_3_VERSION, NULL);
        client_dial(&c[i]);
        (void)shake(&c[i]);
    }
    for (int turns = 0; done < ARRAY_LEN(c) && turns < 100000; turns++) {
        int64_t us = ev_read_mono_us();

        ev_turn(w.ev, false);
        us = ev_read_mono_us() - us;
        longest_us = us > longest_us ? us : longest_us;
        done = 0;
        for (size_t i = 0; i < ARRAY_LEN(c); i++)
            done += shake(&c[i]) == 1;
    }
    cr_assert_eq(done, ARRAY_LEN(c));
    UNTIL(httpd_counts(w.h)->tls_done == ARRAY_LEN(c));
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        client_close(&c[i]);
    end();
}

/* A change of keys costs 27 bytes of a client, and of us an answer and two derivations. */
static void is_given_up(int version, bool (*nag)(SSL *ssl))
{
    struct client c;

    begin((struct httpd_opts){ 0 });
    connected(&c, version, NULL);
    for (int i = 0; i < 200 && httpd_counts(w.h)->conns_now > 0; i++) {
        (void)nag(c.ssl);
        (void)tells(&c, "");
        settle();
    }
    cr_assert_eq(httpd_counts(w.h)->conns_now, 0);
    client_close(&c);
    end();
}

static bool change_keys(SSL *ssl)
{
    return SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1;
}

static bool renegotiate(SSL *ssl)
{
    return SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1;
}

Test(httpd_tls, who_changes_keys_all_the_time_is_given_up)
{
    is_given_up(TLS1_3_VERSION, change_keys);
}

Test(httpd_tls, who_renegotiates_gets_none)
{
    is_given_up(TLS1_2_VERSION, renegotiate);
}

/* ---- names, protocols ---- */

static void has_subject(const char *name, const char *subject)
{
    struct client c;
    char cn[64];

    connected(&c, TLS1_3_VERSION, name);
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(c.ssl)), NID_commonName, cn,
                              sizeof(cn));
    cr_assert_str_eq(cn, subject, "%s", name);
    client_close(&c);
}

Test(httpd_tls, a_name_has_its_certificate)
{
    begin((struct httpd_opts){ 0 });
    has_subject(NULL, "one");
    has_subject("one.example", "one");
    has_subject("two.example", "two");
    has_subject("a.two.example", "two");
    has_subject("a.b.two.example", "one");
    has_subject("three.example", "one");
    end();
}

static int with_protocols(const char *list)
{
    struct client c;
    int rc = 0;

    client_open(&c, TLS1_3_VERSION, NULL);
    SSL_set_alpn_protos(c.ssl, (const uint8_t *)list, (unsigned)strlen(list));
    client_dial(&c);
    UNTIL((rc = shake(&c)) != 0);
    client_close(&c);
    return rc;
}

Test(httpd_tls, protocols)
{
    begin((struct httpd_opts){ 0 });
    cr_assert_eq(with_protocols("\x02h2\x08http/1.1"), 1);
    cr_assert_eq(with_protocols("\x08http/1.0"), 1);
    cr_assert_eq(with_protocols("\x02h2"), -1);
    end();
}

/* ---- tickets ---- */

static void get_ticket(int version)
{
    struct client c;

    SSL_SESSION_free(kept);
    kept = NULL;
    connected(&c, version, "two.example");
    one_request(&c);
    client_close(&c);
}

/* Whether the ticket saves the handshake; it, or a newer one, is kept. */
static bool resumes(int version)
{
    struct client c;
    bool reused;

    client_open(&c, version, "two.example");
    SSL_set_session(c.ssl, kept);
    client_dial(&c);
    UNTIL(shake(&c) == 1);
    reused = SSL_session_reused(c.ssl) == 1;
    one_request(&c);
    client_close(&c);
    return reused;
}

/* In the place of the server of now: another process of the cluster, or of another one. */
static void another(const uint8_t *key, const uint8_t *other)
{
    end();
    server = make(key, other);
    use(server, "one", "two");
    start((struct httpd_opts){ .tls = server });
}

Test(httpd_tls, tickets_are_good_at_each_router_of_the_cluster)
{
    begin((struct httpd_opts){ 0 });
    get_ticket(TLS1_3_VERSION);
    another(key_a, NULL);
    cr_assert(resumes(TLS1_3_VERSION));
    cr_assert_eq(httpd_counts(w.h)->tls_resumed, 1);
    another(key_b, key_a); /* the secret is changed */
    cr_assert(resumes(TLS1_3_VERSION));
    another(key_b, NULL);
    cr_assert(resumes(TLS1_3_VERSION), "it was renewed");
    another(key_a, NULL);
    cr_assert_not(resumes(TLS1_3_VERSION));
    end();
    SSL_SESSION_free(kept);
}

Test(httpd_tls, keys_of_tickets_rotate)
{
    SSL_SESSION *old;

    begin((struct httpd_opts){ 0 });
    get_ticket(TLS1_3_VERSION);
    old = SSL_SESSION_dup(kept); /* OpenSSL's client uses each once, as browsers do */
    clock_s -= TLS_TICKET_HALF_DAY; /* a clock that is behind */
    cr_assert(resumes(TLS1_3_VERSION));
    clock_s += 2 * TLS_TICKET_HALF_DAY;
    on_session(NULL, SSL_SESSION_dup(old));
    cr_assert(resumes(TLS1_3_VERSION));
    clock_s += TLS_TICKET_HALF_DAY;
    cr_assert(resumes(TLS1_3_VERSION), "the last one was renewed");
    on_session(NULL, old);
    cr_assert_not(resumes(TLS1_3_VERSION), "two half days old");
    end();
    SSL_SESSION_free(kept);
}

Test(httpd_tls, an_older_version_has_no_tickets)
{
    begin((struct httpd_opts){ 0 });
    get_ticket(TLS1_2_VERSION);
    cr_assert(kept == NULL || !SSL_SESSION_has_ticket(kept));
    cr_assert(kept == NULL || !resumes(TLS1_2_VERSION));
    end();
    SSL_SESSION_free(kept);
}

/* ---- files ---- */

Test(httpd_tls, certificates_change_under_connections)
{
    struct client c;
    struct err e = { 0 };
    int fd;

    begin((struct httpd_opts){ 0 });
    connected(&c, TLS1_3_VERSION, NULL);
    use(server, "two", NULL);
    has_subject(NULL, "two");
    one_request(&c);
    cr_assert_eq(tls_server_load(server, "listen_certs", NULL, 0, &e), 0);
    fd = dial();
    say(fd, GET("/plain"));
    UNTIL(has(fd, &g, "[/plain|]"));
    one_request(&c);
    close(fd);
    client_close(&c);
    end();
}

static void is_refused(const char *list, struct cfg_cert f, const char *why)
{
    struct cfg_cert v[2] = { files("one"), f };
    struct err e = { 0 };

    cr_assert_lt(tls_server_check(list, list == NULL ? &v[1] : v, list == NULL ? 1 : 2, &e), 0, "%s", why);
    cr_assert_not_null(strstr(e.text, why), "%s", e.text);
}

Test(httpd_tls, bad_files_are_named)
{
    struct cfg_cert f = files("two");
    struct tls_server *s = make(key_a, NULL);
    struct err e = { 0 };
    int64_t lapses;

    f.key = cert_path("one", ".key");
    is_refused("listen_certs", f, "listen_certs.2: key: ");
    is_refused(NULL, f, "admin_key: ");
    f = files("ca");
    is_refused(NULL, f, "no subjectAltName");
    cert_issue(&ca, "old", "DNS:old.example", -1);
    is_refused(NULL, files("old"), "has lapsed");
    f = files("one");
    cr_assert_eq(chmod(f.key, 0644), 0);
    is_refused("listen_certs", f, "chmod");
    cr_assert_eq(chmod(f.key, 0600), 0);
    use(s, "one", "two");
    lapses = tls_server_lapses_s(s);
    cr_assert_gt(lapses, time(NULL) + 4 * 86400);
    f.cert = cert_path("none", ".crt");
    cr_assert_lt(tls_server_load(s, NULL, &f, 1, &e), 0);
    cr_assert_eq(tls_server_lapses_s(s), lapses, "those of before stay");
    tls_server_free(s);
    s = make(key_a, NULL);
    use(s, "old", NULL); /* a process begins with it: better than no manager */
    cr_assert(tls_server_is_on(s));
    f = files("old");
    cr_assert_lt(tls_server_load(s, NULL, &f, 1, &e), 0, "but says so at each HUP");
    cr_assert(tls_server_is_on(s));
    tls_server_free(s);
}

static bool asks_for_https(struct client *c)
{
    one_request(c);
    return strstr(c->got.t, "\r\nStrict-Transport-Security: max-age=300\r\n") != NULL;
}

Test(httpd_tls, browsers_are_told_to_come_by_https_alone_while_it_is_spoken)
{
    struct client c;
    struct err e = { 0 };

    begin((struct httpd_opts){ 0 });
    connected(&c, TLS1_3_VERSION, NULL);
    one_request(&c);
    cr_expect_null(strstr(c.got.t, "Strict-Transport-Security"));
    tls_server_set_hsts(server, 300);
    UNTIL(asks_for_https(&c));
    cr_assert_eq(tls_server_load(server, "listen_certs", NULL, 0, &e), 0);
    UNTIL(!asks_for_https(&c));
    client_close(&c);
    end();
}

Test(httpd_tls, a_bad_pair_keeps_no_other_out)
{
    struct cfg_cert v[2] = { files("one"), files("two") };
    struct err e = { 0 };

    begin((struct httpd_opts){ 0 });
    cert_issue(&ca, "two", "DNS:two.example,DNS:new.example", 5);
    cr_assert_eq(chmod(v[0].key, 0644), 0);
    cr_assert_lt(tls_server_load(server, "listen_certs", v, 2, &e), 0);
    cr_assert_not_null(strstr(e.text, "listen_certs.1: key: "), "%s", e.text);
    has_subject("new.example", "two");
    has_subject("one.example", "one");

    cr_assert_eq(chmod(v[1].key, 0644), 0);
    cr_assert_lt(tls_server_load(server, "listen_certs", v, 2, &e), 0);
    cr_assert(strstr(e.text, "listen_certs.1: ") && strstr(e.text, "; listen_certs.2: "), "%s", e.text);
    has_subject("new.example", "two");

    cert_issue(&ca, "two", "DNS:two.example,DNS:newer.example", 5);
    cert_issue(&ca, "one", "DNS:lapsed.example", -1);
    cr_assert_lt(tls_server_load(server, "listen_certs", v, 2, &e), 0);
    cr_assert_not_null(strstr(e.text, "listen_certs.1: cert: "), "%s", e.text);
    has_subject("newer.example", "two");

    cert_issue(&ca, "two", "DNS:two.example,DNS:newest.example", 5);
    v[0] = files("nothing");
    cr_assert_lt(tls_server_load(server, "listen_certs", v, 2, &e), 0, "nothing to serve in its place");
    has_subject("newest.example", "one");
    has_subject("newer.example", "two");
    end();
}
