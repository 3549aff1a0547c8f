/* router.c: a router around the real routes and flows. Requests to one segment node
 * are collected per kind while a frame of that kind is under way (self-clocked), as the
 * real router does. */
#include "tests/lib/sim/router.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/sessions.h"
#include "tests/lib/sim/subjects.h"

#include "common/base/err.h"

#include <stdlib.h>
#include <string.h>

#include "router/gate/pass_clock.h"
#include "router/gate/revoked.h"
#include "router/listen/listeners.h"
#include "router/replica/replicas.h"
#include "segment/table/seg_life.h"
#include "segment/table/where.h"

#define BATCH 64
#define SKEW_SHIFT 40 /* a node's clock is so far ahead of ours: as much as nobody guesses, and
                       * another amount on each link */

enum { KIND_PLACE, KIND_APPEND, KIND_DROP, KIND_SESSION, N_KINDS };

struct ref { /* a flow, if it is still that one */
    uint32_t flow, gen;
};

struct lane_out { /* to one node, one kind */
    struct ref pending[4096], flying[BATCH];
    uint32_t n_pending, n_flying;
    uint64_t rid;
};

struct slistener { /* a player whose connection stays open */
    struct listen_ticket l;
    struct sreq req;
    usec_t sent_at; /* the last event arrives then */
};

struct sflow {
    struct flow f;
    struct slistener *look; /* it is the look of that one; NULL: a request */
    struct sreq req;
    uint32_t gen;      /* of the slot: counts its uses */
    uint64_t wake_gen; /* a timer that carries another is old */
    uint64_t pass;
    uint64_t subject_hash;
    char subject[SIM_SUBJECT_LEN];
    bool used;
};

struct srouter {
    struct routes *r;
    struct replicas known;
    struct listeners listeners;
    struct revoked revoked, extended;
    struct pass_clock pass_clock;
    usec_t clock_at; /* it was told the last time */
    struct sflow *flow;
    size_t cap;
    uint32_t n;
    uint64_t next_rid, next_wake;
    struct { /* a link to a manager */
        peer_no peer;
        bool asked_all; /* registered with version 0, and no map has come since */
    } mng[SIM_MNGS_MAX];
    struct { /* the latest link to a segment node */
        peer_no peer; /* 0: none */
        node_no no;   /* by the map, when it came up; 0: the map has it no more */
    } seg[SIM_SEGS_MAX];
    struct lane_out *out[SIM_SEGS_MAX]; /* [node][kind] */
};

static void go(struct sim *s, struct proc *p, uint32_t i);

struct srouter *srouter_new(const struct sim *s, const struct proc *p)
{
    struct srouter *r = sim_alloc(sizeof(*r));
    msec_t fresh_ms = proc_is_older(p) ? 0 : ms_max(s->o.fresh_ms, 0);

    r->r = routes_new();
    replicas_init(&r->known, fresh_ms, ms_max(s->o.keep_ms, 0));
    listeners_init(&r->listeners);
    revoked_init(&r->revoked, 7);
    revoked_init(&r->extended, 11);
    for (unsigned i = 0; i < SIM_SEGS_MAX; i++)
        r->out[i] = sim_alloc(N_KINDS * sizeof(*r->out[i]));
    return r;
}

const struct revoked *srouter_revoked(const struct srouter *r)
{
    return &r->revoked;
}

const struct pass_clock *srouter_clock(const struct srouter *r, usec_t *told_at)
{
    *told_at = r->clock_at;
    return &r->pass_clock;
}

const struct revoked *srouter_extended(const struct srouter *r)
{
    return &r->extended;
}

bool srouter_wants(const struct srouter *r, const struct proc *to)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->r, &v);

    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, to->name) == 0)
            return true;
    return false;
}

static struct known of_now(const struct sim *s)
{
    return (struct known) { .as_of = s->now };
}

/* ---- answers to players -------------------------------------------------------------- */

