/* table.c: see the header. */
#include "queuemng/tasks/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/state/state.h"

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
        sum->oldest_ms = u64_max(sum->oldest_ms, st->oldest_ms);
        sum->accepted += st->accepted;
        sum->started += st->started;
        sum->succeeded += st->succeeded;
        sum->retried += st->retried;
        sum->died += st->died;
        sum->expired += st->expired;
        sum->due += st->due;
        sum->late_ms += st->late_ms;
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

void endpoint_free(struct mng *m, struct mendpoint *x)
{
    each_share(x, s)
        share_free(x, s);
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
