/* cluster_args.c: from a cluster's configuration to one child's command line. Pure. */
#define _GNU_SOURCE /* asprintf */
#include "common/supervisor/cluster_args.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/cfg_check.h"

#define MAX_FIXED_ARGS 16 /* program, -c FILE, node, listen, admin, managers, NULL */

static const char *const *strs(const struct cfg_list *l)
{
    return l->v;
}

/* "host:port" with port + add; port 0 (any free one) stays 0. NULL: no memory. */
static char *addr_plus(const char *addr, int64_t add)
{
    const char *colon = strrchr(addr, ':');
    long port = strtol(colon + 1, NULL, 10);
    char *out;

    if (asprintf(&out, "%.*s:%" PRId64, (int)(colon - addr), addr,
                 port == 0 ? 0 : port + add) < 0)
        return NULL;
    return out;
}

static int64_t port_of(const char *addr)
{
    return strtol(strrchr(addr, ':') + 1, NULL, 10);
}

/* Takes s, which may be NULL for want of memory. */
static int add_take(struct cluster_args *a, char *s)
{
    if (s == NULL)
        return SQ_ENOMEM;
    a->v[a->n++] = s;
    return 0;
}

static int add_set(struct cluster_args *a, const char *key, const char *value)
{
    char *s;

    if (add_take(a, strdup("--set")) < 0 || asprintf(&s, "%s=%s", key, value) < 0)
        return SQ_ENOMEM;
    return add_take(a, s);
}

static char *join_managers(const struct cluster_cfg *c)
{
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < c->managers.n; i++) {
        if (i > 0)
            buf_byte(&b, ',');
        buf_str(&b, strs(&c->managers)[i]);
    }
    buf_byte(&b, 0);
    if (b.failed)
        buf_fini(&b);
    return (char *)b.data; /* taken from the buf: its memory is malloc's */
}

static int add_managers(struct cluster_args *a, const struct cluster_cfg *c)
{
    char *list;
    int rc;

    if (c->managers.n == 0)
        return 0;
    list = join_managers(c);
    if (list == NULL)
        return SQ_ENOMEM;
    rc = add_set(a, "managers", list);
    free(list);
    return rc;
}

static int add_all(struct cluster_args *a, const struct cluster_cfg *c, const char *path,
                   unsigned i)
{
    char node[NAME_MAX_LEN + 12];

    if (add_take(a, strdup(path)) < 0)
        return SQ_ENOMEM;
    if (c->config[0] != 0 &&
        (add_take(a, strdup("-c")) < 0 || add_take(a, strdup(c->config)) < 0))
        return SQ_ENOMEM;
    snprintf(node, sizeof(node), "%s.%u", c->name, i);
    if (add_set(a, "node", node) < 0 || add_set(a, "listen", a->listen) < 0 ||
        add_set(a, "admin", a->admin) < 0 || add_managers(a, c) < 0)
        return SQ_ENOMEM;
    for (size_t k = 0; k < c->set.n; k++)
        if (add_take(a, strdup("--set")) < 0 || add_take(a, strdup(strs(&c->set)[k])) < 0)
            return SQ_ENOMEM;
    return 0;
}

/* FNV-1a; tells command lines apart, nothing hostile. */
static uint64_t hash_args(const struct cluster_args *a)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < a->n; i++)
        for (const char *p = a->v[i];; p++) {
            h = (h ^ (uint8_t)*p) * 0x100000001b3u;
            if (*p == 0)
                break;
        }
    return h;
}

int cluster_args_make(struct cluster_args *a, const struct cluster_cfg *c,
                      const char *path, unsigned i, struct err *e)
{
    *a = (struct cluster_args) { .v = NULL };
    a->v = calloc(MAX_FIXED_ARGS + 2 * c->set.n, sizeof(*a->v));
    a->listen = addr_plus(c->listen, (int64_t)i * c->port_step);
    a->admin = addr_plus(c->admin, i);
    if (a->v == NULL || a->listen == NULL || a->admin == NULL ||
        add_all(a, c, path, i) < 0) {
        cluster_args_free(a);
        return err_set(e, SQ_ENOMEM, "arguments of %s.%u", c->name, i);
    }
    assert(a->n < MAX_FIXED_ARGS + 2 * c->set.n && a->v[a->n] == NULL);
    a->hash = hash_args(a);
    return 0;
}

void cluster_args_free(struct cluster_args *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    free(a->listen);
    free(a->admin);
    *a = (struct cluster_args) { .v = NULL };
}

static int check_ports(const struct cluster_kind *k, const struct cluster_cfg *c,
                       struct err *e)
{
    int64_t last = c->children - 1;

    if (port_of(c->listen) + last * c->port_step > 65535)
        return err_set(e, SQ_EINVAL, "listen: the last child's port is above 65535");
    if (port_of(c->admin) + last > 65535)
        return err_set(e, SQ_EINVAL, "admin: the last child's port is above 65535");
    if (c->port_step == 0 && c->children > 1 && !k->shares_port &&
        port_of(c->listen) != 0)
        return err_set(e, SQ_EINVAL,
                       "port_step: 0 with %" PRId64 " children, and a %s shares no port",
                       c->children, k->child);
    return 0;
}

int cluster_check(const struct cluster_kind *k, const struct cluster_cfg *c,
                  struct err *e)
{
    if (strlen(c->name) > NAME_MAX_LEN - 4)
        return err_set(e, SQ_EINVAL, "name: at most %d characters", NAME_MAX_LEN - 4);
    for (size_t i = 0; i < c->set.n; i++) {
        const char *s = strs(&c->set)[i], *eq = strchr(s, '=');

        if (eq == NULL || eq == s)
            return err_set(e, SQ_EINVAL, "set: \"%s\" is not KEY=VALUE", s);
    }
    if (cfg_dials_check("managers", &c->managers, e) < 0)
        return SQ_EINVAL;
    return check_ports(k, c, e);
}
