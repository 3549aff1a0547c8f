/* pins.c: see the header. */
#include "queuemng/core/pins.h"

#include "queuemng/core/step.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/pins.h"

int mng_pin_put(struct mng *m, msec_t now_ms, const struct key_pin *d, struct mng_out *out,
                struct err *e)
{
    int rc;

    mng_begin(m, now_ms, out);
    rc = pin_define(m, d, e);
    mng_end(m);
    return rc;
}

const struct key_pin *mng_pin_get(const struct mng *m, const char *queue, const char *key,
                                  uint64_t *version)
{
    const struct mpin *x = pin_find(m, queue, key);

    if (x != NULL && version != NULL)
        *version = x->version;
    return x != NULL ? &x->def : NULL;
}

int mng_pin_delete(struct mng *m, msec_t now_ms, const char *queue, const char *key,
                   struct mng_out *out, struct err *e)
{
    struct mpin *x = pin_find(m, queue, key);

    if (x == NULL)
        return err_set(e, SQ_EUNKNOWN, "key %s of queue %s is not pinned", key, queue);
    mng_begin(m, now_ms, out);
    pin_remove(m, x);
    mng_end(m);
    return 0;
}

void mng_each_pin(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_pin(m, x) {
        struct mng_pin_view v = { &x->def, x->version };

        fn(ctx, &v);
    }
}
