/* route_def.h: what an operator says about one route of calls: which endpoint a request goes to, by a word
 * of its body (`model`), and where else if that one is down or its line too long; from queuemng.yaml
 * (`routes:`) and from the admin API, through the same table. Pure. */
#ifndef SEGQ_ROUTE_DEF_H
#define SEGQ_ROUTE_DEF_H

#include "common/config/cfg.h"
#include "common/wire/msg_task_manager.h"

#define ROUTES_MAX          100
#define ROUTE_RULES_MAX     32
#define ROUTE_ENDPOINTS_MAX 4

struct route_rule {
    struct cfg_list match;     /* char *: values, or beginnings with a star; none: every request */
    struct cfg_list endpoints; /* char *: in the order in which they are tried */
    int64_t max_wait_ms;       /* not for the last one; 0: any */
};

struct route_def {
    char *name;
    char *pointer; /* "/model" */
    struct cfg_list rules; /* struct route_rule: the first that fits counts */
};

extern const struct cfg_key route_def_keys[];

/* After cfg_bind: what a table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int route_def_check(const struct route_def *d, struct err *e);

#endif
