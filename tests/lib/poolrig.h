/* poolrig.h: the manager core and its store, task nodes that keep partitions and epochs as real
 * ones do, and a router that submits by its map of tasks. Messages go through the codec; links,
 * processes, disks and the store can fail. After every message: one owner per partition and epoch
 * (J18), and no partition begins anew under a number that ever had a task.
 * pr_bad() ends a run: cr_assert in tests, the seed's number in the simulation. */
#ifndef SEGQ_TESTS_POOLRIG_H
#define SEGQ_TESTS_POOLRIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/rng.h"
#include "common/wire/codec.h"
#include "queuemng/core/mng.h"
#include "tests/lib/poolcalls.h"

#define PR_NODES 4
#define PR_PARTS 256  /* at a node */
#define PR_NOS   4096 /* partitions ever */
#define PR_EPOCHS 400 /* of one partition */
#define PR_KEYS  80
#define PR_ROUTER PR_NODES

struct pr_part {
    part_no no;
    uint64_t epoch;
    bool paused;
    uint64_t tasks, schedules;
    uint8_t life;   /* enum part_life */
    uint64_t fence; /* FENCED: for this epoch */
    uint64_t left_for; /* no call of it is under way, or begins: for this epoch; 0: not so */
    uint32_t n_keys;
    uint64_t weights; /* of limits of keys, a digit each */
    uint64_t rate;    /* as told last */
    char endpoint;  /* the name's first letter; 0: none */
};

struct pr_node { /* what is on its disk, and its link */
    uint64_t mng_epoch, store;
    struct pr_part part[PR_PARTS];
    uint32_t n;
    uint64_t incarnation;
    bool runs, registered;
    struct pc_endpoint endpoint[PC_ENDPOINTS];
    unsigned wants[PC_ENDPOINTS]; /* calls at once that there are tasks for */
    bool mute;    /* it does not answer PART_OPEN */
    bool stands;  /* it does not answer PART_OUT */
    peer_no peer; /* 0: no link */
};

struct pr_wire {
    int who; /* the node's end, or the router's */
    bool to_mng;
    peer_no peer; /* of the link: another one's is not delivered */
    uint16_t type;
    struct buf body;
};

struct pr_pair {
    char *key, *val; /* val NULL: deleted */
    unsigned times;  /* that it was put */
};

struct pr;

struct pr_real { /* nodes that are more than what is here (tests/lib/moverig.h) */
    void (*up)(struct pr *r, int i);
    void (*down)(struct pr *r, int i, peer_no p);
    void (*msg)(struct pr *r, int i, const struct msg *m);
    void (*tick)(struct pr *r);
};

struct pr {
    const struct pr_real *real; /* NULL: those of this file */
    struct mng *m; /* NULL: it does not run */
    struct mng_out out;
    msec_t now;
    struct pr_pair mem[PR_KEYS], disk[PR_KEYS]; /* the store as the manager, as its file has it */
    bool store_fails;
    bool shared; /* nodes have their partitions where others can open them, too */
    struct pr_node node[PR_NODES];
    peer_no router, last_peer;
    struct pr_wire *q;
    uint32_t n_q, cap_q;
    struct arena mem_in, map_mem;
    struct msg_task_map map; /* the router's; in map_mem */
    uint32_t maps;
    int8_t owner[PR_NOS][PR_EPOCHS]; /* node + 1 */
    uint64_t tasks[PR_NOS];          /* ever accepted */
    struct rng rng;
    uint64_t restarts, opens, submitted;
    unsigned bears[PC_ENDPOINTS]; /* calls at once; 0: not looked at */
    uint64_t rate[PC_ENDPOINTS];  /* as much may begin per 1000 s; 0: not looked at */
    unsigned longest;             /* call */
    unsigned slow; /* at most so many messages in a tick; 0: all */
    char why[1200]; /* "" as long as nothing is wrong */
};

#define PR_BAD(r, ...)                                                                   \
    do {                                                                                 \
        if ((r)->why[0] == '\0')                                                         \
            snprintf((r)->why, sizeof((r)->why), __VA_ARGS__);                           \
    } while (0)