/* at: an event: when the one before arrives. */
static void answer(struct sim *s, const struct sreq *q, const struct flow *f, uint64_t pass,
                   struct known known, usec_t *at)
{
    struct sans *a = sim_alloc(sizeof(*a));
    struct event e = { .kind = E_ANS, .proc = SIM_NOBODY, .data = a };

    a->player = q->player;
    a->gen = q->gen;
    a->kind = q->kind;
    a->reset = f == NULL;
    if (f != NULL)
        a->flow = *f;
    a->pass = pass;
    a->as_of = known.as_of;
    a->kept = known.kept;
    a->node = known.node;
    a->open = at != NULL;
    if (at == NULL) {
        sim_after_ms(s, sim_rand(s, 0.2, 20), e);
        return;
    }
    *at = u64_max((uint64_t)*at, (uint64_t)(s->now + (usec_t)sim_rand(s, 200, 20000))) + 1;
    sim_at(s, *at, e); /* events of a connection arrive in their order */
}

void srouter_free(struct sim *s, struct proc *p)
{
    struct srouter *r = p->router;
    struct listen_ticket *l;

    while ((l = listeners_first(&r->listeners)) != NULL) {
        struct slistener *x = container_of(l, struct slistener, l);

        answer(s, &x->req, NULL, 0, of_now(s), NULL);
        listeners_remove(&r->listeners, &x->l);
        free(x);
    }
    listeners_fini(&r->listeners);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->flow[i].used && r->flow[i].look == NULL)
            answer(s, &r->flow[i].req, NULL, 0, of_now(s), NULL);
    for (unsigned i = 0; i < SIM_SEGS_MAX; i++)
        free(r->out[i]);
    routes_free(r->r);
    replicas_fini(&r->known);
    revoked_fini(&r->revoked);
    revoked_fini(&r->extended);
    free(r->flow);
    free(r);
    p->router = NULL;
}

/* ---- batches ------------------------------------------------------------------------- */

static unsigned kind_of(const struct flow *f)
{
    static const uint8_t kinds[] = { [FLOW_JOIN] = KIND_APPEND,
                                     [FLOW_POLL] = KIND_PLACE,
                                     [FLOW_LEAVE] = KIND_DROP,
                                     [FLOW_SESSION] = KIND_SESSION };

    return kinds[f->asks];
}

static struct sflow *alive(const struct srouter *r, struct ref x)
{
    struct sflow *f = &r->flow[x.flow];

    return f->used && f->gen == x.gen && f->f.todo == FLOW_ASK ? f : NULL;
}

static void put_request(struct msg *m, unsigned kind, uint32_t i, const struct sflow *x)
{
    const struct flow *f = &x->f;

    if (kind == KIND_PLACE)
        m->place.req[i] = (struct place_req){ .seg = f->seg,
                                              .number = f->token.number,
                                              .client = f->token.client };
    else if (kind == KIND_APPEND)
        m->append.req[i] = (struct append_req){
            .seg = f->seg,
            .client = f->token.client,
            .subject_len = x->subject_hash != 0 ? (uint8_t)strlen(x->subject) : 0,
            .subject_hash = x->subject_hash,
            .subject = x->subject,
            .old_seg = f->old.seg,
            .old_number = f->old.number,
            .enters = f->step == REPLACE_NONE,
        };
    else if (kind == KIND_SESSION)
        m->session.req[i] = (struct sess_req){ .seg = f->seg,
                                               .number = f->token.number,
                                               .command = f->command,
                                               .renews = f->renews,
                                               .until_s = f->until_s };
    else
        m->drop.req[i] = (struct drop_req){ .seg = f->seg,
                                            .number = flow_ticket(f)->number,
                                            .heir_hash = flow_heir(f) };
}

static void request_room(struct msg *m, unsigned kind, struct arena *a)
{
    if (kind == KIND_PLACE) {
        m->type = MSG_PLACE;
        m->place.req = arena_array(a, BATCH, sizeof(*m->place.req));
    } else if (kind == KIND_APPEND) {
        m->type = MSG_APPEND;
        m->append.req = arena_array(a, BATCH, sizeof(*m->append.req));
    } else if (kind == KIND_SESSION) {
        m->type = MSG_SESSION;
        m->session.req = arena_array(a, BATCH, sizeof(*m->session.req));
    } else {
        m->type = MSG_DROP;
        m->drop.req = arena_array(a, BATCH, sizeof(*m->drop.req));
    }
}

