/* table.h: all partitions of a task node, behind its links: a message in, messages out, records
 * to be written. Pure.
 *
 * A turn of the process:
 *
 *   tasktab_msg ...     the clock of the partition that is meant, then the command
 *   tasktab_turn        clocks of the others; who waited is answered; records to o.record
 *   (the shell)         bodies are flushed, then the journal: one group of all partitions
 *   tasktab_written     bodies that no task has any more go; only now may answers leave
 *
 * If the shell cannot write, the turn has not happened: it drops its links, frees the table, and
 * makes it anew from the journal; that one holds (tasktab_hold) until writing works again.
 *
 * Answers carry the request id of their question (outbox_answer). A TAKE that finds nothing and
 * a GET of what is not final wait, if they say so: they are answered at the end of the turn in
 * which there is something, or with what there is at their time; a link has at most 10 000 of
 * them, then the oldest is answered at once. */
#ifndef SEGQ_TASKTAB_H
#define SEGQ_TASKTAB_H

#include "common/wire/msg.h"
#include "task/engine/engine.h"
#include "task/engine/look.h"
#include "task/schedules/schedules.h"

struct bodies;
struct call_file;
struct calls;
struct call_answer;
struct going_call;
struct large;
struct large_piece;
struct task_end;
struct tasktab;

struct tab_bodies { /* where bodies and results are (task/bodies); ref 0: there is none */
    int (*put)(struct bodies *b, const uint8_t *p, uint32_t n, uint64_t *ref); /* 0 or < 0 */
    int (*get)(struct bodies *b, uint64_t ref, struct buf *out);               /* appends; 0 or < 0 */
    void (*drop)(struct bodies *b, uint64_t ref);
    uint32_t (*bytes)(uint64_t ref); /* to a few; NULL: not known */
    /* Copies a body whose file is mostly dead, to *to; the old one is dropped later. */
    bool (*is_old)(const struct bodies *b, uint64_t ref);
    int (*copy)(struct bodies *b, uint64_t ref, uint64_t *to);
    struct bodies *ctx; /* ref; whose they are says the shell */
};

/* Answers of calls that are longer than what is kept of a result (task/bodies/answers.h). */
struct tab_answers {
    bool (*have)(void *ctx, part_no part, task_no no, uint64_t length, const uint8_t *sha256);
    /* Up to n bytes from `at` on: how many; SQ_EUNKNOWN: it is not there any more; < 0. */
    int64_t (*read)(void *ctx, const struct msg_task_read *q, uint8_t *p, size_t n);
    void *ctx;
    /* Likewise of one that is still coming: how many of these bytes are kept, in memory or in its file.
     * NULL: none. */
    int64_t (*so_far)(const struct going_call *g, uint64_t at, uint8_t *p, size_t n);
};

/* Large bodies of calls (task/bodies/large.h). */
struct tab_large {
    int (*add)(struct large *l, uint64_t link, const struct large_piece *q, uint8_t sha256[RESULT_SHA256]);
    bool (*has)(const struct large *l, uint64_t link, const struct call_file *f);
    int (*keep)(struct large *l, uint64_t link, const struct call_file *f, part_no part, task_no no);
    void (*drop)(struct large *l, uint64_t link, uint64_t upload);
    int64_t (*read)(struct large *l, const struct call_file *f, part_no part, task_no no, uint64_t at, uint8_t *p,
                    size_t n);
    struct large *ctx; /* ref; NULL: none are taken */
};

/* A store that other nodes can open, too (task/redis), in place of the journal and the bodies of
 * this one. Records and bodies of a turn are written together; what may be told of a partition is
 * told when that is done, and not if another node has it by then. */
