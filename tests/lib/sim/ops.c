/* ops.c: what operators do, through the manager core's own calls. An order that the
 * manager is not there for is not given (an operator sees the error and comes back). */
#include "tests/lib/sim/ops.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/lead_store.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/opening.h"
#include "tests/lib/sim/proc.h"

#include "common/base/err.h"
#include "queuemng/policy/release.h"

#include <stdlib.h>
#include <string.h>

#define SIDE "side"

/* Is there a manager to talk to that will live through the order? */
static struct mng *manager(struct sim *s, struct proc **who)
{
    return s->crash_in_act ? NULL : sim_mng(s, who);
}

static void log_rate(struct sim *s, struct squeue *x, struct rate_change c)
{
    size_t cap = x->n_rates; /* grows by one: orders are rare */

    x->rate_log = sim_grow(x->rate_log, &cap, x->n_rates + 1, sizeof(*x->rate_log));
    c.at_ms = sim_wall(s);
    x->rate_log[x->n_rates++] = c;
}

/* Ordered. Whether it is kept is not known before the store has said so: until then the
 * higher one of the two rates (and numbers of slots) may be in force. */
static void rate_ordered(struct sim *s, unsigned q, struct proc *p)
{
    struct squeue *x = &s->queue[q];
    struct rate_change most = { 0 };

    if (x->n_rates > 0)
        most = x->rate_log[x->n_rates - 1];
    x->said.per_s = x->state == DEF_PAUSED || x->state == DEF_REJECT ? 0
                    : s->o.slots_only ? 1 /* no rate lets them in */
                                      : x->rate;
    x->said.slots = x->slots;
    if (x->state == DEF_PASSTHROUGH) {
        x->said = (struct rate_change){ .per_s = PASSTHROUGH_PER_S, .slots = UINT32_MAX };
        x->was_free = true;
    }
    if (p->mng->lead == NULL) {
        log_rate(s, x, x->said);
        return;
    }
    most.per_s = x->said.per_s > most.per_s ? x->said.per_s : most.per_s;
    most.slots = x->said.slots > most.slots ? x->said.slots : most.slots;
    log_rate(s, x, most);
    x->asked = p;
    x->asked_term = p->mng->term;
    x->need = lead_needs(p) + 1;
}

void ops_kept(struct sim *s, const struct proc *p)
{
    for (unsigned q = 0; q < s->o.queues; q++) {
        struct squeue *x = &s->queue[q];

        if (x->asked != p || x->asked_term != p->mng->term || !lead_has(p, x->need))
            continue;
        x->asked = NULL;
        log_rate(s, x, x->said);
    }
}

/* Empty: by rate alone. */
static void slots_json(const struct sim *s, const struct squeue *x, char *out, size_t cap)
{
    out[0] = 0;
    if (s->o.max_active > 0)
        snprintf(out, cap, "\"mode\":\"%s\",\"max_active\":%u,",
                 s->o.slots_only ? "slots" : "both", x->slots);
}

struct spatch ops_unpatched(const struct sim *s)
{
    struct spatch p = { .boost = s->o.no_show_boost,
                        .claim_ms = s->o.claim_ms,
                        .grace_ms = s->o.grace_ms,
                        .idle_ms = s->o.idle_ms,
                        .poll_max_ms = s->o.poll_max_ms,
                        .direct_entry = true };

    for (uint32_t l = 0; l < LANES_MAX; l++)
        p.weight[l] = l + 1;
    return p;
}

static void def_json(const struct sim *s, unsigned q, char *out, size_t cap)
{
    const struct squeue *x = &s->queue[q];
    static const char *const states[] = { "open", "paused", "closed", "passthrough",
                                          "reject" };
    const struct spatch *p = &x->patch;
    char lanes[256] = "", slots[64], opening[128];

    slots_json(s, x, slots, sizeof(slots));
    opening_json(s, opening, sizeof(opening));
    for (unsigned l = 0; l < s->o.lanes; l++)
        snprintf(lanes + strlen(lanes), sizeof(lanes) - strlen(lanes),
                 "%s{\"name\":\"lane%u\",\"weight\":%u}", l == 0 ? "" : ",", l,
                 p->weight[l]);
    snprintf(out, cap,
             "{\"name\":\"%s\",\"state\":\"%s\",\"lanes\":[%s],%s%s\"release_per_s\":%.3f,"
             "\"no_show_boost\":%.3f,\"away\":%lld,"
             "\"segment_capacity\":%u,\"open_next_at\":%.3f,\"merge\":%s,"
             "\"idle\":{\"game\":%lld,\"mobile\":%lld,\"browser\":%lld},"
             "\"claim\":%lld,\"grace\":%lld,\"pass_ttl\":%lld,\"session_max\":%lld,"
             "\"poll_min\":%lld,\"poll_max\":%lld,\"turn_notice\":{\"soon\":%lld},\"direct_entry\":%s}",
             x->name, states[x->state], lanes, slots, opening, x->rate, p->boost,
             (long long)s->o.away_ms, x->capacity, x->open_next_at,
             x->merge ? "true" : "false", (long long)p->idle_ms, (long long)p->idle_ms,
             (long long)p->idle_ms, (long long)p->claim_ms, (long long)p->grace_ms,
             (long long)s->o.pass_ttl_ms, (long long)s->o.session_max_ms,
             (long long)s->o.poll_min_ms, (long long)p->poll_max_ms, (long long)s->o.soon_ms,
             p->direct_entry ? "true" : "false");
}