static void set_n(struct msg *m, unsigned kind, uint32_t n)
{
    if (kind == KIND_PLACE)
        m->place.n = n;
    else if (kind == KIND_APPEND)
        m->append.n = n;
    else if (kind == KIND_SESSION)
        m->session.n = n;
    else
        m->drop.n = n;
}

/* Sends what is collected if no frame of the kind is under way. */
static void flush(struct sim *s, struct proc *p, struct proc *node, unsigned kind)
{
    struct srouter *r = p->router;
    struct lane_out *o = &r->out[node->no][kind];
    struct conn *c = net_up(s, p, node);
    struct msg m = { 0 };
    uint32_t taken = 0;

    if (c == NULL || o->n_flying > 0 || o->n_pending == 0)
        return;
    arena_reset(&s->ans_arena);
    request_room(&m, kind, &s->ans_arena);
    while (taken < o->n_pending && o->n_flying < BATCH) {
        struct ref x = o->pending[taken++];
        struct sflow *f = alive(r, x);

        if (f == NULL)
            continue;
        put_request(&m, kind, o->n_flying, f);
        o->flying[o->n_flying++] = x;
    }
    o->n_pending -= taken;
    memmove(o->pending, o->pending + taken, o->n_pending * sizeof(o->pending[0]));
    if (o->n_flying == 0)
        return;
    set_n(&m, kind, o->n_flying);
    o->rid = ++r->next_rid;
    net_send(s, p, net_peer(c, 0), &m, o->rid);
}

static struct proc *node_proc(struct sim *s, const struct srouter *r, node_no no)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->r, &v);

    for (size_t i = 0; i < n; i++)
        if (v[i].no == no)
            return proc_named(s, v[i].name);
    return NULL;
}

static void ask(struct sim *s, struct proc *p, uint32_t i)
{
    struct srouter *r = p->router;
    struct sflow *f = &r->flow[i];
    struct proc *node = node_proc(s, r, f->f.node);
    struct lane_out *o;
    unsigned kind = kind_of(&f->f);

    if (node == NULL || net_up(s, p, node) == NULL) {
        flow_lost(&f->f, sim_ms(s));
        go(s, p, i);
        return;
    }
    o = &r->out[node->no][kind];
    if (o->n_pending == ARRAY_LEN(o->pending)) {
        sim_fail(s, "too many requests wait at %s", p->name);
        return;
    }
    o->pending[o->n_pending++] = (struct ref){ i, f->gen };
    flush(s, p, node, kind);
}

/* ---- flows --------------------------------------------------------------------------- */

static int64_t least_s(const struct proc *p)
{
    return pass_clock_least_s(&p->router->pass_clock, sim_ms(p->sim), clock_wall(p) / 1000);
}

/* This router need not wait for the node to tell everybody. */
static void take_note(const struct proc *p, const struct sflow *x)
{
    struct srouter *r = p->router;
    const struct flow *f = &x->f;
    bool longer = f->command == SESS_EXTEND;
    struct pass_row row = { .seg = f->token.seg,
                            .number = f->token.number,
                            .until_s = longer ? f->until_s : x->req.expires_s };

    revoked_add(longer ? &r->extended : &r->revoked, &row, least_s(p));
}

static usec_t stamp_of(const struct stream *st)
{
    return (st->now.stamp_ms & ((1ll << SKEW_SHIFT) - 1)) * 1000;
}

/* Of a name on its way the node of its heir has the say, too. */
static usec_t heirs_stamp(const struct srouter *r, const struct flow *f)
{
    seg_id heir = replicas_heads_for(&r->known, f->node, &f->token);
    struct route_owner o;
    const struct stream *st;

    if (heir == 0 || f->position == 0 || routes_owner(r->r, heir, &o) < 0 ||
        (st = map_get_ptr(&r->known.streams, o.node)) == NULL)
        return INT64_MAX;
    return stamp_of(st);
}

