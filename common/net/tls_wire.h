/* tls_wire.h: a socket as OpenSSL reads it, and files as it takes them, below links (tls.c) and ports
 * (tls_server.c). Shell.
 *
 * Messages of TLS itself are bounded: a change of keys costs a peer 27 bytes, and us an answer and two
 * derivations. A peer may send CONTROLS_FREE of them, and one more each BYTES_PER_CONTROL bytes; then
 * its connection ends with EPROTO. */
#ifndef SEGQ_TLS_WIRE_H
#define SEGQ_TLS_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/file.h"

/* Key exchange. A client chooses among them before it is known: a key of ffdhe8192 costs 100 times
 * more. */
#define TLS_GROUPS "X25519:P-256"

struct ssl_st;
struct bio_st;
struct bio_method_st;

struct tls_wire {
    int fd;              /* ref */
    int read_errno;      /* after the last recv(); 0: none */
    ssize_t left;        /* bytes that the call at hand may still read */
    uint64_t bytes_in;
    unsigned n_controls; /* messages of TLS itself that came */
    bool looks;          /* a first byte that begins no handshake is not for OpenSSL, which would answer */
    bool begun, plain;   /* plain: such a byte came */
    bool ended;
    bool sent; /* ports: bytes left in the call at hand, be they no whole record */
};

/* How sealed bytes leave: a kind of its own for each caller, made once a process. */
struct tls_wire_kind {
    const char *name;
    int (*write)(struct bio_st *b, const char *p, int n); /* BIO_get_data(b): the wire */
    struct bio_method_st *method; /* NULL: not yet made */
};

/* Whether a byte that came first begins a handshake: the type of its record. */
static inline bool tls_begins(uint8_t first)
{
    return first == 0x16;
}

/* The connection reads and writes w, which is its app data, from now on. False: no memory. */
bool tls_wire_attach(struct ssl_st *ssl, struct tls_wire *w, struct tls_wire_kind *kind);

/* Before each call of OpenSSL that may read: at most so many bytes, since it goes on as long as changes
 * of keys come. What others (libcurl) have left in its queue of errors would be taken for ours. */
void tls_wire_begin(struct tls_wire *w, ssize_t most);

/* Reads at most n bytes out of at most `most` sealed ones; *done are there. SSL_ERROR_NONE: perhaps more. */
int tls_wire_read(struct tls_wire *w, struct ssl_st *ssl, void *p, size_t n, ssize_t most, size_t *done);

/* After recv() or send(): errno says whether to ask again. */
void tls_wire_retry(struct bio_st *b, int flag, ssize_t n);

/* Certificates and private keys from files into a context of OpenSSL. */

struct ssl_ctx_st;

struct tls_pair { /* files, and the keys that name them: errors begin with these */
    const char *cert_key, *cert, *key_key, *key;
};

/* The chain and its key. SQ_EINVAL with the key, the file, and what is wrong with it. */
SQ_CHECK int tls_load_pair(struct ssl_ctx_st *ssl, const struct tls_pair *p, struct err *e);
/* A file, and of the kind that is wanted: OpenSSL would wait at a FIFO for ever. */
SQ_CHECK int tls_check_file(const char *key, const char *path, enum file_kind kind, struct err *e);
SQ_CHECK int tls_bad_file(struct err *e, const char *key, const char *path, const char *what);
/* OpenSSL's own reason, in its words; the queue of errors is empty afterwards. */
const char *tls_reason(const char *otherwise);

#endif
