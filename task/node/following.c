/* following.c: see following.h. */
#include "task/node/following.h"

#include <stdlib.h>

#include "common/task/call.h"
#include "common/task/sha256.h"
#include "task/node/body.h"
#include "task/node/parts.h"
#include "task/node/wait.h"

struct kept { /* a whole answer that is in no file: for those who were behind at its end */
    unsigned refs;
    uint8_t bytes[];
};

struct follower {
    struct list_node in;        /* tasktab.followers */
    struct list_node of_call;   /* going_call.followers */
    struct list_node in_behind; /* tasktab.behind: there may be more for it */
    struct tpeer *peer;         /* ref */
    uint64_t id, rid;
    part_no part;
    task_no no;
    struct going_call *call; /* ref; NULL: it is over, and whole: */
    uint32_t status; /* 0: the task is dead by it */
    uint64_t length;
    uint8_t sha256[RESULT_SHA256];
    struct kept *kept; /* counted; NULL: in its file */
    struct window_out window;
};

/* ---- life ---------------------------------------------------------------------------------- */

static void leave_call(struct follower *f)
{
    if (list_linked(&f->of_call))
        list_remove(&f->call->followers, &f->of_call);
    f->call = NULL;
}

static void forget(struct tasktab *t, struct follower *f)
{
    leave_call(f);
    if (list_linked(&f->in_behind))
        list_remove(&t->behind, &f->in_behind);
    list_remove(&t->followers, &f->in);
    (void)map_del(&t->by_follower, f->id);
    if (f->kept != NULL && --f->kept->refs == 0)
        free(f->kept);
    free(f);
}

static struct follower *follower_new(struct tasktab *t, struct going_call *g)
{
    struct follower *f = calloc(1, sizeof(*f));

    if (f == NULL || map_set_ptr(&t->by_follower, t->last_follower + 1, f) < 0) {
        free(f);
        return NULL;
    }
    f->id = ++t->last_follower;
    f->part = g->part;
    f->no = g->no;
    f->call = g;
    list_push_back(&t->followers, &f->in);
    list_push_back(&g->followers, &f->of_call);
    return f;
}

static void look_later(struct tasktab *t, struct follower *f)
{
    if (!list_linked(&f->in_behind))
        list_push_back(&t->behind, &f->in_behind);
}

/* ---- what is said -------------------------------------------------------------------------- */

static struct msg_task_piece *say(struct tasktab *t, const struct follower *f, enum piece_step step,
                                  struct outbox *out)
{
    struct msg_task_piece *m = &outbox_answer(out, f->peer->no, f->rid, MSG_TASK_PIECE)->task_piece;
    struct part *p = tasktab_part(t, f->part);

    m->step = (uint8_t)step;
    m->call = FOLLOWS | f->id;
    m->at = f->window.told;
    m->content_type = "";
    if (p != NULL)
        p->asked = true; /* waits for a shared store */
    return m;
}

static void begin(struct tasktab *t, const struct follower *f, const struct call_answer *a, struct outbox *out)
{
    struct msg_task_piece *m = say(t, f, PIECE_HEAD, out);

    m->part = f->part;
    m->no = f->no;
    tasktab_answer_head(m, a, &out->mem);
    tasktab_weigh(f->peer, m->fields.n, out);
}

/* data: in the outbox's memory; NULL: there was none, and the reader sees the gap. */
static void tell(struct tasktab *t, struct follower *f, const uint8_t *data, size_t n, struct outbox *out)
{
    struct msg_task_piece *m = say(t, f, PIECE_MORE, out);

    m->data = (struct bytes_of){ data != NULL ? (uint32_t)n : 0, data };
    window_tell(&f->window, n);
    tasktab_weigh(f->peer, n, out);
}

static void say_broken(struct tasktab *t, struct follower *f, struct outbox *out)
{
    (void)say(t, f, PIECE_BROKEN, out);
    forget(t, f);
}

