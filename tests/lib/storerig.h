/* storerig.h: the manager's store (queuemng/store/store_file.h) in tests, and what is in it. */
#ifndef SEGQ_TESTS_STORERIG_H
#define SEGQ_TESTS_STORERIG_H

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/store/store_file.h"
#include "tests/lib/quiet.h"

#define NO_DIR "/nonexistent" /* of a store on a simulated disk: nothing is imported */

static inline struct store *storerig_open(const char *dir, struct disk *disk)
{
    struct store *s = NULL;
    struct err e = { 0 };

    cr_assert_eq(store_file_open(&s, dir, disk, &e), 0, "%s", e.text);
    return s;
}

static inline int storerig_sync(struct store *s)
{
    uint64_t serial;
    struct err e = { 0 };

    return store_sync(s, &serial, &e);
}

struct storerig_want {
    const char *key, *val;
    bool seen;
};

static inline int storerig_on_pair(void *ctx, const char *key, const char *val)
{
    struct storerig_want *w = ctx;

    if (strcmp(w->key, key) == 0) {
        w->seen = true;
        cr_assert_str_eq(val, w->val);
    }
    return 0;
}

/* False: the key is not there. Another value fails the test. */
static inline bool storerig_has(const struct store *s, const char *key, const char *val)
{
    struct storerig_want w = { .key = key, .val = val };

    cr_assert_eq(store_each(s, storerig_on_pair, &w), 0);
    return w.seen;
}

static inline struct store_counts storerig_counts(const struct store *s)
{
    struct store_counts c;

    store_count(s, &c);
    return c;
}

#endif
