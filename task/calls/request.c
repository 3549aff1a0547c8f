/* request.c: the caller's fields first; of ours those that the caller may say go before ours. */
#include "task/calls/request.h"

#include <string.h>
#include <strings.h>

static void end_line(struct buf *out)
{
    buf_byte(out, 0);
}

static void line(struct buf *out, const char *name, const char *value)
{
    buf_str(out, name);
    buf_str(out, ": ");
    buf_str(out, value);
    end_line(out);
}

static void number(struct buf *out, const char *name, int64_t value)
{
    buf_str(out, name);
    buf_str(out, ": ");
    buf_i64(out, value);
    end_line(out);
}

static bool is_name(struct call_span name, const char *lower)
{
    return name.n == strlen(lower) && strncasecmp(name.p, lower, name.n) == 0;
}

/* Which of those that we would say has the caller said? */
static void of_caller(const struct call *c, bool *agent, bool *key, struct buf *out)
{
    struct call_span rest = c->headers, name, value;

    *agent = *key = false;
    while (call_header_next(&rest, &name, &value)) {
        *agent |= is_name(name, "user-agent");
        *key |= is_name(name, "idempotency-key");
        buf_append(out, name.p, name.n);
        buf_str(out, ": ");
        buf_append(out, value.p, value.n);
        end_line(out);
    }
}

static void signature(const struct call *c, const struct request_facts *f, struct buf *out)
{
    int64_t seconds = f->now_ms / 1000;

    line(out, "webhook-id", f->task);
    number(out, "webhook-timestamp", seconds);
    buf_str(out, "webhook-signature: ");
    sign_append(f->keys, f->task, seconds, (const uint8_t *)c->body.p, c->body.n, out);
    end_line(out);
}

/* Without the routers' address it is a path. */
static void complete_url(const struct request_facts *f, struct buf *out)
{
    buf_str(out, "segq-complete-url: ");
    buf_str(out, f->public_url);
    buf_str(out, "/v1/tasks/");
    buf_str(out, f->right);
    buf_str(out, "/complete");
    end_line(out);
}

void request_fields(const struct call *c, const struct request_facts *f, struct buf *out)
{
    bool agent, key;

    of_caller(c, &agent, &key, out);
    if (!agent)
        line(out, "user-agent", "segq/1");
    if (!key)
        line(out, "idempotency-key", f->task);
    line(out, "segq-task", f->task);
    line(out, "segq-queue", f->queue);
    number(out, "segq-attempt", f->attempt);
    if (f->attempt > 1)
        line(out, "segq-redelivered", "1");
    number(out, "segq-due", f->due_ms);
    complete_url(f, out);
    if (f->keys != NULL)
        signature(c, f, out);
}
