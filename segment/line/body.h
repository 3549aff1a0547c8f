/* body.h: everything that belongs to the tickets of one segment, and so what a move
 * carries: the line, the records of the released, the subjects, the tables of segments
 * absorbed earlier. Pure. */
#ifndef SEGQ_BODY_H
#define SEGQ_BODY_H

#include "segment/line/reloc.h"
#include "segment/line/segq.h"
#include "segment/line/session.h"
#include "segment/line/subject.h"

struct body {
    seg_id id;
    uint32_t
        joined; /* its own numbers are below this; slots above it hold the absorbed */
    struct segq q;
    struct sessions released;
    struct reloc_list relocs;
    struct subjects subjects;
};

void body_init(struct body *b, seg_id id, struct block_pool *pool);
void body_fini(struct body *b);
/* Whose token stands at this slot. */
struct ticket_id body_ticket(const struct body *b, uint32_t slot);

/* Idle time in units. A deadline counts modulo 256; at most this far ahead. */
#define BODY_HORIZON 127
/* What is left at unit `now`, 0 .. BODY_HORIZON. */
static inline uint8_t body_left(uint8_t deadline, uint8_t now)
{
    int8_t left = (int8_t)(uint8_t)(deadline - now);

    return left > 0 ? (uint8_t)left : 0;
}

#endif
