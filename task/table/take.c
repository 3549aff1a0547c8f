/* take.c: one task after the other, as long as their bodies go into one frame. */
#include "task/table/take.h"

#include "common/wire/frame.h"
#include "task/engine/look.h"
#include "task/engine/take.h"
#include "task/table/wait.h"

#define ROW_BYTES 64u /* beside texts and body */
/* A row more may be as long as the longest body. */
#define ROWS_BYTES (FRAME_MAX_BODY - TASK_BODY_MAX - 64u * 1024)

void tasktab_take_nothing(struct asker a, uint8_t code, struct outbox *out)
{
    outbox_answer(out, a.peer->no, a.rid, MSG_TASK_TAKE_ANS)->task_take_ans.code = code;
}

/* Its bytes in the frame; 0: its body is lost, and it is tried again, until it is dead. */
static size_t fill(struct tasktab *t, const struct part *p, const struct taken *k,
                   struct taken_row *r, struct arena *mem)
{
    struct task_view v;
    int rc = engine_look(&p->e, k->no, &v);

    assert(rc == 0 && v.state == TASK_RUNNING);
    (void)rc;
    *r = (struct taken_row){ .no = k->no, .lease = k->lease, .attempt = k->attempt,
                             .until_ms = tasktab_unix(p, k->until),
                             .key1 = arena_strdup(mem, v.key1),
                             .key2 = arena_strdup(mem, v.key2) };
    if (!tasktab_bytes(t, k->body, &r->body, mem) || r->key1 == NULL || r->key2 == NULL)
        return 0;
    return ROW_BYTES + r->body.n + strlen(r->key1) + strlen(r->key2);
}

bool tasktab_take_now(struct tasktab *t, struct asker a, const struct door *d,
                      struct outbox *out)
{
    struct trec_text queue = tasktab_text(d->queue);
    struct msg_task_take_ans *m;
    uint32_t n = 0, most = u32_min(d->most, TASK_ROWS_MAX);
    size_t bytes = 0;
    struct taken k;

    for (uint32_t i = 0; i < most && bytes < ROWS_BYTES; i++) {
        size_t more;

        if (engine_take(&d->part->e, &queue, 1, d->lease_ms, &k) <= 0)
            break;
        more = fill(t, d->part, &k, &t->rows[n], &out->mem);
        bytes += more;
        n += more > 0;
    }
    if (n == 0)
        return false;
    m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_TAKE_ANS)->task_take_ans;
    m->v = arena_memdup(&out->mem, t->rows, n * sizeof(*m->v));
    m->n = m->v != NULL ? n : 0;
    t->n.takes++;
    return true;
}

void tasktab_take(struct tasktab *t, struct asker a, const struct msg_task_take *q,
                  struct outbox *out)
{
    struct part *p = t->hold ? NULL : tasktab_owned(t, q->part, q->epoch);
    struct door d = { p, q->queue, q->most, q->lease_ms };
    struct wait_for f = { .queue = q->queue, .ms = q->wait_ms, .most = q->most,
                          .lease_ms = q->lease_ms };

    if (p == NULL) {
        t->n.busy += t->hold;
        tasktab_take_nothing(a, t->hold ? CODE_BUSY : CODE_STALE, out);
        return;
    }
    if (!p->paused && tasktab_take_now(t, a, &d, out))
        return;
    if (f.ms == 0 || !tasktab_wait(t, a, p, &f, out))
        tasktab_take_nothing(a, CODE_DONE, out);
}
