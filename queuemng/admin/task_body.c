/* task_body.c: bytes as text where they are text. */
#include "queuemng/admin/task_body.h"

#include <sodium.h>
#include <string.h>

#include "common/json/json_scan.h"
#include "common/task/call.h"
#include "common/task/payload.h"
#include "queuemng/admin/task_export.h"

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
