/* map.c: what routers are told: maps, and figures. */
#include "queuemng/core/map.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/versions.h"
#include "queuemng/release/credit.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "mng"

#define CHUNK_BYTES (256 * 1024) /* bytes of a MAP frame, about */
#define KEYS_MAX 8

/* Segments behind an unconfirmed tail are not shown: its turn comes first (I3). */
static uint32_t visible(const struct mlane *l, struct map_seg *v)
{
    uint32_t n = 0;

    each_seg(l, s) {
        if (!seg_is_announced(s) && s->kind == OPEN_TAIL)
            break;
        if (!seg_is_announced(s) && s->kind != OPEN_REBUILD)
            continue; /* a rebuilt segment was shown before, and its people ask for it */
        if (v != NULL)
            v[n] = (struct map_seg){
                .id = s->id, .node = s->node->no, .state = s->state, .base = s->base
            };
        n++;
    }
    return n;
}

static bool lane_record(struct arena *a, const struct mlane *l, struct map_lane *r)
{
    r->name = arena_strdup(a, def_lane_name(&l->q->def, l->no));
    r->n_segs = visible(l, NULL);
    r->segs = arena_array(a, r->n_segs, sizeof(*r->segs));
    r->n_aliases = l->n_alias;
    r->aliases = arena_array(a, l->n_alias, sizeof(*r->aliases));
    if (r->name == NULL || r->segs == NULL || r->aliases == NULL)
        return false;
    for (uint32_t i = 0; i < l->n_alias; i++)
        r->aliases[i] = (struct map_alias){ l->alias[i].from, l->alias[i].to, l->alias[i].base };
    visible(l, r->segs);
    return true;
}

/* Takes b over; NULL: no memory. Not fit: routers take none that is so long, and nor does the check of a
 * definition; but the other queues of the map need not wait for this one. */
static const char *json_record(struct arena *a, struct buf *b, bool fits, const struct queue_def *d, const char *key)
{
    const char *text = NULL;

    if (!b->failed && !fits) {
        log_error("event=map_left_out queue=%s key=%s bytes=%zu", d->name, key, b->len);
        text = "";
    } else if (!b->failed) {
        buf_byte(b, 0);
        text = b->failed ? NULL : arena_strdup(a, (const char *)b->data);
    }
    buf_fini(b);
    return text;
}

/* The words and looks of the waiting page, as JSON; NULL: no memory. */
static const char *page_record(struct arena *a, const struct queue_def *d)
{
    struct buf b;

    if (page_def_is_empty(&d->page))
        return "";
    buf_init(&b);
    return json_record(a, &b, page_def_write(&b, &d->page), d, "page");
}

static const char *gate_record(struct arena *a, const struct queue_def *d)
{
    struct buf b;

    if (gate_def_is_empty(&d->gate))
        return "";
    buf_init(&b);
    return json_record(a, &b, gate_def_write(&b, &d->gate), d, "bypass");
}

/* The public part of the draw, as JSON; NULL: no memory. */
static const char *draw_record(struct arena *a, const struct mqueue *q)
{
    const char *text;
    struct buf b;

    if (q->sched.draw == DRAW_NONE)
        return "";
    buf_init(&b);
    schedule_put_draw(&q->sched, q->def.name, &b);
    buf_byte(&b, 0);
    text = b.failed ? NULL : arena_strdup(a, (const char *)b.data);
    buf_fini(&b);
    return text;
}

/* Networks, with commas between them. */
static const char *allow_record(struct arena *a, const struct cfg_list *l)
{
    char text[VERIFY_ALLOW_MAX + 1] = "";
    size_t n = 0;

    for (size_t i = 0; i < l->n && n < sizeof(text) - 50; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? "," : "", ((char **)l->v)[i]);
    return arena_strdup(a, text);
}

