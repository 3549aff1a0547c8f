/* redis_addrs.h: the address to dial next: the servers of the configuration in turn; or its
 * sentinels in turn, and the master that one of them names; or the node that MOVED names. Then the
 * numbers of that address. Shell.
 *
 * "host:port", or "/path" of a local socket. */
#ifndef SEGQ_REDIS_ADDRS_H
#define SEGQ_REDIS_ADDRS_H

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/net/ev.h"
#include "common/net/hosts.h"

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

/* The addresses that a configured one means: itself, if it is a number; else those of its name, one
 * after the other. Nothing blocks (common/net/hosts.h). */
struct redis_find { /* a part of its owner */
    struct hosts hosts;
    struct host_question *question; /* NULL: none is under way */
    struct host_answer found;
    unsigned at; /* number of them taken already */
    /* They are there, or a->why says why not. Not from inside redis_find(). */
    void (*on_found)(void *arg, const struct host_answer *a);
    void *arg;
};

void redis_find_init(struct redis_find *f, struct ev *ev,
                     void (*on_found)(void *arg, const struct host_answer *a), void *arg);
void redis_find_fini(struct redis_find *f);
/* "host:port". 1: they are there; 0: on_found will be called; SQ_EINVAL, SQ_EUNAVAIL. */
SQ_CHECK int redis_find(struct redis_find *f, const char *addr, struct err *e);
/* Whatever was found, or asked, does not count any more. */
void redis_find_forget(struct redis_find *f);
/* NULL: there is no further one. */
const struct net_addr *redis_find_next(struct redis_find *f);
bool redis_find_has_more(const struct redis_find *f);

#endif
