/* partitions.h: partitions whose records and bodies are in a Redis: opened, read, written; given
 * up when another node has opened them. Shell.
 *
 * Each has a link of its own: a cluster may keep it on another of its nodes, and WAIT counts by
 * connection. redis_link.h says what goes wrong with it; meanwhile the partition is `held`.
 *
 *   taskredis_open      OPEN -> its snapshot, its log, names of its bodies -> calls.read
 *   by turns            taskredis_writes: records, bodies and wants, as the table says them;
 *                       writes_ask: of a partition for which an answer of this turn speaks
 *   taskredis_step      the end of a turn: sends; calls.lost of those that are ours no more
 *   writes.done         as far as was asked: that answer may leave */
#ifndef SEGQ_TASK_PARTITIONS_H
#define SEGQ_TASK_PARTITIONS_H

#include "common/base/map.h"
#include "common/redis/redis_link.h"
#include "common/wire/msg.h"
#include "task/redis/writes.h"

struct taskredis;

struct taskredis_opts {
    struct redis_opts link;
    const char *prefix; /* prefix of all keys; copied */
    uint32_t wait_replicas;
    uint64_t snap_after; /* bytes of records after which a snapshot takes their place */
};

struct taskredis_calls { /* from the loop, or from taskredis_step(): then `lost` and `snap` */
    /* All records, framed; 0, or < 0: they cannot be read, and it is closed. bodies: by reference. */
    int (*read)(void *ctx, part_no no, const uint8_t *p, size_t n, const struct map *bodies);
    /* Redis does not answer, or refuses: what comes cannot be kept now. */
    void (*held)(void *ctx, part_no no, bool on);
    /* Closes it; nothing that was asked and is not done may be told. */
    void (*lost)(void *ctx, part_no no);
    /* All of its state, by writes_snap_record(). */
    void (*snap)(void *ctx, part_no no);
};

struct taskredis_counts { /* ever, or now */
    uint64_t partitions, held;
    uint64_t commands, again, given_up, forgotten, snapshots;
    uint64_t faults[REDIS_NFAULTS];
};

SQ_CHECK int taskredis_new(struct taskredis **out, struct ev *ev, const struct taskredis_opts *o,
                           const struct taskredis_calls *calls, void *ctx, struct err *e);
void taskredis_free(struct taskredis *t); /* NULL is fine */

/* Again: nothing; under a higher epoch: it is lost first, and the caller opens it once more.
 * 0, SQ_ENOMEM, SQ_EBUSY. */
SQ_CHECK int taskredis_open(struct taskredis *t, part_no no, uint64_t epoch);
/* Not ours any more; `lost` follows. for_ever: its keys go. */
void taskredis_close(struct taskredis *t, part_no no, bool for_ever);

/* Takes what a turn says of a partition that was read: its records, bodies, wants. */
struct writes *taskredis_writes(const struct taskredis *t, part_no no);
/* False: there was no memory for what the turn did; it cannot go on. */
SQ_CHECK bool taskredis_step(struct taskredis *t);
void taskredis_count(const struct taskredis *t, struct taskredis_counts *n);

#endif
