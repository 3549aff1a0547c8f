/* fields.c: the walk of a table, from a struct and to it. */
#include "common/wire/fields.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/wire/number.h"

#define LOG_MODULE "wire"

/* Where a walk is: the rows are those of the last F_ROWS. */
struct walk {
    struct arena *a;
    char *rows;
    size_t n;
    uint32_t step;
};

static uint64_t number(const char *p, unsigned width, bool is_signed)
{
    uint64_t v = load(p, width);

    assert(!is_signed || width >= 4);
    return is_signed && width == 4 ? (uint64_t)(int64_t)(int32_t)(uint32_t)v : v;
}

static void *pointer(const char *p)
{
    void *v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static void point(char *p, const void *to)
{
    memcpy(p, &to, sizeof(to));
}

static size_t *count_of(const struct field *f, const char *pb)
{
    return (size_t *)(void *)(uintptr_t)(pb + f->pb_n);
}

/* Our array: its elements, and how many they are. */
static char *array_of(const struct field *f, const char *s)
{
    return f->in_place ? (char *)(uintptr_t)(s + f->off) : pointer(s + f->off);
}

static size_t elements(const struct field *f, const char *s)
{
    return f->n_width != 0 ? load(s + f->n, f->n_width) : f->most;
}

static char *row(const struct walk *w, size_t i)
{
    assert(i < w->n);
    return w->rows + i * w->step;
}

/* n initialised messages, for a repeated member; NULL: no memory. */
static ProtobufCMessage **messages(const ProtobufCMessageDescriptor *desc, size_t n,
                                   struct arena *a)
{
    ProtobufCMessage **v = arena_array(a, n, sizeof(*v));
    size_t step = (desc->sizeof_message + 15) & ~(size_t)15;
    char *mem = arena_array(a, n, step);

    assert(step >= desc->sizeof_message);
    if (v == NULL || mem == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        v[i] = (ProtobufCMessage *)(mem + i * step);
        protobuf_c_message_init(desc, v[i]);
    }
    return v;
}

/* True: the receiver would take this value: take_number(). */
static bool is_fit(const struct field *f, const char *pb)
{
    uint64_t v = number(pb, f->pb_width, f->pb_signed);
    char ours[8];

    if (v == 0 || (f->later && v > f->most))
        return f->least == 0;
    store(ours, f->width, v);
    return v >= f->least && v <= f->most && number(ours, f->width, f->is_signed) == v;
}

static uint64_t least_of(const struct field *f)
{
    return f->n_width != 0 ? f->least : f->most;
}

/* ---- from a struct ------------------------------------------------------------------------
 * 0, SQ_ETOOBIG, SQ_EINVAL (a number that no receiver would take), SQ_ENOMEM. */

/* A bad value would end the link: our own log says which message it is. */
static int unfit(const struct fields *t, const struct field *f)
{
    const size_t bytes = offsetof(ProtobufCBinaryData, data); /* offset of the bytes of a column */
    const char *name = "";

    for (unsigned i = 0; f != NULL && i < t->desc->n_fields; i++)
        if (t->desc->fields[i].offset == f->pb - (f->pb_width == 1 ? bytes : 0))
            name = t->desc->fields[i].name;
    log_error("event=unfit_message message=%s field=%s", t->desc->short_name, name);
    return SQ_EINVAL;
}

static bool is_addr(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
            return false;
    return true;
}

/* at: where the pointer is, or the row that has it and its length */
static int fill_text(const struct field *f, const char *at, ProtobufCBinaryData *d)
{
    d->data = pointer(at + f->off); /* protobuf-c only reads it */
    if (f->n_width != 0)
        d->len = load(at + f->n, f->n_width);
    else
        d->len = d->data != NULL ? strlen((const char *)d->data) : 0;
    if (f->kind == F_WORDS && d->len > f->most)
        d->len = f->most;
    if (d->len > f->most)
        return SQ_ETOOBIG;
    return !f->addr || is_addr((const char *)d->data, d->len) ? 0 : SQ_EINVAL;
}

static int fill_bytes(const struct field *f, const char *s, ProtobufCBinaryData *d)
{
    size_t n = elements(f, s);

    if (f->kind == F_SEED)
        n = n != 0;
    else if (n > f->most)
        return SQ_ETOOBIG;
    d->len = n * f->step;
    d->data = d->len > 0 ? (uint8_t *)array_of(f, s) : NULL;
    return 0;
}

static int fill_messages(const struct field *f, const char *s, char *pb, struct arena *a)
{
    const struct fields *sub = f->sub();
    size_t n = f->kind == F_MSG ? 1 : elements(f, s);
    const char *from = f->kind == F_MSG ? s + f->off : array_of(f, s);
    ProtobufCMessage **v;
    int rc = 0;

    if (f->kind == F_MSGS && n > f->most)
        return SQ_ETOOBIG;
    if (f->kind == F_MSGS && n < least_of(f))
        return SQ_EINVAL;
    v = messages(sub->desc, n, a);
    if (v == NULL)
        return SQ_ENOMEM;
    point(pb + f->pb, f->kind == F_MSG ? (void *)v[0] : v);
    if (f->kind == F_MSGS)
        *count_of(f, pb) = n;
    for (size_t i = 0; i < n && rc == 0; i++, from += f->step)
        rc = fields_fill(sub, from, v[i], a);
    return rc;
}

/* Not what was copied as it is, nor what surely fits. */
static int look_at(const struct field *f, uint64_t v, const char *pb)
{
    bool surely = v >= f->least && v <= f->most &&
                  v <= (f->pb_width == 8 ? INT64_MAX : INT32_MAX);

    return surely || is_fit(f, pb) ? 0 : SQ_EINVAL;
}

INLINE int fill_number(const struct field *f, const char *from, char *pb)
{
    uint64_t v = number(from, f->width, f->is_signed);

    store(pb, f->pb_width, v);
    return f->any || v == f->least ? 0 : look_at(f, v, pb); /* most are 0 */
}

static int fill_column(const struct field *f, const struct walk *w, char *pb)
{
    char *v = arena_array(w->a, w->n, f->pb_width);
    int rc = v != NULL ? 0 : SQ_ENOMEM;

    point(pb + f->pb, v);
    *count_of(f, pb) = w->n;
    for (size_t i = 0; rc == 0 && i < w->n; i++)
        rc = fill_number(f, row(w, i) + f->off, v + i * f->pb_width);
    return rc;
}

static bool any_has(const struct field *f, const struct walk *w)
{
    size_t i = 0;

    while (i < w->n && number(row(w, i) + f->n, f->n_width, false) == 0)
        i++;
    return i < w->n;
}

static int fill_texts(const struct field *f, const struct walk *w, char *pb)
{
    ProtobufCBinaryData *d;
    int rc;

    if (f->later && !any_has(f, w))
        return 0;
    d = arena_array(w->a, w->n, sizeof(*d));
    rc = d != NULL ? 0 : SQ_ENOMEM;
    point(pb + f->pb, d);
    *count_of(f, pb) = w->n;
    for (size_t i = 0; rc == 0 && i < w->n; i++)
        rc = fill_text(f, row(w, i), &d[i]);
    return rc;
}

static int fill_rows(const struct field *f, const char *s, struct walk *w)
{
    w->rows = array_of(f, s);
    w->n = elements(f, s);
    w->step = f->step;
    assert(w->n == 0 || w->rows != NULL);
    return w->n > f->most ? SQ_ETOOBIG : w->n < least_of(f) ? SQ_EINVAL : 0;
}

static int fill(const struct field *f, const char *s, char *pb, struct walk *w)
{
    switch (f->kind) {
    case F_NUM:
        return fill_number(f, s + f->off, pb + f->pb);
    case F_TEXT:
    case F_WORDS:
        return fill_text(f, s, (ProtobufCBinaryData *)(void *)(pb + f->pb));
    case F_BYTES:
    case F_SEED:
        return fill_bytes(f, s, (ProtobufCBinaryData *)(void *)(pb + f->pb));
    case F_MSG:
    case F_MSGS:
        return fill_messages(f, s, pb, w->a);
    case F_ROWS:
        return fill_rows(f, s, w);
    case F_COL:
        return fill_column(f, w, pb);
    case F_COL_TEXT:
        return fill_texts(f, w, pb);
    }
    assert(!"a kind of field");
    return SQ_EINVAL;
}

int fields_fill(const struct fields *t, const void *s, void *pb, struct arena *a)
{
    struct walk w = { .a = a };

    assert(((const ProtobufCMessage *)pb)->descriptor == t->desc);
    for (unsigned i = 0; i < t->n; i++) {
        int rc = fill(&t->v[i], s, pb, &w);

        if (SQ_UNLIKELY(rc < 0))
            return rc == SQ_EINVAL ? unfit(t, &t->v[i]) : rc;
    }
    return t->holds == NULL || t->holds(s) ? 0 : unfit(t, NULL);
}

/* ---- and to it ---------------------------------------------------------------------------- */

/* Wire numbers are wider than ours: false also if it does not survive. Most are 0, as *to is. */
static bool take_number(const struct field *f, char *to, const char *from)
{
    uint64_t v = number(from, f->pb_width, f->pb_signed);

    if (v == 0)
        return f->least == 0;
    if (f->later && v > f->most)
        v = 0;
    store(to, f->width, v);
    return v >= f->least && v <= f->most && number(to, f->width, f->is_signed) == v;
}

static bool take_text(const struct field *f, char *at, const ProtobufCBinaryData *d,
                      struct arena *a)
{
    const char *text = d->len > 0 ? (const char *)d->data : "";

    if (d->len > f->most || (f->addr && !is_addr(text, d->len)))
        return false;
    if (f->n_width != 0)
        store(at + f->n, f->n_width, d->len);
    else if (memchr(text, 0, d->len) != NULL)
        return false;
    else if (d->len > 0)
        text = arena_strndup(a, text, d->len);
    point(at + f->off, text);
    return text != NULL;
}

static bool take_bytes(const struct field *f, const ProtobufCBinaryData *d, char *s)
{
    size_t n = d->len / f->step;

    if (f->kind == F_SEED && elements(f, s) == 0)
        return true;
    if (d->len % f->step != 0 || n > (f->kind == F_SEED ? 1 : f->most))
        return false;
    if (f->kind == F_BYTES && f->n_width != 0)
        store(s + f->n, f->n_width, n);
    else if (n != 1)
        return false;
    if (!f->in_place)
        point(s + f->off, d->data);
    else if (n > 0)
        memcpy(s + f->off, d->data, d->len);
    return true;
}

/* n zeroed elements of ours, and their count. */
static bool take_array(const struct field *f, size_t n, char *s, struct arena *a)
{
    if (n < least_of(f) || n > f->most)
        return false;
    if (f->n_width != 0)
        store(s + f->n, f->n_width, n);
    if (!f->in_place)
        point(s + f->off, arena_array(a, n, f->step));
    return array_of(f, s) != NULL;
}

static bool take_messages(const struct field *f, const char *pb, struct arena *a, char *s)
{
    const struct fields *sub = f->sub();
    ProtobufCMessage **v = pointer(pb + f->pb);
    size_t n;
    char *to;

    if (f->kind == F_MSG)
        return v != NULL && fields_take(sub, v, a, s + f->off);
    n = *count_of(f, pb);
    if (!take_array(f, n, s, a))
        return false;
    to = array_of(f, s);
    for (size_t i = 0; i < n; i++, to += f->step)
        if (!fields_take(sub, v[i], a, to))
            return false;
    return true;
}

static bool take_column(const struct field *f, const char *pb, const struct walk *w)
{
    const char *v = pointer(pb + f->pb);
    size_t n = *count_of(f, pb);

    if (n != w->n && (n != 0 || f->least > 0))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!take_number(f, row(w, i) + f->off, v + i * f->pb_width))
            return false;
    return true;
}

