/* node_peers.c: what peers say, what is said to them, and how links to them come and go. */
#include "common/node/node_peers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"

#define LOG_MODULE "node"

/* ---- messages out ----------------------------------------------------------------- */

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

        if (p != NULL) {
            p->handed += o->bulk;
            send_to(n, p, &o->m, o->rid);
        } else if (self) {
            n->kind->self(n->ctx, &o->m, o->rid);
        } else {
            n->n.unsent++; /* just gone; the table learns so */
        }
    }
    if (n->out.failed || n->out.mem.failed)
        log_error("event=no_memory what=outbox");
    outbox_reset(&n->out);
}

/* code: enum sq_err, about the frame f. */
static void send_error(struct node *n, struct node_peer *p, const struct frame *f, int code)
{
    struct msg m = { .type = MSG_ERROR,
                     .error = { .code = code, .about = f->type, .text = sq_strerror(code) } };

    send_to(n, p, &m, f->rid);
}

/* ---- messages in ------------------------------------------------------------------ */

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

/* A channel that sends a damaged message, or one that its role may not send, is closed. */
static void on_message(struct node *n, struct rpc_chan *ch, const struct frame *f)
{
    struct node_peer *p = rpc_chan_data(ch);
    struct msg m;
    int rc;

    if (p == NULL)
        return; /* closing: there was no memory for it when it came up */
    rc = msg_decode(f->type, f->body, f->len, &n->mem, &m);
    n->n.unknown += rc == SQ_EUNKNOWN;
    if (rc == SQ_EUNKNOWN || rc == SQ_ENOMEM) {
        send_error(n, p, f, rc);
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

/* ---- channels -------------------------------------------------------------------- */

static void peer_up(struct node *n, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct node_peer *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        rpc_chan_close(ch, "no memory for a peer");
        return;
    }
    p->no = ++n->last_peer;
    p->ch = ch;
    p->role = peer->role;
    list_push_back(&n->peers, &p->in_peers);
    rpc_chan_set_data(ch, p);
    log_debug("event=peer_up peer=%u role=%s node=%s addr=%s", p->no, rpc_role_name(p->role),
              peer->node, peer->addr);
    n->kind->up(n->ctx, p, peer->node);
}

static void forget(struct node *n, struct node_peer *p)
{
    assert(rpc_chan_data(p->ch) == p);
    rpc_chan_set_data(p->ch, NULL);
    list_remove(&n->peers, &p->in_peers);
}

static void peer_down(struct node *n, struct rpc_chan *ch)
{
    struct node_peer *p = rpc_chan_data(ch);

    if (p == NULL)
        return;
    forget(n, p);
    n->kind->down(n->ctx, p);
    free(p);
}

void node_peer_cut(struct node *n, struct node_peer *p)
{
    rpc_chan_drop(p->ch, "what was answered cannot be kept");
    forget(n, p);
    free(p);
}

void node_take_back(struct node *n)
{
    each_node_peer (n, p)
        node_peer_cut(n, p);
    outbox_reset(&n->out);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    peer_up(ctx, ch, peer);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    on_message(ctx, ch, f);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)why; /* rpc.c has logged it */
    peer_down(ctx, ch);
}

const struct rpc_calls node_peer_calls = { .on_up = on_up, .on_frame = on_frame,
                                           .on_down = on_down };

/* ---- managers -------------------------------------------------------------------- */

static bool dial_manager(struct node *n, const char *addr)
{
    struct rpc_link *l = rpc_dial(n->rpc, addr, RPC_MANAGER, &node_peer_calls, n);

    if (l != NULL)
        n->manager[n->n_managers++] = l;
    return l != NULL;
}

int node_dial_managers(struct node *n, const struct cfg_list *managers, struct err *e)
{
    char *const *addr = managers->v;

    if (managers->n > NODE_MANAGERS)
        return err_set(e, SQ_ETOOBIG, "managers: more than %d", NODE_MANAGERS);
    for (size_t i = 0; i < managers->n; i++)
        if (!dial_manager(n, addr[i]))
            return err_set(e, SQ_ENOMEM, "manager %s", addr[i]);
    return 0;
}

/* Is that one among the managers that we know? While one of them is silent: perhaps. */
static bool is_known(const struct node *n, const char *name)
{
    for (size_t i = 0; i < n->n_managers; i++) {
        const struct rpc_chan *ch = rpc_link_chan(n->manager[i]);

        if (ch == NULL || strcmp(rpc_chan_peer(ch)->node, name) == 0)
            return true;
    }
    return false;
}

