/* event.c: see event.h. */
#include "router/api/event.h"

#include <assert.h>
#include <string.h>

#define EVENT_ID_DIGITS 18 /* more than any place has */

uint64_t event_id(struct slice v)
{
    uint64_t id = 0;

    if (v.n > EVENT_ID_DIGITS)
        return 0;
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] < '0' || v.p[i] > '9')
            return 0;
        id = id * 10 + (uint64_t)(v.p[i] - '0');
    }
    return id;
}

uint64_t event_last(const struct http_req *q)
{
    struct slice v;

    return http_find(q, "last-event-id", &v) == 1 ? event_id(v) : 0;
}

static void field(struct buf *b, const char *name, uint64_t v)
{
    buf_str(b, name);
    buf_u64(b, v);
    buf_byte(b, '\n');
}

void event_begin(struct buf *b, const char *name, uint64_t id, uint32_t retry_ms)
{
    if (retry_ms != 0)
        field(b, "retry: ", retry_ms);
    if (name != NULL) {
        buf_str(b, "event: ");
        buf_str(b, name);
        buf_byte(b, '\n');
    } else {
        field(b, "id: ", id);
    }
    buf_str(b, "data: ");
}

void event_end(struct buf *b)
{
    assert(b->failed || memchr(b->data, '\r', b->len) == NULL); /* would end a line */
    buf_str(b, "\n\n");
}
