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
void join_by_key(struct router *r, const struct route_queue *q, struct join_body *b,
                 struct slice key)
{
    char text[JOIN_KEY_MAX + 1], *to = b->subject;

    assert(key.n >= JOIN_KEY_MIN && key.n <= JOIN_KEY_MAX);
    memcpy(text + 1, key.p, key.n);
    *to++ = SUBJECT_KEY_MARK;
    for (char half = 1; half <= 2; half++) {
        text[0] = half;
        to = hex_put(to, token_subject_hash(&r->keys.token, q->map.id, text, key.n + 1));
    }
    b->subject_len = (uint8_t)(to - b->subject);
    b->keyed = true;
}
