/* test_audit.c: the audit trail's thread and files: midnight, old files, disks that are full,
 * half lines. */
#include "tests/lib/criterion.h"
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/trail/trail_files.h"
#include "segment/audit/audit.h"

#define DAY_MS   86400000ll
#define NOON     (20000 * DAY_MS + DAY_MS / 2) /* 2024-10-04 */
#define PATIENCE 60000                         /* ms */

static char top[64], dir[80];
static struct audit *a;

static void setup(void)
{
    snprintf(top, sizeof(top), "/tmp/segq-audit.XXXXXX");
    cr_assert_not_null(mkdtemp(top));
    snprintf(dir, sizeof(dir), "%s/trail", top);
    log_set_level(LOG_ERROR);
    signal(SIGXFSZ, SIG_IGN);
    a = NULL;
}

static void each_file(void (*fn)(const char *path))
{
    char node[128], path[512];
    DIR *d;

    snprintf(node, sizeof(node), "%s/n.0", dir);
    d = opendir(node);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", node, e->d_name);
        if (e->d_name[0] != '.')
            fn(path);
    }
    if (d != NULL)
        closedir(d);
}

static void remove_file(const char *path)
{
    unlink(path);
}

static void teardown(void)
{
    char node[128];

    audit_free(a, NOON);
    each_file(remove_file);
    snprintf(node, sizeof(node), "%s/n.0", dir);
    rmdir(node);
    rmdir(dir);
    rmdir(top);
}

TestSuite(audit, .init = setup, .fini = teardown);

static void begin(uint32_t keep_days, uint64_t buffer)
{
    struct audit_opts o = { dir, "n.0", AUDIT_SUBJECT_HASH, keep_days, buffer, NOON };
    struct err e = { 0 };

    cr_assert_eq(audit_new(&a, &o, &e), 0, "%s", e.text);
    audit_tick(a, NOON);
}

static void end(int64_t wall_ms)
{
    audit_free(a, wall_ms);
    a = NULL;
}

static void say(int64_t wall_ms, uint32_t number)
{
    audit_put(a, &(struct audit_event) { .kind = AUDIT_JOINED, .wall_ms = wall_ms,
                                         .queue = "login", .lane = "default",
                                         .id = { 7, number }, .segment = 7 });
}

static const char *file(const char *day)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s/n.0/audit-%s.jsonl", dir, day);
    return path;
}

static bool exists(const char *day)
{
    return access(file(day), F_OK) == 0;
}

struct tally {
    uint32_t lines, joined, gaps, stops;
    uint64_t lost;
    int64_t next; /* the joined one that comes next, if nothing is lost */
    bool in_order;
};

/* Every line of the file is JSON, and of that day. */
static struct tally tally(const char *day)
{
    struct tally t = { .in_order = true };
    char line[AUDIT_LINE_MAX + 1];
    FILE *f = fopen(file(day), "r");

    cr_assert_not_null(f, "%s", file(day));
    while (fgets(line, sizeof(line), f) != NULL) {
        json_t *j = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(j, "event"));
        const char *ticket = json_string_value(json_object_get(j, "ticket"));

        cr_assert_not_null(event, "%s", line);
        cr_assert_eq(line[strlen(line) - 1], '\n', "a whole line: %s", line);
        cr_assert_eq(strncmp(line + 9, day, 10), 0, "%s in %s", line, day);
        t.lines++;
        t.stops += strcmp(event, "stopped") == 0;
        if (strcmp(event, "joined") == 0) {
            t.joined++;
            t.in_order &= atoll(ticket + 2) == t.next++;
        }
        if (strcmp(event, "gap") == 0) {
            t.gaps++;
            t.lost += (uint64_t)json_integer_value(json_object_get(j, "n"));
        }
        json_decref(j);
    }
    fclose(f);
    return t;
}

static struct trail_counts counts(void)
{
    struct trail_counts n;

    audit_count(a, &n);
    return n;
}

/* Ticks until it is so. */
static bool soon(bool (*so)(void), int64_t wall_ms)
{
    for (int ms = 0; ms < PATIENCE; ms++) {
        audit_tick(a, wall_ms);
        if (so())
            return true;
        nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
    }
    return false;
}

static bool all_written(void)
{
    struct trail_counts n = counts();

    return n.waiting_bytes == 0 && n.bytes > 0 && !n.failing;
}

