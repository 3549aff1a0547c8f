/* cfg_check.c: what several programs' checks have in common, beyond their tables. Pure.
 * What passes here is what the start takes: -t and kill -HUP rely on it. */
#include "common/config/cfg_check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/text.h"

const char *const cfg_log_levels[] = { "error", "warn", "info", "debug", NULL };

int cfg_node_check(const char *name, struct err *e)
{
    size_t n = strlen(name);

    if (n > 0 && n <= NAME_MAX_LEN && char_is_of(name[0], "") && text_is_of(name, n, "._-"))
        return 0;
    return err_set(e, SQ_EINVAL,
                   "node: \"%.70s\" is not a node name: letters, digits, and . _ - after "
                   "the first, at most %d", name, NAME_MAX_LEN);
}

bool cfg_addr_any(const char *addr)
{
    return addr[0] == ':' || strncmp(addr, "*:", 2) == 0 ||
           strncmp(addr, "0.0.0.0:", 8) == 0 || strncmp(addr, "[::]:", 5) == 0;
}

static int port_of(const char *addr)
{
    const char *colon = strrchr(addr, ':');

    return colon != NULL ? atoi(colon + 1) : 0;
}

int cfg_dial_check(const char *key, const char *addr, struct err *e)
{
    if (addr[0] == '\0' || !cfg_addr_ok(addr) || cfg_addr_any(addr) || port_of(addr) == 0)
        return err_set(e, SQ_EINVAL, "%s: \"%.80s\" is not an address to dial: write "
                                     "host:port",
                       key, addr);
    return 0;
}

int cfg_dials_check(const char *key, const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;

    for (size_t i = 0; i < l->n; i++) {
        int rc = cfg_dial_check(key, v[i], e);

        if (rc < 0)
            return rc;
    }
    return 0;
}

int cfg_nets_check(const char *key, const struct cfg_list *l, struct err *e)
{
    char *const *v = l->v;
    struct ip_net net;

    for (size_t i = 0; i < l->n; i++)
        if (!ip_net_parse(&net, v[i]))
            return err_set(e, SQ_EINVAL, "%s: \"%.60s\" is neither an address nor a network in CIDR "
                           "notation", key, v[i]);
    return 0;
}

static bool same_host(const char *a, const char *b)
{
    const char *colon = strrchr(a, ':');
    size_t n = (size_t)(colon - a);

    assert(colon != NULL && strrchr(b, ':') != NULL); /* both have a port */
    return (size_t)(strrchr(b, ':') - b) == n && memcmp(a, b, n) == 0;
}

int cfg_apart_check(const char *key, const char *addr, const char *other_key, const char *other,
                    struct err *e)
{
    bool same = port_of(other) != 0 && port_of(other) == port_of(addr);

    if (!same || (!cfg_addr_any(other) && !cfg_addr_any(addr) && !same_host(other, addr)))
        return 0;
    return err_set(e, SQ_EINVAL, "%s: %s is already used by %s (%s)", key, addr, other_key, other);
}

int cfg_advertise_check(const char *listen, const char *advertise, struct err *e)
{
    if (strlen(advertise) > 63 || strlen(listen) > 63)
        return err_set(e, SQ_EINVAL, "listen, advertise: at most 63 characters");
    if (advertise[0] != 0)
        return cfg_dial_check("advertise", advertise, e);
    if (cfg_addr_any(listen))
        return err_set(e, SQ_EINVAL, "advertise is missing: peers cannot dial listen (\"%s\")",
                       listen);
    return 0;
}

static int redis_tls_check(const struct cfg_redis *c, struct err *e)
{
    const struct cfg_tls *f = &c->files;
    char *const *addr = c->servers.v;
    const char *idle = f->ca[0] != 0     ? "redis_tls_ca"
                       : f->cert[0] != 0 ? "redis_tls_cert"
                       : f->key[0] != 0  ? "redis_tls_key"
                       : f->name[0] != 0 ? "redis_tls_name"
                                         : NULL;

    if (!c->tls && idle != NULL)
        return err_set(e, SQ_EINVAL, "%s: without use, since redis_tls is false", idle);
    if ((f->cert[0] != 0) != (f->key[0] != 0))
        return err_set(e, SQ_EINVAL, "%s: missing; redis_tls_cert and redis_tls_key belong together",
                       f->cert[0] != 0 ? "redis_tls_key" : "redis_tls_cert");
    for (size_t i = 0; c->tls && i < c->servers.n; i++)
        if (addr[i][0] == '/')
            return err_set(e, SQ_EINVAL, "redis: %.80s: a local socket has no TLS; name host:port, "
                                         "or leave redis_tls out",
                           addr[i]);
    return 0;
}

int cfg_redis_check(const struct cfg_redis *c, struct err *e)
{
    char *const *addr = c->servers.v;
    int rc = 0;

    if (c->servers.n != 0 && c->sentinels.n != 0)
        return err_set(e, SQ_EINVAL, "redis or redis_sentinels, not both");
    for (size_t i = 0; rc == 0 && i < c->servers.n; i++)
        rc = addr[i][0] == '/' ? 0 : cfg_dial_check("redis", addr[i], e);
    if (rc == 0)
        rc = cfg_dials_check("redis_sentinels", &c->sentinels, e);
    if (rc == 0 && c->user[0] != 0 && c->password_file[0] == 0)
        rc = err_set(e, SQ_EINVAL, "redis_user: redis_password_file is missing");
    return rc < 0 ? rc : redis_tls_check(c, e);
}

const char *const cfg_tls_modes[] = { "off", "accept", "require", NULL };

int cfg_tls_check(const struct cfg_tls *c, struct err *e)
{
    bool cert = c->cert[0] != '\0', key = c->key[0] != '\0', ca = c->ca[0] != '\0';
    const char *lacks = !cert ? "tls_cert" : !key ? "tls_key" : "tls_ca";

    if ((cert || key || ca) && !(cert && key && ca))
        return err_set(e, SQ_EINVAL, "%s: missing; tls_cert, tls_key and tls_ca belong together",
                       lacks);
    if (c->name[0] != '\0' && !cert)
        return err_set(e, SQ_EINVAL, "tls_peer_name: only certificates have names; set tls_cert, "
                                     "tls_key and tls_ca, too");
    if (cert && c->mode == TLS_OFF)
        return err_set(e, SQ_EINVAL, "tls_cert: without use, since tls is off");
    return 0;
}

int cfg_admin_tls_check(const struct cfg_cert *c, struct err *e)
{
    if ((c->cert[0] != '\0') == (c->key[0] != '\0'))
        return 0;
    return err_set(e, SQ_EINVAL, "%s: missing; admin_cert and admin_key belong together",
                   c->cert[0] == '\0' ? "admin_cert" : "admin_key");
}
