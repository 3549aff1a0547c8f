/* msg_task_manager.h: a part of msg.h: what managers order of task nodes, what these report, and
 * what routers are told of partitions. Pure. Memory: msg.h.
 *
 *   pool       what the operator defines: a pattern of queues' names, and their rules
 *   partition  a share of a pool's queues: one node has it, under an epoch that only rises
 *
 * A queue belongs to the first pool (in the order of the list) that matches its name, and to the
 * share part_share(name) of that pool. */
#ifndef SEGQ_MSG_TASK_MANAGER_H
#define SEGQ_MSG_TASK_MANAGER_H

#include "common/task/rules.h"
#include "common/wire/msg_router_task.h"

#define PARTS_MAX      4096 /* in a cluster */
#define POOL_RULES_MAX 64   /* numbers */
#define ENDPOINTS_MAX  1024 /* in a cluster */

#define ENDPOINT_ANY       ((uint64_t)INT64_MAX)
#define ENDPOINT_URL_MAX   1024
#define ENDPOINT_FILE_MAX  255
#define ROUTE_TEXT_MAX     128 /* bytes of a route's pattern, and of its pointer */
#define ROUTE_MATCHES_MAX  16
#define ENDPOINT_AUTH_WORD 64 /* characters of the header that has its secret, and of the scheme */
#define ENDPOINT_AUTH_MAX  (2 * ENDPOINT_AUTH_WORD + 3)
#define ENDPOINT_WHY_MAX   399
#define ENDPOINT_ALLOW_MAX 32 /* networks */
#define ENDPOINT_NET_MAX   49 /* bytes of a network as text */
#define WINDOW_NUMBERS     5     /* numbers of a calendar window */
#define UNIT_PARTS         65536 /* parts of an endpoint's rates in units */
#define TARGETS_MAX        32 /* targets of an endpoint */
#define TARGET_SIGN        '#' /* the name of a target: "gen#3"; no endpoint's name has it */

/* Life of a partition at a node. Numbers of the wire: never changed. */
enum part_life {
    PART_OWNED,  /* in service */
    PART_COMING, /* a copy that is not whole; its epoch is the one that it is to have */
    PART_COME,   /* a whole copy, of a source that is fenced: waits for its PART_OPEN */
    PART_FENCED, /* nothing changes any more: another node has a copy, or is to have one */
    PART_STUCK,  /* copy to another node stands still (reports alone) */
    PART_LEFT,   /* in a shared store: no call of it is under way, or begins; another node may open it
                  * (reports alone) */
    PART_NLIVES
};

struct part_row {
    part_no part;
    uint64_t epoch;
    uint8_t life; /* enum part_life */
};

struct msg_task_reg { /* the first message on a link to a manager */
    const char *addr;  /* "host:port" for routers and other task nodes */
    const char *admin; /* "host:port" of its admin port, "" if none */
    uint64_t epoch_seen; /* highest manager's epoch that ever commanded this node */
    uint64_t store;      /* whose managers it obeys; 0: nobody's yet */
    uint32_t n;
    struct part_row *v; /* the partitions that it has */
    bool shared; /* partitions are in a store that other such nodes can open: what it has not
                    opened itself it does not list */
    const char *region, *zone; /* where it runs, by its configuration; NULL or "": not said */
};

struct msg_task_ok {
    uint64_t epoch; /* the manager's, as in all orders */
    node_no no;     /* a task node's numbers are apart from those of segment nodes */
    uint64_t store;
};

/* The node has this partition from now on, under this epoch, with these rules; again with other
 * rules: the rules change; under a higher epoch: its copy to another node is given up. A whole copy
 * is opened by its own epoch alone. What was never there begins empty, unless it `had` tasks
 * somewhere. */
struct msg_part_open {
    uint64_t epoch;
    part_no part;
    uint64_t part_epoch;
    const char *match; /* the pool's pattern: a name, or its beginning and a star */
    uint32_t n_rules;
    uint64_t *rules; /* in the order of TASK_RULES (common/task/rules.h); missing: the default */
    uint32_t max_tasks;
    bool paused; /* nothing is taken */
    bool had;
    const char *endpoint; /* tasks are calls, which the node makes itself; "": workers take */
    const char *notify;   /* the queue in which ends of its tasks are told; "": none */
    bool notify_starts;   /* and starts */
    const char *eta_url;  /* the operator's service that estimates waits; "": none */
    uint64_t eta_every_ms;
    uint32_t eta_timeout_ms;
    uint32_t n_eta_allow;
    const char **eta_allow; /* networks, like msg_endpoint.allow */
    uint32_t n_keys;
    struct key_limit *keys; /* limits of single keys: as a list (common/task/rules.h) */
    uint32_t n_zones;
    const char **zones; /* zone 1 and up of `windows` of rules and keys; "": UTC */
};

