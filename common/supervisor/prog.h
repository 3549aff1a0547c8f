/* prog.h: what every main() does the same way: options, configuration, reload, log.
 *
 *   PROGRAM [-c FILE] [--set KEY=VALUE]... [-t] [-h] [-V]
 *   -t checks and prints the effective configuration; -h lists the keys.
 * Exit 0 = done (-t, -h, -V), 1 = cannot start, 2 = wrong usage or configuration. */
#ifndef SEGQ_PROG_H
#define SEGQ_PROG_H

#include "common/config/cfg.h"
#include "common/net/ev.h"

struct prog {
    const char *name;           /* "router" */
    const char *what;           /* a line for -h */
    const struct cfg_key *keys;
    size_t size;                /* size of the configuration struct */
    int (*check)(const void *cfg, struct err *e); /* beyond the table; NULL = nothing */
    /* With -t, and before a reload is taken over: what would become of others. NULL = nothing. */
    int (*try)(const void *cfg, struct err *e);
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

#endif
