/* wheel.c: the level of a timer is the highest digit (base 64) in which its moment differs
 * from now; so the lowest level that has timers has the next one. */
#include "task/containers/wheel.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define DIGIT 6

_Static_assert(sizeof(struct wheel_link) == 12, "with its slot a task has 60 bytes");
_Static_assert((msec_t)1 << DIGIT * WHEEL_LEVELS == WHEEL_MAX, "a level for each digit");

static struct wheel_link *link_of(const struct wheel *w, uint32_t id)
{
    return pages_at(w->links, id);
}

static unsigned level_of(msec_t now, msec_t when)
{
    uint64_t differ = (uint64_t)(now ^ when);

    return (63 - (unsigned)__builtin_clzll(differ | 1)) / DIGIT;
}

static unsigned digit_of(msec_t when, unsigned level)
{
    return (unsigned)(when >> DIGIT * level) & (WHEEL_SLOTS - 1);
}

static struct wheel_list *list_of(struct wheel *w, msec_t when)
{
    if (when <= w->now)
        return &w->due;
    return &w->slot[level_of(w->now, when)][digit_of(when, level_of(w->now, when))];
}

static void append(struct wheel *w, uint32_t id)
{
    struct wheel_link *l = link_of(w, id);
    msec_t when = (msec_t)l->when;
    struct wheel_list *list = list_of(w, when);

    l->prev = list->last;
    l->next = 0;
    if (list->last != 0)
        link_of(w, list->last - 1)->next = id + 1;
    else
        list->first = id + 1;
    list->last = id + 1;
    if (list != &w->due)
        w->used[level_of(w->now, when)] |= 1ull << digit_of(when, level_of(w->now, when));
}

static void take_out(struct wheel *w, uint32_t id)
{
    struct wheel_link *l = link_of(w, id);
    msec_t when = (msec_t)l->when;
    struct wheel_list *list = list_of(w, when);

    assert(list->first != 0 && w->n > 0);
    if (l->prev != 0)
        link_of(w, l->prev - 1)->next = l->next;
    else
        list->first = l->next;
    if (l->next != 0)
        link_of(w, l->next - 1)->prev = l->prev;
    else
        list->last = l->prev;
    if (list->first == 0 && list != &w->due)
        w->used[level_of(w->now, when)] &= ~(1ull << digit_of(when, level_of(w->now, when)));
    l->when = 0;
    l->prev = l->next = 0;
    w->n--;
}

void wheel_init(struct wheel *w, struct pages *links, msec_t now)
{
    assert(links->size == sizeof(struct wheel_link));
    assert(now >= 0 && now < WHEEL_MAX);
    memset(w, 0, sizeof(*w));
    w->links = links;
    w->now = now;
}

void wheel_set(struct wheel *w, uint32_t id, msec_t when)
{
    assert(when > 0 && when < WHEEL_MAX && id < WHEEL_IDS);
    if (link_of(w, id)->when != 0)
        take_out(w, id);
    link_of(w, id)->when = (uint64_t)when & (WHEEL_MAX - 1);
    append(w, id);
    w->n++;
}

void wheel_clear(struct wheel *w, uint32_t id)
{
    if (wheel_when(w, id) != 0)
        take_out(w, id);
}

/* All timers of a list are linked anew, seen from w->now. */
static void relink(struct wheel *w, struct wheel_list list)
{
    for (uint32_t id = list.first, next; id != 0; id = next) {
        next = link_of(w, id - 1)->next;
        append(w, id - 1);
    }
}

/* The first slot that has timers, and its beginning. */
static bool find_slot(const struct wheel *w, unsigned *level, unsigned *slot, msec_t *begin)
{
    for (unsigned n = 0; n < WHEEL_LEVELS; n++) {
        if (w->used[n] == 0)
            continue;
        *level = n;
        *slot = (unsigned)__builtin_ctzll(w->used[n]);
        *begin = ((w->now >> DIGIT * n & ~(msec_t)(WHEEL_SLOTS - 1)) | *slot) << DIGIT * n;
        assert(*begin > w->now);
        return true;
    }
    return false;
}

uint32_t wheel_due(struct wheel *w, msec_t now, msec_t *when)
{
    unsigned level, slot;
    msec_t begin;

    assert(now >= 0 && now < WHEEL_MAX);
    while (w->due.first == 0 && find_slot(w, &level, &slot, &begin) && begin <= now) {
        struct wheel_list list = w->slot[level][slot];

        w->slot[level][slot] = (struct wheel_list){ 0 };
        w->used[level] &= ~(1ull << slot);
        w->now = begin;
        relink(w, list);
    }
    if (w->due.first != 0 && (msec_t)link_of(w, w->due.first - 1)->when <= now) {
        *when = (msec_t)link_of(w, w->due.first - 1)->when;
        return w->due.first - 1;
    }
    if (w->due.first == 0)
        w->now = ms_max(w->now, now);
    return WHEEL_NONE;
}

msec_t wheel_next(const struct wheel *w)
{
    unsigned level, slot;
    msec_t begin;

    if (w->due.first != 0)
        return w->now;
    return find_slot(w, &level, &slot, &begin) ? begin : MSEC_NEVER;
}

uint32_t wheel_first(const struct wheel *w)
{
    unsigned level, slot;
    msec_t begin;

    if (w->due.first != 0)
        return w->due.first - 1;
    return find_slot(w, &level, &slot, &begin) ? w->slot[level][slot].first - 1 : WHEEL_NONE;
}

void wheel_rewind(struct wheel *w, msec_t now)
{
    struct wheel old = *w;

    assert(now >= 0 && now < WHEEL_MAX);
    wheel_init(w, old.links, now);
    w->n = old.n;
    relink(w, old.due);
    for (unsigned n = 0; n < WHEEL_LEVELS; n++)
        for (unsigned s = 0; s < WHEEL_SLOTS; s++)
            relink(w, old.slot[n][s]);
}

/* ---- pages: each is allocated when its first piece is wanted ------------------------ */

void pages_init(struct pages *p, uint32_t size)
{
    assert(size > 0);
    memset(p, 0, sizeof(*p));
    p->size = size;
}

void pages_fini(struct pages *p)
{
    for (uint32_t i = 0; i < p->n_pages; i++)
        free(p->page[i]);
    free(p->page);
    pages_init(p, p->size);
}

int pages_reach(struct pages *p, uint32_t i)
{
    uint32_t at = i >> PAGES_SHIFT;

    if (at >= p->n_pages) {
        if (!GROW_BY(p->page, p->n_pages, at + 1 - p->n_pages, p->cap, 4))
            return SQ_ENOMEM;
        memset(p->page + p->n_pages, 0, (at + 1 - p->n_pages) * sizeof(*p->page));
        p->n_pages = at + 1;
    }
    if (p->page[at] == NULL) {
        p->page[at] = calloc(PAGES_EACH, p->size);
        if (p->page[at] == NULL)
            return SQ_ENOMEM;
        p->taken++;
    }
    assert(pages_has(p, i));
    return 0;
}
