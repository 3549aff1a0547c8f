/* names.h: texts of queues, keys and names: a letter and a number. */
#ifndef SEGQ_TASKS_NAMES_H
#define SEGQ_TASKS_NAMES_H

#include "task/store/record.h"

/* Number 0 of anything but a queue: no text. Lives for ever. */
static inline struct trec_text task_text(char kind, unsigned number)
{
    static char texts[128][64][4];
    char *p = texts[(unsigned char)kind & 127][number & 63];

    p[0] = kind;
    p[1] = (char)('0' + number);
    return (struct trec_text){ p, kind == 'q' || number != 0 ? 2 : 0 };
}

#endif
