/* turn.c: clocks, those who wait, reports, records: in this order. */
#include "task/node/turn.h"

#include "task/node/ask.h"
#include "task/node/calls.h"
#include "task/node/keep.h"
#include "task/node/part_out.h"
#include "task/node/parts.h"
#include "task/node/report.h"
#include "task/node/wait.h"

/* Partitions of which something may be said now. */
static bool end_of(struct tasktab *t, struct part *p, struct outbox *out)
{
    msec_t idle;

    tasktab_notices_send(t, p, out);
    if (!p->turned && p->e.log.len == 0)
        return true;
    if (p->life == PART_OWNED)
        tasktab_waits_take(t, p, out);
    if (!tasktab_keep_log(t, p, out))
        return false;
    p->turned = false;
    idle = p->life != PART_OWNED ? MSEC_NEVER : p->more ? 0
           : ms_min(engine_idle_ms(&p->e, t->now), schedules_idle_ms(&p->schedules, t->now.wall_ms));
    if (p->life == PART_OWNED)
        idle = ms_min(idle, notices_idle_ms(&p->notices, t->now.ms));
    p->due = idle == MSEC_NEVER ? MSEC_NEVER : t->now.ms + idle;
    return true;
}

bool tasktab_turn(struct tasktab *t, struct task_now now, struct outbox *out)
{
    bool ok = true;

    t->now = now;
    each_part (t, p) {
        if (p->due <= now.ms || tasktab_clock_is_old(t, p))
            tasktab_clock(t, p);
        if (p->turned && p->life == PART_OWNED)
            tasktab_schedules_advance(t, p);
    }
    tasktab_calls_take(t, out);
    each_part (t, p)
        ok &= end_of(t, p, out);
    tasktab_waits_end(t, out);
    if (ok)
        tasktab_outs(t, out);
    tasktab_report(t, out);
    each_part (t, p) {
        if (t->o.shared != NULL && p->asked)
            t->o.shared->ask(t->o.shared_ctx, p->no);
        p->asked = false;
    }
    return ok && !t->lost_record;
}

void tasktab_written(struct tasktab *t)
{
    for (size_t i = 0; i < t->freed.len; i += sizeof(uint64_t)) {
        uint64_t ref;

        memcpy(&ref, t->freed.data + i, sizeof(ref));
        if (ref != TAB_BODY_LOST)
            t->o.bodies.drop(t->o.bodies.ctx, ref);
    }
    buf_reset(&t->freed);
}

msec_t tasktab_idle_ms(const struct tasktab *t, struct task_now now)
{
    msec_t first = ms_min(wheel_next(&t->ends), t->calls_due);

    if (!t->hold)
        each_part (t, p)
            first = p->hold ? first : ms_min(first, p->due);
    return first == MSEC_NEVER ? MSEC_NEVER : ms_max(first - now.ms, 0);
}
