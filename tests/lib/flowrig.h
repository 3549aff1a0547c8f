/* flowrig.h: the map that tests of flows have, a join in it, and what it asks. */
#ifndef SEGQ_TEST_FLOWRIG_H
#define SEGQ_TEST_FLOWRIG_H

#include "tests/lib/criterion.h"
#include <string.h>

#include "router/flow/flow.h"
#include "router/flow/routes.h"

/* Queue 7: 11 sealed on node 1, 12 and 13 open on nodes 2 and 1, 14 lost; 9 lives in 11. */
static struct map_node nodes[] = { { 1, "a", "h:1" }, { 2, "b", "h:2" } };
static struct map_seg segs[] = { { 11, 1, SEG_SEALED, 0 },
                                 { 14, 2, SEG_LOST, 0 },
                                 { 12, 2, SEG_OPEN, 0 },
                                 { 13, 1, SEG_OPEN, 0 } };
static struct map_alias aliases[] = { { 9, 11, 0 } };
static struct map_lane lane = { "default", 4, 1, segs, aliases };

static inline void apply(struct routes *r, uint64_t version, enum queue_state state,
                         struct map_lane *l)
{
    struct map_queue q = { .id = 7, .name = "login", .state = (uint8_t)state,
                           .n_lanes = 1, .lanes = l };
    struct msg_map m = { .epoch = 1, .from_version = version - 1, .version = version,
                         .next_seg = 100, .n_nodes = 2, .nodes = nodes, .n_queues = 1,
                         .queues = &q };

    cr_assert_eq(routes_apply(r, &m), 0);
}

static struct routes *r;

static inline void setup(void)
{
    r = routes_new();
    apply(r, 1, QUEUE_OPEN, &lane);
}

static inline void teardown(void)
{
    routes_free(r);
}

static inline struct flow join(msec_t now_ms)
{
    struct flow f = { .token = { .client = CLIENT_MOBILE, .subject_hash = 77 } };

    flow_join(&f, r, routes_queue(r, "login", 5), 0, now_ms);
    return f;
}

#define IS_DONE(f, what) ((f).todo == FLOW_DONE && (f).result == (what))
#define ASKS(f, n, s)    ((f).todo == FLOW_ASK && (f).node == (n) && (f).seg == (s))

#endif