/* Drops the node's copy, with its tasks: its pool is removed, or another node has it. */
struct msg_part_drop {
    uint64_t epoch;
    part_no part;
    uint64_t part_epoch; /* under this epoch or a lower one; 0: under any */
};

/* The node copies a partition that it has under part_epoch to another node, which is to have it
 * under to_epoch; fences it when that one has nearly all, and sends the rest. Again: nothing. */
struct msg_part_out {
    uint64_t epoch;
    part_no part;
    uint64_t part_epoch, to_epoch;
    const char *node, *addr; /* the target's name, "host:port" */
};

enum affinity { /* calls with the same one go to the same target; numbers of the wire: never changed */
    AFFINITY_NONE,
    AFFINITY_KEY,    /* first level */
    AFFINITY_SUBKEY, /* both */
    AFFINITY_NWAYS
};

#define READINGS_MAX       4   /* each endpoint */
#define READING_METRIC_MAX 200 /* bytes */
#define READING_LABELS_MAX 200
#define READING_PATH_MAX   255
#define READING_SAID_MAX   199

/* A value on a page of metrics of each target (task/calls/throttle.h); bounds in thousandths, ENDPOINT_ANY:
 * none. */
struct endpoint_reading {
    const char *metric, *labels; /* labels: "name=value,..." that the sample must have; "": any */
    uint32_t max; /* 1: of several samples the greatest; else their sum */
    uint64_t close_above, open_below;
    uint64_t narrow_from, narrow_to;
};

#define TOLD_MAX      3  /* quotas of which answers say what is left */
#define TOLD_SAID_MAX 39 /* bytes of what they say */
#define TOLD_ROWS_MAX (TOLD_MAX * (4 + 2 * COST_HEADER_MAX))

enum reading_state { /* numbers of the wire: never changed */
    READING_NONE,
    READING_OPEN,
    READING_NARROWED, /* fewer slots */
    READING_CLOSED,   /* no call begins */
    READING_BLIND,    /* the page cannot be read: as if there was none */
    READING_NSTATES
};

/* Where the calls of some pools go, and how; and this node's share of what the endpoint bears: the
 * sum over all nodes is never above the whole. Again with other members: they change, also for calls
 * that wait. Files are on the node itself; "": none. */
struct msg_endpoint {
    uint64_t epoch;
    const char *name;
    uint64_t serial; /* rises with each change of what this node is told of the endpoint */
    uint64_t version; /* version of the definition */
    const char *url;  /* http or https, host, path; a call's path goes behind it */
    uint32_t n_allow;
    const char **allow; /* networks that it may reach although they are not public: 10.0.0.0/8 */
    uint64_t rate;  /* share, of starts per 1000 s; 0: none; ENDPOINT_ANY */
    uint64_t burst; /* burst of the rate */
    uint64_t max_concurrent; /* share; 0: none; ENDPOINT_ANY */
    uint32_t deadline_ms;        /* time of a call, from its start to the last byte of its answer */
    uint32_t connect_timeout_ms;
    bool paused; /* no call begins */
    uint32_t breaker_ratio;   /* percent of calls that failed, in 10 s, that open it; 0: no breaker */
    uint32_t breaker_min;     /* least number of calls for that */
    uint32_t breaker_open_ms; /* for so long at first */
    const char *secret_file;  /* keys that sign, one a line */
    const char *ca_file, *cert_file, *key_file; /* files for TLS */
    const char *proxy; /* "http://host:port" */
    uint64_t adaptive_min; /* share: from here to max_concurrent it finds its limit; 0: off */
    const char *budget; /* whose part it is, where the endpoint alone could have more; "" */
    bool tripped;    /* an operator has opened its breaker: none but probes by hand go */
    uint64_t resets; /* another number than before: its breaker closes, failures are forgotten; 0: none */
    uint64_t probe;  /* another number than before: one call is to try at once; 0: none */
    uint64_t max_answer; /* bytes of an answer that is kept whole; 0: as much as of any result */
    const char *auth_field; /* "authorization: Bearer ": goes before the secret */
    const char *auth_file;  /* file of that secret; "": none */
    bool targets;        /* calls go to its targets, each told by an ENDPOINT of its own; no url */
    const char *of;      /* a target of this endpoint; "": an endpoint. Then: */
    uint32_t target;     /* number of the target, 1 .. TARGET_NO_MAX, which no other target of it has */
    uint32_t weight;
    uint32_t affinity;   /* enum affinity, of its targets */
    uint32_t affinity_bound; /* percent (task/calls/endpoint_lets.h) */
    uint32_t n_readings;
    struct endpoint_reading *readings; /* values on its page */
    const char *reading_path;          /* path of the page at its host */
    uint32_t reading_ms;               /* interval; */
    uint32_t reading_stale_ms;         /* a value counts for so long */
    uint32_t n_unit_rates; /* numbers: units, per (enum rate_per), units at once of each rate in units, of */
    uint64_t *unit_rates;  /* all nodes together. None: any units may begin */
    uint64_t unit_part;    /* share of these rates, of UNIT_PARTS; 0: none */
    uint64_t unit_kept;    /* share that nobody else has had since its last link ended */
    uint32_t n_shared;     /* the last so many rates are its budget's; */
    uint64_t shared_part;  /* share of those, of UNIT_PARTS */
    uint32_t n_unit_window; /* numbers, of each of its own rates: number, begin, end (Unix ms) of its calendar */
    uint64_t *unit_window;  /* window, units given to the node in it, units that nobody has; end 0: none */
    const char *used;        /* where an answer says how many units its call took; "": nowhere */
    const char *used_header; /* name of the field of its head that does; "": none */
    uint64_t used_most;      /* bound of what it says */
    uint32_t on_quota;     /* enum on_quota */
    const char *address; /* connections go there, and not to another one of its url's name; "": to any */
    const char *told; /* fields of its answers that say what is left of a quota (task/calls/told.h): for each
                       * "r" (requests) or "u" (units), name, name of its reset, with blanks between; "" */
    uint32_t n_told_word; /* word of another node: left, ms until its reset, of each; ms 0: nothing */
    uint64_t *told_word;
};

