/* tls.c: see tls.h. OpenSSL reads the socket through tls_wire.h, and writes into the buffer that
 * flush() sends. */
#include "common/net/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/net/tls_wire.h"

#define PSK_BYTES  32
#define SEAL_AHEAD (256u << 10) /* bytes that are sealed before the kernel has taken them */
#define KEEP_BYTES (1u << 20)   /* an empty buffer above this is given back */
#define RECORD     (16u << 10)  /* bytes of a whole one */
#define RECORDS_PER_KEY (1u << 17) /* AES-GCM bears 2^24 (RFC 8446, 5.5): a link lives for months */

struct psk {
    uint8_t key[PSK_BYTES];
    char identity[48];
};

struct tls_ctx {
    SSL_CTX *ssl; /* owned; connections hold it, too */
    struct psk psk[2];
    unsigned n_psk; /* 0: certificates */
    char name[256]; /* name in the certificate of a server of others; "": the host that is dialled */
    int64_t ends_s; /* first end of the certificates */
};

struct tls {
    SSL *ssl;
    struct tls_wire wire;
    struct buf sealed; /* on its way out */
    size_t sealed_done;
    unsigned turn; /* the key that is tried */
    unsigned n_records; /* sealed by the key of now */
    const char *why; /* OpenSSL's; NULL: nothing went wrong */
    bool more, by_key;
};

/* Sealed bytes are kept: all of a turn leave in one send(). */
static int bio_write(BIO *b, const char *p, int n)
{
    struct tls *t = container_of(BIO_get_data(b), struct tls, wire);

    BIO_clear_retry_flags(b);
    buf_append(&t->sealed, p, (size_t)n);
    return t->sealed.failed ? -1 : n;
}

static struct tls_wire_kind link_kind = { "segq", bio_write, NULL };

/* ---- keys ---- */

/* Derives the key for TLS from the link key, and a name that tells nothing about either. */
static void psk_make(struct psk *p, const uint8_t *link_key)
{
    static const char for_key[] = "segq-link-tls", for_name[] = "segq-link-tls-name";
    uint8_t id[16];
    char hex[2 * sizeof(id) + 1];

    crypto_generichash(p->key, sizeof(p->key), (const uint8_t *)for_key, sizeof(for_key) - 1,
                       link_key, 32);
    crypto_generichash(id, sizeof(id), (const uint8_t *)for_name, sizeof(for_name) - 1, p->key,
                       sizeof(p->key));
    snprintf(p->identity, sizeof(p->identity), "segq-%s",
             sodium_bin2hex(hex, sizeof(hex), id, sizeof(id)));
}

/* A session that was never there: OpenSSL's form of an external key (SSL_CTX_set_psk_*). */
static SSL_SESSION *psk_session(SSL *ssl, const struct psk *p)
{
    static const uint8_t aes_128_gcm_sha256[] = { 0x13, 0x01 };
    const SSL_CIPHER *c = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION *s = SSL_SESSION_new();

    if (s == NULL || c == NULL || !SSL_SESSION_set1_master_key(s, p->key, sizeof(p->key)) ||
        !SSL_SESSION_set_cipher(s, c) || !SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION)) {
        SSL_SESSION_free(s);
        return NULL;
    }
    return s;
}

static int on_psk_find(SSL *ssl, const unsigned char *id, size_t len, SSL_SESSION **out)
{
    const struct tls_ctx *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    *out = NULL; /* unknown: the handshake fails for want of a certificate */
    for (unsigned i = 0; c != NULL && i < c->n_psk; i++)
        if (strlen(c->psk[i].identity) == len && memcmp(c->psk[i].identity, id, len) == 0) {
            *out = psk_session(ssl, &c->psk[i]);
            return *out != NULL;
        }
    return 1;
}

