/* listeners.h: who listens to a ticket on an open connection: whose ticket is looked at when, and
 * what of a look is told. Pure.
 *
 * A look is a poll that nobody sends: by the replica or by asking the node, with the same answer,
 * and with its mark, so an open connection counts as polling.
 *
 *   add --> waits for its wake --due--> LOOK: looks --heard, put off--> waits for its wake
 *             ^      | its bit has gone out: due at once                  (told pace)
 *             '------'--> BEAT: silent for listen_beat_ms()
 *
 * Bits are compared by name, and only if rows of that name were applied: a number and a pointer
 * a listener, one after the other. A look that is under way when the bit goes out may bring the
 * state from before: another one follows it.
 *
 * Memory: listeners are the caller's, one each; of what is here a listener costs 17 or 18 bytes, its
 * name 80 and more. */
#ifndef SEGQ_ROUTER_LISTENERS_H
#define SEGQ_ROUTER_LISTENERS_H

#include <assert.h>

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/ticket/token.h"
#include "router/flow/flow.h"

#define LISTEN_BEAT_MS  15000 /* nothing was sent for so long: something is */
#define LISTEN_NEAR_MS  5000  /* the same for who would poll as often: few, and near their turn */
#define LISTEN_QUIET_MS 45000 /* a place that does not change is told so often all the same */
#define LISTEN_SLOT_MS  100   /* wakes are rounded up to it */
#define LISTEN_SLOTS    256

static_assert(LISTEN_SLOTS * LISTEN_SLOT_MS > LISTEN_BEAT_MS + LISTEN_SLOT_MS, "no wake is beyond");

struct listen_name;

struct listen_ticket {
    struct token token;
    struct list_node in_wakes;
    struct listen_name *name;
    uint64_t position;  /* told last; 0: none */
    uint32_t words;     /* hash of the rest that was told last, the caller's */
    uint32_t at;        /* in its name */
    uint32_t told_ms;   /* last event, modulo 2^32: it is told every LISTEN_QUIET_MS */
    uint16_t slot;      /* while it waits; LISTEN_SLOTS: in `due` */
    bool looking : 1, again : 1, told : 1; /* again: the look that is under way came too early */
    bool near : 1;      /* was told a pace of at most LISTEN_NEAR_MS, once */
    uint8_t wanted;     /* by replicas_want() */
    msec_t look_ms, sent_ms; /* next look; last byte */
};

struct listeners {
    struct map names; /* seg_id -> struct listen_name *, owned */
    size_t n;
    struct list due; /* at once */
    struct list slot[LISTEN_SLOTS]; /* by wake */
    int64_t now_slot; /* slots before it are empty */
    uint64_t changes; /* lines of the replica that were looked at */
};

enum listen_todo { LISTEN_LOOK, LISTEN_BEAT };

void listeners_init(struct listeners *l);
void listeners_fini(struct listeners *l); /* all were removed */

/* A listener whose ticket has just been looked at, by its node. False: no memory, or very many listen to it. */
SQ_CHECK bool listeners_add(struct listeners *l, struct listen_ticket *x, const struct token *t,
                            msec_t now_ms);
void listeners_remove(struct listeners *l, struct listen_ticket *x);
/* The longest silence of its stream. It only becomes shorter, so a client is never told too late. */
msec_t listen_beat_ms(const struct listen_ticket *x);
/* Any of them; NULL: there is none. */
struct listen_ticket *listeners_first(const struct listeners *l);

/* Rows of the replica were applied. True: some are due at once. */
bool listeners_pushed(struct listeners *l, const struct routes *r, const struct replicas *known);
/* The next one that is due, and what; NULL: none. LISTEN_LOOK: flow_poll(), and then one of the
 * three below, or listeners_remove(). LISTEN_BEAT: something is to be sent. */
struct listen_ticket *listeners_due(struct listeners *l, msec_t now_ms, enum listen_todo *todo);

/* A look has ended: it waits, as f says. True: that is to be told. can_tell false: its client is
 * slow; the newest ticket is told once it has read. */
SQ_CHECK bool listeners_heard(struct listeners *l, struct listen_ticket *x, const struct flow *f,
                              uint32_t words, bool can_tell, msec_t now_ms);
/* Behind the same, by its node: one that is far is to say the release unasked of who is near the
 * turn (replicas_want()). */
void listeners_want(struct listen_ticket *x, const struct replicas *known, node_no node);
/* Before listeners_remove(). */
void listeners_want_no_more(struct listen_ticket *x, const struct replicas *known);
/* Listeners of this ticket, one after the other; NULL: there is no further one. *below begins as
 * UINT32_MAX; each, and no other, may be removed before the next. However many listen to others. */
struct listen_ticket *listeners_of(const struct listeners *l, seg_id seg, uint32_t number,
                                   uint32_t *below);
/* A look that was not due begins: its answer is here. */
void listeners_look(struct listeners *l, struct listen_ticket *x);
/* A look has ended without an answer. */
void listeners_put_off(struct listeners *l, struct listen_ticket *x, msec_t now_ms);

/* When a client whose stream ends by us comes back, so that `n` of them do not come together. */
uint32_t listen_return_ms(const struct listen_ticket *x, size_t n);

#endif
