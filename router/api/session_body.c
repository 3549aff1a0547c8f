/* session_body.c: see session_body.h. */
#include "router/api/session_body.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/json_in.h"
#include "common/ticket/keys.h"

#define SECRET_MIN 16

static bool is(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(p, word, n) == 0;
}

static bool read_seconds(uint32_t *out, const char *p, size_t n)
{
    uint32_t v = 0;

    if (n == 0 || n > 8)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (uint32_t)(p[i] - '0');
    }
    *out = v;
    return v > 0 && v <= SESSION_MAX_EXTEND;
}

bool session_cmd_read(struct session_cmd *c, const char *p, size_t n)
{
    static const char extend[] = "extend=";
    const size_t en = sizeof(extend) - 1;

    *c = (struct session_cmd) { .command = SESS_EXTEND };
    if (is(p, n, "extend"))
        return true;
    if (n > en && memcmp(p, extend, en) == 0)
        return read_seconds(&c->seconds, p + en, n - en);
    c->command = is(p, n, "release") ? SESS_RELEASE : SESS_REVOKE;
    return c->command == SESS_RELEASE || is(p, n, "revoke");
}

static int refuse(const char **why, const char *text)
{
    *why = text;
    return SQ_EINVAL;
}

static int of_json(struct session_cmd *c, struct slice body, const char **why)
{
    json_t *js = json_in(body.p, body.n, NULL);
    const json_t *v = json_object_get(js, "command");
    bool ok = json_is_string(v) &&
              session_cmd_read(c, json_string_value(v), json_string_length(v));
    bool object = json_is_object(js);

    json_decref(js);
    if (!object)
        return refuse(why, "the body is not a JSON object");
    return ok ? 0
              : refuse(why, "command must be release, revoke, extend or extend=SECONDS");
}

/* "command=VALUE": only what such a value can be is unescaped. */
static int of_form(struct session_cmd *c, struct slice body, const char **why)
{
    static const char key[] = "command=";
    size_t n = sizeof(key) - 1;
    const char *p = body.p + n, *end = body.p + body.n;
    char v[32];
    size_t k = 0;

    if (body.n < n || memcmp(body.p, key, n) != 0)
        return refuse(why, "the body must be {\"command\": ...} or command=...");
    for (; p < end && k < sizeof(v); k++) {
        bool equals = end - p >= 3 && p[0] == '%' && p[1] == '3' && (p[2] | 0x20) == 'd';

        v[k] = equals ? '=' : *p;
        p += equals ? 3 : 1;
    }
    if (p == end && session_cmd_read(c, v, k))
        return 0;
    return refuse(why, "command must be release, revoke, extend or extend=SECONDS");
}

int session_body(struct session_cmd *c, struct slice body, const char **why)
{
    for (size_t i = 0; i < body.n; i++) { /* nesting is not needed */
        if (body.p[i] == '{' || body.p[i] == ' ' || body.p[i] == '\n' || body.p[i] == '\r' ||
            body.p[i] == '\t') {
            if (body.p[i] != '{')
                continue;
            if (memchr(body.p + i + 1, '[', body.n - i - 1) != NULL ||
                memchr(body.p + i + 1, '{', body.n - i - 1) != NULL)
                return refuse(why, "the body must be an object without others in it");
            return of_json(c, body, why);
        }
        break;
    }
    return of_form(c, body, why);
}

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