void node_follow_leader(struct node *n)
{
    if (n->told_leader.addr[0] == 0)
        return;
    if (!is_known(n, n->told_leader.name) && n->n_managers < NODE_MANAGERS)
        (void)dial_manager(n, n->told_leader.addr); /* if there is no memory, it is named again */
    n->told_leader.addr[0] = 0;
}

void node_peers_free(struct node *n)
{
    for (size_t i = 0; i < n->n_managers; i++)
        rpc_link_free(n->manager[i]);
    each_node_peer (n, p)
        free(p);
    list_init(&n->peers);
    n->n_managers = 0;
}

/* ---- other nodes of the same kind ------------------------------------------------- */

struct dial {
    struct list_node in; /* node_dials.v */
    struct node_dials *d; /* ref */
    struct rpc_link *link; /* owned */
    struct rpc_chan *ch;   /* ref; from its up to its down, also while it is closing */
    struct node_want want;
};

#define each_dial(d, x) list_each_of(&(d)->v, struct dial, in, x)

static void dial_failed(const struct dial *x)
{
    if (x->d->failed != NULL)
        x->d->failed(x->d->ctx, x->want.name);
}

static void dial_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct dial *x = ctx;

    if (strcmp(peer->node, x->want.name) == 0) {
        x->ch = ch;
        peer_up(x->d->n, ch, peer);
        return;
    }
    rpc_chan_close(ch, "another node lives at this address now");
    dial_failed(x);
}

static void dial_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    on_message(((struct dial *)ctx)->d->n, ch, f);
}

static void dial_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct dial *x = ctx;

    (void)why; /* rpc.c has logged it */
    x->ch = NULL;
    peer_down(x->d->n, ch);
}

static void dial_fail(void *ctx, const char *why)
{
    (void)why;
    dial_failed(ctx);
}

static void dial_new(struct node_dials *d, const struct node_want *w)
{
    static const struct rpc_calls calls = { .on_up = dial_up, .on_frame = dial_frame,
                                            .on_down = dial_down, .on_fail = dial_fail };
    struct dial *x = calloc(1, sizeof(*x));

    if (x != NULL) {
        x->d = d;
        x->want = *w;
        x->link = rpc_dial(d->n->rpc, w->addr, d->n->kind->role, &calls, x);
    }
    if (x == NULL || x->link == NULL) {
        free(x);
        d->look = true; /* without memory: the next turn tries again */
        return;
    }
    list_push_back(&d->v, &x->in);
    log_info("event=node_dialled node=%s addr=%s", w->name, w->addr);
}

static void dial_free(struct node_dials *d, struct dial *x)
{
    list_remove(&d->v, &x->in);
    if (x->ch != NULL)
        peer_down(d->n, x->ch); /* rpc_link_free() will not tell */
    rpc_link_free(x->link);
    free(x);
}

static bool is_wanted(const struct node_want *v, size_t n, const struct node_want *w)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, w->name) == 0 && strcmp(v[i].addr, w->addr) == 0)
            return true;
    return false;
}

static bool is_dialled(const struct node_dials *d, const struct node_want *w)
{
    each_dial (d, x) {
        if (is_wanted(w, 1, &x->want))
            return true;
    }
    return false;
}

void node_dials_init(struct node_dials *d, struct node *n,
                     void (*failed)(void *ctx, const char *name), void *ctx)
{
    *d = (struct node_dials){ .n = n, .failed = failed, .ctx = ctx };
    list_init(&d->v);
    buf_init(&d->last);
}

void node_dials_look(struct node_dials *d, const struct node_want *v, size_t n)
{
    if (!d->look && n * sizeof(*v) == d->last.len &&
        (n == 0 || memcmp(v, d->last.data, d->last.len) == 0))
        return;
    buf_reset(&d->last);
    if (n > 0)
        buf_append(&d->last, v, n * sizeof(*v));
    d->look = d->last.failed;
    each_dial (d, x) {
        if (!is_wanted(v, n, &x->want))
            dial_free(d, x);
    }
    for (size_t i = 0; i < n; i++)
        if (!is_dialled(d, &v[i]))
            dial_new(d, &v[i]);
}

void node_dials_free(struct node_dials *d)
{
    if (d->n == NULL)
        return;
    each_dial (d, x) {
        rpc_link_free(x->link);
        free(x);
    }
    list_init(&d->v);
    buf_fini(&d->last);
}
