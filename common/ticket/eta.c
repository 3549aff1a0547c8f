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
    if (!(leave * p > 1e-6 * per_s)) /* hardly anybody gives up */
        return p / per_s;
    return log1p(leave * p / per_s) / leave;
}

int64_t eta_whole_s(double per_s, double leave, uint64_t position)
{
    double eta = eta_seconds(per_s, leave, position);
    int64_t s;

    if (eta < 0 || eta > (double)INT32_MAX)
        return -1;
    eta -= 1e-6; /* 62.0000001 are 62 */
    s = (int64_t)eta;
    return s + ((double)s < eta);
}

const char *eta_reason_name(unsigned reason)
{
    static const char *const names[ETA_NREASONS] = {
        [ETA_SLOWER] = "slower",
        [ETA_FASTER] = "faster",
        [ETA_PAUSED] = "paused",
        [ETA_STOPPED] = "stopped",
        [ETA_STAY] = "stay",
    };

    return reason < ETA_NREASONS ? names[reason] : NULL;
}
