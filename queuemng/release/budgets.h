/* budgets.h: budgets: defined and removed (core/definitions.c asks); and what each member of one may use
 * of it, by weight and demand (policy/claim.h). Members name it; one with members is not removed. Pure.
 *
 * A queue of people could use what it lets in, and could let in, by its own limits; an endpoint what
 * its nodes say. What nodes may be using of an endpoint counts until they say that less is in force
 * (tasks/endpoints.h); who may be inside counts until the pass is over (state/queue.h). Only what is left
 * of the whole is given: at each moment the sum of both is within the budget, but for people whom an
 * operator lets in by hand, or with `passthrough`. */
#ifndef SEGQ_QUEUEMNG_RELEASE_BUDGETS_H
#define SEGQ_QUEUEMNG_RELEASE_BUDGETS_H

#include "common/base/err.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/state/state.h"

struct mbudget;
struct queue_def;

/* Each tick; second: demand is looked at. */
void budgets_tick(struct mng *m, bool second);

/* People whom the queue may let in now, by its budget; without one UINT64_MAX. */
uint64_t budget_lets_in(const struct mng *m, const struct mqueue *q);
/* People who may be inside by its part of its budget; without slots of one ENDPOINT_ANY. */
uint64_t budget_slots(const struct mng *m, const struct mqueue *q);
/* More are inside than its part: what is promised and not used is called back. */
bool budget_is_exceeded(const struct mng *m, const struct mqueue *q);
/* The rate that it may have, per s; < 0: any. */
double budget_rate(const struct mng *m, const struct mqueue *q);

/* An endpoint's part; without a budget, any. */
struct bears budget_part(const struct mng *m, const struct mendpoint *x);
/* Returns its budget, if that has rates in units: bears.shared is the endpoint's part of them; NULL. */
struct mbudget *budget_with_units(const struct mng *m, const struct mendpoint *x);
/* Returns what no member of its budget holds; without a budget, any. */
struct bears budget_unheld(const struct mng *m, const struct mendpoint *x);

/* The endpoint is about to go, or to have another budget: what its nodes may be using of this one's
 * slots counts until their calls are over. */
void budget_leaves(struct mng *m, const struct mendpoint *x);
/* The queue is about to go: people who are inside count for its budget until their passes are over. */
void budget_outlives(struct mng *m, const struct mqueue *q);

/* Returns what of a budget cannot be given to others now: more than is used, where nodes may begin calls, are
 * not heard, or have left calls behind. And a queue's part of that; without a budget, nothing. */
struct bears budget_held(const struct mng *m, const struct mbudget *b);
struct bears budget_queue_holds(const struct mng *m, const struct mqueue *q);

struct mng;
/* A new definition (budget: NULL), or a changed one, that budget_def_check() has passed. SQ_EINVAL,
 * SQ_ECONFLICT, SQ_ENOMEM. */
SQ_CHECK int budget_define(struct mng *m, void *budget, const void *def, struct err *e);
/* SQ_ECONFLICT: it has members. */
SQ_CHECK int budget_may_remove(const struct mng *m, const void *budget, bool final, struct err *e);
void budget_remove(struct mng *m, void *budget);
/* Stores it, with its windows. */
void budget_put(struct mng *m, const struct mbudget *b);

/* May it name this budget? SQ_EINVAL: there is none; a queue must count who is inside, if the budget
 * has max_active; an endpoint with `rates` rates in units and the budget have too many together. */
SQ_CHECK int budget_named(const struct mng *m, const struct budget_member *x, size_t rates, struct err *e);
SQ_CHECK int budget_takes_queue(const struct mng *m, const struct queue_def *d, struct err *e);

#endif
