/* night.h: what a rehearsal is given, NIGHT.yaml: the queue's definition, the cluster and its
 * costs, the crowd, the backend, what happens when. Tables only. Pure.
 *
 * The room rehearse/ plays that night on a virtual clock:
 *
 *   night.h     what is given                 lineup.h    the real segments' lines, over nodes
 *   calendar.h  who is due next               play.h      the night: people, routers, the manager
 *   figures.h   what came of it               report.h    table, JSON;  page.h: one page of HTML
 *   past.h      a night that was              regions.h   parts of the world, and ways between them
 *
 * What decides is what decides in the real processes: policy/release.h (tiers, limits, hysteresis,
 * no-shows), policy/eta_lane.h (what people are told), common/ticket/pace.h (when they poll again),
 * segment/line/segq.h (places). People are rows, their times milliseconds from the start. In a large
 * crowd a row is a few people who come, poll and go in together; the policy is told of people. */
#ifndef SEGQ_REHEARSE_NIGHT_H
#define SEGQ_REHEARSE_NIGHT_H

#include "queuemng/policy/queue_def.h"

#define NIGHT_ROUTERS_MAX 512
#define NIGHT_NODES_MAX   128
#define NIGHT_REGIONS_MAX 8
#define NIGHT_PEOPLE_MAX  1000000000
#define NIGHT_ROWS_MAX    20000000
#define NIGHT_ROWS_GOOD   5000000 /* people; of more a row is several, unless the file says how many */
#define NIGHT_MS_MAX      (24 * 3600 * 1000.0)

enum night_dist { DIST_NONE, DIST_FIXED, DIST_UNIFORM, DIST_EXPONENTIAL }; /* uniform: 0 to twice */

struct night_span { /* a time of each person, by chance */
    int kind;       /* enum night_dist */
    int64_t mean_ms;
};

struct night_point { /* arrivals per second at a time; straight lines between */
    int64_t at_ms;
    double per_s;
    double before; /* people who have come by then: by night_check() */
};

enum past_fate { PAST_IN, PAST_WAITS /* till the end */, PAST_LEFT, PAST_SILENT, PAST_NO_SHOW };

struct night_past { /* a person of a night that was; times in ms */
    uint32_t came_ms, waited_ms; /* until it was in, or left the line; UINT32_MAX: neither */
    uint32_t stay_ms;            /* UINT32_MAX: not known */
    uint16_t fate, lane;         /* enum past_fate */
};

struct night_share { /* people of a lane other than the first */
    char *lane;
    double percent;
};

struct night_bots {
    double per_s, enter, join_limit; /* enter: percent */
    int64_t from_ms, for_ms, addresses;
};

struct night_crowd {
    char *queue;              /* none: there is one alone */
    struct cfg_list arrivals; /* struct night_point */
    char *arrivals_csv;       /* file in place of them: read by the caller */
    char *from;               /* beginning of a past night */
    int client;               /* enum client_class - 1 */
    struct night_span patience, stay;
    double no_shows, silent;  /* percent */
    double second_places;     /* percent */
    struct cfg_list lanes;    /* struct night_share */
    struct night_bots bots;
};

enum night_cost { COST_POLL, COST_CONNECT, COST_JOIN, COST_NODE_POLL, COST_NODE_JOIN, COST_PASS, COST_ROUTER_IDLE,
                  COST_NODE_IDLE, NIGHT_COSTS };

struct night_costs {
    double poll_us, connect_us, join_us, node_poll_us, node_join_us, pass_us, router_idle_ms, node_idle_ms;
};

struct night_region {
    char *region;
    int64_t routers, nodes;
    double people; /* percent */
};

struct night_way { /* time of a message, one way */
    char *from, *to;
    int64_t ms;
};

struct night_cluster {
    int64_t routers, nodes;
    struct night_costs cost;
    int64_t max_conns, max_tickets;
    struct cfg_list regions; /* struct night_region */
    struct cfg_list ways;    /* struct night_way */
    int64_t disk_ms;
    int64_t keepalive_ms, keep_ms, skip_after_ms, lost_after_ms;
};

struct night_backend {
    char *metric;
    double base, per_person, per_release, crash_above;
    int64_t restart_ms, sample_ms;
};

enum night_what { KILL_NODE, KILL_ROUTER, KILL_MANAGER, ADD_ROUTER, LOSE_REGION, SLOW_DISK,
                  SET_RATE, SET_MAX, SET_STATE };
extern const char *const night_what_names[];

struct night_event {
    int64_t at_ms, for_ms;
    int what;     /* enum night_what */
    int64_t no;   /* node or router, from 1 */
    double value; /* SET_RATE (0: by limits), SET_MAX, SLOW_DISK: ms */
    char *region; /* LOSE_REGION, ADD_ROUTER */
    int state;    /* SET_STATE: enum def_state */
};

struct night {
    struct cfg_list queues; /* struct queue_def; crowd.queue says which */
    struct night_cluster cluster;
    struct night_crowd crowd;
    struct night_backend backend;
    struct cfg_list events; /* struct night_event */
    int64_t seed, for_ms, per_row;
    const struct night_past *past; /* ref, not in the file: people of a night that was, by coming */
    uint32_t n_past;
};

extern const struct cfg_key night_keys[];
extern const struct cfg_key night_cost_keys[];  /* by enum night_cost */
extern const struct cfg_key night_costs_file[]; /* a file of segqctl measure: struct night_costs */

/* After the table: what it cannot say. SQ_EINVAL and a sentence that begins with the key. */
SQ_CHECK int night_check(struct night *n, struct err *e);
/* The queue that is played; NULL: there is none of the name, or the name is missing. */
const struct queue_def *night_queue(const struct night *n);
/* People who have come by this time. */
uint64_t night_arrived(const struct night *n, msec_t ms);
/* Bots that have tried by then, and those of them that the routers let join. */
double night_bots(const struct night *n, msec_t ms, double *tried);
/* Second places of the first n people. */
uint64_t night_seconds(const struct night *n, uint64_t people);
/* People of a row, and rows of the night. */
uint32_t night_per_row(const struct night *n);
uint64_t night_rows(const struct night *n);
unsigned night_lanes(const struct queue_def *d);
/* The lane of this name; UINT_MAX: there is none. */
unsigned night_lane(const struct queue_def *d, const char *name, size_t len);

#endif
