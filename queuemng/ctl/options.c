/* options.c: see the header. */
#include "queuemng/ctl/options.h"

#include <stddef.h>

const struct option ctl_options[] = {
    { "dir", required_argument, NULL, OPT_DIR },
    { "admin", required_argument, NULL, OPT_ADMIN },
    { "token-file", required_argument, NULL, OPT_TOKEN },
    { "cacert", required_argument, NULL, OPT_CACERT },
    { "router", required_argument, NULL, OPT_ROUTER },
    { "client", required_argument, NULL, OPT_CLIENT },
    { "subject", required_argument, NULL, OPT_SUBJECT },
    { "claim", required_argument, NULL, OPT_CLAIM },
    { "key", required_argument, NULL, OPT_KEY },
    { "kid", required_argument, NULL, OPT_KID },
    { "label", required_argument, NULL, OPT_LABEL },
    { "lane", required_argument, NULL, OPT_LANE },
    { "replaces", required_argument, NULL, OPT_REPLACES },
    { "task", required_argument, NULL, OPT_TASK },
    { "task-key", required_argument, NULL, OPT_TASK_KEY },
    { "priority", required_argument, NULL, OPT_PRIORITY },
    { "ttl", required_argument, NULL, OPT_TTL },
    { "context", required_argument, NULL, OPT_CONTEXT },
    { "output", required_argument, NULL, 'o' },
    { "json", no_argument, NULL, OPT_JSON },
    { "color", required_argument, NULL, OPT_COLOR },
    { "all", no_argument, NULL, OPT_ALL },
    { "dry-run", no_argument, NULL, OPT_DRY_RUN },
    { "force", no_argument, NULL, OPT_FORCE },
    { "interval", required_argument, NULL, OPT_INTERVAL },
    { "count", required_argument, NULL, 'n' },
    { "yes", no_argument, NULL, OPT_YES },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { 0 },
};
