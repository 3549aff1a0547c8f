/* script.h: what runs inside Redis for one partition; each script is atomic.
 *
 * KEYS, with the partition's number in braces, so that a cluster keeps them on one node:
 *   segq:{P}:epoch  hash: epoch; fence: "epoch nonce" of the one who may write; n: number of the
 *                   last command; len: groups in the log
 *   segq:{P}:log    list of groups of records, since the snapshot
 *   segq:{P}:snap   list: the snapshot, in slices
 *   segq:{P}:body   hash: bodies and results, by their references
 *   segq:{P}:next   list: a snapshot that is not whole yet
 * Answers begin with a result. */
#ifndef SEGQ_TASK_REDIS_SCRIPT_H
#define SEGQ_TASK_REDIS_SCRIPT_H

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

#endif
