/* bypass.c: see bypass.h. */
#include "router/gate/bypass.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#define PARTS 10000u /* parts of all people: a rollout is exact to 0.01 percent */

struct bypass {
    struct gate_def def; /* owned */
    struct ip_net *nets; /* owned; of def.bypass.addresses */
    char **names;        /* owned; of def.bypass.headers, in small letters */
};

/* ---- rules ----------------------------------------------------------------------------- */

static bool read_nets(struct bypass *b)
{
    char *const *v = b->def.bypass.addresses.v;
    size_t n = b->def.bypass.addresses.n;

    b->nets = calloc(n + 1, sizeof(*b->nets));
    for (size_t i = 0; b->nets != NULL && i < n; i++)
        if (!ip_net_parse(&b->nets[i], v[i]))
            return false; /* cannot be: it was checked */
    return b->nets != NULL;
}

static bool read_names(struct bypass *b)
{
    const struct gate_header *v = b->def.bypass.headers.v;
    size_t n = b->def.bypass.headers.n;

    b->names = calloc(n + 1, sizeof(*b->names));
    for (size_t i = 0; b->names != NULL && i < n; i++) {
        b->names[i] = strdup(v[i].name);
        if (b->names[i] == NULL)
            return false;
        copy_lower(b->names[i], strlen(v[i].name) + 1, v[i].name);
    }
    return b->names != NULL;
}

struct bypass *bypass_new(const char *json, struct err *e)
{
    struct bypass *b = calloc(1, sizeof(*b));

    if (b == NULL || gate_def_read(&b->def, json, strlen(json), e) < 0 || !read_nets(b) ||
        !read_names(b)) {
        if (e != NULL && e->code == 0)
            err_set(e, SQ_ENOMEM, "out of memory");
        bypass_free(b);
        return NULL;
    }
    return b;
}

void bypass_free(struct bypass *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; b->names != NULL && i < b->def.bypass.headers.n; i++)
        free(b->names[i]);
    free(b->names);
    free(b->nets);
    gate_def_fini(&b->def);
    free(b);
}

const char *const bypass_names[BYPASS_NREASONS] = {
    "",
#define X(name, text) [BYPASS_##name] = text,
    BYPASS_REASONS(X)
#undef X
};

/* ---- paths ----------------------------------------------------------------------------- */

#define BLANK 0xff /* in place of one: no rule has that byte */

/* The character that an escape stands for; -1: one server takes it for that character and the
 * next one for more. */
static int unescaped(const char *p, const char *end)
{
    int c = hex_byte(p + 1, end);

    if (c == ' ')
        return BLANK;
    if (c <= 0x20 || c == 0x7f || c == BLANK || strchr("/\\.%?#;", c) != NULL)
        return -1;
    return c;
}

/* A longer form of a plain letter ("%c0%ae": a dot), which old decoders take for that letter. */
static bool is_overlong(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;

    return c[0] == 0xc0 || c[0] == 0xc1 || (c[0] == 0xe0 && c[1] < 0xa0) ||
           (c[0] == 0xf0 && c[1] < 0x90);
}

