/* test_journal.c: what is written is there again; what is damaged is found. */
#include "tests/lib/jrig.h"

#include <unistd.h>

#include "common/journal/check.h"
#include "common/journal/disk.h"
#include "common/journal/format.h"
#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

static const enum journal_mode modes[] = { JOURNAL_OS, JOURNAL_FSYNC };
#define LOG1 "log-0000000000000001"
#define LOG2 "log-0000000000000002"
#define SNAP2 "snap-0000000000000002"

Test(journal, records_round_trip)
{
    for (unsigned m = 0; m < ARRAY_LEN(modes); m++) {
        struct jrig *r = jrig_new(1, modes[m]);

        jrig_open(r, 0);
        for (unsigned i = 0; i < 200; i++)
            cr_assert_eq(jrig_turn(r, 1 + i % 4), 0);
        jrig_restart(r);
        cr_assert_eq(r->seen, r->put);
        jrig_kill(r);
        cr_assert_eq(jrig_turn(r, 3), 0);
        jrig_kill(r);
        cr_assert_eq(jrig_snapshot(r, 7), 0, "%s", r->e.text);
        jrig_restart(r);
        cr_assert_eq(r->chunks, 7);
        jrig_free(r);
    }
}

/* Another start of the machine: the end may be missing. It is said until the answer to it has
 * been written down, however often we are killed before that. */
Test(journal, another_start_of_the_machine_is_noticed_until_something_is_written)
{
    for (unsigned snap = 0; snap < 2; snap++) {
        struct jrig *r = jrig_new(1, JOURNAL_OS);

        r->boot = 1;
        jrig_open(r, 0);
        cr_assert_not(journal_was_cut(r->j), "a new one");
        cr_assert_eq(jrig_turn(r, 3), 0);
        jrig_kill(r);
        cr_assert_not(journal_was_cut(r->j));
        if (snap > 0)
            cr_assert_eq(jrig_snapshot(r, 7), 0, "%s", r->e.text);
        r->boot = 2;
        jrig_kill(r);
        cr_assert(journal_was_cut(r->j));
        jrig_kill(r);
        cr_assert(journal_was_cut(r->j), "killed before it was dealt with");
        cr_assert_eq(jrig_turn(r, 1), 0);
        jrig_kill(r);
        cr_assert_not(journal_was_cut(r->j));
        r->boot = 3;
        jrig_restart(r);
        cr_assert(journal_was_cut(r->j), "closed in order, and yet nobody knows");
        jrig_free(r);
    }
}

Test(journal, one_write_a_turn_and_none_without_records)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    struct journal_counts a, b;

    jrig_open(r, 0);
    cr_assert_eq(jrig_turn(r, 1), 0); /* takes room in a large step */
    simdisk_fail_at(r->disk, 0, 0);   /* counts calls from here */
    journal_counts(r->j, &a);
    cr_assert_eq(jrig_turn(r, 20), 0);
    journal_counts(r->j, &b);
    cr_assert_eq(b.writes - a.writes, 1);
    cr_assert_eq(b.syncs - a.syncs, 1);
    cr_assert_eq(b.records - a.records, 20);
    cr_assert_eq(simdisk_calls(r->disk), 2);
    cr_assert_eq(jrig_flush(r), 0);
    cr_assert_eq(simdisk_calls(r->disk), 2);
    jrig_free(r);
}

Test(journal, os_mode_syncs_once_a_second)
{
    struct jrig *r = jrig_new(1, JOURNAL_OS);
    struct journal_counts a, b;

    jrig_open(r, 0);
    cr_assert_eq(jrig_tick(r, 5000), 0);
    journal_counts(r->j, &a);
    for (unsigned i = 0; i < 100; i++) {
        cr_assert_eq(jrig_turn(r, 1), 0);
        cr_assert_eq(jrig_tick(r, 100), 0);
    }
    journal_counts(r->j, &b);
    cr_assert(b.syncs - a.syncs >= 9 && b.syncs - a.syncs <= 10);
    jrig_free(r);
}

/* ---- a real folder ------------------------------------------------------------------- */
static void remove_folder(const char *dir)
{
    char command[256];

    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    cr_assert_eq(system(command), 0);
}

