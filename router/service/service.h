/* service.h: a router's parts put together, and taken apart; and who asks name servers for it. Shell. */
#ifndef SEGQ_ROUTER_SERVICE_H
#define SEGQ_ROUTER_SERVICE_H

#include "router/gate/visit.h"
#include "router/state/router.h"

/* cfg: stays the caller's, is read again at router_reload(). */
SQ_CHECK int router_new(struct router **out, struct ev *ev, const struct router_cfg *cfg,
                        struct err *e);
void router_free(struct router *r); /* NULL is fine */
/* TERM: no new connections, answer what is under way, then `done`. */
void router_drain(struct router *r, ev_fn done, void *arg);
/* HUP: r->cfg was read again. */
void router_reload(struct router *r);

/* Asks name servers for visit.h. */

struct ev;
struct crawler_names;

/* NULL: no memory. */
struct crawler_names *crawler_names_new(struct ev *ev);
void crawler_names_free(struct crawler_names *n);
struct crawlers *crawler_names_of(struct crawler_names *n); /* n NULL: NULL */

#endif
