/* sim_shared.c: one budget for people and requests: a queue of people with real segment nodes
 * (tests/lib/mngrig.h) and two endpoints whose calls two task nodes begin, with drawn crowds and
 * demand, while managers and task nodes are killed and links are cut.
 *   at each moment   people inside and calls at the targets are at most max_active, and the rates
 *                    that are given at most the budget's; so are the parts that nodes have of its
 *                    rates in units (J35)
 *   nobody starves   who wants more has its weight's part within SETTLED
 *   flow-over        what some do not use, the others have within SETTLED
 *   SEEDS=1000 FIRST=1 sim_shared    so many seeds, from this one
 *   SEED=n sim_shared                one */
#define MR_TICKETS 8192
#include "tests/lib/mngrig.h"

#include "common/base/rng.h"
#include "queuemng/core/definitions.h"
#include "queuemng/core/task_view.h"
#include "tests/lib/poolcalls.h"
#include "tests/lib/quiet.h"

#if defined(__SANITIZE_ADDRESS__)
#define SEEDS 20u
#else
#define SEEDS 100u
#endif
#define NODES   2
#define PARTS   16
#define MAIL    4096
#define ACTIVE  12
#define STAY    3000
#define CALL    2000 /* the longest */
#define SETTLED 12000 /* whoever is inside goes, calls end, two looks at the demand */

struct tnode {
    peer_no peer; /* 0: no link */
    bool runs, registered;
    msec_t back; /* no link before */
    uint64_t epoch, store, incarnation;
    struct part_row part[PARTS];
    char endpoint[PARTS];
    uint32_t n;
    struct pc_endpoint calls[PC_ENDPOINTS];
    unsigned wants[PC_ENDPOINTS];
};

struct mail { /* on its way to a task node */
    peer_no to;
    enum msg_type type;
    struct buf body;
};

static struct world {
    struct mr *r;
    struct rng rng;
    struct tnode node[NODES];
    struct mail mail[MAIL];
    uint32_t n_mail;
    msec_t leaves[MR_TICKETS]; /* 0: not inside */
    unsigned crowd;            /* most that wait */
    peer_no last_peer;
    unsigned inside, calls;
    uint64_t inside_sum, turns; /* of the last phase */
    uint64_t shared_most;
    char why[200];
} w;

static void bad(const char *what, unsigned n)
{
    if (w.why[0] == 0)
        snprintf(w.why, sizeof(w.why), "%s: %u", what, n);
}

/* ---- task nodes -------------------------------------------------------------------- */

static void to_node(void *ctx, const struct out_item *it)
{
    struct mail *m = &w.mail[w.n_mail];

    (void)ctx;
    for (int i = 0; i < NODES; i++) {
        if (w.node[i].peer == 0 || w.node[i].peer != it->to)
            continue;
        cr_assert_lt(w.n_mail, MAIL);
        *m = (struct mail){ it->to, it->m.type, { 0 } };
        buf_init(&m->body);
        cr_assert_eq(msg_encode(&it->m, &m->body), 0);
        w.n_mail++;
        return;
    }
}

static void say(struct tnode *n, const struct msg *m)
{
    if (n->peer == 0)
        return;
    mng_msg(w.r->m, w.r->now, n->peer, m, &w.r->out);
    mr_flush_mng(w.r);
}

static void wants_now(const struct tnode *n, unsigned *wants)
{
    memset(wants, 0, PC_ENDPOINTS * sizeof(*wants));
    for (uint32_t k = 0; n->runs && k < n->n; k++)
        if (n->endpoint[k] != 0)
            wants[n->endpoint[k] == 'f'] = n->wants[n->endpoint[k] == 'f'];
}

static void report(struct tnode *n)
{
    struct part_status_row v[PARTS] = { 0 };
    struct endpoint_row e[PC_ENDPOINTS];
    struct msg m = { .type = MSG_PART_STATUS };
    unsigned wants[PC_ENDPOINTS];

    if (!n->registered)
        return;
    for (uint32_t k = 0; k < n->n; k++)
        v[k] = (struct part_status_row){ .part = n->part[k].part, .part_epoch = n->part[k].epoch };
    m.part_status = (struct msg_part_status){ n->epoch, n->n, v };
    say(n, &m);
    wants_now(n, wants);
    m = (struct msg){ .type = MSG_ENDPOINT_STATUS };
    m.endpoint_status = (struct msg_endpoint_status){ n->epoch, pc_status(n->calls, wants, e), e };
    say(n, &m);
}

