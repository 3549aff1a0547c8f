/* partitions.c: one link and its writes for each; callbacks note, taskredis_step() acts. */
#include "task/redis/partitions.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/list.h"
#include "common/base/log.h"
#include "task/redis/writes.h"

#define LOG_MODULE "redis"
#define AGAIN_MS   100 /* a command that failed is sent again */

enum over { OVER_NOT, OVER_STALE, OVER_GAP, OVER_QUIET, OVER_BAD };

struct redis_part {
    struct list_node in; /* taskredis.parts */
    struct taskredis *t; /* ref */
    part_no no;
    uint64_t epoch;
    char key[TASK_REDIS_KEYS][REDIS_KEY_BYTES];
    struct redis_link *link;
    struct opening opening;
    struct writes s;
    bool ready;   /* read already */
    bool in_air;  /* a command of it is not answered yet */
    bool held, told_held;
    bool drop;    /* keys go, then it */
    bool waits;   /* behind the command in the air there is a WAIT */
    bool waited;  /* enough replicas have it */
    enum writes_verdict verdict; /* the same: what Redis says */
    enum over over;
    msec_t again_ms;
};

struct taskredis {
    struct ev *ev; /* ref */
    struct taskredis_calls calls;
    void *ctx;
    struct redis_opts link; /* texts of it: `texts` */
    char prefix[NAME_MAX_LEN + 1];
    uint32_t wait_replicas;
    uint64_t snap_after;
    struct list parts; /* list of struct redis_part */
    struct map by_no;
    struct taskredis_counts n;
};

#define each_redis_part(t, p) list_each_of(&(t)->parts, struct redis_part, in, p)

static struct redis_part *find(const struct taskredis *t, part_no no)
{
    return map_get_ptr(&t->by_no, no);
}

/* ---- commands -------------------------------------------------------------------- */

/* Redis has answered, and the WAIT behind it, which counts for the fence, too. Nothing is closed
 * here: the link is calling. */
static void judged(struct redis_part *p)
{
    p->in_air = false;
    if (p->verdict == WRITES_DONE && !p->waited)
        p->verdict = WRITES_AGAIN;
    p->held = p->verdict == WRITES_AGAIN;
    switch (p->verdict) {
    case WRITES_DONE:
        redis_link_fault(p->link, REDIS_NONE, NULL);
        writes_end(&p->s);
        break;
    case WRITES_AGAIN:
        p->t->n.again++;
        p->again_ms = ev_now(p->t->ev) + AGAIN_MS;
        break;
    default:
        p->over = p->verdict == WRITES_STALE ? OVER_STALE : OVER_GAP;
    }
}

static void on_written(void *ctx, const struct redis_ans *a)
{
    struct redis_part *p = ctx;

    if (a->fault != REDIS_NONE)
        redis_link_fault(p->link, a->fault, a->text);
    p->verdict = writes_judge(&p->s, a);
    p->waited = p->t->wait_replicas == 0;
    if (!p->waits)
        judged(p);
}

/* The answer to WAIT, which was sent behind it. */
static void on_waited(void *ctx, const struct redis_ans *a)
{
    struct redis_part *p = ctx;

    p->waited = redis_waited(p->link, a, p->t->wait_replicas);
    judged(p);
}

static void send_write(struct redis_part *p)
{
    struct redis_command c;
    int rc;

    redis_eval(&c, TASK_REDIS_WRITE, p->key, TASK_REDIS_KEYS);
    writes_args(&p->s, &c);
    rc = redis_run(p->link, &c, on_written, p);
    p->in_air = rc == 0;
    p->waits = rc == 0 && p->t->wait_replicas != 0 &&
               redis_wait(p->link, p->t->wait_replicas, p->t->link.answer_ms, on_waited, p) == 0;
    p->t->n.commands++;
    if (rc < 0)
        p->again_ms = ev_now(p->t->ev) + AGAIN_MS;
}

/* ---- opening --------------------------------------------------------------------- */

static void send_opening(struct redis_part *p);

static void open_again(struct redis_part *p)
{
    opening_begin(&p->opening);
    p->again_ms = ev_now(p->t->ev) + AGAIN_MS;
}

static void opened(struct redis_part *p)
{
    const struct buf *b = &p->opening.records;

    p->ready = true;
    if (p->t->calls.read(p->t->ctx, p->no, b->data, b->len, &p->opening.bodies) < 0)
        p->over = OVER_BAD;
    opening_fini(&p->opening);
}