Test(journal, real_folder_is_locked_and_read_again)
{
    char dir[] = "/tmp/segq-test-journal-XXXXXX", path[128];
    struct jrig *r = jrig_new(1, JOURNAL_OS);
    struct journal_replay to = { jrig_on_chunk, jrig_on_record, r };
    struct journal_opts o = { .dir = path, .node = "seg-1", .format = JOURNAL_FORMAT,
                              .mode = JOURNAL_FSYNC };
    struct journal *second;
    FILE *out;

    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/made", dir);
    cr_assert_eq(journal_open(&r->j, &o, &to, &r->e), 0, "%s", r->e.text);
    cr_assert_eq(journal_open(&second, &o, &to, &r->e), SQ_EBUSY);
    cr_assert_eq(jrig_turn(r, 5), 0);
    cr_assert_eq(jrig_snapshot(r, 3), 0, "%s", r->e.text);
    cr_assert_eq(jrig_turn(r, 5), 0);
    journal_close(r->j);
    r->seen = 0;
    cr_assert_eq(journal_open(&r->j, &o, &to, &r->e), 0, "%s", r->e.text);
    cr_assert_eq(r->seen, r->put);
    jrig_free(r);
    out = fopen("/dev/null", "w");
    cr_assert_eq(journal_check(path, JOURNAL_FORMAT, NULL, out), 0);
    fclose(out);
    o.mode = JOURNAL_OFF;
    cr_assert_eq(journal_open(&second, &o, &to, NULL), SQ_EPROTO, "off, but there is one");
    remove_folder(dir);
}

Test(journal, off_writes_nothing)
{
    struct jrig *r = jrig_new(1, JOURNAL_OFF);

    jrig_open(r, 0);
    cr_assert(journal_reserve(r->j, UINT64_MAX / 2));
    for (unsigned i = 0; i < 100; i++)
        cr_assert_eq(jrig_turn(r, 10), 0);
    cr_assert_not(journal_snap_due(r->j));
    cr_assert_eq(simdisk_used(r->disk), 0);
    jrig_free(r);
}

static const char *name_of(uint8_t type)
{
    return type == 3 ? "drei" : NULL;
}

static int check_text(struct jrig *r, char **text)
{
    size_t n;
    FILE *f = open_memstream(text, &n);
    int rc = journal_check_disk(simdisk_disk(r->disk), JOURNAL_FORMAT, name_of, f);

    fclose(f);
    return rc;
}

/* ---- damage -------------------------------------------------------------------------- */
/* Turns of 1, 2, 3 ... records in log 1, and the process is gone. ends[i]: where turn i
 * ends in the file. */
static size_t a_log(struct jrig *r, unsigned turns, size_t *ends)
{
    size_t n = 0;

    jrig_open(r, 0);
    for (unsigned i = 0; i < turns; i++) {
        cr_assert_eq(jrig_turn(r, i + 1), 0);
        cr_assert_not_null(simdisk_bytes(r->disk, LOG1, &n));
        ends[i] = n;
    }
    jrig_forget(r);
    simdisk_kill(r->disk);
    return n;
}

static unsigned turns_within(const size_t *ends, unsigned turns, size_t n)
{
    unsigned k = 0;

    while (k < turns && ends[k] <= n)
        k++;
    return k;
}

static uint64_t records_of(unsigned turns)
{
    return (uint64_t)turns * (turns + 1) / 2;
}

/* Everything that recovery does, on a copy of the file. */
static int open_copy(struct jrig *r, const uint8_t *p, size_t n)
{
    int rc;

    simdisk_free(r->disk);
    r->disk = simdisk_new(1);
    simdisk_put(r->disk, LOG1, p, n);
    rc = jrig_try_open(r);
    if (rc == 0) {
        jrig_forget(r);
        simdisk_kill(r->disk);
    }
    return rc;
}

static uint8_t *copy_of(struct jrig *r, const char *name, size_t *n)
{
    uint8_t *p = simdisk_bytes(r->disk, name, n), *copy;

    cr_assert_not_null(p);
    copy = malloc(*n + 1);
    cr_assert_not_null(copy);
    memcpy(copy, p, *n);
    return copy;
}

Test(journal, cut_anywhere_gives_whole_turns)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    size_t ends[8], n = a_log(r, 8, ends);
    uint8_t *log = copy_of(r, LOG1, &n);

    for (size_t cut = 0; cut <= n; cut++) {
        cr_assert_eq(open_copy(r, log, cut), 0, "%s", r->e.text);
        cr_assert_eq(r->seen, records_of(turns_within(ends, 8, cut)), "cut at %zu", cut);
        cr_assert_eq(jrig_try_open(r), 0, "again: %s", r->e.text);
        cr_assert_eq(r->seen, records_of(turns_within(ends, 8, cut)));
        jrig_forget(r);
    }
    free(log);
    jrig_free(r);
}

