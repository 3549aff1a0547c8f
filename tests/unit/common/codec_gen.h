/* codec_gen.h: random messages of every type. For test_codec.c.
 * Plain messages are made by the codec's own lists (test_codec.c looks whether these name every
 * field of the .proto). The members of the others are listed here once more, on purpose: one
 * that the codec forgets makes the comparison of codec_same.h fail. */
#ifndef SEGQ_CODEC_GEN_H
#define SEGQ_CODEC_GEN_H

#include <string.h>

#include "common/base/arena.h"
#include "common/wire/codec_flat.h"
#include "common/base/rng.h"

struct gen {
    struct rng r;
    struct arena a;
    uint32_t max_rows;
};

/* All magnitudes, and often zero. */
static inline uint64_t g_any(struct gen *g)
{
    return rng_chance(&g->r, 0.2) ? 0 : rng_u64(&g->r) >> rng_below(&g->r, 64);
}

static inline uint8_t g_in(struct gen *g, unsigned lo, unsigned hi)
{
    return (uint8_t)(lo + rng_below(&g->r, hi - lo + 1));
}

static inline const char *g_bytes(struct gen *g, size_t n, unsigned lo)
{
    char *p = arena_alloc(&g->a, n);

    for (size_t i = 0; i < n; i++)
        p[i] = (char)g_in(g, lo, 255);
    return p;
}

static inline const char *g_text(struct gen *g, size_t max)
{
    size_t n = rng_below(&g->r, max + 1);
    char *p = arena_alloc(&g->a, n + 1);

    memcpy(p, g_bytes(g, n, 1), n);
    return p;
}

static inline const char *g_address(struct gen *g, size_t max)
{
    static const char from[] = "0123456789abcdef.:[]-_%x~!";
    size_t n = rng_below(&g->r, max + 1);
    char *p = arena_alloc(&g->a, n + 1);

    for (size_t i = 0; i < n; i++)
        p[i] = from[rng_below(&g->r, sizeof(from) - 1)];
    return p;
}

static inline uint32_t g_rows(struct gen *g, uint32_t max)
{
    return (uint32_t)rng_below(&g->r, (max < g->max_rows ? max : g->max_rows) + 1);
}

static inline void *g_words(struct gen *g, size_t n)
{
    uint64_t *v = arena_array(&g->a, n, 8);

    for (size_t i = 0; i < n; i++)
        v[i] = g_any(g);
    return v;
}

/* N(number) E(number, lowest, highest) T(text, max): gen_NAME fills *s, same_NAME compares. */
#define G_NUM(f)          s->f = (__typeof__(s->f))g_any(g);
#define G_ENUM(f, lo, hi)                                                                \
    s->f = (__typeof__(s->f))((lo) + rng_below(&g->r, (uint64_t)(hi) - (lo) + 1));
#define G_TEXT(f, max)    s->f = g_text(g, (max) < 1000 ? (max) : 1000);
#define S_NUM(f)          ok = x->f == y->f && ok;
#define S_ENUM(f, lo, hi) S_NUM(f)
#define S_TEXT(f, max)    ok = strcmp(x->f, y->f) == 0 && ok;
#define PLAIN(name, L)                                                                   \
    static inline void gen_##name(struct gen *g, struct name *s)                         \
    {                                                                                    \
        L(G_NUM, G_TEXT)                                                                 \
    }                                                                                    \
    static inline bool same_##name(const struct name *x, const struct name *y)           \
    {                                                                                    \
        bool ok = true;                                                                  \
        L(S_NUM, S_TEXT)                                                                 \
        return ok;                                                                       \
    }

#define PLACE_REQ_MEMBERS(N, T) N(seg) N(number) N(client)
#define APPEND_REQ_MEMBERS(N, T)                                                         \
    N(seg) N(client) N(subject_len) N(subject_hash) N(old_seg) N(old_number)
#define APPEND_ANS_MEMBERS(N, T)                                                         \
    N(state) N(client) N(number) N(issued_s) N(poll_after_ms) N(position) N(seg)         \
    N(no_place)