/* ---- the store ------------------------------------------------------------------- */

static inline void pr_keep(struct pr_pair *v, const char *key, const char *val)
{
    unsigned i = 0;

    while (i < PR_KEYS && v[i].key != NULL && strcmp(v[i].key, key) != 0)
        i++;
    if (i == PR_KEYS)
        abort(); /* PR_KEYS is too low */
    if (v[i].key == NULL)
        v[i].key = strdup(key);
    free(v[i].val);
    v[i].val = val != NULL ? strdup(val) : NULL;
    v[i].times++;
}

static inline unsigned pr_times(const struct pr_pair *v, const char *key)
{
    for (unsigned i = 0; i < PR_KEYS && v[i].key != NULL; i++)
        if (strcmp(v[i].key, key) == 0)
            return v[i].times;
    return 0;
}

static inline void pr_copy(struct pr_pair *to, const struct pr_pair *from)
{
    for (unsigned i = 0; i < PR_KEYS && from[i].key != NULL; i++)
        pr_keep(to, from[i].key, from[i].val);
}

static inline void pr_forget(struct pr_pair *v)
{
    for (unsigned i = 0; i < PR_KEYS; i++) {
        free(v[i].key);
        free(v[i].val);
        v[i] = (struct pr_pair){ 0 };
    }
}

/* ---- links ----------------------------------------------------------------------- */

static inline peer_no *pr_peer(struct pr *r, int who)
{
    return who == PR_ROUTER ? &r->router : &r->node[who].peer;
}

static inline void pr_send(struct pr *r, int who, bool to_mng, const struct msg *m)
{
    struct pr_wire *w;

    if (*pr_peer(r, who) == 0)
        return;
    if (!GROW(r->q, r->n_q, r->cap_q, 64))
        abort();
    w = &r->q[r->n_q++];
    *w = (struct pr_wire){ .who = who, .to_mng = to_mng, .peer = *pr_peer(r, who),
                           .type = (uint16_t)m->type };
    buf_init(&w->body);
    if (msg_encode(m, &w->body) < 0)
        PR_BAD(r, "%s cannot be encoded", msg_name(m->type));
}

static inline int pr_who(struct pr *r, peer_no p)
{
    for (int i = 0; i <= PR_NODES; i++)
        if (*pr_peer(r, i) == p)
            return i;
    return -1;
}

static inline void pr_flush(struct pr *r);

static inline void pr_cut(struct pr *r, int who)
{
    peer_no p = *pr_peer(r, who);

    if (p == 0)
        return;
    *pr_peer(r, who) = 0;
    if (who != PR_ROUTER)
        r->node[who].registered = false;
    if (who != PR_ROUTER && r->real != NULL)
        r->real->down(r, who, p);
    if (r->m != NULL) {
        mng_peer_down(r->m, r->now, p, &r->out);
        pr_flush(r);
    }
}

/* As process/manager.c does it: what cannot be stored is not sent, and the links are closed. */
static inline void pr_flush(struct pr *r)
{
    peer_no closed[64];
    uint32_t n_closed = 0;
    bool stored = !r->store_fails;

    if (r->out.box.failed)
        PR_BAD(r, "a step without memory");
    for (uint32_t i = 0; i < r->out.n; i++)
        if (r->out.act[i].kind != MNG_SEND)
            pr_keep(r->mem, r->out.act[i].key, r->out.act[i].val);
    if (stored)
        pr_copy(r->disk, r->mem);
    for (uint32_t i = 0; i < r->out.n; i++) {
        const struct out_item *it;
        int who;

        if (r->out.act[i].kind != MNG_SEND)
            continue;
        it = &r->out.box.v[r->out.act[i].item];
        who = pr_who(r, it->to);
        if (who >= 0 && stored)
            pr_send(r, who, false, &it->m);
        else if (who >= 0 && n_closed < 64)
            closed[n_closed++] = it->to;
    }
    mng_out_reset(&r->out);
    for (uint32_t i = 0; i < n_closed; i++)
        if (pr_who(r, closed[i]) >= 0)
            pr_cut(r, pr_who(r, closed[i]));
}

