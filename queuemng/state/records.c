/* records.c: writes the stored records. core/load.c reads them. */
#include "queuemng/state/records.h"

#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>

#include "common/base/versions.h"
#include "queuemng/state/alias.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"


void put_meta(struct mng *m)
{
    out_put_json(m, "meta",
             json_pack("{s:i,s:I,s:I,s:I,s:I,s:I}", "format", STORE_FORMAT, "epoch",
                       (json_int_t)m->epoch, "next_seg", (json_int_t)m->seg_reserved,
                       "next_queue", (json_int_t)m->next_queue, "next_node",
                       (json_int_t)m->next_node, "store", (json_int_t)m->cluster_id));
}

static void to_hex(char *out, const uint8_t *p, size_t n)
{
    *out = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", p[i]);
}

/* Addresses and keys are the node's to say, at every registration. They are kept so that
 * after a restart a router that registers before the nodes still gets a whole map. */
void node_put(struct mng *m, const struct mnode *n)
{
    char key[96], hex[2 * sizeof(n->pass_key) + 1],
        others[2 * sizeof(n->other_keys.key) + 1];

    to_hex(hex, n->pass_key, sizeof(n->pass_key));
    to_hex(others, n->other_keys.key[0], n->other_keys.n * sizeof(n->pass_key));
    snprintf(key, sizeof(key), "node/%s", n->name);
    out_put_json(m, key,
             json_pack("{s:I,s:s,s:b,s:s,s:s,s:s,s:s}", "no", (json_int_t)n->no, "name",
                       n->name, "draining", n->draining, "addr", n->addr, "admin",
                       n->admin, "pass_key", hex, "other_keys", others));
}

static json_t *deleted_json(const struct mqueue *q)
{
    return q->deleted_until_ms == 0 ? NULL
                                    : json_pack("[I,i]", (json_int_t)q->deleted_until_ms,
                                                q->deleted_state);
}

void put_def(struct mng *m, const struct mqueue *q)
{
    struct buf b;
    char key[96];
    json_t *def;

    buf_init(&b);
    cfg_dump_json(&b, &q->def, queue_def_keys);
    def = b.failed ? NULL : json_loadb((const char *)b.data, b.len, 0, NULL);
    buf_fini(&b);
    snprintf(key, sizeof(key), "queue/%s", q->def.name);
    out_put_json(m, key,
             def == NULL ? NULL
                         : json_pack("{s:I,s:I,s:o,s:o*}", "id", (json_int_t)q->id,
                                     "version", (json_int_t)q->version, "def", def,
                                     "deleted", deleted_json(q)));
}

static json_t *seg_json(const struct mseg *s)
{
    char seed[DRAW_HEX + 1] = "";

    if (s->pre.n != 0)
        to_hex(seed, s->pre.seed, sizeof(s->pre.seed));
    return json_pack("[I,I,i,I,i,I,i,I,s]", (json_int_t)s->id, (json_int_t)s->node->no, s->state,
                     (json_int_t)s->capacity, s->kind, (json_int_t)s->mark_end, s->pre.early,
                     (json_int_t)s->pre.n, seed);
}

static json_t *lane_json(const struct mlane *l)
{
    json_t *segs = json_array(), *aliases = json_array();

    each_seg(l, s) {
        if (alias_of(l, s->id) != 0)
            continue; /* source of a committed move: its tickets are the target's */
        if (s->want_remove)
            continue; /* nobody is in it any more: if it is missing, it is not lost */
        json_array_append_new(segs, seg_json(s));
    }
    for (uint32_t i = 0; i < l->n_alias; i++) {
        const struct malias *x = &l->alias[i];

        json_array_append_new(aliases,
                              json_pack("[I,I,I,I]", (json_int_t)x->from, (json_int_t)x->to,
                                        (json_int_t)x->capacity, (json_int_t)x->mark_end));
    }
    return json_pack("{s:o,s:o,s:I}", "segs", segs, "aliases", aliases, "told",
                     (json_int_t)l->stored_told_ms);
}

void put_chain(struct mng *m, const struct mqueue *q)
{
    json_t *lanes = json_array();
    char key[96];

    assert(q->n_lanes <= LANES_MAX);
    for (unsigned i = 0; i < q->n_lanes; i++)
        json_array_append_new(lanes, lane_json(&q->lane[i]));
    snprintf(key, sizeof(key), "chain/%u", q->id);
    out_put_json(m, key,
                  json_pack("{s:o,s:[I,I],s:[I,I]}", "lanes", lanes, "flushed",
                            (json_int_t)q->flushed.n, (json_int_t)q->flushed.until_ms, "lost",
                            (json_int_t)q->lost.n, (json_int_t)q->lost.until_ms));
}

static json_t *draws_json(const struct schedule *s)
{
    json_t *v = json_array();

    for (uint32_t i = 0; i < s->n_draws; i++)
        json_array_append_new(v, json_pack("[I,I]", (json_int_t)s->draws[i].seg,
                                           (json_int_t)s->draws[i].count));
    return v;
}

void sched_put(struct mng *m, const struct mqueue *q)
{
    const struct schedule *s = &q->sched;
    char hex[DRAW_HEX + 1], key[32];

    sodium_bin2hex(hex, sizeof(hex), s->seed, sizeof(s->seed));
    snprintf(key, sizeof(key), "sched/%u", q->id);
    out_put_json(m, key,
                  json_pack("{s:I,s:I,s:I,s:i,s:s,s:o}", "early", (json_int_t)s->early_for,
                            "opened", (json_int_t)s->opened_for, "closed",
                            (json_int_t)s->closed_for, "draw", s->draw, "seed", hex, "draws",
                            draws_json(s)));
}
