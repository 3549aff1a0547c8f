/* pass_cache.c: one entry per slot, the newest wins. */
#include "segment/service/pass_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/msg.h"

#define SLOTS 1024 /* power of two; 1.4 MB, touched as it fills */

struct entry {
    seg_id seg; /* with number: never reused, so these four name the pass */
    uint32_t number;
    uint32_t len; /* 0 = empty */
    int64_t released_at_ms, expires_s;
    char text[MSG_PASS_MAX];
};

struct seg_passes {
    const struct pass_key *key; /* ref */
    struct seg_pass_counts n;
    struct entry v[SLOTS];
};

struct seg_passes *seg_passes_new(const struct pass_key *key)
{
    struct seg_passes *s = calloc(1, sizeof(*s));

    if (s != NULL)
        s->key = key;
    return s;
}

void seg_passes_free(struct seg_passes *s)
{
    free(s);
}

const struct seg_pass_counts *seg_passes_counts(const struct seg_passes *s)
{
    return &s->n;
}

static struct entry *slot_of(struct seg_passes *s, const struct seg_pass *p)
{
    uint64_t h = (p->seg * 0x9e3779b97f4a7c15u) ^ p->number;

    return &s->v[(h ^ h >> 32) & (SLOTS - 1)];
}

static int sign(struct seg_passes *s, const struct seg_pass *p, char *out)
{
    struct pass_claims c = {
        .iss = p->issuer,
        .aud = p->queue,
        .lane = p->lane,
        .sub = p->subject,
        .sub_len = p->subject_len,
        .seg = p->seg,
        .number = p->number,
        .iat_s = p->released_at_ms / 1000,
        .exp_s = p->expires_s,
    };
    struct bound bound;
    int n;

    if (p->bound != NULL) {
        if (!bound_read(&bound, p->bound, p->bound_len))
            return SQ_EINVAL;
        c.bound = &bound;
    }
    n = pass_make(&c, s->key, out, MSG_PASS_MAX);
    if (n < 0)
        s->n.failed++;
    else
        s->n.signed_++;
    return n;
}

int seg_passes_make(void *ctx, const struct seg_pass *p, char *out)
{
    struct seg_passes *s = ctx;
    struct entry *x = slot_of(s, p);
    int n;

    if (x->len != 0 && x->seg == p->seg && x->number == p->number &&
        x->released_at_ms == p->released_at_ms && x->expires_s == p->expires_s) {
        s->n.kept++;
        memcpy(out, x->text, x->len);
        return (int)x->len;
    }
    n = sign(s, p, out);
    assert(n <= (int)sizeof(x->text));
    if (n > 0) {
        x->seg = p->seg;
        x->number = p->number;
        x->released_at_ms = p->released_at_ms;
        x->expires_s = p->expires_s;
        x->len = (uint32_t)n;
        memcpy(x->text, out, (size_t)n);
    }
    return n;
}
