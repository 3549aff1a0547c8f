/* pools.c: see the header. */
#include "queuemng/tasks/pools.h"

#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/task/rules.h"
#include "common/task/url.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"
#include "queuemng/tasks/parts.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

/* ---- definitions ----------------------------------------------------------------- */

static int pool_make(struct mng *m, const struct pool_def *d, struct err *e)
{
    size_t parts = m->tasks.part_by_no.n;
    int rc = pins_fit(m, d->match, e);
    struct mpool *p;

    if (parts + (size_t)d->partitions > PARTS_MAX)
        return err_set(e, SQ_ECONFLICT, "pool %s: a cluster has at most %d partitions; there are "
                       "%zu", d->match, PARTS_MAX, parts);
    if (rc < 0)
        return rc;
    p = defined_new(m, DEF_POOL, d);
    if (p != NULL)
        p = pool_fill(m, p, (uint32_t)d->partitions);
    if (p == NULL || !parts_fill(m, p)) {
        if (p != NULL)
            pool_free(m, p);
        return err_set(e, SQ_ENOMEM, "pool %s: out of memory", d->match);
    }
    log_info("event=pool_created pool=%s partitions=%u", d->match, p->n);
    return 0;
}

static int pool_change(struct mng *m, struct mpool *p, const struct pool_def *d, struct err *e)
{
    int rc;

    if (d->partitions != p->n)
        return err_set(e, SQ_ECONFLICT, "pool %s: partitions are %u since it was made: queues "
                       "would lose their tasks", d->match, p->n);
    if (d->order != p->def.order)
        return err_set(e, SQ_ECONFLICT, "pool %s: order stays what it was when it was made: tasks "
                       "stand in line by it; delete it, or add another", d->match);
    if ((d->endpoint[0] == 0) != (p->def.endpoint[0] == 0))
        return err_set(e, SQ_ECONFLICT, "pool %s: whether it has an endpoint stays what it was when "
                       "it was made: its tasks are for workers, or are calls", d->match);
    if (defined_equals(DEF_POOL, p, d))
        return 0;
    rc = defined_change(DEF_POOL, p, d, e);
    if (rc < 0)
        return rc;
    pool_put_later(m, p);
    task_map_changed(m);
    for (uint32_t i = 0; i < p->n; i++)
        part_tell(m, &p->part[i]);
    log_info("event=pool_changed pool=%s version=%llu", d->match,
             (unsigned long long)p->version);
    return 0;
}

/* The first that matches has it; NULL: none does. */
static const struct mpool *taker(const struct mng *m, const char *queue)
{
    each_pool(m, p)
        if (queue_matches(p->def.match, queue, strlen(queue)))
            return p;
    return NULL;
}

int pool_takes_calls(const struct mng *m, const char *queue, const char *key, struct err *e)
{
    const struct mpool *p;

    if (!queue_name_ok(queue, strlen(queue)))
        return err_set(e, SQ_EINVAL, "%s: a queue's name (small letters, digits, . _ -, "
                       "parts with / between them)", key);
    p = taker(m, queue);
    if (p == NULL)
        return err_set(e, SQ_EINVAL, "%s: no pool takes queue %s: add the endpoint first", key, queue);
    return p->def.endpoint[0] != 0
               ? 0
               : err_set(e, SQ_EINVAL, "%s: the tasks of queue %s are not calls: pool "
                         "%s has no endpoint", key, queue, p->def.match);
}

static bool routers_push(const struct def_turn *t)
{
    return t->push_contact != NULL && t->push_contact[0] != '\0';
}

static bool leads_to(const char *url, const char *host)
{
    struct url u;

    return url_parse(&u, url) == NULL && strcasecmp(u.host, host) == 0;
}

/* Do routers of a queue with this definition call it as a push service? As router/task_requests/tasking.c: each of its
 * targets is there. */
