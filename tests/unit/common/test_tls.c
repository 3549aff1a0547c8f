/* test_tls.c: two ends of a socket pair, and ends that are not ours. */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "tests/lib/certrig.h"

static const uint8_t key_a[32] = { 1 }, key_b[32] = { 2 };
static int fd[2]; /* 0 dials */
static struct tls *end[2];
static int rc[2];
static struct err why[2];

static void begin(void)
{
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    certs_begin();
}

static void finish(void)
{
    tls_free(end[0]);
    tls_free(end[1]);
    close(fd[0]);
    close(fd[1]);
    certs_end();
}

TestSuite(tls, .init = begin, .fini = finish, .timeout = 200);

static struct tls_ctx *with_keys(const uint8_t *k, const uint8_t *other)
{
    struct tls_ctx *c = NULL;

    cr_assert_eq(tls_ctx_keys(&c, k, other, NULL), 0);
    return c;
}

/* Both ends in turn, until each is done or has failed. The contexts go at once: a connection lives on. */
static bool meet(struct tls_ctx *dialler, struct tls_ctx *acceptor, const char *host, unsigned turn)
{
    end[0] = tls_new(dialler, fd[0], host, turn);
    end[1] = tls_new(acceptor, fd[1], NULL, 0);
    cr_assert(end[0] != NULL && end[1] != NULL);
    for (unsigned i = 0; i < 40; i++)
        if (rc[i % 2] == 0)
            rc[i % 2] = tls_handshake(end[i % 2], &why[i % 2]);
    tls_ctx_free(dialler);
    tls_ctx_free(acceptor);
    return rc[0] == 1 && rc[1] == 1;
}

static void met(void)
{
    cr_assert(meet(with_keys(key_a, NULL), with_keys(key_a, NULL), "host", 0));
}

Test(tls, the_same_key_meets)
{
    char b[16];

    met();
    cr_expect_eq(tls_recv(end[0], b, sizeof(b)), -1);
    cr_expect_eq(errno, EAGAIN);
    cr_expect_eq(tls_send(end[0], "hello", 5), 5);
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), 5);
    cr_expect_eq(memcmp(b, "hello", 5), 0);
    close(fd[0]);
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), 0);
    fd[0] = dup(fd[1]);
}

static unsigned recvs;

/* In place of the C library's: counted. */
ssize_t recv(int s, void *p, size_t n, int flags)
{
    recvs++;
    return syscall(SYS_recvfrom, s, p, n, flags, NULL, NULL);
}

/* A short read says that there is no more: a turn with a frame is one system call, not two. */
Test(tls, what_has_come_is_asked_for_once)
{
    char b[64];

    met();
    cr_expect_eq(tls_send(end[0], "hello", 5), 5);
    recvs = 0;
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), 5);
    cr_expect_eq(recvs, 1u);
    cr_expect_eq(tls_send(end[0], "again", 5), 5);
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), 5, "the next call asks again");
}

Test(tls, another_key_does_not)
{
    cr_expect_not(meet(with_keys(key_a, NULL), with_keys(key_b, NULL), "host", 0));
    cr_expect_eq(rc[1], SQ_EAUTH);
    cr_expect(strstr(why[0].text, "link key") != NULL, "%s", why[0].text);
}

Test(tls, an_acceptor_knows_which_of_its_keys_is_meant)
{
    cr_expect(meet(with_keys(key_b, NULL), with_keys(key_a, key_b), "host", 0));
}

Test(tls, a_dialler_tries_its_second_key_in_its_second_turn)
{
    struct tls_ctx *c = with_keys(key_a, key_b);

    cr_expect_eq(tls_ctx_tries(c), 2u);
    cr_expect(meet(c, with_keys(key_b, NULL), "host", 1));
}

/* ---- bytes ---- */

