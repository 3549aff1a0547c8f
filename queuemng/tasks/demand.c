/* demand.c: see the header. */
#include "queuemng/tasks/demand.h"

#include "queuemng/state/state.h"

static uint64_t and_more(uint64_t n)
{
    return n + (n + 3) / 4;
}

static struct bears could_use(const struct mshare *s)
{
    uint64_t began = s->st.sent - (s->st.sent >= s->sent ? s->sent : 0); /* else it is started anew */

    if (!s->heard)
        return s->held;
    return (struct bears){ 1000 * (and_more(began) + s->st.waiting),
                           and_more(s->st.in_flight) + s->st.waiting };
}

static void add(uint64_t *sum, uint64_t n)
{
    *sum = u64_min(*sum + u64_min(n, ENDPOINT_ANY), ENDPOINT_ANY);
}

void demand_second(struct mng *m)
{
    each_endpoint(m, x) {
        struct bears all = { 0 };

        each_share(x, s) {
            claim_says(&s->claim, could_use(s));
            s->sent = s->st.sent;
            add(&all.rate, s->claim.wants.rate);
            add(&all.slots, s->claim.wants.slots);
        }
        claim_says(&x->claim, all);
        m->tasks.split = true;
    }
}

void demand_aims(struct mng *m, struct mendpoint *x, struct bears whole)
{
    struct claim **v = arena_array(&m->out->box.mem, x->shares.n, sizeof(struct claim *));
    struct fair *f = arena_array(&m->out->box.mem, x->shares.n, sizeof(*f));
    size_t n = 0;

    if (v == NULL || f == NULL) {
        m->out->box.failed = true;
        return;
    }
    each_share(x, s) {
        s->claim.no = s->node->no;
        s->claim.weight = 1;
        if (s->owner)
            v[n++] = &s->claim;
        else
            s->claim.aim = (struct bears){ 0 };
    }
    claims_divide(v, n, whole, m->now_ms, f);
}
