/* json_body.c: the JSON body of a join. Pure (jansson).
 * The usual form is read in place; all else goes to jansson, which cost a join as many
 * instructions as everything else together. The fuzz target holds the two together. */
#include "router/api/json_body.h"

#include <assert.h>
#include <string.h>

#include "common/base/json_in.h"

/* Strings are skipped. */
bool body_too_deep(const char *p, size_t n)
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

static void clear(struct join_body *b)
{
    memset(b, 0, offsetof(struct join_body, claim));
}

struct text { /* a string member: of the request's bytes, or of jansson's */
    const char *p;
    size_t n;
    bool there, wrong; /* wrong: not a string */
};

struct word { /* a name of ours */
    const char *p;
    size_t n;
};

#define WORD(lit) { lit, sizeof(lit) - 1 }

static bool is_word(const struct text *t, const struct word *w)
{
    return t->n == w->n && memcmp(t->p, w->p, w->n) == 0;
}

enum member { CLIENT, SUBJECT, LANE, CLAIM, NMEMBERS };
static const struct word members[NMEMBERS] = { WORD("client"), WORD("subject"), WORD("lane"),
                                               WORD("claim") };

static int take_client(struct join_body *b, const struct text *t, const char **why)
{
    static const struct word names[CLIENT_NCLASSES] = {
        [CLIENT_GAME] = WORD("game"),
        [CLIENT_MOBILE] = WORD("mobile"),
        [CLIENT_BROWSER] = WORD("browser"),
    };

    for (uint8_t i = 0; !t->wrong && i < CLIENT_NCLASSES; i++) {
        if (is_word(t, &names[i])) {
            b->client = i;
            return 0;
        }
    }
    return refuse(why, "client must be browser, mobile or game");
}

static int take_subject(struct join_body *b, const struct text *t, const char **why)
{
    if (t->wrong || t->n == 0 || t->n > SUBJECT_MAX_LEN)
        return refuse(why, "subject must be a string of 1 to 128 bytes");
    for (size_t i = 0; i < t->n; i++) { /* text for passes, headers and logs */
        if ((uint8_t)t->p[i] < 0x20 || t->p[i] == 0x7f)
            return refuse(why, "subject must not have control characters");
    }
    memcpy(b->subject, t->p, t->n);
    assert(t->n <= sizeof(b->subject));
    b->subject_len = (uint8_t)t->n;
    return 0;
}

static int take_lane(struct join_body *b, const struct text *t, const char **why)
{
    if (t->wrong || t->n == 0 || t->n > NAME_MAX_LEN)
        return refuse(why, "lane must be a string of 1 to 64 characters");
    memcpy(b->lane, t->p, t->n);
    b->lane_len = (uint8_t)t->n;
    return 0;
}

static int take_claim(struct join_body *b, const struct text *t, const char **why)
{
    if (t->wrong || t->n == 0 || t->n > CLAIM_MAX_LEN)
        return refuse(why, "claim must be a string of 1 to 2048 characters");
    memcpy(b->claim, t->p, t->n);
    assert(t->n <= sizeof(b->claim));
    b->claim_len = (uint16_t)t->n;
    return 0;
}

static int take(struct join_body *b, const struct text v[NMEMBERS], const char **why)
{
    int rc = 0;

    if (v[CLIENT].there)
        rc = take_client(b, &v[CLIENT], why);
    if (rc == 0 && v[SUBJECT].there)
        rc = take_subject(b, &v[SUBJECT], why);
    if (rc == 0 && v[LANE].there)
        rc = take_lane(b, &v[LANE], why);
    if (rc == 0 && v[CLAIM].there)
        rc = take_claim(b, &v[CLAIM], why);
    return rc;
}

/* ---- the usual body, in place ---- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    return p;
}

/* Characters that stand for themselves in a string: ASCII but for quotes and escapes. */
static const bool plain[256] = { [' ' ... '!'] = true, ['#' ... '['] = true, [']' ... '~'] = true };

/* A string of those; NULL: it is something else. */
static const char *plain_string(const char *p, const char *end, struct text *t)
{
    if (p == end || *p != '"')
        return NULL;
    t->p = ++p;
    while (p < end && plain[(uint8_t)*p])
        p++;
    if (p == end || *p != '"')
        return NULL;
    t->n = (size_t)(p - t->p);
    t->there = true;
    return p + 1;
}

static struct text *member(struct text v[NMEMBERS], const struct text *name)
{
    for (int i = 0; i < NMEMBERS; i++)
        if (is_word(name, &members[i]))
            return &v[i];
    return NULL;
}

/* {"client":"game","subject":"..."}: what nearly everybody sends is read where it lies,
 * without allocating. False: anything out of the ordinary; jansson decides. */
static bool plain_object(const char *p, const char *end, struct text v[NMEMBERS])
{
    struct text name = { 0 };
    struct text *m;

    p = skip_space(p, end);
    if (p == end || *p != '{')
        return false;
    p = skip_space(p + 1, end);
    if (p < end && *p == '}')
        return skip_space(p + 1, end) == end;
    for (;;) {
        p = plain_string(p, end, &name);
        m = p != NULL ? member(v, &name) : NULL;
        if (m == NULL || m->there)
            return false;
        p = skip_space(p, end);
        if (p == end || *p != ':')
            return false;
        p = plain_string(skip_space(p + 1, end), end, m);
        if (p == NULL)
            return false;
        p = skip_space(p, end);
        if (p == end)
            return false;
        if (*p == '}')
            return skip_space(p + 1, end) == end;
        if (*p != ',')
            return false;
        p = skip_space(p + 1, end);
    }
}

/* ---- any other ---- */

static int join_of(struct join_body *b, const json_t *o, const char **why)
{
    struct text v[NMEMBERS] = { 0 };

    for (int i = 0; i < NMEMBERS; i++) {
        const json_t *j = json_object_get(o, members[i].p);

        v[i] = (struct text){ json_string_value(j), json_string_length(j), j != NULL,
                              j != NULL && !json_is_string(j) };
    }
    return take(b, v, why);
}

int body_join_any(struct join_body *b, const char *p, size_t n, const char **why)
{
    json_error_t e;
    json_t *o;
    int rc;

    clear(b);
    *why = "";
    if (body_too_deep(p, n))
        return refuse(why, "the JSON is nested too deeply");
    o = json_in(p, n, &e);
    if (o == NULL) {
        if (json_error_code(&e) == json_error_out_of_memory)
            return SQ_ENOMEM;
        return refuse(why, json_error_code(&e) == json_error_duplicate_key
                               ? "a member is there twice"
                               : "the body must be one JSON object in UTF-8");
    }
    rc = json_is_object(o) ? join_of(b, o, why)
                           : refuse(why, "the body must be one JSON object in UTF-8");
    json_decref(o);
    return rc;
}

int body_join(struct join_body *b, const char *p, size_t n, const char **why)
{
    struct text v[NMEMBERS] = { 0 };

    if (n != 0 && !plain_object(p, p + n, v))
        return body_join_any(b, p, n, why);
    clear(b);
    *why = "";
    return take(b, v, why);
}
