/* redis_store_int.h: the data structures of the store in Redis: private to redis_store.c
 * and redis_lease.c. */
#ifndef SEGQ_REDIS_STORE_INT_H
#define SEGQ_REDIS_STORE_INT_H

#include "common/base/buf.h"
#include "common/redis/redis_script.h"
#include "queuemng/store/redis_store.h"

#define ASKED_MAX 32

struct write { /* keys and values, each with its 0; a deleted key has no value */
    struct buf text;
    struct {
        size_t key, val; /* offsets; val 0: delete */
    } * v;
    size_t n, cap, n_puts;
    bool whole; /* in place of everything that is there */
    uint64_t serial;
    msec_t since_ms;
    int64_t sent_us;
};

struct redis_store {
    struct store store;
    struct ev *ev; /* ref */
    struct redis_store_calls calls;
    void *ctx;
    struct redis_link *link;
    struct ev_timer *again;
    char key[3][REDIS_KEY_BYTES]; /* lease, head, kv */
    char owner[64], info[400];
    uint32_t ttl_ms, wait_replicas, answer_ms;
    uint64_t asked[ASKED_MAX]; /* lease questions that are open, oldest first: a ring */
    unsigned first_asked, n_asked;
    struct kv mirror;
    uint64_t rev;        /* number of the last batch known to be kept, or loaded */
    bool has_rev, dirty; /* dirty: the mirror has more than was acknowledged */
    uint64_t epoch;      /* we write under; 0 = not */
    uint64_t issued, done;
    struct write next; /* being gathered */
    struct write in_flight; /* n == 0 and not whole: none */
    uint64_t in_flight_rev;  /* number that it makes */
    bool sent;         /* sent, and not answered */
    bool fails_over, alone; /* other servers are known; Redis takes writes that no replica gets */
    msec_t replicas_ms;     /* when it was asked for these last */
    unsigned n_stale; /* answers still to come that are about writes of an earlier term */
    struct store_counts count;
    struct histo latency;
};

void redis_store_ask_replicas(struct redis_store *s); /* the answer is for redis_store_alone() */

/* Scripts that run inside Redis; each is atomic. KEYS: lease, head, kv (redis_store.h says what is in them).
 * Answers begin with numbers: a result, then rev. */

/* Numbers are kept as plain digits: what Lua makes of a number above 10^14 is not. */
#define HEAD_FIELD(name, field)                                                          \
    "local " name " = tonumber(redis.call('HGET', KEYS[2], '" field "') or '0') "
/* Without the pairs (evicted, deleted) there is nothing, whatever the head says. */
#define HEAD_REV                                                                         \
    HEAD_FIELD("rev", "rev")                                                             \
    "if redis.call('EXISTS', KEYS[3]) == 0 then rev = 0 end "
/* Is it ours? ARGV[1] is the owner. */
#define LEASE_OWNER                                                                      \
    "local cur = redis.call('GET', KEYS[1]) or '' "                                      \
    "local ours = string.sub(cur, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' "
#define LEASE_HELD "return {0, rev, e, math.max(redis.call('PTTL', KEYS[1]), 0), cur} "

/* owner, info, ttl, above -> 1, rev, epoch, 0 | 0, rev, epoch, ms left, holder.
 * The epoch goes above the highest ever given, above what the caller has heard of, and
 * above the one in the kept record (which may have come from a file). */
#define REDIS_SCRIPT_TAKE                                                                \
    LEASE_OWNER HEAD_REV HEAD_FIELD(                                                     \
        "e",                                                                             \
        "epoch") "if cur ~= '' and not ours then " LEASE_HELD "end "                     \
                 "e = math.max(e, tonumber(ARGV[4])) "                                   \
                 "local ok, meta = pcall(cjson.decode, redis.call('HGET', KEYS[3], "     \
                 "'meta') or '') "                                                       \
                 "if ok and type(meta) == 'table' and type(meta.epoch) == 'number' "     \
                 "then "                                                                 \
                 "e = math.max(e, meta.epoch) end "                                      \
                 "e = e + 1 "                                                            \
                 "redis.call('HSET', KEYS[2], 'epoch', string.format('%.0f', e)) "       \
                 "redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3]) " \
                 "return {1, rev, e, 0}"

/* owner, ttl, epoch -> 1, rev, epoch, 0 | 0, rev, epoch, ms left, holder */
#define REDIS_SCRIPT_RENEW                                                               \
    LEASE_OWNER HEAD_REV HEAD_FIELD(                                                     \
        "e", "epoch") "if not ours or e ~= tonumber(ARGV[3]) then " LEASE_HELD "end "    \
                      "redis.call('PEXPIRE', KEYS[1], ARGV[2]) "                         \
                      "return {1, rev, e, 0}"

/* owner */
#define REDIS_SCRIPT_FREE                                                                \
    LEASE_OWNER "if ours then redis.call('DEL', KEYS[1]) end return 1"

/* epoch, rev before, serial, owner, whole?, then put|del, key, value ... -> result, rev
 */
#define REDIS_WRITE_STALE 0 /* not the epoch that may write */
#define REDIS_WRITE_DONE  1
#define REDIS_WRITE_GAP   2 /* something was lost, or written, in between */
#define REDIS_SCRIPT_WRITE                                                               \
    HEAD_REV                                                                             \
    HEAD_FIELD("e", "epoch")                                                             \
    "if e ~= tonumber(ARGV[1]) then return {0, rev} end "                                \
    "local name = ARGV[1] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4] "                          \
    "if rev > 0 and redis.call('HGET', KEYS[2], 'last') == "                             \
    "name then return {1, rev} end "                                                     \
    "local before = tonumber(ARGV[2]) "                                                  \
    "if ARGV[5] == '1' then redis.call('DEL', KEYS[3]) rev = "                           \
    "math.max(rev, before) "                                                             \
    "elseif rev ~= before then return {2, rev} end "                                     \
    "for i = 6, #ARGV, 3 do "                                                            \
    "if ARGV[i] == 'put' then redis.call('HSET', KEYS[3], "                              \
    "ARGV[i + 1], ARGV[i + 2]) "                                                         \
    "else redis.call('HDEL', KEYS[3], ARGV[i + 1]) end end "                             \
    "redis.call('HSET', KEYS[2], 'rev', string.format('%.0f', "                          \
    "rev + 1), 'last', name) "                                                           \
    "return {1, rev + 1}"

/* -> rev, key, value, key, value ... */
#define REDIS_SCRIPT_LOAD                                                                \
    HEAD_REV                                                                             \
    "local t, all = {rev}, redis.call('HGETALL', KEYS[3]) "                              \
    "for i = 1, #all do t[i + 1] = all[i] end "                                          \
    "return t"

#endif
