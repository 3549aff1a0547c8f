/* test_store_file.c: nothing acknowledged is lost, nothing damaged is believed. */
#include "tests/lib/storerig.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

#define LOG1 "log-0000000000000001"

static struct simdisk *disk;

static void setup(void)
{
    quiet_log();
    disk = simdisk_new(1);
}

static void teardown(void)
{
    simdisk_free(disk);
}

TestSuite(store_file, .init = setup, .fini = teardown);

static struct store *open_ok(void)
{
    return storerig_open(NO_DIR, simdisk_disk(disk));
}

static struct store *again(struct store *s)
{
    store_close(s);
    simdisk_kill(disk);
    return open_ok();
}

Test(store_file, keeps_what_was_synced)
{
    struct store *s = open_ok();

    cr_assert_eq(store_put(s, "meta", "{\"epoch\":1}"), 0);
    cr_assert_eq(store_put(s, "queue/a", "one"), 0);
    cr_assert_eq(store_put(s, "queue/a", "two"), 0);
    cr_assert_eq(store_put(s, "queue/b", "gone"), 0);
    cr_assert_eq(store_put(s, "empty", ""), 0);
    cr_assert_eq(store_del(s, "queue/b"), 0);
    cr_assert_eq(storerig_sync(s), 0);
    s = again(s);
    cr_assert(storerig_has(s, "meta", "{\"epoch\":1}"));
    cr_assert(storerig_has(s, "queue/a", "two"));
    cr_assert(storerig_has(s, "empty", ""));
    cr_assert_not(storerig_has(s, "queue/b", ""));
    cr_assert_eq(storerig_counts(s).keys, 3);
    store_close(s);
}

Test(store_file, a_sync_without_changes_costs_nothing)
{
    struct store *s = open_ok();
    uint64_t before;

    cr_assert_eq(store_put(s, "a", "1"), 0);
    cr_assert_eq(storerig_sync(s), 0);
    simdisk_fail_at(disk, 0, 0);
    before = simdisk_calls(disk);
    cr_assert_eq(storerig_sync(s), 0);
    cr_assert_eq(simdisk_calls(disk), before);
    store_close(s);
}

Test(store_file, one_manager_per_folder_which_nobody_else_can_read)
{
    char dir[] = "/tmp/segq-store-XXXXXX", sub[64];
    struct store *s, *other = NULL;
    struct err e = { 0 };
    struct stat st;

    cr_assert_not_null(mkdtemp(dir));
    s = storerig_open(dir, NULL);
    cr_assert_eq(store_file_open(&other, dir, NULL, &e), SQ_ECONFLICT);
    cr_assert_not_null(strstr(e.text, "another manager"));
    cr_assert_eq(store_put(s, "a", "1"), 0);
    cr_assert_eq(storerig_sync(s), 0);
    store_close(s);
    s = storerig_open(dir, NULL);
    cr_assert(storerig_has(s, "a", "1"));
    store_close(s);
    snprintf(sub, sizeof(sub), "%s/store", dir);
    cr_assert_eq(stat(sub, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0700, "a draw's seed is secret");
}

static char *long_text(size_t n, char c)
{
    char *p = malloc(n + 1);

    memset(p, c, n);
    p[n] = '\0';
    return p;
}

Test(store_file, values_of_any_length_come_back)
{
    static const size_t lengths[] = { 1,      65535,  65536,   65537,   131072,
                                      131073, 300000, 1 << 20, 5 << 20, 40 << 20 };
    struct store *s = open_ok();

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < ARRAY_LEN(lengths); i++) {
            char key[16], *val = long_text(lengths[i], (char)('a' + i));

            snprintf(key, sizeof(key), "key/%u", i);
            if (round == 0) {
                cr_assert_eq(store_put(s, key, val), 0);
                cr_assert_eq(storerig_sync(s), 0);
            }
            cr_assert(storerig_has(s, key, val));
            free(val);
        }
        s = again(s);
    }
    store_close(s);
}