/* Small buffers in the kernel: what it does not take stays sealed, and arrives in order. */
Test(tls, megabytes_go_through_a_small_socket_both_ways)
{
    enum { BYTES = 3 << 20 };
    static uint8_t sent[2][BYTES], got[2][BYTES];
    size_t out[2] = { 0 }, in[2] = { 0 };
    struct rng r;
    int small = 4096;
    bool was_unsent = false, was_more = false;

    met();
    rng_seed(&r, 5);
    for (unsigned i = 0; i < 2; i++) {
        setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        for (size_t k = 0; k < BYTES; k++)
            sent[i][k] = (uint8_t)rng_below(&r, 256);
    }
    while (in[0] < BYTES || in[1] < BYTES) {
        unsigned me = (unsigned)rng_below(&r, 2);
        size_t most = 1 + (size_t)rng_below(&r, 400000);
        ssize_t n = tls_send(end[me], sent[me] + out[me], most < BYTES - out[me] ? most : BYTES - out[me]);

        cr_assert(n >= 0 || errno == EAGAIN);
        out[me] += n > 0 ? (size_t)n : 0;
        was_unsent |= tls_unsent(end[me]) > 0;
        most = 1 + (size_t)rng_below(&r, 100000);
        n = tls_recv(end[me], got[me] + in[me], most < BYTES - in[me] ? most : BYTES - in[me]);
        cr_assert(n > 0 || errno == EAGAIN || in[me] == BYTES);
        in[me] += n > 0 ? (size_t)n : 0;
        was_more |= tls_more(end[me]);
    }
    cr_expect_eq(memcmp(sent[0], got[1], BYTES), 0);
    cr_expect_eq(memcmp(sent[1], got[0], BYTES), 0);
    cr_expect(was_unsent && was_more);
}

/* A record of a byte has 23, a change of keys 27. */
Test(tls, keys_are_changed_after_many_records)
{
    enum { RECORDS = 150000 };
    size_t on_the_way = 0;

    met();
    for (unsigned i = 0; i < RECORDS; i++) {
        uint8_t c = (uint8_t)i, got;
        int n = 0;

        cr_assert_eq(tls_send(end[0], &c, 1), 1);
        cr_assert_eq(ioctl(fd[1], FIONREAD, &n), 0);
        on_the_way += (size_t)n;
        cr_assert(tls_recv(end[1], &got, 1) == 1 && got == c);
        cr_assert(tls_recv(end[1], &got, 1) == -1 && errno == EAGAIN);
    }
    cr_expect_eq(on_the_way, (size_t)RECORDS * 23 + 27);
}

/* A manager may have a thousand links. */
Test(tls, a_quiet_link_holds_no_room_for_records)
{
    enum { PAIRS = 20 };
    static struct tls *kept[2 * PAIRS];
    static int fds[2 * PAIRS];
    struct tls_ctx *c = with_keys(key_a, NULL);
    size_t before = mallinfo2().uordblks;

    for (unsigned i = 0; i < PAIRS; i++) {
        char b[16];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds + 2 * i), 0);
        kept[2 * i] = tls_new(c, fds[2 * i], "host", 0);
        kept[2 * i + 1] = tls_new(c, fds[2 * i + 1], NULL, 0);
        for (unsigned k = 0; k < 8; k++)
            cr_assert_geq(tls_handshake(kept[2 * i + k % 2], NULL), 0);
        cr_assert_eq(tls_send(kept[2 * i], "hello", 5), 5);
        cr_assert_eq(tls_recv(kept[2 * i + 1], b, sizeof(b)), 5);
        cr_assert_eq(tls_recv(kept[2 * i], b, sizeof(b)), -1);
    }
    cr_expect_lt((mallinfo2().uordblks - before) / (2 * PAIRS), (size_t)(24 << 10));
    for (unsigned i = 0; i < 2 * PAIRS; i++) {
        tls_free(kept[i]);
        close(fds[i]);
    }
    tls_ctx_free(c);
}

