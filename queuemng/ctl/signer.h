/* signer.h: signed claims (PROTOCOL.md, sections 19 and 26), as an operator's back end makes them.
 * Pure, but for the file of the key. */
#ifndef SEGQ_CTL_SIGNER_H
#define SEGQ_CTL_SIGNER_H

#include <sodium.h>

#include "common/base/err.h"

#define SIGNER_SECRET_MIN 32 /* characters, as routers want them */
#define SIGNER_TEXT_MAX   255

struct signer {
    bool ed25519;
    size_t len;                   /* length of an HS256 secret */
    uint8_t key[SIGNER_TEXT_MAX]; /* the secret, or libsodium's secret key */
};

struct claim_said { /* refs; NULL: the claim does not say it */
    const char *queue; /* always there */
    const char *lane, *task; /* either is there; task: its Idempotency-Key (jti) */
    const char *kid, *subject, *replaces, *task_key;
    int priority; /* priority of a task */
    int64_t now_s, expires_s;
};

/* From a file that its owner alone may read: one line with the secret (HS256), or an Ed25519
 * private key in PEM. SQ_EINVAL: it is something else; e never has anything of the key. */
SQ_CHECK int signer_load(struct signer *s, const char *path, struct err *e);
/* The same of the file's text. */
SQ_CHECK int signer_read(struct signer *s, const char *text, const char *path, struct err *e);
/* The JWT; the caller frees it. NULL: no memory, or a text that is not UTF-8. */
char *signer_claim(const struct signer *s, const struct claim_said *c);
static inline const char *signer_alg(const struct signer *s)
{
    return s->ed25519 ? "EdDSA" : "HS256";
}

#endif