static int on_psk_use(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *len,
                      SSL_SESSION **out)
{
    const struct tls_ctx *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    const struct tls *t = container_of(SSL_get_app_data(ssl), struct tls, wire);
    const struct psk *p;

    *out = NULL;
    *id = NULL;
    *len = 0;
    if (c == NULL || (md != NULL && EVP_MD_get_type(md) != NID_sha256))
        return 1; /* without a key, and so in vain */
    p = &c->psk[t->turn % c->n_psk];
    *out = psk_session(ssl, p);
    *id = (const unsigned char *)p->identity;
    *len = strlen(p->identity);
    return *out != NULL;
}

/* ---- contexts ---- */

static int ctx_new(struct tls_ctx **out, struct err *e)
{
    struct tls_ctx *c = calloc(1, sizeof(*c));

    *out = c;
    if (c == NULL)
        return err_set(e, SQ_ENOMEM, "tls: out of memory");
    c->ssl = SSL_CTX_new(TLS_method());
    if (c->ssl == NULL || !SSL_CTX_set_min_proto_version(c->ssl, TLS1_3_VERSION) ||
        !SSL_CTX_set1_groups_list(c->ssl, TLS_GROUPS) ||
        !SSL_CTX_set_ciphersuites(c->ssl,
                                  "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256")) {
        tls_ctx_free(c);
        *out = NULL;
        return err_set(e, SQ_ENOMEM, "tls: %s", tls_reason("out of memory"));
    }
    SSL_CTX_set_app_data(c->ssl, c);
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                    SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_num_tickets(c->ssl, 0);
    SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(c->ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(c->ssl, 1);
    SSL_CTX_set_default_read_buffer_len(c->ssl, TLS_READ);
    return 0;
}

int tls_ctx_keys(struct tls_ctx **out, const uint8_t *key, const uint8_t *other, struct err *e)
{
    int rc = ctx_new(out, e);
    struct tls_ctx *c = *out;

    if (rc < 0)
        return rc;
    psk_make(&c->psk[c->n_psk++], key);
    if (other != NULL)
        psk_make(&c->psk[c->n_psk++], other);
    SSL_CTX_set_psk_find_session_callback(c->ssl, on_psk_find);
    SSL_CTX_set_psk_use_session_callback(c->ssl, on_psk_use);
    return 0;
}

/* The first end of those in the chain, Unix seconds. */
static int64_t first_end_s(STACK_OF(X509) *chain)
{
    int64_t first = INT64_MAX;
    struct tm tm;

    for (int i = 0; i < sk_X509_num(chain); i++)
        if (ASN1_TIME_to_tm(X509_get0_notAfter(sk_X509_value(chain, i)), &tm) == 1 &&
            timegm(&tm) < first)
            first = timegm(&tm);
    return first;
}

/* Does it lead to our authorities, as one of a server's or a client's? X509_V_OK: yes. */
static int verify_own(SSL_CTX *ssl, int purpose, int64_t *ends_s)
{
    X509_STORE_CTX *s = X509_STORE_CTX_new();
    STACK_OF(X509) *chain = NULL;
    int why = X509_V_ERR_OUT_OF_MEM;

    if (s != NULL && SSL_CTX_get0_chain_certs(ssl, &chain) &&
        X509_STORE_CTX_init(s, SSL_CTX_get_cert_store(ssl), SSL_CTX_get0_certificate(ssl), chain) &&
        X509_STORE_CTX_set_purpose(s, purpose))
        why = X509_verify_cert(s) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(s);
    if (why == X509_V_OK)
        *ends_s = first_end_s(X509_STORE_CTX_get0_chain(s));
    X509_STORE_CTX_free(s);
    ERR_clear_error();
    return why;
}

/* Peers would refuse it, whom we dial or who dial us: better to say so here. */
static int check_own(struct tls_ctx *c, const struct cfg_tls *f, struct err *e)
{
    int as_client = verify_own(c->ssl, X509_PURPOSE_SSL_CLIENT, &c->ends_s), why = as_client;

    if (why == X509_V_OK)
        why = verify_own(c->ssl, X509_PURPOSE_SSL_SERVER, &c->ends_s);

    if (why == X509_V_OK)
        return 0;
    if (why == X509_V_ERR_INVALID_PURPOSE)
        return err_set(e, SQ_EINVAL,
                       "tls_cert: %s: its key usage is not for %s; links need serverAuth and clientAuth",
                       f->cert, as_client != X509_V_OK ? "clientAuth" : "serverAuth");
    return err_set(e, SQ_EINVAL, "tls_cert: %s: %s, by the authorities of %s", f->cert,
                   X509_verify_cert_error_string(why), f->ca);
}

static int load_files(struct tls_ctx *c, const struct cfg_tls *f, struct err *e)
{
    X509_VERIFY_PARAM *names = SSL_CTX_get0_param(c->ssl);
    struct tls_pair own = { "tls_cert", f->cert, "tls_key", f->key };
    int rc = tls_check_file("tls_ca", f->ca, FILE_ANY, e);

    if (rc == 0)
        rc = tls_load_pair(c->ssl, &own, e);
    if (rc < 0)
        return rc;
    if (SSL_CTX_load_verify_locations(c->ssl, f->ca, NULL) != 1)
        return tls_bad_file(e, "tls_ca", f->ca, "not certificates of an authority, in PEM form");
    rc = check_own(c, f, e);
    if (rc < 0)
        return rc;
    if (f->name[0] != '\0' && !X509_VERIFY_PARAM_set1_host(names, f->name, 0))
        return err_set(e, SQ_ENOMEM, "tls: out of memory");
    SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return 0;
}

int tls_ctx_files(struct tls_ctx **out, const struct cfg_tls *f, struct err *e)
{
    int rc;

    *out = NULL;
    if (f->cert[0] == '\0')
        return 0;
    rc = ctx_new(out, e);
    if (rc == 0)
        rc = load_files(*out, f, e);
    if (rc < 0) {
        tls_ctx_free(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- servers of others ---- */

static const char *lapsed(const X509 *x)
{
    if (X509_cmp_current_time(X509_get0_notAfter(x)) < 0)
        return X509_verify_cert_error_string(X509_V_ERR_CERT_HAS_EXPIRED);
    if (X509_cmp_current_time(X509_get0_notBefore(x)) > 0)
        return X509_verify_cert_error_string(X509_V_ERR_CERT_NOT_YET_VALID);
    return NULL;
}

/* Whoever is dialled may trust another authority than we do: only what shows by itself. */
static int load_client(SSL_CTX *ssl, const struct cfg_tls *f, struct err *e)
{
    struct tls_pair own = { "tls_cert", f->cert, "tls_key", f->key };
    int rc = tls_load_pair(ssl, &own, e);
    const char *why;
    X509 *x;

    if (rc < 0)
        return rc;
    x = SSL_CTX_get0_certificate(ssl);
    why = lapsed(x);
    if (why == NULL && X509_check_purpose(x, X509_PURPOSE_SSL_CLIENT, 0) != 1)
        why = "its key usage is not for clientAuth";
    return why == NULL ? 0 : err_set(e, SQ_EINVAL, "tls_cert: %s: %s", f->cert, why);
}

static int load_authorities(SSL_CTX *ssl, const char *path, struct err *e)
{
    int rc = tls_check_file("tls_ca", path, FILE_ANY, e);
    const STACK_OF(X509_OBJECT) *all;
    const char *why = NULL;

    if (rc < 0)
        return rc;
    ERR_clear_error();
    if (SSL_CTX_load_verify_locations(ssl, path, NULL) != 1)
        return tls_bad_file(e, "tls_ca", path, "not certificates of an authority, in PEM form");
    all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ssl));
    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        const X509 *x = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));

        why = x == NULL ? why : lapsed(x);
        if (x != NULL && why == NULL)
            return 0; /* a good one is enough */
    }
    return err_set(e, SQ_EINVAL, "tls_ca: %s: %s", path, why != NULL ? why : "no certificate");
}

