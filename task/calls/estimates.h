/* estimates.h: the operator's own service for the waits of a pool's queues: which queue it is to be asked
 * about, and what it has said. Of one partition. Pure; in no record: after a restart or a move
 * it is asked anew.
 *
 * Who asks is the node that has the queue's partition: it alone knows the line, and gives the answers. A queue
 * is asked about if somebody was told a wait of it in the last minute, once in `every`. What was said counts for three
 * times that; before, behind, and where it says nothing that can be true, our own estimate holds. */
#ifndef SEGQ_CALLS_ESTIMATES_H
#define SEGQ_CALLS_ESTIMATES_H

#include "common/base/buf.h"
#include "common/wire/msg_task_manager.h"

/* Estimates of the wait along a line, in the words of an operator's own service. Pure.
 *
 * JSON, of us and of the service alike, so that an echo of our question means our own estimate:
 *
 *   {"places": [{"place": 1, "eta_s": 2}, {"place": 100, "eta_s": 240.5}]}
 *
 * Points at places that rise, with waits that do not fall. Between two of them the wait grows evenly; before
 * the first it does from nothing at place 0; behind the last as fast as between the two before. Other members
 * are passed over. */

#define ETA_POINTS_MAX 32
#define ETA_PLACE_MAX  1000000000
#define ETA_MOST_MS    (400ll * 86400000)

struct eta_line { /* n 0: nothing is known */
    unsigned n;
    struct eta_point {
        int64_t place, ms;
    } v[ETA_POINTS_MAX];
};

/* NULL, or what is wrong; *l is unchanged then. */
const char *eta_line_read(struct eta_line *l, const char *p, size_t n);
/* The wait of this place, in ms; place at least 1, n at least 1. */
int64_t eta_line_at(const struct eta_line *l, uint64_t place);

struct eta_question {
    const char *queue;
    uint64_t waiting, running;
    uint64_t place; /* starts of its queue until that of a task which comes now, without a key */
    int64_t ms;     /* wait of that, as we reckon it; -1: not known */
};
void eta_question_write(const struct eta_question *q, struct buf *b);

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