/* ---- a task node ----------------------------------------------------------------- */

static inline struct pr_part *pr_has(struct pr_node *n, part_no no)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (n->part[i].no == no)
            return &n->part[i];
    return NULL;
}

static inline void pr_register(struct pr *r, int i)
{
    struct pr_node *n = &r->node[i];
    struct part_row v[PR_PARTS];
    char addr[32];
    struct msg m = { .type = MSG_TASK_REG };

    snprintf(addr, sizeof(addr), "10.0.0.%d:7400", i + 1);
    for (uint32_t k = 0; k < n->n; k++)
        v[k] = (struct part_row){ n->part[k].no, n->part[k].epoch, n->part[k].life };
    m.task_reg = (struct msg_task_reg){ .addr = addr, .admin = "", .epoch_seen = n->mng_epoch,
                                        .store = n->store, .n = n->n, .v = v, .shared = r->shared };
    pr_send(r, i, true, &m);
}

static inline void pr_status(struct pr *r, int i)
{
    struct pr_node *n = &r->node[i];
    struct part_status_row v[PR_PARTS];
    struct msg m = { .type = MSG_PART_STATUS };

    if (!n->registered)
        return;
    memset(v, 0, sizeof(v));
    for (uint32_t k = 0; k < n->n; k++) {
        v[k].part = n->part[k].no;
        v[k].part_epoch = n->part[k].epoch;
        v[k].waiting = n->part[k].tasks;
        v[k].schedules = n->part[k].schedules;
        v[k].life = n->part[k].left_for != 0 ? PART_LEFT : n->part[k].life;
        v[k].to_epoch = n->part[k].left_for;
    }
    m.part_status = (struct msg_part_status){ .epoch = n->mng_epoch, .n = n->n, .v = v };
    pr_send(r, i, true, &m);
}

/* Without a partition of an endpoint's it has no tasks for it. */
static inline void pr_wants(const struct pr_node *n, unsigned *wants)
{
    memset(wants, 0, PC_ENDPOINTS * sizeof(*wants));
    for (uint32_t k = 0; n->runs && k < n->n; k++) {
        unsigned e = n->part[k].endpoint == 'f';

        if (n->part[k].life == PART_OWNED && n->part[k].endpoint != 0)
            wants[e] = n->wants[e];
    }
}

static inline void pr_endpoint_status(struct pr *r, int i)
{
    struct pr_node *n = &r->node[i];
    struct endpoint_row v[PC_ENDPOINTS];
    struct msg m = { .type = MSG_ENDPOINT_STATUS };
    unsigned wants[PC_ENDPOINTS];

    if (!n->registered)
        return;
    pr_wants(n, wants);
    m.endpoint_status = (struct msg_endpoint_status){ n->mng_epoch, pc_status(n->endpoint, wants, v),
                                                      v };
    pr_send(r, i, true, &m);
}

/* Calls begin and end at all nodes. */
static inline void pr_calls(struct pr *r)
{
    unsigned sum[PC_ENDPOINTS] = { 0 }, wants[PC_ENDPOINTS];
    uint64_t rate[PC_ENDPOINTS] = { 0 };

    for (int i = 0; i < PR_NODES; i++) {
        struct pr_node *n = &r->node[i];

        pr_wants(n, wants);
        pc_turn(n->endpoint, &r->rng, r->now, wants, r->longest);
        for (unsigned e = 0; e < PC_ENDPOINTS; e++) {
            sum[e] += n->endpoint[e].n;
            rate[e] += n->endpoint[e].rate;
        }
    }
    for (unsigned e = 0; e < PC_ENDPOINTS; e++) {
        if (r->bears[e] != 0 && sum[e] > r->bears[e])
            PR_BAD(r, "J4: %u calls at once at endpoint %u, which bears %u", sum[e], e, r->bears[e]);
        if (r->rate[e] != 0 && rate[e] > r->rate[e])
            PR_BAD(r, "J4: endpoint %u may be called %llu times in 1000 s, and bears %llu", e,
                   (unsigned long long)rate[e], (unsigned long long)r->rate[e]);
    }
}