Test(tls, nothing_of_it_is_readable_on_the_way)
{
    static const char secret[] = "a token that nobody else may read";
    char b[4096];
    ssize_t n;

    met();
    cr_expect_eq(tls_send(end[0], secret, sizeof(secret)), (ssize_t)sizeof(secret));
    n = recv(fd[1], b, sizeof(b), 0);
    cr_assert_gt(n, (ssize_t)sizeof(secret));
    cr_expect_null(memmem(b, (size_t)n, secret, sizeof(secret) - 1));
}

Test(tls, a_changed_byte_is_found)
{
    char b[4096];
    ssize_t n;

    met();
    cr_assert_eq(tls_send(end[0], "hello", 5), 5);
    n = recv(fd[1], b, sizeof(b), 0);
    cr_assert_gt(n, 5);
    b[n - 1] ^= 1;
    cr_assert_eq(send(fd[0], b, (size_t)n, 0), n);
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), -1);
    cr_expect_eq(errno, EPROTO);
}

/* libcurl shares the thread's queue of errors, and leaves some there. */
Test(tls, an_error_of_somebody_else_breaks_no_link)
{
    char b[16];

    met();
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    cr_expect_eq(tls_recv(end[0], b, sizeof(b)), -1);
    cr_expect_eq(errno, EAGAIN);
    ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
    cr_expect_eq(tls_send(end[0], "hello", 5), 5);
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), 5);
    cr_expect_eq(ERR_peek_error(), 0ul);
}

/* ---- peers that are not ours ---- */

static int speak(SSL_CTX *c, struct tls_ctx *acceptor)
{
    SSL *s = SSL_new(c);
    int ours = 0;

    end[1] = tls_new(acceptor, fd[1], NULL, 0);
    SSL_set_fd(s, fd[0]);
    for (unsigned i = 0; i < 20 && ours == 0; i++) {
        (void)SSL_connect(s);
        ours = tls_handshake(end[1], &why[1]);
    }
    SSL_free(s);
    SSL_CTX_free(c);
    ERR_clear_error();
    tls_ctx_free(acceptor);
    return ours;
}

Test(tls, version_1_2_is_refused)
{
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());

    SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION);
    cr_expect_eq(speak(c, with_keys(key_a, NULL)), SQ_EAUTH);
}

Test(tls, a_cipher_that_is_not_ours_is_refused)
{
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());

    SSL_CTX_set_ciphersuites(c, "TLS_AES_256_GCM_SHA384");
    cr_expect_eq(speak(c, with_keys(key_a, NULL)), SQ_EAUTH);
}

Test(tls, a_peer_without_a_key_is_refused)
{
    cr_expect_eq(speak(SSL_CTX_new(TLS_client_method()), with_keys(key_a, NULL)), SQ_EAUTH);
}

Test(tls, random_bytes_end_a_handshake)
{
    struct rng r;

    rng_seed(&r, 11);
    for (unsigned i = 0; i < 300; i++) {
        uint8_t b[600];
        size_t n = 1 + (size_t)rng_below(&r, sizeof(b));
        struct tls_ctx *c = with_keys(key_a, NULL);
        struct tls *t;
        int said;

        for (size_t k = 0; k < n; k++)
            b[k] = (uint8_t)rng_below(&r, 256);
        b[0] = 0x16;
        b[1] = 3;
        close(fd[0]);
        close(fd[1]);
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
        t = tls_new(c, fd[1], NULL, 0);
        cr_assert_eq(send(fd[0], b, n, 0), (ssize_t)n);
        said = tls_handshake(t, NULL);
        if (said == 0) { /* it waits for the rest of a record */
            shutdown(fd[0], SHUT_WR);
            said = tls_handshake(t, NULL);
        }
        cr_expect_eq(said, SQ_EAUTH);
        cr_expect_eq(ERR_peek_error(), 0ul, "libcurl would take it for its own");
        tls_free(t);
        tls_ctx_free(c);
    }
}

/* ---- certificates ---- */

static struct authority ours, theirs;

