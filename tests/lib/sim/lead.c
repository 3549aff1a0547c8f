/* lead.c: one of several managers: its lease (the real core), its copy of the store,
 * batches of writes, and what waits for them: queuemng/lead/lead.c, redis_write.c and queuemng/lead/steps.c
 * without sockets. */
#include "tests/lib/sim/lead.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/ops.h"
#include "tests/lib/sim/store.h"

#include "queuemng/policy/lease.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_MS  500
#define AGAIN_MS   100
#define RELOAD_MS  500
#define NO_MS      INT64_MAX

enum lead_event { LEAD_TIMER, LEAD_UP, LEAD_DOWN, LEAD_LATE, LEAD_ANSWER, LEAD_WRITE };

struct batch { /* flat, as store_msg has it */
    struct buf text;
    bool open, whole;
    uint64_t serial;
    usec_t since;
};

struct step {
    struct mng_out *out; /* owned */
    uint64_t need;
};

struct slead {
    struct lease lease;
    bool up, begun, loading, fenced;
    bool exact; /* nobody has led since us, as far as we know */
    uint64_t fenced_by, heard_rev;
    usec_t settled, loaded, load_at;
    uint32_t link;          /* counts connections */
    uint64_t asked, answered;
    usec_t out_last, in_last;
    uint64_t timer;         /* generation */
    /* the copy */
    struct kv mirror;
    uint64_t rev, epoch;    /* epoch: written under; 0 = not */
    bool has_rev, dirty;
    struct batch next, in_flight;
    uint64_t issued, done, write_no; /* write_no: of the write that is in flight */
    bool sent;
    struct step *step;
    size_t n_steps, cap_steps;
};

static void feed(struct sim *s, struct proc *p, struct lease_in in);

bool lead_begun(const struct proc *p)
{
    return p->mng->lead->begun;
}

bool lead_may_order(const struct sim *s, const struct proc *p)
{
    const struct slead *l = p->mng->lead;

    return l->begun && lease_leads(&l->lease, sim_ms(s));
}

bool lead_has(const struct proc *p, uint64_t need)
{
    return p->mng->lead->done >= need;
}

uint64_t lead_needs(const struct proc *p)
{
    return p->mng->lead->issued;
}

/* ---- events -------------------------------------------------------------------------- */

static void later(struct sim *s, const struct proc *p, enum lead_event what, usec_t at,
                  uint64_t c, void *data)
{
    struct event e = { .kind = E_LEAD,
                       .proc = p->idx,
                       .incarnation = p->incarnation,
                       .a = what,
                       .b = p->mng->lead->link,
                       .c = c,
                       .data = data };

    sim_at(s, at > s->now ? at : s->now, e);
}

static void timer_at(struct sim *s, const struct proc *p, usec_t at)
{
    later(s, p, LEAD_TIMER, at, ++p->mng->lead->timer, NULL);
}

static usec_t delay(struct sim *s)
{
    double ms = sim_rand(s, 0.1, 3);

    if (s->store.slow_until > s->now)
        ms += sim_rand(s, 0, 700);
    return (usec_t)(ms * 1000) + 1;
}

static void dial(struct sim *s, struct proc *p, double ms)
{
    later(s, p, LEAD_UP, s->now + (usec_t)(ms * 1000), 0, NULL);
}

/* ---- asking the store ---------------------------------------------------------------- */

static bool ask(struct sim *s, struct proc *p, const struct store_msg *q,
                const struct buf *text)
{
    struct slead *l = p->mng->lead;
    struct event e = { .kind = E_STORE, .proc = SIM_NOBODY };
    struct store_msg *m;

    if (!l->up)
        return false;
    m = sim_alloc(sizeof(*m) + (text != NULL ? text->len : 0));
    *m = *q;
    m->proc = p->idx;
    m->incarnation = p->incarnation;
    m->link = l->link;
    m->len = text != NULL ? (uint32_t)text->len : 0;
    if (m->len > 0)
        memcpy(m->text, text->data, text->len);
    l->out_last = u64_max((uint64_t)l->out_last + 1, (uint64_t)(s->now + delay(s)));
    e.data = m;
    sim_at(s, l->out_last, e);
    later(s, p, LEAD_LATE, s->now + ANSWER_MS * 1000, ++l->asked, NULL);
    return true;
}

/* The store has answered: on its way back. */
void lead_answer(struct sim *s, struct store_msg *a)
{
    struct proc *p = &s->proc[a->proc];
    struct slead *l = p->alive && p->incarnation == a->incarnation ? p->mng->lead : NULL;

    if (l == NULL || l->link != a->link) {
        free(a);
        return;
    }
    l->in_last = u64_max((uint64_t)l->in_last + 1, (uint64_t)(s->now + delay(s)));
    later(s, p, LEAD_ANSWER, l->in_last, 0, a);
}

