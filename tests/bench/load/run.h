/* run.h: a load: closed loop (each connection asks again when it has its answer) or open
 * loop (a plan says when), warm-up, intervals, and the report. Shell over conns.h. */
#ifndef SEGQ_LOAD_RUN_H
#define SEGQ_LOAD_RUN_H

#include "common/base/err.h"
#include "tests/bench/load/opts.h"

/* Prints the report on standard output. SQ_ECLOSED: could not connect; SQ_EINVAL. */
SQ_CHECK int run_load(const struct opts *o, struct err *e);
/* Holds idle connections until standard input closes. */
SQ_CHECK int run_idle(const struct opts *o, struct err *e);

#endif
