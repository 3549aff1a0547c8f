/* place.c: picks a node for a segment. */
#include "queuemng/chain/place.h"

#include <assert.h>

#include "queuemng/state/node.h"
#include "queuemng/state/state.h"

#define NEIGHBOUR_PERCENT 5
#define FULL_PERCENT 97

static uint64_t score(const struct mnode *n, const struct mseg *near)
{
    uint64_t percent = n->max_tickets != 0 ? n->tickets * 100 / n->max_tickets : 100;

    if (near != NULL && near->node == n)
        percent += NEIGHBOUR_PERCENT;
    return percent << 32 | n->used;
}

static bool may_host(const struct mnode *n)
{
    return n->registered && !n->draining && n->refused_ms == 0 && n->used < n->max_segments &&
           n->tickets * 100 < n->max_tickets * FULL_PERCENT;
}

struct mnode *place_pick(struct mng *m, const struct mseg *near, const struct mnode *except,
                         bool draws, int64_t opens_ms)
{
    struct mnode *best = NULL;

    each_node(m, n) {
        if (n == except || !may_host(n) || (draws && !n->draws) ||
            (opens_ms != 0 && n->past_opening_ms >= opens_ms))
            continue;
        if (best == NULL || score(n, near) < score(best, near))
            best = n;
    }
    assert(best == NULL || (best != except && best->registered));
    return best;
}