static bool is_push(const char *match, const struct endpoint_def *x, const struct def_turn *t)
{
    size_t n = t->queue != NULL ? strlen(t->queue) : 0;
    const struct endpoint_target *v = x->targets.v;
    bool is = routers_push(t) && strncmp(match, t->queue, n) == 0 && match[n] == '/';

    if (is && x->targets.n == 0)
        return leads_to(x->url, match + n + 1);
    for (size_t i = 0; is && i < x->targets.n; i++)
        is = leads_to(v[i].url, match + n + 1);
    return is;
}

/* NULL: its tasks are for workers. */
static const struct mendpoint *endpoint_of(const struct mng *m, const struct mpool *p)
{
    return p->def.endpoint[0] != 0 ? defined_find(m, DEF_ENDPOINT, p->def.endpoint) : NULL;
}

bool pools_push_none(const struct mng *m, const struct def_turn *t)
{
    if (!routers_push(t))
        return false;
    each_pool(m, p) {
        const struct mendpoint *x = endpoint_of(m, p);

        if (x != NULL && is_push(p->def.match, &x->def, t))
            return false;
    }
    return true;
}

/* With `auth` an endpoint replaces the signature of each message: no browser would get one. */
static int push_auth(const char *match, const struct endpoint_def *x, const struct def_turn *t, struct err *e)
{
    if (x->auth.secret_file[0] == '\0' || strcasecmp(x->auth.header, "authorization") != 0 || !is_push(match, x, t))
        return 0;
    return err_set(e, SQ_EINVAL, "pool %s: endpoint %s has `auth`, which would replace the signature of Web Push "
                   "(turn_notice.push_contact of a queue)", match, x->name);
}

static int pool_push_auth(const struct mng *m, const char *match, const struct endpoint_def *x, struct err *e)
{
    int rc = 0;

    each_queue(m, q)
        if (rc == 0)
            rc = push_auth(match, x, &q->def.turn, e);
    return rc;
}

int pools_push_auth(const struct mng *m, const struct endpoint_def *changed, const struct def_turn *t, struct err *e)
{
    int rc = 0;

    each_pool(m, p) {
        const struct mendpoint *x = endpoint_of(m, p);
        bool is = x != NULL && (changed == NULL || strcmp(changed->name, p->def.endpoint) == 0);

        if (is && t != NULL)
            rc = push_auth(p->def.match, &x->def, t, e);
        if (is && t == NULL)
            rc = pool_push_auth(m, p->def.match, changed, e);
        if (rc < 0)
            break;
    }
    return rc;
}

/* The end of a task is told by a call: the queue that notify names must have an endpoint. Leaves alone what it has
 * already, as check_least(). */
static int check_notify(const struct mng *m, const struct mpool *p, const struct pool_def *d, struct err *e)
{
    bool same = p != NULL && strcmp(p->def.notify, d->notify) == 0;
    int rc = 0;

    if (!pool_notify_on_ok(d))
        return err_set(e, SQ_EINVAL, "pool %s: notify_on: [end], or [start, end]", d->match);
    if (!same && d->notify[0] != 0)
        rc = pool_takes_calls(m, d->notify, "notify", e);
    return rc < 0 ? err_wrap(e, "pool %s", d->match) : 0;
}

/* Leaves alone what it has already: other changes, as a pause, are not refused for it. */
static int check_least(const struct mpool *p, const struct pool_def *d, const struct mendpoint *x, struct err *e)
{
    bool same = p != NULL && p->def.max_cost == d->max_cost && strcmp(p->def.endpoint, d->endpoint) == 0;

    return same || d->max_cost >= x->def.cost.min ? 0
           : err_set(e, SQ_EINVAL, "pool %s: max_cost %lld is below cost.min %lld of endpoint %s: each call "
                     "would be refused", d->match, (long long)d->max_cost, (long long)x->def.cost.min, d->endpoint);
}