#define DROP_REQ_MEMBERS(N, T) N(seg) N(number) N(heir_hash)
#define DROP_ANS_MEMBERS(N, T) N(state) N(moved_to)
#define MAP_NODE_MEMBERS(N, T) N(no) T(name, 64) T(addr, 63)
#define QUEUE_STATS_MEMBERS(N, T)                                                         \
    N(id) N(ready) N(active) N(rate_milli_per_s) T(limited_by, 64) N(entry)
#define NODE_REG_MEMBERS(N, T)                                                           \
    T(addr, 63) T(admin, 63) N(max_tickets) N(max_segments) N(epoch_seen) N(directory) N(draws) \
    N(closes)
#define SEG_OPEN_MEMBERS(N, T)                                                            \
    N(epoch) N(seg) N(queue) N(lane) N(kind) N(capacity) N(ahead) N(for_ms) \
    N(early) N(closes_ms)
#define PACE_ENTRY_MEMBERS(N, T) N(queue) N(lane) N(min_ms) N(max_ms) N(us_per_place)
#define SEG_STATUS_MEMBERS(N, T)                                                         \
    N(seg) N(queue) N(lane) N(state) N(capacity) N(joined) N(waiting) N(returning)       \
    N(ready) N(active) N(records) N(popped) N(last_tick) N(no_shows) N(expired) N(left)  \
    N(next) N(move) N(rebuild) N(claimed) N(drawn) N(away) N(polls) \
    N(closed) N(closes_ms) N(ahead)
#define SEG_POPPED_MEMBERS(N, T) N(epoch) N(seg) N(tick) N(n) N(busy)
#define MSG_SEG_STATUS_MEMBERS(N, T) N(epoch) N(full) N(more) N(tickets) N(max_tickets)
#define RULES_MEMBERS(N, T)                                                              \
    N(epoch) N(queue) T(name, 64) T(issuer, 255) N(idle_ms[0]) N(idle_ms[1])             \
    N(idle_ms[2]) NODE_RULES(N) N(session_hold_s)
#define TOUCH_ENTRY_MEMBERS(N, T) N(number) N(alive) N(left)
#define SESSION_REC_MEMBERS(N, T) N(seg) N(number) N(state) N(client) N(released_at_ms) N(left_ms) \
    N(until_s) N(reason)
#define SUBJECT_REC_MEMBERS(N, T) N(seg) N(number) N(issued_s) N(client) N(len) N(hash)
#define LANE_STATS_MEMBERS(N, T) N(waiting) N(rate_milli_per_s) N(leave_ppm) N(eta_reason)
#define MAP_MEMBERS(N, T) N(epoch) N(from_version) N(version) N(next_seg) N(more)
#define PLACE_ANS_MEMBERS(N, T)                                                          \
    N(state) N(reason) N(poll_after_ms) N(position) N(pass_len) N(released_at_ms)        \
    N(pass_expires_s)
#define SEG_SEAL_MEMBERS(N, T) N(epoch) N(seg) N(next) N(draw.n)
#define PASS_ROW_MEMBERS(N, T) N(seg) N(number) N(state) N(until_s)
#define SESS_REQ_MEMBERS(N, T) N(seg) N(number) N(command) N(until_s) N(renews)
#define SESS_ANS_MEMBERS(N, T) N(state) N(moved_to) N(until_s) N(pass_len)

PLAIN(place_req, PLACE_REQ_MEMBERS)
PLAIN(place_ans, PLACE_ANS_MEMBERS)
PLAIN(append_req, APPEND_REQ_MEMBERS)
PLAIN(append_ans, APPEND_ANS_MEMBERS)
PLAIN(drop_req, DROP_REQ_MEMBERS)
PLAIN(drop_ans, DROP_ANS_MEMBERS)
PLAIN(pass_row, PASS_ROW_MEMBERS)
PLAIN(sess_req, SESS_REQ_MEMBERS)
PLAIN(sess_ans, SESS_ANS_MEMBERS)
PLAIN(map_node, MAP_NODE_MEMBERS)
PLAIN(queue_stats, QUEUE_STATS_MEMBERS)
PLAIN(lane_stats, LANE_STATS_MEMBERS)
PLAIN(msg_map, MAP_MEMBERS)
PLAIN(msg_node_reg, NODE_REG_MEMBERS)
PLAIN(msg_seg_open, SEG_OPEN_MEMBERS)
PLAIN(msg_seg_seal, SEG_SEAL_MEMBERS)
PLAIN(pace_entry, PACE_ENTRY_MEMBERS)
PLAIN(seg_status, SEG_STATUS_MEMBERS)
PLAIN(msg_seg_popped, SEG_POPPED_MEMBERS)
PLAIN(msg_seg_status, MSG_SEG_STATUS_MEMBERS)
PLAIN(msg_rules, RULES_MEMBERS)
PLAIN(touch_entry, TOUCH_ENTRY_MEMBERS)
PLAIN(session_rec, SESSION_REC_MEMBERS)
PLAIN(subject_rec, SUBJECT_REC_MEMBERS)

