/* test_look.c: what the dashboard is fed from: the ring of events, ten minutes of figures,
 * the log of operators' changes on a disk that fails. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/logbook/events.h"
#include "queuemng/logbook/history.h"
#include "queuemng/logbook/op_log.h"

#define ALL (2 * EVENTS_KEPT)

/* ---- events ---- */

static struct events ev;
static const struct event *got[ALL];

Test(look, events_in_their_order)
{
    memset(&ev, 0, sizeof(ev));
    events_add(&ev, 1, LOG_INFO, "info rpc event=link_down peer=x");
    events_add(&ev, 1, LOG_INFO, "info rpc preevent=x");
    events_add(&ev, 1, LOG_INFO, "info manager event=peer_up peer=1");
    cr_expect_eq(events_since(&ev, 0, got, ALL), 0, "these are no events");
    events_add(&ev, 10, LOG_WARN, "warn mng event=node_down node=a");
    events_add(&ev, 20, LOG_INFO, "info move event=move move=1");
    events_add(&ev, 30, LOG_INFO, "info mng event=router_up router=r");
    cr_assert_eq(events_since(&ev, 0, got, ALL), 3);
    cr_expect_str_eq(got[0]->text, "event=node_down node=a");
    cr_expect_eq(got[0]->level, LOG_WARN);
    cr_expect_eq(got[0]->wall_ms, 10);
    cr_expect_str_eq(got[1]->text, "event=move move=1");
    cr_expect_str_eq(got[2]->text, "event=router_up router=r");
    cr_expect_eq(events_since(&ev, got[1]->seq, got, ALL), 1);
    cr_expect_str_eq(got[0]->text, "event=router_up router=r");
    cr_expect_eq(events_since(&ev, 0, got, 2), 2, "the youngest two");
    cr_expect_str_eq(got[0]->text, "event=move move=1");
    cr_expect_eq(events_since(&ev, 3, got, ALL), 0);
}

/* A night of merges does not crowd out the node that died at its beginning. */
Test(look, routine_crowds_out_nothing)
{
    char line[400];
    size_t n;

    memset(&ev, 0, sizeof(ev));
    events_add(&ev, 1, LOG_WARN, "warn mng event=node_down node=a");
    for (int i = 0; i < 3 * EVENTS_KEPT; i++) {
        snprintf(line, sizeof(line), "info move event=move move=%d", i);
        events_add(&ev, 2, LOG_INFO, line);
    }
    n = events_since(&ev, 0, got, ALL);
    cr_assert_eq(n, EVENTS_KEPT + 1);
    cr_expect_str_eq(got[0]->text, "event=node_down node=a");
    snprintf(line, sizeof(line), "event=move move=%d", 3 * EVENTS_KEPT - 1);
    cr_expect_str_eq(got[n - 1]->text, line);
    for (size_t i = 1; i < n; i++)
        cr_expect_lt(got[i - 1]->seq, got[i]->seq);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    memcpy(line, "event=", 6);
    events_add(&ev, 3, LOG_INFO, line);
    n = events_since(&ev, 0, got, ALL);
    cr_expect_eq(strlen(got[n - 1]->text), EVENT_TEXT_BYTES - 1, "a long one is cut");
}

/* Nor do tiers that change every few seconds; that another metric limits now is news. */
Test(look, tiers_crowd_out_nothing)
{
    memset(&ev, 0, sizeof(ev));
    events_add(&ev, 1, LOG_WARN, "warn mng event=node_down node=a");
    events_add(&ev, 1, LOG_INFO, "info pop event=limit queue=q by=cpu2 allowed_per_s=9 was_by=cpu was_per_s=3");
    for (int i = 0; i < 2 * EVENTS_KEPT; i++)
        events_add(&ev, 2, LOG_INFO,
                   "info pop event=limit queue=q by=cpu allowed_per_s=9 was_by=cpu was_per_s=3");
    cr_assert_eq(events_since(&ev, 0, got, ALL), EVENTS_KEPT + 2);
    cr_expect_str_eq(got[0]->text, "event=node_down node=a");
    cr_expect(strstr(got[1]->text, "by=cpu2 ") != NULL);
}

/* The log gives them, whatever it is told to write itself. */
static void on_line(void *ctx, enum log_level level, const char *line)
{
    events_add(ctx, 7, (int)level, line);
}

static void on_written(void *ctx, enum log_level level, const char *line)
{
    (void)level;
    (void)line;
    ++*(int *)ctx;
}

Test(look, the_log_is_tapped)
{
    int written = 0;

    memset(&ev, 0, sizeof(ev));
    log_set_sink(on_written, &written);
    log_set_level(LOG_ERROR);
    log_line(LOG_INFO, "m", "event=before");
    log_set_tap(on_line, &ev);
    log_line(LOG_INFO, "m", "event=one n=%d", 1);
    log_line(LOG_DEBUG, "m", "event=debugging");
    log_line(LOG_ERROR, "m", "event=two");
    log_set_tap(NULL, NULL);
    log_line(LOG_INFO, "m", "event=after");
    log_set_sink(NULL, NULL);
    cr_assert_eq(events_since(&ev, 0, got, ALL), 2);
    cr_expect_str_eq(got[0]->text, "event=one n=1");
    cr_expect_str_eq(got[1]->text, "event=two");
    cr_expect_eq(written, 1);
}

