/* redis_addrs.c: whose turn it is. */
#include "common/redis/redis_addrs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

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