static inline void pr_open(struct pr *r, int i, const struct msg_part_open *g)
{
    struct pr_node *n = &r->node[i];
    struct pr_part *p = pr_has(n, g->part);
    int8_t *owner;

    r->opens++;
    if (g->part == 0 || g->part >= PR_NOS || g->part_epoch == 0 || g->part_epoch >= PR_EPOCHS) {
        PR_BAD(r, "partition %u epoch %llu", g->part, (unsigned long long)g->part_epoch);
        return;
    }
    if ((p == NULL && g->had && !r->shared) || (p != NULL && p->life == PART_COME && g->part_epoch != p->epoch) ||
        (p != NULL && p->life == PART_FENCED && g->part_epoch <= p->fence))
        return; /* a node refuses that */
    owner = &r->owner[g->part][g->part_epoch];
    if (*owner != 0 && *owner != i + 1)
        PR_BAD(r, "J18: partition %u has two owners of epoch %llu: %d, %d", g->part,
               (unsigned long long)g->part_epoch, *owner - 1, i);
    *owner = (int8_t)(i + 1);
    if (p == NULL && r->tasks[g->part] != 0 && !r->shared)
        PR_BAD(r, "partition %u begins anew, and had tasks", g->part);
    if (p != NULL && p->epoch > g->part_epoch)
        PR_BAD(r, "partition %u: epoch %llu after %llu", g->part,
               (unsigned long long)g->part_epoch, (unsigned long long)p->epoch);
    if (p == NULL && n->n == PR_PARTS)
        abort();
    if (p == NULL) {
        p = &n->part[n->n++];
        *p = (struct pr_part){ .no = g->part, .tasks = r->tasks[g->part] };
    }
    p->epoch = g->part_epoch;
    p->paused = g->paused;
    p->n_keys = g->n_keys;
    for (uint32_t k = 0; k < g->n_keys; k++)
        p->weights = (k == 0 ? 0 : p->weights) * 10 + g->keys[k].weight;
    p->endpoint = g->endpoint[0];
    p->life = PART_OWNED;
    p->left_for = 0;
    pr_status(r, i);
}

/* The whole copy at once; where it is shared its calls end at once. */
static inline void pr_out(struct pr *r, int i, const struct msg_part_out *g)
{
    struct pr_part *p = pr_has(&r->node[i], g->part), *q;
    int to = g->addr[strlen("10.0.0.")] - '1'; /* as pr_register() has it */
    struct pr_node *n = &r->node[to];

    if (p == NULL || p->epoch != g->part_epoch || !n->runs || n->n == PR_PARTS ||
        (p->life == PART_FENCED && p->fence != g->to_epoch))
        return;
    if (r->shared) {
        p->left_for = g->to_epoch;
        pr_status(r, i);
        return;
    }
    q = pr_has(n, g->part);
    if (q != NULL && (q->life != PART_COME || q->epoch > g->to_epoch))
        return;
    if (q == NULL)
        q = &n->part[n->n++];
    *q = (struct pr_part){ .no = g->part, .epoch = g->to_epoch, .tasks = p->tasks,
                           .life = PART_COME, .endpoint = p->endpoint };
    p->life = PART_FENCED;
    p->fence = g->to_epoch;
    pr_status(r, to);
}

static inline bool pr_is_mapped(const struct pr *r, part_no no)
{
    for (uint32_t i = 0; i < r->map.n_pools; i++)
        for (uint32_t k = 0; k < r->map.pools[i].n; k++)
            if (r->map.pools[i].v[k].part == no)
                return true;
    return false;
}