static void learn_id(void *ctx, const void *view)
{
    struct sim *s = ctx;
    const struct mng_queue_view *v = view;

    for (unsigned q = 0; q < s->o.queues; q++)
        if (strcmp(v->def->name, s->queue[q].name) == 0 &&
            map_set(&s->queue_of, v->id, q) < 0)
            sim_fail(s, "out of memory");
    if (strcmp(v->def->name, SIDE) == 0 && map_set(&s->queue_of, v->id, SIM_QUEUES_MAX - 1) < 0)
        sim_fail(s, "out of memory");
}

/* It is flushed, or deleted by mistake. */
static void side_slip(struct sim *s, struct mng *m, struct proc *p)
{
    bool flush = rng_chance(&s->rng, 0.7);
    struct mng_deleted_view v;
    struct err e = { 0 };
    int rc = flush ? mng_order(m, sim_ms(s), SIDE, MNG_FLUSH, p->mng->out, &e)
                   : mng_queue_delete(m, sim_ms(s), SIDE, false, &v, p->mng->out, &e);

    smng_done(s, p);
    if (rc == 0 && !flush && manager(s, NULL) == m)
        rc = mng_queue_restore(m, sim_ms(s), SIDE, p->mng->out, &e);
    smng_done(s, p);
    if (rc < 0)
        sim_fail(s, "what is done to %s is refused: %s", SIDE, e.text);
}

/* A queue that nobody visits: made, or flushed, now. */
void ops_side_queue(struct sim *s)
{
    struct proc *p;
    struct mng *m = manager(s, &p);
    struct queue_def def = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    static const char text[] = "{\"name\":\"" SIDE "\",\"poll_max\":\"2s\",\"idle\":{"
                               "\"game\":\"9s\",\"mobile\":\"9s\",\"browser\":\"9s\"}}";
    int rc;

    if (m == NULL || s->o.queues == SIM_QUEUES_MAX)
        return;
    if (cfg_parse_json(&doc, text, strlen(text), &e) < 0 ||
        cfg_bind(&def, sizeof(def), queue_def_keys, doc, "sim", &e) < 0)
        sim_fail(s, "%s: %s", SIDE, e.text);
    rc = mng_define(m, DEF_QUEUE, sim_ms(s), &def, p->mng->out, &e);
    if (rc == SQ_ECONFLICT) /* its leader died before it could be restored */
        rc = mng_queue_restore(m, sim_ms(s), SIDE, p->mng->out, &e);
    if (rc < 0)
        sim_fail(s, "queue %s is refused: %s", SIDE, e.text);
    cfg_node_free(doc);
    cfg_clear(&def, queue_def_keys);
    mng_each_queue(m, learn_id, s);
    smng_done(s, p);
    if (manager(s, NULL) == m) /* it may have died of it */
        side_slip(s, m, p);
}

void ops_queue_put(struct sim *s, unsigned q)
{
    struct proc *p;
    struct mng *m = manager(s, &p);
    struct queue_def def = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    char text[1024];

    if (m == NULL)
        return;
    def_json(s, q, text, sizeof(text));
    if (cfg_parse_json(&doc, text, strlen(text), &e) < 0 ||
        cfg_bind(&def, sizeof(def), queue_def_keys, doc, "sim", &e) < 0 ||
        mng_define(m, DEF_QUEUE, sim_ms(s), &def, p->mng->out, &e) < 0)
        sim_fail(s, "queue %s is refused: %s", s->queue[q].name, e.text);
    cfg_node_free(doc);
    cfg_clear(&def, queue_def_keys);
    rate_ordered(s, q, p);
    mng_each_queue(m, learn_id, s);
    smng_done(s, p);
}

void sim_rate(struct sim *s, unsigned queue, double per_s)
{
    if (manager(s, NULL) == NULL)
        return;
    s->queue[queue].rate = per_s;
    ops_queue_put(s, queue);
}

