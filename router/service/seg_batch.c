/* seg_batch.c: requests to segment nodes, in batches; their answers.
 *
 * A batch keeps, in the order of the requests in its frame, pointers to the flows; the
 * node's answer has the frame's request id and one answer for each, in the same order.
 * Failures and their answers:
 *   link breaks, or the node answers with an error or garbage -> flow_lost() for all in
 *     its batches; what is still collected is lost with it (flow.c decides who asks
 * again) a flow ends before its answer (deadline) -> its slot is emptied, the answer is
 * dropped */
#include "router/service/seg_int.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "seg_link"

#define BATCH_GO         64 /* this many do not wait for the answer before */
#define BATCH_GO_US      250
#define FREE_BATCHES_MAX 64

/* ---- batches ---- */

static struct batch *batch_new(struct seg_links *s)
{
    struct batch *b = list_entry(list_first(&s->free_batches), struct batch, in_sent);

    if (b != NULL)
        list_remove(&s->free_batches, &b->in_sent);
    else
        b = malloc(sizeof(*b));
    if (b == NULL)
        return NULL;
    b->n = 0;
    b->since_us = ev_now_us(s->r->ev);
    return b;
}

static void batch_free(struct seg_links *s, struct batch *b)
{
    if (s->free_batches.n >= FREE_BATCHES_MAX)
        free(b);
    else
        list_push_front(&s->free_batches, &b->in_sent);
}

/* Tells every flow in it that no answer will come. */
static void batch_lost(struct seg_links *s, struct batch *b)
{
    struct router *r = s->r;

    for (uint32_t i = 0; i < b->n; i++) {
        struct rflow *rf = b->v[i];

        if (rf == NULL)
            continue;
        b->v[i] = NULL;
        rf->slot = NULL;
        r->counts.lost++;
        flow_lost(&rf->flow, r->routes, ev_now(r->ev));
        rflow_step(r, rf);
    }
    batch_free(s, b);
}

/* ---- sending ---- */

static void fill(struct seg_links *s, enum flow_kind kind, struct batch *b, struct msg *m)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct rflow *rf = b->v[i];
        const struct token *t = &rf->flow.token;

        if (kind == FLOW_POLL)
            s->req.place[i] = (struct place_req) { rf->flow.seg, rf->flow.at_number, t->client };
        else if (kind == FLOW_LEAVE)
            s->req.drop[i] = (struct drop_req) { rf->flow.seg, rf->flow.at_number };
        else if (kind == FLOW_SESSION)
            s->req.session[i] = (struct sess_req) { .seg = rf->flow.seg,
                                                    .number = rf->flow.at_number,
                                                    .command = rf->flow.command,
                                                    .renews = rf->flow.renews,
                                                    .until_s = rf->flow.until_s };
        else
            s->req.append[i] = (struct append_req) {
                .seg = rf->flow.seg,
                .client = t->client,
                .subject_len = rf->flow.bare ? 0 : rf->subject_len,
                .subject_hash = rf->flow.bare || rf->subject_len == 0 ? 0 : t->subject_hash,
                .subject = rf->subject,
            };
    }
    memset(m, 0, sizeof(*m));
    if (kind == FLOW_POLL) {
        m->type = MSG_PLACE;
        m->place = (struct msg_place) { b->n, s->req.place };
    } else if (kind == FLOW_LEAVE) {
        m->type = MSG_DROP;
        m->drop = (struct msg_drop) { b->n, s->req.drop };
    } else if (kind == FLOW_SESSION) {
        m->type = MSG_SESSION;
        m->session = (struct msg_session) { b->n, s->req.session };
    } else {
        m->type = MSG_APPEND;
        m->append = (struct msg_append) { b->n, s->req.append };
    }
}

/* Flows that have ended while they were collected leave no hole in the frame. */
static void squeeze(struct batch *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        if (b->v[i] == NULL)
            continue;
        b->v[n] = b->v[i];
        b->v[n]->slot = &b->v[n];
        n++;
    }
    b->n = n;
}

static int put_frame(struct seg_link *l, enum flow_kind kind, struct batch *b)
{
    struct msg m;
    int rc;

    fill(l->s, kind, b, &m);
    rc = msg_encode(&m, rpc_begin(l->ch));
    if (rc < 0) {
        log_error("cannot encode %s: %s", msg_name(m.type), sq_strerror(rc));
        rpc_chan_close(l->ch, "a request could not be encoded");
        return rc;
    }
    return rpc_end(l->ch, m.type, b->rid);
}

static void send_open(struct seg_link *l, enum flow_kind kind)
{
    struct kind *k = &l->kind[kind];
    struct batch *b = k->open;

    k->open = NULL;
    squeeze(b);
    if (b->n == 0) {
        batch_free(l->s, b);
        return;
    }
    b->rid = ++l->s->next_rid;
    if (put_frame(l, kind, b) < 0) {
        batch_lost(l->s, b);
        return;
    }
    list_push_back(&k->sent, &b->in_sent);
    l->s->r->counts.batches++;
    l->s->r->counts.batched += b->n;
}

static void maybe_send(struct seg_link *l, int64_t now_us)
{
    if (l->ch == NULL)
        return;
    for (int i = 0; i < SEG_KINDS; i++) {
        struct kind *k = &l->kind[i];

        if (k->open != NULL && (k->sent.n == 0 || k->open->n >= BATCH_GO ||
                                now_us - k->open->since_us >= BATCH_GO_US))
            send_open(l, (enum flow_kind)i);
    }
}

