/* own.c: a text of labels, and numbers of which 0 says nothing. */
#include "common/task/own.h"

#include <string.h>

#include "common/base/buf.h"

static const char *text_of(const struct task_own *o)
{
    return o->labels != NULL ? o->labels : "";
}

bool own_is_none(const struct task_own *o)
{
    uint64_t any = 0;
#define X(m, least, most) any |= o->m;
    TASK_OWN(X)
#undef X
    return any == 0 && text_of(o)[0] == 0;
}

bool label_ok(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= 0x20 || p[i] >= 0x7f || p[i] == ',')
            return false;
    return n > 0 && n <= LABEL_MAX;
}

static bool labels_ok(const char *p)
{
    unsigned n = 0;

    for (; *p != 0; n++) {
        size_t len = strcspn(p, ",");

        if (!label_ok(p, len) || (p[len] == ',' && p[len + 1] == 0))
            return false;
        p += len + (p[len] == ',');
    }
    return n <= LABELS_MAX;
}

bool own_ok(const struct task_own *o)
{
#define X(m, least, most)                                                                \
    if (o->m != 0 && (o->m - 1 > (most) || o->m < (uint64_t)(least) + 1))                \
        return false;
    TASK_OWN(X)
#undef X
    return labels_ok(text_of(o));
}

bool own_equal(const struct task_own *a, const struct task_own *b)
{
#define X(m, least, most)                                                                \
    if (a->m != b->m)                                                                    \
        return false;
    TASK_OWN(X)
#undef X
    return strcmp(text_of(a), text_of(b)) == 0;
}

void own_rules(const struct task_own *o, struct task_rules *r)
{
#define X(m, least, most)                                                                \
    if (o->m != 0)                                                                       \
        r->m = o->m - 1;
    TASK_OWN(X)
#undef X
    r->retry_max_ms = u64_max(r->retry_max_ms, r->retry_min_ms);
}

bool own_has_label(const struct task_own *o, const char *label, size_t n)
{
    for (const char *p = text_of(o); *p != 0; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && memcmp(p, label, n) == 0)
            return true;
    return false;
}

void own_encode(const struct task_own *o, struct buf *b)
{
    buf_varint(b, strlen(text_of(o)));
    buf_append(b, text_of(o), strlen(text_of(o)));
#define X(m, least, most) buf_varint(b, o->m);
    TASK_OWN(X)
#undef X
}

int own_decode(struct task_own *o, char *labels, const char *p, uint32_t n)
{
    const uint8_t *at = (const uint8_t *)p, *end = at + n;
    uint64_t len;

    memset(o, 0, sizeof(*o));
    at = varint_get(at, end, &len);
    if (at == NULL || len > LABELS_TEXT_MAX || len > (size_t)(end - at) || memchr(at, 0, len) != NULL)
        return SQ_EPROTO;
    memcpy(labels, at, len);
    labels[len] = 0;
    o->labels = labels;
    at += len;
#define X(m, least, most)                                                                \
    if (at != NULL && at < end)                                                          \
        at = varint_get(at, end, &o->m);
    TASK_OWN(X)
#undef X
    return at == end && own_ok(o) ? 0 : SQ_EPROTO;
}
