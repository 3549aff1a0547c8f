/* redis_io.c: what hiredis wants of an event loop: to be told when its socket can be read or
 * written, until it cleans up. */
#include "common/redis/redis_io.h"

#include "common/net/net.h"

/* Handles either of the two in a turn: both may free the connection. The other one comes again. */
static void on_io(void *arg, unsigned what)
{
    if (what & EV_IO_WRITE)
        redisAsyncHandleWrite(arg);
    else
        redisAsyncHandleRead(arg);
}

/* A refusal of the kernel ends as an answer that did not come in time. */
static void watch(struct ev_io *io, unsigned more, unsigned less)
{
    (void)!ev_io_set(io, (io->what | more) & ~less);
}

static void add_read(void *io)
{
    watch(io, EV_IO_READ, 0);
}

static void del_read(void *io)
{
    watch(io, 0, EV_IO_READ);
}

static void add_write(void *io)
{
    watch(io, EV_IO_WRITE, 0);
}

static void del_write(void *io)
{
    watch(io, 0, EV_IO_WRITE);
}

static void cleanup(void *io)
{
    ev_io_free(io);
}

redisAsyncContext *redis_io_connect(const struct net_addr *a)
{
    char ip[NET_TEXT_MAX];

    net_ip_text(a, ip);
    return redisAsyncConnect(ip, net_port(a));
}

bool redis_io_attach(redisAsyncContext *ac, struct ev *ev)
{
    struct ev_io *io = ev_io_new(ev, ac->c.fd, on_io, ac);

    if (io == NULL)
        return false;
    ac->ev.data = io;
    ac->ev.addRead = add_read;
    ac->ev.delRead = del_read;
    ac->ev.addWrite = add_write;
    ac->ev.delWrite = del_write;
    ac->ev.cleanup = cleanup;
    watch(io, EV_IO_READ | EV_IO_WRITE, 0);
    return true;
}
