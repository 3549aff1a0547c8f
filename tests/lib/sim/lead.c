/* lead.c: one of several managers: its lease (the real core), its terms and its copy of the store:
 * queuemng/process/lead.c without sockets. */
#include "tests/lib/sim/lead.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/lead_store.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/ops.h"
#include "tests/lib/sim/store.h"

#include <stdlib.h>
#include <string.h>

#define RELOAD_MS 500

static void feed(struct sim *s, struct proc *p, struct lease_in in);

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
    lead_batch_reset(&l->in_flight);
    lead_batch_reset(&l->next);
    if (!l->begun)
        return;
    sim_note(s, "process %lu leads no more", p->idx, 0, 0, 0, 0);
    l->begun = false;
    lead_drop_steps(l);
    mng_out_reset(p->mng->out);
    smng_core_new(s, p);
    send_away(s, p);
}

static void load(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    l->load_at = s->now + AGAIN_MS * 1000;
    if (!l->loading && l->up)
        l->loading = lead_ask(s, p, &(struct store_msg){ .ask = ASK_LOAD }, NULL);
}

static int restore_pair(void *proc, const char *key, const char *val)
{
    struct proc *p = proc;

    lead_batch_add(p->sim, &p->mng->lead->next, key, val);
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
        return s->now >= l->settled && lead_ask(s, p, &q, NULL);
    case LEASE_RENEW:
        q.ask = ASK_RENEW;
        return lead_ask(s, p, &q, NULL);
    case LEASE_FREE:
        q.ask = ASK_FREE;
        (void)lead_ask(s, p, &q, NULL);
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
        lead_timer_at(s, p, wake);
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
        lead_fenced(s, p, l->lease.epoch);
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
        lead_dial(s, p, sim_rand(s, 100, 700));
        return;
    }
    l->up = true;
    l->link++;
    l->asked = l->answered = 0;
    l->out_last = l->in_last = s->now;
    l->settled = s->now + SIM_LEASE_MS * 1000 - age;
    if (!l->exact)
        l->settled += SIM_LEASE_MS * 500; /* who knows all goes first */
    lead_timer_at(s, p, s->now);
    lead_write_go(s, p);
}

static void on_down(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!l->up)
        return;
    l->up = l->loading = false;
    l->link++;
    if (l->sent)
        lead_write_again(s, p);
    lead_dial(s, p, sim_rand(s, 10, 300));
    feed(s, p, (struct lease_in){ .kind = LEASE_FAILED, .serial = l->lease.serial });
}

void lead_link_breaks(struct sim *s, struct proc *p)
{
    lead_later(s, p, LEAD_DOWN, s->now + (usec_t)sim_rand(s, 0, 1e5), 0, NULL);
}

static void on_answer(struct sim *s, struct proc *p, const struct store_msg *a)
{
    p->mng->lead->answered++;
    if (a->ask == ASK_TAKE || a->ask == ASK_RENEW)
        on_lease(s, p, a);
    else if (a->ask == ASK_WRITE)
        lead_written(s, p, a);
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
        lead_write_go(s, p);
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
        lead_batch_add(s, &l->next, a->key, a->kind == MNG_PUT ? a->val : NULL);
    }
}

void lead_flush(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    if (!lead_may_order(s, p) || l->epoch == 0) {
        lead_drop_steps(l);
        mng_out_reset(p->mng->out);
        return;
    }
    put_step(s, l, p->mng->out);
    if (l->next.open) {
        l->next.serial = ++l->issued;
        lead_write_go(s, p);
    }
    l->step = sim_grow(l->step, &l->cap_steps, l->n_steps + 1, sizeof(*l->step));
    l->step[l->n_steps++] = (struct step){ p->mng->out, l->issued };
    p->mng->out = smng_out_new();
    lead_send_ready(s, p);
    if (mng_fenced_by(p->mng->core) != 0)
        lead_fenced(s, p, mng_fenced_by(p->mng->core));
}

void lead_start(struct sim *s, struct proc *p)
{
    struct slead *l = sim_alloc(sizeof(*l));

    p->mng->lead = l;
    lease_init(&l->lease, SIM_LEASE_MS, rng_u64(&s->rng), sim_ms(s));
    kv_init(&l->mirror);
    buf_init(&l->next.text);
    buf_init(&l->in_flight.text);
    lead_dial(s, p, sim_rand(s, 1, 20));
    lead_timer_at(s, p, s->now);
}

void lead_stop(struct sim *s, struct proc *p)
{
    struct slead *l = p->mng->lead;

    (void)s;
    lead_drop_steps(l);
    free(l->step);
    kv_fini(&l->mirror);
    buf_fini(&l->next.text);
    buf_fini(&l->in_flight.text);
    free(l);
    p->mng->lead = NULL;
}
