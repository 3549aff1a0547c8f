#include "common/journal/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE   "journal"
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

int jreplay_damage(struct jreplay *r, const char *name, uint64_t at, const char *what,
                   struct err *e)
{
    if (!r->allow)
        return err_set(e, SQ_EPROTO, "%s at offset %" PRIu64 ": %s", name, at, what);
    log_error("event=journal_damage_skipped dir=%s file=%s offset=%" PRIu64 " what=\"%s\"",
              r->j->where, name, at, what);
    return 0;
}

int jreplay_head(struct jreplay *r, struct jreader *f, const char *name, enum jkind kind,
                 uint64_t seq, struct jhead *h, struct err *e)
{
    const uint8_t *p;
    int rc;

    if (f->size < JHEAD_BYTES)
        return 0;
    rc = jreader_get(f, 0, JHEAD_BYTES, &p, e);
    if (rc < 0)
        return rc;
    if (!jhead_parse(p, h))
        return 0;
    if (h->version > r->j->format)
        return err_set(e, SQ_EPROTO,
                       "%s was written by a newer segq (format %u, this one reads up to %u)",
                       name, h->version, r->j->format);
    if (h->kind != kind || h->seq != seq)
        return err_set(e, SQ_EPROTO, "%s is another file under a wrong name", name);
    if (strcmp(h->node, r->j->node) != 0)
        return err_set(e, SQ_EPROTO, "%s belongs to node %s", name,
                       log_q(h->node, strlen(h->node)));
    return 1;
}

static int deliver(struct jreplay *r, enum jkind kind, const struct jgroup *g, struct err *e)
{
    struct journal_counts *c = &r->j->c;
    struct jrecord rec;
    uint32_t pos = 0;
    int rc = 0;

    while (rc >= 0 && jgroup_next(g, &pos, &rec)) {
        if (kind == JLOG) {
            rc = r->to->on_record(r->to->ctx, rec.type, rec.p, rec.len, e);
            c->replay_records++;
        } else {
            rc = r->to->on_chunk(r->to->ctx, rec.p, rec.len, e);
            c->replay_chunks++;
        }
    }
    c->replay_bytes += JGROUP_BYTES + g->len;
    return rc < 0 ? rc : 0;
}

int jwalk_group(struct jreplay *r, struct jwalk *w, const struct jgroup *g, struct err *e)
{
    uint64_t at = w->at;

    assert(g->at == at && at >= JHEAD_BYTES && at + JGROUP_BYTES + g->len <= w->f.size);
    w->at += JGROUP_BYTES + g->len;
    w->synced = u64_max(w->synced, g->synced);
    w->ended = g->kind != JG_RECORDS;
    if (w->kind == JSNAP && g->kind == JG_END && g->len == JRECORD_BYTES + 8) {
        w->end_word = le64_get(g->body + JRECORD_BYTES);
        return 0;
    }
    if (deliver(r, w->kind, g, e) == 0)
        return 0;
    return err_wrap(e, "%s at offset %" PRIu64, w->name, at);
}

int jwalk_groups(struct jreplay *r, struct jwalk *w, struct err *e)
{
    struct jgroup g;
    int rc;

    while ((rc = jreader_group(&w->f, &w->key, w->at, &g, e)) == 1) {
        rc = jwalk_group(r, w, &g, e);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? err_wrap(e, "%s", w->name) : 0;
}

int jwalk_skip(struct jreplay *r, struct jwalk *w, struct err *e)
{
    struct jgroup g;
    int rc = jreader_find(&w->f, &w->key, w->at + 1, &g, e);
    uint64_t to = rc == 1 ? g.at : w->f.size;

    assert(r->allow);
    if (rc < 0)
        return rc;
    r->j->c.damaged_bytes += to - w->at;
    w->at = to;
    return rc;
}

int jwalk_open(struct jreplay *r, struct jwalk *w, const char *name, enum jkind kind,
               uint64_t seq, struct err *e)
{
    struct jhead h;
    int rc = jreader_open(&w->f, r->j->disk, name, e);

    if (rc < 0)
        return rc;
    w->name = name;
    w->kind = kind;
    w->at = JHEAD_BYTES;
    jkey_make(&w->key, r->j->node, kind, seq);
    rc = jreplay_head(r, &w->f, name, kind, seq, &h, e);
    if (rc == 0)
        rc = jreplay_damage(r, name, 0, "the head is damaged", e);
    return rc < 0 ? rc : 0;
}

/* ---- the snapshot -------------------------------------------------------------------- */
static int snap_rest(struct jreplay *r, struct jwalk *w, struct err *e)
{
    int rc;

    while ((rc = jreader_is_zero(&w->f, w->at, e)) == 0) {
        rc = jreplay_damage(r, w->name, w->at, "the snapshot is damaged", e);
        if (rc == 0)
            rc = jwalk_skip(r, w, e);
        if (rc == 1)
            rc = jwalk_groups(r, w, e);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || (w->ended && w->end_word == r->j->c.replay_chunks))
        return rc < 0 ? rc : 0;
    return jreplay_damage(r, w->name, w->at, "the snapshot is not whole", e);
}

int jwalk_snapshot(struct jreplay *r, uint64_t base, struct err *e)
{
    struct jwalk w = { .f.h = -1 };
    char name[JNAME_MAX];
    int rc;

    if (base == 0)
        return 0;
    jname_text(name, JNAME_SNAP, base);
    rc = jwalk_open(r, &w, name, JSNAP, base, e)
        ?: jwalk_groups(r, &w, e)
        ?: snap_rest(r, &w, e);
    r->j->base_bytes = w.at;
    jwalk_close(&w);
    return rc;
}

void jwalk_close(struct jwalk *w)
{
    if (w->f.d != NULL)
        jreader_close(&w->f);
}
