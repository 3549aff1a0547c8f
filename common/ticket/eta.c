/* eta.c: from a place to seconds. Pure. */
#include "common/ticket/eta.h"

#include <assert.h>
#include <math.h>

double eta_seconds(double per_s, double leave, uint64_t position)
{
    double p = (double)position;

    assert(leave >= 0);
    if (!(per_s > 0))
        return -1;
    if (!(leave * p > 1e-6 * per_s)) /* nobody to speak of gives up */
        return p / per_s;
    return log1p(leave * p / per_s) / leave;
}

const char *eta_reason_name(unsigned reason)
{
    static const char *const names[ETA_NREASONS] = {
        [ETA_SLOWER] = "slower",
        [ETA_FASTER] = "faster",
        [ETA_PAUSED] = "paused",
        [ETA_STOPPED] = "stopped",
    };

    return reason < ETA_NREASONS ? names[reason] : NULL;
}
