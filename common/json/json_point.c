/* json_point.c: a walk over members and elements; strings are decoded in a copy on the stack. */
#define _GNU_SOURCE /* memmem */
#include "common/json/json_point.h"

#include <string.h>

/* ---- pointers ---------------------------------------------------------------------- */

/* NULL, or what is wrong with a pointer: "", or parts that each begin with a slash. */
static const char *json_pointer_wrong(struct slice pointer)
{
    if (pointer.n > JSON_POINTER_MAX)
        return "a pointer has at most 256 bytes";
    if (pointer.n > 0 && pointer.p[0] != '/')
        return "a pointer is \"\", or begins with a slash";
    for (size_t i = 0; i < pointer.n; i++)
        if (pointer.p[i] == '~' &&
            (i + 1 == pointer.n || (pointer.p[i + 1] != '0' && pointer.p[i + 1] != '1')))
            return "in a pointer ~ is written ~0, and a slash within a name ~1";
    return NULL;
}

/* The part behind the slash at *p, decoded into to[JSON_POINTER_MAX]; *p goes behind it. */
static struct slice next_part(const char **p, const char *end, char *to)
{
    struct slice part = { to, 0 };

    for (++*p; *p < end && **p != '/'; ++*p) {
        bool escaped = **p == '~' && *p + 1 < end;

        *p += escaped;
        to[part.n++] = !escaped ? **p : **p == '0' ? '~' : '/';
    }
    return part;
}

/* Raw: a string as it stands, with its quotes. */
static bool means(struct slice raw, struct slice name)
{
    char copy[2 + 6 * JSON_POINTER_MAX];
    struct json_scan s;
    struct slice text;

    if (raw.n < 2 || raw.n > sizeof(copy))
        return false;
    if (memchr(raw.p, '\\', raw.n) == NULL)
        return raw.n - 2 == name.n && memcmp(raw.p + 1, name.p, name.n) == 0;
    memcpy(copy, raw.p, raw.n);
    json_scan_init(&s, (struct slice){ copy, raw.n });
    return json_scan_text(&s, &text) && text.n == name.n && memcmp(text.p, name.p, name.n) == 0;
}

/* The next member's name, as it stands, then its value. False: it was the last, or it is no JSON. */
static bool next_member(struct json_scan *s, bool *first, struct slice *name, struct slice *value)
{
    char c = json_scan_peek(s);

    if (c == '}' || (!*first && c != ','))
        return false;
    s->p += !*first;
    *first = false;
    if (json_scan_peek(s) != '"' || !json_scan_value(s, name) || json_scan_peek(s) != ':')
        return false;
    s->p++;
    return json_scan_value(s, value);
}

static enum json_point in_object(struct slice text, struct slice name, struct slice *value)
{
    struct slice key, one;
    bool first = true, found = false;
    struct json_scan s;

    json_scan_init(&s, text);
    if (!json_scan_enter(&s, '{'))
        return JSON_POINT_NO_JSON;
    while (next_member(&s, &first, &key, &one)) {
        bool same = means(key, name);

        if (same && found)
            return JSON_POINT_TWICE;
        if (same)
            *value = one;
        found |= same;
    }
    return found ? JSON_POINT_FOUND : JSON_POINT_NOTHING;
}

static enum json_point in_list(struct slice text, struct slice part, struct slice *value)
{
    bool first = true;
    struct json_scan s;
    uint64_t n = 0;

    if (part.n == 0 || part.n > 9 || (part.n > 1 && part.p[0] == '0'))
        return JSON_POINT_NOTHING;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] < '0' || part.p[i] > '9')
            return JSON_POINT_NOTHING;
        n = 10 * n + (uint64_t)(part.p[i] - '0');
    }
    json_scan_init(&s, text);
    if (!json_scan_enter(&s, '['))
        return JSON_POINT_NO_JSON;
    while (json_scan_item(&s, &first) && json_scan_value(&s, value))
        if (n-- == 0)
            return JSON_POINT_FOUND;
    return JSON_POINT_NOTHING;
}

/* text: JSON that is whole. */
static enum json_point point(struct slice text, struct slice pointer, struct slice *value)
{
    const char *p = pointer.p, *end = pointer.p + pointer.n;
    enum json_point rc = JSON_POINT_FOUND;
    char room[JSON_POINTER_MAX];

    *value = text;
    while (p < end && rc == JSON_POINT_FOUND) {
        struct slice part = next_part(&p, end, room), at = *value;

        rc = at.p[0] == '{' ? in_object(at, part, value)
             : at.p[0] == '[' ? in_list(at, part, value) : JSON_POINT_NOTHING;
    }
    return rc;
}

/* The value without the blanks around it. */
static bool whole(struct slice text, struct slice *value)
{
    struct json_scan s;

    json_scan_init(&s, text);
    return json_scan_value(&s, value) && json_scan_ends(&s);
}

enum json_point json_point(struct slice text, struct slice pointer, struct slice *value)
{
    struct slice all;

