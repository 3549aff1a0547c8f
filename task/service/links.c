/* links.c: up, frames, down; what the table wants said. A link that sends a damaged message, or
 * one that its role may not send, is closed. */
#include "task/service/links.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/codec.h"

#define LOG_MODULE "task"

/* ---- messages out ------------------------------------------------------------------ */

static struct task_peer *find(const struct task_service *s, peer_no no)
{
    each_task_peer (s, p) {
        if (p->no == no)
            return p;
    }
    return NULL;
}

static void send_to(struct task_service *s, struct task_peer *p, const struct msg *m,
                    uint64_t rid)
{
    int rc = rpc_send(p->ch, m, rid);

    if (rc == 0)
        return;
    s->n.unsent++;
    log_error("event=not_sent type=%s peer=%u why=\"%s\"", msg_name(m->type), p->no,
              sq_strerror(rc));
    rpc_chan_close(p->ch, "an answer cannot be sent");
}

void task_links_send(struct task_service *s)
{
    for (uint32_t i = 0; i < s->out.n; i++) {
        struct task_peer *p = find(s, s->out.v[i].to);

        if (p != NULL)
            send_to(s, p, &s->out.v[i].m, s->out.v[i].rid);
        else
            s->n.unsent++; /* it has just gone */
    }
    if (s->out.failed || s->out.mem.failed)
        log_error("event=no_memory what=outbox");
    outbox_reset(&s->out);
}

static void send_error(struct task_service *s, struct task_peer *p, const struct frame *f,
                       int code)
{
    struct msg m = { .type = MSG_ERROR,
                     .error = { .code = code, .about = f->type, .text = sq_strerror(code) } };

    send_to(s, p, &m, f->rid);
}

/* ---- messages in ------------------------------------------------------------------- */

static void refuse(struct task_service *s, struct task_peer *p, const struct frame *f,
                   const char *what)
{
    char why[80];

    s->n.bad_frames++;
    snprintf(why, sizeof(why), "%s %s from a %s", what, msg_name(f->type),
             rpc_role_name(p->role));
    rpc_chan_close(p->ch, why);
}

/* A standby manager says which one leads, as "ADDRESS NAME", or "". The link to that one is
 * made at the end of the turn. */
static void told_leader(struct task_service *s, const struct task_peer *p, const char *text)
{
    char addr[64] = "", name[NAME_MAX_LEN + 1] = "";

    (void)sscanf(text, "%63s %64s", addr, name);
    log_info("event=standby_manager manager=%s leader=%s", rpc_chan_peer(p->ch)->node,
             addr[0] != 0 ? log_q(addr, strlen(addr)) : "-");
    if (p->role != RPC_MANAGER || addr[0] == 0)
        return;
    memcpy(s->told_leader.addr, addr, sizeof(addr));
    memcpy(s->told_leader.name, name, sizeof(name));
}

static void told_error(struct task_service *s, struct task_peer *p, const struct msg_error *m)
{
    if (m->code == SQ_ENOTLEADER)
        told_leader(s, p, m->text);
    else
        log_warn("event=refused peer=%s error=\"%s\" about=%s text=%s",
                 rpc_chan_peer(p->ch)->node, sq_strerror(m->code), msg_name(m->about),
                 log_q(m->text, strlen(m->text)));
}

static void handle(struct task_service *s, struct task_peer *p, const struct msg *m, uint64_t rid)
{
    s->n.frames++;
    if (m->type == MSG_ERROR) {
        told_error(s, p, &m->error);
        return;
    }
    if (m->type == MSG_TASK_PUT)
        tasktab_full(s->tab, !keeper_reserve(s->keeper, m->task_put.n));
    tasktab_msg(s->tab, task_service_read_now(s), p->no, rid, m, &s->out);
    task_links_send(s);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct task_service *s = ctx;
    struct task_peer *p = rpc_chan_data(ch);
    struct msg m;
    int rc;

    if (p == NULL)
        return; /* closing: there was no memory for it when it came up */
    rc = msg_decode(f->type, f->body, f->len, &s->mem, &m);
    if (rc == SQ_EUNKNOWN) {
        s->n.unknown++;
        send_error(s, p, f, rc);
    } else if (rc == SQ_ENOMEM) {
        send_error(s, p, f, rc);
    } else if (rc < 0) {
        refuse(s, p, f, "damaged");
    } else if (!msg_may(p->role, RPC_TASK, m.type)) {
        refuse(s, p, f, "not allowed:");
    } else {
        handle(s, p, &m, f->rid);
    }
    arena_reset(&s->mem);
}

