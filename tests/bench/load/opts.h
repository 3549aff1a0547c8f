/* opts.h: the load generator's options. */
#ifndef SEGQ_LOAD_OPTS_H
#define SEGQ_LOAD_OPTS_H

#include "common/net/net.h"

struct opts {
    const char *host;      /* all texts are in argv */
    uint32_t port;
    struct net_addr addr;
    const char *tokens;    /* exactly one of these three */
    const char *path;
    const char *join;
    uint32_t conns;
    uint32_t idle;         /* 0: a load; else connections to be held open */
    double seconds, warmup_s, interval_s, timeout_s;
    double rate_per_s;     /* 0: closed loop */
    bool close;            /* a new connection per request */
    bool browser;
    const char *header;    /* one more field, without its line's end; NULL: none */
    bool until_stdin_closes;
    uint64_t seed;
};

/* -1: go on; otherwise exit with this code (everything has been said). */
int opts_parse(struct opts *o, int argc, char **argv);

#endif
