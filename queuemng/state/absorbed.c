/* absorbed.c: the segments whose tickets a node has said are in another one. */
#include "queuemng/state/absorbed.h"

#include <stdlib.h>

#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

bool seg_has_absorbed(const struct mseg *s, seg_id id)
{
    for (uint32_t i = 0; i < s->n_absorbed; i++)
        if (s->absorbed[i] == id)
            return true;
    return false;
}

void seg_check_absorbed(struct mseg *s)
{
    const struct mlane *l = s->lane;

    s->missing_source = false;
    for (uint32_t i = 0; i < l->n_alias; i++)
        s->missing_source |= l->alias[i].to == s->id && !seg_has_absorbed(s, l->alias[i].from);
}

void seg_add_absorbed(struct mng *m, struct mseg *s, seg_id id)
{
    seg_id *v;

    if (seg_has_absorbed(s, id))
        return;
    v = realloc(s->absorbed, (s->n_absorbed + 1) * sizeof(*v));
    if (v == NULL) { /* the source counts as missing, and is rebuilt one day */
        m->out->box.failed = true;
        return;
    }
    s->absorbed = v;
    v[s->n_absorbed++] = id;
    seg_check_absorbed(s);
}

void seg_set_absorbed(struct mng *m, struct mseg *s, const struct seg_status *st)
{
    s->n_absorbed = 0;
    for (uint32_t i = 0; i < st->n_absorbed; i++)
        seg_add_absorbed(m, s, st->absorbed[i]);
    seg_check_absorbed(s);
}

void seg_set_heard(struct mng *m, struct mseg *s)
{
    const struct mlane *l = s->lane;

    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == s->id)
            seg_add_absorbed(m, s, l->alias[i].from);
}
