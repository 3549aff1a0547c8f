/* queue_extras.c: groups by number and by name, their tasks in a ring without end. */
#include "task/store/queue_extras.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

void groups_init(struct groups *g, const msec_t *now)
{
    *g = (struct groups){ .next_id = 1, .now = now };
    pages_init(&g->members, sizeof(struct group_member));
    map_init(&g->by_hash, 0); /* hashes are keyed; numbers are our own */
    map_init(&g->by_id, 0);
    list_init(&g->empty);
}

void groups_fini(struct groups *g)
{
    for (uint32_t i = 0; i < g->n_v; i++)
        free(g->v[i]);
    free(g->v);
    free(g->holes);
    map_fini(&g->by_hash);
    map_fini(&g->by_id);
    pages_fini(&g->members);
}

static bool is_named(const struct group *k, const char *queue, uint32_t queue_n, const char *name,
                     uint32_t name_n)
{
    return k->queue_n == queue_n && k->name_n == name_n && memcmp(k->text, queue, queue_n) == 0 &&
           memcmp(k->text + queue_n, name, name_n) == 0;
}

struct group *groups_find(const struct groups *g, uint64_t hash, const char *queue, uint32_t queue_n,
                          const char *name, uint32_t name_n)
{
    struct group *k = map_get_ptr(&g->by_hash, hash);

    return k != NULL && is_named(k, queue, queue_n, name, name_n) ? k : NULL;
}

static void set_flags(struct groups *g, struct group *k, uint8_t flags)
{
    bool was = (k->flags & GROUP_CANCELLING) != 0, is = (flags & GROUP_CANCELLING) != 0;

    g->cancelling = g->cancelling + is - was;
    k->flags = flags;
    k->cursor = k->first;
}

static void begin_empty(struct groups *g, struct group *k)
{
    k->since = *g->now;
    list_push_back(&g->empty, &k->in);
}

static int make(struct groups *g, struct group *k)
{
    if (map_set_ptr(&g->by_id, k->id, k) < 0)
        return SQ_ENOMEM;
    if (map_set_ptr(&g->by_hash, k->hash, k) < 0) {
        map_del(&g->by_id, k->id);
        return SQ_ENOMEM;
    }
    k->index = g->n_holes > 0 ? g->holes[--g->n_holes] : g->n_v++;
    g->v[k->index] = k;
    g->n++;
    begin_empty(g, k);
    return 0;
}

/* Room for one more, and for its hole. */
static bool reach(struct groups *g)
{
    uint32_t *holes;

    if (g->n_holes > 0 || g->n_v < g->cap_holes)
        return true;
    if (!GROW(g->v, g->n_v, g->cap, 16))
        return false;
    holes = realloc(g->holes, g->cap * sizeof(*holes));
    if (holes == NULL)
        return false;
    g->holes = holes;
    g->cap_holes = g->cap;
    return true;
}

int groups_set(struct groups *g, uint64_t id, uint64_t hash, const char *queue, uint32_t queue_n,
               const char *name, uint32_t name_n, uint8_t flags)
{
    struct group *k = map_get_ptr(&g->by_id, id), *other = map_get_ptr(&g->by_hash, hash);
    int rc;

    if (id == 0 || queue_n == 0 || queue_n > TASK_NAME_MAX || name_n == 0 || name_n > TASK_NAME_MAX ||
        k != other || (k != NULL && !is_named(k, queue, queue_n, name, name_n)))
        return SQ_EPROTO;
    if (k != NULL) {
        set_flags(g, k, flags);
        return 0;
    }
    if (!reach(g))
        return SQ_ENOMEM;
    k = calloc(1, sizeof(*k) + queue_n + name_n);
    if (k == NULL)
        return SQ_ENOMEM;
    k->id = id;
    k->hash = hash;
    k->queue_n = (uint8_t)queue_n;
    k->name_n = (uint8_t)name_n;
    memcpy(k->text, queue, queue_n);
    memcpy(k->text + queue_n, name, name_n);
    rc = make(g, k);
    if (rc < 0) {
        free(k);
        return rc;
    }
    set_flags(g, k, flags);
    g->next_id = u64_max(g->next_id, id + 1);
    return 0;
}

static void forget(struct groups *g, struct group *k)
{
    set_flags(g, k, 0);
    list_remove(&g->empty, &k->in);
    map_del(&g->by_id, k->id);
    map_del(&g->by_hash, k->hash);
    g->v[k->index] = NULL;
    g->holes[g->n_holes++] = k->index;
    g->n--;
    free(k);
}

int groups_drop(struct groups *g, uint64_t id)
{
    struct group *k = map_get_ptr(&g->by_id, id);

    if (k == NULL || k->first != 0)
        return SQ_EPROTO;
    forget(g, k);
    return 0;
}

/* ---- tasks ------------------------------------------------------------------------- */

static struct group_member *at(const struct groups *g, uint32_t slot)
{
    return pages_at(&g->members, slot);
}

int groups_join(struct groups *g, uint32_t slot, uint64_t id)
{
    struct group *k = map_get_ptr(&g->by_id, id);
    struct group_member *m;

    if (k == NULL || groups_of(g, slot) != NULL)
        return SQ_EPROTO;
    if (pages_reach(&g->members, slot) < 0)
        return SQ_ENOMEM;
    m = at(g, slot);
    *m = (struct group_member){ k->index + 1, 0, k->first };
    if (k->first != 0)
        at(g, k->first - 1)->prev = slot + 1;
    else
        list_remove(&g->empty, &k->in);
    k->first = slot + 1;
    k->cursor = k->first; /* in a snapshot its tasks stand behind it, also of one that is being cancelled */
    g->kept++;
    return 0;
}

