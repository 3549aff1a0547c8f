/* ends.h: tasks that have ended: each as a line of JSON, for the archive; and what is to be told of
 * them: of a pool that names a queue in `notify`, each task that becomes final has a notice (and with
 * `notify_on` each start), until a router has made a task of it in that queue. Pure.
 *
 * The record NOTICE stands in the same group of the journal as the end of its task, so there are
 * both or neither, whatever is killed, moved or restarted; and NOTICE_GONE says that the other
 * queue has it. Between the two it may be said more than once, always under the same
 * Idempotency-Key: that makes one task. At most NOTICES_MAX wait: what is more is dropped, and
 * counted, since a receiver that is away must not stop tasks, nor fill the memory.
 *
 * It is written down which queue is told, too: a node that begins anew ends tasks before its
 * manager has told it anything. Records go through notices_apply() alone, now as in a replay.
 * Times: ms of the node's clock.
 *
 * A line is one JSON object; proto/PROTOCOL.md section 26 says what its members mean. It begins
 * with the time of the end, so that lines can be sorted as text. Nothing of a body, a result or a
 * token is in it. */
#ifndef SEGQ_TASK_ENDS_H
#define SEGQ_TASK_ENDS_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/base/text.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "common/wire/msg.h"
#include "common/wire/msg_router_task.h"
#include "task/store/queue_extras.h"
#include "task/store/record.h"

/* ---- lines ------------------------------------------------------------------------- */

struct task_end { /* texts are borrowed; moments: Unix ms, 0: not known */
    part_no part;
    task_no no;
    enum task_state state;
    const char *queue, *key1, *key2; /* keys: "": none */
    const char *labels;              /* "a,b"; "": none */
    uint8_t priority;
    unsigned attempts;
    int64_t entered_ms, started_ms, ended_ms; /* started: of the last attempt */
    const char *why; /* how that ended, or the task without one (common/task/state.h) */
    uint32_t status; /* status of the target's answer, if a call has ended it; 0: none */
};

/* Six characters for each byte of a queue's name, a key and labels, quotes and commas; names of
 * members, numbers and moments; the last number may touch DECIMAL_ROOM bytes. */
#define ARCHIVE_LINE_MAX                                                                 \
    (6 * (TASK_NAME_MAX + KEY_TEXT_MAX + LABELS_TEXT_MAX) + 3 * LABELS_MAX + 500 + DECIMAL_ROOM)

/* Into out[ARCHIVE_LINE_MAX], with its newline; the length. */
SQ_CHECK size_t archive_line(const struct task_end *end, char *out);

/* ---- notices ----------------------------------------------------------------------- */

/* The label of what is told, so its own end is told nowhere: two queues that tell one another would
 * go on for ever. */
#define NOTICE_LABEL "segq-notice"

#define NOTICES_MAX     65536 /* notices of a partition; a start finds room in half of it */
#define NOTICES_AT_ONCE 64    /* on their way to routers */

struct notice {
    struct list_node in; /* notices.waiting, .later or .sent */
    uint64_t id;         /* never another's */
    task_no no;
    uint8_t state;       /* enum task_state: how the task ended; RUNNING: it starts; FREE: a group is
                          * over, or it is a relay; */
    int64_t ended_ms;    /* and when: Unix ms */
    uint64_t start;      /* RUNNING: its lease, which is no other start's of the partition */
    peer_no peer;        /* SENT: the router; 0: it waits */
    msec_t sent_ms;
    uint32_t n;
    bool late;           /* in .later, while it is not sent */
    char text[];         /* a JSON object (archive_line()), without a newline; of a relay: a message TASK_PUT */
};

/* Hand-overs of chains (submissions.h) are a list of their own of the same kind: their numbers begin here. */
#define RELAY_IDS      ((uint64_t)1 << 40)

struct notices {
    bool relays; /* each is for a queue of its own, and none holds up another */
    struct list later; /* relays that were refused */
    msec_t quiet_ms; /* relays: no router was here: none is sent before this */
    char queue[TASK_NAME_MAX + 1]; /* queue that is told; "": none, and what waits goes on waiting */
    bool starts;         /* tell it of starts, too */
    struct list waiting, sent; /* owned; the oldest first */
    struct map by_id;
    uint64_t next_id, bytes;
    msec_t held_ms; /* the other queue could not take one: none is sent before this */
    uint64_t taken, dropped; /* ever */
};

void notices_init(struct notices *s, bool relays);
void notices_fini(struct notices *s);

static inline bool notices_has_record(unsigned kind)
{
    return kind == TREC_RELAY || kind == TREC_RELAY_GONE || kind == TREC_NOTIFY ||
           kind == TREC_NOTICE || kind == TREC_NOTICE_GONE || kind == TREC_NOTIFY_STARTS || kind == TREC_NOTICE_START;
}
/* 0, SQ_ENOMEM: nothing has changed; SQ_EPROTO: it contradicts the state. */
SQ_CHECK int notices_apply(struct notices *s, const struct trec *r);
/* Appends the whole state, framed (record.h). Without memory out->failed is set. */
void notices_snapshot(const struct notices *s, struct buf *out);

/* Ends are told there from now on, and starts. The same again is no record. */
void notices_tell(struct notices *s, const char *queue, bool starts, struct buf *log);

struct notice_text {
    task_no no;
    uint8_t state;
    int64_t ended_ms;
    uint64_t start;
    const char *p;
    size_t n;
};
/* A task has ended, or starts. False: there is no room, or no memory: it is dropped, and counted. */
bool notices_add(struct notices *s, const struct notice_text *text, struct buf *log);

/* The next one that may be sent now leaves for this router; NULL: none may. */
const struct notice *notices_send(struct notices *s, peer_no peer, msec_t now);
/* The same, as a message of partition `part`. False: none. */
bool notices_say(struct notices *s, part_no part, peer_no peer, msec_t now, struct outbox *out);
/* NULL: it is not on its way. */
const struct notice *notices_sent(const struct notices *s, uint64_t id, task_no no);
/* The other queue has it; or `never` will, then it is dropped, and counted. It is freed. */
void notices_over(struct notices *s, const struct notice *x, bool never, struct buf *log);
/* Takes a router's answer. */
void notices_answered(struct notices *s, const struct msg_task_notice_ans *m, msec_t now,
                      struct buf *log);
/* The router's answer cannot be written down now: it is said again as soon as that is possible. */
void notices_unheard(struct notices *s, const struct msg_task_notice_ans *m);
/* Holds: it cannot be taken now. */
void notices_refused(struct notices *s, const struct notice *x, msec_t now);
/* The link to a router is gone: what was sent there waits again. */
void notices_lost(struct notices *s, peer_no peer);
/* None can be sent now: no router is here. */
void notices_hold(struct notices *s, msec_t now);
/* Until notices_send() may have one; MSEC_NEVER. */
msec_t notices_idle_ms(const struct notices *s, msec_t now);

static inline bool is_relay_record(unsigned kind)
{
    return kind == TREC_RELAY || kind == TREC_RELAY_GONE;
}

static inline uint32_t notices_n(const struct notices *s)
{
    return s->by_id.n;
}

struct part;
/* A group is over: the queue that is told of its tasks, if there is one, is told of it. */
void tasktab_group_over(struct part *p, const struct group *k);
/* Somebody wants to know of ends of its tasks, or nobody: notify, or the archive's hook, is
 * another. */
void tasktab_hear_ends(struct part *p);

#endif