static bool queue_record(struct arena *a, const struct mqueue *q, struct map_queue *r,
                         size_t *bytes)
{
    r->id = q->id;
    r->name = arena_strdup(a, q->def.name);
    r->state = queue_map_state(q);
    r->n_lanes = q->n_lanes;
    r->lanes = arena_array(a, q->n_lanes, sizeof(*r->lanes));
    r->page = page_record(a, &q->def);
    r->when = queue_map_phase(q);
    r->when.draw = draw_record(a, q);
    if (r->when.draw == NULL)
        return false;
    r->message = q->def.message != NULL ? arena_strdup(a, q->def.message) : "";
    r->gate = gate_record(a, &q->def);
    r->moved = q->moved != NULL ? arena_strdup(a, q->moved) : "";
    r->pass_ttl_s = (uint32_t)((q->def.pass_ttl_ms + 999) / 1000);
    r->kept_s = (uint32_t)(queue_kept_ms(&q->def) / 1000);
    r->silent_s = (uint32_t)(queue_silent_ms(&q->def) / 1000);
    r->position_cap = (uint64_t)q->def.position_cap;
    r->session_max_s = (uint32_t)(q->def.session_max_ms / 1000);
    r->challenge_mode = queue_challenge_mode(&q->def);
    r->challenge_from = (uint32_t)q->def.challenge.from_joins_per_s;
    r->challenge_per_address = (uint32_t)q->def.challenge.per_address;
    r->challenge_keys = queue_challenge_keys(&q->def);
    r->verify_url = q->def.challenge.verify_url != NULL ? arena_strdup(a, q->def.challenge.verify_url) : "";
    r->verify_allow = allow_record(a, &q->def.challenge.verify_allow);
    r->verify_fallback = (uint32_t)q->def.challenge.verify_fallback;
    r->suspects = (uint32_t)q->def.suspects;
    r->suspects_from = (uint32_t)q->def.suspects_from;
    r->suspects_places = (uint32_t)q->def.suspects_places;
    r->bind = (uint32_t)q->def.bind;
    r->turn_queue = q->def.turn.queue != NULL ? arena_strdup(a, q->def.turn.queue) : "";
    r->turn_claim_s = (uint32_t)(q->def.turn.claim_ms / 1000);
    r->push_key = q->def.turn.push_key != NULL ? arena_strdup(a, q->def.turn.push_key) : "";
    r->push_contact = q->def.turn.push_contact != NULL ? arena_strdup(a, q->def.turn.push_contact) : "";
    r->turn_field = (uint32_t)q->def.turn.field;
    r->session_idle_s = (uint32_t)((queue_idle_ms(&q->def) + 999) / 1000);
    if (r->name == NULL || r->lanes == NULL || r->page == NULL || r->gate == NULL ||
        r->message == NULL || r->turn_queue == NULL || r->push_key == NULL ||
        r->push_contact == NULL || r->verify_url == NULL || r->verify_allow == NULL ||
        r->moved == NULL)
        return false;
    *bytes += strlen(r->page) + strlen(r->gate) + strlen(r->message) + strlen(r->verify_url) +
              strlen(r->verify_allow) + strlen(r->moved);
    for (unsigned i = 0; i < q->n_lanes; i++) {
        if (!lane_record(a, &q->lane[i], &r->lanes[i]))
            return false;
        *bytes += 80 + r->lanes[i].n_segs * 28u + r->lanes[i].n_aliases * 32u;
    }
    return true;
}

static bool add_nodes(const struct mng *m, struct arena *a, struct msg_map *g)
{
    g->nodes = arena_array(a, m->n_nodes, sizeof(*g->nodes));
    if (g->nodes == NULL)
        return false;
    each_node(m, n) {
        if (n->addr[0] == '\0' || n->retired)
            continue;
        g->nodes[g->n_nodes].no = n->no;
        g->nodes[g->n_nodes].name = arena_strdup(a, n->name);
        g->nodes[g->n_nodes].addr = arena_strdup(a, n->addr);
        g->n_nodes++;
    }
    return !a->failed;
}

static void add_key(struct msg_map *g, uint8_t (*keys)[32], const uint8_t key[32])
{
    for (uint32_t k = 0; k < g->n_keys; k++)
        if (memcmp(keys[k], key, 32) == 0)
            return;
    if (g->n_keys < KEYS_MAX)
        memcpy(keys[g->n_keys++], key, 32);
}

/* The nodes' public keys, each once; first those that sign. One is all there is, unless
 * keys are being rotated. */
static bool add_keys(const struct mng *m, struct arena *a, struct msg_map *g)
{
    uint8_t(*keys)[32] = arena_array(a, KEYS_MAX, 32);

    if (keys == NULL)
        return false;
    each_node(m, n)
        if (n->addr[0] != '\0')
            add_key(g, keys, n->pass_key);
    each_node(m, n)
        for (uint32_t k = 0; k < n->other_keys.n; k++)
            add_key(g, keys, n->other_keys.key[k]);
    g->keys = (const uint8_t(*)[32])keys;
    return true;
}

