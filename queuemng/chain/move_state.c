/* move_state.c: the states of a move, and the orders that each repeats. */
#include "queuemng/chain/move_state.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/out.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "move"
#define TO(s) (1u << (s))

static const unsigned move_next[MOVE_NSTATES] = {
    [MOVE_PLANNED] = TO(MOVE_COPY) | TO(MOVE_ABORTING),
    [MOVE_COPY] = TO(MOVE_COMMITTING) | TO(MOVE_ABORTING),
    [MOVE_COMMITTING] = TO(MOVE_CLEARING) | TO(MOVE_ABORTING),
};

const char *move_state_name(enum move_state s)
{
    static const char *const names[] = { "planned", "copying", "committing", "clearing",
                                         "aborting" };

    assert(s < MOVE_NSTATES);
    return names[s];
}

void move_set(struct mng *m, struct mmove *v, enum move_state to)
{
    assert(move_next[v->state] & TO(to));
    log_info("event=move move=%llu from=%llu to=%llu state=%s>%s",
             (unsigned long long)v->id, (unsigned long long)v->from_id,
             (unsigned long long)v->to_id, move_state_name(v->state), move_state_name(to));
    v->state = to;
    v->progress_ms = m->now_ms;
    v->sent_ms = 0;
}

struct mmove *move_find(const struct mng *m, uint64_t id)
{
    each_move(m, v)
        if (v->id == id)
            return v;
    return NULL;
}

/* A fresh target that its node never opened is not tried on: the next move makes its own.
 * If it is opened after all, it is nobody's and forgotten. */
static void target_forget(struct mng *m, struct mseg *x)
{
    if (x->kind != OPEN_TARGET || seg_is_announced(x))
        return;
    queue_chain_changed(m, x->lane->q);
    seg_unlink(m, x);
}

void move_free(struct mng *m, struct mmove *v)
{
    if (v->from != NULL) {
        v->from->move = NULL;
        lane_touch(m, v->from->lane);
    }
    if (v->to != NULL) {
        v->to->move = NULL;
        lane_touch(m, v->to->lane);
        target_forget(m, v->to);
    }
    assert(v->from_node->moves > 0 && v->to_node->moves > 0);
    v->from_node->moves--;
    v->to_node->moves--;
    list_remove(&m->moves, &v->in);
    free(v);
}

static void order_in(struct mng *m, const struct mmove *v)
{
    assert(v->state == MOVE_PLANNED && v->from != NULL);
    struct msg_move_in *o = &mng_to(m, v->to_node->peer, MSG_MOVE_IN)->move_in;

    o->epoch = m->epoch;
    o->move = v->id;
    o->from = v->from_id;
    o->to = v->to_id;
    o->expect = v->from->st.waiting;
}

static void order_out(struct mng *m, const struct mmove *v)
{
    struct msg_move_out *o = &mng_to(m, v->from_node->peer, MSG_MOVE_OUT)->move_out;

    o->epoch = m->epoch;
    o->move = v->id;
    o->from = v->from_id;
    o->to = v->to_id;
    o->peer_name = arena_strdup(&m->out->box.mem, v->to_node->name);
    o->peer_addr = arena_strdup(&m->out->box.mem, v->to_node->addr);
}

void order_end(struct mng *m, const struct mnode *n, uint64_t id, seg_id from,
                      seg_id to, bool commit)
{
    struct msg_move_end *o = &mng_to(m, n->peer, MSG_MOVE_END)->move_end;

    o->epoch = m->epoch;
    o->move = id;
    o->from = from;
    o->to = to;
    o->commit = commit;
}

void move_say(struct mng *m, struct mmove *v)
{
    bool to_up = v->to_node->registered, from_up = v->from_node->registered;

    v->sent_ms = m->now_ms;
    switch (v->state) {
    case MOVE_PLANNED:
        if (to_up && seg_is_announced(v->to))
            order_in(m, v);
        break;
    case MOVE_COPY:
        if (from_up)
            order_out(m, v);
        break;
    case MOVE_COMMITTING:
        if (to_up)
            order_end(m, v->to_node, v->id, v->from_id, v->to_id, true);
        break;
    case MOVE_CLEARING:
        if (from_up)
            order_end(m, v->from_node, v->id, v->from_id, v->to_id, true);
        break;
    case MOVE_ABORTING:
        if (to_up && !v->to_done)
            order_end(m, v->to_node, v->id, v->from_id, v->to_id, false);
        if (from_up && !v->from_done)
            order_end(m, v->from_node, v->id, v->from_id, v->to_id, false);
        break;
    case MOVE_NSTATES:
        break;
    }
}
