/* test_audit_line.c: each event is one line of valid JSON, whatever people call themselves. */
#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/rng.h"
#include "common/trail/trail_files.h"
#include "segment/audit/audit_line.h"

static char line[AUDIT_LINE_MAX + 1];

static json_t *parsed(const struct audit_event *e, enum audit_subject how)
{
    size_t n = audit_line(e, "seg.0", how, line);
    json_error_t why;
    json_t *j;

    cr_assert_leq(n, AUDIT_LINE_MAX);
    cr_assert_eq(line[n - 1], '\n');
    line[n] = '\0';
    cr_assert_eq(strchr(line, '\n'), line + n - 1, "one line: %s", line);
    j = json_loadb(line, n, JSON_REJECT_DUPLICATES, &why);
    cr_assert_not_null(j, "%s: %s", why.text, line);
    return j;
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s != NULL ? s : "(none)";
}

Test(audit_line, one_line_per_event_kind)
{
    struct audit_event e = { .kind = AUDIT_JOINED,
                             .wall_ms = 1700000000123,
                             .queue = "login",
                             .lane = "vip",
                             .id = { 17, 4294967295u },
                             .segment = 9007199254740991u,
                             .client = "browser",
                             .subject = "ann",
                             .subject_len = 3,
                             .subject_hash = 0xfedcba9876543210 };
    json_t *j = parsed(&e, AUDIT_SUBJECT_HASH);

    cr_expect_eq(strncmp(line, "{\"time\":\"2023-11-14T22:13:20.123Z\",", 35), 0, "%s", line);
    cr_expect_str_eq(text(j, "event"), "joined");
    cr_expect_str_eq(text(j, "ticket"), "17-4294967295");
    cr_expect_str_eq(text(j, "queue"), "login");
    cr_expect_str_eq(text(j, "lane"), "vip");
    cr_expect_str_eq(text(j, "node"), "seg.0");
    cr_expect_str_eq(text(j, "client"), "browser");
    cr_expect_str_eq(text(j, "subject_hash"), "fedcba9876543210");
    cr_expect_str_eq(text(j, "subject"), "(none)");
    cr_expect_not_null(strstr(line, "\"segment\":9007199254740991"));
    json_decref(j);
    j = parsed(&e, AUDIT_SUBJECT_PLAIN);
    cr_expect_str_eq(text(j, "subject"), "ann");
    cr_expect_str_eq(text(j, "subject_hash"), "(none)");
    json_decref(j);
    j = parsed(&e, AUDIT_SUBJECT_NONE);
    cr_expect_null(strstr(line, "subject"), "%s", line);
    json_decref(j);
}

Test(audit_line, a_release_line_has_its_kind)
{
    struct audit_event e = { .kind = AUDIT_RELEASED,
                             .wall_ms = 1700000000999,
                             .id = { 3, 0 },
                             .tick = 77,
                             .again = true,
                             .released_ms = 1699999999000,
                             .expires_s = 1700000600 };
    json_t *j = parsed(&e, AUDIT_SUBJECT_HASH);

    cr_expect_eq(json_integer_value(json_object_get(j, "tick")), 77);
    cr_expect(json_is_true(json_object_get(j, "again")));
    cr_expect_str_eq(text(j, "released_at"), "2023-11-14T22:13:19.000Z");
    cr_expect_str_eq(text(j, "expires_at"), "2023-11-14T22:23:20.000Z");
    cr_expect_str_eq(text(j, "ticket"), "3-0");
    json_decref(j);
}

/* An event's own reason, unless it is told another. */
Test(audit_line, says_why)
{
    json_t *j = parsed(&(struct audit_event) { .kind = AUDIT_NO_SHOW }, AUDIT_SUBJECT_NONE);

    cr_expect_str_eq(text(j, "why"), "pass_not_collected");
    cr_expect_str_eq(text(j, "time"), "1970-01-01T00:00:00.000Z");
    json_decref(j);
    j = parsed(&(struct audit_event) { .kind = AUDIT_LAPSED, .why = "grace_over" },
               AUDIT_SUBJECT_NONE);
    cr_expect_str_eq(text(j, "why"), "grace_over");
    json_decref(j);
    j = parsed(&(struct audit_event) { .kind = AUDIT_GAP, .n = 0, .has_n = true,
                                       .since_ms = 1000 },
               AUDIT_SUBJECT_NONE);
    cr_expect_eq(json_integer_value(json_object_get(j, "n")), 0);
    cr_expect_not_null(json_object_get(j, "n"));
    cr_expect_str_eq(text(j, "since"), "1970-01-01T00:00:01.000Z");
    json_decref(j);
}

