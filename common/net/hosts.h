/* hosts.h: the addresses of host names, asked without stopping the loop (libevent's evdns: hosts
 * file, then the name servers; no thread). Shell. Numeric addresses never come here. */
#ifndef SEGQ_HOSTS_H
#define SEGQ_HOSTS_H

#include "common/base/list.h"
#include "common/net/net.h"

#define HOST_ADDRS 8 /* of one answer; more are left out */

struct ev;
struct host_question;

struct hosts { /* a part of its owner */
    struct ev *ev; /* ref */
    struct evdns_base *dns; /* owned; made for the first question */
    struct list open;       /* questions that are not answered yet */
};

struct host_answer {
    unsigned n; /* 0: none, and why */
    struct net_addr addr[HOST_ADDRS];
    char why[80];
};
typedef void (*host_fn)(void *arg, const struct host_answer *a);

void hosts_init(struct hosts *s, struct ev *ev);
void hosts_fini(struct hosts *s); /* open questions die unanswered */
/* Asks for "host:port"; fn is called later, once. NULL: it cannot be asked. */
struct host_question *hosts_ask(struct hosts *s, const char *addr, host_fn fn, void *arg);
void hosts_drop(struct host_question *q); /* fn will not be called */

#endif
