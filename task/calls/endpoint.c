/* endpoint.c: endpoints are few: a list. */
#include "task/calls/endpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "task/calls/endpoint_lets.h"

#define RAMP_FIRST  0.1
#define RAMP_FACTOR 1.5 /* a second */

/* Texts of a definition that a copy of it owns. */
static const size_t def_texts[] = {
    offsetof(struct msg_endpoint, url),       offsetof(struct msg_endpoint, secret_file),
    offsetof(struct msg_endpoint, ca_file),   offsetof(struct msg_endpoint, cert_file),
    offsetof(struct msg_endpoint, key_file),  offsetof(struct msg_endpoint, proxy),
    offsetof(struct msg_endpoint, budget),    offsetof(struct msg_endpoint, auth_field),
    offsetof(struct msg_endpoint, auth_file),  offsetof(struct msg_endpoint, reading_path),
    offsetof(struct msg_endpoint, used),      offsetof(struct msg_endpoint, used_header),
    offsetof(struct msg_endpoint, address),   offsetof(struct msg_endpoint, told),
};

static char **def_text(const struct msg_endpoint *d, size_t i)
{
    return (char **)(uintptr_t)((const char *)d + def_texts[i]);
}

static void def_free(struct msg_endpoint *d)
{
    for (uint32_t i = 0; i < d->n_readings; i++) {
        free((char *)d->readings[i].metric);
        free((char *)d->readings[i].labels);
    }
    free(d->readings);
    for (uint32_t i = 0; i < d->n_allow; i++)
        free((char *)d->allow[i]);
    free(d->allow);
    for (size_t i = 0; i < ARRAY_LEN(def_texts); i++)
        free(*def_text(d, i));
    *d = (struct msg_endpoint){ 0 };
}

static bool readings_copy(struct msg_endpoint *d, const struct msg_endpoint *m)
{
    bool ok = true;

    d->readings = calloc(m->n_readings + 1, sizeof(*d->readings));
    d->n_readings = d->readings != NULL ? m->n_readings : 0;
    for (uint32_t i = 0; i < d->n_readings; i++) {
        d->readings[i] = m->readings[i];
        d->readings[i].metric = strdup(m->readings[i].metric);
        d->readings[i].labels = strdup(m->readings[i].labels);
        ok &= d->readings[i].metric != NULL && d->readings[i].labels != NULL;
    }
    return ok && d->readings != NULL;
}

/* A copy that owns its texts. False: no memory; def_free(). */
static bool def_copy(struct msg_endpoint *d, const struct msg_endpoint *m)
{
    bool ok = true;

    *d = *m;
    d->name = d->of = NULL;
    d->allow = NULL;
    d->n_allow = 0;
    d->unit_rates = NULL; /* struct quota has them */
    d->n_unit_rates = 0;
    d->told_word = NULL;
    d->n_told_word = 0;
    for (size_t i = 0; i < ARRAY_LEN(def_texts); i++)
        ok &= (*def_text(d, i) = strdup(*def_text(m, i) != NULL ? *def_text(m, i) : "")) != NULL;
    ok &= readings_copy(d, m);
    d->allow = calloc(m->n_allow + 1, sizeof(*d->allow));
    d->n_allow = d->allow != NULL ? m->n_allow : 0;
    ok &= d->allow != NULL;
    for (uint32_t i = 0; i < d->n_allow; i++)
        ok &= (d->allow[i] = strdup(m->allow[i])) != NULL;
    return ok;
}

bool endpoint_is_over(const struct endpoint *ep)
{
    return ep->def.serial == 0 && ep->in_flight == 0 && ep->target == NULL && ep->targets.n == 0;
}

void endpoints_forget(struct list *all, struct endpoint *ep)
{
    assert(ep->in_flight == 0 && ep->target == NULL);
    assert(ep->targets.n == 0);
    list_remove(all, &ep->in);
    if (ep->of != NULL)
        list_remove(&ep->of->targets, &ep->in_of);
    def_free(&ep->def);
    free(ep);
}

struct endpoint *endpoints_find(const struct list *all, const char *name)
{
    each_endpoint (all, ep) {
        if (strcmp(ep->name, name) == 0)
            return ep;
    }
    return NULL;
}

struct rate endpoint_rate(const struct endpoint *ep)
{
    double per_s = ep->def.rate == ENDPOINT_ANY ? 0 : (double)ep->def.rate / 1000;

    return rate_make(per_s, (uint32_t)u64_min(u64_max(ep->def.burst, 1), RATE_BURST_MAX));
}

/* A part of 1. */
double endpoint_ramp(const struct endpoint *ep, msec_t now)
{
    double share = RAMP_FIRST;

    for (msec_t ms = ep->ramp == MSEC_NEVER ? 0 : now - ep->ramp; ms > 0 && share < 1; ms -= 1000)
        share *= 1 + (RAMP_FACTOR - 1) * (double)ms_min(ms, 1000) / 1000;
    return ep->ramp == MSEC_NEVER || share > 1 ? 1 : share;
}

/* Stretches the interval of its rate on the ramp. */
struct rate endpoint_rate_now(const struct endpoint *ep, msec_t now)
{
    struct rate r = endpoint_rate(ep);

    r.interval_ns = (int64_t)((double)r.interval_ns / endpoint_ramp(ep, now));
    if (r.burst_ns < r.interval_ns)
        r.burst_ns = r.interval_ns;
    return r;
}

static struct endpoint *endpoint_new(struct list *all, const char *name, msec_t now)
{
    struct endpoint *ep = calloc(1, sizeof(*ep));

