/* tasks.h: the manager's data about tasks: structures alone, no functions.
 *
 *   pools (in the order in which names are compared) -> partitions        task nodes
 *
 * Owner of every object is struct mtasks; other pointers are refs. */
#ifndef SEGQ_QUEUEMNG_STATE_TASKS_H
#define SEGQ_QUEUEMNG_STATE_TASKS_H

#include <jansson.h>

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/config/cfg.h"
#include "common/recur/meter.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/policy/claim.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/release.h"
#include "queuemng/state/node.h"

struct mpool;

struct mtask_node { /* for ever known by its name */
    node_no no;
    char name[NAME_MAX_LEN + 1], addr[64], admin[64];
    struct where where;
    uint64_t incarnation;
    peer_no peer;     /* 0: no link */
    bool registered;
    bool foreign;     /* obeys managers that have another store */
    bool shared;      /* other nodes can open what it has; stored */
    bool silent;      /* for lost_after: it was noted */
    bool draining;    /* partitions go to other nodes */
    msec_t down_ms;   /* since when there is no link */
    uint32_t n_parts; /* partitions that are its, */
    uint32_t will_have; /* and when all moves are over: of the moment */
    struct list_node in;
};

struct mpart {
    part_no no;
    struct mpool *pool;      /* ref */
    struct mtask_node *node; /* ref; NULL: nobody has it yet */
    uint64_t epoch;          /* the owner's; higher than any earlier owner's */
    bool opened;             /* some time its owner said that it has it; stored */
    bool confirmed;          /* said so on its present link */
    msec_t told_ms;          /* PART_OPEN, as things are now; 0: not yet */
    struct mtask_node *to;   /* ref; it is on its way to this one; NULL: on none (tasks/parts.h) */
    uint64_t to_epoch;       /* which that one is to have */
    msec_t begun_ms;         /* when the move began, as this manager knows */
    msec_t both_ms;          /* when both nodes of the move were last there */
    msec_t rest_ms;          /* no move before */
    uint64_t rate;           /* rate of a pool with limits: as told last, per 1000 s, */
    msec_t rate_ms;          /* and when; 0: not its present owner */
    struct part_status_row st; /* status as reported last, but for */
    struct waits waits;
};

struct mpool {
    struct pool_def def; /* owned */
    uint64_t version;    /* version of the definition */
    uint32_t n;
    struct mpart *part; /* by share; owned */
    bool put;           /* to be stored at the end of this step */
    struct release release; /* controller of its limits by metrics */
    struct list_node in;
};

struct mpin { /* a pinned key */
    struct key_pin def; /* owned */
    uint64_t version;   /* version of the definition */
    struct list_node in;
};

struct mroute { /* where calls go, by a word of their body */
    struct route_def def; /* owned */
    uint64_t version;     /* version of the definition */
    struct list_node in;
};

struct mgone { /* a partition that a node may still have, and is to drop */
    part_no no;
    node_no node;
    uint64_t epoch; /* under this one, or a lower one; 0: its pool is removed */
    msec_t told_ms; /* PART_DROP, for the first time on its link; 0: not on this one */
    msec_t said_ms; /* and for the last */
    struct list_node in;
};

struct mshare { /* a node's share of an endpoint */
    struct mtask_node *node; /* ref */
    struct bears held;    /* most that it may be using; stored */
    struct bears said;    /* by the last ENDPOINT */
    uint64_t kept;        /* units of `held` when its last link ended */
    uint64_t given[UNIT_RATES_MAX]; /* in calendar windows; stored */
    bool gives;           /* the node is to be told of them */
    uint64_t refused;     /* order in which its next call found no room in them; 0: it has room */
    struct claim claim;    /* share that it should have (tasks/endpoints.h) */
    uint64_t sent, units;  /* counts of `st`, a second ago */
    bool heard;            /* `st` is of its present link */
    uint64_t serial;         /* serial of that; 0: none on its present link */
    uint64_t version, burst; /* in it: of the definition; of the rate */
    uint64_t shared_version; /* in it: of its budget with rates in units */
    uint64_t orders;         /* in it: mendpoint.orders */
    bool owner;              /* has a partition of a pool with the endpoint */
    bool confirmed;          /* the node has said that `serial` is in force */
    msec_t told_ms;          /* ENDPOINT, ENDPOINT_DROP */
    msec_t left_ms;          /* since when it is no owner */
    struct endpoint_row st;  /* status as reported last; texts are not set */
    char unusable[ENDPOINT_WHY_MAX + 1]; /* reason; "": usable */
    char probe_said[PROBE_SAID_MAX + 1]; /* answer to the last probe by hand */
    char reading_said[READING_SAID_MAX + 1];
    struct list_node in;
};

