/* router_asks.c: one frame of a kind at a time. */
#include "tests/lib/sim/router_asks.h"

#include "router/flow/places.h"

#include <string.h>

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"

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

/* asks: a join asks again where it could wait at the node: one router of four is of a release that does. */
static void put_request(struct msg *m, unsigned kind, uint32_t i, const struct sflow *x, bool asks)
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
            .old_issued_s = f->old.issued_s,
            .later = !asks && x->subject_hash != 0,
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

static void fly_no_more(struct sim *s, struct lane_out *o)
{
    for (uint32_t i = 0; i < o->n_flying; i++)
        if (o->n_late == ARRAY_LEN(o->late))
            sim_fail(s, "too many joins wait");
        else
            o->late[o->n_late++] = (struct late){ o->flying[i], o->rid, i, o->n_flying };
    o->n_flying = 0;
}

#define SLOW_US 5000 /* joins that wait at the node hold up no others */

static bool is_free(struct sim *s, struct lane_out *o, unsigned kind)
{
    if (kind == KIND_APPEND && s->now - o->sent_at > SLOW_US)
        fly_no_more(s, o);
    return o->n_flying == 0;
}

/* Sends what is collected if no frame of the kind is under way. */
static void flush(struct sim *s, struct proc *p, struct proc *node, unsigned kind)
{
    struct srouter *r = p->router;
    struct lane_out *o = &r->out[node->no][kind];
    struct conn *c = net_up(s, p, node);
    struct msg m = { 0 };
    uint32_t taken = 0;

    if (c == NULL || !is_free(s, o, kind) || o->n_pending == 0)
        return;
    arena_reset(&s->ans_arena);
    request_room(&m, kind, &s->ans_arena);
    while (taken < o->n_pending && o->n_flying < BATCH) {
        struct ref x = o->pending[taken++];
        struct sflow *f = alive(r, x);

        if (f == NULL)
            continue;
        put_request(&m, kind, o->n_flying, f, (p->no + s->o.seed) % 4 == 0 || !flow_may_wait(&f->f, sim_ms(s)));
        o->flying[o->n_flying++] = x;
    }
    o->n_pending -= taken;
    memmove(o->pending, o->pending + taken, o->n_pending * sizeof(o->pending[0]));
    if (o->n_flying == 0)
        return;
    set_n(&m, kind, o->n_flying);
    o->rid = ++r->next_rid;
    o->sent_at = s->now;
    net_send(s, p, net_peer(c, 0), &m, o->rid);
}

struct proc *router_node(struct sim *s, const struct srouter *r, node_no no)
{
    const struct route_node *v;
    size_t n = routes_nodes(r->r, &v);

    for (size_t i = 0; i < n; i++)
        if (v[i].no == no)
            return proc_named(s, v[i].name);
    return NULL;
}

void router_ask(struct sim *s, struct proc *p, uint32_t i)
{
    struct srouter *r = p->router;
    struct sflow *f = &r->flow[i];
    struct proc *node = router_node(s, r, f->f.node);
    struct lane_out *o;
    unsigned kind = kind_of(&f->f);

    if (node == NULL || net_up(s, p, node) == NULL) {
        flow_unreached(&f->f, sim_ms(s));
        router_go(s, p, i);
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

bool router_is_sent(struct sim *s, const struct proc *p, uint32_t i)
{
    const struct sflow *f = &p->router->flow[i];
    const struct proc *node = router_node(s, p->router, f->f.node);
    const struct lane_out *o = node != NULL ? &p->router->out[node->no][kind_of(&f->f)] : NULL;

    for (uint32_t k = 0; o != NULL && k < o->n_pending; k++)
        if (o->pending[k].flow == i && o->pending[k].gen == f->gen)
            return false;
    return o != NULL;
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
        if (f->late)
            place_came_late(&f->f, r, a, true, sim_ms(s));
        else
            flow_append_ans(&f->f, r, a, sim_ms(s));
    } else if (kind == KIND_SESSION) {
        flow_session_ans(&f->f, r, &m->session_ans.ans[i], sim_ms(s));
    } else {
        flow_drop_ans(&f->f, r, &m->drop_ans.ans[i], sim_ms(s));
    }
}

static void given(struct sim *s, struct proc *p, struct ref x, unsigned kind, const struct msg *m, uint32_t i)
{
    struct sflow *f = alive(p->router, x);

    if (f == NULL)
        return;
    give(s, f, p->router->r, kind, m, i);
    router_go(s, p, x.flow);
}

/* NULL: of an earlier connection, or it has its answer. */
static struct late *late_row(struct lane_out *o, uint64_t rid, uint32_t row)
{
    for (uint32_t k = 0; k < o->n_late; k++)
        if (o->late[k].rid == rid && (o->late[k].row == row || row == UINT32_MAX))
            return &o->late[k];
    return NULL;
}

static void joins_answered(struct sim *s, struct proc *p, struct lane_out *o, uint64_t rid, const struct msg *m,
                           uint32_t n)
{
    const struct append_ans *a = m->append_ans.ans;
    const struct late *any;
    bool rows;

    if (rid == o->rid)
        fly_no_more(s, o);
    any = late_row(o, rid, UINT32_MAX);
    rows = any != NULL && n > 0 && (n < any->n || (a[0].row | a[n - 1].row) != 0);
    for (uint32_t i = 0; any != NULL && i < n; i++) {
        struct late *x = late_row(o, rid, rows ? a[i].row : i), was;

        if (x == NULL) {
            sim_fail(s, "a join is answered twice");
            return;
        }
        was = *x;
        *x = o->late[--o->n_late];
        given(s, p, was.of, KIND_APPEND, m, i);
    }
}

void router_answered(struct sim *s, struct proc *p, struct proc *node, unsigned kind,
                       uint64_t rid, const struct msg *m, uint32_t n)
{
    struct srouter *r = p->router;
    struct lane_out *o = &r->out[node->no][kind];
    struct ref was[BATCH];

    if (kind == KIND_APPEND) {
        joins_answered(s, p, o, rid, m, n);
        flush(s, p, node, kind);
        return;
    }
    if (o->n_flying == 0 || rid != o->rid)
        return; /* of an earlier connection */
    if (n != o->n_flying) {
        sim_fail(s, "%s answered %u of %u requests", node->name, n, o->n_flying);
        return;
    }
    memcpy(was, o->flying, n * sizeof(was[0]));
    o->n_flying = 0;
    for (uint32_t i = 0; i < n; i++)
        given(s, p, was[i], kind, m, i);
    flush(s, p, node, kind);
}

static void lost(struct sim *s, struct proc *p, struct ref x)
{
    struct sflow *f = alive(p->router, x);

    if (f == NULL)
        return;
    flow_lost(&f->f, sim_ms(s));
    s->count.again += f->f.lost && f->f.todo == FLOW_WAIT_MAP;
    router_go(s, p, x.flow);
}

void router_asks_lost(struct sim *s, struct proc *p, const struct proc *other)
{
    struct srouter *r = p->router;

    for (unsigned kind = 0; kind < N_KINDS; kind++) {
        struct lane_out *o = &r->out[other->no][kind], was = *o;

        o->n_flying = o->n_pending = o->n_late = 0;
        o->rid = 0;
        for (uint32_t i = 0; i < was.n_late; i++)
            lost(s, p, was.late[i].of);
        for (uint32_t i = 0; i < was.n_flying + was.n_pending; i++)
            lost(s, p, i < was.n_flying ? was.flying[i] : was.pending[i - was.n_flying]);
    }
}
