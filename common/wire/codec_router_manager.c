/* codec_router_manager.c: proto/router_manager.proto: the map and the figures. */
#include "common/wire/codec_router_manager.h"

#include "common/config/gate_def.h"
#include "common/config/page_def.h"
#include "proto/router_manager.pb-c.h"

#define KEY_BYTES 32
#define KEYS_MAX  16

/* ---- MAP ------------------------------------------------------------------------- */

#define MAP_NODE_FIELDS(N, T) N(no) T(name, NAME_MAX_LEN) T(addr, CODEC_ADDR_MAX)

static bool fill_node(Segq__MapNode *p, const struct map_node *s)
{
    bool ok = true;

    MAP_NODE_FIELDS(CODEC_PUT, CODEC_PUT_T)
    return ok;
}

static bool take_node(struct map_node *s, const Segq__MapNode *p, struct arena *a)
{
    bool ok = true;

    MAP_NODE_FIELDS(CODEC_GET, CODEC_GET_T)
    return ok;
}

static bool fill_lane(Segq__MapLane *p, const struct map_lane *s, struct arena *a)
{
    COL_PUT(seg, s->segs, s->n_segs, id);
    COL_PUT(seg_node, s->segs, s->n_segs, node);
    COL_PUT_BYTES(seg_state, s->segs, s->n_segs, state);
    COL_PUT(alias_from, s->aliases, s->n_aliases, from);
    COL_PUT(alias_to, s->aliases, s->n_aliases, to);
    return codec_put_text(&p->name, s->name, NAME_MAX_LEN);
}

static bool take_lane(struct map_lane *s, const Segq__MapLane *p, struct arena *a)
{
    s->n_segs = p->n_seg;
    s->n_aliases = p->n_alias_from;
    ROWS_GET(s->segs, s->n_segs);
    ROWS_GET(s->aliases, s->n_aliases);
    COL_GET(seg, s->segs, s->n_segs, id);
    COL_GET(seg_node, s->segs, s->n_segs, node);
    COL_GET_BYTES(seg_state, s->segs, s->n_segs, state);
    COL_GET(alias_from, s->aliases, s->n_aliases, from);
    COL_GET(alias_to, s->aliases, s->n_aliases, to);
    for (uint32_t i = 0; i < s->n_segs; i++)
        if (s->segs[i].state < SEG_OPEN || s->segs[i].state > SEG_LOST)
            return false;
    return codec_get_text(&p->name, NAME_MAX_LEN, a, &s->name);
}

static bool fill_phase(Segq__MapQueue *p, const struct map_phase *s)
{
    p->phase = s->phase;
    p->opens_ms = (uint64_t)s->opens_ms;
    p->closes_ms = (uint64_t)s->closes_ms;
    return codec_put_text(&p->draw, s->draw, MAP_DRAW_MAX);
}

/* A phase of a later version says nothing to us: `state` does. */
static bool take_phase(struct map_phase *s, const Segq__MapQueue *p, struct arena *a)
{
    if (p->opens_ms > INT64_MAX / 2 || p->closes_ms > INT64_MAX / 2)
        return false;
    s->phase = p->phase <= PHASE_LAST ? (uint8_t)p->phase : PHASE_PLAIN;
    s->opens_ms = (int64_t)p->opens_ms;
    s->closes_ms = (int64_t)p->closes_ms;
    return codec_get_text(&p->draw, MAP_DRAW_MAX, a, &s->draw);
}

static bool fill_queue(Segq__MapQueue *p, const struct map_queue *s, struct arena *a)
{
    p->id = s->id;
    p->state = s->state;
#define X(type, name) p->name = s->name;
    MAP_QUEUE_NUMBERS(X)
#undef X
    p->n_lanes = s->n_lanes;
    p->lanes = codec_subs(&segq__map_lane__descriptor, s->n_lanes, a);
    if (p->lanes == NULL || s->n_lanes > LANES_MAX)
        return false;
    for (uint32_t i = 0; i < s->n_lanes; i++)
        if (!fill_lane(p->lanes[i], &s->lanes[i], a))
            return false;
    return codec_put_text(&p->name, s->name, NAME_MAX_LEN) &&
           codec_put_text(&p->page, s->page, PAGE_JSON_MAX) &&
           codec_put_text(&p->message, s->message, QUEUE_MESSAGE_MAX) && fill_phase(p, &s->when) &&
           codec_put_text(&p->gate, s->gate, GATE_JSON_MAX);
}

static bool take_queue(struct map_queue *s, const Segq__MapQueue *p, struct arena *a)
{
    if (p->state < QUEUE_OPEN || p->state > QUEUE_FULL)
        return false;
    if (p->n_lanes == 0 || p->n_lanes > LANES_MAX)
        return false;
    s->id = p->id;
    s->state = (uint8_t)p->state;
#define X(type, name) s->name = p->name;
    MAP_QUEUE_NUMBERS(X)
#undef X
    s->n_lanes = p->n_lanes;
    ROWS_GET(s->lanes, s->n_lanes);
    for (uint32_t i = 0; i < s->n_lanes; i++)
        if (!take_lane(&s->lanes[i], p->lanes[i], a))
            return false;
    return codec_get_text(&p->name, NAME_MAX_LEN, a, &s->name) &&
           codec_get_text(&p->page, PAGE_JSON_MAX, a, &s->page) &&
           codec_get_text(&p->message, QUEUE_MESSAGE_MAX, a, &s->message) &&
           take_phase(&s->when, p, a) &&
           codec_get_text(&p->gate, GATE_JSON_MAX, a, &s->gate);
}