struct mname { /* name of a target with `discover` (policy/addresses.h) */
    char *url;   /* url of that target; owned */
    struct discovered d;
    bool was_url; /* the only url of before: calls to an address of it may be under way */
    msec_t failing; /* since when, as was logged; 0: it is well */
    msec_t asked; /* a question is under way since; 0: none is */
    struct list_node in;
};

struct mendpoint { /* or a target of one (tasks/targets.h) */
    struct endpoint_def def; /* owned */
    uint64_t version;        /* version of the definition */
    struct claim claim;      /* to its budget's */
    bool by_budget;          /* own limits would let it have more */
    bool tripped;            /* by an operator, until a reset; stored */
    uint64_t resets;         /* number of the last one; 0: none; stored */
    uint64_t probe;          /* number of the last one that this manager was asked for; 0: none */
    uint64_t orders;         /* changes with each of the three */
    struct mtold {           /* word of a node's answers: so many are left of a quota, until then */
        uint64_t left;
        msec_t until;        /* 0: none */
    } told[TOLD_MAX];
    struct meter meter[UNIT_RATES_MAX]; /* calendar windows of its rates; stored */
    bool windows_due;        /* they are to be looked at */
    struct list shares;      /* mshare.in, by the nodes' numbers; owned */
    bool put;                /* to be stored at the end of this step */
    struct list targets;     /* mendpoint.in; owned */
    struct list names;       /* mname.in, of its targets with `discover`; owned */
    struct list_node in;
    /* A target: */
    struct mendpoint *of;    /* ref; NULL: it is an endpoint */
    char address[DISCOVER_TEXT]; /* where its host is; "": anywhere that it says */
    uint32_t no, weight;
    bool gone;               /* the definition has it no more: no call begins */
};

struct mtasks {
    struct list pools; /* mpool.in, by pool_def_compare(); owned */
    struct list routes; /* mroute.in, by name; owned */
    struct list pins;  /* mpin.in, by key_pin_compare(); owned */
    struct list endpoints; /* mendpoint.in, by name; owned */
    struct list nodes; /* mtask_node.in; owned */
    struct list gone;  /* mgone.in; owned */
    struct map part_by_no, peer_node;
    part_no next_part;
    node_no next_node;
    bool put;             /* next_part, next_node, gone; some pool, some endpoint */
    bool split;           /* shares of endpoints are to be looked at */
    uint64_t serials;     /* given to ENDPOINT messages so far */
    uint64_t map_version; /* version of what routers are told; 0: never a pool */
    uint64_t moves_committed, moves_aborted;
};

#define each_pool(m, p)      list_each_of(&(m)->tasks.pools, struct mpool, in, p)
#define each_pin(m, p)       list_each_of(&(m)->tasks.pins, struct mpin, in, p)
#define each_route(m, p)     list_each_of(&(m)->tasks.routes, struct mroute, in, p)
#define each_endpoint(m, p)  list_each_of(&(m)->tasks.endpoints, struct mendpoint, in, p)
#define each_target(p, x)    list_each_of(&(p)->targets, struct mendpoint, in, x)
#define each_name(p, x)      list_each_of(&(p)->names, struct mname, in, x)
#define each_share(p, x)     list_each_of(&(p)->shares, struct mshare, in, x)
#define each_task_node(m, n) list_each_of(&(m)->tasks.nodes, struct mtask_node, in, n)
#define each_mpart(p, x)     for (struct mpart *x = (p)->part; x < (p)->part + (p)->n; x++)
#define each_gone(m, g)      list_each_of(&(m)->tasks.gone, struct mgone, in, g)

/* Calendar windows of rates in units, of an endpoint, of a target, of a budget: as they are stored,
 * and as they go on where rates change. Which node gets how much: tasks/endpoint_tell.h. */

struct mng;

/* Rates become others: each window goes on, at whatever place it is now; one that was not there begins. from: place
 * of each before; UNIT_RATES_MAX: it had none. */
void meters_move(struct meter *meter, const struct cfg_list *was, const struct cfg_list *rates, size_t *from);
/* Units that a node was given go with them, from that place on. */
void meters_move_given(struct mshare *s, const size_t *from, size_t first);
bool meters_any(const struct cfg_list *rates);
/* SQ_EINVAL: a zone of them is not known here. */
SQ_CHECK int meters_known(const struct mng *m, const struct cfg_list *rates, struct err *e);
json_t *meters_json(const struct meter *meter, const struct cfg_list *rates); /* NULL: it has none */
void meters_load(struct meter *meter, const json_t *j);

#endif
