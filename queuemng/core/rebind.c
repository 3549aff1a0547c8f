/* rebind.c: see rebind.h. */
#include "queuemng/core/rebind.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/ticket/bound.h"
#include "common/wire/msg.h"
#include "queuemng/core/mng.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "manager"

static struct mqueue *queue_of(const struct mng *m, seg_id seg)
{
    const struct mseg *s = seg_resolve(m, seg);

    return s != NULL ? s->lane->q : NULL;
}

static int put(struct mng *m, struct mqueue *q, const struct moved_ticket *x)
{
    int rc = moved_put(&q->moved, x, m->wall_ms / 1000);

    if (rc == 0) {
        q->put_sched = true;
        queue_put_later(m, q);
        queue_mapped(m, q);
    }
    return rc;
}

int mng_rebind(struct mng *m, msec_t now_ms, const struct token_key *key, seg_id seg, uint32_t number,
               struct mng_rebind_view *v, struct mng_out *out, struct err *e)
{
    struct moved_ticket x = { .seg = seg, .number = number, .open = true }, was = { 0 };
    struct mqueue *q = queue_of(m, seg);
    int rc;

    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "the ticket's segment is gone: the ticket is over");
    if (q->def.bind == BIND_NONE)
        return err_set(e, SQ_ECONFLICT, "queue %s does not bind tickets to devices (bind: none): any device "
                       "may show them", q->def.name);
    mng_begin(m, now_ms, out);
    x.until_s = m->wall_ms / 1000 + REBIND_S;
    *v = (struct mng_rebind_view){ .queue = q->def.name, .until_ms = x.until_s * 1000 };
    token_write(&(struct token){ .seg = seg, .number = number, .issued_s = (uint32_t)(m->wall_ms / 1000),
                                 .client = CLIENT_BROWSER, .device = 1 }, key, v->token);
    v->was_moved = moved_find(q->moved, seg, number, &was) && was.device[0] != '\0';
    memcpy(x.device, was.device, sizeof(x.device)); /* has it until another one comes */
    rc = put(m, q, &x);
    mng_end(m);
    if (rc == SQ_EFULL)
        return err_set(e, SQ_ECONFLICT, "queue %s: %d tickets were given to other devices lately, more are "
                       "not kept", q->def.name, MOVED_MAX);
    return rc < 0 ? err_set(e, rc, "queue %s: out of memory", q->def.name) : 0;
}

void rebind_take(struct mng *m, const struct msg_device *d)
{
    struct mqueue *q = queue_of(m, d->seg);
    struct moved_ticket x;

    if (q == NULL || !device_text_ok(d->id, strlen(d->id)) || !moved_find(q->moved, d->seg, d->number, &x) ||
        !x.open || x.until_s <= m->wall_ms / 1000 || strcmp(x.device, d->id) == 0)
        return; /* another one was first, or it is too late, or it has it */
    memcpy(x.device, d->id, sizeof(x.device));
    x.open = false;
    x.until_s = m->wall_ms / 1000 + MOVED_KEEP_S;
    if (put(m, q, &x) == 0)
        log_info("event=ticket_moved queue=%s ticket=%llu-%u", q->def.name, (unsigned long long)d->seg, d->number);
}