struct tab_shared {
    /* Is to be read: tasktab_loaded(). Again: nothing. 0, SQ_ENOMEM, SQ_EBUSY. */
    int (*open)(void *ctx, part_no no, uint64_t epoch);
    /* Gives it up: it is not ours any more; for_ever: its pool is removed. */
    void (*close)(void *ctx, part_no no, bool for_ever);
    /* Notes that answers of this turn tell of it. */
    void (*ask)(void *ctx, part_no no);
    void *(*record)(void *ctx, part_no no, uint8_t kind, size_t n); /* see tasktab_opts.record */
    int (*put)(void *ctx, part_no no, const uint8_t *p, uint32_t n, uint64_t *ref);
    /* With the records of this turn no task has it any more. */
    void (*drop)(void *ctx, part_no no, uint64_t ref);
    uint32_t (*bytes)(uint64_t ref);
    /* Wants bytes to be at `to` when what is said in this turn is sent. */
    int (*want)(void *ctx, part_no no, uint64_t ref, uint8_t *to);
};

/* Which start of the machine it is (0: not known), and how far the time that it has been awake since
 * then, which no operator sets, is ahead of the node's axis, for the life of the table: so a restart
 * knows how long it took. Sleep counts in neither (PROTOCOL 26, Its axis over a restart). */
struct tab_boot {
    uint64_t id;
    msec_t ahead_ms;
};

#define LEASE_MORE_MS 10000u /* a call's lease ends so long behind its deadline */

#define TAB_BODY_LOST ((1ull << 38) - 1) /* a reference that no put() gives: not to be read */

struct tasktab_opts {
    const char *addr, *admin; /* addresses for managers and routers; copied */
    const char *region, *zone; /* by its configuration; ref, NULL: not said */
    uint32_t max_tasks;       /* tasks of the node */
    uint32_t max_keys;        /* keys of a partition */
    struct tab_boot boot;
    uint8_t seed[NAMES_SEED]; /* random; partitions that are opened get theirs of it */
    struct tab_bodies bodies;
    struct tab_answers answers; /* zero: none is kept whole */
    struct tab_large large;     /* zero: none are taken */
    /* Room for a record of n bytes, filled before the next call. NULL: no memory: the turn
     * cannot be written. */
    void *(*record)(void *ctx, uint8_t kind, size_t n);
    void *record_ctx;
    const struct tab_shared *shared; /* ref; NULL: `bodies` and `record` */
    void *shared_ctx;
    /* NULL, or hears of each task that becomes final, before the turn in which it does is written
     * (task/node/ends.h); not in a replay. */
    void (*ended)(void *ctx, const struct task_end *end);
    void *ended_ctx;
    const struct zones *zones; /* ref; NULL: schedules know only UTC */
    uint32_t portion; /* bytes of a chunk, timers of a turn, at most; 0: as many as each has. A simulation's few
                       * tasks are several portions so */
    unsigned busiest; /* queues whose figures are kept: those with the most tasks (parts.h) */
    struct calls *calls; /* ref: endpoints, and calls on their way; NULL: none are made */
};

struct tasktab_counts { /* ever, or now */
    uint64_t parts, tasks, max_tasks, waiting_calls;
    uint64_t puts, takes, gets, settled, changed; /* rows, questions */
    struct engine_counts engine;
    uint64_t scheduled, waiting, running, finals, dead_now, queues;
    uint64_t stale, refused, busy; /* answers */
    uint64_t too_long; /* submissions refused by max_wait */
    uint64_t eta_crowded; /* looks at queues for which the operator's service has no place */
    uint64_t stale_orders, lost_bodies;
    uint64_t core_bytes, waiting_bytes, waiting_units, oldest_ms, epoch;
    double full; /* part of max_tasks, of the node or of a partition, that does not give way: the largest */
    uint64_t held[TASK_NHOLDS]; /* numbers of those that wait, as counted in the last seconds */
    uint64_t schedules;
    uint64_t notices, notices_taken, notices_dropped; /* now; ever */
    uint64_t relays, chains_begun, chains_failed; /* now; ever */
    struct schedules_counts ticks;
};

struct tasktab *tasktab_new(const struct tasktab_opts *o); /* NULL: no memory */
void tasktab_free(struct tasktab *t); /* NULL is fine */