static bool is_failing(void)
{
    return counts().failing != 0;
}

Test(audit, lines_in_order)
{
    struct tally t;

    begin(30, 1 << 20);
    for (uint32_t i = 0; i < 3000; i++) {
        say(NOON, i);
        if (i % 100 == 0)
            audit_tick(a, NOON);
    }
    end(NOON);
    t = tally("2024-10-04");
    cr_expect_eq(t.joined, 3000);
    cr_expect_eq(t.lines, 3002, "started, stopped");
    cr_expect_eq(t.stops, 1);
    cr_expect(t.in_order);
}

/* Written within a tick, not only at the end. */
Test(audit, a_tick_hands_over)
{
    begin(30, 1 << 20);
    say(NOON, 0);
    cr_assert(soon(all_written, NOON));
    cr_expect_eq(tally("2024-10-04").joined, 1);
}

Test(audit, mode_of_files)
{
    struct stat st;

    begin(30, 1 << 20);
    end(NOON);
    cr_assert_eq(stat(file("2024-10-04"), &st), 0);
    cr_expect_eq(st.st_mode & 07, 0, "nothing for others");
    cr_expect_eq(st.st_mode & 020, 0, "the group only reads");
}

/* The last moment of a day and the first of the next, in one hand-over; and a clock that
 * goes back. */
Test(audit, midnight)
{
    int64_t midnight = NOON + DAY_MS / 2;

    begin(30, 1 << 20);
    for (uint32_t i = 0; i < 10; i++)
        say(midnight - 5 + i, i);
    say(midnight - 1, 10);
    end(midnight);
    cr_expect_eq(tally("2024-10-04").joined, 6);
    cr_expect_eq(tally("2024-10-05").joined, 5);
    cr_expect_eq(tally("2024-10-05").stops, 1);
}

/* ---- old files ---------------------------------------------------------------------- */

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    cr_assert_geq(fd, 0);
    close(fd);
}

static bool two_are_gone(void)
{
    return counts().removed >= 2;
}

Test(audit, keeps_some_days)
{
    char other[160];

    begin(3, 1 << 20);
    snprintf(other, sizeof(other), "%s/n.0/audit-2024-10-01.jsonl.gz", dir);
    touch(other);
    end(NOON); /* who looks through the folder does so before it ends */
    touch(file("2024-10-01"));
    touch(file("2024-10-02"));
    touch(file("2024-10-03"));
    begin(3, 1 << 20); /* of the 2nd, 3rd and 4th */
    say(NOON, 0);
    cr_assert(soon(all_written, NOON));
    cr_expect_not(exists("2024-10-01"));
    cr_expect(exists("2024-10-02") && exists("2024-10-03") && exists("2024-10-04"));
    cr_expect_eq(access(other, F_OK), 0, "not one of ours");
    cr_assert(soon(two_are_gone, NOON + 2 * DAY_MS), "also when nothing happens");
    cr_expect(!exists("2024-10-03") && exists("2024-10-04"));
}

Test(audit, keeps_all)
{
    begin(0, 1 << 20);
    touch(file("1970-01-02"));
    say(NOON, 0);
    cr_assert(soon(all_written, NOON));
    cr_expect(exists("1970-01-02"));
}

/* ---- disks -------------------------------------------------------------------------- */

/* A full one: lines wait, then are left out and counted; then it goes on by itself. */
Test(audit, disk_full)
{
    struct trail_counts n;
    struct tally t;

    begin(30, 1 << 20);
    end(NOON);
    unlink(file("2024-10-04"));
    cr_assert_eq(symlink("/dev/full", file("2024-10-04")), 0);
    begin(30, 256 << 10);
    say(NOON, 0);
    cr_assert(soon(is_failing, NOON));
    for (uint32_t i = 1; i < 5000; i++)
        say(NOON, i);
    n = counts();
    cr_expect_gt(n.dropped, 1000);
    cr_expect_gt(n.waiting_bytes, 100 << 10);
    unlink(file("2024-10-04"));
    cr_assert(soon(all_written, NOON));
    say(NOON, 5000);
    end(NOON);
    t = tally("2024-10-04");
    cr_expect_eq(t.gaps, 1);
    cr_expect_eq(t.lost, n.dropped);
    cr_expect_eq(t.joined + t.lost, 5001);
}

