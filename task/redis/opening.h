/* opening.h: a partition is opened: the fence is put up, then its snapshot, its log and the names
 * of its bodies are read, one command after the other. Pure. */
#ifndef SEGQ_TASK_OPENING_H
#define SEGQ_TASK_OPENING_H

#include "common/base/map.h"
#include "task/redis/writes.h"

#define TASK_REDIS_KEYS 5 /* writes.h: epoch, log, snap, body, next */

enum opening_step { OPENING_FENCE, OPENING_SNAP, OPENING_LOG, OPENING_BODIES, OPENING_READ };

struct opening {
    enum opening_step step;
    uint64_t n;              /* number of the last command */
    uint64_t groups, slices; /* how many there are */
    uint64_t at;             /* read so far, of the step */
    struct buf records;      /* framed; of the snapshot, then of the log */
    size_t snap_bytes;       /* bytes of the snapshot in them */
    struct map bodies;       /* their references */
};

/* From the beginning; *o is zero, or was begun before. */
void opening_begin(struct opening *o);
void opening_fini(struct opening *o);
/* The command of the step; s: whose fence it is. */
void opening_command(const struct opening *o, const struct writes *s,
                     const char (*key)[REDIS_KEY_BYTES], struct redis_command *c);
enum opening_verdict {
    OPENING_MORE,  /* the next command */
    OPENING_DONE,  /* all has been read: the writes go on from there */
    OPENING_AGAIN, /* no good answer: begin again */
    OPENING_STALE, /* another one has it, under a higher epoch */
    OPENING_ENOMEM
};
enum opening_verdict opening_judge(struct opening *o, struct writes *s, const struct redis_ans *a);

#endif
