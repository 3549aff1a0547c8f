/* conditions.c: see conditions.h. */
#include "router/task_api/conditions.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/http/http_scan.h"
#include "router/task_api/body.h"

/* "wait=10", and parameters behind a semicolon, which mean nothing here. -1: another one. */
static msec_t wait_of(struct slice item)
{
    static const char word[] = "wait=";
    size_t at = sizeof(word) - 1, first = at;
    msec_t s = 0;

    if (item.n <= at || strncasecmp(item.p, word, at) != 0)
        return -1;
    for (; at < item.n && item.p[at] >= '0' && item.p[at] <= '9'; at++)
        s = ms_min(s * 10 + (item.p[at] - '0'), TASK_WAIT_MAX_MS / 1000);
    if (at == first || (at < item.n && !http_blank(item.p[at]) && item.p[at] != ';'))
        return -1;
    return s * 1000;
}

bool prefers_async(const struct http_req *q)
{
    static const char word[] = "respond-async";
    struct slice rest = q->fields, list, item;

    while (q->prefers && http_next(&rest, "prefer", &list))
        while (http_item_next(&list, &item))
            if (item.n == sizeof(word) - 1 && strncasecmp(item.p, word, item.n) == 0)
                return true;
    return false;
}

msec_t wait_preferred(const struct http_req *q, msec_t unsaid)
{
    struct slice rest = q->fields, list, item;

    while (q->prefers && http_next(&rest, "prefer", &list))
        while (http_item_next(&list, &item))
            if (wait_of(item) >= 0)
                return wait_of(item); /* the first of two counts */
    return unsaid;
}

void wait_applied(struct api_ans *a, msec_t wait_ms)
{
    if (wait_ms == 0)
        return;
    buf_str(&a->headers, "Preference-Applied: wait=");
    buf_u64(&a->headers, (uint64_t)wait_ms / 1000);
    buf_str(&a->headers, "\r\n");
}

static bool is_known(struct slice known, const char *tag, size_t n)
{
    struct slice item;

    while (http_item_next(&known, &item)) {
        if (item.n > 2 && item.p[0] == 'W' && item.p[1] == '/') { /* weak: as good here */
            item.p += 2;
            item.n -= 2;
        }
        if ((item.n == 1 && item.p[0] == '*') || (item.n == n && memcmp(item.p, tag, n) == 0))
            return true;
    }
    return false;
}

void answer_tag(struct api_ans *a, struct slice known)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "segq answer"; /* public */
    char tag[18] = "\"", *end;
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, a->body.data, a->body.len, key);
    end = hex_put(tag + 1, h);
    *end++ = '"';
    buf_str(&a->headers, "ETag: ");
    buf_append(&a->headers, tag, (size_t)(end - tag));
    buf_str(&a->headers, "\r\n");
    if (is_known(known, tag, (size_t)(end - tag))) {
        a->status = 304;
        a->type = NULL;
        buf_reset(&a->body);
    }
}
