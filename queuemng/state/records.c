/* records.c: the lists of the records' fields, and the writers. core/load.c reads. */
#include "queuemng/state/records.h"

#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/versions.h"
#include "common/ticket/pass.h"
#include "queuemng/policy/def_kind.h"
#include "queuemng/state/out.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define META(kind, name, member)   ROW_FIELD(name, kind, struct stored_meta, member)
#define NODE(kind, member)         ROW_FIELD(#member, kind, struct mnode, member)
#define NODE_MAY(kind, member)     ROW_OPTIONAL(#member, kind, struct mnode, member)
#define QUEUE(kind, name, member)  ROW_FIELD(name, kind, struct stored_queue, member)
#define SEG(kind, member)          ROW_FIELD(#member, kind, struct stored_seg, member)
#define ALIAS(member)              ROW_FIELD(#member, ROW_UINT, struct malias, member)
#define MARK(kind, member)         ROW_FIELD(#member, kind, struct mark_row, member)
#define UNREPORTED(kind, member)   ROW_FIELD(#member, kind, struct munreported, member)
#define SCHED(kind, name, member)  ROW_FIELD(name, kind, struct schedule, member)
#define DRAW(member)               ROW_FIELD(#member, ROW_UINT, struct schedule_draw, member)

const struct json_row meta_row = ROW_OBJECT(
    ROW_OPTIONAL("format", ROW_UINT, struct stored_meta, format), META(ROW_UINT, "epoch", epoch),
    META(ROW_UINT, "next_seg", next_seg), META(ROW_UINT, "next_queue", next_queue),
    META(ROW_UINT, "next_node", next_node),
    ROW_OPTIONAL("store", ROW_UINT, struct stored_meta, cluster_id));
const struct json_row node_row =
    ROW_OBJECT(NODE(ROW_UINT, no), NODE(ROW_TEXT, name), NODE(ROW_BOOL, draining),
               NODE_MAY(ROW_TEXT, addr), NODE_MAY(ROW_TEXT, admin), NODE_MAY(ROW_HEX, pass_key),
               NODE_MAY(ROW_KEYS, other_keys));
const struct json_row queue_row =
    ROW_OBJECT(QUEUE(ROW_UINT, "id", id), QUEUE(ROW_UINT, "version", version));
const struct json_row deleted_row = ROW_ARRAY(QUEUE(ROW_TIME, "until_ms", deleted_until_ms),
                                              QUEUE(ROW_UINT, "state", deleted_state));
const struct json_row seg_row =
    ROW_ARRAY(SEG(ROW_UINT, id), SEG(ROW_UINT, node), SEG(ROW_UINT, state),
              SEG(ROW_UINT, capacity), SEG(ROW_UINT, kind), SEG(ROW_UINT, mark_end),
              SEG(ROW_FLAG, early), SEG(ROW_UINT, drawn), SEG(ROW_TEXT, seed),
              SEG(ROW_UINT, moves_from), SEG(ROW_UINT, base));
const struct json_row alias_row =
    ROW_ARRAY(ALIAS(from), ALIAS(to), ALIAS(capacity), ALIAS(mark_end), ALIAS(base));
const struct json_row unreported_row =
    ROW_ARRAY(UNREPORTED(ROW_UINT, n), UNREPORTED(ROW_TIME, until_ms));
const struct json_row mark_row =
    ROW_ARRAY(MARK(ROW_UINT, seg), MARK(ROW_UINT, from), MARK(ROW_UINT, end),
              MARK(ROW_TIME, at_ms), MARK(ROW_FLAG, again));
const struct json_row sched_row =
    ROW_OBJECT(SCHED(ROW_TIME, "early", early_for), SCHED(ROW_TIME, "opened", opened_for),
               SCHED(ROW_TIME, "closed", closed_for), SCHED(ROW_UINT, "draw", draw),
               SCHED(ROW_HEX, "seed", seed));
const struct json_row draw_row = ROW_ARRAY(DRAW(seg), DRAW(count));