    if (json_pointer_wrong(pointer) != NULL)
        return JSON_POINT_NOTHING;
    return whole(text, &all) ? point(all, pointer, value) : JSON_POINT_NO_JSON;
}

enum json_point json_point_begin(struct slice text, struct slice pointer, struct slice *value)
{
    enum json_point rc;
    struct json_scan s;

    json_scan_init(&s, text);
    if (json_pointer_wrong(pointer) != NULL || pointer.n == 0)
        return JSON_POINT_NOTHING;
    if (json_scan_peek(&s) != '{')
        return JSON_POINT_NO_JSON;
    rc = point((struct slice){ s.p, (size_t)(s.end - s.p) }, pointer, value);
    return rc == JSON_POINT_FOUND && value->p + value->n == s.end ? JSON_POINT_NOTHING : rc;
}

/* ---- holes ------------------------------------------------------------------------- */

struct hole {
    char pointer[JSON_POINTER_MAX];
    size_t n;
    const char *why; /* NULL: it is one */
};

/* Is the object a hole, or meant as one? */
static bool is_hole(struct slice object, struct hole *h)
{
    char copy[2 + 6 * JSON_POINTER_MAX];
    static char name[] = JSON_HOLE;
    struct slice key, value, text;
    bool first = true, meant = false;
    struct json_scan s;
    unsigned n = 0;

    json_scan_init(&s, object);
    if (!json_scan_enter(&s, '{'))
        return false;
    for (; next_member(&s, &first, &key, &value); n++)
        if (means(key, (struct slice){ name, sizeof(name) - 1 })) {
            meant = true;
            text = value;
        }
    if (!meant)
        return false;
    h->why = n > 1 ? "an object with $result has no other member" : NULL;
    if (h->why == NULL && (text.p[0] != '"' || text.n > sizeof(copy)))
        h->why = "$result must be a pointer, a string of at most 256 bytes";
    if (h->why != NULL)
        return true;
    memcpy(copy, text.p, text.n);
    json_scan_init(&s, (struct slice){ copy, text.n });
    if (!json_scan_text(&s, &text)) {
        h->why = "$result must be a string without NUL";
        return true;
    }
    h->why = json_pointer_wrong(text);
    h->n = h->why == NULL ? text.n : 0;
    memcpy(h->pointer, text.p, h->n);
    return true;
}

/* Behind a string that begins at p, of JSON that is whole. */
static char *behind_string(char *p)
{
    for (p++; *p != '"'; p++)
        p += *p == '\\';
    return p + 1;
}

/* The next hole in JSON that is whole, from *at on; `hole`: its bytes. False: there is none. */
static bool next_hole(char *at, const char *end, struct slice *hole, struct hole *h)
{
    while (at < end) {
        struct json_scan s;

        if (*at == '"') {
            at = behind_string(at);
            continue;
        }
        json_scan_init(&s, (struct slice){ at, (size_t)(end - at) });
        if (*at == '{' && is_hole((struct slice){ at, (size_t)(end - at) }, h) &&
            json_scan_value(&s, hole))
            return true;
        at++;
    }
    return false;
}

/* The name may be escaped. Looked at once: each hole would cost a look at all of it. */
static bool may_have(struct slice form)
{
    return memmem(form.p, form.n, JSON_HOLE, sizeof(JSON_HOLE) - 1) != NULL ||
           memchr(form.p, '\\', form.n) != NULL;
}

int json_holes(struct slice form, const char **why)
{
    struct slice all, hole;
    struct hole h;
    bool may;
    int n = 0;

    *why = "it is no JSON";
    if (!whole(form, &all))
        return -1;
    may = may_have(all);
    for (char *p = all.p; may && next_hole(p, all.p + all.n, &hole, &h); p = hole.p + hole.n) {
        *why = n == JSON_HOLES_MAX ? "at most 64 values of a result may stand in it" : h.why;
        if (*why != NULL)
            return -1;
        n++;
    }
    *why = NULL;
    return n;
}

enum json_point json_fill(struct slice form, struct slice result, size_t most, struct buf *out)
{
    size_t begin = out->len;
    struct slice all, source, hole, value;
    enum json_point rc;
    struct hole h;
    bool may, read;
    char *p;

    if (!whole(form, &all))
        return JSON_POINT_NO_JSON;
    may = may_have(all);
    read = may && whole(result, &source);
    for (p = all.p; may && next_hole(p, all.p + all.n, &hole, &h); p = hole.p + hole.n) {
        rc = h.why == NULL && read ? point(source, (struct slice){ h.pointer, h.n }, &value)
                                   : JSON_POINT_NO_JSON;
        if (rc != JSON_POINT_FOUND)
            return rc;
        buf_append(out, p, (size_t)(hole.p - p));
        buf_append(out, value.p, value.n);
        if (out->failed || out->len - begin > most)
            return JSON_POINT_LONG;
    }
    buf_append(out, p, (size_t)(all.p + all.n - p));
    return out->failed || out->len - begin > most ? JSON_POINT_LONG : JSON_POINT_FOUND;
}
