/* pass.h: the signed admission, a JWT (EdDSA); what it is bound to; what is kept of a ticket for it.
 * Pure (jansson, libsodium).
 * A pass is a pure function of the recorded release and the key: made again, it is the same bytes. */
#ifndef SEGQ_PASS_H
#define SEGQ_PASS_H

#include <jansson.h>

#include "common/base/base.h"
#include "common/ticket/token.h"

/* ---- bound: to what, if its ticket asked for it: the method and the path of the requests that the
 * pass is good for, whether it is good once, and the device that may use it -----------------
 *
 * As text, for what is kept of the ticket: "1" (once) or "-", the method, a blank, the path; either
 * may be empty: "-GET /api/images", "1 ". With a device another blank and its id follow. */

#define BOUND_HTM_MAX 16
#define BOUND_HTU_MAX 100
#define BOUND_MAX     (3 + BOUND_HTM_MAX + BOUND_HTU_MAX + DEVICE_LEN)

struct bound {
    bool once;
    char htm[BOUND_HTM_MAX + 1]; /* "": any */
    char htu[BOUND_HTU_MAX + 1]; /* likewise; also the paths below it */
    char device[DEVICE_LEN + 1]; /* "": any; else device_id() of its secret */
};

/* The members htm, htu and use of an object; what is not there is empty. NULL, or what is wrong: one
 * sentence of ours. */
const char *bound_take(struct bound *b, const json_t *o);
/* Bound to no request; a device does not count. */
static inline bool bound_is_none(const struct bound *b)
{
    return !b->once && b->htm[0] == '\0' && b->htu[0] == '\0';
}
/* Such texts: capital letters; a path without escapes, dots or a query. */
bool bound_htm_ok(const char *s);
bool bound_htu_ok(const char *s);
/* Number of bytes; 0: bound to nothing. */
size_t bound_write(const struct bound *b, char out[BOUND_MAX]);
SQ_CHECK bool bound_read(struct bound *b, const char *p, size_t n);

/* Half of the SHA-256 of a secret, so that others can verify what shows the secret. */
void device_id(const char secret[DEVICE_LEN], char out[DEVICE_LEN + 1]);
/* 128 bits in URL-safe base64, in their only spelling. */
bool device_text_ok(const char *s, size_t n);

/* ---- what is kept of a ticket beside its place, as one text ----
 *
 * Its subject, or a key, and what its pass is bound to. */

/* A subject that begins with this byte, which no name has, is no name: it stands for the
 * Idempotency-Key of a join, is in no pass, and is forgotten once its ticket is polled a
 * while later. */
#define SUBJECT_KEY_MARK '\x01'
/* A subject that begins with this byte has a head before its name (which may be empty): this byte, a
 * length, and so many bytes as above. */
#define SUBJECT_BOUND_MARK '\x02'
#define SUBJECT_HEAD_MAX   (2 + BOUND_MAX)
#define SUBJECT_TEXT_MAX   248 /* a longest head takes a shorter name */
_Static_assert(SUBJECT_TEXT_MAX <= UINT8_MAX, "lengths of subjects are bytes");

/* Bytes before the name. */
static inline size_t subject_head(const char *s, size_t n)
{
    size_t head = n >= 2 && s[0] == SUBJECT_BOUND_MARK ? 2u + (uint8_t)s[1] : 0;

    return head <= n ? head : 0;
}

static inline bool subject_has_name(const char *s, size_t n)
{
    return n > subject_head(s, n);
}

static inline bool subject_is_key(const char *s, size_t n)
{
    size_t head = subject_head(s, n);

    return n > head && s[head] == SUBJECT_KEY_MARK;
}

/* Tickets of a queue that an operator lets another device take over, as one text, a line each:
 *
 *   "17-42 1764334845 -\n"    until then the next device that shows it takes it over
 *   "17-42 1766926845 ID\n"   it has: until then the ticket works with that device alone
 *   "17-42 1764334845 -ID\n"  open once more: until another one has come it works with that device
 *
 * The manager keeps it and tells it to routers as it is. */

#define MOVED_MAX      256 /* lines */
#define MOVED_TEXT_MAX (MOVED_MAX * 80)
#define MOVED_KEEP_S   (30 * 86400) /* the longest session; a device's cookie lives as long */

struct moved_ticket {
    seg_id seg;
    uint32_t number;
    int64_t until_s;             /* Unix time */
    bool open;                   /* until then for the next device */
    char device[DEVICE_LEN + 1]; /* "": the one that joined has it; else device_id() of who does */
};

/* False: no line is about the ticket. NULL: no text. */
SQ_CHECK bool moved_find(const char *text, seg_id seg, uint32_t number, struct moved_ticket *out);
/* *text (owned; NULL: none) with this line in place of the ticket's, without those that are over. SQ_EFULL,
 * SQ_ENOMEM: it is as it was. */
SQ_CHECK int moved_put(char **text, const struct moved_ticket *x, int64_t now_s);

/* ---- the pass --------------------------------------------------------------------- */

#define PASS_OTHERS_MAX 3

/* Public keys beside the one that signs: the one before it, whose passes are still out
 * there, or the next one, which verifiers should know before it signs. */
struct pass_others {
    uint32_t n;
    uint8_t key[PASS_OTHERS_MAX][32];
};

struct pass_key {
    uint8_t secret[64]; /* Ed25519 */
    uint8_t public[32];
    struct pass_others others;
};

struct pass_claims {
    const char *iss, *aud, *lane;
    const char *sub; /* NULL: the ticket's id */
    size_t sub_len;
    seg_id seg;      /* with number: the ticket's id, "jti" = "<seg>-<number>" */
    uint32_t number;
    int64_t iat_s, exp_s; /* nbf = iat */
    const struct bound *bound; /* NULL: to nothing. Else "htm", "htu", "use": "once", "cnf" */
};

/* The key's id ("kid"): 11 characters and a 0. */
void pass_kid(const uint8_t public[32], char out[12]);
/* Writes the JWT (no 0). Length, or SQ_ETOOBIG. Strings are JSON-escaped. */
SQ_CHECK int pass_make(const struct pass_claims *c, const struct pass_key *k, char *out,
                       size_t cap);

struct pass_view { /* after pass_check: slices of `store` */
    char store[1100]; /* decoded payload */
    const char *iss, *aud, *sub, *jti, *lane; /* 0-terminated, unescaped, in store */
    int64_t iat_s, nbf_s, exp_s;
    bool is_bound;
    struct bound bound; /* if it is */
};
/* 0; SQ_EINVAL malformed or another alg; SQ_EAUTH no key of ours signed it. Does not
 * look at the clock or the audience. */
SQ_CHECK int pass_check(struct pass_view *v, const char *jwt, size_t n,
                        const uint8_t (*keys)[32], size_t n_keys);

#endif
