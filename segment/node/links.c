/* links.c: links come and go. */
#include "segment/node/links.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "segment/core/clock.h"
#include "segment/core/state.h"
#include "segment/directory/members.h"
#include "segment/node/report.h"
#include "segment/node/step.h"
#include "segment/replica/seen.h"
#include "segment/tickets/passes.h"
#include "segment/transfer/moves.h"

#define LOG_MODULE "segtab"

static void router_up(struct segtab *t, peer_no no, struct outbox *out)
{
    segtab_rest(t);
    t->clock_runs = ++t->n_routers > 0;
    segtab_passes_all(t, no, out);
}

static void router_down(struct segtab *t, const struct peer *gone)
{
    t->clock_runs = --t->n_routers > 0;
    replica_gone(t, &gone->listener);
}

static void segment_up(struct segtab *t, peer_no no, struct outbox *out)
{
    segtab_moves_peer(t, segtab_peer(t, no), true, out);
    segtab_dir_up(t, segtab_peer(t, no)->name);
}

void peer_up(struct segtab *t, const struct segtab_in *in, struct outbox *out)
{
    struct peer *p = peer_add(t, in->peer, in->role, in->name);

    if (p == NULL) {
        log_error("event=no_memory what=peer peer=%" PRIu32, in->peer); /* the peer comes again */
        return;
    }
    p->older = in->older;
    if (p->role == RPC_ROUTER)
        router_up(t, p->no, out);
    else if (p->role == RPC_MANAGER)
        segtab_register(t, p->no, out);
    else
        segment_up(t, p->no, out);
}

static void segment_down(struct segtab *t, const struct peer *gone, struct outbox *out)
{
    segtab_moves_peer(t, gone, false, out);
    segtab_dir_down(t, gone->no, gone->name);
}

void peer_down(struct segtab *t, peer_no no, struct outbox *out)
{
    struct peer *p = segtab_peer(t, no), gone;

    if (p == NULL)
        return;
    gone = *p;
    *p = t->peers[--t->n_peers];
    assert(gone.role != RPC_ROUTER || t->n_routers > 0);
    if (gone.role == RPC_ROUTER)
        router_down(t, &gone);
    else if (gone.role == RPC_SEGMENT)
        segment_down(t, &gone, out);
    if (t->manager != no)
        return;
    t->manager = 0;
    t->word_ms = t->now.now_ms;
}

size_t segtab_wanted(const struct segtab *t, struct node_want *v, size_t cap)
{
    return segtab_dir_wanted(t, v, segtab_moves_wanted(t, v, cap), cap);
}
