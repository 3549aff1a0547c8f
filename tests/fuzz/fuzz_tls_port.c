/* fuzz_tls_port.c: strangers at a port of HTTP with certificates, before their handshake is over
 * (tests/lib/tlsfuzz.h says what must hold). Whoever does not begin one is told so, or nothing, and
 * closed; only a real client is heard, and what is heard is what it said.
 * Bytes: kind, then pieces; or edits, version, ticket, name, protocols. */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>

#include "common/http/httpd.h"
#include "common/net/tls_server.h"
#include "tests/lib/quiet.h"
#include "tests/lib/tlsfuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ev *ev;
static struct tls_server *server;
static struct httpd *port;
static int free_fd = -1;
static bool is_real;
static unsigned heard;
static SSL_CTX *client;
static SSL_SESSION *ticket; /* NULL: not yet */

static void on_request(void *ctx, struct httpd_req *r, const struct http_req *q)
{
    (void)ctx;
    must(is_real && q->path.n == 2 && memcmp(q->path.p, "/x", 2) == 0);
    heard++;
    httpd_answer(r, 200, "text/plain", "", "x", 1);
}

static void on_gone(void *ctx, struct httpd_req *r, void *user)
{
    (void)ctx;
    (void)r;
    (void)user;
    abort(); /* each is answered at once */
}

static int on_session(SSL *ssl, SSL_SESSION *s)
{
    (void)ssl;
    if (ticket != NULL)
        return 0;
    ticket = s;
    return 1;
}

static int shake(void *ssl)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(ssl);
    if (rc == 1)
        return 1;
    rc = SSL_get_error(ssl, rc);
    return rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static void say(void *ssl, const uint8_t *p, size_t n)
{
    static const char get[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    char b[256];

    (void)p;
    (void)n;
    ERR_clear_error();
    (void)!SSL_write(ssl, get, sizeof(get) - 1);
    (void)SSL_read(ssl, b, sizeof(b)); /* tickets */
}

static void with_name(SSL *ssl, struct fuzz_bytes *in)
{
    char name[256];
    uint32_t n;
    const uint8_t *p = fuzz_take(in, &n);

    snprintf(name, sizeof(name), "%.*s", (int)(n < 255 ? n : 255), n > 0 ? (const char *)p : "");
    if (n > 0)
        (void)SSL_set_tlsext_host_name(ssl, name);
    p = fuzz_take(in, &n);
    if (n > 0)
        (void)!SSL_set_alpn_protos(ssl, p, n);
    ERR_clear_error();
}

static bool real(struct tf *t)
{
    struct tf_real r = { SSL_new(client), shake, say };
    int fd = tf_pair(t), version;
    bool done;

    tf_read_edits(t);
    version = fuzz_num(&t->in) % 2 ? TLS1_2_VERSION : TLS1_3_VERSION;
    (void)SSL_set_max_proto_version(r.ctx, version);
    if (fuzz_num(&t->in) % 2 && ticket != NULL)
        (void)SSL_set_session(r.ctx, ticket);
    with_name(r.ctx, &t->in);
    SSL_set_fd(r.ctx, fd);
    SSL_set_connect_state(r.ctx);
    done = tf_real(t, &r);
    say(r.ctx, NULL, 0); /* what came meanwhile is read */
    SSL_set_shutdown(r.ctx, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(r.ctx);
    close(fd);
    return done;
}

static void one(struct fuzz_bytes in)
{
    struct tf t;
    int first = 0x16;

    tf_begin(&t, ev, in, httpd_addr(port));
    is_real = fuzz_num(&t.in) % 2;
    heard = 0;
    if (is_real)
        (void)real(&t);
    else
        first = tf_raw(&t);
    tf_end(&t, first >= 0 && first != 0x16, free_fd);
    must(httpd_counts(port)->conns_now == 0 && httpd_counts(port)->tls_now == 0 && heard <= 2);
}

static void start(void)
{
    static const uint8_t key[32] = "k";
    static const struct httpd_calls calls = { .on_request = on_request, .on_gone = on_gone };
    char dir[] = "/tmp/segq-fuzz-XXXXXX", path[4][64], cmd[64];
    struct cfg_cert v[] = { { path[0], path[1] }, { path[2], path[3] } };
    struct httpd_opts o = { .addr = "127.0.0.1:0" };

    quiet_log();
    (void)signal(SIGPIPE, SIG_IGN);
    must(mkdtemp(dir) != NULL);
    for (unsigned i = 0; i < 2; i++) {
        tf_cert(dir, i == 0 ? "one" : "two", i == 0 ? "DNS:one.example" : "DNS:*.two.example");
        snprintf(path[2 * i], sizeof(path[0]), "%s/%s.crt", dir, i == 0 ? "one" : "two");
        snprintf(path[2 * i + 1], sizeof(path[0]), "%s/%s.key", dir, i == 0 ? "one" : "two");
    }
    server = tls_server_new(&(const struct tls_server_opts){ .key = key });
    must(server != NULL && tls_server_load(server, "listen_certs", v, 2, NULL) == 0);
    snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
    must(system(cmd) == 0 && ev_new(&ev, NULL) == 0);
    o.tls = server;
    must(httpd_new(&port, ev, &o, &calls, NULL, NULL) == 0);
    client = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client, on_session);
}

/* What the first ones leave behind is there for good. */
static void warm_up(void)
{
    static const uint8_t whole[][8] = { { 1 }, { 1, 0, 0, 1 }, { 1, 0, 0, 0, 1 } };

    for (unsigned i = 0; i < 3; i++) {
        one((struct fuzz_bytes){ whole[i], whole[i] + sizeof(whole[i]) });
        must(heard > 0); /* the rig itself works */
    }
    must(ticket != NULL && httpd_counts(port)->tls_resumed == 1);
    free_fd = tf_lowest_fd();
    tf_base = tf_held();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (ev == NULL) {
        start();
        warm_up();
    }
    one((struct fuzz_bytes){ data, data + (size > 1u << 16 ? 1u << 16 : size) });
    return 0;
}
