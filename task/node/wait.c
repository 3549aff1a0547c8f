/* wait.c: a row of waiting calls at each spot, and one on each link; places of those in line. */
#include "task/node/wait.h"

#include <sodium.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "task/calls/calls.h"
#include "task/node/body.h"
#include "task/node/parts.h"

#define WAIT_MAX_MS 3600000u
#define UNWAIT_STEPS 1000u

static uint64_t door_key(const struct part *p, const char *queue)
{
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)queue, strlen(queue), p->seed);
    return h;
}

/* ---- spots ------------------------------------------------------------------------- */

/* Made if there is none. NULL: no memory, or another name has the same hash. */
static struct spot *spot_get(struct part *p, const struct wait_for *f)
{
    bool door = f->queue != NULL;
    uint64_t key = door ? door_key(p, f->queue) : f->no;
    struct spot *s = map_get_ptr(&p->by_key[door], key);

    if (s != NULL)
        return door && strcmp(s->queue, f->queue) != 0 ? NULL : s;
    s = calloc(1, sizeof(*s));
    if (s == NULL || map_set_ptr(&p->by_key[door], key, s) < 0) {
        free(s);
        return NULL;
    }
    *s = (struct spot){ .part = p, .key = key, .door = door };
    list_init(&s->waits);
    list_push_back(&p->spots[door], &s->node);
    if (door)
        copy_text(s->queue, sizeof(s->queue), f->queue);
    return s;
}

static void spot_tidy(struct spot *s)
{
    if (s->waits.n > 0)
        return;
    map_del(&s->part->by_key[s->door], s->key);
    list_remove(&s->part->spots[s->door], &s->node);
    free(s);
}

/* ---- waits ------------------------------------------------------------------------- */

static struct wait *wait_new(struct tasktab *t)
{
    uint32_t id = t->free_wait != 0 ? t->free_wait : t->n_waits + 1;
    struct wait *w;

    if (pages_reach(&t->waits, id) < 0 || pages_reach(&t->links, id) < 0)
        return NULL;
    w = pages_at(&t->waits, id);
    if (t->free_wait != 0)
        t->free_wait = w->id;
    else
        t->n_waits++;
    memset(w, 0, sizeof(*w));
    w->id = id;
    return w;
}

/* Removes it from all rows; its spot may be empty then. */
static void wait_free(struct tasktab *t, struct wait *w)
{
    uint32_t id = w->id;

    if (list_linked(&w->in_places))
        list_remove(&t->places, &w->in_places);
    if (w->owed) {
        list_remove(&w->peer->owed, &w->of_peer);
    } else {
        wheel_clear(&t->ends, id);
        list_remove(&w->spot->waits, &w->of_spot);
        list_remove(&w->peer->waits, &w->of_peer);
    }
    *w = (struct wait){ .id = t->free_wait };
    t->free_wait = id;
}

/* ---- looks whose answers are here, while their link has no room ---------------------------- */

static void owe(struct wait *w, part_no part, task_no no)
{
    w->owed = true;
    w->part = part;
    w->no = no;
    list_push_back(&w->peer->owed, &w->of_peer);
}

void tasktab_owe(struct tasktab *t, struct asker a, const struct part *p, task_no no, struct outbox *out)
{
    struct wait *w = a.peer->owed.n < WAITS_PER_LINK ? wait_new(t) : NULL;

    if (w == NULL) {
        tasktab_get_nothing(a, CODE_BUSY, out);
        return;
    }
    w->peer = a.peer;
    w->rid = a.rid;
    owe(w, p->no, no);
}

/* The end that it waited for is here; afterwards its spot may be empty. */
static void owe_end(struct tasktab *t, struct wait *w)
{
    struct spot *s = w->spot;

    wheel_clear(&t->ends, w->id);
    list_remove(&s->waits, &w->of_spot);
    list_remove(&w->peer->waits, &w->of_peer);
    if (list_linked(&w->in_places))
        list_remove(&t->places, &w->in_places);
    owe(w, s->part->no, s->key);
}

