/* test_archive.c: the archive of tasks that have ended: its lines, which turns they are of, midnight,
 * old files, a full disk. */
#include "task/service/archive.h"

#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "task/node/ends.h"

#define DAY_MS   86400000ll
#define NOON     (20000 * DAY_MS + DAY_MS / 2) /* 2024-10-04 */
#define MIDNIGHT (NOON + DAY_MS / 2)
#define PATIENCE 60000 /* ms */

static char top[64], line[ARCHIVE_LINE_MAX + 1];
static struct archive *a;

static void setup(void)
{
    snprintf(top, sizeof(top), "/tmp/segq-archive.XXXXXX");
    cr_assert_not_null(mkdtemp(top));
    log_set_level(LOG_ERROR);
    a = NULL;
}

static const char *file(const char *day)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s/t.0/archive-%s.jsonl", top, day);
    return path;
}

static void teardown(void)
{
    char node[128];

    archive_free(a);
    unlink(file("2024-10-03"));
    unlink(file("2024-10-04"));
    unlink(file("2024-10-05"));
    snprintf(node, sizeof(node), "%s/t.0", top);
    rmdir(node);
    rmdir(top);
}

TestSuite(archive, .init = setup, .fini = teardown);

static struct task_end some_end(int64_t wall_ms, task_no no)
{
    return (struct task_end) { .part = 3, .no = no, .state = TASK_SUCCEEDED, .queue = "images",
                               .key1 = "", .key2 = "", .labels = "", .why = "succeeded",
                               .attempts = 1, .ended_ms = wall_ms };
}

static json_t *parsed(const struct task_end *end)
{
    size_t n = archive_line(end, line);
    json_t *j;

    line[n] = 0;
    cr_assert_eq(line[n - 1], '\n');
    cr_assert_eq(strcspn(line, "\n"), n - 1, "one line: %s", line);
    j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(j, "%s", line);
    return j;
}

static const char *text(const json_t *j, const char *name)
{
    const char *s = json_string_value(json_object_get(j, name));

    return s != NULL ? s : "";
}

Test(archive, a_line_has_all_that_is_known)
{
    struct task_end end = { .part = 3, .no = 17, .state = TASK_DEAD, .queue = "images",
                            .key1 = "tenant7", .key2 = "user42", .labels = "red,batch7",
                            .priority = 2, .attempts = 4, .entered_ms = NOON - 3000,
                            .started_ms = NOON - 1500, .ended_ms = NOON, .why = "http_status",
                            .status = 503 };

    json_decref(parsed(&end));
    cr_expect_str_eq(line, "{\"ended_at\":\"2024-10-04T12:00:00.000Z\",\"id\":\"3-17\","
                           "\"queue\":\"images\",\"key\":\"tenant7/user42\","
                           "\"labels\":[\"red\",\"batch7\"],\"priority\":2,\"state\":\"dead\","
                           "\"attempts\":4,\"entered_at\":\"2024-10-04T11:59:57.000Z\","
                           "\"started_at\":\"2024-10-04T11:59:58.500Z\","
                           "\"why\":\"http_status\",\"http_status\":503}\n");
}

Test(archive, what_is_not_known_is_left_out)
{
    struct task_end end = some_end(NOON, 1);

    json_decref(parsed(&end));
    cr_expect_str_eq(line, "{\"ended_at\":\"2024-10-04T12:00:00.000Z\",\"id\":\"3-1\","
                           "\"queue\":\"images\",\"priority\":0,\"state\":\"succeeded\","
                           "\"attempts\":1,\"why\":\"succeeded\"}\n");
}

Test(archive, control_characters_and_broken_utf8_in_keys)
{
    struct task_end end = some_end(NOON, 1);
    json_t *j;

    end.key1 = "a\n\"\\\x01";
    end.key2 = "\xff\xe4\xb8\xad\xe4";
    j = parsed(&end);
    cr_expect_str_eq(text(j, "key"), "a\n\"\\\x01/\xef\xbf\xbd\xe4\xb8\xad\xef\xbf\xbd");
    json_decref(j);
}

Test(archive, any_bytes_in_a_key)
{
    char key[TASK_NAME_MAX + 1];
    struct task_end end = some_end(NOON, 1);
    struct rng r;

    rng_seed(&r, 5);
    end.key1 = end.key2 = key;
    for (int i = 0; i < 5000; i++) {
        size_t n = 1 + rng_below(&r, TASK_NAME_MAX);

        for (size_t k = 0; k < n; k++)
            key[k] = (char)(1 + rng_below(&r, 255));
        key[n] = 0;
        json_decref(parsed(&end));
    }
}

Test(archive, the_longest_line_fits)
{
    char name[TASK_NAME_MAX + 1], labels[LABELS_TEXT_MAX + 1];
    struct task_end end = { .part = UINT32_MAX, .no = UINT64_MAX, .state = TASK_SUCCEEDED,
                            .queue = name, .key1 = name, .key2 = name, .labels = labels,
                            .priority = 255, .attempts = UINT32_MAX, .entered_ms = INT64_MAX / 2,
                            .started_ms = INT64_MAX / 2, .ended_ms = INT64_MAX / 2,
                            .why = "lease_lapsed", .status = UINT32_MAX };

    memset(name, 1, TASK_NAME_MAX);
    name[TASK_NAME_MAX] = 0;
    memset(labels, 1, LABELS_TEXT_MAX);
    for (unsigned i = LABEL_MAX; i < LABELS_TEXT_MAX; i += LABEL_MAX + 1)
        labels[i] = ',';
    labels[LABELS_TEXT_MAX] = 0;
    json_decref(parsed(&end));
}

