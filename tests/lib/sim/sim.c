/* sim.c: the simulation's clock: a heap of events; options; trace and failing. */
#include "tests/lib/sim/sim.h"
#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/groups.h"
#include "tests/lib/sim/lead.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/ops.h"
#include "tests/lib/sim/players.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/router.h"
#include "tests/lib/sim/store.h"
#include "tests/lib/sim/tape.h"

#include "common/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_EVERY 64 /* steps */

void *sim_alloc(size_t n)
{
    void *p = calloc(1, n);

    if (p == NULL) {
        fprintf(stderr, "sim: out of memory\n");
        exit(2);
    }
    return p;
}

/* v with room for `need` elements; new ones are zero. */
void *sim_grow(void *v, size_t *cap, size_t need, size_t size)
{
    size_t n = *cap != 0 ? *cap : 64;
    void *w;

    if (need <= *cap)
        return v;
    while (n < need)
        n *= 2;
    w = realloc(v, n * size);
    if (w == NULL) {
        fprintf(stderr, "sim: out of memory\n");
        exit(2);
    }
    memset((char *)w + *cap * size, 0, (n - *cap) * size);
    *cap = n;
    return w;
}

/* ---- time ---------------------------------------------------------------------------- */

msec_t sim_ms(const struct sim *s)
{
    return s->now / 1000;
}

msec_t sim_now(const struct sim *s)
{
    return sim_ms(s);
}

int64_t sim_wall(const struct sim *s)
{
    return SIM_WALL_MS + s->now / 1000;
}

double sim_rand(struct sim *s, double lo, double hi)
{
    return lo + (hi - lo) * rng_unit(&s->rng);
}

/* ---- the heap: earliest first, in the order of making if at the same moment ---------- */