static inline void pr_drop(struct pr *r, int i, const struct msg_part_drop *g)
{
    struct pr_node *n = &r->node[i];
    struct pr_part *p = pr_has(n, g->part);

    if (r->shared && g->part_epoch == 0 && pr_is_mapped(r, g->part))
        PR_BAD(r, "partition %u is in service, and its keys are deleted", g->part);
    if (p != NULL && (g->part_epoch == 0 || p->epoch <= g->part_epoch))
        *p = n->part[--n->n];
    pr_status(r, i);
}

static inline void pr_node_msg(struct pr *r, int i, const struct msg *g)
{
    struct pr_node *n = &r->node[i];
    struct msg e = { .type = MSG_ERROR };

    if (r->real != NULL) {
        r->real->msg(r, i, g);
        return;
    }
    if (g->epoch < n->mng_epoch) {
        e.error.code = SQ_ESTALE;
        e.error.about = g->type;
        e.error.text = "old";
        pr_send(r, i, true, &e);
        return;
    }
    n->mng_epoch = g->epoch;
    if (g->type == MSG_TASK_OK) {
        n->store = g->task_ok.store;
        n->registered = true;
        pr_status(r, i);
    } else if (!n->registered) {
        PR_BAD(r, "%s before TASK_OK", msg_name(g->type));
    } else if (g->type == MSG_PART_OPEN && !n->mute) {
        pr_open(r, i, &g->part_open);
    } else if (g->type == MSG_PART_OUT && !n->stands) {
        pr_out(r, i, &g->part_out);
    } else if (g->type == MSG_PART_RATE) {
        if (pr_has(n, g->part_rate.part) != NULL)
            pr_has(n, g->part_rate.part)->rate = g->part_rate.rate;
    } else if (g->type == MSG_PART_DROP) {
        pr_drop(r, i, &g->part_drop);
    } else if (g->type == MSG_ENDPOINT && !n->mute) {
        pc_told(n->endpoint, &g->endpoint);
        pr_endpoint_status(r, i);
    } else if (g->type == MSG_ENDPOINT_DROP) {
        pc_dropped(n->endpoint, &g->endpoint_drop);
    }
}

/* ---- the router ------------------------------------------------------------------ */

static inline void pr_map(struct pr *r, const struct pr_wire *w)
{
    const uint8_t *body;
    struct msg m;

    arena_reset(&r->map_mem);
    body = arena_memdup(&r->map_mem, w->body.data, w->body.len); /* m points into it */
    if (msg_decode(w->type, body, w->body.len, &r->map_mem, &m) < 0)
        PR_BAD(r, "a map that cannot be read");
    r->map = m.task_map;
    r->maps++;
}

/* A task into a share of a pool, by the map. True: accepted. */
static inline bool pr_submit(struct pr *r, uint32_t pool, uint32_t share)
{
    const struct map_part *p;

    if (pool >= r->map.n_pools || share >= r->map.pools[pool].n)
        return false;
    p = &r->map.pools[pool].v[share];
    for (uint32_t i = 0; i < r->map.n_nodes; i++) {
        int who = r->map.nodes[i].addr[strlen("10.0.0.")] - '1'; /* as pr_register() has it */
        struct pr_part *x;

        if (r->map.nodes[i].no != p->node)
            continue;
        x = r->node[who].runs ? pr_has(&r->node[who], p->part) : NULL;
        if (x == NULL || x->epoch != p->epoch || x->life != PART_OWNED)
            return false;
        x->tasks++;
        r->tasks[p->part]++;
        r->submitted++;
        return true;
    }
    return false;
}

/* ---- the whole ------------------------------------------------------------------- */

/* The first on its link, of any link. */
static inline uint32_t pr_next(struct pr *r)
{
    uint32_t any = r->real != NULL ? (uint32_t)rng_below(&r->rng, r->n_q) : 0;

    for (uint32_t i = 0; i < any; i++)
        if (r->q[i].peer == r->q[any].peer && r->q[i].to_mng == r->q[any].to_mng)
            return i;
    return any;
}

