/* part_copy.c: chunks of records leave with each turn; at the target they are applied, and
 * written. */
#include "task/node/part_copy.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/task/call.h"
#include "common/wire/msg.h"
#include "task/calls/calls.h"
#include "task/engine/change.h"
#include "task/node/body.h"
#include "task/node/keep.h"
#include "task/node/parts.h"
#include "task/node/wait.h"

#define LOG_MODULE "table"

#define FRAME_FILE  255 /* in a chunk: the next bytes of the file of the body behind them; in no journal */
#define CHUNK_BYTES (256u << 10) /* then it leaves; one body more fits */
#define WINDOW      8u           /* chunks on their way */
#define QUIET_MS    10000
#define CALLS_MS    30000 /* calls under way have so long to end: then they are cut off */
#define ORDER_MS    3000  /* without its order, which comes each second, a shared partition stays */

/* ---- its beginning and its end ------------------------------------------------------- */

/* Begins anew, with nothing sent. */
static void again(const struct tasktab *t, struct part_out *o)
{
    buf_fini(&o->stream);
    buf_init(&o->stream);
    o->sent = 0;
    o->peer = 0;
    o->seq = o->acked = 0;
    o->wanted = o->open = o->last = false;
    o->heard_ms = t->now.ms;
    o->calls_until = 0;
    o->file_at = 0;
}

static void stuck(struct tasktab *t, const struct part *p, const char *why)
{
    log_warn("event=partition_stuck part=%u node=%s why=%s", p->no, p->out->node,
             log_q(why, strlen(why)));
    again(t, p->out);
    p->out->stuck = true;
    t->say = true;
}

static const char *refuse_out(const struct tasktab *t, const struct msg_part_out *m,
                              const struct part *p)
{
    if (t->hold)
        return "nothing can be copied from here";
    if (p == NULL || p->epoch != m->part_epoch || m->to_epoch <= m->part_epoch)
        return "it is not here under this epoch";
    if (p->life != PART_OWNED && (p->life != PART_FENCED || p->fence != m->to_epoch))
        return "it is none that may be copied so";
    if (m->node[0] == 0 || m->addr[0] == 0)
        return "impossible target";
    return NULL;
}

const char *tasktab_out_order(struct tasktab *t, const struct msg_part_out *m)
{
    struct part *p = tasktab_part(t, m->part);
    const char *why = refuse_out(t, m, p);

    if (why == NULL && p->out != NULL && p->out->to_epoch == m->to_epoch &&
        strcmp(p->out->addr, m->addr) == 0) {
        p->out->heard_ms = t->o.shared != NULL ? t->now.ms : p->out->heard_ms;
        return NULL;
    }
    if (why != NULL)
        return why;
    tasktab_out_end(p);
    p->out = calloc(1, sizeof(*p->out));
    if (p->out == NULL)
        return "no memory";
    p->out->to_epoch = m->to_epoch;
    copy_text(p->out->node, sizeof(p->out->node), m->node);
    copy_text(p->out->addr, sizeof(p->out->addr), m->addr);
    again(t, p->out);
    log_info("event=partition_copied part=%u node=%s epoch=%" PRIu64 " tasks=%u", p->no, m->node,
             m->to_epoch, tasktab_part_tasks(p));
    return NULL;
}

void tasktab_outs_down(struct tasktab *t, peer_no no)
{
    each_part (t, p)
        if (p->out != NULL && p->out->peer == no)
            again(t, p->out);
}

/* ---- chunks -------------------------------------------------------------------------- */

/* The body that goes with the record. What a task has by now is sent once, and only with the
 * record that gave it: its payload while it is not done, its result afterwards. 0: none. */
static uint64_t body_of(const struct part *p, const struct trec *r)
{
    task_slot slot = task_find(&p->e.store, r->no);
    bool result = r->kind == TREC_DONE || (r->kind == TREC_TASK && r->state == TASK_SUCCEEDED);
    const struct task *k = slot == SLOT_NONE || r->body == 0 ? NULL : task_at(&p->e.store, slot);

    if (k != NULL && r->kind == TREC_REPLY)
        return replies_of(&p->e.replies, slot);
    return k != NULL && (k->state == TASK_SUCCEEDED) == result ? k->body : 0;
}

/* The file of the body that is in t->bytes. False: there is more of it, for the next chunk, or it cannot be read now.
 * One that is lost does not come along: the call that needs it is dead at either node. */
