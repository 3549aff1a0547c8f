/* unique.h: a key that one task of a queue has at a time (single flight, debounce). It is apart from
 * names and Idempotency-Keys: those say that a request is the same again. Pure. */
#ifndef SEGQ_COMMON_TASK_UNIQUE_H
#define SEGQ_COMMON_TASK_UNIQUE_H

/* While what the task has it. Numbers are those of the wire: never changed. */
enum unique_while {
    UNIQUE_WAITING, /* not begun */
    UNIQUE_RUNNING, /* not final */
    UNIQUE_FINAL,   /* kept, also when it is final */
    UNIQUE_NWHILES
};

enum unique_conflict { /* answer to another task's submission */
    UNIQUE_RETURN,  /* return the task that has the key */
    UNIQUE_REPLACE, /* cancel that task, and the new one has the key; refused while a worker has it */
    UNIQUE_REJECT,
    UNIQUE_NCONFLICTS
};

#endif