/* now.ms: the node's axis (engine.h), which never goes back. */
void tasktab_up(struct tasktab *t, peer_no no, uint8_t role, const char *name,
                struct outbox *out);
void tasktab_down(struct tasktab *t, peer_no no);
/* A message that its sender may send (msg_may). */
void tasktab_msg(struct tasktab *t, struct task_now now, peer_no from, uint64_t rid,
                 const struct msg *m, struct outbox *out);
/* False: no memory for the records: as if the journal had failed. */
SQ_CHECK bool tasktab_turn(struct tasktab *t, struct task_now now, struct outbox *out);
void tasktab_written(struct tasktab *t);
/* How long nothing happens by itself; MSEC_NEVER. */
msec_t tasktab_idle_ms(const struct tasktab *t, struct task_now now);
/* Some bodies are old: copies those that it finds in a step of its walk over all tasks. */
void tasktab_copy_bodies(struct tasktab *t, struct task_now now);
/* Nothing can be written: looks are answered, all else with CODE_BUSY; clocks stand. */
void tasktab_hold(struct tasktab *t, bool on);
/* The process ends: calls that wait are answered with what there is, and none waits any more. */
void tasktab_stop(struct tasktab *t, struct outbox *out);
/* Takes from a shared store what it had of a partition that was ordered, all records, framed (record.h). 0;
 * SQ_EPROTO, SQ_EUNKNOWN, SQ_ENOMEM, SQ_EGONE: it is not opened. live: as for tasktab_replayed(). */
SQ_CHECK int tasktab_loaded(struct tasktab *t, struct task_now now, part_no no, const uint8_t *p,
                            size_t n, bool (*live)(void *ctx, uint64_t ref), void *ctx);
/* Another node has it, or it is to be read anew: it is here no more. Who waits for it is told `stale`. */
void tasktab_lost(struct tasktab *t, part_no no, struct outbox *out);
/* Completes an answer from a shared store: what was wanted is in its place; before it is sent. mem: of
 * its outbox. */
void tasktab_arrived(struct tasktab *t, struct msg *m, struct arena *mem);
/* Holds a partition whose store does not answer: as tasktab_hold(), and looks are not answered either. */
void tasktab_part_hold(struct tasktab *t, part_no no, bool on);
/* Refuses submissions: no room. */
void tasktab_full(struct tasktab *t, bool on);
/* Takes a target's answer: its verdict, what is kept (task/calls/calls.h). */
void tasktab_call_answered(struct tasktab *t, struct task_now now, struct going_call *g,
                           const struct call_answer *a);
/* ---- answers that are told as they come (task/node/passing.h) ----
 * Its head is here, and its first bytes, if some are; they leave when the turn is written, which then
 * says that no other attempt follows. */
void tasktab_pass_head(struct tasktab *t, struct task_now now, struct going_call *g,
                       const struct call_answer *a, struct outbox *out);
/* Forgets that it could be told: what was its begin is not in memory any more. */
void tasktab_pass_none(struct tasktab *t, struct going_call *g);
/* The next bytes; to nobody, if nobody hears it. */
void tasktab_pass_more(struct tasktab *t, struct going_call *g, const void *p, size_t n,
                       struct outbox *out);
/* Bytes that its reader has room for; fewer than n: the target waits for it. UINT32_MAX: nobody hears it, or is
 * about to. */
uint32_t tasktab_pass_room(struct tasktab *t, struct going_call *g, size_t n);
/* The call ends, settled or not: its reader is told. */
void tasktab_pass_end(struct tasktab *t, struct going_call *g, struct outbox *out);
/* Somebody has come who would hear an answer that may have begun: calls.early is to be looked at. */
bool tasktab_reads(struct tasktab *t);
/* ---- and to those who read along (task/node/following.h) ----
 * Its head is here: those who wait for it hear it from now on; also for those of calls.joined. */
void tasktab_follow_head(struct tasktab *t, struct task_now now, struct going_call *g,
                         const struct call_answer *a, struct outbox *out);
