/* state.h: the partitions of a node, the links' ends, and who waits for an answer. Data only.
 * For the files of this room.
 *
 *   table.c      life; links; what a message means; the end of a turn
 *   parts.c      partitions: found, made, dropped; their clocks, their busiest queues
 *   orders.c     which manager is obeyed; partitions come and go
 *   commands.c   submissions, looks, takes, changes, settlements
 *   submissions.c  is there room, and does it wait for too long? Next tasks of chains
 *   passing.c    answers to calls that are told as they come
 *   following.c  the same, to those who read along
 *   calls.c      tasks that the node takes itself, since they are calls to an endpoint
 *   operate.c    what operators ask and order
 *   answer.c     what a look and a take are told
 *   wait.c       who waits for a task, and until when
 *   part_copy.c  a partition's copy to another node, and from there
 *   keep.c       records into the journal, and out of it
 *   body.c       payloads and results: put, read, copied; what is long waits until its link has room
 *   ends.c       tasks that have ended: as lines of JSON, told in another queue
 *   report.c     what managers are told; ends of tasks, to routers */
#ifndef SEGQ_TASKTAB_STATE_H
#define SEGQ_TASKTAB_STATE_H

#include "common/base/list.h"
#include "common/ticket/token.h"
#include "task/engine/engine.h"
#include "task/engine/look.h"
#include "task/node/ends.h"
#include "task/node/table.h"
#include "task/schedules/schedules.h"

#define WAITS_PER_LINK 10000u /* then the oldest is answered empty */
#define BUSIEST_STEPS 4096u /* queues of a partition, each report: some tenths of a millisecond */

struct busiest { /* queues of a partition; zero: none */
    struct key_view *v; /* owned; the last round's `n`, then this round's; NULL: none yet */
    unsigned n, n_now;
    uint32_t at; /* position of the walk */
};

struct tpeer { /* a link */
    struct list_node node; /* tasktab.peers */
    peer_no no;
    uint8_t role; /* enum rpc_role */
    bool refused; /* a manager: said once */
    uint64_t store; /* a manager: what its TASK_OK said */
    struct list waits; /* list of struct wait, the oldest first */
    /* Load of the link (body.h): */
    uint64_t said, handed; /* bytes of long messages: for it, ever; of them, given to the link */
    size_t unsent; /* bytes that the link has not sent */
    size_t lent;   /* bytes that are about to be said, since they were let go in this turn */
    bool wanted;   /* something waits for its room */
    struct list owed; /* list of struct wait: their answers are here; the oldest first */
    struct list held; /* list of struct going_call: answers that are told as they come; the oldest first */
    char name[NAME_MAX_LEN + 1];
};

struct part_out { /* a copy on its way (part_copy.h) */
    uint64_t to_epoch;
    char node[NAME_MAX_LEN + 1], addr[64];
    peer_no peer; /* 0: no link yet */
    struct buf stream; /* records that have to go */
    size_t sent;       /* bytes of them that have gone */
    uint32_t seq, acked; /* chunks */
    bool wanted, open; /* the target takes it; the stream has begun */
    bool last;         /* the last chunk is on its way, or has come; shared: no call is under way */
    bool stuck;
    msec_t heard_ms;
    msec_t calls_until; /* no call begins, and those under way have until then to end; 0: not yet */
    uint64_t file_at;   /* bytes of the large body of the record at hand that are on their way */
};

struct part_clock { /* when its axis was seen: the record CLOCK */
    msec_t axis; /* 0: never */
    uint64_t boot;
    msec_t boot_ms, wall_ms; /* awake since that start of the machine; of the wall */
};

struct part {
    struct tasktab *tab; /* ref */
    part_no no;
    uint64_t epoch; /* COMING, COME: the one that it is to have */
    uint8_t life;   /* enum part_life */
    uint64_t fence; /* FENCED: the epoch under which another node is to have it */
    struct part_out *out; /* owned; NULL: none */
    struct part_clock clock; /* state as written */
    bool clock_sent; /* COMING: the record at hand says what the source's axis shows */
    peer_no from;   /* COMING: the link of its source, */
    uint32_t in_seq; /* and chunks that came, */
    uint64_t in_file; /* and bytes of the large body of the record at hand */
    char match[TASK_NAME_MAX + 1];
    uint8_t seed[NAMES_SEED];
    struct lease_key leases; /* key of the MACs of leases */
    bool paused;
    char endpoint_name[TASK_NAME_MAX + 1]; /* tasks are calls to it; "": workers take them */
    struct endpoint *endpoint; /* ref; NULL: it is not known yet */
    struct estimates *estimates; /* owned; NULL: no service estimates waits of the pool */
    bool hold;   /* shared store does not answer */
    bool asked;  /* in this turn something is said of it */
    bool behind; /* replay: its snapshot has all up to the record SNAPPED */
    bool restarted; /* read from a journal, by the clock that wrote it; not opened since */
    bool turned; /* clock has run in this turn: something may have changed */
    bool more;   /* and has more to do */
    msec_t due;  /* when it has, by itself; on the node's axis */
    msec_t full_ms; /* when it last refused a task, since engine.full was reached; 0: never */
    msec_t unix_ahead; /* offset of the axis; a millisecond to and fro is rounding, and no news */
    struct engine e;
    struct schedules schedules;
    struct notices notices, relays; /* relays: next tasks of chains, on their way */
    struct list spots[2]; /* lists of struct spot: ends of tasks; doors of queues */
    struct map by_key[2]; /* the same spots: task_no, or hash of a queue's name -> struct spot */
    task_slot looked;  /* position of the search for the oldest */
    uint32_t held_at;  /* position of the walk over the turns; 0: the begin */
    uint64_t held_now[TASK_NHOLDS], held[TASK_NHOLDS]; /* counts of this round, of the one before */
    struct busiest busiest;
    msec_t oldest_now, oldest; /* when it entered: of this round, of the one before; 0: none */
};

