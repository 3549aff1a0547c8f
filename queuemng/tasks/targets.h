/* targets.h: where calls go: the targets of an endpoint that has several, at the manager; and routes
 * to endpoints (policy/endpoint_def.h).
 *
 * To shares, task nodes and breakers a target is what an endpoint is: a struct mendpoint of its own,
 * "gen#3", with a url, slots that are divided among the nodes (tasks/endpoints.h), and, at each node,
 * a breaker. Its definition is that of its endpoint, but for url, max_concurrent and draining. What is
 * of all targets stays with the endpoint: its rate, its own max_concurrent, its budget, pause, trip.
 *
 * A target is known by its url and has a number, which tasks that run at it are written down with. One
 * that the definition has no more stays, without slots, until no node holds any of it: so a url that
 * comes back soon does not get calls beside those that are still there. The same holds for a url that
 * was the endpoint's only one: its target begins with what the nodes hold of the endpoint.
 *
 * With `discover` each address of the url's name is a target, known by both (table.h). */
#ifndef SEGQ_QUEUEMNG_TASKS_TARGETS_H
#define SEGQ_QUEUEMNG_TASKS_TARGETS_H

#include "common/base/err.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"

struct mng;
struct json_t;

/* Room for the targets of its next definition (x: NULL: the endpoint is new): numbers, and rows in what
 * nodes report. SQ_ECONFLICT: too many, or too many that have gone still have calls. */
SQ_CHECK int targets_room(const struct mng *m, const struct mendpoint *x, const struct endpoint_def *d,
                          struct err *e);
/* The endpoint's targets follow its definition. was: the url before, whose calls may go on; "": none.
 * 0 or SQ_ENOMEM. */
SQ_CHECK int targets_follow(struct mng *m, struct mendpoint *x, const char *was, struct err *e);
/* And likewise the addresses of a name. 0 or SQ_ENOMEM. */
SQ_CHECK int targets_discover(struct mng *m, struct mendpoint *x, struct mname *n);
/* Addresses of a name that are targets, also of one that is not asked for yet. */
unsigned targets_of_name(const struct mendpoint *x, const char *url);
/* Trips, resets and probes of the endpoint are theirs. */
void targets_obey(struct mendpoint *x);
/* Forgets those that have gone, and of which nobody holds a slot. */
void targets_tidy(struct mng *m, struct mendpoint *x);
/* Tells nodes that they are gone. */
void targets_drop(struct mng *m, const struct mendpoint *x);

/* An endpoint, or a target of one, by the name that nodes know it by; NULL. */
struct mendpoint *bearer_find(const struct mng *m, const char *name);
/* Endpoints, each before its targets: the one behind x (NULL: the first), or NULL. */
struct mendpoint *bearer_next(const struct mng *m, const struct mendpoint *x);
#define each_bearer(m, x) for (struct mendpoint *x = NULL; (x = bearer_next(m, x)) != NULL;)

/* For the endpoint's record: targets with their shares. NULL: no memory. */
struct json_t *targets_json(const struct mendpoint *x, struct json_t *(*shares)(const struct mendpoint *t));
/* Reads what a record says of a target, before targets_follow(). NULL: it is none, or no memory. */
struct mendpoint *target_load(struct mendpoint *x, struct json_t *j);

/* Routes: routers are told of them with the map of pools. */

/* For core/definitions.c. Endpoints that a new one names must be there. */
SQ_CHECK int route_define(struct mng *m, void *x, const void *def, struct err *e);
void route_remove(struct mng *m, void *x);
/* From the store. */
SQ_CHECK int route_load(struct mng *m, const char *key, struct json_t *j, struct err *e);
/* The name of a route that names the endpoint; NULL: none does. */
const char *route_with(const struct mng *m, const char *endpoint);

#endif
