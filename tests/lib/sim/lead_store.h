/* lead_store.h: what one of several managers asks of their store: questions and answers on the
 * way, batches of writes, and what waits for them; queuemng/store/redis_store.c and
 * queuemng/process/manager.c without sockets. */
#ifndef SEGQ_SIM_LEAD_STORE_H
#define SEGQ_SIM_LEAD_STORE_H

#include "queuemng/policy/lease.h"
#include "tests/lib/sim/state.h"

#define AGAIN_MS 100 /* until a write, or a question, is tried again */

enum lead_event { LEAD_TIMER, LEAD_UP, LEAD_DOWN, LEAD_LATE, LEAD_ANSWER, LEAD_WRITE };

struct batch { /* flat, as store_msg has it */
    struct buf text;
    bool open, whole;
    uint64_t serial;
    usec_t since;
};

struct step {
    struct mng_out *out; /* owned */
    uint64_t need;
};

struct slead {
    struct lease lease;
    bool up, begun, loading, fenced;
    bool exact; /* nobody has led since us, as far as we know */
    uint64_t fenced_by, heard_rev;
    usec_t settled, loaded, load_at;
    uint32_t link;          /* counts connections */
    uint64_t asked, answered;
    usec_t out_last, in_last;
    uint64_t timer;         /* generation */
    /* the copy */
    struct kv mirror;
    uint64_t rev, epoch;    /* epoch: written under; 0 = not */
    bool has_rev, dirty;
    struct batch next, in_flight;
    uint64_t issued, done, write_no; /* write_no: of the write that is in flight */
    bool sent;
    struct step *step;
    size_t n_steps, cap_steps;
};

void lead_answer(struct sim *s, struct store_msg *a); /* takes a */
bool lead_begun(const struct proc *p);
bool lead_may_order(const struct sim *s, const struct proc *p);
uint64_t lead_needs(const struct proc *p); /* what the store must have to have all of it */
bool lead_has(const struct proc *p, uint64_t need);

void lead_later(struct sim *s, const struct proc *p, enum lead_event what, usec_t at,
                uint64_t c, void *data);
void lead_timer_at(struct sim *s, const struct proc *p, usec_t at);
void lead_dial(struct sim *s, struct proc *p, double ms);
bool lead_ask(struct sim *s, struct proc *p, const struct store_msg *q,
              const struct buf *text);
void lead_batch_reset(struct batch *b);
void lead_batch_add(struct sim *s, struct batch *b, const char *key, const char *val);
void lead_write_go(struct sim *s, struct proc *p);
void lead_write_again(struct sim *s, struct proc *p);
void lead_send_ready(struct sim *s, struct proc *p);
void lead_drop_steps(struct slead *l);
void lead_fenced(struct sim *s, struct proc *p, uint64_t epoch);
void lead_written(struct sim *s, struct proc *p, const struct store_msg *a);

#endif