/* The plain messages: by the codec's own lists. */
#define X(NAME, name, Pb)                                                                \
    static inline void gen_msg_##name(struct gen *g, struct msg_##name *s)               \
    {                                                                                    \
        NAME##_FIELDS(G_NUM, G_ENUM, G_TEXT, G_TEXT)                                     \
    }                                                                                    \
    static inline bool same_msg_##name(const struct msg_##name *x,                       \
                                       const struct msg_##name *y)                       \
    {                                                                                    \
        bool ok = true;                                                                  \
        NAME##_FIELDS(S_NUM, S_ENUM, S_TEXT, S_TEXT)                                     \
        return ok;                                                                       \
    }
MSG_FLATS(X)
#undef X

/* `cnt` rows into `ptr`; in the block that follows, `s` is the row. */
#define G_ROWS(ptr, cnt)                                                                 \
    (ptr) = arena_array(&g->a, (cnt), sizeof(*(ptr)));                                   \
    for (__typeof__(&(ptr)[0]) s = (ptr); s < (ptr) + (cnt); s++)

static inline void g_place_ans(struct gen *g, struct place_ans *s)
{
    gen_place_ans(g, s);
    s->state = g_in(g, 0, PLACE_NSTATES - 1);
    s->reason = g_in(g, 0, GONE_NREASONS - 1);
    s->pass_len = (uint16_t)(s->state == PLACE_ADMITTED ? rng_below(&g->r, 1401) : 0);
    s->pass = s->pass_len != 0 ? g_bytes(g, s->pass_len, 0) : NULL;
    if (s->state != PLACE_ADMITTED)
        s->released_at_ms = s->pass_expires_s = 0;
}

static inline void g_batch(struct gen *g, struct msg *m)
{
    uint32_t n = m->place.n = g_rows(g, MSG_BATCH_MAX);

    if (m->type == MSG_PLACE) {
        G_ROWS(m->place.req, n)
        {
            gen_place_req(g, s);
            s->client = g_in(g, 0, 2);
        }
    } else if (m->type == MSG_PLACE_ANS) {
        G_ROWS(m->place_ans.ans, n)
            g_place_ans(g, s);
    } else if (m->type == MSG_APPEND) {
        G_ROWS(m->append.req, n)
        {
            gen_append_req(g, s);
            s->client = g_in(g, 0, 2);
            s->subject_len = g_in(g, 0, 128);
            s->subject = g_bytes(g, s->subject_len, 0);
        }
    } else if (m->type == MSG_APPEND_ANS) {
        G_ROWS(m->append_ans.ans, n)
        {
            gen_append_ans(g, s);
            s->state = g_in(g, 0, APPEND_NSTATES - 1);
            s->client = g_in(g, 0, 2);
            s->no_place = g_in(g, 0, NO_PLACE_N - 1);
        }
    } else if (m->type == MSG_DROP) {
        G_ROWS(m->drop.req, n)
            gen_drop_req(g, s);
    } else if (m->type == MSG_PASSES) {
        G_ROWS(m->passes.rows, n)
        {
            gen_pass_row(g, s);
            s->state = g_in(g, 0, PASS_NSTATES - 1);
        }
    } else if (m->type == MSG_SESSION) {
        G_ROWS(m->session.req, n)
        {
            gen_sess_req(g, s);
            s->command = g_in(g, 0, SESS_NCOMMANDS - 1);
            s->renews = g_in(g, 0, 1);
        }
    } else if (m->type == MSG_SESSION_ANS) {
        G_ROWS(m->session_ans.ans, n)
        {
            gen_sess_ans(g, s);
            s->state = g_in(g, 0, SESS_NSTATES - 1);
            s->pass_len = (uint16_t)rng_below(&g->r, MSG_PASS_MAX + 1);
            s->pass = g_bytes(g, s->pass_len, 0);
        }
    } else {
        G_ROWS(m->drop_ans.ans, n)
        {
            gen_drop_ans(g, s);
            s->state = g_in(g, 0, DROP_NSTATES - 1);
        }
    }
}

