/* tls_wire.c: see tls_wire.h. */
#include "common/net/tls_wire.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROLS_FREE     32         /* with those of a handshake */
#define BYTES_PER_CONTROL (1u << 20) /* a record has at least 22; ours change keys after 2^17 of them */

static void on_message(int is_ours, int version, int type, const void *p, size_t n, SSL *ssl,
                       void *arg)
{
    struct tls_wire *w = SSL_get_app_data(ssl);

    (void)version;
    (void)p;
    (void)n;
    (void)arg;
    w->n_controls += !is_ours && type == SSL3_RT_HANDSHAKE;
}

void tls_wire_retry(BIO *b, int flag, ssize_t n)
{
    BIO_clear_retry_flags(b);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(b, flag | BIO_FLAGS_SHOULD_RETRY);
}

static bool has_too_many_controls(const struct tls_wire *w)
{
    return w->n_controls > CONTROLS_FREE + w->bytes_in / BYTES_PER_CONTROL;
}

static ssize_t read_some(const struct tls_wire *w, char *p, size_t n)
{
    if (has_too_many_controls(w))
        errno = EPROTO;
    else if (w->left <= 0)
        errno = EAGAIN;
    else
        return recv(w->fd, p, n, 0);
    return -1;
}

static int bio_read(BIO *b, char *p, int n)
{
    struct tls_wire *w = BIO_get_data(b);
    ssize_t got = read_some(w, p, (size_t)n);

    tls_wire_retry(b, BIO_FLAGS_READ, got);
    w->read_errno = got < 0 ? errno : 0;
    w->ended = got == 0;
    if (got <= 0)
        return (int)got;
    w->left = got < n ? 0 : w->left - got; /* a short read has all that came */
    w->bytes_in += (uint64_t)got;
    if (!w->begun && w->looks)
        w->plain = !tls_begins((uint8_t)p[0]);
    w->begun = true;
    return w->plain ? -1 : (int)got;
}

static long bio_ctrl(BIO *b, int cmd, long n, void *p)
{
    const struct tls_wire *w = BIO_get_data(b);

    (void)n;
    (void)p;
    return cmd == BIO_CTRL_EOF ? w->ended : cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method_new(const struct tls_wire_kind *kind)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, kind->name);

    if (m == NULL)
        return NULL;
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, kind->write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

bool tls_wire_attach(SSL *ssl, struct tls_wire *w, struct tls_wire_kind *kind)
{
    BIO *b;

    if (kind->method == NULL)
        kind->method = method_new(kind);
    b = kind->method == NULL ? NULL : BIO_new(kind->method);
    if (b == NULL)
        return false;
    BIO_set_data(b, w);
    BIO_set_init(b, 1);
    SSL_set_app_data(ssl, w);
    SSL_set_msg_callback(ssl, on_message);
    SSL_set_bio(ssl, b, b);
    return true;
}

void tls_wire_begin(struct tls_wire *w, ssize_t most)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
    w->left = most;
    w->read_errno = 0;
    w->sent = false;
}

int tls_wire_read(struct tls_wire *w, SSL *ssl, void *p, size_t n, ssize_t most, size_t *done)
{
    size_t got;

    tls_wire_begin(w, most);
    for (*done = 0; *done < n; *done += got)
        if (SSL_read_ex(ssl, (uint8_t *)p + *done, n - *done, &got) != 1)
            return SSL_get_error(ssl, 0);
    return SSL_ERROR_NONE;
}

/* ---- files ---- */

const char *tls_reason(const char *otherwise)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);

    ERR_clear_error();
    return text != NULL ? text : otherwise;
}

int tls_bad_file(struct err *e, const char *key, const char *path, const char *what)
{
    return err_set(e, SQ_EINVAL, "%s: %s: %s (%s)", key, path, what, tls_reason("cannot be read"));
}

int tls_check_file(const char *key, const char *path, enum file_kind kind, struct err *e)
{
    struct stat st;
    int fd = file_open(path, &st, e), rc = fd < 0 ? fd : 0;

    if (fd >= 0)
        close(fd);
    if (rc == 0 && kind == FILE_SECRET)
        rc = file_check_secret(path, &st, e);
    return rc < 0 ? err_wrap(e, "%s", key) : 0;
}

/* OpenSSL would ask the terminal for it, and wait. */
static int no_passphrase(char *buf, int size, int writing, void *asked)
{
    (void)buf;
    (void)size;
    (void)writing;
    *(bool *)asked = true;
    return -1;
}

static int load_key(SSL_CTX *ssl, const char *key, const char *path, struct err *e)
{
    bool asked = false;
    int ok;

    SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, &asked);
    ok = SSL_CTX_use_PrivateKey_file(ssl, path, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb(ssl, NULL);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
    if (ok == 1)
        return 0;
    return tls_bad_file(e, key, path,
                        asked ? "a passphrase protects it; keep it without one, in mode 0600"
                              : "not the private key of the certificate, in PEM form");
}

int tls_load_pair(SSL_CTX *ssl, const struct tls_pair *p, struct err *e)
{
    int rc = tls_check_file(p->cert_key, p->cert, FILE_ANY, e);

    if (rc == 0)
        rc = tls_check_file(p->key_key, p->key, FILE_SECRET, e);
    if (rc < 0)
        return rc;
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ssl, p->cert) != 1)
        return tls_bad_file(e, p->cert_key, p->cert, "not a certificate in PEM form");
    return load_key(ssl, p->key_key, p->key, e);
}