static void opened(struct tnode *n, const struct msg_part_open *g)
{
    uint32_t k = 0;

    while (k < n->n && n->part[k].part != g->part)
        k++;
    cr_assert_lt(k, PARTS);
    n->n += k == n->n;
    n->part[k] = (struct part_row){ g->part, g->part_epoch, PART_OWNED };
    n->endpoint[k] = g->endpoint[0];
}

static void heard(struct tnode *n, const struct msg *g)
{
    if (g->type == MSG_TASK_OK) {
        n->epoch = g->epoch;
        n->store = g->task_ok.store;
        n->registered = true;
    } else if (g->type == MSG_PART_OPEN) {
        opened(n, &g->part_open);
    } else if (g->type == MSG_ENDPOINT) {
        pc_told(n->calls, &g->endpoint);
    } else if (g->type == MSG_ENDPOINT_DROP) {
        pc_dropped(n->calls, &g->endpoint_drop);
    } else {
        return;
    }
    report(n);
}

static void deliver(void)
{
    struct arena mem;
    struct msg g;

    arena_init(&mem);
    for (uint32_t i = 0; i < w.n_mail; i++) { /* answers bring more */
        struct mail m = w.mail[i];

        arena_reset(&mem);
        cr_assert_eq(msg_decode((uint16_t)m.type, m.body.data, m.body.len, &mem, &g), 0);
        for (int k = 0; k < NODES; k++)
            if (w.node[k].peer != 0 && w.node[k].peer == m.to)
                heard(&w.node[k], &g);
        buf_fini(&m.body);
    }
    w.n_mail = 0;
    arena_fini(&mem);
}

static void dial(int i)
{
    struct tnode *n = &w.node[i];
    struct msg m = { .type = MSG_TASK_REG };
    char name[24];

    if (n->peer != 0 || !n->runs || w.r->now < n->back)
        return;
    snprintf(name, sizeof(name), "task-%d", i);
    n->peer = ++w.last_peer;
    mng_peer_up(w.r->m, w.r->now, n->peer, RPC_TASK, name, n->incarnation, &w.r->out);
    mr_flush_mng(w.r);
    m.task_reg = (struct msg_task_reg){ .addr = i == 0 ? "10.0.0.1:1" : "10.0.0.2:1", .admin = "",
                                        .epoch_seen = n->epoch, .store = n->store, .n = n->n,
                                        .v = n->part };
    say(n, &m);
}

static void cut(int i, msec_t ms)
{
    struct tnode *n = &w.node[i];
    peer_no p = n->peer;

    n->back = w.r->now + ms;
    n->peer = 0;
    n->registered = false;
    if (p == 0)
        return;
    mng_peer_down(w.r->m, w.r->now, p, &w.r->out);
    mr_flush_mng(w.r);
}

static void node_killed(int i, msec_t ms)
{
    cut(i, ms);
    pc_killed(w.node[i].calls);
    w.node[i].incarnation++;
}

static void manager_killed(msec_t ms)
{
    for (int i = 0; i < NODES; i++) {
        w.node[i].peer = 0;
        w.node[i].registered = false;
        w.node[i].back = w.r->now + ms;
    }
    mr_restart_manager_in(w.r, (int)ms);
}

/* ---- people ------------------------------------------------------------------------ */

static void people(void)
{
    struct route_tail tail;
    unsigned waiting = 0;

    w.inside = 0;
    mr_poll_all(w.r);
    for (uint32_t i = 0; i < w.r->n_tickets; i++) {
        const struct mr_ticket *t = &w.r->ticket[i];
        struct route_owner o;

        waiting += !t->left && !t->admitted;
        if (t->left || !t->admitted)
            continue;
        if (w.leaves[i] == 0)
            w.leaves[i] = w.r->now + 1 + (msec_t)rng_below(&w.rng, STAY);
        if (w.leaves[i] <= w.r->now && routes_owner(w.r->routes, t->seg, &o) == 0)
            mr_leave(w.r, i);
        w.inside += !t->left;
    }
    w.turns++;
    w.inside_sum += w.inside;
    if (waiting < w.crowd && w.r->n_tickets + 10 < MR_TICKETS &&
        routes_tail(w.r->routes, mr_queue(w.r), 0, &tail) == 0)
        mr_join(w.r, (uint32_t)rng_below(&w.rng, 4));
}

/* ---- the world --------------------------------------------------------------------- */

