/* program.h: the life of a program, as every main() leads it: options, configuration, log, loop,
 * signals, end. Shell. What it does in between is its own: functions without a context, since a
 * process has one program.
 *
 *   PROGRAM [-c FILE] [--set KEY=VALUE]... [-t] [-h] [-V]
 *   -t checks and prints the effective configuration; -h lists the keys.
 * Exit 0 = done (-t, -h, -V), 1 = cannot start, 2 = wrong usage or configuration.
 *
 *   TERM, INT   stop(), which brings about ev_stop()
 *   HUP         the log is opened anew, *cfg replaced in place, then reload() */
#ifndef SEGQ_PROGRAM_H
#define SEGQ_PROGRAM_H

#include <stdio.h>

#include "common/config/cfg.h"
#include "common/net/ev.h"

struct prog {
    const char *name;           /* "router" */
    const char *what;           /* a line for -h */
    const struct cfg_key *keys;
    size_t size;                /* size of the configuration struct */
    int (*check)(const void *cfg, struct err *e); /* beyond the table; NULL = nothing */
    /* With -t: the files that it names, and what would become of others. NULL = nothing. */
    int (*try)(const void *cfg, struct err *e);
    bool try_at_hup; /* a reload, too, is refused as a whole by it; else reload() takes what is good */
    /* filled by prog_start: */
    const char *file;           /* -c */
    const char **sets;          /* --set, owned */
    size_t n_sets;
};

/* Parses argv, loads *cfg (zeroed by the caller). -1: go on; >= 0: exit with this code
 * (everything has been said already). */
int prog_start(struct prog *p, int argc, char **argv, void *cfg);
/* HUP: reads again; 0 and *cfg replaced. A broken file, or a change of a key that needs a
 * restart: *cfg as it was, the reason in *e (the caller logs it). */
SQ_CHECK int prog_reload(const struct prog *p, void *cfg, struct err *e);
/* Tells the supervisor (descriptor in SEGQ_READY_FD) that we serve now; once; no-op
 * without one. */
void prog_ready(void);

/* Refusals of HUPs since the last one that was taken over, as "this; that"; "": none. For
 * /healthz. */
const char *prog_refused(void);
/* The same of a file that reload() could not take over; the others go on. The sentence begins with the
 * key that names it; logs it with file and line of that. */
void prog_refuse(const struct err *e);

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
