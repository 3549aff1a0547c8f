/* gate_def.c: the table, and what a table cannot say. Pure. */
#include "common/config/gate_def.h"

#include <string.h>
#include <strings.h>

#include "common/base/ip.h"
#include "common/base/text.h"

#define HEADER(f) offsetof(struct gate_header, f)
static const struct cfg_key header_keys[] = {
    { "name", CFG_STR, HEADER(name), NULL, 1, 64, true, "name of the header", 0, 0, 0 },
    { "value", CFG_STR, HEADER(value), "", 0, 256, true,
      "its value, a secret; \"\" = any value", 0, 0, 0 },
    { 0 },
};

#define BYPASS(f) offsetof(struct gate_bypass, f)
const struct cfg_key gate_bypass_keys[] = {
    { "addresses", CFG_STRS, BYPASS(addresses), "", 0, GATE_ADDRESSES_MAX, true,
      "client addresses and networks: [10.0.0.0/8, 2001:db8::1]", 0, 0, 0 },
    { "paths", CFG_STRS, BYPASS(paths), "", 0, GATE_PATHS_MAX, true,
      "paths, with everything below them: [/static, /health]", 0, 0, 0 },
    { "headers", CFG_OBJS, BYPASS(headers), "", 0, GATE_HEADERS_MAX, true,
      "requests with this header: [{name: X-Probe, value: SECRET}]", 0, header_keys,
      sizeof(struct gate_header) },
    { "subjects", CFG_STRS, BYPASS(subjects), "", 0, GATE_SUBJECTS_MAX, true,
      "people, as the gate names them in the router's gate_subject_header", 0, 0, 0 },
    { 0 },
};

static const struct cfg_key gate_def_keys[] = {
    { "bypass", CFG_OBJ, offsetof(struct gate_def, bypass), "", 0, 0, true, "see above", 0,
      gate_bypass_keys, 0 },
    { "rollout", CFG_NUM, offsetof(struct gate_def, rollout), "100", 0, 100, true,
      "percent", 0, 0, 0 },
    { 0 },
};

/* ---- checks ---------------------------------------------------------------------------- */

static bool is_dots(const char *s, size_t n)
{
    return (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.');
}

bool gate_path_ok(const char *s)
{
    size_t from = 1;

    if (s[0] != '/' || s[1] == '\0')
        return false;
    for (size_t i = 1;; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c == '/' || c == '\0') {
            if ((c == '/' && i == from) || is_dots(s + from, i - from))
                return false;
            from = i + 1;
        }
        if (c == '\0')
            return true;
        if (c <= 0x20 || c == 0x7f || strchr("%\\?#;", c) != NULL)
            return false;
    }
}

/* These mean something else here, or to those in between. */
static bool is_taken(const char *s)
{
    static const char *const begins[] = { "x-segq-", "x-original-", "x-forwarded-" };
    static const char *const whole[] = { "authorization", "connection", "content-length",
                                         "cookie", "forwarded", "host",
                                         "transfer-encoding" };

    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (strncasecmp(s, begins[i], strlen(begins[i])) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_LEN(whole); i++)
        if (strcasecmp(s, whole[i]) == 0)
            return true;
    return false;
}

/* Visible, and no blanks at the ends: those a header's value does not have. */
static bool value_ok(const char *s)
{
    size_t n = strlen(s);

    if (n > 0 && (s[0] == ' ' || s[n - 1] == ' '))
        return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] < 0x20 || s[i] > 0x7e)
            return false;
    return true;
}

static int addresses_check(const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;
    struct ip_net net;

    for (size_t i = 0; i < l->n; i++)
        if (!ip_net_parse(&net, v[i]))
            return err_set(e, SQ_EINVAL,
                           "bypass: addresses: \"%.60s\" is neither an address nor a "
                           "network in CIDR notation", v[i]);
    return 0;
}

static int paths_check(const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;

    for (size_t i = 0; i < l->n; i++)
        if (!gate_path_ok(v[i]) || strlen(v[i]) > 1000)
            return err_set(e, SQ_EINVAL,
                           "bypass: paths: \"%.60s\": write /part or /part/part, without "
                           "escapes, dots or a query (for the whole site: rollout 0)",
                           v[i]);
    return 0;
}

static int headers_check(const struct cfg_list *l, struct err *e)
{
    const struct gate_header *v = l->v;

    for (size_t i = 0; i < l->n; i++) {
        if (!text_is_of(v[i].name, strlen(v[i].name), "-_.") || is_taken(v[i].name))
            return err_set(e, SQ_EINVAL, "bypass: headers: \"%.60s\" is not a header "
                                         "name that a rule may use", v[i].name);
        if (!value_ok(v[i].value))
            return err_set(e, SQ_EINVAL, "bypass: headers: the value of %.60s must be "
                           "visible ASCII without blanks at its ends", v[i].name);
    }
    return 0;
}

static int subjects_check(const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;

    for (size_t i = 0; i < l->n; i++) {
        size_t n = strlen(v[i]);

        if (n == 0 || n > SUBJECT_MAX_LEN)
            return err_set(e, SQ_EINVAL, "bypass: subjects: each must have 1 to %d bytes",
                           SUBJECT_MAX_LEN);
    }
    return 0;
}

/* Escaped as JSON it must fit into GATE_JSON_MAX, whatever is in it. */
static int size_check(const struct gate_bypass *b, struct err *e)
{
    const struct cfg_list *texts[] = { &b->addresses, &b->paths, &b->subjects };
    const struct gate_header *h = b->headers.v;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t k = 0; k < texts[i]->n; k++)
            n += strlen(((char *const *)texts[i]->v)[k]);
    for (size_t i = 0; i < b->headers.n; i++)
        n += strlen(h[i].name) + strlen(h[i].value);
    if (n > GATE_TEXT_MAX)
        return err_set(e, SQ_EINVAL, "bypass: all texts together may have at most %d "
                                     "bytes",
                       GATE_TEXT_MAX);
    return 0;
}

int gate_def_check(const struct gate_def *d, struct err *e)
{
    return addresses_check(&d->bypass.addresses, e)
        ?: paths_check(&d->bypass.paths, e)
        ?: headers_check(&d->bypass.headers, e)
        ?: subjects_check(&d->bypass.subjects, e)
        ?: size_check(&d->bypass, e);
}

/* ---- to routers ------------------------------------------------------------------------ */

bool gate_def_is_empty(const struct gate_def *d)
{
    const struct gate_bypass *b = &d->bypass;

    return b->addresses.n + b->paths.n + b->headers.n + b->subjects.n == 0 &&
           d->rollout >= 100;
}

bool gate_def_write(struct buf *b, const struct gate_def *d)
{
    size_t from = b->len;

    if (gate_def_is_empty(d))
        return true;
    cfg_dump_json(b, d, gate_def_keys);
    return !b->failed && b->len - from <= GATE_JSON_MAX;
}

int gate_def_read(struct gate_def *d, const char *json, size_t n, struct err *e)
{
    int rc = n > GATE_JSON_MAX ? err_set(e, SQ_ETOOBIG, "bypass: too long")
                               : cfg_read_json(d, sizeof(*d), gate_def_keys, json, n, NULL, e);

    return rc < 0 ? rc : gate_def_check(d, e);
}

void gate_def_fini(struct gate_def *d)
{
    cfg_clear(d, gate_def_keys);
}
