#include "common/journal/dir.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

static const struct {
    const char *before, *after;
} forms[] = {
    [JNAME_LOG] = { "log-", "" },
    [JNAME_SNAP] = { "snap-", "" },
    [JNAME_TMP] = { "snap-", ".tmp" },
    [JNAME_TORN] = { "log-", ".torn" },
};

void jname_text(char out[JNAME_MAX], enum jname_kind kind, uint64_t seq)
{
    assert(kind < ARRAY_LEN(forms));
    snprintf(out, JNAME_MAX, "%s%016" PRIx64 "%s", forms[kind].before, seq, forms[kind].after);
}

/* 16 lower-case hex digits at p. */
static bool seq_parse(const char *p, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef", *at = p[i] ? strchr(digits, p[i]) : NULL;

        if (at == NULL)
            return false;
        v = v << 4 | (uint64_t)(at - digits);
    }
    *out = v;
    return v > 0;
}

static bool jname_parse(const char *text, struct jname *out)
{
    for (unsigned k = 0; k < ARRAY_LEN(forms); k++) {
        size_t n = strlen(forms[k].before);

        if (strncmp(text, forms[k].before, n) == 0 && seq_parse(text + n, &out->seq) &&
            strcmp(text + n + 16, forms[k].after) == 0) {
            out->kind = k;
            return true;
        }
    }
    return false;
}

static void add_name(void *ctx, const char *name)
{
    struct jdir *dir = ctx;
    struct jname one;

    if (dir->failed || !jname_parse(name, &one))
        return;
    if (!GROW(dir->v, dir->n, dir->cap, 64)) {
        dir->failed = true;
        return;
    }
    dir->v[dir->n++] = one;
}

static int by_kind_and_seq(const void *a, const void *b)
{
    const struct jname *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int jdir_read(struct jdir *dir, struct disk *d, struct err *e)
{
    int rc;

    memset(dir, 0, sizeof(*dir));
    rc = d->ops->list(d, add_name, dir);
    if (rc < 0)
        return err_set(e, SQ_ESYS, "list: %s", strerror(-rc));
    if (dir->failed)
        return err_set(e, SQ_ENOMEM, "list: %s", sq_strerror(SQ_ENOMEM));
    if (dir->n > 0)
        qsort(dir->v, dir->n, sizeof(*dir->v), by_kind_and_seq);
    return 0;
}

void jdir_fini(struct jdir *dir)
{
    free(dir->v);
    dir->v = NULL;
}

int jdir_sync(struct disk *d, struct err *e)
{
    int rc;

    do {
        rc = d->ops->sync_dir(d);
    } while (rc == -EINTR);
    return rc < 0 ? err_set(e, SQ_ESYS, "sync of the folder: %s", strerror(-rc)) : 0;
}
