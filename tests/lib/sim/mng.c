/* mng.c: the shell around a manager's core. One that is alone has its store at hand:
 * what is put is kept at once. One of several has a lease: lead.c. */
#include "tests/lib/sim/mng.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/lead.h"
#include "tests/lib/sim/lead_store.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/room.h"

#include "common/base/err.h"
#include "queuemng/core/tick.h"

#include <stdlib.h>
#include <string.h>

#define TICK_MS 100

/* ---- cores --------------------------------------------------------------------------- */

void smng_core_new(struct sim *s, struct proc *p)
{
    struct mng_opts o = { .tick_ms = TICK_MS,
                          .lost_after_ms = (uint32_t)s->o.lost_after_ms,
                          .skip_after_ms = (uint32_t)s->o.skip_after_ms,
                          .seed = rng_u64(&s->rng) };

    mng_free(p->mng->core);
    p->mng->core = mng_new(&o);
}

int smng_load(void *proc, const char *key, const char *val)
{
    struct proc *p = proc;
    struct err e = { 0 };

    if (mng_load(p->mng->core, key, val, &e) < 0)
        sim_fail(p->sim, "a new manager cannot read %s: %s", key, e.text);
    return 0;
}

/* Nobody is connected, as far as this core knows. */
void smng_begin(struct sim *s, struct proc *p)
{
    for (unsigned i = 0; i < SIM_SEGS_MAX; i++) {
        p->mng->seg_peer[i] = 0;
        p->mng->lost_seg[i] = s->now;
    }
    mng_start(p->mng->core, sim_ms(s), clock_wall(p), p->mng->out);
}

struct mng_out *smng_out_new(void)
{
    struct mng_out *out = sim_alloc(sizeof(*out));

    mng_out_init(out);
    return out;
}

void smng_out_free(struct mng_out *out)
{
    mng_out_fini(out);
    free(out);
}

void smng_start(struct sim *s, struct proc *p)
{
    p->mng = sim_alloc(sizeof(*p->mng));
    p->mng->out = smng_out_new();
    smng_core_new(s, p);
    if (s->o.managers > 1) {
        lead_start(s, p);
        return;
    }
    for (size_t i = 0; i < s->n_keys; i++)
        (void)smng_load(p, s->key[i], s->val[i]);
    smng_begin(s, p);
    smng_done(s, p);
}

void smng_stop(struct sim *s, struct proc *p)
{
    if (p->mng->lead != NULL)
        lead_stop(s, p);
    smng_out_free(p->mng->out);
    mng_free(p->mng->core);
    free(p->mng);
    p->mng = NULL;
}

/* ---- who leads ----------------------------------------------------------------------- */

static bool leads(const struct proc *p)
{
    return p->kind == SIM_MNG && p->alive && (p->mng->lead == NULL || lead_begun(p));
}

struct mng *sim_core(const struct sim *s)
{
    for (unsigned i = 0; i < s->o.managers; i++)
        if (leads(&s->proc[i]))
            return s->proc[i].mng->core;
    return NULL;
}

unsigned sim_leader(const struct sim *s)
{
    for (unsigned i = 0; i < s->o.managers; i++)
        if (leads(&s->proc[i]))
            return i;
    return 0;
}

struct mng *sim_mng(struct sim *s, struct proc **who)
{
    for (unsigned i = 0; i < s->o.managers; i++) {
        struct proc *p = &s->proc[i];

        if (!leads(p) || p->paused_until > s->now ||
            (p->mng->lead != NULL && !lead_may_order(s, p)))
            continue;
        if (who != NULL)
            *who = p;
        return p->mng->core;
    }
    return NULL;
}

/* ---- a store that is at hand --------------------------------------------------------- */

static void put_stored(struct sim *s, const char *key, const char *val)
{
    size_t i = 0;

    while (i < s->n_keys && strcmp(s->key[i], key) != 0)
        i++;
    if (i == s->n_keys) {
        size_t cap = s->cap_keys;

        s->key = sim_grow(s->key, &cap, i + 1, sizeof(*s->key));
        cap = s->cap_keys;
        s->val = sim_grow(s->val, &cap, i + 1, sizeof(*s->val));
        s->cap_keys = cap;
        s->key[i] = strdup(key);
        s->n_keys++;
    }
    free(s->val[i]);
    s->val[i] = strdup(val);
    check_stored(s, key, val);
}

static void del_stored(struct sim *s, const char *key)
{
    for (size_t i = 0; i < s->n_keys; i++) {
        if (strcmp(s->key[i], key) != 0)
            continue;
        free(s->key[i]);
        free(s->val[i]);
        s->n_keys--;
        s->key[i] = s->key[s->n_keys];
        s->val[i] = s->val[s->n_keys];
        s->key[s->n_keys] = s->val[s->n_keys] = NULL; /* the next new key's place */
        return;
    }
}