static void look_at_budget(void *ctx, const void *view)
{
    const struct mng_budget_view *v = view;

    (void)ctx;
    if (v->whole.rate != 0 && v->used.rate > v->whole.rate)
        bad("rates are above the budget's", (unsigned)v->used.rate);
}

/* A node that is cut off goes on with what it was told. */
static void look_at_units(void)
{
    uint64_t own = 0, shared = 0;

    for (int i = 0; i < NODES; i++) {
        own += w.node[i].calls[0].parts;
        shared += w.node[i].calls[0].shared + w.node[i].calls[1].shared;
    }
    w.shared_most = u64_max(w.shared_most, shared);
    if (shared > UNIT_PARTS)
        bad("J35: nodes have more parts of the budget's units than there are", (unsigned)shared);
    if (own > UNIT_PARTS)
        bad("nodes have more parts of the endpoint's units than there are", (unsigned)own);
}

static void turn(void)
{
    unsigned wants[PC_ENDPOINTS];

    mr_run(w.r, 100);
    w.calls = 0;
    for (int i = 0; i < NODES; i++) {
        struct tnode *n = &w.node[i];

        dial(i);
        wants_now(n, wants);
        pc_turn(n->calls, &w.rng, w.r->now, wants, CALL);
        if (w.r->now % 1000 == 0)
            report(n);
        w.calls += n->calls[0].n + n->calls[1].n;
    }
    if (rng_below(&w.rng, 3) != 0)
        deliver();
    people();
    if (w.inside + w.calls > ACTIVE)
        bad("people and calls are above max_active", w.inside + w.calls);
    mng_each_budget(w.r->m, look_at_budget, NULL);
    look_at_units();
}

static void run_for(msec_t ms)
{
    for (msec_t end = w.r->now + ms; w.r->now < end && w.why[0] == 0;)
        turn();
}

static void demand(unsigned crowd, unsigned e, unsigned f)
{
    w.crowd = crowd;
    for (int i = 0; i < NODES; i++) {
        w.node[i].wants[0] = e;
        w.node[i].wants[1] = f;
    }
}

static void happen(void)
{
    static const unsigned some[] = { 0, 0, 2, PC_CALLS };
    int i = (int)rng_below(&w.rng, NODES);

    switch (rng_below(&w.rng, 8)) {
    case 0:
        manager_killed(100 * (msec_t)rng_below(&w.rng, 30));
        break;
    case 1:
        node_killed(i, 100 * (msec_t)rng_below(&w.rng, 50));
        break;
    case 2:
        cut(i, 100 * (msec_t)rng_below(&w.rng, 50));
        break;
    case 3:
        w.crowd = 20 * (unsigned)rng_below(&w.rng, 3);
        break;
    default:
        w.node[i].wants[rng_below(&w.rng, 2)] = some[rng_below(&w.rng, ARRAY_LEN(some))];
        break;
    }
}

#define DEFINE(type, keys, json, call)                                                      \
    do {                                                                                 \
        struct type d = { 0 };                                                           \
        struct cfg_node *doc = NULL;                                                     \
        struct err e = { 0 };                                                            \
        cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);     \
        cr_assert_eq(cfg_bind(&d, sizeof(d), keys, doc, NULL, &e), 0, "%s", e.text);     \
        cr_assert_eq(call, 0, "%s", e.text);                                             \
        mr_flush_mng(w.r);                                                               \
        cfg_clear(&d, keys);                                                             \
        cfg_node_free(doc);                                                              \
    } while (0)

static void budget(const char *json)
{
    DEFINE(budget_def, budget_def_keys, json, mng_define(w.r->m, DEF_BUDGET, w.r->now, &d, &w.r->out, &e));
}

static void endpoint(const char *name, unsigned weight, const char *more)
{
    char json[200];

    snprintf(json, sizeof(json), "{\"name\":\"%s\",\"url\":\"http://a/\",\"budget\":\"gpu\","
             "\"budget_weight\":%u%s}", name, weight, more);
    DEFINE(endpoint_def, endpoint_def_keys, json,
        mng_define(w.r->m, DEF_ENDPOINT, w.r->now, &d, &w.r->out, &e));
    snprintf(json, sizeof(json), "{\"match\":\"%s/*\",\"endpoint\":\"%s\",\"partitions\":4}", name, name);
    DEFINE(pool_def, pool_def_keys, json, mng_define(w.r->m, DEF_POOL, w.r->now, &d, &w.r->out, &e));
}

