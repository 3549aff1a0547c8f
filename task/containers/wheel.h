/* wheel.h: moments that lie up to a hundred years ahead: a hierarchical timing wheel; and the pages that its
 * links, and tasks, lie in. Pure.
 *
 * Seven levels of 64 slots; a slot of level n is 64^n milliseconds long. What is due within
 * the running slot of level n + 1 lies in level n, so each timer moves down at most six
 * times (G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 7).
 * One word per level says which slots have timers: no slot is visited in vain, and nothing
 * ticks (as in W. Ahern's timeout.c, 2016).
 *
 * A timer is a number that the owner gives, below WHEEL_IDS; its link has 12 bytes. Several
 * wheels may share the links if a number is in one of them at a time. All times are
 * milliseconds on one axis and lie in 1 .. WHEEL_MAX. Nothing is given out early; what is due
 * at different moments comes in the order of these. */
#ifndef SEGQ_TASK_WHEEL_H
#define SEGQ_TASK_WHEEL_H

#include <assert.h>

#include "common/base/base.h"

/* ---- pages --------------------------------------------------------------------------- */

/* An array of pieces of one size that grows by pages, so that no piece ever moves.
 *
 * A piece is found by its index: one look into the table of pages. A new page is zeroed. What
 * was reached stays until the end. */

#define PAGES_SHIFT 8
#define PAGES_EACH  (1u << PAGES_SHIFT) /* pieces of a page */

struct pages {
    char **page; /* owned; NULL: not reached yet */
    uint32_t n_pages, cap;
    uint32_t size;  /* bytes of a piece */
    uint32_t taken; /* pages that are there */
};

void pages_init(struct pages *p, uint32_t size);
void pages_fini(struct pages *p);
/* Makes piece i usable. 0 or SQ_ENOMEM; nothing has changed then. */
SQ_CHECK int pages_reach(struct pages *p, uint32_t i);

static inline bool pages_has(const struct pages *p, uint32_t i)
{
    return i >> PAGES_SHIFT < p->n_pages && p->page[i >> PAGES_SHIFT] != NULL;
}

/* The piece must have been reached. */
static inline void *pages_at(const struct pages *p, uint32_t i)
{
    assert(pages_has(p, i));
    return p->page[i >> PAGES_SHIFT] + (size_t)(i & (PAGES_EACH - 1)) * p->size;
}

static inline uint64_t pages_bytes(const struct pages *p)
{
    return (uint64_t)p->taken * PAGES_EACH * p->size + (uint64_t)p->cap * sizeof(*p->page);
}

/* ---- the wheel ----------------------------------------------------------------------- */

#define WHEEL_LEVELS 7
#define WHEEL_SLOTS  64u
#define WHEEL_MAX    ((msec_t)1 << 42) /* end of the wall clock: in the year 2109 */
#define WHEEL_IDS    (((uint32_t)1 << 26) - 1)
#define WHEEL_NONE   UINT32_MAX

struct wheel_link { /* 94 bits, in 12 bytes */
    uint64_t when : 42;            /* 0: not armed */
    uint64_t prev : 26, next : 26; /* numbers + 1; 0: none */
} __attribute__((packed, aligned(4)));

struct wheel_list {
    uint32_t first, last; /* numbers + 1 */
};

struct wheel {
    struct pages *links; /* ref; of struct wheel_link */
    msec_t now;          /* all up to this moment has been moved to `due` */
    uint32_t n;          /* armed */
    uint64_t used[WHEEL_LEVELS]; /* bit: slot has timers */
    struct wheel_list slot[WHEEL_LEVELS][WHEEL_SLOTS];
    struct wheel_list due;
};

/* links: initialised by pages_init(links, sizeof(struct wheel_link)). */
void wheel_init(struct wheel *w, struct pages *links, msec_t now);
/* Arms, or arms anew; `id` must have been reached in the links. A moment that has passed is
 * due at once. */
void wheel_set(struct wheel *w, uint32_t id, msec_t when);
/* Not armed: nothing happens. */
void wheel_clear(struct wheel *w, uint32_t id);
/* The next one that is due at `now`, and its moment; WHEEL_NONE. */
uint32_t wheel_due(struct wheel *w, msec_t now, msec_t *when);
/* The same, no longer armed. */
static inline uint32_t wheel_pop(struct wheel *w, msec_t now)
{
    msec_t when;
    uint32_t id = wheel_due(w, now, &when);

    if (id != WHEEL_NONE)
        wheel_clear(w, id);
    return id;
}
/* When to call wheel_due next: never after the first timer, at most six times before it.
 * MSEC_NEVER: nothing is armed. */
msec_t wheel_next(const struct wheel *w);
/* The clock went back: all timers are linked anew. Costs as many steps as there are timers. */
void wheel_rewind(struct wheel *w, msec_t now);

/* Find the timer that was armed first in the first slot that has any: where all are armed for the same span,
 * the first of all. WHEEL_NONE. */
uint32_t wheel_first(const struct wheel *w);

/* When it will be due; 0: not armed (or never reached). */
static inline msec_t wheel_when(const struct wheel *w, uint32_t id)
{
    return pages_has(w->links, id) ? (msec_t)((struct wheel_link *)pages_at(w->links, id))->when
                                   : 0;
}

#endif
