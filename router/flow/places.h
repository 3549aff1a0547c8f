/* places.h: one person in several queues: who takes the first turn, and gives the others up. Pure.
 *
 * A group that keeps the others is polled, and that is all: each place that is admitted has its pass told
 * by its own poll, as if it stood alone. Below: one that gives them up.
 *
 * No node arbitrates. Each place is a register that is written once, at its own segment, which
 * writes it down before it answers: it waits until either it is admitted (its pass was made, by a
 * poll), or it is over (given up, or however else). A router that finds one admitted does this, and
 * a second router, or the same one after a kill, does it again:
 *
 *   LOOK     polls all
 *   GIVE_UP  all that were not admitted leave, unless they are admitted by then
 *   CONFIRM  those are polled. Now every place is admitted or over, for ever, and every router sees
 *            the same: the first one admitted, in the order of the group, is the one that is kept
 *   LOSE     the other admitted ones leave: their passes are revoked, and nobody was told them
 *   TAKE     polls the one that is kept: only this answer's pass is told
 *
 * At most one pass is told: of two routers, one that tells b has seen a over before, so a was never
 * admitted behind that; one that tells a, before b in the group, has seen b over before it polled a.
 * And one is told to whoever comes again: the first of those admitted leaves for no other.
 * What no node answers for is not guessed: the call fails, and is made again.
 *
 *   JOIN     joins all. One failed: UNDO, in which what was got is given back: a place with a name (a person's,
 *            a key's) stays if another join has it, too; one without is nobody else's. Else as behind LOOK. Where
 *            that fails, the group is there all the same: it is told, and its next poll goes on */
#ifndef SEGQ_ROUTER_FLOW_PLACES_H
#define SEGQ_ROUTER_FLOW_PLACES_H

#include "router/flow/flow.h"

#define PLACES_MAX 8

enum places_step {
    PLACES_LOOK,
    PLACES_GIVE_UP,
    PLACES_CONFIRM,
    PLACES_LOSE,
    PLACES_TAKE,
    PLACES_JOIN,  /* all, or none */
    PLACES_UNDO,
    PLACES_LEAVE, /* and that is all */
    PLACES_DONE,
    PLACES_FAILED, /* nothing was told; to be asked again */
};

enum place_is { PLACE_IS_UNKNOWN, PLACE_IS_WAITING, PLACE_IS_INSIDE, PLACE_IS_ADMITTED, PLACE_IS_OVER, PLACE_NIS };

struct one_place {
    struct token token;
    uint8_t is;     /* enum place_is; INSIDE: as a leave says; UNKNOWN: no answer */
    uint8_t reason; /* enum gone_reason, OVER */
    bool early;
    uint64_t position; /* WAITING; 0: not known now */
    uint32_t poll_after_ms;
};

struct places {
    uint8_t n, step; /* enum places_step */
    bool keeps;      /* the others, when one is admitted */
    bool named;      /* JOIN: they can be found again, by a person's name or a key */
    bool vain;       /* JOIN: nobody can be told of them; set by the caller: they are given back */
    uint8_t asks;    /* a bit for each place that is asked in this step */
    uint8_t got;     /* JOIN: a bit for each that would have to be given back, */
    uint8_t bare;    /* and for those without a name */
    uint8_t failed;  /* JOIN: the first that was not got, + 1; 0: none */
    struct one_place v[PLACES_MAX];
};

/* The first step, whose asks are all n places. */
void places_begin(struct places *p, enum places_step step);
/* All were joined by a person with a name, who may join again, with another list, at two routers at once. Each of
 * these groups has its places in one order: two orders would each end what the other one keeps. The older place
 * comes first, for its pass may be told; of one second, by the names of the queues. */
void places_one_order(struct places *p, char (*queue)[NAME_MAX_LEN + 1]);
/* Begins the flow of place i in this step, which is none of JOIN. known: as flow_poll(). */
void places_ask(const struct places *p, unsigned i, struct flow *f, struct routes *r, struct replicas *known,
                msec_t now_ms);
/* The flow of place i has ended. */
void places_said(struct places *p, unsigned i, const struct flow *f);
/* All asks of the step are answered: goes on to the next one that asks something, or to an end. */
void places_next(struct places *p);
/* The first one admitted; p->n: none. */
unsigned places_first(const struct places *p);
/* The place i is given back, so far as the flow that joined it has got it. again: it may have been already. */
void place_give_back(struct flow *f, struct routes *r, const struct token *t, bool bare, bool again, msec_t now_ms);
/* The answer to a join's ask for which nobody waits any more: what it got is given back. Then the flow leaves,
 * or has ended. */
void place_came_late(struct flow *f, struct routes *r, const struct append_ans *a, bool named, msec_t now_ms);

#endif
