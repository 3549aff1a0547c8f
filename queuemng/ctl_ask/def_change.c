/* def_change.c: see the header. Values are compared as the tables read them: 60s is 1m. */
#include "queuemng/ctl_ask/def_change.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/policy/queue_def.h"

struct cfg_node *ctl_node(const json_t *doc, struct err *e)
{
    char *text = json_dumps(doc, JSON_COMPACT);
    struct cfg_node *node = NULL;

    if (text == NULL)
        (void)err_set(e, SQ_ENOMEM, "out of memory, or a text that is not UTF-8");
    else if (cfg_parse_json(&node, text, strlen(text), e) < 0)
        node = NULL;
    free(text);
    return node;
}

/* An answer into a struct of the kind; NULL: no memory, or it is none. Keys of another release
 * are passed over. */
static void *bound(const struct def_kind *kind, const json_t *now, struct err *e)
{
    struct cfg_node *doc = ctl_node(now, e);
    void *def = calloc(1, kind->size);
    int rc = doc == NULL   ? e->code
             : def == NULL ? err_set(e, SQ_ENOMEM, "out of memory")
                           : cfg_bind_stored(def, kind->size, kind->keys, doc, "the answer", e);

    cfg_node_free(doc);
    if (rc == 0)
        return def;
    free(def);
    return NULL;
}

static void def_free(const struct def_kind *kind, void *def)
{
    if (def != NULL)
        cfg_clear(def, kind->keys);
    free(def);
}

/* The keys whose values differ; of a new definition those that the file has. */
static json_t *differing(const json_t *was, json_t *will, const struct cfg_node *def)
{
    json_t *keys = json_object(), *v;
    const char *k;

    json_object_foreach(will, k, v)
        if (was == NULL ? cfg_node_get(def, k) != NULL : !json_equal(json_object_get(was, k), v))
            (void)json_object_set(keys, k, v);
    return keys;
}

/* Translations that the file has are said again beside a new message, which takes them away
 * else. */
static void say_messages(json_t *keys, const json_t *then, const struct cfg_node *def)
{
    if (json_object_get(keys, "message") != NULL && queue_def_says_messages(def))
        (void)json_object_set(keys, "page", json_object_get(then, "page"));
}

static int plan(struct def_change *ch, void *was, const struct cfg_node *def, const char *file,
                struct err *e)
{
    const struct def_kind *k = ch->kind;
    bool changes_queue = was != NULL && k->keys == queue_def_keys;
    void *will = calloc(1, k->size);
    json_t *then = NULL;
    int rc = will == NULL  ? err_set(e, SQ_ENOMEM, "out of memory")
             : was != NULL ? cfg_copy(will, k->size, k->keys, was)
                           : 0;

