/* dashboard_feed.h: gathers what the dashboard shows: events, and the queues' figures. */
#ifndef SEGQ_MNG_DASHBOARD_FEED_H
#define SEGQ_MNG_DASHBOARD_FEED_H

#include "queuemng/lead/manager.h"

SQ_CHECK int dashboard_feed_start(struct mng_service *s, struct err *e);
void dashboard_feed_tick(struct mng_service *s); /* with every tick */
void dashboard_feed_end(struct mng_service *s);

#endif
