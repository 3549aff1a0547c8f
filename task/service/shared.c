/* shared.c: turns whose answers wait, oldest first. */
#include "task/service/shared.h"

#include <sodium.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/net/tls.h"
#include "common/node/node_peers.h"
#include "common/redis/redis_script.h"
#include "common/supervisor/program.h"
#include "task/node/keep.h"
#include "task/service/service.h"

#define LOG_MODULE "redis"

struct needed { /* word of Redis that answers about a partition wait for */
    part_no no;
    uint64_t asked; /* writes_ask() */
};

struct needs {
    struct needed *v; /* owned */
    uint32_t n, cap;
};

struct held_turn {
    struct list_node in; /* task_shared.turns */
    struct outbox out;
    struct needs needs;
    struct buf ends; /* owned; lines of the archive */
};

struct task_shared {
    struct task_service *s; /* ref */
    struct taskredis *redis;
    struct tls_ctx *tls; /* owned; NULL: without */
    char password[256];
    struct needs needs; /* needs of this turn */
    struct list turns;  /* list of struct held_turn, oldest first */
    bool failed;        /* no memory: what this turn says cannot be held */
};

/* ---- what the table says ----------------------------------------------------------- */

static int tab_open(void *ctx, part_no no, uint64_t epoch)
{
    return taskredis_open(((struct task_shared *)ctx)->redis, no, epoch);
}

static void tab_close(void *ctx, part_no no, bool for_ever)
{
    taskredis_close(((struct task_shared *)ctx)->redis, no, for_ever);
}

static void tab_ask(void *ctx, part_no no)
{
    struct task_shared *h = ctx;
    struct needs *w = &h->needs;

    if (GROW(w->v, w->n, w->cap, 16))
        w->v[w->n++] = (struct needed){ no, writes_ask(taskredis_writes(h->redis, no)) };
    else
        h->failed = true;
}

static struct writes *writes_of(struct task_shared *h, part_no no)
{
    return taskredis_writes(h->redis, no);
}

static void *tab_record(void *ctx, part_no no, uint8_t kind, size_t n)
{
    return writes_record(writes_of(ctx, no), kind, n);
}

static int tab_put(void *ctx, part_no no, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    return writes_put(writes_of(ctx, no), p, n, ref);
}

static void tab_drop(void *ctx, part_no no, uint64_t ref)
{
    writes_drop(writes_of(ctx, no), ref);
}

static int tab_want(void *ctx, part_no no, uint64_t ref, uint8_t *to)
{
    return writes_want(writes_of(ctx, no), ref, to);
}

const struct tab_shared task_shared_table = { tab_open, tab_close, tab_ask, tab_record,
                                              tab_put,  tab_drop,  writes_ref_bytes, tab_want };

/* ---- answers that wait ------------------------------------------------------------- */

static void turn_free(struct task_shared *h, struct held_turn *k)
{
    list_remove(&h->turns, &k->in);
    outbox_fini(&k->out);
    buf_fini(&k->ends);
    free(k->needs.v);
    free(k);
}

/* Holds what is in the outbox, and what the archive is to have. */
static void hold(struct task_shared *h)
{
    struct node *n = &h->s->node;
    struct held_turn *k = calloc(1, sizeof(*k));

    if (k == NULL) {
        h->failed = true;
        return;
    }
    k->out = n->out;
    k->needs = h->needs;
    archive_take(h->s->archive, &k->ends);
    outbox_init(&n->out);
    h->needs = (struct needs){ 0 };
    list_push_back(&h->turns, &k->in);
}

static bool may_leave(const struct task_shared *h, const struct held_turn *k)
{
    for (uint32_t i = 0; i < k->needs.n; i++)
        if (taskredis_writes(h->redis, k->needs.v[i].no)->done < k->needs.v[i].asked)
            return false;
    return true;
}

static void release(struct task_shared *h)
{
    struct node *n = &h->s->node;

    list_each_of (&h->turns, struct held_turn, in, k) {
        struct outbox now = n->out;

        if (!may_leave(h, k))
            continue;
        for (uint32_t i = 0; i < k->out.n; i++)
            tasktab_arrived(h->s->tab, &k->out.v[i].m, &k->out.mem);
        n->out = k->out;
        node_send(n);
        archive_put(h->s->archive, &k->ends);
        k->out = n->out;
        n->out = now;
        turn_free(h, k);
    }
}

void task_shared_turn(struct task_shared *h, bool whole)
{
    struct node *n = &h->s->node;
    struct err e = { 0 };

    if (h->needs.n > 0 && (n->out.n > 0 || archive_waits(h->s->archive)))
        hold(h);
    else
        node_send(n);
    h->needs.n = 0;
    if (!taskredis_step(h->redis) || !whole || h->failed)
        node_cannot_recover(&e); /* no memory for what was done: Redis has what was told */
    release(h);
}

/* ---- what Redis says --------------------------------------------------------------- */

static bool has_body(void *bodies, uint64_t ref)
{
    return map_get(bodies, ref) != MAP_NONE;
}

static int on_read(void *ctx, part_no no, const uint8_t *p, size_t n, const struct map *bodies)
{
    struct task_service *s = ((struct task_shared *)ctx)->s;

    return tasktab_loaded(s->tab, task_service_now(s), no, p, n, has_body, (void *)bodies);
}

