/* liveness.c: silent nodes, and those that were drained. */
#include "queuemng/nodes/liveness.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/move.h"
#include "queuemng/nodes/directory.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "node"

/* ---- nodes that were drained and have gone ---- */

bool is_gone(const struct mnode *n)
{
    return n->peer == 0 && n->segs.n == 0 && n->moves == 0;
}

static bool has_key(const struct mnode *n, const uint8_t key[32])
{
    if (memcmp(n->pass_key, key, 32) == 0)
        return true;
    for (uint32_t i = 0; i < n->other_keys.n; i++)
        if (memcmp(n->other_keys.key[i], key, 32) == 0)
            return true;
    return false;
}

static msec_t longest_session_ms(const struct mng *m)
{
    msec_t ms = 0;

    each_queue(m, q)
        ms = ms_max(ms, queue_session_ms(&q->def));
    return ms;
}

msec_t key_needed_ms(const struct mng *m, const struct mnode *n)
{
    msec_t left = n->down_ms + longest_session_ms(m) - m->now_ms;

    each_node(m, x)
        if (x != n && has_key(x, n->pass_key))
            return 0;
    return ms_max(left, 0);
}

msec_t node_forget_in_ms(const struct mng *m, const struct mnode *n)
{
    if (!n->retired)
        return -1;
    return ms_max(ms_max(n->down_ms + m->opts.forget_after_ms - m->now_ms, 0),
                  key_needed_ms(m, n));
}

void node_forget(struct mng *m, struct mnode *n, const char *why)
{
    char key[NAME_MAX_LEN + 8];

    assert(is_gone(n) && m->node[n->no - 1] == n);
    log_info("event=node_forgotten node=%s no=%u why=%s", n->name, n->no, why);
    n->given_up = true; /* to be no member of the directory */
    (void)directory_look(m);
    snprintf(key, sizeof(key), "node/%s", n->name);
    out_del(m, key);
    m->node[n->no - 1] = NULL;
    node_free(n);
    map_nodes_changed(m);
}

/* n may be freed. */
static void node_retire_tick(struct mng *m, struct mnode *n)
{
    bool retired = n->draining && is_gone(n);

    if (retired != n->retired) {
        n->retired = retired;
        map_nodes_changed(m);
    }
    if (node_forget_in_ms(m, n) == 0)
        node_forget(m, n, "drained");
}

/* ---- silent nodes ---- */

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

#define LOG_MODULE "node"
