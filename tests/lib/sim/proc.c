/* proc.c: processes; and the thinnest shell that can be around a segment node's core.
 * It does what segment/service/ does, without sockets: feeds the core, performs what it wants
 * in order, dials whom it wants. */
#include "tests/lib/sim/proc.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/groups.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/fault_disks.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/parked.h"
#include "tests/lib/sim/replace.h"
#include "tests/lib/sim/router.h"
#include "tests/lib/sim/seen.h"
#include "tests/lib/sim/sessions.h"
#include "tests/lib/sim/tape.h"
#include "tests/lib/sim/turns.h"

#include "common/base/err.h"

#include <stdlib.h>
#include <string.h>

#define TICK_MS 100

struct proc *proc_of(struct sim *s, enum sim_who who, unsigned no)
{
    for (unsigned i = 0; i < s->n_procs; i++)
        if (s->proc[i].kind == who && s->proc[i].no == no)
            return &s->proc[i];
    return NULL;
}

struct proc *proc_named(struct sim *s, const char *name)
{
    for (unsigned i = 0; i < s->n_procs; i++)
        if (strcmp(s->proc[i].name, name) == 0)
            return &s->proc[i];
    return NULL;
}

struct proc *proc_add(struct sim *s, enum sim_who who, unsigned no)
{
    static const char *const names[] = { "mng", "seg", "router" };
    struct proc *p = &s->proc[s->n_procs];

    p->sim = s;
    p->idx = (uint8_t)s->n_procs++;
    p->kind = (uint8_t)who;
    p->no = no;
    snprintf(p->name, sizeof(p->name), "%s%u", names[who], no);
    snprintf(p->addr, sizeof(p->addr), "%s%u:7200", names[who], no);
    return p;
}

/* A cheap one: as in the real one, everything in it comes from the record. */
static int make_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    return snprintf(out, MSG_PASS_MAX, "%s.%llu-%u.%lld.%lld", p->queue,
                    (unsigned long long)p->seg, p->number, (long long)p->released_at_ms,
                    (long long)p->expires_s);
}

static struct segtab_opts segtab_opts(const struct sim *s, struct proc *p)
{
    return (struct segtab_opts) { .max_tickets = s->o.max_tickets,
                                  .max_segments = 4096,
                                  .addr = p->addr,
                                  .admin = "",
                                  .region = SIM_REGION(s, p->no),
                                  .pass_pub = { 7 },
                                  .portion = s->o.portion,
                                  .make_pass = make_pass,
                                  .log = tape_log,
                                  .log_ctx = p };
}

/* Before it is over. */
static void rest_ends(const struct sim *s, struct proc *p)
{
    p->stopped = proc_stopped_us(s, p);
    p->rest_until = ms_min(p->rest_until, s->now);
}

static void make_segtab(struct sim *s, struct proc *p)
{
    struct segtab_opts o = segtab_opts(s, p);

    p->segtab = segtab_new(&o);
    p->routers = 0;
    p->dark_from = 0;
    rest_ends(s, p);
    outbox_init(&p->box);
    tape_replay(p, p->segtab);
    if (segtab_replayed(p->segtab, clock_now(p)) < 0)
        sim_fail(s, "out of memory");
}

static void start_segtab(struct sim *s, struct proc *p)
{
    p->dies_in_turn = p->disk_full = p->disk_holds = false;
    make_segtab(s, p);
    tape_flush(p);
}

static void tick_later(struct sim *s, const struct proc *p, double ms)
{
    struct event e = { .kind = E_TICK, .proc = p->idx, .incarnation = p->incarnation };

    sim_after_ms(s, ms, e);
}

void proc_start(struct sim *s, struct proc *p)
{
    sim_note(s, "start process %lu", p->idx, 0, 0, 0, 0);
    p->alive = p->used = true;
    p->incarnation++;
    p->paused_until = 0;
    if (p->kind == SIM_MNG)
        smng_start(s, p);
    else if (p->kind == SIM_SEG)
        start_segtab(s, p);
    else
        p->router = srouter_new(s);
    if (p->alive)
        tick_later(s, p, sim_rand(s, 0, TICK_MS));
    for (unsigned i = 0; p->kind != SIM_MNG && i < s->o.managers; i++)
        net_want(s, p, &s->proc[i]);
}

