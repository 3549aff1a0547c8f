/* redis_find.c: see the header. */
#include "common/redis/redis_find.h"

#include <assert.h>

void redis_find_init(struct redis_find *f, struct ev *ev,
                     void (*on_found)(void *arg, const struct host_answer *a), void *arg)
{
    *f = (struct redis_find){ .on_found = on_found, .arg = arg };
    hosts_init(&f->hosts, ev);
}

void redis_find_fini(struct redis_find *f)
{
    redis_find_forget(f);
    hosts_fini(&f->hosts);
}

void redis_find_forget(struct redis_find *f)
{
    if (f->question != NULL)
        hosts_drop(f->question);
    f->question = NULL;
    f->found.n = f->at = 0;
}

static void on_name(void *arg, const struct host_answer *a)
{
    struct redis_find *f = arg;

    f->question = NULL;
    f->found = *a;
    f->on_found(f->arg, a);
}

int redis_find(struct redis_find *f, const char *addr, struct err *e)
{
    int rc;

    assert(f->question == NULL);
    redis_find_forget(f);
    rc = net_parse(&f->found.addr[0], addr, e);
    f->found.n = rc == 0;
    if (rc == 0)
        return 1;
    if (rc != SQ_EUNKNOWN)
        return rc;
    f->question = hosts_ask(&f->hosts, addr, on_name, f);
    return f->question != NULL ? 0 : err_set(e, SQ_EUNAVAIL, "the name cannot be asked for");
}

bool redis_find_has_more(const struct redis_find *f)
{
    return f->at < f->found.n;
}

const struct net_addr *redis_find_next(struct redis_find *f)
{
    return redis_find_has_more(f) ? &f->found.addr[f->at++] : NULL;
}
