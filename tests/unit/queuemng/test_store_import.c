/* test_store_import.c: the file of release 0.1 is taken over whole, once, or refused. */
#include "tests/lib/storerig.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

/* Written by release 0.1: put meta, put queue/a = one, (sync) put queue/a = two, put
 * queue/b = gone, put empty = "", delete queue/b. */
static const uint8_t written_by_0_1[] = {
    0x73, 0x65, 0x67, 0x71, 0x6b, 0x76, 0x31, 0x0a, 0x1d, 0x00, 0x00, 0x00, 0xac, 0x8d, 0x32,
    0x97, 0xd4, 0xd9, 0x31, 0x48, 0x6c, 0xcf, 0x99, 0xb8, 0x01, 0x04, 0x00, 0x6d, 0x65, 0x74,
    0x61, 0x7b, 0x22, 0x66, 0x6f, 0x72, 0x6d, 0x61, 0x74, 0x22, 0x3a, 0x31, 0x2c, 0x22, 0x65,
    0x70, 0x6f, 0x63, 0x68, 0x22, 0x3a, 0x37, 0x7d, 0x0d, 0x00, 0x00, 0x00, 0xbc, 0x28, 0xaa,
    0x7a, 0x49, 0xf2, 0x3c, 0xbf, 0x50, 0x82, 0xbb, 0x50, 0x01, 0x07, 0x00, 0x71, 0x75, 0x65,
    0x75, 0x65, 0x2f, 0x61, 0x6f, 0x6e, 0x65, 0x0d, 0x00, 0x00, 0x00, 0xbc, 0x28, 0xaa, 0x7a,
    0x6f, 0x24, 0xd7, 0x04, 0xd0, 0x60, 0x55, 0x4a, 0x01, 0x07, 0x00, 0x71, 0x75, 0x65, 0x75,
    0x65, 0x2f, 0x61, 0x74, 0x77, 0x6f, 0x0e, 0x00, 0x00, 0x00, 0xcf, 0x95, 0x50, 0x55, 0xbb,
    0xd1, 0x90, 0x0e, 0xad, 0x9f, 0x4a, 0x01, 0x01, 0x07, 0x00, 0x71, 0x75, 0x65, 0x75, 0x65,
    0x2f, 0x62, 0x67, 0x6f, 0x6e, 0x65, 0x08, 0x00, 0x00, 0x00, 0xa9, 0xbb, 0x03, 0xa0, 0x2d,
    0x42, 0xf3, 0x05, 0x72, 0xf4, 0xca, 0xd8, 0x01, 0x05, 0x00, 0x65, 0x6d, 0x70, 0x74, 0x79,
    0x0a, 0x00, 0x00, 0x00, 0x0b, 0xaf, 0x72, 0xdc, 0x27, 0x27, 0x96, 0x70, 0xb0, 0x4d, 0xd5,
    0xeb, 0x02, 0x07, 0x00, 0x71, 0x75, 0x65, 0x75, 0x65, 0x2f, 0x62
};
#define OLD_BYTES sizeof(written_by_0_1)

static char dir[64], path[96], lock_path[96];
static struct simdisk *disk;

static void setup(void)
{
    quiet_log();
    snprintf(dir, sizeof(dir), "/tmp/segq-store-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/manager.store", dir);
    snprintf(lock_path, sizeof(lock_path), "%s/manager.lock", dir);
    disk = simdisk_new(1);
}

static void teardown(void)
{
    simdisk_free(disk);
    unlink(path);
    unlink(lock_path);
    rmdir(dir);
}

TestSuite(store_import, .init = setup, .fini = teardown);

static void old_file(const uint8_t *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    cr_assert_not_null(f);
    cr_assert_eq(fwrite(p, 1, n, f), n);
    fclose(f);
}

static size_t read_file(uint8_t *p, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    cr_assert_not_null(f);
    n = fread(p, 1, cap, f);
    fclose(f);
    return n;
}

static bool is_retired(void) /* release 0.1 refuses it: it has not its first 8 bytes */
{
    uint8_t p[256];
    size_t n = read_file(p, sizeof(p));

    cr_assert_geq(n, 8);
    return memcmp(p, written_by_0_1, 8) != 0;
}

static void has_all(const struct store *s)
{
    cr_assert(storerig_has(s, "meta", "{\"format\":1,\"epoch\":7}"));
    cr_assert(storerig_has(s, "queue/a", "two"));
    cr_assert(storerig_has(s, "empty", ""));
    cr_assert_eq(storerig_counts(s).keys, 3);
}

