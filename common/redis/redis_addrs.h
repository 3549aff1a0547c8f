/* redis_addrs.h: the address to dial next: the servers of the configuration in turn; or its
 * sentinels in turn, and the master that one of them names; or the node that MOVED names. Pure.
 *
 * "host:port", or "/path" of a local socket. */
#ifndef SEGQ_REDIS_ADDRS_H
#define SEGQ_REDIS_ADDRS_H

#include "common/base/base.h"

#define REDIS_ADDR_BYTES 128

struct redis_turn { /* a list; `at` grows for ever */
    char **v;       /* owned, and each of them */
    size_t n, at;
};

struct redis_addrs {
    struct redis_turn servers, sentinels;
    char next[REDIS_ADDR_BYTES]; /* named by MOVED or a sentinel; "" = none */
    char now[REDIS_ADDR_BYTES];  /* dialled last */
};

/* Copies both lists into *a, which is zero. SQ_ENOMEM: redis_addrs_free() is due all the same. */
SQ_CHECK int redis_addrs_init(struct redis_addrs *a, char *const *server, size_t n_servers,
                              char *const *sentinel, size_t n_sentinels);
void redis_addrs_free(struct redis_addrs *a);
/* The next address becomes a->now. True: a sentinel's. */
bool redis_addrs_dial(struct redis_addrs *a);
/* "MOVED slot host:port": that is dialled next; a node that does not know its own host says
 * ":port", of the host that was asked. */
void redis_addrs_moved(struct redis_addrs *a, const char *error);
/* A sentinel's answer: that is dialled next. False: it is too long. */
bool redis_addrs_named(struct redis_addrs *a, const char *ip, size_t n_ip, const char *port,
                       size_t n_port);

#endif
