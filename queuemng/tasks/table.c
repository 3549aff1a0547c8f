/* table.c: see the header. */
#include "queuemng/tasks/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/queue_name.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/names.h"
#include "queuemng/tasks/windows.h"

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
static void put_keys(struct mng *m, const struct mpart *p, struct msg_part_open *g)
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
            put_key(m, g, pool_pin_limit(d, &x->def));
    for (uint32_t i = 0; i < d->keys.n; i++)
        put_key(m, g, pool_key_limit(&k[i]));
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
    struct task_rules rules;
    struct msg_part_open *g;

    if (p->node == NULL || !p->node->registered)
        return;
    assert(p->epoch != 0 && p->node->peer != 0);
    pool_def_rules(d, &rules);
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
    put_keys(m, p, g);
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

/* Scales its least like the whole, and at least 1. */
static uint64_t adaptive_part(const struct endpoint_def *d, uint64_t slots)
{
    uint64_t whole = endpoint_slots(d);

    return d->adaptive.max == 0 || d->targets.n > 0 ? 0 : u64_max(1, (uint64_t)d->adaptive.min * slots / whole);
}

static uint64_t thousandths(double v, uint64_t none)
{
    return v >= 0 ? (uint64_t)(v * 1000 + 0.5) : none;
}

static void put_readings(struct arena *a, const struct endpoint_def *d, struct msg_endpoint *g)
{
    const struct endpoint_watch *v = d->readings.v;

    g->reading_path = arena_strdup(a, d->readings_path);
    g->reading_ms = (uint32_t)d->readings_interval_ms;
    g->reading_stale_ms = (uint32_t)d->readings_stale_ms;
    g->readings = arena_array(a, (uint32_t)d->readings.n, sizeof(*g->readings));
    for (; g->readings != NULL && g->n_readings < d->readings.n; g->n_readings++) {
        const struct endpoint_watch *w = &v[g->n_readings];
        uint64_t close = thousandths(w->close_above, ENDPOINT_ANY);

        g->readings[g->n_readings] = (struct endpoint_reading){
            arena_strdup(a, w->metric), arena_strdup(a, w->labels), (uint32_t)w->several, close,
            thousandths(w->open_below, close), thousandths(w->narrow_from, ENDPOINT_ANY),
            thousandths(w->narrow_to, ENDPOINT_ANY),
        };
    }
}

static void put_told(struct arena *a, const struct mng *m, const struct mendpoint *x, struct msg_endpoint *g)
{
    char rows[TOLD_ROWS_MAX + 1];

    endpoint_told_rows(&x->def, rows);
    g->told = arena_strdup(a, rows);
    if (rows[0] == 0)
        return;
    g->n_told_word = 2 * TOLD_MAX;
    g->told_word = arena_array(a, g->n_told_word, sizeof(uint64_t));
    for (unsigned i = 0; g->told_word != NULL && i < TOLD_MAX; i++) {
        g->told_word[2 * i] = x->told[i].left;
        g->told_word[2 * i + 1] = (uint64_t)ms_max(x->told[i].until - m->now_ms, 0);
    }
}

