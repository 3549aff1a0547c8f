/* cfg.h: what a router can be told. */
#ifndef SEGQ_ROUTER_CFG_H
#define SEGQ_ROUTER_CFG_H

#include "common/config/cfg.h"
#include "common/config/cfg_check.h"

enum gate_uri { URI_ORIGINAL, URI_FORWARDED, URI_NONE };
enum compat_kind { COMPAT_OFF, COMPAT_CLASSIC };
enum page_compat { PAGE_COMPAT_OFF, PAGE_COMPAT_CLOUDFLARE };
enum page_https { HTTPS_AUTO, HTTPS_ALWAYS, HTTPS_NEVER };

struct cfg_claim_key { /* a key that claims may be signed with */
    char *kid;
    int alg;           /* enum claim_alg */
    char *secret_file; /* HS256 */
    char *public_key;  /* EdDSA */
};

enum group_others { GROUP_GIVES_UP, GROUP_KEEPS };
extern const char *const group_others[];

struct cfg_group { /* queues that one person joins at once */
    char *name;
    int others; /* enum group_others: what is done with the other places at a turn */
    struct cfg_list queues; /* list of char * */
};

#define AWS_EVENTS_MAX 16

struct cfg_aws_event { /* an event of AWS' waiting room, calls/aws_door.h */
    char *event_id, *queue;
};

struct router_cfg {
    char *node, *listen, *admin, *secret_file, *log_file, *region, *zone;
    struct cfg_list managers;        /* list of char * */
    struct cfg_list trusted_proxies; /* list of char *, CIDRs */
    bool create_keys;
    int64_t max_conns, max_listeners, max_pipelined, coalesce_us;
    int64_t head_timeout, body_timeout, idle_timeout, heartbeat, request_timeout, replica_fresh,
        replica_keep;
    double join_limit_per_s, poll_limit_per_s, bad_limit_per_s; /* 0: not limited */
    int64_t join_burst, poll_burst, bad_burst, conns_per_addr, limit_table_entries;
    int64_t ticket_poll_times; /* 0: not limited */
    bool join_groups;
    struct cfg_list groups; /* struct cfg_group */
    int64_t verify_cache;
    struct cfg_list claim_keys; /* struct cfg_claim_key */
    bool subject_needs_claim;
    int64_t claim_max_ttl;
    struct cfg_list allow_origins; /* list of char * */
    struct cfg_list rooms;         /* list of char * */
    char *gate_secret_file, *gate_subject_header;
    char *verify_secret_file;
    int gate_uri_header; /* enum gate_uri */
    struct cfg_list gate_rules; /* struct gate_rule */
    char *gate_country_header;
    char *task_tokens, *listen_tasks;
    int compat; /* enum compat_kind */
    struct cfg_list aws_events; /* struct cfg_aws_event */
    int page_compat; /* enum page_compat: router/page_http/room_json.h */
    char *compat_time; /* router/compat/classic.h */
    int64_t call_wait;
    char *page_dir, *page_language;
    int page_https;   /* enum page_https */
    int proxy_header; /* enum forwarded_form */
    int log_level;    /* enum log_level */
    struct cfg_tls tls;
    struct cfg_cert admin_tls;
    struct cfg_list listen_certs; /* struct cfg_cert */
    int64_t listen_hsts;
};

extern const struct cfg_key router_keys[];
/* Servers have an address of their own. */
static inline bool router_tasks_apart(const struct router_cfg *c)
{
    return c->listen_tasks != NULL && c->listen_tasks[0] != '\0';
}
/* The rules between keys, which the table cannot say; for struct prog. */
SQ_CHECK int router_cfg_check(const void *cfg, struct err *e);

#endif
