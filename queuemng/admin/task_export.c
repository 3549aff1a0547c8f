/* task_export.c: what routers made of a submission, as a submission. A payload stands as the bytes that it
 * is: another text of the same value would be another payload to the routers. */
#include "queuemng/admin/task_export.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"
#include "common/task/payload.h"
#include "common/ticket/task_token.h"
#include "common/wire/codec.h"
#include "queuemng/admin/task_json.h"

/* Appends ,"name":text in front of the brace at the end. */
static void splice(struct buf *b, const char *name, const void *text, size_t n)
{
    b->len--;
    buf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", name);
    buf_append(b, text, n);
    buf_byte(b, '}');
}

static void set(json_t *o, const char *name, json_t *value)
{
    (void)json_object_set_new(o, name, value);
}

/* "1500ms" */
static json_t *span(uint64_t ms)
{
    return json_sprintf("%llums", (unsigned long long)ms);
}

static void set_retry(json_t *o, const struct task_own *w)
{
    json_t *r = json_object();

    if (w->retry_min_ms != 0)
        set(r, "min", span(w->retry_min_ms - 1));
    if (w->retry_max_ms != 0)
        set(r, "max", span(w->retry_max_ms - 1));
    if (w->retry_doublings != 0)
        set(r, "doublings", json_integer((json_int_t)w->retry_doublings - 1));
    if (w->retry_jitter != 0)
        set(r, "jitter", json_integer((json_int_t)w->retry_jitter - 1));
    if (json_object_size(r) > 0)
        set(o, "retry", r);
    else
        json_decref(r);
}

static void set_own(json_t *o, const struct task_own *w)
{
    if (w->ttl_ms != 0)
        set(o, "ttl", span(w->ttl_ms - 1));
    if (w->max_attempts != 0)
        set(o, "max_attempts", json_integer((json_int_t)w->max_attempts - 1));
    set_retry(o, w);
    if (w->max_result == 1)
        set(o, "result", json_string("drop"));
    if (w->cost != 0)
        set(o, "cost", json_integer((json_int_t)w->cost - 1));
    if (w->labels != NULL && w->labels[0] != '\0')
        set(o, "labels", task_list_json(w->labels, strlen(w->labels)));
}

void task_head_json(json_t *o, const struct call *c)
{
    struct call_span rest = c->headers, name, value;
    json_t *fields = json_object();

    set(o, "path", json_stringn(c->path.p, c->path.n));
    set(o, "method", json_stringn(c->method.p, c->method.n));
    while (call_header_next(&rest, &name, &value))
        (void)json_object_setn_new(fields, name.p, name.n, json_stringn(value.p, value.n));
    if (json_object_size(fields) > 0)
        set(o, "headers", fields);
    else
        json_decref(fields);
}

