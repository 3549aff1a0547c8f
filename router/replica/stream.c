/* stream.c: see stream.h. */
#include "router/replica/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

#define OFFSET_MS 5000 /* an offset counts for one to two of these */
#define DRIFT_MS  2    /* difference of two clocks in that time, at most: 200 ppm */
#define SURE_MS   (2 * OFFSET_MS) /* a way of that time is no jam */
#define LOW_MS    2000 /* time for which the shortest interval of an earlier pace counts */
#define UNKNOWN   INT64_MIN

/* ---- sets ------------------------------------------------------------------------------- */

static void set_init(struct known_set *s)
{
    map_init(&s->names, 0);
    map_init(&s->paces, 0);
    s->lacks = false;
    s->stamp_ms = 0;
    s->as_of_ms = UNKNOWN;
}

static void forget(struct stream *st, struct known_set *s, seg_id name)
{
    struct known_name *n = map_get_ptr(&s->names, name);

    if (n == NULL)
        return;
    map_del(&s->names, name);
    line_fini(&n->line);
    line_pool_credit(st->pool, sizeof(*n));
    free(n);
}

static void set_fini(struct stream *st, struct known_set *s)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&s->names, i, &key, &val)) != 0; i = 0)
        forget(st, s, key);
    for (size_t i = 0; (i = map_next(&s->paces, i, &key, &val)) != 0;) {
        line_pool_credit(st->pool, sizeof(struct told_pace));
        free((void *)(uintptr_t)val);
    }
    map_fini(&s->names);
    map_fini(&s->paces);
    set_init(s);
}

void stream_init(struct stream *st, struct line_pool *pool)
{
    memset(st, 0, sizeof(*st));
    st->pool = pool;
    st->way_ms = st->way_was_ms = st->least_ms = MSEC_NEVER;
    set_init(&st->now);
    set_init(&st->next);
    seen_init(&st->seen);
}

void stream_fini(struct stream *st)
{
    set_fini(st, &st->now);
    set_fini(st, &st->next);
    seen_fini(&st->seen);
    free(st->want);
}

/* NULL: no memory. */
static void *add(struct stream *st, struct map *m, uint64_t key, size_t size)
{
    void *p = line_pool_charge(st->pool, size) ? calloc(1, size) : NULL;

    if (p != NULL && map_set_ptr(m, key, p) == 0)
        return p;
    if (p != NULL)
        line_pool_credit(st->pool, size);
    free(p);
    return NULL;
}

/* ---- a link ----------------------------------------------------------------------------- */

void stream_up(struct stream *st, msec_t now_ms)
{
    assert(!st->up);
    st->up = true;
    st->state = STREAM_NOTHING;
    st->stamp_ms = 0;
    st->clock_ms = 0;
    st->echo_at_ms = now_ms;
    st->offset.best = st->offset.was = UNKNOWN; /* perhaps another clock than before */
    st->way_ms = st->way_was_ms = MSEC_NEVER;
    st->far_ms = 0;
    st->n_want = st->want_at = 0; /* the node has forgotten what was said before */
    st->link = (uint8_t)(1 + st->pool->n_links++ % UINT8_MAX);
    seen_again(&st->seen);
}

void stream_down(struct stream *st)
{
    st->up = false;
    st->state = STREAM_NOTHING;
    set_fini(st, &st->next);
}

void stream_reached(struct stream *st, msec_t back_ms)
{
    if (st->unreached)
        st->back_ms = back_ms;
    st->unreached = false;
}

void stream_unreached(struct stream *st, msec_t silent_ms, msec_t now_ms)
{
    st->word_ms = now_ms;
    st->heard_ms = now_ms - silent_ms;
    st->unreached = true;
    st->back_ms = 0;
}

static uint32_t wants(const struct stream *st)
{
    return st->n_want - st->want_at;
}

static void fill(struct stream *st, msec_t now_ms, struct msg_seen *m,
                 const struct seen_frame *f)
{
    *m = (struct msg_seen) { .clock_ms = now_ms, .flags = SEEN_ECHO };
    if (f != NULL) {
        m->seq = f->seq;
        m->n = f->n;
        m->v = (struct seen_row *)(uintptr_t)f->row;
    } else {
        m->seq = seen_empty(&st->seen);
    }
    m->n_want = wants(st) < STREAM_WANTS ? wants(st) : STREAM_WANTS;
    if (m->n_want > 0)
        m->want = &st->want[st->want_at];
    st->want_at += m->n_want;
    st->clock_ms = now_ms;
}

