/* store.c: the store that several managers share: one lease, one epoch, pairs with a
 * revision: what the scripts of queuemng/store/redis_store_int.h do, without Redis. It may be away,
 * slow, forget (come back empty, or from an old snapshot), and fail over to a replica that
 * has all that was waited for, but not the latest of the lease. */
#include "tests/lib/sim/store.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/lead.h"
#include "tests/lib/sim/lead_store.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TTL_US (SIM_LEASE_MS * 1000)

void store_pairs(const struct kv *p, kv_fn fn, void *ctx)
{
    if (kv_each(p, fn, ctx) < 0)
        abort(); /* no memory */
}

/* ---- a copy of all of it ------------------------------------------------------------- */

static int copy_pair(void *to, const char *key, const char *val)
{
    return kv_set(to, key, val);
}

static void data_copy(struct store_data *to, const struct store_data *from)
{
    struct kv kv;

    kv_init(&kv);
    store_pairs(&from->kv, copy_pair, &kv);
    kv_fini(&to->kv);
    *to = *from;
    to->kv = kv;
}

void store_init(struct sim *s)
{
    kv_init(&s->store.now.kv);
    kv_init(&s->store.snap.kv);
    kv_init(&s->store.replica.kv);
}

void store_fini(struct sim *s)
{
    kv_fini(&s->store.now.kv);
    kv_fini(&s->store.snap.kv);
    kv_fini(&s->store.replica.kv);
}

/* ---- the scripts --------------------------------------------------------------------- */

static uint64_t kept_epoch(const struct sim *s)
{
    json_t *meta = NULL;
    uint64_t e = 0;

    for (size_t i = 0; i < s->store.now.kv.n; i++)
        if (s->store.now.kv.v[i].val != NULL &&
            strcmp(s->store.now.kv.v[i].key, "meta") == 0)
            meta = json_loads(s->store.now.kv.v[i].val, 0, NULL);
    e = (uint64_t)json_integer_value(json_object_get(meta, "epoch"));
    json_decref(meta);
    return e;
}

static bool is_ours(const struct sim *s, const struct store_msg *q)
{
    const struct store_data *d = &s->store.now;

    return d->lease_until > s->now && d->owner == q->proc && d->owner_inc == q->incarnation;
}

static void held(const struct sim *s, struct store_msg *a)
{
    const struct store_data *d = &s->store.now;

    a->result = 0;
    a->left_ms = d->lease_until > s->now ? (d->lease_until - s->now) / 1000 : 0;
}

static void do_take(struct sim *s, const struct store_msg *q, struct store_msg *a)
{
    struct store_data *d = &s->store.now;

    if (d->lease_until > s->now && !is_ours(s, q)) {
        held(s, a);
        return;
    }
    d->epoch = u64_max(u64_max(d->epoch, q->epoch), kept_epoch(s)) + 1;
    d->owner = q->proc;
    d->owner_inc = q->incarnation;
    d->lease_until = s->now + TTL_US;
    sim_note(s, "the lease is process %lu's, epoch %lu", q->proc, d->epoch, 0, 0, 0);
    a->result = 1;
}

static void do_renew(struct sim *s, const struct store_msg *q, struct store_msg *a)
{
    struct store_data *d = &s->store.now;

    if (!is_ours(s, q) || d->epoch != q->epoch) {
        held(s, a);
        return;
    }
    d->lease_until = s->now + TTL_US;
    a->result = 1;
}

static void put_all(struct sim *s, const struct store_msg *q)
{
    struct kv *kv = &s->store.now.kv;

    for (const char *at = q->text; at < q->text + q->len;) {
        const char *key = at + 1, *val = key + strlen(key) + 1;

        if (*at == '+') {
            if (kv_set(kv, key, val) < 0)
                abort();
            check_stored(s, key, val);
        } else {
            kv_del(kv, key);
        }
        at = val + strlen(val) + 1;
    }
}