json_t *task_base64_json(struct call_span body)
{
    size_t room = sodium_base64_ENCODED_LEN(body.n, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(room);
    json_t *j = text != NULL ? json_string(sodium_bin2base64(text, room, (const uint8_t *)body.p, body.n,
                                                             sodium_base64_VARIANT_ORIGINAL))
                             : NULL;

    free(text);
    return j;
}

static const char *put_then(struct buf *out, const struct bytes_of *then, unsigned depth);

/* Appends the submission that *r is. rest: what *r has no member for; taken. NULL, or why it cannot be. */
static const char *put(struct buf *out, const struct task_put *r, json_t *rest, bool is_call, unsigned depth)
{
    bool holes = (r->chain & CHAIN_HOLES) != 0;
    struct payload payload = is_call ? (struct payload){ .typed = false } : payload_of(r->body.p, r->body.n);
    struct call c = { .file = { .length = 0 } };
    const char *why = NULL;
    char *text;

    if (is_call && call_unpack(r->body.p, r->body.n, &c) < 0)
        why = "its request is kept in a form that has no text";
    else if (c.file.length > 0)
        why = "its request has a body in a file of its own, which is not carried";
    if (is_call && why == NULL)
        task_head_json(rest, &c);
    if (is_call && why == NULL && !holes && c.body.n > 0)
        set(rest, "body_base64", task_base64_json(c.body));
    if (payload.typed) {
        set(rest, "payload_base64", task_base64_json(payload.bytes));
        set(rest, "content_type", json_stringn(payload.type.p, payload.type.n));
    }
    if (r->key1[0] != '\0')
        set(rest, "key", json_sprintf("%s%s%s", r->key1, r->key2[0] != '\0' ? "/" : "", r->key2));
    if (r->priority != 0)
        set(rest, "priority", json_integer(r->priority));
    if (r->order != 0)
        set(rest, "order", json_integer(r->order));
    if (r->delay_ms != 0)
        set(rest, "delay", span((uint64_t)r->delay_ms));
    if (r->at_ms != 0)
        set(rest, "at", json_real((double)r->at_ms / 1000));
    if (r->group != NULL && r->group[0] != '\0')
        set(rest, "group", json_string(r->group));
    if (r->offer.n > 0)
        set(rest, "offer_to", task_list_json((const char *)r->offer.p, r->offer.n));
    set_own(rest, &r->own);
    text = json_dumps(rest, JSON_COMPACT | JSON_REAL_PRECISION(16));
    json_decref(rest);
    buf_str(out, text != NULL ? text : "{}");
    out->failed |= text == NULL;
    free(text);
    if (!is_call && !payload.typed && r->body.n > 0)
        splice(out, "payload", r->body.p, r->body.n);
    else if (is_call && holes && why == NULL)
        splice(out, "body_json", c.body.p, c.body.n);
    return why == NULL && r->then.n > 0 ? put_then(out, &r->then, depth + 1) : why;
}

static const char *put_then(struct buf *out, const struct bytes_of *then, unsigned depth)
{
    const char *why = "what is behind it cannot be read";
    struct arena mem;
    struct buf text;
    struct msg m;

    arena_init(&mem);
    buf_init(&text);
    if (depth <= CHAIN_DEPTH && msg_decode(MSG_TASK_PUT, then->p, then->n, &mem, &m) == 0 && m.task_put.n == 1) {
        const struct task_put *r = &m.task_put.v[0];

        why = put(&text, r, json_pack("{s:s}", "queue", r->queue), (r->chain & CHAIN_CALL) != 0, depth);
    }
    if (why == NULL)
        splice(out, "then", text.data, text.len);
    out->failed |= text.failed;
    buf_fini(&text);
    arena_fini(&mem);
    return why;
}

/* "moved-7-16777216-9f86d081884c7d65": the same in each export, and another one in each cluster, since
 * tokens are. */
static json_t *key_of(const char *id, part_no part, task_no no, const struct token_key *k)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    char token[TASK_TOKEN_LEN], hex[2 * 8 + 1];

    _Static_assert(sizeof(hash) >= 8, "of which 8 bytes are said");
    task_token_write(part, no, k, token);
    (void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)token, sizeof(token), NULL, 0);
    sodium_bin2hex(hex, sizeof(hex), hash, 8);
    return json_sprintf("moved-%s-%s", id, hex);
}

json_t *task_export_json(const struct msg_task_get_ans *m, const struct export_row *x,
                         const struct mng_part_view *p, const struct token_key *k)
{
    bool later = m->state == TASK_SCHEDULED || m->state == TASK_RETRYING;
    struct task_put r = { .queue = m->queue, .key1 = m->key1, .key2 = m->key2, .priority = m->priority,
                          .order = m->order, .at_ms = later ? m->until_ms : 0, .own = m->own, .body = x->body,
                          .then = x->then, .group = x->group, .offer = m->offer };
    const char *why = "its payload cannot be read now";
    struct buf text;
    char id[40];
    json_t *j;

    snprintf(id, sizeof(id), "%u-%llu", p->st.part, (unsigned long long)m->no);
    if (x->attempts_left != 0)
        r.own.max_attempts = x->attempts_left + 1;
    buf_init(&text);
    if ((x->lacks & EXPORT_UNREAD) == 0)
        why = put(&text, &r, json_pack("{s:o}", "idempotency_key", key_of(id, p->st.part, m->no, k)),
                  p->endpoint[0] != '\0', 0);
    j = text.failed ? NULL
                    : json_pack("{s:s,s:s,s:s,s:i,s:f,s:I,s:b,s:o}", "id", id, "queue", m->queue, "state",
                                task_state_word((enum task_state)m->state), "attempts", (int)m->attempts,
                                "entered_at", (double)m->entered_ms / 1000, "place", (json_int_t)x->place,
                                "named", (x->lacks & EXPORT_NAMED) != 0, "submit",
                                why == NULL ? json_stringn((const char *)text.data, text.len) : json_null());
    if (j != NULL && why != NULL)
        set(j, "why", json_string(why));
    buf_fini(&text);
    return j;
}
