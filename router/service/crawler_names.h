/* crawler_names.h: asks name servers for crawlers.h. Shell. */
#ifndef SEGQ_CRAWLER_NAMES_H
#define SEGQ_CRAWLER_NAMES_H

#include "router/gate/crawlers.h"

struct ev;
struct crawler_names;

/* NULL: no memory. */
struct crawler_names *crawler_names_new(struct ev *ev);
void crawler_names_free(struct crawler_names *n);
struct crawlers *crawler_names_of(struct crawler_names *n); /* n NULL: NULL */

#endif
