/* times.h: when passes and sessions end: by what passes say (seconds of the wall clock),
 * and on the monotonic clock of this process. */
#ifndef SEGQ_SEG_TABLE_TIMES_H
#define SEGQ_SEG_TABLE_TIMES_H

#include "segment/table/state.h"

/* When the pass that was released then is over: on the monotonic clock, as are the others. */
msec_t segtab_pass_end(const struct segtab *t, const struct seg *g, int64_t at_ms);
/* The same as its pass says it: Unix seconds; of an extended session the later end. */
int64_t segtab_until_s(const struct seg *g, const struct session *x);
/* When the session is over. */
msec_t segtab_session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x);

#endif