bool stream_seen(struct stream *st, msec_t now_ms, struct msg_seen *m)
{
    bool echo = now_ms >= st->echo_at_ms;
    const struct seen_frame *f;

    if (!st->up)
        return false;
    (void)seen_seal(&st->seen); /* without memory they wait */
    f = seen_next(&st->seen);
    if (f == NULL && !echo && wants(st) == 0)
        return false;
    fill(st, now_ms, m, f);
    if (echo)
        st->echo_at_ms = now_ms + SEEN_EVERY_MS;
    else
        m->flags = 0;
    return true;
}

bool stream_want(struct stream *st, const struct token *t, uint8_t client)
{
    bool may = client == WANT_NO_MORE || (st->far_ms > 0 && wants(st) < STREAM_WANTS);

    if (wants(st) == 0)
        st->n_want = st->want_at = 0;
    if (!st->up || !may || !GROW(st->want, st->n_want, st->cap_want, 16))
        return false;
    st->want[st->n_want++] = (struct want_row) { t->seg, t->number, client };
    return true;
}

void stream_farewell(struct stream *st, msec_t now_ms, struct msg_seen *m)
{
    fill(st, now_ms, m, NULL);
    m->flags = SEEN_LAST;
}

/* ---- clocks ----------------------------------------------------------------------------- */

static msec_t far_of(msec_t way_ms)
{
    return way_ms <= STREAM_NEAR_MS ? 0 : ms_min(way_ms, STREAM_FAR_MS);
}

static void note_far(struct stream *st, msec_t way_ms, msec_t now_ms)
{
    st->far_ms = far_of(ms_min(st->way_ms, st->way_was_ms));
    if (st->least_ms == MSEC_NEVER)
        st->since_ms = now_ms;
    st->least_ms = ms_min(st->least_ms, way_ms);
    st->sure_far_ms = now_ms - st->since_ms < SURE_MS ? 0 : far_of(st->least_ms);
}

static void note_echo(struct stream *st, int64_t offset, msec_t way_ms, msec_t now_ms)
{
    if (st->offset.best == UNKNOWN || now_ms - st->offset.since_ms >= OFFSET_MS) {
        bool old = now_ms - st->offset.since_ms >= 2 * OFFSET_MS;

        st->offset.was = old ? UNKNOWN : st->offset.best;
        st->way_was_ms = old ? MSEC_NEVER : st->way_ms;
        st->offset.best = offset;
        st->way_ms = way_ms;
        st->offset.since_ms = now_ms;
    } else {
        st->offset.best = offset > st->offset.best ? offset : st->offset.best;
        st->way_ms = ms_min(st->way_ms, way_ms);
    }
    note_far(st, way_ms, now_ms);
}

/* Our clock when the node's was `stamp_ms`, or earlier. */
static msec_t as_of(const struct stream *st, msec_t stamp_ms, msec_t now_ms)
{
    int64_t offset = st->offset.best > st->offset.was ? st->offset.best : st->offset.was;

    return offset == UNKNOWN ? UNKNOWN : ms_min(stamp_ms + offset - DRIFT_MS, now_ms);
}

