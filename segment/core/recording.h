/* recording.h: changes as records of the journal. All of them do nothing without a log, or
 * while replaying. A run of joins is held back until something else happens or the batch is
 * over. */
#ifndef SEGQ_SEG_CORE_RECORDING_H
#define SEGQ_SEG_CORE_RECORDING_H

#include "segment/core/state.h"

static inline bool segtab_logs(const struct segtab *t)
{
    return (t->o.log != NULL || t->snap != NULL) && !t->replaying;
}

/* Appends a record, behind the joins so far. */
void segtab_log(struct segtab *t, const struct jrec *r);
/* A record whose contents are one number. */
void segtab_log_set(struct segtab *t, enum jrec_kind k, seg_id seg, uint64_t n);
void segtab_log_epoch(struct segtab *t);
/* The rules of a queue, behind those with a longer pass_ttl that still counts. */
void segtab_log_rules(struct segtab *t, const struct queue *q);
void segtab_log_open(struct segtab *t, const struct seg *g, uint8_t kind);
void segtab_log_join(struct segtab *t, const struct seg *g, uint32_t number);
void segtab_log_joins(struct segtab *t); /* the run so far */
void segtab_log_subject(struct segtab *t, const struct seg *g, const struct subject *x);
/* CONTACT: all of it; CONTACT_SAID: which words. */
void segtab_log_contact(struct segtab *t, const struct seg *g, enum jrec_kind k, const struct contact *x);
/* Slots in rising order. */
void segtab_log_drops(struct segtab *t, const struct seg *g, const uint32_t *slot,
                      uint32_t n, enum dead why);
void segtab_log_session(struct segtab *t, const struct seg *g, const struct session *x);
void segtab_log_used(struct segtab *t, const struct seg *g, struct ticket_id id, uint64_t used);
void segtab_log_extend(struct segtab *t, const struct seg *g, struct ticket_id id,
                       int64_t until_s);
void segtab_log_entered(struct segtab *t, const struct seg *g, const struct session *x);
void segtab_log_released(struct segtab *t, const struct seg *g, const struct mark_row *r);
void segtab_log_rebuild(struct segtab *t, const struct seg *g);
/* Appends its releases that the manager has not stored. */
void segtab_log_unstored(struct segtab *t, const struct seg *g);
void segtab_log_forget(struct segtab *t, const struct seg *g, struct ticket_id id);
void segtab_log_reloc(struct segtab *t, const struct seg *g, const struct reloc *r);
void segtab_log_final(struct segtab *t, const struct seg *g, uint64_t move, seg_id to);
/* All that the commit of `x` has just given to g; its tables have no host yet. */
void segtab_log_absorbed(struct segtab *t, const struct seg *g, const struct xfer_in *x);
/* The closing time of early tickets, or the draw; else nothing. */
void segtab_log_draw(struct segtab *t, const struct seg *g);

#endif
