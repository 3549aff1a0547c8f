/* body.c: the JSON body of a join. Pure (jansson). */
#include "router/body.h"

#include <jansson.h>
#include <string.h>

/* Counted before jansson sees it, which would recurse. Strings are skipped. */
static bool too_deep(const char *p, size_t n)
{
    unsigned depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        if (in_string) {
            if (p[i] == '\\')
                i++;
            else if (p[i] == '"')
                in_string = false;
        } else if (p[i] == '"') {
            in_string = true;
        } else if (p[i] == '{' || p[i] == '[') {
            if (++depth > BODY_MAX_DEPTH)
                return true;
        } else if ((p[i] == '}' || p[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static int refuse(const char **why, const char *text)
{
    *why = text;
    return SQ_EINVAL;
}

static int take_client(struct join_body *b, const json_t *v, const char **why)
{
    static const char *const names[CLIENT_NCLASSES] = {
        [CLIENT_GAME] = "game",
        [CLIENT_MOBILE] = "mobile",
        [CLIENT_BROWSER] = "browser",
    };

    for (uint8_t i = 0; json_is_string(v) && i < CLIENT_NCLASSES; i++) {
        if (strcmp(json_string_value(v), names[i]) == 0) {
            b->client = i;
            return 0;
        }
    }
    return refuse(why, "client must be browser, mobile or game");
}

static int take_subject(struct join_body *b, const json_t *v, const char **why)
{
    size_t n = json_string_length(v);
    const char *s = json_string_value(v);

    if (!json_is_string(v) || n == 0 || n > SUBJECT_MAX_LEN)
        return refuse(why, "subject must be a string of 1 to 128 bytes");
    for (size_t i = 0; i < n; i++) { /* it goes into passes, headers and logs */
        if ((uint8_t)s[i] < 0x20 || s[i] == 0x7f)
            return refuse(why, "subject must not have control characters");
    }
    memcpy(b->subject, s, n);
    b->subject_len = (uint8_t)n;
    return 0;
}

static int take_lane(struct join_body *b, const json_t *v, const char **why)
{
    size_t n = json_string_length(v);

    if (!json_is_string(v) || n == 0 || n > NAME_MAX_LEN)
        return refuse(why, "lane must be a string of 1 to 64 characters");
    memcpy(b->lane, json_string_value(v), n);
    b->lane_len = (uint8_t)n;
    return 0;
}

static int take(struct join_body *b, const json_t *o, const char **why)
{
    const json_t *v;
    int rc = 0;

    if ((v = json_object_get(o, "client")) != NULL)
        rc = take_client(b, v, why);
    if (rc == 0 && (v = json_object_get(o, "subject")) != NULL)
        rc = take_subject(b, v, why);
    if (rc == 0 && (v = json_object_get(o, "lane")) != NULL)
        rc = take_lane(b, v, why);
    if (rc == 0 && (v = json_object_get(o, "claim")) != NULL) {
        if (!json_is_string(v))
            return refuse(why, "claim must be a string");
        b->has_claim = true;
    }
    return rc;
}

int body_join(struct join_body *b, const char *p, size_t n, const char **why)
{
    json_error_t e;
    json_t *o;
    int rc;

    memset(b, 0, sizeof(*b));
    *why = "";
    if (n == 0)
        return 0;
    if (too_deep(p, n))
        return refuse(why, "the JSON is nested too deeply");
    o = json_loadb(p, n, JSON_REJECT_DUPLICATES, &e);
    if (o == NULL) {
        if (json_error_code(&e) == json_error_out_of_memory)
            return SQ_ENOMEM;
        return refuse(why, json_error_code(&e) == json_error_duplicate_key
                               ? "a member is there twice"
                               : "the body must be one JSON object in UTF-8");
    }
    rc = json_is_object(o) ? take(b, o, why)
                           : refuse(why, "the body must be one JSON object in UTF-8");
    json_decref(o);
    return rc;
}
