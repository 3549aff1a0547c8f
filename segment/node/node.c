/* node.c: a node's table: its beginning and its end. */
#include "segment/node/node.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "segment/core/rules.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/directory/members.h"
#include "segment/replica/push.h"
#include "segment/restore/stage.h"
#include "segment/transfer/move.h"

struct segtab *segtab_new(const struct segtab_opts *o)
{
    struct segtab *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    assert(o->make_pass != NULL);
    t->o = *o;
    copy_text(t->addr, sizeof(t->addr), o->addr);
    copy_text(t->admin, sizeof(t->admin), o->admin);
    t->o.retry_ms = o->retry_ms > 0 ? o->retry_ms : 1000;
    t->o.sweep_blocks = o->sweep_blocks > 0 ? o->sweep_blocks : 4096;
    block_pool_init(&t->pool, segtab_max_blocks(o));
    map_init(&t->locations, 0);
    map_init(&t->queues, 0);
    list_init(&t->segs);
    list_init(&t->dirty);
    list_init(&t->active);
    list_init(&t->moves);
    list_init(&t->replica.names);
    map_init(&t->replica.by_name, 0);
    dirs_init(&t->dir);
    outbox_init(&t->loop[0]);
    outbox_init(&t->loop[1]);
    t->service_ms = SEGTAB_UNIT_MS * 1000;
    return t;
}

void segtab_free(struct segtab *t)
{
    uint64_t key, val;

    if (t == NULL)
        return;
    assert(t->snap == NULL);
    segtab_dir_mode(t, false); /* tell nobody of what ends now */
    each_move (t, v)
        segtab_move_free(t, v);
    replica_fini(t);
    each_seg (t, g)
        segtab_seg_free(t, g);
    for (size_t i = 0; (i = map_next(&t->queues, i, &key, &val)) != 0;)
        segtab_queue_free((struct queue *)(uintptr_t)val);
    dirs_fini(&t->dir);
    map_fini(&t->locations);
    map_fini(&t->queues);
    outbox_fini(&t->loop[0]);
    outbox_fini(&t->loop[1]);
    segtab_stage_free(t);
    block_pool_fini(&t->pool);
    free(t->moved);
    free(t->peers);
    free(t->changed);
    free(t);
}
