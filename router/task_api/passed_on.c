/* passed_on.c: see passed_on.h. */
#include "router/task_api/passed_on.h"

#include <string.h>
#include <strings.h>

#include "common/task/call.h"
#include "common/task/url.h"

static struct call_span fields_of(const struct msg_task_get_ans *m)
{
    struct call_span all = { (const char *)m->fields.p, m->fields.n };

    return reply_fields_ok(all) ? all : (struct call_span){ 0 };
}

static bool is(struct call_span name, const char *lower)
{
    return name.n == strlen(lower) && strncasecmp(name.p, lower, name.n) == 0;
}

bool passed_on_location(const struct msg_task_get_ans *m)
{
    struct call_span rest = fields_of(m), name, value;

    while (call_header_next(&rest, &name, &value))
        if (is(name, "location"))
            return true;
    return false;
}

static const struct call_span elsewhere;

/* Finds the part behind the endpoint's own path. */
static struct call_span below(const struct url *own, const char *p, size_t path_n)
{
    size_t n = strlen(own->path);

    if (path_n < n || memcmp(p, own->path, n) != 0 || (path_n > n && strchr("/?#", p[n]) == NULL))
        return elsewhere;
    return (struct call_span){ p + n, path_n - n };
}

static struct call_span behind_endpoint(const char *url, struct call_span v)
{
    struct url own, u;
    size_t used;

    if (url[0] == '\0' || url_parse(&own, url) != NULL)
        return elsewhere;
    if (v.n > 0 && v.p[0] == '/' && (v.n == 1 || v.p[1] != '/'))
        return below(&own, v.p, v.n);
    if (url_authority(&u, v.p, v.n, &used) != NULL || !url_same_host(&own, &u))
        return elsewhere;
    return below(&own, v.p + used, v.n - used);
}

static void put_location(struct buf *b, const struct passed_from *from, struct call_span value)
{
    struct call_span tail = behind_endpoint(from->url, value);

    if (tail.p == NULL) {
        buf_append(b, value.p, value.n);
        return;
    }
    buf_str(b, "/v1/call/");
    buf_str(b, from->endpoint);
    if (tail.n == 0 || tail.p[0] != '/')
        buf_byte(b, '/');
    buf_append(b, tail.p, tail.n);
}

void passed_on_fields(struct buf *headers, const struct msg_task_get_ans *m,
                      const struct passed_from *from, bool of_file)
{
    struct call_span rest = fields_of(m), name, value;

    while (call_header_next(&rest, &name, &value)) {
        if (of_file && is(name, "content-disposition"))
            continue;
        buf_append(headers, name.p, name.n);
        buf_str(headers, ": ");
        if (is(name, "location"))
            put_location(headers, from, value);
        else
            buf_append(headers, value.p, value.n);
        buf_str(headers, "\r\n");
    }
    if (m->fields_cut)
        buf_str(headers, "segq-headers-truncated: true\r\n");
}
