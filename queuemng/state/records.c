/* records.c: the lists of the records' fields, and the writers. core/load.c reads. */
#include "queuemng/state/records.h"

#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>

#include "common/base/versions.h"
#include "queuemng/state/alias.h"
#include "queuemng/state/json_row.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define META(kind, name, member)   ROW_FIELD(name, kind, struct stored_meta, member)
#define NODE(kind, member)         ROW_FIELD(#member, kind, struct mnode, member)
#define NODE_MAY(kind, member)     ROW_OPTIONAL(#member, kind, struct mnode, member)
#define QUEUE(kind, name, member)  ROW_FIELD(name, kind, struct stored_queue, member)
#define SEG(kind, member)          ROW_FIELD(#member, kind, struct stored_seg, member)
#define SEG_MAY(kind, member)      ROW_OPTIONAL(#member, kind, struct stored_seg, member)
#define ALIAS(member)              ROW_FIELD(#member, ROW_UINT, struct malias, member)
#define ALIAS_MAY(member)          ROW_OPTIONAL(#member, ROW_UINT, struct malias, member)
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
              SEG(ROW_UINT, capacity), SEG(ROW_UINT, kind), SEG_MAY(ROW_UINT, mark_end),
              SEG_MAY(ROW_FLAG, early), SEG_MAY(ROW_UINT, drawn), SEG_MAY(ROW_TEXT, seed),
              SEG_MAY(ROW_UINT, moves_from));
const struct json_row alias_row =
    ROW_ARRAY(ALIAS(from), ALIAS(to), ALIAS_MAY(capacity), ALIAS_MAY(mark_end));
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
    if (json_object_set_new(j, "def", def_json(&q->def, queue_def_keys)) < 0 ||
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
                            .moves_from = s->moves_from };

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
    return json_pack("{s:o,s:o,s:I}", "segs", segs, "aliases",
                     json_rows_write(&alias_row, l->alias, l->n_alias, sizeof(*l->alias)),
                     "told", (json_int_t)l->stored_told_ms);
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
                                                        sizeof(s->draws[0]))) < 0) {
        json_decref(j);
        j = NULL;
    }
    out_put_json(m, key, j);
}