static int load_foreign(struct tls_ctx *c, const struct cfg_tls *f, struct err *e)
{
    SSL_CTX *ssl = c->ssl;
    int rc = f->cert[0] == '\0' ? 0 : load_client(ssl, f, e);

    if (rc == 0 && f->ca[0] != '\0')
        rc = load_authorities(ssl, f->ca, e);
    if (rc < 0)
        return rc;
    if ((f->ca[0] == '\0' && !SSL_CTX_set_default_verify_paths(ssl)) ||
        !SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) ||
        !SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") ||
        !SSL_CTX_set1_groups_list(ssl, TLS_GROUPS ":P-384:P-521") ||
        !SSL_CTX_set_ciphersuites(ssl, TLS_DEFAULT_CIPHERSUITES))
        return err_set(e, SQ_ENOMEM, "tls: %s", tls_reason("out of memory"));
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    snprintf(c->name, sizeof(c->name), "%s", f->name);
    return 0;
}

int tls_ctx_foreign(struct tls_ctx **out, const struct cfg_tls *f, struct err *e)
{
    int rc = ctx_new(out, e);

    if (rc == 0)
        rc = load_foreign(*out, f, e);
    if (rc < 0) {
        tls_ctx_free(*out);
        *out = NULL;
    }
    return rc;
}

