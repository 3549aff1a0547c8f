/* tls_server.h: TLS 1.2 and 1.3 on connections that browsers, programs and operators make to us,
 * with the operator's certificates, by OpenSSL. Shell. (Links between our own processes: tls.h.)
 *
 * One certificate or several, chosen by the name that the client asks for (SNI); the first for whom
 * asks for none of them. TLS 1.2 with ephemeral keys and AEAD ciphers alone; ALPN knows http/1.1.
 * No renegotiation, no early data, no certificates of clients.
 *
 * A client that comes again brings a ticket, and saves us the signature; any process of the cluster
 * takes it, also after a restart: its key is derived from the cluster's secret and the number of the
 * half day, so nobody has to tell anybody. That of the half day before is taken, too, and that of the
 * next one (clocks differ). Each resumption brings a new one. TLS 1.3 alone has tickets: there each
 * resumption has ephemeral keys of its own, so that the secret, if it leaks, opens no recording. In
 * TLS 1.2 a ticket carries the key of its connection.
 *
 * Nothing is kept beside what OpenSSL has: a record that the kernel does not take is OpenSSL's, and
 * the caller keeps its bytes until tls_sock_send() has counted them. */
#ifndef SEGQ_TLS_SERVER_H
#define SEGQ_TLS_SERVER_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/config/cfg_check.h"
#include "common/net/tls_wire.h"

struct ssl_st;
struct tls_server; /* the certificates of a port; its place stays while they change */

#define TLS_TICKET_HALF_DAY 43200 /* s */

struct tls_server_opts {
    const uint8_t *key, *other; /* 32 bytes, copied: of tickets; NULL: there are none; other: is accepted, too */
    int64_t (*now_s)(void);     /* Unix time, for tickets; NULL: the wall clock */
};

/* Without certificates: its port speaks plainly. NULL: no memory. */
struct tls_server *tls_server_new(const struct tls_server_opts *o);
void tls_server_free(struct tls_server *s); /* after its connections; NULL is fine */
/* From now on with these; connections that are there go on. n = 0: plainly. SQ_EINVAL with the key,
 * the file, and what is wrong, of each that is bad: what the same file had before is served on, and the
 * others are taken; if it had nothing, all stays as it was. list: the key of a list of them; NULL:
 * admin_cert and admin_key. The first time one that has lapsed is taken, and logged: a process must
 * start with it. */
SQ_CHECK int tls_server_load(struct tls_server *s, const char *list, const struct cfg_cert *v, size_t n,
                             struct err *e);
/* Whether they are good, for -t: one that has lapsed is not. */
SQ_CHECK int tls_server_check(const char *list, const struct cfg_cert *v, size_t n, struct err *e);
bool tls_server_is_on(const struct tls_server *s); /* NULL: it is not */
/* Time for which browsers shall come to this host by https alone (Strict-Transport-Security); 0:
 * nothing is said of it. 0 as well while it is off. */
void tls_server_set_hsts(struct tls_server *s, int64_t seconds);
int64_t tls_server_hsts_s(const struct tls_server *s);
int64_t tls_server_lapses_s(const struct tls_server *s); /* the first of them; Unix time; 0: none */

/* ---- connections ---- */

struct tls_sock {
    struct ssl_st *ssl; /* owned */
    struct tls_wire wire;
    bool done;          /* the handshake is over */
    bool wants_write;   /* the handshake goes on when the socket takes more */
    bool more;          /* ask again, though the socket may not be readable: tls_sock_recv() had no
                           room for the rest */
};

SQ_CHECK bool tls_sock_open(struct tls_sock *t, struct tls_server *s, int fd); /* false: no memory */
void tls_sock_bye(struct tls_sock *t); /* close_notify, as far as the kernel takes it */
void tls_sock_close(struct tls_sock *t);
/* 1: it is over; 0: more has to come, or to leave; SQ_EINVAL: not TLS at all, and nothing was
 * written; SQ_EAUTH, with the reason. */
SQ_CHECK int tls_sock_handshake(struct tls_sock *t, struct err *e);
bool tls_sock_resumed(const struct tls_sock *t);
/* Like recv(2) and send(2): bytes, 0 at the end, or -1 and errno. What tls_sock_send() has not taken
 * comes again, the same bytes first. */
ssize_t tls_sock_recv(struct tls_sock *t, void *p, size_t n);
ssize_t tls_sock_send(struct tls_sock *t, const void *p, size_t n);

#endif
