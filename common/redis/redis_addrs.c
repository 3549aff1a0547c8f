/* redis_addrs.c: see redis_addrs.h. */
#include "common/redis/redis_addrs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/net/net.h"

static int turn_copy(struct redis_turn *t, char *const *v, size_t n)
{
    assert(t->n == 0);
    t->v = n != 0 ? calloc(n, sizeof(*t->v)) : NULL;
    if (n != 0 && t->v == NULL)
        return SQ_ENOMEM;
    for (; t->n < n; t->n++) {
        t->v[t->n] = strdup(v[t->n]);
        if (t->v[t->n] == NULL)
            return SQ_ENOMEM;
    }
    return 0;
}

static void turn_free(struct redis_turn *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
    *t = (struct redis_turn){ 0 };
}

int redis_addrs_init(struct redis_addrs *a, char *const *server, size_t n_servers,
                     char *const *sentinel, size_t n_sentinels)
{
    assert(n_servers + n_sentinels != 0);
    if (turn_copy(&a->servers, server, n_servers) < 0)
        return SQ_ENOMEM;
    return turn_copy(&a->sentinels, sentinel, n_sentinels);
}

void redis_addrs_free(struct redis_addrs *a)
{
    turn_free(&a->servers);
    turn_free(&a->sentinels);
}

bool redis_addrs_dial(struct redis_addrs *a)
{
    bool named = a->next[0] != '\0', sentinel = !named && a->sentinels.n != 0;
    const struct redis_turn *t = sentinel ? &a->sentinels : &a->servers;

    assert(named || t->n != 0);
    snprintf(a->now, sizeof(a->now), "%s", named ? a->next : t->v[t->at % t->n]);
    a->next[0] = '\0';
    return sentinel;
}

bool redis_addrs_named(struct redis_addrs *a, const char *ip, size_t n_ip, const char *port,
                       size_t n_port)
{
    if (n_ip + n_port > 100)
        return false;
    snprintf(a->next, sizeof(a->next),
             memchr(ip, ':', n_ip) != NULL && ip[0] != '[' ? "[%.*s]:%.*s" : "%.*s:%.*s", (int)n_ip, ip,
             (int)n_port, port);
    return true;
}

void redis_addrs_moved(struct redis_addrs *a, const char *error)
{
    const char *slot = strchr(error, ' '), *host = slot != NULL ? strchr(slot + 1, ' ') : NULL;
    const char *port = host != NULL ? strrchr(host, ':') : NULL, *end = port;

    if (port != NULL && ++host == port) {
        host = a->now;
        end = host[0] != '/' ? strrchr(host, ':') : NULL;
    }
    if (end != NULL)
        (void)redis_addrs_named(a, host, (size_t)(end - host), port + 1, strlen(port + 1));
}

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
