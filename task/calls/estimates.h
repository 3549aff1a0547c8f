/* estimates.h: the operator's own service for the waits of a pool's queues: which queue it is to be asked
 * about, and what it has said (eta_line.h). Of one partition. Pure; in no record: after a restart or a move
 * it is asked anew.
 *
 * Who asks is the node that has the queue's partition: it alone knows the line, and gives the answers. A queue
 * is asked about if somebody was told a wait of it in the last minute, once in `every`. What was said counts for three
 * times that; before, behind, and where it says nothing that can be true, our own estimate holds. */
#ifndef SEGQ_CALLS_ESTIMATES_H
#define SEGQ_CALLS_ESTIMATES_H

#include "common/wire/msg_task_manager.h"
#include "task/calls/eta_line.h"

#define ETA_QUEUES_MAX 64    /* queues of a partition */
#define ETA_LOOKED_MS  60000 /* then nobody looks any more */

struct eta_rules { /* bytes behind the texts' ends are 0, so that they are compared as they lie; url "": nobody is asked */
    uint64_t every_ms;
    uint32_t timeout_ms, n_allow;
    char url[ENDPOINT_URL_MAX + 1];
    char allow[ENDPOINT_ALLOW_MAX][ENDPOINT_NET_MAX + 1];
};

struct estimates {
    struct eta_rules rules;
    unsigned n;
    uint32_t hash[ETA_QUEUES_MAX]; /* hashes of the names below */
    struct eta_asked {
        char queue[TASK_NAME_MAX + 1];
        msec_t looked, next; /* when somebody looked; when it is asked about again */
        msec_t said;         /* when; 0: never */
        struct eta_line line;
    } v[ETA_QUEUES_MAX];
    uint64_t crowded; /* ever: looks at a queue for which there was no place */
};

void eta_rules_read(struct eta_rules *r, const struct msg_part_open *m);
/* Other rules: all that was said is forgotten. Without an url *e is NULL afterwards. 0 or SQ_ENOMEM. */
SQ_CHECK int estimates_rule(struct estimates **e, const struct eta_rules *r);

/* Somebody is told a wait in this queue: it is asked about from now on. */
void estimates_look(struct estimates *e, const char *queue, msec_t now);
/* The wait of this place as the service says, in ms; -1: nothing that counts still. */
int64_t estimates_of(const struct estimates *e, const char *queue, uint64_t place, msec_t now);
/* The queue that is to be asked about now, which it then is; NULL: none. */
const char *estimates_due(struct estimates *e, msec_t now);
/* Takes an answer. NULL, or what is wrong with it. */
const char *estimates_told(struct estimates *e, const char *queue, const char *p, size_t n, msec_t now);

#endif
