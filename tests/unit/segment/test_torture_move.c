/* test_torture_move.c: a commit of a move in which the k-th allocation fails, for every k: nothing of it is done.
 * Until it comes again people of the target leave, or it never comes. */
#include "segment/copy/xfer_in.h"
#include "tests/lib/criterion.h"
#include "tests/lib/failing.h"

#define FEW  30u
#define MANY 300u
#define TWICE 7777u /* hash of a name that has two tickets: one here, and a later one, which replaced it, in the copy */

static struct block_pool pool;
static struct contents b;
static struct xfer_in x;

static void person(struct subjects *s, struct contacts *c, seg_id seg, uint32_t number)
{
    char text[40];
    struct subject p = { .id = { seg, number }, .issued_s = (uint32_t)seg, .text = text };
    struct contact to = { .id = p.id, .n = 3, .sealed = (uint8_t *)text };

    p.len = (uint8_t)snprintf(text, sizeof(text), "p-%u", number > 0 ? (unsigned)seg * 1000 + number : 0);
    p.hash = number > 0 ? seg * 1000 + number : TWICE;
    cr_assert_eq(subjects_add(s, &p), 0);
    cr_assert_eq(contacts_put(c, &to), 0);
}

/* Segment 1 with so many people, and a copy of segment 2 that is whole. */
static void made(uint32_t own, uint32_t come)
{
    block_pool_init(&pool, 100);
    contents_init(&b, 1, &pool);
    segq_seal(&b.q);
    xfer_in_init(&x, 9, 2, 1, &pool);
    x.complete = true;
    for (uint32_t i = 0; i < own; i++)
        person(&b.subjects, &b.contacts, 1, i);
    for (uint32_t i = 0; i < come; i++)
        person(&x.subjects, &x.contacts, 2, i);
}

static void ended(void)
{
    xfer_in_fini(&x);
    contents_fini(&b);
    block_pool_fini(&pool);
}

static int commit(void)
{
    struct xfer_time tm = { .unit_ms = 100 };

    return xfer_in_commit(&x, &b, &tm, 60);
}

/* The table has these people, and no others. */
static void has(const struct subjects *s, const struct contacts *c, seg_id seg, uint32_t n, uint32_t all)
{
    const struct subject *p = subjects_by_name(s, TWICE, "p-0", 3);

    cr_assert(s->n == all && c->n == all, "%u and %u of %u", s->n, c->n, all);
    cr_assert(p != NULL && p->id.seg == (all > n ? 2 : seg), "the later one counts");
    for (uint32_t i = 1; i < n; i++) {
        cr_assert(subjects_has(s, seg * 1000 + i));
        cr_assert_not_null(contacts_find(c, (struct ticket_id){ seg, i }));
    }
}

static bool at(uint64_t k, uint32_t own, uint32_t come)
{
    bool failed;
    int rc;

    failing_pause(true);
    made(own, come);
    failing_pause(false);
    failing_arm(k, 1);
    rc = commit();
    failed = failing_disarm();
    if (rc < 0) {
        has(&b.subjects, &b.contacts, 1, own, own);
        has(&x.subjects, &x.contacts, 2, come, come);
        contents_forget(&b, (struct ticket_id){ 1, 5 });
        cr_assert_eq(commit(), 0);
    } else {
        contents_forget(&b, (struct ticket_id){ 1, 5 });
    }
    cr_assert_eq(xfer_in_people(&x, &b), come > own);
    if (rc < 0) {
        cr_assert_eq(b.subjects.n, own - 1 + come, "who left meanwhile is not there");
        cr_assert_eq(b.contacts.n, own - 1 + come);
        cr_assert_not(subjects_has(&b.subjects, 1005));
        cr_assert_null(contacts_find(&b.contacts, (struct ticket_id){ 1, 5 }));
        has(&b.subjects, &b.contacts, 2, come, own - 1 + come);
        contents_forget(&b, (struct ticket_id){ 1, 0 });
        cr_assert(subjects_has(&b.subjects, TWICE), "the other ticket of this name is there");
    }
    ended();
    return failed;
}

static void every(uint32_t own, uint32_t come)
{
    uint64_t k = 1;

    while (at(k, own, come))
        k++;
    cr_assert_gt(k, FEW, "only %llu allocations", (unsigned long long)k);
}

Test(torture_move, the_few_are_put_to_the_many_that_came)
{
    every(FEW, MANY);
}

Test(torture_move, the_few_that_came_are_put_to_the_many)
{
    every(MANY, FEW);
}
