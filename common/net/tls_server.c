/* tls_server.c: see tls_server.h. */
#include "common/net/tls_server.h"

#include <assert.h>
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/base/log.h"
#include "common/net/tls_wire.h"

#define LOG_MODULE "tls"
#define KEY_BYTES  32
#define NAME_BYTES 16 /* name of a ticket's key, as OpenSSL has it */
/* Ephemeral keys and AEAD alone (RFC 9325, 4.2); those of TLS 1.3 are OpenSSL's own. */
#define CIPHERS_12 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define READ_BYTES (80 << 10) /* most of a call: the kernel tells of the rest again */

struct cert {
    SSL_CTX *ssl; /* owned; connections hold it, too; NULL: it was refused */
    char *file;   /* owned: cfg_cert.cert */
    int64_t lapses_s;
};

struct tls_server {
    struct cert *v; /* owned */
    size_t n;
    uint8_t key[2][KEY_BYTES];
    unsigned n_keys;
    int64_t (*now_s)(void);
    bool loaded; /* once, at least */
    int64_t hsts_s;
};

static int64_t wall_s(void)
{
    return time(NULL);
}

/* ---- tickets ---- */

struct ticket_key {
    uint8_t name[NAME_BYTES], aes[32], mac[32];
};

static void ticket_key_make(struct ticket_key *k, const uint8_t *key, int64_t half_day)
{
    uint8_t out[64];
    char label[64];
    int n = snprintf(label, sizeof(label), "segq-ticket-%lld", (long long)half_day);

    crypto_generichash(out, sizeof(out), (const uint8_t *)label, (size_t)n, key, KEY_BYTES);
    memcpy(k->aes, out, sizeof(k->aes));
    memcpy(k->mac, out + sizeof(k->aes), sizeof(k->mac));
    crypto_generichash(k->name, NAME_BYTES, (const uint8_t *)"segq-ticket-name", 16, out, sizeof(out));
    sodium_memzero(out, sizeof(out));
}

static bool set_mac(EVP_MAC_CTX *mac, struct ticket_key *k)
{
    char digest[] = "SHA256";
    OSSL_PARAM p[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, k->mac, sizeof(k->mac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    return EVP_MAC_CTX_set_params(mac, p) == 1;
}

static int ticket_seal(const struct tls_server *s, int64_t now, uint8_t *name, uint8_t *iv,
                       EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    struct ticket_key k;
    bool ok;

    ticket_key_make(&k, s->key[0], now);
    memcpy(name, k.name, NAME_BYTES);
    ok = RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 &&
         EVP_EncryptInit_ex2(cipher, EVP_aes_256_cbc(), k.aes, iv, NULL) == 1 && set_mac(mac, &k);
    sodium_memzero(&k, sizeof(k));
    return ok ? 1 : -1;
}

/* 2: the client gets a new one, since clients of TLS 1.3 use each once; 0: none of our keys. */
static int ticket_open(const struct tls_server *s, int64_t now, const uint8_t *name, const uint8_t *iv,
                       EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    struct ticket_key k;
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < s->n_keys; i++)
        for (int64_t at = now - 1; rc == 0 && at <= now + 1; at++) {
            ticket_key_make(&k, s->key[i], at);
            if (memcmp(name, k.name, NAME_BYTES) != 0)
                continue;
            rc = 2;
            if (EVP_DecryptInit_ex2(cipher, EVP_aes_256_cbc(), k.aes, iv, NULL) != 1 || !set_mac(mac, &k))
                rc = -1;
        }
    sodium_memzero(&k, sizeof(k));
    return rc;
}

static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int seal)
{
    const struct tls_server *s = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    int64_t now = s->now_s() / TLS_TICKET_HALF_DAY;

    if (SSL_version(ssl) != TLS1_3_VERSION || s->n_keys == 0)
        return 0;
    return seal ? ticket_seal(s, now, name, iv, cipher, mac) : ticket_open(s, now, name, iv, cipher, mac);
}