static msec_t fence_ms(const struct sim *s, const struct proc *node, const struct srouter *r,
                       const struct flow *f)
{
    const struct segtab *t = node != NULL ? node->segtab : NULL;
    struct location l;

    if (f->position == 0 || replicas_heads_for(&r->known, f->node, &f->token) == 0)
        return 0;
    if (t == NULL || segtab_find(t, f->token.seg, f->token.number, &l) != FOUND_HERE ||
        !seg_is_fenced(l.seg))
        return sim_ms(s); /* the fence is over since: nobody knows any more */
    return t->service_ms - l.seg->out->fenced_ms;
}

static struct known check_answered(struct sim *s, const struct proc *p, const struct sflow *x)
{
    const struct replicas *k = &p->router->known;
    const struct stream *st = map_get_ptr(&k->streams, x->f.node);
    const struct proc *node = node_proc(s, p->router, x->f.node);
    struct known known = of_now(s);

    known.node = node != NULL ? node->idx : 0;
    if (!x->f.known)
        return known; /* its node has answered, if any */
    known.as_of = ms_min(stamp_of(st), heirs_stamp(p->router, &x->f));
    known.kept = stream_age_ms(st, sim_ms(s)) > k->fresh_ms;
    known.fence_ms = fence_ms(s, node, p->router, &x->f);
    check_known(s, p, node, &x->req.token, &x->f, &known);
    return known;
}

static void count_unavailable(struct sim *s, const struct flow *f)
{
    const struct ticket *t;

    if (f->result != FLOW_UNAVAIL)
        return;
    s->count.unavailable++;
    t = f->kind == FLOW_POLL ? check_ticket(s, f->token.seg, f->token.number) : NULL;
    s->count.put_off += t != NULL && t->fate == T_LIVE;
}

/* ---- who listens ---------------------------------------------------------------------- */

static void event(struct sim *s, struct slistener *x, const struct sflow *f, struct known known)
{
    s->count.events++;
    answer(s, &x->req, &f->f, f->pass, known, &x->sent_at);
}

static void forget(struct srouter *r, struct slistener *x)
{
    listeners_remove(&r->listeners, &x->l);
    free(x);
}

/* NULL: it is not to be told any more. */
static struct slistener *begins(struct sim *s, struct srouter *r, const struct sflow *f)
{
    struct slistener *x;

    if (f->f.result != FLOW_OK || f->f.admitted)
        return NULL;
    x = sim_alloc(sizeof(*x));
    if (!listeners_add(&r->listeners, &x->l, &f->req.token, sim_ms(s)))
        sim_fail(s, "no memory");
    x->req = f->req;
    x->sent_at = s->now;
    return x;
}

/* The look of somebody who listens has ended. False: it is a poll's. */
static bool looked(struct sim *s, struct proc *p, const struct sflow *f, struct known known)
{
    struct srouter *r = p->router;
    struct slistener *x = f->look != NULL ? f->look : begins(s, r, f);

    if (x == NULL)
        return false;
    if (f->f.result == FLOW_OK && !f->f.admitted) {
        if (listeners_heard(&r->listeners, &x->l, &f->f, f->f.no_place, true, sim_ms(s)))
            event(s, x, f, known);
    } else if (f->f.result == FLOW_OK || f->f.result == FLOW_GONE) {
        event(s, x, f, known);
        forget(r, x);
    } else {
        listeners_put_off(&r->listeners, &x->l, sim_ms(s));
    }
    return true;
}

