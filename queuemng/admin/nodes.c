/* nodes.c: orders about segment nodes: drain, undrain, forget. */
#include "queuemng/admin/nodes.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/lead/steps.h"

static void drain(struct admin_call *c, bool on)
{
    struct err e = { 0 };

    if (mng_drain(c->s->mng, ev_now(c->s->ev), c->name, on, mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, "not_found");
    else
        admin_changed(c, json_pack("{s:s,s:b}", "node", c->name, "draining", on));
}

static void forget_answer(struct admin_call *c, const struct mng_forget_end *end)
{
    char text[200];

    if (end->forgotten)
        snprintf(text, sizeof(text), "It is forgotten. Should it come back, it is a new node.");
    else
        snprintf(text, sizeof(text), "It is given up: %u of its segments wait for a node with "
                 "room. It is forgotten when they have one.", end->segments);
    admin_json(c->a, end->forgotten ? 200 : 202,
               json_pack("{s:s,s:b,s:i,s:s}", "node", c->name, "forgotten", end->forgotten,
                         "segments", (int)end->segments, "detail", text));
    admin_kept(c);
}

static void forget(struct admin_call *c)
{
    struct mng_forget_end end;
    struct err e = { 0 };

    if (mng_forget(c->s->mng, ev_now(c->s->ev), c->name, admin_is_true(c, "force"), &end,
                   mng_service_step(c->s), &e) == 0)
        forget_answer(c, &end);
    else
        admin_err(c->a, &e, "not_found");
}

void admin_node(struct admin_call *c, const char *verb)
{
    bool drains = strcmp(verb, "drain") == 0, undrains = strcmp(verb, "undrain") == 0;

    if (!drains && !undrains && strcmp(verb, "forget") != 0)
        admin_problem(c->a, 404, "not_found", "no such path");
    else if (strcmp(c->q->method, "POST") != 0)
        admin_not_allowed(c->a, "POST");
    else if (drains || undrains)
        drain(c, drains);
    else
        forget(c);
}
