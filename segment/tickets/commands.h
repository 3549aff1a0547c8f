/* commands.h: leaves (MSG_DROP), and a backend's session commands (MSG_SESSION): release, revoke
 * (end now), extend, use. */
#ifndef SEGQ_SEG_TICKETS_COMMANDS_H
#define SEGQ_SEG_TICKETS_COMMANDS_H

#include "segment/core/opts.h"

struct arena;
struct drop_ans;
struct drop_req;
struct segtab;
struct sess_ans;
struct sess_req;

void segtab_drop(struct segtab *t, struct seg_now now, const struct drop_req *req,
                 uint32_t n, struct drop_ans *ans);
void segtab_session(struct segtab *t, struct seg_now now, const struct sess_req *req,
                    uint32_t n, struct sess_ans *ans, struct arena *mem);

#endif
