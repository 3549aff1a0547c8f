/* seg_link.c: see seg_link.h. */
#include "router/links/seg_link.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "router/links/seg_batch.h"
#include "router/links/turn.h"

#define LOG_MODULE "replica"

#define FAREWELL_MS 250
#define REPEATS_MAX 256 /* leaves, each time */
#define HOOK_RANK   5 /* before httpd's: what fails here is answered in this turn */

/* ---- the replica: MSG_REPLICA comes in, MSG_SEEN goes out -------------------------------- */

static struct replicas *known(const struct seg_links *s)
{
    return &s->r->replicas;
}

static void say(struct seg_link *l, const struct msg_seen *seen)
{
    struct msg m = { .type = MSG_SEEN, .seen = *seen };

    if (rpc_send(l->n.ch, &m, 0) < 0) /* sent again with the next link */
        rpc_chan_close(l->n.ch, "no memory to say which polls were answered");
}

/* NULL: nothing is said to it. */
static struct stream *listener(struct seg_link *l)
{
    struct stream *st = replicas_stream(known(l->s), l->n.no);

    return st != NULL && st->up ? st : NULL;
}

static void say_all(struct seg_link *l)
{
    struct stream *st = listener(l);
    struct msg_seen m;

    while (st != NULL && stream_seen(st, ev_now(l->s->r->ev), &m))
        say(l, &m);
}

static void farewell_ends(struct seg_links *s)
{
    ev_fn done = s->farewell_done;

    s->farewell_done = NULL;
    ev_timer_at(s->seen_timer, MSEC_NEVER);
    done(s->farewell_arg);
}

static void leave_done(struct router *r, struct rflow *rf)
{
    if (rf->flow.result != FLOW_OK)
        leaves_again(&r->replicas.leaves, &rf->flow.token);
}

/* Leaves that nodes may have lost are said to them again (router/replica/replicas.h). */
static void repeat_leaves(struct router *r)
{
    msec_t now_ms = ev_now(r->ev);
    struct flow f;

    for (uint32_t i = 0, n = 0; n < REPEATS_MAX; n++) {
        struct rflow *rf;

        if (!flow_leave_again(&f, r->routes, &r->replicas, &i, now_ms))
            return;
        rf = rflow_new(r, NULL, leave_done, NULL);
        if (rf == NULL) {
            leaves_again(&r->replicas.leaves, &f.token);
            return;
        }
        rf->as = RFLOW_LOOKS;
        rf->flow = f;
        rflow_begin(r, rf);
    }
}

static void on_timer(void *arg)
{
    struct seg_links *s = arg;
    struct seg_link *l;

    if (s->farewell_done != NULL) {
        farewell_ends(s);
        return;
    }
    each_node_link (&s->nodes, l)
        say_all(l);
    repeat_leaves(s->r);
    ev_timer_about(s->seen_timer, STREAM_SEEN_MS);
}

static int timers_init(struct seg_links *s)
{
    s->seen_timer = ev_timer_new(s->r->ev, on_timer, s);
    s->held_timer = ev_timer_new(s->r->ev, seg_batches_held, s);
    if (s->seen_timer == NULL || s->held_timer == NULL)
        return SQ_ENOMEM;
    if (known(s)->fresh_ms > 0)
        ev_timer_about(s->seen_timer, STREAM_SEEN_MS);
    return 0;
}

static void timers_free(struct seg_links *s)
{
    ev_timer_free(s->seen_timer);
    ev_timer_free(s->held_timer);
}

static void feed_up(struct seg_link *l)
{
    struct stream *st;

    if (known(l->s)->fresh_ms == 0 || (st = replicas_stream(known(l->s), l->n.no)) == NULL)
        return;
    stream_up(st, ev_now(l->s->r->ev));
    say_all(l);
}

static void feed_down(struct seg_link *l)
{
    struct replicas *k = known(l->s);
    struct stream *st = map_get_ptr(&k->streams, l->n.no);

    if (st == NULL || !st->up)
        return;
    stream_down(st);
    leaves_link_lost(&k->leaves, l->n.no);
    if (leaves_away(&k->leaves, l->n.no, ev_now(l->s->r->ev)) && l->s->r->tell_left != NULL)
        l->s->r->tell_left(l->s->r->mngs);
    if (k->keep_ms > 0 && st->now.names.n > 0)
        log_warn("event=replica_kept node=%s age_ms=%lld", l->n.name,
                 (long long)stream_age_ms(st, ev_now(l->s->r->ev)));
}

/* Counts all marks, and the farewell itself. */
static bool all_confirmed(struct seg_links *s)
{
    struct seg_link *l;

    each_node_link (&s->nodes, l) {
        const struct stream *st = listener(l);

        if (st != NULL && st->seen.acked < st->seen.seq)
            return false;
    }
    return true;
}

/* 0, or SQ_EPROTO: it does not follow what was said before. */
static int feed_in(struct seg_link *l, const struct msg_replica *m)
{
    struct seg_links *s = l->s;
    struct stream *st = listener(l);
    int rc = st != NULL ? stream_apply(st, m, ev_now(s->r->ev)) : SQ_EPROTO;

    if (rc < 0)
        log_warn("event=bad_replica node=%s stamp_ms=%lld rows=%u", l->n.name,
                 (long long)m->stamp_ms, m->n);
    else if (s->farewell_done != NULL && all_confirmed(s))
        farewell_ends(s);
    if (rc == 0 && listeners_pushed(&s->r->listeners, s->r->routes, known(s)))
        ev_timer_at(s->r->listen_timer, ev_now(s->r->ev));
    return rc;
}