static bool before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void heap_push(struct sim *s, struct event e)
{
    size_t i = s->n_heap++;

    s->heap = sim_grow(s->heap, &s->cap_heap, s->n_heap, sizeof(*s->heap));
    for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static struct event heap_pop(struct sim *s)
{
    struct event top = s->heap[0], last = s->heap[--s->n_heap];
    size_t i = 0;

    for (;;) {
        size_t k = 2 * i + 1;

        if (k >= s->n_heap)
            break;
        if (k + 1 < s->n_heap && before(&s->heap[k + 1], &s->heap[k]))
            k++;
        if (!before(&s->heap[k], &last))
            break;
        s->heap[i] = s->heap[k];
        i = k;
    }
    s->heap[i] = last;
    return top;
}

void sim_at(struct sim *s, usec_t at, struct event e)
{
    e.at = at;
    e.seq = ++s->seq;
    heap_push(s, e);
}

void sim_after_ms(struct sim *s, double ms, struct event e)
{
    sim_at(s, s->now + (usec_t)(ms * 1000.0) + 1, e);
}

/* ---- trace --------------------------------------------------------------------------- */

static void mix(uint64_t *h, uint64_t v)
{
    *h = (*h ^ v) * 0x9e3779b97f4a7c15u;
    *h ^= *h >> 29;
}

void sim_note(struct sim *s, const char *fmt, uint64_t a, uint64_t b, uint64_t c,
              uint64_t d, uint64_t e)
{
    struct trace *t = &s->trace[s->n_trace++ % SIM_TRACE];

    t->at = s->now;
    t->fmt = fmt;
    t->v[0] = a;
    t->v[1] = b;
    t->v[2] = c;
    t->v[3] = d;
    t->v[4] = e;
    mix(&s->digest, s->now);
    for (int i = 0; i < 5; i++)
        mix(&s->digest, t->v[i]);
}

uint64_t sim_digest(const struct sim *s)
{
    uint64_t h = s->digest;

    mix(&h, s->count.steps);
    return h;
}

static void on_log(void *ctx, enum log_level level, const char *line)
{
    struct sim *s = ctx;
    struct trace *t = &s->trace[s->n_trace++ % SIM_TRACE];

    (void)level;
    t->at = s->now;
    t->fmt = NULL;
    snprintf(t->text, sizeof(t->text), "%s", line);
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
    va_list ap;

    if (s->failed)
        return; /* the first one counts */
    s->failed = true;
    va_start(ap, fmt);
    vsnprintf(s->why, sizeof(s->why), fmt, ap);
    va_end(ap);
}

bool sim_ok(const struct sim *s)
{
    return !s->failed;
}

const char *sim_why(const struct sim *s)
{
    return s->failed ? s->why : "no violation";
}

void sim_report(const struct sim *s, FILE *f, const char *program)
{
    uint64_t i = s->n_trace > SIM_TRACE ? s->n_trace - SIM_TRACE : 0;

    for (; i < s->n_trace; i++) {
        const struct trace *t = &s->trace[i % SIM_TRACE];

        fprintf(f, "%9.3f ", (double)t->at / 1e6);
        if (t->fmt == NULL)
            fputs(t->text, f);
        else
            fprintf(f, t->fmt, t->v[0], t->v[1], t->v[2], t->v[3], t->v[4]);
        fputc('\n', f);
    }
    fprintf(f, "seed %" PRIu64 ": %s\n", s->o.seed, sim_why(s));
    fprintf(f, "at %.3f s, step %" PRIu64 "; again: SEED=%" PRIu64 " %s\n",
            (double)s->now / 1e6, s->count.steps, s->o.seed, program);
}

/* ---- a run --------------------------------------------------------------------------- */

static void defaults(struct sim_opts *o)
{
#define DEFAULT(member, value)                                                           \
    do {                                                                                 \
        if (o->member == 0)                                                              \
            o->member = value;                                                           \
    } while (0)
    DEFAULT(segs, 1);
    DEFAULT(managers, 1);
    DEFAULT(routers, 1);
    DEFAULT(queues, 1);
    DEFAULT(lanes, 1);
    DEFAULT(capacity, 50);
    DEFAULT(open_next_at, 0.8);
    DEFAULT(no_show_boost, 1);
    DEFAULT(prequeue_capacity, 100);
    DEFAULT(idle_ms, 30000);
    DEFAULT(claim_ms, 10000);
    DEFAULT(grace_ms, 20000);
    DEFAULT(pass_ttl_ms, 60000);
    DEFAULT(poll_min_ms, 500);
    DEFAULT(fresh_ms, 250);
    DEFAULT(keep_ms, REPLICA_KEEP_MS);
    DEFAULT(poll_max_ms, 2000);
    DEFAULT(skip_after_ms, SIM_NEVER_MS);
    DEFAULT(lost_after_ms, SIM_NEVER_MS);
    DEFAULT(max_tickets, 1000000);
#undef DEFAULT
}

static void start_queues(struct sim *s)
{
    for (unsigned q = 0; q < s->o.queues; q++) {
        snprintf(s->queue[q].name, sizeof(s->queue[q].name), "q%u", q);
        s->queue[q].rate = s->o.release_per_s;
        s->queue[q].slots = s->o.max_active;
        s->queue[q].capacity = s->o.capacity;
        s->queue[q].open_next_at = s->o.open_next_at;
        s->queue[q].merge = !s->o.no_merge;
        s->queue[q].patch = ops_unpatched(s);
        for (unsigned l = 0; l < s->o.lanes; l++) {
            s->lane[q * LANES_MAX + l].queue = q;
            s->lane[q * LANES_MAX + l].lane = l;
        }
        ops_queue_put(s, q);
    }
}

static bool somebody_leads(struct sim *s)
{
    return sim_mng(s, NULL) != NULL;
}

static void start_managers(struct sim *s)
{
    for (unsigned i = 0; i < s->o.managers; i++)
        (void)proc_add(s, SIM_MNG, i);
    for (unsigned i = 0; i < s->o.managers; i++)
        proc_start(s, &s->proc[i]);
    if (s->o.managers > 1 && !sim_run_until(s, somebody_leads, 20000))
        sim_fail(s, "nobody leads");
}

struct sim *sim_new(const struct sim_opts *o)
{
    struct sim *s = sim_alloc(sizeof(*s));

    s->o = *o;
    defaults(&s->o);
    rng_seed(&s->rng, s->o.seed);
    s->now = 1000000;
    map_init(&s->ticket_by_key, 0);
    map_init(&s->subject_at, 0);
    map_init(&s->seg_by_id, 0);
    map_init(&s->queue_of, 0);
    arena_init(&s->arena);
    arena_init(&s->ans_arena);
    buf_init(&s->buf);
    log_set_level(LOG_INFO);
    log_set_sink(on_log, s);
    store_init(s);
    start_managers(s);
    start_queues(s);
    for (unsigned i = 0; i < s->o.segs; i++)
        proc_start(s, proc_add(s, SIM_SEG, i));
    for (unsigned i = 0; i < s->o.routers; i++)
        proc_start(s, proc_add(s, SIM_ROUTER, i));
    sim_run(s, 2000); /* everybody finds everybody */
    faults_start(s);
    return s;
}

static void free_event(struct event *e)
{
    free(e->data);
}

static void free_segs(struct sim *s)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&s->seg_by_id, i, &key, &val)) != 0;)
        free((void *)(uintptr_t)val);
    map_fini(&s->seg_by_id);
}

