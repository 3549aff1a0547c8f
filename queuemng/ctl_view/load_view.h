/* load_view.h: what a process uses, as cells of a table. Pure. */
#ifndef SEGQ_CTL_LOAD_VIEW_H
#define SEGQ_CTL_LOAD_VIEW_H

#include <jansson.h>

#include "queuemng/ctl_view/table.h"

/* Heads of the cells. LATE: the longest delay of a turn of a node's loop. */
#define NODE_LOAD_HEADS   ">CPU >MEMORY >LATE"
#define ROUTER_LOAD_HEADS ">CPU >MEMORY >ANSWERS >P99"

/* process: a node or router of the admin API; without `load` (it has not said, or is of another
 * release) each cell is "-". */
void node_load_cells(struct table *t, const json_t *process);
void router_load_cells(struct table *t, const json_t *process);

#endif