static bool take_texts(const struct field *f, const char *pb, const struct walk *w)
{
    const ProtobufCBinaryData *d = pointer(pb + f->pb);

    if (f->later && *count_of(f, pb) == 0)
        return true;
    if (*count_of(f, pb) != w->n)
        return false;
    for (size_t i = 0; i < w->n; i++)
        if (!take_text(f, row(w, i), &d[i], w->a))
            return false;
    return true;
}

static bool take(const struct field *f, const char *pb, char *s, struct walk *w)
{
    switch (f->kind) {
    case F_NUM:
        return take_number(f, s + f->off, pb + f->pb);
    case F_TEXT:
    case F_WORDS:
        return take_text(f, s, (const void *)(pb + f->pb), w->a);
    case F_BYTES:
    case F_SEED:
        return take_bytes(f, (const void *)(pb + f->pb), s);
    case F_MSG:
    case F_MSGS:
        return take_messages(f, pb, w->a, s);
    case F_ROWS:
        w->n = *count_of(f, pb);
        w->step = f->step;
        if (!take_array(f, w->n, s, w->a))
            return false;
        w->rows = array_of(f, s);
        return true;
    case F_COL:
        return take_column(f, pb, w);
    case F_COL_TEXT:
        return take_texts(f, pb, w);
    }
    assert(!"a kind of field");
    return false;
}

bool fields_take(const struct fields *t, const void *pb, struct arena *a, void *s)
{
    struct walk w = { .a = a };

    assert(((const ProtobufCMessage *)pb)->descriptor == t->desc);
    for (unsigned i = 0; i < t->n; i++)
        if (!take(&t->v[i], pb, s, &w))
            return false;
    if (t->finish != NULL)
        t->finish(s);
    return t->holds == NULL || t->holds(s);
}