#define MAP_FIELDS(N)                                                                    \
    N(epoch) N(from_version) N(version) N(next_seg) N(more) N(format) N(store)

bool codec_fill_map(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_map *s = &m->map;
    Segq__Map *p = pb;

    MAP_FIELDS(CODEC_PUT)
    p->nodes = codec_subs(&segq__map_node__descriptor, s->n_nodes, a);
    p->queues = codec_subs(&segq__map_queue__descriptor, s->n_queues, a);
    if (p->nodes == NULL || p->queues == NULL || s->n_keys > KEYS_MAX)
        return false;
    p->n_nodes = s->n_nodes;
    p->n_queues = s->n_queues;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!fill_node(p->nodes[i], &s->nodes[i]))
            return false;
    for (uint32_t i = 0; i < s->n_queues; i++)
        if (!fill_queue(p->queues[i], &s->queues[i], a))
            return false;
    p->n_removed = s->n_removed;
    p->removed = s->removed;
    p->keys.len = s->n_keys * (size_t)KEY_BYTES;
    p->keys.data = (uint8_t *)(uintptr_t)s->keys; /* only read */
    return true;
}

bool codec_take_map(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__Map *p = pb;
    struct msg_map *s = &m->map;
    bool ok = true;

    MAP_FIELDS(CODEC_GET)
    if (p->keys.len % KEY_BYTES != 0 || p->keys.len > KEYS_MAX * KEY_BYTES)
        return false;
    s->n_nodes = p->n_nodes;
    s->n_queues = p->n_queues;
    ROWS_GET(s->nodes, s->n_nodes);
    ROWS_GET(s->queues, s->n_queues);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (!take_node(&s->nodes[i], p->nodes[i], a))
            return false;
    for (uint32_t i = 0; i < s->n_queues; i++)
        if (!take_queue(&s->queues[i], p->queues[i], a))
            return false;
    s->n_removed = p->n_removed;
    s->removed = p->removed;
    s->n_keys = p->keys.len / KEY_BYTES;
    s->keys = (const uint8_t(*)[KEY_BYTES])p->keys.data;
    return ok;
}

/* ---- STATS ----------------------------------------------------------------------- */

#define STATS_FIELDS(N, T)                                                               \
    N(id) N(ready) N(active) N(rate_milli_per_s) T(limited_by, NAME_MAX_LEN) N(entry)

static bool fill_stat(Segq__QueueStats *p, const struct queue_stats *s, struct arena *a)
{
    bool ok = s->n_lanes <= LANES_MAX;

    if (!ok)
        return false;
    STATS_FIELDS(CODEC_PUT, CODEC_PUT_W)
    COL_PUT(lane_waiting, s->lane, s->n_lanes, waiting);
    COL_PUT(lane_rate_milli_per_s, s->lane, s->n_lanes, rate_milli_per_s);
    COL_PUT(lane_leave_ppm, s->lane, s->n_lanes, leave_ppm);
    COL_PUT_BYTES(lane_eta_reason, s->lane, s->n_lanes, eta_reason);
    return ok;
}

static bool take_stat(struct queue_stats *s, const Segq__QueueStats *p, struct arena *a)
{
    bool ok = p->n_lane_waiting <= LANES_MAX;

    if (!ok)
        return false;
    STATS_FIELDS(CODEC_GET, CODEC_GET_T)
    s->n_lanes = p->n_lane_waiting;
    COL_GET(lane_waiting, s->lane, s->n_lanes, waiting);
    COL_GET(lane_rate_milli_per_s, s->lane, s->n_lanes, rate_milli_per_s);
    COL_GET(lane_leave_ppm, s->lane, s->n_lanes, leave_ppm);
    COL_GET_BYTES(lane_eta_reason, s->lane, s->n_lanes, eta_reason);
    return ok;
}

bool codec_fill_stats(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_stats *s = &m->stats;
    Segq__Stats *p = pb;

    p->queues = codec_subs(&segq__queue_stats__descriptor, s->n, a);
    if (p->queues == NULL)
        return false;
    p->n_queues = s->n;
    p->clock_ms = s->clock_ms;
    for (uint32_t i = 0; i < s->n; i++)
        if (!fill_stat(p->queues[i], &s->queues[i], a))
            return false;
    return true;
}

bool codec_take_stats(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__Stats *p = pb;
    struct msg_stats *s = &m->stats;

    s->n = p->n_queues;
    s->clock_ms = p->clock_ms;
    ROWS_GET(s->queues, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        if (!take_stat(&s->queues[i], p->queues[i], a))
            return false;
    return true;
}
