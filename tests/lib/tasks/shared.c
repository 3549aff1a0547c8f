/* shared.c: see the header. */
#include "tests/lib/tasks/shared.h"

#include <stdio.h>
#include <stdlib.h>

#include "task/engine/replay.h"
#include "task/redis/writes.h"
#include "task/store/record.h"

#define SNAP_AFTER 3000

void shared_init(struct shared *s, struct rng *rng, double lost)
{
    *s = (struct shared){ .rng = rng, .lost = lost };
    shared_open(s);
}

static void redis_fini(struct shared_redis *r)
{
    buf_fini(&r->snap);
    buf_fini(&r->next);
    buf_fini(&r->log);
}

void shared_fini(struct shared *s)
{
    redis_fini(&s->now);
    redis_fini(&s->replica);
    writes_fini(&s->w);
    writes_fini(&s->ghost);
}

static void copy_redis(struct shared_redis *to, const struct shared_redis *from)
{
    struct shared_redis was = *to;

    *to = *from;
    to->snap = was.snap;
    to->next = was.next;
    to->log = was.log;
    buf_reset(&to->snap);
    buf_reset(&to->next);
    buf_reset(&to->log);
    buf_append(&to->snap, from->snap.data, from->snap.len);
    buf_append(&to->next, from->next.data, from->next.len);
    buf_append(&to->log, from->log.data, from->log.len);
}

/* ---- the script ------------------------------------------------------------------------ */

static uint64_t number(const struct redis_command *c, size_t i)
{
    return strtoull(c->a.v[i], NULL, 10);
}

static void trim(struct shared_redis *r, uint64_t groups)
{
    size_t at = 0;

    r->groups -= groups;
    for (; groups > 0; groups--) {
        uint32_t n;

        memcpy(&n, r->log.data + at, sizeof(n));
        at += sizeof(n) + n;
    }
    memmove(r->log.data, r->log.data + at, r->log.len - at);
    r->log.len -= at;
}

/* As TASK_REDIS_WRITE. */
static int write_to(struct shared_redis *r, const struct redis_command *c)
{
    uint64_t mine = number(c, 2);
    uint32_t len = (uint32_t)c->a.len[3];

    if (strcmp(c->a.v[0], r->fence) != 0)
        return r->epoch >= number(c, 1) ? TASK_REDIS_STALE : TASK_REDIS_GAP;
    if (mine == r->n)
        return TASK_REDIS_DONE;
    if (mine != r->n + 1)
        return TASK_REDIS_GAP;
    r->n = mine;
    if (len > 0) {
        buf_append(&r->log, &len, sizeof(len));
        buf_append(&r->log, c->a.v[3], len);
        r->groups++;
    }
    if (number(c, 7) == 1)
        buf_reset(&r->next);
    buf_append(&r->next, c->a.v[6], c->a.len[6]);
    if (number(c, 8) == 1) {
        buf_reset(&r->snap);
        buf_append(&r->snap, r->next.data, r->next.len);
        buf_reset(&r->next);
        trim(r, number(c, 9));
    }
    return TASK_REDIS_DONE;
}

static int arrives(struct shared *s, const struct writes *w)
{
    struct redis_command c = { 0 };
    int result;

    writes_args(w, &c);
    result = write_to(&s->now, &c);
    redis_args_fini(&c.a);
    return result;
}

/* ---- owners ---------------------------------------------------------------------------- */

void shared_open(struct shared *s)
{
    char nonce[24];

    writes_fini(&s->ghost);
    s->ghost = s->w;
    s->epoch += rng_below(s->rng, 2) || s->epoch == 0; /* another node, or the same again */
    snprintf(nonce, sizeof(nonce), "%lu", ++s->opened);
    writes_init(&s->w, s->epoch, nonce);
    memcpy(s->now.fence, s->w.fence, sizeof(s->now.fence));
    s->now.epoch = s->epoch;
    buf_reset(&s->now.next);
    writes_found(&s->w, s->now.n, s->now.groups, s->now.log.len, s->now.snap.len);
    copy_redis(&s->replica, &s->now); /* a fence waits for it, too */
    if (s->ghost.open && arrives(s, &s->ghost) != TASK_REDIS_STALE)
        s->broken = true;
}

int shared_read(const struct shared *s, int (*record)(struct engine *e, const uint8_t *p, size_t n),
                struct engine *e)
{
    int rc = record(e, s->now.snap.data, s->now.snap.len);

    for (size_t at = 0; rc == 0 && at < s->now.log.len;) {
        uint32_t n;

        memcpy(&n, s->now.log.data + at, sizeof(n));
        rc = record(e, s->now.log.data + at + sizeof(n), n);
        at += sizeof(n) + n;
    }
    return rc;
}

typedef void *(*put_fn)(struct writes *w, uint8_t kind, size_t n);

static void put_all(struct writes *w, const struct buf *b, put_fn put)
{
    struct trec_frame f;

    for (size_t at = 0; at < b->len && trec_next(b->data, b->len, &at, &f);)
        memcpy(put(w, f.kind, f.n), f.p, f.n);
}

static void begin(struct shared *s, const struct engine *e)
{
    struct buf all;

    if (!writes_begin(&s->w) || !writes_wants_snap(&s->w, SNAP_AFTER))
        return;
    buf_init(&all);
    engine_snapshot(e, &all);
    put_all(&s->w, &all, writes_snap_record);
    writes_snap_whole(&s->w);
    s->snapshots++;
    buf_fini(&all);
}

/* Once; true: it is done. */
static bool send(struct shared *s)
{
    bool fault = rng_chance(s->rng, s->lost);
    unsigned fate = fault ? (unsigned)rng_below(s->rng, 4) : 4;
    int result;

    if (fate == 0) /* it is lost */
        return false;
    result = arrives(s, &s->w);
    if (fate == 1) /* it comes twice */
        result = arrives(s, &s->w);
    s->broken |= result != TASK_REDIS_DONE;
    if (fate == 2) { /* the master goes, with what the replica does not have */
        copy_redis(&s->now, &s->replica);
        s->failovers++;
    }
    s->again += fate == 2 || fate == 3; /* no answer */
    if (fate == 2 || fate == 3)
        return false;
    copy_redis(&s->replica, &s->now);
    return true;
}

void shared_write(struct shared *s, const struct engine *e)
{
    put_all(&s->w, &e->log, writes_record);
    for (begin(s, e); s->w.open && !s->broken;)
        if (send(s)) {
            writes_end(&s->w);
            begin(s, e);
        }
}

void shared_dies(struct shared *s, const struct engine *e, bool come)
{
    put_all(&s->w, &e->log, writes_record);
    begin(s, e);
    if (come && s->w.open && arrives(s, &s->w) != TASK_REDIS_DONE)
        s->broken = true;
}
