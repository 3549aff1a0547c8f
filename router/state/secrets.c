/* secrets.c: keys of claims are read at the start and at HUP. A secret is the line of
 * its file as it stands: what JWT libraries take when they are given a string. */
#include "router/state/secrets.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/ticket/keys.h"

#define SECRET_MIN 16 /* characters of the gates' secret */

static int read_secret(struct claim_key *to, const struct cfg_claim_key *k, struct err *e)
{
    char text[CLAIM_SECRET_MAX + 1];
    size_t n;
    int rc = keys_password(text, sizeof(text), k->secret_file, e);

    if (rc < 0)
        return err_wrap(e, "claim_keys: \"%s\"", k->kid);
    n = strlen(text);
    if (n < CLAIM_SECRET_MIN) {
        rc = err_set(e, SQ_EINVAL, "claim_keys: %s: a secret needs %d characters or more",
                     k->secret_file, CLAIM_SECRET_MIN);
    } else {
        memcpy(to->key, text, n);
        to->len = (uint16_t)n;
    }
    sodium_memzero(text, sizeof(text));
    return rc;
}

static int read_key(struct claim_key *to, const struct cfg_claim_key *k, struct err *e)
{
    strcpy(to->kid, k->kid); /* at most NAME_MAX_LEN, says the table */
    to->alg = (enum claim_alg)k->alg;
    if (to->alg == CLAIM_HS256)
        return read_secret(to, k, e);
    if (claim_public_key(to, k->public_key) < 0)
        return err_set(e, SQ_EINVAL, "claim_keys: \"%s\" has no Ed25519 key", k->kid);
    return 0;
}

