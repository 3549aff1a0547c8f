/* test_log.c: levels, the captured line, quoting, the file and its reopening. */
#include "common/base/log.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MODULE "test"

static char seen[4096];
static unsigned lines;

static void capture(void *ctx, enum log_level level, const char *line)
{
    (void)level;
    cr_assert_eq(ctx, seen);
    snprintf(seen, sizeof(seen), "%s", line);
    lines++;
}

static void start(void)
{
    log_set_sink(capture, seen);
    lines = 0;
}

Test(log, a_line_is_level_module_text, .init = start)
{
    log_info("move=%d to=%s", 7, "x");
    cr_expect_str_eq(seen, "info test move=7 to=x");
    log_error("two\nlines\x1b[0m");
    cr_expect_str_eq(seen, "error test two lines [0m");
}

Test(log, levels, .init = start)
{
    log_debug("hidden");
    cr_expect_eq(lines, 0);
    log_set_level(LOG_DEBUG);
    log_debug("shown");
    cr_expect_eq(lines, 1);
    log_set_level(LOG_ERROR);
    log_warn("hidden");
    cr_expect_eq(lines, 1);
}

/* Whatever is put into a line, it stays one line of ASCII: no second event, no escape
 * sequence for the terminal that shows it (0x9b is one byte of those, too). */
Test(log, no_byte_makes_a_second_line_or_speaks_to_a_terminal, .init = start)
{
    char all[256];

    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    log_info("before %s after\nerror other forged", all);
    cr_expect_eq(lines, 1);
    for (const char *p = seen; *p != '\0'; p++)
        cr_assert(*p >= ' ' && *p <= '~', "byte %02x", (unsigned char)*p);
    cr_expect_not_null(strstr(seen, "after error other forged"));
}

Test(log, too_long_is_cut, .init = start)
{
    char big[5000];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    log_info("%s", big);
    cr_expect(strlen(seen) > 1000 && strlen(seen) < 2001);
}

Test(log, quoting)
{
    char big[1000];

    cr_expect_str_eq(log_q("a\"b\\c", 5), "\"a\\\"b\\\\c\"");
    cr_expect_str_eq(log_q("\n\xff\0", 3), "\"\\x0a\\xff\\x00\"");
    cr_expect_str_eq(log_q("", 0), "\"\"");
    for (int fill = 'a'; fill <= 0xff; fill += 0xff - 'a') {
        const char *q;

        memset(big, fill, sizeof(big));
        q = log_q(big, sizeof(big));
        cr_expect_lt(strlen(q), 300);
        cr_expect_str_eq(q + strlen(q) - 3, "..\"");
    }
}

static size_t count_lines(const char *path)
{
    FILE *f = fopen(path, "r");
    size_t n = 0;

    cr_assert_not_null(f);
    while (fgets(seen, sizeof(seen), f) != NULL)
        n++;
    fclose(f);
    return n;
}

Test(log, file_and_reopen)
{
    char dir[] = "/tmp/test_log.XXXXXX", path[64], moved[64];
    struct err e;

    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/log", dir);
    snprintf(moved, sizeof(moved), "%s/log.1", dir);
    cr_assert_eq(log_open(path, &e), 0);
    log_info("one");
    log_info("two");
    cr_assert_eq(rename(path, moved), 0);
    log_reopen();
    log_info("three");
    cr_expect_eq(count_lines(moved), 2);
    cr_expect_eq(count_lines(path), 1);
    cr_expect_eq(seen[10], 'T');
    cr_expect_str_eq(seen + 23, "Z info test three\n");
    cr_expect_eq(log_open(dir, &e), SQ_ESYS); /* a folder */
    cr_assert_eq(log_open(NULL, NULL), 0);
    unlink(path);
    unlink(moved);
    rmdir(dir);
}

Test(log, lines_that_others_can_cause_are_counted_and_left_out)
{
    struct log_limit l = { 0 }, one = { 0 };
    uint64_t left_out = 7, said = 0;

    for (int i = 0; i < 100; i++)
        said += log_may(&l, 5000 + i, 3, &left_out);
    cr_expect_eq(said, 3);
    cr_expect_eq(left_out, 0);
    cr_expect(log_may(&l, 6000, 3, &left_out), "a second later one more");
    cr_expect_eq(left_out, 97);
    cr_expect(!log_may(&l, 6500, 3, &left_out));
    cr_expect(log_may(&l, 60000, 3, &left_out));
    cr_expect_eq(left_out, 1);
    cr_expect(log_may(&l, 60000, 3, &left_out), "what was saved is three lines, not fifty");
    cr_expect(log_may(&l, 60000, 3, &left_out));
    cr_expect(!log_may(&l, 60000, 3, &left_out));
    cr_expect(log_may(&one, 1, 1, &left_out));
    cr_expect(!log_may(&one, 1000, 1, &left_out));
    cr_expect(log_may(&one, 1001, 1, &left_out));
}
