/* test_store_faults.c: the disk under the manager's store fails, fills up or loses power at
 * every call. What a sync acknowledged is there afterwards, and only whole syncs. */
#include "tests/lib/storerig.h"

#include <errno.h>

#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

#define STEPS 16

struct rig {
    struct simdisk *disk;
    struct store *s;
    unsigned step, told; /* put; acknowledged */
    struct err e;
};

/* ---- what is put in step i, into a store or into a model of it ------------------------- */
struct sink {
    struct store *s; /* or NULL */
    struct kv *kv;
};

static void put(const struct sink *to, const char *key, const char *val)
{
    cr_assert_eq(to->s != NULL ? store_put(to->s, key, val) : kv_set(to->kv, key, val), 0);
}

static void del(const struct sink *to, const char *key)
{
    if (to->s != NULL)
        cr_assert_eq(store_del(to->s, key), 0);
    else
        kv_del(to->kv, key);
}

/* Several pairs, now and then a long one, and one that goes. */
static void puts_of(const struct sink *to, unsigned i)
{
    size_t n = i % 3 == 0 ? 210000 : 10 + i;
    char *val = malloc(n + 1), key[32];

    memset(val, 'a' + (int)(i % 26), n);
    val[n] = '\0';
    snprintf(key, sizeof(key), "key/%u", i % 5);
    put(to, key, val);
    snprintf(key, sizeof(key), "key/%u", (i + 2) % 5);
    if (i % 4 == 3)
        del(to, key);
    snprintf(key, sizeof(key), "%u", i);
    put(to, "step", key);
    free(val);
}

static int find_step(void *ctx, const char *key, const char *val)
{
    if (strcmp(key, "step") == 0)
        *(unsigned *)ctx = (unsigned)strtoul(val, NULL, 10);
    return 0;
}

static int is_in(void *ctx, const char *key, const char *val)
{
    cr_assert(storerig_has(ctx, key, val), "%s is missing", key);
    return 0;
}

/* The store is as some step left it, which was acknowledged or came after that. */
static void check(struct rig *r, unsigned least)
{
    struct kv kv;
    unsigned n = 0;

    cr_assert_eq(store_each(r->s, find_step, &n), 0);
    cr_assert(n >= least && n <= r->step, "step %u, %u were acknowledged, %u put", n, least,
              r->step);
    kv_init(&kv);
    for (unsigned i = 1; i <= n; i++)
        puts_of(&(struct sink) { .kv = &kv }, i);
    cr_assert_eq(storerig_counts(r->s).keys, kv.live);
    cr_assert_eq(kv_each(&kv, is_in, r->s), 0);
    kv_fini(&kv);
    r->step = r->told = n;
}

static int try_open(struct rig *r)
{
    r->s = NULL;
    return store_file_open(&r->s, NO_DIR, simdisk_disk(r->disk), &r->e);
}

static void open_and_check(struct rig *r)
{
    cr_assert_eq(try_open(r), 0, "%s", r->e.text);
    check(r, r->told);
}

static struct rig rig_new(uint64_t seed)
{
    struct rig r = { .disk = simdisk_new(seed) };

    quiet_log();
    open_and_check(&r);
    simdisk_fail_at(r.disk, 0, 0); /* calls are counted from here */
    return r;
}

static void rig_end(struct rig *r)
{
    store_close(r->s);
    simdisk_free(r->disk);
}

static int step(struct rig *r)
{
    uint64_t serial;
    int rc;

    puts_of(&(struct sink) { .s = r->s }, ++r->step);
    rc = store_sync(r->s, &serial, &r->e);
    if (rc == 0)
        r->told = r->step;
    return rc;
}

static void live(struct rig *r)
{
    for (unsigned i = 0; i < STEPS; i++)
        (void)step(r);
}

/* The process died; what it still does on its way out has no effect. */
static void die(struct rig *r, bool power)
{
    simdisk_die_at(r->disk, 1);
    store_close(r->s);
    r->s = NULL;
    power ? simdisk_crash(r->disk) : simdisk_kill(r->disk);
}

static uint64_t calls_of_a_life(void)
{
    struct rig r = rig_new(1);
    uint64_t n;

    live(&r);
    n = simdisk_calls(r.disk);
    cr_assert_gt(storerig_counts(r.s).compactions, 0, "a life has a snapshot in it");
    rig_end(&r);
    return n;
}

