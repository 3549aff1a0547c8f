/* out.c: the acts of one step: stores and deletes as they are decided, sends at its end. */
#include "queuemng/state/out.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "queuemng/state/state.h"

void mng_out_init(struct mng_out *o)
{
    memset(o, 0, sizeof(*o));
    outbox_init(&o->box);
}

void mng_out_fini(struct mng_out *o)
{
    outbox_fini(&o->box);
    free(o->act);
    memset(o, 0, sizeof(*o));
}

void mng_out_reset(struct mng_out *o)
{
    outbox_reset(&o->box);
    o->why[0] = 0;
    o->n = 0;
}

void mng_begin(struct mng *m, msec_t now_ms, struct mng_out *out)
{
    assert(now_ms >= m->now_ms);
    m->now_ms = now_ms;
    m->out = out;
    m->count_no++;
}

struct msg *mng_to(struct mng *m, peer_no p, enum msg_type t)
{
    assert(m->out != NULL && p != 0);
    return outbox_add(&m->out->box, p, t);
}

static struct mng_act *act_add(struct mng_out *o)
{
    if (!GROW(o->act, o->n, o->cap, 64)) {
        o->box.failed = true;
        return NULL;
    }
    memset(&o->act[o->n], 0, sizeof(o->act[0]));
    return &o->act[o->n++];
}

static void act_store(struct mng *m, enum mng_act_kind kind, const char *key, const char *val)
{
    struct arena *a = &m->out->box.mem;
    struct mng_act *act = act_add(m->out);

    assert(key[0] != '\0' && (val != NULL) == (kind == MNG_PUT));
    if (act == NULL)
        return;
    act->kind = kind;
    act->key = arena_strdup(a, key);
    act->val = val != NULL ? arena_strdup(a, val) : NULL;
    if (act->key == NULL || (val != NULL && act->val == NULL)) {
        m->out->n--;
        m->out->box.failed = true;
    }
}

void out_put_json(struct mng *m, const char *key, json_t *j)
{
    char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;

    if (text != NULL) {
        act_store(m, MNG_PUT, key, text);
    } else {
        m->out->box.failed = true;
        snprintf(m->out->why, sizeof(m->out->why), "the record %s cannot be written as JSON", key);
    }
    free(text);
    json_decref(j);
}

void out_del(struct mng *m, const char *key)
{
    act_store(m, MNG_DEL, key, NULL);
}

void out_sends(struct mng *m)
{
    for (uint32_t i = 0; i < m->out->box.n; i++) {
        struct mng_act *a = act_add(m->out);

        if (a == NULL)
            break;
        a->kind = MNG_SEND;
        a->item = i;
    }
}

/* ---- one message for each node ---------------------------------------------------- */

void batch_ahead(struct mng *m, struct mnode *n, seg_id seg, uint64_t ahead)
{
    assert(n->n_ahead <= n->cap_ahead);
    if (!GROW(n->ahead, n->n_ahead, n->cap_ahead, 64)) {
        m->out->box.failed = true;
        return;
    }
    n->ahead[n->n_ahead++] = (struct ahead_entry){ .seg = seg, .ahead = ahead };
}

void batch_lane_pace(struct mng *m, const struct mlane *l, struct mnode *n)
{
    assert(n->n_pace <= n->cap_pace);
    if (!GROW(n->pace, n->n_pace, n->cap_pace, 16)) {
        m->out->box.failed = true;
        return;
    }
    n->pace[n->n_pace++] = (struct pace_entry){ .queue = l->q->id,
                                                .lane = (uint8_t)l->no,
                                                .min_ms = l->pace.min_ms,
                                                .max_ms = l->pace.max_ms,
                                                .us_per_place = l->pace.us_per_place,
                                                .soon = l->soon };
}

void batch_stored(struct mnode *n, seg_id seg, uint64_t tick)
{
    assert(n->n_stored <= n->cap_stored);
    if (!GROW(n->stored, n->n_stored, n->cap_stored, 16))
        return; /* said again later */
    n->stored[n->n_stored++] = (struct kept_entry){ .seg = seg, .tick = tick };
}

void batch_send(struct mng *m, struct mnode *n)
{
    uint32_t a = 0, p = 0, k = 0;

    while (n->registered && (a < n->n_ahead || p < n->n_pace || k < n->n_stored)) {
        struct msg_seg_ahead *g = &mng_to(m, n->peer, MSG_SEG_AHEAD)->seg_ahead;
        uint32_t na = (uint32_t)u64_min(n->n_ahead - a, MSG_STATUS_MAX);
        uint32_t np = (uint32_t)u64_min(n->n_pace - p, MSG_STATUS_MAX);
        uint32_t nk = (uint32_t)u64_min(n->n_stored - k, MSG_STATUS_MAX);

        g->epoch = m->epoch;
        g->v = arena_memdup(&m->out->box.mem, n->ahead + a, na * sizeof(*n->ahead));
        g->pace = arena_memdup(&m->out->box.mem, n->pace + p, np * sizeof(*n->pace));
        g->kept = arena_memdup(&m->out->box.mem, n->stored + k, nk * sizeof(*n->stored));
        g->n_kept = g->kept != NULL ? nk : 0;
        g->n = g->v != NULL ? na : 0;
        g->n_pace = g->pace != NULL ? np : 0;
        a += na;
        p += np;
        k += nk;
    }
    n->n_ahead = n->n_pace = n->n_stored = 0;
}
