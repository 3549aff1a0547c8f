/* fuzz_call.c: forms of calls and replies that anybody made. What is taken is a request that may be
 * made, and the same when it is made again of its parts; what of it stands in the input. */
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void call(const uint8_t *data, size_t size)
{
    struct call_span rest, name, value;
    struct call c, again;
    size_t n = 0;
    struct buf b;

    if (call_unpack(data, size, &c) < 0)
        return;
    must(c.path.p[0] == '/' && memchr(c.path.p, '\n', c.path.n) == NULL);
    must((const uint8_t *)c.body.p + c.body.n == data + size);
    buf_init(&b);
    call_pack_begin(&b, c.method, c.path);
    for (rest = c.headers; call_header_next(&rest, &name, &value); n++) {
        must(memchr(value.p, '\n', value.n) == NULL && !call_header_refused(name.p, name.n));
        call_pack_header(&b, name, value);
    }
    call_pack_body(&b, c.body);
    must(rest.n == 0 && n <= CALL_HEADERS_MAX && !b.failed);
    must(call_unpack(b.data, b.len, &again) == 0 && again.body.n == c.body.n);
    must(again.path.n == c.path.n && memcmp(again.path.p, c.path.p, c.path.n) == 0);
    buf_fini(&b);
}

static void reply(const uint8_t *data, size_t size)
{
    struct reply r, again;
    struct buf b;

    if (reply_unpack(data, size, &r) < 0)
        return;
    must(r.rest + r.rest_n == data + size);
    if (r.status == 0)
        return;
    buf_init(&b);
    reply_pack(&r, &b);
    buf_append(&b, r.rest, r.rest_n);
    must(b.len == size && memcmp(b.data, data, size) == 0);
    must(reply_unpack(b.data, b.len, &again) == 0 && again.status == r.status);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    call(data, size);
    reply(data, size);
    return 0;
}