    if (ep == NULL)
        return NULL;
    copy_text(ep->name, sizeof(ep->name), name);
    budget_init(&ep->budget, now);
    list_init(&ep->targets);
    list_push_back(all, &ep->in);
    return ep;
}

static bool is_good(const struct msg_endpoint *m)
{
    return m->serial != 0 && m->deadline_ms > 0 && m->deadline_ms <= 86400000 &&
           (m->rate == ENDPOINT_ANY || m->rate <= RATE_PER_1000_S) &&
           m->n_allow <= ENDPOINT_ALLOW_MAX &&
           (m->target != 0) == (m->of != NULL && m->of[0] != 0) && m->target <= TARGET_NO_MAX &&
           (m->affinity == AFFINITY_NONE || m->affinity_bound >= AFFINITY_PERCENT);
}

/* A target: below its endpoint, also if that is not told yet. NULL: no memory. */
static struct endpoint *target_new(struct list *all, const struct msg_endpoint *m, msec_t now)
{
    struct endpoint *of = endpoints_find(all, m->of), *ep;

    if (of == NULL && (of = endpoint_new(all, m->of, now)) == NULL)
        return NULL;
    ep = endpoint_new(all, m->name, now);
    if (ep == NULL)
        return NULL;
    ep->of = of;
    list_push_back(&of->targets, &ep->in_of);
    return ep;
}

static struct endpoint *find_or_new(struct list *all, const struct msg_endpoint *m, msec_t now)
{
    struct endpoint *ep = endpoints_find(all, m->name);

    return ep != NULL ? ep : m->target != 0 ? target_new(all, m, now) : endpoint_new(all, m->name, now);
}

/* Closes its breaker, and forgets failures, also what Retry-After said. */
static void reset(struct endpoint *ep, msec_t now)
{
    ep->breaker = (struct breaker){ 0 };
    ep->held = 0;
    ep->told = (struct told_quotas){ .begun = ep->told.begun };
    ep->ramp = now;
}

/* A new node does not probe: the order may be an old one. */
static void obey(struct endpoint *ep, const struct msg_endpoint *d, bool is_new, msec_t now)
{
    if (!is_new && d->resets != 0 && d->resets != ep->resets)
        reset(ep, now);
    ep->resets = d->resets;
    if (d->probe != 0 && d->probe != ep->hand.no)
        ep->hand = (struct hand_probe){ .no = d->probe,
                                        .state = is_new ? PROBE_NONE : PROBE_ASKED };
}

static uint64_t url_hash(const struct msg_endpoint *d)
{
    uint64_t h = affinity_hash(d->url, strlen(d->url));

    return d->address[0] == 0 ? h : h * 3 + affinity_hash(d->address, strlen(d->address));
}

/* Forgets what another target, which had its number, was like. */
static void set_place(struct endpoint *ep, const struct msg_endpoint *d, msec_t now)
{
    uint64_t h = url_hash(d);

    if (ep->of != NULL && ep->url_hash != 0 && ep->url_hash != h) {
        reset(ep, now);
        ep->aside = 0;
        ep->adaptive = (struct adaptive){ 0 };
        ep->pressure = (struct pressure){ 0 };
        ep->n = (struct endpoint_counts){ 0 };
    }
    ep->url_hash = h;
}

int endpoints_define(struct list *all, const struct msg_endpoint *m, msec_t now)
{
    struct endpoint *ep = endpoints_find(all, m->name);
    struct msg_endpoint d;
    struct rate r, was;

    if (!is_good(m))
        return SQ_EINVAL;
    if (ep != NULL && ep->def.serial == m->serial) {
        ep->def.max_answer = m->max_answer; /* a newer manager may say it, of the same definition */
        told_pass_on(&ep->told, m->told_word, m->n_told_word, now);
        return 0;
    }
    if (!def_copy(&d, m) || (ep = find_or_new(all, m, now)) == NULL) {
        def_free(&d);
        return SQ_ENOMEM;
    }
    if (ep->def.serial == 0 || (ep->def.paused && !d.paused) || (ep->def.tripped && !d.tripped))
        ep->ramp = now;
    obey(ep, &d, ep->def.serial == 0, now);
    was = ep->def.serial != 0 ? endpoint_rate_now(ep, now) : (struct rate){ 0 };
    if (!pressure_same(&ep->def, &d))
        ep->pressure = (struct pressure){ 0 };
    if (ep->def.told == NULL || strcmp(ep->def.told, d.told) != 0) {
        ep->told = (struct told_quotas){ .begun = ep->told.begun };
        ep->told.begun.rows++;
    }
    told_pass_on(&ep->told, m->told_word, m->n_told_word, now);
    def_free(&ep->def);
    ep->def = d;
    set_place(ep, &d, now);
    r = endpoint_rate_now(ep, now);
    ep->tat = rate_keeps(&r, &was, ep->tat, now);
    quota_define(&ep->quota, m->unit_rates, m->n_unit_rates / 3,
                 (struct quota_parts){ m->unit_part, m->shared_part, m->n_shared }, now);
    return 0;
}

void endpoints_drop(struct list *all, const char *name)
{
    struct endpoint *ep = endpoints_find(all, name);

    if (ep == NULL)
        return;
    ep->quota.changed = quota_is_set(&ep->quota);
    def_free(&ep->def);
}

/* ---- levels ------------------------------------------------------------------------------- */

/* Levels in whole units: less than one is let go by a restart. */

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
