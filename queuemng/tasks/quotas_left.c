/* quotas_left.c: the least that is not over. */
#include "queuemng/tasks/quotas_left.h"

#include <string.h>

#include "queuemng/state/state.h"
#include "queuemng/tasks/endpoint_tell.h"
#include "queuemng/tasks/table.h"

void quotas_left_hear(struct mng *m, struct mendpoint *x, const struct endpoint_row *r)
{
    for (unsigned i = 0; i < TOLD_MAX; i++) {
        struct mtold *t = &x->told[i];

        if (r->told_ms[i] > 0 && (m->now_ms >= t->until || r->told_left[i] < t->left))
            *t = (struct mtold){ r->told_left[i], m->now_ms + (msec_t)u64_min(r->told_ms[i], 86400000) };
    }
}

void quotas_left_forget(struct mendpoint *x)
{
    memset(x->told, 0, sizeof(x->told));
    each_target(x, t)
        memset(t->told, 0, sizeof(t->told));
}

void quotas_left_spread(struct mng *m, struct mendpoint *x)
{
    each_share(x, s) {
        bool lacks = false;

        for (unsigned i = 0; i < x->def.remaining.n && i < TOLD_MAX; i++)
            lacks |= m->now_ms < x->told[i].until && s->st.told_ms[i] == 0;
        if (lacks && s->node->registered && s->heard && s->confirmed && s->serial != 0)
            endpoint_tell(m, x, s);
    }
}
