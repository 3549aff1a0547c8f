/* schedule_text.c: see schedule_text.h. */
#include "queuemng/admin/schedule_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/submit/submission.h"
#include "common/wire/codec.h"

#define MEMBERS_MOST 32

/* ---- members of a text ------------------------------------------------------------- */

struct member { /* borrowed; value: its JSON */
    struct slice name, value;
};

struct members {
    struct member v[MEMBERS_MOST];
    unsigned n;
};

/* NULL, or why the text is none of an object. Reading decodes names in their place. */
static const char *split(struct members *out, struct slice text)
{
    struct json_scan s;
    struct member m;
    bool first = true;

    out->n = 0;
    json_scan_init(&s, text);
    if (json_scan_peek(&s) != '{' || !json_scan_enter(&s, '{'))
        return "the body must be a JSON object";
    while (json_scan_member(&s, &first, &m.name) && json_scan_value(&s, &m.value)) {
        if (out->n == MEMBERS_MOST)
            return "the body has too many members";
        out->v[out->n++] = m;
    }
    return json_scan_ends(&s) ? NULL : s.why != NULL ? s.why : "the body must be one JSON object";
}

static const struct member *find(const struct members *in, struct slice name)
{
    for (unsigned i = 0; i < in->n; i++)
        if (in->v[i].name.n == name.n && memcmp(in->v[i].name.p, name.p, name.n) == 0)
            return &in->v[i];
    return NULL;
}

static void add_member(struct buf *out, const struct member *m)
{
    if (slice_is(m->value, "null"))
        return;
    buf_str(out, out->len > 1 ? ",\"" : "\"");
    buf_append(out, m->name.p, m->name.n);
    buf_str(out, "\":");
    buf_append(out, m->value.p, m->value.n);
}

/* The old text with the members of the patch in place of its own; null takes one away. */
static void merge(struct buf *out, const struct members *old, const struct members *patch)
{
    buf_str(out, "{");
    for (unsigned i = 0; i < old->n; i++) {
        const struct member *m = find(patch, old->v[i].name);

        add_member(out, m != NULL ? m : &old->v[i]);
    }
    for (unsigned i = 0; i < patch->n; i++)
        if (find(old, patch->v[i].name) == NULL)
            add_member(out, &patch->v[i]);
    buf_str(out, "}");
}

/* ---- as JSON ------------------------------------------------------------------------ */

static json_t *value_json(struct slice raw)
{
    json_t *j = json_loadb(raw.p, raw.n, JSON_DECODE_ANY, NULL);

    return j != NULL ? j : json_loadb(raw.p, raw.n, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
}

/* The log of changes is for everybody: not what is submitted. */
static json_t *shown(const struct member *m)
{
    if (m == NULL)
        return json_null();
    if (!slice_is(m->name, "task"))
        return value_json(m->value);
    return json_sprintf("%zu bytes (%06llx)", m->value.n,
                        (unsigned long long)(submit_digest(m->value, false) & 0xffffff));
}

static void add_change(json_t *list, const struct member *from, const struct member *to)
{
    struct slice name = from != NULL ? from->name : to->name;

    if (from != NULL && to != NULL && from->value.n == to->value.n && memcmp(from->value.p, to->value.p, to->value.n) == 0)
        return;
    (void)json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "key", json_stringn(name.p, name.n), "from",
                                                shown(from), "to", shown(to)));
}

/* In memory of its own, which the members borrow. NULL: it is none. */
static char *members_of(struct members *out, const struct schedule_row *row)
{
    char *copy = row != NULL && row->text.n > 0 ? malloc(row->text.n) : NULL;

    out->n = 0;
    if (copy != NULL && split(out, (struct slice){ memcpy(copy, row->text.p, row->text.n), row->text.n }) != NULL)
        out->n = 0;
    return copy;
}

json_t *schedule_changes(const struct schedule_row *was, const struct schedule_row *is)
{
    struct members from, to;
    char *old = members_of(&from, was), *now = members_of(&to, is);
    json_t *list = json_array();

    for (unsigned i = 0; i < from.n; i++)
        add_change(list, &from.v[i], find(&to, from.v[i].name));
    for (unsigned i = 0; i < to.n; i++)
        if (find(&from, to.v[i].name) == NULL)
            add_change(list, NULL, &to.v[i]);
    free(old);
    free(now);
    return list;
}

json_t *schedule_definition(const struct schedule_row *row, bool all)
{
    json_t *j = json_object();
    struct members in;
    char *text = members_of(&in, row);

    for (unsigned i = 0; i < in.n; i++) {
        struct slice name = in.v[i].name;

        if (all || !slice_is(name, "task"))
            (void)json_object_setn_new(j, name.p, name.n, value_json(in.v[i].value));
    }
    free(text);
    return j;
}

void schedule_merge(struct buf *out, const struct schedule_row *row, struct slice patch)
{
    struct members old, given;
    char *text = members_of(&old, row);

    if (split(&given, patch) != NULL) /* schedule_patch_wrong() has seen to it */
        given.n = 0;
    merge(out, &old, &given);
    free(text);
}