    if (rc == 0)
        rc = was != NULL ? cfg_patch(will, k->size, k->keys, def, file, e)
                         : cfg_bind(will, k->size, k->keys, def, file, e);
    if (rc == 0 && changes_queue)
        rc = queue_def_drop_messages(will, was, def, e);
    if (rc == 0 && k->check(will, e) < 0)
        rc = err_wrap(e, "%s:%d", file, def->line);
    if (rc == 0 && (then = def_keys_json(will, k->keys)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc == 0) {
        ch->was = was != NULL ? def_keys_json(was, k->keys) : NULL;
        ch->keys = differing(ch->was, then, def);
        if (changes_queue)
            say_messages(ch->keys, then, def);
    }
    json_decref(then);
    def_free(k, will);
    return rc;
}

int def_plan(struct def_change *ch, const struct def_kind *kind, const json_t *now,
             const struct cfg_node *def, const char *file, struct err *e)
{
    const struct cfg_node *name = cfg_node_get(def, kind->name);
    void *was = NULL;
    int rc;

    *ch = (struct def_change){ .kind = kind };
    if (name == NULL || name->kind != CFG_NODE_SCALAR)
        return err_set(e, SQ_EINVAL, "%s:%d: a %s needs the key %s", file, def->line, kind->word,
                       kind->name);
    if (now != NULL && (was = bound(kind, now, e)) == NULL)
        return e->code;
    ch->version = json_integer_value(json_object_get(now, "version"));
    ch->name = strdup(name->text);
    rc = ch->name != NULL ? plan(ch, was, def, file, e) : err_set(e, SQ_ENOMEM, "out of memory");
    def_free(kind, was);
    if (rc < 0)
        def_change_fini(ch);
    return rc;
}

/* Both as the table has them: members that are no keys, as `version`, are left out. */
static json_t *read_answer(const struct def_kind *kind, const json_t *answer, struct err *e)
{
    void *def = bound(kind, answer, e);
    json_t *doc = def != NULL ? def_keys_json(def, kind->keys) : NULL;

    if (def != NULL && doc == NULL)
        (void)err_set(e, SQ_ENOMEM, "out of memory");
    def_free(kind, def);
    return doc;
}

int def_changed(struct def_change *ch, const struct def_kind *kind, const char *name,
                const json_t *was, const json_t *now, const json_t *given, struct err *e)
{
    json_t *then, *v;
    const char *k;

    *ch = (struct def_change){ .kind = kind, .name = strdup(name), .keys = json_object() };
    if (ch->name == NULL || ch->keys == NULL)
        (void)err_set(e, SQ_ENOMEM, "out of memory");
    ch->was = was != NULL ? read_answer(kind, was, e) : NULL;
    then = e->code == 0 ? read_answer(kind, now, e) : NULL;
    if (e->code != 0) {
        def_change_fini(ch);
        return e->code;
    }
    json_object_foreach(then, k, v)
        if (was == NULL ? json_object_get(given, k) != NULL
            : !json_equal(json_object_get(ch->was, k), v))
            (void)json_object_set(ch->keys, k, v);
    json_decref(then);
    return 0;
}

void def_change_fini(struct def_change *ch)
{
    free(ch->name);
    json_decref(ch->was);
    json_decref(ch->keys);
    *ch = (struct def_change){ 0 };
}

/* ---- as text ---- */

static void put_value(struct buf *to, const json_t *v, enum colour colour)
{
    struct buf value, *b = &value;
    char *text = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

    buf_init(b);
    if (json_is_string(v) && *json_string_value(v) == '\0')
        buf_str(b, "\"\"");
    else
        ctl_clean(b, json_is_string(v) ? json_string_value(v) : text != NULL ? text : "?");
    free(text);
    buf_byte(b, 0);
    colour_put(to, colour, b->failed ? "?" : (const char *)b->data);
    buf_fini(b);
}

static void put_change(struct buf *b, const struct def_change *ch, const char *key,
                       const json_t *was, const json_t *will)
{
    buf_printf(b, "%s ", ch->kind->word);
    ctl_clean(b, ch->name);
    buf_str(b, ": ");
    ctl_clean(b, key);
    buf_str(b, ": ");
    if (ch->was != NULL) {
        put_value(b, was, COLOUR_BAD);
        buf_str(b, " -> ");
    }
    put_value(b, will, COLOUR_GOOD);
    buf_byte(b, '\n');
}

void def_change_text(struct buf *b, const struct def_change *ch)
{
    const char *k, *sub;
    json_t *v, *w;

    if (ch->was == NULL) {
        buf_printf(b, "%s ", ch->kind->word);
        ctl_clean(b, ch->name);
        buf_str(b, ": is new\n");
    }
    json_object_foreach(ch->keys, k, v) {
        const json_t *was = json_object_get(ch->was, k);
        char key[160];

        if (ch->was == NULL && strcmp(k, ch->kind->name) == 0)
            continue;
        if (!json_is_object(v) || !json_is_object(was)) {
            put_change(b, ch, k, was, v);
            continue;
        }
        json_object_foreach(v, sub, w) {
            snprintf(key, sizeof(key), "%s.%s", k, sub);
            if (!json_equal(json_object_get(was, sub), w))
                put_change(b, ch, key, json_object_get(was, sub), w);
        }
    }
}

int def_yaml(struct buf *b, const struct def_kind *kind, const json_t *now, bool item,
             struct err *e)
{
    void *def = bound(kind, now, e);
    struct buf text;

    if (def == NULL)
        return e->code;
    buf_init(&text);
    cfg_dump_yaml(&text, def, kind->keys);
    def_free(kind, def);
    if (!item)
        buf_append(b, text.data, text.len);
    for (size_t i = 0; item && i < text.len;) {
        const uint8_t *end = memchr(text.data + i, '\n', text.len - i);
        size_t n = (end != NULL ? (size_t)(end - text.data) + 1 : text.len) - i;

        buf_str(b, i == 0 ? "  - " : "    ");
        buf_append(b, text.data + i, n);
        i += n;
    }
    b->failed |= text.failed;
    buf_fini(&text);
    return b->failed ? err_set(e, SQ_ENOMEM, "out of memory") : 0;
}
