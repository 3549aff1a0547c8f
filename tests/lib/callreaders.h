/* callreaders.h: callers of callnodes.h who hear an answer while it comes, and a target that tells it
 * piece by piece. Each looks at a task that is not over, takes its time, and may leave; links break and
 * nodes are killed under them. What is judged (J22):
 *   a prefix  what a reader hears are the first bytes of what the target says to one attempt
 *   whole     a reader that is told so has all of it, that attempt ended well, and the task by it
 *   once      behind an answer of which somebody has heard no other attempt comes to the target
 *   an end    whoever hears is told of the end, or has lost the link
 * Others read along (TASK_GET.follow), and come again: what they hear is a prefix, and whole, too, with the hash
 * of all; and the world is as it were without them. */
#ifndef SEGQ_TESTS_CALLREADERS_H
#define SEGQ_TESTS_CALLREADERS_H

#include <sodium.h>

#include "common/task/call.h"
#include "task/calls/calls.h"
#include "tests/lib/moverig.h"

#define CR_BYTES 60000 /* of an answer, at most */

enum cr_state { CR_NONE, CR_ASKS, CR_HEARS, CR_WHOLE, CR_OVER };

struct cr_reader { /* of a task; one */
    uint8_t state; /* enum cr_state */
    bool leaves;
    int node;
    peer_no link;
    uint64_t rid, call;
    uint32_t attempt; /* by the first byte that tells it; 0: none yet */
    struct window_in window;
};

struct cr {
    bool on;
    struct rng rng; /* of its own: seeds mean the same with readers and without */
    struct cr_reader v[MV_TASKS];
    struct cr_reader along[MV_TASKS];
    uint32_t heard[MV_TASKS]; /* the attempt of which somebody has a part, or its head; 0: none */
    bool told[MV_TASKS];      /* a node has begun to tell it */
    bool left[MV_TASKS];
    uint8_t want[CR_BYTES];
    uint64_t asked, heads, pieces, wholes, broken, leaves, along_wholes, along_broken;
};

/* What the target says to an attempt: the first byte tells which, and it ends with "result of TASK". */
static inline void cr_fill(uint8_t *p, unsigned task, uint32_t attempt, uint32_t length)
{
    char end[24];
    uint32_t n = (uint32_t)snprintf(end, sizeof(end), "result of %u", task);

    for (uint32_t i = 0; i < length - n; i++)
        p[i] = (uint8_t)(task * 7 + attempt * 31 + i * 13 + i / 251);
    memcpy(p + length - n, end, n);
    p[0] = (uint8_t)attempt;
}

/* ---- readers -------------------------------------------------------------------------- */

static inline void cr_ask(struct cr *c, struct mv *w, unsigned task, struct cr_reader *r, bool along)
{
    const struct mv_task *t = &w->task[task];
    const struct map_part *p = mv_share(w, task % MV_QUEUES);
    int to = p != NULL ? mv_node_of(w, p) : -1;
    struct msg m = { .type = MSG_TASK_GET };

    if (to < 0 || w->link[MV_ROUTER][to].no == 0)
        return;
    *r = (struct cr_reader){ .state = CR_ASKS, .leaves = rng_chance(&c->rng, 0.3), .node = to,
                             .link = w->link[MV_ROUTER][to].no, .rid = ++w->last_rid };
    m.task_get = (struct msg_task_get){ .part = p->part, .epoch = p->epoch, .no = t->no, .queue = "",
                                        .name = "", .wait_ms = 10000, .result = true,
                                        .window = along ? 0 : WINDOW_BYTES,
                                        .follow = along ? WINDOW_BYTES : 0,
                                        .leaves = !along && r->leaves };
    mv_send(w, r->link, to, r->rid, &m);
    c->asked++;
}

static inline void cr_flow(struct mv *w, const struct cr_reader *r, uint32_t more, bool left)
{
    struct msg m = { .type = MSG_TASK_FLOW, .task_flow = { r->call, more, left } };

    mv_send(w, r->link, r->node, r->rid, &m);
}

static inline void cr_bytes(struct cr *c, struct mv *w, unsigned task, struct cr_reader *r,
                            const struct msg_task_piece *m)
{
    uint64_t at = r->window.heard;

    if (m->data.n == 0)
        return;
    c->pieces++;
    if (!window_hear(&r->window, m->at, m->data.n)) {
        MV_BAD(w, "J22: task %u: %u bytes behind %lu, where %lu were heard", task, m->data.n, m->at, at);
        return;
    }
    if (at == 0)
        r->attempt = m->data.p[0];
    cr_fill(c->want, task, r->attempt, (uint32_t)r->window.length);
    if (memcmp(m->data.p, c->want + at, m->data.n) != 0)
        MV_BAD(w, "J22: task %u: bytes behind %lu are none of attempt %u", task, at, r->attempt);
}

