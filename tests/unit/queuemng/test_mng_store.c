/* test_mng_store.c: nothing acknowledged is lost, nothing damaged is believed. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/store/mng_store.h"
#include "tests/lib/quiet.h"

static char dir[64], path[96];

static void setup(void)
{
    quiet_log();
    snprintf(dir, sizeof(dir), "/tmp/segq-store-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/manager.store", dir);
}

static void teardown(void)
{
    char lock[96];

    snprintf(lock, sizeof(lock), "%s/manager.lock", dir);
    unlink(path);
    unlink(lock);
    rmdir(dir);
}

TestSuite(store, .init = setup, .fini = teardown);

static struct mng_store *open_ok(void)
{
    struct mng_store *s = NULL;
    struct err e = { 0 };

    cr_assert_eq(mng_store_open(&s, dir, &e), 0, "%s", e.text);
    return s;
}

struct want {
    const char *key, *val;
    bool seen;
};

static int on_pair(void *ctx, const char *key, const char *val)
{
    struct want *w = ctx;

    if (strcmp(w->key, key) == 0) {
        w->seen = true;
        cr_assert_str_eq(val, w->val);
    }
    return 0;
}

static bool has(const struct mng_store *s, const char *key, const char *val)
{
    struct want w = { .key = key, .val = val };

    cr_assert_eq(mng_store_each(s, on_pair, &w), 0);
    return w.seen;
}

static uint64_t keys(const struct mng_store *s)
{
    struct mng_store_counts c;

    mng_store_count(s, &c);
    return c.keys;
}

Test(store, keeps_what_was_synced)
{
    struct mng_store *s = open_ok();

    cr_assert_eq(mng_store_put(s, "meta", "{\"epoch\":1}"), 0);
    cr_assert_eq(mng_store_put(s, "queue/a", "one"), 0);
    cr_assert_eq(mng_store_put(s, "queue/a", "two"), 0);
    cr_assert_eq(mng_store_put(s, "queue/b", "gone"), 0);
    cr_assert_eq(mng_store_del(s, "queue/b"), 0);
    cr_assert_eq(mng_store_sync(s, NULL), 0);
    mng_store_close(s);
    s = open_ok();
    cr_assert(has(s, "meta", "{\"epoch\":1}"));
    cr_assert(has(s, "queue/a", "two"));
    cr_assert_not(has(s, "queue/b", ""));
    cr_assert_eq(keys(s), 2);
    mng_store_close(s);
}

Test(store, one_manager_per_directory)
{
    struct mng_store *s = open_ok(), *other = NULL;
    struct err e = { 0 };

    cr_assert_eq(mng_store_open(&other, dir, &e), SQ_ECONFLICT);
    cr_assert_not_null(strstr(e.text, "another manager"));
    mng_store_close(s);
    mng_store_close(open_ok());
}

static size_t file_read(uint8_t *p, size_t cap)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    cr_assert_not_null(f);
    n = fread(p, 1, cap, f);
    fclose(f);
    return n;
}

static void file_write(const uint8_t *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    cr_assert_not_null(f);
    cr_assert_eq(fwrite(p, 1, n, f), n);
    fclose(f);
}

/* Three synced records: wherever the file is cut, the records before the cut are there. */
Test(store, torn_at_every_byte)
{
    static uint8_t whole[4096];
    size_t end[4], n;
    struct mng_store *s = open_ok();
    struct mng_store_counts c;

    for (int i = 0; i < 4; i++) {
        char key[16];

        mng_store_count(s, &c);
        end[i] = c.file_bytes;
        snprintf(key, sizeof(key), "key/%d", i);
        cr_assert_eq(mng_store_put(s, key, "some value of it"), 0);
        cr_assert_eq(mng_store_sync(s, NULL), 0);
    }
    mng_store_close(s);
    n = file_read(whole, sizeof(whole));
    for (size_t cut = 0; cut < n; cut++) {
        uint64_t want = 0;

        for (int i = 1; i < 4; i++)
            want += cut >= end[i];
        file_write(whole, cut);
        s = open_ok();
        cr_assert_eq(keys(s), want, "cut at %zu", cut);
        mng_store_close(s);
    }
}

/* A flipped bit is refused by offset, unless it is in the last record (then it is torn). */
Test(store, damage_in_the_middle_is_refused)
{
    static uint8_t whole[4096];
    struct mng_store *s = open_ok();
    size_t n, last;
    struct mng_store_counts c;

    cr_assert_eq(mng_store_put(s, "a", "first"), 0);
    cr_assert_eq(mng_store_sync(s, NULL), 0);
    mng_store_count(s, &c);
    last = c.file_bytes;
    cr_assert_eq(mng_store_put(s, "b", "second"), 0);
    cr_assert_eq(mng_store_sync(s, NULL), 0);
    mng_store_close(s);
    n = file_read(whole, sizeof(whole));
    for (size_t at = 0; at < last; at++) {
        struct err e = { 0 };

        whole[at] ^= 0x10;
        file_write(whole, n);
        whole[at] ^= 0x10;
        s = NULL;
        cr_assert_lt(mng_store_open(&s, dir, &e), 0, "byte %zu", at);
        cr_assert(at < 8 || strstr(e.text, "offset 8") != NULL, "%s", e.text);
    }
}

Test(store, compacts_by_itself)
{
    struct mng_store *s = open_ok();
    struct mng_store_counts c;
    static char big[20000];

    memset(big, 'x', sizeof(big) - 1);
    for (int i = 0; i < 300; i++) {
        cr_assert_eq(mng_store_put(s, "same", big), 0);
        cr_assert_eq(mng_store_sync(s, NULL), 0);
    }
    mng_store_count(s, &c);
    cr_assert_gt(c.compactions, 1);
    cr_assert_lt(c.file_bytes, 2u << 20);
    mng_store_close(s);
    s = open_ok();
    cr_assert(has(s, "same", big));
    mng_store_close(s);
}
