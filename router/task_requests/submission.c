/* submission.c: see submission.h. */
#include "router/task_requests/submission.h"

#include <sodium.h>
#include <string.h>

#include "common/task/call.h"
#include "router/task_api/call_cost.h"

/* The meaning of "another payload": every router must say the same, in every release. */
static uint64_t digest_of(const void *p, size_t n)
{
    static const uint8_t key[crypto_shorthash_siphash24_KEYBYTES] = "segq payload"; /* public */
    uint64_t h;

    crypto_shorthash_siphash24((uint8_t *)&h, p, n, key);
    return h;
}

/* The parts of a call that count: its method, path and body. Its headers have what changes from one try to the next:
 * a trace, a number of the request, the gateways on the way. */
uint64_t submit_digest_of_call(struct slice form)
{
    struct call c;
    uint64_t h[3];

    if (call_unpack((const uint8_t *)form.p, form.n, &c) < 0)
        return digest_of(form.p, form.n);
    h[0] = digest_of(c.method.p, c.method.n);
    h[1] = digest_of(c.path.p, c.path.n);
    h[2] = c.file.length > 0 ? digest_of(c.file.sha256, sizeof(c.file.sha256)) : digest_of(c.body.p, c.body.n);
    return digest_of(h, sizeof(h));
}

/* Most submissions have no name, group or labels: nothing is copied for these. */
static const char *text_of(struct task_call *c, struct slice text)
{
    return text.n > 0 ? call_text(c, text) : "";
}

static struct bytes_of bytes_of(struct task_call *c, struct slice bytes)
{
    struct slice copy = bytes.n > 0 ? call_bytes(c, bytes) : bytes;

    return (struct bytes_of){ (uint32_t)copy.n, (const uint8_t *)copy.p };
}

/* "tenant7/user42" as two texts; "" for what is not there. */
static void put_key(struct task_call *c, struct task_put *put, struct slice key)
{
    char *text, *slash;

    put->key1 = put->key2 = "";
    if (key.n == 0)
        return;
    put->key1 = text = call_text(c, key);
    slash = strchr(text, '/');
    if (slash != NULL) {
        *slash = '\0';
        put->key2 = slash + 1;
    }
}

uint64_t submit_digest(struct slice bytes, bool is_call)
{
    return is_call ? submit_digest_of_call(bytes) : digest_of(bytes.p, bytes.n);
}

struct task_put submit_row(struct task_call *c, const struct task_body *b, struct slice bytes,
                           bool named)
{
    struct slice payload = call_bytes(c, bytes);
    struct task_put put = {
        .queue = c->queue.p,
        .name = text_of(c, b->name),
        .group = text_of(c, b->group),
        .key = bytes_of(c, b->idempotency_key),
        .digest = named ? submit_digest(payload, bytes.p != b->payload.p) : 0,
        .priority = (uint8_t)b->priority,
        .order = b->order,
        .delay_ms = b->delay,
        .at_ms = b->at,
        .own = task_body_own(b, text_of(c, b->labels)),
        .body = { (uint32_t)payload.n, (const uint8_t *)payload.p },
        .unique = bytes_of(c, b->unique.key),
        .unique_while = (uint8_t)b->unique.lasts,
        .on_conflict = (uint8_t)b->unique.on_conflict,
    };

    put_key(c, &put, b->key);
    return put;
}

/* NULL: what it carries is of its queue's kind; else a sentence of ours. */
static const char *kind_wrong(const struct task_way *w, const struct task_body *b)
{
    bool call = (b->has & CALL_MEMBERS) != 0;

    if (call && (b->has & WITH(PAYLOAD)) != 0)
        return "payload, and a call (path, method, headers, body), exclude each other";
    if (call && w != NULL && w->endpoint[0] == '\0')
        return "path, method, headers and body are for queues with an endpoint; this one has none: "
               "payload";
    if ((call || (w != NULL && w->endpoint[0] != '\0')) && (b->has & WITH(PATH)) == 0)
        return "path is missing: the tasks of this queue are calls to its endpoint";
    return NULL;
}

const char *submit_size_wrong(const struct tasking *t, const struct task_way *w, size_t body_n,
                              size_t n, enum api_problem *p)
{
    *p = t->form.failed ? API_QUEUE_UNAVAILABLE : API_PAYLOAD_TOO_LARGE;
    if (t->form.failed)
        return "out of memory; ask again";
    if (w != NULL && w->max_body != 0 && body_n > w->max_body)
        return "the payload is larger than its pool allows";
    return n > TASK_BODY_MAX ? "the call is too large" : NULL;
}

const char *submit_unfit(struct tasking *t, const struct task_way *w, const struct task_body *b,
                         struct slice *bytes, enum api_problem *p, struct body_error *e)
{
    const char *why = kind_wrong(w, b);
    size_t body_n = b->payload.n;

    *p = API_BAD_REQUEST;
    *bytes = b->payload;
    if (why != NULL)
        return why;
    if ((b->has & WITH(DELAY)) != 0 && (b->has & WITH(AT)) != 0)
        return "delay and at exclude each other";
    if (!task_body_keeps_or_drops(b))
        return "result must be \"keep\" or \"drop\"";
    buf_reset(&t->form);
    if ((b->has & CALL_MEMBERS) != 0) {
        if (!callback_of_body(&t->form, b, &body_n, e))
            return e->text;
        *bytes = (struct slice){ (char *)t->form.data, t->form.len };
    }
    return submit_size_wrong(t, w, body_n, bytes->n, p);
}

const char *submit_cost(const struct task_way *w, const struct tenant *tenant, struct task_body *b,
                        struct slice bytes, enum api_problem *p)
{
    const char *why = bytes.p != b->payload.p ? call_cost_of_form(w, tenant, bytes, &b->cost) : NULL;

    if (why != NULL)
        *p = tenant_bears(tenant, b->cost) ? API_BAD_REQUEST : API_NOT_ELIGIBLE;
    return why;
}