void tasktab_pay(struct tasktab *t, struct tpeer *peer, struct outbox *out)
{
    struct wait *w = list_entry(list_first(&peer->owed), struct wait, of_peer);
    struct part *p = tasktab_part(t, w->part);
    struct asker a = { peer, w->rid };

    if (p == NULL || p->life != PART_OWNED || p->hold) {
        tasktab_get_nothing(a, p == NULL || !p->hold ? CODE_STALE : CODE_BUSY, out);
    } else {
        tasktab_clock(t, p);
        tasktab_answer_get(t, a, p, w->no, true, out);
        p->asked = true;
    }
    wait_free(t, w);
}

/* ---- answers ------------------------------------------------------------------------ */

/* Lets its answer be read on. */
static void comes_no_more(struct tasktab *t, struct wait *w)
{
    t->reads = true;
    wait_free(t, w);
}

static bool is_owed(const struct wait *w)
{
    const struct spot *s = w->spot;

    return w->result && !s->door && tasktab_has_result(s->part, s->key) && !tasktab_has_room(w->peer);
}

/* CODE_DONE: with what there is: no task, or the state that it has. */
static void answer(struct tasktab *t, struct wait *w, uint8_t code, struct outbox *out)
{
    struct spot *s = w->spot;
    struct asker a = { w->peer, w->rid };

    if (w->comes) {
        comes_no_more(t, w);
        return;
    }
    if (code == CODE_DONE && is_owed(w)) {
        if (w->peer->owed.n < WAITS_PER_LINK) {
            owe_end(t, w);
            return;
        }
        code = CODE_BUSY;
    }
    if (s->door)
        tasktab_take_nothing(a, code, out);
    else if (code != CODE_DONE)
        tasktab_get_nothing(a, code, out);
    else
        tasktab_answer_get(t, a, s->part, s->key, w->result, out);
    s->part->asked = true;
    wait_free(t, w);
}

/* Ends the word that announced who waits there now. */
static void has_come(struct tasktab *t, struct spot *s, const struct tpeer *peer)
{
    list_each_of (&s->waits, struct wait, of_spot, w)
        if (w->comes && w->peer == peer)
            comes_no_more(t, w);
}

bool tasktab_wait(struct tasktab *t, struct asker a, struct part *p, const struct wait_for *f,
                  struct outbox *out)
{
    struct spot *s;
    struct wait *w;

    if (t->stopping)
        return false;
    if (a.peer->waits.n >= WAITS_PER_LINK) {
        struct wait *oldest = list_entry(list_first(&a.peer->waits), struct wait, of_peer);
        struct spot *left = oldest->spot;

        answer(t, oldest, CODE_DONE, out);
        spot_tidy(left);
    }
    s = spot_get(p, f);
    if (s == NULL)
        return false;
    if (!s->door && !f->follows)
        has_come(t, s, a.peer);
    w = wait_new(t);
    if (w == NULL) {
        spot_tidy(s);
        return false;
    }
    w->peer = a.peer;
    w->rid = a.rid;
    w->spot = s;
    if (s->door) {
        w->most = f->most;
        w->lease_ms = f->lease_ms;
    } else {
        w->window = f->window;
    }
    w->result = f->result;
    w->leaves = f->leaves;
    w->follows = f->follows;
    w->comes = f->comes;
    w->told_ms = t->now.ms;
    if (f->places)
        list_push_back(&t->places, &w->in_places);
    list_push_back(&s->waits, &w->of_spot);
    list_push_back(&a.peer->waits, &w->of_peer);
    wheel_set(&t->ends, w->id, t->now.ms + (f->ms < WAIT_MAX_MS ? f->ms : WAIT_MAX_MS));
    return true;
}

void tasktab_unwait(struct tasktab *t, struct tpeer *peer)
{
    list_each_of (&peer->waits, struct wait, of_peer, w) {
        struct spot *s = w->spot;

        t->reads |= w->comes;
        wait_free(t, w);
        spot_tidy(s);
    }
    list_each_of (&peer->owed, struct wait, of_peer, w)
        wait_free(t, w);
}