void endpoint_tell(struct mng *m, const struct mendpoint *x, struct mshare *s)
{
    struct arena *a = &m->out->box.mem;
    const struct endpoint_def *d = &x->def;
    const struct mbudget *b = budget_with_units(m, x);
    size_t n_shared = b != NULL ? u64_min(b->def.rates.n, UNIT_RATES_MAX - d->rates.n) : 0;
    struct msg_endpoint *g = &mng_to(m, s->node->peer, MSG_ENDPOINT)->endpoint;
    char auth_field[ENDPOINT_AUTH_MAX + 1];

    snprintf(auth_field, sizeof(auth_field), "%s: %s%s", d->auth.header, d->auth.scheme,
             d->auth.scheme[0] != 0 ? " " : "");
    *g = (struct msg_endpoint){ .epoch = m->epoch,
                                .name = arena_strdup(a, d->name),
                                .serial = s->serial,
                                .version = x->version,
                                .url = arena_strdup(a, d->url),
                                .n_allow = (uint32_t)d->allow.n,
                                .allow = arena_array(a, (uint32_t)d->allow.n, sizeof(*g->allow)),
                                .rate = s->said.rate,
                                .burst = s->burst,
                                .max_concurrent = s->said.slots,
                                .deadline_ms = (uint32_t)d->deadline_ms,
                                .connect_timeout_ms = (uint32_t)d->connect_timeout_ms,
                                .paused = d->paused,
                                .breaker_ratio = (uint32_t)(d->breaker.ratio * 100 + 0.5),
                                .breaker_min = (uint32_t)d->breaker.min,
                                .breaker_open_ms = (uint32_t)d->breaker.open_ms,
                                .secret_file = arena_strdup(a, d->sign.secret_file),
                                .ca_file = arena_strdup(a, d->tls.ca_file),
                                .cert_file = arena_strdup(a, d->tls.cert_file),
                                .key_file = arena_strdup(a, d->tls.key_file),
                                .proxy = arena_strdup(a, d->proxy),
                                .adaptive_min = adaptive_part(d, s->said.slots),
                                .budget = arena_strdup(a, x->by_budget ? d->budget.name : ""),
                                .tripped = x->tripped,
                                .resets = x->resets,
                                .probe = x->probe,
                                .max_answer = (uint64_t)d->max_answer,
                                .auth_field = arena_strdup(a, auth_field),
                                .auth_file = arena_strdup(a, d->auth.secret_file),
                                .targets = d->targets.n > 0,
                                .of = x->of != NULL ? arena_strdup(a, x->of->def.name) : "",
                                .target = x->no,
                                .weight = x->weight,
                                .affinity = (uint32_t)d->affinity,
                                .affinity_bound = (uint32_t)(d->affinity_bound * 100 + 0.5),
                                .n_unit_rates = 3 * (uint32_t)(d->rates.n + n_shared),
                                .unit_rates = arena_array(a, 6 * UNIT_RATES_MAX, sizeof(uint64_t)),
                                .unit_part = s->said.units,
                                .unit_kept = s->kept,
                                .n_shared = (uint32_t)n_shared,
                                .shared_part = s->said.shared,
                                .used = arena_strdup(a, d->cost.used),
                                .used_header = arena_strdup(a, d->cost.used_header),
                                .used_most = (uint64_t)d->cost.max,
                                .on_quota = (uint32_t)d->on_quota,
                                .address = arena_strdup(a, x->address) };
    g->unit_window = arena_array(a, WINDOW_NUMBERS * UNIT_RATES_MAX, sizeof(uint64_t));
    if (g->unit_window != NULL)
        g->n_unit_window = windows_numbers(x, s, g->unit_window);
    if (g->unit_rates != NULL) {
        unit_rates_put(&d->rates, g->unit_rates);
        if (n_shared > 0) /* a definition with more is refused (budget_named()) */
            unit_rates_put(&b->def.rates, g->unit_rates + 3 * d->rates.n);
    }
    for (uint32_t i = 0; g->allow != NULL && i < g->n_allow; i++)
        g->allow[i] = arena_strdup(a, ((char *const *)d->allow.v)[i]);
    put_readings(a, d, g);
    put_told(a, m, x, g);
    m->out->box.failed = m->out->box.failed || a->failed;
    s->told_ms = m->now_ms;
}

void endpoint_drop(struct mng *m, const struct mtask_node *n, const char *name)
{
    struct msg_endpoint_drop *g;

    if (!n->registered)
        return;
    g = &mng_to(m, n->peer, MSG_ENDPOINT_DROP)->endpoint_drop;
    g->epoch = m->epoch;
    g->name = arena_strdup(&m->out->box.mem, name);
    m->out->box.failed = m->out->box.failed || g->name == NULL;
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