/* One who reads along is told the hash of all of it. */
static inline bool cr_is_hash(struct cr *c, unsigned task, const struct cr_reader *r, const struct msg_task_piece *m)
{
    uint8_t is[32];

    cr_fill(c->want, task, r->attempt, (uint32_t)r->window.length);
    crypto_hash_sha256(is, c->want, r->window.length);
    return m->length == r->window.heard && m->sha256.n == sizeof(is) && memcmp(is, m->sha256.p, sizeof(is)) == 0;
}

static inline void cr_hears(struct cr *c, struct mv *w, unsigned task, struct cr_reader *r,
                            const struct msg_task_piece *m)
{
    bool along = r == &c->along[task];

    if (m->step == PIECE_HEAD && r->state == CR_ASKS) {
        r->state = CR_HEARS;
        r->call = m->call;
        r->window = window_in(WINDOW_BYTES, true, m->length);
        c->heads++;
        cr_bytes(c, w, task, r, m);
    } else if (r->state != CR_HEARS) {
        return;
    } else if (m->step == PIECE_MORE) {
        cr_bytes(c, w, task, r, m);
    } else {
        r->state = m->step == PIECE_WHOLE ? CR_WHOLE : CR_OVER;
        c->wholes += m->step == PIECE_WHOLE;
        c->broken += m->step != PIECE_WHOLE;
        c->along_wholes += along && m->step == PIECE_WHOLE;
        c->along_broken += along && m->step != PIECE_WHOLE;
        if (along && m->step == PIECE_WHOLE && !cr_is_hash(c, task, r, m))
            MV_BAD(w, "J22: task %u: the hash of what was read along is another one", task);
        if (m->step == PIECE_WHOLE && (m->at != r->window.heard || !window_is_whole(&r->window)))
            MV_BAD(w, "J22: task %u is told whole with %lu bytes of %lu", task, r->window.heard,
                   r->window.length);
    }
}

/* What the router hears; false: it is not a reader's. */
static inline bool cr_hear(struct cr *c, struct mv *w, uint64_t rid, const struct msg *m)
{
    if (m->type != MSG_TASK_PIECE && m->type != MSG_TASK_GET_ANS)
        return false;
    for (unsigned k = 0; k < 2 * w->n_tasks; k++) {
        unsigned i = k / 2;
        struct cr_reader *r = k % 2 == 0 ? &c->v[i] : &c->along[i];

        if (r->state == CR_NONE || r->rid != rid)
            continue;
        if (m->type == MSG_TASK_PIECE)
            cr_hears(c, w, i, r, &m->task_piece);
        else if (r->state == CR_ASKS)
            r->state = CR_NONE; /* it is final, or not in time */
    }
    return true;
}

static inline void cr_link_lost(struct cr *c, peer_no link)
{
    for (unsigned i = 0; i < MV_TASKS; i++)
        if (c->v[i].link == link && (c->v[i].state == CR_ASKS || c->v[i].state == CR_HEARS)) {
            c->left[i] |= c->v[i].leaves;
            c->broken += c->v[i].state == CR_HEARS;
            c->v[i].state = c->v[i].state == CR_ASKS ? CR_NONE : CR_OVER;
        }
    for (unsigned i = 0; i < MV_TASKS; i++)
        if (c->along[i].link == link && (c->along[i].state == CR_ASKS || c->along[i].state == CR_HEARS))
            c->along[i].state = CR_NONE;
}

/* Reads on, or leaves. */
static inline void cr_goes_on(struct cr *c, struct mv *w, unsigned i, struct cr_reader *r)
{
    bool along = r == &c->along[i];
    uint32_t more;

    if (rng_chance(&c->rng, 0.02)) {
        cr_flow(w, r, 0, true);
        c->left[i] |= r->leaves && !along;
        c->leaves++;
        r->state = CR_OVER;
    } else if ((more = window_taken(&r->window)) > 0) {
        cr_flow(w, r, more, false);
    }
}

/* A step: somebody comes, somebody reads on, somebody leaves. */
static inline void cr_step(struct cr *c, struct mv *w)
{
    if (!c->on || w->n_tasks == 0)
        return;
    for (unsigned k = 0; k < 3; k++) {
        unsigned task = (unsigned)rng_below(&c->rng, w->n_tasks);

        if (w->task[task].told && !w->quiet) {
            if (c->v[task].state == CR_NONE)
                cr_ask(c, w, task, &c->v[task], false);
            if (c->along[task].state == CR_NONE || c->along[task].state == CR_OVER)
                cr_ask(c, w, task, &c->along[task], true);
        }
    }
    for (unsigned k = 0; k < 2 * w->n_tasks; k++) {
        struct cr_reader *r = k % 2 == 0 ? &c->v[k / 2] : &c->along[k / 2];

        if (r->state == CR_HEARS && rng_chance(&c->rng, 0.5))
            cr_goes_on(c, w, k / 2, r);
    }
}

/* All is well again: nobody hears for ever. */
static inline void cr_judge(struct cr *c, struct mv *w)
{
    for (unsigned i = 0; i < w->n_tasks; i++)
        if (c->v[i].state == CR_HEARS || c->along[i].state == CR_HEARS)
            MV_BAD(w, "J22: task %u: its reader is told of no end", i);
}

#endif