static void fresh_disk(uint64_t seed)
{
    simdisk_free(disk);
    disk = simdisk_new(seed);
}

Test(store_import, the_file_of_an_older_release_is_taken_over_once)
{
    struct store *s;

    old_file(written_by_0_1, OLD_BYTES);
    s = storerig_open(dir, simdisk_disk(disk));
    has_all(s);
    cr_assert(is_retired());
    cr_assert_eq(store_put(s, "queue/a", "three"), 0);
    cr_assert_eq(storerig_sync(s), 0);
    store_close(s);
    simdisk_crash(disk);
    s = storerig_open(dir, simdisk_disk(disk));
    cr_assert(storerig_has(s, "queue/a", "three"), "it is not taken over again");
    cr_assert(storerig_has(s, "meta", "{\"format\":1,\"epoch\":7}"));
    store_close(s);
}

Test(store_import, a_torn_tail_is_passed_over)
{
    size_t end[7] = { 8 }, n = 0;

    for (size_t i = 0; i < 6; i++) {
        uint32_t len;

        memcpy(&len, written_by_0_1 + end[i], 4);
        end[i + 1] = end[i] + 16 + len;
    }
    cr_assert_eq(end[6], OLD_BYTES);
    for (size_t cut = 8; cut < OLD_BYTES; cut++) {
        static const uint64_t keys[] = { 0, 1, 2, 2, 3, 4, 3 };
        struct store *s;

        n += cut == end[n + 1];
        fresh_disk(1);
        old_file(written_by_0_1, cut);
        s = storerig_open(dir, simdisk_disk(disk));
        cr_assert_eq(storerig_counts(s).keys, keys[n], "cut at %zu", cut);
        cr_assert(is_retired());
        store_close(s);
    }
}

/* A flipped bit is refused by offset, unless it is in the last record (then it is torn). */
Test(store_import, damage_in_the_middle_is_refused)
{
    uint8_t bytes[OLD_BYTES];

    memcpy(bytes, written_by_0_1, OLD_BYTES);
    for (size_t at = 0; at < OLD_BYTES - 26; at++) {
        struct store *s = NULL;
        struct err e = { 0 };

        bytes[at] ^= 0x10;
        old_file(bytes, OLD_BYTES);
        bytes[at] ^= 0x10;
        fresh_disk(1);
        cr_assert_eq(store_file_open(&s, dir, simdisk_disk(disk), &e), SQ_EPROTO, "byte %zu",
                     at);
        cr_assert(at < 8 || strstr(e.text, "offset") != NULL, "%s", e.text);
        cr_assert(at < 8 || !is_retired());
    }
}

Test(store_import, an_older_manager_that_still_runs_is_left_alone)
{
    struct store *s = NULL;
    struct err e = { 0 };
    int fd = open(lock_path, O_RDWR | O_CREAT, 0600);

    cr_assert_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    old_file(written_by_0_1, OLD_BYTES);
    cr_assert_eq(store_file_open(&s, dir, simdisk_disk(disk), &e), SQ_ECONFLICT);
    cr_assert_not(is_retired());
    close(fd);
    simdisk_kill(disk);
    s = storerig_open(dir, simdisk_disk(disk));
    has_all(s);
    store_close(s);
}

/* One start whose disk fails, or loses power, at its k-th call; then one that is well. */
static bool taken_over_after(uint64_t k, bool power)
{
    struct store *s = NULL;
    struct err e = { 0 };
    bool reached;

    fresh_disk(k);
    old_file(written_by_0_1, OLD_BYTES);
    if (power)
        simdisk_die_at(disk, k);
    else
        simdisk_fail_at(disk, k, EIO);
    if (store_file_open(&s, dir, simdisk_disk(disk), &e) == 0)
        has_all(s);
    reached = simdisk_calls(disk) >= k;
    simdisk_die_at(disk, 1);
    store_close(s);
    simdisk_crash(disk);
    s = storerig_open(dir, simdisk_disk(disk));
    has_all(s);
    cr_assert(is_retired());
    store_close(s);
    return reached;
}

Test(store_import, nothing_is_lost_whatever_fails_meanwhile)
{
    for (unsigned power = 0; power < 2; power++) {
        uint64_t k = 1;

        while (taken_over_after(k, power == 1))
            k++;
        cr_assert_gt(k, 15);
    }
}