static void begin_certs(void)
{
    begin();
    ours = authority_make("ca");
    theirs = authority_make("other-ca");
    cert_issue(&ours, "seg1", "DNS:seg1.segq,IP:127.0.0.1", 30);
    cert_issue(&ours, "r1", "DNS:routers.segq", 30);
    cert_issue(&ours, "old", "DNS:routers.segq", -1);
    cert_issue(&theirs, "stranger", "DNS:routers.segq,DNS:seg1.segq", 30);
}

static void finish_certs(void)
{
    authority_free(&ours);
    authority_free(&theirs);
    finish();
}

TestSuite(tls_certs, .init = begin_certs, .fini = finish_certs, .timeout = 200);

Test(tls_certs, of_one_authority_meet)
{
    cr_expect(meet(cert_ctx("r1", "ca", ""), cert_ctx("seg1", "ca", ""), "seg1.segq", 0), "%s, %s",
              why[0].text, why[1].text);
}

Test(tls_certs, a_number_is_a_name_too)
{
    cr_expect(meet(cert_ctx("r1", "ca", ""), cert_ctx("seg1", "ca", ""), "127.0.0.1", 0), "%s, %s",
              why[0].text, why[1].text);
}

Test(tls_certs, a_name_that_was_not_dialled_is_refused)
{
    cr_expect_not(meet(cert_ctx("r1", "ca", ""), cert_ctx("seg1", "ca", ""), "seg2.segq", 0));
    cr_expect_eq(rc[0], SQ_EAUTH);
    cr_expect(strstr(why[0].text, "hostname mismatch") != NULL, "%s", why[0].text);
}

Test(tls_certs, a_number_that_was_not_dialled_is_refused)
{
    cr_expect_not(meet(cert_ctx("r1", "ca", ""), cert_ctx("seg1", "ca", ""), "127.0.0.2", 0));
    cr_expect_eq(rc[0], SQ_EAUTH);
}

Test(tls_certs, of_another_authority_are_refused_by_both)
{
    cr_expect_not(meet(cert_ctx("r1", "ca", ""), cert_ctx("stranger", "other-ca", ""), "seg1.segq", 0));
    cr_expect_eq(rc[0], SQ_EAUTH);
}

Test(tls_certs, a_dialler_of_another_authority_is_refused)
{
    meet(cert_ctx("stranger", "other-ca", ""), cert_ctx("seg1", "ca", ""), "seg1.segq", 0);
    cr_expect_eq(rc[1], SQ_EAUTH);
}

Test(tls_certs, a_name_of_diallers_is_held)
{
    cr_expect(meet(cert_ctx("r1", "ca", ""), cert_ctx("seg1", "ca", "routers.segq"), "seg1.segq", 0),
              "%s, %s", why[0].text, why[1].text);
}

Test(tls_certs, another_name_of_diallers_is_refused)
{
    meet(cert_ctx("r1", "ca", ""), cert_ctx("seg1", "ca", "managers.segq"), "seg1.segq", 0);
    cr_expect_eq(rc[1], SQ_EAUTH);
    cr_expect(strstr(why[1].text, "hostname mismatch") != NULL, "%s", why[1].text);
}

Test(tls_certs, a_key_does_for_none)
{
    meet(with_keys(key_a, NULL), cert_ctx("seg1", "ca", ""), "seg1.segq", 0);
    cr_expect_eq(rc[1], SQ_EAUTH);
}

Test(tls_certs, without_one_is_refused)
{
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());

    cr_expect_eq(speak(c, cert_ctx("seg1", "ca", "")), SQ_EAUTH);
    cr_expect(strstr(why[1].text, "did not return a certificate") != NULL, "%s", why[1].text);
}

