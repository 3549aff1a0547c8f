/* queue.h: a queue of people and its lanes: found by name and number, their state as routers, nodes
 * and operators see it, and the release under way in a lane (struct mpop; release/pop.c gives the
 * orders). */
#ifndef SEGQ_QUEUEMNG_STATE_QUEUE_H
#define SEGQ_QUEUEMNG_STATE_QUEUE_H

#include "common/base/base.h"
#include "common/base/list.h"
#include "common/ticket/pace.h"
#include "common/wire/msg_router_manager.h"
#include "queuemng/policy/claim.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/joins.h"
#include "queuemng/policy/queue_def.h"
#include "queuemng/policy/release.h"
#include "queuemng/policy/schedule.h"

/* How many of a queue's max_active are free.
 *
 * A person is inside from the release until the pass, or the time to collect it, is over. Every
 * uncertainty counts as inside, so that there are never more than max_active:
 *
 *   reported              ready and active, as of its node's last report; ends that were not
 *                         reported yet are still inside
 *   a pop under way       all of it
 *   credit of a tail      all of it that its node has not said is used, or never will be
 *   a pop given up        all of it, until its node reports again
 *   its absorbed tickets are missing
 *                         every stored release (marks.h) that is younger than a session
 *                         can be: others nobody was told of
 *   lost                  every stored release whose pass may be good, since whoever had left
 *                         is brought back by a poll; and, until any session of that time is
 *                         over (queue_unreported_ms()), all who were inside by its last report:
 *                         theirs may have been renewed. Both, also when it is opened elsewhere
 *   the queue was flushed  all who were inside then, as long: their passes are good, and
 *                         nobody knows who leaves
 *   not heard of by this manager
 *                         an earlier one may have released there, to be stored when it is
 *                         back: nothing is free until it is, or is lost
 *
 * Whoever left within the grace, or came back in it, is outside and needs a slot like others. */

struct mng;
struct mqueue;
struct mseg;

struct munreported { /* people who may be inside for a while, though no node reports them */
    uint64_t n;
    int64_t until_ms; /* wall clock */
    msec_t since_ms;  /* our own; 0: before our time */
};

/* People who may be inside: never less than there are. */
uint64_t slots_inside(const struct mng *m, const struct mqueue *q);
/* People who may be let in now; in mode `rate` UINT64_MAX. */
uint64_t slots_free(const struct mng *m, const struct mqueue *q);
/* False: some of its segments are not heard of, so more may be inside. */
bool slots_known(const struct mqueue *q);
/* The part of them that was released before the last flush; nobody tells when they leave. */
uint64_t slots_flushed(const struct mng *m, const struct mqueue *q);
/* Before the segment counts as lost. */
void slots_lost(const struct mng *m, struct mseg *s);
/* Notes that its node has the segment after all. */
void slots_found(const struct mng *m, struct mseg *s);
/* Before the segments of a flushed queue go. */
void slots_flush(const struct mng *m, struct mqueue *q);

struct map_phase;
struct mlane;
struct queue_def;
struct shadow_play;

struct mpop { /* the release under way in a lane: one SEG_POP at a time */
    bool busy;
    seg_id seg;
    uint64_t tick;
    uint32_t n;
    uint64_t left;      /* to give after this one, from the next segments */
    uint64_t by_hand;   /* part of that, let in by hand */
    msec_t sent_ms, since_ms;
    int64_t wall_ms;
};

struct mlane {
    struct mqueue *q;   /* ref */
    unsigned no;
    struct list segs;
    struct malias *alias; /* owned; those of one target in the order of its line */
    uint32_t n_alias, cap_alias;
    struct mchunk **chunk; /* owned; the latest releases, oldest first */
    uint32_t n_chunks, cap_chunks;
    uint64_t next_chunk;
    bool recovering; /* the last look for somebody to release ended at a rebuild */
    bool past_away;  /* it met a segment that cannot be reached */
    bool has_lost;   /* some segment waits for a node */
    bool has_missing_source;  /* or for what it absorbed */
    struct mpop pop;
    bool dirty;
    struct list_node in_dirty;
    /* sums over the chain, by lane_sum() */
    uint64_t waiting, returning, ready, active, room;
    uint32_t n_unused;  /* open segments that nobody has joined, beyond the first open one */
    msec_t spare_ms;    /* since when there is more of them than joins want; 0: there is not */
    uint64_t missing;   /* people of lost segments: not back yet, at most */
    uint32_t n_away;    /* segments that are lost, or being rebuilt */
    uint64_t joined, left, expired, no_shows; /* sums of segments that are there */
    uint64_t gone_joined, gone_left, gone_expired, gone_no_shows; /* sums of those removed */
    uint64_t released;  /* ever, in this manager's time */
    /* rates */
    uint64_t joined_before, released_before;
    msec_t came_ms;   /* when somebody last joined; 0: not in this manager's time */
    uint64_t came;    /* since sampled_ms */
    uint64_t came_ever; /* in this manager's time */
    double came_peak; /* in a tick, lately */
    msec_t sampled_ms;
    double join_per_s, release_per_s;
    uint64_t let_in;  /* in the last second */
    struct eta_lane eta;
    uint64_t eta_released, eta_gone; /* at its last look */
    uint32_t held_s;    /* seconds in a row in which a rebuild, or nodes that are away, let nobody in */
    struct pace pace;   /* pace as last sent; */
    uint64_t soon;      /* and places whose turn comes soon */
    msec_t told_ms;     /* until then somebody may stay away, as he was told */
    uint32_t most_ms;   /* the longest interval that some node may be telling now */
    uint64_t stored_told_ms; /* stored: not less than told_ms is away; 0: poll_max will do */
    uint64_t manual;    /* tickets an operator has released by hand, still to go */
    uint64_t ordinals;  /* given to segments, ever; stored */
};

