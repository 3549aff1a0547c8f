/* cfg_json.c: JSON text to the same nodes as YAML, through jansson. Pure.
 * Refused: duplicate members, null, depth over 16, more than 1 MiB. */

#include "common/config/cfg_json.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_in.h"
#include "common/base/buf.h"

static int convert(struct cfg_node **out, json_t *j, unsigned depth, struct err *e);

static int no_memory(struct err *e)
{
    return err_set(e, SQ_ENOMEM, "out of memory");
}

static int scalar(struct cfg_node **out, const char *text, size_t n, bool quoted,
                  struct err *e)
{
    bool bad;

    *out = cfg_node_text(text, n, CFG_LINE_JSON, &bad);
    if (*out == NULL)
        return bad ? err_set(e, SQ_EINVAL, "a string contains a NUL") : no_memory(e);
    (*out)->quoted = quoted;
    return 0;
}

static int number(struct cfg_node **out, const json_t *j, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b);
    if (json_is_integer(j))
        buf_i64(&b, json_integer_value(j));
    else
        buf_printf(&b, "%.17g", json_real_value(j));
    rc = b.failed ? no_memory(e) : scalar(out, (const char *)b.data, b.len, false, e);
    buf_fini(&b);
    return rc;
}

static int add(struct cfg_node *parent, struct cfg_node *kid, struct err *e)
{
    int rc = cfg_node_add(parent, kid);

    return rc == SQ_ETOOBIG ? err_set(e, rc, "too many members") : rc < 0 ? no_memory(e) : 0;
}

static int members(struct cfg_node *map, json_t *j, unsigned depth, struct err *e)
{
    const char *key;
    json_t *v;

    json_object_foreach (j, key, v) {
        struct cfg_node *kid = NULL;
        int rc;

        if (json_is_null(v))
            return err_set(e, SQ_EINVAL, "%.64s: null is not allowed", key);
        rc = convert(&kid, v, depth, e);
        if (rc < 0)
            return rc;
        kid->key = strdup(key);
        if (kid->key == NULL) {
            cfg_node_free(kid);
            return no_memory(e);
        }
        rc = add(map, kid, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int items(struct cfg_node *list, json_t *j, unsigned depth, struct err *e)
{
    json_t *v;
    size_t i;

    json_array_foreach (j, i, v) {
        struct cfg_node *kid = NULL;
        int rc = convert(&kid, v, depth, e);

        if (rc == 0)
            rc = add(list, kid, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int convert(struct cfg_node **out, json_t *j, unsigned depth, struct err *e)
{
    bool map = json_is_object(j);
    int rc;

    if (json_is_string(j))
        return scalar(out, json_string_value(j), json_string_length(j), true, e);
    if (json_is_number(j))
        return number(out, j, e);
    if (json_is_boolean(j))
        return scalar(out, json_is_true(j) ? "true" : "false", json_is_true(j) ? 4 : 5,
                      false, e);
    if (json_is_null(j))
        return err_set(e, SQ_EINVAL, "null is not allowed");
    if (depth >= CFG_MAX_DEPTH)
        return err_set(e, SQ_EINVAL, "nested too deep");
    *out = cfg_node_new(map ? CFG_NODE_MAP : CFG_NODE_LIST, CFG_LINE_JSON);
    if (*out == NULL)
        return no_memory(e);
    rc = map ? members(*out, j, depth + 1, e) : items(*out, j, depth + 1, e);
    if (rc < 0) {
        cfg_node_free(*out);
        *out = NULL;
    }
    return rc;
}

int cfg_parse_json(struct cfg_node **out, const char *text, size_t n, struct err *e)
{
    json_error_t je;
    json_t *j;
    int rc;

    *out = NULL;
    if (n > CFG_MAX_BYTES)
        return err_set(e, SQ_ETOOBIG, "more than 1 MiB");
    j = json_in(text, n, &je);
    if (j == NULL)
        return err_set(e, SQ_EINVAL, "line %d: %.150s", je.line, je.text);
    rc = convert(out, j, 0, e);
    json_decref(j);
    return rc;
}
