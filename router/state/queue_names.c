/* queue_names.c: see queue_names.h. */
#include "router/state/queue_names.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "router/flow/routes.h"
#include "router/gate/gate_rules.h"
#include "router/state/router.h"

#define LOG_MODULE "names"
#define SHOWN      2

struct look {
    const struct router *r;
    struct queue_names found;
    bool says; /* also what is near: each queue is looked at */
};

/* FNV-1a, also of the final 0. */
static uint64_t mix(uint64_t h, const char *s)
{
    do
        h = (h ^ (uint8_t)*s) * 0x100000001b3;
    while (*s++ != '\0');
    return h;
}

/* The first of those that are as near, so that all routers say the same. */
static const char *nearest(const struct routes *routes, const char *name)
{
    struct near near = near_to(name);
    const struct route_queue *q;

    for (size_t i = 0; (q = routes_next(routes, &i)) != NULL;) {
        near_try(&near, q->map.name);
        if (near.name != NULL && strcmp(q->map.name, near.name) < 0 && near_distance(q->map.name, name) == near.best)
            near.name = q->map.name;
    }
    return near.name;
}

static void say(struct look *l, const char *where, const char *name)
{
    char *text = l->found.text;
    size_t n = strlen(text), room = sizeof(l->found.text) - n;
    const char *near = nearest(l->r->routes, name);

    snprintf(text + n, room, "%s%s names queue %s, which does not exist%s%s", n > 0 ? "; " : "", where, name,
             near != NULL ? "; near: " : "", near != NULL ? near : "");
}

static bool is_unknown(const struct look *l, const char *name)
{
    return name[0] != '\0' && routes_queue(l->r->routes, name, strlen(name)) == NULL;
}

static void unknown(struct look *l, const char *where, const char *name)
{
    l->found.n++;
    l->found.hash = mix(mix(l->found.hash, where), name) | 1;
    if (l->says && l->found.n <= SHOWN)
        say(l, where, name);
}

static void look(struct look *l)
{
    const struct router_cfg *c = l->r->cfg;
    const struct cfg_group *g = c->groups.v;
    const struct gate_rule *rule = c->gate_rules.v;
    char *const *rooms = c->rooms.v;
    const struct cfg_aws_event *event = c->aws_events.v;
    char where[NAME_MAX_LEN + 20];

    for (size_t i = 0; i < c->groups.n; i++)
        for (size_t k = 0; k < g[i].queues.n; k++)
            if (is_unknown(l, ((char *const *)g[i].queues.v)[k])) {
                snprintf(where, sizeof(where), "groups: %s", g[i].name);
                unknown(l, where, ((char *const *)g[i].queues.v)[k]);
            }
    for (size_t i = 0; i < c->gate_rules.n; i++)
        if (is_unknown(l, rule[i].queue)) {
            snprintf(where, sizeof(where), "gate_rules[%zu]", i);
            unknown(l, where, rule[i].queue);
        }
    for (size_t i = 0; i < c->rooms.n; i++)
        if (is_unknown(l, rooms[i]))
            unknown(l, "rooms", rooms[i]);
    for (size_t i = 0; i < c->aws_events.n; i++)
        if (is_unknown(l, event[i].queue))
            unknown(l, "aws_events", event[i].queue);
}

void queue_names_look(struct router *r)
{
    struct look l = { .r = r }, again = { .r = r, .says = true };

    if (routes_version(r->routes) == 0)
        return;
    look(&l);
    if (l.found.hash == r->names.hash)
        return;
    look(&again);
    r->names = again.found;
    if (again.found.n == 0)
        log_info("event=queue_names_known");
    else
        log_warn("event=queue_names_unknown n=%u why=%s", again.found.n,
                 log_q(again.found.text, strlen(again.found.text)));
}
