/* heard.c: see the header. */
#include "task/out/heard.h"

#include "common/task/call.h"
#include "task/out/out_call.h"

#define FIELD_ROOM 4 /* bytes beside a field's name and value: their lengths */

static void set_text(char *to, size_t cap, struct slice v)
{
    bool ok = v.n < cap;

    for (size_t i = 0; i < v.n; i++)
        ok &= v.p[i] >= ' ' && v.p[i] <= '~';
    memcpy(to, v.p, ok ? v.n : 0);
    to[ok ? v.n : 0] = 0;
}

static void on_field(struct call_answer *a, struct slice name, struct slice v)
{
#define SAYS(lit, member)                                                                \
    if (name.n == sizeof(lit) - 1 && http_ieq(name.p, lit, sizeof(lit) - 1))             \
    set_text(a->member, sizeof(a->member), v)

    SAYS("content-type", type);
    else SAYS("retry-after", retry_after);
    else SAYS("segq-command", command);
    else SAYS("webhook-delivery", delivery);
    else SAYS("upstash-nonretryable-error", upstash);
#undef SAYS
}

static bool is_passed_too(const struct out *o, struct slice name)
{
    const char *p = (const char *)o->pass.data, *end = p + o->pass.len;

    for (; p < end; p += strlen(p) + 1)
        if (strlen(p) == name.n && call_header_is(name.p, p, name.n))
            return true;
    return false;
}

static void keep_field(struct out_call *c, const struct http_answer *a, struct slice name,
                       struct slice v)
{
    struct call_span n = { name.p, name.n }, value = { v.p, v.n };

    if ((!reply_field_kept(name.p, name.n) && !is_passed_too(c->target->out, name)) || http_connection_names(a->fields, name))
        return;
    if (c->fields.len + FIELD_ROOM + name.n + v.n > REPLY_FIELDS_MAX ||
        call_header_wrong(name.p, name.n, v.p, v.n) != NULL)
        c->answer.fields_cut = true;
    else
        call_pack_header(&c->fields, n, value);
}

void heard_head(struct out_call *c, const struct http_answer *a)
{
    struct slice rest = a->fields, name, value;

    c->answer = (struct call_answer){ .status = a->status };
    buf_reset(&c->fields); /* fields of a head before it */
    while (http_next_field(&rest, &name, &value)) {
        on_field(&c->answer, name, value);
        keep_field(c, a, name, value);
    }
    if (c->fields.failed) { /* an answer without them is better than none */
        buf_reset(&c->fields);
        c->answer.fields_cut = true;
    }
    c->answer.fields = (struct call_span){ (const char *)c->fields.data, c->fields.len };
}

/* Bytes of an answer that is longer than is kept. */
static void hear_more(struct out_call *c, const uint8_t *p, size_t n)
{
    crypto_hash_sha256_update(&c->hash, p, n);
    if (c->long_one != NULL)
        c->long_one(c->arg, p, n);
}

bool heard_body(struct out_call *c, const void *p, size_t n)
{
    struct call_answer *a = &c->answer;
    size_t kept;

    if (n > OUT_BODY_MAX - a->length) {
        n = OUT_BODY_MAX - a->length;
        c->cut = a->goes_on = true;
    }
    kept = u64_min(n, c->keep - c->got.len);
    buf_append(&c->got, p, kept);
    if (n > kept && !c->got.failed) {
        if (a->length == c->got.len - kept) { /* the first that is more than is kept */
            crypto_hash_sha256_init(&c->hash);
            hear_more(c, c->got.data, c->got.len);
        }
        hear_more(c, (const uint8_t *)p + kept, n - kept);
    }
    a->length += n;
    return !c->cut && !c->got.failed;
}

void heard_all(struct out_call *c)
{
    if (c->answer.length > c->got.len && !c->got.failed)
        crypto_hash_sha256_final(&c->hash, c->answer.sha256);
    out_call_ends(c, c->got.failed ? CALL_LOCAL : CALL_NONE, "no memory");
}
