/* auditing.h: what happens to tickets, told to the audit trail. Does nothing without
 * a trail, or while replaying: that is asked inline, since a call that finds it out costs a
 * twentieth of a leave. What ends in _now is called from here alone. */
#ifndef SEGQ_SEG_CORE_AUDITING_H
#define SEGQ_SEG_CORE_AUDITING_H

#include "segment/core/state.h"

void segtab_audit_join_now(const struct segtab *t, const struct seg *g,
                           const struct append_req *r, uint32_t number);
void segtab_audit_ticket_now(const struct segtab *t, const struct seg *g,
                             struct ticket_id id, enum audit_kind kind);
void segtab_audit_died_now(const struct segtab *t, const struct seg *g,
                           const uint32_t *slot, uint32_t n, enum audit_kind kind);
void segtab_audit_session_now(const struct segtab *t, const struct seg *g,
                              const struct session *x, enum audit_kind kind,
                              const char *why);
void segtab_audit_released_now(const struct segtab *t, const struct seg *g,
                               const struct session *x, bool again);
void segtab_audit_seg_now(const struct segtab *t, const struct seg *g,
                          enum audit_kind kind, seg_id from, uint64_t n);

static inline bool segtab_audits(const struct segtab *t)
{
    return SQ_UNLIKELY(t->o.audit != NULL) && !t->replaying;
}

static inline void segtab_audit_join(const struct segtab *t, const struct seg *g,
                                     const struct append_req *r, uint32_t number)
{
    if (segtab_audits(t))
        segtab_audit_join_now(t, g, r, number);
}

/* A ticket in line; before its subject is forgotten. */
static inline void segtab_audit_ticket(const struct segtab *t, const struct seg *g,
                                       struct ticket_id id, enum audit_kind kind)
{
    if (segtab_audits(t))
        segtab_audit_ticket_now(t, g, id, kind);
}

static inline void segtab_audit_died(const struct segtab *t, const struct seg *g,
                                     const uint32_t *slot, uint32_t n,
                                     enum audit_kind kind)
{
    if (segtab_audits(t))
        segtab_audit_died_now(t, g, slot, n, kind);
}

/* A released ticket; before its state changes. why: NULL, the kind's own. */
static inline void segtab_audit_session(const struct segtab *t, const struct seg *g,
                                        const struct session *x, enum audit_kind kind,
                                        const char *why)
{
    if (segtab_audits(t))
        segtab_audit_session_now(t, g, x, kind, why);
}

static inline void segtab_audit_released(const struct segtab *t, const struct seg *g,
                                         const struct session *x, bool again)
{
    if (segtab_audits(t) && t->popping != 0)
        segtab_audit_released_now(t, g, x, again);
}

/* A segment, with n tickets, from the segment `from`. */
static inline void segtab_audit_seg(const struct segtab *t, const struct seg *g,
                                    enum audit_kind kind, seg_id from, uint64_t n)
{
    if (segtab_audits(t))
        segtab_audit_seg_now(t, g, kind, from, n);
}

#endif
