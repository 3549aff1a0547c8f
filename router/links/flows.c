/* flows.c: see flows.h. */
#include "router/links/flows.h"

#include <assert.h>
#include <stdlib.h>

#include "router/flow/places.h"
#include "router/state/router.h"

#define FLOWS_MAX      262144 /* under way; more get 503 at once */
#define FREE_FLOWS_MAX 65536

#define LATE_MS 30000 /* a node that is started anew is back by then; idle times are longer */

static void arm(struct router *r, msec_t when)
{
    if (when < r->flow_timer_at) {
        r->flow_timer_at = when;
        ev_timer_at(r->flow_timer, when);
    }
}

static struct list *list_of(struct router *r, const struct rflow *rf)
{
    return rf->renewal != NULL ? &r->renewals : &r->flows;
}

static struct rflow *rflow_alloc(void)
{
    struct rflow *rf = malloc(sizeof(*rf));

    if (rf != NULL)
        rf->waits = WAITS_FLOW;
    return rf;
}

struct rflow *rflow_new(struct router *r, struct httpd_req *req, rflow_done done,
                        struct renewal *renewal)
{
    struct rflow *rf = list_entry(list_first(&r->free_flows), struct rflow, in_all);

    if (rf != NULL)
        list_remove(&r->free_flows, &rf->in_all);
    else if (r->flows.n + r->renewals.n < FLOWS_MAX)
        rf = rflow_alloc();
    if (rf == NULL)
        return NULL;
    assert(done != NULL);
    rf->req = req;
    rf->done = done;
    rf->slot = NULL;
    rf->page = NULL;
    rf->renewal = renewal;
    rf->use = NULL;
    rf->contact = NULL;
    rf->as = RFLOW_CALL;
    rf->outlived = false;
    rf->listening = NULL;
    rf->pass = NULL;
    rf->pass_len = 0;
    rf->subject_len = rf->head_len = 0;
    rf->in_waiting = (struct list_node) { NULL, NULL };
    rf->started_us = ev_now_us(r->ev);
    list_push_back(list_of(r, rf), &rf->in_all);
    if (req != NULL)
        httpd_set_user(req, rf);
    return rf;
}

struct rflow *rflow_call(struct router *r, struct httpd_req *req, rflow_done done,
                         const char *detail)
{
    struct rflow *rf = rflow_new(r, req, done, NULL);

    if (SQ_UNLIKELY(rf == NULL))
        router_problem(r, req, API_OVERLOADED, detail);
    return rf;
}

static void rflow_free(struct router *r, struct rflow *rf)
{
    assert(rf->slot == NULL && !list_linked(&rf->in_waiting)); /* no answer, no retry finds it */
    list_remove(list_of(r, rf), &rf->in_all);
    r->n_late -= rf->as == RFLOW_LATE;
    free(rf->page);
    free(rf->renewal);
    free(rf->use);
    free(rf->contact);
    rf->contact = NULL;
    rf->page = NULL;
    rf->renewal = NULL;
    rf->use = NULL;
    if (r->free_flows.n >= FREE_FLOWS_MAX)
        free(rf);
    else
        list_push_front(&r->free_flows, &rf->in_all);
}

void rflow_client_gone(struct rflow *rf)
{
    assert(rf->req != NULL);
    rf->req = NULL; /* asked, so done all the same: it may change the ticket */
}

/* The map says "full": no segment has room. If no node is reached, that is not the reason. */
static void judge_full(struct router *r, struct flow *f)
{
    size_t up, of;

    if (f->result != FLOW_FULL)
        return;
    seg_links_count(r->segs, &up, &of);
    if (up == 0)
        f->result = FLOW_UNAVAIL;
}

