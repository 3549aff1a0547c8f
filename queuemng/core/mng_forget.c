/* mng_forget.c: segment nodes that have been taken away. A node is known by its name for
 * ever, since what is in its segments is there when it comes back; until an operator has
 * drained it and it is gone, or says himself that it will not come.
 *
 *   draining, empty, no link = retired: routers and Prometheus are not told of it any more
 *   retired for forget_after, or by order (mng_forget) = forgotten: as if it had never been
 *
 * What is left on its disk is nobody's: its segments were moved or opened elsewhere. Should it
 * come back, it is a new node, and is told to forget them. The key with which it signed passes
 * stays in the map as long as such a pass can be good, unless another node has it, too. */
#include "queuemng/core/mng_int.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "member"

static bool is_gone(const struct mnode *n)
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

    list_each(&m->queues, it)
        ms = ms_max(ms, queue_session_ms(&list_entry(it, struct mqueue, in_all)->def));
    return ms;
}

/* For so long passes may be about that only this node's key proves. */
static msec_t key_needed_ms(const struct mng *m, const struct mnode *n)
{
    msec_t left = n->down_ms + longest_session_ms(m) - m->now_ms;

    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (m->node[i] != NULL && m->node[i] != n && has_key(m->node[i], n->pass_key))
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

static void node_forget(struct mng *m, struct mnode *n, const char *why)
{
    char key[NAME_MAX_LEN + 8];

    log_info("event=node_forgotten node=%s no=%u why=%s", n->name, n->no, why);
    n->gave_up = true; /* so it is no member of the directory */
    (void)members_look(m);
    snprintf(key, sizeof(key), "node/%s", n->name);
    keep_del(m, key);
    m->node[n->no - 1] = NULL;
    node_free(n);
    map_nodes_changed(m);
}

void node_retire_tick(struct mng *m, struct mnode *n)
{
    bool retired = n->draining && is_gone(n);

    if (retired != n->retired) {
        n->retired = retired;
        map_nodes_changed(m);
    }
    if (node_forget_in_ms(m, n) == 0)
        node_forget(m, n, "drained");
}

/* Its segments are opened elsewhere as if it had been silent for lost_after; what that
 * leaves is waited for, and it is forgotten when nothing is left. */
static void node_give_up(struct mng *m, struct mnode *n)
{
    n->draining = true;
    node_put(m, n);
    node_lost(m, n);
}

static int may_forget(const struct mng *m, const struct mnode *n, bool force, struct err *e)
{
    uint64_t waiting = 0, inside = 0;

    if (n->peer != 0)
        return err_set(e, SQ_ECONFLICT, "node %s is up: drain it, and stop it when it is "
                       "empty", n->name);
    if (force)
        return 0;
    list_each(&n->segs, it) {
        const struct seg_status *st = &list_entry(it, struct mseg, on_node)->st;

        waiting += (uint64_t)st->waiting + st->returning;
        inside += (uint64_t)st->ready + st->active;
    }
    if (!is_gone(n))
        return err_set(e, SQ_ECONFLICT,
                       "node %s has %zu segments: %llu people wait in them, %llu are inside. "
                       "They are opened on another node with room %lld s after it went "
                       "silent; to do so now: force",
                       n->name, n->segs.n, (unsigned long long)waiting,
                       (unsigned long long)inside, (long long)m->opts.lost_after_ms / 1000);
    if (key_needed_ms(m, n) > 0)
        return err_set(e, SQ_ECONFLICT,
                       "node %s alone has the key of passes that may be good for another "
                       "%lld s; to have them refused: force",
                       n->name, (long long)key_needed_ms(m, n) / 1000);
    return 0;
}

int mng_forget(struct mng *m, msec_t now_ms, const char *node, bool force,
               struct mng_forget_end *end, struct mng_out *out, struct err *e)
{
    struct mnode *n = node_by_name(m, node);
    int rc;

    *end = (struct mng_forget_end){ 0 };
    if (n == NULL)
        return err_set(e, SQ_EUNKNOWN, "no node %s", node);
    mng_begin(m, now_ms, out);
    rc = may_forget(m, n, force, e);
    if (rc == 0 && !is_gone(n)) {
        node_give_up(m, n);
        for (struct list_node *it = list_first(&n->segs); it != NULL;
             it = list_first(&n->segs)) { /* planned now: they may go elsewhere at once */
            size_t before = n->segs.n;

            lane_plan(m, list_entry(it, struct mseg, on_node)->lane);
            if (n->segs.n == before)
                break;
        }
    }
    if (rc == 0 && is_gone(n)) {
        node_forget(m, n, "order");
        end->forgotten = true;
    } else if (rc == 0) {
        end->segments = (uint32_t)n->segs.n;
    }
    mng_end(m);
    return rc;
}