struct spot { /* a thing that is waited for: a queue's next task, or a task's end */
    struct list_node node; /* part.spots[door] */
    struct part *part;     /* ref */
    uint64_t key;
    bool door;
    struct list waits; /* list of struct wait, the oldest first */
    char queue[TASK_NAME_MAX + 1]; /* name of a door's queue */
};

struct wait {
    struct list_node of_peer, of_spot;
    struct tpeer *peer; /* ref; NULL: the index is free */
    union {
        struct spot *spot; /* ref; waits for it */
        task_no no;        /* owed */
    };
    uint64_t rid;
    uint32_t id;             /* index; free: the next free one */
    union {
        struct {
            uint32_t most, lease_ms; /* members of a TAKE */
        };
        uint32_t window;             /* members of a GET */
        part_no part;                /* owed */
    };
    bool result, leaves;
    bool follows; /* a GET: window is that of its member `follow` */
    bool comes; /* wait_for.comes */
    struct list_node in_places; /* tasktab.places: its place is told */
    msec_t told_ms;             /* when it was looked at, */
    uint32_t told_place, told_ahead; /* and what was told */
    int32_t told_eta_s;
    uint32_t told_serial; /* serial of its progress; 0: none */
    uint8_t told_state, told_attempts;
    bool owed; /* tpeer.owed: it asks for the result of a task that is over */
};

#define GIVEN_KEPT 8192u /* 256 KiB, and 64 for their index */

struct given { /* a task that a TAKE was given */
    uint64_t rid, start; /* request id, unique over routers; number of its start */
    task_no no;
    part_no part;
    uint32_t back; /* distance to the one before it at the same place of the index; 0: none */
};

#define UNHEARD_KEPT 8192u /* 64 KiB */

struct tasktab {
    struct tasktab_opts o;
    char addr[64], admin[64];
    struct part **part; /* owned */
    uint32_t n_parts, parts_cap;
    struct map by_no;
    struct list peers; /* list of struct tpeer */
    uint64_t epoch, store; /* the highest seen; whose managers are obeyed, 0: any */
    node_no no;            /* number that the manager gave us; 0: not registered */
    peer_no manager;       /* manager that commands; 0: none */
    char manager_name[NAME_MAX_LEN + 1];
    bool hold, full, stopping;
    bool say; /* the status, at the end of this turn */
    msec_t said_ms;
    struct task_now now; /* moment of this turn */
    struct pages waits, links; /* owned; of struct wait, of `ends` */
    struct wheel ends;
    uint32_t n_waits, free_wait;
    struct given given[GIVEN_KEPT]; /* the newest, going round; numbers of all count from 1 */
    uint64_t given_by_rid[GIVEN_KEPT]; /* number of the newest; 0: none */
    uint64_t n_given;
    uint64_t unheard[UNHEARD_KEPT]; /* request ids, each at its own place: they count up */
    struct buf freed; /* uint64_t: bodies that go when this turn is written */
    struct buf bytes; /* bytes of the body at hand */
    struct buf chunk; /* bytes of the copy at hand */
    struct taken_row rows[TASK_ROWS_MAX]; /* rows of the answer at hand */
    struct list openings; /* list of struct opening_part */
    struct list levels;   /* levels of endpoints that no manager has told yet (calls/endpoint.h) */
    uint32_t copy_part; /* the walk of tasktab_copy_bodies(): partition, */
    task_slot copy_slot; /* and slot in it */
    uint32_t snap_next; /* the partition that the snapshot writes next */
    bool snapping, snap_spoilt;
    uint32_t answered; /* HTTP status of the call that settles a task now; 0: none does */
    bool lost_record; /* no memory: this turn cannot be written */
    msec_t calls_due; /* an endpoint lets a call go */
    bool cut; /* a task may have ended whose call is under way */
    struct list followers, behind; /* struct follower, owned; those for whom there may be more */
    struct map by_follower;        /* struct follower by its number */
    uint64_t last_follower;
    struct list places; /* struct wait: who was looked at longest ago is in front */
    uint32_t eta_next; /* partition whose service is asked next */
    bool reads; /* somebody waits to be told an answer that may have begun */
    bool left; /* a call may be under way whose partition has left */
    struct tasktab_counts n;
};

static inline struct trec_text tasktab_text(const char *s)
{
    return (struct trec_text){ s, (uint32_t)strlen(s) };
}

/* A moment of the node's axis on the wire; 0 stays 0. */
static inline int64_t tasktab_unix(const struct part *p, msec_t at)
{
    return at == 0 ? 0 : at + p->unix_ahead;
}

#define each_part(t, p)                                                                  \
    for (uint32_t i_##p = 0; i_##p < (t)->n_parts; i_##p++)                              \
        for (struct part *p = (t)->part[i_##p]; p != NULL; p = NULL)
#define each_tpeer(t, p) list_each_of(&(t)->peers, struct tpeer, node, p)

#endif