void meta_put(struct mng *m)
{
    const struct stored_meta v = { .format = STORE_FORMAT,
                                   .epoch = m->epoch,
                                   .next_seg = m->seg_reserved,
                                   .next_queue = m->next_queue,
                                   .next_node = m->next_node,
                                   .cluster_id = m->cluster_id };

    out_put_json(m, "meta", json_row_write(&meta_row, &v));
}

/* Addresses and keys are the node's to say, at every registration. They are stored so that
 * after a restart a router that registers before the nodes still gets a whole map. */
void node_put(struct mng *m, const struct mnode *n)
{
    char key[96];

    snprintf(key, sizeof(key), "node/%s", n->name);
    out_put_json(m, key, json_row_write(&node_row, n));
}

void def_put(struct mng *m, const struct mqueue *q)
{
    const struct stored_queue v = { q->id, q->version, q->deleted_until_ms,
                                    (uint32_t)q->deleted_state };
    json_t *j = json_row_write(&queue_row, &v);
    char key[96];

    snprintf(key, sizeof(key), "queue/%s", q->def.name);
    if (json_object_set_new(j, "def", def_keys_json(&q->def, queue_def_keys)) < 0 ||
        (v.deleted_until_ms != 0 &&
         json_object_set_new(j, "deleted", json_row_write(&deleted_row, &v)) < 0)) {
        json_decref(j);
        j = NULL;
    }
    out_put_json(m, key, j);
}

static json_t *seg_json(const struct mseg *s)
{
    struct stored_seg v = { .id = s->id,
                            .node = s->node->no,
                            .state = s->state,
                            .capacity = s->capacity,
                            .kind = s->kind,
                            .mark_end = s->mark_end,
                            .early = s->pre.early,
                            .drawn = s->pre.n,
                            .moves_from = s->moves_from,
                            .base = s->base };

    if (s->pre.n != 0)
        sodium_bin2hex(v.seed, sizeof(v.seed), s->pre.seed, sizeof(s->pre.seed));
    return json_row_write(&seg_row, &v);
}

static json_t *lane_json(const struct mlane *l)
{
    json_t *segs = json_array();

    each_seg(l, s) {
        if (alias_of(l, s->id) != 0)
            continue; /* source of a committed move: its tickets are the target's */
        if (s->want_remove)
            continue; /* empty for good: if it is missing, it is not lost */
        json_array_append_new(segs, seg_json(s));
    }
    return json_pack("{s:o,s:o,s:I,s:I}", "segs", segs, "aliases",
                     json_rows_write(&alias_row, l->alias, l->n_alias, sizeof(*l->alias)),
                     "told", (json_int_t)l->stored_told_ms, "ordinals", (json_int_t)l->ordinals);
}

void chain_put(struct mng *m, const struct mqueue *q)
{
    json_t *lanes = json_array();
    char key[96];

    assert(q->n_lanes <= LANES_MAX);
    for (unsigned i = 0; i < q->n_lanes; i++)
        json_array_append_new(lanes, lane_json(&q->lane[i]));
    snprintf(key, sizeof(key), "chain/%u", q->id);
    out_put_json(m, key,
                 json_pack("{s:o,s:o,s:o}", "lanes", lanes, "flushed",
                           json_row_write(&unreported_row, &q->flushed), "lost",
                           json_row_write(&unreported_row, &q->lost)));
}

void sched_put(struct mng *m, const struct mqueue *q)
{
    const struct schedule *s = &q->sched;
    json_t *j = json_row_write(&sched_row, s);
    char key[32];

    snprintf(key, sizeof(key), "sched/%u", q->id);
    if (json_object_set_new(j, "draws", json_rows_write(&draw_row, s->draws, s->n_draws,
                                                        sizeof(s->draws[0]))) < 0 ||
        (q->moved != NULL && json_object_set_new(j, "moved", json_string(q->moved)) < 0)) {
        json_decref(j);
        j = NULL;
    }
    out_put_json(m, key, j);
}

/* Walks the list of fields, in both directions. */

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

int def_from_json(void *def, size_t size, const struct cfg_key *keys, const json_t *j,
                  const char *key, struct err *e)
{
    char *text = json_dumps(j, JSON_COMPACT);
    int rc;

    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    rc = cfg_read_json(def, size, keys, text, strlen(text), key, e);
    free(text);
    return rc;
}
