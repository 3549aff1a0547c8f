/* crawler_names.c: see crawler_names.h. */
#include "router/service/crawler_names.h"

#include <stdlib.h>

#include "common/net/ev.h"
#include "common/net/hosts.h"

struct crawler_names {
    struct ev *ev; /* ref */
    struct hosts hosts;
    struct crawlers *core; /* owned */
};

static msec_t now_of(const struct crawler_ask *a)
{
    const struct crawler_names *n = crawler_ctx(a);

    return ev_now(n->ev);
}

static void on_name(void *ask, const char *name)
{
    crawler_named(ask, name, now_of(ask));
}

static size_t add_addrs(struct ip *to, const struct host_part *p)
{
    size_t n = 0;

    for (unsigned i = 0; i < p->n; i++)
        n += net_ip(&p->addr[i], &to[n]);
    return n;
}

static void on_addrs(void *ask, const struct host_found *f)
{
    struct ip addrs[2 * HOST_FOUND];
    size_t n = add_addrs(addrs, &f->v4);

    n += add_addrs(addrs + n, &f->v6);
    crawler_has(ask, addrs, n, f->v4.how == HOST_FAILED || f->v6.how == HOST_FAILED, now_of(ask));
}

static bool ask_name(void *ctx, const struct ip *ip, struct crawler_ask *a)
{
    struct crawler_names *n = ctx;

    return hosts_name(&n->hosts, ip, on_name, a);
}

static bool ask_addrs(void *ctx, const char *name, struct crawler_ask *a)
{
    struct crawler_names *n = ctx;

    return hosts_find(&n->hosts, name, on_addrs, a);
}

struct crawler_names *crawler_names_new(struct ev *ev)
{
    struct crawler_names *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return NULL;
    n->ev = ev;
    n->core = crawlers_new(&(const struct crawler_io){ n, ask_name, ask_addrs });
    if (n->core == NULL) {
        free(n);
        return NULL;
    }
    hosts_init(&n->hosts, ev);
    return n;
}

void crawler_names_free(struct crawler_names *n)
{
    if (n == NULL)
        return;
    hosts_fini(&n->hosts); /* first: questions end */
    crawlers_free(n->core);
    free(n);
}

struct crawlers *crawler_names_of(struct crawler_names *n)
{
    return n != NULL ? n->core : NULL;
}
