/* dashboard.h: the dashboard: its files, which are a part of the program, and what it shows: events, and
 * the queues' figures. */
#ifndef SEGQ_QUEUEMNG_ADMIN_DASHBOARD_H
#define SEGQ_QUEUEMNG_ADMIN_DASHBOARD_H

#include "queuemng/admin/answers.h"
#include "queuemng/process/manager.h"

SQ_CHECK int dashboard_feed_start(struct mng_service *s, struct err *e);
void dashboard_feed_tick(struct mng_service *s); /* with every tick */
void dashboard_feed_end(struct mng_service *s);

/* Names of the figures of a point: means, then the least and the most of the first level, and
 * the most of the first counts. ended: as succeeded, dead or expired; failed: attempts. */
#define HISTORY_COLUMNS (HISTORY_FIGURES + 2 + HISTORY_TOPS + HISTORY_WAITS)
extern const char *const queue_columns[HISTORY_COLUMNS], *const pool_columns[HISTORY_COLUMNS];

/* False: there is no such path. */
bool admin_page(struct admin_call *c);

/* The files of deploy/dashboard, inside the program. The table is written by deploy/page/embed.sh when
 * the program is built. */
struct dash_blob {
    const char *name; /* without folders */
    const char *begin, *end;
    const char *gz, *gz_end; /* the same, in gzip */
};

extern const struct dash_blob dash_blobs[];
extern const size_t dash_blobs_n;

#endif
