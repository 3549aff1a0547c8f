/* measure.h: segqctl measure: what a request costs this machine, for segqctl rehearse --costs. */
#ifndef SEGQ_CTL_MEASURE_H
#define SEGQ_CTL_MEASURE_H

#include "queuemng/ctl_ask/round_trip.h"

int cmd_measure(struct ctl *c, char **argv); /* enum ctl_exit */

#endif
