/* eta.h: when a task starts, as far as that can be known: by its time, by the limits above it, by
 * the pace of its queue. Pure. An estimate: between keys it takes a place for a turn. */
#ifndef SEGQ_TASK_ENGINE_ETA_H
#define SEGQ_TASK_ENGINE_ETA_H

#include "task/engine/look.h"

/* Sets eta_ms and eta, of what engine_look() has found of the slot. */
void engine_eta(const struct engine *e, task_slot slot, struct task_view *v);

#endif