/* ---- figures ---- */

static void one_round(struct history *h, msec_t now, uint32_t id, uint64_t waiting,
                      uint64_t joined)
{
    struct history_sums s = { { (double)waiting, 0, 5 }, { joined } };

    history_begin(h, now, now + 1000000);
    if (id != 0)
        history_add(h, id, &s);
    history_end(h);
}

Test(look, ten_minutes_of_figures)
{
    const struct history_queue *q;
    struct history h;

    history_init(&h);
    one_round(&h, 5000, 7, 0, 0);
    cr_expect_null(history_of(&h, 7), "nothing happens: nothing is kept");
    one_round(&h, 10000, 7, 10, 10);
    q = history_of(&h, 7);
    cr_assert_not_null(q);
    cr_expect_eq(history_n(q), 1);
    cr_expect_eq(history_at(q, 0)->per_s[0], 0, "what was before is no rush");
    one_round(&h, 15000, 7, 35, 35);
    cr_expect_float_eq(history_at(q, 1)->per_s[0], 5, 1e-6);
    cr_expect_float_eq(history_at(q, 1)->level[0], 35, 1e-6);
    cr_expect_float_eq(history_at(q, 1)->level[2], 5, 1e-6);
    one_round(&h, 20000, 7, 35, 3);
    cr_expect_eq(history_at(q, 2)->per_s[0], 0, "a new manager counts from 0");
    for (int i = 0; i < HISTORY_POINTS; i++)
        one_round(&h, 25000 + i * 5000, 7, (uint64_t)i, 3);
    cr_expect_eq(history_n(q), HISTORY_POINTS);
    cr_expect_float_eq(history_at(q, 0)->level[0], 0, 1e-6);
    cr_expect_float_eq(history_at(q, HISTORY_POINTS - 1)->level[0], HISTORY_POINTS - 1, 1e-6);
    one_round(&h, 900000, 0, 0, 0);
    cr_expect_null(history_of(&h, 7), "it is not there any more");
    history_fini(&h);
}

/* More queues than there is room for: quiet ones go, busy ones never. */
Test(look, the_busy_ones_are_kept)
{
    struct history_sums busy = { .level = { 1 } }, quiet = { 0 };
    struct history h;

    history_init(&h);
    history_begin(&h, 5000, 5000);
    for (uint32_t id = 1; id <= HISTORY_QUEUES + 10; id++)
        history_add(&h, id, &busy);
    history_end(&h);
    cr_expect_eq(h.queue.n, HISTORY_QUEUES);
    cr_expect_null(history_of(&h, HISTORY_QUEUES + 1));
    for (int i = 2; i < 5; i++) {
        history_begin(&h, i * 5000, i * 5000);
        for (uint32_t id = 1; id <= HISTORY_QUEUES; id++)
            history_add(&h, id, id <= 2 ? &quiet : &busy);
        if (i == 4)
            history_add(&h, 1000, &busy);
        history_end(&h);
    }
    cr_expect_not_null(history_of(&h, 1000));
    cr_expect_eq(h.queue.n, HISTORY_QUEUES);
    cr_expect(history_of(&h, 1) == NULL || history_of(&h, 2) == NULL);
    cr_expect_not_null(history_of(&h, 3));
    history_fini(&h);
}

/* ---- the log of changes ---- */

#define DAY 86400000LL
#define T0  1795273924123LL /* 2026-11-21 */

static char dir[64], path[128];

static void make_dir(void)
{
    log_set_level(LOG_ERROR);
    snprintf(dir, sizeof(dir), "/tmp/segq-look-XXXXXX");
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

TestSuite(oplog, .init = make_dir, .fini = remove_dir);

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

Test(oplog, is_written_at_once_and_read_back)
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
Test(oplog, a_failing_disk_loses_no_entry)
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
Test(oplog, lost_entries_are_counted)
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

/* What was written by half is no entry; the next one begins on a line of its own. */
Test(oplog, a_torn_line_stays_alone)
{
    struct op_log *l = op_log_new(dir);
    FILE *f;

    note(l, "anna", T0);
    op_log_free(l, T0);
    f = fopen(path, "a");
    fputs("{\"who\":\"ha", f);
    fclose(f);
    l = op_log_new(dir);
    note(l, "bert", T0);
    cr_expect_eq(lines_of(path), 2);
    expect_last(l, 2, "bert", NULL);
    op_log_free(l, T0);
}

Test(oplog, a_day_a_file)
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
Test(oplog, a_file_is_as_old_as_its_last_entry)
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
Test(oplog, an_unknown_last_line_is_left_alone)
{
    struct op_log *l = op_log_new(dir);
    FILE *f;

    note(l, "anna", T0);
    op_log_free(l, T0);
    f = fopen(path, "a");
    fputs("{\"at\":\"../../../x\"}\n", f);
    fclose(f);
    l = op_log_new(dir);
    note(l, "bert", T0 + DAY);
    cr_expect_eq(lines_of(path), 3);
    op_log_free(l, T0 + DAY);
}
