/* fuzz_bypass.c: rules that an operator (or a broken map) may send, and addresses that any
 * visitor may ask for. Whatever comes: nothing breaks, rules that are taken are written and
 * read again the same, and who is let past by a path really stays under it, however the
 * server behind undoes escapes and dots.
 * Input: a line of rules (JSON), then a line that is asked for, then a body of a command. */
#include <stdlib.h>
#include <string.h>

#include "router/gate/bypass.h"
#include "router/calls/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what)
{
    if (!what)
        abort();
}

static char *copy(const uint8_t *p, size_t n)
{
    char *s = malloc(n + 1);

    must(s != NULL);
    memcpy(s, p, n);
    s[n] = '\0';
    return s;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* As a careless server reads a path: escapes undone again and again, backslashes turned. */
static void unescape(char *s)
{
    for (bool more = true; more;) {
        char *to = s;

        more = false;
        for (char *p = s; *p != '\0'; p++, to++) {
            *to = *p == '\\' ? '/' : *p;
            if (p[0] == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
                *to = (char)(hex(p[1]) * 16 + hex(p[2]));
                more = true;
                p += 2;
            }
        }
        *to = '\0';
    }
}

/* ... and then walks it. How deep it is below `rule` at the least moment must not be < 0. */
static void stays_below(const char *rule, const char *path)
{
    size_t n = strlen(rule);
    int depth = 0;

    must(strncmp(path, rule, n) == 0);
    for (const char *p = path + n; *p != '\0';) {
        size_t len;

        while (*p == '/')
            p++;
        len = strcspn(p, "/");
        if (len == 2 && p[0] == '.' && p[1] == '.')
            depth--;
        else if (len > 0 && !(len == 1 && p[0] == '.'))
            depth++;
        must(depth >= 0);
        p += len;
    }
}

static void paths(const char *uri, size_t n)
{
    static const char *const rules[] = { "/static", "/static/", "/a/b" };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        char *s;

        if (!bypass_path(rules[i], (struct slice) { (char *)(uintptr_t)uri, n }))
            continue;
        s = copy((const uint8_t *)uri, strcspn(uri, "?"));
        unescape(s);
        stays_below(rules[i], s);
        must(strpbrk(s, ";?#") == NULL);
        free(s);
    }
}

static void rules(const char *json, const char *uri, size_t n)
{
    static const struct token_key key;
    static const char raw[] = "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n";
    struct http_state st = { 0 };
    struct http_req q;
    struct ip ip = { { 0 } };
    struct bypass_ask a = { .q = &q, .addr = &ip, .key = &key, .queue = 7,
                            .uri = { (char *)(uintptr_t)uri, n },
                            .subject = { (char *)(uintptr_t)uri, n } };
    struct gate_def d = { 0 }, back = { 0 };
    struct err e = { 0 };
    struct bypass *b = bypass_new(json, &e);
    char head[sizeof(raw) + HTTP_SLACK];
    struct buf out;

    memcpy(head, raw, sizeof(raw));
    must(http_parse(&st, &q, head, sizeof(raw) - 1) > 0);
    if (b == NULL) {
        must(e.text[0] != '\0');
        return;
    }
    must(bypass_of(b, &a) < BYPASS_NREASONS);
    bypass_free(b);
    buf_init(&out);
    must(gate_def_read(&d, json, strlen(json), &e) == 0 && gate_def_write(&out, &d));
    if (!gate_def_is_empty(&d)) {
        must(gate_def_read(&back, (const char *)out.data, out.len, &e) == 0);
        must(back.bypass.paths.n == d.bypass.paths.n && back.rollout == d.rollout);
    }
    gate_def_fini(&d);
    gate_def_fini(&back);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size), *end2;
    size_t n = end != NULL ? (size_t)(end - data) : size, left, k;
    struct session_cmd c;
    struct body_error e;
    char *json, *uri, *body;

    json = copy(data, n);
    data += n + (end != NULL);
    left = size - n - (end != NULL);
    end2 = memchr(data, '\n', left);
    k = end2 != NULL ? (size_t)(end2 - data) : left;
    uri = copy(data, k);
    body = copy(data + k + (end2 != NULL), left - k - (end2 != NULL));
    rules(json, uri, k);
    paths(uri, strlen(uri));
    if (session_body(&c, (struct slice) { body, strlen(body) }, &e))
        must(c.command < SESS_NCOMMANDS && c.seconds <= SESSION_MAX_EXTEND);
    free(json);
    free(uri);
    free(body);
    return 0;
}