static void fail_each_call(int error)
{
    uint64_t calls = calls_of_a_life();

    cr_assert_gt(calls, 40);
    for (uint64_t k = 1; k <= calls; k++)
        for (unsigned then = 0; then < 3; then++) {
            struct rig r = rig_new(k * 3 + then);

            simdisk_fail_at(r.disk, k, error);
            live(&r);
            simdisk_fail_at(r.disk, 0, 0);
            cr_assert_eq(step(&r), 0, "call %lu: mended at once: %s", (unsigned long)k,
                         r.e.text);
            die(&r, then != 1);
            open_and_check(&r);
            cr_assert_eq(step(&r), 0, "call %lu: %s", (unsigned long)k, r.e.text);
            rig_end(&r);
        }
}

Test(store_faults, an_io_error_at_every_call)
{
    fail_each_call(EIO);
}

Test(store_faults, no_room_at_every_call)
{
    fail_each_call(ENOSPC);
}

Test(store_faults, a_signal_at_every_call_changes_nothing)
{
    for (uint64_t k = 1, calls = calls_of_a_life(); k <= calls; k++) {
        struct rig r = rig_new(k);

        simdisk_fail_at(r.disk, k, EINTR);
        live(&r);
        cr_assert_eq(r.told, STEPS);
        cr_assert(storerig_counts(r.s).failures <= 1);
        die(&r, true);
        open_and_check(&r);
        rig_end(&r);
    }
}

/* A call that failed is followed by a power cut before the next sync, too. */
Test(store_faults, power_is_cut_at_every_call)
{
    for (uint64_t k = 1, calls = calls_of_a_life(); k <= calls; k++)
        for (unsigned seed = 0; seed < 4; seed++) {
            struct rig r = rig_new(k * 4 + seed);

            simdisk_die_at(r.disk, k);
            live(&r);
            cr_assert(simdisk_is_dead(r.disk));
            die(&r, seed > 0); /* the same steps, but only the process died */
            open_and_check(&r);
            (void)step(&r);
            rig_end(&r);
        }
}

Test(store_faults, a_failed_sync_is_not_believed_the_second_time)
{
    for (uint64_t at = 1; at <= 2; at++) { /* the write, the sync */
        struct rig r = rig_new(at);
        size_t n;

        cr_assert_eq(step(&r), 0);
        simdisk_fail_at(r.disk, at, EIO);
        cr_assert_eq(step(&r), 0, "every pair is in new files: %s", r.e.text);
        cr_assert_not_null(simdisk_bytes(r.disk, "snap-0000000000000002", &n));
        die(&r, true);
        open_and_check(&r);
        cr_assert_eq(r.step, 2);
        rig_end(&r);
    }
}

Test(store_faults, while_nothing_can_be_written_nothing_is_acknowledged)
{
    static const int errors[] = { EIO, ENOSPC };

    for (unsigned i = 0; i < ARRAY_LEN(errors); i++) {
        struct rig r = rig_new(i);

        cr_assert_eq(step(&r), 0);
        simdisk_break(r.disk, 1, errors[i]);
        for (unsigned k = 0; k < 5; k++)
            cr_assert_lt(step(&r), 0);
        cr_assert_eq(r.told, 1);
        cr_assert_geq(storerig_counts(r.s).failures, 1);
        simdisk_break(r.disk, 0, 0);
        cr_assert_eq(step(&r), 0, "%s", r.e.text);
        die(&r, true);
        open_and_check(&r);
        cr_assert_eq(r.step, 7, "and what was put meanwhile");
        rig_end(&r);
    }
}

Test(store_faults, a_full_disk_is_waited_for)
{
    struct rig r = rig_new(5);

    cr_assert_eq(step(&r), 0);
    simdisk_set_room(r.disk, 0);
    while (step(&r) == 0)
        cr_assert_lt(r.step, 100);
    cr_assert_lt(storerig_sync(r.s), 0);
    simdisk_set_room(r.disk, UINT64_MAX / 4);
    cr_assert_eq(storerig_sync(r.s), 0);
    r.told = r.step;
    die(&r, true);
    open_and_check(&r);
    rig_end(&r);
}
