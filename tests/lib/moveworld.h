/* moveworld.h: what the nodes of moverig.h are made of: tables of tasks, disks or a store of all, links,
 * and the router's questions. */
#ifndef SEGQ_TESTS_MOVEWORLD_H
#define SEGQ_TESTS_MOVEWORLD_H

#include "task/node/ends.h"
#include "task/node/parts.h"
#include "tests/lib/poolrig.h"

#define MV_TASKS   400
#define MV_KEYS 5
#define MV_ASKS    64
#define MV_BODIES  60000
#define MV_QUEUES  6
#define MV_BEATS   3 /* queues behind them: of schedules; nobody takes from them */
#define MV_EVERY   2000
#define MV_FROM    10000 /* the first tick */
#define MV_START   ((msec_t)1800000000000)
#define MV_LEASE   20000
#define MV_ROUTER  PR_NODES /* an end of a link */
#define MS_PARTS   32 /* in a shared store */

struct mv_node {
    struct tasktab *t; /* NULL: it does not run */
    struct outbox out;
    struct buf disk, snap, pend, slice; /* records: kind, length, bytes; pend, slice: not written */
    size_t snap_from; /* of disk: what the next snapshot does not have */
    bool snapping;
    struct buf body[MV_BODIES]; /* by reference; as written, or as put in this turn */
    uint32_t n_bodies, bodies_written, old_to;
    bool fails; /* the disk: this turn */
    uint64_t mine[MS_PARTS], reads[MS_PARTS]; /* shared: epochs of what it has, of what is to be read */
    bool leaves[MS_PARTS], asks[MS_PARTS];
    struct buf gone; /* shared: bodies that go with this turn */
    struct calls *calls; /* ref; NULL: workers take its tasks */
    struct tab_answers answers; /* zero: none are kept */
    struct tab_large large;     /* zero: none are taken */
    struct mv *w;
};

struct mv_redis { /* moveshared.h */
    uint64_t fence[MS_PARTS]; /* epoch of whoever opened it last */
    struct buf log[MS_PARTS]; /* records, framed */
    struct buf body[MV_BODIES];
    uint32_t n_bodies;
};

struct mv_wire { /* a message between nodes, or of the router */
    peer_no link;
    int to;
    uint64_t rid;
    uint16_t type;
    struct buf body;
};

struct mv_link {
    peer_no no; /* 0: down */
};

struct mv_ask { /* of the router */
    enum { MV_FREE, MV_PUT, MV_TAKE, MV_ACK, MV_SCHEDULE } kind;
    unsigned task, queue;
    bool sent;
    peer_no link;
    uint64_t rid;
    msec_t until; /* TAKE: waits so long. ACK: the end of its lease */
    uint64_t lease;
    uint64_t upload, at; /* PUT of a large body: its number, 0: none has begun; bytes that are there */
    bool whole;          /* and then */
    msec_t again_ms;     /* moment when it begins anew */
    uint8_t sha256[RESULT_SHA256];
};

struct mv_task { /* as it is known outside */
    bool put, told, acked, doubt; /* doubt: an ack may have been heard */
    part_no part;
    task_no no;
    uint64_t lease;
    msec_t lease_until; /* 0: nobody has it */
    uint32_t attempts;
    int64_t notice_ms; /* the end that the other queue was told; 0: none was */
    bool over;   /* when it was answered, it had ended */
    bool handed; /* the next task of its chain was, to another queue */
};

struct mv_start { /* the other queue was told of it */
    part_no part;
    task_no no;
    uint64_t lease;
    int64_t at_ms;
};

#define MV_STARTS 16384

struct mv;

struct mv_sender { /* nodes that make calls (tests/lib/callnodes.h) */
    void (*self)(struct mv *w, int i, const struct out_item *it); /* a task whose START is written */
    void (*final)(struct mv *w, int i, const struct task_end *end);
    void (*dies)(struct mv *w, int i);
    void (*begins)(struct mv *w, int i); /* its table is to be made; NULL: nothing is to be done */
    bool (*forget)(struct mv *w, int i, const struct out_item *it); /* shared: its partition has left */
    void (*before)(struct mv *w, int i);  /* in a turn, before its records */
    void (*written)(struct mv *w, int i);
    void (*target)(struct mv *w);
    bool (*hear)(struct mv *w, uint64_t rid, const struct msg *m); /* at the router; false: of others */
    void (*lost)(struct mv *w, peer_no link); /* of the router's */
};

struct mv {
    struct pr *r;
    uint32_t portion; /* tasktab_opts.portion of its nodes */
    const struct mv_sender *sender; /* NULL: none */
    struct mv_redis *redis; /* owned; NULL: each node has a disk of its own */
    struct mv_node node[PR_NODES];
    struct mv_link link[PR_NODES + 1][PR_NODES]; /* who dialled, whom */
    peer_no last_link;
    struct mv_wire *q;
    uint32_t n_q, cap_q;
    struct mv_ask ask[MV_ASKS];
    struct mv_task task[MV_TASKS];
    unsigned n_tasks;
    struct mv_start start[MV_STARTS];
    unsigned n_starts;
    uint64_t last_rid;
    double kill, fail, snap; /* chances of a turn */
    bool quiet;              /* nobody submits or takes */
    bool keys;               /* tasks have one of MV_KEYS */
    unsigned costs;          /* tasks have up to so many units (mv_cost()); 0: no cost of their own */
    bool larges;             /* some tasks are calls with a large body (movelarge.h) */
    uint64_t last_upload, uploads, again_uploads;
    bool asked[MV_BEATS], beats[MV_BEATS]; /* its schedule; known before its first tick */
    int8_t owner[PR_NOS][200];
    uint64_t kills, stale, starts, taken, again, ticks, notices, chained;
};

#define MV_BAD(w, ...) PR_BAD((w)->r, __VA_ARGS__)

static inline struct task_now mv_now(const struct mv *w)
{
    return (struct task_now){ MV_START + w->r->now, MV_START + w->r->now };
}

static inline void *mv_put_record(struct buf *b, uint8_t kind, size_t n)
{
    uint32_t len = (uint32_t)n;

    buf_byte(b, kind);
    buf_append(b, &len, sizeof(len));
    if (buf_reserve(b, n) == NULL)
        return NULL;
    b->len += n;
    return b->data + b->len - n;
}

#endif
