/* leaves.c: see leaves.h. */
#include "router/replica/leaves.h"

#include <string.h>

void leaves_init(struct leaves *l, uint32_t seed)
{
    memset(l, 0, sizeof(*l));
    revoked_init(&l->told, seed);
    l->told.max = LEAVES_TOLD_MAX;
}

void leaves_fini(struct leaves *l)
{
    revoked_fini(&l->told);
}

void leaves_note(struct leaves *l, node_no node, const struct token *t, msec_t now_ms)
{
    if (!leaves_has(l, t)) /* a repeated leave */
        l->ring[l->n++ % LEAVES_MAX] = (struct leave) { t->seg, t->number, node, 0, now_ms };
}

static void tell(struct leaves *l, seg_id seg, uint32_t number, msec_t now_ms)
{
    int64_t now_s = now_ms / 1000;

    l->until_s = now_s + LEAVES_KEEP_S;
    revoked_add(&l->told,
                &(struct pass_row) { .seg = seg, .number = number, .until_s = l->until_s }, now_s);
}

void leaves_link_lost(struct leaves *l, node_no node)
{
    for (uint32_t i = 0; i < l->told.cap; i++)
        if (l->told.v[i].mark == node)
            l->told.v[i].mark = 0;
}

static bool is_recent(const struct leave *x, msec_t now_ms)
{
    return x->seg != 0 && x->at_ms + LEAVES_RECENT_MS > now_ms;
}

bool leaves_away(struct leaves *l, node_no node, msec_t now_ms)
{
    bool news = false;

    for (uint32_t i = 0; i < LEAVES_MAX; i++) {
        struct leave *x = &l->ring[i];

        if (x->node != node || x->told_ms != 0 || !is_recent(x, now_ms))
            continue;
        x->told_ms = l->news_ms = now_ms;
        news = true;
        tell(l, x->seg, x->number, now_ms);
    }
    return news;
}

uint32_t leaves_rows(const struct leaves *l, enum leaves_which which, msec_t now_ms,
                     struct left_row *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < LEAVES_MAX; i++) {
        const struct leave *x = &l->ring[i];

        if (x->told_ms == 0 || !is_recent(x, now_ms))
            continue;
        if (which == LEAVES_ALL || x->told_ms == l->news_ms)
            v[n++] = (struct left_row) { x->seg, x->number };
    }
    return n;
}

void leaves_heard(struct leaves *l, const struct msg_left *m, msec_t now_ms)
{
    for (uint32_t i = 0; i < m->n; i++)
        tell(l, m->v[i].seg, m->v[i].number, now_ms);
}

struct revoked_row *leaves_next(struct leaves *l, uint32_t *i, msec_t now_ms)
{
    if (l->told.n > 0 && l->until_s <= now_ms / 1000) {
        leaves_fini(l);
        l->told.max = LEAVES_TOLD_MAX;
    }
    while (*i < l->told.cap)
        if (l->told.v[(*i)++].seg != 0)
            return &l->told.v[*i - 1];
    return NULL;
}

void leaves_again(struct leaves *l, const struct token *t)
{
    revoked_set_mark(&l->told, t->seg, t->number, 0);
}
