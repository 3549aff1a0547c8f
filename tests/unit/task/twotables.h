/* twotables.h: two tables of tasks, between which a partition is copied, and the links that their managers, a router
 * and they themselves have. */
#ifndef SEGQ_TESTS_TWOTABLES_H
#define SEGQ_TESTS_TWOTABLES_H

#include "tests/lib/criterion.h"
#include "tests/lib/tabrig.h"

enum { A, B };                       /* source, target */
enum { MNG = 1, RTR = 2, PEER = 10 }; /* PEER: the link between them, at both ends */
#define EPOCH 5

static struct tabrig rig[2];
static struct outbox out[2];
static struct task_now now;
static msec_t b_ahead; /* clocks of B */
static uint64_t rid;

static inline struct task_now now_at(int i)
{
    return i == A ? now : (struct task_now){ now.ms + b_ahead, now.wall_ms + b_ahead };
}

static inline void up(int i)
{
    tasktab_up(rig[i].t, MNG, RPC_MANAGER, "m", &out[i]);
    tasktab_up(rig[i].t, RTR, RPC_ROUTER, "r", &out[i]);
    outbox_reset(&out[i]);
}

static inline void link_up(void)
{
    tasktab_up(rig[A].t, PEER, RPC_TASK, "b", &out[A]);
    tasktab_up(rig[B].t, PEER, RPC_TASK, "a", &out[B]);
}

static inline void link_down(void)
{
    tasktab_down(rig[A].t, PEER);
    tasktab_down(rig[B].t, PEER);
}

static inline void say(int i, peer_no from, const struct msg *m)
{
    tasktab_msg(rig[i].t, now_at(i), from, ++rid, m, &out[i]);
}

/* The answer to the last question, or the last message of this type. */
static inline const struct msg *said(int i, enum msg_type type)
{
    const struct msg *m = NULL;

    for (uint32_t k = 0; k < out[i].n; k++)
        if (out[i].v[k].m.type == type)
            m = &out[i].v[k].m;
    return m;
}

static inline void turn(int i)
{
    each_tpeer (rig[i].t, p)
        tasktab_link(rig[i].t, now_at(i), p->no, p->said, 0); /* links take all that is said */
    cr_assert(tasktab_turn(rig[i].t, now_at(i), &out[i]));
    tasktab_written(rig[i].t);
}

/* A turn of each; what they say to one another arrives with the next one. */
static inline void both(void)
{
    struct outbox was[2] = { out[A], out[B] };

    outbox_init(&out[A]);
    outbox_init(&out[B]);
    now.ms += 10;
    now.wall_ms += 10;
    for (int i = A; i <= B; i++)
        for (uint32_t k = 0; k < was[!i].n; k++)
            if (was[!i].v[k].to == PEER)
                say(i, PEER, &was[!i].v[k].m);
    turn(A);
    turn(B);
    outbox_fini(&was[A]);
    outbox_fini(&was[B]);
}

#endif
