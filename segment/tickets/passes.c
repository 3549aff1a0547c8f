/* passes.c: the passes of released tickets, and those that are not what they say. A leave while
 * the pass is good leaves a record (SESSION_REVOKED) until the pass would have expired, and
 * routers are told, so that they refuse it (GET /v1/verify); likewise of sessions that last
 * longer than their pass says.
 *
 *   leave, extend --> record, `changed` --next tick--> all routers
 *   a router's link is up       --all records--> that router
 *   a segment is absorbed here --its records--> all routers, for a router may have had no
 *                               link to the node that they came from */
#include "segment/tickets/passes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/wire/msg.h"
#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"

#define ROWS_MAX MSG_BATCH_MAX /* rows of a message */

int segtab_make_pass(struct segtab *t, const struct seg *g, const struct session *x,
                     struct arena *mem, const char **out)
{
    const struct subject *sub = subjects_by_ticket(&g->b.subjects, x->id);
    size_t head = sub != NULL ? subject_head(sub->text, sub->len) : 0;
    bool named = sub != NULL && sub->len > head && !subject_is_key(sub->text, sub->len);
    struct ticket_id id = segtab_outside(t, x->id);
    struct seg_pass p = {
        .queue = g->queue->name,
        .lane = g->queue->lanes[g->lane],
        .issuer = g->queue->issuer,
        .subject = named ? sub->text + head : NULL,
        .subject_len = named ? sub->len - head : 0,
        .bound = head > 0 ? sub->text + 2 : NULL,
        .bound_len = head > 0 ? head - 2 : 0,
        .seg = id.seg,
        .number = id.number,
        .released_at_ms = x->released_at_ms,
        .expires_s = segtab_until_s(g, x),
    };
    char *text = arena_alloc(mem, MSG_PASS_MAX);
    int n = text != NULL ? t->o.make_pass(t->o.ctx, &p, text) : -1;

    *out = text;
    t->n.passes_made += n >= 0;
    return n;
}

void segtab_admit(struct segtab *t, struct seg *g, struct session *x)
{
    segtab_audit_session(t, g, x, AUDIT_ADMITTED, NULL);
    session_set(&g->b.released, x, SESSION_ADMITTED, x->expires_ms);
    segtab_log_session(t, g, x);
    t->n.admitted++;
    g->claimed++;
    segtab_touch(t, g);
}

/* ---- passes that are not what they say ---------------------------------------------- */

/* Is its pass not what it says? */
static bool is_changed(const struct session *x)
{
    return x->state == SESSION_REVOKED || (x->state == SESSION_ADMITTED && x->until_s != 0);
}

static struct pass_change change_of(const struct segtab *t, const struct seg *g,
                                    const struct session *x)
{
    assert(is_changed(x));
    return (struct pass_change) { .id = segtab_outside(t, x->id),
                                  .until_s = segtab_until_s(g, x),
                                  .revoked = x->state == SESSION_REVOKED };
}

/* Without memory all routers are told everything with the next tick. */
static void note(struct segtab *t, struct pass_change c)
{
    if (GROW(t->changed, t->n_changed, t->cap_changed, 64))
        t->changed[t->n_changed++] = c;
    else
        t->changed_all = true;
}

void segtab_revoke(struct segtab *t, struct seg *g, struct session *x, int reason)
{
    segtab_audit_session(t, g, x, reason == GONE_LEFT ? AUDIT_LEFT : AUDIT_REVOKED, NULL);
    assert(reason != 0);
    contents_forget(&g->b, x->id);
    x->reason = (uint8_t)reason;
    session_set(&g->b.released, x, SESSION_REVOKED, x->expires_ms);
    segtab_log_session(t, g, x);
    note(t, change_of(t, g, x));
    segtab_touch(t, g);
}

void segtab_extend(struct segtab *t, struct seg *g, struct session *x, int64_t until_s,
                   bool told)
{
    enum session_state was = (enum session_state)x->state;
    bool longer = until_s > segtab_until_s(g, x);

    if (longer) {
        x->until_s = until_s;
        x->expires_ms = segtab_session_end(t, g, x);
        if (told)
            segtab_audit_session(t, g, x, AUDIT_EXTENDED, NULL);
        segtab_log_extend(t, g, x->id, until_s);
    }
    session_set(&g->b.released, x, SESSION_ADMITTED, x->expires_ms);
    if (longer)
        note(t, change_of(t, g, x));
    if (was != SESSION_ADMITTED) {
        segtab_log_session(t, g, x);
        segtab_touch(t, g);
    }
}

void segtab_passes_moved(struct segtab *t, const struct seg *g, const struct xfer_in *in)
{
    for (uint32_t i = 0; i < in->n_recs; i++) {
        const struct session *x = sessions_find(
            &g->b.released, (struct ticket_id) { in->rec[i].seg, in->rec[i].number });

        if (x != NULL && is_changed(x))
            note(t, change_of(t, g, x));
    }
}

/* ---- to the routers --------------------------------------------------------------- */

/* Changes of one kind on their way to a router, in messages of ROWS_MAX. */
struct rows {
    struct outbox *out;
    peer_no to;
    bool revoked;
    uint32_t n;
    struct pass_change v[ROWS_MAX];
};

static void rows_revoked(const struct rows *r, struct msg_passes *m)
{
    m->rows = arena_array(&r->out->mem, r->n, sizeof(*m->rows));
    for (; m->rows != NULL && m->n < r->n; m->n++) {
        const struct pass_change *c = &r->v[m->n];

        m->rows[m->n] = (struct pass_row) { c->id.seg, c->id.number, PASS_REVOKED, c->until_s };
    }
}