/* ---- what a client asks for ---- */

static int on_name(SSL *ssl, int *alert, void *arg)
{
    struct tls_server *s = arg;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

    (void)alert;
    for (size_t i = 0; name != NULL && i < s->n; i++)
        if (X509_check_host(SSL_CTX_get0_certificate(s->v[i].ssl), name, strlen(name), 0, NULL) == 1) {
            SSL_set_SSL_CTX(ssl, s->v[i].ssl);
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK; /* the first one */
}

/* A client that offers others alone would not understand our answers (RFC 7301, 3.2). */
static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in,
                        unsigned int in_n, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
    unsigned char *found;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&found, n, ours, sizeof(ours) - 1, in, in_n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- certificates ---- */

static SSL_CTX *ctx_new(struct tls_server *s)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());

    if (c == NULL || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) ||
        !SSL_CTX_set_cipher_list(c, CIPHERS_12) || !SSL_CTX_set1_groups_list(c, TLS_GROUPS)) {
        SSL_CTX_free(c);
        return NULL;
    }
    SSL_CTX_set_app_data(c, s);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                               SSL_OP_NO_COMPRESSION | (s->n_keys == 0 ? SSL_OP_NO_TICKET : 0));
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(c, (const uint8_t *)"segq", 4);
    SSL_CTX_set_num_tickets(c, s->n_keys == 0 ? 0 : 2); /* browsers use each once */
    SSL_CTX_set_tlsext_ticket_key_evp_cb(c, on_ticket);
    SSL_CTX_set_mode(c, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(c, 1); /* a single recv() for a record */
    SSL_CTX_set_tlsext_servername_callback(c, on_name);
    SSL_CTX_set_tlsext_servername_arg(c, s);
    SSL_CTX_set_alpn_select_cb(c, on_protocols, NULL);
    return c;
}

static bool has_names(X509 *x)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    bool has = false;

    for (int i = 0; names != NULL && i < sk_GENERAL_NAME_num(names); i++) {
        int type = sk_GENERAL_NAME_value(names, i)->type;

        has = has || type == GEN_DNS || type == GEN_IPADD;
    }
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    return has;
}

static int64_t unix_s(const ASN1_TIME *t)
{
    struct tm tm;

    return ASN1_TIME_to_tm(t, &tm) == 1 ? timegm(&tm) : 0;
}

/* strict: one that clients would refuse because of its time is refused here. */
static int check_cert(struct cert *c, const struct tls_pair *p, bool strict, int64_t now, struct err *e)
{
    X509 *x = SSL_CTX_get0_certificate(c->ssl);
    const char *why = NULL;

    c->lapses_s = unix_s(X509_get0_notAfter(x));
    if (!has_names(x))
        return err_set(e, SQ_EINVAL, "%s: %s: no subjectAltName with a DNS name or an address: no client "
                       "accepts it", p->cert_key, p->cert);
    if (c->lapses_s <= now)
        why = "the certificate has lapsed: put a new one in its place";
    else if (unix_s(X509_get0_notBefore(x)) > now)
        why = "the certificate is not valid yet: is the clock right?";
    if (why != NULL && strict)
        return err_set(e, SQ_EINVAL, "%s: %s: %s", p->cert_key, p->cert, why);
    if (why != NULL)
        log_error("event=bad_certificate file=%s why=\"%s\"", log_q(p->cert, strlen(p->cert)), why);
    return 0;
}

static void certs_free(struct cert *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        SSL_CTX_free(v[i].ssl);
        free(v[i].file);
    }
    free(v);
}

