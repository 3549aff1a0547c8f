/* quiet.h: a log that nobody reads. */
#ifndef SEGQ_TEST_QUIET_H
#define SEGQ_TEST_QUIET_H

#include "common/base/log.h"

static inline void quiet_line(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static inline void quiet_log(void)
{
    log_set_sink(quiet_line, NULL);
}

#endif