static void begin(uint64_t seed)
{
    memset(&w, 0, sizeof(w));
    rng_seed(&w.rng, seed);
    w.last_peer = 100000;
    w.r = mr_new("shared");
    w.r->crowd = true;
    w.r->other = to_node;
    for (int i = 0; i < NODES; i++)
        w.node[i].runs = true;
    budget("{\"name\":\"gpu\",\"rate_per_s\":40,\"max_active\":12,"
           "\"rates\":[{\"units\":30,\"per\":\"second\"},{\"units\":900,\"per\":\"minute\"}]}");
    mr_put_queue(w.r, "{\"name\":\"q\",\"mode\":\"both\",\"direct_entry\":false,\"max_active\":100,\"release_per_s\":1000,"
                      "\"budget\":\"gpu\",\"budget_weight\":2,\"no_show_boost\":1,\"pass_ttl\":\"1h\","
                      "\"away\":\"0s\"}");
    endpoint("e", 1, ",\"rates\":[{\"units\":1000,\"per\":\"second\"}]");
    endpoint("f", 1, "");
    run_for(2000);
}

static void end(void)
{
    for (uint32_t i = 0; i < w.n_mail; i++)
        buf_fini(&w.mail[i].body);
    mr_free(w.r);
}

struct part {
    const char *name;
    uint64_t slots, rate, shared;
};

static void find_part(void *ctx, const void *view)
{
    const struct mng_member_view *v = view;
    struct part *p = ctx;

    if (strcmp(v->name, p->name) == 0) {
        p->slots = v->part.slots;
        p->rate = v->part.rate;
        p->shared = v->part.shared;
    }
}

static void has(const char *name, unsigned slots)
{
    struct part p = { .name = name };

    mng_each_member(w.r->m, "gpu", find_part, &p);
    if (p.slots + 1 < slots)
        bad(name, (unsigned)p.slots);
}

static uint64_t units_of(const char *name)
{
    struct part p = { .name = name };

    mng_each_member(w.r->m, "gpu", find_part, &p);
    return p.shared;
}

/* Both have calls that wait: half of the units each. Who has none leaves them to the other. */
static void units_settle(bool both)
{
    uint64_t e = units_of("e"), f = units_of("f");

    if (units_of("q") != 0)
        bad("people have units", (unsigned)units_of("q"));
    if (e + f != UNIT_PARTS || w.shared_most < UNIT_PARTS / 2)
        bad("units are not given", (unsigned)(e + f));
    if (both ? e < UNIT_PARTS / 3 || f < UNIT_PARTS / 3 : e < UNIT_PARTS / 10 * 8)
        bad("units of e", (unsigned)e);
}

/* All want more; then some do not. */
static void settles(void)
{
    for (int i = 0; i < NODES; i++)
        w.node[i].back = 0;
    demand(60, PC_CALLS, PC_CALLS);
    run_for(SETTLED);
    has("q", 6);
    has("e", 3);
    has("f", 3);
    units_settle(true);
    if (w.inside == 0 || w.calls == 0)
        bad("somebody has nothing", w.inside);
    demand(60, 0, 0);
    run_for(SETTLED);
    has("q", ACTIVE - 2);
    w.inside_sum = w.turns = 0;
    run_for(5000);
    if (w.inside_sum < (ACTIVE - 4) * w.turns)
        bad("turns with too few people inside, and there are no calls", (unsigned)w.turns);
    demand(0, PC_CALLS, 0);
    run_for(SETTLED + 30000); /* the line ends */
    has("e", ACTIVE - 2);
    units_settle(false);
    if (w.calls < ACTIVE - 3)
        bad("calls, and nobody else is there", w.calls);
}

static bool run(uint64_t seed)
{
    begin(seed);
    for (unsigned i = 0; i < 40 && w.why[0] == 0; i++) {
        happen();
        run_for(100 * (1 + (msec_t)rng_below(&w.rng, 30)));
    }
    settles();
    if (w.why[0] != 0)
        fprintf(stderr, "seed %lu: %s (SEED=%lu sim_shared)\n", seed, w.why, seed);
    end();
    return w.why[0] == 0;
}

static uint64_t env(const char *name, uint64_t def)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : def;
}

Test(sim_shared, seeds)
{
    uint64_t only = env("SEED", 0), first = only != 0 ? only : env("FIRST", 1);
    uint64_t n = only != 0 ? 1 : env("SEEDS", SEEDS), failed = 0;

    for (uint64_t i = 0; i < n; i++)
        failed += !run(first + i);
    cr_assert_eq(failed, 0);
}
