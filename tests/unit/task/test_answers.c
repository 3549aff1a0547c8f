/* test_answers.c: long answers in files: kept, found again, read in pieces; bounds; what goes, goes. */
#include "task/bodies/answers.h"

#include "tests/lib/criterion.h"
#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"

#define BIG 200000u

static char dir[64];
static struct answers *a;
static uint8_t noise[2 * BIG];

static void open_it(uint64_t max)
{
    struct err e = { 0 };

    cr_assert_eq(answers_open(&a, dir, max, 0, &e), 0, "%s", e.text);
}

static unsigned files(const char *remove)
{
    DIR *d = opendir(dir);
    struct dirent *x;
    unsigned n = 0;

    cr_assert_not_null(d);
    while ((x = readdir(d)) != NULL) {
        if (x->d_name[0] == '.')
            continue;
        n++;
        if (remove != NULL)
            cr_assert_eq(unlinkat(dirfd(d), x->d_name, 0), 0);
    }
    closedir(d);
    return n;
}

static void setup(void)
{
    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR + 1);
    randombytes_buf(noise, sizeof(noise));
    strcpy(dir, "/tmp/segq-answers-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
}

static void teardown(void)
{
    answers_close(a);
    files("all");
    rmdir(dir);
}

TestSuite(answers, .init = setup, .fini = teardown);

static struct answer_id id_of(uint32_t part, task_no no, const uint8_t *p, size_t n)
{
    struct answer_id id = { .part = part, .no = no, .length = n };

    crypto_hash_sha256(id.sha256, p, n);
    return id;
}

/* In pieces. False: there was no room. */
static bool keep(const struct answer_id *id, const uint8_t *p)
{
    struct answer_file *f = answers_begin(a, SIZE_MAX);

    for (size_t at = 0, n; f != NULL && at < id->length; at += n) {
        n = id->length - at < 7777 ? id->length - at : 7777;
        if (!answers_add(f, p + at, n))
            return false;
    }
    if (f != NULL)
        answers_keep(f, id);
    return f != NULL;
}

static void expect_whole(const struct answer_id *id, const uint8_t *p)
{
    static uint8_t got[4096];
    uint64_t at = 0;

    cr_assert(answers_have(a, id));
    while (at < id->length) {
        int64_t n = answers_read(a, id, at, got, sizeof(got));

        cr_assert_gt(n, 0);
        cr_assert_eq(memcmp(got, p + at, (size_t)n), 0);
        at += (uint64_t)n;
    }
}

Test(answers, one_is_there_byte_for_byte_also_after_a_restart)
{
    struct answer_id id, other;

    open_it(1 << 20);
    id = id_of(7, 12345678901, noise, BIG);
    cr_assert(keep(&id, noise));
    expect_whole(&id, noise);
    answers_close(a);
    open_it(1 << 20);
    expect_whole(&id, noise);
    cr_expect_eq(answers_counts(a)->bytes, BIG);
    other = id;
    other.no++;
    cr_expect(!answers_have(a, &other));
    other = id;
    other.sha256[0] ^= 1;
    cr_expect(!answers_have(a, &other), "that of an earlier attempt");
    cr_expect_eq(answers_read(a, &other, 0, noise, 1), SQ_EUNKNOWN);
    cr_expect_eq(answers_read(a, &id, BIG + 1, noise, 1), SQ_EUNKNOWN);
}

Test(answers, what_is_not_whole_goes_at_the_start)
{
    struct answer_id id;
    struct answer_file *f;
    char cmd[200];

    open_it(1 << 20);
    id = id_of(1, 2, noise, BIG);
    cr_assert(keep(&id, noise));
    f = answers_begin(a, SIZE_MAX);
    cr_assert(answers_add(f, noise, 1000));
    cr_expect_eq(answers_counts(a)->bytes, BIG + 1000);
    cr_expect_eq(files(NULL), 2);
    snprintf(cmd, sizeof(cmd), "truncate -s -1 %s/1-2-*; touch %s/mine", dir, dir);
    cr_assert_eq(system(cmd), 0);
    answers_give_up(f);
    f = answers_begin(a, SIZE_MAX); /* the process dies here */
    answers_close(a);
    open_it(1 << 20);
    cr_expect(!answers_have(a, &id), "a power cut has taken its end");
    cr_expect_eq(answers_counts(a)->bytes, 0);
    cr_expect_eq(files(NULL), 1, "what is not ours stays");
    free(f);
}

