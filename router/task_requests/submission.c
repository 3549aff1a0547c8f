/* submission.c: see submission.h. */
#include "router/task_requests/submission.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/json/json_point.h"
#include "common/task/call.h"
#include "common/task/payload.h"
#include "common/wire/codec.h"
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
    if ((b->has & WITH(PAYLOAD_BASE64)) != 0 && w != NULL && w->endpoint[0] != '\0')
        return "payload_base64 is for workers; the tasks of this queue are calls to its endpoint: body_base64";
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
        return w->body_says;
    _Static_assert(TASK_BODY_MAX == 524288, "as the text says");
    return n > TASK_BODY_MAX ? "what is submitted here has at most 524288 bytes, a call with its path and headers; a "
                               "larger body goes by /v1/call with Prefer: respond-async, up to max_body of its pool"
                             : NULL;
}

/* NULL: b->payload is in its form. */
static const char *pack_bytes(struct tasking *t, struct task_body *b, size_t *body_n)
{
    int64_t n = b->raw ? (int64_t)b->payload_base64.n : callback_base64(b->payload_base64);

    if (n < 0)
        return "payload_base64 must be base64, with padding";
    if ((b->has & (WITH(PAYLOAD) | CALL_MEMBERS)) != 0)
        return "payload, payload_base64, and a call (path, method, headers, body), exclude each other";
    payload_pack(&t->form, (struct call_span){ b->content_type.p, b->content_type.n },
                 (struct call_span){ b->payload_base64.p, (size_t)n });
    b->payload = (struct slice){ (char *)t->form.data, t->form.len };
    *body_n = (size_t)n;
    return NULL;
}

const char *submit_unfit(struct tasking *t, const struct task_way *w, struct task_body *b,
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
    if ((b->has & WITH(CONTENT_TYPE)) != 0 && (b->has & WITH(PAYLOAD_BASE64)) == 0)
        return "content_type is for payload_base64: a payload is JSON";
    buf_reset(&t->form);
    if ((b->has & WITH(PAYLOAD_BASE64)) != 0) {
        why = pack_bytes(t, b, &body_n);
        if (why != NULL)
            return why;
        *bytes = b->payload;
    } else if ((b->has & CALL_MEMBERS) != 0) {
        if (!callback_of_body(&t->form, b, &body_n, e))
            return e->text;
        *bytes = (struct slice){ (char *)t->form.data, t->form.len };
    }
    return submit_size_wrong(t, w, body_n, bytes->n, p);
}

const char *submit_cost(const struct task_way *w, const struct tenant *tenant, struct task_body *b,
                        struct slice bytes, enum api_problem *p)
{
    const char *why = bytes.p != b->payload.p ? call_cost_of_form(w, tenant, bytes, &b->cost)
                                              : call_cost_beyond(w, b->cost);

    if (why != NULL)
        *p = tenant_bears(tenant, b->cost) ? API_BAD_REQUEST : API_NOT_ELIGIBLE;
    return why;
}

/* ---- tasks behind it: from the innermost outwards, each has the bytes of those behind it ---- */

/* A name would be taken by the time, a moment over, a group sealed. */
#define MEMBERS                                                                          \
    ((SUBMIT_MEMBERS & ~(WITH(NAME) | WITH(IDEMPOTENCY_KEY) | WITH(UNIQUE) | WITH(AT) | WITH(GROUP))) | WITH(QUEUE))
#define TOO_DEEP "then: at most 8 tasks stand one behind the other behind a task"
#define TOO_LONG "then: what stands behind a task has at most 32 KiB together"

struct packing {
    const struct chain_ask *ask;
    enum api_problem problem;
    struct body_error *e;
};

/* The sentence, with the member in front that it is within. */
static const char *within(struct body_error *e, const char *why)
{
    char text[sizeof(e->text)];

    if (strncmp(why, "then: ", 6) == 0)
        return why;
    snprintf(text, sizeof(text), "then: %s", why);
    memcpy(e->text, text, sizeof(text));
    return e->text;
}

static const char *refuse(struct packing *k, enum api_problem p, const char *why)
{
    k->problem = p;
    return within(k->e, why);
}

/* NULL: its queue is one, in a pool, and the token's. */
static const char *queue_wrong(struct packing *k, const struct task_body *b, const struct task_way **w)
{
    const struct pools *pools = &k->ask->t->pools;

    if (b->queue.n == 0)
        return refuse(k, API_BAD_REQUEST, "queue is missing: that of the next task");
    if (!queue_name_ok(b->queue.p, b->queue.n))
        return refuse(k, API_BAD_REQUEST, "queue must be a queue's name");
    if (!queues_match(k->ask->opens.p, k->ask->opens.n, b->queue.p, b->queue.n))
        return refuse(k, API_NOT_ELIGIBLE, "this server's token may not submit in the queue of a next "
                                           "task: see its line in task_tokens");
    *w = pools_of_queue(pools, b->queue.p, b->queue.n);
    if (*w == NULL)
        return refuse(k, pools->known ? task_put_outcome(CODE_UNKNOWN).problem : API_QUEUE_UNAVAILABLE,
                      pools->known ? "no pool matches the queue" : "pools are not known yet; ask again");
    return NULL;
}