struct mqueue {
    queue_id id;
    struct queue_def def; /* owned */
    uint64_t version;     /* version of the definition */
    struct release rel;
    struct shadow_play *shadow; /* owned; NULL: it is none (release/shadow.h) */
    struct no_show no_show;
    struct quiet quiet;
    struct flood flood; /* joins that routers told, and what is asked of them */
    uint32_t suspects;  /* address prefixes that routers suspect now; of each router */
    unsigned n_lanes;
    struct mlane lane[LANES_MAX];
    bool full;            /* max_waiting reached */
    uint64_t map_version; /* when its map record last changed */
    struct schedule sched;
    char *moved;          /* owned; tickets that change their device (core/orders.h); NULL: none */
    bool early_ready;     /* routers may send people to the pre-queue */
    struct munreported flushed, lost; /* with the flush, with lost segments; queue.h */
    int64_t deleted_until_ms; /* wall clock; 0: it is not deleted; core/queues.h */
    int deleted_state;        /* state of it before */
    bool put_def, put_chain, put_marks, put_sched; /* to be stored at the end of this step */
    bool active;          /* in mng.active: somebody waits */
    bool stats_dirty;
    double allowed_per_s;
    struct claim claim;   /* to its budget's, */
    uint64_t budget_rate; /* and how much of the rate it may use now */
    struct list_node in_all, in_active, in_puts, in_urgent;
};

/* All of them, in order; the one at hand may be removed, or freed, in the body. */
#define each_queue(m, q)    list_each_of(&(m)->queues, struct mqueue, in_all, q)
#define each_active(m, q)   list_each_of(&(m)->active, struct mqueue, in_active, q)
/* NULL for NULL. */
#define list_queue(it) list_entry(it, struct mqueue, in_all)

/* 1 if the definition names none. */
unsigned def_lane_count(const struct queue_def *d);
/* i < def_lane_count(). */
const char *def_lane_name(const struct queue_def *d, unsigned i);
/* NULL: no such queue (any more). */
struct mqueue *queue_by_id(const struct mng *m, queue_id id);
/* By name; NULL: none, or it is deleted. */
struct mqueue *queue_find(const struct mng *m, const char *name);
/* By name, one that was deleted and can be restored; NULL: none. */
struct mqueue *queue_deleted(const struct mng *m, const char *name);
/* From now on queue_find() finds it. SQ_ENOMEM: it does not. */
SQ_CHECK int queue_name(struct mng *m, const struct mqueue *q);
/* From now on queue_find() does not find it. */
void queue_unname(struct mng *m, const struct mqueue *q);
/* True: nobody is released before it opens. */
bool sched_holds(const struct mqueue *q);
/* True: everybody is let in at once, by the operator's word or as a shadow. */
bool queue_is_free(const struct mqueue *q);
/* True: its lanes need an open tail. */
bool queue_wants_room(const struct mqueue *q);
/* enum queue_state: what routers are to do. */
uint8_t queue_map_state(const struct mqueue *q);
/* Why, and the times that people are shown. */
struct map_phase queue_map_phase(const struct mqueue *q);
/* The name that GET /v1/queues/{queue} says. */
const char *queue_public_state(const struct mqueue *q);
/* ms: the longest interval that a person is told while poll_max holds. */
uint32_t poll_max_longest(const struct mqueue *q);

/* Tickets that the allowed rate is worth in one tick. */
double one_tick(const struct mng *m, const struct mqueue *q);
/* The release of the lane is over; refund: the unused tickets may be given later. */
void pop_end(struct mng *m, struct mlane *l, uint64_t unused, bool refund);
/* A segment goes: a release from it is over. */
void pop_seg_gone(struct mng *m, struct mseg *s);
/* ms without a poll from which the whole queue counts as silent (policy/release.h). */
msec_t pop_quiet_ms(const struct mqueue *q);

/* Notes what has changed, so that the end of the step (core/tick.c) or the next
 * tick acts on it.
 *
 * Each call is cheap and may be repeated: what is noted already stays noted once. */

/* Notes a changed map record: every router is sent it at the end of the step. */
void queue_mapped(struct mng *m, struct mqueue *q);
/* The map's list of nodes, or of their keys, has changed. */
void map_nodes_changed(struct mng *m);
/* Notes what is stored at the end of the step, by its put_... flags. */
void queue_put_later(struct mng *m, struct mqueue *q);
/* Stores its definition at the end of the step. */
void queue_def_changed(struct mng *m, struct mqueue *q);
/* Stores its chains, likewise. */
void queue_chain_changed(struct mng *m, struct mqueue *q);
/* People wait in it: it has ticks from now on. */
void queue_wake(struct mng *m, struct mqueue *q);
/* Releases from it in this step, not only at the next tick, if it has ticks. */
void queue_urgent(struct mng *m, struct mqueue *q);
/* Takes a new definition: it gets the lanes of that, each planned in this step. */
void queue_fit_lanes(struct mng *m, struct mqueue *q);
/* The lane is planned at the end of the step. */
void lane_touch(struct mng *m, struct mlane *l);
/* The segment is to be reconciled with the next tick (chain/reconcile.h). */
void seg_todo(struct mng *m, struct mseg *s);

#endif
