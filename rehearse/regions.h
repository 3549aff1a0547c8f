/* regions.h: parts of the world in a night: who and what is where, and how long a message takes. A
 * night without regions has one, with ways of no time. Pure. */
#ifndef SEGQ_REHEARSE_REGIONS_H
#define SEGQ_REHEARSE_REGIONS_H

#include "queuemng/policy/joins.h"
#include "rehearse/night.h"

struct world {
    unsigned n; /* regions */
    uint32_t way[NIGHT_REGIONS_MAX][NIGHT_REGIONS_MAX]; /* ms, from one to another */
    uint16_t router[NIGHT_REGIONS_MAX][NIGHT_ROUTERS_MAX];
    unsigned routers[NIGHT_REGIONS_MAX];
    uint8_t of_router[NIGHT_ROUTERS_MAX], of_node[NIGHT_NODES_MAX];
    unsigned manager; /* region of the one that leads */
    struct region_choice most; /* where most people join: segments are opened there */
    uint32_t joined[NIGHT_REGIONS_MAX]; /* in this second, */
    double per_s[NIGHT_REGIONS_MAX];    /* and lately */
};

/* Checks regions and ways; a part of night_check(). */
SQ_CHECK int regions_check(const struct night *n, struct err *e);
/* UINT_MAX: there is none of the name. */
unsigned regions_no(const struct night *n, const char *name);
const char *regions_name(const struct night *n, unsigned no); /* "" without regions */
/* A person's; the same in every night. */
unsigned regions_of(const struct night *n, uint32_t person);

void world_init(struct world *w, const struct night *n);
void world_add_router(struct world *w, unsigned no, unsigned region);
bool world_second(struct world *w, const struct night *n, uint32_t now_ms); /* true: another region has most */

#endif
