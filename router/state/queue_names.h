/* queue_names.h: queues that the configuration names (groups, gate_rules, rooms, aws_events), and that nobody has
 * defined: logged when that changes, counted, and told to operators. Shell. */
#ifndef SEGQ_ROUTER_QUEUE_NAMES_H
#define SEGQ_ROUTER_QUEUE_NAMES_H

#include <stdint.h>

struct router;

struct queue_names {
    unsigned n;      /* names without a queue */
    uint64_t hash;   /* names, and where they stand; 0: none */
    char text[200];  /* sentence about the first ones; "": none */
};

/* After a whole map, and after a reload. Without a map nothing is known. */
void queue_names_look(struct router *r);

#endif
