/* hosts.h: the addresses of host names, asked without stopping the loop (libevent's evdns: hosts
 * file, then the name servers; no thread). Shell. Numeric addresses never come here.
 *
 * Everybody who needs a name in a loop asks here. The hosts file and resolv.conf are read again when
 * they change (DHCP, a VPN, another resolver): at the next question, and within a second for those
 * that wait for a name server that has gone. */
#ifndef SEGQ_HOSTS_H
#define SEGQ_HOSTS_H

#include "common/base/list.h"
#include "common/net/net.h"

#define HOST_ADDRS 8  /* addresses of an answer; more are left out */
#define HOST_FOUND 32 /* addresses of one version, of hosts_find() */

struct ev;
struct ev_timer;
struct host_question;

struct host_file { /* a file, as it was when it was read */
    int64_t inode, size, at_ns; /* 0: there was none */
};

struct hosts { /* a part of its owner */
    struct ev *ev; /* ref */
    struct evdns_base *dns; /* owned; made for the first question */
    struct list open;       /* questions that are not answered yet */
    struct list finds;      /* questions of hosts_find() and hosts_name() */
    struct ev_timer *timer; /* looks at the files while there are such */
    struct host_file conf, names;
    msec_t looked_ms;       /* when the files were looked at; 0: not yet */
};

struct host_answer {
    unsigned n; /* 0: none, and why */
    struct net_addr addr[HOST_ADDRS];
    char why[80];
};
typedef void (*host_fn)(void *arg, const struct host_answer *a);

/* All that name servers say of a name: addresses of version 4 and of 6, each with what was said of how long they
 * count. The hosts file is not looked at. */
struct host_part {
    enum { HOST_HAS, HOST_HAS_NONE, HOST_FAILED } how;
    uint32_t ttl_s; /* HAS: seconds; the least of all */
    unsigned n;
    struct net_addr addr[HOST_FOUND]; /* without a port */
    char why[80];   /* HAS_NONE, FAILED */
};
struct host_found {
    struct host_part v4, v6;
};
struct host_find;
typedef void (*host_found_fn)(void *arg, const struct host_found *a);

void hosts_init(struct hosts *s, struct ev *ev);
void hosts_fini(struct hosts *s); /* open questions die unanswered */
/* Asks for "host:port"; fn is called later, once. NULL: it cannot be asked. */
struct host_question *hosts_ask(struct hosts *s, const char *addr, host_fn fn, void *arg);
void hosts_drop(struct host_question *q); /* fn will not be called */
/* Asks for a name; fn is called later, once. False: it cannot be asked. */
SQ_CHECK bool hosts_find(struct hosts *s, const char *name, host_found_fn fn, void *arg);
/* The name of an address (PTR), without the last dot; "": it has none, or nobody says. */
typedef void (*host_name_fn)(void *arg, const char *name);
/* Asks for it; fn is called later, once. False: it cannot be asked. */
SQ_CHECK bool hosts_name(struct hosts *s, const struct ip *ip, host_name_fn fn, void *arg);
/* For tests: other files than /etc/resolv.conf and /etc/hosts, for all of the process. NULL: those. */
void hosts_from(const char *resolv_conf, const char *hosts_file);

#endif
