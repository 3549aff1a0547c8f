/* contents.h: everything that belongs to the tickets of one segment, and so what a move
 * carries: the line, the records of the released, the subjects, contacts, the tables of segments
 * absorbed earlier. Pure. */
#ifndef SEGQ_CONTENTS_H
#define SEGQ_CONTENTS_H

#include "segment/line/person.h"
#include "segment/line/reloc.h"
#include "segment/line/segq.h"
#include "segment/line/session.h"

struct contents {
    seg_id id;
    uint32_t joined; /* end of its own numbers; slots above hold the absorbed */
    struct segq q;
    struct sessions released;
    struct reloc_list relocs;
    struct subjects subjects;
    struct contacts contacts;
};

static inline void contents_init(struct contents *b, seg_id id, struct block_pool *pool)
{
    *b = (struct contents){ .id = id };
    segq_init(&b->q, pool);
    sessions_init(&b->released);
    subjects_init(&b->subjects);
    contacts_init(&b->contacts);
}

static inline void contents_fini(struct contents *b)
{
    segq_fini(&b->q);
    sessions_fini(&b->released);
    subjects_fini(&b->subjects);
    contacts_fini(&b->contacts);
    reloc_list_fini(&b->relocs);
}

/* A ticket has ended: nothing of its person stays. */
static inline void contents_forget(struct contents *b, struct ticket_id id)
{
    subjects_del(&b->subjects, id);
    contacts_del(&b->contacts, id);
}

/* The ticket at this slot, as tokens name it. */
static inline struct ticket_id contents_ticket(const struct contents *b, uint32_t slot)
{
    const struct reloc *r = slot < b->joined ? NULL : reloc_list_at(&b->relocs, slot);

    if (r == NULL)
        return (struct ticket_id){ b->id, slot };
    return (struct ticket_id){ r->seg, reloc_number(r, slot - r->base) };
}

/* Idle time in units. A deadline counts modulo 256; at most this far ahead. */
#define IDLE_HORIZON 127
/* Units left at unit `now`, 0 .. IDLE_HORIZON. */
static inline uint8_t idle_left(uint8_t deadline, uint8_t now)
{
    int8_t left = (int8_t)(uint8_t)(deadline - now);

    return left > 0 ? (uint8_t)left : 0;
}

#endif
