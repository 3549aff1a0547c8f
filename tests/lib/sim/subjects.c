/* subjects.c: who comes under a name, and I6: a subject has at most one live ticket.
 *
 *   in every sweep   no two tickets of one subject wait; a member of the directory that has once heard all of a
 *                    node has never fewer entries of it than the node has subjects (segment/line/directory.h)
 *   at an answer     a join that was asked again, since its link had ended, is told the place that its
 *                    subject has
 *   at every append  nobody gets a second ticket whose first let him in with a pass that is
 *                    still good
 *
 * Exempt (PROTOCOL.md, "One place per person"): tickets of a segment that was lost and opened again,
 * which the directory does not know before they have polled. */
#include "tests/lib/sim/subjects.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/groups.h"
#include "tests/lib/sim/replace.h"

#include "segment/core/state.h"

#include <stdlib.h>
#include <string.h>

/* The name itself, and the hash that a router makes of it. */
uint64_t subject_of(const struct sreq *q, char text[SIM_SUBJECT_LEN])
{
    if (q->subject == 0 && q->replaces) { /* a key, as the router makes one */
        snprintf(text, SIM_SUBJECT_LEN, "%c%llx-%x", SUBJECT_KEY_MARK,
                 (unsigned long long)q->token.seg, q->token.number);
        return (q->token.seg << 24 | q->token.number) * 0xd6e8feb86659fd93u | 1;
    }
    if (q->subject == 0)
        return 0;
    snprintf(text, SIM_SUBJECT_LEN, "p%u", q->subject);
    return ((uint64_t)q->subject << 8 | (q->queue + 1u)) * 0x9e3779b97f4a7c15u;
}

/* Half of them are people who are here already. */
uint32_t subject_draw(struct sim *s, unsigned queue)
{
    uint32_t n = s->n_subjects[queue];

    if (s->o.subject_share <= 0 || !rng_chance(&s->rng, s->o.subject_share))
        return 0;
    if (n > 0 && rng_chance(&s->rng, 0.5))
        return 1 + (uint32_t)rng_below(&s->rng, n);
    return ++s->n_subjects[queue];
}

/* Whose node has lost everything is known again when he polls: until then his name is free.
 * Passes say whole seconds, and clocks may differ: what ends in the next ones is nobody's
 * second ticket. */
static bool is_inside(struct sim *s, const struct ticket *t)
{
    return t->fate == T_ADMITTED && !t->leaving && !t->lost && !t->rebuilt &&
           s->count.jumps == 0 &&
           t->expires_s * 1000 > sim_wall(s) + s->wall_ahead_ms + 1000;
}

void subject_given(struct sim *s, struct ticket *t, const struct append_req *q)
{
    if (q->subject_len == 0)
        return;
    t->subject = q->subject_hash;
    t->of_group = is_group_name(q->subject, q->subject_len);
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct ticket *x = &s->ticket[i];

        if (x != t && x->subject == t->subject && is_inside(s, x) && !replace_is_heir(t, x))
            sim_fail(s, "I6: the subject of %llu-%u has a second ticket, %llu-%u, while the "
                        "first is inside", (unsigned long long)x->seg, x->number,
                     (unsigned long long)t->seg, t->number);
    }
}

/* A join was told of an old ticket. */
void subject_found(struct sim *s, const struct append_req *q, const struct append_ans *a)
{
    const struct ticket *t = check_ticket(s, a->seg, a->number);

    if (t == NULL || q->subject_len == 0 || t->subject != q->subject_hash)
        sim_fail(s, "I6: a join was told of another's ticket %llu-%u",
                 (unsigned long long)a->seg, a->number);
}

/* Its place is one that a node has given, to that subject: the first ask's, if that was written down. */
void subject_told_again(struct sim *s, const struct flow *f)
{
    const struct ticket *t = check_ticket(s, f->token.seg, f->token.number);

    if (f->result != FLOW_OK && f->result != FLOW_EXISTING)
        return;
    if (t == NULL || t->subject != f->token.subject_hash)
        sim_fail(s, "I6: a join that was asked again is told %llu-%u, which is not its subject's",
                 (unsigned long long)f->token.seg, f->token.number);
    s->count.again_told++;
}

/* Seen waiting in this sweep. */
void subject_waits(struct sim *s, struct ticket *t)
{
    uint64_t i = map_get(&s->subject_at, t->subject);
    const struct ticket *x = i != MAP_NONE ? &s->ticket[i] : NULL;

    if (x != NULL && x != t && x->sweep == s->sweep && !x->rebuilt && !t->rebuilt &&
        !replace_is_heir(t, x) && !replace_is_heir(x, t))
        sim_fail(s, "I6: tickets %llu-%u and %llu-%u of one subject wait",
                 (unsigned long long)x->seg, x->number, (unsigned long long)t->seg, t->number);
    if (map_set(&s->subject_at, t->subject, (uint64_t)(t - s->ticket)) < 0)
        sim_fail(s, "out of memory");
}

/* ---- the directory --------------------------------------------------------------------- */

static bool has_entry(const struct directory *d, uint32_t holder, uint64_t hash)
{
    uint64_t i = d->n > 0 ? map_get(&d->by_hash, hash) : MAP_NONE;

    for (; i != MAP_NONE; i = d->v[i].next != 0 ? d->v[i].next - 1 : MAP_NONE)
        if (d->v[i].holder == holder)
            return true;
    return false;
}

/* Both have the same members, and the owner has heard all of the holder. */
static bool has_heard(const struct segtab *owner, const struct segtab *holder)
{
    const struct dirs *o = &owner->dir, *h = &holder->dir;

    return o->version != 0 && o->version == h->version && o->self < o->n && h->self < h->n &&
           o->own.h[h->self].heard;
}

/* Keys are left out: a poll forgets one, and a replay has it again, which is no harm. */
static void knows_segment(struct sim *s, const struct proc *owner, const struct proc *p, const struct seg *g)
{
    const struct dirs *o = &owner->segtab->dir;
    const struct subject *x;

    for (uint32_t i = 0; (x = subjects_next(&g->b.subjects, &i)) != NULL;)
        if (subject_has_name(x->text, x->len) && !subject_is_key(x->text, x->len) &&
            directory_owner(x->hash, o->no, o->n) == o->self &&
            !has_entry(&o->own, p->segtab->dir.self, x->hash))
            sim_fail(s, "I6: %s does not know that %s has the subject of %llu-%u", owner->name, p->name,
                     (unsigned long long)x->id.seg, x->id.number);
}

void subjects_known(struct sim *s, const struct proc *p)
{
    for (unsigned i = 0; i < s->n_procs; i++) {
        const struct proc *owner = &s->proc[i];

        if (owner->kind != SIM_SEG || !owner->alive || owner->segtab == NULL || !has_heard(owner->segtab, p->segtab))
            continue;
        each_seg (p->segtab, g) {
            const struct sseg *h = check_seg(s, g->b.id);

            if (h != NULL && !h->rebuilt_at)
                knows_segment(s, owner, p, g);
        }
    }
}
