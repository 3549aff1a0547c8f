/* template.c: see template.h. */
#define _GNU_SOURCE /* memmem */
#include "router/page/template.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define READY_LEVEL 9
#define NEW_LEVEL   4  /* for pages of some 6 KB: level 9 saves 60 bytes more */
#define NEW_WINDOW  12 /* bits: small ones are cleared quickly */
#define NEW_MEM     5

struct gzip {
    z_stream z;
    struct buf *b;
    uint32_t crc, len;
};

/* ---- gzip: ready parts ---- */

/* The raw stream of a whole text, up to a byte's end, and not the last of its document. */
static bool pack(z_stream *z, struct buf *b, const void *p, size_t n)
{
    size_t most = deflateBound(z, n) + 16;

    if (buf_reserve(b, most) == NULL)
        return false;
    z->next_in = (Bytef *)(uintptr_t)p;
    z->avail_in = (uInt)n;
    z->next_out = b->data + b->len;
    z->avail_out = (uInt)most;
    if (deflate(z, Z_SYNC_FLUSH) != Z_OK || z->avail_in > 0 || z->avail_out == 0)
        return false;
    b->len += most - z->avail_out;
    return true;
}

int gzip_ready_pack(struct gzip_ready *r, struct err *e)
{
    z_stream z = { 0 };
    bool good;

    if (r->text.failed ||
        deflateInit2(&z, READY_LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(e, SQ_ENOMEM, "out of memory");
    good = pack(&z, &r->packed, r->text.data, r->text.len);
    deflateEnd(&z);
    r->crc = (uint32_t)crc32(0, r->text.data, (uInt)r->text.len);
    r->shift = crc32_combine_gen((z_off_t)r->text.len);
    return good ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

void gzip_ready_fini(struct gzip_ready *r)
{
    buf_fini(&r->text);
    buf_fini(&r->packed);
}

/* ---- documents ---- */

int gzip_new(struct gzip **out, struct err *e)
{
    struct gzip *g = calloc(1, sizeof(*g));

    if (g == NULL || deflateInit2(&g->z, NEW_LEVEL, Z_DEFLATED, -NEW_WINDOW, NEW_MEM,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    *out = g;
    return 0;
}

void gzip_free(struct gzip *g)
{
    if (g != NULL)
        deflateEnd(&g->z);
    free(g);
}

void gzip_begin(struct gzip *g, struct buf *b)
{
    static const uint8_t head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255 };

    g->b = b;
    g->crc = g->len = 0;
    buf_append(b, head, sizeof(head));
}

void gzip_put(struct gzip *g, const void *p, size_t n)
{
    if (n == 0)
        return;
    if (deflateReset(&g->z) != Z_OK || !pack(&g->z, g->b, p, n))
        g->b->failed = true;
    g->crc = (uint32_t)crc32(g->crc, p, (uInt)n);
    g->len += (uint32_t)n;
}

void gzip_put_ready(struct gzip *g, const struct gzip_ready *r)
{
    buf_append(g->b, r->packed.data, r->packed.len);
    g->crc = (uint32_t)crc32_combine_op(g->crc, r->crc, r->shift);
    g->len += (uint32_t)r->text.len;
}

void gzip_put_plain(struct gzip *g, const void *p, size_t n)
{
    uint8_t head[5] = { 0, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8) };

    assert(n <= 65535);
    buf_append(g->b, head, sizeof(head));
    buf_append(g->b, p, n);
    g->crc = (uint32_t)crc32(g->crc, p, (uInt)n);
    g->len += (uint32_t)n;
}

/* An empty last block, the checksum, the length. */
void gzip_end(struct gzip *g)
{
    uint8_t tail[10] = { 3, 0 };

    for (int i = 0; i < 4; i++) {
        tail[2 + i] = (uint8_t)(g->crc >> 8 * i);
        tail[6 + i] = (uint8_t)(g->len >> 8 * i);
    }
    buf_append(g->b, tail, sizeof(tail));
    g->b = NULL;
}

/* ---- a template: a list of steps; a section's step knows its end ---- */

#define STEPS_MAX 400
#define DEPTH_MAX 8

enum step_kind { STEP_TEXT, STEP_VALUE, STEP_RAW, STEP_IF, STEP_UNLESS };

struct step {
    enum step_kind kind;
    uint16_t slot; /* all but STEP_TEXT */
    uint16_t end;  /* STEP_IF, STEP_UNLESS: the step behind the section */
    const char *p; /* STEP_TEXT: in the template's copy */
    size_t n;
};

struct page_tmpl {
    char *text; /* owned */
    size_t n;
    struct step step[STEPS_MAX];
};

struct reader {
    struct page_tmpl *t;
    const char *p, *end;
    const struct page_slot *slots;
    size_t n_slots;
    uint16_t open[DEPTH_MAX]; /* sections that are not closed yet */
    size_t depth;
    struct err *e;
};

static int complain(const struct reader *r, const char *what, const char *name, size_t n)
{
    int line = 1;

    for (const char *p = r->t->text; p < r->p; p++)
        line += *p == '\n';
    return err_set(r->e, SQ_EINVAL, "line %d: %s \"%.*s\"", line, what,
                   (int)(n < 40 ? n : 40), name);
}

static struct step *add(struct reader *r, enum step_kind kind, size_t slot)
{
    struct step *s = &r->t->step[r->t->n];

    if (r->t->n == STEPS_MAX)
        return NULL;
    *s = (struct step) { .kind = kind, .slot = (uint16_t)slot };
    r->t->n++;
    return s;
}

static int close_section(struct reader *r, size_t slot, const char *name, size_t n)
{
    struct step *s;

    if (r->depth == 0)
        return complain(r, "closed, but not open:", name, n);
    s = &r->t->step[r->open[--r->depth]];
    assert(s->kind == STEP_IF || s->kind == STEP_UNLESS);
    if (s->slot != slot)
        return complain(r, "another one is open:", name, n);
    s->end = (uint16_t)r->t->n;
    return 0;
}

static int open_section(struct reader *r, enum step_kind kind, size_t slot, const char *name,
                        size_t n)
{
    if (r->depth == DEPTH_MAX || add(r, kind, slot) == NULL)
        return complain(r, "too deep or too long:", name, n);
    r->open[r->depth++] = (uint16_t)(r->t->n - 1);
    return 0;
}

/* Reads a tag; r->p stands behind its braces. */
static int tag(struct reader *r, bool raw, const char *name, size_t n)
{
    char mark = n > 0 && strchr("#^/", name[0]) != NULL ? name[0] : 0;
    size_t skip = mark != 0, slot = 0;

    while (slot < r->n_slots && (strlen(r->slots[slot].name) != n - skip ||
                                 memcmp(r->slots[slot].name, name + skip, n - skip) != 0))
        slot++;
    if (slot == r->n_slots || (raw && mark != 0))
        return complain(r, "unknown name", name, n);
    if (mark == '/')
        return close_section(r, slot, name, n);
    if (mark != 0)
        return open_section(r, mark == '#' ? STEP_IF : STEP_UNLESS, slot, name, n);
    if (raw != r->slots[slot].raw)
        return complain(r, raw ? "must be escaped:" : "wants three braces:", name, n);
    if (add(r, raw ? STEP_RAW : STEP_VALUE, slot) == NULL)
        return complain(r, "too long:", name, n);
    return 0;
}

static int next(struct reader *r)
{
    const char *at = memmem(r->p, (size_t)(r->end - r->p), "{{", 2), *close, *name;
    struct step *s;
    bool raw;

    if (at != r->p) {
        s = add(r, STEP_TEXT, 0);
        if (s == NULL)
            return complain(r, "too long", "", 0);
        s->p = r->p;
        s->n = (size_t)((at != NULL ? at : r->end) - r->p);
        r->p += s->n;
        return 0;
    }
    raw = r->end - at > 2 && at[2] == '{';
    name = at + (raw ? 3 : 2);
    close = memmem(name, (size_t)(r->end - name), raw ? "}}}" : "}}", raw ? 3 : 2);
    if (close == NULL)
        return complain(r, "is not closed:", name, (size_t)(r->end - name));
    r->p = close + (raw ? 3 : 2);
    return tag(r, raw, name, (size_t)(close - name));
}

int page_tmpl_new(struct page_tmpl **out, const char *text, size_t n,
                  const struct page_slot *slots, size_t n_slots, struct err *e)
{
    struct page_tmpl *t = calloc(1, sizeof(*t));
    struct reader r = { .t = t, .slots = slots, .n_slots = n_slots, .e = e };
    int rc = 0;

    if (t != NULL)
        t->text = malloc(n + 1);
    if (t == NULL || t->text == NULL) {
        page_tmpl_free(t);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    memcpy(t->text, text, n);
    t->text[n] = '\0';
    r.p = t->text;
    r.end = t->text + n;
    while (rc == 0 && r.p < r.end)
        rc = next(&r);
    assert(r.p <= r.end && r.depth <= DEPTH_MAX);
    if (rc == 0 && r.depth > 0)
        rc = complain(&r, "a section is not closed", "", 0);
    if (rc < 0) {
        page_tmpl_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

void page_tmpl_free(struct page_tmpl *t)
{
    if (t != NULL)
        free(t->text);
    free(t);
}

/* Without room for one more cut a secret would be compressed, or a part be left out. */
static struct page_cut *cut(struct buf *b, struct page_cuts *cuts)
{
    if (cuts->n == PAGE_CUTS_MAX) {
        b->failed = true;
        return NULL;
    }
    cuts->v[cuts->n] = (struct page_cut) { .at = b->len };
    return &cuts->v[cuts->n++];
}

static void put_value(struct buf *b, const struct page_str *v, bool raw, struct page_cuts *cuts)
{
    struct page_cut *c = v->apart && v->n > 0 && cuts != NULL ? cut(b, cuts) : NULL;

    if (raw)
        buf_append(b, v->p, v->n);
    else
        page_put_html(b, v->p, v->n);
    if (c != NULL)
        c->plain = b->len - c->at;
    if (v->ready == NULL)
        return;
    if (cuts == NULL)
        buf_append(b, v->ready->text.data, v->ready->text.len);
    else if ((c = cut(b, cuts)) != NULL)
        c->ready = v->ready;
}

void page_tmpl_put(const struct page_tmpl *t, struct buf *b, const struct page_str *values,
                   struct page_cuts *cuts)
{
    for (size_t i = 0; i < t->n;) {
        const struct step *s = &t->step[i++];
        const struct page_str *v = &values[s->slot];

        switch (s->kind) {
        case STEP_TEXT:
            buf_append(b, s->p, s->n);
            break;
        case STEP_VALUE:
        case STEP_RAW:
            put_value(b, v, s->kind == STEP_RAW, cuts);
            break;
        case STEP_IF:
        case STEP_UNLESS:
            assert(s->end >= i && s->end <= t->n); /* onwards, never back */
            if ((v->n > 0) != (s->kind == STEP_IF))
                i = s->end;
            break;
        }
    }
}

/* ---- escaping ---- */

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '`':
        return "&#96;";
    default:
        return (unsigned char)c < 0x20 || c == 0x7f ? " " : NULL;
    }
}

void page_put_html(struct buf *b, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *t = entity(p[i]);

        if (t != NULL)
            buf_str(b, t);
        else
            buf_byte(b, (uint8_t)p[i]);
    }
}

static void unicode(struct buf *b, unsigned v)
{
    char t[6] = { '\\', 'u', '0', '0', '0', '0' };

    for (int i = 5; i > 1; i--, v >>= 4)
        t[i] = "0123456789abcdef"[v & 15];
    buf_append(b, t, sizeof(t));
}

/* U+2028 and U+2029 end a line in old scripts; "<" could end the element. */
void page_put_json(struct buf *b, const char *p, size_t n)
{
    buf_byte(b, '"');
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)p[i];
        bool line = c == 0xe2 && i + 2 < n && (uint8_t)p[i + 1] == 0x80 &&
                    ((uint8_t)p[i + 2] | 1) == 0xa9;

        if (line) {
            unicode(b, 0x2000u | ((uint8_t)p[i + 2] - 0x80u));
            i += 2;
        } else if (c < 0x20 || c == 0x7f || strchr("\"\\<>&'", c) != NULL) {
            unicode(b, c);
        } else {
            buf_byte(b, c);
        }
    }
    buf_byte(b, '"');
}
