/* levels.c: levels in whole units: less than one is let go by a restart. */
#include "task/calls/levels.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

struct read_level {
    struct list_node in;
    struct trec r;
    char name[TASK_NAME_MAX + 1]; /* text of r.name */
};

static uint64_t folded(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unfolded(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* epoch: its part; 0: there is none any more, or only rates of its budget (ENDPOINT_ANY), of which windows alone
 * outlive a restart. */
static struct trec record_of(const struct endpoint *ep, const struct trec *clock, msec_t now)
{
    const struct quota *q = &ep->quota;
    struct trec r = *clock;

    r.kind = TREC_QUOTA;
    r.name = (struct trec_text){ ep->name, (uint32_t)strlen(ep->name) };
    if (ep->def.serial != 0 && quota_is_set(q))
        r.epoch = ep->def.unit_part <= UNIT_PARTS ? ep->def.unit_part : q->purse[0].window.no != 0;
    r.hi = folded(quota_level(q, 0, now));
    r.digest = folded(quota_level(q, 1, now));
    r.most = folded(quota_level(q, 2, now));
    r.no = q->purse[0].window.no;
    r.entry = q->purse[1].window.no;
    r.lease = q->purse[2].window.no;
    return r;
}

void levels_changed(struct list *endpoints, const struct trec *clock, msec_t now, level_put put, void *ctx)
{
    each_endpoint (endpoints, ep) {
        struct trec r;

        if (!ep->quota.changed)
            continue;
        r = record_of(ep, clock, now);
        put(ctx, &r);
        ep->quota.changed = false;
    }
}

void levels_all(const struct list *endpoints, const struct list *read, const struct trec *clock, msec_t now,
                level_put put, void *ctx)
{
    each_endpoint (endpoints, ep) {
        struct trec r = record_of(ep, clock, now);

        if (r.epoch != 0)
            put(ctx, &r);
    }
    list_each_of (read, struct read_level, in, l)
        put(ctx, &l->r);
}

static struct read_level *find(const struct list *read, const char *name, size_t n)
{
    list_each_of (read, struct read_level, in, l)
        if (l->r.name.n == n && memcmp(l->name, name, n) == 0)
            return l;
    return NULL;
}

const struct trec *levels_find(const struct list *read, const char *name)
{
    struct read_level *l = find(read, name, strlen(name));

    return l != NULL ? &l->r : NULL;
}

void levels_forget(struct list *read, const struct trec *r)
{
    struct read_level *l = find(read, r->name.p, r->name.n);

    if (l == NULL)
        return;
    list_remove(read, &l->in);
    free(l);
}

int levels_read(struct list *read, const struct trec *r)
{
    struct read_level *l;

    if (r->name.n == 0 || r->name.n > TASK_NAME_MAX || r->epoch > UNIT_PARTS || r->until > INT64_MAX / 2 ||
        r->entered > INT64_MAX / 2 || r->wall > INT64_MAX / 2)
        return SQ_EPROTO;
    levels_forget(read, r);
    if (r->epoch == 0)
        return 0;
    l = calloc(1, sizeof(*l));
    if (l == NULL)
        return SQ_ENOMEM;
    memcpy(l->name, r->name.p, r->name.n);
    l->r = *r;
    l->r.name.p = l->name;
    list_push_back(read, &l->in);
    return 0;
}

void levels_resume(struct endpoint *ep, const struct trec *r, const struct msg_endpoint *m, msec_t away, msec_t now)
{
    const int64_t units[UNIT_RATES_MAX] = { r->no != 0 ? 0 : unfolded(r->hi), /* else what a window had taken */
                                            r->entry != 0 ? 0 : unfolded(r->digest),
                                            r->lease != 0 ? 0 : unfolded(r->most) };
    const struct quota_parts parts = { m->unit_part, m->shared_part, m->n_shared };
    struct quota_kept was = { m->unit_rates, m->n_unit_rates / 3, parts, units, NULL };

    if (m->unit_kept < r->epoch)
        return;
    was.parts.own = r->epoch;
    quota_resume(&ep->quota, &was, away > 0 ? away : 0, now);
    quota_define(&ep->quota, m->unit_rates, m->n_unit_rates / 3, parts, now);
}

void levels_follow(struct endpoint *ep, bool is_new, const struct trec *r, const struct msg_endpoint *m, msec_t ahead,
                   msec_t now)
{
    struct quota_kept kept = { 0 };
    int64_t units[UNIT_RATES_MAX];
    uint64_t windows[UNIT_RATES_MAX];

    if (r != NULL) {
        memcpy(units, (int64_t[]){ unfolded(r->hi), unfolded(r->digest), unfolded(r->most) }, sizeof(units));
        memcpy(windows, (uint64_t[]){ r->no, r->entry, r->lease }, sizeof(windows));
        kept.units = units;
        kept.windows = windows;
    }
    quota_follow(&ep->quota, &(struct quota_windows){ m->unit_window, m->n_unit_window, ahead, is_new,
                                                      r != NULL ? &kept : NULL }, now);
}

void levels_forget_all(struct list *read)
{
    list_each_of (read, struct read_level, in, l) {
        list_remove(read, &l->in);
        free(l);
    }
}