static bool put_file(struct tasktab *t, const struct part *p, task_no no)
{
    const struct tab_large *l = &t->o.large;
    struct part_out *o = p->out;
    struct call_file f;
    bool whole = true;
    int64_t got;

    if (l->ctx == NULL || !call_has_file(t->bytes.data, t->bytes.len, &f))
        return true;
    while (o->file_at < f.length && whole && t->chunk.len < portion_of(CHUNK_BYTES, t->o.portion)) {
        size_t len = t->chunk.len, n = u64_min(f.length - o->file_at, TASK_UPLOAD_MAX);
        uint8_t *piece = trec_room(&t->chunk, FRAME_FILE, n);

        got = piece != NULL ? l->read(l->ctx, &f, p->no, no, o->file_at, piece, n) : SQ_EUNKNOWN;
        whole = got == (int64_t)n;
        t->chunk.len = whole ? t->chunk.len : len;
        if (got == SQ_ESYS) {
            stuck(t, p, "a large body cannot be read now");
            return false;
        }
        o->file_at += n;
    }
    if (o->file_at < f.length && whole)
        return false;
    o->file_at = 0;
    return true;
}

/* Into the chunk. False: it cannot be read now, or not all of its file has gone. */
static bool put_body(struct tasktab *t, const struct part *p, task_no no, uint64_t ref)
{
    int rc;

    buf_reset(&t->bytes);
    rc = t->o.bodies.get(t->o.bodies.ctx, ref, &t->bytes);
    if (rc == SQ_ENOMEM)
        return false;
    if (rc < 0)
        buf_reset(&t->bytes); /* lost: the target's task is as ours is */
    t->n.lost_bodies += rc < 0;
    if (!put_file(t, p, no))
        return false;
    trec_frame(&t->chunk, 0, t->bytes.data, t->bytes.len);
    return true;
}

/* The next record into the chunk. False: its body cannot be read now. */
static bool put_record(struct tasktab *t, const struct part *p)
{
    struct part_out *o = p->out;
    size_t next = o->sent;
    struct trec_frame f;
    struct trec r;
    uint64_t ref = 0;
    bool whole = trec_next(o->stream.data, o->stream.len, &next, &f);

    assert(whole);
    if (whole && trec_has_body(f.kind) && trec_decode(f.kind, f.p, f.n, &r) == 0)
        ref = body_of(p, &r);
    if (ref != 0 && !put_body(t, p, r.no, ref))
        return false;
    o->file_at = 0; /* a task that has ended amid its file: the rest does not come */
    if (f.kind != TREC_MOVED) /* the target has its bodies where it put them */
        trec_frame(&t->chunk, f.kind, f.p, f.n);
    o->sent = next;
    return true;
}

static void send_chunk(struct tasktab *t, const struct part *p, struct outbox *out)
{
    struct part_out *o = p->out;
    struct msg_pcopy_chunk *m;

    buf_reset(&t->chunk);
    while (o->sent < o->stream.len && t->chunk.len < portion_of(CHUNK_BYTES, t->o.portion) && put_record(t, p))
        continue;
    if (o->stuck)
        return;
    if (o->sent == o->stream.len) {
        buf_reset(&o->stream);
        o->sent = 0;
    }
    o->last = p->life == PART_FENCED && o->stream.len == 0;
    m = &outbox_add(out, o->peer, MSG_PCOPY_CHUNK)->pcopy_chunk;
    *m = (struct msg_pcopy_chunk){
        .part = p->no,
        .part_epoch = o->to_epoch,
        .seq = ++o->seq,
        .data = { (uint32_t)t->chunk.len, arena_memdup(&out->mem, t->chunk.data, t->chunk.len) },
        .last = o->last,
        .tasks = tasktab_part_tasks(p),
    };
    tasktab_weigh(tasktab_peer(t, o->peer), m->data.n, out);
    if (t->chunk.failed || (m->data.n > 0 && m->data.p == NULL))
        stuck(t, p, "no memory");
}

/* A call whose partition is fenced has no one to settle it: the new owner would make it again, and
 * its slot would be held until its lease is over. So none begins, and those under way end first. */
static bool calls_go_on(const struct tasktab *t, struct part *p)
{
    struct part_out *o = p->out;
    bool going = false;

    if (p->endpoint == NULL)
        return false;
    if (o->calls_until == 0)
        o->calls_until = t->now.ms + CALLS_MS;
    each_going (t->o.calls, g)
        going |= g->part == p->no;
    return going && t->now.ms < o->calls_until;
}