static void on_opening(void *ctx, const struct redis_ans *a)
{
    struct redis_part *p = ctx;

    if (a->fault != REDIS_NONE)
        redis_link_fault(p->link, a->fault, a->text);
    p->in_air = false;
    switch (opening_judge(&p->opening, &p->s, a)) {
    case OPENING_MORE:
        send_opening(p);
        break;
    case OPENING_DONE:
        opened(p);
        break;
    case OPENING_STALE:
        p->over = OVER_STALE;
        break;
    default:
        if (a->fault == REDIS_NONE)
            redis_link_fault(p->link, REDIS_TYPE, "an answer of another shape");
        open_again(p);
    }
}

static void send_opening(struct redis_part *p)
{
    struct redis_command c;
    int rc;

    opening_command(&p->opening, &p->s, p->key, &c);
    rc = redis_run(p->link, &c, on_opening, p);
    p->in_air = rc == 0;
    if (rc < 0)
        open_again(p);
}

/* ---- links ----------------------------------------------------------------------- */

static void on_up(void *ctx, int64_t uptime_ms)
{
    struct redis_part *p = ctx;

    (void)uptime_ms;
    p->again_ms = 0;
}

static void on_down(void *ctx)
{
    struct redis_part *p = ctx;

    p->held = true;
    if (!p->ready)
        opening_begin(&p->opening);
}

static void part_free(struct redis_part *p)
{
    struct taskredis *t = p->t;

    map_del(&t->by_no, p->no);
    list_remove(&t->parts, &p->in);
    if (p->link != NULL)
        for (unsigned f = 0; f < REDIS_NFAULTS; f++)
            t->n.faults[f] += redis_link_counts(p->link)->fault[f];
    redis_link_free(p->link);
    writes_fini(&p->s);
    opening_fini(&p->opening);
    free(p);
}

static int part_start(struct redis_part *p, struct err *e)
{
    static const char *const names[TASK_REDIS_KEYS] = { "epoch", "log", "snap", "body", "next" };
    static const struct redis_calls calls = { on_up, on_down };
    struct taskredis *t = p->t;
    uint8_t nonce[16];
    char text[2 * sizeof(nonce) + 1];
    struct redis_opts o = t->link;

    for (unsigned i = 0; i < TASK_REDIS_KEYS; i++)
        snprintf(p->key[i], sizeof(p->key[i]), "%s:{%u}:%s", t->prefix, p->no, names[i]);
    randombytes_buf(nonce, sizeof(nonce));
    sodium_bin2hex(text, sizeof(text), nonce, sizeof(nonce));
    writes_init(&p->s, p->epoch, text);
    opening_begin(&p->opening);
    randombytes_buf(&o.seed, sizeof(o.seed));
    return redis_link_new(&p->link, t->ev, &o, &calls, p, e);
}

static struct redis_part *part_new(struct taskredis *t, part_no no, uint64_t epoch)
{
    struct redis_part *p = calloc(1, sizeof(*p));
    struct err e;

    if (p == NULL || map_set_ptr(&t->by_no, no, p) < 0) {
        free(p);
        return NULL;
    }
    p->t = t;
    p->no = no;
    p->epoch = epoch;
    list_push_back(&t->parts, &p->in);
    if (part_start(p, &e) == 0)
        return p;
    part_free(p);
    return NULL;
}

/* ---- partitions come and go ------------------------------------------------------- */

int taskredis_open(struct taskredis *t, part_no no, uint64_t epoch)
{
    struct redis_part *p = find(t, no);

    if (p == NULL)
        return part_new(t, no, epoch) != NULL ? 0 : SQ_ENOMEM;
    if (epoch > p->epoch && p->over == OVER_NOT)
        p->over = OVER_QUIET;
    return p->over != OVER_NOT || p->drop ? SQ_EBUSY : 0;
}

void taskredis_close(struct taskredis *t, part_no no, bool for_ever)
{
    struct redis_part *p = find(t, no);

    if (p == NULL && for_ever)
        p = part_new(t, no, 0); /* without memory its keys stay until it is said again */
    if (p == NULL)
        return;
    if (for_ever)
        p->drop = true;
    else if (p->over == OVER_NOT)
        p->over = OVER_QUIET;
}