void sim_max_active(struct sim *s, unsigned queue, uint32_t n)
{
    if (manager(s, NULL) == NULL)
        return;
    s->queue[queue].slots = n;
    ops_queue_put(s, queue);
}

void sim_order(struct sim *s, unsigned queue, enum mng_order o)
{
    static const int state_of[] = { [MNG_PAUSE] = DEF_PAUSED,
                                    [MNG_RESUME] = DEF_OPEN,
                                    [MNG_CLOSE] = DEF_CLOSED,
                                    [MNG_OPEN] = DEF_OPEN,
                                    [MNG_PASSTHROUGH] = DEF_PASSTHROUGH,
                                    [MNG_REJECT] = DEF_REJECT };
    struct proc *p;
    struct mng *m = manager(s, &p);
    struct err e = { 0 };

    if (m == NULL)
        return;
    sim_note(s, "order %lu for queue %lu", o, queue, 0, 0, 0);
    if (mng_order(m, sim_ms(s), s->queue[queue].name, o, p->mng->out, &e) < 0)
        sim_fail(s, "order %d is refused: %s", o, e.text);
    s->queue[queue].state = state_of[o];
    rate_ordered(s, queue, p);
    smng_done(s, p);
}

void sim_release(struct sim *s, unsigned queue, uint64_t n)
{
    struct proc *p;
    struct mng *m = manager(s, &p);
    struct err e = { 0 };

    if (m == NULL)
        return;
    s->queue[queue].by_hand += n;
    if (mng_release(m, sim_ms(s), s->queue[queue].name, n, p->mng->out, &e) < 0)
        sim_fail(s, "release by hand is refused: %s", e.text);
    smng_done(s, p);
}

void sim_drain(struct sim *s, unsigned seg_node, bool on)
{
    struct proc *p;
    struct mng *m = manager(s, &p);
    const struct proc *node = proc_of(s, SIM_SEG, seg_node);
    struct err e = { 0 };

    if (m == NULL || node == NULL)
        return;
    sim_note(s, "drain of process %lu: %lu", node->idx, on, 0, 0, 0);
    s->drained[seg_node] = on;
    if (mng_drain(m, sim_ms(s), node->name, on, p->mng->out, &e) < 0)
        return; /* the manager has not met that node yet */
    smng_done(s, p);
}

/* Refused while it is up or has somebody; if it comes back, it is a new one. */
void sim_forget(struct sim *s, unsigned seg_node)
{
    struct proc *p;
    struct mng *m = manager(s, &p);
    const struct proc *node = proc_of(s, SIM_SEG, seg_node);
    struct mng_forget_end end;
    struct err e = { 0 };

    if (m == NULL || node == NULL)
        return;
    if (mng_forget(m, sim_ms(s), node->name, false, &end, p->mng->out, &e) == 0)
        sim_note(s, "process %lu is forgotten", node->idx, 0, 0, 0, 0);
    smng_done(s, p);
}

void ops_new_leader(struct sim *s)
{
    struct event e = { .kind = E_MEND, .proc = SIM_NOBODY, .a = MEND_SAY_AGAIN };

    sim_after_ms(s, 300, e);
}

void ops_say_again(struct sim *s)
{
    for (unsigned q = 0; q < s->o.queues; q++)
        ops_queue_put(s, q);
    for (unsigned i = 0; i < s->o.segs; i++)
        sim_drain(s, i, s->drained[i]);
}

void sim_add_node(struct sim *s)
{
    if (s->o.segs == SIM_SEGS_MAX)
        return;
    proc_start(s, proc_add(s, SIM_SEG, s->o.segs++));
}

static void count_segs(void *ctx, const void *view)
{
    const struct mng_lane_view *v = view;

    *(size_t *)ctx = v->n_segs;
}

struct lane_look {
    unsigned lane;
    size_t n;
};

static void pick_lane(void *ctx, const void *view)
{
    struct lane_look *l = ctx;
    const struct mng_lane_view *v = view;

    if (v->lane_no == l->lane)
        count_segs(&l->n, view);
}

size_t sim_chain_len(const struct sim *s, unsigned queue, unsigned lane)
{
    struct lane_look l = { .lane = lane };
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&s->queue_of, i, &key, &val)) != 0;)
        if (val == queue && sim_core(s) != NULL)
            mng_each_lane(sim_core(s), (queue_id)key, pick_lane, &l);
    return l.n;
}

uint64_t sim_let_in(const struct sim *s, unsigned queue, unsigned lane)
{
    return s->lane[queue * LANES_MAX + lane].let_in;
}
