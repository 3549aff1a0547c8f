/* seg_batch.c: see seg_batch.h. */
#include "router/links/seg_batch.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"

#define LOG_MODULE "seg_link"

#define BATCH_GO    64 /* this many do not wait for the answer before */
#define BATCH_GO_US 250
#define HELD_US     2000 /* an answer from nearby has come by then, and took what was held with it */

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
        flow_lost(&rf->flow, ev_now(r->ev));
        assert(rf->flow.todo != FLOW_ASK); /* lost rows are not asked again at once */
        rflow_step(r, rf);
    }
    batch_free(s, b);
}

/* ---- kinds of requests --------------------------------------------------------------- */

static void put_places(struct seg_links *s, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct flow *f = &b->v[i]->flow;

        s->req.place[i] = (struct place_req) { f->seg, f->token.number, f->token.client };
    }
}

static void put_drops(struct seg_links *s, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct flow *f = &b->v[i]->flow;

        s->req.drop[i] = (struct drop_req) { f->seg, flow_ticket(f)->number, flow_heir(f) };
    }
}

static void put_sessions(struct seg_links *s, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct flow *f = &b->v[i]->flow;

        s->req.session[i] = (struct sess_req) { .seg = f->seg,
                                                .number = f->token.number,
                                                .command = f->command,
                                                .renews = f->renews,
                                                .until_s = f->until_s };
    }
}

_Static_assert(MSG_BATCH_MAX * (CONTACT_SEALED_MAX + 32) < FRAME_MAX_BODY, "the longest fit into a frame");

static void put_contacts(struct seg_links *s, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct flow *f = &b->v[i]->flow;
        const struct contact_ask *c = b->v[i]->contact;

        s->req.contact[i] = (struct contact_req) { .seg = f->seg,
                                                   .number = f->token.number,
                                                   .claim_ms = c->claim_ms,
                                                   .n_sealed = c->n_sealed,
                                                   .sealed = c->sealed };
    }
}

static void put_appends(struct seg_links *s, const struct batch *b)
{
    msec_t now_ms = ev_now(s->r->ev);

    for (uint32_t i = 0; i < b->n; i++) {
        const struct rflow *rf = b->v[i];
        /* Without its key a join still says what its pass is bound to. */
        uint8_t len = SQ_UNLIKELY(rf->flow.bare) ? rf->head_len : rf->subject_len;

        s->req.append[i] = (struct append_req) {
            .seg = rf->flow.seg,
            .client = rf->flow.token.client,
            .subject_len = len,
            .subject_hash = len > 0 ? rf->flow.token.subject_hash : 0,
            .subject = rf->subject,
            .old_seg = rf->flow.old.seg,
            .old_number = rf->flow.old.number,
            .old_issued_s = rf->flow.old.issued_s,
            .later = len > 0 && flow_may_wait(&rf->flow, now_ms),
        };
    }
}

/* How the requests of a batch get into its frame. */
static const struct shape {
    uint16_t asks, answers; /* enum msg_type */
    void (*put)(struct seg_links *s, const struct batch *b);
} shapes[SEG_KINDS] = {
    [FLOW_POLL] = { MSG_PLACE, MSG_PLACE_ANS, put_places },
    [FLOW_JOIN] = { MSG_APPEND, MSG_APPEND_ANS, put_appends },
    [FLOW_LEAVE] = { MSG_DROP, MSG_DROP_ANS, put_drops },
    [FLOW_SESSION] = { MSG_SESSION, MSG_SESSION_ANS, put_sessions },
    [FLOW_CONTACT] = { MSG_CONTACT, MSG_CONTACT_ANS, put_contacts },
};

/* All these messages have one shape, a number of rows and the rows: what is done with the
 * first kind's members is done with all. */
#define ONE_SHAPE(of, as, rows)                                                            \
    _Static_assert(offsetof(struct msg, of.n) == offsetof(struct msg, as.n) &&             \
                       offsetof(struct msg, of.rows) == offsetof(struct msg, as.rows),     \
                   "the members lie in the same places")
ONE_SHAPE(append, place, req);
ONE_SHAPE(drop, place, req);
ONE_SHAPE(session, place, req);
ONE_SHAPE(contact, place, req);
ONE_SHAPE(append_ans, place_ans, ans);
ONE_SHAPE(drop_ans, place_ans, ans);
ONE_SHAPE(session_ans, place_ans, ans);
ONE_SHAPE(contact_ans, place_ans, ans);