static void rows_longer(const struct rows *r, struct msg_session *m)
{
    m->req = arena_array(&r->out->mem, r->n, sizeof(*m->req));
    for (; m->req != NULL && m->n < r->n; m->n++) {
        const struct pass_change *c = &r->v[m->n];

        m->req[m->n] = (struct sess_req) { .seg = c->id.seg,
                                           .number = c->id.number,
                                           .command = SESS_EXTEND,
                                           .until_s = c->until_s };
    }
}

static void rows_send(struct rows *r)
{
    struct msg *m;

    if (r->n == 0)
        return;
    m = outbox_add(r->out, r->to, r->revoked ? MSG_PASSES : MSG_SESSION);
    if (r->revoked)
        rows_revoked(r, &m->passes);
    else
        rows_longer(r, &m->session);
    r->out->failed |= (r->revoked ? m->passes.n : m->session.n) == 0;
    r->n = 0;
}

static void rows_add(struct rows *r, struct pass_change c)
{
    assert(c.revoked == r->revoked);
    r->v[r->n++] = c;
    if (r->n == ROWS_MAX)
        rows_send(r);
}

static void send_seg(const struct segtab *t, const struct seg *g, struct rows *r)
{
    const struct session *x;

    if (g->b.released.n[r->revoked ? SESSION_REVOKED : SESSION_ADMITTED] == 0)
        return;
    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;)
        if (is_changed(x) && (x->state == SESSION_REVOKED) == r->revoked)
            rows_add(r, change_of(t, g, x));
    rows_send(r);
}

void segtab_passes_all(struct segtab *t, peer_no to, struct outbox *out)
{
    struct rows r = { .out = out, .to = to };

    each_seg (t, g) {
        for (int revoked = 1; revoked >= 0; revoked--) {
            r.revoked = revoked != 0;
            send_seg(t, g, &r);
        }
    }
}

static void send_new(const struct segtab *t, peer_no to, struct outbox *out)
{
    struct rows r = { .out = out, .to = to };

    for (int revoked = 1; revoked >= 0; revoked--) {
        r.revoked = revoked != 0;
        for (uint32_t i = 0; i < t->n_changed; i++)
            if (t->changed[i].revoked == r.revoked)
                rows_add(&r, t->changed[i]);
        rows_send(&r);
    }
}

void segtab_passes_flush(struct segtab *t, struct outbox *out)
{
    if (t->n_changed == 0 && !t->changed_all)
        return;
    for (uint32_t i = 0; i < t->n_peers; i++) {
        if (t->peers[i].role != RPC_ROUTER)
            continue;
        if (t->changed_all)
            segtab_passes_all(t, t->peers[i].no, out);
        else
            send_new(t, t->peers[i].no, out);
    }
    t->n_changed = 0;
    t->changed_all = false;
}

/* ---- signed passes: one entry per slot, the newest wins --------------------------- */

#define SLOTS 1024 /* power of two; 1.4 MB, touched as it fills */

struct entry {
    seg_id seg; /* with number: never reused, so these four name the pass */
    uint32_t number;
    uint32_t len; /* 0 = empty */
    int64_t released_at_ms, expires_s;
    char text[MSG_PASS_MAX];
};

struct seg_passes {
    const struct pass_key *key; /* ref */
    struct seg_pass_counts n;
    struct entry v[SLOTS];
};

struct seg_passes *seg_passes_new(const struct pass_key *key)
{
    struct seg_passes *s = calloc(1, sizeof(*s));

    if (s != NULL)
        s->key = key;
    return s;
}

void seg_passes_free(struct seg_passes *s)
{
    free(s);
}

const struct seg_pass_counts *seg_passes_counts(const struct seg_passes *s)
{
    return &s->n;
}

static struct entry *slot_of(struct seg_passes *s, const struct seg_pass *p)
{
    uint64_t h = (p->seg * 0x9e3779b97f4a7c15u) ^ p->number;

    return &s->v[(h ^ h >> 32) & (SLOTS - 1)];
}

static int sign(struct seg_passes *s, const struct seg_pass *p, char *out)
{
    struct pass_claims c = {
        .iss = p->issuer,
        .aud = p->queue,
        .lane = p->lane,
        .sub = p->subject,
        .sub_len = p->subject_len,
        .seg = p->seg,
        .number = p->number,
        .iat_s = p->released_at_ms / 1000,
        .exp_s = p->expires_s,
    };
    struct bound bound;
    int n;

    if (p->bound != NULL) {
        if (!bound_read(&bound, p->bound, p->bound_len))
            return SQ_EINVAL;
        c.bound = &bound;
    }
    n = pass_make(&c, s->key, out, MSG_PASS_MAX);
    if (n < 0)
        s->n.failed++;
    else
        s->n.signed_++;
    return n;
}

int seg_passes_make(void *ctx, const struct seg_pass *p, char *out)
{
    struct seg_passes *s = ctx;
    struct entry *x = slot_of(s, p);
    int n;

    if (x->len != 0 && x->seg == p->seg && x->number == p->number &&
        x->released_at_ms == p->released_at_ms && x->expires_s == p->expires_s) {
        s->n.kept++;
        memcpy(out, x->text, x->len);
        return (int)x->len;
    }
    n = sign(s, p, out);
    assert(n <= (int)sizeof(x->text));
    if (n > 0) {
        x->seg = p->seg;
        x->number = p->number;
        x->released_at_ms = p->released_at_ms;
        x->expires_s = p->expires_s;
        x->len = (uint32_t)n;
        memcpy(x->text, out, (size_t)n);
    }
    return n;
}
