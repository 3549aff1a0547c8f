/* retire.c: nodes that were drained and have gone. */
#include "queuemng/nodes/retire.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/nodes/directory.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "node"

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
