/* httpd_compose.c: the bytes of an answer. What is equal for all answers of a second is made once. */
#include "common/http/httpd_compose.h"

#include <assert.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/text.h"
#include "common/net/tls_server.h"

#define OK_LINE "HTTP/1.1 200 OK\r\n"

/* The date is an IMF-fixdate; the C library's names depend on the locale. */
void compose_common(struct httpd *h, int64_t now_s)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)now_s;
    struct tm tm;
    char *w = h->common_head;

    gmtime_r(&t, &tm);
    w = PUT(w, OK_LINE "X-Content-Type-Options: nosniff\r\nDate: ");
    w = text_put(w, days + 3 * tm.tm_wday, 3);
    w += strftime(w, 16, ", %d ", &tm);
    w = text_put(w, months + 3 * tm.tm_mon, 3);
    w += strftime(w, 32, " %Y %H:%M:%S GMT\r\n", &tm);
    if (h->server[0] != '\0') {
        w = PUT(w, "Server: ");
        w = text_str(w, h->server);
        w = PUT(w, "\r\n");
    }
    if (tls_server_hsts_s(h->opts.tls) > 0) {
        w = PUT(w, "Strict-Transport-Security: max-age=");
        w = text_u64(w, (uint64_t)tls_server_hsts_s(h->opts.tls));
        w = PUT(w, "\r\n");
    }
    h->common_len = (size_t)(w - h->common_head);
    assert(h->common_len <= sizeof(h->common_head));
    h->date_s = now_s;
}

static bool brings_cache_control(const char *p, size_t n)
{
    const char *end = p + n, *lf;

    for (; p < end; p = lf != NULL ? lf + 1 : end) {
        if ((*p | 0x20) == 'c' && strncasecmp(p, "cache-control:", 14) == 0)
            return true;
        lf = memchr(p, '\n', (size_t)(end - p));
    }
    return false;
}

static char *other_head(const struct httpd *h, int status, char *w)
{
    const size_t ok = sizeof(OK_LINE) - 1;

    w = text_u64(PUT(w, "HTTP/1.1 "), (unsigned)status);
    *w++ = ' ';
    w = PUT(text_str(w, http_reason(status)), "\r\n");
    return text_put(w, h->common_head + ok, h->common_len - ok);
}

size_t compose(struct httpd *h, const struct answer *a, char *out)
{
    bool sized = a->status >= 200 && a->status != 204 && a->status != 304;
    char *w;

    if (SQ_LIKELY(a->status == 200))
        w = text_put(out, h->common_head, h->common_len);
    else
        w = other_head(h, a->status, out);
    if (a->type != NULL) {
        w = PUT(w, "Content-Type: ");
        w = text_put(w, a->type, a->type_len);
        w = PUT(w, "\r\n");
    }
    if (a->open && !a->sized) {
        w = PUT(w, "Transfer-Encoding: chunked\r\n");
    } else if (sized) {
        w = PUT(w, "Content-Length: ");
        w = text_u64(w, a->body_len);
        w = PUT(w, "\r\n");
    }
    if (!brings_cache_control(a->headers, a->headers_len))
        w = PUT(w, "Cache-Control: no-store\r\n");
    w = text_put(w, a->headers, a->headers_len);
    w = text_put(w, a->lines, a->lines_len);
    if (a->close)
        w = PUT(w, "Connection: close\r\n");
    else if (a->keep_header)
        w = PUT(w, "Connection: keep-alive\r\n");
    w = PUT(w, "\r\n");
    if (sized && !a->head && !a->open)
        w = text_put(w, a->body, a->body_len);
    return (size_t)(w - out);
}

void compose_count(struct httpd *h, int status)
{
    h->counts.answers++;
    h->counts.status_2xx += status / 100 == 2;
    h->counts.status_3xx += status / 100 == 3;
    h->counts.status_4xx += status / 100 == 4;
    h->counts.status_5xx += status / 100 == 5;
}

void compose_body_head(struct httpd *h, struct body_head *x, int status, const char *type)
{
    static const char size[] = "\r\nContent-Length: ";
    const struct answer a = { .status = status, .type = type, .type_len = strlen(type),
                              .headers = "", .body_len = BODY_MIN, .head = true };

    assert(a.type_len <= sizeof(x->text) - sizeof(h->common_head) - 128);
    x->type = type;
    x->date_s = h->date_s;
    x->len = compose(h, &a, x->text);
    assert(x->len < sizeof(x->text));
    x->text[x->len] = '\0';
    x->size_at = (size_t)(strstr(x->text, size) - x->text) + sizeof(size) - 1;
}
