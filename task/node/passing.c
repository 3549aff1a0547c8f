/* passing.c: see passing.h. */
#include "task/node/passing.h"

#include <inttypes.h>
#include <stdio.h>

#include "task/engine/worker.h"
#include "task/node/body.h"
#include "task/node/following.h"
#include "task/node/parts.h"
#include "task/node/wait.h"

/* A target that is telling an answer hears of a closed connection at its next piece: for so long what
 * a call takes up is held behind that. */
#define GIVEN_UP_MS 2000

static struct msg_task_piece *say(struct going_call *g, enum piece_step step, struct outbox *out)
{
    struct msg_task_piece *m =
        &outbox_answer(out, g->reader.peer, g->reader.rid, MSG_TASK_PIECE)->task_piece;

    m->step = (uint8_t)step;
    m->call = g->id;
    m->at = g->reader.window.told;
    m->content_type = "";
    return m;
}

/* Makes the message wait for a shared store. */
static void touch(const struct tasktab *t, const struct going_call *g)
{
    struct part *p = tasktab_part(t, g->part);

    if (p != NULL)
        p->asked = true;
}

static void add_bytes(struct going_call *g, struct msg_task_piece *m, const void *p, size_t n,
                      struct outbox *out)
{
    m->data = (struct bytes_of){ (uint32_t)n, arena_memdup(&out->mem, p, n) };
    if (m->data.p == NULL)
        m->data.n = 0; /* the reader sees the gap */
    window_tell(&g->reader.window, n);
}

static void weigh(const struct tasktab *t, const struct going_call *g, const struct msg_task_piece *m,
                  struct outbox *out)
{
    tasktab_weigh(tasktab_peer(t, g->reader.peer), m->data.n + m->fields.n, out);
}

static bool may_tell(const struct tasktab *t, const struct part *p)
{
    return p != NULL && p->life == PART_OWNED && !t->hold && !p->hold && !t->stopping;
}

static void begin(struct tasktab *t, struct going_call *g, const struct call_answer *a, struct outbox *out)
{
    struct msg_task_piece *m = say(g, PIECE_HEAD, out);

    m->part = g->part;
    m->no = g->no;
    tasktab_answer_head(m, a, &out->mem);
    if (a->n > 0)
        add_bytes(g, m, a->body, a->n, out);
    weigh(t, g, m, out);
    touch(t, g);
}

static void ease(struct calls *c, struct going_call *g)
{
    if (!list_linked(&g->in_eased))
        list_push_back(&c->eased, &g->in_eased);
}

static bool is_expected(const struct tasktab *t, const struct going_call *g)
{
    const struct part *p = tasktab_part(t, g->part);

    return p != NULL && list_linked(&g->in_early) && tasktab_reader_comes(p, g->no);
}

/* Lets the target go on that has waited for a reader who is here now, or does not come. */
static void read_on(struct tasktab *t, struct going_call *g)
{
    if (g->held != NULL || (g->reader.peer == 0 && is_expected(t, g)))
        return;
    ease(t->o.calls, g);
}

static void find_reader(struct tasktab *t, struct task_now now, struct going_call *g,
                        const struct call_answer *a, struct outbox *out)
{
    struct part *p = tasktab_part(t, g->part);
    struct calls *c = t->o.calls;
    struct tpeer *link;

    if (g->reader.peer != 0 || g->held != NULL || !call_may_pass(a, now.wall_ms) ||
        a->n + WINDOW_PIECE > WINDOW_BYTES)
        return;
    if (!list_linked(&g->in_early))
        list_push_back(&c->early, &g->in_early);
    if (!may_tell(t, p))
        return;
    t->now = now;
    tasktab_clock(t, p);
    link = engine_runs(&p->e, g->no, g->lease) ? tasktab_wait_reader(t, p, g->no, &g->reader) : NULL;
    if (link != NULL && g->reader.peer == 0)
        tasktab_hold_call(link, g);
    if (g->reader.peer == 0)
        return;
    list_remove(&c->early, &g->in_early);
    if (engine_pass(&p->e, g->no, g->lease) == 0)
        begin(t, g, a, out);
}

void tasktab_pass_head(struct tasktab *t, struct task_now now, struct going_call *g,
                       const struct call_answer *a, struct outbox *out)
{
    bool waits = g->reader.peer == 0 && g->reader.waited_for;

    find_reader(t, now, g, a, out);
    if (waits)
        read_on(t, g);
}

void tasktab_pass_none(struct tasktab *t, struct going_call *g)
{
    list_remove(&t->o.calls->early, &g->in_early);
    if (g->reader.peer == 0 && g->reader.waited_for)
        read_on(t, g);
}

void tasktab_pass_more(struct tasktab *t, struct going_call *g, const void *p, size_t n,
                       struct outbox *out)
{
    struct msg_task_piece *m;

