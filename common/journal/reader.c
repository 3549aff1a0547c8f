#include "common/journal/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (1u << 20)

int jreader_open(struct jreader *r, struct disk *d, const char *name, struct err *e)
{
    int64_t size;

    memset(r, 0, sizeof(*r));
    r->d = d;
    r->h = d->ops->open(d, name, DISK_READ);
    if (r->h < 0)
        return err_set(e, SQ_ESYS, "open %s: %s", name, strerror(-r->h));
    size = d->ops->size(d, r->h);
    if (size < 0) {
        jreader_close(r);
        return err_set(e, SQ_ESYS, "size of %s: %s", name, strerror((int)-size));
    }
    r->size = (uint64_t)size;
    return 0;
}

void jreader_close(struct jreader *r)
{
    if (r->h >= 0)
        r->d->ops->close(r->d, r->h);
    r->h = -1;
    free(r->win);
    r->win = NULL;
}

static int window_fill(struct jreader *r, uint64_t at, size_t n, struct err *e)
{
    r->win_at = at;
    r->win_len = 0;
    while (r->win_len < n) {
        ssize_t k =
            r->d->ops->pread(r->d, r->h, r->win + r->win_len, n - r->win_len, at + r->win_len);

        if (k == -EINTR)
            continue;
        if (k <= 0)
            return err_set(e, SQ_ESYS, "read at %" PRIu64 ": %s", at,
                           k == 0 ? "the file became shorter" : strerror((int)-k));
        r->win_len += (size_t)k;
    }
    return 0;
}

int jreader_get(struct jreader *r, uint64_t at, size_t n, const uint8_t **p, struct err *e)
{
    int rc;

    assert(n <= r->size && at <= r->size - n);
    if (at < r->win_at || at + n > r->win_at + r->win_len) {
        size_t want = u64_max(n, u64_min(WINDOW_BYTES, r->size - at));

        if (want > r->win_cap) {
            uint8_t *win = realloc(r->win, want);

            if (win == NULL)
                return err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM));
            r->win = win;
            r->win_cap = want;
        }
        rc = window_fill(r, at, u64_min(want, r->size - at), e);
        if (rc < 0)
            return rc;
    }
    *p = r->win + (at - r->win_at);
    return 0;
}

int jreader_group(struct jreader *r, const struct jkey *k, uint64_t at, struct jgroup *g,
                  struct err *e)
{
    const uint8_t *p;
    int rc;

    if (r->size < at || r->size - at < JGROUP_BYTES)
        return 0;
    rc = jreader_get(r, at, JGROUP_BYTES, &p, e);
    if (rc < 0)
        return rc;
    if (!jgroup_parse(p, at, r->size - at, g))
        return 0;
    rc = jreader_get(r, at, JGROUP_BYTES + g->len, &p, e);
    if (rc < 0)
        return rc;
    g->body = p + JGROUP_BYTES;
    return jgroup_is_whole(p, k, g);
}

int jreader_find(struct jreader *r, const struct jkey *k, uint64_t at, struct jgroup *g,
                 struct err *e)
{
    for (; at + JGROUP_BYTES <= r->size; at++) {
        const uint8_t *p;
        int rc = jreader_get(r, at, JGROUP_BYTES, &p, e);

        if (rc < 0)
            return rc;
        if (le64_get(p + 8) != at)
            continue;
        rc = jreader_group(r, k, at, g, e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int jreader_is_zero(struct jreader *r, uint64_t at, struct err *e)
{
    while (at < r->size) {
        size_t n = u64_min(4096, r->size - at);
        const uint8_t *p;
        int rc = jreader_get(r, at, n, &p, e);

        if (rc < 0)
            return rc;
        if (p[0] != 0 || memcmp(p, p + 1, n - 1) != 0)
            return 0;
        at += n;
    }
    return 1;
}

int jreader_tail(struct jreader *r, const struct jkey *k, uint64_t at, struct err *e)
{
    struct jgroup g = { .at = at, .len = 0 };
    int rc = jreader_is_zero(r, at, e);

    if (rc != 0)
        return rc < 0 ? rc : JTAIL_ZEROS;
    for (uint64_t next = at + 1;; next = g.at + JGROUP_BYTES + g.len) {
        rc = jreader_find(r, k, next, &g, e);
        if (rc <= 0)
            return rc < 0 ? rc : JTAIL_TORN;
        if (g.synced > at)
            return JTAIL_DAMAGE;
    }
}
