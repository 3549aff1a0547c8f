/* json_row.c: walks the list of fields, in both directions. */
#include "queuemng/state/json_row.h"

#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/ticket/pass.h"

#define KEY_BYTES (sizeof(((struct pass_others *)0)->key[0]))

static uint64_t uint_get(const void *p, size_t size)
{
    assert(size == 1 || size == 4 || size == 8);
    return size == 1   ? *(const uint8_t *)p
           : size == 4 ? *(const uint32_t *)p
                       : *(const uint64_t *)p;
}

static bool uint_set(void *p, size_t size, json_int_t v)
{
    assert(size == 1 || size == 4 || size == 8);
    if (v < 0 || (size < 8 && v >> (8 * size) != 0))
        return false;
    if (size == 1)
        *(uint8_t *)p = (uint8_t)v;
    else if (size == 4)
        *(uint32_t *)p = (uint32_t)v;
    else
        *(uint64_t *)p = (uint64_t)v;
    return true;
}

static json_t *hex_json(const uint8_t *p, size_t n)
{
    char hex[2 * sizeof(((struct pass_others *)0)->key) + 1];

    assert(2 * n < sizeof(hex));
    return json_string(sodium_bin2hex(hex, sizeof(hex), p, n));
}

static json_t *field_json(const struct json_row_field *f, const void *p)
{
    const struct pass_others *keys = p;

    switch (f->kind) {
    case ROW_UINT:
        return json_integer((json_int_t)uint_get(p, f->size));
    case ROW_TIME:
        return json_integer(*(const int64_t *)p);
    case ROW_FLAG:
        return json_integer(*(const bool *)p);
    case ROW_BOOL:
        return json_boolean(*(const bool *)p);
    case ROW_TEXT:
        return json_string(p);
    case ROW_HEX:
        return hex_json(p, f->size);
    case ROW_KEYS:
        return hex_json(keys->key[0], keys->n * KEY_BYTES);
    }
    return NULL;
}

json_t *json_row_write(const struct json_row *r, const void *data)
{
    json_t *j = r->array ? json_array() : json_object();
    int rc = 0;

    for (size_t i = 0; i < r->n && rc == 0; i++) {
        json_t *v = field_json(&r->field[i], (const char *)data + r->field[i].at);

        rc = r->array ? json_array_append_new(j, v) : json_object_set_new(j, r->field[i].name, v);
    }
    if (rc == 0)
        return j;
    json_decref(j);
    return NULL;
}

json_t *json_rows_write(const struct json_row *r, const void *v, size_t n, size_t size)
{
    json_t *j = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(j, json_row_write(r, (const char *)v + i * size)) < 0) {
            json_decref(j);
            return NULL;
        }
    return j;
}

/* Bytes; -1: no hex, or more than there is room for. */
static ssize_t hex_read(uint8_t *out, size_t cap, const json_t *j)
{
    const char *hex = json_string_value(j);
    size_t n;

    return hex == NULL || sodium_hex2bin(out, cap, hex, strlen(hex), NULL, &n, NULL) < 0
               ? -1
               : (ssize_t)n;
}

static bool keys_read(struct pass_others *keys, const json_t *j)
{
    ssize_t n = hex_read(keys->key[0], sizeof(keys->key), j);

    keys->n = n > 0 ? (uint32_t)((size_t)n / KEY_BYTES) : 0;
    return n >= 0 && (size_t)n % KEY_BYTES == 0;
}

static bool field_read(const struct json_row_field *f, void *p, const json_t *j)
{
    if (j == NULL)
        return f->optional;
    switch (f->kind) {
    case ROW_UINT:
        return json_is_integer(j) && uint_set(p, f->size, json_integer_value(j));
    case ROW_TIME:
        *(int64_t *)p = json_integer_value(j);
        return json_is_integer(j);
    case ROW_FLAG:
        *(bool *)p = json_integer_value(j) != 0;
        return json_is_integer(j);
    case ROW_BOOL:
        *(bool *)p = json_is_true(j);
        return json_is_boolean(j);
    case ROW_TEXT:
        return json_is_string(j) &&
               snprintf(p, f->size, "%s", json_string_value(j)) < (int)f->size;
    case ROW_HEX:
        return hex_read(p, f->size, j) == (ssize_t)f->size;
    case ROW_KEYS:
        return keys_read(p, j);
    }
    return false;
}

int json_row_read(const struct json_row *r, const json_t *j, void *data)
{
    if (r->array ? !json_is_array(j) : !json_is_object(j))
        return SQ_EPROTO;
    for (size_t i = 0; i < r->n; i++) {
        const struct json_row_field *f = &r->field[i];

        if (!field_read(f, (char *)data + f->at,
                        r->array ? json_array_get(j, i) : json_object_get(j, f->name)))
            return SQ_EPROTO;
    }
    return 0;
}

json_t *def_json(const void *def, const struct cfg_key *keys)
{
    json_t *j = NULL;
    struct buf b;

    buf_init(&b);
    cfg_dump_json(&b, def, keys);
    if (!b.failed)
        j = json_loadb((const char *)b.data, b.len, 0, NULL);
    buf_fini(&b);
    return j;
}

int def_from_json(void *def, size_t size, const struct cfg_key *keys, const json_t *j,
                  const char *key, struct err *e)
{
    char *text = json_dumps(j, JSON_COMPACT);
    struct cfg_node *doc = NULL;
    int rc;

    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    rc = cfg_parse_json(&doc, text, strlen(text), e);
    free(text);
    if (rc == 0)
        rc = cfg_bind_stored(def, size, keys, doc, key, e);
    cfg_node_free(doc);
    return rc;
}