/* Delivers the next message, if there is one. */
static inline bool pr_deliver(struct pr *r)
{
    struct pr_wire w;
    struct msg m;
    uint32_t at;

    if (r->n_q == 0)
        return false;
    at = pr_next(r);
    w = r->q[at];
    memmove(r->q + at, r->q + at + 1, (--r->n_q - at) * sizeof(*r->q));
    arena_reset(&r->mem_in);
    if (*pr_peer(r, w.who) == w.peer && r->m != NULL) {
        if (msg_decode(w.type, w.body.data, w.body.len, &r->mem_in, &m) < 0)
            PR_BAD(r, "%s cannot be decoded", msg_name((enum msg_type)w.type));
        else if (w.to_mng) {
            mng_msg(r->m, r->now, w.peer, &m, &r->out);
            pr_flush(r);
        } else if (w.who != PR_ROUTER) {
            pr_node_msg(r, w.who, &m);
        } else if (m.type == MSG_TASK_MAP) {
            pr_map(r, &w);
        }
    }
    buf_fini(&w.body);
    return true;
}

static inline void pr_dial(struct pr *r, int who)
{
    struct msg m = { .type = MSG_ROUTER_REG };
    char name[16];

    if (r->m == NULL || *pr_peer(r, who) != 0 || (who != PR_ROUTER && !r->node[who].runs))
        return;
    snprintf(name, sizeof(name), who == PR_ROUTER ? "router" : "task-%d", who);
    *pr_peer(r, who) = ++r->last_peer;
    mng_peer_up(r->m, r->now, r->last_peer, who == PR_ROUTER ? RPC_ROUTER : RPC_TASK, name,
                who == PR_ROUTER ? 1 : r->node[who].incarnation, &r->out);
    pr_flush(r);
    if (*pr_peer(r, who) == 0)
        return;
    m.router_reg.http = m.router_reg.admin = "";
    if (who == PR_ROUTER)
        pr_send(r, who, true, &m);
    else if (r->real != NULL)
        r->real->up(r, who);
    else
        pr_register(r, who);
}

/* Ticks and messages for so long; links that are down come back. */
static inline void pr_run(struct pr *r, msec_t ms)
{
    for (msec_t end = r->now + ms; r->now < end && r->why[0] == '\0';) {
        r->now += 100;
        for (int i = 0; i <= PR_NODES; i++)
            pr_dial(r, i);
        for (int i = 0; i < PR_NODES && r->real == NULL && r->now % 1000 == 0; i++) {
            pr_status(r, i);
            pr_endpoint_status(r, i);
        }
        pr_calls(r);
        if (r->real != NULL)
            r->real->tick(r);
        if (r->m != NULL) {
            mng_tick(r->m, r->now, 1800000000000 + r->now, &r->out);
            pr_flush(r);
        }
        for (unsigned n = 0; (r->slow == 0 || n < r->slow) && pr_deliver(r); n++)
            continue;
    }
}

static inline void pr_manager_end(struct pr *r)
{
    if (r->m == NULL)
        return;
    mng_free(r->m);
    r->m = NULL;
    mng_out_reset(&r->out);
    for (int i = 0; i <= PR_NODES; i++)
        pr_cut(r, i);
    pr_forget(r->mem);
    pr_copy(r->mem, r->disk);
}

static inline void pr_manager_begin(struct pr *r)
{
    struct mng_opts o = { .seed = rng_u64(&r->rng) };
    struct err e = { 0 };

    if (r->m != NULL)
        return;
    r->restarts++;
    r->m = mng_new(&o);
    for (unsigned i = 0; i < PR_KEYS && r->disk[i].key != NULL; i++)
        if (r->disk[i].val != NULL && mng_load(r->m, r->disk[i].key, r->disk[i].val, &e) < 0)
            PR_BAD(r, "%s", e.text);
    mng_start(r->m, r->now, 1800000000000 + r->now, &r->out);
    pr_flush(r);
}

static inline void pr_node_run(struct pr *r, int i, bool on)
{
    if (on) {
        r->node[i].incarnation++;
    } else {
        pr_cut(r, i);
        pc_killed(r->node[i].endpoint);
    }
    r->node[i].runs = on;
}