void seg_batches_send(struct seg_links *s)
{
    uint64_t no, val;

    for (size_t i = 0; (i = map_next(&s->by_no, i, &no, &val)) != 0;)
        maybe_send((struct seg_link *)(uintptr_t)val, ev_now_us(s->r->ev));
}

int seg_link_ask(struct seg_links *s, struct rflow *rf)
{
    struct seg_link *l = map_get_ptr(&s->by_no, rf->flow.node);
    struct kind *k;

    if (l == NULL || (l->ch == NULL && l->failed))
        return SQ_EUNAVAIL;
    k = &l->kind[rf->flow.asks];
    if (k->open != NULL && k->open->n == MSG_BATCH_MAX) {
        if (l->ch == NULL)
            return SQ_EUNAVAIL;
        send_open(l, rf->flow.asks);
    }
    if (k->open == NULL)
        k->open = batch_new(s);
    if (k->open == NULL)
        return SQ_EUNAVAIL;
    rf->slot = &k->open->v[k->open->n++];
    *rf->slot = rf;
    return 0;
}

/* ---- answers ---- */

static struct batch *take_sent(struct seg_link *l, enum flow_kind kind, uint64_t rid)
{
    struct list *sent = &l->kind[kind].sent;

    list_each (sent, it) { /* nearly always the first */
        struct batch *b = container_of(it, struct batch, in_sent);

        if (b->rid == rid) {
            list_remove(sent, it);
            return b;
        }
    }
    return NULL;
}

static struct rflow *take_flow(struct batch *b, uint32_t i)
{
    struct rflow *rf = b->v[i];

    if (rf != NULL)
        rf->slot = NULL;
    b->v[i] = NULL;
    return rf;
}

static void answer_places(struct router *r, struct batch *b,
                          const struct msg_place_ans *m)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct rflow *rf = take_flow(b, i);

        if (rf == NULL)
            continue;
        if (m->ans[i].state == PLACE_ADMITTED) {
            rf->pass = m->ans[i].pass;
            rf->pass_len = m->ans[i].pass_len;
        }
        flow_place_ans(&rf->flow, r->routes, &m->ans[i], ev_now(r->ev));
        rflow_step(r, rf);
    }
}

static void answer_appends(struct router *r, struct batch *b,
                           const struct msg_append_ans *m)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct rflow *rf = take_flow(b, i);

        if (rf == NULL)
            continue;
        flow_append_ans(&rf->flow, r->routes, &m->ans[i], ev_now(r->ev));
        rflow_step(r, rf);
    }
}

static void answer_drops(struct router *r, struct batch *b, const struct msg_drop_ans *m)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct rflow *rf = take_flow(b, i);

        if (rf == NULL)
            continue;
        flow_drop_ans(&rf->flow, r->routes, &m->ans[i], ev_now(r->ev));
        rflow_step(r, rf);
    }
}

static void answer_sessions(struct router *r, struct batch *b,
                            const struct msg_session_ans *m)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct rflow *rf = take_flow(b, i);

        if (rf == NULL)
            continue;
        rf->pass = m->ans[i].pass;
        rf->pass_len = m->ans[i].pass_len;
        flow_session_ans(&rf->flow, r->routes, &m->ans[i], ev_now(r->ev));
        rflow_step(r, rf);
    }
}

int seg_batch_answer(struct seg_link *l, const struct msg *m, uint64_t rid)
{
    struct router *r = l->s->r;
    enum flow_kind kind = m->type == MSG_PLACE_ANS     ? FLOW_POLL
                          : m->type == MSG_APPEND_ANS  ? FLOW_JOIN
                          : m->type == MSG_SESSION_ANS ? FLOW_SESSION
                                                       : FLOW_LEAVE;
    uint32_t n = m->type == MSG_PLACE_ANS     ? m->place_ans.n
                 : m->type == MSG_APPEND_ANS  ? m->append_ans.n
                 : m->type == MSG_SESSION_ANS ? m->session_ans.n
                                              : m->drop_ans.n;
    struct batch *b = take_sent(l, kind, rid);

    if (b == NULL)
        return SQ_EPROTO;
    if (b->n != n) {
        batch_lost(l->s, b);
        return SQ_EPROTO;
    }
    if (kind == FLOW_POLL)
        answer_places(r, b, &m->place_ans);
    else if (kind == FLOW_JOIN)
        answer_appends(r, b, &m->append_ans);
    else if (kind == FLOW_SESSION)
        answer_sessions(r, b, &m->session_ans);
    else
        answer_drops(r, b, &m->drop_ans);
    batch_free(l->s, b);
    return 0;
}

void seg_batch_refused(struct seg_link *l, uint64_t rid)
{
    for (int i = 0; i < SEG_KINDS; i++) {
        struct batch *b = take_sent(l, (enum flow_kind)i, rid);

        if (b != NULL)
            batch_lost(l->s, b);
    }
}

void seg_batches_lost(struct seg_link *l)
{
    struct list all;

    list_init(&all);
    for (int i = 0; i < SEG_KINDS; i++) { /* first out of reach, then told: they may ask again */
        struct kind *k = &l->kind[i];

        list_each (&k->sent, it) {
            list_remove(&k->sent, it);
            list_push_back(&all, it);
        }
        if (k->open != NULL)
            list_push_back(&all, &k->open->in_sent);
        k->open = NULL;
    }
    list_each (&all, it) {
        list_remove(&all, it);
        batch_lost(l->s, container_of(it, struct batch, in_sent));
    }
}
