/* pins.c: see the header. */
#include "queuemng/admin/pins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/admin/definitions.h"
#include "queuemng/admin/path_names.h"
#include "queuemng/policy/key_def.h"

/* The queue is the name's: the body may leave it out. */
static int fit(struct admin_call *c, const char *name, const void *old, void *def, struct err *e)
{
    size_t n = strcspn(name, ":");
    struct key_pin *d = def;
    char *queue;

    (void)c;
    (void)old;
    if (d->queue != NULL && d->queue[0] != '\0' &&
        (strlen(d->queue) != n || strncmp(d->queue, name, n) != 0))
        return err_set(e, SQ_EINVAL, "queue: differs from the one in the path");
    queue = strndup(name, n);
    free(d->queue);
    d->queue = queue;
    return queue != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

/* A key that is not pinned is held, and its limits stay those of its pool; when it goes on it is not
 * pinned any more. */
static void pause(struct admin_call *c, const char *name, const struct key_pin *old, bool on)
{
    struct key_pin d = { .inherit = true, .limit.burst = 1, .weight = 1 };
    struct err e = { 0 };
    int rc = 0;

    if (!on && old != NULL && old->inherit) {
        admin_undefine(c, DEF_PIN, name);
        return;
    }
    if (old != NULL)
        rc = cfg_copy(&d, sizeof(d), key_pin_keys, old);
    else if ((d.key = strdup(c->name)) == NULL)
        rc = SQ_ENOMEM;
    if (rc < 0)
        err_set(&e, rc, "key %s: %s", c->name, sq_strerror(rc));
    else
        rc = fit(c, name, old, &d, &e);
    d.paused = on;
    admin_define(c, DEF_PIN, name, &d, rc, &e, 200);
}

static void order(struct admin_call *c, const char *name, const char *verb)
{
    const struct key_pin *old = mng_defined(c->s->mng, DEF_PIN, name, NULL);
    bool on = strcmp(verb, "pause") == 0;

    if (!on && strcmp(verb, "resume") != 0)
        admin_problem(c->a, 404, "not_found", "no such order: a key is told to pause, resume");
    else if (!on && old == NULL)
        admin_answer_def(c, DEF_PIN, name, 200);
    else
        pause(c, name, old, on);
}

void admin_pin(struct admin_call *c, const struct key_path *k)
{
    static const struct admin_special x = { fit, NULL };
    char name[DEF_NAME_MAX + 1];

    snprintf(name, sizeof(name), "%s:%s", k->queue, k->key);
    strcpy(c->name, k->key);
    if (strcmp(c->q->method, "POST") == 0)
        order(c, name, k->verb);
    else
        admin_definition(c, DEF_PIN, name, &x);
}