/* Its folder is deleted while it does not run. */
static inline void pr_node_wipe(struct pr *r, int i)
{
    bool ran = r->node[i].runs;

    pr_node_run(r, i, false);
    r->node[i].n = 0;
    r->node[i].mng_epoch = r->node[i].store = 0;
    memset(r->node[i].endpoint, 0, sizeof(r->node[i].endpoint)); /* nobody knows of its calls */
    if (ran)
        pr_node_run(r, i, true);
}

static inline int pr_pool(struct pr *r, const char *json, struct err *e)
{
    struct pool_def d = { 0 };
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, json, strlen(json), e);

    if (rc == 0)
        rc = cfg_bind(&d, sizeof(d), pool_def_keys, doc, NULL, e);
    if (rc == 0) {
        rc = mng_define(r->m, DEF_POOL, r->now, &d, &r->out, e);
        pr_flush(r);
    }
    cfg_clear(&d, pool_def_keys);
    cfg_node_free(doc);
    return rc;
}

static inline int pr_endpoint(struct pr *r, const char *json, struct err *e)
{
    struct endpoint_def d = { 0 };
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, json, strlen(json), e);

    if (rc == 0)
        rc = cfg_bind(&d, sizeof(d), endpoint_def_keys, doc, NULL, e);
    if (rc == 0) {
        rc = mng_define(r->m, DEF_ENDPOINT, r->now, &d, &r->out, e);
        pr_flush(r);
    }
    cfg_clear(&d, endpoint_def_keys);
    cfg_node_free(doc);
    return rc;
}

static inline int pr_budget(struct pr *r, const char *json, struct err *e)
{
    struct budget_def d = { 0 };
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, json, strlen(json), e);

    if (rc == 0)
        rc = cfg_bind(&d, sizeof(d), budget_def_keys, doc, NULL, e);
    if (rc == 0)
        rc = mng_define(r->m, DEF_BUDGET, r->now, &d, &r->out, e);
    if (rc == 0)
        pr_flush(r);
    cfg_clear(&d, budget_def_keys);
    cfg_node_free(doc);
    return rc;
}

static inline struct pr *pr_new(uint64_t seed)
{
    struct pr *r = calloc(1, sizeof(*r));

    if (r == NULL)
        abort();
    r->now = 1000;
    rng_seed(&r->rng, seed);
    r->longest = PC_LONGEST;
    for (int i = 0; i < PR_NODES; i++)
        for (unsigned e = 0; e < PC_ENDPOINTS; e++)
            r->node[i].wants[e] = PC_CALLS;
    mng_out_init(&r->out);
    arena_init(&r->mem_in);
    arena_init(&r->map_mem);
    pr_manager_begin(r);
    return r;
}

static inline void pr_free(struct pr *r)
{
    mng_free(r->m);
    mng_out_fini(&r->out);
    for (uint32_t i = 0; i < r->n_q; i++)
        buf_fini(&r->q[i].body);
    free(r->q);
    arena_fini(&r->mem_in);
    arena_fini(&r->map_mem);
    pr_forget(r->mem);
    pr_forget(r->disk);
    free(r);
}

/* Every share of every pool: the map names a node that has it in service; and no node has more, but
 * for a copy that became whole when its partition had been given up: that is left to operators. */
static inline void pr_all_served(struct pr *r)
{
    uint32_t served = 0, shares = 0;

    for (uint32_t i = 0; i < r->map.n_pools; i++)
        for (uint32_t k = 0; k < r->map.pools[i].n; k++) {
            shares++;
            served += pr_submit(r, i, k);
        }
    if (served != shares || shares == 0)
        PR_BAD(r, "%u of %u shares are served", served, shares);
    for (int i = 0; i < PR_NODES; i++)
        for (uint32_t k = 0; k < r->node[i].n; k++)
            if (r->node[i].runs && r->node[i].part[k].life != PART_COME &&
                !pr_is_mapped(r, r->node[i].part[k].no))
                PR_BAD(r, "node %d keeps partition %u of no pool", i, r->node[i].part[k].no);
}

#endif