/* Ids below this that a router does not find in its map are gone. One that is given out
 * but not shown yet may be shown to, and joined through, another router in a moment. */
static seg_id next_shown(const struct mng *m)
{
    seg_id next = m->next_seg;

    each_todo(m, s) {
        if (!seg_is_announced(s) && s->kind != OPEN_REBUILD && s->id < next)
            next = s->id;
    }
    return next;
}

static struct msg_map *frame_begin(struct mng *m, const struct mrouter *r, uint64_t from,
                                   uint32_t room)
{
    struct arena *a = &m->out->box.mem;
    struct msg_map *g = &mng_to(m, r->peer, MSG_MAP)->map;

    g->format = MAP_FORMAT;
    g->epoch = m->epoch;
    g->from_version = from;
    g->version = m->map_version;
    g->next_seg = next_shown(m);
    g->store = m->cluster_id;
    g->more = true;
    g->queues = arena_array(a, room, sizeof(*g->queues));
    if (g->queues == NULL || !add_nodes(m, a, g) || !add_keys(m, a, g))
        return NULL;
    return g;
}

static bool add_removed(struct mng *m, struct msg_map *g, uint64_t from)
{
    g->removed = arena_array(&m->out->box.mem, m->n_tombs, sizeof(*g->removed));
    if (g->removed == NULL)
        return false;
    for (uint32_t i = 0; i < m->n_tombs; i++)
        if (m->tomb[i].version > from)
            g->removed[g->n_removed++] = m->tomb[i].id;
    return true;
}

/* Queues are listed by the version of their last change: walk back to what it has. False: no memory. */
static bool map_send(struct mng *m, const struct mrouter *r, uint64_t from)
{
    struct list_node *it = list_last(&m->queues);
    uint32_t left = 0;
    size_t bytes = 0;
    struct msg_map *g;

    for (; it != NULL && list_queue(it)->map_version > from; it = list_prev(&m->queues, it))
        left++;
    g = frame_begin(m, r, from, left);
    if (g == NULL || (from != 0 && !add_removed(m, g, from)))
        return false;
    for (it = list_last(&m->queues); left > 0; it = list_prev(&m->queues, it), left--) {
        if (bytes > CHUNK_BYTES) {
            bytes = 0;
            g = frame_begin(m, r, from, left);
            if (g == NULL)
                return false;
        }
        if (!queue_record(&m->out->box.mem, list_queue(it), &g->queues[g->n_queues], &bytes))
            return false;
        g->n_queues++;
    }
    assert(left == 0);
    g->more = false;
    return true;
}

void maps_flush(struct mng *m)
{
    bool foreign = nodes_are_foreign(m);

    each_router(m, r) {
        uint64_t from = r->sent_version;
        uint32_t before = m->out->box.n;

        if (!r->registered || from == m->map_version || foreign)
            continue;
        if (from > m->map_version || from < m->tomb_floor)
            from = 0;
        if (!map_send(m, r, from)) { /* with the next step, whole: the others, too */
            log_error("event=no_memory what=map router=%s", r->name);
            m->out->box.n = before;
            break;
        }
        r->sent_version = m->map_version;
        m->count.maps_sent++;
    }
}

/* ---- tasks ------------------------------------------------------------------------ */

static bool add_task_nodes(const struct mng *m, struct arena *a, struct msg_task_map *g)
{
    g->nodes = arena_array(a, (uint32_t)m->tasks.nodes.n, sizeof(*g->nodes));
    if (g->nodes == NULL)
        return false;
    each_task_node(m, n)
        if (n->addr[0] != '\0')
            g->nodes[g->n_nodes++] = (struct map_task_node){ n->no, arena_strdup(a, n->name),
                                                             arena_strdup(a, n->addr) };
    return !a->failed;
}

/* Names the urls of all its targets. */
static void add_urls(struct arena *a, const struct endpoint_def *d, struct map_pool *r)
{
    const struct endpoint_target *v = d->targets.v;

    r->urls = arena_array(a, (uint32_t)d->targets.n, sizeof(*r->urls));
    for (size_t i = 0; r->urls != NULL && i < d->targets.n; i++)
        r->urls[r->n_urls++] = arena_strdup(a, v[i].url);
    if (r->n_urls > 0)
        r->url = r->urls[0];
}