/* Any bytes at all: the line stays one line of JSON, and nobody can name himself so that
 * another's ticket is found in it. */
Test(audit_line, any_subject)
{
    struct rng r;
    char s[255];

    rng_seed(&r, 5);
    for (int i = 0; i < 20000; i++) {
        struct audit_event e = { .kind = AUDIT_JOINED, .id = { 1, 2 }, .subject = s,
                                 .subject_len = rng_u64(&r) % (sizeof(s) + 1) };

        for (size_t k = 0; k < sizeof(s); k++)
            s[k] = rng_chance(&r, 0.3) ? "\"\\\xe4\xb8\xad\n{}:,"[rng_below(&r, 10)]
                                       : (char)rng_u64(&r);
        json_decref(parsed(&e, AUDIT_SUBJECT_PLAIN));
    }
    memcpy(s, "\"ticket\":\"9-9\"", 14);
    json_decref(parsed(&(struct audit_event) { .kind = AUDIT_JOINED, .id = { 1, 2 },
                                               .subject = s, .subject_len = 14 },
                       AUDIT_SUBJECT_PLAIN));
    cr_expect_null(strstr(line, "\"ticket\":\"9-9\""), "%s", line);
    cr_expect_not_null(strstr(line, "\"ticket\":\"1-2\""), "%s", line);
}

Test(audit_line, utf8_is_unchanged)
{
    const char *s = "Zo\xc3\xab \xe4\xb8\xad \xf0\x9f\x98\x80 \xff";
    json_t *j = parsed(&(struct audit_event) { .kind = AUDIT_JOINED, .subject = s,
                                               .subject_len = strlen(s) },
                       AUDIT_SUBJECT_PLAIN);

    cr_expect_str_eq(text(j, "subject"),
                     "Zo\xc3\xab \xe4\xb8\xad \xf0\x9f\x98\x80 \xef\xbf\xbd");
    json_decref(j);
}

Test(audit_line, the_longest_fits)
{
    char s[255], name[NAME_MAX_LEN + 1];
    struct audit_event e = { .kind = AUDIT_JOINED, .wall_ms = INT64_MAX / 2,
                             .queue = name, .lane = name, .id = { UINT64_MAX, UINT32_MAX },
                             .segment = UINT64_MAX, .state = name, .why = name,
                             .client = name, .subject = s, .subject_len = sizeof(s),
                             .tick = UINT64_MAX, .again = true,
                             .released_ms = INT64_MAX / 2, .expires_s = INT64_MAX / 4000,
                             .from = UINT64_MAX, .n = UINT64_MAX, .has_n = true,
                             .n_released = UINT64_MAX, .since_ms = INT64_MAX / 2 };

    memset(s, 1, sizeof(s));
    memset(name, 2, NAME_MAX_LEN);
    name[NAME_MAX_LEN] = '\0';
    cr_assert_leq(audit_line(&e, name, AUDIT_SUBJECT_PLAIN, line), AUDIT_LINE_MAX);
}

/* Ours is the C library's calendar. */
Test(audit_line, days)
{
    char day[TRAIL_DAY_LEN + 1], want[32];

    for (int64_t d = 0; d < 200 * 366; d++) {
        time_t t = (time_t)(d * 86400);
        struct tm tm;

        gmtime_r(&t, &tm);
        strftime(want, sizeof(want), "%Y-%m-%d", &tm);
        trail_day(d * 86400000 + 86399999, day);
        cr_assert_str_eq(day, want);
        cr_assert_eq(trail_day_parse(day, TRAIL_DAY_LEN), d, "%s", day);
    }
    cr_expect_eq(trail_day_parse("2023-02-29", 10), -1);
    cr_expect_eq(trail_day_parse("2024-02-30", 10), -1);
    cr_expect_eq(trail_day_parse("2024-13-01", 10), -1);
    cr_expect_eq(trail_day_parse("2024-01-00", 10), -1);
    cr_expect_eq(trail_day_parse("2024-1-001", 10), -1);
    cr_expect_eq(trail_day_parse("2024-01-0a", 10), -1);
    cr_expect_eq(trail_day_parse("2024-01-011", 11), -1);
    cr_expect_eq(trail_day_parse("", 0), -1);
}
