/* task_body.c: bytes as text where they are text. */
#include "queuemng/admin/task_body.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json_scan.h"
#include "common/task/call.h"
#include "common/ticket/token.h"
#include "common/wire/codec.h"
#include "queuemng/admin/task_json.h"

/* ---- export: what routers made of a submission, as a submission ---- */

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

static void task_head_json(json_t *o, const struct call *c)
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

/* Sets method, path and headers of a call, as a submission has them. */
static json_t *task_base64_json(struct call_span body)
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

/* ---- payloads and results ---- */

#define JSON_TYPE "application/json"

/* ---- what is shown ------------------------------------------------------------------ */

static bool is_printed(struct call_span b)
{
    for (size_t i = 0; i < b.n; i++) {
        unsigned char ch = (unsigned char)b.p[i];

        if (ch == 0x7f || (ch < 0x20 && ch != '\t' && ch != '\n' && ch != '\r'))
            return false;
    }
    return true;
}

/* NULL: it is no text. A character that is cut in two at the end is left out. */
static json_t *text(struct call_span b, bool cut)
{
    json_t *j = is_printed(b) ? json_stringn(b.p, b.n) : NULL;

    for (unsigned i = 1; j == NULL && cut && i < 4 && i < b.n && is_printed(b); i++)
        j = json_stringn(b.p, b.n - i);
    return j;
}

/* length: of all of them, of which `b` are here. */
static json_t *bytes_json(struct call_span b, uint64_t length, struct call_span type, size_t most)
{
    struct call_span shown = { b.p, b.n < most ? b.n : most };
    json_t *data = text(shown, shown.n < length), *kind = json_stringn(type.p, type.n);
    bool is_text = data != NULL;

    if (!is_text)
        data = task_base64_json(shown);
    if (kind == NULL) /* a header field of any bytes */
        kind = json_string("");
    return json_pack("{s:I,s:o,s:s,s:o,s:b}", "length", (json_int_t)length, "content_type", kind, "encoding",
                     is_text ? "text" : "base64", "data", data, "truncated", shown.n < length);
}

