/* test_op_log.c: the log of operators' changes: written at once, a file a day, and no entry lost, nor
 * any line spoilt, on a disk that fails. */
#include "tests/lib/criterion.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/logbook/op_log.h"

#define DAY 86400000LL
#define T0  1795273924123LL /* 2026-11-21 */

static char dir[64], path[128];

static void make_dir(void)
{
    log_set_level(LOG_ERROR);
    snprintf(dir, sizeof(dir), "/tmp/segq-oplog-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/d/audit.jsonl", dir);
    strcat(dir, "/d");
}

static void remove_dir(void)
{
    char cmd[100];

    snprintf(cmd, sizeof(cmd), "rm -rf %.*s", (int)strlen(dir) - 2, dir);
    cr_expect_eq(system(cmd), 0);
}

TestSuite(op_log, .init = make_dir, .fini = remove_dir);

static size_t lines_of(const char *file)
{
    FILE *f = fopen(file, "r");
    char line[1000];
    size_t n = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        json_t *j = json_loads(line, 0, NULL);

        n += j != NULL;
        json_decref(j);
    }
    if (f != NULL)
        fclose(f);
    return n;
}

static void note(struct op_log *l, const char *who, int64_t at)
{
    op_log_add(l, json_pack("{s:s}", "who", who), at);
}

static void expect_last(const struct op_log *l, size_t n, const char *who, const char *at)
{
    json_t *v = op_log_last(l, n);

    cr_assert_eq(json_array_size(v), n);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(v, 0), "who")), who);
    if (at != NULL)
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(v, 0), "at")), at);
    json_decref(v);
}

Test(op_log, is_written_at_once_and_read_back)
{
    struct op_log *l = op_log_new(dir);
    struct op_log_counts c;

    cr_assert_not_null(l);
    note(l, "anna", T0);
    note(l, "bert", T0 + 5);
    cr_expect_eq(lines_of(path), 2);
    expect_last(l, 2, "bert", "2026-11-21T15:12:04.128Z");
    op_log_free(l, T0);
    l = op_log_new(dir);
    expect_last(l, 1, "bert", NULL);
    for (int i = 0; i < OP_LOG_KEPT + 7; i++)
        note(l, "carl", T0);
    expect_last(l, OP_LOG_KEPT, "carl", NULL);
    op_log_count(l, &c);
    cr_expect_eq(c.entries, OP_LOG_KEPT + 7);
    cr_expect_eq(c.unwritten + c.lost + c.failures, 0);
    op_log_free(l, T0);
    cr_expect_eq(lines_of(path), OP_LOG_KEPT + 9);
}

/* A file stands where the folder should be: nothing can be written, nothing is lost. */
Test(op_log, a_failing_disk_loses_no_entry)
{
    struct op_log_counts c;
    struct op_log *l;
    FILE *f = fopen(dir, "w");

    cr_assert_not_null(f);
    fclose(f);
    log_set_tap(NULL, NULL);
    l = op_log_new(dir);
    cr_assert_not_null(l);
    note(l, "anna", T0);
    note(l, "bert", T0);
    op_log_count(l, &c);
    cr_expect_eq(c.unwritten, 2);
    cr_expect_eq(c.failures, 2);
    expect_last(l, 2, "bert", NULL);
    cr_assert_eq(unlink(dir), 0);
    op_log_tick(l, T0);
    op_log_count(l, &c);
    cr_expect_eq(c.unwritten, 0);
    cr_expect_eq(lines_of(path), 2);
    op_log_free(l, T0);
}

/* While it stays broken the oldest leave the memory, and that is counted. */
Test(op_log, lost_entries_are_counted)
{
    struct op_log_counts c;
    FILE *f = fopen(dir, "w");
    struct op_log *l = op_log_new(dir);

    cr_assert(f != NULL && l != NULL);
    fclose(f);
    for (int i = 0; i < OP_LOG_KEPT + 3; i++)
        note(l, "anna", T0);
    op_log_add(l, NULL, T0);
    op_log_count(l, &c);
    cr_expect_eq(c.unwritten, OP_LOG_KEPT);
    cr_expect_eq(c.lost, 4);
    cr_assert_eq(unlink(dir), 0);
    op_log_free(l, T0); /* tries once more */
    cr_expect_eq(lines_of(path), OP_LOG_KEPT);
}

/* A log that finds an entry of before, and behind it this text of somebody else. */
static struct op_log *new_behind(const char *text)
{
    struct op_log *l = op_log_new(dir);
    FILE *f;

    note(l, "anna", T0);
    op_log_free(l, T0);
    f = fopen(path, "a");
    fputs(text, f);
    fclose(f);
    return op_log_new(dir);
}

/* What was written by half is no entry; the next one begins on a line of its own. */
Test(op_log, a_torn_line_stays_alone)
{
    struct op_log *l = new_behind("{\"who\":\"ha");

    note(l, "bert", T0);
    cr_expect_eq(lines_of(path), 2);
    expect_last(l, 2, "bert", NULL);
    op_log_free(l, T0);
}

Test(op_log, a_day_a_file)
{
    struct op_log *l = op_log_new(dir);
    char old[160];

    note(l, "anna", T0);
    note(l, "bert", T0 + 1000);
    cr_expect_eq(lines_of(path), 2, "the same day, the same file");
    note(l, "carl", T0 + DAY);
    cr_expect_eq(lines_of(path), 1);
    snprintf(old, sizeof(old), "%s/audit-2026-11-21.jsonl", dir);
    cr_expect_eq(lines_of(old), 2);
    note(l, "dora", T0);       /* the clock jumped back: the file of that day is another one */
    note(l, "emil", T0 + DAY); /* and forth: that day has its file */
    cr_expect_eq(lines_of(old), 2);
    cr_expect_eq(lines_of(path), 2);
    expect_last(l, 5, "emil", NULL);
    op_log_free(l, T0);
}

/* Whatever the file system thinks of its age: it was copied, or the clock was wrong. */
Test(op_log, a_file_is_as_old_as_its_last_entry)
{
    struct timespec long_ago[2] = { { .tv_sec = 86400 }, { .tv_sec = 86400 } };
    struct op_log *l = op_log_new(dir);
    char old[160];

    note(l, "anna", T0);
    op_log_free(l, T0);
    cr_assert_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    l = op_log_new(dir);
    note(l, "bert", T0 + 1000);
    cr_expect_eq(lines_of(path), 2, "the same day, the same file");
    op_log_free(l, T0);
    l = op_log_new(dir);
    note(l, "carl", T0 + DAY);
    snprintf(old, sizeof(old), "%s/audit-2026-11-21.jsonl", dir);
    cr_expect_eq(lines_of(old), 2);
    cr_expect_eq(lines_of(path), 1);
    op_log_free(l, T0 + DAY);
}

/* A line of somebody else has no day, and must not name a file. */
Test(op_log, an_unknown_last_line_is_left_alone)
{
    struct op_log *l = new_behind("{\"at\":\"../../../x\"}\n");

    note(l, "bert", T0 + DAY);
    cr_expect_eq(lines_of(path), 3);
    op_log_free(l, T0 + DAY);
}
