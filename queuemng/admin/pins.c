/* pins.c: see the header. Every definition goes through one table. */
#include "queuemng/admin/pins.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/admin/definitions.h"
#include "queuemng/admin/path_names.h"
#include "queuemng/core/pins.h"
#include "queuemng/policy/key_def.h"
#include "queuemng/process/steps.h"

#define UNKNOWN "key_not_found"

static void add_def(void *list, const void *view)
{
    const struct mng_pin_view *v = view;

    (void)json_array_append_new(list, admin_def_json(v->def, key_pin_keys, v->version));
}

void admin_pins(struct admin_call *c)
{
    json_t *list = json_array();

    mng_each_pin(c->s->mng, add_def, list);
    admin_json(c->a, 200, json_pack("{s:o}", "keys", list));
}

static void answer_def(struct admin_call *c, const struct key_path *k, int status)
{
    uint64_t version = 0;
    const struct key_pin *d = mng_pin_get(c->s->mng, k->queue, k->key, &version);

    if (d == NULL)
        admin_problem(c->a, 404, UNKNOWN, "key %s of queue %s is not pinned", k->key, k->queue);
    else
        admin_answer_def(c, status, d, key_pin_keys, version);
}

/* The queue is the path's: the body may leave it out. */
static int fit_queue(struct key_pin *d, const struct key_path *k, struct err *e)
{
    char *queue = strdup(k->queue);

    if (d->queue != NULL && d->queue[0] != '\0' && strcmp(d->queue, k->queue) != 0) {
        free(queue);
        return err_set(e, SQ_EINVAL, "queue: differs from the one in the path");
    }
    free(d->queue);
    d->queue = queue;
    return queue != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

/* Takes d's content. */
static void changed(struct admin_call *c, const struct key_path *k, struct key_pin *d, int rc,
                    struct err *e, int status)
{
    if (rc == 0)
        rc = fit_queue(d, k, e);
    if (rc == 0)
        rc = mng_pin_put(c->s->mng, ev_now(c->s->ev), d, mng_service_step(c->s), e);
    cfg_clear(d, key_pin_keys);
    if (rc < 0) {
        e->code = rc;
        admin_err(c->a, e, "pool_not_found");
        return;
    }
    answer_def(c, k, status);
    admin_kept(c);
}

static void put(struct admin_call *c, const struct key_path *k, const struct key_pin *old)
{
    bool patch = strcmp(c->q->method, "PATCH") == 0;
    struct key_pin d = { 0 };
    struct err e = { 0 };
    int rc = admin_read_def(c, &d, sizeof(d), key_pin_keys, patch ? old : NULL, &e);

    changed(c, k, &d, rc, &e, old == NULL ? 201 : 200);
}

static void delete(struct admin_call *c, const struct key_path *k)
{
    struct err e = { 0 };

    if (mng_pin_delete(c->s->mng, ev_now(c->s->ev), k->queue, k->key, mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, UNKNOWN);
    else
        admin_changed(c, json_pack("{s:s,s:s}", "key", k->key, "queue", k->queue));
}

/* A key that is not pinned is held, and its limits stay those of its pool; when it goes on it is not
 * pinned any more. */
static void pause(struct admin_call *c, const struct key_path *k, const struct key_pin *old, bool on)
{
    struct key_pin d = { .inherit = true, .limit.burst = 1, .weight = 1 };
    struct err e = { 0 };
    int rc = 0;

    if (!on && old != NULL && old->inherit) {
        delete(c, k);
        return;
    }
    if (old != NULL)
        rc = cfg_copy(&d, sizeof(d), key_pin_keys, old);
    else if ((d.key = strdup(k->key)) == NULL)
        rc = SQ_ENOMEM;
    if (rc < 0)
        err_set(&e, rc, "key %s: %s", k->key, sq_strerror(rc));
    d.paused = on;
    changed(c, k, &d, rc, &e, 200);
}

static void order(struct admin_call *c, const struct key_path *k, const struct key_pin *old)
{
    bool on = strcmp(k->verb, "pause") == 0;

    if (!on && strcmp(k->verb, "resume") != 0)
        admin_problem(c->a, 404, "not_found", "no such order: a key is told to pause, resume");
    else if (!on && old == NULL)
        answer_def(c, k, 200);
    else
        pause(c, k, old, on);
}

void admin_pin(struct admin_call *c, const struct key_path *k)
{
    uint64_t version = 0;
    const struct key_pin *old = mng_pin_get(c->s->mng, k->queue, k->key, &version);
    const char *m = c->q->method;

    strcpy(c->name, k->key);
    if (strcmp(m, "POST") == 0)
        order(c, k, old);
    else if (strcmp(m, "GET") == 0)
        answer_def(c, k, 200);
    else if (strcmp(m, "PUT") != 0 && strcmp(m, "PATCH") != 0 && strcmp(m, "DELETE") != 0)
        admin_not_allowed(c->a, "GET, HEAD, PUT, PATCH, DELETE, POST");
    else if (!admin_may_change(c, "pinned key", UNKNOWN, version))
        return;
    else if (m[0] == 'D')
        delete(c, k);
    else
        put(c, k, old);
}