/* A flow holds at most one timer; an ask has one, too: for its deadline. */
static void go(struct sim *s, struct proc *p, uint32_t i)
{
    struct srouter *r = p->router;
    struct sflow *f = &r->flow[i];
    struct event e = {
        .kind = E_FLOW, .proc = p->idx, .incarnation = p->incarnation, .a = i
    };
    const struct token *over;
    struct known known;
    node_no node;

    if (f->f.todo == FLOW_DONE) {
        count_unavailable(s, &f->f);
        if (f->f.kind == FLOW_SESSION && f->f.result == FLOW_OK && f->f.command != SESS_USE)
            take_note(p, f);
        over = flow_saw_the_end(&f->f, &node);
        if (over != NULL)
            replicas_over(&r->known, node, over);
        known = check_answered(s, p, f);
        f->used = false;
        f->wake_gen = 0;
        if (!f->req.listens || !looked(s, p, f, known))
            answer(s, &f->req, &f->f, f->pass, known, NULL);
        return;
    }
    f->wake_gen = e.c = ++r->next_wake;
    sim_at(s, f->f.wake_ms * 1000, e);
    if (f->f.todo == FLOW_ASK)
        ask(s, p, i);
}

static uint32_t flow_slot(struct srouter *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (!r->flow[i].used)
            return i;
    r->flow = sim_grow(r->flow, &r->cap, r->n + 1u, sizeof(*r->flow));
    return r->n++;
}

static void session(struct sim *s, struct srouter *r, struct sflow *f)
{
    const struct sreq *q = &f->req;
    const char *name = s->queue[q->queue].name;
    const struct route_queue *rq = routes_queue(r->r, name, strlen(name));

    if (q->command == SESS_EXTEND && q->token.number % 3 == 0) { /* his gate lets each pass in once */
        flow_session(&f->f, r->r, &q->token, SESS_USE, (int64_t)++s->uses, sim_ms(s));
        return;
    }
    if (rq != NULL && q->command == SESS_EXTEND && rq->map.session_idle_s != 0 &&
        rng_chance(&s->rng, 0.5)) { /* his gate asks about him */
        flow_renew(&f->f, r->r, &q->token, session_until_s(s, rq, q), sim_ms(s));
        return;
    }
    if (rq != NULL && (q->command != SESS_EXTEND || rq->map.session_max_s != 0)) {
        flow_session(&f->f, r->r, &q->token, q->command, session_until_s(s, rq, q), sim_ms(s));
        return;
    }
    f->f.kind = FLOW_SESSION;
    f->f.todo = FLOW_DONE;
    f->f.result = FLOW_UNAVAIL;
}

static void poll(struct sim *s, struct srouter *r, struct sflow *f)
{
    bool first = f->req.listens && f->look == NULL; /* the node is asked */

    flow_poll(&f->f, r->r, first ? NULL : &r->known, &f->req.token, sim_ms(s));
}

static void on_request(struct sim *s, struct proc *p, const struct sreq *q)
{
    struct srouter *r = p->router;
    uint32_t i = flow_slot(r);
    struct sflow *f = &r->flow[i];
    const char *name = s->queue[q->queue].name;

    f->used = true;
    f->gen++;
    f->req = *q;
    f->look = NULL;
    f->pass = 0;
    f->subject_hash = subject_of(q, f->subject);
    f->f = (struct flow){ .token = { .client = q->client,
                                     .subject_hash = f->subject_hash } };
    if (q->kind == FLOW_JOIN && q->replaces)
        flow_replace(&f->f, r->r, routes_queue(r->r, name, strlen(name)), q->lane, &q->token,
                     sim_ms(s));
    else if (q->kind == FLOW_JOIN)
        flow_join(&f->f, r->r, routes_queue(r->r, name, strlen(name)), q->lane, sim_ms(s));
    else if (q->kind == FLOW_POLL)
        poll(s, r, f);
    else if (q->kind == FLOW_SESSION)
        session(s, r, f);
    else
        flow_leave(&f->f, r->r, &q->token, sim_ms(s));
    go(s, p, i);
}

/* A player that asks, or rests, has closed its connection. */
static bool is_closed(const struct sim *s, const struct slistener *x)
{
    return s->player[x->req.player].gen != x->req.gen;
}

