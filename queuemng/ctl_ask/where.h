/* where.h: the addresses of the cluster, the admin token, the key for claims: from a folder or
 * from options. All return 0, or a negative sq_err with a sentence about what is missing. */
#ifndef SEGQ_CTL_WHERE_H
#define SEGQ_CTL_WHERE_H

#include "common/base/err.h"
#include "queuemng/ctl_ask/context.h"
#include "queuemng/ctl_ask/ctl.h"

SQ_CHECK int where_add(struct urls *list, const char *url, struct err *e);
/* Several, with blanks between them; NULL: none. */
SQ_CHECK int where_add_all(struct urls *list, const char *urls, struct err *e);
SQ_CHECK int where_token_file(struct ctl *c, const char *file, struct err *e); /* once */
SQ_CHECK int where_key_file(struct ctl *c, const char *file, struct err *e); /* likewise */
/* Fills in what was not given before, from DIR/cluster.json. */
SQ_CHECK int where_dir(struct ctl *c, const char *dir, struct err *e);
/* Fills in what was not given before, from a context. */
SQ_CHECK int where_context(struct ctl *c, const struct context *x, struct err *e);
void where_fini(struct ctl *c);

#endif