static void add_zones(const struct pool_def *d, struct rate_zones *z)
{
    const struct pool_key *k = d->keys.v;

    (void)pool_windows(d, z);
    for (size_t i = 0; i < d->keys.n; i++)
        (void)pool_key_limit(&k[i], z);
}

static int pool_zones_known(const struct mng *m, const struct pool_def *d, struct err *e)
{
    const struct cfg_list *rates[] = { &d->queue.rates, &d->key.rates, &d->subkey.rates };
    const struct pool_key *k = d->keys.v;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < TASK_KEY_LEVELS; i++)
        rc = meters_known(m, rates[i], e);
    for (size_t i = 0; rc == 0 && i < d->keys.n; i++)
        rc = meters_known(m, &k[i].limit.rates, e);
    return rc;
}

/* Zones are few: a task node has numbers for so many. z: those of a new definition, which comes in the place of `old`. */
static int check_zones(const struct mng *m, const void *old, struct rate_zones *z, struct err *e)
{
    each_pool(m, p)
        if (p != old)
            add_zones(&p->def, z);
    each_pin(m, x)
        if (x != old)
            (void)unit_rates_windows(&x->def.limit.rates, z);
    return !z->full ? 0 : err_set(e, SQ_ECONFLICT, "rates: zone: calendar windows of queues and keys have %u zones, as many "
                                  "as may be", RATE_ZONES_MAX);
}

int pool_define(struct mng *m, void *pool, const void *def, struct err *e)
{
    const struct pool_def *d = def;
    struct mpool *p = pool;
    struct pool_def fit = *d; /* texts and lists are d's */
    struct rate_zones zones = { .n = 0 };
    const struct mendpoint *x = defined_find(m, DEF_ENDPOINT, d->endpoint);
    int rc = check_notify(m, p, d, e);

    if (d->endpoint[0] != 0 && x == NULL)
        return err_set(e, SQ_EINVAL, "pool %s: there is no endpoint %s", d->match, d->endpoint);
    if (rc == 0 && x != NULL)
        rc = check_least(p, d, x, e);
    if (rc == 0 && x != NULL)
        rc = pool_push_auth(m, d->match, &x->def, e);
    if (rc == 0)
        rc = pool_zones_known(m, d, e);
    if (rc < 0)
        return rc;
    add_zones(d, &zones);
    rc = check_zones(m, p, &zones, e);
    if (rc < 0)
        return rc;
    if (p != NULL && fit.partitions == 0)
        fit.partitions = p->n;
    pool_def_fit(&fit);
    return p == NULL ? pool_make(m, &fit, e) : pool_change(m, p, &fit, e);
}

static void remove_part(struct mng *m, struct mpart *x)
{
    const struct mtask_node *n = x->node;
    part_no no = x->no;

    part_move_forget(m, x);
    part_unset(m, x);
    part_leave(m, no, n, 0);
}

/* Refuses while others tell by its calls: nobody would hear of it. */
static int check_told(const struct mng *m, const struct mpool *p, struct err *e)
{
    const struct mendpoint *x = endpoint_of(m, p);

    each_queue(m, q)
        if ((q->def.turn.queue != NULL && q->def.turn.queue[0] != '\0' && taker(m, q->def.turn.queue) == p) ||
            (x != NULL && is_push(p->def.match, &x->def, &q->def.turn)))
            return err_set(e, SQ_ECONFLICT, "pool %s: queue %s tells people of their turn by its calls "
                           "(turn_notice). With final=true it is removed all the same", p->def.match, q->def.name);
    each_pool(m, other)
        if (other != p && other->def.notify[0] != '\0' && taker(m, other->def.notify) == p)
            return err_set(e, SQ_ECONFLICT, "pool %s: pool %s tells the ends of its tasks by its calls "
                           "(notify). With final=true it is removed all the same", p->def.match, other->def.match);
    return 0;
}