/* ---- sending ------------------------------------------------------------------------- */

/* Flows that have ended while they were collected leave no hole in the frame. */
static void squeeze(struct batch *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        if (b->v[i] == NULL)
            continue;
        if (n != i) {
            b->v[n] = b->v[i];
            b->v[n]->slot = &b->v[n];
        }
        n++;
    }
    b->n = n;
}

static int put_frame(struct seg_link *l, enum flow_kind kind, const struct batch *b)
{
    const struct shape *shape = &shapes[kind];
    struct msg m;
    int rc;

    shape->put(l->s, b);
    memset(&m, 0, sizeof(m));
    m.type = shape->asks;
    m.place = (struct msg_place) { b->n, l->s->req.place };
    rc = rpc_send(l->n.ch, &m, b->rid);
    if (rc < 0)
        log_error("event=not_sent type=%s peer=%s why=\"%s\"", msg_name(m.type), l->n.name,
                  sq_strerror(rc));
    return rc;
}

/* b is in no list. */
static void send_batch(struct seg_link *l, enum flow_kind kind, struct batch *b)
{
    squeeze(b);
    if (b->n == 0) {
        batch_free(l->s, b);
        return;
    }
    b->rid = ++l->s->next_rid;
    b->left = b->n;
    b->since_us = ev_now_us(l->s->r->ev);
    if (put_frame(l, kind, b) < 0) {
        batch_lost(l->s, b);
        return;
    }
    list_push_back(&l->kind[kind].sent, &b->in_list);
    l->s->r->counts.batches++;
    l->s->r->counts.batched += b->n;
}

/* The answer before is waited for only while it may come soon; over an ocean joins would wait here for
 * whatever comes next. */
static bool is_due(const struct kind *k, const struct batch *b, int64_t now_us)
{
    const struct batch *last = list_entry(list_last(&k->sent), struct batch, in_list);

    return last == NULL || b->n >= BATCH_GO || now_us - b->since_us >= BATCH_GO_US ||
           now_us - last->since_us >= BATCH_GO_US;
}

/* True: some are held back. */
static bool send_due(struct seg_link *l, int64_t now_us)
{
    bool held = false;

    for (int i = 0; i < SEG_KINDS; i++) {
        struct kind *k = &l->kind[i];
        struct batch *b;

        while ((b = list_entry(list_first(&k->open), struct batch, in_list)) != NULL &&
               is_due(k, b, now_us)) {
            list_remove(&k->open, &b->in_list);
            send_batch(l, (enum flow_kind)i, b);
        }
        held |= b != NULL;
    }
    return held;
}

void seg_batches_send(struct seg_links *s)
{
    struct seg_link *l;
    bool held = false;

    each_node_link (&s->nodes, l)
        if (l->n.ch != NULL)
            held |= send_due(l, ev_now_us(s->r->ev));
    if (held && !s->held)
        ev_timer_in_us(s->held_timer, HELD_US);
    s->held |= held;
}

void seg_batches_held(void *arg)
{
    struct seg_links *s = arg;

    s->held = false;
}

/* ---- answers ------------------------------------------------------------------------- */

/* While an owner hangs there are thousands of them a second, and others' words come meanwhile: each is found
 * by its number. Without memory for that its rows are told that they are lost. */
static void wait_late(struct seg_links *s, struct kind *k, struct batch *b)
{
    if (map_set_ptr(&k->by_rid, b->rid, b) < 0)
        batch_lost(s, b);
    else
        list_push_back(&k->late, &b->in_list);
}

static struct batch *take_late(struct kind *k, uint64_t rid)
{
    struct batch *b = map_get_ptr(&k->by_rid, rid);

    if (b == NULL)
        return NULL;
    assert(b->rid == rid);
    map_del(&k->by_rid, rid);
    list_remove(&k->late, &b->in_list);
    return b;
}

static struct batch *take_sent(struct seg_link *l, enum flow_kind kind, uint64_t rid)
{
    struct kind *k = &l->kind[kind];
    struct batch *b;

    while ((b = list_entry(list_first(&k->sent), struct batch, in_list)) != NULL && b->rid <= rid) {
        list_remove(&k->sent, &b->in_list);
        if (b->rid == rid)
            return b;
        wait_late(l->s, k, b); /* a later one is answered: all of its rows wait */
    }
    return take_late(k, rid);
}

static enum flow_kind kind_of_answer(const struct msg *m)
{
    int kind = 0;

