/* test_audit_find.c: a ticket's lines, found in files of any size, newest first. */
#include "tests/lib/criterion.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/trail/trail_files.h"
#include "segment/audit/audit.h"

#define DAY_MS 86400000ll

static char top[64];
static int dir;

static void path_of(char *out, size_t cap, int64_t day)
{
    char text[TRAIL_DAY_LEN + 1];

    trail_day(day * DAY_MS, text);
    snprintf(out, cap, "%s/audit-%s.jsonl", top, text);
}

static void setup(void)
{
    snprintf(top, sizeof(top), "/tmp/segq-find.XXXXXX");
    cr_assert_not_null(mkdtemp(top));
    dir = open(top, O_RDONLY | O_DIRECTORY);
    cr_assert_geq(dir, 0);
}

static void teardown(void)
{
    char path[200];

    for (int64_t day = 0; day < 10; day++) {
        path_of(path, sizeof(path), day);
        unlink(path);
    }
    close(dir);
    rmdir(top);
}

TestSuite(audit_find, .init = setup, .fini = teardown);

static void put(int64_t day, enum audit_kind kind, seg_id seg, uint32_t number, size_t subject)
{
    static const char name[255] = { 'x' };
    struct audit_event e = { .kind = kind, .wall_ms = day * DAY_MS, .id = { seg, number },
                             .tick = number + 1, .subject = name, .subject_len = subject };
    char line[AUDIT_LINE_MAX], path[200];
    FILE *f;

    path_of(path, sizeof(path), day);
    f = fopen(path, "a");
    cr_assert_not_null(f);
    fwrite(line, 1, audit_line(&e, "n", AUDIT_SUBJECT_PLAIN, line), f);
    fclose(f);
}

/* "left released", and whether that was all. */
static const char *found(seg_id seg, uint32_t number, size_t max, bool *whole)
{
    static char out[4000];
    struct audit_find f;
    size_t at = 0;

    cr_assert(audit_find_init(&f, dir, (struct ticket_id) { seg, number }, max));
    while (audit_find_step(&f))
        ;
    out[0] = '\0';
    buf_byte(&f.lines, 0);
    for (char *p = (char *)f.lines.data; (p = strstr(p, "\"event\":\"")) != NULL; p++)
        at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%.*s", at > 0 ? " " : "",
                               (int)strcspn(p + 9, "\""), p + 9);
    *whole = f.whole;
    audit_find_fini(&f);
    return out;
}

Test(audit_find, over_days)
{
    bool whole;

    put(1, AUDIT_JOINED, 7, 1, 0);
    put(1, AUDIT_JOINED, 7, 11, 0);
    put(2, AUDIT_JOINED, 7, 111, 0);
    put(2, AUDIT_RELEASED, 7, 11, 0);
    put(4, AUDIT_RELEASED, 7, 1, 0);
    put(4, AUDIT_ADMITTED, 7, 1, 0);
    cr_expect_str_eq(found(7, 1, 10000, &whole), "admitted released joined");
    cr_expect(whole);
    cr_expect_str_eq(found(7, 11, 10000, &whole), "released joined");
    cr_expect_str_eq(found(7, 2, 10000, &whole), "");
    cr_expect(whole, "all was looked through");
    cr_expect_str_eq(found(77, 1, 10000, &whole), "");
}

Test(audit_find, no_files)
{
    bool whole;

    cr_expect_str_eq(found(7, 1, 10000, &whole), "");
    cr_expect(whole);
}

Test(audit_find, more_than_is_wanted)
{
    bool whole;

    for (uint32_t i = 0; i < 100; i++)
        put(1, AUDIT_RELEASED, 7, 1, 0);
    cr_expect_lt(strlen(found(7, 1, 1000, &whole)), 100);
    cr_expect_not(whole);
}

/* Half a line at the end is being written. */
Test(audit_find, half_a_line)
{
    char path[200];
    bool whole;
    FILE *f;

    put(1, AUDIT_JOINED, 7, 1, 0);
    path_of(path, sizeof(path), 1);
    f = fopen(path, "a");
    cr_assert_not_null(f);
    fputs("{\"time\":\"\",\"event\":\"left\",\"ticket\":\"7-1\"", f);
    fclose(f);
    cr_expect_str_eq(found(7, 1, 10000, &whole), "joined");
}

/* Wherever windows begin, no line is missed, none found twice. */
Test(audit_find, many_windows)
{
    struct rng r;
    bool whole;

    rng_seed(&r, 9);
    put(1, AUDIT_JOINED, 7, 3, 0);
    for (uint32_t i = 0; i < 9000; i++) {
        put(1, AUDIT_RELEASED, 7, 100 + i, rng_below(&r, 255));
        if (i % 900 == 899)
            put(1, AUDIT_NO_SHOW, 7, 3, rng_below(&r, 255));
    }
    for (int shift = 0; shift < 3; shift++) {
        put(1, AUDIT_LEFT, 7, 9, 100);
        cr_expect_str_eq(found(7, 3, 10000, &whole),
                         "no_show no_show no_show no_show no_show no_show no_show no_show "
                         "no_show no_show joined");
        cr_expect(whole);
        cr_expect_str_eq(found(7, 100, 10000, &whole), "released", "of the first window");
        cr_expect_str_eq(found(7, 9099, 10000, &whole), "released", "of the last one");
    }
}
