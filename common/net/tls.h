/* tls.h: TLS 1.3 on a connected, non-blocking socket, by OpenSSL. Shell.
 *
 * Both ends prove who they are in one of two ways:
 *   with the cluster's link key   an external pre-shared key is derived from it (RFC 8446, 4.2.11,
 *                                 with psk_dhe_ke: a key that leaks later opens no recording);
 *                                 its identity is a hash, so an acceptor that has two keys (while
 *                                 the secret is changed) knows which one is meant
 *   with certificates             on both sides, of one authority; the dialler checks the name that
 *                                 it dials, the acceptor a name if one is configured
 * Each end changes the key of what it sends after many records; a peer that does so without sending
 * much is given up (tls_wire.h). There are no tickets, no early data, no renegotiation, no older version.
 *
 * Out: what is written in one turn is sealed into one buffer and leaves in one send(). What the
 * kernel does not take stays sealed, and nothing more is taken until it has left.
 * In: OpenSSL reads up to TLS_READ bytes ahead, into room that a quiet link has not. So a socket
 * that is not readable may still have bytes for us: tls_more() says so.
 * A close is not announced (close_notify): who uses it knows lengths, and takes an end for a loss. */
#ifndef SEGQ_TLS_H
#define SEGQ_TLS_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/config/cfg_check.h"

#define TLS_READ (80u << 10) /* bytes that are read ahead: what is told at once of an answer, in its records */

struct tls_ctx; /* keys or certificates: proof of a side, and check of the other */
struct tls;     /* a connection */

/* With keys of 32 bytes each, copied; other: NULL, or one that peers may have, too. */
SQ_CHECK int tls_ctx_keys(struct tls_ctx **out, const uint8_t *key, const uint8_t *other,
                          struct err *e);
/* With the certificates that the configuration names; *out = NULL if it names none. SQ_EINVAL with
 * the key, the file, and what is wrong with it. */
SQ_CHECK int tls_ctx_files(struct tls_ctx **out, const struct cfg_tls *f, struct err *e);
/* For servers of others: TLS 1.2, too, with forward secrecy. ca "": the system's authorities; cert
 * "": no certificate of ours; name: in theirs, in place of the host that is dialled. The sentence of *e
 * begins with tls_cert, tls_key or tls_ca. */
SQ_CHECK int tls_ctx_foreign(struct tls_ctx **out, const struct cfg_tls *f, struct err *e);
/* Whether that would work: for -t, and before a reload is taken over. */
SQ_CHECK int tls_check_files(const struct cfg_tls *f, struct err *e);
/* Connections that are there go on. NULL is fine. */
void tls_ctx_free(struct tls_ctx *c);
/* When the first certificate of its own chain ends, Unix seconds; 0: it has none. */
int64_t tls_ctx_ends_s(const struct tls_ctx *c);
/* Keys that a dialler may try in turn, at least 1: a peer may know but one. */
unsigned tls_ctx_tries(const struct tls_ctx *c);

/* fd: stays the caller's. host: NULL for an acceptor; else the host that was dialled. turn: which
 * key a dialler tries (counted up by failures). NULL: no memory. */
struct tls *tls_new(struct tls_ctx *c, int fd, const char *host, unsigned turn);
void tls_free(struct tls *t); /* NULL is fine */

/* 1: it is done; 0: more has to come, or to leave (tls_unsent()); SQ_EAUTH, with the reason. */
SQ_CHECK int tls_handshake(struct tls *t, struct err *e);
/* Like recv(2) and send(2): bytes, 0 at the end, or -1 and errno (EPROTO: damaged, or forged).
 * tls_send() with n = 0 only sends what is sealed. */
ssize_t tls_recv(struct tls *t, void *p, size_t n);
ssize_t tls_send(struct tls *t, const void *p, size_t n);
const char *tls_why(const struct tls *t); /* after EPROTO: OpenSSL's word for it */
bool tls_more(const struct tls *t);     /* the last tls_recv() stopped because its room was full */
size_t tls_unsent(const struct tls *t); /* sealed bytes that the kernel has not taken yet */

#endif