/* Whoever sits between two peers passes over the key, and shows a certificate of its own. */
Test(tls_certs, a_dialler_with_a_key_takes_no_certificate_for_it)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    struct tls_ctx *dialler = with_keys(key_a, NULL);
    SSL *s;

    cr_assert_eq(SSL_CTX_use_certificate_file(c, cert_path("stranger", ".crt"), SSL_FILETYPE_PEM), 1);
    cr_assert_eq(SSL_CTX_use_PrivateKey_file(c, cert_path("stranger", ".key"), SSL_FILETYPE_PEM), 1);
    s = SSL_new(c);
    SSL_set_fd(s, fd[1]);
    end[0] = tls_new(dialler, fd[0], "seg1.segq", 0);
    for (unsigned i = 0; i < 20 && rc[0] == 0; i++) {
        rc[0] = tls_handshake(end[0], &why[0]);
        (void)SSL_accept(s);
    }
    cr_expect_eq(rc[0], SQ_EAUTH, "%s", why[0].text);
    SSL_free(s);
    SSL_CTX_free(c);
    ERR_clear_error();
    tls_ctx_free(dialler);
}

static void refused(struct cfg_tls f, const char *path, const char *said)
{
    struct tls_ctx *c;
    struct err e = { 0 };

    cr_expect_lt(tls_ctx_files(&c, &f, &e), 0);
    cr_expect_null(c);
    cr_expect(strstr(e.text, path) != NULL && strstr(e.text, said) != NULL, "%s", e.text);
}

static void lock_key(const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *f = fopen(cert_path(name, ".key"), "w");

    cr_assert_not_null(f);
    cr_assert_eq(fchmod(fileno(f), 0600), 0);
    PEM_write_PrivateKey(f, key, EVP_aes_128_cbc(), (const uint8_t *)"word", 4, NULL, NULL);
    fclose(f);
    EVP_PKEY_free(key);
}

Test(tls_certs, bad_files_are_named)
{
    struct cfg_tls f = cert_files("seg1", "ca", "");

    f.key = cert_path("r1", ".key");
    refused(f, "r1.key", "not the private key of the certificate");
    f = cert_files("seg1", "ca", "");
    f.cert = cert_path("seg1", ".key");
    refused(f, "seg1.key", "not a certificate");
    f = cert_files("seg1", "ca", "");
    f.ca = cert_path("nothing", ".crt");
    refused(f, "nothing.crt", "No such file");
    refused(cert_files("seg1", "other-ca", ""), "seg1.crt", "unable to get local issuer certificate");
    refused(cert_files("old", "ca", ""), "old.crt", "expired");
    cr_assert_eq(chmod(cert_path("seg1", ".key"), 0644), 0);
    refused(cert_files("seg1", "ca", ""), "seg1.key", "others");
    lock_key("seg1");
    refused(cert_files("seg1", "ca", ""), "seg1.key", "passphrase");
    cr_assert_eq(unlink(cert_path("seg1", ".key")), 0);
    cr_assert_eq(mkfifo(cert_path("seg1", ".key"), 0600), 0);
    refused(cert_files("seg1", "ca", ""), "seg1.key", "regular");
}

/* A chain is as good as its first end: the authority's is sooner than that of "late". */
Test(tls_certs, the_first_end_of_the_chain_is_known)
{
    struct tls_ctx *soon = cert_ctx("seg1", "ca", ""), *late, *none = with_keys(key_a, NULL);
    int64_t when = time(NULL) + 30 * 86400;

    cert_issue(&ours, "late", "DNS:seg1.segq", 90);
    late = cert_ctx("late", "ca", "");
    cr_expect(llabs(tls_ctx_ends_s(soon) - when) < 200);
    cr_expect(llabs(tls_ctx_ends_s(late) - when) < 200);
    cr_expect_eq(tls_ctx_ends_s(none), 0);
    cr_expect_eq(tls_ctx_ends_s(NULL), 0);
    tls_ctx_free(soon);
    tls_ctx_free(late);
    tls_ctx_free(none);
}

