/* codec_segment_manager.c: proto/segment_manager.proto: orders and reports. */
#include "common/wire/codec_segment_manager.h"

#include <string.h>

#include "proto/segment_manager.pb-c.h"

/* ---- releases: in SEG_OPEN and in a segment's status ------------------------------- */

#define MARKS_PUT(rows, cnt)                                                             \
    do {                                                                                 \
        if ((cnt) > MSG_MARKS_MAX)                                                       \
            return false;                                                                \
        COL_PUT(mark_from, rows, cnt, from);                                             \
        COL_PUT(mark_stop, rows, cnt, end);                                              \
        COL_PUT(mark_at, rows, cnt, at_ms);                                              \
        COL_PUT_BYTES(mark_again, rows, cnt, again);                                     \
    } while (0)
#define MARKS_GET(rows, cnt)                                                             \
    do {                                                                                 \
        COL_GET(mark_from, rows, cnt, from);                                             \
        COL_GET(mark_stop, rows, cnt, end);                                              \
        COL_GET(mark_at, rows, cnt, at_ms);                                              \
        COL_GET_BYTES(mark_again, rows, cnt, again);                                     \
        if (!are_runs(rows, cnt))                                                        \
            return false;                                                                \
    } while (0)

static bool are_runs(const struct mark_row *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].from >= v[i].end)
            return false;
    return true;
}

/* ---- draws: in SEG_OPEN and SEG_SEAL ------------------------------------------------ */

static void fill_draw(uint32_t *n, ProtobufCBinaryData *seed, const struct seg_draw *s)
{
    if (s->n == 0)
        return;
    *n = s->n;
    seed->len = sizeof(s->seed);
    seed->data = (uint8_t *)(uintptr_t)s->seed; /* only read */
}

static bool take_draw(struct seg_draw *s, uint32_t n, const ProtobufCBinaryData *seed)
{
    if (n == 0)
        return true;
    if (seed->len != sizeof(s->seed))
        return false;
    s->n = n;
    memcpy(s->seed, seed->data, sizeof(s->seed));
    return true;
}

#define SEG_SEAL_FIELDS(N) N(epoch) N(seg) N(next)

bool codec_fill_seg_seal(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_seg_seal *s = &m->seg_seal;
    Segq__SegSeal *p = pb;

    (void)a;
    SEG_SEAL_FIELDS(CODEC_PUT)
    fill_draw(&p->draw_n, &p->draw_seed, &s->draw);
    return true;
}

bool codec_take_seg_seal(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__SegSeal *p = pb;
    struct msg_seg_seal *s = &m->seg_seal;
    bool ok = true;

    (void)a;
    SEG_SEAL_FIELDS(CODEC_GET)
    return ok && take_draw(&s->draw, p->draw_n, &p->draw_seed);
}

#define SEG_OPEN_FIELDS(N)                                                               \
    N(epoch) N(seg) N(queue) N(lane) N(kind) N(capacity) N(ahead) N(for_ms) N(mark_end)  \
    N(early) N(closes_ms)

bool codec_fill_seg_open(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_seg_open *s = &m->seg_open;
    Segq__SegOpen *p = pb;

    SEG_OPEN_FIELDS(CODEC_PUT)
    MARKS_PUT(s->marks, s->n_marks);
    fill_draw(&p->draw_n, &p->draw_seed, &s->draw);
    return true;
}

bool codec_take_seg_open(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__SegOpen *p = pb;
    struct msg_seg_open *s = &m->seg_open;
    struct mark_row *v;
    bool ok = true;

    SEG_OPEN_FIELDS(CODEC_GET)
    if (!ok || s->lane >= LANES_MAX || s->kind < OPEN_TAIL || s->kind > OPEN_REBUILD ||
        p->n_mark_stop > MSG_MARKS_MAX)
        return false;
    s->n_marks = (uint32_t)p->n_mark_stop;
    ROWS_GET(v, s->n_marks);
    MARKS_GET(v, s->n_marks);
    for (uint32_t i = 0; i < s->n_marks; i++) {
        v[i].seg = s->seg;
        if (v[i].end > s->capacity)
            return false;
    }
    s->marks = v;
    return s->mark_end <= s->capacity && take_draw(&s->draw, p->draw_n, &p->draw_seed) &&
           s->draw.n <= s->capacity;
}

/* ---- NODE_REG -------------------------------------------------------------------- */

#define NODE_REG_FIELDS(N, T)                                                            \
    T(addr, CODEC_ADDR_MAX) T(admin, CODEC_ADDR_MAX) N(max_tickets) N(max_segments)      \
    N(epoch_seen) N(store) N(directory) N(draws) N(closes)