void proc_stop(struct sim *s, struct proc *p)
{
    sim_note(s, "stop process %lu", p->idx, 0, 0, 0, 0);
    net_proc_died(s, p);
    p->alive = false;
    if (p->kind == SIM_MNG) {
        smng_stop(s, p);
    } else if (p->kind == SIM_SEG) {
        struct segtab_opts o = segtab_opts(s, p);

        if (p->tape.flushed == p->tape.log.len)
            tape_check(p, &o);
        tape_lose(p);
        outbox_fini(&p->box);
        segtab_free(p->segtab);
        p->segtab = NULL;
        parked_forget(p, 0);
    } else {
        srouter_free(s, p);
    }
}

/* ---- segment nodes ------------------------------------------------------------------- */

static void dial_wanted(struct sim *s, struct proc *p)
{
    struct node_want w[SIM_SEGS_MAX];
    size_t n = segtab_wanted(p->segtab, w, ARRAY_LEN(w));

    for (size_t i = 0; i < n; i++) {
        struct proc *to = proc_named(s, w[i].name);

        if (to == NULL || strcmp(to->addr, w[i].addr) != 0)
            sim_fail(s, "%s wants a link to %s at %s", p->name, w[i].name, w[i].addr);
        else
            net_want(s, p, to);
    }
    for (unsigned i = 0; i < s->n_procs; i++) {
        struct conn *c = net_up(s, p, &s->proc[i]);

        if (c != NULL && s->proc[i].kind == SIM_SEG && !proc_wants(p, &s->proc[i]))
            net_drop(s, c);
    }
}

/* What was done is kept, or lost as a whole; the process may die in either case, or live on
 * without what was lost. */
enum turn { TURN_SAID, TURN_KEPT, TURN_LOST, TURN_UNDONE };

static bool is_done(enum turn t)
{
    return t == TURN_SAID || t == TURN_KEPT;
}

static enum turn turn_over(struct sim *s, struct proc *p)
{
    bool kept = !p->dies_in_turn || rng_chance(&s->rng, 0.5);

    if (p->disk_full)
        kept = p->tape.flushed == p->tape.log.len;
    else if (kept)
        tape_flush(p);
    if (!p->dies_in_turn)
        return disk_refuses(p) ? TURN_UNDONE : TURN_SAID;
    sim_note(s, "process %lu dies in its turn, kept %lu", p->idx, kept, 0, 0, 0);
    return kept ? TURN_KEPT : TURN_LOST;
}

static void turn_dies(struct sim *s, struct proc *p)
{
    struct event e = { .kind = E_START, .proc = p->idx };

    proc_stop(s, p);
    sim_after_ms(s, sim_rand(s, 50, 3000), e);
}

/* The table is what is written down, and holds. */
static void turn_undone(struct sim *s, struct proc *p)
{
    sim_note(s, "process %lu cannot write its turn down", p->idx, 0, 0, 0, 0);
    net_proc_hangs_up(s, p);
    tape_lose(p);
    outbox_fini(&p->box);
    segtab_free(p->segtab);
    parked_forget(p, 0);
    make_segtab(s, p);
    segtab_hold(p->segtab, true);
    p->disk_holds = true;
}

static void turn_ends(struct sim *s, struct proc *p, enum turn t)
{
    if (t == TURN_UNDONE)
        turn_undone(s, p);
    else
        turn_dies(s, p);
}

static void seg_step(struct sim *s, struct proc *p, struct segtab_in in)
{
    enum turn t;

    in.now = clock_now(p);
    segtab_step(p->segtab, &in, &p->box);
    if (in.kind == SEGTAB_TICK && rng_chance(&s->rng, 0.1) && !p->disk_full)
        tape_snap(p);
    parked_ask(s, p);
    t = turn_over(s, p);
    if (!is_done(t)) {
        turn_ends(s, p, t);
        return;
    }
    parked_answered(s, p);
    for (uint32_t i = 0; i < p->box.n; i++)
        if (p->box.v[i].m.type == MSG_SEG_POPPED)
            check_popped(s, &p->box.v[i].m.seg_popped, in.msg);
    for (uint32_t i = 0; i < p->box.n; i++)
        if (p->box.v[i].m.type == MSG_LET_IN)
            check_let_in(s, p, &p->box.v[i].m.let_in);
    if (in.msg != NULL && in.msg->type == MSG_SEEN)
        seen_taken(s, p, &in.msg->seen);
    if (t == TURN_KEPT) {
        turn_dies(s, p);
        return;
    }
    net_send_outbox(s, p, &p->box);
    dial_wanted(s, p);
    if (in.kind != SEGTAB_ASK && segtab_asks(p->segtab))
        seg_step(s, p, (struct segtab_in) { .kind = SEGTAB_ASK });
}

