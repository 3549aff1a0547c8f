/* redis_find.h: the addresses that a configured one means: itself, if it is a number; else those of
 * its name, one after the other. Nothing blocks (common/net/hosts.h). Shell. */
#ifndef SEGQ_REDIS_FIND_H
#define SEGQ_REDIS_FIND_H

#include "common/net/hosts.h"

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