/* All that there is is on its way: what comes now waits for the new owner. */
static void fence(struct tasktab *t, struct part *p, struct outbox *out)
{
    struct trec r = { .kind = TREC_FENCED, .epoch = p->out->to_epoch };
    struct trec at = { .kind = TREC_AT, .until = (uint64_t)engine_now(&p->e, t->now.ms) };

    assert(p->life == PART_OWNED && p->e.log.len == 0);
    engine_fence(&p->e, true);
    tasktab_calls_leave(t, p);
    p->life = PART_FENCED;
    p->fence = p->out->to_epoch;
    p->due = MSEC_NEVER;
    tasktab_keep(t, p->no, &r);
    trec_append(&at, &p->out->stream);
    tasktab_waits_drop(t, p, CODE_STALE, out);
    t->say = true;
    log_info("event=partition_handed_over part=%u node=%s epoch=%" PRIu64, p->no, p->out->node,
             p->fence);
}

static void begin(struct tasktab *t, const struct part *p, struct outbox *out)
{
    struct msg_pcopy_begin *m = &outbox_add(out, p->out->peer, MSG_PCOPY_BEGIN)->pcopy_begin;

    m->part = p->no;
    m->part_epoch = p->out->to_epoch;
    m->match = arena_strdup(&out->mem, p->match);
    memcpy(m->seed, p->seed, sizeof(m->seed));
    m->max_tasks = engine_limit_read(&p->e);
    m->tasks = tasktab_part_tasks(p);
    if (m->match == NULL)
        stuck(t, p, "no memory");
}

static peer_no link_to(const struct tasktab *t, const char *node)
{
    each_tpeer (t, p) {
        if (p->role == RPC_TASK && strcmp(p->name, node) == 0)
            return p->no;
    }
    return 0;
}

static void pump(struct tasktab *t, struct part *p, struct outbox *out)
{
    struct part_out *o = p->out;

    if (o->wanted && !o->open) {
        assert(p->e.log.len == 0); /* behind the end of the turn */
        tasktab_part_snapshot(p, &o->stream);
        if (o->stream.failed) {
            stuck(t, p, "no memory");
            return;
        }
        o->open = true;
    }
    while (o->open && !o->stuck && !o->last && o->sent < o->stream.len &&
           o->seq - o->acked < WINDOW && tasktab_has_room(tasktab_peer(t, o->peer)))
        send_chunk(t, p, out);
    if (!o->open || o->stuck || o->last || o->sent < o->stream.len)
        return;
    if (p->life == PART_OWNED && calls_go_on(t, p)) {
        if (o->acked == o->seq)
            o->heard_ms = t->now.ms; /* nothing is said meanwhile */
        return;
    }
    if (p->life == PART_OWNED)
        fence(t, p, out);
    if (o->seq - o->acked < WINDOW)
        send_chunk(t, p, out); /* the last */
}

/* A shared store: nothing is copied, and the partition is in service until another node opens
 * it. */
static void let_go(struct tasktab *t, struct part *p)
{
    struct part_out *o = p->out;

    if (t->now.ms - o->heard_ms >= ORDER_MS) {
        tasktab_out_end(p);
    } else if (!o->last && !calls_go_on(t, p)) {
        o->last = true;
        t->say = true;
    }
}

void tasktab_outs(struct tasktab *t, struct outbox *out)
{
    each_part (t, p) {
        struct part_out *o = p->out;

        if (o == NULL || o->stuck || t->hold)
            continue;
        if (t->o.shared != NULL) {
            let_go(t, p);
            continue;
        }
        if (o->peer == 0 && (o->peer = link_to(t, o->node)) != 0)
            begin(t, p, out);
        if (o->stream.failed)
            stuck(t, p, "no memory");
        else if (t->now.ms - o->heard_ms > QUIET_MS && !(o->last && o->seq == o->acked))
            stuck(t, p, "the target is not heard");
        else
            pump(t, p, out);
    }
}

void tasktab_out_ack(struct tasktab *t, peer_no from, const struct msg_pcopy_ack *m)
{
    struct part *p = tasktab_part(t, m->part);
    struct part_out *o = p != NULL ? p->out : NULL;

    if (o == NULL || o->stuck || o->peer != from || o->to_epoch != m->part_epoch ||
        m->seq > o->seq)
        return;
    o->heard_ms = t->now.ms;
    if (m->state == PCOPY_REFUSED) {
        stuck(t, p, "the target refuses");
    } else if (m->state == PCOPY_WHOLE && p->life != PART_FENCED) {
        stuck(t, p, "the target has a copy of before a power cut");
    } else {
        o->wanted = true;
        o->acked = (uint32_t)u64_max(o->acked, m->seq);
        o->open |= m->state == PCOPY_WHOLE;
        o->last |= m->state == PCOPY_WHOLE;
    }
}

