/* msg.c: the lists of messages against their structs; who may say what; names. */
#include "common/wire/msg.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

/* Checks for members that many messages have in common. */
#define X(name, number, member, ways)                                                    \
    _Static_assert(offsetof(struct msg_##member, epoch) == 0, #name ": the epoch is first");
MSG_ORDERS(X)
MSG_REPORTS(X)
MSG_TASK_ORDERS(X)
MSG_TASK_REPORTS(X)
#undef X
#define X(name, number, member, ways)                                                    \
    _Static_assert(offsetof(struct msg_##member, move) == 0, #name ": the move is first");
MSG_COPIES(X)
#undef X
#define X(name, number, member, ways)                                                    \
    _Static_assert(offsetof(struct msg_##member, n) == offsetof(struct msg_batch, n) &&  \
                       sizeof(struct msg_##member) == sizeof(struct msg_batch),          \
                   #name ": a count and a pointer to rows");
MSG_BATCHES(X)
#undef X

const char *rpc_role_name(enum rpc_role r)
{
    static const char *const names[] = { "?", "router", "segment", "manager", "task" };

    return r < RPC_NROLES ? names[r] : "?";
}

const char *msg_name(enum msg_type t)
{
    switch (t) {
#define X(name, number, ...)                                                             \
    case MSG_##name:                                                                     \
        return #name;
        MSG_TYPES(X)
#undef X
    case MSG_NONE:
        break;
    }
    return "?";
}

bool msg_may(enum rpc_role from, enum rpc_role to, enum msg_type t)
{
    static const uint32_t ways_of[] = {
#define X(name, number, member, ways) [MSG_##name] = (ways),
        MSG_BODIES(X)
#undef X
    };
    _Static_assert(RPC_NROLES * RPC_NROLES <= 32, "a way is a bit");

    assert(from < RPC_NROLES && to < RPC_NROLES);
    return (unsigned)t < ARRAY_LEN(ways_of) && (ways_of[t] & MSG_WAY(from, to)) != 0;
}

const char *queue_state_name(enum queue_phase phase, enum queue_state state)
{
    switch (phase) {
    case PHASE_PREQUEUE:
        return "prequeue";
    case PHASE_PASSTHROUGH:
        return "passthrough";
    case PHASE_REJECT:
        return "reject";
    default:
        break;
    }
    switch (state) {
    case QUEUE_PAUSED:
        return "paused";
    case QUEUE_CLOSED:
        return "closed";
    case QUEUE_FULL:
        return "full";
    default:
        return "open";
    }
}

/* ---- outbox ---- */

#define OUTBOX_FIRST      16u
#define OUTBOX_KEEP_BYTES (1u << 20) /* a rare huge step does not keep its memory */

void outbox_init(struct outbox *o)
{
    memset(o, 0, sizeof(*o));
    arena_init(&o->mem);
}

void outbox_fini(struct outbox *o)
{
    arena_fini(&o->mem);
    free(o->v);
    memset(o, 0, sizeof(*o));
}

void outbox_reset(struct outbox *o)
{
    arena_reset(&o->mem);
    o->n = 0;
    o->failed = false;
    if (o->cap * sizeof(*o->v) > OUTBOX_KEEP_BYTES) {
        free(o->v);
        o->v = NULL;
        o->cap = 0;
    }
}

struct msg *outbox_add(struct outbox *o, peer_no to, enum msg_type t)
{
    return outbox_answer(o, to, 0, t);
}

struct msg *outbox_answer(struct outbox *o, peer_no to, uint64_t rid, enum msg_type t)
{
    struct msg *m = &o->scratch;

    if (GROW(o->v, o->n, o->cap, OUTBOX_FIRST)) {
        o->v[o->n].to = to;
        o->v[o->n].rid = rid;
        o->v[o->n].bulk = 0;
        m = &o->v[o->n].m;
        o->n++;
    } else {
        o->failed = true;
    }
    memset(m, 0, sizeof(*m));
    assert(t != MSG_NONE);
    m->type = t;
    return m;
}

void outbox_weigh(struct outbox *o, size_t bytes)
{
    if (o->n > 0)
        o->v[o->n - 1].bulk = (uint32_t)bytes;
}
