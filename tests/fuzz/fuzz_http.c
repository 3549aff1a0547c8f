/* fuzz_http.c: whatever comes, http.c touches no byte behind the buffer and its slack, gives the same
 * result whole and cut in pieces, and differs from libhttp-parser only for the reasons
 * listed in tests/lib/http_compare.h. First byte: where it is cut; the rest: the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "common/http/request_headers.h"
#include "tests/lib/http_compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* A sum h with that slice, which must lie in the buffer. */
static uint64_t with(uint64_t h, struct slice v, const char *buf, size_t n)
{
    h = h * 31 + v.n;
    if (v.p == NULL)
        return h;
    must(v.p >= buf && v.p + v.n <= buf + n);
    for (size_t k = 0; k < v.n; k++)
        h = h * 31 + (uint8_t)v.p[k];
    return h;
}

static uint64_t with_via(uint64_t h, const struct http_via *via, const char *buf, size_t n)
{
    must(via->n <= HTTP_MAX_VIA);
    for (size_t i = 0; i < via->n; i++)
        h = with(h, via->line[i], buf, n);
    return h * 31 + via->n;
}

/* Sum of what a request says. */
static uint64_t digest(const struct http_req *r, const char *buf, size_t n)
{
    const struct slice v[] = { r->path,
                               r->query,
                               r->body,
                               r->host,
                               r->authorization,
                               r->cookie,
                               r->accept_language,
                               r->if_none_match,
                               r->user_agent,
                               r->idempotency_key };
    uint64_t h = (uint64_t)r->method * 1000003 + (uint64_t)r->minor * 7 + r->keep_alive +
                 2u * r->has_body + 4u * r->json + 8u * r->expect_continue;

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        h = with(h, v[i], buf, n);
    return with_via(with_via(h, &r->x_forwarded_for, buf, n), &r->forwarded, buf, n);
}

/* Each line of Cookie is walked, and no more; values lie in the buffer. */
static uint64_t cookies(const struct http_req *r, const char *buf, size_t n)
{
    struct slice rest = r->fields, v;
    struct cookies c = { 0 };
    unsigned lines = 0;
    uint64_t h = 0;

    while (http_next(&rest, "cookie", &v))
        lines++;
    must(lines == r->cookies);
    while (cookie_next(&c, r, "a", &v)) {
        must(v.p >= buf && v.p + v.n <= buf + n);
        h = h * 31 + v.n + 1;
    }
    must(c.line == lines);
    return h;
}

/* n of all bytes; in the slack are the next ones, then ends of lines. */
static char *copy(const uint8_t *data, size_t n, size_t all)
{
    char *p = malloc(n + HTTP_SLACK); /* exact: the sanitizer sees a byte too far */

    must(p != NULL);
    for (size_t i = 0; i < n + HTTP_SLACK; i++)
        p[i] = i < all ? (char)data[i] : "\r\n"[i % 2];
    return p;
}

static int64_t parse(const uint8_t *data, size_t n, size_t step, uint64_t *sum)
{
    struct http_state st = { 0 };
    struct http_req r;
    int64_t rc = 0;

    for (size_t k = step < n ? step : n;; k = n - k > step ? k + step : n) {
        char *p = copy(data, k, n);

        rc = http_parse(&st, &r, p, k);
        *sum = rc > 0 ? digest(&r, p, k) * 31 + cookies(&r, p, k) : 0;
        free(p);
        if (rc != 0 || k == n)
            return rc;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t a, b;
    char *p;

    if (size < 1)
        return 0;
    must(parse(data + 1, size - 1, size, &a) ==
         parse(data + 1, size - 1, 1 + data[0], &b));
    must(a == b);
    p = copy(data + 1, size - 1, size - 1);
    must(http_compare(p, size - 1, (const char *)data + 1) != CMP_UNEXPLAINED);
    free(p);
    return 0;
}
