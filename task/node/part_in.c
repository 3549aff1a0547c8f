/* part_in.c: see the header. */
#include "task/node/part_in.h"

#include <inttypes.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "task/engine/replay.h"
#include "task/node/keep.h"
#include "task/node/parts.h"

#define LOG_MODULE "table"

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

/* Bytes to a place of ours. */
static int take_body(struct tasktab *t, const struct trec_frame *f, uint64_t *ref)
{
    const struct tab_bodies *b = &t->o.bodies;

    *ref = TAB_BODY_LOST;
    return f->n > 0 ? b->put(b->ctx, f->p, (uint32_t)f->n, ref) : 0;
}

static int take_record(struct tasktab *t, struct part *p, const struct trec_frame *f,
                       uint64_t body)
{
    struct trec r;
    int rc = trec_is_of_node(f->kind) ? SQ_EPROTO : trec_decode(f->kind, f->p, f->n, &r);

    if (rc < 0)
        return rc;
    p->clock_sent = r.kind == TREC_AT;
    r.body = body == TAB_BODY_LOST && r.kind == TREC_REPLY ? 0 : body;
    rc = tasktab_part_apply(p, &r);
    if (rc == 0)
        tasktab_keep(t, p->no, &r);
    return rc;
}

/* All records of a chunk. What has been put for a record that does not fit goes. */
static int take_chunk(struct tasktab *t, struct part *p, const struct bytes_of *data)
{
    uint64_t body = 0;
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < data->n;) {
        struct trec_frame f;

        if (!trec_next(data->p, data->n, &at, &f))
            rc = SQ_EPROTO;
        else if (f.kind == 0)
            rc = body != 0 ? SQ_EPROTO : take_body(t, &f, &body);
        else if (body != 0 && !trec_has_body(f.kind))
            rc = SQ_EPROTO;
        else if ((rc = take_record(t, p, &f, body)) == 0)
            body = 0;
    }
    if (body != 0 && body != TAB_BODY_LOST)
        t->o.bodies.drop(t->o.bodies.ctx, body);
    tasktab_free_later(t, p);
    return rc == 0 && body != 0 ? SQ_EPROTO : rc;
}

/* The source is fenced, and has no more. Its last word is what its axis shows: ours goes on from
 * there, whatever the wall clocks of both machines say. An older one does not say it. */
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