const char *schedule_patch_wrong(struct slice patch, bool *only_paused)
{
    struct slice paused = { (char *)(uintptr_t)"paused", strlen("paused") };
    struct members in;
    struct buf copy; /* reading changes what is read */
    const char *why;

    buf_init(&copy);
    buf_append(&copy, patch.p, patch.n);
    why = copy.failed ? "out of memory" : split(&in, (struct slice){ (char *)copy.data, copy.len });
    for (unsigned i = 0; why == NULL && i < in.n; i++) {
        struct slice name = in.v[i].name;

        if (name.n == 0 || strspn(name.p, "abcdefghijklmnopqrstuvwxyz_") < name.n)
            why = "the body has an unknown member: members are cron, every, zone, task, jitter, overlap, catch_up, "
                  "catch_up_max, from, until, paused";
        else if (find(&in, name) != &in.v[i])
            why = "the body has a member twice";
    }
    *only_paused = why == NULL && in.n == 1 && find(&in, paused) != NULL;
    buf_fini(&copy);
    return why;
}

/* ---- a definition that is asked for -------------------------------------------------- */

struct asked {
    const struct schedule_place *at;
    struct buf scratch, form; /* owned */
    struct arena mem;
    struct schedule_refusal *no;
};

static int refuse(const struct asked *x, int status, const char *fmt, ...) SQ_PRINTF(3, 4);
static int refuse(const struct asked *x, int status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(x->no->text, sizeof(x->no->text), fmt, ap);
    va_end(ap);
    x->no->status = status;
    return SQ_EINVAL;
}

/* The units of its task, as its endpoint counts, and the bounds of its pool. */
static int bounds(const struct asked *x, struct task_body *b, struct slice bytes, size_t body_n)
{
    const struct schedule_place *at = x->at;
    const char *why = NULL;
    struct call k;

    if (bytes.p != b->payload.p && cost_has_rule(&at->cost) && call_unpack((const uint8_t *)bytes.p, bytes.n, &k) == 0)
        why = submit_units(&at->cost, (struct slice){ (char *)(uintptr_t)k.body.p, k.body.n }, k.body.n, &b->cost);
    if (why != NULL)
        return refuse(x, 400, "task: %s", why);
    if (at->max_body > 0 && body_n > (uint64_t)at->max_body)
        return refuse(x, 413, "task: its payload has %zu bytes: at most %lld (max_body of pool %s)", body_n,
                      (long long)at->max_body, at->pool);
    if (bytes.n > SCHEDULE_BODY_MAX)
        return refuse(x, 413, "task: what a schedule submits has at most 16 KiB");
    if (at->max_cost > 0 && b->cost > at->max_cost)
        return refuse(x, 400, "task: it has %lld units: at most %lld (max_cost of pool %s)", (long long)b->cost,
                      (long long)at->max_cost, at->pool);
    return 0;
}

static int pack_read(struct asked *x, struct slice text, struct buf *out)
{
    struct msg m = { .type = MSG_TASK_SCHEDULE };
    struct msg_task_schedule *k = &m.task_schedule;
    struct schedule_body b;
    struct body_error e;
    struct slice bytes;
    size_t body_n;
    const char *why;
    int rc;

    if (!schedule_body_read(&b, (struct slice){ (char *)x->scratch.data, x->scratch.len }, TICK_MEMBERS, &e))
        return refuse(x, e.too_large ? 413 : 400, "%s", e.text);
    why = submit_carries(&x->form, x->at->endpoint, &b.task, &bytes, &body_n, &e);
    if (why != NULL)
        return refuse(x, 400, "task: %s", why);
    rc = bounds(x, &b.task, bytes, body_n);
    if (rc < 0)
        return rc;
    *k = (struct msg_task_schedule){
        .verb = SCHEDULE_PUT, .queue = x->at->queue, .name = x->at->name,
        .cron = arena_strndup(&x->mem, b.cron.p, b.cron.n), .zone = arena_strndup(&x->mem, b.zone.p, b.zone.n),
        .put = submit_put(&x->mem, &b.task, bytes), .text = { (uint32_t)text.n, (const uint8_t *)text.p },
    };
    schedule_numbers(k, &b);
    k->put.digest = submit_digest(bytes, bytes.p != b.task.payload.p);
    if (x->mem.failed || x->form.failed || msg_encode(&m, out) < 0)
        return refuse(x, 503, "out of memory");
    return 0;
}

int schedule_pack(struct buf *out, const struct schedule_place *at, struct slice text, struct schedule_refusal *no)
{
    struct asked x = { .at = at, .no = no };
    int rc;

    if (text.n > SCHEDULE_TEXT_MAX)
        return refuse(&x, 413, "a definition has at most 20 KiB");
    buf_init(&x.scratch);
    buf_init(&x.form);
    arena_init(&x.mem);
    buf_append(&x.scratch, text.p, text.n); /* reading changes what is read */
    rc = x.scratch.failed ? refuse(&x, 503, "out of memory") : pack_read(&x, text, out);
    arena_fini(&x.mem);
    buf_fini(&x.form);
    buf_fini(&x.scratch);
    return rc;
}