/* Fate of a call for which rates have no room now. Numbers of the wire: never changed. */
enum on_quota { ON_QUOTA_WAIT, ON_QUOTA_REJECT, ON_QUOTA_NKINDS };

struct msg_endpoint_drop { /* no pool of this node has it any more: no call begins */
    uint64_t epoch;
    const char *name;
};

enum breaker_state { /* numbers are those of the wire: never changed */
    BREAKER_CLOSED,
    BREAKER_OPEN,
    BREAKER_PROBES, /* some calls try */
    BREAKER_NSTATES
};

enum probe_state { /* state of a probe by hand; numbers of the wire: never changed */
    PROBE_NONE,     /* the node was not there when it was ordered */
    PROBE_ASKED,
    PROBE_SENT,     /* at the target */
    PROBE_ANSWERED, /* or ended without an answer */
    PROBE_NO_TASK,  /* no task waits that may start */
    PROBE_NO_NEED,  /* the breaker is closed: calls go */
    PROBE_PAUSED,   /* the endpoint is */
    PROBE_LIMITED,  /* the node's share of rate and slots lets none go */
    PROBE_UNUSABLE, /* the endpoint cannot be called as it is defined */
    PROBE_LOST,     /* task cancelled, or not known */
    PROBE_NSTATES
};

#define PROBE_SAID_MAX 127

struct endpoint_row {
    const char *name;
    uint64_t serial; /* serial of the ENDPOINT in force */
    uint8_t breaker; /* enum breaker_state */
    uint64_t in_flight; /* calls that may be at the target now; */
    uint64_t held;      /* part of them: the node has no connection of these, and they hold their slots */
    uint64_t sent, succeeded, failed; /* ever, since the node began */
    uint64_t ms; /* time of all ended calls, together */
    const char *unusable; /* why it cannot be called as it is defined; "": it can */
    uint64_t waiting; /* tasks that could begin at once, but for this node's share */
    uint64_t adaptive; /* calls at once that it lets pass now; 0: as many as its share */
    uint64_t probe;       /* the number of the last probe by hand; 0: none */
    uint8_t probe_state;  /* enum probe_state */
    uint64_t probe_ms;    /* ANSWERED: it took so long, */
    const char *probe_said; /* and ended so: "succeeded", "server_error", "connect: ..."; "" */
    uint64_t affine, astray; /* a target: calls, ever, that were to go to it by affinity, and did; did not */
    uint8_t reading;         /* enum reading_state */
    const char *reading_said; /* the value that counts, or why there is none; "" */
    uint64_t units; /* cost of calls that began, ever, since the node began */
    uint64_t used[UNIT_RATES_MAX]; /* units of the room of each of its rates that are gone, */
    uint64_t window[UNIT_RATES_MAX]; /* in this calendar window; 0: none */
    uint64_t needs; /* units of its next call, which waits; 0: none does */
    uint64_t told_left[TOLD_MAX]; /* left of each quota, by its answers, */
    uint64_t told_ms[TOLD_MAX];   /* until its reset; 0: they said nothing */
};

