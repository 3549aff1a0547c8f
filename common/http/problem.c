/* problem.c: problem details. Pure. */
#include "common/http/problem.h"

#include <assert.h>

#include "common/base/text.h"
#include "common/http/http.h"

#define ADD(b, lit) buf_append(b, lit, sizeof(lit) - 1)

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static bool is_plain_or_more(char c)
{
    return is_plain(c) || (uint8_t)c >= 0x80;
}

static void put_string(struct buf *b, const char *s, size_t n, bool (*stays)(char c))
{
    buf_byte(b, '"');
    for (size_t i = 0; i < n;) {
        size_t from = i;

        while (i < n && stays(s[i]))
            i++;
        buf_append(b, s + from, i - from);
        if (i == n)
            break;
        if (s[i] == '"' || s[i] == '\\') {
            buf_byte(b, '\\');
            buf_byte(b, (uint8_t)s[i]);
        } else {
            buf_byte(b, '?');
        }
        i++;
    }
    buf_byte(b, '"');
}

void json_ascii(struct buf *b, const char *s, size_t n)
{
    put_string(b, s, n, is_plain);
}

void json_utf8(struct buf *b, const char *s, size_t n)
{
    put_string(b, s, n, utf8_ok(s, n) ? is_plain_or_more : is_plain);
}

static void text(struct buf *b, const char *s)
{
    json_ascii(b, s, strlen(s));
}

void problem_open(struct buf *b, int status, const char *code, const char *detail,
                  const char *request_id)
{
    assert(status >= 400 && status < 600 && code[0] != '\0');
    ADD(b, "{\"title\":");
    text(b, http_reason(status));
    ADD(b, ",\"status\":");
    buf_i64(b, status);
    ADD(b, ",\"code\":");
    text(b, code);
    ADD(b, ",\"detail\":");
    text(b, detail);
    ADD(b, ",\"request_id\":");
    text(b, request_id);
}

const char *problem_code_of_http(int status)
{
    return status == 413 ? "payload_too_large" : "bad_request";
}