void sim_free(struct sim *s)
{
    for (unsigned i = 0; i < s->n_procs; i++)
        if (s->proc[i].alive)
            proc_stop(s, &s->proc[i]);
    for (unsigned i = 0; i < s->n_procs; i++)
        tape_fini(&s->proc[i]);
    for (size_t i = 0; i < s->n_heap; i++)
        free_event(&s->heap[i]);
    for (uint32_t i = 0; i < s->n_conns; i++)
        free(s->conn[i]);
    for (size_t i = 0; i < s->n_keys; i++) {
        free(s->key[i]);
        free(s->val[i]);
    }
    store_fini(s);
    groups_free(s);
    for (unsigned q = 0; q < SIM_QUEUES_MAX; q++)
        free(s->queue[q].rate_log);
    free_segs(s);
    map_fini(&s->ticket_by_key);
    map_fini(&s->subject_at);
    map_fini(&s->queue_of);
    arena_fini(&s->arena);
    arena_fini(&s->ans_arena);
    buf_fini(&s->buf);
    free(s->heap);
    free(s->conn);
    free(s->key);
    free(s->val);
    free(s->ticket);
    free(s->player);
    free(s->rel);
    log_set_sink(NULL, NULL);
    free(s);
}

static void dispatch(struct sim *s, const struct event *e)
{
    struct proc *p = e->proc != SIM_NOBODY ? &s->proc[e->proc] : NULL;

    switch ((enum event_kind)e->kind) {
    case E_TICK:
        proc_tick(s, p);
        break;
    case E_UP:
    case E_DOWN:
    case E_MSG:
    case E_DIAL:
    case E_DIAL_FAIL:
        net_event(s, e);
        break;
    case E_START:
        if (!p->alive)
            proc_start(s, p);
        break;
    case E_FLOW:
    case E_REQ:
        srouter_event(s, p, e);
        break;
    case E_ANS:
    case E_PLAYER:
        players_event(s, e);
        break;
    case E_FAULT:
    case E_MEND:
        faults_event(s, e);
        break;
    case E_STORE:
        store_asked(s, e->data);
        break;
    case E_LEAD:
        lead_event(s, p, e);
        break;
    case E_GROUP:
        groups_event(s, e);
        break;
    }
}

/* A stopped process hears nothing until it goes on; then all of it, in order. One that
 * died hears nothing at all; a request sent to it is answered by the kernel: reset. */
static void step(struct sim *s)
{
    struct event e = heap_pop(s);
    const struct proc *p = e.proc != SIM_NOBODY ? &s->proc[e.proc] : NULL;

    if (p != NULL && p->alive && p->paused_until > e.at) {
        e.at = p->paused_until;
        heap_push(s, e);
        return;
    }
    if (p != NULL && p->alive && p->busy_until > e.at) {
        e.at = p->busy_until;
        heap_push(s, e);
        return;
    }
    s->now = e.at;
    s->count.steps++;
    if (e.proc != SIM_NOBODY && p->slow_until > s->now)
        s->proc[e.proc].busy_until = s->now + (usec_t)sim_rand(s, 100, 20000);
    if (p == NULL || e.kind == E_START || e.kind == E_REQ ||
        (p->alive && e.incarnation == p->incarnation))
        dispatch(s, &e);
    free_event(&e);
    if (s->count.steps % SWEEP_EVERY == 0)
        check_sweep(s);
}

static void run_to(struct sim *s, usec_t end)
{
    while (!s->failed && s->n_heap > 0 && s->heap[0].at <= end)
        step(s);
    if (!s->failed)
        s->now = end;
}

void sim_run(struct sim *s, msec_t ms)
{
    run_to(s, s->now + ms * 1000);
}

bool sim_run_until(struct sim *s, bool (*is)(struct sim *s), msec_t max_ms)
{
    usec_t end = s->now + max_ms * 1000;

    while (!s->failed && s->now < end) {
        if (is(s))
            return true;
        sim_run(s, 200);
    }
    return !s->failed && is(s);
}

struct sim_counts sim_count(const struct sim *s)
{
    struct sim_counts c = s->count;

    for (uint32_t i = 0; i < s->n_players; i++)
        c.waiting += s->player[i].state == P_WAITING;
    return c;
}
