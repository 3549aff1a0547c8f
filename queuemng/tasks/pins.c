/* pins.c: see the header. */
#include "queuemng/tasks/pins.h"

#include <string.h>

#include "common/base/log.h"
#include "common/task/queue_name.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/orders.h"

#define LOG_MODULE "tasks"

static bool has(const struct mpool *p, const char *queue)
{
    return queue_matches(p->def.match, queue, strlen(queue));
}

/* All that may have tasks of the queue. */
static void tell(struct mng *m, const char *queue)
{
    each_pool(m, p)
        if (has(p, queue))
            part_tell(m, &p->part[part_share(queue, strlen(queue), p->n)]);
}

int pin_load(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mpin *x;
    void *made;
    int rc = defined_load(m, DEF_PIN, key, j, &made, e);

    if (rc < 0)
        return rc;
    x = made;
    rc = key_pin_check(&x->def, e);
    if (rc < 0)
        defined_free(m, DEF_PIN, x);
    return rc == 0 ? 0 : err_wrap(e, "stored record %s", key);
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

int pin_define(struct mng *m, void *pin, const void *def, struct err *e)
{
    const struct key_pin *d = def;
    struct mpin *x = pin;
    int rc = x == NULL ? may_add(m, d, e) : 0;

    if (rc < 0 || (x != NULL && defined_equals(DEF_PIN, x, d)))
        return rc;
    if (x != NULL)
        rc = defined_change(DEF_PIN, x, d, e);
    else if ((x = defined_new(m, DEF_PIN, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "key %s: out of memory", d->key);
    if (rc < 0)
        return rc;
    defined_put(m, DEF_PIN, x, defined_json(DEF_PIN, x));
    tell(m, d->queue);
    log_info("event=key_pinned queue=%s key=%s version=%llu", d->queue, log_q(d->key, strlen(d->key)),
             (unsigned long long)x->version);
    return 0;
}

static void drop(struct mng *m, struct mpin *x)
{
    log_info("event=key_unpinned queue=%s key=%s", x->def.queue, log_q(x->def.key, strlen(x->def.key)));
    defined_del(m, DEF_PIN, x);
    defined_free(m, DEF_PIN, x);
}

void pin_remove(struct mng *m, void *pin)
{
    struct mpin *x = pin;
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
