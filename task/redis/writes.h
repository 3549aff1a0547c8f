/* writes.h: what a partition reads from its keys in Redis as it is opened, and what it
 * writes to them: gathered, sent one command at a time,
 * sent again until it is judged. Pure.
 *
 * A command carries the records of one turn or of several (a group), bodies that come and go,
 * bodies that are wanted for answers, and perhaps a slice of a snapshot. It has a number, one
 * above the last, and the fence of whoever opened the partition: so one that comes twice counts
 * once, and nothing counts after another owner has opened it.
 *
 * Answers of a turn may leave when the command that writes_ask() names is done; also those that
 * changed nothing: an owner that was replaced must not speak for the partition.
 *
 * Without memory writes_failed() is true from then on: nothing that was gathered may be told. */
#ifndef SEGQ_TASK_WRITES_H
#define SEGQ_TASK_WRITES_H

#include "common/base/buf.h"
#include "common/base/map.h"
#include "common/redis/redis_script.h"

/* Scripts that run inside Redis for one partition; each is atomic.
 *
 * KEYS, with the partition's number in braces, so that a cluster keeps them on one node:
 *   segq:{P}:epoch  hash: epoch; fence: "epoch nonce" of the one who may write; n: number of the
 *                   last command; len: groups in the log
 *   segq:{P}:log    list of groups of records, since the snapshot
 *   segq:{P}:snap   list: the snapshot, in slices
 *   segq:{P}:body   hash: bodies and results, by their references
 *   segq:{P}:next   list: a snapshot that is not whole yet
 * Answers begin with a result. */

#define TASK_REDIS_STALE 0 /* a higher epoch, or a later opener, has the partition */
#define TASK_REDIS_DONE  1
#define TASK_REDIS_GAP   2 /* Redis does not have what it acknowledged */

/* fence, epoch -> DONE, number of the last command, groups, slices
 *               | STALE, epoch. Whoever opened it before writes no more. */
#define TASK_REDIS_OPEN                                                                  \
    "local e = redis.call('HGET', KEYS[1], 'epoch') or '0' "                             \
    "if tonumber(e) > tonumber(ARGV[2]) then return {0, tonumber(e), 0, 0} end "         \
    "local len = redis.call('LLEN', KEYS[2]) "                                           \
    "redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'epoch', ARGV[2], 'len', len) "       \
    "redis.call('DEL', KEYS[5]) "                                                        \
    "local n = tonumber(redis.call('HGET', KEYS[1], 'n') or '0') "                       \
    "return {1, n, len, redis.call('LLEN', KEYS[3])}"

/* fence, epoch, number of this command, group ('': none), bodies that come, bodies that go, slice
 * of a snapshot ('': none), which one it is: first? last?, groups that the snapshot replaces;
 * then reference, body ...; references that go ...; references that are wanted ...
 * -> result, the bodies that are wanted. A command that comes twice counts once. */
#define TASK_REDIS_WRITE                                                                 \
    "local h = redis.call('HMGET', KEYS[1], 'fence', 'epoch', 'n', 'len') "              \
    "if h[1] ~= ARGV[1] then "                                                           \
    "if h[2] and tonumber(h[2]) >= tonumber(ARGV[2]) then return {0} end return {2} end " \
    "local n, len = tonumber(h[3] or '0'), tonumber(h[4]) "                              \
    "local mine, puts, i = tonumber(ARGV[3]), tonumber(ARGV[5]), 11 "                    \
    "local again = n == mine "                                                           \
    "if redis.call('LLEN', KEYS[2]) ~= len or not again and n + 1 ~= mine "              \
    "then return {2} end "                                                               \
    "local gone = i + 2 * puts "                                                         \
    "local want = gone + tonumber(ARGV[6]) "                                             \
    "if not again then "                                                                 \
    "if ARGV[4] ~= '' then len = redis.call('RPUSH', KEYS[2], ARGV[4]) end "             \
    "while i < gone do redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1]) i = i + 2 end " \
    "if ARGV[8] == '1' then redis.call('DEL', KEYS[5]) end "                             \
    "if ARGV[7] ~= '' then redis.call('RPUSH', KEYS[5], ARGV[7]) end "                   \
    "if ARGV[9] == '1' then redis.call('RENAME', KEYS[5], KEYS[3]) "                     \
    "redis.call('LTRIM', KEYS[2], ARGV[10], -1) len = redis.call('LLEN', KEYS[2]) end "  \
    "redis.call('HSET', KEYS[1], 'n', ARGV[3], 'len', len) end "                         \
    "local out = {1} "                                                                   \
    "for k = want, #ARGV do out[k - want + 2] = redis.call('HGET', KEYS[4], ARGV[k]) end " \
    "if not again then "                                                                 \
    "for k = gone, want - 1 do redis.call('HDEL', KEYS[4], ARGV[k]) end end "            \
    "return out"

