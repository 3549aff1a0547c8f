/* segment.c: questions about one segment. */
#include "queuemng/state/segment.h"

#include "queuemng/state/state.h"

bool seg_reachable(const struct mseg *s)
{
    return !s->lost && s->node->registered;
}

/* In a move of an earlier manager, or one that has just ended: perhaps a target that was
 * committed and has not heard of it, so that its report lacks what it will hold. */
bool seg_is_orphan(const struct mseg *s)
{
    return s->st.move != 0 && s->move == NULL;
}

bool seg_is_unsure(const struct mseg *s)
{
    return seg_is_orphan(s) || s->lacks;
}

bool seg_is_away(const struct mseg *s)
{
    return s->lost || s->rebuild;
}

bool seg_dry(const struct mseg *s)
{
    return s->known && !seg_is_away(s) && !seg_is_unsure(s) &&
           s->st.state == SEG_SEALED && s->st.waiting == 0 && s->st.returning == 0;
}

uint64_t seg_bound(const struct mseg *s)
{
    if (seg_is_away(s))
        return s->st.waiting; /* nobody is told a position by it */
    if (s->confirmed && (!s->known || seg_is_unsure(s)))
        return s->capacity; /* it cannot hold more */
    if (s->st.state == SEG_SEALED)
        return s->st.waiting;
    return (uint64_t)s->st.waiting + s->capacity - s->st.joined;
}

/* Keeps node->used in step with what the segment is. */
void seg_used(struct mseg *s)
{
    bool used =
        s->state == SEG_OPEN || s->rebuild || s->st.waiting + s->st.returning != 0;

    if (s->lost)
        used = false;
    if (used != s->used)
        s->node->used += used ? 1 : -1;
    s->used = used;
}

/* Ids are reserved in the store some at a time: one given out is never given again. */
seg_id seg_id_take(struct mng *m)
{
    if (m->next_seg >= m->seg_reserved) {
        m->seg_reserved = m->next_seg + MNG_SEG_IDS;
        m->put_meta = true;
    }
    return m->next_seg++;
}