static void look(struct sim *s, struct proc *p, struct slistener *x)
{
    struct srouter *r = p->router;
    uint32_t i = flow_slot(r);
    struct sflow *f = &r->flow[i];

    f->used = true;
    f->gen++;
    f->req = x->req;
    f->look = x;
    f->pass = 0;
    f->subject_hash = 0;
    poll(s, r, f);
    go(s, p, i);
}

static void listen_run(struct sim *s, struct proc *p)
{
    struct listeners *l = &p->router->listeners;
    enum listen_todo todo;
    struct listen_ticket *x;

    while ((x = listeners_due(l, sim_ms(s), &todo)) != NULL) {
        struct slistener *who = container_of(x, struct slistener, l);

        if (is_closed(s, who))
            forget(p->router, who);
        else if (todo == LISTEN_LOOK)
            look(s, p, who);
    }
}

void srouter_event(struct sim *s, struct proc *p, const struct event *e)
{
    struct srouter *r = p->router;

    if (e->kind == E_REQ) {
        if (p->alive)
            on_request(s, p, e->data);
        else
            answer(s, e->data, NULL, 0, of_now(s), NULL);
        return;
    }
    if (e->a < r->n && r->flow[e->a].used && r->flow[e->a].wake_gen == e->c) {
        flow_retry(&r->flow[e->a].f, r->r, sim_ms(s));
        if (r->flow[e->a].f.todo == FLOW_ASK && r->flow[e->a].f.wake_ms <= sim_ms(s))
            sim_fail(s, "a flow at %s does not end at its deadline", p->name);
        go(s, p, e->a);
    }
}

/* ---- links --------------------------------------------------------------------------- */

static void reg(struct sim *s, struct proc *p, unsigned mng, bool all)
{
    struct srouter *r = p->router;
    struct msg m = { .type = MSG_ROUTER_REG };

    m.router_reg.map_version = all ? 0 : routes_version(r->r);
    m.router_reg.map_epoch = routes_epoch(r->r);
    m.router_reg.http = p->addr;
    m.router_reg.admin = "";
    r->mng[mng].asked_all = all;
    net_send(s, p, r->mng[mng].peer, &m, 0);
}

/* ---- the replica --------------------------------------------------------------------- */

static node_no number_of(const struct srouter *r, const struct proc *node)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->r, &v);

    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, node->name) == 0)
            return v[i].no;
    return 0;
}

/* NULL: nothing is said to it. */
static struct stream *stream_of(struct srouter *r, const struct proc *node)
{
    node_no no = r->seg[node->no].no;

    return r->known.fresh_ms > 0 && no != 0 ? replicas_stream(&r->known, no) : NULL;
}

static void say_seen(struct sim *s, struct proc *p, const struct proc *node)
{
    struct srouter *r = p->router;
    struct stream *st = stream_of(r, node);
    struct msg m = { .type = MSG_SEEN };

    while (st != NULL && stream_seen(st, sim_ms(s), &m.seen))
        net_send(s, p, r->seg[node->no].peer, &m, 0);
}

static void known_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *node)
{
    struct srouter *r = p->router;
    struct stream *st;

    r->seg[node->no].peer = peer;
    r->seg[node->no].no = number_of(r, node);
    st = stream_of(r, node);
    if (st == NULL)
        return;
    stream_up(st, sim_ms(s));
    say_seen(s, p, node);
}

static void known_down(struct srouter *r, const struct proc *node)
{
    struct stream *st = stream_of(r, node);

    r->seg[node->no].peer = 0;
    if (st != NULL)
        stream_down(st);
}

/* Of a node that the map has no more. */
static void known_forget(const struct sim *s, struct srouter *r)
{
    for (unsigned i = 0; i < s->n_procs; i++) {
        const struct proc *node = &s->proc[i];

        if (node->kind != SIM_SEG || r->seg[node->no].no == number_of(r, node))
            continue;
        replicas_forget(&r->known, r->seg[node->no].no);
        r->seg[node->no].no = 0;
    }
}

static void on_replica(struct sim *s, struct proc *p, const struct proc *node, peer_no peer,
                       struct msg_replica m)
{
    struct stream *st = stream_of(p->router, node);
    int rc;