void tasktab_untake(struct tasktab *t, const struct part *p, struct tpeer *peer, struct outbox *out)
{
    list_each_of (&peer->waits, struct wait, of_peer, w) {
        struct spot *s = w->spot;

        if (s->part != p || !s->door)
            continue;
        answer(t, w, CODE_DONE, out);
        spot_tidy(s);
    }
}

void tasktab_unwait_take(struct tasktab *t, const struct part *p, const struct tpeer *peer, uint64_t rid,
                         struct outbox *out)
{
    unsigned steps = 0;

    list_each_of (&p->spots[true], struct spot, node, s)
        list_each_of (&s->waits, struct wait, of_spot, w) {
            if (w->rid == rid && w->peer == peer) {
                answer(t, w, CODE_DONE, out);
                spot_tidy(s);
                return;
            }
            if (++steps == UNWAIT_STEPS)
                return;
        }
}

void tasktab_waits_end(struct tasktab *t, struct outbox *out)
{
    uint32_t id;

    while ((id = wheel_pop(&t->ends, t->now.ms)) != WHEEL_NONE) {
        struct wait *w = pages_at(&t->waits, id);
        struct spot *s = w->spot;

        answer(t, w, CODE_DONE, out);
        spot_tidy(s);
    }
}

/* The one who waits longest, of those whose link has room; NULL: none. */
static struct wait *next_taker(const struct spot *s)
{
    list_each_of (&s->waits, struct wait, of_spot, w)
        if (tasktab_has_room(w->peer))
            return w;
    return NULL;
}

/* Has the queue a task that may start? */
static bool serve(struct tasktab *t, struct spot *s, struct outbox *out)
{
    struct wait *w = next_taker(s);
    struct door d = { .part = s->part, .queue = s->queue };
    struct asker a;
    bool unheard;

    if (w == NULL)
        return false;
    d.most = w->most;
    d.lease_ms = w->lease_ms;
    a = (struct asker){ w->peer, w->rid };
    unheard = tasktab_is_unheard(t, w->rid);

    if (!unheard && !tasktab_take_now(t, a, &d, out))
        return false;
    if (unheard)
        tasktab_take_nothing(a, CODE_DONE, out);
    wait_free(t, w);
    return true;
}

void tasktab_waits_take(struct tasktab *t, struct part *p, struct outbox *out)
{
    list_each_of (&p->spots[true], struct spot, node, s) {
        while (s->waits.n > 0 && !p->paused && serve(t, s, out))
            ;
        spot_tidy(s);
    }
}

static void answer_all(struct tasktab *t, struct spot *s, uint8_t code, struct outbox *out)
{
    while (s->waits.n > 0)
        answer(t, list_entry(list_first(&s->waits), struct wait, of_spot), code, out);
}

struct tpeer *tasktab_wait_reader(struct tasktab *t, const struct part *p, task_no no, struct call_reader *r)
{
    struct spot *s = map_get_ptr(&p->by_key[false], no);

    if (s == NULL)
        return NULL;
    list_each_of (&s->waits, struct wait, of_spot, w) {
        struct tpeer *peer = w->peer;

        if (w->window == 0 || w->follows)
            continue;
        if (!tasktab_has_room(peer))
            return peer;
        *r = (struct call_reader){ .peer = w->peer->no, .rid = w->rid, .leaves = w->leaves,
                                   .window = window_out(w->window) };
        wait_free(t, w);
        spot_tidy(s);
        return peer;
    }
    return NULL;
}

bool tasktab_wait_follower(const struct part *p, task_no no, struct wait_reader *r)
{
    struct spot *s = map_get_ptr(&p->by_key[false], no);

    if (s == NULL)
        return false;
    list_each_of (&s->waits, struct wait, of_spot, w)
        if (w->follows) {
            *r = (struct wait_reader){ w, w->peer, w->rid, w->window };
            return true;
        }
    return false;
}

void tasktab_wait_over(struct tasktab *t, const struct wait_reader *r)
{
    struct spot *s = r->wait->spot;

    wait_free(t, r->wait);
    spot_tidy(s);
}

