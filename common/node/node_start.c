/* node_start.c: see node_start.h. */
#include "common/node/node_start.h"

#include <time.h>

#include "common/supervisor/prog.h"

/* Grows from start to start, as far as the wall clock does. */
static uint64_t incarnation(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_ready(void *ctx)
{
    (void)ctx;
    prog_ready();
}

static void on_gone(void *ctx)
{
    ev_stop(ctx);
}

int node_start(struct node_opts *o, struct cluster_keys *secret, const struct node_cfg *c,
               struct ev *ev, struct err *e)
{
    *o = (struct node_opts){ .secret = secret, .incarnation = incarnation(),
                             .on_ready = on_ready, .on_gone = on_gone, .ctx = ev };
    return keys_cluster(secret, c->secret_file, c->create_keys, e);
}
