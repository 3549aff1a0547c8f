/* service.h: a router's parts put together, and taken apart. Shell. */
#ifndef SEGQ_ROUTER_SERVICE_H
#define SEGQ_ROUTER_SERVICE_H

#include "router/state/router.h"

/* cfg: stays the caller's, is read again at router_reload(). */
SQ_CHECK int router_new(struct router **out, struct ev *ev, const struct router_cfg *cfg,
                        struct err *e);
void router_free(struct router *r); /* NULL is fine */
/* TERM: no new connections, answer what is under way, then `done`. */
void router_drain(struct router *r, ev_fn done, void *arg);
/* HUP: r->cfg was read again. */
void router_reload(struct router *r);

#endif
