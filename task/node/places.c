/* places.c: see places.h. */
#include "task/node/places.h"

#include "task/node/answer.h"
#include "task/node/parts.h"

struct told {
    const struct tpeer *peer;
    struct place_row row;
};

static int32_t seconds(const struct place_row *r)
{
    return (int32_t)ms_min(r->eta_ms < 0 ? -1 : (r->eta_ms + 999) / 1000, INT32_MAX);
}

/* False: it is as it was, or not to be told now. */
static bool look(struct tasktab *t, struct wait *w, struct place_row *r)
{
    struct part *p = w->spot->part;
    uint32_t place;

    if (p->life != PART_OWNED || p->hold || t->hold)
        return false;
    tasktab_clock(t, p);
    *r = (struct place_row){ .rid = w->rid };
    if (!tasktab_place(p, w->spot->key, r))
        return false;
    place = (uint32_t)u64_min(r->position, UINT32_MAX);
    if (w->told_state == r->state && w->told_place == place && w->told_eta_s == seconds(r))
        return false;
    w->told_state = r->state;
    w->told_place = place;
    w->told_eta_s = seconds(r);
    p->asked = true;
    return true;
}

static void say(const struct tpeer *to, const struct told *v, uint32_t n, struct outbox *out)
{
    struct msg_task_places *m = NULL;

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].peer != to)
            continue;
        if (m == NULL) {
            m = &outbox_add(out, to->no, MSG_TASK_PLACES)->task_places;
            m->v = arena_array(&out->mem, n - i, sizeof(*m->v));
            if (m->v == NULL)
                return;
        }
        m->v[m->n++] = v[i].row;
    }
}

void tasktab_places(struct tasktab *t, struct task_now now, struct outbox *out)
{
    uint32_t n = 0, most = (uint32_t)u64_min(t->places.n, PLACES_TURN);
    struct told *v = most > 0 ? arena_array(&out->mem, most, sizeof(*v)) : NULL;

    if (v == NULL)
        return;
    t->now = now;
    for (uint32_t i = 0; i < most; i++) {
        struct wait *w = list_entry(list_first(&t->places), struct wait, in_places);

        if (now.ms - w->told_ms < PLACES_EACH_MS)
            break;
        w->told_ms = now.ms;
        list_remove(&t->places, &w->in_places);
        list_push_back(&t->places, &w->in_places);
        v[n].peer = w->peer;
        n += look(t, w, &v[n].row);
    }
    each_tpeer (t, p)
        if (n > 0 && p->role == RPC_ROUTER)
            say(p, v, n, out);
}
