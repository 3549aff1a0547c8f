/* cfg_dump.c: a struct as YAML or JSON, by its table. Pure. What is dumped reads back as
 * an equal struct. */

#include "common/config/cfg_dump.h"

#include <assert.h>
#include <string.h>

#include "common/config/cfg_node.h"
#include "common/config/cfg_type.h"

static void indent(struct buf *b, unsigned depth)
{
    assert(depth <= CFG_MAX_DEPTH); /* tables contain no circle */
    for (unsigned i = 0; i < depth; i++)
        buf_str(b, "  ");
}

/* Reads one character; the text is valid UTF-8. */
static uint32_t utf8_next(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t cp = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

    for (unsigned i = 1; i < n && p[i] != 0; i++)
        cp = cp << 6 | (p[i] & 0x3f);
    *s += n;
    return cp;
}

/* Characters that YAML or JSON would not take, or would fold, as they are. */
static bool must_escape(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0xfeff || cp == 0xfffe || cp == 0xffff;
}

void cfg_quote(struct buf *b, const char *s)
{
    buf_byte(b, '"');
    while (*s != 0) {
        const char *from = s;
        uint32_t cp = utf8_next(&s);

        if (cp == '"' || cp == '\\')
            buf_byte(b, '\\');
        if (must_escape(cp))
            buf_printf(b, "\\u%04x", cp);
        else
            buf_append(b, from, (size_t)(s - from));
    }
    buf_byte(b, '"');
}

static void put_scalar(struct buf *b, const struct cfg_key *k, const void *field)
{
    struct buf text;

    if (!cfg_is_text_type(k->type)) {
        cfg_text_get(b, k, field);
        return;
    }
    buf_init(&text);
    cfg_text_get(&text, k, field);
    buf_byte(&text, 0);
    if (text.failed)
        b->failed = true;
    else
        cfg_quote(b, (char *)text.data);
    buf_fini(&text);
}

static void put_strings(struct buf *b, const struct cfg_list *l)
{
    buf_byte(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        buf_str(b, i > 0 ? ", " : "");
        cfg_quote(b, ((char **)l->v)[i]);
    }
    buf_byte(b, ']');
}

static void yaml_keys(struct buf *b, const void *src, const struct cfg_key *keys,
                      unsigned depth, bool in_item);

static void yaml_objs(struct buf *b, const struct cfg_list *l, const struct cfg_key *k,
                      unsigned depth)
{
    if (l->n == 0) {
        buf_str(b, " []\n");
        return;
    }
    buf_byte(b, '\n');
    for (size_t i = 0; i < l->n; i++) {
        indent(b, depth + 1);
        buf_str(b, "- ");
        yaml_keys(b, (char *)l->v + i * k->size, k->sub, depth + 2, true);
    }
}

/* in_item: the first key stands behind its "- " */
static void yaml_keys(struct buf *b, const void *src, const struct cfg_key *keys,
                      unsigned depth, bool in_item)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        const void *field = cfg_at(src, k);

        if (!in_item || k != keys)
            indent(b, depth);
        buf_str(b, k->key);
        buf_byte(b, ':');
        if (k->type == CFG_OBJ) {
            buf_byte(b, '\n');
            yaml_keys(b, field, k->sub, depth + 1, false);
        } else if (k->type == CFG_OBJS) {
            yaml_objs(b, field, k, depth);
        } else {
            buf_byte(b, ' ');
            if (k->type == CFG_STRS)
                put_strings(b, field);
            else
                put_scalar(b, k, field);
            buf_byte(b, '\n');
        }
    }
}

void cfg_dump_yaml(struct buf *b, const void *src, const struct cfg_key *keys)
{
    yaml_keys(b, src, keys, 0, false);
}

void cfg_dump_json(struct buf *b, const void *src, const struct cfg_key *keys)
{
    buf_byte(b, '{');
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        const void *field = cfg_at(src, k);
        const struct cfg_list *l = field;

        buf_printf(b, "%s\"%s\":", k == keys ? "" : ",", k->key);
        if (k->type == CFG_OBJ) {
            cfg_dump_json(b, field, k->sub);
        } else if (k->type == CFG_STRS) {
            put_strings(b, field);
        } else if (k->type == CFG_OBJS) {
            buf_byte(b, '[');
            for (size_t i = 0; i < l->n; i++) {
                buf_str(b, i > 0 ? "," : "");
                cfg_dump_json(b, (char *)l->v + i * k->size, k->sub);
            }
            buf_byte(b, ']');
        } else {
            put_scalar(b, k, field);
        }
    }
    buf_byte(b, '}');
}
