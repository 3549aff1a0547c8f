/* meters.h: calendar windows of rates in units, of an endpoint, of a target, of a budget: as they are stored,
 * and as they go on where rates change. Pure. Which node gets how much: tasks/windows.h. */
#ifndef SEGQ_QUEUEMNG_STATE_METERS_H
#define SEGQ_QUEUEMNG_STATE_METERS_H

#include <jansson.h>

#include "common/config/cfg.h"
#include "common/recur/meter.h"
#include "common/task/rules.h"

struct mng;
struct mshare;

/* Rates become others: each window goes on, at whatever place it is now; one that was not there begins. from: place
 * of each before; UNIT_RATES_MAX: it had none. */
void meters_move(struct meter *meter, const struct cfg_list *was, const struct cfg_list *rates, size_t *from);
/* Units that a node was given go with them, from that place on. */
void meters_move_given(struct mshare *s, const size_t *from, size_t first);
bool meters_any(const struct cfg_list *rates);
/* SQ_EINVAL: a zone of them is not known here. */
SQ_CHECK int meters_known(const struct mng *m, const struct cfg_list *rates, struct err *e);
json_t *meters_json(const struct meter *meter, const struct cfg_list *rates); /* NULL: it has none */
void meters_load(struct meter *meter, const json_t *j);

#endif
