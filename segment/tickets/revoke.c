/* revoke.c: passes that are not what they say: whoever leaves while a pass of his
 * is out there keeps a record (SESSION_REVOKED) until the pass would have expired, and
 * routers are told, so that they refuse it (GET /v1/verify); likewise of sessions that last
 * longer than the pass says that is out there.
 *
 *   leave --> record, `ended`   --next tick--> all routers
 *   extend --> record, `longer` --next tick--> all routers
 *   a router's link is up       --all records--> that router
 *   a segment is absorbed here --its records--> all routers, for a router may have had no
 *                               link to the node that they came from */
#include "segment/tickets/revoke.h"

#include <assert.h>
#include <stdlib.h>

#include "segment/table/changed.h"
#include "segment/table/log.h"
#include "segment/table/times.h"
#include "segment/table/trail.h"
#include "segment/table/where.h"

#define ROWS_MAX MSG_BATCH_MAX /* of one message */

static struct pass_row row_of(const struct segtab *t, const struct seg *g,
                              const struct session *x)
{
    struct ticket_id id = segtab_outside(t, x->id);

    return (struct pass_row) { .seg = id.seg,
                               .number = id.number,
                               .state = PASS_REVOKED,
                               .until_s = segtab_until_s(g, x) };
}

/* Without memory everybody is told everything with the next tick. */
static void note(struct segtab *t, struct pass_row row)
{
    struct pass_row *v = t->ended;

    if (t->n_ended == t->cap_ended) {
        uint32_t cap = t->cap_ended != 0 ? t->cap_ended * 2 : 64;

        v = realloc(t->ended, cap * sizeof(*v));
        if (v == NULL) {
            t->ended_all = true;
            return;
        }
        t->ended = v;
        t->cap_ended = cap;
    }
    v[t->n_ended++] = row;
}

void segtab_revoke(struct segtab *t, struct seg *g, struct session *x, int reason)
{
    segtab_audit_session(t, g, x, reason == GONE_LEFT ? AUDIT_LEFT : AUDIT_REVOKED, NULL);
    assert(reason != 0);
    subjects_del(&g->b.subjects, x->id);
    x->reason = (uint8_t)reason;
    session_set(&g->b.released, x, SESSION_REVOKED, x->expires_ms);
    segtab_log_session(t, g, x);
    note(t, row_of(t, g, x));
    segtab_touch(t, g);
}

static void note_longer(struct segtab *t, struct sess_req row)
{
    if (t->n_longer == t->cap_longer) {
        uint32_t cap = t->cap_longer != 0 ? t->cap_longer * 2 : 64;
        struct sess_req *v = realloc(t->longer, cap * sizeof(*v));

        if (v == NULL) {
            t->ended_all = true;
            return;
        }
        t->longer = v;
        t->cap_longer = cap;
    }
    t->longer[t->n_longer++] = row;
}

static struct sess_req longer_of(const struct segtab *t, const struct seg *g,
                                 const struct session *x)
{
    struct ticket_id id = segtab_outside(t, x->id);

    return (struct sess_req) { .seg = id.seg,
                               .number = id.number,
                               .command = SESS_EXTEND,
                               .until_s = segtab_until_s(g, x) };
}

void segtab_extend(struct segtab *t, struct seg *g, struct session *x, int64_t until_s,
                   bool told)
{
    enum session_state was = (enum session_state)x->state;

    if (until_s > segtab_until_s(g, x)) {
        x->until_s = until_s;
        x->expires_ms = segtab_session_end(t, g, x);
        if (told)
            segtab_audit_session(t, g, x, AUDIT_EXTENDED, NULL);
        segtab_log_extend(t, g, x->id, until_s);
        note_longer(t, longer_of(t, g, x));
    }
    session_set(&g->b.released, x, SESSION_ADMITTED, x->expires_ms);
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

        if (x != NULL && x->state == SESSION_REVOKED)
            note(t, row_of(t, g, x));
        else if (x != NULL && x->state == SESSION_ADMITTED && x->until_s != 0)
            note_longer(t, longer_of(t, g, x));
    }
}

/* ---- to the routers --------------------------------------------------------------- */

static void send_rows(const struct pass_row *v, uint32_t n, peer_no to, struct outbox *out)
{
    struct msg_passes *m;

    if (n == 0)
        return;
    m = &outbox_add(out, to, MSG_PASSES)->passes;
    m->rows = arena_memdup(&out->mem, v, n * sizeof(*v));
    m->n = m->rows != NULL ? n : 0;
    out->failed |= m->rows == NULL;
}

static void send_longer(const struct sess_req *v, uint32_t n, peer_no to,
                        struct outbox *out)
{
    struct msg_session *m;

    if (n == 0)
        return;
    m = &outbox_add(out, to, MSG_SESSION)->session;
    m->req = arena_memdup(&out->mem, v, n * sizeof(*v));
    m->n = m->req != NULL ? n : 0;
    out->failed |= m->req == NULL;
}

static void ended_all(const struct segtab *t, const struct seg *g, peer_no to,
                      struct outbox *out)
{
    struct pass_row v[ROWS_MAX];
    const struct session *x;
    uint32_t n = 0;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;) {
        if (x->state != SESSION_REVOKED)
            continue;
        v[n++] = row_of(t, g, x);
        if (n == ROWS_MAX) {
            send_rows(v, n, to, out);
            n = 0;
        }
    }
    send_rows(v, n, to, out);
}

static void longer_all(const struct segtab *t, const struct seg *g, peer_no to,
                       struct outbox *out)
{
    struct sess_req v[ROWS_MAX];
    const struct session *x;
    uint32_t n = 0;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;) {
        if (x->state != SESSION_ADMITTED || x->until_s == 0)
            continue;
        v[n++] = longer_of(t, g, x);
        if (n == ROWS_MAX) {
            send_longer(v, n, to, out);
            n = 0;
        }
    }
    send_longer(v, n, to, out);
}

void segtab_passes_all(struct segtab *t, peer_no to, struct outbox *out)
{
    list_each (&t->segs, it) {
        const struct seg *g = container_of(it, struct seg, node);

        if (g->b.released.n[SESSION_REVOKED] > 0)
            ended_all(t, g, to, out);
        if (g->b.released.n[SESSION_ADMITTED] > 0)
            longer_all(t, g, to, out);
    }
}

static void send_new(const struct segtab *t, peer_no to, struct outbox *out)
{
    for (uint32_t k = 0; k < t->n_ended; k += ROWS_MAX)
        send_rows(t->ended + k, t->n_ended - k < ROWS_MAX ? t->n_ended - k : ROWS_MAX, to,
                  out);
    for (uint32_t k = 0; k < t->n_longer; k += ROWS_MAX)
        send_longer(t->longer + k,
                    t->n_longer - k < ROWS_MAX ? t->n_longer - k : ROWS_MAX, to, out);
}

void segtab_passes_flush(struct segtab *t, struct outbox *out)
{
    if (t->n_ended == 0 && t->n_longer == 0 && !t->ended_all)
        return;
    for (uint32_t i = 0; i < t->n_peers; i++) {
        if (t->peers[i].role != RPC_ROUTER)
            continue;
        if (t->ended_all)
            segtab_passes_all(t, t->peers[i].no, out);
        else
            send_new(t, t->peers[i].no, out);
    }
    t->n_ended = t->n_longer = 0;
    t->ended_all = false;
}