Test(answers, at_the_bound_those_that_were_read_make_room)
{
    struct answer_id one, two, three;

    open_it(2 * BIG + 100);
    one = id_of(1, 1, noise, BIG);
    two = id_of(1, 2, noise + 1, BIG);
    three = id_of(1, 3, noise + 2, BIG);
    cr_assert(keep(&one, noise));
    cr_assert(keep(&two, noise + 1));
    cr_expect(!keep(&three, noise + 2));
    cr_expect_eq(answers_counts(a)->no_room, 1);
    cr_expect_eq(answers_counts(a)->bytes, 2 * BIG, "what had come has gone");
    cr_expect_eq(files(NULL), 2);
    expect_whole(&two, noise + 1);
    cr_assert(keep(&three, noise + 2));
    cr_expect(answers_have(a, &one) && !answers_have(a, &two) && answers_have(a, &three));
    cr_expect_eq(answers_counts(a)->made_room, 1);
}

static enum answer_life lives(void *ctx, uint32_t part, task_no no)
{
    const bool *odd = ctx;

    return part == 1 && (no % 2 == 1) == *odd ? ANSWER_LIVES : ANSWER_DEAD;
}

Test(answers, one_goes_with_its_task_and_with_a_newer_one)
{
    struct answer_id id[6], newer;
    bool odd = true;

    open_it(16 << 20);
    for (unsigned i = 0; i < 6; i++) {
        id[i] = id_of(1 + i / 4, i, noise + i, BIG);
        cr_assert(keep(&id[i], noise + i));
    }
    answers_step(a, 1, lives, &odd);
    for (unsigned i = 0; i < 6; i++)
        cr_expect_eq(answers_have(a, &id[i]), i == 1 || i == 3, "%u", i);
    cr_expect_eq(files(NULL), 2);
    newer = id_of(1, 1, noise, 2 * BIG);
    cr_assert(keep(&newer, noise));
    cr_expect(!answers_have(a, &id[1]) && answers_have(a, &newer));
    answers_drop(a, 1, 1);
    answers_drop(a, 1, 1);
    cr_expect_eq(files(NULL), 1);
    cr_expect_eq(answers_counts(a)->bytes, BIG);
}

/* Its key is partition and number, mixed: two tasks may have the same. */
Test(answers, two_tasks_under_one_key_are_two)
{
    struct answer_id one, two;

    open_it(1 << 20);
    one = id_of(1, 5, noise, BIG);
    two = id_of(0, 5 ^ 1ull << 40, noise + 1, BIG);
    cr_assert(keep(&one, noise) && keep(&two, noise + 1));
    expect_whole(&one, noise);
    expect_whole(&two, noise + 1);
    answers_drop(a, 1, 5);
    cr_expect(!answers_have(a, &one) && answers_have(a, &two));
    answers_drop(a, 0, 5 ^ 1ull << 40);
    cr_expect_eq(answers_counts(a)->files, 0);
}

Test(answers, a_file_that_somebody_removes_is_not_there)
{
    struct answer_id id;

    open_it(1 << 20);
    id = id_of(1, 5, noise, BIG);
    cr_assert(keep(&id, noise));
    files("all");
    cr_expect_eq(answers_read(a, &id, 0, noise, 10), SQ_EUNKNOWN);
}

Test(answers, a_folder_that_cannot_be_written_costs_the_long_answers_alone)
{
    struct answer_id id;

    open_it(1 << 20);
    id = id_of(1, 5, noise, BIG);
    cr_assert_eq(rmdir(dir), 0);
    cr_expect(!keep(&id, noise));
    cr_expect_eq(answers_counts(a)->failures, 1);
    cr_assert_eq(mkdir(dir, 0700), 0);
}