/* ---- what the core has decided ------------------------------------------------------- */

void smng_say(struct sim *s, struct proc *p, const struct out_item *it)
{
    if (it->m.type == MSG_MAP)
        check_map(s, &it->m.map);
    net_send(s, p, it->to, &it->m, 0);
}

static void act(struct sim *s, struct proc *p, const struct mng_act *a)
{
    if (a->kind == MNG_PUT)
        put_stored(s, a->key, a->val);
    else if (a->kind == MNG_DEL)
        del_stored(s, a->key);
    else
        smng_say(s, p, &p->mng->out->box.v[a->item]);
}

/* In order; or only the first few of them, and then the machine is gone. */
void smng_done(struct sim *s, struct proc *p)
{
    struct mng_out *out = p->mng->out;
    uint32_t n = out->n;
    bool dies = s->crash_in_act && n >= 2;

    if (p->mng->lead != NULL) {
        lead_flush(s, p);
        return;
    }
    if (dies)
        n = (uint32_t)rng_below(&s->rng, n);
    for (uint32_t i = 0; i < n; i++)
        act(s, p, &out->act[i]);
    mng_out_reset(out);
    if (dies) {
        struct event e = { .kind = E_START, .proc = p->idx };

        s->crash_in_act = false;
        sim_note(s, "the manager dies after act %lu", n, 0, 0, 0, 0);
        proc_stop(s, p);
        sim_after_ms(s, sim_rand(s, 100, 3000), e);
    }
}

/* ---- what happens to it -------------------------------------------------------------- */

/* Does the core know this connection? One of before its term it does not. */
static bool is_known(struct sim *s, const struct proc *p, peer_no peer)
{
    const struct conn *c = net_conn(s, p, peer);

    return p->mng->lead == NULL ||
           (lead_begun(p) && c != NULL && c->term[(peer - 1) % 2] == p->mng->term);
}

/* The core, before its next step; as queuemng/process/manager.c does. */
static struct mng *awake(struct sim *s, struct proc *p)
{
    mng_forgive(p->mng->core, sim_ms(s));
    return p->mng->core;
}

void smng_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other)
{
    struct conn *c = net_conn(s, p, peer);
    bool seg = other->kind == SIM_SEG;

    if (p->mng->lead != NULL && !lead_begun(p))
        return;
    c->term[(peer - 1) % 2] = p->mng->term;
    if (seg) {
        p->mng->seg_peer[other->no] = peer;
        p->mng->lost_seg[other->no] = 0;
    }
    mng_peer_up(awake(s, p), sim_ms(s), peer, seg ? RPC_SEGMENT : RPC_ROUTER,
                other->name, other->incarnation, p->mng->out);
    smng_done(s, p);
}

void smng_down(struct sim *s, struct proc *p, peer_no peer, const struct proc *other)
{
    if (!is_known(s, p, peer))
        return;
    if (other->kind == SIM_SEG && p->mng->seg_peer[other->no] == peer) {
        p->mng->seg_peer[other->no] = 0;
        p->mng->lost_seg[other->no] = s->now;
    }
    mng_peer_down(awake(s, p), sim_ms(s), peer, p->mng->out);
    smng_done(s, p);
}

static void not_me(struct sim *s, const struct proc *p, peer_no peer, const struct msg *m)
{
    struct msg no = { .type = MSG_ERROR };

    if (m->type != MSG_ROUTER_REG && m->type != MSG_NODE_REG)
        return;
    no.error.code = SQ_ENOTLEADER;
    no.error.about = m->type;
    no.error.text = "";
    net_send(s, p, peer, &no, 0);
}

void smng_msg(struct sim *s, struct proc *p, peer_no peer, const struct msg *m)
{
    if (p->mng->lead != NULL && !lead_begun(p)) {
        not_me(s, p, peer, m);
        return;
    }
    if (!is_known(s, p, peer))
        return; /* sent away when the term began: it will be back */
    mng_msg(awake(s, p), sim_ms(s), peer, m, p->mng->out);
    smng_done(s, p);
}

void smng_tick(struct sim *s, struct proc *p)
{
    if (p->mng->lead != NULL && !lead_begun(p))
        return;
    check_given_up(s, p);
    mng_tick(awake(s, p), sim_ms(s), clock_wall(p), p->mng->out);
    check_room(s, p);
    smng_done(s, p);
}

struct mng_counts sim_mng_count(const struct sim *s)
{
    struct mng_counts c = { 0 };

    if (sim_core(s) != NULL)
        mng_count(sim_core(s), &c);
    return c;
}