/* Ends it when its keys have gone, or says it again. */
static void on_dropped(void *ctx, const struct redis_ans *a)
{
    struct redis_part *p = ctx;

    p->in_air = false;
    if (a->fault == REDIS_NONE) {
        p->over = OVER_QUIET;
        return;
    }
    redis_link_fault(p->link, a->fault, a->text);
    p->again_ms = ev_now(p->t->ev) + AGAIN_MS;
}

static void send_drop(struct redis_part *p)
{
    struct redis_command c;

    redis_eval(&c, TASK_REDIS_DROP, p->key, TASK_REDIS_KEYS);
    p->in_air = redis_run(p->link, &c, on_dropped, p) == 0;
}

static void give_up(struct redis_part *p)
{
    struct taskredis *t = p->t;
    part_no no = p->no;
    bool tell = p->ready;

    if (p->over == OVER_STALE)
        log_warn("event=partition_fenced part=%u epoch=%" PRIu64 " note=\"another node has it\"",
                 no, p->epoch);
    else if (p->over == OVER_GAP)
        log_error("event=partition_went_back part=%u epoch=%" PRIu64 " note=\"Redis has less than it "
                  "acknowledged; the partition is read anew\"", no, p->epoch);
    t->n.given_up += p->over == OVER_STALE;
    t->n.forgotten += p->over == OVER_GAP;
    part_free(p);
    if (tell)
        t->calls.lost(t->ctx, no);
}

/* ---- the end of a turn ------------------------------------------------------------ */

static void tell_held(struct redis_part *p)
{
    if (!p->ready || p->told_held == p->held)
        return;
    p->told_held = p->held;
    p->t->calls.held(p->t->ctx, p->no, p->held);
}

static void step_ready(struct redis_part *p)
{
    struct taskredis *t = p->t;
    bool begins = writes_begin(&p->s);

    if (begins && writes_wants_snap(&p->s, t->snap_after)) {
        t->calls.snap(t->ctx, p->no);
        writes_snap_whole(&p->s);
        t->n.snapshots++;
    }
    if (p->s.open && !p->in_air)
        send_write(p);
    else if (p->held && !p->s.open)
        p->held = false; /* the link is up, and nothing waits */
}

bool taskredis_step(struct taskredis *t)
{
    bool ok = true;

    each_redis_part (t, p) {
        ok &= !writes_failed(&p->s);
        if (p->over != OVER_NOT) {
            give_up(p);
            continue;
        }
        if (p->drop && p->ready) {
            p->ready = false;
            writes_want_nothing(&p->s);
            t->calls.lost(t->ctx, p->no);
        }
        if (redis_link_up(p->link) && !p->in_air && ev_now(t->ev) >= p->again_ms) {
            if (p->drop)
                send_drop(p);
            else if (p->ready)
                step_ready(p);
            else
                send_opening(p);
        } else if (p->ready && !redis_link_up(p->link)) {
            p->held = true;
        }
        tell_held(p);
    }
    return ok;
}

/* ---- what a turn says ------------------------------------------------------------- */

struct writes *taskredis_writes(const struct taskredis *t, part_no no)
{
    struct redis_part *p = find(t, no);

    assert(p != NULL && p->ready);
    return &p->s;
}

/* ---- life ------------------------------------------------------------------------ */

int taskredis_new(struct taskredis **out, struct ev *ev, const struct taskredis_opts *o,
                  const struct taskredis_calls *calls, void *ctx, struct err *e)
{
    struct taskredis *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return err_set(e, SQ_ENOMEM, "redis: out of memory");
    t->ev = ev;
    t->calls = *calls;
    t->ctx = ctx;
    t->link = o->link;
    snprintf(t->prefix, sizeof(t->prefix), "%s", o->prefix);
    t->wait_replicas = o->wait_replicas;
    t->snap_after = o->snap_after;
    list_init(&t->parts);
    map_init(&t->by_no, 0);
    *out = t;
    return 0;
}

void taskredis_free(struct taskredis *t)
{
    if (t == NULL)
        return;
    each_redis_part (t, p)
        part_free(p);
    map_fini(&t->by_no);
    free(t);
}

void taskredis_count(const struct taskredis *t, struct taskredis_counts *n)
{
    *n = t->n;
    n->partitions = t->parts.n;
    each_redis_part (t, p) {
        n->held += p->held;
        for (unsigned f = 0; f < REDIS_NFAULTS; f++)
            n->faults[f] += redis_link_counts(p->link)->fault[f];
    }
}
