/* session.c: one array of records, two heaps of deadlines, one list of the returning. */
#include "segment/line/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

#define NONE     UINT32_MAX
#define MIN_TRIM 64

void sessions_init(struct sessions *s)
{
    memset(s, 0, sizeof(*s));
    s->free = s->first = s->last = NONE;
    ticket_idx_init(&s->idx, sizeof(struct session));
}

void sessions_fini(struct sessions *s)
{
    free(s->v);
    free(s->service.v);
    free(s->monotonic.v);
    ticket_idx_fini(&s->idx);
    sessions_init(s);
}

/* ---- heaps ----------------------------------------------------------------------- */

static struct session_heap *heap_of(struct sessions *s, const struct session *x)
{
    return session_is_monotonic(x->state) ? &s->monotonic : &s->service;
}

static void heap_put(struct sessions *s, struct session_heap *h, uint32_t at, uint32_t i)
{
    h->v[at] = i;
    s->v[i].heap_at = at;
}

static void heap_up(struct sessions *s, struct session_heap *h, uint32_t at)
{
    uint32_t i = h->v[at];

    while (at > 0) {
        uint32_t up = (at - 1) / 2;

        if (s->v[h->v[up]].deadline_ms <= s->v[i].deadline_ms)
            break;
        heap_put(s, h, at, h->v[up]);
        at = up;
    }
    heap_put(s, h, at, i);
}

static void heap_down(struct sessions *s, struct session_heap *h, uint32_t at)
{
    uint32_t i = h->v[at];

    for (;;) {
        uint32_t kid = at * 2 + 1;

        if (kid >= h->n)
            break;
        if (kid + 1 < h->n &&
            s->v[h->v[kid + 1]].deadline_ms < s->v[h->v[kid]].deadline_ms)
            kid++;
        if (s->v[i].deadline_ms <= s->v[h->v[kid]].deadline_ms)
            break;
        heap_put(s, h, at, h->v[kid]);
        at = kid;
    }
    heap_put(s, h, at, i);
}

static void heap_add(struct sessions *s, struct session *x)
{
    struct session_heap *h = heap_of(s, x);

    heap_put(s, h, h->n++, (uint32_t)(x - s->v));
    heap_up(s, h, h->n - 1);
}

static void heap_del(struct sessions *s, struct session *x)
{
    struct session_heap *h = heap_of(s, x);
    uint32_t at = x->heap_at, last;

    assert(at < h->n && h->v[at] == (uint32_t)(x - s->v));
    last = h->v[--h->n];
    if (at == h->n)
        return;
    heap_put(s, h, at, last);
    heap_up(s, h, at);
    heap_down(s, h, s->v[last].heap_at);
}

/* ---- the returning --------------------------------------------------------------- */

static void line_add(struct sessions *s, struct session *x)
{
    uint32_t i = (uint32_t)(x - s->v);

    x->prev = s->last;
    x->next = NONE;
    if (s->last != NONE)
        s->v[s->last].next = i;
    else
        s->first = i;
    s->last = i;
}

static void line_del(struct sessions *s, struct session *x)
{
    if (x->prev != NONE)
        s->v[x->prev].next = x->next;
    else
        s->first = x->next;
    if (x->next != NONE)
        s->v[x->next].prev = x->prev;
    else
        s->last = x->prev;
    x->used = 0; /* out of the line, and may get a pass */
}

struct session *sessions_first_returning(const struct sessions *s)
{
    return s->first != NONE ? &s->v[s->first] : NULL;
}

struct session *sessions_next_returning(const struct sessions *s, const struct session *x)
{
    return x->next != NONE ? &s->v[x->next] : NULL;
}

/* ---- states ---------------------------------------------------------------------- */

#define TO(state) (1u << (state))

/* The diagram of session.h. Whoever has left, or whose session was ended, goes from every state
 * in which there still is something to end. */