/* ---- writes -------------------------------------------------------------------------- */

static void batch_reset(struct batch *b)
{
    buf_reset(&b->text);
    b->open = b->whole = false;
    b->serial = 0;
}

static void batch_add(struct sim *s, struct batch *b, const char *key, const char *val)
{
    b->since = b->open ? b->since : s->now;
    b->open = true;
    buf_byte(&b->text, val != NULL ? '+' : '-');
    buf_append(&b->text, key, strlen(key) + 1);
    buf_append(&b->text, val != NULL ? val : "", val != NULL ? strlen(val) + 1 : 1);
}

static void write_go(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;
    struct store_msg q = { .ask = ASK_WRITE };

    if (l->epoch == 0 || l->sent || !l->up)
        return;
    if (!l->in_flight.open) {
        struct batch empty = l->in_flight;

        if (!l->next.open || l->next.serial == 0)
            return;
        l->in_flight = l->next;
        l->next = empty;
    }
    q.epoch = l->epoch;
    q.rev = l->rev;
    q.serial = l->in_flight.serial;
    q.whole = l->in_flight.whole;
    q.write_no = ++l->write_no;
    l->sent = ask(s, p, &q, &l->in_flight.text);
}

static void write_again(struct sim *s, struct proc *p)
{
    p->mng->lead->sent = false;
    later(s, p, LEAD_WRITE, s->now + AGAIN_MS * 1000, 0, NULL);
}

static void send_ready(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;
    size_t n = 0;

    for (; n < l->n_steps && l->step[n].need <= l->done; n++) {
        struct mng_out *out = l->step[n].out;

        for (uint32_t k = 0; k < out->n; k++)
            if (out->act[k].kind == MNG_SEND)
                smng_say(s, p, &out->box.v[out->act[k].item]);
        smng_out_free(out);
    }
    l->n_steps -= n;
    memmove(l->step, l->step + n, l->n_steps * sizeof(*l->step));
}

static void drop_steps(struct slead *l)
{
    for (size_t i = 0; i < l->n_steps; i++)
        smng_out_free(l->step[i].out);
    l->n_steps = 0;
}

static void kept(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!l->begun)
        return;
    if (lead_may_order(s, p))
        send_ready(s, p);
    else
        drop_steps(l);
    ops_kept(s, p);
}

/* This term must end: the timer does it. */
static void fenced(struct sim *s, struct proc *p, uint64_t epoch)
{
    struct slead *l = p->mng->lead;

    l->fenced = true;
    l->fenced_by = u64_max(l->fenced_by, epoch);
    timer_at(s, p, s->now);
}

static void on_written(struct sim *s, struct proc *p, const struct store_msg *a)
{
    struct slead *l = p->mng->lead;

    if (!l->sent || a->write_no != l->write_no)
        return; /* of an earlier term, or connection */
    l->sent = false;
    if (a->result != STORE_DONE) {
        sim_note(s, "process %lu: a write is refused (%lu)", p->idx, (uint64_t)a->result, 0,
                 0, 0);
        l->epoch = 0;
        fenced(s, p, l->lease.epoch);
        return;
    }
    l->rev = a->rev;
    l->has_rev = true;
    l->done = l->in_flight.serial;
    l->dirty = l->next.open;
    batch_reset(&l->in_flight);
    write_go(s, p);
    kept(s, p);
}

/* ---- terms --------------------------------------------------------------------------- */

static void send_away(struct sim *s, struct proc *p)
{
    for (uint32_t i = 0; i < s->n_conns; i++) {
        struct conn *c = s->conn[i];

        if (c->end[1] == p->idx && c->inc[1] == p->incarnation && !c->broken)
            net_drop(s, c);
    }
}

static void term_begin(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!lease_leads(&l->lease, sim_ms(s)))
        return; /* over before it began */
    l->begun = l->exact = true;
    l->epoch = l->lease.epoch;
    p->mng->term++;
    s->count.terms++;
    sim_note(s, "process %lu leads, epoch %lu, rev %lu", p->idx, l->epoch, l->rev, 0, 0);
    store_pairs(&l->mirror, smng_load, p);
    mng_set_epoch(p->mng->core, l->epoch);
    smng_begin(s, p);
    lead_flush(s, p);
    send_away(s, p);
    ops_new_leader(s);
}

static void term_end(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    l->epoch = 0;
    l->sent = false;
    l->done = l->issued;
    batch_reset(&l->in_flight);
    batch_reset(&l->next);
    if (!l->begun)
        return;
    sim_note(s, "process %lu leads no more", p->idx, 0, 0, 0, 0);
    l->begun = false;
    drop_steps(l);
    mng_out_reset(p->mng->out);
    smng_core_new(s, p);
    send_away(s, p);
}

