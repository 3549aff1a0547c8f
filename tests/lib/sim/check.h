/* check.h: tickets as they should be, and the invariants; hooks, called where the thing happens. */
#ifndef SEGQ_SIM_CHECK_H
#define SEGQ_SIM_CHECK_H

#include "tests/lib/sim/state.h"

void check_opened(struct sim *s, const struct proc *p, const struct msg_seg_open *o);
void check_appended(struct sim *s, const struct proc *p, const struct append_req *q,
                    const struct append_ans *a);
void check_placed(struct sim *s, const struct proc *p, const struct place_req *q,
                  const struct place_ans *a);
/* The same of those who are told unasked. */
void check_let_in(struct sim *s, const struct proc *p, const struct msg_let_in *m);
struct known { /* what an answer tells: */
    usec_t as_of;    /* the true moment of that state */
    msec_t fence_ms; /* how long the name had been fenced, at most; 0: it was not */
    bool kept;       /* the node could not be asked */
    msec_t far_ms;   /* way to it and back, as the router knows it */
    uint8_t node;    /* process */
};

/* A router has answered a poll without `node`, from a state of then. */
void check_known(struct sim *s, const struct proc *router, const struct proc *node,
                 const struct token *q, const struct flow *f, const struct known *k);
void check_popped(struct sim *s, const struct msg_seg_popped *g, const struct msg *order);
void check_map(struct sim *s, const struct msg_map *g);
void check_stored(struct sim *s, const char *key, const char *val);
void check_answer(struct sim *s, struct player *p, const struct sans *a);
void check_sweep(struct sim *s);
double check_rate(const struct squeue *q, int64_t from_ms, int64_t to_ms);
uint64_t check_hash(const char *p, size_t n);
struct ticket *check_ticket(struct sim *s, seg_id seg, uint32_t number);
struct sseg *check_seg(struct sim *s, seg_id id);
struct sseg *check_host(struct sim *s, seg_id id); /* who has its tickets */
/* A manager hears it again. */
void check_heard_anew(const struct sim *s, struct proc *node);
void check_given_up(struct sim *s, const struct proc *mng); /* nodes that it takes for lost */

#endif