static struct cost_rule cost_of(struct arena *a, const struct mendpoint *e)
{
    struct cost_rule r = e != NULL ? endpoint_cost_rule(&e->def) : (struct cost_rule){ .pointer = "" };

    r.pointer = arena_strdup(a, r.pointer);
    return r;
}

static bool add_pool(const struct mng *m, struct arena *a, const struct mpool *p,
                     struct map_pool *r)
{
    const struct mendpoint *e = defined_find(m, DEF_ENDPOINT, p->def.endpoint);

    *r = (struct map_pool){ .match = arena_strdup(a, p->def.match),
                            .paused = p->def.paused,
                            .endpoint = arena_strdup(a, p->def.endpoint),
                            .url = e != NULL ? arena_strdup(a, e->def.url) : "",
                            .cancel_on_disconnect = p->def.cancel_on_disconnect,
                            .left_out = (uint8_t)(100 - p->def.rollout),
                            .max_body = (uint32_t)p->def.max_body,
                            .max_cost = (uint32_t)p->def.max_cost,
                            .cost = cost_of(a, e),
                            .n = p->n,
                            .v = arena_array(a, p->n, sizeof(*r->v)) };
    if (r->v == NULL)
        return false;
    if (e != NULL && e->def.targets.n > 0)
        add_urls(a, &e->def, r);
    for (uint32_t i = 0; i < p->n; i++) {
        const struct mpart *x = &p->part[i];

        r->v[i] = (struct map_part){ x->no, x->epoch, x->opened ? x->node->no : 0 };
    }
    return !a->failed;
}

static bool add_rule(struct arena *a, const struct route_def *d, uint32_t no, struct msg_task_map *g)
{
    const struct route_rule *r = (const struct route_rule *)d->rules.v + no;

    for (size_t i = 0; i < r->endpoints.n; i++) {
        struct map_route *to = &g->routes[g->n_routes++];

        *to = (struct map_route){ .name = arena_strdup(a, d->name),
                                  .pointer = arena_strdup(a, d->pointer),
                                  .rule = no,
                                  .n_match = (uint32_t)r->match.n,
                                  .match = arena_array(a, (uint32_t)r->match.n, sizeof(*to->match)),
                                  .endpoint = arena_strdup(a, ((char *const *)r->endpoints.v)[i]),
                                  .max_wait_ms = (uint32_t)ms_min(r->max_wait_ms, UINT32_MAX) };
        for (uint32_t k = 0; to->match != NULL && k < to->n_match; k++)
            to->match[k] = arena_strdup(a, ((char *const *)r->match.v)[k]);
    }
    return !a->failed;
}

static bool add_routes(const struct mng *m, struct arena *a, struct msg_task_map *g)
{
    uint32_t n = 0;

    each_route(m, x)
        for (size_t i = 0; i < x->def.rules.n; i++)
            n += (uint32_t)((const struct route_rule *)x->def.rules.v)[i].endpoints.n;
    g->routes = arena_array(a, n, sizeof(*g->routes));
    if (g->routes == NULL)
        return false;
    each_route(m, x)
        for (uint32_t i = 0; i < x->def.rules.n; i++)
            if (!add_rule(a, &x->def, i, g))
                return false;
    return true;
}

static bool task_map_send(struct mng *m, const struct mrouter *r)
{
    struct arena *a = &m->out->box.mem;
    struct msg_task_map *g = &mng_to(m, r->peer, MSG_TASK_MAP)->task_map;

    g->epoch = m->epoch;
    g->pools = arena_array(a, (uint32_t)m->tasks.pools.n, sizeof(*g->pools));
    if (g->pools == NULL || !add_task_nodes(m, a, g))
        return false;
    each_pool(m, p)
        if (!add_pool(m, a, p, &g->pools[g->n_pools++]))
            return false;
    return add_routes(m, a, g);
}

void task_maps_flush(struct mng *m)
{
    bool foreign = nodes_are_foreign(m);

    each_router(m, r) {
        if (!r->registered || foreign || r->sent_tasks == m->tasks.map_version)
            continue;
        if (!task_map_send(m, r))
            m->out->box.failed = true;
        r->sent_tasks = m->tasks.map_version;
    }
}

/* ---- figures ---------------------------------------------------------------------- */

#define STATS_CHUNK 1024         /* queues in one STATS frame */
#define LEFT_MS     (2 * REPLICA_KEEP_MS) /* for so long a router is told who has left */