int pool_may_remove(const struct mng *m, const void *pool, bool final, struct err *e)
{
    const struct mpool *p = pool;
    struct part_status_row sum;
    bool known = pool_sum(p, &sum);
    int rc = final ? 0 : check_told(m, p, e);

    if (final || rc < 0)
        return rc;
    if (known && sum.scheduled + sum.waiting + sum.running + sum.schedules == 0)
        return 0;
    return err_set(e, SQ_ECONFLICT, "pool %s: its tasks and schedules would go with it: %llu wait, "
                   "%llu are scheduled, %llu run; %llu schedules%s. With final=true it is removed all "
                   "the same", p->def.match, (unsigned long long)sum.waiting,
                   (unsigned long long)sum.scheduled, (unsigned long long)sum.running,
                   (unsigned long long)sum.schedules,
                   known ? "" : ", and some partitions are away");
}

void pool_remove(struct mng *m, void *pool)
{
    struct mpool *p = pool;

    log_warn("event=pool_removed pool=%s partitions=%u", p->def.match, p->n);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->part[i].node != NULL)
            remove_part(m, &p->part[i]);
    defined_del(m, DEF_POOL, p);
    pool_free(m, p);
    pins_tidy(m);
    task_map_changed(m);
}

#define HOLDS_MS 16000 /* an owner's rate holds for 15 s there; a second for the way */

/* ---- rates by metrics ------------------------------------------------------------- */

static double rate_now(struct mng *m, struct mpool *p)
{
    const struct def_limit *l = p->def.limits.v;
    const struct metric *metrics[METRIC_LIMITS_MAX] = { 0 };
    struct queue_def d = { .state = DEF_OPEN, .mode = MODE_RATE, .limits = p->def.limits,
                           .fallback_per_s = p->def.fallback_per_s,
                           .hysteresis = p->def.hysteresis };
    const struct release_in in = { .now_ms = m->now_ms, .tick_ms = m->opts.tick_ms, .def = &d,
                                   .metrics = metrics };

    for (size_t i = 0; i < d.limits.n && i < ARRAY_LEN(metrics); i++)
        metrics[i] = metric_find(m->metric, m->n_metrics, l[i].metric);
    return release_rate(&p->release, &in);
}

static bool is_heard(const struct mpart *x)
{
    return x->confirmed && x->node != NULL && x->node->registered;
}

static uint64_t needs(const struct mpart *x)
{
    return x->st.waiting + 1;
}

/* Returns what an owner that is not heard may use. */
static uint64_t held(const struct mng *m, const struct mpool *p, const struct mpart *x)
{
    uint64_t fallback = pool_fallback(&p->def);

    if (x->node == NULL || !x->opened)
        return 0;
    return x->rate_ms != 0 && m->now_ms - x->rate_ms < HOLDS_MS ? u64_max(x->rate, fallback) : fallback;
}

static void tell(struct mng *m, struct mpart *x, uint64_t rate)
{
    struct msg_part_rate *g;

    if (x->rate_ms != 0 && x->rate == rate && m->now_ms - x->rate_ms < 1000)
        return;
    g = &mng_to(m, x->node->peer, MSG_PART_RATE)->part_rate;
    g->epoch = m->epoch;
    g->part = x->no;
    g->part_epoch = x->epoch;
    g->rate = x->rate = rate;
    x->rate_ms = m->now_ms;
}

static void share_out(struct mng *m, struct mpool *p, uint64_t rate)
{
    uint64_t all = 0;

    each_mpart(p, x) {
        if (is_heard(x))
            all += needs(x);
        else
            rate -= u64_min(rate, held(m, p, x));
    }
    each_mpart(p, x)
        if (is_heard(x))
            tell(m, x, (uint64_t)((double)rate * (double)needs(x) / (double)all));
}

void pool_rates_tick(struct mng *m)
{
    each_pool(m, p)
        if (p->def.limits.n != 0)
            share_out(m, p, (uint64_t)(rate_now(m, p) * 1000));
}