int tls_check_files(const struct cfg_tls *f, struct err *e)
{
    struct tls_ctx *c;
    int rc = tls_ctx_files(&c, f, e);

    tls_ctx_free(c);
    return rc;
}

void tls_ctx_free(struct tls_ctx *c)
{
    if (c == NULL)
        return;
    if (c->ssl != NULL)
        SSL_CTX_set_app_data(c->ssl, NULL); /* connections in their handshake hold it */
    SSL_CTX_free(c->ssl);
    sodium_memzero(c->psk, sizeof(c->psk));
    free(c);
}

int64_t tls_ctx_ends_s(const struct tls_ctx *c)
{
    return c == NULL ? 0 : c->ends_s;
}

unsigned tls_ctx_tries(const struct tls_ctx *c)
{
    return c->n_psk > 1 ? c->n_psk : 1;
}

/* ---- connections ---- */

/* The name that was dialled is the one in the certificate: a number, or a host's name. */
static bool check_host(struct tls *t, const char *host)
{
    X509_VERIFY_PARAM *p = SSL_get0_param(t->ssl);

    X509_VERIFY_PARAM_set1_host(p, NULL, 0); /* the context's name is that of who dials us */
    return X509_VERIFY_PARAM_set1_ip_asc(p, host) ||
           (X509_VERIFY_PARAM_set1_host(p, host, 0) && SSL_set_tlsext_host_name(t->ssl, host));
}

struct tls *tls_new(struct tls_ctx *c, int fd, const char *host, unsigned turn)
{
    struct tls *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    *t = (struct tls){ .wire = { .fd = fd }, .turn = turn, .by_key = c->n_psk > 0 };
    buf_init(&t->sealed);
    t->ssl = SSL_new(c->ssl);
    if (t->ssl == NULL || !tls_wire_attach(t->ssl, &t->wire, &link_kind)) {
        tls_free(t);
        return NULL;
    }
    if (host == NULL)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    if (host != NULL && c->n_psk == 0 && !check_host(t, c->name[0] != '\0' ? c->name : host)) {
        tls_free(t);
        return NULL;
    }
    ERR_clear_error();
    return t;
}

void tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    SSL_free(t->ssl);
    buf_fini(&t->sealed);
    free(t);
}

size_t tls_unsent(const struct tls *t)
{
    return t->sealed.len - t->sealed_done;
}

bool tls_more(const struct tls *t)
{
    return t->more;
}