/* Writes that do less than asked: nothing is written twice, no line is broken. */
Test(audit, short_writes)
{
    struct rlimit was, small;
    struct tally t;

    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = was;
    small.rlim_cur = 50000;
    begin(30, 1 << 20);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (uint32_t i = 0; i < 2000; i++)
        say(NOON, i);
    cr_assert(soon(is_failing, NOON));
    t = tally("2024-10-04");
    cr_expect_gt(t.joined, 300);
    cr_expect_lt(t.joined, 500);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
    cr_assert(soon(all_written, NOON));
    end(NOON);
    t = tally("2024-10-04");
    cr_expect_eq(t.joined, 2000);
    cr_expect(t.in_order);
    cr_expect_eq(t.gaps, 0);
}

/* What a killed process left: half a line. */
Test(audit, half_a_line)
{
    struct tally t;
    FILE *f;

    begin(30, 1 << 20);
    say(NOON, 0);
    end(NOON);
    f = fopen(file("2024-10-04"), "a");
    cr_assert_not_null(f);
    fputs("{\"time\":\"2024-10-04T12:00:0", f);
    fclose(f);
    begin(30, 1 << 20);
    say(NOON, 1);
    cr_assert(soon(all_written, NOON));
    cr_expect_eq(counts().cut_bytes, 27);
    end(NOON);
    t = tally("2024-10-04");
    cr_expect_eq(t.joined, 2);
    cr_expect(t.in_order);
}

/* Only half a line: all of the file goes. */
Test(audit, nothing_but_half_a_line)
{
    FILE *f;

    begin(30, 1 << 20);
    end(NOON);
    f = fopen(file("2024-10-04"), "w");
    cr_assert_not_null(f);
    fputs("{\"ti", f);
    fclose(f);
    begin(30, 1 << 20);
    say(NOON, 0);
    end(NOON);
    cr_expect_eq(tally("2024-10-04").joined, 1);
}

/* Somebody takes the file away: the next lines go into a new one. */
static bool exists_again(void)
{
    return exists("2024-10-04") && all_written();
}

Test(audit, moved_away)
{
    char aside[160];

    begin(30, 1 << 20);
    say(NOON, 0);
    cr_assert(soon(all_written, NOON));
    unlink(file("2024-10-04"));
    say(NOON, 1);
    cr_assert(soon(exists_again, NOON));
    cr_expect_eq(tally("2024-10-04").joined, 1);
    snprintf(aside, sizeof(aside), "%s/n.0/aside", dir);
    cr_assert_eq(rename(file("2024-10-04"), aside), 0);
    say(NOON, 2);
    say(NOON, 3);
    end(NOON);
    cr_expect_eq(tally("2024-10-04").joined, 2);
}

Test(audit, no_folder)
{
    struct audit_opts o = { "/proc/none", "n.0", AUDIT_SUBJECT_HASH, 1, 1 << 20, NOON };
    struct err e = { 0 };

    cr_assert_lt(audit_new(&a, &o, &e), 0);
    cr_expect_not_null(strstr(e.text, "/proc/none"), "%s", e.text);
    a = NULL;
}

/* While it cannot be written to the last: it ends all the same. */
Test(audit, ends_on_a_full_disk)
{
    begin(30, 1 << 20);
    end(NOON);
    unlink(file("2024-10-04"));
    cr_assert_eq(symlink("/dev/full", file("2024-10-04")), 0);
    begin(30, 256 << 10);
    for (uint32_t i = 0; i < 3000; i++)
        say(NOON, i);
    cr_assert(soon(is_failing, NOON));
    end(NOON);
}

Test(trail_files, names)
{
    cr_expect_eq(trail_file_day("audit", "audit-1970-01-02.jsonl"), 1);
    cr_expect_eq(trail_file_day("audit", "audit-1970-01-02.jsonl~"), -1);
    cr_expect_eq(trail_file_day("audit", "audit-1970-01-02.json"), -1);
    cr_expect_eq(trail_file_day("audit", "audix-1970-01-02.jsonl"), -1);
    cr_expect_eq(trail_file_day("audit", "audit-1970-13-02.jsonl"), -1);
    cr_expect_eq(trail_file_day("audit", ""), -1);
}
