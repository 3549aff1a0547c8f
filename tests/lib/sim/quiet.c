/* quiet.c: waiting for the end of everything; and positions while nothing moves. */
#include "tests/lib/sim/state.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/end.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/opening.h"
#include "tests/lib/sim/players.h"
#include "tests/lib/sim/router.h"

#include <stdlib.h>
#include <string.h>

/* ---- the end ------------------------------------------------------------------------- */

struct figures {
    uint64_t waiting, released, segments;            /* at the nodes */
    uint64_t chain, sealed, moves, away;             /* at the manager */
};

static void on_seg(void *ctx, const void *view)
{
    struct figures *f = ctx;
    const struct mng_seg_view *v = view;

    f->away += v->lost || v->rebuild;
    f->chain++;
    f->sealed += v->state == SEG_SEALED;
}

struct looking {
    struct sim *s;
    struct figures *f;
};

static void on_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;
    struct looking *x = ctx;

    mng_each_seg(sim_core(x->s), v->queue, v->lane_no, on_seg, x->f);
}

static void on_move(void *ctx, const void *view)
{
    (void)view;
    ((struct figures *)ctx)->moves++;
}

static struct figures look(struct sim *s)
{
    struct figures f = { 0 };
    struct looking x = { s, &f };

    for (unsigned i = 0; i < s->n_procs; i++) {
        struct segtab_counts c;

        if (s->proc[i].kind != SIM_SEG || !s->proc[i].alive)
            continue;
        segtab_count(s->proc[i].segtab, &c);
        f.waiting += c.waiting;
        f.released += c.ready + c.active + c.returning;
        f.segments += c.segments;
    }
    if (sim_core(s) != NULL) {
        mng_each_lane(sim_core(s), 0, on_lane, &x);
        mng_each_move(sim_core(s), on_move, &f);
    }
    return f;
}

bool sim_rebuilding(struct sim *s)
{
    return look(s).away != 0;
}

static bool nobody_waits(struct sim *s)
{
    struct figures f = look(s);

    return sim_core(s) != NULL && players_over(s) && f.waiting == 0 && f.moves == 0;
}

/* Every sealed segment has been removed, and no node keeps one that nobody knows. */
static bool chains_are_short(struct sim *s)
{
    struct figures f = look(s);

    return f.sealed == 0 && f.segments == f.chain && f.released == 0 && f.moves == 0;
}

static unsigned players_left(const struct sim *s, int *state)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < s->n_players; i++)
        if (s->player[i].state != P_OVER) {
            n++;
            *state = s->player[i].state;
        }
    return n;
}

bool sim_run_until_quiet(struct sim *s, msec_t max_ms)
{
    msec_t tail_ms = s->o.pass_ttl_ms + s->o.session_max_ms + s->o.claim_ms + s->o.grace_ms + 30000;
    struct figures f;
    int state = -1;
    unsigned left;

    /* some people look again when their pass is over */
    if (!sim_run_until(s, nobody_waits, max_ms + s->o.pass_ttl_ms + 10000)) {
        f = look(s);
        left = players_left(s, &state);
        sim_fail(s, "not quiet in time: %llu wait, %llu moves, %u players left (one in "
                    "state %d)",
                 (unsigned long long)f.waiting, (unsigned long long)f.moves, left, state);
        return false;
    }
    if (!sim_run_until(s, chains_are_short, tail_ms)) {
        f = look(s);
        sim_fail(s, "not tidied up: %llu sealed segments in chains, %llu segments at nodes, "
                    "%llu in chains, %llu released tickets kept, %llu moves",
                 (unsigned long long)f.sealed, (unsigned long long)f.segments,
                 (unsigned long long)f.chain, (unsigned long long)f.released,
                 (unsigned long long)f.moves);
        return false;
    }
    check_end(s);
    return !s->failed;
}

/* ---- positions at rest (I5) ---------------------------------------------------------- */

struct place_at { /* one waiting ticket */
    seg_id host, seg;
    uint32_t number;
    struct proc *node;
};

struct rest { /* what waits where, in the order in which it was listed */
    struct sim *s;
    struct place_at *v;
    size_t n, cap;
    struct proc *node;
    seg_id order[4096]; /* the chains' segments, lane after lane */
    uint16_t lane[4096];
    bool open_before[4096]; /* some segment before it in its lane is open */
    size_t n_order;
    bool open;
    uint16_t lane_now;
};

static void note_waiting(void *ctx, seg_id host, seg_id seg, uint32_t number)
{
    struct rest *r = ctx;
    const struct sseg *h = check_seg(r->s, host);

    if (h != NULL && (h->alias != 0 || h->gone || h->node != r->node->idx))
        return;
    r->v = sim_grow(r->v, &r->cap, r->n + 1, sizeof(*r->v));
    r->v[r->n++] = (struct place_at){ host, seg, number, r->node };
}