int claim_ring_load(struct claim_ring *k, const struct router_cfg *cfg, struct err *e)
{
    const struct cfg_claim_key *from = cfg->claim_keys.v;
    struct claim_ring fresh = { .names = cfg->subject_needs_claim };
    int rc = 0;

    fresh.key = calloc(cfg->claim_keys.n + 1, sizeof(*fresh.key));
    if (fresh.key == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    for (; rc == 0 && fresh.n < cfg->claim_keys.n; fresh.n++)
        rc = read_key(&fresh.key[fresh.n], &from[fresh.n], e);
    if (rc < 0) {
        claim_ring_fini(&fresh);
        return rc;
    }
    assert(fresh.n == cfg->claim_keys.n);
    claim_ring_fini(k);
    *k = fresh;
    return 0;
}

void claim_ring_fini(struct claim_ring *k)
{
    if (k->key != NULL)
        sodium_memzero(k->key, k->n * sizeof(*k->key));
    free(k->key);
    *k = (struct claim_ring){ 0 };
}

/* ---- one join ------------------------------------------------------------------------- */

static int refuse(const char **why, const char *text)
{
    *why = text;
    return SQ_EAUTH;
}

/* A subject's name is enough to get the subject's place: where that matters, it must be in a
 * claim that the operator signed. */
static int bare_name(const struct claim_ring *k, const struct join_body *b, const char **why)
{
    return k->names && b->subject_len > 0
               ? refuse(why, "a subject needs a signed claim that names it (sub)")
               : 0;
}

/* A claim and a body must not contradict each other. */
static int bind(const struct claim_ring *k, struct join_body *b, const struct lane_claim *c,
                const char **why)
{
    if (b->lane_len > 0 && !text_is(b->lane, b->lane_len, c->lane))
        return refuse(why, "the claim is for another lane");
    if (c->sub_len == 0)
        return bare_name(k, b, why);
    if (b->subject_len > 0 && (b->subject_len != c->sub_len ||
                               memcmp(b->subject, c->sub, c->sub_len) != 0))
        return refuse(why, "the claim is for another subject (sub)");
    assert(c->sub_len <= sizeof(b->subject)); /* lane_claim_check() has seen to it */
    memcpy(b->subject, c->sub, c->sub_len);
    b->subject_len = c->sub_len;
    return 0;
}

static int find(const struct route_queue *q, const char *name, size_t n, unsigned *lane,
                const char **why)
{
    for (*lane = 0; *lane < q->map.n_lanes; (*lane)++)
        if (text_is(name, n, q->map.lanes[*lane].name))
            return 0;
    return refuse(why, "this queue does not have that lane");
}

int claim_lane(const struct claim_ring *k, int64_t max_ttl_s, int64_t now_s,
               const struct route_queue *q, struct join_body *b, unsigned *lane,
               const char **why)
{
    struct lane_claim c;
    int rc;

    *lane = 0;
    *why = "";
    if (b->claim_len == 0) {
        if (b->lane_len == 0 ||
            (q->map.n_lanes > 0 && text_is(b->lane, b->lane_len, q->map.lanes[0].name)))
            return bare_name(k, b, why);
        if (b->any_lane)
            return find(q, b->lane, b->lane_len, lane, why);
        return refuse(why, "this lane needs a signed claim");
    }
    rc = lane_claim_check(&c, b->claim, b->claim_len, k->key, k->n, q->map.name, max_ttl_s, now_s,
                     why);
    if (rc == 0)
        rc = bind(k, b, &c, why);
    if (rc == 0 && c.replaces) {
        b->replaces = true;
        memcpy(b->old_text, c.old, sizeof(b->old_text));
    }
    return rc < 0 ? rc : find(q, c.lane, strlen(c.lane), lane, why);
}

/* ---- the gates' secret ---- */

int gate_secret_read(struct gate_secret *s, const char *path, struct err *e)
{
    int rc;

    *s = (struct gate_secret) { 0 };
    if (path == NULL || *path == '\0')
        return 0;
    rc = keys_password(s->text, sizeof(s->text), path, e);
    if (rc < 0)
        return rc;
    s->n = strlen(s->text);
    assert(s->n < sizeof(s->text));
    if (s->n < SECRET_MIN)
        return err_set(e, SQ_EINVAL, "%s: a secret of %d characters at least", path,
                       SECRET_MIN);
    return 0;
}

bool gate_secret_is(const struct gate_secret *s, struct slice said)
{
    uint8_t a[32], b[32];

    if (s->n == 0 || said.p == NULL)
        return false;
    crypto_generichash(a, sizeof(a), (const uint8_t *)s->text, s->n, NULL, 0);
    crypto_generichash(b, sizeof(b), (const uint8_t *)said.p, said.n, NULL, 0);
    return sodium_memcmp(a, b, sizeof(a)) == 0;
}

/* ---- a join's key ---- */

bool join_key_ok(struct slice key)
{
    if (key.n < JOIN_KEY_MIN || key.n > JOIN_KEY_MAX)
        return false;
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= 0x20 || key.p[i] >= 0x7f)
            return false;
    return true;
}

/* The mark and 128 bits of keyed hashes: no subject has that name, and the key itself stands
 * nowhere. */
static char *put_name(char *to, const struct token_key *k, queue_id q, struct slice key)
{
    char text[JOIN_KEY_MAX + 1];

    assert(key.n >= JOIN_KEY_MIN && key.n <= JOIN_KEY_MAX);
    memcpy(text + 1, key.p, key.n);
    *to++ = SUBJECT_KEY_MARK;
    for (char half = 1; half <= 2; half++) {
        text[0] = half;
        to = hex_put(to, token_subject_hash(k, q, text, key.n + 1));
    }
    return to;
}

void join_by_key(const struct token_key *k, const struct route_queue *q, struct join_body *b, struct slice key)
{
    b->subject_len = (uint8_t)(put_name(b->subject, k, q->map.id, key) - b->subject);
    b->keyed = true;
}

uint64_t join_key_hash(const struct token_key *k, queue_id q, struct slice key)
{
    char name[SUBJECT_MAX_LEN];

    return token_subject_hash(k, q, name, (size_t)(put_name(name, k, q, key) - name));
}
