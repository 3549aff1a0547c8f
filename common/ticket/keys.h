/* keys.h: secrets: files created at first start (0600), and what is derived from them.
 *
 *   cluster.secret  32 random bytes, base64. The same on every machine. From it, by
 *                   keyed BLAKE2b with a label each: the link key (rpc hello) and the
 *                   token keys, that of challenges, that of contacts. Routers, segments and queuemng have it. A second line is
 *                   accepted, too, and writes nothing.
 *   pass.key        Ed25519 seed, base64. Only segment nodes have it, the same on all:
 *                   a router can check passes, it cannot make one. The first line signs;
 *                   the keys of up to three more are published beside it.
 *   admin.token     what operators send. Only queuemng has it.
 * A file with other permissions than owner-only is refused. A filled struct
 * is locked in memory and kept out of dumps; keys_wipe() ends that. */
#ifndef SEGQ_KEYS_H
#define SEGQ_KEYS_H

#include "common/base/err.h"
#include "common/ticket/pass.h"
#include "common/ticket/token.h"

#define LINK_KEY_BYTES 32
#define CHALLENGE_KEY_BYTES 32
#define CONTACT_KEY_BYTES 32 /* crypto_secretbox */

struct cluster_keys {
    uint8_t link[LINK_KEY_BYTES];
    uint8_t other_link[LINK_KEY_BYTES];
    bool has_other_link;
    struct token_key token;
    uint8_t challenge[CHALLENGE_KEY_BYTES]; /* signs challenges; the other one's are ours, too */
    uint8_t other_challenge[CHALLENGE_KEY_BYTES];
    uint8_t contact[CONTACT_KEY_BYTES]; /* seals contacts; what the other one sealed can be read */
    uint8_t other_contact[CONTACT_KEY_BYTES];
};

/* For struct rpc_opts. */
static inline const uint8_t *cluster_keys_other_link(const struct cluster_keys *k)
{
    return k->has_other_link ? k->other_link : NULL;
}

/* First thing in main: libsodium; no core dumps and no ptrace, unless SEGQ_DEBUG=1. */
SQ_CHECK int keys_init(struct err *e);
/* Reads the file; creates it if `create` and it is missing (safe when several start at
 * once: link(2) decides who made it). */
SQ_CHECK int keys_cluster(struct cluster_keys *k, const char *path, bool create, struct err *e);
SQ_CHECK int keys_pass(struct pass_key *k, const char *path, bool create, struct err *e);
SQ_CHECK int keys_admin_token(char *out, size_t cap, const char *path, bool create,
                              struct err *e);
/* A password that somebody else has set: the file is only read. */
SQ_CHECK int keys_password(char *out, size_t cap, const char *path, struct err *e);
void keys_wipe(void *p, size_t n); /* zeroes and unlocks a struct filled by the above */

/* The right of an operator to look at the waiting page's states without standing in line:
 * made by queuemng, checked by every router, for one queue and a short time.
 *
 *   1795430569.0123456789abcdef0123456789abcdef
 *   until when, Unix seconds; BLAKE2b-128 over queue and time, under a key made of the link key */

#define PREVIEW_TEXT_CAP 56
#define PREVIEW_TTL_S    3600

void preview_write(char out[PREVIEW_TEXT_CAP], const struct cluster_keys *k, const char *queue,
                   int64_t until_s);
/* Ours, for this queue, and not over (of a clock that is ahead: not for longer than twice TTL). */
bool preview_ok(const char *text, const struct cluster_keys *k, const char *queue, int64_t now_s);

#endif
