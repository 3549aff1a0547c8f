/* table.c: see the header. */
#include "queuemng/tasks/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/rules.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "tasks"

/* ---- pools and partitions -------------------------------------------------------- */

struct mpart *part_find(const struct mng *m, part_no no)
{
    return map_get_ptr(&m->tasks.part_by_no, no);
}

struct mpool *pool_fill(struct mng *m, struct mpool *p, uint32_t n)
{
    assert(n > 0 && n <= PARTS_MAX && p->part == NULL);
    p->part = calloc(n, sizeof(*p->part));
    if (p->part == NULL) {
        defined_free(m, DEF_POOL, p);
        return NULL;
    }
    p->n = n;
    return p;
}

void part_unset(struct mng *m, struct mpart *x)
{
    if (x->no != 0)
        (void)map_del(&m->tasks.part_by_no, x->no);
    if (x->node != NULL)
        x->node->n_parts--;
    *x = (struct mpart){ 0 };
}

int part_set(struct mng *m, struct mpool *p, uint32_t share, part_no no,
             struct mtask_node *owner, uint64_t epoch, bool opened)
{
    struct mpart *x = &p->part[share];

    assert(share < p->n && no != 0 && x->no == 0);
    if (map_set_ptr(&m->tasks.part_by_no, no, x) < 0)
        return SQ_ENOMEM;
    *x = (struct mpart){ .no = no, .pool = p, .node = owner, .epoch = epoch, .opened = opened };
    if (owner != NULL)
        owner->n_parts++;
    return 0;
}

void pool_free(struct mng *m, struct mpool *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        part_unset(m, &p->part[i]);
    free(p->part);
    defined_free(m, DEF_POOL, p);
}

bool pool_sum(const struct mpool *p, struct part_status_row *sum)
{
    bool known = true;

    *sum = (struct part_status_row){ 0 };
    for (uint32_t i = 0; i < p->n; i++) {
        const struct part_status_row *st = &p->part[i].st;

        known = known && (p->part[i].confirmed || !p->part[i].opened);
        sum->scheduled += st->scheduled;
        sum->waiting += st->waiting;
        sum->running += st->running;
        sum->final += st->final;
        sum->dead += st->dead;
        sum->queues += st->queues;
        sum->bytes += st->bytes;
        sum->schedules += st->schedules;
        sum->waiting_units += st->waiting_units;
        sum->oldest_ms = u64_max(sum->oldest_ms, st->oldest_ms);
        sum->accepted += st->accepted;
        sum->started += st->started;
        sum->succeeded += st->succeeded;
        sum->retried += st->retried;
        sum->died += st->died;
        sum->expired += st->expired;
        sum->due += st->due;
        sum->late_ms += st->late_ms;
        if (sum->full == FULL_NONE)
            sum->full = st->full;
        for (size_t h = 0; h < TASK_NHOLDS; h++)
            sum->held[h] += st->held[h];
    }
    return known;
}

/* ---- endpoints, nodes' shares of them --------------------------------------------- */

struct mshare *share_find(const struct mendpoint *x, const struct mtask_node *n)
{
    each_share(x, s)
        if (s->node == n)
            return s;
    return NULL;
}

struct mshare *share_at(struct mendpoint *x, struct mtask_node *n)
{
    struct list_node *behind = &x->shares.head;
    struct mshare *s = share_find(x, n);

    if (s != NULL)
        return s;
    each_share(x, y)
        if (y->node->no < n->no)
            behind = &y->in;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->node = n;
    list_insert_after(&x->shares, behind, &s->in);
    return s;
}

void share_free(struct mendpoint *x, struct mshare *s)
{
    list_remove(&x->shares, &s->in);
    free(s);
}

void target_free(struct mendpoint *t)
{
    each_share(t, s)
        share_free(t, s);
    list_remove(&t->of->targets, &t->in);
    cfg_clear(&t->def, endpoint_def_keys);
    free(t);
}

void endpoint_free(struct mng *m, struct mendpoint *x)
{
    each_target(x, t)
        target_free(t);
    each_share(x, s)
        share_free(x, s);
    names_free(x);
    defined_free(m, DEF_ENDPOINT, x);
}

struct mgone *gone_find(const struct mng *m, part_no no, node_no node)
{
    each_gone(m, g)
        if (g->no == no && g->node == node)
            return g;
    return NULL;
}

struct mgone *gone_add(struct mng *m, part_no no, node_no node, uint64_t epoch)
{
    struct mgone *g = gone_find(m, no, node);

    assert(no != 0 && node != 0);
    m->tasks.put = true;
    if (g == NULL) {
        g = calloc(1, sizeof(*g));
        if (g == NULL)
            return NULL;
        list_push_back(&m->tasks.gone, &g->in);
    }
    *g = (struct mgone){ .no = no, .node = node, .in = g->in,
                         .epoch = epoch == 0 ? 0 : u64_max(g->epoch, epoch) };
    return g;
}