    tasktab_follow_more(t, g, p, n, out);
    if (g->reader.peer == 0)
        return;
    m = say(g, PIECE_MORE, out);
    add_bytes(g, m, p, n, out);
    weigh(t, g, m, out);
    touch(t, g);
}

/* Bytes of an answer that are kept until its reader is here; it hears all of them, or comes too late. */
static uint32_t room_to_begin(struct going_call *g, size_t n)
{
    uint32_t most = WINDOW_BYTES - WINDOW_PIECE, room;

    if (g->heard > most)
        return UINT32_MAX;
    room = most - (uint32_t)g->heard;
    g->reader.waited_for = room < n;
    return room;
}

uint32_t tasktab_pass_room(struct tasktab *t, struct going_call *g, size_t n)
{
    struct call_reader *r = &g->reader;
    struct tpeer *link;

    if (r->peer == 0 && g->held == NULL)
        return is_expected(t, g) ? room_to_begin(g, n) : UINT32_MAX;
    link = g->held == NULL ? tasktab_peer(t, r->peer) : NULL;
    r->waited_for = g->held != NULL || window_room(&r->window) < n;
    if (!r->waited_for && !tasktab_has_room(link)) {
        tasktab_hold_call(link, g);
        r->waited_for = true;
    }
    r->slow |= r->waited_for;
    return g->held != NULL ? 0 : window_room(&r->window);
}

void tasktab_pass_end(struct tasktab *t, struct going_call *g, struct outbox *out)
{
    tasktab_follow_end(t, g, out);
    if (g->reader.peer == 0)
        return;
    (void)say(g, g->told_whole ? PIECE_WHOLE : PIECE_BROKEN, out);
    touch(t, g);
    g->reader.peer = 0;
}

bool tasktab_reads(struct tasktab *t)
{
    bool reads = t->reads;

    t->reads = false;
    return reads;
}

/* ---- what has waited for room on its link ---------------------------------------------------- */

static struct going_call *next_held(struct tpeer *p)
{
    struct going_call *g = list_entry(list_first(&p->held), struct going_call, in_held);

    if (g == NULL)
        return NULL;
    tasktab_unhold(g);
    p->lent += g->reader.peer != 0 ? window_room(&g->reader.window) : WINDOW_BYTES;
    return g;
}

struct going_call *tasktab_let_go(struct tasktab *t, struct task_now now, struct outbox *out)
{
    struct going_call *g;

    t->now = now;
    each_tpeer (t, p) {
        while (tasktab_may_let_go(p)) {
            if (p->owed.n > 0)
                tasktab_pay(t, p, out);
            if ((g = next_held(p)) != NULL)
                return g;
        }
        p->wanted |= p->owed.n > 0 || p->held.n > 0;
    }
    return NULL;
}

/* ---- the reader ----------------------------------------------------------------------------- */

static void has_room(struct calls *c, struct going_call *g)
{
    g->reader.waited_for = false;
    ease(c, g);
}

static void give_up(struct tasktab *t, struct going_call *g)
{
    struct part *p = tasktab_part(t, g->part);
    struct attempt how = { .end = ATTEMPT_INTERRUPTED };
    char why[ATTEMPT_REASON];

    if (!may_tell(t, p))
        return;
    tasktab_clock(t, p);
    how.reason = why;
    how.reason_len = (uint32_t)snprintf(why, sizeof(why), "%" PRIu64 " bytes were passed on: its caller left",
                                        g->reader.window.told);
    if (engine_give_up(&p->e, g->no, g->lease, GIVEN_UP_MS, &how) == 0)
        t->cut = true;
}

static void has_gone(struct tasktab *t, struct going_call *g)
{
    tasktab_unhold(g);
    g->reader.peer = 0;
    ease(t->o.calls, g);
    if (g->reader.leaves && g->step == CALL_SENT)
        give_up(t, g);
}

void tasktab_flow(struct tasktab *t, peer_no from, const struct msg_task_flow *m)
{
    struct going_call *g = t->o.calls != NULL ? calls_at(t->o.calls, m->call) : NULL;

    if ((m->call & FOLLOWS) != 0)
        tasktab_follow_flow(t, from, m);
    if (g == NULL || g->reader.peer != from)
        return;
    if (m->left || !window_more(&g->reader.window, m->more))
        has_gone(t, g);
    else if (m->more > 0)
        has_room(t->o.calls, g);
}

void tasktab_readers_gone(struct tasktab *t, struct tpeer *peer)
{
    if (t->o.calls == NULL)
        return;
    each_going (t->o.calls, g)
        if (g->reader.peer == peer->no)
            has_gone(t, g);
    list_each_of (&peer->held, struct going_call, in_held, g) { /* heads */
        tasktab_unhold(g);
        has_room(t->o.calls, g);
        t->reads = true; /* another one may hear it */
    }
}

void tasktab_readers_forget(struct calls *c)
{
    each_going (c, g) {
        if (g->reader.peer != 0 || g->held != NULL)
            ease(c, g);
        tasktab_unhold(g);
        g->reader.peer = 0;
    }
}
