/* yaml.c: see the header. */
#include "queuemng/ctl_view/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

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

static bool put_text(yaml_emitter_t *y, const char *s)
{
    return put_scalar(y, s, strlen(s), seems_other(s));
}

static bool put_value(yaml_emitter_t *y, const json_t *v);

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
        if (!put_text(y, key) || !put_value(y, v))
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
        if (!put_value(y, v))
            return false;
    return emit(y, yaml_sequence_end_event_initialize(&e), &e);
}

static bool put_value(yaml_emitter_t *y, const json_t *v)
{
    char number[40];

    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return put_map(y, v);
    case JSON_ARRAY:
        return put_list(y, v);
    case JSON_STRING:
        return put_text(y, json_string_value(v));
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
           put_value(y, doc) && emit(y, yaml_document_end_event_initialize(&e, true), &e) &&
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
