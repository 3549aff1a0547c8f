/* fuzz_body.c: to whatever is posted request.c answers with a sound join_body or a reason. What
 * jansson takes for an object is refused for a member of ours only, or since it has too many
 * others; what it does not take is refused, but for numbers that are too large for it, and half a
 * surrogate pair within what is passed over. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "router/api/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool same_text(const json_t *o, const char *name, const char *p, size_t n)
{
    const json_t *m = json_object_get(o, name);

    return m == NULL ? n == 0 : json_string_length(m) == n && memcmp(json_string_value(m), p, n) == 0;
}

static bool is_own(const char *why)
{
    return strncmp(why, "client", 6) == 0 || strncmp(why, "subject", 7) == 0 ||
           strncmp(why, "lane", 4) == 0 || strncmp(why, "claim", 5) == 0 ||
           strncmp(why, "too many", 8) == 0;
}

static void compare(bool good, const struct join_body *b, const char *why, const char *p, size_t n)
{
    json_error_t e = { 0 };
    json_t *o = json_in(p, n, &e);
    bool escapes = false;

    for (size_t i = 0; i < n; i++)
        escapes = escapes || p[i] == '\\';
    if (json_is_object(o) && !good)
        must(is_own(why) || strstr(why, "deeply") != NULL);
    if (!json_is_object(o) && good)
        must(json_error_code(&e) == json_error_numeric_overflow || escapes);
    if (json_is_object(o) && good) {
        must(same_text(o, "subject", b->subject, b->subject_len));
        must(same_text(o, "lane", b->lane, b->lane_len));
        must(same_text(o, "claim", b->claim, b->claim_len));
    }
    json_decref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *exact = malloc(size + (size == 0));
    struct body_error e;
    struct join_body b;
    bool good;

    must(exact != NULL);
    memcpy(exact, data, size);
    good = body_join(&b, (struct slice){ exact, size }, &e);
    free(exact);
    must(good == (e.text[0] == '\0'));
    if (size > 0)
        compare(good, &b, e.text, (const char *)data, size);
    if (!good)
        return 0;
    must(b.client < CLIENT_NCLASSES);
    must(b.claim_len <= CLAIM_MAX_LEN);
    must(b.subject_len <= SUBJECT_MAX_LEN && b.lane_len <= NAME_MAX_LEN);
    for (size_t i = 0; i < b.subject_len; i++)
        must((uint8_t)b.subject[i] >= 0x20 && b.subject[i] != 0x7f);
    return 0;
}
