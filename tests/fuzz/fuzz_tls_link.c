/* fuzz_tls_link.c: strangers at ports of links, before their handshake and hello are over
 * (tests/lib/tlsfuzz.h says what must hold): one with the link key, one with certificates, one that
 * takes plain peers, too, and one without TLS. Nobody of them comes up.
 * Bytes: kind and port, then pieces; or edits, proof, and what is said inside. */
#include <signal.h>

#include "common/net/rpc.h"
#include "common/net/tls.h"
#include "tests/lib/quiet.h"
#include "tests/lib/tlsfuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEAT_MS   5  /* a quarter of the heartbeat */
#define PER_BEATS 32 /* handshakes; more would have to wait for the next beat */

enum { BY_KEY, BY_CERT, ACCEPTING, PLAIN, N_PORTS };

static struct ev *ev;
static struct rpc *port[N_PORTS];
static struct tls_ctx *proof[3]; /* the link key, another one, a certificate */
static int free_fd = -1;

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    (void)ctx;
    (void)ch;
    (void)peer;
    abort();
}

static int shake(void *tls)
{
    int rc = tls_handshake(tls, NULL);

    return rc < 0 ? -1 : rc;
}

static void say(void *tls, const uint8_t *p, size_t n)
{
    uint8_t b[4096];

    (void)!tls_send(tls, p, n);
    (void)!tls_recv(tls, b, sizeof(b));
}

static bool real(struct tf *t)
{
    int fd = tf_pair(t);
    struct tf_real r = { NULL, shake, say };
    bool done;

    tf_read_edits(t);
    r.ctx = tls_new(proof[fuzz_num(&t->in) % ARRAY_LEN(proof)], fd, "127.0.0.1", 0);
    must(r.ctx != NULL);
    done = tf_real(t, &r);
    say(r.ctx, NULL, 0);
    tls_free(r.ctx);
    close(fd);
    return done;
}

/* True: a handshake was done. */
static bool one(struct fuzz_bytes in)
{
    uint64_t kind = fuzz_num(&in), at = kind / 2 % N_PORTS;
    int first = 0x16;
    bool done = false;
    struct tf t;

    tf_begin(&t, ev, in, rpc_listen_addr(port[at]));
    if (kind % 2)
        done = real(&t);
    else
        first = tf_raw(&t);
    tf_end(&t, first >= 0 && (first == 0x16 ? at == PLAIN : at <= BY_CERT), free_fd);
    return done;
}

static void serve(unsigned i, struct cfg_tls *c, const uint8_t *key)
{
    static const struct rpc_calls calls = { .on_up = on_up };
    struct rpc_opts o = { .role = RPC_MANAGER, .node = "mng-1", .incarnation = 7, .link_key = key,
                          .heartbeat_ms = 4 * BEAT_MS, .tls = c };

    must(rpc_new(&port[i], ev, &o, NULL) == 0 &&
         rpc_listen(port[i], "127.0.0.1:0", 1u << RPC_ROUTER, &calls, NULL, NULL) == 0);
}

static void start(void)
{
    static const uint8_t key[32] = "k", other[32] = "o";
    char dir[] = "/tmp/segq-fuzz-XXXXXX", crt[64], pem[64], cmd[64], none[] = "";
    struct cfg_tls by_key = { TLS_REQUIRE, none, none, none, none },
                   by_cert = { TLS_REQUIRE, crt, pem, crt, none };

    quiet_log();
    (void)signal(SIGPIPE, SIG_IGN);
    must(mkdtemp(dir) != NULL && ev_new(&ev, NULL) == 0);
    tf_cert(dir, "one", "IP:127.0.0.1");
    snprintf(crt, sizeof(crt), "%s/one.crt", dir);
    snprintf(pem, sizeof(pem), "%s/one.key", dir);
    must(tls_ctx_keys(&proof[0], key, NULL, NULL) == 0 &&
         tls_ctx_keys(&proof[1], other, NULL, NULL) == 0 &&
         tls_ctx_files(&proof[2], &by_cert, NULL) == 0);
    serve(BY_KEY, &by_key, key);
    serve(BY_CERT, &by_cert, key);
    by_key.mode = TLS_ACCEPT;
    serve(ACCEPTING, &by_key, key);
    by_key.mode = TLS_OFF;
    serve(PLAIN, &by_key, key);
    snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
    must(system(cmd) == 0);
}

static void wait_for_a_beat(void)
{
    for (msec_t end = ev_now(ev) + 3 * BEAT_MS; ev_now(ev) < end;)
        ev_turn(ev, true);
}

/* What the first ones leave behind is there for good. */
static void warm_up(void)
{
    /* kind and port, no edits, proof */
    static const uint8_t whole[][8] = { { 1 + 2 * BY_KEY },
                                        { 1 + 2 * BY_CERT, 0, 0, 2 },
                                        { 1 + 2 * ACCEPTING } };

    for (unsigned i = 0; i < 3; i++)
        /* the rig itself works */
        must(one((struct fuzz_bytes){ whole[i], whole[i] + sizeof(whole[i]) }));
    free_fd = tf_lowest_fd();
    tf_base = tf_held();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned n;

    if (ev == NULL) {
        start();
        warm_up();
    }
    if (++n % PER_BEATS == 0)
        wait_for_a_beat();
    (void)one((struct fuzz_bytes){ data, data + (size > 1u << 16 ? 1u << 16 : size) });
    return 0;
}