static inline void g_lane(struct gen *g, struct map_lane *l)
{
    l->name = g_text(g, 64);
    l->n_segs = g_rows(g, 20);
    l->n_aliases = g_rows(g, 20);
    G_ROWS(l->segs, l->n_segs)
    {
        s->id = g_any(g);
        s->node = (node_no)g_any(g);
        s->state = g_in(g, SEG_OPEN, SEG_LOST);
    }
    G_ROWS(l->aliases, l->n_aliases)
    {
        s->from = g_any(g);
        s->to = g_any(g);
    }
}

static inline void g_map(struct gen *g, struct msg_map *m)
{
    gen_msg_map(g, m);
    m->n_nodes = g_rows(g, 10);
    G_ROWS(m->nodes, m->n_nodes)
        gen_map_node(g, s);
    m->n_queues = g_rows(g, 5);
    G_ROWS(m->queues, m->n_queues)
    {
        s->id = (queue_id)g_any(g);
        s->name = g_text(g, 64);
        s->page = g_text(g, 3000);
        s->message = g_text(g, QUEUE_MESSAGE_MAX);
        s->when = (struct map_phase){ g_in(g, PHASE_PLAIN, PHASE_LAST), g_any(g) >> 2,
                                      g_any(g) >> 2, g_text(g, 900) };
        s->gate = g_text(g, 3000);
#define X(type, name) s->name = (type)g_any(g);
        MAP_QUEUE_NUMBERS(X)
#undef X
        s->state = g_in(g, QUEUE_OPEN, QUEUE_FULL);
        s->n_lanes = g_in(g, 1, LANES_MAX);
        s->lanes = arena_array(&g->a, s->n_lanes, sizeof(*s->lanes));
        for (uint32_t i = 0; i < s->n_lanes; i++)
            g_lane(g, &s->lanes[i]);
    }
    m->n_removed = g_rows(g, 9);
    G_ROWS(m->removed, m->n_removed)
        *s = (queue_id)g_any(g);
    m->n_keys = g_rows(g, 4);
    m->keys = (const uint8_t(*)[32])g_bytes(g, m->n_keys * 32, 0);
}

static inline void g_stats(struct gen *g, struct msg_stats *m)
{
    m->clock_ms = (int64_t)g_any(g);
    m->n = g_rows(g, 30);
    G_ROWS(m->queues, m->n)
    {
        gen_queue_stats(g, s);
        s->n_lanes = g_in(g, 0, LANES_MAX);
        for (uint32_t i = 0; i < s->n_lanes; i++)
            gen_lane_stats(g, &s->lane[i]);
    }
}

/* seg NULL: of any segments. */
static inline const struct mark_row *g_marks(struct gen *g, uint32_t *n, const seg_id *seg,
                                             uint32_t most)
{
    struct mark_row *v;

    *n = g_rows(g, 50);
    G_ROWS(v, *n)
    {
        s->seg = seg != NULL ? *seg : g_any(g);
        s->end = 1 + (uint32_t)rng_below(&g->r, most);
        s->from = (uint32_t)rng_below(&g->r, s->end);
        s->at_ms = (int64_t)g_any(g);
        s->again = g_any(g) & 1;
    }
    return v;
}