static void on_place(struct sim *s, struct proc *p, peer_no peer, uint64_t rid,
                     const struct msg_place *g)
{
    struct msg ans = { .type = MSG_PLACE_ANS };
    enum turn t;

    arena_reset(&s->ans_arena);
    ans.place_ans.n = g->n;
    ans.place_ans.ans = arena_array(&s->ans_arena, g->n, sizeof(*ans.place_ans.ans));
    segtab_place(p->segtab, clock_now(p), g->req, g->n, ans.place_ans.ans, &s->ans_arena);
    t = turn_over(s, p);
    for (uint32_t i = 0; i < g->n && is_done(t); i++)
        check_placed(s, p, &g->req[i], &ans.place_ans.ans[i]);
    if (t == TURN_SAID)
        net_send(s, p, peer, &ans, rid);
    else
        turn_ends(s, p, t);
}

/* Whose the i-th answer is. */
static const struct append_req *asked(const struct msg_append *g, const struct msg_append_ans *a, uint32_t i)
{
    return &g->req[a->n == g->n ? i : a->ans[i].row];
}

static void on_append(struct sim *s, struct proc *p, peer_no peer, uint64_t rid,
                      const struct msg_append *g)
{
    struct msg ans = { .type = MSG_APPEND_ANS };
    enum turn t;
    uint32_t n;

    arena_reset(&s->ans_arena);
    ans.append_ans.ans = arena_array(&s->ans_arena, g->n, sizeof(*ans.append_ans.ans));
    n = ans.append_ans.n = segtab_append_from(p->segtab, clock_now(p), &(struct append_from) { peer, rid },
                                              g->req, g->n, ans.append_ans.ans, &s->ans_arena);
    for (uint32_t i = 0; i < n && s->o.contact_share > 0; i++)
        turns_ask(s, p, asked(g, &ans.append_ans, i), &ans.append_ans.ans[i]);
    t = turn_over(s, p);
    for (uint32_t i = 0; i < n && is_done(t); i++) {
        check_appended(s, p, asked(g, &ans.append_ans, i), &ans.append_ans.ans[i]);
        turns_asked(s, asked(g, &ans.append_ans, i), &ans.append_ans.ans[i]);
    }
    if (t != TURN_SAID) {
        turn_ends(s, p, t);
        return;
    }
    parked_wait(s, p, peer, rid, g, ans.append_ans.ans, n);
    if (n > 0)
        net_send(s, p, peer, &ans, rid);
    if (segtab_asks(p->segtab))
        seg_step(s, p, (struct segtab_in) { .kind = SEGTAB_ASK });
    if (p->alive && segtab_urgent(p->segtab))
        seg_step(s, p, (struct segtab_in) { .kind = SEGTAB_REPORT });
}

/* Instead of a leave: what a gate sends when the backend says that he is done. */
static void end_by_pass(struct proc *p, const struct drop_req *q, struct drop_ans *a)
{
    static const uint8_t state[SESS_NSTATES] = { [SESS_OK] = DROP_OK,
                                                 [SESS_GONE] = DROP_OK,
                                                 [SESS_BUSY] = DROP_BUSY,
                                                 [SESS_MOVED] = DROP_MOVED,
                                                 [SESS_UNKNOWN] = DROP_UNKNOWN };
    struct sess_req r = { .seg = q->seg, .number = q->number, .command = SESS_RELEASE };
    struct sess_ans got;

    segtab_session(p->segtab, clock_now(p), &r, 1, &got, &p->sim->ans_arena);
    *a = (struct drop_ans) { .state = state[got.state], .moved_to = got.moved_to };
}

static void drops_done(struct sim *s, struct proc *p, peer_no peer, uint64_t rid,
                       const struct msg_drop *g, const struct msg *ans)
{
    enum turn t = turn_over(s, p);

    for (uint32_t i = 0; i < g->n && is_done(t); i++) {
        struct ticket *x = check_ticket(s, g->req[i].seg, g->req[i].number);

        if (x == NULL || ans->drop_ans.ans[i].state != DROP_OK)
            continue;
        if (g->req[i].heir_hash != 0 && g->req[i].heir_hash < DROP_UNLESS_FOUND)
            replace_left(s, x);
        if (g->req[i].heir_hash == DROP_UNLESS_KEPT || g->req[i].heir_hash == DROP_UNLESS_FOUND)
            x->of_group ? groups_given_back(s, x) : (void)0;
        session_ended(s, x);
    }
    if (t == TURN_SAID)
        net_send(s, p, peer, ans, rid);
    else
        turn_ends(s, p, t);
}

