/* tls_wire.c: see tls_wire.h. */
#include "common/net/tls_wire.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

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
