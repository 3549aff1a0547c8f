/* commands.h: a backend's session commands: release, revoke (end now), extend. */
#ifndef SEGQ_SEG_TICKETS_COMMANDS_H
#define SEGQ_SEG_TICKETS_COMMANDS_H

#include "segment/core/opts.h"

struct arena;
struct segtab;
struct sess_ans;
struct sess_req;

void segtab_session(struct segtab *t, struct seg_now now, const struct sess_req *req,
                    uint32_t n, struct sess_ans *ans, struct arena *mem);

#endif
