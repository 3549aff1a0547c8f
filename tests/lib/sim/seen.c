/* seen.c: see seen.h. */
#include "tests/lib/sim/seen.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"

#include "common/ticket/pace.h"
#include "common/wire/replica_bytes.h"

/* A class is the interval rounded up: more than the class before was told. */
static uint64_t told_ms(uint8_t class)
{
    return class > 0 ? pace_class_ms(class - 1) : 0;
}

void seen_taken(struct sim *s, const struct proc *node, const struct msg_seen *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct seen_row *r = &m->v[i];
        struct bytes_in in = { r->marks, r->marks + r->n_marks };
        struct msg_why q = { .seg = r->name, .client = r->client };
        struct msg_why_ans a;
        uint8_t class;

        while (in.p < in.end && mark_get(&in, &q.number, &class)) {
            segtab_why(node->segtab, clock_now(node), &q, &a);
            if (a.state == WHY_WAITING && !a.fenced &&
                a.left_ms < (uint64_t)s->o.idle_ms + told_ms(class))
                sim_fail(s, "I-R3: %s has %llu-%u time out in %llu ms, told to poll in %llu",
                         node->name, (unsigned long long)q.seg, q.number,
                         (unsigned long long)a.left_ms, (unsigned long long)told_ms(class));
        }
    }
}