/* ---- task nodes ------------------------------------------------------------------ */

struct mtask_node *task_node_at(struct mng *m, node_no no)
{
    struct mtask_node *n;

    each_task_node(m, x)
        if (x->no == no)
            return x;
    n = calloc(1, sizeof(*n));
    if (n == NULL)
        return NULL;
    n->no = no;
    n->down_ms = m->now_ms;
    list_push_back(&m->tasks.nodes, &n->in);
    m->tasks.next_node = (node_no)u64_max(m->tasks.next_node, (uint64_t)no + 1);
    return n;
}

struct mtask_node *task_node_by_name(const struct mng *m, const char *name)
{
    each_task_node(m, n)
        if (strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

struct mtask_node *task_node_of(const struct mng *m, peer_no p)
{
    return map_get_ptr(&m->tasks.peer_node, p);
}

/* ---- what has changed ------------------------------------------------------------ */

void pool_put_later(struct mng *m, struct mpool *p)
{
    p->put = m->tasks.put = true;
}

void endpoint_put_later(struct mng *m, struct mendpoint *x)
{
    x->put = m->tasks.put = m->tasks.split = true;
}

void task_map_changed(struct mng *m)
{
    m->tasks.map_version++;
    m->tasks.split = true;
}

/* ---- what nodes are told; a partition gets another owner ----------------------------------------- */

static bool is_of(const struct mpart *p, const char *queue)
{
    size_t n = strlen(queue);

    return queue_matches(p->pool->def.match, queue, n) &&
           part_share(queue, n, p->pool->n) == (uint32_t)(p - p->pool->part);
}

static void put_key(struct mng *m, struct msg_part_open *g, struct key_limit l)
{
    l.queue = arena_strdup(&m->out->box.mem, l.queue);
    l.key = arena_strdup(&m->out->box.mem, l.key);
    g->keys[g->n_keys++] = l;
}

/* Limits of keys: pinned ones of its queues, then the patterns of its pool. */
static void put_keys(struct mng *m, const struct mpart *p, struct rate_zones *z, struct msg_part_open *g)
{
    const struct pool_def *d = &p->pool->def;
    const struct pool_key *k = d->keys.v;
    uint32_t n = (uint32_t)d->keys.n;

    each_pin(m, x)
        n += is_of(p, x->def.queue);
    g->keys = arena_array(&m->out->box.mem, n, sizeof(*g->keys));
    if (g->keys == NULL)
        return;
    each_pin(m, x)
        if (is_of(p, x->def.queue) && g->n_keys < PINS_MAX) /* the store may have more */
            put_key(m, g, pool_pin_limit(d, &x->def, z));
    for (uint32_t i = 0; i < d->keys.n; i++)
        put_key(m, g, pool_key_limit(&k[i], z));
}

static void put_zones(struct mng *m, const struct rate_zones *z, struct msg_part_open *g)
{
    g->zones = arena_array(&m->out->box.mem, z->n, sizeof(*g->zones));
    for (; g->zones != NULL && g->n_zones < z->n; g->n_zones++)
        g->zones[g->n_zones] = arena_strdup(&m->out->box.mem, z->v[g->n_zones]);
}

static void put_eta(struct mng *m, const struct pool_def *d, struct msg_part_open *g)
{
    char *const *v = d->eta_allow.v;

    g->eta_url = "";
    if (d->eta_url[0] == 0)
        return;
    g->eta_url = arena_strdup(&m->out->box.mem, d->eta_url);
    g->eta_every_ms = (uint64_t)d->eta_every_ms;
    g->eta_timeout_ms = (uint32_t)d->eta_timeout_ms;
    g->eta_allow = arena_array(&m->out->box.mem, d->eta_allow.n, sizeof(*g->eta_allow));
    for (; g->eta_allow != NULL && g->n_eta_allow < d->eta_allow.n; g->n_eta_allow++)
        g->eta_allow[g->n_eta_allow] = arena_strdup(&m->out->box.mem, v[g->n_eta_allow]);
}

void part_tell(struct mng *m, struct mpart *p)
{
    const struct pool_def *d = &p->pool->def;
    struct rate_zones zones = { .n = 0 };
    struct task_rules rules;
    struct msg_part_open *g;

    _Static_assert(sizeof(rules) / sizeof(uint64_t) <= POOL_RULES_MAX, "a node of this release takes no more");

    if (p->node == NULL || !p->node->registered)
        return;
    assert(p->epoch != 0 && p->node->peer != 0);
    pool_def_rules(d, &rules);
    rules.windows = pool_windows(d, &zones);
    g = &mng_to(m, p->node->peer, MSG_PART_OPEN)->part_open;
    g->epoch = m->epoch;
    g->part = p->no;
    g->part_epoch = p->epoch;
    g->match = arena_strdup(&m->out->box.mem, d->match);
    g->rules = arena_memdup(&m->out->box.mem, &rules, sizeof(rules));
    g->n_rules = g->rules != NULL ? sizeof(rules) / sizeof(uint64_t) : 0;
    g->max_tasks = (uint32_t)d->max_tasks;
    g->paused = d->paused;
    g->had = p->opened;
    put_keys(m, p, &zones, g);
    put_zones(m, &zones, g);
    g->endpoint = arena_strdup(&m->out->box.mem, d->endpoint);
    g->notify = arena_strdup(&m->out->box.mem, d->notify);
    g->notify_starts = pool_tells_starts(d);
    put_eta(m, d, g);
    m->out->box.failed |= m->out->box.mem.failed;
    p->told_ms = m->now_ms;
}

void part_out(struct mng *m, const struct mpart *p)
{
    struct msg_part_out *g;

    if (!p->node->registered || p->to->addr[0] == '\0')
        return;
    g = &mng_to(m, p->node->peer, MSG_PART_OUT)->part_out;
    g->epoch = m->epoch;
    g->part = p->no;
    g->part_epoch = p->epoch;
    g->to_epoch = p->to_epoch;
    g->node = arena_strdup(&m->out->box.mem, p->to->name);
    g->addr = arena_strdup(&m->out->box.mem, p->to->addr);
    m->out->box.failed = m->out->box.failed || g->node == NULL || g->addr == NULL;
}

void part_drop(struct mng *m, const struct mtask_node *n, struct mgone *g)
{
    struct msg_part_drop *d;

    assert(g->node == n->no);
    if (!n->registered)
        return;
    d = &mng_to(m, n->peer, MSG_PART_DROP)->part_drop;
    d->epoch = m->epoch;
    d->part = g->no;
    d->part_epoch = g->epoch;
    g->said_ms = m->now_ms;
    if (g->told_ms == 0)
        g->told_ms = m->now_ms;
}

void part_leave(struct mng *m, part_no no, const struct mtask_node *n, uint64_t epoch)
{
    struct mgone *g = gone_add(m, no, n->no, epoch);

    if (g != NULL)
        part_drop(m, n, g);
    else
        m->out->box.failed = true;
}

void part_give(struct mng *m, struct mpart *p, struct mtask_node *n, uint64_t epoch)
{
    assert(p->node != n && epoch > p->epoch);
    if (p->node != NULL) {
        p->node->n_parts--;
        part_leave(m, p->no, p->node, p->epoch);
    }
    p->node = n;
    n->n_parts++;
    p->epoch = epoch;
    p->confirmed = false;
    p->rate_ms = 0;
    log_info("event=partition_placed part=%u pool=%s node=%s epoch=%llu", p->no,
             p->pool->def.match, n->name, (unsigned long long)p->epoch);
    task_map_changed(m);
    pool_put_later(m, p->pool);
    part_tell(m, p);
}

struct mname *name_at(const struct mendpoint *x, const char *url)
{
    each_name(x, n)
        if (strcmp(n->url, url) == 0)
            return n;
    return NULL;
}

static void name_free(struct mendpoint *x, struct mname *n)
{
    list_remove(&x->names, &n->in);
    free(n->url);
    free(n);
}

void names_free(struct mendpoint *x)
{
    each_name(x, n)
        name_free(x, n);
}

static int name_new(struct mendpoint *x, const char *url, const char *was)
{
    struct mname *n = calloc(1, sizeof(*n));

    if (n == NULL || (n->url = strdup(url)) == NULL) {
        free(n);
        return SQ_ENOMEM;
    }
    n->was_url = strcmp(url, was) == 0;
    list_push_back(&x->names, &n->in);
    each_target(x, t)
        if (!t->gone && t->address[0] != 0 && strcmp(t->def.url, url) == 0)
            (void)discovered_add(&n->d, t->address);
    return 0;
}

int names_follow(struct mendpoint *x, const char *was)
{
    const struct endpoint_target *v = x->def.targets.v;
    int rc = 0;

    each_name(x, n) {
        const struct endpoint_target *g = endpoint_target_of(&x->def, n->url);

        if (g == NULL || g->discover == DISCOVER_NONE)
            name_free(x, n);
        else
            n->d.due = 0; /* bounds may be others */
    }
    for (size_t i = 0; rc == 0 && i < x->def.targets.n; i++)
        if (v[i].discover == DISCOVER_DNS && name_at(x, v[i].url) == NULL)
            rc = name_new(x, v[i].url, was);
    return rc;
}