bool session_may(unsigned from, unsigned to)
{
    enum { END = TO(SESSION_OVER) | TO(SESSION_REVOKED) };
    static const uint8_t may[SESSION_NSTATES] = {
        [SESSION_READY] = TO(SESSION_ADMITTED) | TO(SESSION_GRACE) | TO(SESSION_RETURNING) | END,
        [SESSION_ADMITTED] = END,
        [SESSION_GRACE] = TO(SESSION_RETURNING) | END,
        [SESSION_RETURNING] = TO(SESSION_READY) | END,
    };

    return from < SESSION_NSTATES && to < SESSION_NSTATES && (may[from] & TO(to));
}

/* ---- records --------------------------------------------------------------------- */

/* Grows the arrays to cap records; what was moved stays usable if a later step fails. */
static int grow(struct sessions *s, uint32_t cap)
{
    struct session *v = realloc(s->v, cap * sizeof(*v));
    uint32_t *h;

    if (v == NULL)
        return SQ_ENOMEM;
    s->v = v;
    h = realloc(s->service.v, cap * sizeof(*h));
    if (h == NULL)
        return SQ_ENOMEM;
    s->service.v = h;
    h = realloc(s->monotonic.v, cap * sizeof(*h));
    if (h == NULL)
        return SQ_ENOMEM;
    s->monotonic.v = h;
    for (uint32_t i = cap; i-- > s->cap;) {
        s->v[i] = (struct session) { .next = s->free };
        s->free = i;
    }
    s->cap = cap;
    return 0;
}

int sessions_reserve(struct sessions *s, uint32_t n)
{
    uint32_t cap = ticket_idx_grown(&s->idx, s->v, (uint64_t)s->idx.n + n, s->cap);

    if (cap == TICKET_IDX_NONE)
        return SQ_ENOMEM;
    return cap == s->cap ? 0 : grow(s, cap);
}

struct session *sessions_find(const struct sessions *s, struct ticket_id id)
{
    uint32_t i = ticket_idx_find(&s->idx, s->v, id);

    return i != TICKET_IDX_NONE ? &s->v[i] : NULL;
}

static void enter(struct sessions *s, struct session *x, enum session_state state,
                  msec_t deadline_ms)
{
    assert(state > SESSION_FREE && state < SESSION_NSTATES);
    x->state = (uint8_t)state;
    x->deadline_ms = deadline_ms;
    s->n[state]++;
    heap_add(s, x);
    if (state == SESSION_RETURNING)
        line_add(s, x);
}

static void leave(struct sessions *s, struct session *x)
{
    assert(x->state != SESSION_FREE && s->n[x->state] > 0);
    if (x->state == SESSION_RETURNING)
        line_del(s, x);
    heap_del(s, x);
    s->n[x->state]--;
}

struct session *sessions_add(struct sessions *s, struct ticket_id id,
                             enum session_state state, msec_t deadline_ms)
{
    uint32_t i = s->free;
    struct session *x;

    assert(i != NONE);
    x = &s->v[i];
    s->free = x->next;
    *x = (struct session) { .id = id };
    ticket_idx_put(&s->idx, s->v, i);
    enter(s, x, state, deadline_ms);
    return x;
}

void session_restore(struct sessions *s, struct session *x, enum session_state state,
                     msec_t deadline_ms)
{
    if (state == x->state) { /* only the deadline: keeps its place in the line */
        heap_del(s, x);
        x->deadline_ms = deadline_ms;
        heap_add(s, x);
        return;
    }
    leave(s, x);
    enter(s, x, state, deadline_ms);
}

void session_set(struct sessions *s, struct session *x, enum session_state state,
                 msec_t deadline_ms)
{
    assert(state == x->state || session_may(x->state, state));
    session_restore(s, x, state, deadline_ms);
}

