/* uniques.h: which task has which unique key, as answers and the log's starts and ends say. */
#ifndef SEGQ_TASKS_UNIQUES_H
#define SEGQ_TASKS_UNIQUES_H

#include "tests/lib/tasks/said.h"

#define UNIQUES_QUEUES 3u
#define UNIQUES_KEYS   6u

struct world;

struct uniques {
    struct {
        task_no no; /* 0: nobody */
        enum unique_while lasts;
        bool doubt; /* a turn was lost: it may be another one */
    } v[UNIQUES_QUEUES][UNIQUES_KEYS];
    size_t at; /* read of the log, so far */
};

/* Before the submission, and behind it. */
void uniques_read(struct world *w);
void uniques_check(struct world *w, const struct said *s);
/* The log goes now. */
void uniques_flush(struct world *w);
void uniques_doubt(struct world *w);

#endif