struct msg_endpoint_status { /* once a second, and at once behind ENDPOINT */
    uint64_t epoch;
    uint32_t n;
    struct endpoint_row *v;
};

/* The rate of starts of a partition whose pool has limits by metrics; said each second, and
 * when it changes. It holds for 15 s, then what its rules say (until_told). */
struct msg_part_rate {
    uint64_t epoch;
    part_no part;
    uint64_t part_epoch;
    uint64_t rate; /* per 1000 s; 0: nothing starts */
};

enum task_do { /* a node answers CODE_INVALID to what it does not know */
    DO_LOOK,    /* a task */
    DO_LIST,    /* tasks of a queue */
    DO_CANCEL,  /* a task; this and what follows: then the answer has it as it is now */
    DO_RUN,     /* give it to the next worker, beyond all limits */
    DO_REDRIVE, /* a dead one waits again */
    DO_DISCARD, /* a final one goes: nothing is left to be told of it */
    DO_KEYS,    /* keys of a queue with the most tasks that wait; of "": queues */
    DO_CANCEL_ALL,   /* for a queue, or a key; from here on the answer is a number */
    DO_REDRIVE_ALL,  /* the dead of a queue wait again, at a rate */
    DO_REDRIVE_STOP, /* no more of them do */
    DO_DISCARD_ALL,  /* the dead of a queue go */
    DO_CANCEL_LABEL, /* CANCEL_ALL of those with the label: who does not know labels knows no such
                        verb, and cancels nothing */
    DO_SCHEDULES,    /* for a queue; asks nothing else */
    DO_RUN_SCHEDULE, /* key1 of a queue fires now: UNKNOWN: it is not here; CONFLICT: overlap */
    DO_FIRST,        /* tasks of a queue in the order in which they would start; nothing starts */
    DO_EXPORT,       /* tasks of a partition, with all that it knows of them */
    DO_BODY,         /* a task with its payload and its result */
    DO_RESUBMIT,     /* another task like one that is over, with `body`; the answer has the new one */
    DO_SCHEDULE,     /* schedule key1 of a queue, with its definition; asks nothing else */
    DO_PUT_SCHEDULE, /* `body`, a TASK_SCHEDULE, is its definition now; the answer has it as it is, and as it was */
    DO_DROP_SCHEDULE, /* delete it; the answer has it as it was */
    DO_NAMED, /* the task of a queue that its caller named key1, if it is in one of `states` */
    DO_NVERBS
};
/* Bits, 1 << verb: these change nothing. */
#define DO_ASKS \
    (1u << DO_LOOK | 1u << DO_LIST | 1u << DO_KEYS | 1u << DO_SCHEDULES | 1u << DO_FIRST | \
     1u << DO_EXPORT | 1u << DO_BODY | 1u << DO_SCHEDULE | 1u << DO_NAMED)

#define SCHEDULE_ABSENT 1 /* version of a schedule that is not there */

struct msg_task_do {
    part_no part;
    uint64_t epoch; /* the partition's, as the manager knows it */
    uint32_t verb;  /* enum task_do */
    task_no no;     /* a task */
    const char *queue, *key1, *key2; /* for many; keys: "": any */
    uint32_t states;      /* LIST: bits, 1 << enum task_state */
    uint32_t after, most; /* for many: where it goes on, 0: the begin; at most so many, 1 or more */
    uint64_t rate;        /* REDRIVE_ALL: per 1000 s; 0: as fast as may be */
    const char *label;    /* LIST, CANCEL_LABEL; LIST: "": any, or none */
    bool force; /* CANCEL, CANCEL_ALL, CANCEL_LABEL: those that run are cancelled, too */
    struct bytes_of body; /* RESUBMIT: payload, or call form; PUT_SCHEDULE */
    uint64_t version;     /* PUT_SCHEDULE, DROP_SCHEDULE: only if it is at this one (schedule_version()); 0: any. Else CONFLICT, and the answer has it as it is */
    uint64_t since_ms, until_ms; /* LIST: that ended, or else entered, then; Unix ms; 0: any */
};

struct key_row { /* or a queue: key1 is its name */
    const char *key1, *key2; /* "": none */
    uint64_t waiting;        /* for this very key: not for those below it */
    uint64_t running;        /* and of those below it */
    uint32_t limited;        /* closed limits of its own: enum closed, bits */
    int64_t limited_until_ms; /* Unix ms; 0: not known */
    uint64_t dead;            /* for a queue */
    uint32_t redriving;       /* for a queue: 1: its dead are being made to wait again */
};