static int do_write(struct sim *s, const struct store_msg *q)
{
    struct store_data *d = &s->store.now;

    if (d->epoch != q->epoch)
        return STORE_STALE;
    if (d->last_epoch == q->epoch && d->last_serial == q->serial &&
        d->last_proc == q->proc && d->last_inc == q->incarnation)
        return STORE_DONE;
    if (q->whole) {
        kv_fini(&d->kv);
        kv_init(&d->kv);
        d->rev = u64_max(d->rev, q->rev);
    } else if (d->rev != q->rev) {
        return STORE_GAP;
    }
    put_all(s, q);
    d->rev++;
    d->last_epoch = q->epoch;
    d->last_serial = q->serial;
    d->last_proc = q->proc;
    d->last_inc = q->incarnation;
    data_copy(&s->store.replica, d); /* waited for */
    if (rng_chance(&s->rng, 0.02))
        data_copy(&s->store.snap, d);
    return STORE_DONE;
}

struct dump {
    char *text;
    size_t len;
};

static int dump_pair(void *ctx, const char *key, const char *val)
{
    struct dump *d = ctx;
    size_t n = strlen(key) + 1, m = strlen(val) + 1;

    if (d->text != NULL) {
        d->text[d->len] = '+';
        memcpy(d->text + d->len + 1, key, n);
        memcpy(d->text + d->len + 1 + n, val, m);
    }
    d->len += 1 + n + m;
    return 0;
}

static struct store_msg *answer_new(const struct sim *s, const struct store_msg *q)
{
    struct dump d = { 0 };
    struct store_msg *a;

    if (q->ask == ASK_LOAD)
        store_pairs(&s->store.now.kv, dump_pair, &d);
    a = sim_alloc(sizeof(*a) + d.len);
    *a = *q;
    a->len = (uint32_t)d.len;
    d = (struct dump){ .text = a->text };
    if (q->ask == ASK_LOAD)
        store_pairs(&s->store.now.kv, dump_pair, &d);
    return a;
}

void store_asked(struct sim *s, const struct store_msg *q)
{
    struct store_msg *a;

    if (s->store.away_until > s->now)
        return; /* it never got there */
    a = answer_new(s, q);
    if (q->ask == ASK_TAKE)
        do_take(s, q, a);
    else if (q->ask == ASK_RENEW)
        do_renew(s, q, a);
    else if (q->ask == ASK_WRITE)
        a->result = do_write(s, q);
    else if (q->ask == ASK_FREE && is_ours(s, q))
        s->store.now.lease_until = 0;
    a->rev = s->store.now.rev;
    a->epoch = s->store.now.epoch;
    lead_answer(s, a);
}

/* ---- what goes wrong ----------------------------------------------------------------- */

static void drop_links(struct sim *s)
{
    for (unsigned i = 0; i < s->o.managers; i++)
        if (s->proc[i].alive)
            lead_link_breaks(s, &s->proc[i]);
}

void fault_store_away(struct sim *s)
{
    s->store.away_until = s->now + (usec_t)sim_rand(s, 1e5, 6e6);
    drop_links(s);
}

void fault_store_slow(struct sim *s)
{
    s->store.slow_until = s->now + (usec_t)sim_rand(s, 1e6, 8e6);
}

/* Restarted: empty, or with what was last saved. Leases that are over then are over. */
void fault_store_forget(struct sim *s)
{
    struct store_data empty = { .epoch = 0 };

    sim_note(s, "the store forgets", 0, 0, 0, 0, 0);
    data_copy(&s->store.now, rng_chance(&s->rng, 0.5) ? &empty : &s->store.snap);
    s->store.started = s->now;
    s->store.away_until = s->now + (usec_t)sim_rand(s, 1e5, 1e6);
    drop_links(s);
}

/* To a replica that has what was waited for: all writes, but not every renewal. */
void fault_store_failover(struct sim *s)
{
    sim_note(s, "the store fails over", 0, 0, 0, 0, 0);
    data_copy(&s->store.now, &s->store.replica);
    s->store.failed_over = s->now;
    s->store.away_until = s->now + (usec_t)sim_rand(s, 1e4, 2e6);
    drop_links(s);
}
