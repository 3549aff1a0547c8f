/* node_say.c: see node_say.h. */
#include "common/node/node_say.h"

#include "common/base/log.h"
#include "common/wire/codec.h"

#define LOG_MODULE "node"

struct node_peer *node_peer_find(const struct node *n, peer_no no)
{
    each_node_peer (n, p) {
        if (p->no == no)
            return p;
    }
    return NULL;
}

static void send_to(struct node *n, struct node_peer *p, const struct msg *m, uint64_t rid);

/* A router goes by the question's number: this one has no answer, and the others keep their link. */
static void say_unfit(struct node *n, struct node_peer *p, int rc, uint64_t rid)
{
    struct msg m = { .type = MSG_ERROR, .error = { .code = rc, .text = sq_strerror(rc) } };

    send_to(n, p, &m, rid);
}

static void send_to(struct node *n, struct node_peer *p, const struct msg *m, uint64_t rid)
{
    int rc = n->kind->send != NULL ? n->kind->send(n->ctx, p->ch, m, rid)
                                   : rpc_send(p->ch, m, rid);

    if (rc == 0)
        return;
    n->n.unsent++;
    log_error("event=not_sent type=%s peer=%u why=\"%s\"", msg_name(m->type), p->no,
              sq_strerror(rc));
    if (rid != 0 && rc != SQ_ENOMEM && p->role == RPC_ROUTER && m->type != MSG_ERROR)
        say_unfit(n, p, rc, rid);
    else if (rid != 0 || rc == SQ_ENOMEM)
        rpc_chan_close(p->ch, "a message cannot be sent");
}

void node_send(struct node *n)
{
    for (uint32_t i = 0; i < n->out.n; i++) {
        const struct out_item *o = &n->out.v[i];
        bool self = o->to == PEER_SELF;
        struct node_peer *p = self ? NULL : node_peer_find(n, o->to);

        if (self)
            n->kind->self(n->ctx, &o->m, o->rid);
        else if (p != NULL)
            send_to(n, p, &o->m, o->rid);
        else
            n->n.unsent++; /* just gone; the table learns so */
    }
    if (n->out.failed || n->out.mem.failed)
        log_error("event=no_memory what=outbox");
    outbox_reset(&n->out);
}

void node_send_error(struct node *n, struct node_peer *p, const struct frame *f, int code)
{
    struct msg m = { .type = MSG_ERROR,
                     .error = { .code = code, .about = f->type, .text = sq_strerror(code) } };

    send_to(n, p, &m, f->rid);
}