#define EXPORT_ROWS_MAX 250 /* rows of an answer */

enum export_lacks { EXPORT_NAMED = 1, /* name or keys, of which the hashes alone are kept */
                    EXPORT_UNREAD = 2 /* payload, which cannot be read now */ };

struct export_row { /* beside a task's own row */
    uint64_t place; /* 1: nobody of its queue entered before it; 0: it is not in line */
    uint32_t attempts_left; /* 0: it has had none */
    uint32_t lacks;  /* enum export_lacks, bits */
    const char *group; /* "": none */
    struct bytes_of body; /* payload, or call form */
    struct bytes_of then; /* next task of its chain, as in struct task_put */
};

struct msg_task_do_ans {
    uint8_t code;
    uint32_t after; /* for many: where the next question goes on; 0: the end */
    uint64_t done;  /* orders about many: to so many; FIRST: so many may start at once */
    uint32_t n, n_keys;
    struct msg_task_get_ans *v; /* BODY: with the result; others: without */
    struct key_row *keys;
    uint32_t n_schedules;
    struct schedule_row *schedules; /* without their definitions; those of one have them */
    uint32_t n_more;
    struct export_row *more; /* EXPORT: of each of `v`; BODY: body and lacks */
    bool cut; /* FIRST: more may be there, which it would have cost too much to find */
    const char *why; /* PUT_SCHEDULE, INVALID: a sentence; "": the verb is not known */
};

struct part_status_row {
    part_no part;
    uint64_t part_epoch;
    uint64_t scheduled, waiting, running, final, dead;
    uint64_t queues;
    uint64_t oldest_ms; /* how long the first of those that wait has waited */
    uint64_t accepted, started, succeeded, retried, died, expired; /* ever, since the node began */
    uint64_t held[TASK_NHOLDS]; /* tasks that wait, as counted in the last seconds: by what holds them */
    uint64_t due, late_ms; /* ever: delays and back-offs that ended, and how late, together */
    uint64_t bytes; /* bytes of payloads of tasks that are not over */
    uint64_t schedules; /* schedules of its queues */
    uint64_t waiting_units; /* units of tasks that wait: max_waiting_units */
    uint8_t life; /* enum part_life */
    uint8_t full; /* enum task_full: the bound by which it refused a task in the last seconds */
    uint64_t to_epoch; /* PART_LEFT: epoch of the PART_OUT that it has left for */
    struct bytes_of waits; /* counts of waits, packed: of a message alone */
};

struct msg_part_status { /* once a second, and at once when a partition was opened */
    uint64_t epoch;
    uint32_t n;
    struct part_status_row *v;
};

struct map_task_node {
    node_no no;
    const char *name, *addr;
};

struct map_part {
    part_no part;
    uint64_t epoch;
    node_no node; /* 0: nobody has it now */
};

struct map_pool {
    const char *match;
    bool paused;
    uint32_t max_body; /* bytes */
    uint32_t max_cost; /* units of a task; 0: any */
    const char *endpoint; /* tasks are calls; "": workers take them */
    const char *url;      /* url of the endpoint; "": none. As routers keep it: with those of its targets */
    uint32_t n_urls;
    const char **urls;    /* urls of its targets; the first is `url`, for routers that know no others */
    bool cancel_on_disconnect; /* a call whose client goes is cancelled, unless it has begun */
    uint8_t left_out; /* percent of its queues that go by the next pool that matches (queue_is_among()) */
    struct cost_rule cost;     /* rule of its endpoint: units of calls that name none */
    uint32_t n;
    struct map_part *v; /* by share */
};

/* A way of a route's rule: rows of a route, and in it of a rule, are in the order in which they are tried. */
struct map_route {
    const char *name;     /* route */
    const char *pointer;  /* where the word is in the body: "/model" */
    uint32_t rule;        /* number of the rule: rows of one have the same */
    uint32_t n_match;
    const char **match;   /* the word, or its beginning and a star; none: every request */
    const char *endpoint;
    uint32_t max_wait_ms; /* estimated wait beyond which the next row of the rule gets it; 0: any */
};

/* All of it, each time: when the link comes up, and whenever something of it changes. */
struct msg_task_map {
    uint64_t epoch; /* the manager's */
    uint32_t n_nodes, n_pools;
    struct map_task_node *nodes;
    struct map_pool *pools; /* in the order in which they are tried */
    uint32_t n_routes;
    struct map_route *routes;
};

#endif
