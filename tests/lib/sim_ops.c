/* sim_ops.c: what operators do, through the manager core's own calls. An order that the
 * manager is not there for is not given (an operator sees the error and comes back). */
#include "tests/lib/sim_int.h"

#include "common/err.h"

#include <stdlib.h>
#include <string.h>

/* Is there a manager to talk to that will live through the order? */
static struct mng *manager(struct sim *s, struct mng_out **out)
{
    return s->crash_in_act ? NULL : sim_mng(s, out);
}

static void log_rate(struct sim *s, unsigned q)
{
    struct squeue *x = &s->queue[q];
    size_t cap = x->n_rates; /* grows by one: orders are rare */

    x->rate_log = sim_grow(x->rate_log, &cap, x->n_rates + 1, sizeof(*x->rate_log));
    x->rate_log[x->n_rates++] =
        (struct rate_change){ .at_ms = sim_wall(s),
                              .per_s = x->state == DEF_PAUSED ? 0 : x->rate };
}

static void def_json(const struct sim *s, unsigned q, char *out, size_t cap)
{
    const struct squeue *x = &s->queue[q];
    static const char *const states[] = { "open", "paused", "closed" };
    char lanes[256] = "";

    for (unsigned l = 0; l < s->o.lanes; l++)
        snprintf(lanes + strlen(lanes), sizeof(lanes) - strlen(lanes),
                 "%s{\"name\":\"lane%u\",\"weight\":%u}", l == 0 ? "" : ",", l, l + 1);
    snprintf(out, cap,
             "{\"name\":\"%s\",\"state\":\"%s\",\"lanes\":[%s],\"release_per_s\":%.3f,"
             "\"segment_capacity\":%u,\"open_next_at\":%.3f,\"merge\":%s,"
             "\"idle\":{\"game\":%lld,\"mobile\":%lld,\"browser\":%lld},"
             "\"claim\":%lld,\"grace\":%lld,\"pass_ttl\":%lld,"
             "\"poll_min\":%lld,\"poll_max\":%lld}",
             x->name, states[x->state], lanes, x->rate, x->capacity, x->open_next_at,
             x->merge ? "true" : "false", (long long)s->o.idle_ms, (long long)s->o.idle_ms,
             (long long)s->o.idle_ms, (long long)s->o.claim_ms, (long long)s->o.grace_ms,
             (long long)s->o.pass_ttl_ms, (long long)s->o.poll_min_ms,
             (long long)s->o.poll_max_ms);
}

static void learn_id(void *ctx, const void *view)
{
    struct sim *s = ctx;
    const struct mng_queue_view *v = view;

    for (unsigned q = 0; q < s->o.queues; q++)
        if (strcmp(v->def->name, s->queue[q].name) == 0 &&
            map_set(&s->queue_of, v->id, q) < 0)
            sim_fail(s, "out of memory");
}

void ops_queue_put(struct sim *s, unsigned q)
{
    struct mng_out *out;
    struct mng *m = manager(s, &out);
    struct queue_def def = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    char text[1024];

    if (m == NULL)
        return;
    def_json(s, q, text, sizeof(text));
    if (cfg_parse_json(&doc, text, strlen(text), &e) < 0 ||
        cfg_bind(&def, sizeof(def), queue_def_keys, doc, "sim", &e) < 0 ||
        mng_queue_put(m, sim_ms(s), &def, out, &e) < 0)
        sim_fail(s, "queue %s is refused: %s", s->queue[q].name, e.text);
    cfg_node_free(doc);
    cfg_clear(&def, queue_def_keys);
    log_rate(s, q);
    mng_each_queue(m, learn_id, s);
    mng_done(s);
}

void sim_rate(struct sim *s, unsigned queue, double per_s)
{
    if (manager(s, NULL) == NULL)
        return;
    s->queue[queue].rate = per_s;
    ops_queue_put(s, queue);
}

void sim_order(struct sim *s, unsigned queue, enum mng_order o)
{
    static const int state_of[] = { [MNG_PAUSE] = DEF_PAUSED,
                                    [MNG_RESUME] = DEF_OPEN,
                                    [MNG_CLOSE] = DEF_CLOSED,
                                    [MNG_OPEN] = DEF_OPEN };
    struct mng_out *out;
    struct mng *m = manager(s, &out);
    struct err e = { 0 };

    if (m == NULL)
        return;
    sim_note(s, "order %lu for queue %lu", o, queue, 0, 0, 0);
    if (mng_order(m, sim_ms(s), s->queue[queue].name, o, out, &e) < 0)
        sim_fail(s, "order %d is refused: %s", o, e.text);
    s->queue[queue].state = state_of[o];
    log_rate(s, queue);
    mng_done(s);
}

void sim_release(struct sim *s, unsigned queue, uint64_t n)
{
    struct mng_out *out;
    struct mng *m = manager(s, &out);
    struct err e = { 0 };

    if (m == NULL)
        return;
    s->queue[queue].by_hand += n;
    if (mng_release(m, sim_ms(s), s->queue[queue].name, n, out, &e) < 0)
        sim_fail(s, "release by hand is refused: %s", e.text);
    mng_done(s);
}

void sim_drain(struct sim *s, unsigned seg_node, bool on)
{
    struct mng_out *out;
    struct mng *m = manager(s, &out);
    const struct proc *p = proc_of(s, SIM_SEG, seg_node);
    struct err e = { 0 };

    if (m == NULL || p == NULL)
        return;
    sim_note(s, "drain of process %lu: %lu", p->idx, on, 0, 0, 0);
    if (mng_drain(m, sim_ms(s), p->name, on, out, &e) < 0)
        return; /* the manager has not met that node yet */
    mng_done(s);
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
        if (val == queue && s->proc[0].alive)
            mng_each_lane(s->proc[0].mng, (queue_id)key, pick_lane, &l);
    return l.n;
}
