/* queue_extras.h: what few queues have beside their tasks: groups of them, and feeds of starts and ends. Pure.
 *
 * Groups of tasks: how many are in each state, and which they are. A group comes with its first task, and lives as long as one of its tasks is kept, and GROUP_KEPT_MS
 * behind that. A task that has gone stays counted under the state in which it ended. A task in a
 * group costs sizeof(struct group_member), in pages of 256 slots; one without nothing, and a group some
 * 200 bytes. task_set_state() (store.h) keeps the counts. */
#ifndef SEGQ_QUEUE_EXTRAS_H
#define SEGQ_QUEUE_EXTRAS_H

#include "common/base/list.h"
#include "common/base/map.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "task/containers/wheel.h"

#define GROUPS_MAX    65536u /* most of a partition */
#define GROUP_KEPT_MS ((msec_t)24 * 3600 * 1000)

enum group_flag { GROUP_SEALED = 1, GROUP_CANCELLING = 2 }; /* bits; numbers of records */

struct group {
    struct list_node in; /* groups.empty, while no task is kept */
    uint64_t id;         /* never another's */
    uint64_t hash;       /* keyed, over queue and name */
    uint32_t n[TASK_NSTATES];
    uint32_t first;  /* slot + 1 of a task that is kept; 0: none is */
    uint32_t index;  /* in groups.v */
    uint32_t cursor; /* slot + 1: CANCELLING goes on there */
    uint8_t flags;   /* enum group_flag */
    msec_t since;    /* no task is kept since then */
    uint8_t queue_n, name_n;
    char text[]; /* queue, then name */
};

struct group_member { /* by slot */
    uint32_t group;      /* index + 1; 0: none */
    uint32_t prev, next; /* slot + 1 */
};

struct groups {
    struct pages members; /* owned */
    struct group **v;     /* owned; NULL: the index is free */
    uint32_t *holes;      /* owned: free ones */
    uint32_t n_v, cap, n_holes, cap_holes;
    uint32_t n, kept;      /* kept: tasks that have a group */
    struct map by_hash, by_id; /* -> struct group */
    struct list empty;     /* the oldest first */
    uint64_t next_id;
    uint32_t cancelling; /* groups of which tasks are still to be cancelled */
    const msec_t *now;   /* ref: the partition's clock */
};

void groups_init(struct groups *g, const msec_t *now);
void groups_fini(struct groups *g);
/* NULL: there is none of this name in the queue. */
struct group *groups_find(const struct groups *g, uint64_t hash, const char *queue, uint32_t queue_n,
                          const char *name, uint32_t name_n);
/* Makes it, or sets its flags. 0, SQ_ENOMEM; SQ_EPROTO: it contradicts what is there. */
SQ_CHECK int groups_set(struct groups *g, uint64_t id, uint64_t hash, const char *queue, uint32_t queue_n,
                        const char *name, uint32_t name_n, uint8_t flags);
/* The slot's task is of the group from now on. Its states are counted from the next on. 0, SQ_ENOMEM,
 * SQ_EPROTO: there is no such group, or it has one. */
SQ_CHECK int groups_join(struct groups *g, uint32_t slot, uint64_t id);
/* Undoes that, and forgets a group that has never had a task. */
void groups_unjoin(struct groups *g, uint32_t slot);
/* A state is another one: task_set_state(). */
void groups_moved(struct groups *g, uint32_t slot, enum task_state from, enum task_state to);
/* Forgets it: no task of it is kept. */
SQ_CHECK int groups_drop(struct groups *g, uint64_t id);

/* NULL: its task is of none. */
static inline struct group *groups_of(const struct groups *g, uint32_t slot)
{
    const struct group_member *m = g->kept > 0 && pages_has(&g->members, slot)
                                       ? pages_at(&g->members, slot) : NULL;

    return m != NULL && m->group != 0 ? g->v[m->group - 1] : NULL;
}

/* Tasks that are not final. */
static inline uint32_t group_open(const struct group *k)
{
    return k->n[TASK_SCHEDULED] + k->n[TASK_WAITING] + k->n[TASK_RUNNING] + k->n[TASK_RETRYING];
}

static inline bool group_is_over(const struct group *k)
{
    return (k->flags & GROUP_SEALED) != 0 && group_open(k) == 0;
}

uint64_t groups_bytes(const struct groups *g);

/* Feeds: starts and ends of tasks of a queue, for those who ask again and again: the newest of each queue that
 * somebody asks for. Pure. In memory alone: a process that begins anew, and another owner, has none.
 *
 * Events have numbers that rise. A feed begins with its first question, and begins to count at
 * `wall_ms << 16`: behind whatever an earlier one of this queue has counted, so that who asks for what comes
 * behind a number of that one hears that there is a gap. It goes FEED_IDLE_MS behind its last question. A queue
 * that nobody asks for costs nothing, one that is asked for 100 KB.
 *
 * A feed counts for the token that began it; once that one has not asked for FEED_IDLE_MS, for another that does.
 * A token begins no more than are free then: half of them if it is alone, so that it leaves room for others. */

#define FEED_KEPT    4096u
#define FEED_IDLE_MS 60000
#define FEEDS_MAX    64u /* most of a partition */

struct feed_event {
    task_no no;
    msec_t at;
    uint8_t state, attempts; /* state: enum task_state that it has got */
};

struct feed {
    uint64_t hash;        /* keyed, over the queue's name */
    uint64_t first, next; /* numbers: of its first event ever, of the one to come */
    uint64_t whose;       /* token that it counts for; 0: it is not known, which has no bound */
    msec_t asked, asked_by_it;
    struct feed_event v[FEED_KEPT]; /* by number, going round */
};

struct feeds {
    struct map by_hash; /* -> struct feed, owned */
};

void feeds_init(struct feeds *s);
void feeds_fini(struct feeds *s);
struct feed_asker {
    uint64_t whose;
    bool has_most; /* out: NULL, since the token has as many as it may */
};

/* The queue's feed, which begins if there is none. NULL: see a, there are FEEDS_MAX, or no memory. */
struct feed *feeds_ask(struct feeds *s, uint64_t hash, struct feed_asker *a, msec_t now, int64_t wall_ms);
/* A task of this queue starts, or ends. Nothing, if nobody asks for the queue. */
void feeds_note(struct feeds *s, uint64_t hash, const struct feed_event *x);
uint64_t feeds_bytes(const struct feeds *s);

struct feed_part {
    uint64_t next; /* to be asked for then, as `after` */
    bool gap;      /* some behind `after` are not known any more */
    unsigned n;
};
/* The oldest events behind number `after`, at most `most`, into v; after 0: none, from now on. */
struct feed_part feed_read(const struct feed *f, uint64_t after, struct feed_event *v, unsigned most);

#endif