static inline void g_status(struct gen *g, struct seg_status *s)
{
    gen_seg_status(g, s);
    s->lane = g_in(g, 0, LANES_MAX - 1);
    s->state = g_in(g, SEG_OPEN, SEG_SEALED);
    s->n_absorbed = g_rows(g, 5);
    s->absorbed = g_words(g, s->n_absorbed);
    s->marks = g_marks(g, &s->n_marks, NULL, INT32_MAX);
}

static inline void g_ahead(struct gen *g, struct msg_seg_ahead *m)
{
    m->epoch = g_any(g);
    m->n = g_rows(g, MSG_STATUS_MAX);
    G_ROWS(m->v, m->n)
    {
        s->seg = g_any(g);
        s->ahead = g_any(g);
    }
    m->n_pace = g_rows(g, 100);
    G_ROWS(m->pace, m->n_pace)
    {
        gen_pace_entry(g, s);
        s->lane = g_in(g, 0, LANES_MAX - 1);
    }
    m->n_kept = g_rows(g, 100);
    G_ROWS(m->kept, m->n_kept)
    {
        s->seg = g_any(g);
        s->tick = g_any(g);
    }
}

static inline void g_members(struct gen *g, struct msg_members *m)
{
    m->epoch = g_any(g);
    m->version = g_any(g);
    m->self = (node_no)g_any(g);
    m->n = g_rows(g, 100);
    G_ROWS(m->v, m->n)
    {
        s->no = (node_no)g_any(g);
        s->name = g_text(g, 64);
        s->addr = g_text(g, 63);
    }
}

static inline void g_dir(struct gen *g, struct msg_dir *m, unsigned n_whats)
{
    m->version = g_any(g);
    m->n = g_rows(g, MSG_DIR_ROWS_MAX);
    G_ROWS(m->v, m->n)
    {
        s->hash = g_any(g);
        s->seg = g_any(g);
        s->number = (uint32_t)g_any(g);
        s->issued_s = (uint32_t)g_any(g);
        s->what = g_in(g, 0, n_whats - 1);
        s->client = g_in(g, 0, CLIENT_NCLASSES - 1);
    }
}

static inline void g_segment_manager(struct gen *g, struct msg *m)
{
    struct msg_seg_status *st = &m->seg_status;

    switch (m->type) {
    case MSG_NODE_REG:
        gen_msg_node_reg(g, &m->node_reg);
        m->node_reg.addr = g_address(g, 63);
        m->node_reg.admin = g_address(g, 63);
        memcpy(m->node_reg.pass_key, g_bytes(g, 32, 0), 32);
        m->node_reg.other_keys.n = g_in(g, 0, PASS_OTHERS_MAX);
        for (uint32_t i = 0; i < m->node_reg.other_keys.n; i++)
            memcpy(m->node_reg.other_keys.key[i], g_bytes(g, 32, 0), 32);
        break;
    case MSG_SEG_OPEN:
        gen_msg_seg_open(g, &m->seg_open);
        m->seg_open.lane = g_in(g, 0, LANES_MAX - 1);
        m->seg_open.kind = g_in(g, OPEN_TAIL, OPEN_REBUILD);
        m->seg_open.capacity = 1 + (uint32_t)rng_below(&g->r, INT32_MAX);
        m->seg_open.mark_end = (uint32_t)rng_below(&g->r, m->seg_open.capacity);
        m->seg_open.draw.n = (uint32_t)rng_below(&g->r, m->seg_open.capacity);
        if (m->seg_open.draw.n != 0)
            memcpy(m->seg_open.draw.seed, g_bytes(g, DRAW_SEED, 0), DRAW_SEED);
        m->seg_open.marks = g_marks(g, &m->seg_open.n_marks, &m->seg_open.seg,
                                    m->seg_open.capacity);
        break;
    case MSG_SEG_AHEAD:
        g_ahead(g, &m->seg_ahead);
        break;
    case MSG_SEG_POPPED:
        gen_msg_seg_popped(g, &m->seg_popped);
        g_status(g, &m->seg_popped.status);
        break;
    case MSG_SEG_STATUS:
        gen_msg_seg_status(g, st);
        st->n = g_rows(g, 200);
        G_ROWS(st->v, st->n)
            g_status(g, s);
        st->n_gone = g_rows(g, 9);
        st->gone = g_words(g, st->n_gone);
        break;
    case MSG_RULES:
        gen_msg_rules(g, &m->rules);
        m->rules.n_lanes = g_in(g, 1, LANES_MAX);
        for (uint32_t i = 0; i < m->rules.n_lanes; i++)
            m->rules.lanes[i] = g_text(g, 64);
        break;
    default:
        break;
    }
}

