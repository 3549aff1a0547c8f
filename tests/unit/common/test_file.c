/* test_file.c: files that an operator names: nothing waits for one, secrets are the owner's alone. */
#include "common/base/file.h"

#include "tests/lib/criterion.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], path[96];
static struct err e;

static void setup(void)
{
    strcpy(dir, "/tmp/segq_file_XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/f", dir);
    e = (struct err){ 0 };
}

static void teardown(void)
{
    unlink(path);
    rmdir(dir);
}

TestSuite(file, .init = setup, .fini = teardown, .timeout = 10);

static void write_file(const char *text, unsigned mode)
{
    FILE *f = fopen(path, "we");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    cr_assert_eq(chmod(path, mode), 0);
}

static int64_t read_it(enum file_kind kind, size_t most)
{
    char text[100];

    return file_read(path, kind, text, most, NULL, &e);
}

Test(file, a_fifo_keeps_nobody)
{
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(read_it(FILE_SECRET, 10), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "not a regular file"), "%s", e.text);
}

Test(file, a_folder_and_a_device_are_no_files)
{
    cr_expect_eq(file_read(dir, FILE_ANY, NULL, 0, NULL, &e), SQ_EINVAL);
    cr_expect_eq(file_read("/dev/zero", FILE_ANY, NULL, 0, NULL, &e), SQ_EINVAL);
    cr_expect_eq(read_it(FILE_ANY, 10), SQ_EGONE);
}

Test(file, a_bound_is_one)
{
    write_file("12345", 0600);
    cr_expect_eq(read_it(FILE_ANY, 5), 5);
    cr_expect_eq(read_it(FILE_ANY, 4), SQ_ETOOBIG);
    cr_expect_eq(read_it(FILE_ANY, 100), 5);
}

Test(file, a_secret_is_its_owners_alone)
{
    static const unsigned bad[] = { 0644, 0640, 0604, 0620 };

    for (unsigned i = 0; i < 4; i++) {
        write_file("s", bad[i]);
        cr_expect_eq(read_it(FILE_SECRET, 10), SQ_EAUTH, "%04o", bad[i]);
        cr_expect_eq(read_it(FILE_ANY, 10), 1);
    }
    write_file("s", 0400);
    cr_expect_eq(read_it(FILE_SECRET, 10), 1, "%s", e.text);
}

Test(file, a_changed_file_is_not_the_same)
{
    struct stat was;
    char text[10];

    write_file("one", 0600);
    cr_assert_eq(file_read(path, FILE_ANY, text, sizeof(text), &was, &e), 3);
    cr_expect(file_is_same(path, &was));
    write_file("four", 0600);
    cr_expect_not(file_is_same(path, &was));
    unlink(path);
    cr_expect_not(file_is_same(path, &was));
}

/* A file of a service, which root writes. */
Test(file, a_replaced_file_keeps_its_owner)
{
    struct stat st;

    cr_assert_eq(file_replace(path, "a", 1, &e), 0, "%s", e.text);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_uid, geteuid());
    cr_expect_eq(st.st_mode & 0777, 0600);
    if (geteuid() != 0)
        return; /* nobody else can give a file away */
    cr_assert_eq(chown(path, 12345, 23456), 0);
    cr_assert_eq(file_replace(path, "b", 1, &e), 0, "%s", e.text);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect(st.st_uid == 12345 && st.st_gid == 23456, "%u %u", st.st_uid, st.st_gid);
    cr_expect_eq(st.st_mode & 0777, 0600);
}

Test(file, one_turn_after_the_other)
{
    int turn = file_take_turn(path, &e), status;
    pid_t child;

    cr_assert_geq(turn, 0, "%s", e.text);
    child = fork();
    if (child == 0) {
        alarm(1); /* ends it while it waits */
        _exit(file_take_turn(path, &e) < 0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM, "two had their turn");
    close(turn);
    turn = file_take_turn(path, &e);
    cr_expect_geq(turn, 0, "%s", e.text);
    close(turn);
    snprintf(path, sizeof(path), "%s/none/f", dir);
    cr_expect_lt(file_take_turn(path, &e), 0);
}
