/* test_reloc.c: relocation tables, and subjects, against plain loops. */
#include "tests/lib/criterion.h"
#include <stdio.h>

#include "common/base/rng.h"
#include "segment/line/reloc.h"
#include "segment/line/person.h"

static uint64_t words[200];

static struct reloc *random_reloc(uint64_t seed, uint32_t bits, double density)
{
    struct rng r;

    rng_seed(&r, seed);
    for (uint32_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = 0;
    for (uint32_t i = 0; i < bits; i++)
        if (rng_chance(&r, density))
            words[i / 64] |= 1ull << (i % 64);
    return reloc_new(9, 1000, bits, words);
}

static bool is_alive(uint32_t n)
{
    return (words[n / 64] >> (n % 64)) & 1;
}

static void forth_and_back(uint32_t bits, double density)
{
    struct reloc *r = random_reloc(bits, bits, density);
    uint32_t k = 0;

    cr_assert_not_null(r);
    for (uint32_t n = 0; n < bits; n++) {
        cr_assert_eq(reloc_rank(r, n), k);
        if (!is_alive(n)) {
            cr_assert_eq(reloc_slot(r, n), RELOC_NONE);
            continue;
        }
        if (k == 0)
            cr_assert_eq(r->first, n);
        cr_assert_eq(reloc_slot(r, n), 1000 + k);
        cr_assert_eq(reloc_number(r, k), n);
        k++;
    }
    cr_assert_eq(reloc_rank(r, bits), k);
    cr_assert_eq(r->count, k);
    if (k == 0)
        cr_assert_eq(r->first, bits);
    reloc_free(r);
}

Test(reloc, forth_and_back)
{
    static const uint32_t bits[] = { 0, 1, 63, 64, 65, 511, 512, 513, 1024, 7000, 12800 };

    for (unsigned i = 0; i < ARRAY_LEN(bits); i++) {
        forth_and_back(bits[i], 0.0);
        forth_and_back(bits[i], 0.02);
        forth_and_back(bits[i], 0.5);
        forth_and_back(bits[i], 1.0);
    }
}

Test(reloc, bits_beyond_the_end_do_not_count)
{
    uint64_t all = ~0ull;
    struct reloc *r = reloc_new(1, 0, 10, &all);

    cr_assert_eq(r->count, 10);
    reloc_free(r);
}

/* Host: 1000 own slots, then the absorbed; some die; the host is frozen and moves on. */
Test(reloc, compose_follows_the_second_move)
{
    struct reloc *r = random_reloc(4, 5000, 0.4), *f, *c;
    struct block_pool pool;
    struct segq q;
    struct rng g;
    uint32_t n, end;

    block_pool_init(&pool, 1000);
    segq_init(&q, &pool);
    end = 1000 + r->count;
    for (uint32_t i = 0; i < end; i++)
        cr_assert_eq(segq_append(&q, 9, &n), 0);
    rng_seed(&g, 8);
    for (uint32_t i = 0; i < 1500; i++)
        segq_drop(&q, (uint32_t)rng_below(&g, end), DEAD_LEFT);
    segq_settle(&q);
    f = reloc_freeze(&q, 77, q.end);
    c = reloc_compose(r, f);
    cr_assert_eq(f->count, q.waiting);
    cr_assert_eq(c->base, reloc_rank(f, 1000));
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t slot = reloc_slot(r, i);

        if (slot == RELOC_NONE || !segq_is_alive(&q, slot))
            cr_assert_eq(reloc_slot(c, i), RELOC_NONE);
        else
            cr_assert_eq(reloc_slot(c, i), segq_rank(&q, slot));
    }
    reloc_free(r);
    reloc_free(f);
    reloc_free(c);
    segq_fini(&q);
    block_pool_fini(&pool);
}

Test(reloc, a_slot_names_its_owner)
{
    static const uint32_t base[] = { 300, 100, 200, 200 }, bits[] = { 10, 50, 0, 100 };
    struct reloc_list l = { 0 };
    uint64_t all[2] = { ~0ull, ~0ull };

    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(reloc_list_reserve(&l, 1), 0);
        reloc_list_add(&l, reloc_new(i + 1, base[i], bits[i], all));
    }
    cr_assert_null(reloc_list_at(&l, 99));
    cr_assert_eq(reloc_list_at(&l, 100)->seg, 2);
    cr_assert_eq(reloc_list_at(&l, 149)->seg, 2);
    cr_assert_null(reloc_list_at(&l, 150));
    cr_assert_eq(reloc_list_at(&l, 200)->seg, 4, "the empty one is passed over");
    cr_assert_eq(reloc_list_at(&l, 299)->seg, 4);
    cr_assert_eq(reloc_list_at(&l, 309)->seg, 1);
    cr_assert_null(reloc_list_at(&l, 310));
    reloc_list_fini(&l);
}

Test(subject, found_by_name_and_by_ticket_until_gone)
{
    struct subjects s;
    char name[20];

    subjects_init(&s);
    for (uint32_t i = 0; i < 2000; i++) {
        int n = snprintf(name, sizeof(name), "user%u", i);

        cr_assert_eq(subjects_add(&s, &(struct subject) { .id = { 3, i },
                                                          .len = (uint8_t)n,
                                                          .hash = i * 77777ull + 1,
                                                          .text = name }),
                     0);
    }
    for (uint32_t i = 0; i < 2000; i += 2)
        subjects_del(&s, (struct ticket_id) { 3, i });
    subjects_del(&s, (struct ticket_id) { 3, 2 });
    for (uint32_t i = 0; i < 2000; i++) {
        int n = snprintf(name, sizeof(name), "user%u", i);
        const struct subject *x = subjects_by_name(&s, i * 77777ull + 1, name, (size_t)n);

        cr_assert_eq(x != NULL, i % 2 == 1);
        cr_assert_eq(subjects_by_ticket(&s, (struct ticket_id) { 3, i }) == x, true);
    }
    for (uint32_t i = 1; i < 2000; i += 2)
        subjects_del(&s, (struct ticket_id) { 3, i });
    cr_assert_eq(s.cap, 0, "memory was given back");
    subjects_fini(&s);
}

Test(subject, one_hash_never_gives_away_anothers_ticket)
{
    struct subjects s;

    subjects_init(&s);
    cr_assert_eq(subjects_add(&s, &(struct subject) { .id = { 1, 1 },
                                                      .len = 3,
                                                      .hash = 5,
                                                      .text = (char[]) { "ann" } }),
                 0);
    cr_assert_null(subjects_by_name(&s, 5, "bob", 3));
    cr_assert_eq(subjects_add(&s, &(struct subject) { .id = { 1, 2 },
                                                      .len = 3,
                                                      .hash = 5,
                                                      .text = (char[]) { "bob" } }),
                 0);
    cr_assert_null(subjects_by_name(&s, 5, "ann", 3));
    subjects_del(&s, (struct ticket_id) { 1, 1 });
    cr_assert_eq(subjects_by_name(&s, 5, "bob", 3)->id.number, 2);
    subjects_fini(&s);
}