static void count_end(struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    uint64_t us = (uint64_t)(ev_now_us(r->ev) - rf->started_us);

    if (SQ_UNLIKELY(rf->as != RFLOW_CALL)) {
        if (rf->as == RFLOW_LOOKS || rf->as == RFLOW_LATE)
            return;
        if (rf->as == RFLOW_WATCHED)
            suspecting_placed(r, rf->client, f);
    }
    r->counts.unavailable += f->result == FLOW_UNAVAIL && rf->renewal == NULL;
    r->counts.full += f->result == FLOW_FULL;
    if (f->kind == FLOW_JOIN) {
        histo_add(&r->join_us, us);
        r->counts.held += f->hold_ms != 0;
        r->counts.entered += f->admitted;
    } else if (f->kind == FLOW_POLL) {
        histo_add(&r->poll_us, us);
    } else if (f->kind == FLOW_LEAVE) {
        histo_add(&r->leave_us, us);
    }
}

static void finish(struct router *r, struct rflow *rf)
{
    const struct token *over, *left;
    node_no node;

    assert(rf->flow.todo == FLOW_DONE);
    judge_full(r, &rf->flow);
    over = flow_saw_the_end(&rf->flow, &node);
    if (over != NULL)
        replicas_over(&r->replicas, node, over);
    left = flow_saw_leave(&rf->flow, &node);
    if (left != NULL)
        leaves_note(&r->replicas.leaves, node, left, ev_now(r->ev));
    count_end(r, rf);
    rf->done(r, rf);
    if (rf->req != NULL)
        router_answer(r, rf->req);
    else
        api_ans_reset(&r->ans);
    rflow_free(r, rf);
}

void rflow_step(struct router *r, struct rflow *rf)
{
    for (;;) {
        switch (rf->flow.todo) {
        case FLOW_ASK:
            if (seg_link_ask(r->segs, rf) == 0) {
                arm(r, rf->flow.deadline_ms);
                return;
            }
            r->counts.lost++;
            flow_unreached(&rf->flow, ev_now(r->ev));
            assert(rf->flow.todo != FLOW_ASK); /* ends this loop */
            break;
        case FLOW_WAIT_MAP:
            assert(!list_linked(&rf->in_waiting) && rf->flow.wake_ms <= rf->flow.deadline_ms);
            r->counts.retries++;
            list_push_back(&r->waiting, &rf->in_waiting);
            arm(r, rf->flow.wake_ms);
            return;
        case FLOW_DONE:
            finish(r, rf);
            return;
        }
    }
}

void rflow_begin(struct router *r, struct rflow *rf)
{
    struct flow *f = &rf->flow;
    msec_t most_ms = r->cfg->request_timeout;

    if (rf->renewal != NULL)
        most_ms = ms_min(most_ms, FLOW_RENEW_MS);
    f->deadline_ms = ev_now(r->ev) + most_ms;
    if (f->todo != FLOW_DONE)
        f->wake_ms = ms_min(f->wake_ms, f->deadline_ms);
    rflow_step(r, rf);
}

static void retry(struct router *r, struct rflow *rf)
{
    if (list_linked(&rf->in_waiting))
        list_remove(&r->waiting, &rf->in_waiting);
    if (rf->req == NULL)
        flow_let_go(&rf->flow);
    flow_retry(&rf->flow, r->routes, ev_now(r->ev));
    rflow_step(r, rf);
}

void rflow_map_changed(struct router *r)
{
    size_t n = r->waiting.n; /* flows that must wait again go to the end */

    for (size_t i = 0; i < n && r->waiting.n > 0; i++)
        retry(r, container_of(list_first(&r->waiting), struct rflow, in_waiting));
}

/* Others stay as they are: a hundred links come up one by one while everybody waits. */
void rflow_node_up(struct router *r, node_no node)
{
    size_t n = r->waiting.n;

    for (size_t i = 0; i < n && r->waiting.n > 0; i++) {
        struct list_node *it = list_first(&r->waiting);
        struct rflow *rf = container_of(it, struct rflow, in_waiting);

        if (rf->flow.node == node) {
            retry(r, rf);
            continue;
        }
        list_remove(&r->waiting, it);
        list_push_back(&r->waiting, it);
    }
}

static msec_t wake_due(struct router *r, msec_t now)
{
    msec_t next = MSEC_NEVER;
    size_t n = r->waiting.n;

    for (size_t i = 0; i < n && r->waiting.n > 0; i++) {
        struct list_node *it = list_first(&r->waiting);
        struct rflow *rf = container_of(it, struct rflow, in_waiting);

        if (rf->flow.wake_ms <= now) {
            retry(r, rf);
            continue;
        }
        next = ms_min(next, rf->flow.wake_ms);
        list_remove(&r->waiting, it);
        list_push_back(&r->waiting, it);
    }
    return next;
}

