/* claim.h: some share a rate and a number of things at once (slots): each has a part of both by what
 * it could use, max-min fair by weight (fair.h). Pure. */
#ifndef SEGQ_CLAIM_H
#define SEGQ_CLAIM_H

#include "common/base/base.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/policy/fair.h"

struct bears { /* ENDPOINT_ANY: any */
    uint64_t rate; /* per 1000 s */
    uint64_t slots;
};

struct claim { /* a member */
    struct bears wants, wanted; /* usable: by the last second, and by the one before */
    struct bears aim;           /* part that it gets */
    msec_t since_ms;            /* since when that is no slot, or some */
    uint64_t weight;            /* 1 to 1000 */
    uint64_t no;                /* order among equals: the lower goes first */
    uint8_t turn;               /* turn in a division: see the source */
};

/* Each second: what it could use. The higher one of the last two seconds counts. */
void claim_says(struct claim *c, struct bears wants);
/* Sets all aims; their sums are the whole, where that is not any. With fewer slots than claims those
 * that want one have it, for five seconds each while others want it, too. Who has no slot has no
 * rate; who has one has a little of the rate, whatever it wants. v is sorted; f: room for n. */
void claims_divide(struct claim **v, size_t n, struct bears whole, msec_t now, struct fair *f);

#endif
