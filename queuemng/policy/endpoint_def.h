/* endpoint_def.h: what an operator says about one endpoint: where the calls of pools go, what it
 * bears, how it is spoken to; from queuemng.yaml (`endpoints:`) and from the admin API, through the
 * same table. Files are on the task nodes: only their names are here. Pure. */
#ifndef SEGQ_ENDPOINT_DEF_H
#define SEGQ_ENDPOINT_DEF_H

#include "common/config/cfg.h"
#include "common/task/rules.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/policy/addresses.h"
#include "queuemng/policy/budget_def.h"

struct endpoint_breaker {
    double ratio; /* 0: none */
    int64_t min, open_ms;
};

struct endpoint_adaptive {
    int64_t min, max; /* max 0: off */
};

struct endpoint_cost { /* units of a call: where its caller names none, and in truth */
    char *pointer;
    double per_byte;
    int64_t constant, min, max;
    char *used, *used_header;
};

struct endpoint_sign {
    char *secret_file;
};

struct endpoint_auth { /* the key that the target wants to see */
    char *secret_file, *header, *scheme;
};

struct endpoint_tls {
    char *ca_file, *cert_file, *key_file;
};

struct endpoint_target {
    char *url;
    int64_t max_concurrent; /* 0: any */
    int64_t weight;
    bool draining; /* no call begins */
    struct cfg_list rates;  /* struct unit_rate_def */
    int discover;  /* enum discover: each address of its host is a target with all of this */
};

struct endpoint_discovery { /* rules for names of targets with `discover` */
    int64_t min_ms, max_ms, addresses;
};

struct endpoint_watch { /* a value on the page of each target */
    char *metric, *labels;
    int several; /* 0: sum; 1: max */
    double close_above, open_below, narrow_from, narrow_to; /* < 0: none */
};

struct endpoint_remaining { /* fields of answers that say what is left of a quota */
    int counts; /* 0: requests; 1: units */
    char *header, *reset;
};

#define TARGET_WEIGHT_MAX 1000
#define TARGETED_NAME_MAX (TASK_NAME_MAX - 3) /* "gen#12" is a name on the wire */

struct endpoint_def {
    char *name; /* may be the name of a task queue */
    char *url;  /* "": it has */
    struct cfg_list targets; /* struct endpoint_target */
    struct endpoint_discovery discovery;
    int affinity;          /* enum affinity */
    double affinity_bound;
    struct cfg_list readings; /* struct endpoint_watch */
    char *readings_path;
    int64_t readings_interval_ms, readings_stale_ms;
    struct cfg_list allow; /* char *: networks */
    double rate_per_s;     /* 0: any */
    int64_t burst;
    struct cfg_list rates; /* struct unit_rate_def: all must let a call begin */
    struct cfg_list remaining; /* struct endpoint_remaining */
    int on_quota;          /* enum on_quota */
    int64_t max_concurrent; /* 0: any */
    struct endpoint_adaptive adaptive;
    struct budget_member budget; /* shared with others */
    int64_t deadline_ms, connect_timeout_ms;
    int64_t max_answer; /* bytes; 0: as any result */
    bool paused;
    struct endpoint_breaker breaker;
    struct endpoint_cost cost;
    struct endpoint_sign sign;
    struct endpoint_auth auth;
    struct endpoint_tls tls;
    char *proxy;
};

extern const struct cfg_key endpoint_def_keys[];

/* NULL: it has none of this url. */
const struct endpoint_target *endpoint_target_of(const struct endpoint_def *d, const char *url);

/* The part of it that routers need. Borrowed. */
struct cost_rule endpoint_cost_rule(const struct endpoint_def *d);

/* `remaining`, as task nodes are told it. */
void endpoint_told_rows(const struct endpoint_def *d, char out[TOLD_ROWS_MAX + 1]);

struct discovery_rules endpoint_discovery_rules(const struct endpoint_def *d);

/* Calls at once, at most; of adaptive, which is each target's, only without targets: ENDPOINT_ANY. */
uint64_t endpoint_slots(const struct endpoint_def *d);

/* After cfg_bind: what a table cannot say. 0 or SQ_EINVAL with a sentence. */
SQ_CHECK int endpoint_def_check(const struct endpoint_def *d, struct err *e);

/* Routes of calls: which endpoint a request goes to, by a word
 * of its body (`model`), and where else if that one is down or its line too long; from queuemng.yaml
 * (`routes:`) and from the admin API, through the same table. */

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
