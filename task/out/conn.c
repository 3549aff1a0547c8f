/* conn.c: see the header. */
#include "task/out/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/net/net.h"
#include "task/out/trust.h"

static void enter(struct conn *cn, enum conn_state state)
{
    struct out_target *t = cn->target;

    cn->state = (uint8_t)state;
    cn->since = ev_now(t->out->ev);
    if (state != CONN_BUSY)
        list_push_back(state == CONN_KEPT ? &t->kept : &t->opening, &cn->in);
    if (state == CONN_KEPT)
        list_push_back(&t->out->kept, &cn->of_all);
}

static void leave(struct conn *cn)
{
    struct out_target *t = cn->target;

    if (cn->state != CONN_BUSY)
        list_remove(cn->state == CONN_KEPT ? &t->kept : &t->opening, &cn->in);
    if (cn->state == CONN_KEPT)
        list_remove(&t->out->kept, &cn->of_all);
}

static bool is_old(const struct conn *cn)
{
    return ev_now(cn->target->out->ev) - cn->born >= OUT_AGE_MAX_MS;
}

static bool are_many(const struct out *o)
{
    return o->kept.n >= o->most_kept && o->crowded.n == 0;
}

/* Nothing has come: neither its end, nor bytes that nobody asked for. */
static bool is_well(const struct conn *cn)
{
    char c;

    return recv(cn->io.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool is_same(const struct net_addr *a, const struct net_addr *b)
{
    return a->len == b->len && memcmp(&a->sa, &b->sa, a->len) == 0;
}

struct conn *conn_kept(struct out_target *t, const struct net_addr *a)
{
    struct list_node *n = list_last(&t->kept), *before;

    for (; n != NULL; n = before) {
        struct conn *cn = container_of(n, struct conn, in);

        before = list_prev(&t->kept, n);
        if (is_old(cn)) {
            conn_close(cn);
        } else if (is_same(&cn->addr, a)) {
            if (is_well(cn)) {
                leave(cn);
                enter(cn, CONN_BUSY);
                return cn;
            }
            conn_close(cn);
        }
    }
    return NULL;
}

int conn_open(struct conn **out, struct out_target *t, const struct net_addr *a, ev_io_fn fn,
              struct err *e)
{
    struct conn *cn;
    int fd;

    if (!address_may(t, a)) /* the last word about it */
        return SQ_EINVAL;
    cn = calloc(1, sizeof(*cn));
    fd = cn != NULL ? net_connect(a, e) : SQ_EFULL;
    if (fd < 0) {
        free(cn);
        return fd;
    }
    *cn = (struct conn){ .target = t, .addr = *a, .born = ev_now(t->out->ev) };
    ev_io_init(&cn->io, t->out->ev, fd, fn, cn);
    buf_init(&cn->rest);
    t->out->n_conns++;
    enter(cn, CONN_OPENING);
    if (ev_io_set(&cn->io, EV_IO_WRITE) < 0) {
        conn_close(cn);
        return SQ_EFULL;
    }
    *out = cn;
    return 0;
}

void conn_opened(struct conn *cn)
{
    leave(cn);
    enter(cn, CONN_BUSY);
}

void conn_keep(struct conn *cn)
{
    if (is_old(cn) || are_many(cn->target->out) || ev_io_set(&cn->io, EV_IO_READ) < 0) {
        conn_close(cn);
        return;
    }
    cn->call = NULL;
    cn->used = true;
    enter(cn, CONN_KEPT);
}

void conn_close(struct conn *cn)
{
    leave(cn);
    cn->target->out->n_conns--;
    ev_io_end(&cn->io);
    close(cn->io.fd);
    buf_fini(&cn->rest);
    free(cn);
}

bool conn_close_one(struct out *o)
{
    struct list_node *n = list_first(&o->kept);

    if (n != NULL)
        conn_close(container_of(n, struct conn, of_all));
    return n != NULL;
}
