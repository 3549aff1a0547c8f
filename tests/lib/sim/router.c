/* router.c: a router around the real routes and flows. */
#include "tests/lib/sim/router.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/groups.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/router_asks.h"
#include "tests/lib/sim/router_known.h"
#include "tests/lib/sim/sessions.h"
#include "tests/lib/sim/subjects.h"
#include "tests/lib/sim/turns.h"

#include "common/base/err.h"

#include <stdlib.h>
#include <string.h>

#include "segment/core/location.h"
#include "segment/core/segment.h"

struct srouter *srouter_new(const struct sim *s)
{
    struct srouter *r = sim_alloc(sizeof(*r));
    msec_t fresh_ms = ms_max(s->o.fresh_ms, 0);

    r->r = routes_new();
    replicas_init(&r->known, fresh_ms, ms_max(s->o.keep_ms, 0), 7);
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
    a->starved = q->starved;
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
    groups_router_dies(s, p);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->flow[i].used && r->flow[i].look == NULL && !r->flow[i].repeats && r->flow[i].party == NULL &&
            !r->flow[i].late)
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

#define WAY_COUNTS_US ((usec_t)10e6) /* a least way counts for one to two spans of five seconds */

_Static_assert(SIM_FAR_MS == STREAM_FAR_MS, "what a router lets a node be away");

static usec_t stamp_of(const struct stream *st)
{
    return (st->now.stamp_ms & ((1ll << SKEW_SHIFT) - 1)) * 1000;
}

/* Nothing of them was slow, or stood still, while a way counts. */
static bool was_quick(const struct sim *s, const struct proc *a, const struct proc *b)
{
    const usec_t of[] = { s->slow_until[a->idx][b->idx], s->slow_until[b->idx][a->idx],
                          a->slow_until, a->paused_until, a->rest_until,
                          b->slow_until, b->paused_until, b->rest_until, b->disk_slow_until };
    usec_t last = 0;

    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        last = of[i] > last ? of[i] : last;
    return s->o.ocean_ms <= 0 && last + WAY_COUNTS_US < s->now;
}

/* Time by which what a node says may be older, as the router knows it; near by there is none. */
static msec_t far_ms(struct sim *s, const struct proc *p, const struct proc *node,
                     const struct stream *st)
{
    if (st->far_ms > 0 && node != NULL && was_quick(s, p, node))
        sim_fail(s, "I-R1: %s holds %s to be %lld ms away", p->name, node->name, (long long)st->far_ms);
    return st->far_ms;
}

/* Of a name on its way the node of its heir has the say, too. */
static usec_t heirs_stamp(struct sim *s, const struct proc *p, const struct flow *f, msec_t *far)
{
    const struct srouter *r = p->router;
    seg_id heir = replicas_heads_for(&r->known, f->node, &f->token);
    struct route_owner o;
    const struct stream *st;

    if (heir == 0 || f->position == 0 || routes_owner(r->r, heir, &o) < 0 ||
        (st = map_get_ptr(&r->known.streams, o.node)) == NULL)
        return INT64_MAX;
    *far = ms_max(*far, far_ms(s, p, router_node(s, r, o.node), st));
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
    const struct proc *node = router_node(s, p->router, x->f.node);
    struct known known = of_now(s);

    known.node = node != NULL ? node->idx : 0;
    if (!x->f.known || x->f.result == FLOW_GONE)
        return known; /* its node has answered, if any, or it has left: nothing is newer */
    known.far_ms = far_ms(s, p, node, st);
    known.as_of = ms_min(stamp_of(st), heirs_stamp(s, p, &x->f, &known.far_ms));
    known.kept = stream_age_ms(st, sim_ms(s)) >
                 ms_min(k->fresh_ms + st->far_ms, s->o.poll_min_ms * 9 / 10);
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
    x->req.starved = x->put_off && s->now - x->heard_at > s->o.idle_ms * 1000;
    answer(s, &x->req, &f->f, f->pass, known, &x->sent_at);
}

static void forget(struct srouter *r, struct slistener *x)
{
    listeners_want_no_more(&x->l, &r->known);
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
    x->heard_at = s->now;
    x->put_off = false;
    return x;
}

/* The look of somebody who listens has ended. False: it is a poll's. */
static bool looked(struct sim *s, struct proc *p, const struct sflow *f, struct known known)
{
    struct srouter *r = p->router;
    struct slistener *x = f->look != NULL ? f->look : begins(s, r, f);

    if (f->look == NULL && x != NULL)
        x->l.wanted = f->wanted;
    else if (f->look == NULL)
        replicas_want_no_more(&r->known, f->wanted, &f->f.token);
    if (x == NULL)
        return false;
    if (f->f.result == FLOW_OK && !f->f.admitted) {
        if (listeners_heard(&r->listeners, &x->l, &f->f, f->f.no_place, true, sim_ms(s)))
            event(s, x, f, known);
        listeners_want(&x->l, &r->known, f->f.node);
        x->heard_at = s->now;
        x->put_off = false;
    } else if (f->f.result == FLOW_OK || f->f.result == FLOW_GONE) {
        event(s, x, f, known);
        forget(r, x);
    } else {
        listeners_put_off(&r->listeners, &x->l, sim_ms(s));
        x->put_off = true;
    }
    return true;
}

