/* router_known.c: the real replicas and streams. */
#include "tests/lib/sim/router_known.h"

#include <stdlib.h>

#include "common/base/err.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/net.h"

static node_no number_of(const struct srouter *r, const struct proc *node)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->r, &v);

    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, node->name) == 0)
            return v[i].no;
    return 0;
}

struct stream *router_stream(struct srouter *r, const struct proc *node)
{
    node_no no = r->seg[node->no].no;

    return r->known.fresh_ms > 0 && no != 0 ? replicas_stream(&r->known, no) : NULL;
}

void router_say_seen(struct sim *s, struct proc *p, const struct proc *node)
{
    struct srouter *r = p->router;
    struct stream *st = router_stream(r, node);
    struct msg m = { .type = MSG_SEEN };

    while (st != NULL && stream_seen(st, sim_ms(s), &m.seen))
        net_send(s, p, r->seg[node->no].peer, &m, 0);
}

void router_known_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *node)
{
    struct srouter *r = p->router;
    struct stream *st;

    r->seg[node->no].peer = peer;
    r->seg[node->no].no = number_of(r, node);
    st = router_stream(r, node);
    if (st == NULL)
        return;
    stream_up(st, sim_ms(s));
    router_say_seen(s, p, node);
}

void router_tell_left(struct sim *s, struct proc *p, peer_no mng, enum leaves_which which)
{
    struct msg m = { .type = MSG_LEFT };

    m.left.v = sim_alloc(MSG_LEFT_MAX * sizeof(*m.left.v));
    m.left.n = leaves_rows(&p->router->known.leaves, which, sim_ms(s), m.left.v);
    if (m.left.n > 0)
        net_send(s, p, mng, &m, 0);
    free(m.left.v);
}

void router_tells_left(struct sim *s, struct proc *p)
{
    for (unsigned i = 0; i < s->o.managers; i++)
        if (p->router->mng[i].peer != 0)
            router_tell_left(s, p, p->router->mng[i].peer, LEAVES_NEWS);
}

void router_note_leave(struct sim *s, struct srouter *r, const struct sflow *x)
{
    node_no node;
    const struct token *left = flow_saw_leave(&x->f, &node);

    if (left != NULL)
        leaves_note(&r->known.leaves, node, left, sim_ms(s));
    if (x->repeats && x->f.result != FLOW_OK)
        leaves_again(&r->known.leaves, &x->f.token);
}

void router_known_down(struct sim *s, struct proc *p, const struct proc *node)
{
    struct srouter *r = p->router;
    struct stream *st = router_stream(r, node);

    r->seg[node->no].peer = 0;
    if (st == NULL)
        return;
    stream_down(st);
    leaves_link_lost(&r->known.leaves, r->seg[node->no].no);
    if (leaves_away(&r->known.leaves, r->seg[node->no].no, sim_ms(s)))
        router_tells_left(s, p);
}

void router_known_forget(const struct sim *s, struct srouter *r)
{
    for (unsigned i = 0; i < s->n_procs; i++) {
        const struct proc *node = &s->proc[i];

        if (node->kind != SIM_SEG || r->seg[node->no].no == number_of(r, node))
            continue;
        replicas_forget(&r->known, r->seg[node->no].no);
        r->seg[node->no].no = 0;
    }
}

void router_pushed(struct sim *s, struct proc *p, const struct proc *node, peer_no peer,
                       struct msg_replica m)
{
    struct stream *st = router_stream(p->router, node);
    int rc;

    if (m.stamp_ms != 0)
        m.stamp_ms += (msec_t)peer << SKEW_SHIFT;
    rc = st != NULL ? stream_apply(st, &m, sim_ms(s)) : 0;
    if (rc < 0)
        sim_fail(s, "%s cannot apply what %s says of its lines: %s", p->name, node->name,
                 sq_strerror(rc));
    if (listeners_pushed(&p->router->listeners, p->router->r, &p->router->known))
        router_listen_run(s, p);
}

bool srouter_tells(const struct proc *p, const struct proc *node, seg_id seg, uint32_t number,
                   uint64_t *position)
{
    const struct stream *st = p->alive ? router_stream(p->router, node) : NULL;
    const struct known_name *n = st != NULL ? stream_name(st, seg) : NULL;
    uint32_t rank;

    if (n == NULL || n->flags & ~REPLICA_NEW ||
        stream_age_ms(st, sim_ms(p->sim)) > p->router->known.fresh_ms)
        return false;
    *position = line_rank(&n->line, number, &rank) ? n->before + rank + 1 : 0;
    return true;
}