static void say_whole(struct tasktab *t, struct follower *f, struct outbox *out)
{
    struct msg_task_piece *m = say(t, f, PIECE_WHOLE, out);

    m->status = f->status;
    m->length = f->length;
    m->sha256 = (struct bytes_of){ RESULT_SHA256, arena_memdup(&out->mem, f->sha256, RESULT_SHA256) };
    if (m->sha256.p == NULL)
        m->sha256.n = 0; /* then it is broken */
    forget(t, f);
}

/* ---- it begins ----------------------------------------------------------------------------- */

void tasktab_follow(struct tasktab *t, const struct part *p, task_no no)
{
    struct going_call *g = t->o.calls != NULL ? calls_of_task(t->o.calls, p->no, no) : NULL;

    if (g != NULL && !list_linked(&g->in_joined))
        list_push_back(&t->o.calls->joined, &g->in_joined);
}

/* Is all that has come of it still here? */
static bool keeps_all(const struct tasktab *t, struct going_call *g)
{
    uint8_t last;

    return g->heard == 0 || (t->o.answers.so_far != NULL && t->o.answers.so_far(g, g->heard - 1, &last, 1) == 1);
}

void tasktab_follow_head(struct tasktab *t, struct task_now now, struct going_call *g,
                         const struct call_answer *a, struct outbox *out)
{
    struct part *p = tasktab_part(t, g->part);
    struct wait_reader r;
    struct follower *f;

    if (p == NULL || p->life != PART_OWNED || t->stopping || !call_may_pass(a, now.wall_ms) || !keeps_all(t, g))
        return;
    if (t->hold || p->hold) {
        if (tasktab_wait_follower(p, g->no, &r) && !list_linked(&g->in_joined))
            list_push_back(&t->o.calls->joined, &g->in_joined); /* until that is over */
        return;
    }
    t->now = now;
    while (g->followers.n < FOLLOWERS_OF_ONE && t->followers.n < FOLLOWERS_MOST &&
           tasktab_wait_follower(p, g->no, &r) && (f = follower_new(t, g)) != NULL) {
        f->peer = r.peer;
        f->rid = r.rid;
        f->window = window_out(r.window);
        tasktab_wait_over(t, &r);
        begin(t, f, a, out);
        if (g->heard > 0)
            look_later(t, f);
    }
}

/* ---- it goes on ---------------------------------------------------------------------------- */

void tasktab_follow_more(struct tasktab *t, struct going_call *g, const void *p, size_t n, struct outbox *out)
{
    uint64_t at = g->heard;
    const uint8_t *data = NULL; /* copied once for all */

    g->heard += n;
    list_each_of (&g->followers, struct follower, of_call, f) {
        bool here = f->window.told == at && tasktab_has_room(f->peer);
        size_t k = here ? u64_min(n, window_room(&f->window)) : 0;

        if (k > 0) {
            if (data == NULL)
                data = arena_memdup(&out->mem, p, n);
            tell(t, f, data, k, out);
        }
        if (k < n)
            look_later(t, f);
    }
}

static int64_t read_for(const struct tasktab *t, const struct follower *f, uint8_t *to, size_t n)
{
    const struct tab_answers *a = &t->o.answers;
    struct msg_task_read q = { .part = f->part, .no = f->no, .at = f->window.told,
                               .sha256 = { RESULT_SHA256, f->sha256 } };

    if (f->call != NULL)
        return a->so_far != NULL ? a->so_far(f->call, f->window.told, to, n) : 0;
    if (f->kept == NULL)
        return a->read(a->ctx, &q, to, n);
    memcpy(to, f->kept->bytes + f->window.told, n);
    return (int64_t)n;
}

static void tell_kept(struct tasktab *t, struct follower *f, size_t n, struct outbox *out)
{
    uint8_t *to = arena_array(&out->mem, n, 1);
    int64_t got = to != NULL ? read_for(t, f, to, n) : 0;

    if (got < (int64_t)n) { /* the rest is not kept */
        say_broken(t, f, out);
        return;
    }
    tell(t, f, to, n, out);
    if (f->call == NULL && f->window.told == f->length)
        say_whole(t, f, out);
}

