/* test_large.c: large bodies in files: in pieces, kept with a task, read, gone with it; room; what is left of a
 * process that was killed. */
#define _GNU_SOURCE 1 /* answers.c */
#include "common/base/file.h"

static int write_or_full(int fd, const void *p, size_t n);
#define file_write_all write_or_full /* in answers.c alone */
#undef _GNU_SOURCE
#include "task/bodies/answers.c"
#undef file_write_all
#include "task/bodies/large.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/task/sha256.h"
#include "task/bodies/bodies.h"
#include "tests/lib/criterion.h"

#define PIECE 60000u
#define N     (10 * PIECE)

static char dir[64];
static unsigned disk_has = UINT_MAX; /* files for which there is room */
static struct large *l;
static uint8_t noise[N];

static void open_it(uint64_t max)
{
    struct err e = { 0 };

    cr_assert_eq(large_open(&l, dir, max, true, &e), 0, "%s", e.text);
}

static void set_up(void)
{
    strcpy(dir, "/tmp/segq-large.XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    for (size_t i = 0; i < N; i++)
        noise[i] = (uint8_t)(i * 7 + i / 251);
}

static unsigned files(bool remove)
{
    DIR *d = opendir(dir);
    struct dirent *x;
    unsigned n = 0;

    while ((x = readdir(d)) != NULL) {
        n += x->d_name[0] != '.';
        if (remove && x->d_name[0] != '.')
            cr_assert_eq(unlinkat(dirfd(d), x->d_name, 0), 0);
    }
    closedir(d);
    return n;
}

static void tear_down(void)
{
    large_close(l);
    (void)files(true);
    rmdir(dir);
}

TestSuite(large, .init = set_up, .fini = tear_down);

/* Half of it gets there before the disk is full. */
static int write_or_full(int fd, const void *p, size_t n)
{
    bool full = files(false) > disk_has;
    int rc = file_write_all(fd, p, full ? n / 2 : n);

    errno = ENOSPC;
    return full ? SQ_ESYS : rc;
}

static int piece(uint64_t link, uint64_t upload, uint64_t at, bool last, uint8_t sha256[RESULT_SHA256])
{
    struct large_piece q = { .upload = upload, .at = at, .length = N, .last = last, .p = noise + at, .n = PIECE };

    return large_add(l, link, &q, sha256);
}

static int come(uint64_t link, struct call_file *f)
{
    int rc = 0;

    f->length = N;
    for (uint64_t at = 0; at < N && rc == 0; at += PIECE)
        rc = piece(link, f->upload, at, at + PIECE == N, f->sha256);
    return rc;
}

static enum answer_life is(void *ctx, uint32_t part, task_no no)
{
    (void)part;
    return ((const enum answer_life *)ctx)[no];
}

Test(large, what_comes_in_pieces_is_read_and_goes_with_its_task)
{
    struct call_file f = { .upload = 5 }, g;
    enum answer_life life[9] = { 0 };
    uint8_t right[RESULT_SHA256];
    static uint8_t got[N];
    struct large_counts n;
    int fd;

    open_it(1 << 30);
    cr_assert_eq(come(2, &f), 0);
    sha256_of(right, noise, N);
    cr_expect_eq(memcmp(f.sha256, right, sizeof(right)), 0);
    cr_expect(large_has(l, 2, &f) && !large_has(l, 3, &f), "it is of its link");
    g = f;
    g.sha256[0] ^= 1;
    cr_expect(!large_has(l, 2, &g));
    cr_assert_eq(large_keep(l, 2, &f, 1, 7), 0);
    cr_expect(!large_has(l, 2, &f), "no other task gets it");
    fd = large_read(l, &f, 1, 7);
    cr_assert_geq(fd, 0);
    cr_expect(pread(fd, got, N, 0) == N && memcmp(got, noise, N) == 0);
    close(fd);
    cr_expect_eq(large_read_at(l, &f, 1, 7, N - 10, got, 100), 10);
    cr_expect_eq(large_read(l, &f, 1, 8), SQ_EUNKNOWN);
    life[7] = ANSWER_LIVES;
    large_step(l, 1000, is, life);
    large_step(l, 1000 + 2 * BODIES_LINGER_MS, is, life);
    cr_expect_eq(files(false), 1);
    life[7] = ANSWER_DEAD;
    large_step(l, 100000, is, life);
    large_step(l, 100000 + BODIES_LINGER_MS - 1, is, life);
    cr_expect_eq(files(false), 1, "the record of its end may not be on the disk yet");
    large_step(l, 100000 + BODIES_LINGER_MS, is, life);
    cr_expect_eq(files(false), 0);
    large_counts(l, &n);
    cr_expect(n.files == 0 && n.bytes == 0 && n.kept == 1 && n.lost == 1 && n.given_up == 0);
}

Test(large, a_piece_that_does_not_follow_ends_it)
{
    struct call_file f = { .upload = 5 };

    open_it(1 << 30);
    cr_expect_eq(piece(2, 5, PIECE, false, f.sha256), SQ_EUNKNOWN, "nothing came before");
    cr_expect_eq(piece(2, 5, 0, false, f.sha256), 0);
    cr_expect_eq(piece(3, 5, PIECE, false, f.sha256), SQ_EUNKNOWN, "of another link");
    cr_expect_eq(piece(2, 5, 2 * PIECE, false, f.sha256), SQ_EUNKNOWN);
    cr_expect_eq(files(false), 0);
    cr_assert_eq(come(2, &f), 0);
    cr_expect_eq(piece(2, 5, N - PIECE, false, f.sha256), SQ_EUNKNOWN, "behind its end");
    cr_expect_eq(files(false), 0);
}

Test(large, with_a_link_goes_what_was_not_submitted)
{
    struct call_file one = { .upload = 1 }, two = { .upload = 2 }, other = { .upload = 1 };

    open_it(1 << 30);
    cr_assert(come(2, &one) == 0 && come(2, &two) == 0 && come(3, &other) == 0);
    cr_assert_eq(large_keep(l, 2, &one, 1, 1), 0);
    large_drop(l, 2, 0);
    cr_expect(!large_has(l, 2, &two) && large_has(l, 3, &other));
    cr_expect_eq(files(false), 2);
    large_drop(l, 3, 1);
    cr_expect_eq(files(false), 1);
}

Test(large, without_room_it_is_said_and_what_nobody_needs_gives_way)
{
    struct call_file f[4] = { { .upload = 1 }, { .upload = 2 }, { .upload = 3 }, { .upload = 4 } };
    enum answer_life life[9] = { 0 };

    open_it(2 * N + N / 2);
    cr_assert(come(2, &f[0]) == 0 && come(2, &f[1]) == 0);
    cr_expect_eq(come(2, &f[2]), SQ_EFULL, "those that come count");
    cr_assert_eq(large_keep(l, 2, &f[0], 1, 1), 0);
    cr_assert_eq(large_keep(l, 2, &f[1], 1, 2), 0);
    life[1] = life[2] = ANSWER_LIVES;
    large_step(l, 1000, is, life);
    cr_expect_eq(come(2, &f[2]), SQ_EFULL);
    life[1] = ANSWER_DEAD;
    life[2] = ANSWER_SPARE;
    large_step(l, 1100, is, life);
    cr_assert_eq(come(2, &f[2]), 0, "that of a dead call gives way, ");
    cr_expect_eq(large_read(l, &f[1], 1, 2), SQ_EUNKNOWN);
    cr_assert_eq(large_keep(l, 2, &f[2], 1, 3), 0);
    life[3] = ANSWER_LIVES;
    cr_expect_eq(come(2, &f[3]), SQ_EFULL, "and not in this turn that of one that is over");
    large_step(l, 1200, is, life);
    cr_expect_eq(come(2, &f[3]), 0);
    cr_expect_eq(large_read(l, &f[0], 1, 1), SQ_EUNKNOWN);
}

Test(large, one_that_is_to_run_again_does_not_give_way)
{
    struct call_file f[2] = { { .upload = 1 }, { .upload = 2 } };
    enum answer_life life[9] = { [1] = ANSWER_SPARE };

    open_it(N + N / 2);
    cr_assert_eq(come(2, &f[0]), 0);
    cr_assert_eq(large_keep(l, 2, &f[0], 1, 1), 0);
    large_step(l, 1000, is, life);
    life[1] = ANSWER_LIVES; /* nobody has looked since */
    cr_expect_eq(come(2, &f[1]), SQ_EFULL);
    close(large_read(l, &f[0], 1, 1));
}

Test(large, a_start_finds_what_was_kept_whatever_the_room_and_nothing_else)
{
    struct call_file kept = { .upload = 1 }, comes = { .upload = 2 };
    enum answer_life life[9] = { [7] = ANSWER_LIVES };
    int fd;

    open_it(1 << 30);
    cr_assert(come(2, &kept) == 0 && come(2, &comes) == 0);
    cr_assert_eq(large_keep(l, 2, &kept, 1, 7), 0);
    cr_expect_eq(files(false), 2);
    /* Killed: nothing is closed. */
    l = NULL;
    open_it(1);
    cr_expect_eq(files(false), 1);
    fd = large_read(l, &kept, 1, 7);
    cr_expect_geq(fd, 0);
    close(fd);
    cr_expect_eq(come(2, &comes), SQ_EFULL);
    life[7] = ANSWER_DEAD; /* its record was not written */
    large_step(l, 1, is, life);
    large_step(l, 1 + BODIES_LINGER_MS, is, life);
    cr_expect_eq(files(false), 0);
}

Test(large, on_a_full_disk_what_nobody_needs_gives_way)
{
    struct call_file f[3] = { { .upload = 1 }, { .upload = 2 }, { .upload = 3 } };
    enum answer_life life[9] = { [1] = ANSWER_LIVES, [2] = ANSWER_SPARE };
    static uint8_t got[N];

    open_it(1 << 30);
    cr_assert(come(2, &f[0]) == 0 && come(2, &f[1]) == 0);
    cr_assert(large_keep(l, 2, &f[0], 1, 1) == 0 && large_keep(l, 2, &f[1], 1, 2) == 0);
    large_step(l, 1000, is, life);
    disk_has = 2;
    cr_assert_eq(come(2, &f[2]), 0, "that of a dead call has gone, ");
    cr_assert_eq(large_keep(l, 2, &f[2], 1, 3), 0);
    cr_expect_eq(files(false), 2);
    cr_expect(large_read_at(l, &f[2], 1, 3, 0, got, N) == N && memcmp(got, noise, N) == 0);
    cr_expect_eq(large_read_at(l, &f[0], 1, 1, 0, got, N), N, "and that of another one has not");
    f[1].upload = 4;
    cr_expect_eq(come(2, &f[1]), SQ_EFULL);
    cr_expect_eq(files(false), 2);
}

Test(large, one_that_does_not_get_its_name_is_refused_and_gone)
{
    struct call_file f = { .upload = 1 };
    char path[300], hex[2 * RESULT_SHA256 + 1];
    struct large_counts n;

    open_it(1 << 30);
    cr_assert_eq(come(2, &f), 0);
    sodium_bin2hex(hex, sizeof(hex), f.sha256, RESULT_SHA256);
    snprintf(path, sizeof(path), "%s/1-7-%u-%s", dir, N, hex);
    cr_assert_eq(mkdir(path, 0700), 0); /* no file can take its name */
    cr_expect_eq(large_keep(l, 2, &f, 1, 7), SQ_EFULL);
    cr_assert_eq(rmdir(path), 0);
    cr_expect_eq(files(false), 0);
    cr_expect(!large_has(l, 2, &f));
    large_counts(l, &n);
    cr_expect(n.files == 0 && n.bytes == 0 && n.given_up == 1 && n.failures == 1);
}

Test(large, one_of_which_no_piece_comes_any_more_goes)
{
    struct call_file f = { .upload = 1 };
    enum answer_life life[1] = { ANSWER_DEAD };
    unsigned k = 0;

    open_it(1 << 30);
    cr_assert_eq(piece(2, 1, 0, false, f.sha256), 0);
    for (uint64_t at = 0; at < N / 2; at += PIECE, k++) {
        cr_assert_eq(piece(2, 2, at, false, f.sha256), 0);
        large_step(l, 1000 + 25000 * k, is, life);
    }
    cr_expect_eq(files(false), 1, "its partition has moved, and its router cannot tell us");
    cr_expect_eq(piece(2, 1, PIECE, false, f.sha256), SQ_EUNKNOWN);
    cr_expect_eq(piece(2, 2, k * PIECE, false, f.sha256), 0, "another one has come on");
}