static struct call_span span_of(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static struct call_span type_of_call(const struct call *c)
{
    struct call_span rest = c->headers, name, value;

    while (call_header_next(&rest, &name, &value))
        if (name.n == strlen("content-type") && call_header_is(name.p, "content-type", name.n))
            return value;
    return span_of("");
}

static void set_call(json_t *j, const struct bytes_of *form, size_t most)
{
    json_t *head = json_object();
    struct call c;

    if (call_unpack(form->p, form->n, &c) < 0) {
        json_decref(head);
        return;
    }
    task_head_json(head, &c);
    (void)json_object_set_new(j, "request", head);
    (void)json_object_set_new(j, "payload", bytes_json(c.body, c.file.length > 0 ? c.file.length : c.body.n,
                                                       type_of_call(&c), most));
}

static void set_payload(json_t *j, const struct export_row *x, bool is_call, size_t most)
{
    struct payload b = payload_of(x->body.p, x->body.n);

    if (x->body.n == 0)
        return;
    if (is_call)
        set_call(j, &x->body, most);
    else
        (void)json_object_set_new(j, "payload", bytes_json(b.bytes, b.bytes.n, b.typed ? b.type : span_of(JSON_TYPE),
                                                           most));
}

json_t *task_body_json(const struct msg_task_get_ans *m, const struct export_row *x,
                       const struct mng_part_view *p, size_t most)
{
    json_t *j = json_pack("{s:o,s:s,s:s,s:n,s:n}", "id",
                          json_sprintf("%u-%llu", p->st.part, (unsigned long long)m->no), "queue", m->queue,
                          "state", task_state_word((enum task_state)m->state), "payload", "result");

    if (j == NULL)
        return NULL;
    set_payload(j, x, p->endpoint != NULL && p->endpoint[0] != '\0', most);
    if ((x->lacks & EXPORT_UNREAD) != 0)
        (void)json_object_set_new(j, "why", json_string("its payload cannot be read now"));
    if (m->result_length > 0 || m->content_type[0] != '\0')
        (void)json_object_set_new(
            j, "result", bytes_json((struct call_span){ (const char *)m->result.p, m->result.n }, m->result_length,
                                    span_of(m->content_type[0] != '\0' ? m->content_type : JSON_TYPE), most));
    if (m->status != 0)
        (void)json_object_set_new(j, "status", json_integer((json_int_t)m->status));
    return j;
}

/* ---- what is given ------------------------------------------------------------------- */

struct given {
    struct slice payload, base64, type; /* p NULL: not there */
    const char *why;
    bool none; /* the object is empty */
};

static bool is_name(struct slice s, const char *name)
{
    return s.n == strlen(name) && memcmp(s.p, name, s.n) == 0;
}

/* False: `why` is set. Decodes in place. */
static bool read_members(struct given *g, struct slice doc)
{
    struct json_scan s;
    struct slice name;
    bool first = true, ok;

    json_scan_init(&s, doc);
    ok = json_scan_enter(&s, '{');
    while (ok && json_scan_member(&s, &first, &name)) {
        struct slice *to = is_name(name, "payload")          ? &g->payload
                           : is_name(name, "payload_base64") ? &g->base64
                           : is_name(name, "content_type")   ? &g->type
                                                             : NULL;

        if (to == NULL || to->p != NULL)
            g->why = "members are payload, or payload_base64 and content_type, each once";
        ok = g->why == NULL && (to == &g->payload ? json_scan_value(&s, to) : json_scan_text(&s, to));
    }
    if (g->why == NULL && !json_scan_ends(&s))
        g->why = s.why != NULL ? s.why : "it is no JSON";
    g->none = g->why == NULL && first;
    if (g->why == NULL && !g->none && (g->payload.p != NULL) == (g->base64.p != NULL))
        g->why = "either payload or payload_base64 is needed";
    if (g->why == NULL && g->type.p != NULL && (g->base64.p == NULL || !payload_type_ok(g->type.p, g->type.n)))
        g->why = "content_type is the type of payload_base64, like image/png";
    return g->why == NULL;
}

/* Base64 becomes the bytes that it means, in its place. */
static bool decode(struct given *g)
{
    size_t n;

    if (sodium_base642bin((unsigned char *)g->base64.p, g->base64.n, g->base64.p, g->base64.n, NULL, &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        g->why = "payload_base64 is no base64";
        return false;
    }
    g->base64.n = n;
    return true;
}

/* A type of JSON is that of no type: it must be some. */
static bool is_json(struct given *g)
{
    if (!is_name(g->type, JSON_TYPE))
        return false;
    if (!json_scan_is_whole(g->base64))
        g->why = "the payload is no JSON, as its content_type says";
    return true;
}

bool task_payload_read(struct admin_call *c, struct task_ask *q, struct buf *room)
{
    struct given g = { .why = NULL };
    struct slice doc;

    buf_append(room, c->q->body, c->q->body_len);
    if (room->failed) {
        admin_problem(c->a, 503, "queue_unavailable", "out of memory");
        return false;
    }
    doc = (struct slice){ (char *)room->data, room->len };
    if (read_members(&g, doc) && g.base64.p != NULL && decode(&g))
        q->typed = !is_json(&g);
    if (g.why != NULL) {
        admin_problem(c->a, 400, "bad_request", "the body of a redrive: %s", g.why);
        return false;
    }
    if (g.none) /* clients that always send an object are from before a redrive had a body */
        q->verb = DO_REDRIVE;
    q->bytes = g.base64.p != NULL ? g.base64 : g.payload;
    q->type = g.type.p != NULL ? g.type : (struct slice){ (char *)(uintptr_t)"", 0 };
    return true;
}

const char *task_body_call(struct buf *out, const struct bytes_of *old, struct bytes_of bytes)
{
    struct call_span rest, name, value;
    struct call c;

    if (old->n == 0)
        return "its request is not kept any more";
    if (call_unpack(old->p, old->n, &c) < 0)
        return "its request is kept in a form that cannot be read";
    call_pack_begin(out, c.method, c.path);
    rest = c.headers;
    while (call_header_next(&rest, &name, &value))
        call_pack_header(out, name, value);
    call_pack_body(out, (struct call_span){ (const char *)bytes.p, bytes.n });
    return NULL;
}
