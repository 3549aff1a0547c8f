/* options.h: the options of segqctl, as getopt wants them. */
#ifndef SEGQ_CTL_OPTIONS_H
#define SEGQ_CTL_OPTIONS_H

#include <getopt.h>

enum {
    OPT_DIR = 256,
    OPT_ADMIN,
    OPT_TOKEN,
    OPT_ROUTER,
    OPT_CLIENT,
    OPT_SUBJECT,
    OPT_JSON,
    OPT_ALL,
    OPT_YES,
    OPT_CLAIM,
    OPT_KEY,
    OPT_KID,
    OPT_LABEL,
    OPT_LANE,
    OPT_REPLACES,
    OPT_TASK,
    OPT_TASK_KEY,
    OPT_PRIORITY,
    OPT_TTL,
    OPT_TIMEOUT,
    OPT_DRY_RUN,
    OPT_FORCE,
    OPT_CACERT,
    OPT_CONTEXT,
    OPT_COLOR,
    OPT_INTERVAL
};

extern const struct option ctl_options[]; /* ended by name == NULL */

#endif
