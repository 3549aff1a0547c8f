/* report.h: the end of a run, for people and for programs. */
#ifndef SEGQ_SWARM_REPORT_H
#define SEGQ_SWARM_REPORT_H

#include "common/base/buf.h"
#include "tests/bench/swarm/play.h"
#include "tests/bench/swarm/rate.h"

struct report {
    double seconds;          /* of the whole run */
    uint64_t admitted;
    uint64_t order, grew, doubled, lost; /* all must be 0 */
    uint64_t peak_1s;        /* most releases in any second */
    double released_s;       /* from the first release to the last */
    struct check_steady steady;
    struct check_order example;
    bool complete;           /* nobody was left waiting */
};

SQ_CHECK int report_make(struct report *r, const struct play *p, double seconds,
                         struct err *e);
void report_text(struct buf *b, const struct report *r, const struct play *p,
                 const struct rate_view *v);
void report_json(struct buf *b, const struct report *r, const struct play *p,
                 const struct rate_view *v);
bool report_clean(const struct report *r); /* all four are 0 */

#endif
