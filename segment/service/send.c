/* send.c: outgoing messages: what a step wants said, and errors. */
#include "segment/service/send.h"

#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"
#include "common/wire/frame.h"

#define LOG_MODULE "segment"

struct seg_peer *seg_peer_find(const struct seg_service *s, peer_no no)
{
    each_peer (s, p) {
        if (p->no == no)
            return p;
    }
    return NULL;
}

/* What is pushed to all routers comes once for each, one behind the other: it is encoded once. */
static int send_replica(struct seg_service *s, struct rpc_chan *ch, const struct msg *m)
{
    bool first = s->pushed.type != m->type || memcmp(&s->pushed, m, sizeof(*m)) != 0;
    int rc = 0;

    if (first) {
        s->pushed = *m;
        buf_reset(&s->body);
        rc = msg_encode(m, &s->body);
    }
    if (rc == 0 && s->body.len > 0) { /* empty: the first of these was not encoded */
        buf_append(rpc_begin(ch), s->body.data, s->body.len);
        rc = rpc_end(ch, MSG_REPLICA, 0);
        s->n.replica_bytes += s->body.len + FRAME_HEADER_BYTES;
    }
    if (rc < 0 || s->body.len == 0)
        rpc_chan_close(ch, "no memory to push"); /* it must not miss anything */
    return rc;
}

static void send_to(struct seg_service *s, struct seg_peer *p, const struct msg *m, uint64_t rid)
{
    int rc = m->type == MSG_REPLICA ? send_replica(s, p->ch, m) : rpc_send(p->ch, m, rid);

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
    s->pushed.type = MSG_NONE; /* what it points to goes */
    outbox_reset(&s->out);
}

void seg_send_error(struct seg_service *s, struct seg_peer *p, const struct frame *f, int code)
{
    struct msg m = { .type = MSG_ERROR,
                     .error = { .code = code, .about = f->type, .text = sq_strerror(code) } };

    send_to(s, p, &m, f->rid);
}