    if (m.stamp_ms != 0)
        m.stamp_ms += (msec_t)peer << SKEW_SHIFT;
    rc = st != NULL ? stream_apply(st, &m, sim_ms(s)) : 0;
    if (rc < 0)
        sim_fail(s, "%s cannot apply what %s says of its lines: %s", p->name, node->name,
                 sq_strerror(rc));
    if (listeners_pushed(&p->router->listeners, p->router->r, &p->router->known))
        listen_run(s, p);
}

bool srouter_tells(const struct proc *p, const struct proc *node, seg_id seg, uint32_t number,
                   uint64_t *position)
{
    const struct stream *st = p->alive ? stream_of(p->router, node) : NULL;
    const struct known_name *n = st != NULL ? stream_name(st, seg) : NULL;
    uint32_t rank;

    if (n == NULL || n->flags & ~REPLICA_NEW ||
        stream_age_ms(st, sim_ms(p->sim)) > p->router->known.fresh_ms)
        return false;
    *position = line_rank(&n->line, number, &rank) ? n->before + rank + 1 : 0;
    return true;
}

void srouter_tick(struct sim *s, struct proc *p)
{
    for (unsigned i = 0; i < s->n_procs; i++)
        if (s->proc[i].kind == SIM_SEG && p->router->seg[s->proc[i].no].peer != 0)
            say_seen(s, p, &s->proc[i]);
    listen_run(s, p);
}

void srouter_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other)
{
    if (other->kind == SIM_SEG) {
        known_up(s, p, peer, other);
        return;
    }
    p->router->mng[other->no].peer = peer;
    reg(s, p, other->no, false);
}

void srouter_down(struct sim *s, struct proc *p, const struct proc *other)
{
    struct srouter *r = p->router;

    if (other->kind != SIM_SEG)
        return;
    known_down(r, other);
    for (unsigned kind = 0; kind < N_KINDS; kind++) {
        struct lane_out *o = &r->out[other->no][kind], was = *o;

        o->n_flying = o->n_pending = 0;
        o->rid = 0;
        for (uint32_t i = 0; i < was.n_flying + was.n_pending; i++) {
            struct ref x = i < was.n_flying ? was.flying[i] : was.pending[i - was.n_flying];
            struct sflow *f = alive(r, x);

            if (f == NULL)
                continue;
            flow_lost(&f->f, sim_ms(s));
            go(s, p, x.flow);
        }
    }
}

/* ---- messages ------------------------------------------------------------------------ */

static void on_map(struct sim *s, struct proc *p, unsigned mng, const struct msg_map *g)
{
    struct srouter *r = p->router;
    uint64_t epoch = routes_epoch(r->r), version = routes_version(r->r);
    const struct route_node *v;
    int rc = routes_apply(r->r, g);

    if (rc == SQ_ESTALE && g->epoch < epoch && s->o.managers > 1)
        return; /* of one who led before: asking again brings the same */
    if (rc == SQ_ESTALE) {
        if (!r->mng[mng].asked_all)
            reg(s, p, mng, true);
        return;
    }
    if (rc < 0)
        sim_fail(s, "%s cannot apply a map: %s", p->name, sq_strerror(rc));
    if (g->more)
        return;
    known_forget(s, r);
    r->mng[mng].asked_all = false;
    if (routes_epoch(r->r) < epoch ||
        (routes_epoch(r->r) == epoch && routes_version(r->r) < version))
        sim_fail(s, "I11: the map of %s went back", p->name);
    for (size_t i = routes_nodes(r->r, &v); i-- > 0;)
        if (proc_named(s, v[i].name) != NULL)
            net_want(s, p, proc_named(s, v[i].name));
    for (uint32_t i = 0; i < r->n; i++)
        if (r->flow[i].used && r->flow[i].f.todo == FLOW_WAIT_MAP) {
            flow_retry(&r->flow[i].f, r->r, sim_ms(s));
            go(s, p, i);
        }
}