/* ---- files --------------------------------------------------------------------------------- */

static void begin(uint32_t keep_days, uint64_t buffer)
{
    struct archive_opts o = { top, "t.0", keep_days, buffer };
    struct err e = { 0 };

    cr_assert_eq(archive_new(&a, &o, &e), 0, "%s", e.text);
    archive_tick(a, NOON);
}

static void end_all(void)
{
    archive_free(a);
    a = NULL;
}

static void say(int64_t wall_ms, task_no no)
{
    struct task_end end = some_end(wall_ms, no);

    archive_end(a, &end);
}

/* Lines of tasks in the file, and in *lost what gaps say. */
static unsigned lines(const char *day, uint64_t *lost)
{
    FILE *f = fopen(file(day), "r");
    unsigned n = 0;

    *lost = 0;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        json_t *j = json_loads(line, 0, NULL);

        cr_assert_not_null(j, "%s", line);
        cr_assert_eq(strncmp(text(j, "ended_at"), day, 10), 0, "%s in %s", line, day);
        *lost += (uint64_t)json_integer_value(json_object_get(j, "gap"));
        n += json_object_get(j, "id") != NULL;
        json_decref(j);
    }
    if (f != NULL)
        fclose(f);
    return n;
}

static struct trail_counts counts(void)
{
    struct trail_counts n;

    archive_count(a, &n);
    return n;
}

static bool soon(bool (*so)(void))
{
    for (int ms = 0; ms < PATIENCE; ms++) {
        archive_tick(a, NOON);
        if (so())
            return true;
        nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
    }
    return false;
}

static bool is_failing(void)
{
    return counts().failing != 0;
}

static bool all_written(void)
{
    struct trail_counts n = counts();

    return n.waiting_bytes == 0 && n.bytes > 0 && !n.failing;
}

Test(archive, only_turns_that_were_written_have_lines)
{
    struct buf held, later;
    uint64_t lost;

    begin(30, 1 << 20);
    cr_expect_not(archive_waits(a));
    say(NOON, 1);
    cr_expect(archive_waits(a));
    archive_forget(a);
    archive_written(a);
    say(NOON, 2);
    archive_take(a, &held); /* of a turn that waits for a store */
    say(NOON, 3);
    archive_take(a, &later);
    buf_fini(&later); /* and of one that it has not written */
    archive_put(a, &held);
    buf_fini(&held);
    say(NOON, 4);
    archive_written(a);
    say(NOON, 5);
    end_all();
    cr_expect_eq(lines("2024-10-04", &lost), 2);
}

/* A turn ended tasks of three partitions, of which another node has one by now. */
Test(archive, lines_of_a_partition_that_is_lost_are_dropped_and_no_others)
{
    struct task_end end = some_end(NOON, 1);
    struct buf held;
    uint64_t lost;

    begin(30, 1 << 20);
    for (part_no part = 3; part <= 5; part++)
        for (task_no no = 1; no <= 10 + part; no++) {
            end.part = part;
            end.no = no;
            archive_end(a, &end);
        }
    archive_take(a, &held);
    archive_drop_part(&held, 4);
    archive_put(a, &held);
    buf_fini(&held);
    end_all();
    cr_expect_eq(lines("2024-10-04", &lost), 13 + 15);
    cr_expect_eq(lost, 0);
}

Test(archive, a_line_is_in_the_file_of_its_day)
{
    uint64_t lost;

    begin(30, 1 << 20);
    for (int64_t i = 0; i < 10; i++)
        say(MIDNIGHT - 5 + i, (task_no)i);
    archive_written(a);
    end_all();
    cr_expect_eq(lines("2024-10-04", &lost), 5);
    cr_expect_eq(lines("2024-10-05", &lost), 5);
}

Test(archive, old_files_go)
{
    begin(1, 1 << 20);
    say(NOON - DAY_MS, 1);
    archive_written(a);
    end_all();
    cr_assert_eq(access(file("2024-10-03"), F_OK), 0);
    begin(1, 1 << 20);
    say(NOON, 2);
    archive_written(a);
    cr_assert(soon(all_written));
    cr_expect_neq(access(file("2024-10-03"), F_OK), 0);
    cr_expect_eq(access(file("2024-10-04"), F_OK), 0);
}

Test(archive, a_full_disk_loses_lines_and_counts_them)
{
    uint64_t lost, dropped;

    begin(30, 256 << 10);
    cr_assert_eq(symlink("/dev/full", file("2024-10-04")), 0);
    say(NOON, 0);
    archive_written(a);
    cr_assert(soon(is_failing));
    for (task_no i = 1; i < 5000; i++) {
        say(NOON, i);
        archive_written(a);
    }
    dropped = counts().dropped;
    cr_expect_gt(dropped, 1000);
    unlink(file("2024-10-04"));
    cr_assert(soon(all_written));
    end_all();
    cr_expect_eq(lines("2024-10-04", &lost) + dropped, 5000);
    cr_expect_eq(lost, dropped);
}