/* ---- places that are given back behind the answer ---- */

static void given_back(struct router *r, struct rflow *rf);

/* NULL: no memory, or too many: requests have the rest. */
static struct rflow *late_new(struct router *r, msec_t until_ms)
{
    struct rflow *rf = r->n_late < RFLOW_LATE_MAX ? rflow_new(r, NULL, given_back, NULL) : NULL;

    if (rf == NULL)
        return NULL;
    rf->as = RFLOW_LATE;
    rf->late_until_ms = until_ms;
    r->n_late++;
    return rf;
}

static void give_back(struct router *r, const struct token *t, bool bare, bool again, msec_t until_ms)
{
    struct rflow *rf = late_new(r, until_ms);

    if (rf == NULL)
        return;
    place_give_back(&rf->flow, r->routes, t, bare, again, ev_now(r->ev));
    rflow_begin(r, rf);
}

void rflow_give_back(struct router *r, const struct token *t, bool bare, bool again)
{
    give_back(r, t, bare, again, ev_now(r->ev) + LATE_MS);
}

/* Tries again what no node could be asked for. */
static void given_back(struct router *r, struct rflow *rf)
{
    const struct flow *f = &rf->flow;

    if (f->kind == FLOW_LEAVE && f->result == FLOW_UNAVAIL && ev_now(r->ev) < rf->late_until_ms)
        give_back(r, &f->token, !flow_gives_back(f), f->unsure, rf->late_until_ms);
}

/* Gives it its time anew: it is due last. */
static void last_longer(struct router *r, struct rflow *rf)
{
    struct flow *f = &rf->flow;

    f->deadline_ms = ev_now(r->ev) + r->cfg->request_timeout;
    f->wake_ms = f->todo == FLOW_ASK ? f->deadline_ms : ms_min(f->wake_ms, f->deadline_ms);
    list_remove(&r->flows, &rf->in_all);
    list_push_back(&r->flows, &rf->in_all);
}

void rflow_came_late(struct router *r, struct rflow *rf, const struct append_ans *a)
{
    assert(rf->as == RFLOW_LATE && rf->slot == NULL);
    place_came_late(&rf->flow, r->routes, a, rf->subject_len > 0, ev_now(r->ev));
    if (rf->flow.todo != FLOW_DONE)
        last_longer(r, rf);
}

/* Another flow waits for the answer to the ask of one that ends. */
static void outlive(struct router *r, struct rflow *rf)
{
    struct rflow *late = late_new(r, ev_now(r->ev) + LATE_MS);

    *rf->slot = late;
    rf->outlived = true; /* said again it would count twice */
    if (late == NULL)    /* drop its answer */
        return;
    late->slot = rf->slot;
    late->flow = rf->flow;
    late->flow.named = late->flow.whose = false; /* nothing is asked again */
    late->subject_len = rf->subject_len;
    last_longer(r, late);
}

/* Has its request left? Else it is being collected. */
static bool is_sent(struct seg_links *s, const struct rflow *rf)
{
    struct seg_link *l;

    assert(rf->slot != NULL);
    each_node_link (&s->nodes, l)
        list_each (&l->kind[rf->flow.asks].open, it) {
            const struct batch *b = container_of(it, struct batch, in_list);

            if (rf->slot >= b->v && rf->slot < b->v + MSG_BATCH_MAX)
                return false;
        }
    return true;
}

/* At the deadline of a flow whose ask is on its way. True: it goes on. */
static bool waits_on(struct router *r, struct rflow *rf)
{
    bool sent = SQ_UNLIKELY(rf->as >= RFLOW_PLACE) && is_sent(r->segs, rf);

    if (sent && rf->as == RFLOW_LATE && ev_now(r->ev) < rf->late_until_ms) {
        last_longer(r, rf);
        return true;
    }
    if (sent && rf->as == RFLOW_PLACE && rf->flow.asks != FLOW_POLL)
        outlive(r, rf);
    else
        *rf->slot = NULL; /* the answer will find nobody */
    rf->slot = NULL;
    return false;
}