static void load(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    l->load_at = s->now + AGAIN_MS * 1000;
    if (!l->loading && l->up)
        l->loading = ask(s, p, &(struct store_msg){ .ask = ASK_LOAD }, NULL);
}

static int restore_pair(void *proc, const char *key, const char *val)
{
    struct proc *p = proc;

    batch_add(p->sim, &p->mng->lead->next, key, val);
    return 0;
}

static void restore(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    sim_note(s, "process %lu puts its copy back, rev %lu", p->idx, l->rev, 0, 0, 0);
    store_pairs(&l->mirror, restore_pair, p);
    l->next.open = l->next.whole = true;
    l->next.since = s->now;
}

enum mirror { MIRROR_SAME, MIRROR_NEWER, MIRROR_WENT_BACK };

static enum mirror compare(const struct slead *l)
{
    if (l->has_rev && l->heard_rev < l->rev)
        return MIRROR_WENT_BACK;
    return !l->has_rev || l->dirty || l->heard_rev != l->rev ? MIRROR_NEWER : MIRROR_SAME;
}

/* Granted: is what we know what the store has? */
static void prepare(struct sim *s, struct proc *p)
{
    enum mirror m = compare(p->mng->lead);

    if (m == MIRROR_NEWER) {
        load(s, p);
        return;
    }
    if (m == MIRROR_WENT_BACK)
        restore(s, p);
    term_begin(s, p);
}

static void on_loaded(struct sim *s, struct proc *p, const struct store_msg *a)
{
    struct slead *l = p->mng->lead;

    l->loading = false;
    l->loaded = s->now;
    if (l->epoch != 0)
        return;
    kv_fini(&l->mirror);
    kv_init(&l->mirror);
    for (const char *at = a->text; at < a->text + a->len;) {
        const char *key = at + 1, *val = key + strlen(key) + 1;

        if (kv_set(&l->mirror, key, val) < 0)
            abort();
        at = val + strlen(val) + 1;
    }
    l->rev = a->rev;
    l->has_rev = true;
    l->dirty = false;
    if (!l->begun && l->lease.state == LEASE_LEADING)
        term_begin(s, p);
}

/* ---- the lease ----------------------------------------------------------------------- */

static bool act(struct sim *s, struct proc *p, const struct lease_act *a)
{
    struct slead *l = p->mng->lead;
    struct store_msg q = { .serial = a->serial, .epoch = a->epoch };

    switch (a->what) {
    case LEASE_TAKE:
        q.ask = ASK_TAKE;
        return s->now >= l->settled && ask(s, p, &q, NULL);
    case LEASE_RENEW:
        q.ask = ASK_RENEW;
        return ask(s, p, &q, NULL);
    case LEASE_FREE:
        q.ask = ASK_FREE;
        (void)ask(s, p, &q, NULL);
        break;
    case LEASE_LEAD:
        prepare(s, p);
        break;
    case LEASE_STEP_DOWN:
        term_end(s, p);
        break;
    }
    return true;
}

static void feed(struct sim *s, struct proc *p, struct lease_in in)
{
    struct slead *l = p->mng->lead;
    struct lease_out out;
    bool asked;

    do {
        asked = true;
        in.now_ms = sim_ms(s);
        lease_step(&l->lease, &in, &out);
        for (unsigned i = 0; i < out.n; i++)
            asked = act(s, p, &out.act[i]) && asked;
        in = (struct lease_in){ .kind = LEASE_FAILED, .serial = l->lease.serial };
    } while (!asked);
    if (out.wake_ms != MSEC_NEVER) {
        usec_t wake = out.wake_ms * 1000;

        if (l->lease.state == LEASE_LEADING && wake > s->now + AGAIN_MS * 1000)
            wake = s->now + AGAIN_MS * 1000;
        timer_at(s, p, wake);
    }
}

static void on_lease(struct sim *s, struct proc *p, const struct store_msg *a)
{
    struct slead *l = p->mng->lead;
    struct lease_in in = { .serial = a->serial, .epoch = a->epoch, .left_ms = a->left_ms };

    in.kind = a->result == 0      ? LEASE_HELD
              : a->ask == ASK_TAKE ? LEASE_GRANTED
                                   : LEASE_RENEWED;
    l->heard_rev = a->rev;
    l->exact = l->exact && (a->result != 0 || a->left_ms == 0);
    feed(s, p, in);
    if (a->result == 0 && a->left_ms > 0 && a->rev != 0 && compare(l) != MIRROR_SAME &&
        (l->loaded == 0 || s->now - l->loaded >= RELOAD_MS * 1000))
        load(s, p);
}

