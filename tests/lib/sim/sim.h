/* sim.h: a whole cluster in one thread: the real cores of queuemng, segment nodes and
 * routers, players, a network that delays and breaks, a virtual clock. Seeded: the same
 * options give the same run, event by event.
 *
 * Every message between cores goes through the codec. After every step the invariants of
 * proto/PROTOCOL.md are checked as far as that step could break them; a full sweep over all
 * waiting tickets comes every few dozen steps (check.c says which is which). The
 * first violation stops the run: sim_ok() is false, sim_report() prints seed and trace. */
#ifndef SEGQ_SIM_H
#define SEGQ_SIM_H

#include "common/base/base.h"
#include "queuemng/core/mng.h"

#include <stdio.h>

#define SIM_SEGS_MAX    8
#define SIM_MNGS_MAX    3
#define SIM_ROUTERS_MAX 4
#define SIM_QUEUES_MAX  4

/* How often each fault comes: events per virtual minute; 0 = never. */
struct sim_faults {
    double link_break;   /* a link between two processes, short (under a second) */
    double link_cut;     /* the same, for up to 8 s */
    double slow_link;    /* up to a second of extra delay */
    double pause;        /* SIGSTOP, up to 6 s */
    double router_restart, routers_gone; /* one; all at once, for up to 20 s */
    double mng_restart;  /* half of them between a stored pair and what follows it */
    double seg_lose;     /* one loses memory and journal; needs lost_after_ms */
    double seg_kill;     /* one restarts with its journal; half of them within a turn */
    double drain;        /* a node is emptied, and taken back later */
    double queue_pause, queue_close, queue_put, release_by_hand;
    double add_node;
    /* with several managers: their store */
    double store_away, store_slow, store_forget, store_failover;
    double clock_jump;   /* a wall clock leaps by a day or an hour, or runs 5 min beside */
    double link_oneway;  /* one direction is lost without a word, for about three heartbeats */
    double slow_proc;    /* a process takes up to 20 ms for each thing, up to 6 s */
    double storm;        /* half of all processes restart within two seconds, some twice */
    double disk_full, disk_slow; /* of a segment node, up to 6 s */
    double queue_passthrough, queue_reject, queue_patch;
    double forget;       /* a node is to be forgotten: only done if it is down and empty */
    double drain_all;    /* all nodes at once are to be emptied, for up to 40 s */
};

/* Names of the regions of ocean_ms, by number of a process; without an ocean nobody says one. */
#define SIM_REGION(s, no) ((s)->o.ocean_ms <= 0 ? "" : (no) % 3 == 0 ? "eu" : (no) % 3 == 1 ? "us" : "ap")
#define SIM_FAR_MS 750 /* STREAM_FAR_MS of routers */

struct sim_opts {
    uint64_t seed;
    unsigned segs, routers, queues, lanes; /* 0 = 1 */
    bool asks_on; /* who has left asks how his place stands, behind a loss of it, too */
    unsigned managers; /* 0 = 1: alone, with a store of its own; else a lease in a shared one */
    uint32_t capacity;                     /* of a segment; 0 = 50 */
    double open_next_at;                   /* 0 = 0.8 */
    double release_per_s;
    uint32_t max_active;                   /* > 0: by slots, and (if not slots_only) rate */
    uint32_t slots_only;
    msec_t away_ms;
    double no_show_boost;                  /* 0 = 1 */
    bool no_merge;
    msec_t opens_ms, prequeue_ms; /* virtual time; 0: open from the start */
    uint32_t prequeue_capacity;   /* 0 = 100 */
    msec_t idle_ms, claim_ms, grace_ms, pass_ttl_ms; /* 0: 30 s, 10 s, 20 s, 60 s */
    msec_t poll_min_ms, poll_max_ms;                 /* 0: 500, 2000 */
    msec_t skip_after_ms;  /* of the manager; 0 = never, so that order is exact */
    msec_t lost_after_ms;  /* 0 = never */
    uint64_t max_tickets;  /* of a node; 0 = plenty */
    /* what players do */
    double leave_share;    /* leave while waiting */
    double vanish_share;   /* never come back */
    double late_share;     /* stay away for a while, then poll again */
    double subject_share;  /* come under a name, half of them under one that is known */
    double replace_share;  /* take a place in another lane by a claim, while they wait */
    double session_leave_share; /* admitted ones that end their session themselves */
    bool few_leaps; /* the managers' clock leaps at most once in the life of a pass */
    double contact_share;  /* people who are told that they are let in, */
    msec_t soon_ms;        /* and that they soon will be; 0: not */
    double command_share;  /* sessions about which backends say something, now and then */
    msec_t session_max_ms; /* 0: they are not extended */
    msec_t fresh_ms;       /* of routers: replica_fresh; 0 = 250; below 0: they ask always */
    msec_t keep_ms;        /* of routers: replica_keep; 0 = 15 s; below 0: none */
    double ocean_ms;       /* > 0: processes are in three regions, one way between which takes from a
                            * quarter of it to all of it, each direction by itself */
    double listen_share;   /* polls in whose place players listen, and are told at once */
    uint32_t portion;      /* of segment nodes: segtab_opts.portion */
    bool told;             /* positions that two people are told are compared; told.c */
    struct sim_faults faults;
};

struct sim;