/* Ends those that are due; when the next one is. */
static msec_t deadlines_due(struct router *r, struct list *of, msec_t now)
{
    struct list_node *it;

    while ((it = list_first(of)) != NULL) {
        struct rflow *rf = container_of(it, struct rflow, in_all);

        if (rf->flow.deadline_ms > now)
            return rf->flow.deadline_ms;
        if (rf->slot != NULL && waits_on(r, rf))
            continue;
        r->counts.overdue += rf->renewal == NULL && rf->as != RFLOW_LATE;
        retry(r, rf);
        if (rf == list_entry(list_first(of), struct rflow, in_all))
            break; /* cannot be: at its deadline a flow ends */
    }
    return MSEC_NEVER;
}

static void on_timer(void *arg)
{
    struct router *r = arg;
    msec_t now = ev_now(r->ev), next;

    r->flow_timer_at = MSEC_NEVER;
    next = wake_due(r, now);
    next = ms_min(next, deadlines_due(r, &r->flows, now));
    next = ms_min(next, deadlines_due(r, &r->renewals, now));
    if (next != MSEC_NEVER)
        arm(r, next);
}

int rflow_init(struct router *r)
{
    list_init(&r->flows);
    list_init(&r->renewals);
    list_init(&r->waiting);
    list_init(&r->free_flows);
    list_init(&r->places);
    list_init(&r->places_behind);
    r->flow_timer_at = MSEC_NEVER;
    r->flow_timer = ev_timer_new(r->ev, on_timer, r);
    return r->flow_timer != NULL ? 0 : SQ_ENOMEM;
}

void rflow_fini(struct router *r)
{
    struct list *all[] = { &r->free_flows, &r->flows, &r->renewals };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i]->head.next == NULL)
            continue;
        list_each (all[i], it) {
            struct rflow *rf = container_of(it, struct rflow, in_all);

            list_remove(all[i], it);
            if (i > 0) {
                free(rf->page);
                free(rf->renewal);
                free(rf->use);
                free(rf->contact);
            }
            free(rf);
        }
    }
    if (r->flow_timer != NULL)
        ev_timer_free(r->flow_timer);
}

#define FREE_BATCHES_MAX 64

static struct batch *batch_new(struct seg_links *s)
{
    struct batch *b = list_entry(list_first(&s->free_batches), struct batch, in_list);

    if (b != NULL)
        list_remove(&s->free_batches, &b->in_list);
    else
        b = malloc(sizeof(*b));
    if (b == NULL)
        return NULL;
    b->n = 0;
    b->since_us = ev_now_us(s->r->ev);
    return b;
}

void batch_free(struct seg_links *s, struct batch *b)
{
    if (s->free_batches.n >= FREE_BATCHES_MAX)
        free(b);
    else
        list_push_front(&s->free_batches, &b->in_list);
}

/* The batch that has room, or a new one behind the full ones. NULL: no memory, or nobody
 * knows when the node can be asked. */
static struct batch *open_batch(struct seg_links *s, struct seg_link *l, struct kind *k)
{
    struct batch *b = list_entry(list_last(&k->open), struct batch, in_list);

    if (b != NULL && b->n < MSG_BATCH_MAX)
        return b;
    if (b != NULL && l->n.ch == NULL)
        return NULL;
    b = batch_new(s);
    if (b != NULL)
        list_push_back(&k->open, &b->in_list);
    return b;
}

int seg_link_ask(struct seg_links *s, struct rflow *rf)
{
    struct seg_link *l = node_links_reach(&s->nodes, rf->flow.node);
    struct batch *b;

    assert(rf->slot == NULL); /* a flow waits for a single answer at a time */
    b = l != NULL ? open_batch(s, l, &l->kind[rf->flow.asks]) : NULL;
    if (b == NULL)
        return SQ_EUNAVAIL;
    rf->slot = &b->v[b->n++];
    *rf->slot = rf;
    return 0;
}

void seg_links_count(const struct seg_links *s, size_t *up, size_t *of)
{
    node_links_count(&s->nodes, up, of);
}