void tasktab_follow_on(struct tasktab *t, struct outbox *out)
{
    for (size_t left = t->behind.n; left > 0; left--) {
        struct follower *f = list_entry(list_first(&t->behind), struct follower, in_behind);
        uint64_t all = f->call != NULL ? f->call->heard : f->length;
        size_t n = u64_min(all - f->window.told, window_room(&f->window));

        list_remove(&t->behind, &f->in_behind);
        if (n > 0 && f->call != NULL && f->call->step == CALL_ENDED)
            continue; /* waits until its end is written */
        if (n > 0 && !tasktab_has_room(f->peer))
            look_later(t, f);
        else if (n > 0)
            tell_kept(t, f, n, out);
    }
}

void tasktab_follow_flow(struct tasktab *t, peer_no from, const struct msg_task_flow *m)
{
    struct follower *f = map_get_ptr(&t->by_follower, m->call & ~FOLLOWS);

    if (f == NULL || f->peer->no != from)
        return;
    if (m->left || !window_more(&f->window, m->more))
        forget(t, f);
    else
        look_later(t, f);
}

/* ---- it ends ------------------------------------------------------------------------------- */

void tasktab_follow_answered(struct going_call *g, const struct call_answer *a)
{
    g->all.known = g->followers.n > 0 && a->fault == CALL_NONE && !a->goes_on && a->length == g->heard;
    if (!g->all.known)
        return;
    if (a->length > a->n)
        memcpy(g->all.sha256, a->sha256, RESULT_SHA256);
    else
        sha256_of(g->all.sha256, a->body, a->n);
}

static bool is_in_file(const struct tasktab *t, const struct going_call *g)
{
    const struct tab_answers *a = &t->o.answers;

    return a->have != NULL && a->have(a->ctx, g->part, g->no, g->heard, g->all.sha256);
}

/* Bytes that are kept with the task, if these are all. */
static struct kept *kept_of(const struct going_call *g)
{
    struct reply reply;
    struct result r;
    struct kept *k;

    if (reply_unpack(g->result.data, g->result.len, &reply) < 0 ||
        result_unpack(reply.rest, reply.rest_n, &r) < 0 || r.n != g->heard ||
        (k = malloc(sizeof(*k) + r.n)) == NULL)
        return NULL;
    k->refs = 0;
    memcpy(k->bytes, r.p, r.n);
    return k;
}

void tasktab_follow_end(struct tasktab *t, struct going_call *g, struct outbox *out)
{
    bool in_file = g->followers.n > 0 && g->all.known && is_in_file(t, g);
    struct kept *kept = NULL;

    list_each_of (&g->followers, struct follower, of_call, f) {
        if (!g->told_whole || !g->all.known) {
            say_broken(t, f, out);
            continue;
        }
        leave_call(f);
        f->status = g->verdict.kind == VERDICT_DONE ? g->verdict.status : 0;
        f->length = g->heard;
        memcpy(f->sha256, g->all.sha256, RESULT_SHA256);
        if (f->window.told == f->length) {
            say_whole(t, f, out);
            continue;
        }
        if (!in_file && kept == NULL)
            kept = kept_of(g);
        if (kept != NULL) {
            f->kept = kept;
            kept->refs++;
        }
        if (in_file || kept != NULL)
            look_later(t, f);
        else
            say_broken(t, f, out);
    }
}

void tasktab_followers_gone(struct tasktab *t, const struct tpeer *peer)
{
    list_each_of (&t->followers, struct follower, in, f)
        if (f->peer == peer)
            forget(t, f);
}

void tasktab_followers_free(struct tasktab *t)
{
    list_each_of (&t->followers, struct follower, in, f)
        forget(t, f);
    map_fini(&t->by_follower);
}
