/* node_frames.c: see node_frames.h. */
#include "common/node/node_frames.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/node/node_say.h"
#include "common/wire/codec.h"

#define LOG_MODULE "node"

static void refuse(struct node *n, struct node_peer *p, const struct frame *f, const char *what)
{
    char why[80];

    n->n.bad_frames++;
    snprintf(why, sizeof(why), "%s %s from a %s", what, msg_name(f->type),
             rpc_role_name(p->role));
    rpc_chan_close(p->ch, why);
}

/* A standby manager says which one leads, as "ADDRESS NAME", or "". The link to that one is
 * made at the end of the turn. */
static void told_leader(struct node *n, const struct node_peer *p, const char *text)
{
    char addr[64] = "", name[NAME_MAX_LEN + 1] = "";

    (void)sscanf(text, "%63s %64s", addr, name);
    log_info("event=standby_manager manager=%s leader=%s", rpc_chan_peer(p->ch)->node,
             addr[0] != 0 ? log_q(addr, strlen(addr)) : "-");
    if (p->role != RPC_MANAGER || addr[0] == 0)
        return;
    memcpy(n->told_leader.addr, addr, sizeof(addr));
    memcpy(n->told_leader.name, name, sizeof(name));
}

static void told_error(struct node *n, const struct node_peer *p, const struct msg_error *m)
{
    if (m->code == SQ_ENOTLEADER)
        told_leader(n, p, m->text);
    else
        log_warn("event=refused peer=%s error=\"%s\" about=%s text=%s",
                 rpc_chan_peer(p->ch)->node, sq_strerror(m->code), msg_name(m->about),
                 log_q(m->text, strlen(m->text)));
}

void node_frame(struct node *n, struct rpc_chan *ch, const struct frame *f)
{
    struct node_peer *p = rpc_chan_data(ch);
    struct msg m;
    int rc;

    if (p == NULL)
        return; /* closing: there was no memory for it when it came up */
    rc = msg_decode(f->type, f->body, f->len, &n->mem, &m);
    n->n.unknown += rc == SQ_EUNKNOWN;
    if (rc == SQ_EUNKNOWN || rc == SQ_ENOMEM) {
        node_send_error(n, p, f, rc);
    } else if (rc < 0) {
        refuse(n, p, f, "damaged");
    } else if (!msg_may(p->role, n->kind->role, m.type)) {
        refuse(n, p, f, "not allowed:");
    } else {
        n->n.frames++;
        if (m.type == MSG_ERROR)
            told_error(n, p, &m.error);
        else
            n->kind->msg(n->ctx, p, &m, f->rid);
    }
    arena_reset(&n->mem);
}