/* More than a group can hold: the journal fails, and every pair goes into new files. */
Test(store_file, a_turn_of_any_size_is_kept)
{
    struct store *s = open_ok();
    char *val = long_text(10 << 20, 'x');

    for (unsigned i = 0; i < 8; i++) {
        char key[16];

        snprintf(key, sizeof(key), "key/%u", i);
        cr_assert_eq(store_put(s, key, val), 0);
    }
    cr_assert_eq(storerig_sync(s), 0);
    s = again(s);
    cr_assert_eq(storerig_counts(s).keys, 8);
    cr_assert(storerig_has(s, "key/7", val));
    store_close(s);
    free(val);
}

/* Four synced records. The bytes of the log as they are then, and where each ends. */
static uint8_t *four(size_t end[5], size_t *n)
{
    struct store *s = open_ok();
    uint8_t *p, *copy;

    end[0] = storerig_counts(s).bytes;
    for (int i = 0; i < 4; i++) {
        char key[16];

        snprintf(key, sizeof(key), "key/%d", i);
        cr_assert_eq(store_put(s, key, "some value of it"), 0);
        cr_assert_eq(storerig_sync(s), 0);
        end[i + 1] = storerig_counts(s).bytes;
    }
    p = simdisk_bytes(disk, LOG1, n);
    copy = malloc(*n);
    memcpy(copy, p, *n);
    store_close(s);
    return copy;
}

static void only_log(const uint8_t *p, size_t n)
{
    simdisk_free(disk);
    disk = simdisk_new(1);
    simdisk_put(disk, LOG1, p, n);
}

/* Wherever the newest file is cut, the records before the cut are there. */
Test(store_file, torn_at_every_byte)
{
    size_t end[5], n;
    uint8_t *whole = four(end, &n);

    for (size_t cut = 0; cut <= end[4]; cut++) {
        uint64_t want = 0;
        struct store *s;

        for (int i = 1; i < 5; i++)
            want += cut >= end[i];
        only_log(whole, cut);
        s = open_ok();
        cr_assert_eq(storerig_counts(s).keys, want, "cut at %zu", cut);
        store_close(s);
    }
    free(whole);
}

/* A flipped bit is refused with its offset, unless it is in the last record (then it is torn). */
Test(store_file, damage_in_the_middle_is_refused)
{
    size_t end[5], n;
    uint8_t *whole = four(end, &n);

    for (size_t at = 0; at < end[3]; at++) {
        struct store *s = NULL;
        struct err e = { 0 };

        whole[at] ^= 0x10;
        only_log(whole, n);
        whole[at] ^= 0x10;
        cr_assert_lt(store_file_open(&s, NO_DIR, simdisk_disk(disk), &e), 0, "byte %zu", at);
        cr_assert(strstr(e.text, LOG1) != NULL && strstr(e.text, "offset") != NULL, "%s",
                  e.text);
    }
    free(whole);
}

Test(store_file, rewrites_itself_when_it_has_grown)
{
    struct store *s = open_ok();
    char *big = long_text(20000, 'x');
    struct store_counts c;

    for (int i = 0; i < 300; i++) {
        cr_assert_eq(store_put(s, "same", big), 0);
        cr_assert_eq(storerig_sync(s), 0);
    }
    c = storerig_counts(s);
    cr_assert_gt(c.compactions, 1);
    cr_assert_lt(c.bytes, 2u << 20);
    cr_assert_lt(simdisk_used(disk), 4u << 20);
    s = again(s);
    cr_assert(storerig_has(s, "same", big));
    store_close(s);
    free(big);
}

Test(store_file, deleted_keys_take_no_memory)
{
    struct kv kv;
    char key[32];

    kv_init(&kv);
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof(key), "mark/%d", i);
        cr_assert_eq(kv_set(&kv, key, "x"), 0);
        if (i >= 20) {
            snprintf(key, sizeof(key), "mark/%d", i - 20);
            kv_del(&kv, key);
        }
    }
    cr_assert_eq(kv.live, 20);
    cr_assert_leq(kv.cap, 128);
    cr_assert_eq(kv.text_bytes, 20 * 11);
    kv_fini(&kv);
}
