/* join_key.c: see join_key.h. */
#include "router/calls/join_key.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

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

void join_by_key(struct router *r, const struct route_queue *q, struct join_body *b,
                 struct slice key)
{
    b->subject_len = (uint8_t)(put_name(b->subject, &r->keys.token, q->map.id, key) - b->subject);
    b->keyed = true;
}

uint64_t join_key_hash(const struct token_key *k, queue_id q, struct slice key)
{
    char name[SUBJECT_MAX_LEN];

    return token_subject_hash(k, q, name, (size_t)(put_name(name, k, q, key) - name));
}
