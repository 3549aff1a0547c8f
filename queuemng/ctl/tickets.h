/* tickets.h: commands about single tickets: claims that an operator signs, the move of a waiting
 * ticket to another lane by one, the check of a draw. See commands.h. */
#ifndef SEGQ_CTL_TICKETS_H
#define SEGQ_CTL_TICKETS_H

#include <sodium.h>

#include "common/base/err.h"
#include "queuemng/ctl_ask/round_trip.h"

int cmd_claim(struct ctl *c, char **argv);
int cmd_move_ticket(struct ctl *c, char **argv);
int cmd_draw(struct ctl *c, char **argv);

/* Signed claims (PROTOCOL.md, sections 19 and 26), as an operator's back end makes them.
 * Pure, but for the file of the key. */
#define SIGNER_SECRET_MIN 32 /* characters, as routers want them */
#define SIGNER_TEXT_MAX   255

struct signer {
    bool ed25519;
    size_t len;                   /* length of an HS256 secret */
    uint8_t key[SIGNER_TEXT_MAX]; /* the secret, or libsodium's secret key */
};

struct claim_said { /* refs; NULL: the claim does not say it */
    const char *queue; /* always there */
    char *const *more; /* further ones, behind them a NULL: it is good for all, of a group say */
    const char *lane, *task; /* either is there; task: its Idempotency-Key (jti) */
    const char *kid, *subject, *replaces, *task_key;
    int priority; /* priority of a task */
    int64_t now_s, expires_s;
};

/* The same of the file's text. */
SQ_CHECK int signer_read(struct signer *s, const char *text, const char *path, struct err *e);
/* The JWT; the caller frees it. NULL: no memory, or a text that is not UTF-8. */
char *signer_claim(const struct signer *s, const struct claim_said *c);
static inline const char *signer_alg(const struct signer *s)
{
    return s->ed25519 ? "EdDSA" : "HS256";
}

#endif
