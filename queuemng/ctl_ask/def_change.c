/* def_change.c: see the header. Values are compared as the tables read them: 60s is 1m. */
#include "queuemng/ctl_ask/def_change.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

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

typedef void change_fn(void *ctx, const struct def_change *ch, const char *key, const json_t *was, const json_t *will);

static void put_change(void *to, const struct def_change *ch, const char *key, const json_t *was, const json_t *will)
{
    struct buf *b = to;

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

/* Calls fn with each value that changes: of maps with those in them ("idle.game"). */
static void each_change(const struct def_change *ch, change_fn *fn, void *ctx)
{
    const char *k, *sub;
    json_t *v, *w;

    json_object_foreach(ch->keys, k, v) {
        const json_t *was = json_object_get(ch->was, k);
        char key[160];

        if (ch->was == NULL && strcmp(k, ch->kind->name) == 0)
            continue;
        if (!json_is_object(v) || !json_is_object(was)) {
            fn(ctx, ch, k, was, v);
            continue;
        }
        json_object_foreach(v, sub, w) {
            snprintf(key, sizeof(key), "%s.%s", k, sub);
            if (!json_equal(json_object_get(was, sub), w))
                fn(ctx, ch, key, json_object_get(was, sub), w);
        }
    }
}

void def_change_text(struct buf *b, const struct def_change *ch)
{
    if (ch->was == NULL) {
        buf_printf(b, "%s ", ch->kind->word);
        ctl_clean(b, ch->name);
        buf_str(b, ": is new\n");
    }
    each_change(ch, put_change, b);
}

static void add_change(void *list, const struct def_change *ch, const char *key, const json_t *was, const json_t *will)
{
    (void)ch;
    (void)json_array_append_new(list, json_pack("{s:s,s:O?,s:O}", "key", key, "from", was, "to", will));
}

json_t *def_change_json(const struct def_change *ch)
{
    json_t *list = json_array();

    each_change(ch, add_change, list);
    return json_pack("{s:s,s:s,s:b,s:o}", "kind", ch->kind->word, "name", ch->name, "new", ch->was == NULL, "changes",
                     list);
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

/* ---- YAML ---- */

#define TAG_STR (yaml_char_t *)(uintptr_t)YAML_STR_TAG

static int on_bytes(void *to, unsigned char *p, size_t n)
{
    struct buf *b = to;

    buf_append(b, p, n);
    return !b->failed;
}

static bool emit(yaml_emitter_t *y, int made, yaml_event_t *e)
{
    return made && yaml_emitter_emit(y, e);
}

/* A reader would take it for a number, a truth, nothing or a date. */
static bool seems_other(const char *s)
{
    static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "true", "false",
                                         "null" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return true;
    return *s == '\0' || (!isalpha((unsigned char)*s) && *s != '/');
}

static bool put_scalar(yaml_emitter_t *y, const char *s, size_t n, bool quoted)
{
    yaml_event_t e;

    return emit(y, yaml_scalar_event_initialize(&e, NULL, quoted ? TAG_STR : NULL,
                                                (yaml_char_t *)(uintptr_t)s, (int)n, !quoted, true,
                                                quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                       : YAML_ANY_SCALAR_STYLE), &e);
}

static bool yaml_text(yaml_emitter_t *y, const char *s)
{
    return put_scalar(y, s, strlen(s), seems_other(s));
}

static bool yaml_value(yaml_emitter_t *y, const json_t *v);

static bool put_map(yaml_emitter_t *y, const json_t *map)
{
    yaml_event_t e;
    const char *key;
    json_t *v;

    if (!emit(y, yaml_mapping_start_event_initialize(&e, NULL, NULL, true, json_object_size(map) > 0
                                                     ? YAML_BLOCK_MAPPING_STYLE
                                                     : YAML_FLOW_MAPPING_STYLE), &e))
        return false;
    json_object_foreach((json_t *)(uintptr_t)map, key, v)
        if (!yaml_text(y, key) || !yaml_value(y, v))
            return false;
    return emit(y, yaml_mapping_end_event_initialize(&e), &e);
}

static bool put_list(yaml_emitter_t *y, const json_t *list)
{
    yaml_event_t e;
    const json_t *v;
    size_t i;

    if (!emit(y, yaml_sequence_start_event_initialize(&e, NULL, NULL, true,
                                                      json_array_size(list) > 0
                                                      ? YAML_BLOCK_SEQUENCE_STYLE
                                                      : YAML_FLOW_SEQUENCE_STYLE), &e))
        return false;
    json_array_foreach(list, i, v)
        if (!yaml_value(y, v))
            return false;
    return emit(y, yaml_sequence_end_event_initialize(&e), &e);
}

static bool yaml_value(yaml_emitter_t *y, const json_t *v)
{
    char number[40];

    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return put_map(y, v);
    case JSON_ARRAY:
        return put_list(y, v);
    case JSON_STRING:
        return yaml_text(y, json_string_value(v));
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        return put_scalar(y, number, strlen(number), false);
    case JSON_REAL:
        snprintf(number, sizeof(number), "%.15g", json_real_value(v));
        return put_scalar(y, number, strlen(number), false);
    case JSON_TRUE:
        return put_scalar(y, "true", 4, false);
    case JSON_FALSE:
        return put_scalar(y, "false", 5, false);
    default:
        return put_scalar(y, "null", 4, false);
    }
}

static bool put_document(yaml_emitter_t *y, const json_t *doc)
{
    yaml_event_t e;

    return emit(y, yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING), &e) &&
           emit(y, yaml_document_start_event_initialize(&e, NULL, NULL, NULL, true), &e) &&
           yaml_value(y, doc) && emit(y, yaml_document_end_event_initialize(&e, true), &e) &&
           emit(y, yaml_stream_end_event_initialize(&e), &e);
}

bool yaml_put(struct buf *b, const json_t *doc)
{
    yaml_emitter_t y;
    bool ok;

    if (!yaml_emitter_initialize(&y))
        return false;
    yaml_emitter_set_output(&y, on_bytes, b);
    yaml_emitter_set_unicode(&y, true);
    yaml_emitter_set_width(&y, -1);
    ok = put_document(&y, doc);
    yaml_emitter_delete(&y);
    return ok && !b->failed;
}
