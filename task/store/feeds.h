/* feeds.h: starts and ends of tasks of a queue, for those who ask again and again: the newest of each queue that
 * somebody asks for. Pure. In memory alone: a process that begins anew, and another owner, has none.
 *
 * Events have numbers that rise. A feed begins with its first question, and begins to count at
 * `wall_ms << 16`: behind whatever an earlier one of this queue has counted, so that who asks for what comes
 * behind a number of that one hears that there is a gap. It goes FEED_IDLE_MS behind its last question. A queue
 * that nobody asks for costs nothing, one that is asked for 100 KB.
 *
 * A feed counts for the token that began it; once that one has not asked for FEED_IDLE_MS, for another that does.
 * A token begins no more than are free then: half of them if it is alone, so that it leaves room for others. */
#ifndef SEGQ_TASK_FEEDS_H
#define SEGQ_TASK_FEEDS_H

#include "common/base/map.h"
#include "common/task/rules.h"
#include "common/task/state.h"

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