struct sim *sim_new(const struct sim_opts *o); /* exits the program without memory */
void sim_free(struct sim *s);

/* n players join `queue` (0..) and `lane`, at random moments of the next over_ms. */
void sim_join(struct sim *s, unsigned queue, unsigned lane, unsigned n, msec_t over_ms);
void sim_run(struct sim *s, msec_t ms); /* until then, or until a violation */
/* Runs until nobody waits, polls or is in the air and chains are as short as they get.
 * false: not within max_ms (that is a violation, too). */
bool sim_run_until_quiet(struct sim *s, msec_t max_ms);
bool sim_run_until(struct sim *s, bool (*is)(struct sim *s), msec_t max_ms);
/* No more faults; everything that was broken is mended, every queue open and fast. */
void sim_heal(struct sim *s, double release_per_s);
/* Stops joins, leaves and releases, waits until the figures have arrived, and compares
 * every position with the true order (I5). Releases go on afterwards. */
void sim_check_positions(struct sim *s);
bool sim_ok(const struct sim *s);
const char *sim_why(const struct sim *s); /* the violation, one sentence */
/* What went wrong, the end of the trace, how to run it again. */
void sim_report(const struct sim *s, FILE *f, const char *program);

/* ---- operators and faults, for tests of one story --------------------------------- */
void sim_drain(struct sim *s, unsigned seg_node, bool on);
void sim_order(struct sim *s, unsigned queue, enum mng_order o);
void sim_release(struct sim *s, unsigned queue, uint64_t n);
void sim_rate(struct sim *s, unsigned queue, double per_s);
void sim_max_active(struct sim *s, unsigned queue, uint32_t n);
void sim_add_node(struct sim *s);
void sim_leave_waiting(struct sim *s, unsigned queue, double share); /* of who waits */
enum sim_who { SIM_MNG, SIM_SEG, SIM_ROUTER };
void sim_pause(struct sim *s, enum sim_who who, unsigned no, msec_t ms);
void sim_restart(struct sim *s, enum sim_who who, unsigned no, msec_t down_ms);
void sim_lose(struct sim *s, unsigned seg_node, msec_t down_ms); /* memory and journal */
void sim_clock(struct sim *s, enum sim_who who, unsigned no, int64_t off_ms); /* wall */
void sim_disk_full(struct sim *s, unsigned no, msec_t ms); /* of a segment node */
void sim_cut(struct sim *s, enum sim_who a, unsigned a_no, enum sim_who b, unsigned b_no,
             msec_t ms);

/* ---- looking ----------------------------------------------------------------------- */
struct sim_counts {
    uint64_t credited; /* let in by their nodes with the join */
    uint64_t steps, messages, sweeps, joined, admitted, entered, gone, left, vanished;
    uint64_t waiting; /* players that wait, as they know it */
    uint64_t relaxed; /* joins whose order a broken link made uncertain (PROTOCOL.md) */
    uint64_t events, let_in_told; /* to who listens; of these: passes */
    uint64_t let_in_unasked;      /* their passes came by themselves (LET_IN) */
    uint64_t told_late;           /* of them: later than a way and two ticks */
    uint64_t told_late_ms;        /* the longest from a release to its event */
    uint64_t known; /* polls that routers answered by themselves, */
    uint64_t kept;  /* of them those whose node could not be asked, */
    uint64_t last_known; /* and of these those that were told a place */
    uint64_t left_waits; /* who was told that he waits, a second after his leave */
    uint64_t left_back;  /* whose place a rebuild brought back; */
    uint64_t left_other; /* who was told another reason than that */
    uint64_t put_off; /* polls of people who wait that got 503 */
    uint64_t released, unavailable, found, links_broken, restarts, crashes, nulls, terms, jumps;
    uint64_t accepted; /* looks at passes that every router accepts */
    uint64_t parked;   /* joins that waited at a node for another's word */
    uint64_t again, again_told; /* joins whose link ended and that were asked again; of them: told a place */
    uint64_t cuts;     /* turns that were lost, of which a part of a move is there */
    uint64_t replaced; /* tickets, by one in another lane */
    uint64_t used; /* passes let in once */
    uint64_t extended, renewed, draws; /* renewed: those of extended whose bearer was at work */
    uint64_t inside_max; /* of queues with slots */
    uint64_t soons; /* tickets that were told that they soon will be let in */
    uint64_t turns, turns_again; /* tickets that were told that they are let in; and told so again */
};
struct sim_counts sim_count(const struct sim *s);
struct mng_counts sim_mng_count(const struct sim *s);
unsigned sim_leader(const struct sim *s); /* its number; 0 if nobody leads */
msec_t sim_now(const struct sim *s);
uint64_t sim_digest(const struct sim *s); /* of what happened, and when: log lines apart */
size_t sim_chain_len(const struct sim *s, unsigned queue, unsigned lane);
bool sim_rebuilding(struct sim *s); /* some segment is lost, or not whole yet */
/* Who holds a slot of the queue now, in truth. */
uint32_t sim_inside(struct sim *s, unsigned queue);
uint64_t sim_let_in(const struct sim *s, unsigned queue, unsigned lane); /* of it, ever */
/* Tickets whose leave was answered, and whose node says something else of them. */
uint64_t sim_left_unknown(struct sim *s);
uint64_t sim_node_tickets(const struct sim *s, unsigned seg_node); /* waiting there */

#endif