static void queue_figures(const struct mng *m, struct arena *a, const struct mqueue *q,
                          struct queue_stats *s)
{
    s->id = q->id;
    s->entry = direct_entry_reach(m, q);
    s->challenge = q->flood.level;
    s->rate_milli_per_s = (uint64_t)(q->allowed_per_s * 1000.0 + 0.5);
    s->limited_by = arena_strdup(a, q->rel.limited_by);
    s->n_lanes = q->n_lanes;
    for (unsigned i = 0; i < q->n_lanes; i++) {
        const struct mlane *l = &q->lane[i];

        s->ready += l->ready;
        s->active += l->active;
        s->lane[i].waiting = l->waiting;
        s->lane[i].rate_milli_per_s = (uint64_t)(eta_told_rate(&l->eta) * 1000.0 + 0.5);
        s->lane[i].leave_ppm = (uint32_t)(l->eta.told_leave * ETA_PPM + 0.5);
        s->lane[i].eta_reason = l->eta.reason;
    }
}

/* Counts from our begin: who led before may have heard it until then. */
static uint32_t silent_ms(const struct mng *m, const struct mnode *n)
{
    return (uint32_t)u64_min((uint64_t)(m->now_ms - ms_max(n->heard_ms, m->started_ms)),
                             UINT32_MAX);
}

/* Without memory nothing is said of any. */
static void unreached(const struct mng *m, struct arena *a, struct msg_stats *g)
{
    uint32_t n = 0;

    each_node(m, x)
        n += x->unreached;
    g->unreached = arena_array(a, n, sizeof(*g->unreached));
    g->reach = n == 0 || g->unreached != NULL;
    each_node(m, x)
        if (g->reach && x->unreached)
            g->unreached[g->n_unreached++] = (struct silent_node) { x->no, silent_ms(m, x) };
}

static void stats_to(struct mng *m, struct mrouter *r, bool all)
{
    struct arena *a = &m->out->box.mem;
    struct msg_stats *g = &mng_to(m, r->peer, MSG_STATS)->stats; /* each second, for its clock */

    g->clock_ms = m->wall_ms;
    unreached(m, a, g);
    each_queue(m, q) {
        if (!all && !q->stats_dirty)
            continue;
        assert(g->n <= STATS_CHUNK);
        if (g->n == STATS_CHUNK)
            g = &mng_to(m, r->peer, MSG_STATS)->stats;
        if (g->n == 0) {
            g->queues = arena_array(a, STATS_CHUNK, sizeof(*g->queues));
            if (g->queues == NULL)
                return;
        }
        queue_figures(m, a, q, &g->queues[g->n++]);
    }
}

void stats_look(struct mng *m)
{
    each_node(m, n) {
        bool is = n->segs.n != 0 && !node_is_reached(m, n);

        m->stats_now = m->stats_now || is != n->unreached;
        n->unreached = is;
    }
}

void stats_flush(struct mng *m)
{
    each_router(m, r) {
        if (!r->registered)
            continue;
        stats_to(m, r, r->stats_all);
        r->stats_all = false;
    }
    each_queue(m, q)
        q->stats_dirty = false;
}

static void left_to(struct mng *m, const struct mrouter *r, struct msg_left g)
{
    if (g.n > 0)
        mng_to(m, r->peer, MSG_LEFT)->left = g;
}

void left_pass_on(struct mng *m, const struct mrouter *from, const struct msg_left *g)
{
    struct msg_left out = { 0, arena_array(&m->out->box.mem, g->n, sizeof(*out.v)) };

    for (uint32_t i = 0; i < g->n; i++) {
        m->left[m->n_left % MSG_LEFT_MAX].row = g->v[i];
        m->left[m->n_left++ % MSG_LEFT_MAX].at_ms = m->now_ms;
        if (out.v != NULL)
            out.v[out.n++] = g->v[i];
    }
    each_router(m, r)
        if (r != from && r->registered)
            left_to(m, r, out);
}

void left_flush(struct mng *m, const struct mrouter *to)
{
    struct msg_left out = { 0 };

    if (m->n_left > 0)
        out.v = arena_array(&m->out->box.mem, MSG_LEFT_MAX, sizeof(*out.v));
    for (uint32_t i = 0; i < MSG_LEFT_MAX && out.v != NULL; i++)
        if (m->left[i].row.seg != 0 && m->left[i].at_ms + LEFT_MS > m->now_ms)
            out.v[out.n++] = m->left[i].row;
    left_to(m, to, out);
}