static void on_drop(struct sim *s, struct proc *p, peer_no peer, uint64_t rid,
                    const struct msg_drop *g)
{
    struct msg ans = { .type = MSG_DROP_ANS };

    arena_reset(&s->ans_arena);
    ans.drop_ans.n = g->n;
    ans.drop_ans.ans = arena_array(&s->ans_arena, g->n, sizeof(*ans.drop_ans.ans));
    for (uint32_t i = 0; i < g->n; i++) {
        struct ticket *t = check_ticket(s, g->req[i].seg, g->req[i].number);

        if (t != NULL && t->fate == T_ADMITTED && s->o.command_share <= 0 &&
            i % 2 == t->number % 2 && g->req[i].heir_hash == 0)
            end_by_pass(p, &g->req[i], &ans.drop_ans.ans[i]);
        else
            segtab_drop(p->segtab, clock_now(p), &g->req[i], 1, &ans.drop_ans.ans[i]);
        if (t != NULL && (g->req[i].heir_hash == 0 || ans.drop_ans.ans[i].state == DROP_OK))
            t->leaving = true;
    }
    drops_done(s, p, peer, rid, g, &ans);
}

/* Commands about sessions, by the pass. */
static void on_session(struct sim *s, struct proc *p, peer_no peer, uint64_t rid,
                       const struct msg_session *g)
{
    struct msg ans = { .type = MSG_SESSION_ANS };
    enum turn t;

    arena_reset(&s->ans_arena);
    ans.session_ans.n = g->n;
    ans.session_ans.ans = arena_array(&s->ans_arena, g->n, sizeof(*ans.session_ans.ans));
    segtab_session(p->segtab, clock_now(p), g->req, g->n, ans.session_ans.ans,
                   &s->ans_arena);
    t = turn_over(s, p);
    for (uint32_t i = 0; i < g->n; i++) {
        struct ticket *x = check_ticket(s, g->req[i].seg, g->req[i].number);

        if (x != NULL && g->req[i].command <= SESS_REVOKE)
            x->leaving = true;
        if (is_done(t))
            session_done(s, &g->req[i], &ans.session_ans.ans[i]);
    }
    if (t == TURN_SAID)
        net_send(s, p, peer, &ans, rid);
    else
        turn_ends(s, p, t);
}

static void seg_msg(struct sim *s, struct proc *p, peer_no peer, uint64_t rid,
                    const struct msg *m)
{
    struct segtab_in in = { .kind = SEGTAB_MSG, .peer = peer, .msg = m };

    if (m->type == MSG_PLACE) {
        on_place(s, p, peer, rid, &m->place);
    } else if (m->type == MSG_APPEND) {
        on_append(s, p, peer, rid, &m->append);
    } else if (m->type == MSG_DROP) {
        on_drop(s, p, peer, rid, &m->drop);
    } else if (m->type == MSG_SESSION) {
        on_session(s, p, peer, rid, &m->session);
    } else if (m->type == MSG_ERROR && m->error.code == SQ_ENOTLEADER) {
        return; /* a standby: the leader has a link of its own */
    } else {
        if (m->type == MSG_SEG_OPEN)
            check_opened(s, p, &m->seg_open);
        seg_step(s, p, in);
    }
}

/* ---- what happens to any of them ----------------------------------------------------- */

static uint8_t role_of(const struct proc *p)
{
    return p->kind == SIM_MNG ? RPC_MANAGER : p->kind == SIM_SEG ? RPC_SEGMENT : RPC_ROUTER;
}

usec_t proc_stopped_us(const struct sim *s, const struct proc *p)
{
    return p->stopped - (p->rest_until > s->now ? p->rest_until - s->now : 0);
}

void proc_stopped(struct proc *p, usec_t from, usec_t to)
{
    if (from < p->rest_until)
        from = p->rest_until; /* that is counted */
    if (from < to)
        p->stopped += to - from;
    if (p->rest_until < to)
        p->rest_until = to;
}

