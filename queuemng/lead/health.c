/* health.c: is this manager well? */
#include "queuemng/lead/health.h"

bool mng_healthy(void *ctx, struct buf *why)
{
    const struct mng_service *s = ctx;
    struct mng_lead_view v = { .reachable = true };

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    if (mng_is_foreign(s->mng))
        buf_str(why, "the segment nodes obey managers of another store");
    else if (!v.reachable)
        buf_str(why, "Redis cannot be reached");
    else if (!s->store_ok)
        buf_str(why, "the store cannot be written");
    return v.reachable && s->store_ok && !mng_is_foreign(s->mng);
}