/* A flow holds at most one timer; an ask has one, too: for its deadline. */
void router_go(struct sim *s, struct proc *p, uint32_t i)
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
        if (f->f.lost && !f->repeats)
            subject_told_again(s, &f->f);
        if (f->f.kind == FLOW_SESSION && f->f.result == FLOW_OK && f->f.command != SESS_USE)
            take_note(p, f);
        over = flow_saw_the_end(&f->f, &node);
        if (over != NULL)
            replicas_over(&r->known, node, over);
        router_note_leave(s, r, f);
        known = check_answered(s, p, f);
        f->used = false;
        f->wake_gen = 0;
        if (f->repeats)
            return;
        if (f->party != NULL || f->late) {
            group_flow_ended(s, p, i);
            return;
        }
        if (!f->req.listens || !looked(s, p, f, known))
            answer(s, &f->req, &f->f, f->pass, known, NULL);
        return;
    }
    f->wake_gen = e.c = ++r->next_wake;
    sim_at(s, f->f.wake_ms * 1000, e);
    if (f->f.todo == FLOW_ASK)
        router_ask(s, p, i);
}

uint32_t router_flow_slot(struct srouter *r)
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
    if (first)
        f->wanted = replicas_want(&r->known, f->f.node, &f->req.token);
}

static void on_request(struct sim *s, struct proc *p, const struct sreq *q)
{
    struct srouter *r = p->router;
    uint32_t i = router_flow_slot(r);
    struct sflow *f = &r->flow[i];
    const char *name = s->queue[q->queue].name;

    f->used = true;
    f->gen++;
    f->req = *q;
    f->look = NULL;
    f->party = NULL;
    f->late = false;
    f->repeats = false;
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
    f->f.named = q->kind == FLOW_JOIN && f->subject_hash != 0;
    router_go(s, p, i);
}

/* A player that asks, or rests, has closed its connection. */
static bool is_closed(const struct sim *s, const struct slistener *x)
{
    return s->player[x->req.player].gen != x->req.gen;
}

/* row: what its node says; NULL: it may have to be asked. */
static void look(struct sim *s, struct proc *p, struct slistener *x, const struct let_in_row *row)
{
    struct srouter *r = p->router;
    uint32_t i = router_flow_slot(r);
    struct sflow *f = &r->flow[i];

    f->used = true;
    f->gen++;
    f->req = x->req;
    f->look = x;
    f->party = NULL;
    f->late = false;
    f->repeats = false;
    f->pass = 0;
    f->subject_hash = 0;
    if (row == NULL) {
        poll(s, r, f);
    } else {
        struct place_ans a = { .state = PLACE_ADMITTED,
                               .released_at_ms = row->released_at_ms,
                               .pass_expires_s = row->pass_expires_s };

        flow_poll(&f->f, r->r, NULL, &f->req.token, sim_ms(s));
        if (f->f.todo == FLOW_ASK) {
            f->pass = check_hash((const char *)row->pass, row->pass_len);
            flow_place_ans(&f->f, r->r, &a, sim_ms(s));
        }
    }
    router_go(s, p, i);
}

/* The look that is under way ends: nobody waits for it. */
static void looks_no_more(struct srouter *r, const struct slistener *x)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->flow[i].used && r->flow[i].look == x) {
            r->flow[i].used = false;
            r->flow[i].wake_gen = 0;
        }
}

static void on_let_in(struct sim *s, struct proc *p, const struct proc *node,
                      const struct let_in_row *row)
{
    struct srouter *r = p->router;
    uint32_t below = UINT32_MAX;
    struct listen_ticket *l;

    if (!replicas_is_fresh(&r->known, r->seg[node->no].no, sim_ms(s)))
        return;
    while ((l = listeners_of(&r->listeners, row->seg, row->number, &below)) != NULL) {
        struct slistener *x = container_of(l, struct slistener, l);

        looks_no_more(r, x);
        if (is_closed(s, x)) {
            forget(r, x);
            continue;
        }
        listeners_look(&r->listeners, l);
        s->count.let_in_unasked++;
        look(s, p, x, row);
    }
}

void router_listen_run(struct sim *s, struct proc *p)
{
    struct listeners *l = &p->router->listeners;
    enum listen_todo todo;
    struct listen_ticket *x;

    while ((x = listeners_due(l, sim_ms(s), &todo)) != NULL) {
        struct slistener *who = container_of(x, struct slistener, l);

        if (is_closed(s, who))
            forget(p->router, who);
        else if (todo == LISTEN_LOOK)
            look(s, p, who, NULL);
    }
}