bool codec_fill_node_reg(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_node_reg *s = &m->node_reg;
    Segq__NodeReg *p = pb;
    bool ok = true;

    (void)a;
    NODE_REG_FIELDS(CODEC_PUT, CODEC_PUT_T)
    p->pass_key.len = sizeof(s->pass_key);
    p->pass_key.data = (uint8_t *)(uintptr_t)s->pass_key; /* only read */
    p->other_keys.len = s->other_keys.n * sizeof(s->other_keys.key[0]);
    p->other_keys.data = (uint8_t *)(uintptr_t)s->other_keys.key;
    return ok;
}

/* An address goes into maps, answers and logs as it is: nothing but visible ASCII. */
static bool is_visible(const char *s)
{
    for (; *s != '\0'; s++)
        if (*s <= ' ' || *s > '~' || *s == '"' || *s == '\\')
            return false;
    return true;
}

bool codec_take_node_reg(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__NodeReg *p = pb;
    struct msg_node_reg *s = &m->node_reg;
    const size_t each = sizeof(s->other_keys.key[0]);
    bool ok = p->pass_key.len == sizeof(s->pass_key) && p->other_keys.len % each == 0 &&
              p->other_keys.len <= sizeof(s->other_keys.key);

    if (!ok)
        return false;
    NODE_REG_FIELDS(CODEC_GET, CODEC_GET_T)
    memcpy(s->pass_key, p->pass_key.data, sizeof(s->pass_key));
    s->other_keys.n = (uint32_t)(p->other_keys.len / each);
    if (s->other_keys.n > 0)
        memcpy(s->other_keys.key, p->other_keys.data, p->other_keys.len);
    return ok && is_visible(s->addr) && is_visible(s->admin);
}

/* ---- SEG_AHEAD ------------------------------------------------------------------- */

bool codec_fill_seg_ahead(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_seg_ahead *s = &m->seg_ahead;
    Segq__SegAhead *p = pb;

    if (s->n > MSG_STATUS_MAX || s->n_pace > MSG_STATUS_MAX || s->n_kept > MSG_STATUS_MAX)
        return false;
    p->epoch = s->epoch;
    COL_PUT(kept_seg, s->kept, s->n_kept, seg);
    COL_PUT(kept_tick, s->kept, s->n_kept, tick);
    COL_PUT(seg, s->v, s->n, seg);
    COL_PUT(ahead, s->v, s->n, ahead);
    COL_PUT(pace_queue, s->pace, s->n_pace, queue);
    COL_PUT_BYTES(pace_lane, s->pace, s->n_pace, lane);
    COL_PUT(pace_min_ms, s->pace, s->n_pace, min_ms);
    COL_PUT(pace_max_ms, s->pace, s->n_pace, max_ms);
    COL_PUT(pace_us_per_place, s->pace, s->n_pace, us_per_place);
    return true;
}

bool codec_take_seg_ahead(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__SegAhead *p = pb;
    struct msg_seg_ahead *s = &m->seg_ahead;

    if (p->n_seg > MSG_STATUS_MAX || p->n_pace_queue > MSG_STATUS_MAX ||
        p->n_kept_seg > MSG_STATUS_MAX)
        return false;
    s->epoch = p->epoch;
    s->n_kept = p->n_kept_seg;
    ROWS_GET(s->kept, s->n_kept);
    COL_GET(kept_seg, s->kept, s->n_kept, seg);
    COL_GET(kept_tick, s->kept, s->n_kept, tick);
    s->n = p->n_seg;
    s->n_pace = p->n_pace_queue;
    ROWS_GET(s->v, s->n);
    ROWS_GET(s->pace, s->n_pace);
    COL_GET(seg, s->v, s->n, seg);
    COL_GET(ahead, s->v, s->n, ahead);
    COL_GET(pace_queue, s->pace, s->n_pace, queue);
    COL_GET_BYTES(pace_lane, s->pace, s->n_pace, lane);
    COL_GET(pace_min_ms, s->pace, s->n_pace, min_ms);
    COL_GET(pace_max_ms, s->pace, s->n_pace, max_ms);
    COL_GET(pace_us_per_place, s->pace, s->n_pace, us_per_place);
    for (uint32_t i = 0; i < s->n_pace; i++)
        if (s->pace[i].lane >= LANES_MAX)
            return false;
    return true;
}

/* ---- one segment's status: in SEG_STATUS and SEG_POPPED -------------------------- */

#define STATE_FIELDS(N)                                                                  \
    N(seg) N(queue) N(lane) N(state) N(capacity) N(joined) N(waiting) N(returning)       \
    N(ready) N(active) N(records) N(popped) N(last_tick) N(no_shows) N(expired) N(left)  \
    N(next) N(n_absorbed) N(move) N(rebuild) N(claimed) N(drawn) N(away)          \
    N(polls) N(closed) N(closes_ms) N(ahead)

static bool fill_state(Segq__SegState *p, const struct seg_status *s, struct arena *a)
{
    STATE_FIELDS(CODEC_PUT)
    p->absorbed = (uint64_t *)(uintptr_t)s->absorbed; /* only read */
    COL_PUT(mark_seg, s->marks, s->n_marks, seg);
    MARKS_PUT(s->marks, s->n_marks);
    return true;
}

