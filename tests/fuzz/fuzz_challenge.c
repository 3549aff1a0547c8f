/* fuzz_challenge.c: whatever is given for the answer to a challenge: refused, within bounds. Only what was
 * signed is good: of two inputs in one, a text as it comes, and (behind a first byte 1) JSON that the
 * target puts into base64 itself. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "router/gate/challenge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct challenge_terms terms = { .queue = "login", .from = 1 };
    static struct challenge_keys keys;
    static char text[2 * CHALLENGE_ANSWER_MAX];
    struct challenge_seen of = { .end_s = -1 };
    enum challenge_state s;
    size_t n = size;

    challenge_key_make(&keys.first, (const uint8_t *)"a key of thirty-two bytes, no one");
    if (size > 0 && data[0] == 1 && size <= CHALLENGE_ANSWER_MAX) {
        sodium_bin2base64(text, sizeof(text), data + 1, size - 1, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        n = strlen(text);
    } else if (size <= sizeof(text)) {
        memcpy(text, data, size);
    } else {
        return 0;
    }
    s = challenge_check(&keys, &terms, text, n, 1764334800, &of);
    if (s != CHALLENGE_INVALID || of.end_s != -1)
        abort(); /* nobody has the key */
    return 0;
}