static int take_stamp(struct stream *st, const struct msg_replica *m, msec_t now_ms)
{
    if (m->stamp_ms < st->stamp_ms || m->echo_ms > st->clock_ms)
        return SQ_EPROTO;
    st->stamp_ms = m->stamp_ms;
    if (m->echo_ms != 0)
        note_echo(st, m->echo_ms - m->stamp_ms, now_ms - m->echo_ms, now_ms);
    return seen_acked(&st->seen, m->seen);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct told_pace *pace_of(struct stream *st, struct known_set *s, queue_id queue,
                                 unsigned lane)
{
    uint64_t key = (uint64_t)queue * LANES_MAX + lane;
    struct told_pace *p = map_get_ptr(&s->paces, key);

    return p != NULL ? p : add(st, &s->paces, key, sizeof(*p));
}

/* Whoever was told under the pace before may come as soon as that said. */
static void keep_low(struct told_pace *p, uint32_t low_ms, msec_t now_ms)
{
    if (low_ms == 0 || low_ms >= p->pace.min_ms)
        return;
    p->was_min_ms = low_ms;
    p->low_until_ms = now_ms + LOW_MS;
}

static void take_pace(struct stream *st, struct known_set *s, const struct pace_entry *x,
                      msec_t now_ms)
{
    struct told_pace *p = pace_of(st, s, x->queue, x->lane);
    uint32_t low_ms;

    if (p == NULL)
        return;
    low_ms = told_pace_low_ms(p, now_ms);
    p->pace = (struct pace) { x->min_ms, x->max_ms, x->us_per_place };
    keep_low(p, low_ms, now_ms);
}

static struct known_name *name_for(struct stream *st, struct known_set *s,
                                  const struct replica_row *row)
{
    struct known_name *n = map_get_ptr(&s->names, row->name);

    if (n != NULL || (row->flags & REPLICA_NEW) == 0)
        return n;
    n = add(st, &s->names, row->name, sizeof(*n));
    if (n != NULL)
        line_init(&n->line, st->pool);
    return n;
}

/* A row that cannot be taken. One that is not NEW, of a name that is not here, is for others. */
static void pass_over(struct stream *st, struct known_set *s, const struct replica_row *row)
{
    const unsigned says = REPLICA_NEW | REPLICA_ASK | (uint8_t)~REPLICA_ROW_FLAGS;

    forget(st, s, row->name);
    s->lacks = s->lacks || (row->host != row->name && (row->flags & says) != 0);
}

/* Names without a row that says them anew are asked. */
static int take_row(struct stream *st, struct known_set *s, const struct replica_row *row)
{
    bool newer = (row->flags & ~REPLICA_ROW_FLAGS) != 0;
    struct known_name *n = newer ? NULL : name_for(st, s, row);
    int rc;

    if (n == NULL) {
        pass_over(st, s, row);
        return 0;
    }
    n->flags = row->flags;
    if ((row->flags & REPLICA_ASK) != 0)
        return 0;
    n->host = row->host;
    n->before = row->before;
    n->told_max_ms = row->told_max_ms;
    n->pace = pace_of(st, s, row->queue, row->lane);
    rc = row->before > UINT64_MAX - UINT32_MAX - 1 ? SQ_EPROTO : line_apply(&n->line, row);
    if (rc < 0)
        pass_over(st, s, row);
    else if ((row->flags & REPLICA_MORE) == 0)
        line_settle(&n->line);
    return rc == SQ_ENOMEM ? 0 : rc;
}

static int take_rows(struct stream *st, struct known_set *s, const struct msg_replica *m,
                     msec_t now_ms)
{
    int rc = 0;

    for (uint32_t i = 0; i < m->n_pace; i++)
        take_pace(st, s, &m->pace[i], now_ms);
    for (uint32_t i = 0; i < m->n_gone; i++)
        forget(st, s, m->gone[i]);
    for (uint32_t i = 0; i < m->n && rc == 0; i++)
        rc = take_row(st, s, &m->v[i]);
    return rc;
}

/* The whole push takes the place of what is here, but for what was told lately. */
static void swap_sets(struct stream *st, msec_t now_ms)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&st->now.paces, i, &key, &val)) != 0;) {
        const struct told_pace *was = (const struct told_pace *)(uintptr_t)val;
        struct told_pace *p = map_get_ptr(&st->next.paces, key);

        if (p != NULL)
            keep_low(p, told_pace_low_ms(was, now_ms), now_ms);
    }
    set_fini(st, &st->now);
    st->now = st->next;
    st->pool->n_changes++; /* other lines than before */
    set_init(&st->next);
    st->state = STREAM_LIVE;
}

int stream_apply(struct stream *st, const struct msg_replica *m, msec_t now_ms)
{
    struct known_set *s;
    int rc;

    if ((m->flags & REPLICA_WHOLE) != 0) {
        set_fini(st, &st->next);
        st->state = STREAM_WHOLE;
    }
    if (st->state == STREAM_NOTHING)
        return m->n + m->n_pace + m->n_gone > 0 || (m->flags & REPLICA_END) != 0
                   ? SQ_EPROTO
                   : m->stamp_ms != 0 ? take_stamp(st, m, now_ms) : 0;
    if ((m->flags & REPLICA_END) != 0 && st->state != STREAM_WHOLE)
        return SQ_EPROTO;
    s = st->state == STREAM_WHOLE ? &st->next : &st->now;
    rc = take_rows(st, s, m, now_ms);
    if (rc == 0 && m->stamp_ms != 0) {
        rc = take_stamp(st, m, now_ms);
        s->stamp_ms = m->stamp_ms;
        s->as_of_ms = as_of(st, m->stamp_ms, now_ms);
    }
    if (rc == 0 && (m->flags & REPLICA_END) != 0)
        swap_sets(st, now_ms);
    return rc;
}