bool tasktab_reader_comes(const struct part *p, task_no no)
{
    const struct spot *s = map_get_ptr(&p->by_key[false], no);

    if (s == NULL)
        return false;
    list_each_of (&s->waits, struct wait, of_spot, w)
        if (w->comes)
            return true;
    return false;
}

void tasktab_waits_final(struct tasktab *t, struct part *p, task_no no, struct outbox *out)
{
    struct spot *s = map_get_ptr(&p->by_key[false], no);

    if (s == NULL)
        return;
    answer_all(t, s, CODE_DONE, out);
    spot_tidy(s);
}

void tasktab_waits_drop(struct tasktab *t, struct part *p, uint8_t code, struct outbox *out)
{
    for (unsigned door = 0; door < 2; door++)
        list_each_of (&p->spots[door], struct spot, node, s) {
            answer_all(t, s, code, out);
            spot_tidy(s);
        }
}

/* ---- places ------------------------------------------------------------------------ */

struct told {
    const struct tpeer *peer;
    struct place_row row;
};

static int32_t seconds(const struct place_row *r)
{
    return (int32_t)ms_min(r->eta_ms < 0 ? -1 : (r->eta_ms + 999) / 1000, INT32_MAX);
}

/* False: it is as it was, or not to be told now. */
static bool look_at_place(struct tasktab *t, struct wait *w, struct place_row *r, struct outbox *out)
{
    struct part *p = w->spot->part;
    const struct progress *said = NULL;
    uint32_t place, ahead, serial;

    if (p->life != PART_OWNED || p->hold || t->hold)
        return false;
    tasktab_clock(t, p);
    *r = (struct place_row){ .rid = w->rid };
    if (!tasktab_place(p, w->spot->key, r, &said))
        return false;
    place = (uint32_t)u64_min(r->position, UINT32_MAX);
    ahead = (uint32_t)u64_min(r->ahead_of_priority, UINT32_MAX);
    serial = said != NULL ? (uint32_t)said->serial : 0;
    if (w->told_state == r->state && w->told_place == place && w->told_ahead == ahead && w->told_eta_s == seconds(r) &&
        w->told_attempts == r->attempts && w->told_serial == serial)
        return false;
    if (said != NULL && !tasktab_has_room(w->peer))
        return false;
    tasktab_tell_progress(p, said, &r->progress, &out->mem);
    w->told_state = r->state;
    w->told_place = place;
    w->told_ahead = ahead;
    w->told_eta_s = seconds(r);
    w->told_attempts = r->attempts;
    w->told_serial = serial;
    p->asked = true;
    return true;
}

static void say_places(struct tpeer *to, const struct told *v, uint32_t n, struct outbox *out)
{
    struct msg_task_places *m = NULL;
    size_t bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].peer != to)
            continue;
        if (m == NULL) {
            m = &outbox_add(out, to->no, MSG_TASK_PLACES)->task_places;
            m->v = arena_array(&out->mem, n - i, sizeof(*m->v));
            if (m->v == NULL)
                return;
        }
        bytes += v[i].row.progress.text.n + v[i].row.progress.data.n;
        m->v[m->n++] = v[i].row;
    }
    if (bytes > 0)
        tasktab_weigh(to, bytes, out);
}

void tasktab_places(struct tasktab *t, struct task_now now, struct outbox *out)
{
    uint32_t n = 0, most = (uint32_t)u64_min(t->places.n, PLACES_TURN);
    struct told *v = most > 0 ? arena_array(&out->mem, most, sizeof(*v)) : NULL;

    if (v == NULL)
        return;
    t->now = now;
    for (uint32_t i = 0; i < most; i++) {
        struct wait *w = list_entry(list_first(&t->places), struct wait, in_places);

        if (now.ms - w->told_ms < PLACES_EACH_MS)
            break;
        w->told_ms = now.ms;
        list_remove(&t->places, &w->in_places);
        list_push_back(&t->places, &w->in_places);
        v[n].peer = w->peer;
        n += look_at_place(t, w, &v[n].row, out);
    }
    each_tpeer (t, p)
        if (n > 0 && p->role == RPC_ROUTER)
            say_places(p, v, n, out);
}
