/* submission.c: see submission.h. */
#include "router/task_requests/submission.h"

#include <stdio.h>
#include <string.h>

#include "common/json/json_point.h"
#include "common/task/call.h"
#include "common/wire/codec.h"
#include "router/task_api/request_body.h"

/* Most submissions have no name, group or labels: nothing is copied for these. */
static const char *text_of(struct task_call *c, struct slice text)
{
    return text.n > 0 ? call_text(c, text) : "";
}

static struct bytes_of bytes_of(struct task_call *c, struct slice bytes)
{
    return bytes_in(bytes.n > 0 ? call_bytes(c, bytes) : bytes);
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
        .body = bytes_in(payload),
        .unique = bytes_of(c, b->unique.key),
        .offer = bytes_of(c, b->offer_to),
        .unique_while = (uint8_t)b->unique.lasts,
        .on_conflict = (uint8_t)b->unique.on_conflict,
    };

    put_key(c, &put, b->key);
    return put;
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

const char *submit_unfit(struct tasking *t, const struct task_way *w, struct task_body *b,
                         struct slice *bytes, enum api_problem *p, struct body_error *e)
{
    size_t body_n;
    const char *why = submit_carries(&t->form, w != NULL ? w->endpoint : NULL, b, bytes, &body_n, e);

    *p = API_BAD_REQUEST;
    return why != NULL ? why : submit_size_wrong(t, w, body_n, bytes->n, p);
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

/* ---- further queues ---------------------------------------------------------------------- */

const char *offer_wrong(const struct offer_ask *a, struct slice to, enum api_problem *p)
{
    const struct task_way *w = a->way;
    struct slice one;

    *p = API_BAD_REQUEST;
    if (w != NULL && w->of > 1)
        return "offer_to: a task is in one partition, and the queues of this pool are in several; their pool needs "
               "partitions: 1";
    while (w != NULL && http_item_next(&to, &one)) {
        if (!queues_match(a->opens.p, a->opens.n, one.p, one.n)) {
            *p = API_NOT_ELIGIBLE;
            return "this server's token may not submit in a queue of offer_to: see its line in task_tokens";
        }
        if (pools_of_queue(&a->t->pools, one.p, one.n) != w)
            return "offer_to: its queues must be of the same pool as the task's own";
        if (one.n == a->queue.n && memcmp(one.p, a->queue.p, one.n) == 0)
            return "offer_to: the task's own queue is not one of the others";
    }
    return NULL;
}

/* ---- tasks behind it: from the innermost outwards, each has the bytes of those behind it ---- */

/* A name would be taken by the time, a moment over, a group sealed. */
#define MEMBERS                                                                          \
    ((SUBMIT_MEMBERS & ~(WITH(NAME) | WITH(IDEMPOTENCY_KEY) | WITH(UNIQUE) | WITH(AT) | WITH(GROUP) | WITH(OFFER_TO))) | \
     WITH(QUEUE))
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
    struct arena mem;
    struct task_put row;
    struct msg m = { .type = MSG_TASK_PUT, .task_put = { 1, &row } };
    int rc;

    arena_init(&mem);
    row = submit_put(&mem, b, bytes);
    row.part = w->part;
    row.queue = arena_strndup(&mem, b->queue.p, b->queue.n);
    row.then = (struct bytes_of){ (uint32_t)then->len, then->data };
    row.chain = (uint8_t)((bytes.p != b->payload.p ? CHAIN_CALL : 0) | (holes ? CHAIN_HOLES : 0));
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