/* Appends it as it will be submitted. bytes: what it carries; then: what is behind it. */
static const char *put(struct packing *k, const struct task_body *b, const struct task_way *w,
                       struct slice bytes, const struct buf *then, bool holes, struct buf *out)
{
    const char *slash = b->key.n > 0 ? memchr(b->key.p, '/', b->key.n) : NULL;
    size_t first = slash != NULL ? (size_t)(slash - b->key.p) : b->key.n;
    struct arena mem;
    struct task_put row;
    struct msg m = { .type = MSG_TASK_PUT, .task_put = { 1, &row } };
    int rc;

    arena_init(&mem);
    row = (struct task_put){
        .part = w->part, .queue = arena_strndup(&mem, b->queue.p, b->queue.n),
        .key1 = arena_strndup(&mem, b->key.p, first),
        .key2 = slash != NULL ? arena_strndup(&mem, slash + 1, b->key.n - first - 1) : "",
        .name = "", .group = "", .priority = (uint8_t)b->priority, .order = b->order, .delay_ms = b->delay,
        .own = task_body_own(b, arena_strndup(&mem, b->labels.p, b->labels.n)),
        .body = { (uint32_t)bytes.n, (const uint8_t *)bytes.p },
        .then = { (uint32_t)then->len, then->data },
        .chain = (uint8_t)((bytes.p != b->payload.p ? CHAIN_CALL : 0) | (holes ? CHAIN_HOLES : 0)),
    };
    rc = mem.failed ? SQ_ENOMEM : msg_encode(&m, out);
    arena_fini(&mem);
    if (rc == SQ_ENOMEM || out->failed)
        return refuse(k, API_QUEUE_UNAVAILABLE, "out of memory; ask again");
    return rc < 0 || out->len > CHAIN_MAX ? refuse(k, API_PAYLOAD_TOO_LARGE, TOO_LONG) : NULL;
}

static const char *pack(struct packing *k, const struct task_body *before, unsigned depth, struct buf *out);

/* Packs what has been read; `then`: room for what is behind it. */
static const char *pack_read(struct packing *k, struct task_body *b, bool keeps, unsigned depth,
                             struct buf *then, struct buf *out)
{
    struct slice bytes, form = (b->has & WITH(BODY_JSON)) != 0 ? b->body_json : b->payload;
    const struct task_way *w;
    struct tenant_texts texts;
    const char *why = queue_wrong(k, b, &w), *wrong = NULL;
    enum api_problem p;
    int holes;

    if (why != NULL)
        return why;
    why = tenant_bind(k->ask->tenant, b, &texts);
    if (why != NULL)
        return refuse(k, API_NOT_ELIGIBLE, why);
    holes = form.n > 0 ? json_holes(form, &wrong) : 0;
    if (holes < 0)
        return refuse(k, API_BAD_REQUEST, wrong);
    if (holes > 0 && !keeps)
        return refuse(k, API_BAD_REQUEST, "$result needs a result, and result is \"drop\"");
    why = (b->has & WITH(THEN)) != 0 ? pack(k, b, depth + 1, then) : NULL;
    if (why != NULL)
        return why;
    why = submit_unfit(k->ask->t, w, b, &bytes, &p, k->e);
    if (why == NULL) /* before its holes are filled */
        why = submit_cost(w, k->ask->tenant, b, bytes, &p);
    return why != NULL ? refuse(k, p, why) : put(k, b, w, bytes, then, holes > 0, out);
}

/* Packs what is behind `before`. */
static const char *pack(struct packing *k, const struct task_body *before, unsigned depth, struct buf *out)
{
    bool keeps = !slice_is(before->result, "\"drop\"");
    struct task_body b;
    struct buf then;
    const char *why;

    if (depth > CHAIN_DEPTH)
        return refuse(k, API_BAD_REQUEST, TOO_DEEP);
    if (!task_body_whole(&b, before->then, MEMBERS, k->e))
        return refuse(k, k->e->too_large ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, k->e->text);
    buf_init(&then);
    why = pack_read(k, &b, keeps, depth, &then, out);
    buf_fini(&then);
    return why;
}

const char *chain_pack(const struct chain_ask *a, const struct task_body *b, enum api_problem *p,
                       struct body_error *e)
{
    struct packing k = { a, API_BAD_REQUEST, e };
    const char *why;

    buf_reset(&a->t->then);
    if ((b->has & WITH(THEN)) == 0)
        return NULL;
    why = pack(&k, b, 1, &a->t->then);
    *p = k.problem;
    return why;
}