/* A flow's timer. */
static void wake(struct sim *s, struct proc *p, uint32_t i)
{
    struct srouter *r = p->router;
    struct sflow *f = &r->flow[i];

    if (group_waits_on(f) && sim_ms(s) >= f->f.deadline_ms && router_is_sent(s, p, i) &&
        group_outlive(s, p, i, &i) && i == UINT32_MAX)
        return;
    flow_retry(&r->flow[i].f, r->r, sim_ms(s));
    if (r->flow[i].f.todo == FLOW_ASK && r->flow[i].f.wake_ms <= sim_ms(s))
        sim_fail(s, "a flow at %s does not end at its deadline", p->name);
    router_go(s, p, i);
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
    if (e->a < r->n && r->flow[e->a].used && r->flow[e->a].wake_gen == e->c)
        wake(s, p, e->a);
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
    m.router_reg.region = SIM_REGION(s, p->no);
    r->mng[mng].asked_all = all;
    net_send(s, p, r->mng[mng].peer, &m, 0);
}

static void repeat_leaves(struct sim *s, struct proc *p)
{
    struct srouter *r = p->router;
    struct flow f;
    uint32_t i = 0;

    while (flow_leave_again(&f, r->r, &r->known, &i, sim_ms(s))) {
        uint32_t n = router_flow_slot(r);
        struct sflow *x = &r->flow[n];

        *x = (struct sflow) { .used = true, .repeats = true, .gen = x->gen + 1, .f = f };
        router_go(s, p, n);
    }
}

/* Where most people join changes each minute: the manager opens segments there. */
static void tell_joins(struct sim *s, struct proc *p)
{
    struct msg m = { .type = MSG_JOINS };

    if (s->o.ocean_ms <= 0)
        return;
    m.joins.all = sim_ms(s) / 60000 % 3 == p->no % 3 ? 10 : 1;
    for (unsigned i = 0; i < s->o.managers; i++)
        if (p->router->mng[i].peer != 0)
            net_send(s, p, p->router->mng[i].peer, &m, 0);
}

void srouter_tick(struct sim *s, struct proc *p)
{
    tell_joins(s, p);
    for (unsigned i = 0; i < s->n_procs; i++)
        if (s->proc[i].kind == SIM_SEG && p->router->seg[s->proc[i].no].peer != 0)
            router_say_seen(s, p, &s->proc[i]);
    router_listen_run(s, p);
    repeat_leaves(s, p);
}

void srouter_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other)
{
    if (other->kind == SIM_SEG) {
        router_known_up(s, p, peer, other);
        return;
    }
    p->router->mng[other->no].peer = peer;
    reg(s, p, other->no, false);
    router_tell_left(s, p, peer, LEAVES_ALL);
}

void srouter_down(struct sim *s, struct proc *p, const struct proc *other)
{
    if (other->kind != SIM_SEG)
        return;
    router_known_down(s, p, other);
    router_asks_lost(s, p, other);
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
    router_known_forget(s, r);
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
            router_go(s, p, i);
        }
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
        if (m->error.code != SQ_ENOTLEADER)
            sim_fail(s, "%s is refused: %d", p->name, m->error.code);
        break;
    case MSG_STATS:
        routes_stats(p->router->r, &m->stats);
        if (replicas_reach(&p->router->known, &m->stats, sim_ms(s)))
            router_tells_left(s, p);
        pass_clock_told(&p->router->pass_clock, sim_ms(s), m->stats.clock_ms);
        p->router->clock_at = s->now;
        break;
    case MSG_LEFT:
        leaves_heard(&p->router->known.leaves, &m->left, sim_ms(s));
        break;
    case MSG_PLACE_ANS:
        router_answered(s, p, node, KIND_PLACE, rid, m, m->place_ans.n);
        break;
    case MSG_APPEND_ANS:
        router_answered(s, p, node, KIND_APPEND, rid, m, m->append_ans.n);
        break;
    case MSG_DROP_ANS:
        router_answered(s, p, node, KIND_DROP, rid, m, m->drop_ans.n);
        break;
    case MSG_SESSION_ANS:
        router_answered(s, p, node, KIND_SESSION, rid, m, m->session_ans.n);
        break;
    case MSG_SESSION:
        on_longer(p, &m->session);
        break;
    case MSG_TURN:
        turns_heard(s, p, peer, &m->turn);
        break;
    case MSG_LET_IN:
        for (uint32_t i = 0; i < m->let_in.n && peer == p->router->seg[node->no].peer; i++)
            on_let_in(s, p, node, &m->let_in.v[i]);
        break;
    case MSG_REPLICA:
        if (peer == p->router->seg[node->no].peer)
            router_pushed(s, p, node, peer, m->replica);
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
