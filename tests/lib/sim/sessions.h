/* sessions.h: extend, revoke, release; what routers know of passes. */
#ifndef SEGQ_SIM_SESSIONS_H
#define SEGQ_SIM_SESSIONS_H

#include "tests/lib/sim/state.h"

bool session_ends_by_pass(struct sim *s, struct player *p);
bool session_is_extended(struct sim *s, struct player *p);
int64_t session_until_s(const struct sim *s, const struct route_queue *q,
                        const struct sreq *r);
void session_ended(struct sim *s, struct ticket *t);
void session_done(struct sim *s, const struct sess_req *q, const struct sess_ans *a);
int64_t session_last_s(const struct ticket *t); /* the session is over then */
bool session_may_say(const struct ticket *t, int64_t expires_s); /* the pass may say so */
void sessions_sweep(struct sim *s);

#endif