static void leave(struct groups *g, struct group *k, uint32_t slot)
{
    struct group_member *m = at(g, slot);

    if (k->cursor == slot + 1)
        k->cursor = m->next;
    if (m->prev != 0)
        at(g, m->prev - 1)->next = m->next;
    else
        k->first = m->next;
    if (m->next != 0)
        at(g, m->next - 1)->prev = m->prev;
    *m = (struct group_member){ 0 };
    g->kept--;
    if (k->first == 0)
        begin_empty(g, k);
}

void groups_unjoin(struct groups *g, uint32_t slot)
{
    struct group *k = groups_of(g, slot);
    uint64_t ever = 0;

    if (k == NULL)
        return;
    leave(g, k, slot);
    for (int s = 0; s < TASK_NSTATES; s++)
        ever += k->n[s];
    if (ever == 0 && k->first == 0)
        forget(g, k);
}

void groups_moved(struct groups *g, uint32_t slot, enum task_state from, enum task_state to)
{
    struct group *k = groups_of(g, slot);

    if (k == NULL)
        return;
    if (to == TASK_FREE) {
        leave(g, k, slot);
        return;
    }
    k->n[from] -= from != TASK_FREE;
    k->n[to]++;
}

uint64_t groups_bytes(const struct groups *g)
{
    return pages_bytes(&g->members) + g->cap * (sizeof(g->v[0]) + sizeof(g->holes[0])) +
           (g->by_hash.cap + g->by_id.cap) * sizeof(struct map_slot) + (uint64_t)g->n * 200;
}

/* ---- feeds -------------------------------------------------------------------------------- */

#define COUNT_SHIFT 16

void feeds_init(struct feeds *s)
{
    map_init(&s->by_hash, 0); /* hashes are keyed */
}

void feeds_fini(struct feeds *s)
{
    map_fini_all(&s->by_hash);
}

static bool is_idle(const struct feed *f, msec_t now)
{
    return now - f->asked > FEED_IDLE_MS;
}

static void drop(struct feeds *s, struct feed *f)
{
    (void)map_del(&s->by_hash, f->hash);
    free(f);
}

/* Drops one that nobody asks for any more. False: there is none. */
static bool make_room(struct feeds *s, msec_t now)
{
    uint64_t hash, v;

    for (size_t i = 0; (i = map_next(&s->by_hash, i, &hash, &v)) != 0;)
        if (is_idle((const struct feed *)(uintptr_t)v, now)) {
            drop(s, (struct feed *)(uintptr_t)v);
            return true;
        }
    return false;
}

static bool may_begin(const struct feeds *s, uint64_t whose, msec_t now)
{
    uint64_t hash, v;
    unsigned all = 0, own = 0;

    for (size_t i = 0; (i = map_next(&s->by_hash, i, &hash, &v)) != 0;) {
        const struct feed *f = (const struct feed *)(uintptr_t)v;

        all += !is_idle(f, now);
        own += !is_idle(f, now) && f->whose == whose;
    }
    return whose == 0 || own == 0 || own < FEEDS_MAX - all;
}

struct feed *feeds_ask(struct feeds *s, uint64_t hash, struct feed_asker *a, msec_t now, int64_t wall_ms)
{
    struct feed *f = map_get_ptr(&s->by_hash, hash);

    if (f != NULL && is_idle(f, now)) {
        drop(s, f);
        f = NULL;
    }
    if (f == NULL) {
        a->has_most = !may_begin(s, a->whose, now);
        if (a->has_most)
            return NULL;
        if (s->by_hash.n >= FEEDS_MAX && !make_room(s, now))
            return NULL;
        f = malloc(sizeof(*f));
        if (f == NULL || map_set_ptr(&s->by_hash, hash, f) < 0) {
            free(f);
            return NULL;
        }
        f->hash = hash;
        f->whose = a->whose;
        f->asked_by_it = now;
        f->first = f->next = (uint64_t)wall_ms << COUNT_SHIFT;
    }
    f->asked = now;
    if (f->whose != a->whose && now - f->asked_by_it > FEED_IDLE_MS)
        f->whose = a->whose;
    if (f->whose == a->whose)
        f->asked_by_it = now;
    return f;
}

void feeds_note(struct feeds *s, uint64_t hash, const struct feed_event *x)
{
    struct feed *f = map_get_ptr(&s->by_hash, hash);

    if (f != NULL && is_idle(f, x->at))
        drop(s, f);
    else if (f != NULL)
        f->v[f->next++ % FEED_KEPT] = *x;
}

uint64_t feeds_bytes(const struct feeds *s)
{
    return s->by_hash.n * sizeof(struct feed) + s->by_hash.cap * sizeof(struct map_slot);
}

struct feed_part feed_read(const struct feed *f, uint64_t after, struct feed_event *v, unsigned most)
{
    uint64_t oldest = f->next - f->first > FEED_KEPT ? f->next - FEED_KEPT : f->first;
    struct feed_part p = { .next = f->next - 1 };
    uint64_t at = after + 1;

    if (after == 0)
        return p;
    p.gap = at < oldest || at > f->next;
    for (at = p.gap ? oldest : at; at < f->next && p.n < most; at++)
        v[p.n++] = f->v[at % FEED_KEPT];
    p.next = at - 1;
    return p;
}
