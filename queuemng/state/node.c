/* node.c: the table of segment nodes. */
#include "queuemng/state/node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/config/cfg_key.h"
#include "common/wire/msg.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "node"

#define NEIGHBOUR_PERCENT 5
#define FULL_PERCENT 97

void where_set(struct where *w, const char *region, const char *zone)
{
    bool in_region = region != NULL && cfg_name_ok(region);
    bool in_zone = zone != NULL && cfg_name_ok(zone);

    snprintf(w->region, sizeof(w->region), "%s", in_region ? region : "");
    snprintf(w->zone, sizeof(w->zone), "%s", in_zone ? zone : "");
}

struct mnode *node_by_no(const struct mng *m, node_no no)
{
    return no != 0 && no <= m->n_nodes ? m->node[no - 1] : NULL;
}

struct mnode *node_after(const struct mng *m, node_no no)
{
    while (no < m->n_nodes)
        if (m->node[no++] != NULL)
            return m->node[no - 1];
    return NULL;
}

struct mnode *node_by_name(const struct mng *m, const char *name)
{
    each_node(m, n)
        if (strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

struct mnode *node_new(struct mng *m, node_no no, const char *name)
{
    struct mnode *n = calloc(1, sizeof(*n));

    assert(no != 0 && node_by_no(m, no) == NULL);
    if (n == NULL)
        return NULL;
    if (no > m->n_nodes) {
        struct mnode **v = realloc(m->node, no * sizeof(*v));

        if (v == NULL) {
            free(n);
            return NULL;
        }
        memset(v + m->n_nodes, 0, (no - m->n_nodes) * sizeof(*v));
        m->node = v;
        m->n_nodes = no;
    }
    n->no = no;
    n->down_ms = m->now_ms;
    strncpy(n->name, name, NAME_MAX_LEN);
    list_init(&n->segs);
    m->node[no - 1] = n;
    if (no >= m->next_node)
        m->next_node = no + 1;
    m->put_meta = true;
    return n;
}

/* Records come in any order: one that names a node or queue not seen yet makes it. */
struct mnode *node_at(struct mng *m, node_no no)
{
    struct mnode *n = node_by_no(m, no);

    return n != NULL ? n : node_new(m, no, "");
}

void node_free(struct mnode *n)
{
    assert(n->segs.n == 0);
    free(n->ahead);
    free(n->pace);
    free(n->stored);
    free(n);
}

#define WAY_MS     10000
#define WAY_MAX_MS 1000 /* a node farther away counts as that far */

void node_way_note(struct mnode *n, msec_t ms, msec_t now_ms)
{
    n->way.n = u32_min(n->way.n + 1, NODE_WAY_SURE);
    if (n->way.n == 1 || now_ms - n->way.since_ms >= WAY_MS) {
        n->way.was_ms = n->way.n == 1 ? ms : n->way.least_ms;
        n->way.least_ms = ms;
        n->way.since_ms = now_ms;
    }
    n->way.least_ms = ms_min(n->way.least_ms, ms);
}

msec_t node_way_ms(const struct mnode *n)
{
    msec_t ms = ms_min(n->way.least_ms, n->way.was_ms);

    return n->way.n < NODE_WAY_SURE ? 0 : ms_min(ms, WAY_MAX_MS);
}

bool node_is_reached(const struct mng *m, const struct mnode *n)
{
    return n->registered && m->now_ms - n->heard_ms <= MNG_SILENT_MS;
}

bool nodes_are_foreign(const struct mng *m)
{
    unsigned n_foreign = 0;

    each_node(m, n) {
        if (n->registered)
            return false;
        n_foreign += n->foreign;
    }
    return n_foreign != 0;
}

/* ---- the node for a segment ------------------------------------------------------ */

static uint64_t score(const struct mng *m, const struct mnode *n, const struct mseg *near)
{
    uint64_t percent = n->max_tickets != 0 ? n->tickets * 100 / n->max_tickets : 100;

    if (near != NULL && near->node == n)
        percent += NEIGHBOUR_PERCENT;
    if (m->region.region[0] != '\0' && strcmp(n->where.region, m->region.region) != 0)
        percent += REGION_PERCENT;
    return percent << 32 | n->used;
}

bool node_is_closed(const struct mnode *n)
{
    return n->draining || n->no_room || n->holds_on;
}

static bool may_host(const struct mnode *n)
{
    return n->registered && !node_is_closed(n) && n->refused_ms == 0 && n->used < n->max_segments &&
           n->tickets * 100 < n->max_tickets * FULL_PERCENT;
}

struct mnode *place_pick(const struct mng *m, const struct mseg *near, const struct mnode *except,
                         int64_t opens_ms)
{
    struct mnode *best = NULL;

    each_node(m, n) {
        if (n == except || !may_host(n) || (opens_ms != 0 && n->past_opening_ms >= opens_ms))
            continue;
        if (best == NULL || score(m, n, near) < score(m, best, near))
            best = n;
    }
    assert(best == NULL || (best != except && best->registered));
    return best;
}

/* ---- what a node of either kind says of this manager ---------------------------------------------- */

void note_epoch(struct mng *m, const char *node, uint64_t seen)
{
    if (seen <= m->epoch)
        return;
    m->fenced_by = u64_max(m->fenced_by, seen);
    log_error("event=fenced node=%s seen=%llu epoch=%llu note=\"another manager commands this node\"",
              node, (unsigned long long)seen, (unsigned long long)m->epoch);
}

void note_refusal(struct mng *m, const char *node, const struct msg_error *g)
{
    log_warn("event=refused node=%s code=%d about=%s text=%s", node, g->code,
             msg_name((enum msg_type)g->about), log_q(g->text, strnlen(g->text, 200)));
    if (g->code == SQ_ESTALE)
        m->fenced_by = u64_max(m->fenced_by, m->epoch);
}