    while (kind < SEG_KINDS - 1 && shapes[kind].answers != m->type)
        kind++;
    assert(shapes[kind].answers == m->type);
    return (enum flow_kind)kind;
}

/* Row i of the answer to its flow. */
static void take(struct router *r, struct rflow *rf, const struct msg *m, uint32_t i,
                 msec_t now_ms)
{
    struct flow *f = &rf->flow;

    switch (f->asks) {
    case FLOW_POLL:
        if (m->place_ans.ans[i].state == PLACE_ADMITTED) {
            rf->pass = m->place_ans.ans[i].pass;
            rf->pass_len = m->place_ans.ans[i].pass_len;
        }
        flow_place_ans(f, r->routes, &m->place_ans.ans[i], now_ms);
        break;
    case FLOW_JOIN:
        if (m->append_ans.ans[i].state == APPEND_ENTERED) {
            rf->pass = m->append_ans.ans[i].pass;
            rf->pass_len = m->append_ans.ans[i].pass_len;
        }
        if (SQ_UNLIKELY(rf->as == RFLOW_LATE)) {
            rflow_came_late(r, rf, &m->append_ans.ans[i]);
            break;
        }
        flow_append_ans(f, r->routes, &m->append_ans.ans[i], now_ms);
        break;
    case FLOW_LEAVE:
        flow_drop_ans(f, r->routes, &m->drop_ans.ans[i], now_ms);
        break;
    case FLOW_SESSION:
        rf->pass = m->session_ans.ans[i].pass;
        rf->pass_len = m->session_ans.ans[i].pass_len;
        flow_session_ans(f, r->routes, &m->session_ans.ans[i], now_ms);
        break;
    case FLOW_CONTACT:
        flow_contact_ans(f, r->routes, &m->contact_ans.ans[i], now_ms);
    }
}

/* The i-th answer is not the i-th row's: some rows wait, or have waited and come as their words came. */
static bool has_rows(const struct batch *b, const struct msg *m)
{
    const struct append_ans *a = m->append_ans.ans;
    uint32_t n = m->append_ans.n;

    return m->type == MSG_APPEND_ANS && n > 0 && (n < b->n || (a[0].row | a[n - 1].row) != 0);
}

static bool fits(const struct batch *b, const struct msg *m, bool rows)
{
    uint32_t n = m->place_ans.n;

    for (uint32_t i = 0; rows && i < n; i++)
        if (m->append_ans.ans[i].row >= b->n)
            return false;
    return rows ? n <= b->left : n == b->n && n == b->left;
}

int seg_batch_answer(struct seg_link *l, const struct msg *m, uint64_t rid)
{
    struct router *r = l->s->r;
    enum flow_kind kind = kind_of_answer(m);
    struct batch *b = take_sent(l, kind, rid);
    msec_t now_ms = ev_now(r->ev);
    bool rows;

    if (b == NULL)
        return SQ_EPROTO;
    rows = has_rows(b, m);
    if (!fits(b, m, rows)) {
        batch_lost(l->s, b);
        return SQ_EPROTO;
    }
    for (uint32_t i = 0; i < m->place_ans.n; i++) {
        struct rflow **v = &b->v[rows ? m->append_ans.ans[i].row : i], *rf = *v;

        if (rf == NULL)
            continue;
        *v = NULL;
        rf->slot = NULL;
        assert(rf->flow.todo == FLOW_ASK && rf->flow.asks == kind);
        take(r, rf, m, i, now_ms);
        rflow_step(r, rf);
    }
    b->left -= m->place_ans.n;
    if (b->left > 0 && l->n.ch != NULL)
        wait_late(l->s, &l->kind[kind], b);
    else
        batch_lost(l->s, b); /* mostly nobody: a row that has no answer, since another had two */
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

static void move_all(struct list *from, struct list *to)
{
    list_each (from, it) {
        list_remove(from, it);
        list_push_back(to, it);
    }
}

void seg_batches_lost(struct seg_link *l)
{
    struct list all;

    list_init(&all);
    for (int i = 0; i < SEG_KINDS; i++) { /* first out of reach, then told: they may ask again */
        move_all(&l->kind[i].sent, &all);
        move_all(&l->kind[i].late, &all);
        map_fini(&l->kind[i].by_rid);
        move_all(&l->kind[i].open, &all);
    }
    list_each (&all, it) {
        list_remove(&all, it);
        batch_lost(l->s, container_of(it, struct batch, in_list));
    }
}