/* ---- links ------------------------------------------------------------------------- */

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct task_service *s = ctx;
    struct task_peer *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        rpc_chan_close(ch, "no memory for a peer");
        return;
    }
    p->no = ++s->last_peer;
    p->ch = ch;
    p->role = peer->role;
    list_push_back(&s->peers, &p->node);
    rpc_chan_set_data(ch, p);
    log_debug("event=peer_up peer=%u role=%s node=%s addr=%s", p->no, rpc_role_name(p->role),
              peer->node, peer->addr);
    tasktab_up(s->tab, p->no, (uint8_t)p->role, peer->node, &s->out);
    if (s->out.failed)
        rpc_chan_close(ch, "no memory for a peer");
    task_links_send(s);
}

static void peer_free(struct task_service *s, struct task_peer *p)
{
    assert(rpc_chan_data(p->ch) == p);
    rpc_chan_set_data(p->ch, NULL);
    list_remove(&s->peers, &p->node);
    free(p);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct task_service *s = ctx;
    struct task_peer *p = rpc_chan_data(ch);

    (void)why; /* rpc.c has logged it */
    if (p == NULL)
        return;
    tasktab_down(s->tab, p->no);
    peer_free(s, p);
}

static const struct rpc_calls calls = { .on_up = on_up, .on_frame = on_frame,
                                        .on_down = on_down };

void task_links_take_back(struct task_service *s)
{
    each_task_peer (s, p) {
        rpc_chan_drop(p->ch, "what was answered cannot be kept");
        peer_free(s, p);
    }
    outbox_reset(&s->out);
}

int task_links_listen(struct task_service *s, const char *addr, struct err *e)
{
    return rpc_listen(s->rpc, addr, 1u << RPC_ROUTER, &calls, s, e);
}

int task_links_dial(struct task_service *s, const struct cfg_list *managers, struct err *e)
{
    char *const *addr = managers->v;

    if (managers->n > TASK_MANAGERS)
        return err_set(e, SQ_ETOOBIG, "managers: more than %d", TASK_MANAGERS);
    for (size_t i = 0; i < managers->n; i++) {
        struct rpc_link *l = rpc_dial(s->rpc, addr[i], RPC_MANAGER, &calls, s);

        if (l == NULL)
            return err_set(e, SQ_ENOMEM, "manager %s", addr[i]);
        s->manager[s->n_managers++] = l;
    }
    return 0;
}

/* Is that one among the managers that we know? While one of them is silent: perhaps. */
static bool is_known(const struct task_service *s, const char *name)
{
    for (size_t i = 0; i < s->n_managers; i++) {
        const struct rpc_chan *ch = rpc_link_chan(s->manager[i]);

        if (ch == NULL || strcmp(rpc_chan_peer(ch)->node, name) == 0)
            return true;
    }
    return false;
}

void task_links_follow(struct task_service *s)
{
    struct rpc_link *l;

    if (s->told_leader.addr[0] == 0)
        return;
    if (!is_known(s, s->told_leader.name) && s->n_managers < TASK_MANAGERS) {
        l = rpc_dial(s->rpc, s->told_leader.addr, RPC_MANAGER, &calls, s);
        if (l != NULL)
            s->manager[s->n_managers++] = l;
    }
    s->told_leader.addr[0] = 0;
}

void task_links_free(struct task_service *s)
{
    for (size_t i = 0; i < s->n_managers; i++)
        rpc_link_free(s->manager[i]);
    each_task_peer (s, p)
        free(p);
    list_init(&s->peers);
    s->n_managers = 0;
}
