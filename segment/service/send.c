/* send.c: outgoing messages: what a step wants said, and errors. */
#include "segment/service/send.h"

#include "common/base/log.h"

#define LOG_MODULE "segment"

struct seg_peer *seg_peer_find(const struct seg_service *s, peer_no no)
{
    each_peer (s, p) {
        if (p->no == no)
            return p;
    }
    return NULL;
}

static void send_to(struct seg_service *s, struct seg_peer *p, const struct msg *m, uint64_t rid)
{
    int rc = rpc_send(p->ch, m, rid);

    if (rc < 0) {
        s->n.unsent++;
        log_error("event=not_sent type=%s peer=%u why=\"%s\"", msg_name(m->type), p->no,
                  sq_strerror(rc));
    }
}

void seg_send(struct seg_service *s)
{
    for (uint32_t i = 0; i < s->out.n; i++) {
        struct seg_peer *p = seg_peer_find(s, s->out.v[i].to);

        if (p != NULL)
            send_to(s, p, &s->out.v[i].m, 0);
        else
            s->n.unsent++; /* it has just gone; segtab learns so */
    }
    if (s->out.failed)
        log_error("event=no_memory what=outbox");
    outbox_reset(&s->out);
}

void seg_send_error(struct seg_service *s, struct seg_peer *p, const struct frame *f, int code)
{
    struct msg m = { .type = MSG_ERROR,
                     .error = { .code = code, .about = f->type, .text = sq_strerror(code) } };

    send_to(s, p, &m, f->rid);
}
