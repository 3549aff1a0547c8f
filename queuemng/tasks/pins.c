/* pins.c: a list, by queue and key; each has a record of its own. */
#include "queuemng/tasks/pins.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/queue_name.h"
#include "queuemng/state/json_row.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/orders.h"

#define LOG_MODULE "tasks"

static bool has(const struct mpool *p, const char *queue)
{
    return queue_matches(p->def.match, queue, strlen(queue));
}

/* A name has no colon. */
static void record_name(char out[TASK_NAME_MAX + KEY_TEXT_MAX + 8], const struct key_pin *d)
{
    sprintf(out, "pin/%s:%s", d->queue, d->key);
}

static void put(struct mng *m, const struct mpin *x)
{
    char name[TASK_NAME_MAX + KEY_TEXT_MAX + 8];

    record_name(name, &x->def);
    out_put_json(m, name, json_pack("{s:I,s:o}", "version", (json_int_t)x->version, "def",
                                    def_json(&x->def, key_pin_keys)));
}

/* All that may have tasks of the queue. */
static void tell(struct mng *m, const char *queue)
{
    each_pool(m, p)
        if (has(p, queue))
            part_tell(m, &p->part[part_share(queue, strlen(queue), p->n)]);
}

struct mpin *pin_find(const struct mng *m, const char *queue, const char *key)
{
    each_pin(m, x)
        if (strcmp(x->def.queue, queue) == 0 && strcmp(x->def.key, key) == 0)
            return x;
    return NULL;
}

/* ---- made, freed ------------------------------------------------------------------- */

/* The definition is copied. NULL: no memory. */
static struct mpin *pin_new(struct mng *m, const struct key_pin *d)
{
    struct list_node *at = m->tasks.pins.head.prev; /* the store has them in their order */
    struct mpin *x = calloc(1, sizeof(*x));

    if (x == NULL || cfg_copy(&x->def, sizeof(x->def), key_pin_keys, d) < 0) {
        free(x);
        return NULL;
    }
    while (at != &m->tasks.pins.head && key_pin_compare(&container_of(at, struct mpin, in)->def, d) > 0)
        at = at->prev;
    list_insert_after(&m->tasks.pins, at, &x->in);
    return x;
}

void pin_free(struct mng *m, struct mpin *x)
{
    list_remove(&m->tasks.pins, &x->in);
    cfg_clear(&x->def, key_pin_keys);
    free(x);
}

int pin_load(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct key_pin d = { 0 };
    struct mpin *x = NULL;
    int rc = def_from_json(&d, sizeof(d), key_pin_keys, json_object_get(j, "def"), key, e);

    if (rc == 0 && (key_pin_check(&d, e) < 0 || pin_find(m, d.queue, d.key) != NULL))
        rc = SQ_EPROTO;
    if (rc == 0 && (x = pin_new(m, &d)) == NULL)
        rc = SQ_ENOMEM;
    cfg_clear(&d, key_pin_keys);
    if (x != NULL)
        x->version = (uint64_t)json_integer_value(json_object_get(j, "version"));
    return rc == 0 ? 0 : err_set(e, rc, "stored record %s: %s", key, sq_strerror(rc));
}

/* ---- definitions ------------------------------------------------------------------- */

static uint32_t count(const struct mng *m, const char *match)
{
    uint32_t n = 0;

    each_pin(m, x)
        n += queue_matches(match, x->def.queue, strlen(x->def.queue));
    return n;
}

int pins_fit(const struct mng *m, const char *match, struct err *e)
{
    if (count(m, match) <= PINS_MAX)
        return 0;
    return err_set(e, SQ_ECONFLICT, "pool %s: its queues have more than %u pinned keys", match, PINS_MAX);
}

/* A pool has the queue, and each that has it has room for one more. */
static int may_add(const struct mng *m, const struct key_pin *d, struct err *e)
{
    bool found = false;

    each_pool(m, p) {
        if (!has(p, d->queue))
            continue;
        found = true;
        if (count(m, p->def.match) >= PINS_MAX)
            return err_set(e, SQ_ECONFLICT, "key %s: the queues of pool %s have %u pinned keys, as "
                           "many as may be: a pattern in the pool's `keys` is for many", d->key,
                           p->def.match, PINS_MAX);
    }
    return found ? 0 : err_set(e, SQ_EUNKNOWN, "no pool has a queue %s", d->queue);
}

int pin_define(struct mng *m, const struct key_pin *d, struct err *e)
{
    struct mpin *x = pin_find(m, d->queue, d->key);
    int rc = key_pin_check(d, e);

    if (rc == 0 && x == NULL)
        rc = may_add(m, d, e);
    if (rc < 0 || (x != NULL && cfg_equal(&x->def, d, key_pin_keys)))
        return rc;
    if (x == NULL)
        rc = (x = pin_new(m, d)) == NULL ? SQ_ENOMEM : 0;
    else
        rc = cfg_copy(&x->def, sizeof(x->def), key_pin_keys, d);
    if (rc < 0)
        return err_set(e, rc, "key %s: %s", d->key, sq_strerror(rc));
    x->version++;
    put(m, x);
    tell(m, d->queue);
    log_info("event=key_pinned queue=%s key=%s version=%llu", d->queue, log_q(d->key, strlen(d->key)),
             (unsigned long long)x->version);
    return 0;
}

static void drop(struct mng *m, struct mpin *x)
{
    char name[TASK_NAME_MAX + KEY_TEXT_MAX + 8];

    log_info("event=key_unpinned queue=%s key=%s", x->def.queue, log_q(x->def.key, strlen(x->def.key)));
    record_name(name, &x->def);
    out_del(m, name);
    pin_free(m, x);
}

void pin_remove(struct mng *m, struct mpin *x)
{
    char queue[TASK_NAME_MAX + 1];

    strcpy(queue, x->def.queue);
    drop(m, x);
    tell(m, queue);
}

void pins_tidy(struct mng *m)
{
    each_pin(m, x) {
        bool found = false;

        each_pool(m, p)
            found = found || has(p, x->def.queue);
        if (!found)
            drop(m, x);
    }
}
