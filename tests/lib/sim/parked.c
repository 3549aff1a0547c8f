/* parked.c: see parked.h. */
#include "tests/lib/sim/parked.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/turns.h"

#include "segment/core/state.h"

struct parked_join {
    peer_no peer;
    uint64_t rid;
    uint32_t row;
    msec_t since_ms; /* the node's own clock */
    struct append_req req;
    char text[SIM_SUBJECT_LEN];
};

static bool is_answered(const struct append_ans *ans, uint32_t n, uint32_t row, bool all)
{
    for (uint32_t i = 0; i < n && !all; i++)
        if (ans[i].row == row)
            return true;
    return all;
}

static void add(struct proc *p, const struct parked_join *x)
{
    struct parked_join *y;

    p->parked = sim_grow(p->parked, &p->cap_parked, p->n_parked + 1, sizeof(*p->parked));
    y = &p->parked[p->n_parked++];
    *y = *x;
    memcpy(y->text, x->req.subject, x->req.subject_len);
}

void parked_wait(struct sim *s, struct proc *p, peer_no peer, uint64_t rid, const struct msg_append *g,
                 const struct append_ans *ans, uint32_t n)
{
    struct parked_join x = { .peer = peer, .rid = rid, .since_ms = clock_now(p).now_ms };

    for (x.row = 0; x.row < g->n; x.row++) {
        x.req = g->req[x.row];
        if (is_answered(ans, n, x.row, n == g->n))
            continue;
        if (x.req.subject_hash == 0 || !x.req.later)
            sim_fail(s, "%s lets a join wait that needs nobody's word", p->name);
        add(p, &x);
        s->count.parked++;
    }
}

static struct parked_join *find(struct proc *p, peer_no peer, uint64_t rid, uint32_t row)
{
    for (size_t i = 0; i < p->n_parked; i++)
        if (p->parked[i].peer == peer && p->parked[i].rid == rid && p->parked[i].row == row) {
            p->parked[i].req.subject = p->parked[i].text;
            return &p->parked[i];
        }
    return NULL;
}

void parked_ask(struct sim *s, struct proc *p)
{
    for (uint32_t i = 0; i < p->box.n && s->o.contact_share > 0; i++) {
        const struct out_item *o = &p->box.v[i];
        const struct parked_join *x;

        for (uint32_t k = 0; o->m.type == MSG_APPEND_ANS && k < o->m.append_ans.n; k++)
            if ((x = find(p, o->to, o->rid, o->m.append_ans.ans[k].row)) != NULL)
                turns_ask(s, p, &x->req, &o->m.append_ans.ans[k]);
    }
}

static void answered(struct sim *s, struct proc *p, const struct out_item *o, const struct append_ans *a)
{
    struct parked_join *x = find(p, o->to, o->rid, a->row);

    if (x == NULL) {
        sim_fail(s, "%s answers a join that nobody waits for", p->name);
        return;
    }
    check_appended(s, p, &x->req, a);
    turns_asked(s, &x->req, a);
    *x = p->parked[--p->n_parked];
}

void parked_answered(struct sim *s, struct proc *p)
{
    for (uint32_t i = 0; i < p->box.n; i++)
        for (uint32_t k = 0; p->box.v[i].m.type == MSG_APPEND_ANS && k < p->box.v[i].m.append_ans.n; k++)
            answered(s, p, &p->box.v[i], &p->box.v[i].m.append_ans.ans[k]);
}

void parked_bound(struct sim *s, const struct proc *p)
{
    for (size_t i = 0; i < p->n_parked; i++)
        if (clock_now(p).now_ms - p->parked[i].since_ms > DIR_PARK_MS)
            sim_fail(s, "%s lets a join wait for %lld ms", p->name,
                     (long long)(clock_now(p).now_ms - p->parked[i].since_ms));
}

void parked_forget(struct proc *p, peer_no peer)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_parked; i++)
        if (peer != 0 && p->parked[i].peer != peer)
            p->parked[n++] = p->parked[i];
    p->n_parked = n;
    if (peer != 0)
        return;
    free(p->parked);
    p->parked = NULL;
    p->cap_parked = 0;
}