/* ---- the link ---------------------------------------------------------------------------- */

static int on_passes(struct router *r, const struct msg_passes *m)
{
    int64_t now_s = router_least_s(r);

    for (uint32_t i = 0; i < m->n; i++)
        revoked_add(&r->revoked, &m->rows[i], now_s);
    return 0;
}

/* Sessions that were extended. */
static int on_longer(struct router *r, const struct msg_session *m)
{
    int64_t now_s = router_least_s(r);

    for (uint32_t i = 0; i < m->n; i++) {
        const struct sess_req *x = &m->req[i];

        if (x->command == SESS_EXTEND)
            revoked_add(&r->extended, &(struct pass_row) { .seg = x->seg, .number = x->number,
                                                           .until_s = x->until_s }, now_s);
    }
    return 0;
}

/* A jammed link brings no news: who listens looks, and is told what is so now. */
static int on_let_in(struct seg_link *l, const struct msg_let_in *m)
{
    struct router *r = l->s->r;

    for (uint32_t i = 0; i < m->n && replicas_is_fresh(known(l->s), l->n.no, ev_now(r->ev)); i++)
        r->let_in(r, &m->v[i]);
    return 0;
}

/* Tells a node what has become of its word about a turn; if the link is down it is said again. */
static void turn_told(struct router *r, node_no node, const struct msg_turn_ans *a)
{
    const struct node_link *l = node_links_reach(&r->segs->nodes, node);
    struct msg m = { .type = MSG_TURN_ANS, .turn_ans = *a };

    if (l != NULL && l->ch != NULL)
        (void)!rpc_send(l->ch, &m, 0);
}

static int on_msg(struct node_link *n, const struct msg *m, uint64_t rid)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    switch (m->type) {
    case MSG_PLACE_ANS:
    case MSG_APPEND_ANS:
    case MSG_DROP_ANS:
    case MSG_SESSION_ANS:
    case MSG_CONTACT_ANS:
        return seg_batch_answer(l, m, rid);
    case MSG_PASSES:
        return on_passes(l->s->r, &m->passes);
    case MSG_SESSION:
        return on_longer(l->s->r, &m->session);
    case MSG_REPLICA:
        return feed_in(l, &m->replica);
    case MSG_LET_IN:
        return on_let_in(l, &m->let_in);
    case MSG_TURN:
        turn_heard(l->s->r, n->no, &m->turn);
        return 0;
    default:
        return SQ_EPROTO;
    }
}

static bool on_refused(struct node_link *n, const struct msg_error *m, uint64_t rid)
{
    (void)m;
    seg_batch_refused(container_of(n, struct seg_link, n), rid);
    return false;
}

static void on_up(struct node_link *n)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    feed_up(l);
    rflow_node_up(l->s->r, n->no);
}

static void on_lost(struct node_link *n, bool was_up)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    if (was_up)
        feed_down(l);
    seg_batches_lost(l);
}

static void on_removed(struct router *r, node_no no)
{
    replicas_forget(&r->replicas, no);
}

static void link_init(struct node_link *n)
{
    struct seg_link *l = container_of(n, struct seg_link, n);

    l->s = container_of(n->of, struct seg_links, nodes);
    for (int i = 0; i < SEG_KINDS; i++) {
        struct kind *k = &l->kind[i];

        list_init(&k->open);
        list_init(&k->sent);
        list_init(&k->late);
        map_init(&k->by_rid, 0);
    }
}

static const struct node_links_kind kind = {
    .role = RPC_SEGMENT,
    .size = sizeof(struct seg_link),
    .init = link_init,
    .up = on_up,
    .msg = on_msg,
    .refused = on_refused,
    .lost = on_lost,
    .removed = on_removed,
};

void seg_links_sync(struct seg_links *s)
{
    const struct route_node *v;
    size_t n = routes_nodes(s->r->routes, &v);

    node_links_begin(&s->nodes);
    for (size_t i = 0; i < n; i++)
        node_links_want(&s->nodes, v[i].no, v[i].name, v[i].addr);
    node_links_end(&s->nodes);
}

static void on_turn_end(void *arg)
{
    seg_batches_send(arg);
}

struct seg_links *seg_links_new(struct router *r)
{
    struct seg_links *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->r = r;
    r->turn_told = turn_told;
    node_links_init(&s->nodes, r, &kind);
    list_init(&s->free_batches);
    if (timers_init(s) == 0 && ev_hook(r->ev, HOOK_RANK, on_turn_end, s) == 0)
        return s;
    timers_free(s);
    free(s);
    return NULL;
}

void seg_links_free(struct seg_links *s)
{
    if (s == NULL)
        return;
    ev_unhook(s->r->ev, on_turn_end, s);
    timers_free(s);
    node_links_free(&s->nodes);
    list_each (&s->free_batches, it)
        free(container_of(it, struct batch, in_list));
    free(s);
}

void seg_links_farewell(struct seg_links *s, ev_fn done, void *arg)
{
    struct seg_link *l;

    assert(s->farewell_done == NULL && done != NULL);
    s->farewell_done = done;
    s->farewell_arg = arg;
    each_node_link (&s->nodes, l) {
        struct stream *st = listener(l);
        struct msg_seen m;

        if (st == NULL)
            continue;
        say_all(l);
        stream_farewell(st, ev_now(s->r->ev), &m);
        say(l, &m);
    }
    if (all_confirmed(s))
        farewell_ends(s);
    else
        ev_timer_at(s->seen_timer, ev_now(s->r->ev) + FAREWELL_MS);
}
