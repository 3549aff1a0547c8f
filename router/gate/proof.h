/* proof.h: a device that has a key (`bind: key` of a queue): its proof, and what we give for one. Pure
 * (jansson, libsodium, OpenSSL).
 *
 * The proof is a JWT as RFC 9449 (DPoP) has it: ES256, the public key in its head, and in its body htm,
 * htu and a nonce of ours. The nonce tells the time by our clock, so iat and jti are not looked at:
 * clocks of phones are odd, and a proof that is shown twice gives nothing that the first did not.
 *
 * The id of a key is the first half of its thumbprint (RFC 7638), in the place of a cookie's id
 * (ticket/pass.h). A stamp is a second and a MAC, of the cluster's key: over an id it says when the
 * key was proved; over none it is a nonce. Any router reads it, and none keeps it. */
#ifndef SEGQ_ROUTER_GATE_PROOF_H
#define SEGQ_ROUTER_GATE_PROOF_H

#include "common/base/text.h"
#include "common/ticket/pass.h"

#define STAMP_LEN     DEVICE_LEN
#define PROOF_MAX     1024 /* bytes; browsers' have about 400 */
#define PROOF_FRESH_S 600 /* a nonce, and what a proof gave for a ticket */
#define STAMP_AHEAD_S 60 /* by so much routers' clocks may differ */

void stamp_put(const struct token_key *k, const char *id, int64_t now_s, char out[STAMP_LEN]); /* id NULL: none */
/* Unix second of a text of any length; -1: it is none of ours. */
int64_t stamp_read(const struct token_key *k, const char *id, const char *text, size_t n);
static inline bool stamp_is_fresh(int64_t at_s, int64_t now_s, int64_t for_s)
{
    return at_s >= now_s - for_s && at_s <= now_s + STAMP_AHEAD_S;
}

/* A good proof for a POST to `path` (its htu ends with it): NULL, and the id of its key. Else what is wrong:
 * one sentence of ours. The signature, which costs most, is verified last; may (NULL: any) says whether
 * the id is worth it. */
struct proof_ask {
    const struct token_key *key;
    struct slice path;
    int64_t now_s;
    bool (*may)(const void *of, const char *id);
    const void *of;
};
#define PROOF_OTHER "" /* the sentence when may() said no */
const char *proof_check(const struct proof_ask *a, struct slice proof, char id[DEVICE_LEN + 1]);

#endif
