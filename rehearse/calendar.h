/* calendar.h: who is due when: a ring of 10 ms slots, each a list through the rows themselves. Who
 * is due beyond the ring stays in the slot for another round. Pure. */
#ifndef SEGQ_REHEARSE_CALENDAR_H
#define SEGQ_REHEARSE_CALENDAR_H

#include <string.h>

#include "common/base/base.h"

#define CALENDAR_MS    10
#define CALENDAR_SLOTS 32768
#define CALENDAR_NONE  UINT32_MAX

enum person_kind {
    PERSON,
    SECOND, /* another place of the person before it */
    BOT
};

struct person { /* a row: 40 bytes; times in ms from the start, 0 = not yet */
    uint32_t next, due; /* calendar */
    uint32_t came, released, in;
    uint32_t give_up;   /* once it is inside: when the backend has counted it, a way before `in` */
    uint32_t order;     /* number of its join */
    uint32_t told;      /* ms that the person was told to wait, from `came` */
    uint32_t place;     /* told last */
    uint16_t seg;
    uint8_t state : 4;  /* enum person_state */
    uint8_t kind : 4;   /* enum person_kind */
    uint8_t lane : 4;
    uint8_t region : 4;
};

struct calendar {
    uint32_t head[CALENDAR_SLOTS];
};

static inline void calendar_init(struct calendar *c)
{
    memset(c->head, 0xff, sizeof(c->head));
}

/* At least a slot from now. */
static inline void calendar_put(struct calendar *c, struct person *v, uint32_t i, uint32_t now, uint32_t due)
{
    uint32_t *head;

    if (due < now + CALENDAR_MS)
        due = now + CALENDAR_MS;
    head = &c->head[due / CALENDAR_MS % CALENDAR_SLOTS];
    v[i].due = due;
    v[i].next = *head;
    *head = i;
}

/* Takes all of the slot of `now`. */
static inline uint32_t calendar_take(struct calendar *c, uint32_t now)
{
    uint32_t *head = &c->head[now / CALENDAR_MS % CALENDAR_SLOTS], first = *head;

    *head = CALENDAR_NONE;
    return first;
}

#endif
