/* program.h: the life of a program, as every main() leads it: options, configuration, log, loop,
 * signals, end. Shell. What it does in between is its own: functions without a context, since a
 * process has one program.
 *
 *   TERM, INT   stop(), which brings about ev_stop()
 *   HUP         the log is opened anew, *cfg replaced in place, then reload() */
#ifndef SEGQ_PROGRAM_H
#define SEGQ_PROGRAM_H

#include <stdio.h>

#include "common/supervisor/prog.h"

struct program {
    struct prog prog;
    void *cfg;             /* prog.size bytes of zeros */
    const int *log_level;  /* in *cfg: enum log_level, */
    char *const *log_file; /* and "" = standard error */
    int (*start)(struct ev *ev, struct err *e); /* < 0, with a reason: the program ends with 1 */
    void (*stop)(void);
    void (*reload)(void); /* NULL: the log level is all that it may change */
    void (*end)(void);    /* frees what start() made, also if that failed half-way */
    /* PROGRAM --check-journal DIR; the exit code. NULL: it has none. */
    int (*check_journal)(const char *dir, FILE *out);
};

/* The exit code. */
int program_main(struct program *p, int argc, char **argv);

#endif
