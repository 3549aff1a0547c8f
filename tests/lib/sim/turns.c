/* turns.c: the pool that would make the calls is a number for each ticket: what was said first. */
#include "tests/lib/sim/turns.h"

#include <string.h>

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/proc.h"

static bool asks(const struct sim *s, const struct append_req *q, const struct append_ans *a)
{
    uint64_t h = (q->seg * 0x9e3779b97f4a7c15u) ^ (a->number * 0xbf58476d1ce4e5b9u);

    return a->state == APPEND_OK && (double)(h >> 40) < s->o.contact_share * (1 << 24);
}

/* Some are as long as they may be. */
static uint16_t bytes_of(seg_id seg, uint32_t number)
{
    return (seg ^ number) % 16 == 0 ? CONTACT_SEALED_MAX : 12;
}

void turns_ask(struct sim *s, struct proc *node, const struct append_req *q, const struct append_ans *a)
{
    uint8_t sealed[CONTACT_SEALED_MAX] = { 0 };
    struct contact_req r = { .seg = q->seg, .number = a->number, .claim_ms = (uint32_t)s->o.claim_ms * 2,
                             .n_sealed = bytes_of(q->seg, a->number), .sealed = sealed };
    struct contact_ans got;

    if (!asks(s, q, a))
        return;
    memcpy(sealed, &q->seg, 8);
    memcpy(sealed + 8, &a->number, 4);
    segtab_contact(node->segtab, clock_now(node), &r, 1, &got);
    if (got.state != CONTACT_OK)
        sim_fail(s, "I14: a new ticket gets no contact: %u", got.state);
}

void turns_asked(struct sim *s, const struct append_req *q, const struct append_ans *a)
{
    struct ticket *t = asks(s, q, a) ? check_ticket(s, q->seg, a->number) : NULL;

    if (t != NULL)
        t->contact = true;
}

/* Takes a word about this ticket, which is known by its name. */
static void hand_over(struct sim *s, struct ticket *t, const struct msg_turn *m)
{
    seg_id seg;
    uint32_t number;

    if (m->n_sealed != bytes_of(m->seg, m->number)) {
        sim_fail(s, "I14: ticket %llu-%u has %u bytes", (unsigned long long)m->seg, m->number, m->n_sealed);
        return;
    }
    memcpy(&seg, m->sealed, 8);
    memcpy(&number, m->sealed + 8, 4);
    if (seg != m->seg || number != m->number || !t->contact)
        sim_fail(s, "I14: ticket %llu-%u is told in the name of %llu-%u", (unsigned long long)m->seg,
                 m->number, (unsigned long long)seg, number);
    if (m->word == TURN_NOW && t->pass != 0 && t->released_ms != m->at_ms)
        sim_fail(s, "I14: ticket %llu-%u is told of another release than its pass", (unsigned long long)m->seg,
                 m->number);
    if (m->word == TURN_SOON) {
        if (t->turn_ms != 0 && !t->revived && !t->rebuilt)
            sim_fail(s, "I14: ticket %llu-%u was told that it is let in, and that it soon will be",
                     (unsigned long long)m->seg, m->number);
        s->count.soons += !t->soon_told;
        t->soon_told = true;
        return;
    }
    s->count.turns_again += t->turn_ms != 0;
    s->count.turns += t->turn_ms == 0;
    t->turn_ms = m->at_ms;
}

void turns_heard(struct sim *s, struct proc *router, peer_no node, const struct msg_turn *m)
{
    struct msg ans = { .type = MSG_TURN_ANS };
    struct ticket *t = check_ticket(s, m->seg, m->number);

    if (t == NULL) {
        sim_fail(s, "I14: nobody has ticket %llu-%u, which is told", (unsigned long long)m->seg, m->number);
        return;
    }
    sim_note(s, "turn %lu-%lu", t->seg, t->number, 0, 0, 0);
    ans.turn_ans = (struct msg_turn_ans){ .seg = m->seg, .number = m->number, .word = m->word };
    ans.turn_ans.told = !rng_chance(&s->rng, 0.2); /* else its pool is full */
    ans.turn_ans.later_ms = 300;
    if (ans.turn_ans.told)
        hand_over(s, t, m);
    if (!rng_chance(&s->rng, 0.1)) /* the router is killed amid it */
        net_send(s, router, node, &ans, 0);
}

/* Whoever came back too late for the window waits again. */
void turns_waits(struct sim *s, const struct ticket *t)
{
    if (t->turn_ms != 0 && !t->revived && !t->rebuilt && !t->returned)
        sim_fail(s, "I14: ticket %llu-%u was told that it is let in, and waits", (unsigned long long)t->seg,
                 t->number);
}

void turns_end(struct sim *s)
{
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct ticket *t = &s->ticket[i];

        if (t->contact && t->turn_ms == 0 && t->pass != 0 && !t->leaving && t->ended == 0 && !t->lost &&
            !t->rebuilt)
            sim_fail(s, "I14: ticket %llu-%u was let in, and not told", (unsigned long long)t->seg, t->number);
    }
}
