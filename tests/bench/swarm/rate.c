/* rate.c: one connection of its own, so that the measured ones are not disturbed. */
#include "tests/bench/swarm/rate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/swarm/conns.h"
#include "tests/bench/swarm/now.h"

#define ASK_EVERY_US 1000000

struct rate {
    const struct opts *o; /* ref */
    struct conns *conns;
    struct ev_timer *timer;
    struct rate_view view;
    int64_t last_us;      /* of the last reading; 0: none yet */
    json_int_t granted_0; /* first reading of the count; -1: none yet */
    bool asking;
};

static void build(void *ctx, uint32_t who, const char *host, struct buf *out)
{
    struct rate *r = ctx;

    (void)who;
    if (r->o->admin != NULL)
        buf_printf(out,
                   "GET /v1/admin/cluster HTTP/1.1\r\nHost: %s\r\n"
                   "Authorization: Bearer %s\r\n\r\n",
                   host, r->o->admin_token);
    else
        buf_printf(out, "GET /v1/queues/%s HTTP/1.1\r\nHost: %s\r\n\r\n", r->o->queue, host);
}

/* The queue's object in the manager's answer. */
static json_t *find_queue(json_t *root, const char *name)
{
    json_t *list = json_object_get(root, "queues"), *q;
    size_t i;

    json_array_foreach(list, i, q) {
        const char *n = json_string_value(json_object_get(q, "queue"));

        if (n == NULL)
            n = json_string_value(json_object_get(q, "name"));
        if (n != NULL && strcmp(n, name) == 0)
            return q;
    }
    return NULL;
}

static void add_up(struct rate *r, double per_s, json_t *granted)
{
    struct rate_view *v = &r->view;
    int64_t now = now_us();

    if (v->known) {
        double s = (double)(now - r->last_us) / 1e6;

        v->seconds += s;
        v->allowed += v->per_s * s; /* as it was during that time */
    }
    if (json_is_integer(granted)) {
        if (r->granted_0 < 0)
            r->granted_0 = json_integer_value(granted);
        v->granted = json_integer_value(granted) - r->granted_0;
    }
    r->last_us = now;
    v->per_s = per_s;
    v->max_per_s = per_s > v->max_per_s ? per_s : v->max_per_s;
    v->known = true;
}

static void on_answer(void *ctx, uint32_t who, const struct answer *a)
{
    struct rate *r = ctx;
    json_t *root = a->status == 200 ? json_loadb(a->body, a->len, 0, NULL) : NULL;
    json_t *q = r->o->admin != NULL ? find_queue(root, r->o->queue) : root;
    json_t *per_s = json_object_get(q, "allowed_per_s");
    const char *by = json_string_value(json_object_get(q, "limited_by"));

    (void)who;
    r->asking = false;
    if (per_s == NULL)
        per_s = json_object_get(q, "release_per_s");
    if (json_is_number(per_s))
        add_up(r, json_number_value(per_s), json_object_get(q, "granted"));
    if (by != NULL)
        snprintf(r->view.limited_by, sizeof(r->view.limited_by), "%s", by);
    json_decref(root);
}

static void on_fail(void *ctx, uint32_t who, const char *why)
{
    struct rate *r = ctx;

    (void)who;
    (void)why; /* asked again in a second; the sum goes on with the last reading */
    r->asking = false;
}

static void on_timer(void *arg)
{
    struct rate *r = arg;

    if (!r->asking)
        r->asking = conns_submit(r->conns, 0);
    ev_timer_in_us(r->timer, ASK_EVERY_US);
}

int rate_new(struct rate **out, struct ev *ev, const struct opts *o, struct err *e)
{
    static const struct conns_calls calls = { build, on_answer, on_fail };
    struct conns_opts co = { .addr = o->admin != NULL ? &o->admin_addr : o->router_addr,
                             .host = o->admin != NULL ? &o->admin : o->router,
                             .n_hosts = o->admin != NULL ? 1 : o->n_routers,
                             .conns = 1, .keep = true, .timeout_us = 3000000 };
    struct rate *r = calloc(1, sizeof(*r));
    int rc = SQ_ENOMEM;

    if (r == NULL)
        return err_set(e, SQ_ENOMEM, "rate");
    r->o = o;
    r->granted_0 = r->view.granted = -1;
    r->view.source = o->admin != NULL ? "manager" : "router";
    rc = conns_new(&r->conns, ev, &co, &calls, r, e);
    if (rc < 0)
        goto fail;
    r->timer = ev_timer_new(ev, on_timer, r);
    if (r->timer == NULL) {
        rc = err_set(e, SQ_ENOMEM, "rate");
        goto fail;
    }
    ev_timer_in_us(r->timer, 1);
    *out = r;
    return 0;
fail:
    rate_free(r);
    return rc;
}

void rate_free(struct rate *r)
{
    if (r == NULL)
        return;
    ev_timer_free(r->timer);
    conns_free(r->conns);
    free(r);
}

const struct rate_view *rate_view(const struct rate *r)
{
    return &r->view;
}
