/* state.h: the manager's data. Each kind of object has its struct in its own header; here is what
 * holds them.
 *
 *   mng -> queues -> lanes (queue.h) -> segments in chain order (segment.h)
 *       -> nodes -> segments hosted; routers (node.h)
 *       -> moves (chain/move_state.h), budgets
 *       -> pools of task queues, endpoints, task nodes (tasks.h)
 *
 * Owner of every object is the mng; other pointers are refs. A segment is in its lane's
 * chain and in its node's list at the same time, both for its whole life. */
#ifndef SEGQ_QUEUEMNG_STATE_STATE_H
#define SEGQ_QUEUEMNG_STATE_STATE_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/rng.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/claim.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/joins.h"
#include "queuemng/policy/release.h"
#include "queuemng/policy/schedule.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/tasks.h"

#define MNG_AGAIN_MS      1000  /* an order without visible effect is given again */
#define MNG_TOMBSTONES    1024  /* deleted queues that routers are told of one by one */

struct mbudget { /* limits that queues and endpoints share that name it; their parts: claim.h */
    struct budget_def def;  /* owned */
    uint64_t version;       /* version of the definition */
    struct release release; /* controller of its limits by metrics */
    struct bears whole;     /* now */
    struct meter meter[UNIT_RATES_MAX]; /* calendar windows of its rates; stored */
    uint64_t queues_slots;  /* held by its queues, when mng.count_no was counted_no; then */
    const struct mqueue *asked; /* asked, and may hold more than these: */
    uint64_t asked_slots, counted_no;
    struct mleft {
        uint64_t slots;
        msec_t until_ms;
    } calls, people; /* use by endpoints and queues that are gone: may go on; a manager that begins knows
                        nothing of them */
    struct list_node in;    /* mng.budgets */
};
#define each_budget(m, b) list_each_of(&(m)->budgets, struct mbudget, in, b)

struct tombstone {
    queue_id id;
    uint64_t version;
};

struct mng {
    struct mng_opts opts;
    char issuer[128];
    bool started;
    msec_t started_ms;
    bool unreachable;            /* some node with segments does not hear what it is told */
    msec_t now_ms;
    int64_t wall_raw_ms; /* the wall clock; */
    int64_t wall_ms; /* and that of releases, which does not leap: wall_steady() */
    struct wall_guard stamp_guard;
    struct wall_guard wall_guard;
    int64_t sched_ms;     /* the wall clock as far as it is believed */
    bool schedules;       /* some queue has one */
    uint64_t seeds;       /* number of draws, ever made */
    struct rng rng;
    uint64_t given_epoch; /* epoch of the term to come; 0 = the one after the stored one */
    uint64_t fenced_by; /* a higher epoch that nodes obey, or ours under another manager; 0: none */
    uint64_t cluster_id; /* random, stored; nodes of another one are foreign; 0: none yet */
    uint64_t epoch, next_seg, seg_reserved, next_move, pop_counter;
    queue_id next_queue;
    uint32_t n_deleted;  /* deleted ones among the queues */
    node_no next_node;
    bool put_meta;
    struct mnode **node; /* by no - 1; owned */
    uint32_t n_nodes;
    uint64_t members_version; /* 0: the directory has never had a member */
    struct list routers; /* mrouter.in; owned */
    struct list queues;  /* mqueue.in_all: by map_version, oldest first; owned */
    struct map queue_by_id, seg_by_id, peer_node, peer_router;
    struct map queue_by_name; /* hash of the name -> id; names are compared after */
    struct list active;      /* mqueue.in_active */
    struct list puts;        /* mqueue.in_puts: to be stored at the end of this step */
    struct list dirty_lanes; /* mlane.in_dirty */
    struct list urgent;      /* mqueue.in_urgent: not to wait for the tick */
    struct list todo;        /* mseg.in_todo: what should be differs from what is */
    struct list moves;       /* mmove.in; owned */
    uint64_t map_version, nodes_version;
    struct tombstone tomb[MNG_TOMBSTONES];
    uint32_t n_tombs;
    uint64_t tomb_floor;     /* routers older than this get everything */
    struct metric metric[MNG_METRICS_MAX];
    unsigned n_metrics;
    char known[MNG_METRICS_MAX][NAME_MAX_LEN + 1]; /* monitors of the configuration */
    size_t n_known;
    bool knows;              /* them */
    bool stats_now;          /* routers get figures with this step */
    struct region_choice region;      /* region in which most people join */
    struct { struct left_row row; msec_t at_ms; } left[MSG_LEFT_MAX]; /* the last that were told */
    uint32_t n_left;         /* ever */
    uint32_t tier_notes;     /* logged in this second */
    msec_t tick_due_ms;      /* when the next tick is due; 0: none was yet */
    msec_t second_ms;        /* when the once-a-second work is due */
    struct mtasks tasks;
    struct list budgets; /* mbudget.in; owned */
    uint64_t count_no;   /* number of this step, and of the queues in it: mbudget.counted_no */
    struct mng_counts count;
    struct eta_errors eta_errors;
    struct mng_out *out;     /* output of the step being done */
};

#endif