/* While no router can be reached nobody can poll; then they come as late as they tried. */
static void router_there(struct sim *s, struct proc *p, bool up)
{
    usec_t dark = s->now - p->dark_from;

    if (up && p->routers++ == 0 && p->dark_from > 0) {
        dark = dark < SEGTAB_REST_MS * 1000 ? dark : SEGTAB_REST_MS * 1000;
        proc_stopped(p, p->dark_from, s->now + dark);
    } else if (!up && --p->routers == 0) {
        p->dark_from = s->now;
        rest_ends(s, p); /* begins again when they are back */
    }
}

void proc_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other)
{
    struct segtab_in in = {
        .kind = SEGTAB_UP, .peer = peer, .role = role_of(other), .name = other->name
    };

    sim_note(s, "up %lu<>%lu peer %lu", p->idx, other->idx, peer, 0, 0);
    if (p->kind == SIM_SEG && other->kind == SIM_ROUTER)
        router_there(s, p, true);
    if (p->kind == SIM_MNG && other->kind == SIM_SEG)
        check_heard_anew(s, &s->proc[other->idx]);
    if (p->kind == SIM_MNG)
        smng_up(s, p, peer, other);
    else if (p->kind == SIM_SEG)
        seg_step(s, p, in);
    else
        srouter_up(s, p, peer, other);
}

void proc_down(struct sim *s, struct proc *p, peer_no peer, const struct proc *other)
{
    struct segtab_in in = {
        .kind = SEGTAB_DOWN, .peer = peer, .role = role_of(other), .name = other->name
    };

    sim_note(s, "down %lu<>%lu peer %lu", p->idx, other->idx, peer, 0, 0);
    if (p->kind == SIM_SEG && other->kind == SIM_ROUTER)
        router_there(s, p, false);
    if (p->kind == SIM_SEG)
        parked_forget(p, peer);
    if (p->kind == SIM_MNG)
        smng_down(s, p, peer, other);
    else if (p->kind == SIM_SEG)
        seg_step(s, p, in);
    else
        srouter_down(s, p, other);
}

void proc_dial_fail(struct sim *s, struct proc *p, const struct proc *other)
{
    struct segtab_in in = { .kind = SEGTAB_DIAL_FAIL, .name = other->name };

    if (p->kind == SIM_SEG && other->kind == SIM_SEG)
        seg_step(s, p, in);
}

void proc_msg(struct sim *s, struct proc *p, const struct conn *c, peer_no peer,
              uint64_t rid, const struct msg *m)
{
    struct proc *other = &s->proc[c->end[peer % 2]];

    if (p->kind == SIM_MNG) {
        if (s->now - other->heard > 1000000)
            check_heard_anew(s, other);
        other->heard = s->now;
        smng_msg(s, p, peer, m);
    } else if (p->kind == SIM_SEG) {
        seg_msg(s, p, peer, rid, m);
    } else {
        srouter_msg(s, p, other, peer, rid, m);
    }
}

void proc_tick(struct sim *s, struct proc *p)
{
    struct segtab_in in = { .kind = SEGTAB_TICK };

    if (p->kind == SIM_MNG) {
        smng_tick(s, p);
    } else if (p->kind == SIM_SEG) {
        seg_step(s, p, in);
        parked_bound(s, p);
    } else {
        srouter_tick(s, p);
    }
    if (p->alive)
        tick_later(s, p, TICK_MS);
}

/* Does `from` keep a link to `to`? */
bool proc_wants(const struct proc *from, const struct proc *to)
{
    struct node_want w[SIM_SEGS_MAX];
    size_t n;

    if (!from->alive || from == to || from->kind == SIM_MNG)
        return false;
    if (to->kind == SIM_MNG)
        return true;
    if (from->kind == SIM_ROUTER)
        return to->kind == SIM_SEG && srouter_wants(from->router, to);
    n = segtab_wanted(from->segtab, w, ARRAY_LEN(w));
    for (size_t i = 0; i < n; i++)
        if (strcmp(w[i].name, to->name) == 0)
            return true;
    return false;
}

uint64_t sim_node_tickets(const struct sim *s, unsigned seg_node)
{
    struct segtab_counts c;
    const struct proc *p = proc_of((struct sim *)(uintptr_t)s, SIM_SEG, seg_node);

    if (p == NULL || !p->alive)
        return 0;
    segtab_count(p->segtab, &c);
    return c.waiting;
}
