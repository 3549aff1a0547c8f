/* contents.h: everything that belongs to the tickets of one segment, and so what a move
 * carries: the line, the records of the released, the subjects, the tables of segments
 * absorbed earlier. Pure. */
#ifndef SEGQ_CONTENTS_H
#define SEGQ_CONTENTS_H

#include "segment/line/reloc.h"
#include "segment/line/segq.h"
#include "segment/line/session.h"
#include "segment/line/subject.h"

struct contents {
    seg_id id;
    uint32_t joined; /* end of its own numbers; slots above hold the absorbed */
    struct segq q;
    struct sessions released;
    struct reloc_list relocs;
    struct subjects subjects;
};

void contents_init(struct contents *b, seg_id id, struct block_pool *pool);
void contents_fini(struct contents *b);
/* The ticket at this slot, as tokens name it. */
struct ticket_id contents_ticket(const struct contents *b, uint32_t slot);

/* Idle time in units. A deadline counts modulo 256; at most this far ahead. */
#define IDLE_HORIZON 127
/* Units left at unit `now`, 0 .. IDLE_HORIZON. */
static inline uint8_t idle_left(uint8_t deadline, uint8_t now)
{
    int8_t left = (int8_t)(uint8_t)(deadline - now);

    return left > 0 ? (uint8_t)left : 0;
}

#endif