static void on_held(void *ctx, part_no no, bool on)
{
    tasktab_part_hold(((struct task_shared *)ctx)->s->tab, no, on);
}

/* True: the turn waited for word about it. */
static bool needs_no_more(struct needs *w, part_no no)
{
    uint32_t kept = 0, was = w->n;

    for (uint32_t i = 0; i < was; i++)
        if (w->v[i].no != no)
            w->v[kept++] = w->v[i];
    w->n = kept;
    return kept < was;
}

/* The next report, at once, says it as it is then. */
static bool is_report(const struct msg *m)
{
    return m->type == MSG_PART_STATUS || m->type == MSG_ENDPOINT_STATUS;
}

/* Takes the turn's messages back: their receivers are cut off, and ask again; a manager to whom it was but a
 * report is not. What other partitions have done is written: their calls stay in it, and lines of the archive. */
static void take_back(struct task_shared *h, struct held_turn *k, part_no no)
{
    struct task_service *s = h->s;
    struct outbox *o = &k->out;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < o->n; i++) {
        struct node_peer *p = o->v[i].to != PEER_SELF && !is_report(&o->v[i].m)
                                  ? node_peer_find(&s->node, o->v[i].to)
                                  : NULL;

        if (o->v[i].to == PEER_SELF && !caller_forget_taken(&s->caller, o->v[i].rid, no))
            o->v[kept++] = o->v[i];
        if (p != NULL) {
            tasktab_down(s->tab, p->no);
            node_peer_cut(&s->node, p);
        }
    }
    o->n = kept;
    archive_drop_part(&k->ends, no);
}

static void on_lost(void *ctx, part_no no)
{
    struct task_shared *h = ctx;

    list_each_of (&h->turns, struct held_turn, in, k)
        if (needs_no_more(&k->needs, no))
            take_back(h, k, no);
    tasktab_lost(h->s->tab, no, &h->s->node.out);
    node_send(&h->s->node);
}

struct snap_of {
    struct taskredis *redis;
    part_no no;
};

static void *snap_record(void *ctx, uint8_t kind, size_t n)
{
    const struct snap_of *o = ctx;

    return writes_snap_record(taskredis_writes(o->redis, o->no), kind, n);
}

static void on_snap(void *ctx, part_no no)
{
    struct task_shared *h = ctx;
    struct snap_of o = { h->redis, no };

    h->failed |= !tasktab_snapshot_part(h->s->tab, no, snap_record, &o);
}

/* ---- life -------------------------------------------------------------------------- */

int task_shared_new(struct task_shared **out, struct task_service *s, const struct task_cfg *c,
                    struct err *e)
{
    static const struct taskredis_calls calls = { on_read, on_held, on_lost, on_snap };
    struct task_shared *h = calloc(1, sizeof(*h));
    struct taskredis_opts o = { .prefix = c->redis.prefix,
                                .wait_replicas = (uint32_t)c->redis.wait_replicas,
                                .snap_after = (uint64_t)c->node.journal_snapshot };
    int rc;

    if (h == NULL)
        return err_set(e, SQ_ENOMEM, "redis: out of memory");
    h->s = s;
    list_init(&h->turns);
    rc = redis_opts_of(&o.link, &c->redis, h->password, sizeof(h->password), &h->tls, e);
    if (rc == 0)
        rc = taskredis_new(&h->redis, s->node.ev, &o, &calls, h, e);
    if (rc < 0)
        task_shared_free(h);
    else
        *out = h;
    return rc;
}

void task_shared_free(struct task_shared *h)
{
    if (h == NULL)
        return;
    list_each_of (&h->turns, struct held_turn, in, k)
        turn_free(h, k);
    free(h->needs.v);
    taskredis_free(h->redis);
    tls_ctx_free(h->tls);
    sodium_memzero(h->password, sizeof(h->password));
    free(h);
}

void task_shared_reload(struct task_shared *h, const struct task_cfg *c)
{
    struct err e = { 0 };

    if (redis_tls_load(&h->tls, &c->redis, &e) < 0)
        prog_refuse(&e);
}

/* ---- figures ----------------------------------------------------------------------- */

#define ROW_OF struct taskredis_counts
#define ROW(name, kind, member, help)                                                    \
    METRIC_ROW("segq_task_redis_" name, kind, ROW_OF, member, help)
static const struct metric_row rows[] = {
    ROW("partitions", GAUGE, partitions, "Partitions that are in Redis"),
    ROW("held_partitions", GAUGE, held, "Of these, partitions for which Redis does not answer"),
    ROW("commands_total", COUNTER, commands, "Writes sent to Redis"),
    ROW("retries_total", COUNTER, again, "Writes without a good answer, which are sent again"),
    ROW("fenced_total", COUNTER, given_up, "Partitions given up, as another node has them"),
    ROW("went_back_total", COUNTER, forgotten, "Times that Redis had less than it acknowledged"),
    ROW("snapshots_total", COUNTER, snapshots, "Snapshots begun"),
};

void task_shared_metrics(const struct task_shared *h, struct buf *b)
{
    struct taskredis_counts n;

    taskredis_count(h->redis, &n);
    metrics_rows(b, rows, ARRAY_LEN(rows), &n);
    redis_fault_metrics(b, n.faults);
}