static void give(struct sim *s, struct sflow *f, struct routes *r, unsigned kind,
                 const struct msg *m, uint32_t i)
{
    if (kind == KIND_PLACE) {
        const struct place_ans *a = &m->place_ans.ans[i];

        if (a->state == PLACE_ADMITTED)
            f->pass = check_hash(a->pass, a->pass_len);
        flow_place_ans(&f->f, r, a, sim_ms(s));
    } else if (kind == KIND_APPEND) {
        const struct append_ans *a = &m->append_ans.ans[i];

        if (a->state == APPEND_ENTERED)
            f->pass = check_hash(a->pass, a->pass_len);
        flow_append_ans(&f->f, r, a, sim_ms(s));
    } else if (kind == KIND_SESSION) {
        flow_session_ans(&f->f, r, &m->session_ans.ans[i], sim_ms(s));
    } else {
        flow_drop_ans(&f->f, r, &m->drop_ans.ans[i], sim_ms(s));
    }
}

static void on_answers(struct sim *s, struct proc *p, struct proc *node, unsigned kind,
                       uint64_t rid, const struct msg *m, uint32_t n)
{
    struct srouter *r = p->router;
    struct lane_out *o = &r->out[node->no][kind];
    struct ref was[BATCH];

    if (o->n_flying == 0 || rid != o->rid)
        return; /* of an earlier connection */
    if (n != o->n_flying) {
        sim_fail(s, "%s answered %u of %u requests", node->name, n, o->n_flying);
        return;
    }
    memcpy(was, o->flying, n * sizeof(was[0]));
    o->n_flying = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct sflow *f = alive(r, was[i]);

        if (f == NULL)
            continue;
        give(s, f, r->r, kind, m, i);
        go(s, p, was[i].flow);
    }
    flush(s, p, node, kind);
}

static void on_longer(const struct proc *p, const struct msg_session *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        struct pass_row row = { .seg = g->req[i].seg,
                                .number = g->req[i].number,
                                .until_s = g->req[i].until_s };

        revoked_add(&p->router->extended, &row, least_s(p));
    }
}

void srouter_msg(struct sim *s, struct proc *p, const struct proc *from, peer_no peer,
                 uint64_t rid, const struct msg *m)
{
    struct proc *node = &s->proc[from->idx];

    switch (m->type) {
    case MSG_MAP:
        if (peer == p->router->mng[from->no].peer)
            on_map(s, p, from->no, &m->map);
        break;
    case MSG_ERROR:
        if (m->error.code == SQ_EUNKNOWN && m->error.about == MSG_SEEN)
            stream_refused(stream_of(p->router, node));
        else if (m->error.code != SQ_ENOTLEADER)
            sim_fail(s, "%s is refused: %d", p->name, m->error.code);
        break;
    case MSG_STATS:
        routes_stats(p->router->r, &m->stats);
        replicas_reach(&p->router->known, &m->stats, sim_ms(s));
        pass_clock_told(&p->router->pass_clock, sim_ms(s), m->stats.clock_ms);
        p->router->clock_at = s->now;
        break;
    case MSG_PLACE_ANS:
        on_answers(s, p, node, KIND_PLACE, rid, m, m->place_ans.n);
        break;
    case MSG_APPEND_ANS:
        on_answers(s, p, node, KIND_APPEND, rid, m, m->append_ans.n);
        break;
    case MSG_DROP_ANS:
        on_answers(s, p, node, KIND_DROP, rid, m, m->drop_ans.n);
        break;
    case MSG_SESSION_ANS:
        on_answers(s, p, node, KIND_SESSION, rid, m, m->session_ans.n);
        break;
    case MSG_SESSION:
        on_longer(p, &m->session);
        break;
    case MSG_REPLICA:
        if (peer == p->router->seg[node->no].peer)
            on_replica(s, p, node, peer, m->replica);
        break;
    case MSG_PASSES:
        for (uint32_t i = 0; i < m->passes.n; i++)
            revoked_add(&p->router->revoked, &m->passes.rows[i], least_s(p));
        break;
    default:
        sim_fail(s, "%s got %s", p->name, msg_name(m->type));
        break;
    }
}
