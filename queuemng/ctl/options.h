/* options.h: the options of segqctl, in one table. */
#ifndef SEGQ_CTL_OPTIONS_H
#define SEGQ_CTL_OPTIONS_H

#include <getopt.h>

#include "common/base/buf.h"

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

struct ctl_option {
    const char *name; /* behind -- */
    int opt;          /* a letter, or one of the above */
    const char *takes, *help; /* takes NULL: no value */
};

extern const struct ctl_option ctl_options[]; /* ended by name == NULL */

const struct option *options_for_getopt(void);
/* Is it one of these, which have blanks between them? NULL: of none. */
bool option_is_in(const char *list, const char *name);
/* Prints what options are for, a line each: of those in this list; NULL: of all. */
void options_help(struct buf *b, const char *list);

#endif
