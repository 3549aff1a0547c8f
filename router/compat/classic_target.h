/* classic_target.h: which endpoint an url is of: that whose own url is its longest beginning, part by
 * part (/api has /api/x, and not /apix). Pure. */
#ifndef SEGQ_ROUTER_CLASSIC_TARGET_H
#define SEGQ_ROUTER_CLASSIC_TARGET_H

#include "common/http/http.h"
#include "router/task_api/pools.h"

struct classic_target {
    const char *endpoint; /* borrowed from the map */
    struct slice path;    /* behind the endpoint's url, with its query; from a slash on */
    struct slice whole;   /* path of the url, without its query; likewise */
};

/* NULL: it is found; t points into url, which may be changed. Else what is wrong, a sentence of ours
 * without its subject. *unknown: it is an url, but no endpoint has it. */
const char *classic_target_find(struct classic_target *t, const struct pools *pools,
                                struct slice url, bool *unknown);

#endif
