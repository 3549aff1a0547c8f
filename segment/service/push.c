/* push.c: see push.h. */
#include "segment/service/push.h"

#include <string.h>

#include "common/wire/codec.h"
#include "common/wire/frame.h"

/* Called once for each router, in sequence. */
static int push_replica(struct seg_service *s, struct rpc_chan *ch, const struct msg *m)
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
        rpc_chan_close(ch, "a push cannot be built"); /* a router must not miss anything */
    return rc;
}

int seg_push(void *service, struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    return m->type == MSG_REPLICA ? push_replica(service, ch, m) : rpc_send(ch, m, rid);
}