Test(journal, a_flipped_bit_is_refused_or_was_the_last_turn)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    size_t ends[6], n = a_log(r, 6, ends);
    uint8_t *log = copy_of(r, LOG1, &n);

    for (size_t bit = 0; bit < n * 8; bit++) {
        char *text;
        int rc;

        log[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rc = open_copy(r, log, n);
        if (bit / 8 < ends[4]) {
            cr_assert_eq(rc, SQ_EPROTO, "bit %zu", bit);
            cr_assert_not_null(strstr(r->e.text, LOG1), "%s", r->e.text);
            cr_assert_not_null(strstr(r->e.text, "offset"), "%s", r->e.text);
            cr_assert_eq(check_text(r, &text), 1, "bit %zu: %s", bit, text);
            free(text);
        } else {
            cr_assert_eq(rc, 0, "%s", r->e.text);
            cr_assert_eq(r->seen, records_of(5));
        }
        log[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(log);
    jrig_free(r);
}

Test(journal, zeroed_blocks_are_damage)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    size_t ends[30], n = a_log(r, 30, ends);
    uint8_t *log = copy_of(r, LOG1, &n);

    for (size_t at = 0; at + 512 <= ends[28]; at += 512) {
        uint8_t kept[512];

        memcpy(kept, log + at, 512);
        memset(log + at, 0, 512);
        cr_assert_eq(open_copy(r, log, n), SQ_EPROTO, "zeros at %zu", at);
        memcpy(log + at, kept, 512);
    }
    free(log);
    jrig_free(r);
}

Test(journal, damage_may_be_skipped_if_asked_for)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    size_t ends[6], n = a_log(r, 6, ends);
    uint8_t *log = copy_of(r, LOG1, &n);

    log[ends[2] + JGROUP_BYTES + 9] ^= 1; /* in turn 3, of 4 records */
    r->allow_damage = r->wild = true;
    cr_assert_eq(open_copy(r, log, n), 0, "%s", r->e.text);
    cr_assert_eq(r->seen, records_of(6));
    cr_assert_eq(jrig_try_open(r), 0, "%s", r->e.text);
    jrig_forget(r);
    free(log);
    jrig_free(r);
}

Test(journal, a_turn_from_elsewhere_does_not_pass)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    size_t ends[3], n = a_log(r, 3, ends), last = ends[2] - ends[1];
    uint8_t *log = copy_of(r, LOG1, &n), *longer = malloc(n + last);

    memcpy(longer, log, n);
    memcpy(longer + n, log + ends[1], last); /* the last turn once more */
    cr_assert_eq(open_copy(r, longer, n + last), 0, "%s", r->e.text);
    cr_assert_eq(r->seen, records_of(3));
    free(longer);
    free(log);
    jrig_free(r);
}

Test(journal, swapped_missing_foreign_and_newer_files_are_refused)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    uint8_t *one, *two, head[JHEAD_BYTES];
    struct jhead h;
    size_t n1, n2;

    jrig_open(r, 0);
    cr_assert_eq(jrig_turn(r, 3), 0);
    jrig_kill(r);
    cr_assert_eq(jrig_turn(r, 3), 0);
    jrig_forget(r);
    simdisk_kill(r->disk);
    one = copy_of(r, LOG1, &n1);
    two = copy_of(r, LOG2, &n2);
    simdisk_put(r->disk, LOG1, two, n2);
    cr_assert_eq(jrig_try_open(r), SQ_EPROTO);
    cr_assert_not_null(strstr(r->e.text, "wrong name"), "%s", r->e.text);
    simdisk_kill(r->disk);
    simdisk_remove(r->disk, LOG1);
    cr_assert_eq(jrig_try_open(r), SQ_EPROTO);
    cr_assert_not_null(strstr(r->e.text, "missing"), "%s", r->e.text);
    simdisk_kill(r->disk);

    cr_assert(jhead_parse(one, &h));
    h.version = JOURNAL_FORMAT + 1;
    jhead_build(head, &h);
    memcpy(one, head, sizeof(head));
    simdisk_put(r->disk, LOG1, one, n1);
    cr_assert_eq(jrig_try_open(r), SQ_EPROTO);
    cr_assert_not_null(strstr(r->e.text, "newer segq"), "%s", r->e.text);
    simdisk_kill(r->disk);

    h.version = JOURNAL_FORMAT;
    memset(h.node, 0, sizeof(h.node));
    memcpy(h.node, "seg-2", 5);
    jhead_build(head, &h);
    memcpy(one, head, sizeof(head));
    simdisk_put(r->disk, LOG1, one, n1);
    cr_assert_eq(jrig_try_open(r), SQ_EPROTO);
    cr_assert_not_null(strstr(r->e.text, "seg-2"), "%s", r->e.text);
    free(one);
    free(two);
    jrig_free(r);
}

