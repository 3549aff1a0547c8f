/* tape.c: a segment node's journal in memory, as common/journal/journal.h promises one: what
 * was flushed survives the process, the rest is lost as a whole; a snapshot counts when it
 * is whole. */
#include "tests/lib/sim/tape.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_disks.h"
#include "tests/lib/sim/faults.h"

#include "segment/core/jrec.h"

static void put(struct sim *s, struct buf *b, const struct jrec *r)
{
    buf_byte(b, r->kind);
    jrec_encode(r, b);
    if (b->failed)
        sim_fail(s, "out of memory");
}

/* What a move brings is written in groups, any first part of which may be there without the rest
 * (segment/service/journal.c). No draw: days without moves stay as they are. */
static void cut(struct tape *t, const struct jrec *r)
{
    if (r->kind == JREC_ABSORB)
        t->absorbing = r->seg != 0;
    else if (r->kind == JREC_ABSORBED)
        t->absorbing = false;
    if (t->absorbing && (t->log.len * 0x9e3779b97f4a7c15u) >> 63 != 0)
        t->cut = t->log.len;
}

void tape_log(void *proc, const struct jrec *r)
{
    struct proc *p = proc;

    put(p->sim, &p->tape.log, r);
    cut(&p->tape, r);
}

static void on_snap(void *proc, const struct jrec *r)
{
    struct proc *p = proc;

    put(p->sim, &p->tape.snap, r);
}

void tape_flush(struct proc *p)
{
    disk_turn(p->sim, p, p->tape.log.len - p->tape.flushed);
    p->tape.flushed = p->tape.log.len;
    p->tape.cut = 0;
}

void tape_lose(struct proc *p)
{
    if (p->tape.cut > p->tape.flushed) {
        p->tape.flushed = p->tape.cut;
        p->sim->count.cuts++;
    }
    p->tape.cut = 0;
    p->tape.log.len = p->tape.flushed;
    p->tape.snapping = false;
}

void tape_wipe(struct proc *p)
{
    buf_reset(&p->tape.base);
    buf_reset(&p->tape.log);
    buf_reset(&p->tape.snap);
    p->tape.flushed = p->tape.cut = 0;
    p->tape.snapping = false;
}

/* A slice: one segment. What the log lacks of it yet is flushed only at the turn's end. */
void tape_snap(struct proc *p)
{
    struct tape *t = &p->tape;
    bool begin = !t->snapping;

    if (begin) {
        tape_flush(p);
        buf_reset(&t->snap);
        t->snap_from = t->log.len;
    }
    t->cut = 0; /* of this turn, which is kept or lost as a whole */
    t->snapping = segtab_snapshot(p->segtab, begin, 1, on_snap, p);
    if (t->snapping)
        return;
    buf_reset(&t->base);
    buf_append(&t->base, t->snap.data, t->snap.len);
    buf_consume(&t->log, t->snap_from);
    t->flushed -= t->snap_from;
}

static void replay(struct sim *s, struct segtab *t, const struct buf *b, size_t len)
{
    for (size_t at = 0; at < len && !s->failed;) {
        struct jrec r;
        int64_t n = jrec_decode(b->data[at], b->data + at + 1, len - at - 1, &r);
        int rc = n < 0 ? (int)n : segtab_replay(t, &r);

        if (rc < 0)
            sim_fail(s, "journal: record %s of segment %llu: %d", jrec_name(b->data[at]),
                     (unsigned long long)r.seg, rc);
        at += 1 + (size_t)n;
    }
}

void tape_replay(struct proc *p, struct segtab *t)
{
    replay(p->sim, t, &p->tape.base, p->tape.base.len);
    replay(p->sim, t, &p->tape.log, p->tape.flushed);
}

/* What is flushed is what is there, down to the last bit. */
void tape_check(struct proc *p, const struct segtab_opts *o)
{
    struct segtab_opts quiet = *o;
    struct segtab *t;

    quiet.log = NULL;
    t = segtab_new(&quiet);
    tape_replay(p, t);
    if (segtab_digest(t) != segtab_digest(p->segtab))
        sim_fail(p->sim, "journal: %s is not what it has written down", p->name);
    segtab_free(t);
}

void tape_fini(struct proc *p)
{
    buf_fini(&p->tape.base);
    buf_fini(&p->tape.log);
    buf_fini(&p->tape.snap);
}