size_t tasktab_wants(const struct tasktab *t, struct node_want *v, size_t most)
{
    size_t n = 0;

    each_part (t, p) {
        struct part_out *o = p->out;
        bool there = o == NULL || o->stuck || t->o.shared != NULL;

        for (size_t i = 0; i < n && !there; i++)
            there = strcmp(v[i].name, o->node) == 0;
        if (there || n == most)
            continue;
        copy_text(v[n].name, sizeof(v[n].name), o->node);
        copy_text(v[n++].addr, sizeof(v[0].addr), o->addr);
    }
    return n;
}

/* ---- at the target -------------------------------------------------------------------- */

static void ack(peer_no to, part_no part, uint64_t epoch, uint32_t seq, uint8_t state,
                struct outbox *out)
{
    outbox_add(out, to, MSG_PCOPY_ACK)->pcopy_ack =
        (struct msg_pcopy_ack){ part, epoch, seq, state };
}

static const char *refuse_begin(const struct tasktab *t, const struct msg_pcopy_begin *m,
                                const struct part *p)
{
    if (t->hold || t->o.shared != NULL)
        return "nothing can be copied to here";
    if (m->part == 0 || m->part_epoch == 0 || m->match[0] == 0 || m->max_tasks == 0 ||
        m->max_tasks > TASKS_MAX)
        return "impossible partition";
    if (t->full || tasktab_tasks(t) + m->tasks > t->o.max_tasks)
        return "there is no room for its tasks";
    if (p != NULL && (p->life == PART_OWNED || p->life == PART_FENCED || p->epoch > m->part_epoch))
        return "it is here";
    return NULL;
}

void tasktab_in_begin(struct tasktab *t, peer_no from, const struct msg_pcopy_begin *m,
                      struct outbox *out)
{
    struct part *p = tasktab_part(t, m->part);
    struct part_seed s = { m->part, m->max_tasks, m->seed };
    struct trec r = { .kind = TREC_COMING, .epoch = m->part_epoch };
    const char *why = refuse_begin(t, m, p);

    if (p != NULL && p->life == PART_COME && p->epoch == m->part_epoch) {
        ack(from, m->part, m->part_epoch, 0, PCOPY_WHOLE, out);
        return;
    }
    if (why == NULL && p != NULL)
        tasktab_part_gone(t, p);
    if (why == NULL && (p = tasktab_part_new(t, &s)) == NULL)
        why = "no memory";
    if (why != NULL) {
        log_warn("event=copy_refused part=%u why=%s", m->part, log_q(why, strlen(why)));
        ack(from, m->part, m->part_epoch, 0, PCOPY_REFUSED, out);
        return;
    }
    if (t->o.large.ctx != NULL)
        t->o.large.drop(t->o.large.ctx, from, m->part);
    p->life = PART_COMING;
    p->epoch = m->part_epoch;
    p->from = from;
    copy_text(p->match, sizeof(p->match), m->match);
    tasktab_keep_part(t, p);
    tasktab_keep(t, p->no, &r);
    t->snap_spoilt = t->snapping;
    log_info("event=partition_coming part=%u epoch=%" PRIu64 " tasks=%u", p->no, p->epoch,
             m->tasks);
    ack(from, m->part, m->part_epoch, 0, PCOPY_GOES, out);
}

/* ---- records ------------------------------------------------------------------------- */

static int take_record(struct tasktab *t, struct part *p, const struct trec_frame *f, uint64_t body,
                       struct call_file *file)
{
    struct trec r;
    int rc = trec_is_of_node(f->kind) ? SQ_EPROTO : trec_decode(f->kind, f->p, f->n, &r);

    if (rc < 0)
        return rc;
    p->clock_sent = r.kind == TREC_AT;
    r.body = body == TAB_BODY_LOST && r.kind == TREC_REPLY ? 0 : body;
    rc = file->length > 0 ? t->o.large.keep(t->o.large.ctx, p->from, file, p->no, r.no) : 0;
    if (rc == 0)
        rc = tasktab_part_apply(p, &r);
    if (rc == 0)
        tasktab_keep(t, p->no, &r);
    file->length = 0;
    return rc;
}

/* Bytes of the file that comes with the next record. */
static int take_file(struct tasktab *t, struct part *p, const struct bytes_of *data, bool last)
{
    const struct tab_large *l = &t->o.large;
    const struct large_piece q = { .upload = p->no, .at = p->in_file, .p = data->p, .n = data->n, .last = last };
    uint8_t sha256[RESULT_SHA256];
    int rc = l->ctx != NULL ? l->add(l->ctx, p->from, &q, sha256) : SQ_EFULL;

    p->in_file += data->n;
    return rc;
}

