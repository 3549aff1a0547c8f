/* cfg_dump.c: a struct as YAML or JSON, by its table. Pure. */
#include "common/config/cfg_dump.h"

#include <assert.h>
#include <string.h>

#include "common/config/cfg_node.h"

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

/* Valid in YAML and JSON alike. */
static void quote(struct buf *b, const char *s)
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

    if (k->type == CFG_BOOL || k->type == CFG_INT || k->type == CFG_NUM) {
        cfg_text_get(b, k, field);
        return;
    }
    buf_init(&text);
    cfg_text_get(&text, k, field);
    buf_byte(&text, 0);
    if (text.failed)
        b->failed = true;
    else
        quote(b, (char *)text.data);
    buf_fini(&text);
}

static void put_strings(struct buf *b, const struct cfg_list *l)
{
    buf_byte(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        buf_str(b, i > 0 ? ", " : "");
        quote(b, ((char **)l->v)[i]);
    }
    buf_byte(b, ']');
}

/* A walk over a table: JSON on one line, or a line of YAML for each key. */
struct dump {
    struct buf *b;
    bool json;
    unsigned depth; /* indents of a line of YAML */
};

static void put_keys(struct dump *d, const void *src, const struct cfg_key *keys, bool in_item);

static void indent(struct dump *d)
{
    assert(d->depth <= CFG_MAX_DEPTH); /* tables contain no circle */
    buf_printf(d->b, "%*s", 2 * (int)d->depth, "");
}

static void put_map(struct dump *d, const void *src, const struct cfg_key *keys)
{
    buf_byte(d->b, d->json ? '{' : '\n');
    d->depth++;
    put_keys(d, src, keys, false);
    d->depth--;
    buf_str(d->b, d->json ? "}" : "");
}

/* An entry of a list of YAML. */
static void put_item(struct dump *d, const void *src, const struct cfg_key *keys)
{
    d->depth++;
    indent(d);
    buf_str(d->b, "- ");
    d->depth++;
    put_keys(d, src, keys, true);
    d->depth -= 2;
}

static void put_maps(struct dump *d, const struct cfg_list *l, const struct cfg_key *k)
{
    buf_str(d->b, d->json ? "[" : l->n == 0 ? " []\n" : "\n");
    for (size_t i = 0; i < l->n; i++) {
        buf_str(d->b, d->json && i > 0 ? "," : "");
        (d->json ? put_map : put_item)(d, (char *)l->v + i * k->size, k->sub);
    }
    buf_str(d->b, d->json ? "]" : "");
}

/* in_item: the first key stands behind its "- " */
static void put_keys(struct dump *d, const void *src, const struct cfg_key *keys, bool in_item)
{
    cfg_each_key(k, keys) {
        const void *field = cfg_at(src, k);

        if (d->json)
            buf_printf(d->b, "%s\"%s\":", k == keys ? "" : ",", k->key);
        else if (!in_item || k != keys)
            indent(d);
        if (!d->json)
            buf_printf(d->b, "%s:", k->key);
        if (k->type == CFG_OBJ) {
            put_map(d, field, k->sub);
        } else if (k->type == CFG_OBJS) {
            put_maps(d, field, k);
        } else {
            buf_str(d->b, d->json ? "" : " ");
            if (k->type == CFG_STRS)
                put_strings(d->b, field);
            else
                put_scalar(d->b, k, field);
            buf_str(d->b, d->json ? "" : "\n");
        }
    }
}

void cfg_dump_yaml(struct buf *b, const void *src, const struct cfg_key *keys)
{
    struct dump d = { .b = b };

    put_keys(&d, src, keys, false);
}

void cfg_dump_json(struct buf *b, const void *src, const struct cfg_key *keys)
{
    struct dump d = { .b = b, .json = true };

    put_map(&d, src, keys);
}

/* ---- help ---- */

static void traits(struct buf *b, const struct cfg_key *k, bool hup)
{
    cfg_allowed(b, k);
    if (k->type != CFG_OBJ && k->def == NULL)
        buf_str(b, "; must be set");
    else if (k->type != CFG_OBJ && k->def[0] != 0)
        buf_printf(b, "; default %s", k->def);
    if (k->reload && hup)
        buf_str(b, "; HUP");
}

static void help_keys(struct buf *b, const struct cfg_key *keys, int depth, bool hup)
{
    cfg_each_key(k, keys) {
        buf_printf(b, "%*s%-*s %s (", 2 * depth, "", 22 - 2 * depth, k->key, k->help);
        traits(b, k, hup);
        buf_str(b, ")\n");
        if (k->sub != NULL)
            help_keys(b, k->sub, depth + 1, hup);
    }
}

void cfg_help(struct buf *b, const struct cfg_key *keys, bool hup)
{
    help_keys(b, keys, 1, hup);
}

/* ---- a manual page ---- */

/* Hyphens are those that are typed. */
void man_text(struct buf *b, const char *text)
{
    if (*text == '.' || *text == '\'')
        buf_str(b, "\\&");
    for (; *text != '\0'; text++) {
        char c = *text;
        const char *as = c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '\'' ? "\\(aq"
                         : c == '`' ? "\\(ga" : c == '~' ? "\\(ti" : c == '^' ? "\\(ha" : NULL;

        if (as != NULL)
            buf_str(b, as);
        else
            buf_byte(b, (uint8_t)c);
    }
}

void man_entry(struct buf *b, const char *bold, const char *italic, const char *text)
{
    buf_str(b, ".TP\n\\fB");
    man_text(b, bold);
    buf_str(b, "\\fR");
    if (italic != NULL && *italic != '\0') {
        buf_str(b, " \\fI");
        man_text(b, italic);
        buf_str(b, "\\fR");
    }
    buf_byte(b, '\n');
    man_text(b, text);
    buf_byte(b, '\n');
}

void man_keys(struct buf *b, const struct cfg_key *keys)
{
    cfg_each_key(k, keys) {
        struct buf about;

        buf_init(&about);
        buf_printf(&about, "%s (", k->help);
        traits(&about, k, true);
        buf_str(&about, ")");
        buf_byte(&about, '\0');
        b->failed |= about.failed;
        if (!about.failed)
            man_entry(b, k->key, NULL, (const char *)about.data);
        buf_fini(&about);
        if (k->sub == NULL)
            continue;
        buf_str(b, ".RS\n");
        man_keys(b, k->sub);
        buf_str(b, ".RE\n");
    }
}
