/* passing.c: see passing.h. */
#include "task/node/passing.h"

#include <inttypes.h>
#include <stdio.h>

#include "task/engine/worker.h"
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

static bool may_tell(const struct tasktab *t, const struct part *p)
{
    return p != NULL && p->life == PART_OWNED && !t->hold && !p->hold && !t->stopping;
}

static void begin(struct tasktab *t, struct going_call *g, const struct call_answer *a, struct outbox *out)
{
    struct msg_task_piece *m = say(g, PIECE_HEAD, out);

    m->part = g->part;
    m->no = g->no;
    m->status = a->status;
    m->content_type = arena_strdup(&out->mem, a->type);
    m->fields = (struct bytes_of){ (uint32_t)a->fields.n, arena_memdup(&out->mem, a->fields.p, a->fields.n) };
    m->fields_cut = a->fields_cut;
    m->sized = a->sized;
    m->length = a->says;
    if (m->content_type == NULL)
        m->content_type = "";
    if (m->fields.p == NULL)
        m->fields.n = 0;
    if (a->n > 0)
        add_bytes(g, m, a->body, a->n, out);
    touch(t, g);
}

void tasktab_pass_head(struct tasktab *t, struct task_now now, struct going_call *g,
                       const struct call_answer *a, struct outbox *out)
{
    struct part *p = tasktab_part(t, g->part);
    struct calls *c = t->o.calls;

    if (g->reader.peer != 0 || !call_may_pass(a, now.wall_ms) || a->n + WINDOW_PIECE > WINDOW_BYTES)
        return;
    if (!list_linked(&g->in_early))
        list_push_back(&c->early, &g->in_early);
    if (!may_tell(t, p))
        return;
    t->now = now;
    tasktab_clock(t, p);
    if (!engine_runs(&p->e, g->no, g->lease) || !tasktab_wait_reader(t, p, g->no, &g->reader))
        return;
    list_remove(&c->early, &g->in_early);
    if (engine_pass(&p->e, g->no, g->lease) == 0)
        begin(t, g, a, out);
}

void tasktab_pass_more(struct tasktab *t, struct going_call *g, const void *p, size_t n,
                       struct outbox *out)
{
    if (g->reader.peer == 0)
        return;
    add_bytes(g, say(g, PIECE_MORE, out), p, n, out);
    touch(t, g);
}

uint32_t tasktab_pass_room(struct going_call *g, size_t n)
{
    struct call_reader *r = &g->reader;

    if (r->peer == 0)
        return UINT32_MAX;
    r->waited_for = window_room(&r->window) < n;
    r->slow |= r->waited_for;
    return window_room(&r->window);
}

void tasktab_pass_end(struct tasktab *t, struct going_call *g, struct outbox *out)
{
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

/* ---- the reader ----------------------------------------------------------------------------- */

static void ease(struct calls *c, struct going_call *g)
{
    if (!list_linked(&g->in_eased))
        list_push_back(&c->eased, &g->in_eased);
}

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
    g->reader.peer = 0;
    ease(t->o.calls, g);
    if (g->reader.leaves && g->step == CALL_SENT)
        give_up(t, g);
}

void tasktab_flow(struct tasktab *t, peer_no from, const struct msg_task_flow *m)
{
    struct going_call *g = t->o.calls != NULL ? calls_at(t->o.calls, m->call) : NULL;

    if (g == NULL || g->reader.peer != from)
        return;
    if (m->left || !window_more(&g->reader.window, m->more))
        has_gone(t, g);
    else if (m->more > 0)
        has_room(t->o.calls, g);
}

void tasktab_readers_gone(struct tasktab *t, peer_no peer)
{
    if (t->o.calls == NULL)
        return;
    each_going (t->o.calls, g)
        if (g->reader.peer == peer)
            has_gone(t, g);
}

void tasktab_readers_forget(struct calls *c)
{
    each_going (c, g) {
        if (g->reader.peer != 0)
            ease(c, g);
        g->reader.peer = 0;
    }
}
