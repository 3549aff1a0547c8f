/* mng.h: managers: the shell around theirs. */
#ifndef SEGQ_SIM_MNG_H
#define SEGQ_SIM_MNG_H

#include "tests/lib/sim/state.h"

struct mng *sim_core(const struct sim *s); /* of who leads, for looking; NULL: nobody */
struct mng *sim_mng(struct sim *s, struct proc **who); /* the same, if it can be asked */
void smng_start(struct sim *s, struct proc *p);
void smng_stop(struct sim *s, struct proc *p);
void smng_up(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void smng_down(struct sim *s, struct proc *p, peer_no peer, const struct proc *other);
void smng_msg(struct sim *s, struct proc *p, peer_no peer, const struct msg *m);
void smng_tick(struct sim *s, struct proc *p);
void smng_done(struct sim *s, struct proc *p); /* performs the acts of the step at hand */
void smng_say(struct sim *s, struct proc *p, const struct out_item *it);
void smng_core_new(struct sim *s, struct proc *p);
void smng_begin(struct sim *s, struct proc *p);
int smng_load(void *proc, const char *key, const char *val);
struct mng_out *smng_out_new(void);
void smng_out_free(struct mng_out *out);

#endif