/* least: the lowest state allowed */
static bool take_state(struct seg_status *s, const Segq__SegState *p, unsigned least,
                       struct arena *a)
{
    struct mark_row *v;
    bool ok = true;

    STATE_FIELDS(CODEC_GET)
    s->absorbed = p->absorbed;
    if (p->n_mark_stop > MSG_MARKS_MAX)
        return false;
    s->n_marks = (uint32_t)p->n_mark_stop;
    ROWS_GET(v, s->n_marks);
    COL_GET(mark_seg, v, s->n_marks, seg);
    MARKS_GET(v, s->n_marks);
    s->marks = v;
    return ok && s->lane < LANES_MAX && s->state >= least && s->state <= SEG_SEALED;
}

#define POPPED_FIELDS(N) N(epoch) N(seg) N(tick) N(n) N(busy)

bool codec_fill_seg_popped(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_seg_popped *s = &m->seg_popped;
    Segq__SegPopped *p = pb;
    Segq__SegState **state = codec_subs(&segq__seg_state__descriptor, 1, a);

    if (state == NULL)
        return false;
    POPPED_FIELDS(CODEC_PUT)
    p->status = state[0];
    return fill_state(p->status, &s->status, a);
}

bool codec_take_seg_popped(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__SegPopped *p = pb;
    struct msg_seg_popped *s = &m->seg_popped;
    bool ok = true;

    POPPED_FIELDS(CODEC_GET)
    /* state 0: a node that has nothing to tell of the segment */
    return ok && p->status != NULL && take_state(&s->status, p->status, 0, a);
}

#define STATUS_FIELDS(N) N(epoch) N(full) N(more) N(n_gone) N(tickets) N(max_tickets)

bool codec_fill_seg_status(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_seg_status *s = &m->seg_status;
    Segq__SegStatus *p = pb;

    if (s->n > MSG_STATUS_MAX || s->n_gone > MSG_STATUS_MAX)
        return false;
    STATUS_FIELDS(CODEC_PUT)
    p->gone = s->gone;
    p->n_v = s->n;
    p->v = codec_subs(&segq__seg_state__descriptor, s->n, a);
    if (p->v == NULL)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (!fill_state(p->v[i], &s->v[i], a))
            return false;
    return true;
}

bool codec_take_seg_status(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__SegStatus *p = pb;
    struct msg_seg_status *s = &m->seg_status;
    bool ok = true;

    if (p->n_v > MSG_STATUS_MAX || p->n_gone > MSG_STATUS_MAX)
        return false;
    STATUS_FIELDS(CODEC_GET)
    s->gone = p->gone;
    s->n = p->n_v;
    ROWS_GET(s->v, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        if (!take_state(&s->v[i], p->v[i], SEG_OPEN, a))
            return false;
    return ok;
}

/* ---- RULES ----------------------------------------------------------------------- */

#define RULES_FIELDS(N, T)                                                               \
    N(epoch) N(queue) NODE_RULES(N) N(session_hold_s)                                    \
    T(name, NAME_MAX_LEN) T(issuer, CODEC_URL_MAX)

bool codec_fill_rules(const struct msg *m, void *pb, struct arena *a)
{
    const struct msg_rules *s = &m->rules;
    Segq__Rules *p = pb;
    bool ok = s->n_lanes <= LANES_MAX;

    if (!ok)
        return false;
    RULES_FIELDS(CODEC_PUT, CODEC_PUT_T)
    p->n_idle_ms = CLIENT_NCLASSES;
    p->idle_ms = arena_memdup(a, s->idle_ms, sizeof(s->idle_ms));
    p->n_lanes = s->n_lanes;
    p->lanes = arena_array(a, s->n_lanes, sizeof(*p->lanes));
    if (p->idle_ms == NULL || p->lanes == NULL)
        return false;
    for (uint32_t i = 0; i < s->n_lanes; i++)
        ok = codec_put_text(&p->lanes[i], s->lanes[i], NAME_MAX_LEN) && ok;
    return ok;
}

bool codec_take_rules(const void *pb, struct arena *a, struct msg *m)
{
    const Segq__Rules *p = pb;
    struct msg_rules *s = &m->rules;
    bool ok = p->n_idle_ms == CLIENT_NCLASSES && p->n_lanes > 0 && p->n_lanes <= LANES_MAX;

    if (!ok)
        return false;
    RULES_FIELDS(CODEC_GET, CODEC_GET_T)
    memcpy(s->idle_ms, p->idle_ms, sizeof(s->idle_ms));
    s->n_lanes = p->n_lanes;
    for (uint32_t i = 0; i < s->n_lanes; i++)
        ok = codec_get_text(&p->lanes[i], NAME_MAX_LEN, a, &s->lanes[i]) && ok;
    return ok;
}
