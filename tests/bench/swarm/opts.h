/* opts.h: the simulator's options. */
#ifndef SEGQ_SWARM_OPTS_H
#define SEGQ_SWARM_OPTS_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/net/net.h"

#define OPTS_ROUTERS_MAX 32

struct opts {
    const char *router[OPTS_ROUTERS_MAX]; /* host:port, in argv */
    struct net_addr router_addr[OPTS_ROUTERS_MAX];
    unsigned n_routers;
    const char *admin;      /* host:port; NULL: the rate comes from a router */
    struct net_addr admin_addr;
    char admin_token[128];
    const char *queue;
    const char *json_file;  /* NULL: none; "-": standard output */
    uint32_t players;
    double arrive_s;        /* 0: all at once */
    double max_s;
    unsigned weight[CLIENT_NCLASSES];
    double leave_share;     /* leave the line while waiting */
    double vanish_share;    /* say nothing more */
    double late_share;      /* stay away for late_s, then come back */
    double late_s;
    double retry_share;     /* have a subject, and send their join twice */
    double reconnect_share; /* of answers, after which the connection is closed */
    double repeat_share;    /* of the admitted: ask again, the pass must be the same */
    double session_s;       /* > 0: admitted ones end their session after about that long */
    double stray_s;         /* served so much later than due: its turn may have passed */
    double timeout_s;
    uint32_t conns;
    bool short_conns;
    bool wait_only;         /* hold them until max_s */
    bool until_admitted;    /* not done before max_s is a failure */
    bool quiet;
    uint64_t seed;
};

/* -1: go on; otherwise exit with this code (everything has been said). */
int opts_parse(struct opts *o, int argc, char **argv);

#endif