static void note_seg(void *ctx, const void *view)
{
    struct rest *r = ctx;
    const struct mng_seg_view *v = view;

    if (r->n_order == ARRAY_LEN(r->order))
        return;
    r->order[r->n_order] = v->id;
    r->lane[r->n_order] = r->lane_now;
    r->open_before[r->n_order++] = r->open;
    r->open |= v->state == SEG_OPEN || v->st.state == SEG_OPEN || v->lost || v->rebuild;
}

static void note_lane(void *ctx, const void *view)
{
    struct rest *r = ctx;
    const struct mng_lane_view *v = view;

    r->open = false;
    r->lane_now++;
    mng_each_seg(sim_core(r->s), v->queue, v->lane_no, note_seg, r);
}

static struct rest *rest_look(struct sim *s)
{
    struct rest *r = sim_alloc(sizeof(*r));

    r->s = s;
    for (unsigned i = 0; i < s->n_procs; i++) {
        r->node = &s->proc[i];
        if (r->node->kind == SIM_SEG && r->node->alive)
            segtab_each_waiting(r->node->segtab, note_waiting, r);
    }
    mng_each_lane(sim_core(s), 0, note_lane, r);
    return r;
}

static void rest_free(struct rest *r)
{
    free(r->v);
    free(r);
}

static bool same(const struct rest *a, const struct rest *b)
{
    if (a->n != b->n || a->n_order != b->n_order)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].host != b->v[i].host || a->v[i].seg != b->v[i].seg ||
            a->v[i].number != b->v[i].number)
            return false;
    return memcmp(a->order, b->order, a->n_order * sizeof(a->order[0])) == 0;
}

static bool is_revived(struct sim *s, const struct place_at *p)
{
    const struct ticket *t = check_ticket(s, p->seg, p->number);

    return t != NULL && s->lane[t->lane].revived;
}

/* I-R4: nothing has moved for a while. */
static void compare_known(struct sim *s, const struct place_at *p, uint64_t position)
{
    for (unsigned i = 0; i < s->n_procs; i++) {
        uint64_t told;

        if (s->proc[i].kind == SIM_ROUTER &&
            srouter_tells(&s->proc[i], p->node, p->seg, p->number, &told) && told != position)
            sim_fail(s, "I-R4: ticket %llu-%u is at %llu, and %s would tell %llu",
                     (unsigned long long)p->seg, p->number, (unsigned long long)position,
                     s->proc[i].name, (unsigned long long)told);
    }
}

static void compare_one(struct sim *s, const struct place_at *p, uint64_t rank, bool exact,
                        bool known)
{
    struct place_req q = { .seg = p->seg, .number = p->number };
    struct place_ans a = { 0 };

    arena_reset(&s->ans_arena);
    segtab_place(p->node->segtab, clock_now(p->node), &q, 1, &a, &s->ans_arena);
    check_placed(s, p->node, &q, &a);
    if (a.state == PLACE_BUSY || (a.position == 0 && opening_is_waiting_for(s, p->seg)) ||
        (a.state == PLACE_WAITING && a.position == 0 && !known))
        return;
    if (a.state != PLACE_WAITING)
        sim_fail(s, "I5: ticket %llu-%u is listed as waiting, and a poll says %u",
                 (unsigned long long)p->seg, p->number, a.state);
    else if (is_revived(s, p))
        return; /* nobody is told a larger place for somebody who was over, and came back */
    else if (a.position < rank || (exact && a.position != rank))
        sim_fail(s, "I5: ticket %llu-%u in segment %llu is shown position %llu and is at %llu",
                 (unsigned long long)p->seg, p->number, (unsigned long long)p->host,
                 (unsigned long long)a.position, (unsigned long long)rank);
    if (exact && a.position != 0)
        compare_known(s, p, a.position);
}

static void compare(struct sim *s, const struct rest *r, bool still)
{
    uint64_t rank = 0;

    for (size_t k = 0; k < r->n_order && !s->failed; k++) {
        if (k > 0 && r->lane[k] != r->lane[k - 1])
            rank = 0;
        for (size_t i = 0; i < r->n && !s->failed; i++)
            if (r->v[i].host == r->order[k])
                compare_one(s, &r->v[i], ++rank, still && !r->open_before[k],
                            look(s).away == 0);
    }
}

/* Who waits on a node that is down is counted by the others, but cannot be seen here. */
static bool all_up(const struct sim *s)
{
    for (unsigned i = 0; i < s->n_procs; i++)
        if (!s->proc[i].alive)
            return false;
    return true;
}

void sim_check_positions(struct sim *s)
{
    struct rest *a, *b;

    s->calm = true;
    for (unsigned q = 0; q < s->o.queues; q++)
        sim_order(s, q, MNG_PAUSE);
    sim_run(s, 3000);
    if (!s->failed && sim_mng(s, NULL) != NULL) {
        a = rest_look(s);
        sim_run(s, 2500);
        if (!s->failed && sim_mng(s, NULL) != NULL) {
            b = rest_look(s);
            compare(s, b, same(a, b) && look(s).moves == 0 && all_up(s));
            rest_free(b);
        }
        rest_free(a);
    }
    for (unsigned q = 0; q < s->o.queues; q++)
        sim_order(s, q, MNG_RESUME);
    s->calm = false;
}