static inline void g_chunk(struct gen *g, struct msg_copy_chunk *m)
{
    m->move = g_any(g);
    m->seq = (uint32_t)g_any(g);
    m->n = g_rows(g, MSG_COPY_BLOCKS);
    G_ROWS(m->v, m->n)
    {
        uint8_t *left = arena_alloc(&g->a, 512);

        s->index = (uint32_t)g_any(g);
        for (int i = 0; i < 8; i++) {
            s->alive[i] = g_any(g);
            s->n_left += __builtin_popcountll(s->alive[i]);
        }
        for (int i = 0; i < s->n_left; i++)
            left[i] = g_in(g, 0, 127);
        s->left = left;
    }
}

static inline void g_extra(struct gen *g, struct msg_copy_extra *m)
{
    m->move = g_any(g);
    m->seq = (uint32_t)g_any(g);
    m->n_sessions = g_rows(g, 300);
    G_ROWS(m->sessions, m->n_sessions)
    {
        gen_session_rec(g, s);
        s->client = g_in(g, 0, 2);
    }
    m->n_relocs = g_rows(g, 5);
    G_ROWS(m->relocs, m->n_relocs)
    {
        s->seg = g_any(g);
        s->base = (uint32_t)g_any(g);
        s->bits = (uint32_t)rng_below(&g->r, 5000);
        s->n_words = (s->bits + 63) / 64;
        s->alive = g_words(g, s->n_words);
    }
    m->n_subjects = g_rows(g, 100);
    G_ROWS(m->subjects, m->n_subjects)
    {
        gen_subject_rec(g, s);
        s->client = g_in(g, 0, 2);
        s->len = g_in(g, 0, 128);
        s->text = g_bytes(g, s->len, 0);
    }
}

static inline void g_touch(struct gen *g, struct msg_copy_touch *m)
{
    m->move = g_any(g);
    m->seq = (uint32_t)g_any(g);
    m->n = g_rows(g, 1000);
    G_ROWS(m->v, m->n)
    {
        s->number = (uint32_t)g_any(g);
        s->alive = g_in(g, 0, 1);
        s->left = g_in(g, 0, 127);
    }
}

static inline bool g_flat(struct gen *g, struct msg *m)
{
    switch (m->type) {
#define X(NAME, name, Pb)                                                                \
    case MSG_##NAME:                                                                     \
        gen_msg_##name(g, &m->name);                                                     \
        return true;
        MSG_FLATS(X)
#undef X
    default:
        return false;
    }
}

static inline bool is_batch(enum msg_type t)
{
    switch (t) {
#define X(name, ...) case MSG_##name:
        MSG_BATCHES(X)
#undef X
        return true;
    default:
        return false;
    }
}

/* A valid random message of a type that the codec knows. */
static inline void gen_msg(struct gen *g, enum msg_type t, struct msg *m)
{
    memset(m, 0, sizeof(*m));
    m->type = t;
    if (is_batch(t))
        g_batch(g, m);
    else if (t == MSG_MAP)
        g_map(g, &m->map);
    else if (t == MSG_STATS)
        g_stats(g, &m->stats);
    else if (t == MSG_MEMBERS)
        g_members(g, &m->members);
    else if (t == MSG_DIR)
        g_dir(g, &m->dir, DIR_NASKS);
    else if (t == MSG_DIR_ANS)
        g_dir(g, &m->dir, DIR_NWORDS); /* dir_ans has the same members */
    else if (t == MSG_COPY_CHUNK)
        g_chunk(g, &m->copy_chunk);
    else if (t == MSG_COPY_EXTRA)
        g_extra(g, &m->copy_extra);
    else if (t == MSG_COPY_TOUCH)
        g_touch(g, &m->copy_touch);
    else if (!g_flat(g, m))
        g_segment_manager(g, m);
}

#endif