/* A log that others follow was closed: bytes missing at its end are damage. */
Test(journal, a_cut_in_an_older_log_is_damage)
{
    struct jrig *r = jrig_new(1, JOURNAL_OS);
    uint8_t *log;
    size_t n;

    jrig_open(r, 0);
    cr_assert_eq(jrig_turn(r, 3), 0);
    cr_assert_eq(jrig_turn(r, 3), 0);
    jrig_kill(r);
    cr_assert_eq(jrig_turn(r, 1), 0);
    jrig_forget(r);
    simdisk_kill(r->disk);
    log = copy_of(r, LOG1, &n);
    for (size_t cut = JHEAD_BYTES; cut < n; cut++) {
        simdisk_put(r->disk, LOG1, log, cut);
        cr_assert_eq(jrig_try_open(r), SQ_EPROTO, "cut at %zu of %zu", cut, n);
        simdisk_kill(r->disk);
    }
    free(log);
    jrig_free(r);
}

Test(journal, every_flip_and_cut_of_a_snapshot_is_refused)
{
    struct jrig *r = jrig_new(1, JOURNAL_OS);
    uint8_t *snap;
    size_t n;

    jrig_open(r, 0);
    cr_assert_eq(jrig_turn(r, 3), 0);
    cr_assert_eq(jrig_snapshot(r, 4), 0, "%s", r->e.text);
    jrig_forget(r);
    simdisk_kill(r->disk);
    cr_assert_null(simdisk_bytes(r->disk, LOG1, &n), "replaced files are removed");
    snap = copy_of(r, SNAP2, &n);
    for (size_t bit = 0; bit < n * 8; bit++) {
        snap[bit / 8] ^= (uint8_t)(1u << bit % 8);
        simdisk_put(r->disk, SNAP2, snap, n);
        cr_assert_eq(jrig_try_open(r), SQ_EPROTO, "bit %zu", bit);
        simdisk_kill(r->disk);
        snap[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < n; cut++) {
        simdisk_put(r->disk, SNAP2, snap, cut);
        cr_assert_eq(jrig_try_open(r), SQ_EPROTO, "cut %zu", cut);
        simdisk_kill(r->disk);
    }
    simdisk_put(r->disk, SNAP2, snap, n);
    jrig_open(r, r->told);
    free(snap);
    jrig_free(r);
}

Test(journal, check_explains)
{
    struct jrig *r = jrig_new(1, JOURNAL_FSYNC);
    size_t ends[4], n = a_log(r, 4, ends);
    uint8_t *log = copy_of(r, LOG1, &n);
    char *text, first[80];

    snprintf(first, sizeof(first), LOG1 ": log 1, format %d, node seg-1", JOURNAL_FORMAT);
    cr_assert_eq(check_text(r, &text), 0, "%s", text);
    cr_assert_not_null(strstr(text, first), "%s", text);
    cr_assert_not_null(strstr(text, "4 groups, 10 records"), "%s", text);
    cr_assert_not_null(strstr(text, "2 of type 2"), "%s", text);
    cr_assert_not_null(strstr(text, "1 drei"), "%s", text);
    free(text);
    simdisk_put(r->disk, LOG1, log, n - 1);
    cr_assert_eq(check_text(r, &text), 0);
    cr_assert_not_null(strstr(text, "torn tail at offset"), "%s", text);
    free(text);
    log[ends[1] + 40] ^= 4;
    simdisk_put(r->disk, LOG1, log, n);
    cr_assert_eq(check_text(r, &text), 1);
    cr_assert_not_null(strstr(text, "DAMAGED: at offset"), "%s", text);
    free(text);
    free(log);
    jrig_free(r);
}
