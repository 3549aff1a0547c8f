/* notices.c: routers take turns. */
#include "task/table/notices.h"

#include <string.h>

#include "common/base/log.h"
#include "task/table/parts.h"

#define LOG_MODULE "notices"

static bool has_label(const char *labels, const char *label)
{
    struct task_own own = { .labels = labels };

    return own_has_label(&own, label, strlen(label));
}

void tasktab_notice(struct part *p, const struct task_end *end)
{
    char line[ARCHIVE_LINE_MAX];
    struct notice_text text = { .no = end->no, .state = (uint8_t)end->state,
                                .ended_ms = end->ended_ms, .p = line };

    static_assert(ARCHIVE_LINE_MAX <= NOTICE_TEXT_MAX, "a line is a notice");
    if (p->notices.queue[0] == 0 || has_label(end->labels, NOTICE_LABEL))
        return;
    text.n = archive_line(end, line) - 1; /* without its newline */
    if (notices_add(&p->notices, &text, &p->e.log))
        return;
    if ((p->notices.dropped & (p->notices.dropped - 1)) == 0) /* 1, 2, 4, 8 ... */
        log_warn("event=notice_dropped part=%u queue=%s dropped=%llu", p->no, p->notices.queue,
                 (unsigned long long)p->notices.dropped);
}

/* A router; from one call to the next another one, if there are more. NULL: there is none. */
static const struct tpeer *next_router(struct tasktab *t)
{
    each_tpeer (t, p) {
        if (p->role != RPC_ROUTER)
            continue;
        list_remove(&t->peers, &p->node);
        list_push_back(&t->peers, &p->node);
        return p;
    }
    return NULL;
}

static void say(struct tasktab *t, struct part *p, const struct notice *x, struct outbox *out)
{
    struct msg_task_notice *m = &outbox_add(out, x->peer, MSG_TASK_NOTICE)->task_notice;

    (void)t;
    m->part = p->no;
    m->id = x->id;
    m->no = x->no;
    m->state = x->state;
    m->ended_ms = x->ended_ms;
    m->queue = arena_strdup(&out->mem, p->notices.queue);
    m->text.p = arena_memdup(&out->mem, x->text, x->n);
    m->text.n = m->text.p != NULL ? x->n : 0;
    if (m->queue == NULL)
        m->queue = ""; /* a router has no such queue: it is said again */
    p->asked = true;
}

void tasktab_notices_send(struct tasktab *t, struct part *p, struct outbox *out)
{
    const struct tpeer *r;
    const struct notice *x;

    if (p->life != PART_OWNED || p->hold || t->hold || p->notices.queue[0] == 0 ||
        notices_n(&p->notices) == 0 || notices_idle_ms(&p->notices, t->now.ms) > 0)
        return;
    r = next_router(t);
    if (r == NULL)
        notices_hold(&p->notices, t->now.ms);
    for (; r != NULL && (x = notices_send(&p->notices, r->no, t->now.ms)) != NULL; r = next_router(t))
        say(t, p, x, out);
}

void tasktab_notice_answered(struct tasktab *t, const struct msg_task_notice_ans *m)
{
    struct part *p = tasktab_part(t, m->part);
    const struct notice *x = p != NULL ? notices_sent(&p->notices, m->id, m->no) : NULL;
    bool never = m->code == CODE_CONFLICT || m->code == CODE_INVALID;

    if (x == NULL || p->life != PART_OWNED)
        return; /* whoever has the partition now says it again */
    tasktab_clock(t, p);
    if (never)
        log_error("event=notice_refused part=%u queue=%s id=%u-%llu", p->no, p->notices.queue, p->no,
                  (unsigned long long)x->no);
    if (never || m->code == CODE_DONE || m->code == CODE_SAME)
        notices_over(&p->notices, x, never, &p->e.log);
    else
        notices_refused(&p->notices, x, t->now.ms);
    p->due = t->now.ms; /* others may go */
}