/* Drops a file whose task has ended at the source amid it: the record comes without a body. */
static void leave_file(struct tasktab *t, struct part *p)
{
    if (p->in_file > 0)
        t->o.large.drop(t->o.large.ctx, p->from, p->no);
    p->in_file = 0;
}

/* The body at hand names the file that has come: it gets its name with the record. */
static int end_file(struct tasktab *t, struct part *p, const struct trec_frame *body, struct call_file *f)
{
    int rc;

    if (p->in_file == 0)
        return 0;
    rc = take_file(t, p, &(struct bytes_of){ 0 }, true);
    p->in_file = 0;
    if (rc == 0 && !call_has_file(body->p, body->n, f))
        rc = SQ_EPROTO;
    f->upload = p->no;
    if (rc == 0 && !t->o.large.has(t->o.large.ctx, p->from, f)) {
        t->n.lost_bodies++; /* likewise at the source */
        t->o.large.drop(t->o.large.ctx, p->from, p->no);
        f->length = 0;
    }
    return rc;
}

/* Bytes to a place of ours. */
static int take_body(struct tasktab *t, struct part *p, const struct trec_frame *f, uint64_t *ref,
                     struct call_file *file)
{
    const struct tab_bodies *b = &t->o.bodies;
    int rc = end_file(t, p, f, file);

    *ref = TAB_BODY_LOST;
    if (rc < 0)
        return rc;
    return f->n > 0 ? b->put(b->ctx, f->p, (uint32_t)f->n, ref) : 0;
}

/* All records of a chunk. What has been put for a record that does not fit goes. */
static int take_chunk(struct tasktab *t, struct part *p, const struct bytes_of *data)
{
    struct call_file file = { 0 };
    uint64_t body = 0;
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < data->n;) {
        struct trec_frame f;

        if (!trec_next(data->p, data->n, &at, &f))
            rc = SQ_EPROTO;
        else if (f.kind == FRAME_FILE)
            rc = take_file(t, p, &(struct bytes_of){ f.n, f.p }, false);
        else if (f.kind == 0)
            rc = body != 0 ? SQ_EPROTO : take_body(t, p, &f, &body, &file);
        else if (body != 0 && !trec_has_body(f.kind))
            rc = SQ_EPROTO;
        else if ((rc = take_record(t, p, &f, body, &file)) == 0)
            body = 0;
        if (rc == 0 && f.kind != 0 && f.kind != FRAME_FILE)
            leave_file(t, p);
    }
    if (body != 0 && body != TAB_BODY_LOST)
        t->o.bodies.drop(t->o.bodies.ctx, body);
    tasktab_free_later(t, p);
    return rc == 0 && body != 0 ? SQ_EPROTO : rc;
}

/* The source is fenced, and has no more. Its last word is what its axis shows: ours goes on from
 * there, whatever the wall clocks of both machines say. */
static int whole(struct tasktab *t, struct part *p, uint32_t tasks)
{
    struct trec r = { .kind = TREC_COME, .epoch = p->epoch };
    struct part_clock seen = tasktab_clock_seen(t, p);

    if (p->e.loading || tasktab_part_tasks(p) != tasks)
        return SQ_EPROTO;
    p->life = PART_COME;
    tasktab_keep(t, p->no, &r);
    seen.axis = p->e.logged_at;
    if (p->clock_sent)
        tasktab_keep_clock(t, p, &seen);
    t->say = true;
    log_info("event=partition_copy_received part=%u epoch=%" PRIu64 " tasks=%u", p->no, p->epoch, tasks);
    return 0;
}

void tasktab_in_chunk(struct tasktab *t, peer_no from, const struct msg_pcopy_chunk *m,
                      struct outbox *out)
{
    struct part *p = tasktab_part(t, m->part);
    int rc;

    if (p == NULL || p->life != PART_COMING || p->epoch != m->part_epoch || p->from != from ||
        m->seq != p->in_seq + 1)
        return; /* a copy that has begun anew, or is gone */
    p->in_seq = m->seq;
    rc = take_chunk(t, p, &m->data);
    if (rc == 0 && m->last)
        rc = whole(t, p, m->tasks);
    if (rc < 0) {
        log_error("event=copy_refused part=%u why=\"%s\"", p->no, sq_strerror(rc));
        tasktab_part_gone(t, p);
    }
    ack(from, m->part, m->part_epoch, m->seq,
        rc < 0 ? PCOPY_REFUSED : m->last ? PCOPY_WHOLE : PCOPY_GOES, out);
}