/* Once a turn: what is kept goes to those who are behind, as far as they, and their links, have room. */
void tasktab_follow_on(struct tasktab *t, struct outbox *out);
/* Ten times a second: places of those who wait are told (task/node/wait.h). */
void tasktab_places(struct tasktab *t, struct task_now now, struct outbox *out);
/* The turn was not written, so links are closed: nobody hears them any more. */
void tasktab_readers_forget(struct calls *c);
/* ---- what is long waits until its link has room (task/node/body.h) ----
 * Once a turn, before all else at its end. handed: bytes of long messages (out_item.bulk) that the link
 * was given, ever; unsent: bytes of all messages that it has not sent. */
void tasktab_link(struct tasktab *t, struct task_now now, peer_no no, uint64_t handed, size_t unsent);
/* Says what was owed, as far as links have room. An answer that may be told on, too; NULL: no further
 * one. */
struct going_call *tasktab_let_go(struct tasktab *t, struct task_now now, struct outbox *out);
/* Something waits for the link's room. */
bool tasktab_wants_room(const struct tasktab *t, peer_no no);
#define LINK_PORTION (4u << 20) /* bytes on their way; then what is long waits */
/* ---- the operator's own service for waits (task/calls/estimates.h) ----
 * The question that is due now, of any partition: its rules, its partition, its queue, its bytes at the end of
 * b; NULL: none is. Once it is here it counts as asked. */
struct eta_rules;
struct eta_due {
    part_no part;
    char queue[TASK_NAME_MAX + 1];
};
const struct eta_rules *tasktab_eta_due(struct tasktab *t, struct task_now now, struct eta_due *d, struct buf *b);
/* NULL: no service is asked for this partition here. */
const struct eta_rules *tasktab_eta_rules(const struct tasktab *t, part_no no);
/* Takes its answer. NULL, or what is wrong with it. */
const char *tasktab_eta_told(struct tasktab *t, struct task_now now, const struct eta_due *d, const char *p,
                             size_t n);
/* True: its partition is here, and its task runs under its lease. */
bool tasktab_call_may_go(const struct tasktab *t, const struct going_call *g);
/* Endpoints that are over, and that no partition has, are forgotten. */
void tasktab_calls_tidy(struct tasktab *t);
/* Tasks have been cancelled by force since this was asked last: some of these calls may be cut. */
bool tasktab_calls_cut(struct tasktab *t);
/* True: its task does not run under its lease any more, so nobody waits for its answer. */
bool tasktab_call_is_cut(const struct tasktab *t, const struct going_call *g);
/* Settles its task by that. False: nothing can be written now: again, later. */
SQ_CHECK bool tasktab_call_ends(struct tasktab *t, struct task_now now, struct going_call *g);
/* True: in service here, or was until its copy is. */
bool tasktab_has_part(const struct tasktab *t, part_no part);
/* And the task is in it: what is kept for it is kept on. */
bool tasktab_has_task(const struct tasktab *t, part_no part, task_no no);
/* TASK_FREE: it is not. */
enum task_state tasktab_state_of(const struct tasktab *t, part_no part, task_no no);
/* Links to other task nodes, for copies; how many (at most `most`). */
size_t tasktab_wants(const struct tasktab *t, struct node_want *v, size_t most);
bool tasktab_registered(const struct tasktab *t);
void tasktab_count(const struct tasktab *t, struct tasktab_counts *n);
/* Live tasks: for promises of room. */
uint64_t tasktab_tasks(const struct tasktab *t);

/* The end of a turn: tasktab_turn(), tasktab_written(), tasktab_idle_ms(). Pure. */

#define BUSIEST_MAX   100u
/* Fills v[n_names + BUSIEST_MAX]: the named queues in their order (one that has no task here has 0), then
 * the node's busiest that are not named. How many. */
unsigned tasktab_queue_views(const struct tasktab *t, const char names[][TASK_NAME_MAX + 1],
                             unsigned n_names, struct key_view *v);

#endif
