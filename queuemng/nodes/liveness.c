/* liveness.c: silent nodes. */
#include "queuemng/nodes/liveness.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move.h"
#include "queuemng/nodes/directory.h"
#include "queuemng/nodes/retire.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/node.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "node"

void node_lost(struct mng *m, struct mnode *n)
{
    log_error("event=node_lost node=%s silent_ms=%lld segments=%zu", n->name,
              (long long)(m->now_ms - n->down_ms), n->segs.n);
    n->given_up = true;
    each_node_seg(n, s) {
        if (!seg_is_lost(s))
            seg_lost(m, s);
    }
}

static void node_down_tick(struct mng *m, struct mnode *n)
{
    msec_t down = m->now_ms - n->down_ms;

    assert(n->peer == 0 && !n->registered);
    if (n->given_up)
        return;
    if (down >= m->opts.lost_after_ms) {
        node_lost(m, n);
        return;
    }
    each_node_seg(n, s) {
        if (s->state == SEG_OPEN && down >= MNG_TAIL_AFTER_MS)
            lane_touch(m, s->lane);
    }
}

void nodes_tick(struct mng *m)
{
    each_node(m, n) {
        if (n->refused_ms != 0 && m->now_ms - n->refused_ms >= MNG_REFUSED_MS) {
            n->refused_ms = 0;
            lanes_look(m);
        }
        if (n->peer == 0)
            node_down_tick(m, n);
        else if (n->draining && n->registered && n->segs.n != 0)
            moves_drain(m, n);
        if (n->draining || n->retired)
            node_retire_tick(m, n);
    }
    (void)directory_look(m);
}