static int load_one(struct tls_server *s, struct cert *c, const char *list, size_t i,
                    const struct cfg_cert *f, bool strict, struct err *e)
{
    char cert_key[64] = "admin_cert", key_key[64] = "admin_key";
    struct tls_pair p = { cert_key, f->cert, key_key, f->key };
    int rc;

    if (list != NULL) {
        snprintf(cert_key, sizeof(cert_key), "%s.%zu: cert", list, i + 1);
        snprintf(key_key, sizeof(key_key), "%s.%zu: key", list, i + 1);
    }
    c->ssl = ctx_new(s);
    c->file = strdup(f->cert);
    if (c->ssl == NULL || c->file == NULL)
        return err_set(e, SQ_ENOMEM, "tls: %s", tls_reason("out of memory"));
    rc = tls_load_pair(c->ssl, &p, e);
    return rc < 0 ? rc : check_cert(c, &p, strict, wall_s(), e);
}

/* c was refused: what its file had before is served on. False: there is no such thing. */
static bool keep(const struct tls_server *s, struct cert *c)
{
    SSL_CTX_free(c->ssl);
    c->ssl = NULL;
    for (size_t i = 0; c->file != NULL && c->ssl == NULL && i < s->n; i++)
        if (strcmp(s->v[i].file, c->file) == 0 && SSL_CTX_up_ref(s->v[i].ssl)) {
            c->ssl = s->v[i].ssl;
            c->lapses_s = s->v[i].lapses_s;
        }
    return c->ssl != NULL;
}

static void add_refusal(struct err *all, const struct err *e)
{
    struct err was = *all;

    if (was.text[0] == '\0')
        *all = *e;
    else
        err_set(all, SQ_EINVAL, "%s; %s", was.text, e->text);
}

/* *out = NULL: none of them can be used. */
static int load_all(struct tls_server *s, const char *list, const struct cfg_cert *v, size_t n, bool strict,
                    struct cert **out, struct err *e)
{
    struct cert *fresh = calloc(n + 1, sizeof(*fresh));
    struct err all = { 0 };
    bool whole = true;
    int rc = 0;

    *out = NULL;
    if (fresh == NULL)
        return err_set(e, SQ_ENOMEM, "tls: out of memory");
    for (size_t i = 0; i < n; i++) {
        struct err why = { 0 };
        int one = load_one(s, &fresh[i], list, i, &v[i], strict, &why);

        if (one == 0)
            continue;
        rc = one;
        add_refusal(&all, &why);
        whole = keep(s, &fresh[i]) && whole;
    }
    if (rc < 0)
        err_set(e, rc, "%s", all.text);
    if (whole)
        *out = fresh;
    else
        certs_free(fresh, n);
    return rc;
}

int tls_server_load(struct tls_server *s, const char *list, const struct cfg_cert *v, size_t n,
                    struct err *e)
{
    struct cert *fresh;
    int rc = load_all(s, list, v, n, s->loaded, &fresh, e);

    if (fresh == NULL)
        return rc;
    certs_free(s->v, s->n);
    s->v = fresh;
    s->n = n;
    s->loaded = true;
    return rc;
}

int tls_server_check(const char *list, const struct cfg_cert *v, size_t n, struct err *e)
{
    struct tls_server s = { .now_s = wall_s };
    struct cert *fresh;
    int rc = load_all(&s, list, v, n, true, &fresh, e);

    if (fresh != NULL)
        certs_free(fresh, n);
    return rc;
}

struct tls_server *tls_server_new(const struct tls_server_opts *o)
{
    struct tls_server *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->now_s = o->now_s != NULL ? o->now_s : wall_s;
    if (o->key != NULL)
        memcpy(s->key[s->n_keys++], o->key, KEY_BYTES);
    if (o->key != NULL && o->other != NULL)
        memcpy(s->key[s->n_keys++], o->other, KEY_BYTES);
    return s;
}

void tls_server_free(struct tls_server *s)
{
    if (s == NULL)
        return;
    certs_free(s->v, s->n);
    sodium_memzero(s->key, sizeof(s->key));
    free(s);
}

bool tls_server_is_on(const struct tls_server *s)
{
    return s != NULL && s->n > 0;
}

void tls_server_set_hsts(struct tls_server *s, int64_t seconds)
{
    s->hsts_s = seconds;
}