/* 0, or -1 and errno; what does not go stays. */
static int flush(struct tls *t)
{
    ssize_t n;

    if (tls_unsent(t) == 0)
        return 0;
    n = send(t->wire.fd, t->sealed.data + t->sealed_done, tls_unsent(t), MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    t->sealed_done += (size_t)n;
    if (tls_unsent(t) == 0) {
        t->sealed_done = 0;
        buf_reset(&t->sealed);
        if (t->sealed.cap > KEEP_BYTES)
            buf_fini(&t->sealed);
    }
    return 0;
}

static int bad_certificate(const struct tls *t, long why, struct err *e)
{
    X509_VERIFY_PARAM *p = SSL_get0_param(t->ssl);
    bool by_name = why == X509_V_ERR_HOSTNAME_MISMATCH || why == X509_V_ERR_IP_ADDRESS_MISMATCH;
    const char *host = X509_VERIFY_PARAM_get0_host(p, 0);
    char *ip = X509_VERIFY_PARAM_get1_ip_asc(p);
    const char *name = host != NULL ? host : ip != NULL ? ip : "";

    err_set(e, SQ_EAUTH, "TLS: the peer's certificate: %s%s%s", X509_verify_cert_error_string(why),
            by_name ? ": it is not for " : "", by_name ? name : "");
    OPENSSL_free(ip);
    ERR_clear_error();
    return SQ_EAUTH;
}

int tls_handshake(struct tls *t, struct err *e)
{
    int rc, why, sent;

    tls_wire_begin(&t->wire, SSIZE_MAX);
    rc = SSL_do_handshake(t->ssl);
    why = SSL_get_error(t->ssl, rc);
    sent = flush(t); /* an alert, too */

    if (rc == 1 && t->by_key && !SSL_session_reused(t->ssl))
        return err_set(e, SQ_EAUTH, "TLS: the peer shows a certificate, and does not prove our link key");
    if (rc == 1 && sent == 0)
        return 1;
    if (rc != 1 && (t->wire.ended || why == SSL_ERROR_SYSCALL || why == SSL_ERROR_ZERO_RETURN)) {
        ERR_clear_error();
        return err_set(e, SQ_EAUTH, "TLS: the peer ended the handshake");
    }
    if (rc != 1 && why != SSL_ERROR_WANT_READ) {
        long cert = SSL_get_verify_result(t->ssl);

        if (cert != X509_V_OK)
            return bad_certificate(t, cert, e);
        return err_set(e, SQ_EAUTH, "TLS: no handshake with%s (%s)",
                       t->by_key                              ? " our link key"
                       : SSL_get_certificate(t->ssl) != NULL ? " our certificate"
                                                             : "out a certificate",
                       tls_reason("bad handshake"));
    }
    return sent == 0 ? 0 : err_set(e, SQ_EAUTH, "TLS: %s", strerror(errno));
}

ssize_t tls_recv(struct tls *t, void *p, size_t n)
{
    size_t done;
    int why = tls_wire_read(&t->wire, t->ssl, p, n, SSIZE_MAX, &done);

    t->more = why == SSL_ERROR_NONE;
    (void)flush(t); /* the answer to a change of keys; an error is told by the next write */
    if (done > 0)
        return (ssize_t)done; /* an end, or an error, is told again */
    if (why == SSL_ERROR_SSL)
        t->why = tls_reason("damaged");
    ERR_clear_error();
    errno = why == SSL_ERROR_WANT_READ ? EAGAIN : why == SSL_ERROR_SSL ? EPROTO : t->wire.read_errno;
    return why == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

const char *tls_why(const struct tls *t)
{
    return t->why != NULL ? t->why : "damaged";
}

/* The next record brings the new key. TLS 1.2 has no such thing, and needs none: its nonces count. */
static bool change_key(struct tls *t, size_t bytes)
{
    if (SSL_version(t->ssl) < TLS1_3_VERSION)
        return true;
    t->n_records += 1 + (unsigned)(bytes / RECORD);
    if (t->n_records < RECORDS_PER_KEY)
        return true;
    t->n_records = 0;
    return SSL_key_update(t->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
}

ssize_t tls_send(struct tls *t, const void *p, size_t n)
{
    size_t done = 0;

    if (flush(t) < 0)
        return -1;
    if (tls_unsent(t) > 0 && n > 0) {
        errno = EAGAIN;
        return -1;
    }
    n = n < SEAL_AHEAD ? n : SEAL_AHEAD;
    if (n == 0)
        return 0;
    if (!change_key(t, n) || SSL_write_ex(t->ssl, p, n, &done) != 1) {
        ERR_clear_error();
        errno = t->sealed.failed ? ENOMEM : EPROTO;
        return -1;
    }
    assert(done == n); /* the buffer takes all */
    return flush(t) < 0 ? -1 : (ssize_t)done;
}
