/* join.h: joins: MSG_APPEND. */
#ifndef SEGQ_SEG_TICKETS_JOIN_H
#define SEGQ_SEG_TICKETS_JOIN_H

#include "segment/core/opts.h"

struct append_ans;
struct append_req;
struct arena;
struct outbox;
struct segtab;

/* Passes of those that are let in are put into mem. Returns how many have their answers in ans; the
 * others (append_ans.row says which they are) wait for another node's word, and are answered by a later
 * segtab_append_due(). from NULL: nobody waits. */
uint32_t segtab_append_from(struct segtab *t, struct seg_now now, const struct append_from *from,
                            const struct append_req *req, uint32_t n, struct append_ans *ans,
                            struct arena *mem);
static inline void segtab_append(struct segtab *t, struct seg_now now, const struct append_req *req,
                                 uint32_t n, struct append_ans *ans, struct arena *mem)
{
    (void)segtab_append_from(t, now, NULL, req, n, ans, mem);
}
/* Answers those whose word is here, or for whom none will be: SEGTAB_ASK. */
void segtab_append_due(struct segtab *t, struct outbox *out);

#endif
