/* dashboard_feed.h: gathers what the dashboard shows: events, and the queues' figures. */
#ifndef SEGQ_MNG_DASHBOARD_FEED_H
#define SEGQ_MNG_DASHBOARD_FEED_H

#include "queuemng/lead/manager.h"

SQ_CHECK int dashboard_feed_start(struct mng_service *s, struct err *e);
void dashboard_feed_tick(struct mng_service *s); /* with every tick */
void dashboard_feed_end(struct mng_service *s);

/* Names of the figures of a point: means, then the least and the most of the first level, and
 * the most of the first counts. ended: as succeeded, dead or expired; failed: attempts. */
#define HISTORY_COLUMNS (HISTORY_FIGURES + 2 + HISTORY_TOPS)
extern const char *const queue_columns[HISTORY_COLUMNS], *const pool_columns[HISTORY_COLUMNS];

#endif
