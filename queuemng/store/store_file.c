/* store_file.c: the local file as a store: kept when the sync returns. */
#include "queuemng/store/store.h"

#include <stdlib.h>

#include "queuemng/store/mng_store.h"

struct file {
    struct store store;
    struct mng_store *s; /* owned */
};

static struct mng_store *of(const struct store *s)
{
    return container_of(s, const struct file, store)->s;
}

static int file_put(struct store *s, const char *key, const char *val)
{
    return mng_store_put(of(s), key, val);
}

static int file_del(struct store *s, const char *key)
{
    return mng_store_del(of(s), key);
}

static int file_sync(struct store *s, uint64_t *serial, struct err *e)
{
    *serial = 0;
    return mng_store_sync(of(s), e);
}

static uint64_t file_done(const struct store *s)
{
    (void)s;
    return 0;
}

static int file_each(const struct store *s, pair_fn fn, void *ctx)
{
    return mng_store_each(of(s), fn, ctx);
}

static void file_count(const struct store *s, struct store_counts *c)
{
    struct mng_store_counts n;

    mng_store_count(of(s), &n);
    *c = (struct store_counts) { .keys = n.keys,
                                 .bytes = n.file_bytes,
                                 .syncs = n.syncs,
                                 .compactions = n.compactions,
                                 .failures = n.failures };
}

static void file_close(struct store *s)
{
    mng_store_close(of(s));
    free(container_of(s, struct file, store));
}

int store_file_open(struct store **out, const char *dir, struct err *e)
{
    static const struct store_ops ops = { file_put,  file_del,   file_sync, file_done,
                                          file_each, file_count, file_close };
    struct file *f = calloc(1, sizeof(*f));
    int rc;

    if (f == NULL)
        return err_set(e, SQ_ENOMEM, "store %s: out of memory", dir);
    f->store.ops = &ops;
    rc = mng_store_open(&f->s, dir, e);
    if (rc < 0) {
        free(f);
        return rc;
    }
    *out = &f->store;
    return 0;
}