Test(tls_certs, of_one_direction_alone_is_refused_beforehand)
{
    cert_issue_for(&ours, "server", "DNS:routers.segq", "serverAuth", 30);
    cert_issue_for(&ours, "client", "DNS:routers.segq", "clientAuth", 30);
    cert_issue_for(&ours, "both", "DNS:routers.segq", "serverAuth,clientAuth", 30);
    refused(cert_files("server", "ca", ""), "server.crt", "clientAuth");
    refused(cert_files("client", "ca", ""), "client.crt", "serverAuth");
    tls_ctx_free(cert_ctx("both", "ca", ""));
}

/* ---- peers that have a certificate, and misbehave ---- */

static SSL *stranger; /* a client of OpenSSL's own, at fd[0] */

static int speak_with_certificate(const char *groups)
{
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    struct tls_ctx *acceptor = cert_ctx("seg1", "ca", "");
    int done = 0;

    cr_assert_eq(SSL_CTX_use_certificate_file(c, cert_path("r1", ".crt"), SSL_FILETYPE_PEM), 1);
    cr_assert_eq(SSL_CTX_use_PrivateKey_file(c, cert_path("r1", ".key"), SSL_FILETYPE_PEM), 1);
    cr_assert(groups == NULL || SSL_CTX_set1_groups_list(c, groups));
    stranger = SSL_new(c);
    SSL_set_fd(stranger, fd[0]);
    end[1] = tls_new(acceptor, fd[1], NULL, 0);
    for (unsigned i = 0; i < 20 && done == 0; i++) {
        (void)SSL_connect(stranger);
        done = tls_handshake(end[1], &why[1]);
    }
    SSL_CTX_free(c);
    tls_ctx_free(acceptor);
    ERR_clear_error();
    return done;
}

/* A key of ffdhe8192 takes tens of milliseconds, and whoever says hello would choose it. */
Test(tls_certs, a_group_that_costs_much_is_refused)
{
    static const char *const groups[] = { "ffdhe8192", "P-521" };

    for (unsigned i = 0; i < ARRAY_LEN(groups); i++) {
        cr_expect_eq(speak_with_certificate(groups[i]), SQ_EAUTH, "%s", groups[i]);
        SSL_free(stranger);
        tls_free(end[1]);
        close(fd[0]);
        close(fd[1]);
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    }
    cr_expect_eq(speak_with_certificate("P-256"), 1, "%s", why[1].text);
    SSL_free(stranger);
}

/* Each is answered, if that is asked for, and costs two derivations of keys. */
static void flood_with_key_updates(int kind)
{
    char b[64];
    ssize_t n = -1;

    cr_assert_eq(speak_with_certificate(NULL), 1, "%s", why[1].text);
    for (unsigned i = 0; i < 200 && n < 0; i++) {
        errno = 0;
        (void)(SSL_key_update(stranger, kind) && SSL_do_handshake(stranger));
        n = tls_recv(end[1], b, sizeof(b));
        if (errno != EAGAIN)
            break;
    }
    cr_expect_eq(n, -1);
    cr_expect_eq(errno, EPROTO);
    cr_expect_lt(tls_unsent(end[1]), (size_t)4096);
    SSL_free(stranger);
}

Test(tls_certs, changes_of_keys_without_data_end_a_link)
{
    flood_with_key_updates(SSL_KEY_UPDATE_NOT_REQUESTED);
}

Test(tls_certs, answers_to_changes_of_keys_are_bounded)
{
    flood_with_key_updates(SSL_KEY_UPDATE_REQUESTED);
}

/* What comes in one piece is looked at in one go: it ends there. */
Test(tls_certs, a_turn_ends_whatever_a_peer_sends)
{
    char b[64];

    cr_assert_eq(speak_with_certificate(NULL), 1, "%s", why[1].text);
    for (unsigned i = 0; i < 1000; i++)
        (void)(SSL_key_update(stranger, SSL_KEY_UPDATE_NOT_REQUESTED) && SSL_do_handshake(stranger));
    cr_expect_eq(tls_recv(end[1], b, sizeof(b)), -1);
    cr_expect_eq(errno, EPROTO);
    SSL_free(stranger);
}