void session_forget(struct sessions *s, struct session *x)
{
    uint32_t i = (uint32_t)(x - s->v);

    leave(s, x);
    ticket_idx_del(&s->idx, s->v, i);
    x->state = SESSION_FREE;
    x->next = s->free;
    s->free = i;
}

struct session *sessions_due(const struct sessions *s, msec_t service_ms, msec_t now_ms)
{
    if (s->service.n > 0 && s->v[s->service.v[0]].deadline_ms <= service_ms)
        return &s->v[s->service.v[0]];
    if (s->monotonic.n > 0 && s->v[s->monotonic.v[0]].deadline_ms <= now_ms)
        return &s->v[s->monotonic.v[0]];
    return NULL;
}

void sessions_shift(struct sessions *s, msec_t ms)
{
    for (uint32_t i = 0; i < s->service.n; i++)
        s->v[s->service.v[i]].deadline_ms += ms; /* all alike: the heap's order holds */
}

uint32_t sessions_live(const struct sessions *s)
{
    return s->n[SESSION_READY] + s->n[SESSION_ADMITTED] + s->n[SESSION_GRACE] +
           s->n[SESSION_RETURNING] + s->n[SESSION_REVOKED];
}

struct session *sessions_next(const struct sessions *s, uint32_t *i)
{
    while (*i < s->cap) {
        struct session *x = &s->v[(*i)++];

        if (x->state != SESSION_FREE)
            return x;
    }
    return NULL;
}

static void copy_one(struct sessions *to, const struct session *x)
{
    struct session *y =
        sessions_add(to, x->id, (enum session_state)x->state, x->deadline_ms);

    y->client = x->client;
    y->reason = x->reason;
    y->released_at_ms = x->released_at_ms;
    y->until_s = x->until_s;
    y->expires_ms = x->expires_ms;
    if (session_has_use(x->state))
        y->used = x->used;
}

void sessions_trim(struct sessions *s)
{
    struct sessions t;
    struct session *x;

    if (s->cap > 0 && s->idx.n == 0) {
        sessions_fini(s);
        return;
    }
    if (s->cap < MIN_TRIM || s->idx.n >= s->cap / 4)
        return;
    sessions_init(&t);
    if (sessions_reserve(&t, s->idx.n + s->idx.n / 2) < 0) {
        sessions_fini(&t);
        return; /* later, then */
    }
    for (uint32_t i = s->first; i != NONE; i = s->v[i].next)
        copy_one(&t, &s->v[i]);
    for (uint32_t i = 0; (x = sessions_next(s, &i)) != NULL;)
        if (x->state != SESSION_RETURNING)
            copy_one(&t, x);
    sessions_fini(s);
    *s = t;
}

/* ---- marks: a short list of runs ---------------------------------------------------- */

int marks_reserve(struct marks *m, uint32_t n)
{
    return GROW_BY(m->v, m->n, n, m->cap, 8) ? 0 : SQ_ENOMEM;
}

void marks_add(struct marks *m, struct ticket_id id, int64_t at_ms, bool again)
{
    struct mark_row *last = m->n > 0 ? &m->v[m->n - 1] : NULL;

    m->held += !again;
    if (!again && last != NULL && !last->again && last->seg == id.seg &&
        last->end <= id.number && last->at_ms == at_ms) {
        last->end = id.number + 1;
        return;
    }
    assert(m->n < m->cap); /* reserved */
    m->v[m->n++] = (struct mark_row) { id.seg, id.number, id.number + 1, again, at_ms };
}

void marks_put(struct marks *m, const struct mark_row *row)
{
    assert(m->n < m->cap && row->from < row->end);
    m->v[m->n++] = *row;
}

bool marks_has(const struct marks *m, struct ticket_id id)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->v[i].seg == id.seg && m->v[i].from <= id.number && id.number < m->v[i].end)
            return true;
    return false;
}

void marks_clear(struct marks *m)
{
    free(m->v); /* most segments release nothing most of the time */
    memset(m, 0, sizeof(*m));
}
