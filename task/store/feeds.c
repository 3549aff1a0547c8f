/* feeds.c: see feeds.h. */
#include "task/store/feeds.h"

#include <stdlib.h>

#define COUNT_SHIFT 16

void feeds_init(struct feeds *s)
{
    map_init(&s->by_hash, 0); /* hashes are keyed */
}

void feeds_fini(struct feeds *s)
{
    uint64_t hash, v;

    for (size_t i = 0; (i = map_next(&s->by_hash, i, &hash, &v)) != 0;)
        free((struct feed *)(uintptr_t)v);
    map_fini(&s->by_hash);
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