/* The pool was removed. */
#define TASK_REDIS_DROP "return redis.call('DEL', unpack(KEYS))"

/* ---- writes ------------------------------------------------------------------------ */

#define WRITES_SLICE   (1u << 20) /* records of a snapshot, in a command */
#define WRITES_NUMBERS 43         /* bits of a reference that count; the rest is the length */

struct writes_batch { /* bytes of a command */
    struct buf group;       /* records, framed (task/store/record.h) */
    struct buf bytes;       /* bodies, one after the other */
    struct buf puts;        /* struct writes_put */
    struct buf gone;        /* uint64_t: references */
    struct buf wants;       /* struct writes_want */
    bool asked;             /* an answer waits for it */
    size_t slice_at, slice_n; /* part of `snap` */
    bool slice_first, slice_last;
    uint64_t replaces;      /* groups, with the last slice */
};

struct writes {
    char fence[64];
    uint64_t epoch;
    struct writes_batch next, sent;
    bool open;         /* `sent` is under way */
    uint64_t done;     /* number of the last command that Redis has */
    uint64_t groups;   /* in the log then */
    uint64_t bodies;   /* the highest number of a reference */
    uint64_t log_bytes, snap_bytes; /* since the last snapshot; its own */
    struct buf snap;   /* being written */
    size_t snap_at;    /* part of it that is in commands */
    uint64_t covers;   /* groups of the log that it replaces */
};

/* Begins with what the opening found. */
void writes_init(struct writes *s, uint64_t epoch, const char *nonce);
void writes_fini(struct writes *s);
void writes_found(struct writes *s, uint64_t n, uint64_t groups, uint64_t log_bytes,
                  uint64_t snap_bytes);
bool writes_failed(const struct writes *s);

/* Room for a record of n bytes, filled before the next call; NULL: no memory. */
void *writes_record(struct writes *s, uint8_t kind, size_t n);
/* A body or result: 0, SQ_ENOMEM. *ref is not 0, and not given before. */
SQ_CHECK int writes_put(struct writes *s, const uint8_t *p, uint32_t n, uint64_t *ref);
/* No task has it any more, by the records of this turn. */
void writes_drop(struct writes *s, uint64_t ref);
/* The body is copied to `to` (writes_ref_bytes() of them) when the command is done. SQ_ENOMEM. */
SQ_CHECK int writes_want(struct writes *s, uint64_t ref, uint8_t *to);
uint32_t writes_ref_bytes(uint64_t ref);
/* Notes that it is in Redis: its number is not given again. */
void writes_saw(struct writes *s, uint64_t ref);
/* Number of the command for which an answer of this turn has to wait. */
uint64_t writes_ask(struct writes *s);
/* Ends the waiting: the answer of a command that is under way is not copied. */
void writes_want_nothing(struct writes *s);

/* At the end of a turn. True: a command begins: writes_args(), and send it. */
bool writes_begin(struct writes *s);
/* True: its records are many, and no snapshot is under way: the whole state, as records, is wanted,
 * right after writes_begin(). */
bool writes_wants_snap(const struct writes *s, uint64_t least);
void *writes_snap_record(struct writes *s, uint8_t kind, size_t n);
void writes_snap_whole(struct writes *s);

/* The command under way, as arguments behind the script and its keys; borrowed until it is
 * judged. */
void writes_args(const struct writes *s, struct redis_command *c);
enum writes_verdict {
    WRITES_DONE,
    WRITES_AGAIN, /* no answer, or not a good one: send the same again */
    WRITES_STALE, /* another owner has the partition */
    WRITES_GAP    /* Redis has forgotten: read it anew */
};
/* waited: replicas that have it, of those that must; DONE: the command is over. */
enum writes_verdict writes_judge(struct writes *s, const struct redis_ans *a);
void writes_end(struct writes *s);

/* A partition is opened: the fence is put up, then its snapshot, its log and the names
 * of its bodies are read, one command after the other. */

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