static bool has(const struct mpool *p, const char *queue)
{
    return queue_matches(p->def.match, queue, strlen(queue));
}

/* All that may have tasks of the queue. */
static void tell_queue(struct mng *m, const char *queue)
{
    each_pool(m, p)
        if (has(p, queue))
            part_tell(m, &p->part[part_share(queue, strlen(queue), p->n)]);
}

int pin_load(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mpin *x;
    void *made;
    int rc = defined_load(m, DEF_PIN, key, j, &made, e);

    if (rc < 0)
        return rc;
    x = made;
    rc = key_pin_check(&x->def, e);
    if (rc < 0)
        defined_free(m, DEF_PIN, x);
    return rc == 0 ? 0 : err_wrap(e, "stored record %s", key);
}

/* ---- definitions ------------------------------------------------------------------- */

static uint32_t count(const struct mng *m, const char *match)
{
    uint32_t n = 0;

    each_pin(m, x)
        n += queue_matches(match, x->def.queue, strlen(x->def.queue));
    return n;
}

int pins_fit(const struct mng *m, const char *match, struct err *e)
{
    if (count(m, match) <= PINS_MAX)
        return 0;
    return err_set(e, SQ_ECONFLICT, "pool %s: its queues have more than %u pinned keys", match, PINS_MAX);
}

/* A pool has the queue, and each that has it has room for one more. */
static int may_add(const struct mng *m, const struct key_pin *d, struct err *e)
{
    bool found = false;

    each_pool(m, p) {
        if (!has(p, d->queue))
            continue;
        found = true;
        if (count(m, p->def.match) >= PINS_MAX)
            return err_set(e, SQ_ECONFLICT, "key %s: the queues of pool %s have %u pinned keys, as "
                           "many as may be: a pattern in the pool's `keys` is for many", d->key,
                           p->def.match, PINS_MAX);
    }
    return found ? 0 : err_set(e, SQ_EUNKNOWN, "no pool has a queue %s", d->queue);
}

int pin_define(struct mng *m, void *pin, const void *def, struct err *e)
{
    const struct key_pin *d = def;
    struct mpin *x = pin;
    struct rate_zones zones = { .n = 0 };
    int rc = x == NULL ? may_add(m, d, e) : 0;

    if (rc == 0)
        rc = meters_known(m, &d->limit.rates, e);
    (void)unit_rates_windows(&d->limit.rates, &zones);
    if (rc == 0)
        rc = check_zones(m, x, &zones, e);
    if (rc < 0 || (x != NULL && defined_equals(DEF_PIN, x, d)))
        return rc;
    if (x != NULL)
        rc = defined_change(DEF_PIN, x, d, e);
    else if ((x = defined_new(m, DEF_PIN, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "key %s: out of memory", d->key);
    if (rc < 0)
        return rc;
    defined_put(m, DEF_PIN, x, defined_json(DEF_PIN, x));
    tell_queue(m, d->queue);
    log_info("event=key_pinned queue=%s key=%s version=%llu", d->queue, log_q(d->key, strlen(d->key)),
             (unsigned long long)x->version);
    return 0;
}

static void drop(struct mng *m, struct mpin *x)
{
    log_info("event=key_unpinned queue=%s key=%s", x->def.queue, log_q(x->def.key, strlen(x->def.key)));
    defined_del(m, DEF_PIN, x);
    defined_free(m, DEF_PIN, x);
}

void pin_remove(struct mng *m, void *pin)
{
    struct mpin *x = pin;
    char queue[TASK_NAME_MAX + 1];

    strcpy(queue, x->def.queue);
    drop(m, x);
    tell_queue(m, queue);
}

void pins_tidy(struct mng *m)
{
    each_pin(m, x) {
        bool found = false;

        each_pool(m, p)
            found = found || has(p, x->def.queue);
        if (!found)
            drop(m, x);
    }
}