/* The path with its escapes undone, 0-terminated; false: not to be judged. */
static bool read_path(struct slice uri, char *out, bool *blanks)
{
    const char *p = uri.p, *end = uri.p + uri.n;
    size_t n = 0;

    while (p < end && *p != '?') {
        int c = *p == '%' ? unescaped(p, end) : (unsigned char)*p;

        if (c <= 0 || n == BYPASS_PATH_MAX)
            return false;
        /* amid a word nobody cuts it off */
        if (c == BLANK && *p == '%' && !(n > 0 && isalnum((unsigned char)out[n - 1]) && p + 3 < end &&
                                        isalnum((unsigned char)p[3])))
            return false;
        *blanks |= c == BLANK;
        p += *p == '%' ? 3 : 1;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    for (p = out; *p != '\0'; p++)
        if (is_overlong(p))
            return false;
    return true;
}

/* No doubled slash, no part of dots, nothing that one server cuts off and another does not:
 * the same for all of the path, or what begins as /static ends as /static/../checkout. */
static bool is_plain(const char *s)
{
    return (s[0] == '/' && s[1] == '\0') || gate_path_ok(s);
}

void bypass_read(struct bypass_reading *r, struct slice uri)
{
    bool blanks = false;

    r->sure = uri.p != NULL && read_path(uri, r->path, &blanks) && is_plain(r->path);
    r->plain = r->sure && !blanks;
}

/* Which part of the path is the rule's? NULL: none. */
static const char *behind(const char *rule, const char *path,
                          int (*differ)(const char *, const char *, size_t))
{
    size_t n = strlen(rule);

    return differ(path, rule, n) == 0 ? path + n : NULL;
}

bool bypass_is_under(const struct bypass_reading *r, const char *rule)
{
    const char *rest = r->sure ? behind(rule, r->path, strncmp) : NULL;

    return rest != NULL && (rest[-1] == '/' || *rest == '\0' || *rest == '/');
}

bool bypass_may_be_under(const struct bypass_reading *r, const char *rule)
{
    const char *rest = r->sure ? behind(rule, r->path, strncasecmp) : "";

    return rest != NULL && (*rest == '\0' || rest[-1] == '/' || strchr("/.:", *rest) != NULL);
}

bool bypass_path(const char *rule, struct slice uri)
{
    struct bypass_reading r;

    bypass_read(&r, uri);
    return r.plain && bypass_is_under(&r, rule);
}

/* ---- the others ------------------------------------------------------------------------ */

static bool by_address(const struct bypass *b, const struct bypass_ask *a)
{
    for (size_t i = 0; a->addr != NULL && i < b->def.bypass.addresses.n; i++)
        if (ip_in(&b->nets[i], a->addr))
            return true;
    return false;
}

static bool by_path(const struct bypass *b, const struct bypass_ask *a)
{
    char *const *v = b->def.bypass.paths.v;
    size_t n = b->def.bypass.paths.n, i = 0;
    struct bypass_reading r;

    if (n == 0)
        return false;
    bypass_read(&r, a->uri);
    while (i < n && !bypass_is_under(&r, v[i]))
        i++;
    return r.plain && i < n;
}

/* Values are secrets: the time that a comparison takes does not tell where they differ. */
static bool by_header(const struct bypass *b, const struct bypass_ask *a)
{
    const struct gate_header *v = b->def.bypass.headers.v;
    struct slice got;

    for (size_t i = 0; i < b->def.bypass.headers.n; i++) {
        size_t n = strlen(v[i].value);

        if (http_find(a->q, b->names[i], &got) != 1)
            continue;
        if (n == 0 || (got.n == n && sodium_memcmp(got.p, v[i].value, n) == 0))
            return true;
    }
    return false;
}

static bool by_subject(const struct bypass *b, const struct bypass_ask *a)
{
    char *const *v = b->def.bypass.subjects.v;

    for (size_t i = 0; a->subject.p != NULL && i < b->def.bypass.subjects.n; i++)
        if (strlen(v[i]) == a->subject.n && memcmp(v[i], a->subject.p, a->subject.n) == 0)
            return true;
    return false;
}

/* A person is a subject, else an address (of IPv6 the /64 that a line has): all requests of
 * one go the same way, at every router, before and after restarts. */
bool bypass_in_rollout(const struct bypass_ask *a, double percent)
{
    uint8_t text[SUBJECT_MAX_LEN + 1];
    size_t n;

    if (a->subject.p != NULL && a->subject.n > 0 && a->subject.n <= SUBJECT_MAX_LEN) {
        text[0] = 's';
        n = a->subject.n;
        memcpy(text + 1, a->subject.p, n);
    } else if (a->addr != NULL) {
        text[0] = 'a';
        n = ip_is_v4(a->addr) ? 16 : 8;
        memcpy(text + 1, a->addr->b, n);
    } else {
        return true; /* a person that nobody knows */
    }
    return token_subject_hash(a->key, a->queue, (const char *)text, n + 1) % PARTS <
           (uint64_t)(percent * (PARTS / 100) + 0.5);
}

enum bypass_why bypass_of(const struct bypass *b, const struct bypass_ask *a)
{
    if (by_address(b, a))
        return BYPASS_ADDRESS;
    if (by_path(b, a))
        return BYPASS_PATH;
    if (by_header(b, a))
        return BYPASS_HEADER;
    if (by_subject(b, a))
        return BYPASS_SUBJECT;
    if (b->def.rollout < 100 && !bypass_in_rollout(a, b->def.rollout))
        return BYPASS_ROLLOUT;
    return BYPASS_NONE;
}