static void on_timer(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;
    struct lease_in in = { .kind = LEASE_TICK };
    const struct batch *b = l->in_flight.open ? &l->in_flight : &l->next;

    if (l->begun && b->open && s->now - b->since > SIM_LEASE_MS * 1000)
        fenced(s, p, l->lease.epoch);
    if (l->fenced)
        in = (struct lease_in){ .kind = LEASE_FENCED, .epoch = l->fenced_by };
    else if (!l->begun && l->lease.state == LEASE_LEADING && s->now >= l->load_at)
        load(s, p);
    l->fenced = false;
    feed(s, p, in);
}

/* ---- the link to the store ----------------------------------------------------------- */

static void on_up(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;
    usec_t age = s->now - s->store.started;

    if (l->up)
        return;
    if (s->store.away_until > s->now) {
        dial(s, p, sim_rand(s, 100, 700));
        return;
    }
    l->up = true;
    l->link++;
    l->asked = l->answered = 0;
    l->out_last = l->in_last = s->now;
    l->settled = s->now + SIM_LEASE_MS * 1000 - age;
    if (!l->exact)
        l->settled += SIM_LEASE_MS * 500; /* who knows all goes first */
    timer_at(s, p, s->now);
    write_go(s, p);
}

static void on_down(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!l->up)
        return;
    l->up = l->loading = false;
    l->link++;
    if (l->sent)
        write_again(s, p);
    dial(s, p, sim_rand(s, 10, 300));
    feed(s, p, (struct lease_in){ .kind = LEASE_FAILED, .serial = l->lease.serial });
}

void lead_link_breaks(struct sim *s, struct proc *p)
{
    later(s, p, LEAD_DOWN, s->now + (usec_t)sim_rand(s, 0, 1e5), 0, NULL);
}

static void on_answer(struct sim *s, struct proc *p, const struct store_msg *a)
{
    p->mng->lead->answered++;
    if (a->ask == ASK_TAKE || a->ask == ASK_RENEW)
        on_lease(s, p, a);
    else if (a->ask == ASK_WRITE)
        on_written(s, p, a);
    else if (a->ask == ASK_LOAD)
        on_loaded(s, p, a);
}

void lead_event(struct sim *s, struct proc *p, const struct event *e)
{
    struct slead *l = p->mng->lead;
    bool same = e->b == l->link;

    switch ((enum lead_event)e->a) {
    case LEAD_TIMER:
        if (e->c == l->timer)
            on_timer(s, p);
        break;
    case LEAD_UP:
        on_up(s, p);
        break;
    case LEAD_DOWN:
        if (same)
            on_down(s, p);
        break;
    case LEAD_LATE:
        if (same && l->answered < e->c)
            on_down(s, p);
        break;
    case LEAD_ANSWER:
        if (same)
            on_answer(s, p, e->data);
        break;
    case LEAD_WRITE:
        write_go(s, p);
        break;
    }
}

/* ---- a turn -------------------------------------------------------------------------- */

static void put_step(struct sim *s, struct slead *l, const struct mng_out *out)
{
    for (uint32_t k = 0; k < out->n; k++) {
        const struct mng_act *a = &out->act[k];

        if (a->kind == MNG_SEND)
            continue;
        l->dirty = true;
        if (a->kind == MNG_DEL)
            kv_del(&l->mirror, a->key);
        else if (kv_set(&l->mirror, a->key, a->val) < 0)
            abort();
        batch_add(s, &l->next, a->key, a->kind == MNG_PUT ? a->val : NULL);
    }
}

void lead_flush(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!lead_may_order(s, p) || l->epoch == 0) {
        drop_steps(l);
        mng_out_reset(p->mng->out);
        return;
    }
    put_step(s, l, p->mng->out);
    if (l->next.open) {
        l->next.serial = ++l->issued;
        write_go(s, p);
    }
    l->step = sim_grow(l->step, &l->cap_steps, l->n_steps + 1, sizeof(*l->step));
    l->step[l->n_steps++] = (struct step){ p->mng->out, l->issued };
    p->mng->out = smng_out_new();
    send_ready(s, p);
    if (mng_fenced_by(p->mng->core) != 0)
        fenced(s, p, mng_fenced_by(p->mng->core));
}

void lead_start(struct sim *s, struct proc *p)
{
    struct slead *l = sim_alloc(sizeof(*l));

    p->mng->lead = l;
    lease_init(&l->lease, SIM_LEASE_MS, rng_u64(&s->rng), sim_ms(s));
    kv_init(&l->mirror);
    buf_init(&l->next.text);
    buf_init(&l->in_flight.text);
    dial(s, p, sim_rand(s, 1, 20));
    timer_at(s, p, s->now);
}

void lead_stop(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    (void)s;
    drop_steps(l);
    free(l->step);
    kv_fini(&l->mirror);
    buf_fini(&l->next.text);
    buf_fini(&l->in_flight.text);
    free(l);
    p->mng->lead = NULL;
}