int64_t tls_server_hsts_s(const struct tls_server *s)
{
    return tls_server_is_on(s) ? s->hsts_s : 0;
}

int64_t tls_server_lapses_s(const struct tls_server *s)
{
    int64_t first = 0;

    for (size_t i = 0; s != NULL && i < s->n; i++)
        if (first == 0 || s->v[i].lapses_s < first)
            first = s->v[i].lapses_s;
    return first;
}

/* ---- connections ---- */

static int bio_write(BIO *b, const char *p, int n)
{
    struct tls_wire *w = BIO_get_data(b);
    ssize_t put = send(w->fd, p, (size_t)n, MSG_NOSIGNAL);

    w->sent = w->sent || put > 0;
    tls_wire_retry(b, BIO_FLAGS_WRITE, put);
    return (int)put;
}

static struct tls_wire_kind port_kind = { "segq-server", bio_write, NULL };

bool tls_sock_open(struct tls_sock *t, struct tls_server *s, int fd)
{
    assert(tls_server_is_on(s));
    *t = (struct tls_sock){ .wire = { .fd = fd, .looks = true } };
    t->ssl = SSL_new(s->v[0].ssl);
    if (t->ssl == NULL || !tls_wire_attach(t->ssl, &t->wire, &port_kind)) {
        tls_sock_close(t);
        return false;
    }
    SSL_set_accept_state(t->ssl);
    return true;
}

void tls_sock_close(struct tls_sock *t)
{
    SSL_free(t->ssl);
    t->ssl = NULL;
}

void tls_sock_bye(struct tls_sock *t)
{
    if (t->done)
        (void)SSL_shutdown(t->ssl);
    ERR_clear_error();
}

int tls_sock_handshake(struct tls_sock *t, struct err *e)
{
    int rc, why;

    tls_wire_begin(&t->wire, READ_BYTES);
    rc = SSL_do_handshake(t->ssl);
    why = SSL_get_error(t->ssl, rc);
    t->wants_write = why == SSL_ERROR_WANT_WRITE;
    if (rc == 1) {
        t->done = true;
        return 1;
    }
    if (t->wire.plain) {
        ERR_clear_error();
        return err_set(e, SQ_EINVAL, "not TLS");
    }
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return 0;
    if (t->wire.ended)
        return err_set(e, SQ_EAUTH, "%s", tls_reason("the client ended it"));
    return err_set(e, SQ_EAUTH, "%s", tls_reason(why == SSL_ERROR_SYSCALL ? "connection lost" : "bad handshake"));
}

bool tls_sock_resumed(const struct tls_sock *t)
{
    return SSL_session_reused(t->ssl) == 1;
}

ssize_t tls_sock_recv(struct tls_sock *t, void *p, size_t n)
{
    size_t done;
    int why = tls_wire_read(&t->wire, t->ssl, p, n, READ_BYTES, &done);

    t->more = done > 0 && why != SSL_ERROR_WANT_READ;
    if (done > 0)
        return (ssize_t)done; /* an end, or an error, is told by the next one */
    ERR_clear_error();
    /* A client that asks for answers of TLS itself and does not read them is not waited for. */
    errno = why == SSL_ERROR_WANT_READ ? EAGAIN : why == SSL_ERROR_SYSCALL ? t->wire.read_errno : EPROTO;
    return why == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

ssize_t tls_sock_send(struct tls_sock *t, const void *p, size_t n)
{
    size_t done = 0, put = 0;
    int why = SSL_ERROR_NONE;

    tls_wire_begin(&t->wire, READ_BYTES);
    for (; done < n && why == SSL_ERROR_NONE; done += put)
        if (SSL_write_ex(t->ssl, (const uint8_t *)p + done, n - done, &put) != 1) {
            put = 0;
            why = SSL_get_error(t->ssl, 0);
        }
    if (done > 0 || n == 0)
        return (ssize_t)done;
    ERR_clear_error();
    errno = why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
}
